"""Looking one component ahead: which places are compared, by what, and what it is good for."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca import ALS, GTPCA, Compose, Reflection, Rotation, Shift
from gtpca.data.chunks import as_chunks
from gtpca.solvers.als import Coarse, comparable, draw_starts, left_after_next, look_ahead
from gtpca.solvers.base import Problem


def bumps(n_samples, seed, size=64):
    """Bumps of random height at times all over the sample, (n_samples, size)."""
    rng = np.random.default_rng(seed)
    time, height = rng.uniform(0, size, n_samples), rng.uniform(1, 2, n_samples)
    distance = (np.arange(size) - time[:, None]) / 3
    noise = 0.1 * rng.standard_normal((n_samples, size))
    return height[:, None] * np.exp(-(distance**2)) + noise


def bump_at(place, window=32):
    w = np.exp(-(((np.arange(window) - place) / 3) ** 2))
    return w[None] / np.linalg.norm(w)


def best_bump(X, w):
    """The projection of every row on the best of all places of a window ``w`` of unit norm."""
    room = X.shape[1] - len(w)
    bank = np.array([np.pad(w, (o, room - o)) for o in range(room + 1)])
    products = X @ bank.T
    best = np.abs(products).argmax(axis=1)
    return products[np.arange(len(X)), best][:, None] * bank[best]


def left_after(model, X):
    """Share of the energy left after 1, 2, .. components."""
    return 1 - np.cumsum(model.explained_energy_) / np.sum(X**2)


def test_two_components_reach_all_times():
    """A window of half a sample reaches half of the times; two of them reach all, or do not."""
    gains, losses = [], []
    for seed in range(4):
        X = bumps(300, seed)
        ahead, greedy = (
            left_after(GTPCA(2, Shift(32), solver=ALS(lookahead=on), random_state=seed).fit(X), X)
            for on in (True, False)
        )
        gains.append(1 - ahead[1] / greedy[1])
        losses.append(1 - (1 - ahead[0]) / (1 - greedy[0]))
    assert min(gains) > -0.02
    assert max(gains) > 0.3
    assert max(losses) < 0.1  # a standard error is about 6 % here


@pytest.mark.parametrize(
    ("family", "shape"),
    [
        (Shift(30), (20,)),
        (Shift(20, boundary="circular"), (20,)),
        (Shift(12, boundary="partial"), (20,)),
        (Rotation(4), (6, 6)),
    ],
    ids=str,
)
def test_nothing_is_compared_where_windows_reach_everything(family, shape):
    X = np.random.default_rng(0).standard_normal((60, *shape))
    operator = family.bind(shape)
    assert not list(operator.moves(np.ones(operator.n_weights), far=True))
    with_it, without = (
        GTPCA(2, family, solver=ALS(lookahead=on), random_state=0).fit(X) for on in (True, False)
    )
    assert np.array_equal(with_it.components_, without.components_)


def test_places_are_slides_along_confined_axes():
    operator = Shift(16, axes=0).bind((40, 3))
    w = np.random.default_rng(0).standard_normal((16, 3))
    places = [v.reshape(16, 3) for v in operator.moves(w.ravel(), far=True)]
    assert len(places) == 16
    expected = [np.pad(w, ((s, 0), (0, 0)))[:16] for s in range(1, 9)]
    expected += [np.pad(w, ((0, s), (0, 0)))[s:] for s in range(1, 9)]
    for wanted in expected:
        assert any(np.array_equal(wanted, place) for place in places)


@pytest.mark.parametrize(
    ("family", "shape", "count"),
    [
        (Shift((4, 4)), (8, 4), 4),
        (Shift((4, 4)), (8, 8), 8),
        (Compose(Shift((4, 4)), Rotation(4)), (8, 8), 8),
        (Compose(Reflection(), Shift(8)), (20,), 8),
    ],
)
def test_only_axes_with_several_places_count(family, shape, count):
    operator = family.bind(shape)
    assert len(list(operator.moves(np.ones(operator.n_weights), far=True))) == count


def places_of(operator, n_samples=60):
    """Rows, three results, and the energies of every row that they explain, (3, n_samples)."""
    X = bumps(n_samples, seed=0)
    stack = np.array([bump_at(place) for place in (4, 16, 28)])
    return X, stack, np.array([np.sum(best_bump(X, w) ** 2, axis=1) for [w] in stack])


@pytest.mark.parametrize("n_rows", [3, 10, 60, 1000])
def test_comparable_up_to_a_standard_error_of_the_difference(n_rows):
    operator = Shift(32).bind((64,))
    X, stack, explained = places_of(operator)
    best = explained.mean(axis=1).argmax()
    behind = explained[best] - explained
    near = behind.mean(axis=1) <= behind.std(axis=1) / np.sqrt(n_rows)
    found = comparable(stack, Problem(as_chunks(X, operator, batch_size=7)), n_rows)
    assert found == np.flatnonzero(near).tolist()


def test_weight_two_is_a_row_twice():
    operator = Shift(32).bind((64,))
    X, stack, _ = places_of(operator)
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = as_chunks(X, operator, weight=weight.astype(float))
    repeated = as_chunks(np.repeat(X, weight, axis=0), operator)
    for n_rows in (3, 10, 60, 1000):
        one, other = (comparable(stack, Problem(c), n_rows) for c in (weighted, repeated))
        assert one == other


def pulses(seed, n_samples=60):
    """A pulse of 4 points at a random place in noise, and sample weights 0 to 3."""
    rng = np.random.default_rng(seed)
    X = 0.1 * rng.standard_normal((n_samples, 32))
    for row, place in zip(X, rng.integers(0, 29, n_samples), strict=True):
        row[place : place + 4] += 1
    return X, rng.integers(0, 4, n_samples)


@pytest.mark.parametrize("seed", [2, 7, 8, 10])
def test_a_fit_that_looks_ahead_takes_weight_two_for_a_row_twice(seed):
    X, weight = pulses(seed)
    weighted, repeated = (GTPCA(2, Shift(16), random_state=0) for _ in range(2))
    weighted.fit(X, sample_weight=weight)
    repeated.fit(np.repeat(X, weight, axis=0))
    assert np.allclose(weighted.components_, repeated.components_, atol=1e-6)


def test_weights_below_one_count_as_one_row():
    """Weights that add up to 1 are common; then a standard error over one row would not do."""
    X, _ = pulses(2)
    plain, equal = (GTPCA(2, Shift(16), random_state=0) for _ in range(2))
    assert np.allclose(
        plain.fit(X).components_, equal.fit(X, sample_weight=np.full(60, 1 / 60)).components_
    )


@pytest.mark.parametrize("power", [-400, -300, 300, 500])
def test_the_unit_of_the_rows_does_not_matter(power):
    """Squares of energies overflow, or vanish, long before the energies do."""
    X = bumps(200, seed=0)
    here, there = (GTPCA(2, Shift(32), random_state=0).fit(s * X) for s in (1.0, 2.0**power))
    assert np.array_equal(here.components_, there.components_)


def test_what_two_components_leave_is_foreseen():
    X = bumps(200, seed=0)
    operator = Shift(32).bind((64,))
    problem = Problem(as_chunks(X, operator))
    begin = draw_starts(np.random.RandomState(0), 16, operator)
    seen = {p: left_after_next(problem, bump_at(p), *begin) for p in (4, 16, 28)}
    for place, left in seen.items():
        rest = X - best_bump(X, bump_at(place)[0])
        second = GTPCA(1, Shift(32), random_state=0).fit(rest)
        assert left == pytest.approx(np.sum(rest**2) - second.explained_energy_[0], rel=0.1)
    assert max(seen[4], seen[28]) < 0.7 * seen[16]


def test_the_one_taken_is_among_the_comparable():
    operator = Shift(32).bind((64,))
    X, stack, _ = places_of(operator)
    problem = Problem(as_chunks(X, operator))
    for n_rows in (3, 10**9):
        near = comparable(stack, problem, n_rows)
        how = {"few": Coarse(problem), "n_rows": n_rows, "rng": np.random.RandomState(0)}
        found = look_ahead(stack, problem, **how)
        assert found in near
    assert len(near) == 1


def test_the_last_component_looks_at_nothing_but_itself():
    X = bumps(300, seed=1)
    one, strict = (
        GTPCA(1, Shift(32), solver=ALS(lookahead=on), random_state=0).fit(X) for on in (True, False)
    )
    assert np.array_equal(one.components_, strict.components_)
    two = GTPCA(2, Shift(32), random_state=0).fit(X)
    assert not np.array_equal(one.components_[0], two.components_[0])


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_do_not_count_change_nothing(seed):
    X, Y = bumps(200, seed), bumps(600, seed + 10)
    weight = np.append(np.ones(200), np.zeros(600))
    model = GTPCA(2, Shift(32), random_state=seed)
    alone = model.fit(X).explained_energy_
    weighted = model.fit(np.concatenate([X, Y]), sample_weight=weight).explained_energy_
    padded = model.fit(np.concatenate([X, 0 * Y])).explained_energy_
    np.testing.assert_allclose([weighted, padded], [alone, alone], rtol=1e-4)


def test_lookahead_is_true_or_false():
    X = np.random.default_rng(0).standard_normal((10, 20))
    with pytest.raises(ValueError, match=r"lookahead='yes' must be one of True, False"):
        GTPCA(1, Shift(8), solver=ALS(lookahead="yes")).fit(X)


@pytest.mark.parametrize("on", [True, False])
def test_its_old_name_still_works_with_a_warning(on):
    X = bumps(60, seed=1)
    model, old = (GTPCA(2, Shift(32), solver=ALS(), random_state=0) for _ in range(2))
    with pytest.warns(FutureWarning, match="now called lookahead") as caught:
        old.set_params(solver__foresight=on).fit(X)
    assert all(warning.filename == __file__ for warning in caught)
    wanted = model.set_params(solver__lookahead=on).fit(X).components_
    assert np.array_equal(old.components_, wanted)
