"""Problems on coarser grids, where components are looked for in a fraction of the time.

Samples and weights are pooled by ``P`` (:mod:`gtpca.operators.pooling`) as often as this keeps most
of the energy of the rows and leaves enough points on every axis that moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gtpca.data.chunks import as_chunks, energy
from gtpca.model.matching import orthonormal
from gtpca.operators.pooling import pooling
from gtpca.solvers.base import Problem

__all__ = ["Coarse", "coarsened"]

SMOOTH = 0.2  # how far from white noise pooled rows must be
LEAST = {1: (24, 24, 64), 2: (12, 20, 32)}  # points on an axis after pooling, by how many move
LEVELS = 3


@dataclass(frozen=True, eq=False)
class Coarse:
    """A problem on a coarse grid, and the way between the grids.

    Parameters
    ----------
    problem : Problem
    pool : sparse array (L', L) or None
        ``P`` of the weights, with orthonormal rows; None where the grid is the same.
    """

    problem: Problem
    pool: sparse.csr_array | None = None

    def pooled(self, stack):
        """Weights (S, K, L) on the coarse grid, orthonormal, (S, K, L')."""
        if self.pool is None:
            return stack
        flat = (self.pool @ stack.reshape(-1, stack.shape[-1]).T).T
        return np.array([orthonormal(W) for W in flat.reshape(*stack.shape[:2], -1)])

    def spread(self, W):
        """Weights (K, L') on the fine grid, (K, L)."""
        return W if self.pool is None else W @ self.pool

    def refined(self, W, coarse):
        """``W`` (K, L) with ``coarse`` (K, L') in place of what the coarse grid can hold of it."""
        if self.pool is None:
            return coarse
        held = W @ self.pool.T
        return orthonormal(W + (np.linalg.norm(held) / np.sqrt(len(W)) * coarse - held) @ self.pool)

    def on(self, n_rows):
        """The problem on so many of its rows, evenly spread."""
        chunks, n = self.problem.chunks, self.problem.chunks.n_rows
        if n <= n_rows:
            return self.problem
        chunk = chunks.take(np.arange(n_rows) * n // n_rows)
        return Problem(as_chunks(chunk.rows, chunk.operator, chunk.weight), self.problem.polarity)


def coarse_axes(operator, level):
    """The axes that move and have points to spare."""
    sizes = (operator.sample_shape, operator.weight_shape)
    if len(sizes[0]) != len(sizes[1]):
        return ()
    least = 2 * LEAST.get(len(operator.moved_axes), LEAST[2])[level]
    return tuple(a for a in operator.moved_axes if min(s[a] for s in sizes) >= least)


def coarsened(problem, levels=LEVELS) -> Coarse:
    """The rows of a problem, few of them and in memory, on as coarse a grid as they allow."""
    found, total = Coarse(problem), problem.chunks.sum(energy)
    for level in range(levels):
        step = _halved(found.problem, level)
        if step is None or _smoothness(problem, step.problem, total) < SMOOTH:
            break
        pool = step.pool if found.pool is None else step.pool @ found.pool
        found = Coarse(step.problem, pool)
    return found


def _smoothness(fine, coarse, total):
    """0 for white noise, 1 for rows of which the coarse grid holds everything."""
    white = coarse.chunks.operator.n_features / fine.chunks.operator.n_features
    return (coarse.chunks.sum(energy) / total - white) / (1 - white)


def _halved(problem, level):
    """The problem with half as many points along its axes; None if it has too few."""
    operator = problem.chunks.operator
    axes = coarse_axes(operator, level)
    coarser = operator.coarser(axes) if axes else None
    if coarser is None:
        return None
    chunk = problem.chunks.take(np.arange(problem.chunks.n_rows))
    pool = pooling(operator.sample_shape, axes).astype(chunk.rows.dtype)
    chunks = as_chunks(np.ascontiguousarray((pool @ chunk.rows.T).T), coarser, chunk.weight)
    return Coarse(Problem(chunks, problem.polarity), pooling(operator.weight_shape, axes))
