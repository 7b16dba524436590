"""Several fits from other starts, of which the best is kept."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import QUICK, two_planted

from gtpca import ALS, GTPCA, Identity, Rotation, Shift
from gtpca.data.chunks import as_chunks
from gtpca.data.energies import loud_share
from gtpca.data.sampling import pick_rows

NOISE = np.random.default_rng(0).standard_normal((40, 30))


def fitted(X, family, **parameters):
    return GTPCA(2, family, solver=QUICK, random_state=0, **parameters).fit(X)


@pytest.mark.parametrize("shared_pose", [False, True])
def test_the_best_of_several_fits_is_kept(shared_pose):
    once, often = (fitted(NOISE, Shift(8), shared_pose=shared_pose, n_restarts=n) for n in (1, 8))
    assert often.explained_energy_.sum() > 1.001 * once.explained_energy_.sum()
    codes = often.encode(NOISE)
    left = np.sum((NOISE - often.decode(codes)) ** 2)
    np.testing.assert_allclose(np.sum(NOISE**2) - left, often.explained_energy_.sum())


def test_more_restarts_never_explain_less():
    sums = [fitted(NOISE, Shift(8), n_restarts=n).explained_energy_.sum() for n in (1, 2, 3, 5)]
    assert sums == sorted(sums)


def test_where_nothing_is_drawn_there_is_nothing_to_repeat():
    once, often = (fitted(NOISE, Identity(), n_restarts=n) for n in (1, 3))
    np.testing.assert_array_equal(once.components_, often.components_)
    assert len(often.history_) == 2


def test_restarts_of_a_dask_array():
    array = pytest.importorskip("dask.array", reason='needs dask: pip install "gtpca[dask]"')
    X = two_planted(Rotation(4), (6, 6), 120)
    here, there = (
        fitted(rows, Rotation(4), n_restarts=2)
        for rows in (X, array.from_array(X, chunks=(50, 6, 6)))
    )
    np.testing.assert_allclose(here.explained_energy_, there.explained_energy_)


def test_one_component_is_looked_for_once():
    once, auto = (GTPCA(1, Shift(8), random_state=0, n_restarts=n).fit(NOISE) for n in (1, "auto"))
    np.testing.assert_array_equal(once.components_, auto.components_)


def test_components_with_poses_of_their_own_are_looked_for_once():
    looked = LookedFor()
    auto = GTPCA(10, Shift(8), solver=looked, random_state=0).fit(NOISE)
    assert len(looked.explained) == 10
    once = GTPCA(10, Shift(8), solver=ALS(n_init=4), n_restarts=1, random_state=0).fit(NOISE)
    np.testing.assert_array_equal(auto.components_, once.components_)


@pytest.mark.parametrize(("n_rows", "count"), [(40, 5), (1100, 4)])
def test_two_blocks_are_finished_of_three_where_rows_are_few(n_rows, count):
    X, looked = np.random.default_rng(2).standard_normal((n_rows, 30)), LookedFor()
    GTPCA(2, Shift(8), shared_pose=True, solver=looked, random_state=0).fit(X)
    assert len(looked.explained) == count  # beginnings, and two that are finished


class LookedFor(ALS):
    """A solver that remembers what it found."""

    def __init__(self):
        super().__init__(n_init=4)
        self.explained = []

    def __sklearn_clone__(self):
        return self

    def solve(self, *args, **how):
        result = super().solve(*args, **how)
        self.explained.append(result.explained)
        return result


def test_another_try_replaces_the_first_if_it_explains_more():
    """Among loud rows some starts are better, and the fit with tries is never the worse one."""
    X = np.concatenate([NOISE, 6 * NOISE[:4, ::-1]])
    pairs = [
        [GTPCA(1, Shift(8), random_state=s, n_restarts=n).fit(X) for n in (1, "auto")]
        for s in range(8)
    ]
    first = np.array([[model.explained_energy_[0] for model in pair] for pair in pairs])
    assert np.all(first[:, 1] >= first[:, 0])
    assert np.any(first[:, 1] > 1.001 * first[:, 0])


def objects():
    """A bump and a wave at one random place: the example of the guide."""
    x, rng = np.linspace(-1, 1, 30), np.random.default_rng(0)
    bump, wave = np.exp(-6 * x**2), np.sin(2 * np.pi * x) * np.exp(-3 * x**2)
    X = 0.05 * rng.standard_normal((400, 120))
    for row in X:
        first, _ = rng.integers(91, size=2)
        row[first:][:30] += rng.normal(3) * bump
        row[first:][:30] += rng.normal(2) * wave
    return X


def test_a_block_in_one_pose_does_not_depend_on_the_start():
    X = objects()
    left = [
        GTPCA(2, Shift(30), shared_pose=True, random_state=s).fit(X).resmse(X) for s in range(4)
    ]
    assert np.max(left, axis=0)[1] < 0.0035


def with_loud_rows(share, seed=0, n=300):
    """Two patterns of 32 points, each somewhere in 128, and some rows of five times the noise."""
    rng, t = np.random.default_rng(seed), np.arange(32)
    X = rng.standard_normal((n, 128))
    for pattern, size in ((np.sin(t / 2.2), 8), (np.cos(t / 4), 5.6)):
        unit = np.hanning(32) * pattern / np.linalg.norm(np.hanning(32) * pattern)
        for x, start in zip(X, rng.integers(97, size=n), strict=True):
            x[start : start + 32] += size * rng.normal(1, 0.3) * unit
    loud = rng.choice(n, int(share * n), replace=False)
    X[loud] = 5 * rng.standard_normal((len(loud), 128))
    return X


def test_loud_rows_do_not_take_over():
    X = with_loud_rows(0.1)
    assert loud_share(as_chunks(X, Shift(32).bind((128,)))) > 0.3
    once, auto = (
        np.array(
            [
                GTPCA(2, Shift(32), random_state=s, n_restarts=n).fit(X).explained_energy_.sum()
                for s in range(6)
            ]
        )
        for n in (1, "auto")
    )
    best = max(once.max(), auto.max())
    assert np.mean(1 - auto / best) < 0.8 * np.mean(1 - once / best)
    assert auto.min() > 0.98 * best


def test_loud_rows_are_told_by_their_energy():
    X = np.ones((100, 4))
    operator = Shift(2).bind((4,))
    assert loud_share(as_chunks(X, operator)) == 0
    X[:5] = 10
    share = loud_share(as_chunks(X, operator))
    assert share == pytest.approx(5 * (400 - 16) / (5 * 400 + 95 * 4))
    few = as_chunks(X[[0, 99]], operator, np.array([5.0, 95.0]))
    assert loud_share(few) == pytest.approx(share)
    picked = pick_rows(as_chunks(X, operator), np.linspace(0.001, 0.999, 200))
    assert np.mean(picked[:, 0] == 10) == pytest.approx(5 * 16 / (5 * 16 + 95 * 4), abs=0.01)


def test_restarts_are_counted():
    with pytest.raises(ValueError, match="n_restarts=0 must be an integer of at least 1"):
        fitted(NOISE, Shift(8), n_restarts=0)
