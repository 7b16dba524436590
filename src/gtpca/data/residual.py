"""The residual of the rows: changed in place, computed from codes alone, or kept in a file."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from gtpca.operators.base import add_projection, lengths_at
from gtpca.operators.poses import is_pose

__all__ = ["CACHE_BYTES", "Memory", "Residual", "Subtraction", "keep_freed_pages", "scratch"]

CACHE_BYTES = 2**31


@cache
def keep_freed_pages() -> None:
    """Make the C library keep memory that is freed between passes, from now on.

    glibc returns free memory beyond twice the largest block freed so far, and fresh pages cost as
    much as a short pass. The block allocated here is never touched, but it counts.
    """
    np.empty(2**24, np.uint8)


@dataclass
class Memory:
    """A budget of bytes that may still be kept.

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


@dataclass(eq=False)
class Residual:
    """Rows, and what was prepared from them: everything about a chunk that changes.

    What an operator prepared is kept here as long as there is room. New rows have a new Residual,
    so that it cannot be mistaken for theirs. Owned rows are changed in place (:meth:`plus`), and
    what is still valid is kept: if ``move_prepared`` did its work, spectra of residuals are updated
    instead of being computed again.

    Parameters
    ----------
    rows : array (n, d)
    operator : Operator
        With which it was prepared.
    owned : bool
        Whether nobody else uses the rows, so that :meth:`plus` may change them in place.
    memory : Memory or None
        If it has room, what was prepared is kept.
    kept : dict
        What is kept, by name.
    """

    rows: np.ndarray
    operator: Any
    owned: bool = False
    memory: Memory | None = None
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def hidden(self) -> np.ndarray | None:
        """Where values were not observed, bool (n, d); None if all were."""
        if "hidden" not in self.kept:
            self.kept["hidden"] = hidden_values(self.rows)
        return self.kept["hidden"]

    @property
    def seen(self) -> np.ndarray:
        """Where values were observed, bool (n, d), or (1, d) if all were."""
        if self.hidden is None:
            return np.ones((1, self.rows.shape[1]), dtype=bool)
        return ~self.hidden

    def keep(self, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        """``make()``, which is kept if there is room for it."""
        found = self.kept.get(name)
        if found is None:
            found = make()
            if self.memory is not None and self.memory.take(found.nbytes):
                self.kept[name] = found
        return found

    def owning(self, place: np.ndarray | None = None) -> Residual:
        """The same with its own rows: in ``place`` (n, d), or in a copy."""
        if self.owned:
            return self
        rows = np.empty_like(self.rows) if place is None else place
        rows[:] = self.rows
        kept = {n: rows if found is self.rows else found for n, found in self.kept.items()}
        return Residual(rows, self.operator, True, self.memory, kept)

    def plus(self, W: np.ndarray, index: np.ndarray, coef: np.ndarray) -> Residual:
        """The rows with ``sum_k coef_ik T_{index_i} w_k`` added, in place if they are owned.

        Parameters
        ----------
        W : array (K, L)
        index : int array (n,), or poses (n, p)
        coef : array (n, K)
        """
        dtype = self.rows.dtype
        W, coef = W.astype(dtype), coef.astype(dtype)
        if self.owned:
            self._add(W, index, coef)
            self._forget(self._still_true(W, index, coef))
            return self
        after = Residual(self.rows.copy(), self.operator, True, self.memory)
        after._add(W, index, coef)
        return after

    def _add(self, W, index, coef):
        add_projection(self.operator, self.rows, W, index, coef)

    def _still_true(self, W, index, coef):
        """Names of what was kept about the rows and is still valid after :meth:`plus`."""
        P, names = self.kept.get("prepared"), {"hidden", "prepared_mask"}
        plain = self.hidden is None and self.operator.feature_weight is None
        moves = P is not None and P is not self.rows and plain and not is_pose(index)
        if P is self.rows or (moves and self.operator.move_prepared(P, W, index, coef)):
            names.add("prepared")
        return names

    def _forget(self, names):
        """Keep only what has one of these names."""
        gone = self.kept.keys() - names
        if self.memory is not None:
            self.memory.room += sum(self.kept[name].nbytes for name in gone)
        for name in gone:
            del self.kept[name]


def hidden_values(rows) -> np.ndarray | None:
    """Where values were not observed, bool (n, d); None if all were."""
    if not np.isnan(np.einsum("ij->", rows)):  # far faster than testing each of them
        return None
    hidden = np.isnan(rows)
    return hidden if hidden.any() else None


class Subtraction:
    """The residual from rows and their codes, without a match: ``x_i - sum_k a_ik T_ik w_k``.

    All components are subtracted in one step, by ``add_moved``, with ``prepare_weights`` done once:
    decoding 20 components must not cost more than two matches (``benchmarks/bench_large.py``).

    Parameters
    ----------
    operator : Operator
    blocks : list of Block or None
        One for each column of the codes; None for what stays in the rows.
    dtype : dtype of the rows
    """

    def __init__(self, operator, blocks, dtype):
        self.operator = operator
        self.used = [k for k, block in enumerate(blocks) if block is not None]
        if self.used:
            found = [blocks[k] for k in self.used]
            weights = np.concatenate([block.weights for block in found]).astype(dtype)
            self.weights, self.prepared = weights, operator.prepare_weights(weights)
            norms = np.concatenate([block.norms for block in found], axis=1)
            self.scale = np.divide(-1.0, norms, out=np.zeros(norms.shape), where=norms > 0)

    def __call__(self, rows, codes):
        if not self.used:
            return rows
        index, rows = codes.index[:, self.used], rows.copy()
        scale = self.scale
        if is_pose(index):
            scale = self._scale_at(index)
        elif len(scale) > 1:
            scale = scale[index, np.arange(len(self.used))]
        coef = (codes.scores[:, self.used] * scale).astype(rows.dtype)
        self.operator.add_moved(rows, self.prepared, index, coef)
        return rows

    def _scale_at(self, pose):
        """``-1 / |T w_k|`` of every row at its poses (n, k, p), (n, k)."""
        each = enumerate(self.weights)
        norms = [lengths_at(self.operator, w[None], pose[:, k])[:, 0] for k, w in each]
        lengths = np.stack(norms, axis=1)
        return np.divide(-1.0, lengths, out=np.zeros(lengths.shape), where=lengths > 0)


def scratch(shape, dtype):
    """An array in an unnamed temporary file, which disappears when nobody uses it any more.

    The space is reserved first: a full disk is an error here, not later.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    with tempfile.TemporaryFile(prefix="gtpca-") as file:
        try:
            reserve(file, size)
        except OSError as error:
            raise OSError(
                error.errno,
                f"residual='scratch' needs {size / 1e9:.2f} GB in {tempfile.gettempdir()}: "
                f"{error.strerror}; set TMPDIR to another disk or use residual='recompute'",
            ) from error
        return np.memmap(file, dtype=dtype, mode="r+", shape=shape)


def reserve(file, size):
    """Make the file ``size`` bytes long, with disk space for all of them."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)
