"""The source of rows: an array in memory, or anything with a shape, a dtype and slicing.

User input is checked and opened here: what can be checked depends on where rows come from. Dask
arrays are recognised by their interface, not by their type: only :mod:`gtpca.data.dask` imports
Dask.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from gtpca import checks
from gtpca.data.containers import Container, open_container
from gtpca.data.missing import as_nan, check_no_infinity, check_observed, where_missing
from gtpca.data.series import as_one_array, shapes_of
from gtpca.operators.grid import shape_text

__all__ = [
    "ArrayRows",
    "StreamedRows",
    "by_rows",
    "counted",
    "is_dask",
    "is_stream",
    "new_rows",
    "small_float",
    "training_rows",
]

DATES = ("date", "timedelta", "duration", "period")  # prefixes of the names of such types
COMPLEX = (
    "Complex data not supported: X holds {}. Give X.real, abs(X), or both as channels, "
    "np.stack([X.real, X.imag], axis=-1)."
)
TAKE_ROWS = 1024  # rows that are read at a time to pick single ones


def small_float(dtype) -> np.dtype:
    """float32 for types that it represents exactly, such as bytes and halves, else float64."""
    return np.dtype(np.float32 if np.result_type(dtype, np.float32) == np.float32 else np.float64)


class ArrayRows:
    """Rows in memory.

    Parameters
    ----------
    rows : array (n, d), floats
    """

    in_memory = True
    container: Container | None = None  # of the samples
    shapes: np.ndarray | None = None  # of samples from a list that was padded
    feature_names: np.ndarray | None = None  # of the columns of a training table

    def __init__(self, rows):
        self._rows = rows
        self.n_rows, self.n_features = rows.shape
        self.dtype, self.block_rows = rows.dtype, 1

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows ``start`` to ``stop - 1``, a view."""
        return self._rows[start:stop]

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Copies of the rows with these numbers."""
        return self._rows[numbers]

    @property
    def n_blank(self) -> int:
        """The number of rows without any observed value."""
        return int(np.isnan(self._rows).all(axis=1).sum())

    def preprocessed(self, preprocess: Callable) -> ArrayRows:
        """The rows after ``preprocess``, all at once."""
        return ArrayRows(preprocess(self._rows))


def is_dask(X) -> bool:
    """Whether ``X`` is a Dask array."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed") and hasattr(X, "map_blocks")


def by_rows(fn: Callable, *arrays):
    """``fn(*arrays)``, which returns one row per row of the arrays; lazy for Dask arrays."""
    if not any(is_dask(a) for a in arrays):
        return fn(*arrays)
    from gtpca.data.dask import map_rows

    return map_rows(fn, *arrays)


def is_stream(X) -> bool:
    """Whether ``X`` should be read piece by piece: a memory map, or not a NumPy array at all."""
    if isinstance(X, np.memmap):
        return True
    if isinstance(X, (np.ndarray, np.generic)) or hasattr(X, "iloc") or hasattr(X, "toarray"):
        return False
    described = isinstance(getattr(X, "dtype", None), np.dtype) and hasattr(X, "shape")
    return described and hasattr(X, "__getitem__")


