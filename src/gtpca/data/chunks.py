"""The rows, wherever they live: the solver sees chunks of them and sums.

A chunk is some rows with all that belongs to them: operator, sample weights, codes. Functions that
run over chunks are module-level functions ``fn(chunk, *small)`` whose further arguments are small.
"""

from __future__ import annotations

import copy
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from itertools import islice
from operator import add
from typing import Any, Generic, Protocol

import numpy as np
from joblib import effective_n_jobs

from gtpca.data.containers import Container
from gtpca.data.residual import Subtraction, scratch
from gtpca.data.rows import ArrayRows, is_dask
from gtpca.files import atomic_file, check_regular
from gtpca.operators import Operator
from gtpca.shell import ArrayT

__all__ = [
    "Chunk",
    "Chunks",
    "Codes",
    "RowChunks",
    "as_chunks",
    "count_live_rows",
    "energy",
    "exponent_of",
    "loud_share",
    "masses",
    "nested_samples",
    "offset_energy",
    "pick_rows",
    "row_energies",
    "row_exponents",
    "rows_per_chunk",
    "totals",
    "weighted_energies",
    "weighted_sums",
    "zero_filled",
]

CHUNK_BYTES = 2**21  # temporaries of a chunk should stay in the processor's cache
CACHE_BYTES = 2**31
SINGLE_ROWS = 64  # from here on searches run in single precision
CROWD = 2  # chunks per thread from which threads pay
LOUD, QUARTILE = 4, 0.75  # times the energy that three quarters of the rows do not reach is loud
ORDINARY = 32  # values between 2^-32 and 2^32 have squares and sums in any precision
RESIDUALS = ("auto", "memory", "scratch", "recompute")

# glibc gives back what is free beyond twice the largest block that was freed so far, and fresh
# pages cost as much as a short pass. This block is never touched, and counts.
np.empty(2**24, np.uint8)


