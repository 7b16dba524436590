"""Searches on coarser grids: when, and what they find."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import ALL_FAMILIES

from gtpca import GTPCA, Rotation, Shift
from gtpca.data.chunks import Chunk, as_chunks
from gtpca.model.matching import make_blocks, orthonormal, statistics, update
from gtpca.solvers.als import Coarse, climb, climb_each, coarsened
from gtpca.solvers.base import Problem


def smooth_rows(n, size, seed=0):
    rng = np.random.default_rng(seed)
    place, x = rng.uniform(20, size - 20, n), np.arange(size)
    return np.exp(-(((x - place[:, None]) / 6) ** 2)) * rng.uniform(1, 2, (n, 1))


def problem_of(X, family):
    return Problem(as_chunks(X.reshape(len(X), -1), family.bind(X.shape[1:])))


def test_smooth_rows_are_pooled_and_white_noise_is_not():
    smooth, white = smooth_rows(50, 128), np.random.default_rng(0).standard_normal((50, 128))
    assert coarsened(problem_of(smooth, Shift(64))).problem.chunks.operator.sample_shape == (64,)
    assert coarsened(problem_of(white, Shift(64))).pool is None
    assert coarsened(problem_of(smooth, Shift(32))).pool is None  # too few points to spare


def test_the_way_between_the_grids():
    coarse = coarsened(problem_of(smooth_rows(50, 128), Shift(64)))
    W = orthonormal(np.random.default_rng(1).standard_normal((2, 32)))
    spread = coarse.spread(W)
    np.testing.assert_allclose(spread @ spread.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(coarse.pooled(spread[None])[0], W, atol=1e-12)
    fine = orthonormal(np.random.default_rng(2).standard_normal((2, 64)))
    held = coarse.pool @ coarse.refined(fine, W)[0]
    assert abs(np.corrcoef(held, W[0])[0, 1]) > 0.9


def test_rows_that_count_are_taken_evenly():
    X, weight = smooth_rows(600, 64), np.ones(600)
    weight[::2] = 0
    problem = Problem(as_chunks(X, Shift(32).bind((64,)), weight))
    few = Coarse(problem).on(10).chunks
    assert few.n_rows == 10
    assert np.all(few.weight == 1)
    assert Coarse(problem).on(300) is problem
    weight[256:] = 0
    assert Coarse(problem).on(10) is problem  # few rows are not made fewer


@pytest.mark.parametrize("family", [Shift(64), Shift(200), Shift(boundary="circular")])
def test_what_is_found_is_as_good_as_on_the_fine_grid(family, monkeypatch):
    X = smooth_rows(200, 128) + 0.05 * np.random.default_rng(3).standard_normal((200, 128))
    coarse = GTPCA(2, family, random_state=0).fit(X)
    monkeypatch.setattr("gtpca.solvers.als.SMOOTH", np.inf)
    fine = GTPCA(2, family, random_state=0).fit(X)
    assert coarse.score(X) >= fine.score(X) - 0.005


def test_images_are_found_on_the_coarse_grid():
    rng, x = np.random.default_rng(0), np.linspace(-1, 1, 28)
    pattern = np.exp(-8 * (x[:, None] - 0.4) ** 2 - 20 * x**2)
    operator = Rotation(12).bind((28, 28))
    rows = operator.apply_at(pattern.ravel(), rng.integers(12, size=80))
    rows *= rng.uniform(1, 2, (80, 1))
    model = GTPCA(1, Rotation(12), random_state=0).fit(rows.reshape(-1, 28, 28))
    assert model.explained_energy_ratio_[0] > 0.999


@pytest.mark.parametrize("name", sorted(ALL_FAMILIES))
@pytest.mark.parametrize("K", [1, 2])
def test_several_at_once_are_each_by_itself(name, K):
    family, shape = ALL_FAMILIES[name]
    operator, rng = family.bind(shape), np.random.default_rng(0)
    chunk = Chunk(rng.standard_normal((20, operator.n_features)), operator, rng.uniform(0, 2, 20))
    stack = np.array([orthonormal(W) for W in rng.standard_normal((3, K, operator.n_weights))])
    blocks = make_blocks(operator, stack)
    together = statistics(chunk, blocks)
    updated = update(operator, together, stack)
    for number, (W, block) in enumerate(zip(stack, blocks, strict=True)):
        alone, one = statistics(chunk, [block]), together[number : number + 1]
        np.testing.assert_allclose(one.rhs, alone.rhs, atol=1e-9)
        np.testing.assert_allclose(one.moments.nodes, alone.moments.nodes, atol=1e-9)
        assert one.explained == pytest.approx(alone.explained)
        np.testing.assert_allclose(updated[number], update(operator, alone, W[None])[0], atol=1e-6)


def test_climbs_know_nothing_of_one_another():
    problem = problem_of(smooth_rows(60, 64), Shift(20))
    stack = np.random.default_rng(0).standard_normal((4, 1, 20))
    stack = np.array([orthonormal(W) for W in stack])
    together = climb_each(problem, stack, 7, 1e-3)
    for one, W in zip(together, stack, strict=True):
        alone = climb(problem, W, 7, 1e-3)
        assert (one.n_iter, one.stopped) == (alone.n_iter, alone.stopped)
        np.testing.assert_allclose(one.weights, alone.weights, atol=1e-6)
        assert np.all(np.diff(one.history) >= 0)
