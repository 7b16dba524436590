"""Centring and feature weights equal data that were centred or scaled before."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import QUICK

from gtpca import GTPCA, Compose, Identity, Reflection, Rotation, Shift

# --- centring ---


def shapes_and_families():
    return [
        ((10,), Identity(), (0,)),
        ((10,), Shift(4), (0,)),
        ((10,), Shift(14), (0,)),
        ((10, 2), Shift(4, axes=0), (0,)),
        ((10, 2), Shift(10, axes=0), (0,)),
        ((10, 2), Shift(boundary="circular", axes=0), (0,)),
        ((2, 10), Shift(4, axes=-1), (1,)),
        ((6, 5), Shift((3, 3)), (0, 1)),
        ((6, 5), Shift((6, 3)), (0, 1)),
        ((6, 5, 3), Shift((3, 3)), (0, 1)),
        ((5, 5, 3), Rotation(4), (0, 1)),
        ((10, 2), Compose(Shift(5, axes=0), Reflection(0)), (0,)),
    ]


@pytest.mark.parametrize(("shape", "family", "axes"), shapes_and_families(), ids=str)
def test_center_samples_is_the_mean_of_each_row_and_channel(shape, family, axes):
    X = np.random.default_rng(0).standard_normal((30, *shape))
    offsets = np.random.default_rng(1).standard_normal((30, *shape))
    moved = tuple(a + 1 for a in axes)
    X = X + 20 * offsets.mean(axis=moved, keepdims=True)
    centred = X - X.mean(axis=moved, keepdims=True)
    model = GTPCA(2, family, center="samples", solver=QUICK, random_state=0).fit(X)
    plain = GTPCA(2, family, solver=QUICK, random_state=0).fit(centred)
    np.testing.assert_allclose(model.components_, plain.components_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.transform(X), plain.transform(centred), rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.resmse(X), plain.resmse(centred), rtol=0, atol=1e-9)
    assert model.mean_ is None


@pytest.mark.parametrize("family", [None, Shift((3, 3))], ids=str)
def test_center_true_is_the_mean_of_every_feature(family):
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((2, 30, 6, 5)) + 5 * rng.standard_normal((6, 5))
    model = GTPCA(2, family, center=True, solver=QUICK, random_state=0).fit(X)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=0, atol=1e-12)
    plain = GTPCA(2, family, solver=QUICK, random_state=0).fit(X - X.mean(axis=0))
    np.testing.assert_allclose(model.components_, plain.components_, rtol=0, atol=1e-9)
    shifted = new - X.mean(axis=0)
    np.testing.assert_allclose(model.transform(new), plain.transform(shifted), atol=1e-9)
    rebuilt = plain.reconstruct(shifted) + X.mean(axis=0)
    np.testing.assert_allclose(model.reconstruct(new), rebuilt, atol=1e-9)
    back = model.inverse_transform(np.zeros((1, 2)))
    np.testing.assert_allclose(back[0], X.mean(axis=0), atol=1e-12)


def test_center_with_sample_weight_is_the_mean_of_repeated_rows():
    X = np.random.default_rng(0).standard_normal((30, 6)) + 3
    weight = np.random.default_rng(1).integers(0, 3, 30)
    model = GTPCA(2, center=True).fit(X, sample_weight=weight)
    repeated = GTPCA(2, center=True).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(model.mean_, repeated.mean_, atol=1e-12)
    np.testing.assert_allclose(model.components_, repeated.components_, atol=1e-9)
    np.testing.assert_allclose(model.explained_energy_, repeated.explained_energy_, rtol=1e-9)


# --- feature weights ---


@pytest.mark.parametrize("shape", [(8,), (4, 2)])
def test_feature_weight_equals_scaled_data(shape):
    rng = np.random.default_rng(0)
    X, q = rng.standard_normal((40, *shape)), rng.uniform(0.1, 3, shape)
    root = np.sqrt(q)
    model = GTPCA(3, feature_weight=q).fit(X)
    scaled = GTPCA(3).fit(X * root)
    signs = np.sign(np.sum(model.transform(X) * scaled.transform(X * root), axis=0))
    np.testing.assert_allclose(
        model.transform(X), signs * scaled.transform(X * root), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(model.explained_energy_, scaled.explained_energy_, rtol=1e-9)
    np.testing.assert_allclose(
        model.reconstruct(X), scaled.reconstruct(X * root) / root, rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(model.resmse(X), scaled.resmse(X * root), rtol=0, atol=1e-9)


def test_feature_weight_zero_is_an_aperture():
    """What lies outside of an aperture has no say in scores, poses and energies."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 12))
    q = np.ones(12)
    q[[0, 1, 11]] = 0
    model = GTPCA(2, Shift(4), feature_weight=q, solver=QUICK, random_state=0).fit(X)
    noisy = X + (q == 0) * 100 * rng.standard_normal((40, 12))
    np.testing.assert_allclose(model.transform(noisy), model.transform(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.resmse(noisy), model.resmse(X), rtol=0, atol=1e-9)
