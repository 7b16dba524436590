"""From what users pass to flat rows."""

from __future__ import annotations

import math
import re

import numpy as np
from sklearn.utils.validation import validate_data

from gtpca import checks
from gtpca.data.rows import ArrayRows, StreamedRows, is_dask, is_stream
from gtpca.operators.backend import small_float

__all__ = ["check_n_components", "counted", "new_rows", "training_rows"]


def _small_float(X):
    """float32 for small integers and halves, which it holds exactly; everything else unchanged."""
    dtype = getattr(X, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biuf":
        return X
    return X.astype(np.float32) if small_float(dtype) == np.float32 else X


def _streamed(estimator, X, reset):
    """Rows that are read piece by piece, and the shape of a sample; only the header is checked."""
    if is_dask(X):
        from gtpca.data.dask import whole_samples

        X = whole_samples(X, known=reset)
    if X.dtype.kind not in "biuf" or len(X.shape) < 2 or 0 in X.shape:
        raise ValueError(
            f"X has shape {tuple(X.shape)} and dtype {X.dtype}, but must hold numbers: at least "
            "one sample, along the first axis, of at least one value."
        )
    _validated(estimator, np.zeros((1, math.prod(X.shape[1:])), small_float(X.dtype)), reset)
    return StreamedRows(X), tuple(X.shape[1:])


def counted(X):
    """``X``; an array of Dask with chunks whose sizes are known, none of them empty."""
    X = _unframed(X)
    if not is_dask(X):
        return X
    from gtpca.data.dask import whole_samples

    return whole_samples(X, known=True)


def _unframed(X):
    """A frame of Dask as an array of Dask; everything else unchanged."""
    return X.to_dask_array() if hasattr(X, "to_dask_array") else X


def _open(estimator, X, reset):
    """Rows, and the shape of a sample if ``X`` has more than two axes."""
    if is_stream(X):
        rows, shape = _streamed(estimator, X, reset)
        return rows, shape if len(shape) > 1 else None
    flat, shape = _flatten(X)
    return ArrayRows(_validated(estimator, flat, reset)), shape


def _flatten(X):
    """``X`` as (n, d) and the shape of its samples; frames and sparse matrices pass untouched."""
    if hasattr(X, "toarray") or hasattr(X, "iloc"):
        return X, None
    X = np.asarray(X)
    if X.ndim <= 2:
        return _small_float(X), None
    if 0 in X.shape:
        raise ValueError(f"X has shape {X.shape}: there is nothing in it.")
    return _small_float(X.reshape(len(X), -1)), X.shape[1:]


def _validated(estimator, flat, reset):
    """scikit-learn's checks, in messages that name ``X``."""
    floats = [np.float64, np.float32]
    try:
        return validate_data(estimator, flat, reset=reset, dtype=floats, order="C")
    except (TypeError, ValueError) as error:
        text = str(error)
        raise type(error)(text if re.search(r"\bX\b", text) else f"X: {text}") from None


def training_rows(estimator, X, sample_shape):
    """Rows of training data, the shape of a row as it came, and that of a sample."""
    rows, shape = _open(estimator, _unframed(X), reset=True)
    got = (rows.n_features,) if shape is None else shape
    if sample_shape is None:
        return rows, got, got
    wanted = checks.sizes("sample_shape", sample_shape)
    if (shape is not None and shape != wanted) or math.prod(wanted) != rows.n_features:
        raise ValueError(
            f"sample_shape={sample_shape!r} does not fit X with samples of shape {tuple(got)}; "
            f"give rows with {math.prod(wanted)} values or leave sample_shape out."
        )
    return rows, got, wanted


def new_rows(estimator, X, sample_shape):
    """Rows of data for a fitted estimator."""
    X = _unframed(X)
    if is_stream(X):
        shape = tuple(X.shape[1:]) if len(X.shape) > 2 else None
    else:
        X, shape = _flatten(X)
    if shape is not None and tuple(shape) != tuple(sample_shape):
        raise ValueError(
            f"X has samples of shape {tuple(shape)}, but GTPCA was fitted to samples of shape "
            f"{tuple(sample_shape)}."
        )
    return _open(estimator, X, reset=False)[0]


def check_n_components(n_components, operator, shared_pose=False):
    """An int of at least 1 or a float in (0, 1)."""
    if isinstance(n_components, (float, np.floating)) and 0 < n_components < 1:
        return float(n_components)
    whole = isinstance(n_components, (int, np.integer)) and not isinstance(n_components, bool)
    if not whole or n_components < 1:
        raise ValueError(
            f"n_components={n_components!r} must be a whole number of at least 1 or a share of the "
            "energy in (0, 1)."
        )
    most = min(operator.n_weights, operator.n_features)
    if (operator.n_transforms == 1 or shared_pose) and n_components > most:
        raise ValueError(
            f"n_components={n_components} is more than the {most} features; with a single "
            f"transform or a shared pose there are at most {most} components."
        )
    return int(n_components)