class StreamedRows:
    """Rows that are read when needed, converted and checked piece by piece.

    Parameters
    ----------
    source : array-like (n, \\*sample_shape)
        With ``shape``, ``dtype`` and slicing along the first axis: a memory map, an h5py
        dataset, a zarr or Dask array.
    preprocess : callable or None
        Applied to every piece (n, d).
    first : int
        Number of the first row in error messages.
    missing : {"error", "ignore"}
        Whether values may be NaN or masked: not observed.
    """

    in_memory = False
    container: Container | None = None
    shapes: np.ndarray | None = None
    feature_names: np.ndarray | None = None

    def __init__(
        self, source, preprocess: Callable | None = None, first: int = 0, missing: str = "error"
    ):
        self.source, self.preprocess, self.first = source, preprocess, first
        self.missing = missing
        self.n_rows, self.n_features = source.shape[0], math.prod(source.shape[1:])
        self.dtype = small_float(source.dtype)
        chunks = getattr(source, "chunks", None)
        self.block_rows = int(chunks[0]) if chunks and np.ndim(chunks[0]) == 0 else 1

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows ``start`` to ``stop - 1``, in memory."""
        return self._checked(self.source[start:stop], range(start, stop))

    def _checked(self, rows, numbers):
        """Rows as floats (n, d), checked, after ``preprocess``."""
        if np.ma.isMaskedArray(rows):
            self._check_observed(np.ma.getmaskarray(rows), numbers, "masked")
            rows = as_nan(rows)
        rows = np.asarray(rows).reshape(len(numbers), self.n_features)
        rows = rows.astype(self.dtype, copy=False)
        if not np.isfinite(rows).all():
            self._check_observed(np.isnan(rows), numbers, "NaN")
            check_no_infinity("X", rows, self.first + np.asarray(numbers), self.source.shape[1:])
        return rows if self.preprocess is None else self.preprocess(rows)

    def _check_observed(self, hidden, numbers, kind):
        if self.missing == "error":
            names = self.first + np.asarray(numbers)
            check_observed("X", hidden, names, self.source.shape[1:], kind)

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """The rows with these numbers, given in ascending order."""
        if isinstance(self.source, np.ndarray):
            return self._checked(self.source[numbers], numbers)
        out = np.empty((len(numbers), self.n_features), self.dtype)
        for piece in np.unique(numbers // TAKE_ROWS):
            mine = np.flatnonzero(numbers // TAKE_ROWS == piece)
            start, stop = int(numbers[mine[0]]), int(numbers[mine[-1]]) + 1
            out[mine] = self.read(start, stop)[numbers[mine] - start]
        return out

    def preprocessed(self, preprocess: Callable) -> StreamedRows:
        """The rows after ``preprocess``, piece by piece."""
        if self.preprocess is not None:
            preprocess = partial(_one_after_the_other, self.preprocess, preprocess)
        return StreamedRows(self.source, preprocess, self.first, self.missing)


def _one_after_the_other(first, second, rows):
    return second(first(rows))


def _as_small_float(X):
    """float32 for small integers and halves, which it represents exactly; others unchanged."""
    dtype = getattr(X, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biuf":
        return X
    return X.astype(np.float32, copy=False) if small_float(dtype) == np.float32 else X


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
    return StreamedRows(X, missing=estimator.missing), tuple(X.shape[1:])


def counted(X, model=None):
    """``X``; a Dask array gets chunks of known sizes, none of them empty.

    For a fitted ``model``, ``X`` is taken out of its container.
    """
    if _is_plain(X):
        return X
    X = _unframed(X if model is None else _received(model, X, model.labels_)[0])
    if not is_dask(X):
        return X
    from gtpca.data.dask import whole_samples

    return whole_samples(X, known=True)


def _is_plain(X) -> bool:
    """Whether ``X`` is a NumPy array, but not one of objects, such as unequal arrays."""
    return type(X) is np.ndarray and X.dtype.kind != "O"


def _received(estimator, X, labels=None):
    """``X`` as rows, and its container, if that is of a known type."""
    container = open_container(X, estimator.sample_dim, labels)
    return (X, None) if container is None else (container.rows, container)


def _unframed(X):
    """A Dask dataframe as a Dask array; everything else unchanged."""
    return X.to_dask_array() if hasattr(X, "to_dask_array") else X


def _open(estimator, X, reset):
    """Rows, and the shape of a sample if ``X`` has more than two axes."""
    if is_stream(X):
        rows, shape = _streamed(estimator, X, reset)
        return rows, shape if len(shape) > 1 else None
    flat, shape = _flatten(X, estimator.missing)
    return ArrayRows(_validated(estimator, flat, reset, shape)), shape


def _flatten(X, missing):
    """``X`` as (n, d) and the shape of its samples; frames and sparse matrices are not touched."""
    if hasattr(X, "toarray") or hasattr(X, "iloc") or hasattr(X, "get_columns"):
        _check_no_dates(np.atleast_1d(np.asarray(getattr(X, "dtypes", ()), dtype=object)))
        return X, None
    if missing == "ignore":
        X = as_nan(X)
    elif type(X) is not np.ndarray:
        _refuse_masked(X)
    X = np.asarray(X)
    _check_kind(X)
    if X.ndim <= 2:
        return _as_small_float(X), None
    if 0 in X.shape:
        raise ValueError(f"X has shape {X.shape}: there is nothing in it.")
    return _as_small_float(X.reshape(len(X), -1)), X.shape[1:]


def _check_kind(X):
    """Raise an error where scikit-learn would print the data: too few axes, complex numbers."""
    if X.ndim < 2:
        raise ValueError(
            f"X has shape {X.shape}, but samples are rows: (n, d), or (n, *sample_shape). Reshape "
            "your data: X.reshape(1, -1) is one sample, X.reshape(-1, 1) samples of one value."
        )
    _check_no_dates([X.dtype])
    if X.dtype.kind == "c":
        raise ValueError(COMPLEX.format(X.dtype))


def _check_no_dates(dtypes):
    """Raise an error for dates and durations, which NumPy would treat as numbers."""
    for dtype in dtypes:
        plain = isinstance(dtype, np.dtype) and dtype.kind in "biufc"  # names take their time
        if not plain and str(dtype).lower().startswith(DATES):
            raise ValueError(
                f"X holds {dtype}, but must hold numbers; leave such columns out, or divide "
                "durations, as X / np.timedelta64(1, 's') does."
            )


def _refuse_masked(X):
    """Raise an error for masked values, which NumPy would silently ignore."""
    rows = X if isinstance(X, (list, tuple)) else (X,)
    if any(np.ma.is_masked(row) for row in rows):
        check_observed("X", where_missing(X), kind="masked")


class Checked(BaseEstimator):
    """What scikit-learn's checks write to, in place of an estimator that is about to be fitted.

    That one is changed when its fit is done, and not before.
    """

    def __init__(self, estimator):
        self.estimator, self.missing = estimator, estimator.missing

    def __sklearn_tags__(self):
        return self.estimator.__sklearn_tags__()


def _validated(estimator, flat, reset, shape=None):
    """scikit-learn's checks, with messages that name ``X``."""
    ignore = estimator.missing == "ignore"
    name = type(estimator.estimator if reset else estimator).__name__
    if ignore and hasattr(flat, "iloc"):
        flat = as_nan(flat)
    try:
        return validate_data(
            estimator,
            flat,
            reset=reset,
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite="allow-nan" if ignore else True,
            estimator=name,
        )
    except (TypeError, ValueError) as error:
        text = str(error)
        if not ignore and re.search("NaN|NAType|NoneType", text):
            check_observed("X", where_missing(flat), shape=shape)
        if "Complex data" in text:
            raise ValueError(COMPLEX.format("complex numbers")) from None
        if "infinity" in text:
            check_no_infinity("X", np.asarray(flat, dtype=np.float64), shape=shape)
        raise type(error)(text if re.search(r"\bX\b", text) else f"X: {text}") from None


