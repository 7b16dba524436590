"""All rows, wherever they are stored: the solver sees chunks of them and sums.

A chunk is a number of rows with everything that belongs to them: operator, sample weights, codes,
and poses that are given.
Functions that run over chunks are module-level functions ``fn(chunk, *args)`` whose further
arguments are small.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import islice
from operator import add
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs

from gtpca.data.codes import Codes
from gtpca.data.energies import row_energies, zero_filled
from gtpca.data.residual import (
    CACHE_BYTES,
    Memory,
    Residual,
    Subtraction,
    keep_freed_pages,
    scratch,
)
from gtpca.data.rows import ArrayRows, is_dask
from gtpca.operators import Operator
from gtpca.operators.poses import is_pose

__all__ = [
    "RESIDUALS",
    "Chunk",
    "Chunks",
    "RowChunks",
    "as_chunks",
    "known_rows",
    "rows_per_chunk",
    "scaled_rows",
    "unreadable",
]

CHUNK_BYTES = 2**21  # temporary arrays of a chunk should fit into the processor's cache
CROWD = 2  # chunks per thread from which on threads pay off
RESIDUALS = ("auto", "memory", "scratch", "recompute")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of the data. NaN means *not observed*: there is no separate mask.

    A chunk is immutable. What was prepared from its rows is kept in its :class:`Residual`, which is
    also the place where owned rows are changed in place: the previous chunk must not be used then.

    Parameters
    ----------
    rows : array (n, d)
    operator : Operator
        The transforms that components may undergo.
    weight : array (n,) or None
        Sample weights.
    start : int
        Number of the first row.
    codes : Codes or None
        Codes on the components found so far; ``rows`` is then the residual.
    residual : Residual or None
        What is kept about the rows. It is ignored if it belongs to other rows or another operator.
    given : int array (n, g), float array (n, g, p) or None
        Poses that are known, of the first ``g`` components, or (n, 1) if they share them: numbers
        of nodes, or parameters between nodes. Negative, or NaN, where a pose is free.
    """

    rows: np.ndarray
    operator: Operator
    weight: np.ndarray | None = None
    start: int = 0
    codes: Codes | None = None
    residual: Residual | None = field(default=None, repr=False)
    given: np.ndarray | None = None

    def __post_init__(self):
        known = self.residual
        if known is None or known.rows is not self.rows or known.operator is not self.operator:
            object.__setattr__(self, "residual", Residual(self.rows, self.operator))

    @property
    def _state(self) -> Residual:
        assert self.residual is not None
        return self.residual

    @property
    def energies(self) -> np.ndarray:
        """:func:`row_energies` of the rows, in the inner product of their operator."""
        return self._state.keep("energies", lambda: self.energies_of(self.rows))

    def energies_of(self, rows: np.ndarray) -> np.ndarray:
        """:func:`row_energies` of other rows (n, d), in the same inner product."""
        return row_energies(rows, self.operator.feature_weight)

    @property
    def prepared(self):
        """``operator.prepare`` of the :attr:`weighed` rows.

        It is kept in this chunk, so it cannot belong to another one.
        """
        return self._state.keep("prepared", lambda: self.operator.prepare(self.weighed))

    @property
    def prepared_mask(self):
        """``operator.prepare_mask`` of :attr:`lack`."""
        return self._state.keep("prepared_mask", lambda: self.operator.prepare_mask(self.lack))

    @property
    def filled(self) -> np.ndarray:
        """The rows with zeros in place of NaN: the rows themselves, if nothing is hidden."""
        if self.hidden is None:
            return self.rows
        return self._state.keep("filled", lambda: zero_filled(self.rows))

    @property
    def weighed(self) -> np.ndarray:
        """``V x``: rows times the weights of their values, (n, d); unchanged rows if all are 1.

        The objective is ``sum_i <v_i, (x_i - a_i T_i w)^2>`` with a weight ``v_ij`` for every
        value: that of the feature if the value was observed, and 0 (or little, see
        :mod:`gtpca.model.gaps`) if it was not, or outside the domain, where every ``T w`` is 0. The
        feature weight is an attribute of the operator; the rows themselves stay as they are.
        """
        if self.operator.feature_weight is None:
            return self.filled
        return self._state.keep("weighed", lambda: self.filled * self._feature_weight)

    @property
    def lack(self) -> np.ndarray:
        """What the weights of unobserved values lack: those of the features; zero elsewhere.

        Shape (n, d), in the data type of the rows.
        """
        mask = np.isnan(self.rows).astype(self.rows.dtype)
        return mask if self.operator.feature_weight is None else mask * self._feature_weight

    def value_weights(self, hidden_weight: float = 0.0) -> np.ndarray:
        """The weights ``V`` of all values, (n, d), or (1, d) if rows share them, in float64.

        That of the feature, times ``hidden_weight`` if the value was not observed.
        """
        q = self.operator.feature_weight
        q = np.ones(self.rows.shape[1]) if q is None else q
        return q * (1 - (1 - hidden_weight) * ~self.seen)

    @property
    def _feature_weight(self):
        return np.asarray(self.operator.feature_weight).astype(self.rows.dtype)

    @property
    def hidden(self) -> np.ndarray | None:
        """Where values were not observed, bool (n, d); None if all were."""
        return self._state.hidden

    @property
    def seen(self) -> np.ndarray:
        """Where values were observed, bool (n, d), or (1, d) if all were."""
        return self._state.seen

    @property
    def turn(self) -> int:
        """The number of the component that comes next: that of the columns of the codes."""
        return 0 if self.codes is None else self.codes.index.shape[1]

    def given_on(self, column: int) -> np.ndarray | None:
        """The poses (n,) or (n, p) that are given for a component; None if all of them are free."""
        if self.given is None or column >= self.given.shape[1]:
            return None
        poses = self.given[:, column]
        return poses if known_rows(poses).any() else None

    def weigh(self, values: np.ndarray) -> np.ndarray:
        """``values`` (.., n) times the sample weights."""
        return values if self.weight is None else values * self.weight

    def plus(
        self, W: np.ndarray, index: np.ndarray, coef: np.ndarray, codes: Codes | None
    ) -> Chunk:
        """The chunk with ``sum_k coef_ik T_{index_i} w_k`` added to its rows, and other codes.

        See :meth:`Residual.plus`: owned rows are changed in place.
        """
        residual = self._state.plus(W, index, coef)
        return replace(self, rows=residual.rows, residual=residual, codes=codes)

    def with_codes(self, codes: Codes | None) -> Chunk:
        """The same rows, and what was kept about them, with other codes."""
        return replace(self, codes=codes)

    def owning(self, place: np.ndarray | None = None) -> Chunk:
        """The same chunk with its own rows: in ``place`` (n, d), or in a copy."""
        residual = self._state.owning(place)
        return replace(self, rows=residual.rows, residual=residual)

    def afresh(self) -> Chunk:
        """The same rows without codes, never changed in place, with room for prepared arrays."""
        residual = Residual(self.rows, self.operator, memory=Memory(CACHE_BYTES))
        return replace(self, codes=None, residual=residual)


