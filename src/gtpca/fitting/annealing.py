"""A way out of local maxima where noise has unit variance: all poses, by their probability.

    g_it = softmax_t(heat <x_i, T_t w>^2 / 2 |T_t w|^2),    rhs = sum_it g_it a_it T_t* x_i

with ``heat`` that rises from .2 to 1. A component of more weights than there are rows holds much of
the noise of the rows that it began with, and a hard match then keeps their poses.
"""

from __future__ import annotations

import numpy as np

from gtpca.model.matching import Stats, update
from gtpca.model.probabilistic import normalised

__all__ = ["annealed"]

HEATS = np.linspace(0.2, 1.0, 40)


def annealed(problem, solver, result, **how):
    """The result of a solver, or the better one to which soft passes lead from it.

    Where there are at least as many rows as weights, nothing is tried. ``how`` is what the solver
    takes beside problem and start.
    """
    if problem.chunks.operator.n_weights <= problem.chunks.n_rows:
        return result
    W = result.weights
    for heat in HEATS:
        stats = problem.chunks.sum(soft_statistics, problem.block(W), float(heat))
        W = update(problem.chunks.operator, stats, W)
    other = solver.solve(problem, 0, start=W, **how)  # from a start, nothing is drawn
    return max(result, other, key=lambda one: one.explained)


def soft_statistics(chunk, block, heat) -> Stats:
    """:class:`Stats` of a single component, over all transforms by their probability.

    What is explained is the mean over these. Gaps count as zeros: it is a search.
    """
    operator, root = chunk.operator, block.root.reshape(-1)
    z = operator.correlate(chunk.prepared, block.weights[0]) * root
    z = np.maximum(z, 0.0) if block.polarity == "positive" else z
    share = normalised(heat / 2 * z.astype(np.float64) ** 2)[1]
    coef = z * root
    weighted = chunk.weigh((share * coef).T).T
    moments = np.sum(weighted * coef, axis=0)
    moments = moments.sum(keepdims=True) if operator.isometric else moments
    explained = float(np.sum(chunk.weigh(np.sum(share * z**2, axis=1))))
    rhs = operator.adjoint_sum(chunk.prepared, weighted)[None]
    return Stats(rhs, moments[:, None, None], explained)