def training_rows(estimator, X, sample_shape):
    """Rows of training data, the original shape of a row, and the shape of a sample."""
    wanted = None if sample_shape is None else checks.sizes("sample_shape", sample_shape)
    container = None
    if not _is_plain(X):
        X, container = _received(estimator, X)
        X = as_one_array(X, estimator.missing, wanted)
    checked = Checked(estimator)
    rows, shape = _open(checked, _unframed(X), reset=True)
    rows.feature_names = getattr(checked, "feature_names_in_", None)
    rows.container, got = container, (rows.n_features,) if shape is None else shape
    if wanted is None:
        return rows, got, _on_grid(container, got)
    if (shape is not None and shape != wanted) or math.prod(wanted) != rows.n_features:
        raise ValueError(
            f"sample_shape={sample_shape!r} does not fit X with samples of shape {tuple(got)}; "
            f"give rows with {math.prod(wanted)} values or leave sample_shape out."
        )
    return rows, got, _on_grid(container, wanted)


def _on_grid(container, shape):
    """The shape of a sample, with the axes of its container if they are known."""
    known = container is not None and container.labels is not None
    return container.labels.grid(shape) if known else shape


def new_rows(estimator, X, sample_shape):
    """Rows of data for a fitted estimator."""
    container = shapes = None
    if not _is_plain(X):
        X, container = _received(estimator, X, estimator.labels_)
        shapes = shapes_of(X, sample_shape)
        X = as_one_array(X, estimator.missing, sample_shape)
    X = _unframed(X)
    stream = is_stream(X)
    if stream:
        shape = tuple(X.shape[1:]) if len(X.shape) > 2 else None
    else:
        X, shape = _flatten(X, estimator.missing)
    if shape is not None and tuple(shape) != tuple(sample_shape):
        raise ValueError(
            f"X has samples of shape {tuple(shape)}, but {type(estimator).__name__} was fitted to "
            f"samples of shape {shape_text(estimator.grid_)}."
        )
    if stream:
        rows = _streamed(estimator, X, reset=False)[0]
    else:
        rows = ArrayRows(_validated(estimator, X, False, shape))
    rows.container, rows.shapes = container, None if shapes is None else np.array(shapes)
    return rows
