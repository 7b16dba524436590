"""Rows in a Dask array: each chunk is processed where it is, and only sums are sent.

On a worker, a chunk of the array is a :class:`~gtpca.data.chunks.RowChunks` like any other; there
is no separate implementation. The scheduler is the one that Dask is configured to use.
"""

from __future__ import annotations

import copy
import os
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import add, attrgetter, itemgetter
from typing import Any

import numpy as np

from gtpca.data.chunks import Chunk, RowChunks, as_chunks, scaled_rows, unreadable
from gtpca.data.codes import Codes
from gtpca.data.residual import Subtraction
from gtpca.data.rows import StreamedRows, is_dask
from gtpca.optional import missing

try:
    import dask
    import dask.array as da
    import dask.multiprocessing
    from dask.highlevelgraph import HighLevelGraph
except ImportError as error:
    raise missing("dask", "dask") from error

__all__ = ["DaskChunks", "map_rows", "map_spans", "whole_samples"]

FAN_IN = 8  # number of sums that are added at once
SUSPECTS = 32  # chunks that are read at once to find the unreadable one
IDLE = 20.0  # seconds after which processes without work end


class Processes:
    """The processes of Dask's scheduler "processes", kept from one pass over the rows to the next.

    Dask itself starts new ones for every call of ``compute``, of which a fit has dozens: each takes
    seconds to import what it needs.
    """

    def __init__(self):
        self._lock, self._users = threading.RLock(), 0
        self._pool: ProcessPoolExecutor | None = None
        self._of: tuple[int, int] | None = None  # this process, and their number
        self._timer: threading.Timer | None = None

    @contextmanager
    def kept(self):
        """Calls of Dask inside use the same processes as those before, if they use any."""
        if _scheduler() is not dask.multiprocessing.get or dask.config.get("pool", None):
            yield
            return
        pool = self._begin()
        try:
            with dask.config.set(pool=pool):
                yield
        except BrokenExecutor:
            self._shut()
            raise
        finally:
            self._end()

    def _begin(self):
        """The pool, which does not end before as many calls of :meth:`_end`."""
        count = dask.config.get("num_workers", None) or dask.multiprocessing.CPU_COUNT
        wanted = (os.getpid(), count)
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._pool is None or self._of != wanted:
                start = dask.config.get("multiprocessing.initializer", None)
                context = dask.multiprocessing.get_context()
                self._pool, self._of = ProcessPoolExecutor(count, context, start), wanted
            self._users += 1
            return self._pool

    def _end(self):
        """Let processes end if there is no work for them for some time."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._timer = threading.Timer(IDLE, self._shut)
                self._timer.daemon = True
                self._timer.start()

    def _shut(self):
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait=False)
            self._pool = None


PROCESSES = Processes()


def _scheduler():
    """The function by which Dask would compute an array now."""
    return dask.base.get_scheduler(cls=da.Array)


@dataclass(frozen=True)
class Plan:
    """What every chunk needs to know; sent to the workers once.

    Attributes
    ----------
    operator : Operator
    preprocess : callable or None
        Applied to rows after they are read.
    batch_size : int
        Rows that a worker processes at a time.
    residual : {"memory", "recompute"}
    missing : {"error", "ignore"}
        Whether rows may have gaps.
    firsts : int array (number of chunks,) or None
        Number of the first row of each chunk, if it is known.
    """

    operator: Any
    preprocess: Callable | None
    batch_size: int
    residual: str
    missing: str
    firsts: np.ndarray | None


@dataclass(frozen=True)
class State:
    """What is known about a chunk after some components: its codes and, if kept, its residual."""

    codes: Codes
    residual: np.ndarray | None


class WorkerRows(RowChunks):
    """One chunk of a Dask array on a worker, in smaller chunks."""

    number: int = 0
    known = True  # the numbers of its rows

    def _where(self, part):
        first, last = self.rows.first, self.rows.first + self.n_rows - 1
        return f"chunk {self.number}, rows {first} to {last}" + ("" if self.known else " of it")

    @classmethod
    def open(cls, plan, blocks, *, block, weight, given, state, number):
        """The rows ``block`` with their codes, or their residual if that was kept."""
        first = 0 if plan.firsts is None else int(plan.firsts[number])
        kept = None if state is None else state.residual
        source, preprocess = (block, plan.preprocess) if kept is None else (kept, None)
        rows = StreamedRows(source, preprocess, first, plan.missing)
        subtracts = blocks is not None and kept is None
        piece = cls(
            rows,
            plan.operator,
            weight=None if weight is None else weight.ravel(),
            batch_size=plan.batch_size,
            residual=plan.residual,
            codes=None if state is None else state.codes,
            subtraction=Subtraction(plan.operator, blocks, rows.dtype) if subtracts else None,
            given=None if given is None else given.ravel()["pose"],
        )
        piece.number, piece.known = number, plan.firsts is not None
        return piece


def work(plan, blocks, task, block, weight, given, state, block_id):
    """One task of a worker: ``task`` is a function of the piece and further arguments."""
    rows = {"block": block, "weight": weight, "given": given, "state": state}
    piece = WorkerRows.open(plan, blocks, **rows, number=block_id[0])
    fn, *args = task
    return fn(piece, *args)


def sum_of(piece, fn, *args):
    """Sum of ``fn`` over a piece, None if it is empty."""
    return piece.sum(fn, *args) if piece.n_rows else None


def map_spans(signals, pieces, task, given) -> list:
    """``task(signal, span, *small)`` of every piece of recordings, where its points are.

    Only the answers travel. Pieces of a recording overlap: what is next to a piece is sent to where
    it is gone through.

    Parameters
    ----------
    signals : list of Piecewise
    pieces : list of Span
    task : callable
        A function of a module.
    given : list of tuples
        Further arguments of each piece.
    """
    tasks = []
    for span, small in zip(pieces, given, strict=True):
        signal = signals[span.recording]
        first = max(0, signal.start + span.low - signal.lookback)
        where = slice(first, signal.start + span.high)
        source = signal.signal.source
        block = source[:, where] if signal.signal.turned else source[where]
        run = dask.delayed(_on_block, pure=False)
        tasks.append(run(block, signal.holding(None, 0), first, task, span, small))
    with PROCESSES.kept():
        return list(dask.compute(*tasks))


def _on_block(block, signal, first, task, span, small):
    """The task of a worker that has the points of a piece."""
    return task(signal.holding(np.asarray(block), first), span, *small)


def added(parts):
    """The sum of the parts that are not None."""
    parts = [part for part in parts if part is not None]
    return reduce(add, parts) if parts else None


def rows_of(piece, fn, *args):
    """``fn`` of all rows of a piece."""
    if piece.n_rows:
        return piece.concat(fn, *args)
    return none_of(fn(no_row(piece.rows, piece.operator), *args))


def next_state(piece, fn, blocks, *args):
    """Codes and residual of a piece after ``fn``."""
    after = piece.update(fn, *args, blocks=blocks)
    return State(after.codes, after._left)


def some_rows(piece, numbers):
    """The rows with these numbers that are in the piece, their sample weights and given poses."""
    numbers = numbers - piece.rows.first
    try:
        chunk = piece.take(numbers[(numbers >= 0) & (numbers < piece.n_rows)])
        return chunk.rows, chunk.weight, chunk.given
    except Exception as error:
        raise unreadable(error, piece._where(None)) from error


def no_row(rows, operator):
    """A chunk with one row of zeros, to find out what a function returns."""
    return Chunk(np.zeros((1, rows.n_features), rows.dtype), operator)


def none_of(values):
    """Zero rows, of the same kind as ``values``."""
    if isinstance(values, dict):
        return {name: column[:0] for name, column in values.items()}
    return values[:0]


class DaskChunks:
    """The rows of a Dask array, with the codes on the components found so far.

    Codes, and with ``residual="memory"`` also residuals, stay on the workers (``persist``). If a
    worker is lost, Dask recomputes its part.

    Parameters
    ----------
    rows : StreamedRows
        With a Dask array as source, as returned by :func:`whole_samples`.
    operator : Operator
        Sent to the workers once.
    weight : array (n,) or None
        Sample weights.
    batch_size : int
        Rows that a worker treats at a time.
    residual : {"memory", "recompute"}
    given : array (n, g), (n, g, p) or None
        Poses that are known, see :class:`~gtpca.data.chunks.Chunk`.
    """

    def __init__(self, rows, operator, *, weight, batch_size, residual, given=None):
        if residual == "scratch":
            raise ValueError(
                "residual='scratch' is a file on one machine; for Dask arrays use 'recompute', "
                "or 'memory', which workers of a cluster write to their disks if it is too much."
            )
        self.n_rows, self.dtype = rows.n_rows, rows.dtype
        self._X, self.operator = rows.source, operator
        self.n_jobs = None  # workers have their own threads
        self._batch_size = batch_size
        sizes = np.array(self._X.chunks[0])
        self._firsts: Any = None if np.isnan(sizes).any() else np.cumsum(sizes) - sizes
        self._keeps = residual == "memory"
        self._make_plan(rows)
        self._weight = None if weight is None else _column(weight, self._X).persist()
        self.has_given = given is not None
        self._given = None if given is None else _column(_records(given), self._X).persist()
        self._blocks: Any = None
        self._state: Any = None

    def _make_plan(self, rows):
        """Tell the workers how to read rows."""
        plan = Plan(
            operator=self.operator,
            preprocess=rows.preprocess,
            batch_size=self._batch_size,
            residual="memory" if self._keeps else "recompute",
            missing=rows.missing,
            firsts=self._firsts,
        )
        self._rows, self._plan, self._persisted = rows, send(plan), False

    def sum(self, fn, *args):
        """Sum of ``fn(chunk, *args)`` over all chunks, added up on the workers."""
        parts = self._each(sum_of, fn, *args)
        while len(parts) > 1:
            groups = range(0, len(parts), FAN_IN)
            parts = [dask.delayed(added, pure=False)(parts[i : i + FAN_IN]) for i in groups]
        return self._compute(parts)[0]

    def collect(self, fn, *args):
        """All ``fn(chunk, *args)``, in the order of the rows."""
        parts = self._compute(self._each(RowChunks.collect, fn, *args))
        return [value for part in parts for value in part]

    def take(self, numbers):
        """The residual of the given rows, in ascending order, in memory."""
        used = np.unique(np.searchsorted(self._firsts, numbers, side="right") - 1)
        each = self._each(some_rows, numbers)
        parts = self._compute([each[i] for i in used])
        rows, weights, poses = zip(*parts, strict=True)
        weight = None if self._weight is None else np.concatenate(weights)
        given = None if self._given is None else np.concatenate(poses)
        return Chunk(np.concatenate(rows), self.operator, weight, given=given)

    def scaled(self, exponent):
        """The same rows times ``2**exponent``; allowed only before there are codes."""
        after = copy.copy(self)
        after._make_plan(scaled_rows(self._rows, exponent))
        return after

    def to_memory(self):
        """All rows in the memory of this process."""
        chunk = self.take(np.arange(self.n_rows))
        return as_chunks(
            chunk.rows,
            self.operator,
            chunk.weight,
            batch_size=self._batch_size,
            given=chunk.given,
        )

    def update(self, fn, *args, blocks):
        """New codes, and a new residual if it is kept; see :class:`RowChunks`."""
        blocks = list(blocks)
        after = copy.copy(self)
        with self._named_errors():
            after._state = self._over(next_state, fn, blocks, *args).persist()
            (after._blocks,) = dask.persist(send(blocks))
        return after

    def concat(self, fn, *args):
        """``fn(chunk, *args)`` of all rows, as Dask arrays that are not computed yet."""
        return unpack(self._over(rows_of, fn, *args), fn(no_row(self._rows, self.operator), *args))

    def _over(self, fn, *args):
        """A Dask array whose chunks are ``fn(piece, *args)``, one for each of the rows."""
        kept = self._keeps and self._state is not None
        rows = (None if kept else self._X, self._weight, self._given, self._state)
        return da.map_blocks(
            work,
            self._plan,
            self._blocks,
            send((fn, *args)),
            *rows,
            dtype=object,
            meta=np.empty((0,) * self._X.ndim, object),
        )

    def _each(self, fn, *args):
        """One delayed ``fn(piece, *args)`` for each chunk of the array."""
        if not self._persisted:
            with PROCESSES.kept():
                (self._plan,), self._persisted = dask.persist(self._plan), True
        return list(self._over(fn, *args).to_delayed().ravel())

    def _compute(self, delayed):
        with self._named_errors():
            return dask.compute(*delayed)

    @contextmanager
    def _named_errors(self):
        """Errors say in which chunk they happened."""
        try:
            with PROCESSES.kept():
                yield
        except Exception as error:
            ours = str(error).startswith("X could not be read")
            if not ours and not type(error).__module__.startswith("distributed"):
                find_unreadable(self._X, self._firsts)
            raise


def find_unreadable(X, firsts):
    """Raise an error that names the first chunk of ``X`` that cannot be computed, if any.

    Dask does not report where in the caller's array something went wrong.
    """
    blocks = [dask.delayed(len, pure=False)(block) for block in X.to_delayed().ravel()]
    for group in range(0, len(blocks), SUSPECTS):
        try:
            dask.compute(*blocks[group : group + SUSPECTS])
        except Exception:
            _read_one_by_one(blocks[group : group + SUSPECTS], X.chunks[0], firsts, group)


def _read_one_by_one(blocks, sizes, firsts, start):
    for number, block in enumerate(blocks, start):
        try:
            block.compute()
        except Exception as error:
            where = f"chunk {number}"
            if firsts is not None:
                where += f", rows {firsts[number]} to {firsts[number] + sizes[number] - 1}"
            raise unreadable(error, where) from error


def send(value):
    """``value`` in a form that is sent to the workers once, however many tasks need it."""
    return dask.delayed(value, traverse=False, pure=False)


def _column(weight, X):
    """Sample weights or records (n,) with the chunks and the number of axes of ``X``."""
    ones = (1,) * (X.ndim - 1)
    return da.from_array(weight.reshape(-1, *ones), chunks=(X.chunks[0], *ones))


def _records(given):
    """Poses (n, g) or (n, g, p) as one record per row, (n,)."""
    records = np.zeros(len(given), [("pose", given.dtype, given.shape[1:])])
    records["pose"] = given
    return records


def whole_samples(X, known):
    """``X`` with chunks along the samples only; for a fit, with ``known`` sizes and not empty."""
    if any(np.isnan(size) for size in X.shape[1:]):
        raise ValueError(
            f"X has samples of unknown shape, {X.shape[1:]}; call X.compute_chunk_sizes() first."
        )
    if known and np.isnan(X.shape[0]):
        with PROCESSES.kept():
            X = X.copy().compute_chunk_sizes()
    if any(len(sizes) > 1 for sizes in X.chunks[1:]):
        X = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
    if known and 0 in X.chunks[0] and X.shape[0] > 0:
        X = X.rechunk({0: tuple(size for size in X.chunks[0] if size)})
    return X


def map_rows(fn, *arrays):
    """``fn(*arrays)`` of Dask arrays (n, ..), chunk by chunk along the samples, not computed yet.

    ``fn`` returns an array, or a dict of arrays, with one row for each row of the arrays.
    """
    sizes = next(a for a in arrays if is_dask(a)).chunks[0]
    rows = [whole_samples(da.asarray(a), known=False) for a in arrays]
    rows = [a if a.chunks[0] == sizes else a.rechunk({0: sizes}) for a in rows]
    like = fn(*(np.zeros((1, *a.shape[1:]), a.dtype) for a in rows))
    pairs = [item for a in rows for item in (a, "ijk"[: a.ndim])]
    options = {"dtype": object, "meta": np.empty((0, 0), object), "align_arrays": False}
    options["concatenate"] = any(a.ndim > 2 for a in rows)  # poses have an axis of parameters
    return unpack(da.blockwise(_on_rows, "ij", send(fn), None, *pairs, **options), like)


def _on_rows(fn, *arrays):
    if len(arrays[0]):
        return fn(*arrays)
    return none_of(fn(*(np.zeros((1, *a.shape[1:]), a.dtype) for a in arrays)))


def unpack(objects, like):
    """Dask arrays from one whose chunks are arrays, codes or dicts of arrays like ``like``."""
    if isinstance(like, Codes):
        pairs = (("scores", like.scores), ("index", like.index))
        return Codes(*(_pull(objects, attrgetter(name), part) for name, part in pairs))
    if isinstance(like, dict):
        return {name: _pull(objects, itemgetter(name), part) for name, part in like.items()}
    return _pull(objects, np.asarray, like)


def _pull(objects, get, like):
    """The Dask array of ``get(chunk)``, which have the width and the dtype of ``like``."""
    name, ends = f"gtpca-{uuid.uuid4().hex}", (0,) * (objects.ndim - 1)
    tasks = {
        (name, i, *(0,) * (like.ndim - 1)): (get, (objects.name, i, *ends))
        for i in range(objects.numblocks[0])
    }
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[objects])
    chunks = (objects.chunks[0], *((size,) for size in like.shape[1:]))
    return da.Array(graph, name, chunks, meta=np.empty((0,) * like.ndim, like.dtype))
