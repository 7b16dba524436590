"""Samples of any rank and precision."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import QUICK

from gtpca import GTPCA, Rotation, Shift


@pytest.mark.parametrize("family", [None, Rotation(4), Shift((2, 2))], ids=str)
def test_flat_rows_equal_rows_with_a_shape(family):
    X = np.random.default_rng(0).standard_normal((30, 4, 3))
    nd = GTPCA(2, family, solver=QUICK, random_state=0).fit(X)
    flat = GTPCA(2, family, sample_shape=(4, 3), solver=QUICK, random_state=0)
    Z = flat.fit_transform(X.reshape(30, 12))
    np.testing.assert_array_equal(flat.components_, nd.components_)
    np.testing.assert_array_equal(Z, nd.transform(X))
    np.testing.assert_array_equal(flat.transform(X), Z)
    assert flat.sample_shape_ == nd.sample_shape_ == (4, 3)
    assert flat.n_features_in_ == nd.n_features_in_ == 12
    assert flat.reconstruct(X.reshape(30, 12)).shape == (30, 4, 3)
    assert flat.inverse_transform(Z).shape == (30, 12)
    assert nd.inverse_transform(Z).shape == (30, 4, 3)
    given = GTPCA(2, family, sample_shape=(4, 3), solver=QUICK, random_state=0).fit(X)
    np.testing.assert_array_equal(given.components_, nd.components_)


@pytest.mark.parametrize(
    ("shape", "family", "weight_shape"),
    [
        ((12,), Shift(5), (5,)),
        ((12, 2), Shift(20, axes=0), (20, 2)),
        ((2, 12), Shift(5, axes=-1), (2, 5)),
        ((6, 7), Shift((4, 4)), (4, 4)),
        ((6, 7, 3), Shift((8, 4)), (8, 4, 3)),
        ((4, 5, 6), Shift((2, 3, 4)), (2, 3, 4)),
        ((4, 5, 6), Shift((3, 3), axes=(1, 2)), (4, 3, 3)),
        ((5, 6, 3), Rotation(4), (5, 6, 3)),
        ((3, 5, 6), Rotation(4, axes=(1, 2)), (3, 5, 6)),
        ((4, 5, 6), None, (4, 5, 6)),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ranks_and_precision(shape, family, weight_shape, dtype):
    X = np.random.default_rng(0).standard_normal((20, *shape)).astype(dtype)
    model = GTPCA(2, family, solver=QUICK, random_state=0).fit(X)
    assert model.components_.shape == (2, *weight_shape)
    assert model.components_.dtype == model.explained_energy_.dtype == np.float64
    codes = model.encode(X)
    assert codes.scores.dtype == model.transform(X).dtype == dtype
    for rows in (model.reconstruct(X), model.decode(codes), model.inverse_transform(codes.scores)):
        assert rows.dtype == dtype
        assert rows.shape == X.shape
    aligned = model.align(X)
    assert aligned.dtype == dtype
    assert aligned.shape == (20, *weight_shape)
    assert model.score_samples(X).shape == (20,)
    assert model.resmse(X).shape == (2,)
    assert model.score(X) == pytest.approx(1 - model.resmse(X)[-1], abs=1e-12)


def test_statistics_of_float32_rows_are_float64():
    rng = np.random.default_rng(0)
    X = (1000 + rng.standard_normal((5000, 4))).astype(np.float32)
    model = GTPCA(1, center=True).fit(X)
    assert model.mean_.dtype == np.float64
    np.testing.assert_allclose(model.mean_, X.mean(axis=0, dtype=np.float64), rtol=1e-12)
    assert model.transform(X).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, bool, np.float16])
def test_other_numbers_are_floats(dtype):
    X = np.random.default_rng(0).integers(0, 2, (20, 10)).astype(dtype)
    model = GTPCA(1, Shift(4), solver=QUICK, random_state=0).fit(X)
    wanted = GTPCA(1, Shift(4), solver=QUICK, random_state=0).fit(X.astype(np.float64))
    np.testing.assert_allclose(model.components_, wanted.components_, rtol=0, atol=1e-4)
    assert model.transform(X).dtype in (np.float32, np.float64)
