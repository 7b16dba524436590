"""Where rows come from: an array in memory, or anything with a shape, a dtype and slicing.

Arrays of Dask are known here by what they offer, not by their type: Dask is imported by
:mod:`gtpca.data.dask` alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gtpca.operators.backend import small_float

__all__ = ["ArrayRows", "StreamedRows", "by_rows", "is_dask", "is_stream"]

TAKE_ROWS = 1024  # single rows are picked out of so many at a time


class ArrayRows:
    """Rows in memory.

    Parameters
    ----------
    rows : array (n, d), floats
    """

    in_memory = True

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

    def preprocessed(self, preprocess: Callable) -> ArrayRows:
        """The rows after ``preprocess``, all at once."""
        return ArrayRows(preprocess(self._rows))


def is_dask(X) -> bool:
    """Whether ``X`` is an array of Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed") and hasattr(X, "map_blocks")


def by_rows(fn: Callable, *arrays):
    """``fn(*arrays)``, which gives one row for each of theirs; lazy if they are of Dask."""
    if not any(is_dask(a) for a in arrays):
        return fn(*arrays)
    from gtpca.data.dask import map_rows

    return map_rows(fn, *arrays)


def is_stream(X) -> bool:
    """Whether ``X`` is to be read piece by piece: a memory map, or not of NumPy at all."""
    if isinstance(X, np.memmap):
        return True
    if isinstance(X, (np.ndarray, np.generic)) or hasattr(X, "iloc") or hasattr(X, "toarray"):
        return False
    described = isinstance(getattr(X, "dtype", None), np.dtype) and hasattr(X, "shape")
    return described and hasattr(X, "__getitem__")


class StreamedRows:
    """Rows that are read when they are needed, converted and checked piece by piece.

    Parameters
    ----------
    source : array-like (n, \\*sample_shape)
        With ``shape``, ``dtype`` and slicing along the first axis: a memory map, a data set of
        h5py, an array of zarr or Dask.
    preprocess : callable or None
        What is done to every piece (n, d).
    first : int
        What the first row is called in errors.
    """

    in_memory = False

    def __init__(self, source, preprocess: Callable | None = None, first: int = 0):
        self.source, self.preprocess, self.first = source, preprocess, first
        self.n_rows, self.n_features = source.shape[0], math.prod(source.shape[1:])
        self.dtype = small_float(source.dtype)
        chunks = getattr(source, "chunks", None)
        self.block_rows = int(chunks[0]) if chunks and np.ndim(chunks[0]) == 0 else 1

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows ``start`` to ``stop - 1``, in memory."""
        return self._checked(self.source[start:stop], range(start, stop))

    def _checked(self, rows, numbers):
        """Rows as they come, as finite floats (n, d), after ``preprocess``."""
        rows = np.asarray(rows).reshape(len(numbers), self.n_features)
        rows = rows.astype(self.dtype, copy=False)
        if not np.isfinite(rows).all():
            bad = self.first + numbers[int(np.argmin(np.isfinite(rows).all(axis=1)))]
            raise ValueError(f"X has NaN or infinite values in row {bad}.")
        return rows if self.preprocess is None else self.preprocess(rows)

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
        return StreamedRows(self.source, preprocess, self.first)
