"""How many components a fit finds, and that it stops when nothing is left."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import QUICK
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from gtpca import ALS, GTPCA, Rotation, Shift

# --- n_components ---


@pytest.mark.parametrize("share", [0.3, 0.8, 0.95])
def test_share_of_the_energy_for_pca(series, share):
    energies = np.linalg.svd(series, compute_uv=False) ** 2
    ratios = np.cumsum(energies) / energies.sum()
    expected = int(np.searchsorted(ratios, share)) + 1
    model = GTPCA(share).fit(series)
    assert model.n_components_ == expected
    np.testing.assert_allclose(np.cumsum(model.explained_energy_ratio_), ratios[:expected])


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_share_of_the_energy_for_shifts(series, share):
    model = GTPCA(share, Shift(5), solver=QUICK, random_state=0).fit(series)
    explained = 1 - model.resmse(series)
    assert explained[-1] >= share
    assert np.all(explained[:-1] < share)
    assert model.n_components_ == len(model.components_) == len(explained) > 1


def test_greedy_components_are_nested(series):
    """The first components do not depend on how many are asked for."""
    solver = clone(QUICK).set_params(lookahead=False)
    few = GTPCA(1, Shift(5), solver=solver, random_state=0).fit(series)
    many = GTPCA(3, Shift(5), solver=solver, random_state=0).fit(series)
    np.testing.assert_array_equal(many.components_[:1], few.components_)
    np.testing.assert_array_equal(many.transform(series)[:, :1], few.transform(series))


def test_with_lookahead_all_but_the_last_component_are_nested(series):
    """The last has no other to look ahead to."""
    few = GTPCA(2, Shift(5), solver=QUICK, random_state=0).fit(series)
    many = GTPCA(3, Shift(5), solver=QUICK, random_state=0).fit(series)
    np.testing.assert_array_equal(many.components_[:1], few.components_[:1])


@pytest.mark.parametrize("max_iter", [1, 3, 5, 10, 25])
@pytest.mark.parametrize("family", [Shift(5), Shift(20), Rotation(4)], ids=str)
def test_max_iter_bounds_the_passes_moves_included(max_iter, family):
    X = np.random.default_rng(0).standard_normal((40, 12))
    shape = (4, 3) if isinstance(family, Rotation) else None
    solver = ALS(max_iter=max_iter, tol=0)
    model = GTPCA(2, family, sample_shape=shape, solver=solver, random_state=0).fit(X)
    assert np.all(model.n_iter_ <= max_iter)
    assert all(1 <= len(h) <= n for h, n in zip(model.history_, model.n_iter_, strict=True))


# --- energy that is gone ---


def few_pulses():
    """Rows that one component in a window of 3 explains exactly."""
    X = np.zeros((20, 12))
    for i in range(20):
        X[i, i % 10 : i % 10 + 3] = (1 + i % 3) * np.array([1.0, 3.0, 1.0])
    return X


def low_rank(seed, rank=2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((30, rank)) @ rng.standard_normal((rank, 12))


@pytest.mark.parametrize(
    ("X", "family", "count"),
    [
        *[(low_rank(seed), None, 2) for seed in range(4)],
        *[(low_rank(seed).astype(np.float32), None, 2) for seed in range(4)],
        (np.diag([3.0, 2.0, 1.0, 0.0, 0.0]), None, 3),
        (low_rank(5, rank=1), Shift(12), 1),
        (few_pulses(), Shift(3), 1),
        (few_pulses().astype(np.float32), Shift(3), 1),
    ],
)
def test_energy_that_is_gone(X, family, count):
    model = GTPCA(5, family, random_state=0)
    with pytest.warns(ConvergenceWarning, match=rf"{count}.*n_components_"):
        model.fit(X)
    assert model.n_components_ == count
    assert len(model.components_) == len(model.explained_energy_) == count
    assert len(model.explained_energy_ratio_) == len(model.n_iter_) == len(model.history_) == count
    assert model.transform(X).shape == (len(X), count)
    assert len(model.get_feature_names_out()) == count
    assert model.resmse(X)[-1] < 1e-6
    assert abs(model.explained_energy_ratio_.sum() - 1) < 1e-6


def test_energy_that_is_gone_with_few_rows():
    X = np.random.default_rng(0).standard_normal((3, 12))
    with pytest.warns(ConvergenceWarning, match="n_components_"):
        model = GTPCA(8, center=True).fit(X)
    assert model.n_components_ == 2  # three centred rows


def test_no_warning_when_the_components_asked_for_are_found(recwarn):
    GTPCA(2).fit(low_rank(0))
    GTPCA(1, Shift(3), random_state=0).fit(few_pulses())
    assert not [w for w in recwarn if issubclass(w.category, ConvergenceWarning)]