@dataclass(frozen=True, eq=False)
class Codes(Generic[ArrayT]):
    """Scores and transforms of ``n`` rows on ``k`` components.

    ``index`` has one column per component, or a single one if all components share the pose.

    Parameters
    ----------
    scores : array (n, k)
        Signed length of each projection.
    index : int array (n, k) or (n, 1)
        Which transform each component took; ``GTPCA.poses`` says it in a person's units.
    shapes : int array (n, r) or None
        Of the samples, if these came in a list of unequal sizes: ``GTPCA.decode`` gives such a list
        back.
    container : Container or None
        What the samples came in, such as a DataArray: ``GTPCA.decode`` and ``GTPCA.poses`` answer
        in kind. It is not saved.
    kind : int array (n,) or None
        Which kind each row is of, where a model has several: see :class:`gtpca.MixtureGTPCA`.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import Codes
    >>> len(Codes(np.ones((5, 2)), np.zeros((5, 2), dtype=int))[:3])
    3
    """

    scores: ArrayT
    index: ArrayT
    shapes: np.ndarray | None = None
    container: Container | None = None
    kind: ArrayT | None = None

    @staticmethod
    def check(codes: Any) -> None:
        """Raise a TypeError for anything but codes, such as the scores that ``transform`` gives."""
        if not isinstance(codes, Codes):
            raise TypeError(
                f"codes is {_kind_of(codes)}, but must be what encode(X) returns: scores and poses."
            )

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, rows: Any) -> Codes[ArrayT]:
        if isinstance(rows, (int, np.integer)):
            rows = np.array([rows])
        shapes = None if self.shapes is None else self.shapes[rows]
        container = None if self.container is None else self.container.take(rows)
        kind = None if self.kind is None else self.kind[rows]
        return Codes(self.scores[rows], self.index[rows], shapes, container, kind)

    def first(self, n_components: int) -> Codes[ArrayT]:
        """The codes on the first components only; a pose that is shared stays."""
        index: Any = self.index
        index = index if index.shape[1] == 1 else index[:, :n_components]
        return replace(self, scores=self.scores[:, :n_components], index=index)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all arrays to one ``.npz`` file, without pickle, by an atomic write."""
        arrays: dict[str, Any] = {"scores": self.scores, "index": self.index}
        for name in ("shapes", "kind"):
            if getattr(self, name) is not None:
                arrays[name] = getattr(self, name)
        with atomic_file(path) as file:
            np.savez(file, **arrays)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Codes:
        """Read what :meth:`save` wrote."""
        check_regular(path)
        with np.load(path, allow_pickle=False) as arrays:
            beside = {name: arrays.get(name) for name in ("shapes", "kind")}
            return Codes(arrays["scores"], arrays["index"], **beside)


def _kind_of(value) -> str:
    """The type of a value, and its shape if it has one."""
    shape = getattr(value, "shape", None)
    return f"a {type(value).__name__}{'' if shape is None else f' of shape {tuple(shape)}'}"


@dataclass
class Memory:
    """How many bytes may still be kept.

    Parameters
    ----------
    room : int
    """

    room: int

    def take(self, size: int) -> bool:
        """Whether ``size`` bytes may be kept; if so, they are counted."""
        if size > self.room:
            return False
        self.room -= size
        return True


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of the data. NaN means *not observed*: it is all that says so, on every way.

    Parameters
    ----------
    rows : array (n, d)
    operator : Operator
        What components do to reach them.
    weight : array (n,) or None
        Sample weights.
    start : int
        Number of the first row.
    codes : Codes or None
        Codes on the components found so far; ``rows`` is then the residual.
    memory : Memory or None
        Where there is room in it, what the operator prepared is kept as long as the chunk.
    owned : bool
        Whether the rows are nobody else's, so that :meth:`plus` may change them in place.
    """

    rows: np.ndarray
    operator: Operator
    weight: np.ndarray | None = None
    start: int = 0
    codes: Codes | None = None
    memory: Memory | None = field(default=None, repr=False)
    owned: bool = False

    @property
    def energies(self) -> np.ndarray:
        """:func:`row_energies` of the rows, in the inner product of their operator."""
        return self._kept("_energies", lambda: self.energies_of(self.rows))

    def energies_of(self, rows: np.ndarray) -> np.ndarray:
        """:func:`row_energies` of other rows (n, d), in the same inner product."""
        return row_energies(rows, self.operator.feature_weight)

    @property
    def prepared(self):
        """``operator.prepare`` of :attr:`weighed` rows.

        It is kept in this very chunk, so it never is another's.
        """
        return self._kept("_prepared", lambda: self.operator.prepare(self.weighed))

    @property
    def prepared_mask(self):
        """``operator.prepare_mask`` of :attr:`lack`."""
        return self._kept("_prepared_mask", lambda: self.operator.prepare_mask(self.lack))

    @property
    def filled(self) -> np.ndarray:
        """The rows with zeros where nothing was observed: themselves, if nothing is hidden."""
        if self.hidden is None:
            return self.rows
        return self._kept("_filled", lambda: zero_filled(self.rows))

    @property
    def weighed(self) -> np.ndarray:
        """``V x``: rows times the weights of their values, (n, d); themselves if all are 1.

        The objective is ``sum_i <v_i, (x_i - a_i T_i w)^2>`` with a weight ``v_ij`` for every
        value: that of the feature where it was observed, and 0 (or little, see
        :mod:`gtpca.model.gaps`) where it was not, and outside the domain, where every ``T w`` is 0.
        """
        if self.operator.feature_weight is None:
            return self.filled
        return self._kept("_weighed", lambda: self.filled * self._feature_weight)

    @property
    def lack(self) -> np.ndarray:
        """What the weights of values lack where nothing was observed: those of the features.

        Zero elsewhere; (n, d) in the data type of the rows.
        """
        mask = np.isnan(self.rows).astype(self.rows.dtype)
        return mask if self.operator.feature_weight is None else mask * self._feature_weight

    def value_weights(self, hidden_weight: float = 0.0) -> np.ndarray:
        """The weights ``V`` of all values, (n, d), or (1, d) if rows share them, in float64.

        That of the feature, times ``hidden_weight`` where nothing was observed.
        """
        q = self.operator.feature_weight
        q = np.ones(self.rows.shape[1]) if q is None else q
        return q[None] if self.hidden is None else q * (1 - (1 - hidden_weight) * self.hidden)

    @property
    def _feature_weight(self):
        return np.asarray(self.operator.feature_weight).astype(self.rows.dtype)

    @cached_property
    def hidden(self) -> np.ndarray | None:
        """Where nothing was observed, bool (n, d); None where all was."""
        if not np.isnan(np.einsum("ij->", self.rows)):  # far quicker than to ask each of them
            return None
        hidden = np.isnan(self.rows)
        return hidden if hidden.any() else None

    def _kept(self, name, make):
        """``make()``, which is kept as long as the chunk if there is room for it."""
        kept = self.__dict__.get(name)
        if kept is None:
            kept = make()
            if self.memory is not None and self.memory.take(kept.nbytes):
                self.__dict__[name] = kept
        return kept

    def weigh(self, values: np.ndarray) -> np.ndarray:
        """``values`` (.., n) times the sample weights."""
        return values if self.weight is None else values * self.weight

    def plus(
        self, W: np.ndarray, index: np.ndarray, coef: np.ndarray, codes: Codes | None
    ) -> Chunk:
        """The chunk with ``sum_k coef_ik T_{index_i} w_k`` added to its rows, and other codes.

        Rows that are its own, and what was prepared of them, are changed in place.

        Parameters
        ----------
        W : array (K, L)
        index : int array (n,)
        coef : array (n, K)
        codes : Codes or None
        """
        operator, dtype = self.operator, self.rows.dtype
        rows = self.rows if self.owned else self.rows.copy()
        W, coef = W.astype(dtype), coef.astype(dtype)
        each = np.broadcast_to(index[:, None], coef.shape)
        operator.add_moved(rows, operator.prepare_weights(W), each, coef)
        after = replace(self, rows=rows, owned=True, codes=codes)
        if self.owned:
            after.__dict__.update(self._still_true(W, index, coef))
        return after

    def _still_true(self, W, index, coef):
        """What was kept of these rows and holds for those after :meth:`plus` as well."""
        kept, names = vars(self), ["hidden", "_prepared_mask"]
        P, moves = kept.get("_prepared"), self.weighed is self.rows and self.operator.moves_prepared
        if P is self.rows or (P is not None and moves):
            names.append("_prepared")
            if P is not self.rows:
                self.operator.move_prepared(P, W, index, coef)
        gone = kept.keys() & {"_prepared", "_filled", "_weighed", "_energies"} - {*names}
        if self.memory is not None:
            self.memory.room += sum(kept[name].nbytes for name in gone)
        return {name: kept[name] for name in names if name in kept}

    def with_codes(self, codes: Codes | None) -> Chunk:
        """The same rows, and what was kept of them, with other codes."""
        other = copy.copy(self)
        other.__dict__["codes"] = codes
        return other

    def owning(self, place: np.ndarray | None = None) -> Chunk:
        """The same with rows of its own: in ``place`` (n, d), or in a copy."""
        if self.owned:
            return self
        other, rows = copy.copy(self), np.empty_like(self.rows) if place is None else place
        rows[:] = self.rows
        other.__dict__.update(rows=rows, owned=True)
        if self.__dict__.get("_prepared") is self.rows:
            other.__dict__["_prepared"] = rows
        return other


