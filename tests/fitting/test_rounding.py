"""Sums in another order: how far shares of the energy may differ, also where nothing is to find."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca import GTPCA, Rotation, Scaling, Shift, TimeWarp

FAMILIES = {
    "shift": (Shift(12), (40,)),
    "rotation": (Rotation(20), (9, 9)),
    "scaling": (Scaling(), (30,)),
    "timewarp": (TimeWarp(), (40,)),
}


def shares(family, X, **how):
    return GTPCA(2, family, random_state=0, **how).fit(X).explained_energy_ratio_


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", range(2))
def test_batches_and_order_in_white_noise(name, seed):
    """Batches: the rounding of sums. Order: what a search in single precision leaves, up to tol."""
    family, shape = FAMILIES[name]
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((100, *shape))
    whole = shares(family, X)
    np.testing.assert_allclose(shares(family, X, batch_size=37), whole, rtol=0, atol=1e-12)
    np.testing.assert_allclose(shares(family, X[rng.permutation(100)]), whole, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_order_of_rows_with_equal_energies(name):
    """Starts are drawn among rows by their energies, of which counts have many equal ones."""
    family, shape = FAMILIES[name]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = np.rint(2 * rng.standard_normal((60, *shape))).astype(int)
        whole = shares(family, X)
        batches, order = shares(family, X, batch_size=7), shares(family, X[rng.permutation(60)])
        np.testing.assert_allclose(batches, whole, rtol=0, atol=1e-12)
        np.testing.assert_allclose(order, whole, rtol=0, atol=1e-9)