def known_rows(poses: np.ndarray) -> np.ndarray:
    """Where poses (n,) or (n, p) of :attr:`Chunk.given` are known, bool (n,)."""
    return ~np.isnan(poses).any(axis=1) if is_pose(poses) else poses >= 0


class Chunks(Protocol):
    """Rows that can be iterated over repeatedly."""

    n_rows: int
    dtype: np.dtype
    operator: Any
    n_jobs: int | None
    has_given: bool  # whether poses are given

    def sum(self, fn: Callable, *args: Any) -> Any:
        """Sum of ``fn(chunk, *args)`` over all chunks."""

    def collect(self, fn: Callable, *args: Any) -> list:
        """All ``fn(chunk, *args)``, in the order of the rows."""

    def concat(self, fn: Callable, *args: Any) -> Any:
        """The arrays or codes ``fn(chunk, *args)`` of all rows, concatenated."""

    def update(self, fn: Callable, *args: Any, blocks: list) -> Chunks:
        """New residual and codes; the old chunks must not be used any more."""

    def take(self, rows: np.ndarray) -> Chunk:
        """Some rows, in memory."""

    def scaled(self, exponent: int) -> Chunks:
        """The same rows times ``2**exponent``; allowed only before there are codes."""

    def to_memory(self) -> Chunks:
        """The same rows in this process, for small numbers of rows."""


