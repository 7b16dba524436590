"""Data that cannot be fitted get an error that names X and says why."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers import BAD, QUICK, poisoned
from scipy import sparse

from gtpca import GTPCA, Shift


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_are_not_finite(images, value, dtype):
    word = "NaN" if np.isnan(value) else "inf"
    X = poisoned(images.astype(dtype), value)
    for data in (X, X.reshape(30, -1)):
        with pytest.raises(ValueError, match=rf"\bX\b.*{word}"):
            GTPCA().fit(data)
    model = GTPCA().fit(images)
    for method in (model.transform, model.encode, model.align, model.resmse, model.score_samples):
        with pytest.raises(ValueError, match=rf"\bX\b.*{word}"):
            method(X)


def test_values_whose_energy_overflows(series):
    for family in (None, Shift(5)):
        with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"\bX\b"):
            GTPCA(1, family, solver=QUICK, random_state=0).fit(series * 1e200)


@pytest.mark.parametrize("X", [np.arange(12.0), 3.0], ids=["one row", "scalar"])
def test_wrong_rank(X, fitted):
    for method in (GTPCA().fit, fitted.transform, fitted.encode):
        # "Reshape your data" is what scikit-learn's estimator checks ask for
        with pytest.raises(ValueError, match="Reshape your data") as caught:
            method(X)
        assert re.search(r"\bX\b", str(caught.value)), "does not name X"


@pytest.mark.parametrize("shape", [(0, 12), (0, 6, 5)])
def test_no_samples(shape):
    with pytest.raises(ValueError, match=re.escape(str(shape))) as caught:
        GTPCA().fit(np.zeros(shape))
    assert re.search(r"\bX\b", str(caught.value)), "does not name X"


def test_no_samples_at_transform(fitted):
    with pytest.raises(ValueError, match=r"\(0, 12\)"):
        fitted.transform(np.zeros((0, 12)))


@pytest.mark.parametrize("shape", [(3, 0), (3, 0, 5)])
def test_samples_without_features(shape):
    with pytest.raises(ValueError, match=re.escape(str(shape))):
        GTPCA().fit(np.zeros(shape))


def test_rows_without_energy(series):
    with pytest.raises(ValueError, match=r"\bX\b.*zero"):
        GTPCA().fit(np.zeros_like(series))
    with pytest.raises(ValueError, match=r"\bX\b.*centring"):
        GTPCA(center=True).fit(np.ones_like(series))


def test_sparse_data(series, fitted):
    for method in (GTPCA().fit, fitted.transform):
        with pytest.raises(TypeError, match=r"(?i)sparse.*\bX\b.*dense"):
            method(sparse.csr_array(series))


def test_numeric_objects_are_accepted(images):
    plain, boxed = GTPCA().fit(images), GTPCA().fit(images.astype(object))
    np.testing.assert_allclose(boxed.components_, plain.components_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(boxed.transform(images.astype(object)), plain.transform(images))


@pytest.mark.parametrize("boxed", [True, False])
def test_words_are_refused(series, boxed):
    X = series.astype(object)
    X[3, 4] = "hello"
    with pytest.raises(BAD, match=r"\bX\b") as caught:
        GTPCA().fit(X if boxed else X.astype(str))
    assert "hello" in str(caught.value)


def test_other_objects_are_refused(series):
    X = series.astype(object)
    X[3, 4] = {"foo": "bar"}
    with pytest.raises(BAD, match=r"\bX\b"):
        GTPCA().fit(X)


def test_complex_data(series):
    with pytest.raises(ValueError, match="Complex data"):
        GTPCA().fit(series + 1j)


def test_masked_values_are_refused(series, fitted):
    mask = np.zeros(series.shape, dtype=bool)
    whole = np.ma.masked_array(series, mask)
    np.testing.assert_array_equal(fitted.transform(whole), fitted.transform(series))
    holes = np.ma.masked_array(series, mask | (series > 2))
    count = int((series > 2).sum())
    for data in (holes, list(holes), holes.reshape(30, 3, 4)):
        with pytest.raises(ValueError, match=rf"X has {count} missing values \(masked\)"):
            GTPCA(1).fit(data)
    for method in (fitted.transform, fitted.resmse, fitted.align, fitted.partial_fit):
        with pytest.raises(ValueError, match=r"X has 7 missing values \(masked\)"):
            method(holes)
    with pytest.raises(ValueError, match="sample_weight is a masked array"):
        GTPCA(1).fit(series, sample_weight=np.ma.masked_array(np.ones(30), np.eye(30)[0]))


def test_masked_values_of_a_dask_array_are_refused(series):
    da = pytest.importorskip("dask.array", reason="Dask arrays")
    X = da.ma.masked_greater(da.from_array(series, chunks=(10, -1)), 2)
    with pytest.raises(ValueError, match=r"chunk \d.* missing values \(masked\)"):
        GTPCA(1, Shift(5), solver=QUICK).fit(X)
