"""The rows, wherever they live: the solver sees chunks of them and sums.

Functions that run over chunks are module-level functions ``fn(chunk, *small)`` whose further
arguments are small.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import reduce
from operator import add
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs

from gtpca.codes import Codes
from gtpca.coding import Chunk, weighted_energies

__all__ = ["ArrayChunks", "Chunks", "as_chunks", "random_order", "rows_per_chunk", "subsample"]

CHUNK_BYTES = 2**22  # temporaries of a chunk should stay in the processor's cache
CACHE_BYTES = 2**31
CROWD = 4  # chunks per thread from which threads pay


class Chunks(Protocol):
    """Rows that can be gone through again and again."""

    n_rows: int
    dtype: np.dtype

    def sum(self, fn: Callable, *small: Any) -> Any:
        """Sum of ``fn(chunk, *small)`` over all chunks."""

    def collect(self, fn: Callable, *small: Any) -> list:
        """All ``fn(chunk, *small)``, in the order of the rows."""

    def then(self, fn: Callable, *small: Any) -> Chunks:
        """New rows and codes ``fn(chunk, *small)``; the old chunks must not be used any more."""

    def take(self, rows: np.ndarray) -> Chunk:
        """Some rows, in memory."""


class PreparedCache:
    """Keeps prepared chunks until a limit of bytes is reached."""

    def __init__(self, limit=CACHE_BYTES):
        self._store, self._room = {}, limit

    def get(self, key, make):
        """The stored value, or a new one, stored if there is room."""
        if key in self._store:
            return self._store[key]
        value = make()
        if value.nbytes <= self._room:
            self._store[key] = value
            self._room -= value.nbytes
        return value


def rows_per_chunk(operator, dtype):
    """Rows whose samples and products with all transforms take about ``CHUNK_BYTES``."""
    width = max(operator.n_features, operator.n_transforms)
    return max(16, CHUNK_BYTES // (width * np.dtype(dtype).itemsize))


class ArrayChunks:
    """Chunks of an array in memory.

    Parameters
    ----------
    rows : array (n, d)
        Never changed; residuals are written to one copy.
    weight : array (n,) or None
        Sample weights.
    batch_size : int
        Rows per chunk.
    codes : Codes or None
    own : bool
        Whether ``rows`` is our own copy.
    n_jobs : int or None
        Threads over the chunks, where there are enough of them; results do not depend on it.
    """

    def __init__(self, rows, weight=None, batch_size=1024, codes=None, own=False, n_jobs=None):
        self.rows, self.weight, self.codes = rows, weight, codes
        self.batch_size, self._own, self.n_jobs = batch_size, own, n_jobs
        self._cache = PreparedCache()
        self.n_rows, self.dtype = len(rows), rows.dtype

    def __iter__(self) -> Iterator[Chunk]:
        for start in range(0, self.n_rows, self.batch_size):
            part = slice(start, start + self.batch_size)
            weight = None if self.weight is None else self.weight[part]
            codes = None if self.codes is None else self.codes[part]
            yield Chunk(self.rows[part], weight, start, codes, self._cache)

    def _each(self, fn, *small):
        """Yield ``fn(chunk, *small)`` in the order of the rows; few of them wait at a time."""
        threads = min(effective_n_jobs(self.n_jobs), self.n_rows // self.batch_size // CROWD)
        if threads < 2:
            yield from (fn(chunk, *small) for chunk in self)
            return
        with ThreadPoolExecutor(threads) as pool:
            waiting: deque[Future] = deque()
            for chunk in self:
                waiting.append(pool.submit(fn, chunk, *small))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            yield from (future.result() for future in waiting)

    def collect(self, fn, *small):
        """All ``fn(chunk, *small)``, in the order of the rows."""
        return list(self._each(fn, *small))

    def sum(self, fn, *small):
        """Sum of ``fn(chunk, *small)`` over all chunks."""
        return reduce(add, self._each(fn, *small))

    def then(self, fn, *small):
        """New rows and codes; the residual is kept in one array."""
        target = self.rows if self._own else np.empty_like(self.rows)

        def keep(chunk):
            new = fn(chunk, *small)
            target[chunk.start : chunk.start + len(new.rows)] = new.rows
            return new.codes

        codes = _stack(self.collect(keep))
        return ArrayChunks(target, self.weight, self.batch_size, codes, True, self.n_jobs)

    def take(self, rows):
        """Copies of the given rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Chunk(self.rows[rows], weight)


def _stack(parts):
    if parts[0] is None:
        return None
    return Codes(
        np.concatenate([p.scores for p in parts]), np.concatenate([p.index for p in parts])
    )


def as_chunks(rows, operator, weight=None, batch_size=None, n_jobs=None, codes=None):
    """The chunks of an array (n, d); ``batch_size=None`` chooses one for the operator."""
    if batch_size is None:
        batch_size = rows_per_chunk(operator, rows.dtype)
    return ArrayChunks(rows, weight, batch_size, codes, n_jobs=n_jobs)


def random_order(chunks, rng):
    """The numbers of all rows that count, with energy and weight, in random order."""
    live = np.concatenate(chunks.collect(weighted_energies)) > 0
    return rng.permutation(np.flatnonzero(live))


def subsample(chunks, operator, order, size, n_jobs=None):
    """Chunks of the first ``size`` rows in ``order``; all chunks if there are not more rows."""
    if chunks.n_rows <= size:
        return chunks
    chunk = chunks.take(np.sort(order[:size]))
    return as_chunks(chunk.rows, operator, chunk.weight, n_jobs=n_jobs)