def rows_per_chunk(operator, dtype, block_rows=1):
    """The number of rows whose samples and products with all transforms take ``CHUNK_BYTES``.

    A multiple of ``block_rows``, in which the rows are stored, unless that is far too large.
    """
    width = max(operator.n_features, operator.n_transforms) * np.dtype(dtype).itemsize
    size = max(16, CHUNK_BYTES // width)
    whole = -(-size // block_rows) * block_rows
    return whole if whole * width <= 16 * CHUNK_BYTES else size


class RowChunks:
    """Chunks of rows, with the codes on the components found so far.

    Their residual is kept, in memory or in an unnamed file, or computed again from the codes
    whenever a chunk is read; matches are never repeated for this.

    Parameters
    ----------
    rows : ArrayRows or StreamedRows
        Never changed.
    operator : Operator
    weight : array (n,) or None
        Sample weights.
    batch_size : int
        Rows per chunk.
    codes : Codes or None
    n_jobs : int or None
        Number of threads over the chunks, if there are enough chunks; does not affect results.
    residual : {"memory", "scratch", "recompute"}
        Where the residual is kept.
    subtraction : Subtraction or None
        How to compute the residual from the codes, if it is not kept.
    given : array (n, g), (n, g, p) or None
        Poses that are known, see :class:`Chunk`.
    """

    def __init__(
        self,
        rows,
        operator,
        *,
        weight,
        batch_size,
        residual,
        codes=None,
        n_jobs=None,
        subtraction=None,
        given=None,
    ):
        self.rows, self.operator, self.weight, self.codes = rows, operator, weight, codes
        self.given, self.has_given = given, given is not None
        self.batch_size, self.n_jobs, self.residual = batch_size, n_jobs, residual
        self.n_rows, self.dtype = rows.n_rows, rows.dtype
        self._subtraction = subtraction
        self._left: np.ndarray | None = None
        self._views: list[Chunk] | None = None

    def __iter__(self) -> Iterator[Chunk]:
        starts = range(0, self.n_rows, self.batch_size)
        if not self.rows.in_memory or self._subtraction is not None:
            return (self._open(start) for start in starts)
        if self._views is None:
            memory = Memory(CACHE_BYTES)
            self._views = [self._open(start, memory) for start in starts]
        return iter(self._views)

    def _open(self, start, memory=None):
        part = slice(start, min(start + self.batch_size, self.n_rows))
        weight = None if self.weight is None else self.weight[part]
        codes = None if self.codes is None else self.codes[part]
        rows = self._read(part, codes)
        residual = Residual(rows, self.operator, self._left is not None, memory)
        given = None if self.given is None else self.given[part]
        return Chunk(rows, self.operator, weight, start, codes, residual, given)

    def _read(self, part, codes):
        """The residual of some rows."""
        if self._left is not None:
            return self._left[part]
        try:
            rows = self.rows.read(part.start, part.stop)
        except Exception as error:
            raise unreadable(error, self._where(part)) from error
        return self._subtract(rows, codes)

    def _where(self, part):
        return f"chunk {part.start // self.batch_size}, rows {part.start} to {part.stop - 1}"

    def _subtract(self, rows, codes):
        return rows if self._subtraction is None else self._subtraction(rows, codes)

    def _each(self, fn, *args):
        """Yield ``fn(chunk, *args)`` in the order of the rows; only few of them wait at a time."""
        crowds = self.n_rows // self.batch_size // CROWD
        threads = min(effective_n_jobs(self.n_jobs), crowds) if crowds > 1 else 1
        if threads < 2:
            yield from (fn(chunk, *args) for chunk in self)
            return
        with ThreadPoolExecutor(threads) as pool:
            waiting: deque[Future] = deque()
            for part in self._parts(crowds // (2 * threads)):
                waiting.append(pool.submit(lambda part: [fn(c, *args) for c in part], part))
                if len(waiting) > 2 * threads:
                    yield from waiting.popleft().result()
            for future in waiting:
                yield from future.result()

    def _parts(self, size):
        """Groups of chunks, so that threads do not wait often; a single group if it is written."""
        made = not self.rows.in_memory or self._subtraction is not None
        chunks, size = iter(self), 1 if made else min(max(size, 1), 8)
        return iter(lambda: list(islice(chunks, size)), [])

    def collect(self, fn, *args):
        """All ``fn(chunk, *args)``, in the order of the rows."""
        return list(self._each(fn, *args))

    def sum(self, fn, *args):
        """Sum of ``fn(chunk, *args)`` over all chunks."""
        return reduce(add, self._each(fn, *args))

    def concat(self, fn, *args):
        """The arrays or codes ``fn(chunk, *args)`` of all rows, concatenated."""
        return _stack(self.collect(fn, *args))

    def update(self, fn, *args, blocks):
        """New rows and codes ``fn(chunk, *args)``.

        ``blocks`` are those whose projections have then been subtracted from the rows, with None
        for those that have not.
        """
        left = self._room()
        views = left is not None and self.rows.in_memory
        found = self.collect(_next, left, views, fn, *args)
        after = copy.copy(self)
        after.codes = _stack([each.codes for each in found] if views else found)
        after._left = left
        after._subtraction = (
            Subtraction(self.operator, blocks, self.dtype) if left is None else None
        )
        self._views, after._views = None, found if views else None
        return after

    def _room(self):
        """Where to write a residual: its present place, a new one, or None."""
        if self._left is not None or self.residual == "recompute":
            return self._left
        make = np.empty if self.residual == "memory" else scratch
        return make((self.n_rows, self.rows.n_features), self.dtype)

    def take(self, numbers):
        """Copies of the residual of the given rows, in ascending order."""
        weight = None if self.weight is None else self.weight[numbers]
        given = None if self.given is None else self.given[numbers]
        if self._left is not None:
            return Chunk(self._left[numbers], self.operator, weight, given=given)
        codes = None if self.codes is None else self.codes[numbers]
        rows = self._subtract(self.rows.take(numbers), codes)
        return Chunk(rows, self.operator, weight, given=given)

    def scaled(self, exponent):
        """The same rows times ``2**exponent``; allowed only before there are codes."""
        after = copy.copy(self)
        after.rows, after._views = scaled_rows(self.rows, exponent), None
        return after

    def to_memory(self):
        """These chunks."""
        return self


def _next(chunk, left, whole, fn, *args):
    """``fn(chunk, *args)``, with its rows in ``left`` (n, d) if there is such a place.

    Returns the ``whole`` chunk, or its codes alone.
    """
    if left is not None:
        chunk = chunk.owning(left[chunk.start : chunk.start + len(chunk.rows)])
    new = fn(chunk, *args)
    return new if whole else new.codes


def scaled_rows(rows, exponent):
    """Rows times ``2**exponent``; exact, except for values that vanish next to the others."""
    return rows if exponent == 0 else rows.preprocessed(partial(_times_power, exponent))


def _times_power(exponent, rows):
    return np.ldexp(rows, exponent)


def unreadable(error, where):
    """An error that says where the rows could not be read; of the same type, if it is common."""
    known = (kind for kind in (ValueError, OSError) if isinstance(error, kind))
    return next(known, RuntimeError)(f"X could not be read in {where}: {error}")


def _stack(parts):
    """Concatenate arrays, codes or dicts of arrays."""
    if isinstance(parts[0], dict):
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if not isinstance(parts[0], Codes):
        return np.concatenate(parts)
    return Codes(
        np.concatenate([p.scores for p in parts]), np.concatenate([p.index for p in parts])
    )


def as_chunks(
    rows, operator, weight=None, batch_size=None, n_jobs=None, residual="auto", given=None
) -> Chunks:
    """The chunks of an array (n, d) or of rows; ``batch_size=None`` chooses one for the operator.

    ``residual`` says where the residual is kept: "memory", "scratch" (a file), or "recompute";
    "auto" keeps it in memory if the rows are in memory. Poses that are ``given`` are those of
    :class:`Chunk`.
    """
    keep_freed_pages()
    rows = ArrayRows(rows) if isinstance(rows, np.ndarray) else rows
    if batch_size is None:
        batch_size = rows_per_chunk(operator, rows.dtype, rows.block_rows)
    if residual == "auto":
        residual = "memory" if rows.in_memory else "recompute"
    if not rows.in_memory and is_dask(rows.source):
        from gtpca.data.dask import DaskChunks

        return DaskChunks(
            rows, operator, weight=weight, batch_size=batch_size, residual=residual, given=given
        )
    return RowChunks(
        rows,
        operator,
        weight=weight,
        batch_size=batch_size,
        residual=residual,
        n_jobs=n_jobs,
        given=given,
    )
