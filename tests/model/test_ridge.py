"""A ridge: monotone, no more than asked for, and components that are one pattern.

One pass beside brute force is in ``test_oracle.py``.
"""

from __future__ import annotations

import numpy as np
import pytest
from conftest import ALL_FAMILIES, CROPPING
from helpers import QUICK, noise

from gtpca import GTPCA, Shift
from gtpca.data.chunks import as_chunks
from gtpca.datasets import make_spikes
from gtpca.model.matching import orthonormal, statistics, update
from gtpca.model.ridge import AUTO
from gtpca.solvers.als import climb
from gtpca.solvers.base import Problem
from gtpca.testing import make_planted

RIDGE = 0.05


def ridged_history(problem, W, n_passes=15):
    """What plain alternating least squares explains, less the penalty."""
    history = []
    for _ in range(n_passes):
        stats = problem.chunks.sum(statistics, problem.blocks_for_fit(W[None]))
        history.append(stats.explained[0])
        [W] = update(problem.chunks.operator, stats, W[None], ridge=problem.ridge)
    return np.array(history)


@pytest.mark.parametrize("n_components", [1, 3])
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_explained_energy_less_the_penalty_never_falls(
    cropping, dtype, tolerance, gaps, n_components
):
    operator = cropping[0].bind(cropping[1])
    X = make_planted(operator, n_samples=80, noise=0.5, random_state=3)[0].reshape(80, -1)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.2 * gaps, np.nan, X)
    chunks = as_chunks(X.astype(dtype), operator, batch_size=33)
    problem, W = Problem(chunks, ridge=RIDGE), orthonormal(noise(n_components, operator.n_weights))
    plain = ridged_history(problem, W)
    fast = np.array(climb(problem, W, max_iter=30, tol=0.0).history)
    for history in (plain, fast):
        assert np.all(np.diff(history) >= -tolerance * history[1:])


@pytest.mark.parametrize("name", ["shift-crop", "shift-2d-crop", "compose-crop-warp"])
def test_weights_that_no_row_sees_keep_their_value(name):
    family, shape = ALL_FAMILIES[name]
    operator = family.bind(shape)
    problem = Problem(as_chunks(noise(1, operator.n_features), operator), ridge=RIDGE)
    W = orthonormal(noise(1, operator.n_weights, seed=1))
    stats = problem.chunks.sum(statistics, problem.blocks_for_fit(W[None]))
    unseen = operator.normal(stats.moments).cover[0] == 0
    [new] = update(operator, stats, W[None], ridge=RIDGE)
    assert unseen.any()
    ratio = new[0, unseen] / W[0, unseen]  # the norm changes for all
    assert np.all(ratio > 0)
    assert np.allclose(ratio, ratio[0])


@pytest.mark.parametrize("name", sorted(set(ALL_FAMILIES) - set(CROPPING)))
def test_nothing_changes_where_nothing_is_cropped(name):
    family, shape = ALL_FAMILIES[name]
    X = make_planted(family.bind(shape), n_samples=40, noise=0.5, random_state=0)[0]
    how = {"solver": QUICK, "random_state": 0}
    fits = [GTPCA(2, family, ridge=ridge, **how).fit(X) for ridge in (0, 1, "auto")]
    for other in fits[1:]:
        assert np.array_equal(fits[0].components_, other.components_)
        assert not other.ridge_.any()


def crops(n_samples=60, seed=0):
    return make_planted(Shift(30).bind((16,)), n_samples=n_samples, noise=0.5, random_state=seed)[0]


def test_the_default_is_the_ridge_that_costs_little():
    assert GTPCA().ridge == "auto"
    auto, always = (GTPCA(2, Shift(30), random_state=0, ridge=r).fit(crops()) for r in ("auto", 9))
    assert set(auto.ridge_) <= {0.0, AUTO}
    assert np.array_equal(always.ridge_, [9, 9])


def test_a_ridge_that_costs_much_is_not_taken():
    """Sixteen smooth series, of which each component explains nearly all: a bias would show."""
    rng = np.random.default_rng(0)
    curve = np.cumsum(np.cumsum(rng.standard_normal(120)))
    X = np.array([curve[s : s + 60] for s in rng.integers(0, 61, 16)])
    plain, auto = (GTPCA(1, Shift(120), random_state=0, ridge=r).fit(X) for r in (0, "auto"))
    assert np.array_equal(auto.ridge_, [0])
    assert auto.resmse(X)[0] <= 1.003 * plain.resmse(X)[0]


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
def test_energies_are_those_of_codes(shared):
    X = crops()
    model = GTPCA(3, Shift(30), ridge=RIDGE, random_state=0, shared_pose=shared).fit(X)
    assert np.array_equal(model.ridge_, [RIDGE] * (1 if shared else 3))
    left = 1 - np.cumsum(model.explained_energy_ratio_)
    assert np.allclose(model.resmse(X), left, atol=1e-9)
    most = [model.explained_energy_.sum()] if shared else model.explained_energy_
    assert all(h[-1] < energy for h, energy in zip(model.history_, most, strict=True))


def test_refined_components_keep_their_ridge():
    X, how = crops(), {"ridge": RIDGE, "random_state": 0}
    greedy, refined = (GTPCA(3, Shift(30), refine=r, **how).fit(X) for r in (0, 3))
    assert np.array_equal(refined.ridge_, [RIDGE] * 3)
    assert refined.resmse(X)[-1] < greedy.resmse(X)[-1]


def test_streams_go_on_with_the_ridge_of_the_fit():
    X = crops(400)
    model = GTPCA(2, Shift(30), ridge=RIDGE, random_state=0).partial_fit(X[:200])
    assert np.array_equal(model.ridge_, [RIDGE, RIDGE])
    before = model.components_.copy()
    model.partial_fit(X[200:300])
    assert np.array_equal(model.ridge_, [RIDGE, RIDGE])
    assert not np.array_equal(before, model.components_)
    again = GTPCA(2, Shift(30), ridge=RIDGE, random_state=0).fit(X[:200])
    explained = 1 - again.resmse(X[:200])[-1]
    assert model.score(X[:200]) == pytest.approx(explained, abs=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_components_of_spikes_are_in_the_middle_of_the_window(seed):
    X = make_spikes(1000, 128, random_state=seed)[0].astype(np.float32)
    model = GTPCA(3, Shift(256), random_state=seed).fit(X)
    share = np.sum(model.components_[:, 64:192] ** 2, axis=1)
    assert np.all(share >= 0.85)


@pytest.mark.parametrize("ridge", [-1, np.nan, np.inf, "some", None, True])
def test_errors_say_what_a_ridge_may_be(ridge):
    with pytest.raises(ValueError, match=r"ridge=.* must be "):
        GTPCA(1, Shift(30), ridge=ridge).fit(crops())


def test_solvers_that_know_of_no_ridge_take_none():
    pytest.importorskip("torch")
    from gtpca.nn import Adam

    solver = Adam(epochs=1, steps_per_epoch=2)
    model = GTPCA(1, Shift(30), solver=solver, random_state=0).fit(crops())
    assert not model.ridge_.any()
    with pytest.raises(ValueError, match=r"ridge=0.1 needs solver=ALS\(\)"):
        model.set_params(ridge=0.1).fit(crops())