def zero_filled(rows):
    """A copy with zeros where nothing was observed."""
    return np.where(np.isnan(rows), rows.dtype.type(0), rows)


def row_energies(rows, weight=None):
    """``|x_i|^2`` over what was observed, in float64, (n,): with weights ``sum_j q_j x_ij^2``."""
    wide = rows.astype(np.float64, copy=False)  # quicker than in einsum
    energies = np.einsum("ij,ij->i", wide, wide if weight is None else wide * weight)
    gaps = np.isnan(energies)
    if gaps.any():
        energies[gaps] = row_energies(zero_filled(rows[gaps]), weight)
    return energies


def row_sizes(rows):
    """The largest absolute value of each row, shape (n,); 0 where nothing was observed."""
    sizes = np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))
    gaps = np.isnan(sizes)
    if gaps.any():
        sizes[gaps] = row_sizes(zero_filled(rows[gaps]))
    return sizes


def row_exponents(rows, weight=None):
    """:func:`exponent_of` the largest absolute value of each row, shape (n, 1).

    With the feature weight of the inner product in which squares are taken.
    """
    largest = 1.0 if weight is None else np.sqrt(np.max(weight))
    return exponent_of(row_sizes(rows) * largest)[:, None]


def exponent_of(sizes):
    """The powers of two that values of these sizes are divided by, lest their squares overflow.

    It is 0 for ordinary sizes: nothing is to be done then.
    """
    exponent = np.frexp(sizes)[1]
    return np.where(np.abs(exponent) > ORDINARY, exponent, 0)


