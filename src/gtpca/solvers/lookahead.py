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

from gtpca.data.chunks import as_chunks
from gtpca.model.block import make_block
from gtpca.model.coding import deflate, energy, match, row_energies, weighted_energies
from gtpca.solvers.base import climb
from gtpca.solvers.starts import draw_starts, row_starts

__all__ = ["comparable", "farsighted", "outlook"]

N_INIT = 16  # the next component is looked for from half as many rows,
PASSES = 3  # with so many passes each


def farsighted(results, rows, few, operator, polarity, n_rows, rng, n_jobs=None):
    """Of the results that explain about the same, that which leaves least with the next component.

    Parameters
    ----------
    results : list of SolverResult
        Single components, fitted to ``rows``; the first wins ties.
    rows, few : Chunks
        What the results were fitted to, and fewer rows to look ahead on.
    operator : Operator
    polarity : {"both", "positive"}
    n_rows : int
        Number of all rows that count, of which ``rows`` may be a sample. The standard error is
        theirs: the more rows there are, the less is given up.
    rng : RandomState
    n_jobs : int or None
        Threads over the results.
    """
    near = comparable(results, rows, operator, polarity, n_rows)
    if len(near) == 1:
        return near[0]
    begin = draw_starts(rng, N_INIT, operator)
    ahead = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(outlook)(few, operator, result.weights, polarity, *begin) for result in near
    )
    return near[int(np.argmax(ahead))]


def comparable(results, rows, operator, polarity, n_rows):
    """Results that explain as much as the best, up to a standard error of the difference."""
    blocks = [make_block(operator, result.weights, rows.dtype) for result in results]
    largest = max(float(energies.max()) for energies in rows.collect(weighted_energies))
    exponent = int(np.frexp(largest)[1])
    products = rows.sum(explained_products, operator, blocks, polarity, exponent)
    mean, second = products[0, 1:] / products[0, 0], products[1:, 1:] / products[0, 0]
    best = int(mean.argmax())
    behind = mean[best] - mean
    square = second[best, best] - 2 * second[best] + second.diagonal()
    error = np.sqrt(np.maximum(square - behind**2, 0.0) / n_rows)
    return [result for result, near in zip(results, behind <= error, strict=True) if near]


def explained_products(chunk, operator, blocks, polarity, exponent):
    """``sum_i q_i e_i e_i'``, sample weights q, ``e_i = (1, explained by each block)``, (C, C).

    Rows without energy do not count. Energies are in units of ``2**exponent``, without which their
    squares may overflow.
    """
    P = chunk.prepared(operator)
    columns = [match(P, operator, block, polarity).explained for block in blocks]
    explained = np.stack([row_energies(chunk.rows) > 0, *np.ldexp(columns, -exponent)])
    return chunk.weigh(explained) @ explained.T


def outlook(rows, operator, W, polarity, white, draws) -> float:
    """Minus the energy that ``W`` (1, L) and the next component leave of the rows, roughly."""
    chunk = rows.take(np.arange(rows.n_rows))
    rest = deflate(chunk, operator, make_block(operator, W, rows.dtype), polarity)
    left = as_chunks(rest.rows, operator, rest.weight)
    starts = row_starts(rest, draws, white, operator, polarity)
    climbs = [climb(left, operator, start, polarity, PASSES, tol=0.0) for start in starts]
    return max(found.explained for found in climbs) - energy(rest)
