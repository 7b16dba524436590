"""What all solvers share: the problem that they see, and the result."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gtpca.data.chunks import Chunks
from gtpca.model.matching import Block, make_blocks

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
    """

    chunks: Chunks
    polarity: str = "both"
    complete: bool = True

    def block(self, W: np.ndarray) -> Block:
        """The block of weights ``W`` (K, L) for these rows."""
        return self.blocks(W[None])[0]

    def blocks(self, stack: np.ndarray) -> list[Block]:
        """The blocks of several weights (S, K, L) for these rows."""
        return make_blocks(self.chunks.operator, stack, self.chunks.dtype, self.polarity)


@dataclass
class SolverResult:
    """One component, or a block of components in one pose, and how it was found.

    Attributes
    ----------
    weights : array (K, L)
        Orthonormal.
    history : list of float
        Explained energy at each pass over all rows; never falls.
    n_iter : int
        Passes over all rows, those of rejected moves included.
    stopped : str
        Why it stopped: "converged", "max_iter", "callback" or "no energy".
    """

    weights: np.ndarray
    history: list[float] = field(default_factory=list)
    n_iter: int = 0
    stopped: str = "converged"

    @property
    def explained(self) -> float:
        """Explained energy at the last pass."""
        return self.history[-1] if self.history else 0.0
