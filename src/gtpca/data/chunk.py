"""Some rows with all that belongs to them: operator, sample weights, codes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np

from gtpca.files import atomic_file
from gtpca.operators import Operator

__all__ = [
    "Chunk",
    "Codes",
    "Memory",
    "energy",
    "exponent_of",
    "live_counts",
    "row_counts",
    "row_energies",
    "row_exponents",
    "weighted_energies",
    "weighted_sums",
]


ORDINARY = 32  # values between 2^-32 and 2^32 have squares and sums in any precision


@dataclass(frozen=True, eq=False)
class Codes:
    """Scores and transforms of ``n`` rows on ``k`` components.

    ``index`` has one column per component, or a single one if all components share the pose.

    Parameters
    ----------
    scores : array (n, k)
        Signed length of each projection.
    index : int array (n, k) or (n, 1)
        Which transform each component took; ``GTPCA.poses`` says it in a person's units.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import Codes
    >>> len(Codes(np.ones((5, 2)), np.zeros((5, 2), dtype=int))[:3])
    3
    """

    scores: np.ndarray
    index: np.ndarray

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, rows) -> Codes:
        if isinstance(rows, (int, np.integer)):
            rows = np.array([rows])
        return Codes(self.scores[rows], self.index[rows])

    def first(self, n_components: int) -> Codes:
        """The codes on the first components only."""
        return Codes(self.scores[:, :n_components], self.index[:, :n_components])

    def save(self, path: str | os.PathLike) -> None:
        """Write both arrays to one ``.npz`` file, without pickle, by an atomic write."""
        with atomic_file(path) as file:
            np.savez(file, scores=self.scores, index=self.index)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Codes:
        """Read what :meth:`save` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(arrays["scores"], arrays["index"])


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
    """Some rows of the data.

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
    """

    rows: np.ndarray
    operator: Operator
    weight: np.ndarray | None = None
    start: int = 0
    codes: Codes | None = None
    memory: Memory | None = field(default=None, repr=False)

    @property
    def prepared(self):
        """``operator.prepare(rows)``; it is kept in this very chunk, so it never is another's."""
        kept = self.__dict__.get("_prepared")
        if kept is None:
            kept = self.operator.prepare(self.rows)
            if self.memory is not None and self.memory.take(kept.nbytes):
                self.__dict__["_prepared"] = kept
        return kept

    def weigh(self, values: np.ndarray) -> np.ndarray:
        """``values`` (.., n) times the sample weights."""
        return values if self.weight is None else values * self.weight


def row_energies(rows):
    """``|x_i|^2`` in float64, shape (n,)."""
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def row_exponents(rows):
    """:func:`exponent_of` the largest absolute value of each row, shape (n, 1)."""
    largest = np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))
    return exponent_of(largest)[:, None]


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
    return chunk.weigh(row_energies(chunk.rows))


def energy(chunk):
    """``sum_i |x_i|^2``, weighted."""
    return float(np.sum(weighted_energies(chunk)))


def energies_and_mass(chunk):
    """``sum_i q_i |x_i|^2`` with the sample weights q, ``sum_{q_i > 0} |x_i|^2``, ``sum_i q_i``."""
    live = np.where(row_counts(chunk) > 0, row_energies(chunk.rows), 0.0)
    return np.array([energy(chunk), np.sum(live), np.sum(chunk.weigh(np.ones(len(chunk.rows))))])


def weighted_sums(chunk):
    """``sum_i q_i x_i`` and ``sum_i q_i`` with the sample weights ``q``, in float64, (d + 1,)."""
    weight = chunk.weigh(np.ones(len(chunk.rows)))
    sums = np.einsum("n,nd->d", weight, chunk.rows, dtype=np.float64)
    return np.append(sums, weight.sum())