def row_counts(chunk):
    """How many rows each row stands for, (n,): its sample weight, at least 1; 0 for weight 0."""
    if chunk.weight is None:
        return np.ones(len(chunk.rows))
    return np.where(chunk.weight > 0, np.maximum(chunk.weight, 1.0), 0.0)


def live_counts(chunk):
    """:func:`row_counts`, but 0 for rows without energy, shape (n,)."""
    return np.where(weighted_energies(chunk) > 0, row_counts(chunk), 0.0)


def weighted_energies(chunk):
    """``|x_i|^2`` times the sample weights, shape (n,)."""
    return chunk.weigh(chunk.energies)


def energy(chunk):
    """``sum_i |x_i|^2``, weighted."""
    return float(np.sum(weighted_energies(chunk)))


@dataclass(frozen=True)
class Totals:
    """What there is in rows; additive over chunks.

    Attributes
    ----------
    energy : float
        ``sum_i q_i |x_i|^2`` with the sample weights ``q``.
    offset : float
        The part of it that is constant in each sample and channel, see :func:`offset_energy`.
    live : float
        ``sum_{q_i > 0} |x_i|^2``.
    mass : array (d,)
        :func:`masses`.
    hidden, blank : int
        Number of values that were not observed, and of rows without any that was.
    """

    energy: float
    offset: float
    live: float
    mass: np.ndarray
    hidden: int
    blank: int

    def __add__(self, other: Totals) -> Totals:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Totals(*(a + b for a, b in pairs))


def totals(chunk) -> Totals:
    """:class:`Totals` of a chunk."""
    live = np.where(row_counts(chunk) > 0, chunk.energies, 0.0)
    hidden = np.zeros((1, 1)) if chunk.hidden is None else chunk.hidden
    if chunk.hidden is not None and chunk.operator.domain is not None:
        hidden = hidden[:, chunk.operator.domain]
    return Totals(
        energy=energy(chunk),
        offset=offset_energy(chunk),
        live=float(np.sum(live)),
        mass=masses(chunk),
        hidden=int(hidden.sum()),
        blank=int(hidden.all(axis=1).sum()),
    )


def offset_energy(chunk):
    """Energy of the means of samples: ``sum_i q_i sum_c (sum_j r_j x_ij)^2 / sum_j r_j``.

    Over the features ``j`` of each channel ``c``, with the feature weight ``r``. What was not
    observed counts as zero.
    """
    operator, rows, count = chunk.operator, chunk.weighed, np.ones(chunk.rows.shape[1])
    count = count if operator.domain is None else count * operator.domain
    count = count if operator.feature_weight is None else count * operator.feature_weight
    axes = operator.moved_axes or range(len(operator.sample_shape))
    grid, axes = (-1, *operator.sample_shape), tuple(axis + 1 for axis in axes)
    sums = rows.reshape(grid).sum(axis=axes, dtype=np.float64)
    total = np.maximum(count.reshape(grid).sum(axis=axes), np.finfo(float).tiny)
    return float(np.sum(chunk.weigh((sums**2 / total).reshape(len(rows), -1).sum(axis=1))))


