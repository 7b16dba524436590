"""Looking one component ahead, where windows must stay inside the sample.

A pattern at place ``p`` of a window of length L reaches the times ``p .. p + D - L`` of a sample of
D points. Where it sits hardly matters for what one component explains, and much for what it leaves:
two components with the pattern near the two ends of the window reach all times; after one with the
pattern in the middle, no second reaches both ends of the sample.

Of the places that explain as much as the best, up to a standard error of the difference over the
rows, the one is taken that leaves least together with the next component. (The rule of one standard
error is that of Breiman et al., Classification and Regression Trees, 1984, section 3.4.3.)
"""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed

from gtpca.data.chunk import energy, row_energies, weighted_energies
from gtpca.data.chunks import as_chunks
from gtpca.model.coding import deflate
from gtpca.model.matching import match
from gtpca.solvers.climb import climb, draw_starts, row_starts

__all__ = ["comparable", "look_ahead"]

N_INIT = 16  # the next component is looked for from half as many rows,
PASSES = 3  # with so many passes each


def look_ahead(results, problem, few, n_rows, rng, n_jobs=None):
    """Of the results that explain about the same, that which leaves least with the next component.

    Parameters
    ----------
    results : list of SolverResult
        Single components; the first wins ties.
    problem, few : Problem
        The rows on which results are compared, and fewer rows to look ahead on.
    n_rows : float
        Number of all rows that count, weight 2 being a row twice, of which those of ``problem``
        may be a sample. The standard error is theirs: the more rows, the less is given up.
    rng : RandomState
    n_jobs : int or None
        Threads over the results.
    """
    near = comparable(results, problem, n_rows)
    if len(near) == 1:
        return near[0]
    begin = draw_starts(rng, N_INIT, problem.operator)
    ahead = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(left_after_next)(few, result.weights, *begin) for result in near
    )
    return near[int(np.argmin(ahead))]


def comparable(results, problem, n_rows):
    """Results that explain as much as the best, up to a standard error of the difference."""
    chunks, blocks = problem.chunks, [problem.block(result.weights) for result in results]
    largest = max(float(energies.max()) for energies in chunks.collect(weighted_energies))
    products = chunks.sum(explained_products, blocks, int(np.frexp(largest)[1]))
    mean, second = products[0, 1:] / products[0, 0], products[1:, 1:] / products[0, 0]
    best = int(mean.argmax())
    behind = mean[best] - mean
    square = second[best, best] - 2 * second[best] + second.diagonal()
    error = np.sqrt(np.maximum(square - behind**2, 0.0) / n_rows)
    return [result for result, near in zip(results, behind <= error, strict=True) if near]


def explained_products(chunk, blocks, exponent):
    """``sum_i q_i e_i e_i'``, sample weights q, ``e_i = (1, explained by each block)``, (C, C).

    Rows without energy do not count. Energies are in units of ``2**exponent``, without which their
    squares may overflow.
    """
    columns = [match(chunk, block).explained for block in blocks]
    explained = np.stack([row_energies(chunk.rows) > 0, *np.ldexp(columns, -exponent)])
    return chunk.weigh(explained) @ explained.T


def left_after_next(problem, W, white, draws) -> float:
    """The energy that ``W`` (1, L) and the next component leave of the rows, roughly."""
    chunk = problem.chunks.take(np.arange(problem.chunks.n_rows))
    rest = deflate(chunk, problem.block(W))
    left = problem.on(as_chunks(rest.rows, rest.operator, rest.weight))
    starts = row_starts(left, rest, draws, white)
    climbs = [climb(left, start, PASSES, tol=0.0) for start in starts]
    return energy(rest) - max(found.explained for found in climbs)
