"""A way out of local maxima where noise has unit variance: all poses, by their probability.

    g_it = softmax_t(heat <x_i, T_t w>^2 / 2 |T_t w|^2),    rhs = sum_it g_it a_it T_t* x_i

with ``heat`` that rises to 1. A component of many more weights than there are rows holds
much of the noise of the rows that it began with, and a hard match then keeps their poses.
"""

from __future__ import annotations

import numpy as np

from gtpca.model.matching import Stats, orthonormal, update
from gtpca.model.probabilistic import normalised
from gtpca.operators.normal import Moments

__all__ = ["annealed"]

WARM = np.linspace(0.2, 1.0, 40)  # from a component that was found
COLD = np.linspace(0.05, 1.0, 80)  # from white noise
N_COLD = 8
MANY = 2  # weights per row from which on it is tried


def annealed(problem, solver, result, **how):
    """The result of a solver, or the best of those to which soft passes lead.

    They begin at the result, and at white weights. Where there are not more than two weights for
    each row, nothing is tried. ``how`` is what the solver takes beside problem and start.
    """
    operator = problem.chunks.operator
    if operator.n_weights <= MANY * problem.chunks.n_rows:
        return result
    white = np.random.default_rng(0).standard_normal((N_COLD, 1, operator.n_weights))
    starts = [(result.weights, WARM), *((orthonormal(W), COLD) for W in white)]
    found = [result]
    for W, heats in starts:
        W = softly(problem, W, heats)
        found.append(solver.solve(problem, 0, start=W, **how))  # from a start, nothing is drawn
    return max(found, key=lambda one: one.explained)


def softly(problem, W, heats):
    """The weights (1, L) to which soft passes lead from ``W`` (1, L)."""
    for heat in heats:
        stats = problem.chunks.sum(soft_statistics, problem.block(W), float(heat))
        W = update(problem.chunks.operator, stats, W[None])[0]
    return W


def soft_statistics(chunk, block, heat) -> Stats:
    """:class:`Stats` of a single component, over all transforms by their probability.

    What is explained is the mean over these. Gaps count as zeros: it is a search.
    """
    operator, root = chunk.operator, block.root.reshape(-1)
    z = operator.correlate(chunk.prepared, block.weights)[0] * root
    z = np.maximum(z, 0.0) if block.polarity == "positive" else z
    share = normalised(heat / 2 * z.astype(np.float64) ** 2)[1]
    coef = z * root
    weighted = chunk.weigh((share * coef).T).T
    moments = np.sum(weighted * coef, axis=0)
    moments = moments.sum(keepdims=True) if len(root) == 1 else moments
    explained = np.array([np.sum(chunk.weigh(np.sum(share * z**2, axis=1)))])
    rhs = operator.adjoint_sum(chunk.prepared, weighted[None])[None]
    return Stats(rhs, Moments(moments[None, :, None, None]), explained)