def masses(chunk):
    """``sum_i q_i`` of the sample weights, over the rows in which a feature was observed, (d,).

    It is 0 outside the domain of the operator.
    """
    weight = chunk.weigh(np.ones(len(chunk.rows)))
    total = np.full(chunk.rows.shape[1], weight.sum())
    total = total if chunk.hidden is None else weight @ ~chunk.hidden
    return total if chunk.operator.domain is None else total * chunk.operator.domain


def weighted_sums(chunk):
    """``sum_i q_i x_i`` with the sample weights ``q``, and :func:`masses`, in float64, (2, d)."""
    weight = chunk.weigh(np.ones(len(chunk.rows)))
    sums = np.einsum("n,nd->d", weight, chunk.filled, dtype=np.float64)
    return np.stack([sums, masses(chunk)])


class Chunks(Protocol):
    """Rows that can be gone through again and again."""

    n_rows: int
    dtype: np.dtype
    operator: Any
    n_jobs: int | None

    def sum(self, fn: Callable, *small: Any) -> Any:
        """Sum of ``fn(chunk, *small)`` over all chunks."""

    def collect(self, fn: Callable, *small: Any) -> list:
        """All ``fn(chunk, *small)``, in the order of the rows."""

    def join(self, fn: Callable, *small: Any) -> Any:
        """The arrays or codes ``fn(chunk, *small)`` of all rows, one below the other."""

    def then(self, fn: Callable, *small: Any, blocks: list) -> Chunks:
        """New residual and codes; the old chunks must not be used any more."""

    def take(self, rows: np.ndarray) -> Chunk:
        """Some rows, in memory."""

    def scaled(self, exponent: int) -> Chunks:
        """The same rows times ``2**exponent``, before there are any codes."""

    def here(self) -> Chunks:
        """The same rows in this process, for few of them."""


