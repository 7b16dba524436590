"""One pose per sample: all components move together, as if the data had been aligned before PCA.

    min over W = (w_1 .. w_K), T_i, c_i   of   sum_i | x_i - T_i (c_i1 w_1 + .. + c_iK w_K) |^2

The block grows, 1, 2, 4, .., while the poses settle: a full block at once ends in worse optima.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils.extmath import randomized_svd

from gtpca.blocks import make_block
from gtpca.chunks import as_chunks
from gtpca.coding import deflate, energy, residual_energies, statistics

__all__ = ["grow_block", "principal_order"]

GROW_ROWS = 2048  # the block grows on so many rows


def grow_block(chunks, operator, recipe, goal):
    """The block of components that share a pose, fitted to all rows.

    Parameters
    ----------
    chunks : Chunks
    operator : Operator
    recipe : Recipe
    goal : Goal

    Returns
    -------
    SolverResult
        With ``weights`` (K, L), in no particular order.
    """
    sample = _sample(chunks, operator, recipe.rng, recipe.n_jobs)
    total = sample.sum(energy)
    result = _solve(sample, operator, recipe)
    while not (_enough(goal, result, total) or recipe.progress.stop):
        size = min(2 * len(result.weights), goal.count or operator.n_weights)
        W = widen(sample, operator, result.weights, size, recipe.rng)
        result = _solve(sample, operator, recipe, W)
    return result if sample is chunks else _solve(chunks, operator, recipe, result.weights)


def _enough(goal, result, total):
    """Whether the goal is reached, judged by the share of the sample's energy that is left."""
    return goal.reached(len(result.weights), goal.total * (1 - result.explained / total))


def _sample(chunks, operator, rng, n_jobs):
    """At most ``GROW_ROWS`` random rows."""
    if chunks.n_rows <= GROW_ROWS:
        return chunks
    chunk = chunks.take(np.sort(rng.permutation(chunks.n_rows)[:GROW_ROWS]))
    return as_chunks(chunk.rows, operator, chunk.weight, n_jobs=n_jobs)


def _solve(chunks, operator, recipe, start=None):
    seed = recipe.rng.randint(np.iinfo(np.int32).max)
    options = {"polarity": recipe.polarity, "n_jobs": recipe.n_jobs, "start": start}
    with recipe.progress.component() as report:
        result = recipe.solver.solve(chunks, operator, seed, report=report, **options)
    share = 100 * result.explained / chunks.sum(energy)
    recipe.progress.log(
        "%d components in one pose: %.2f %% of %d rows explained, %d passes, %s",
        *(len(result.weights), share, chunks.n_rows, result.n_iter, result.stopped),
    )
    return result


def aligned_residual(chunk, operator, block, polarity):
    """What the block leaves of each row, brought back: ``T_i* r_i``, shape (n, L)."""
    rest = deflate(chunk, operator, block, polarity)
    back = operator.adjoint_rows(rest.rows, rest.codes.index[:, -1])
    return back if chunk.weight is None else back * np.sqrt(chunk.weight)[:, None]


def widen(chunks, operator, W, size, rng):
    """``W`` (K, L) and the leading directions of its aligned residual, (size, L)."""
    block = make_block(operator, W, chunks.dtype)
    rest = np.concatenate(chunks.collect(aligned_residual, operator, block, "both"))
    wanted = size - len(W)
    _, _, Vt = randomized_svd(rest, n_components=min(wanted, *rest.shape), random_state=rng)
    missing = rng.standard_normal((wanted - len(Vt), W.shape[1]))
    return np.concatenate([W, Vt, missing])


def principal_order(chunks, operator, W, polarity):
    """The same span by orthonormal rows in descending order of energy, (K, L)."""
    if len(W) == 1:
        return W
    stats = chunks.sum(statistics, operator, make_block(operator, W, chunks.dtype), polarity)
    values, vectors = np.linalg.eigh(stats.weight.sum(axis=0))
    spread = np.sqrt(np.maximum(values, 0.0))[:, None] * (vectors.T @ W)
    return np.linalg.svd(spread, full_matrices=False)[2]


def nested_energies(chunk, operator, blocks, polarity):
    """Residual energies of a chunk after 0, 1, .., k components, (k + 1,), weighted."""
    return chunk.weigh(residual_energies(chunk, operator, blocks, polarity).T).sum(axis=1)
