"""The solver: monotone, finds planted components, keeps what it cannot see, stops when told."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import ALL_FAMILIES

from gtpca import ALS, GTPCA, Identity, Shift
from gtpca.data.chunks import Chunk, as_chunks
from gtpca.data.sampling import pick_rows
from gtpca.model.matching import least_gain, make_block, statistics, update
from gtpca.operators.normal import Moments, seen_by
from gtpca.solvers.als import climb
from gtpca.solvers.base import Problem
from gtpca.testing import make_planted


def explained_by(operator, X, w):
    block = make_block(operator, w[None])
    return statistics(Chunk(X.reshape(len(X), -1), operator), [block]).explained[0]


def plain_history(problem, W, n_passes=15):
    """Explained energy of plain alternating least squares, without extrapolation."""
    history = []
    for _ in range(n_passes):
        stats = problem.chunks.sum(statistics, [problem.block_for_codes(W)])
        history.append(stats.explained[0])
        [W] = update(problem.chunks.operator, stats, W[None])
    return np.array(history)


@pytest.mark.parametrize("polarity", ["both", "positive"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_explained_energy_never_falls(bound, dtype, tolerance, polarity):
    rng = np.random.default_rng(3)
    X = make_planted(bound, n_samples=80, noise=0.5, random_state=3)[0]
    chunks = as_chunks(X.reshape(80, -1).astype(dtype), bound, batch_size=33)
    problem, w = Problem(chunks, polarity), rng.standard_normal((1, bound.n_weights))
    plain = plain_history(problem, w)
    fast = np.array(climb(problem, w, max_iter=30, tol=0.0).history)
    for history in (plain, fast):
        assert np.all(np.diff(history) >= -tolerance * history[1:])


@pytest.mark.parametrize("gaps", [False, True])
def test_an_update_keeps_its_promise(bound, gaps):
    X = make_planted(bound, n_samples=40, noise=0.5, random_state=3)[0].reshape(40, -1)
    if gaps:
        X[::2, :2] = np.nan
    problem = Problem(as_chunks(X, bound), complete=not gaps)
    W = np.random.default_rng(3).standard_normal((1, bound.n_weights))
    W /= np.linalg.norm(W)

    def explained(W):
        return problem.chunks.sum(statistics, problem.blocks_for_fit(W[None]))

    stats = explained(W)
    promised = least_gain(bound, stats, W[None])
    gained = explained(update(bound, stats, W[None])[0]).explained - stats.explained
    assert 0 < promised < gained + 1e-9 * stats.explained


def test_costly_passes_are_not_made_to_see_that_they_gain_nothing():
    operator = Shift(16).bind((16,))
    X = make_planted(operator, n_samples=60, noise=0.1, random_state=0)[0]
    problem = Problem(as_chunks(X, operator))
    W = climb(problem, np.eye(16)[:1], max_iter=100, tol=1e-6).weights
    few, more = (climb(problem, W, 100, 1e-3, costly=costly) for costly in (True, False))
    assert (few.n_iter, more.n_iter) == (1, 2)
    assert few.stopped == more.stopped == "converged"
    assert climb(problem, np.eye(16)[:1], 100, 1e-3, costly=True).n_iter > 2


def test_history_of_a_fit_never_falls():
    X = make_planted(Shift(30).bind((16,)), n_samples=100, noise=1.0, random_state=0)[0]
    model = GTPCA(4, Shift(30), random_state=0).fit(X)
    for history in model.history_:
        assert np.all(np.diff(history) >= -1e-12 * history[1:])


def check_planted(name, seed):
    family, shape = ALL_FAMILIES[name]
    operator = family.bind(shape)
    X, w, _ = make_planted(operator, random_state=seed)
    model = GTPCA(1, family, random_state=seed).fit(X)
    assert model.explained_energy_[0] >= 0.99 * explained_by(operator, X, w)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", list(ALL_FAMILIES))
def test_planted_component_is_found(name, seed):
    check_planted(name, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3, 10))
@pytest.mark.parametrize("name", list(ALL_FAMILIES))
def test_planted_component_is_found_in_more_draws(name, seed):
    check_planted(name, seed)


@pytest.mark.parametrize("seed", [4, 11])
def test_white_weights_between_samples_are_found(seed):
    """Starts on fractions ended 3 to 5 % below."""
    check_planted("shift-fractions", seed)


def test_unseen_weights_keep_their_value():
    operator = Shift(30).bind((16,))
    weight = np.zeros(operator.n_transforms)
    weight[:2] = 1.0
    w0, rhs = np.arange(1.0, 31.0), np.ones(30)
    normal = operator.normal(Moments(weight[None, :, None, None]))
    solved = normal.solve(rhs[None, None], w0[None, None])[0, 0]
    unseen = ~seen_by(operator, weight)
    assert unseen.sum() == 13
    assert np.array_equal(solved[unseen], w0[unseen])


def test_rows_are_drawn_by_energy_whatever_their_order_and_weight():
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((12, 5)), rng.integers(0, 4, 12).astype(float)
    draws = rng.uniform(size=20)
    order, operator = rng.permutation(12), Identity().bind((5,))
    weighted = pick_rows(as_chunks(X, operator, weight), draws)
    rows = np.repeat(X[order], weight[order].astype(int), axis=0)
    repeated = pick_rows(as_chunks(rows, operator), draws)
    assert np.array_equal(weighted, repeated)


@pytest.mark.parametrize("max_iter", [1, 3, 10])
@pytest.mark.parametrize("n_samples", [100, 700])
def test_max_iter_bounds_the_passes_over_all_rows(max_iter, n_samples):
    operator = Shift(8).bind((24,))
    X = make_planted(operator, n_samples=n_samples, noise=1.0, random_state=1)[0]
    passes = []
    problem = Problem(as_chunks(X, operator))
    result = ALS(max_iter=max_iter, tol=0.0).solve(
        problem, 0, report=lambda i, e: bool(i and passes.append(i))
    )
    assert result.n_iter <= max_iter
    assert len(passes) <= max_iter
    assert np.isfinite(result.weights).all()


def test_report_stops_the_climb():
    operator = Shift(8).bind((24,))
    X = make_planted(operator, n_samples=50, noise=1.0, random_state=1)[0]
    problem = Problem(as_chunks(X, operator))
    result = ALS(tol=0.0).solve(problem, 0, report=lambda i, e: i >= 2)
    assert result.stopped == "callback"
    assert len(result.history) == 2  # a pass that was rejected in between is not reported


def test_subsampling_large_data_costs_no_quality():
    operator = Shift(12).bind((30,))
    X, w, _ = make_planted(operator, n_samples=20_000, noise=0.3, random_state=0)
    model = GTPCA(1, Shift(12), random_state=0).fit(X.astype(np.float32))
    assert model.explained_energy_[0] >= 0.999 * explained_by(operator, X, w)
    assert model.n_iter_[0] <= 10


@pytest.mark.parametrize("family", [Shift(8), Shift(30), Identity()])
def test_threads_do_not_change_the_result(family):
    X = np.random.default_rng(0).standard_normal((300, 20))
    one, two = (GTPCA(2, family, n_jobs=n, random_state=0).fit(X) for n in (1, 2))
    np.testing.assert_allclose(one.components_, two.components_, atol=1e-12)


@pytest.mark.parametrize("shared_pose", [False, True])
@pytest.mark.parametrize("size", [1e25, 1e50])
def test_rows_of_weight_zero_may_be_of_any_size(size, shared_pose):
    """Searches in single precision must not take their unit from rows that do not count."""
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((150, 30)).cumsum(axis=1), np.ones(150)
    weight[::10] = 0.0
    model = GTPCA(2, Shift(12), shared_pose=shared_pose, random_state=0)
    alone = model.fit(X, sample_weight=weight).components_
    X[::10] *= size
    assert np.array_equal(model.fit(X, sample_weight=weight).components_, alone)
