"""A way out of local maxima where noise has unit variance: all poses, by their probability.

    g_it = softmax_t(heat z_it^2 / 2),    z_it = <x_i, T_t w> / |T_t w| - own_it
    w = sum_it g_it a_it T_t* x_i,        own_it = g_it a_it |x_i|^2 / |w|

with ``heat`` that rises to 1. Of a component of many more weights than there are rows each row has
made a good part itself, in the pose that it has: that part fits there, whatever is in the row, by
about as many nats as there are weights for each row, and a match keeps the poses that rows began
with. So what a row has added to the component, ``own``, is left out where its poses are compared.
"""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from gtpca.model.matching import Stats, orthonormal, update
from gtpca.model.probabilistic import normalised

__all__ = ["annealed"]

WARM = np.geomspace(0.2, 1.0, 40)  # from a component that was found
COLD = np.geomspace(0.05, 1.0, 80)  # from white noise
MANY = 2  # weights per row from which on it is tried


def annealed(problem, solver, result, **how):
    """The result of a solver, or the best of those to which soft passes lead.

    They begin at the result, and at white weights. Where there are not more than two weights for
    each row, nothing is tried. ``how`` is what the solver takes beside problem and start.
    """
    operator, n_rows = problem.chunks.operator, problem.chunks.n_rows
    if operator.n_weights <= MANY * n_rows:
        return result
    few = problem.on(np.arange(n_rows))
    white = orthonormal(np.random.default_rng(0).standard_normal((1, operator.n_weights)))
    found = [result]
    for W, heats in ((result.weights, WARM), (white, COLD)):
        W = softly(few, W, heats)
        found.append(solver.solve(problem, 0, start=W, **how))  # from a start, nothing is drawn
    return max(found, key=lambda one: one.explained)


def softly(problem, W, heats):
    """The weights (1, L) to which soft passes lead from ``W`` (1, L); rows are in memory."""
    operator, chunks = problem.chunks.operator, list(problem.chunks)
    owns = [0.0] * len(chunks)
    for heat in heats:
        block = problem.block(W)
        each = [soft(chunk, block, heat, own) for chunk, own in zip(chunks, owns, strict=True)]
        stats = reduce(add, (found for found, _ in each))
        size = max(float(np.linalg.norm(stats.rhs)), np.finfo(float).tiny)
        owns = [added / size for _, added in each]
        W = update(operator, stats, W)
    return W


def soft(chunk, block, heat, own):
    """:class:`Stats` of a single component, over all transforms by their probability.

    And what each row adds, times its energy in a window, (n, m). What is explained is the mean over
    the transforms. Gaps count as zeros: it is a search.
    """
    operator, root = chunk.operator, block.root.reshape(-1)
    z = operator.correlate(chunk.prepared, block.weights[0]) * root - own
    z = np.maximum(z, 0.0) if block.polarity == "positive" else z
    share = normalised(heat / 2 * z.astype(np.float64) ** 2)[1]
    coef = z * root
    weighted = chunk.weigh((share * coef).T).T
    moments = np.sum(weighted * coef, axis=0)
    moments = moments.sum(keepdims=True) if operator.isometric else moments
    explained = float(np.sum(chunk.weigh(np.sum(share * z**2, axis=1))))
    rhs = operator.adjoint_sum(chunk.prepared, weighted)[None]
    seen = min(1.0, operator.n_weights / operator.n_features)
    return Stats(rhs, moments[:, None, None], explained), weighted * seen * chunk.energies[:, None]
