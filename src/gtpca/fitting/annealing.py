"""A way out of local maxima if noise has unit variance: all poses, weighted by probability.

    g_it = softmax_t(heat z_it^2 / 2),    z_it = <x_i, T_t w> / |T_t w| - own_it
    w = sum_it g_it a_it T_t* x_i,        own_it = g_it a_it |x_i|^2 / |w|

with ``heat`` rising to 1. If a component has many more weights than there are rows, each row has
contributed a good part of it, in its current pose. This part fits in that pose, whatever the row
contains, by about as many nats as there are weights per row, and a match keeps the initial poses of
the rows. So the contribution of a row to the component, ``own``, is left out when its poses are
compared.

If all rows contain the same pattern ``m``, of one size, there is less to estimate, and fainter
patterns are found:

    g_it = softmax_t heat (<x_i, T_t m> - |T_t m|^2 / 2 - own_it),    m = sum_it g_it T_t* x_i / n
"""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from gtpca.model.matching import Stats, orthonormal, update
from gtpca.model.posterior import normalised
from gtpca.operators.normal import Moments

__all__ = ["annealed"]

WARM = np.geomspace(0.2, 1.0, 40)  # from a component that was found
COLD = np.geomspace(0.05, 1.0, 80)  # from white noise
ALIKE = np.r_[np.geomspace(0.1, 1.0, 40), np.ones(60)]  # from the mean of all rows in all poses
MANY = 2  # weights per row from which on this is tried


def annealed(problem, solve, result):
    """The result of a solver, or the best of those to which soft passes lead.

    They start from the result, from white weights, and from a pattern that all rows contain. If
    there are no more than two weights per row, nothing is tried. ``solve(seed, start=W)`` is the
    solver on the problem.
    """
    operator, n_rows = problem.chunks.operator, problem.chunks.n_rows
    if operator.n_weights <= MANY * n_rows:
        return result
    few = problem.on(np.arange(n_rows))
    white = orthonormal(np.random.default_rng(0).standard_normal((1, operator.n_weights)))
    starts = [softly(few, result.weights, WARM), softly(few, white, COLD), alike(few, ALIKE)]
    found = [solve(0, start=W) for W in starts]  # nothing is random
    return max([result, *found], key=lambda one: one.explained)


def softly(problem, W, heats):
    """The weights (1, L) to which soft passes lead from ``W`` (1, L); rows are in memory."""
    operator, chunks = problem.chunks.operator, list(problem.chunks)
    owns = [0.0] * len(chunks)
    for heat in heats:
        block = problem.block_for_codes(W)
        each = [soft(chunk, block, heat, own) for chunk, own in zip(chunks, owns, strict=True)]
        stats = reduce(add, (found for found, _ in each))
        size = max(float(np.linalg.norm(stats.rhs)), np.finfo(float).tiny)
        owns = [added / size for _, added in each]
        W = update(operator, stats, W[None])[0]
    return W


def soft(chunk, block, heat, own):
    """:class:`Stats` of a single component, over all transforms weighted by probability.

    Also returns what each row adds, times its energy in a window, (n, m). The explained energy is
    the mean over the transforms. Gaps count as zeros, since this is only a search.
    """
    operator, root = chunk.operator, block.root.reshape(-1)
    z = operator.correlate(chunk.prepared, block.weights)[0] * root - own
    z = np.maximum(z, 0.0) if block.polarity == "positive" else z
    share, coef = normalised(heat / 2 * z.astype(np.float64) ** 2)[1], z * root
    weighted = chunk.weigh((share * coef).T).T
    explained = float(np.sum(chunk.weigh(np.sum(share * z**2, axis=1))))
    return _summed(chunk, weighted, coef, explained, len(root)), weighted * _energies(chunk)


def alike(problem, heats):
    """The weights (1, L) of a pattern that all rows contain, by soft passes; rows are in memory."""
    operator, chunks = problem.chunks.operator, list(problem.chunks)
    pattern, owns = np.zeros((1, operator.n_weights)), [0.0] * len(chunks)
    for heat in heats:
        lengths = operator.gram(pattern[None])[0, :, 0, 0]
        less = [own + lengths / 2 for own in owns]
        each = [
            soft_alike(chunk, pattern[0], heat, part, len(lengths))
            for chunk, part in zip(chunks, less, strict=True)
        ]
        stats = reduce(add, (found for found, _ in each))
        count = max(float(stats.explained[0]), np.finfo(float).tiny)
        owns = [added / count for _, added in each]
        pattern = operator.normal(stats.moments).solve(stats.rhs, pattern[None])[0]
    return orthonormal(pattern)


def soft_alike(chunk, pattern, heat, less, n_lengths):
    """:class:`Stats` of a pattern (L,) that all rows contain, and what each row adds, as above.

    The sum of the sample weights takes the place of the explained energy. ``n_lengths`` is 1 for
    isometries.
    """
    z = chunk.operator.correlate(chunk.prepared, pattern[None])[0] - less
    share = normalised(heat * z.astype(np.float64))[1]
    weighted = chunk.weigh(share.T).T
    stats = _summed(chunk, weighted, np.ones_like(share), float(weighted.sum()), n_lengths)
    return stats, weighted * _energies(chunk)


def _summed(chunk, weighted, coef, explained, n_lengths):
    """:class:`Stats` of coefficients (n, m), given also times probability and weight, (n, m).

    If weights have the same length under all transforms, one moment is enough.
    """
    moments = np.sum(weighted * coef, axis=0)
    moments = moments.sum(keepdims=True) if n_lengths == 1 else moments
    rhs = chunk.operator.adjoint_sum(chunk.prepared, weighted[None])[None]
    return Stats(rhs, Moments(moments[None, :, None, None]), np.array([explained]))


def _energies(chunk):
    """The approximate energy of each row that a component sees in one pose, (n, 1)."""
    operator = chunk.operator
    return min(1.0, operator.n_weights / operator.n_features) * chunk.energies[:, None]
