"""What all solvers share: the problem that they see, and the result."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from gtpca.data.chunks import Chunks, as_chunks
from gtpca.data.energies import energy
from gtpca.model.matching import Block, explained_energy, make_blocks

__all__ = ["Problem", "SolverResult"]


@dataclass(frozen=True, eq=False)
class Problem:
    """All that a solver sees: rows, which know their operator, and how components may match them.

    Parameters
    ----------
    chunks : Chunks
    polarity : {"both", "positive"}
    complete : bool
        Whether all values of the rows were observed.
    ridge : float
        ``rho`` of :mod:`gtpca.model.ridge`, with which components are to be found.
    cost : float
        By which share the ridge may raise the energy that is left; components for which it would
        raise it more are found without.
    rough : bool
        Whether the rows are a sample to search among: ties of transforms are left to rounding.
    """

    chunks: Chunks
    polarity: str = "both"
    complete: bool = True
    ridge: float = 0.0
    cost: float = np.inf
    rough: bool = False

    @property
    def plain(self) -> Problem:
        """The same without a ridge."""
        return replace(self, ridge=0.0)

    def on(self, numbers: np.ndarray) -> Problem:
        """The same on some of the rows, in memory."""
        chunk = self.chunks.take(numbers)
        how = {"n_jobs": getattr(self.chunks, "n_jobs", None)}
        return replace(self, chunks=as_chunks(chunk.rows, chunk.operator, chunk.weight, **how))

    def block(self, W: np.ndarray) -> Block:
        """The block of weights ``W`` (K, L) for codes of these rows: without the ridge."""
        return self.plain.blocks(W[None])[0]

    def blocks(self, stack: np.ndarray) -> list[Block]:
        """The blocks of several weights (S, K, L) that are to be found: with the ridge."""
        how = (self.chunks.dtype, self.polarity, self.ridge, self.rough)
        return make_blocks(self.chunks.operator, stack, *how)

    def left(self, W: np.ndarray) -> float:
        """The energy that codes on the block of weights ``W`` (K, L) leave of these rows."""
        return self.chunks.sum(energy) - self.chunks.sum(explained_energy, self.block(W))


@dataclass
class SolverResult:
    """One component, or a block of components in one pose, and how it was found.

    Attributes
    ----------
    weights : array (K, L)
        Orthonormal.
    history : list of float
        Explained energy at each pass over all rows, less the penalty of a ridge; never falls.
    n_iter : int
        Passes over all rows, those of rejected moves included.
    stopped : str
        Why it stopped: "converged", "max_iter", "callback" or "no energy".
    ridge : float
        With which the component was found.
    """

    weights: np.ndarray
    history: list[float] = field(default_factory=list)
    n_iter: int = 0
    stopped: str = "converged"
    ridge: float = 0.0

    @property
    def explained(self) -> float:
        """Explained energy at the last pass."""
        return self.history[-1] if self.history else 0.0
