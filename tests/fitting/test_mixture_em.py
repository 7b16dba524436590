"""EM for several kinds: it climbs, finds what was planted, and does not depend on the order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from gtpca import Shift
from gtpca.data.chunks import as_chunks
from gtpca.fitting import mixture
from gtpca.fitting.em import DensityRecipe, climb_likelihood, expectation_maximisation, start
from gtpca.fitting.mixture import find_kinds, hard_statistics, seeded
from gtpca.model.mixture import MixtureModel, kind_sums
from gtpca.solvers.base import Problem

PATTERNS = np.array([[1.0, 3, 5, 3, 1], [5, 1, -2, 1, 5], [4, 2, 0, -2, -4]])
RECIPE = DensityRecipe(1, tol=1e-4, max_iter=40)


def kinds_at_places(n=90, noise=0.5, size=20, seed=0):
    """Three pulses at random places, of varying height; and which one it is."""
    rng = np.random.default_rng(seed)
    kind, X = rng.integers(3, size=n), noise * rng.standard_normal((n, size))
    for x, g, place in zip(X, kind, rng.integers(size - 4, size=n), strict=True):
        x[place : place + 5] += rng.normal(1, 0.2) * PATTERNS[g]
    return X, kind


@pytest.mark.parametrize("case", ["plain", "learned", "gaps", "weights"])
def test_every_pass_raises_the_likelihood(family_and_shape, case, monkeypatch):
    monkeypatch.setattr(mixture, "N_STARTS", 1)
    monkeypatch.setattr(mixture, "MOVES", 0)
    monkeypatch.setattr(mixture, "SPLITS", 0)
    family, shape = family_and_shape
    operator, rng = family.bind(shape), np.random.default_rng(0)
    X = rng.standard_normal((24, operator.n_features)) + rng.integers(2, size=(24, 1))
    if case == "gaps":
        X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(1, 4, 24).astype(float) if case == "weights" else None
    K = min(1, operator.n_weights - 1)
    prior = "learned" if case == "learned" else "uniform"
    recipe = replace(RECIPE, n_components=K, prior=prior, max_iter=5, tol=0.0)
    chunks = as_chunks(X, operator, weight)
    history = find_kinds(chunks, recipe, 2, np.random.RandomState(0))[1]
    assert np.all(np.diff(history) >= -1e-9 * np.abs(history[1:]))


def test_planted_kinds_are_found():
    X, kind = kinds_at_places(150)
    chunks = as_chunks(X, Shift(5).bind((20,)))
    model, _, converged = find_kinds(chunks, RECIPE, 3, np.random.RandomState(0))
    assert converged
    assert adjusted_rand_score(kind, model.encode(chunks).kind) > 0.95
    assert abs(model.noise[0] - 0.25) < 0.02


def test_one_kind_is_one_density():
    X, _ = kinds_at_places()
    chunks = as_chunks(X, Shift(boundary="circular").bind((20,)))
    recipe = replace(RECIPE, tol=1e-8, max_iter=500)
    one = expectation_maximisation(chunks, recipe, np.random.RandomState(0))
    same = find_kinds(chunks, recipe, 1, np.random.RandomState(0))
    assert same[1][-1] == pytest.approx(one[1][-1], abs=0.05)


def test_a_pass_of_equal_kinds_is_a_pass_of_one():
    """Kinds that are the same stay so, and go where a single one goes."""
    X, _ = kinds_at_places()
    operator = Shift(5).bind((20,))
    chunks, recipe = as_chunks(X, operator), replace(RECIPE, max_iter=1, tol=0.0)
    one = start(chunks, recipe, np.random.RandomState(0))
    two = MixtureModel((one, one), np.log([0.7, 0.3]))
    alone = climb_likelihood(chunks, recipe, one)[0]
    both = climb_likelihood(chunks, recipe, two, kind_sums, mixture.maximised_kinds)[0]
    np.testing.assert_allclose(both.log_weights, two.log_weights)
    for kind in both.kinds:
        np.testing.assert_allclose(kind.weights, alone.weights, atol=1e-9)
        np.testing.assert_allclose(kind.noise, alone.noise)


def test_hard_passes_never_explain_less():
    X, _ = kinds_at_places(noise=1.5)
    problem = Problem(as_chunks(X, Shift(5).bind((20,))), "positive")
    order = np.argsort(np.sum(X**2, axis=1))
    stack, explained = seeded(problem, 3, order, np.random.RandomState(0)), []
    for _ in range(6):
        stats = problem.chunks.sum(hard_statistics, problem.blocks_for_fit(stack))
        explained.append(stats.explained.sum())
        stack = mixture.update(problem.chunks.operator, stats, stack)
    assert np.all(np.diff(explained) >= -1e-9)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_equal_and_empty_rows_do_no_harm(n_rows):
    operator = Shift(3).bind((8,))
    for X in (np.zeros((n_rows, 8)), np.tile(np.arange(8.0), (n_rows, 1))):
        model, history, _ = find_kinds(
            as_chunks(X, operator), replace(RECIPE, n_components=0), 2, np.random.RandomState(0)
        )
        assert np.all(np.isfinite(history))
        assert np.all(np.isfinite(model.weights))


def test_two_kinds_in_one_are_split_where_another_one_was_given_twice():
    X, kind = kinds_at_places(120)
    operator, recipe, rng = (
        Shift(5).bind((20,)),
        replace(RECIPE, n_components=0),
        np.random.RandomState(0),
    )
    chunks, wrong = as_chunks(X, operator), np.where(kind == 0, np.arange(120) % 2, 2)
    parts = [start(as_chunks(X[wrong == g], operator), recipe, rng) for g in range(3)]
    model = mixture._with_one_noise(parts, np.bincount(wrong))
    stuck = climb_likelihood(chunks, recipe, model, kind_sums, mixture.maximised_kinds)
    assert adjusted_rand_score(kind, stuck[0].encode(chunks).kind) < 0.8
    short = replace(recipe, max_iter=8, tol=0.0)
    better = mixture.with_splits(chunks, short, recipe, stuck, stuck[1][-1], rng)
    assert better[1][-1] > stuck[1][-1] + 0.5
    assert adjusted_rand_score(kind, better[0].encode(chunks).kind) > 0.95


def test_many_rows_are_searched_in_some_of_them(monkeypatch):
    X, kind = kinds_at_places(300)
    monkeypatch.setattr(mixture, "START_ROWS", 120)
    chunks = as_chunks(X, Shift(5).bind((20,)))
    model, history, _ = find_kinds(chunks, RECIPE, 3, np.random.RandomState(0))
    assert adjusted_rand_score(kind, model.encode(chunks).kind) > 0.95
    assert np.all(np.diff(history) >= -1e-9)


def test_rows_that_are_searched_depend_neither_on_their_order_nor_on_repetitions(monkeypatch):
    monkeypatch.setattr(mixture, "START_ROWS", 40)
    X, _ = kinds_at_places(90)
    rng, operator = np.random.default_rng(1), Shift(5).bind((20,))
    weight = rng.integers(0, 3, 90)
    repeated = np.repeat(X, weight, axis=0)
    cases = [(X, weight.astype(float)), (repeated, None)]
    cases += [(rows[order], None) for rows in [repeated] for order in [rng.permutation(len(rows))]]
    found = []
    for rows, each in cases:
        chunks = as_chunks(rows, operator, each)
        model = find_kinds(chunks, replace(RECIPE, max_iter=5), 3, np.random.RandomState(0))[0]
        found.append(model.weights)
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    np.testing.assert_allclose(found[2], found[0], atol=1e-6)