def rows_per_chunk(operator, dtype, block_rows=1):
    """Rows whose samples and products with all transforms take about ``CHUNK_BYTES``.

    A multiple of ``block_rows``, in which the rows are stored, unless that is far too much.
    """
    width = max(operator.n_features, operator.n_transforms) * np.dtype(dtype).itemsize
    size = max(16, CHUNK_BYTES // width)
    whole = -(-size // block_rows) * block_rows
    return whole if whole * width <= 16 * CHUNK_BYTES else size


class RowChunks:
    """Chunks of rows, with the codes on the components found so far.

    What those leave over is kept, in memory or in a file without a name, or computed again from the
    codes whenever a chunk is read; no match is repeated for it.

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
        Threads over the chunks, where there are enough of them; results do not depend on it.
    residual : {"memory", "scratch", "recompute"}
        Where the residual is kept.
    subtraction : Subtraction or None
        How the residual follows from the codes, where it is not kept.
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
    ):
        self.rows, self.operator, self.weight, self.codes = rows, operator, weight, codes
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
        rows, owned = self._read(part, codes), self._left is not None
        return Chunk(rows, self.operator, weight, start, codes, memory, owned)

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

    def _each(self, fn, *small):
        """Yield ``fn(chunk, *small)`` in the order of the rows; few of them wait at a time."""
        crowds = self.n_rows // self.batch_size // CROWD
        threads = min(effective_n_jobs(self.n_jobs), crowds) if crowds > 1 else 1
        if threads < 2:
            yield from (fn(chunk, *small) for chunk in self)
            return
        with ThreadPoolExecutor(threads) as pool:
            waiting: deque[Future] = deque()
            for part in self._parts(crowds // (2 * threads)):
                waiting.append(pool.submit(lambda part: [fn(c, *small) for c in part], part))
                if len(waiting) > 2 * threads:
                    yield from waiting.popleft().result()
            for future in waiting:
                yield from future.result()

    def _parts(self, size):
        """Several chunks at once, for a thread that would else wait often; one if it is made."""
        made = not self.rows.in_memory or self._subtraction is not None
        chunks, size = iter(self), 1 if made else min(max(size, 1), 8)
        return iter(lambda: list(islice(chunks, size)), [])

    def collect(self, fn, *small):
        """All ``fn(chunk, *small)``, in the order of the rows."""
        return list(self._each(fn, *small))

    def sum(self, fn, *small):
        """Sum of ``fn(chunk, *small)`` over all chunks."""
        return reduce(add, self._each(fn, *small))

    def join(self, fn, *small):
        """The arrays or codes ``fn(chunk, *small)`` of all rows, one below the other."""
        return _stack(self.collect(fn, *small))

    def then(self, fn, *small, blocks):
        """New rows and codes ``fn(chunk, *small)``.

        ``blocks`` are those whose projections are then subtracted from the rows, None for those
        that are not.
        """
        left = self._room()
        views = left is not None and self.rows.in_memory
        found = self.collect(_next, left, views, fn, *small)
        after = copy.copy(self)
        after.codes = _stack([each.codes for each in found] if views else found)
        after._left = left
        after._subtraction = (
            Subtraction(self.operator, blocks, self.dtype) if left is None else None
        )
        self._views, after._views = None, found if views else None
        return after

    def _room(self):
        """Where to write a residual: the place it has, a new one, or None."""
        if self._left is not None or self.residual == "recompute":
            return self._left
        make = np.empty if self.residual == "memory" else scratch
        return make((self.n_rows, self.rows.n_features), self.dtype)

    def take(self, numbers):
        """Copies of the residual of the given rows, in ascending order."""
        weight = None if self.weight is None else self.weight[numbers]
        if self._left is not None:
            return Chunk(self._left[numbers], self.operator, weight)
        codes = None if self.codes is None else self.codes[numbers]
        rows = self._subtract(self.rows.take(numbers), codes)
        return Chunk(rows, self.operator, weight)

    def scaled(self, exponent):
        """The same rows times ``2**exponent``, before there are any codes."""
        after = copy.copy(self)
        after.rows, after._views = scaled_rows(self.rows, exponent), None
        return after

    def here(self):
        """These chunks."""
        return self


def _next(chunk, left, whole, fn, *small):
    """``fn(chunk, *small)``, with its rows in ``left`` (n, d) if there is such a place.

    The ``whole`` chunk, or its codes alone.
    """
    if left is not None:
        chunk = chunk.owning(left[chunk.start : chunk.start + len(chunk.rows)])
    new = fn(chunk, *small)
    return new if whole else new.codes


def scaled_rows(rows, exponent):
    """Rows times ``2**exponent``, which is exact but for what vanishes beside the others."""
    return rows if exponent == 0 else rows.preprocessed(partial(_times_power, exponent))


def _times_power(exponent, rows):
    return np.ldexp(rows, exponent)


def unreadable(error, where):
    """An error that says where the rows could not be read; of the same kind, if it is common."""
    known = (kind for kind in (ValueError, OSError) if isinstance(error, kind))
    return next(known, RuntimeError)(f"X could not be read in {where}: {error}")


def _stack(parts):
    """Arrays, codes or dicts of arrays one below the other."""
    if isinstance(parts[0], dict):
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if not isinstance(parts[0], Codes):
        return np.concatenate(parts)
    return Codes(
        np.concatenate([p.scores for p in parts]), np.concatenate([p.index for p in parts])
    )


def as_chunks(rows, operator, weight=None, batch_size=None, n_jobs=None, residual="auto") -> Chunks:
    """The chunks of an array (n, d) or of rows; ``batch_size=None`` chooses one for the operator.

    ``residual`` says where the residual is kept: "memory", "scratch" (a file), or "recompute";
    "auto" keeps it in memory if the rows are there.
    """
    rows = ArrayRows(rows) if isinstance(rows, np.ndarray) else rows
    if batch_size is None:
        batch_size = rows_per_chunk(operator, rows.dtype, rows.block_rows)
    if residual == "auto":
        residual = "memory" if rows.in_memory else "recompute"
    how = {"weight": weight, "batch_size": batch_size, "residual": residual}
    if not rows.in_memory and is_dask(rows.source):
        from gtpca.data.dask import DaskChunks

        return DaskChunks(rows, operator, **how)
    return RowChunks(rows, operator, n_jobs=n_jobs, **how)


def count_live_rows(chunks):
    """How many rows each row stands for, (n,), weight 2 being a row twice; 0 without energy."""
    return np.concatenate(chunks.collect(live_counts))


def nested_samples(chunks, sizes, rng, n_jobs=None):
    """Copies of ever fewer rows, each drawn from the ones before, in single precision.

    Parameters
    ----------
    chunks : Chunks
    sizes : list of int
        Descending. Where there are no more rows than that, all are taken.
    rng : RandomState
    n_jobs : int or None

    Returns
    -------
    samples : list of Chunks
    n_live : float
        Number of all rows that count, weight 2 being a row twice.
    """
    counts = count_live_rows(chunks)
    order = np.flatnonzero(counts)
    if chunks.n_rows > sizes[-1]:
        order = rng.permutation(order)
    samples: list[Chunks] = []
    for size in sizes:
        if chunks.n_rows > size:
            chunk = chunks.take(np.sort(order[:size]))
            order = np.argsort(np.argsort(order[:size]))
        elif not samples:
            chunk = chunks.take(np.arange(chunks.n_rows))
        if not samples:
            chunk = in_single_precision(chunk)
        chunks = as_chunks(chunk.rows, chunk.operator, chunk.weight, n_jobs=n_jobs)
        samples.append(chunks)
    return samples, float(counts.sum())


def pick_rows(chunks, draws):
    """Rows drawn with probability proportional to their energy, up to that of loud rows.

    A few rows of loud noise would be all that is drawn otherwise. The order of the rows does not
    matter, and weight 2 is the same as a row given twice.
    """
    chunk = chunks.take(np.arange(chunks.n_rows))
    energies = chunk.energies
    energies = np.minimum(energies, loud_energy(energies, row_counts(chunk)))
    order = np.argsort(energies, kind="stable")
    share = np.cumsum(chunk.weigh(energies)[order])
    place = np.searchsorted(share, draws * share[-1])
    return chunk.rows[order[np.minimum(place, len(order) - 1)]]


def loud_energy(energies, counts) -> float:
    """The energy above which rows are loud: four times the upper quartile of those with energy.

    Parameters
    ----------
    energies, counts : array (n,)
        Energies of the rows, and how often each of them counts.
    """
    counts = np.where(energies > 0, counts, 0.0)
    order = np.argsort(energies, kind="stable")
    up_to = np.cumsum(counts[order])
    if not up_to[-1] > 0:
        return np.inf
    return LOUD * float(energies[order[np.searchsorted(up_to, QUARTILE * up_to[-1])]])


def loud_share(chunks) -> float:
    """The share of the energy of all rows that loud rows have beyond :func:`loud_energy`."""
    energies, counts = np.concatenate(list(chunks.collect(_energies_and_counts)), axis=1)
    beyond = np.maximum(energies - loud_energy(energies, counts), 0.0)
    total = float(counts @ energies)
    return float(counts @ beyond) / total if total > 0 else 0.0


def _energies_and_counts(chunk):
    return np.stack([chunk.energies, row_counts(chunk)])


def in_single_precision(chunk):
    """A chunk that was taken, in float32, in units in which no square overflows or vanishes.

    Where there is hardly any row, nothing is to be gained, and it is returned as it is.
    """
    if np.sum(row_counts(chunk)) <= SINGLE_ROWS:
        return chunk
    if chunk.weight is not None:  # rows that do not count may be of any size
        chunk.rows[chunk.weight <= 0] = 0
    exponent = int(np.frexp(np.max(row_sizes(chunk.rows), initial=0.0))[1])
    rows = np.ldexp(chunk.rows, -exponent, out=chunk.rows)
    return replace(chunk, rows=rows.astype(np.float32, copy=False))
