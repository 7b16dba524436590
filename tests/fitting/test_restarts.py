"""Several fits from other starts, of which the best is kept."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import QUICK, two_planted

from gtpca import GTPCA, Identity, Rotation, Shift

NOISE = np.random.default_rng(1).standard_normal((40, 30))


def fitted(X, family, **parameters):
    return GTPCA(2, family, solver=QUICK, random_state=0, **parameters).fit(X)


@pytest.mark.parametrize("shared_pose", [False, True])
def test_the_best_of_several_fits_is_kept(shared_pose):
    once, often = (fitted(NOISE, Shift(8), shared_pose=shared_pose, n_restarts=n) for n in (1, 8))
    assert often.explained_energy_.sum() > once.explained_energy_.sum()
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


def test_restarts_are_counted():
    with pytest.raises(ValueError, match="n_restarts=0 must be an integer of at least 1"):
        fitted(NOISE, Shift(8), n_restarts=0)
