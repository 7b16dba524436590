"""A single transform is solved directly: PCA, by all ways, as SciPy and scikit-learn have it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import falling_scales
from scipy import linalg
from sklearn.decomposition import PCA

from gtpca import GTPCA, Custom, Identity, Scaling, Shift
from gtpca.solvers import pca
from gtpca.testing import assert_same_components


@pytest.mark.parametrize("family", [None, Identity(), Shift(), Shift(30)])
def test_identity_is_truncated_svd(family):
    X = falling_scales()
    _, s, Vt = linalg.svd(X, full_matrices=False)
    model = GTPCA(5, family).fit(X)
    np.testing.assert_allclose(model.explained_energy_, s[:5] ** 2, rtol=1e-6)
    gap = linalg.subspace_angles(model.components_.T, Vt[:5].T).max()
    assert gap < 1e-6
    np.testing.assert_allclose(np.abs(np.sum(model.components_ * Vt[:5], axis=1)), 1, atol=1e-6)


def test_identity_by_lanczos_is_the_same(monkeypatch):
    X = falling_scales()
    dense = GTPCA(4).fit(X)
    monkeypatch.setattr(pca, "DENSE_WEIGHTS", 0)
    assert_same_components(dense, GTPCA(4, random_state=0).fit(X), atol=1e-6)


def test_centred_identity_is_scikit_learns_pca():
    X = falling_scales()
    ours, theirs = GTPCA(5, center=True).fit(X), PCA(5).fit(X)
    signs = np.sign(np.sum(ours.components_ * theirs.components_, axis=1))
    np.testing.assert_allclose(ours.components_ * signs[:, None], theirs.components_, atol=1e-6)
    np.testing.assert_allclose(ours.transform(X) * signs, theirs.transform(X), atol=1e-6)
    np.testing.assert_allclose(
        ours.reconstruct(X), theirs.inverse_transform(theirs.transform(X)), atol=1e-6
    )
    np.testing.assert_allclose(
        ours.explained_energy_ratio_, theirs.explained_variance_ratio_, rtol=1e-6
    )


@pytest.mark.parametrize(
    "family",
    [Shift(50, max_shift=0), Shift(20, max_shift=0), Scaling([1.3]), Custom([np.eye(30)[::-1]])],
)
def test_a_single_transform_is_solved_in_its_range(family):
    X = falling_scales()
    T = family.bind((30,)).matrix().toarray()
    Q = linalg.orth(T)
    _, s, _ = linalg.svd(X @ Q, full_matrices=False)
    model = GTPCA(3, family).fit(X)
    np.testing.assert_allclose(model.explained_energy_, s[:3] ** 2, rtol=1e-6)
    np.testing.assert_allclose(1 - model.score(X), model.resmse(X)[-1])
    np.testing.assert_allclose(
        model.explained_energy_.sum() / np.sum(X**2), model.score(X), rtol=1e-6
    )
