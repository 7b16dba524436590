"""One pose per sample: all components move together, as if the data were aligned before PCA.

    min over W = (w_1 .. w_K), T_i, c_i   of   sum_i | x_i - T_i (c_i1 w_1 + .. + c_iK w_K) |^2

The block grows, 1, 2, 4, .., while the poses settle: starting with a full block ends in worse
optima. It grows on a subsample, up to four components from several starts and then from the best of
them; the full block is finished on all rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gtpca.data.energies import energy
from gtpca.data.sampling import nested_samples
from gtpca.fitting.between import at_codes
from gtpca.model.coding import deflate
from gtpca.model.matching import statistics
from gtpca.operators.poses import has_own_search
from gtpca.solvers.base import SolverResult

__all__ = ["grow_block", "leading_axes", "n_growths", "principal_axes", "principal_order"]

GROW_ROWS = 1024  # rows on which the block grows
ONCE, AUTO, AMONG_LOUD = (2, 1), (2, 2), (6, 3)  # starts, and how many of them are finished
ONE = (1, 1)  # if poses are found row by row, which takes time, and rows are good starts
OF_FEW = (3, 2)  # instead of AUTO, if the block grows on all rows
RACE = 4  # components up to which all starts are grown
GROW_PASSES = 8  # for each size but the last, or fewer
SUBSPACE_STEPS, SPARE = 3, 8  # towards the next directions, with this many more than needed


def grow_block(problem, recipe, goal):
    """The block of components that share a pose, fitted to all rows.

    Parameters
    ----------
    problem : Problem
    recipe : Recipe
    goal : Goal

    Returns
    -------
    SolverResult
        With ``weights`` (K, L), in no particular order.
    """
    operator, chunks = problem.chunks.operator, problem.chunks
    most = min(operator.n_weights, operator.n_features, goal.count or operator.n_weights)
    if most == 1:
        return _solve(problem, recipe)
    [chunks], _ = nested_samples(chunks, [GROW_ROWS], recipe.rng, recipe.n_jobs)
    few = replace(problem.plain, chunks=chunks, rough=True)
    few_rows = problem.chunks.n_rows <= GROW_ROWS
    n_begun, n_finished = n_growths(recipe.is_auto, recipe.loud, few_rows)
    if has_own_search(operator):
        n_begun, n_finished = ONE
    grown = _until_stopped(
        recipe,
        (_grow(few, recipe, goal, _solve(few, recipe), min(RACE, most)) for _ in range(n_begun)),
    )
    best = sorted(grown, key=_rank)[:n_finished]
    done = (_solve(problem, recipe, _grow(few, recipe, goal, one, most).weights) for one in best)
    return min(_until_stopped(recipe, done), key=_rank)


def n_growths(is_auto, loud=False, few_rows=False) -> tuple[int, int]:
    """The number of starts from which a block grows, and of those that are finished on all rows.

    What explains most of few rows after few passes need not lead to the best optimum: so two are
    finished, of three if there are few rows, where a start costs little.
    """
    if not is_auto:
        return ONCE
    if loud:
        return AMONG_LOUD
    return OF_FEW if few_rows else AUTO


def _rank(result):
    """Sort key: the smallest number of components, if these differ, then the most explained."""
    return len(result.weights), -result.explained


def _until_stopped(recipe, results) -> list[SolverResult]:
    """All results, or those before the one in which a callback asked to stop; at least one."""
    found: list[SolverResult] = []
    for result in results:
        if recipe.progress.stop and found:
            break
        found.append(result)
        if recipe.progress.stop:
            break
    return found


def _grow(problem, recipe, goal, result, most):
    """Grow the block of a result until it is enough, or has ``most`` components."""
    total = problem.chunks.sum(energy)
    while len(result.weights) < most and not recipe.progress.stop:
        if goal.reached(len(result.weights), goal.total * (1 - result.explained / total)):
            break
        W = widen(problem, result.weights, min(2 * len(result.weights), most), recipe.rng)
        result = recipe.solver.polish(problem, W, GROW_PASSES)
        recipe.progress.step(recipe.progress.root, "growth")
    return result


def _solve(problem, recipe, start=None):
    seed, chunks = recipe.seed(), problem.chunks
    with recipe.progress.component() as report:
        result = recipe.solver.solve(
            problem, seed, n_jobs=recipe.n_jobs, start=start, report=report
        )
    share = 100 * result.explained / chunks.sum(energy)
    recipe.progress.log(
        "%d components in one pose: %.2f %% of %d rows explained, %d passes, %s",
        len(result.weights),
        share,
        chunks.n_rows,
        result.n_iter,
        result.stopped,
    )
    return result


def aligned_residual(chunk, block):
    """The residual of the rows on the block, moved back: ``sqrt(q_i) T_i* r_i``, (n, L)."""
    rest = deflate(chunk, block)
    back = chunk.operator.adjoint_at(rest.weighed, rest.codes.index[:, -1])
    return back if chunk.weight is None else back * np.sqrt(chunk.weight)[:, None]


def widen(problem, W, size, rng):
    """``W`` (K, L) and the leading directions of its aligned residual, (size, L).

    By a few subspace iterations from directions drawn among the weights, so that weight 2 is
    equivalent to repeating a row.
    """
    [block] = problem.plain.blocks_for_fit(W[None])
    rows = problem.chunks.concat(aligned_residual, block)
    wanted = size - len(W)
    Q = rng.standard_normal((W.shape[1], min(W.shape[1], wanted + SPARE)))

    def times(Q):
        return rows.T @ (rows @ Q.astype(rows.dtype))

    def moments(Q):
        seen = rows @ Q
        return (seen.T @ seen).astype(np.float64)

    return np.concatenate([W, leading_axes(times, moments, Q, SUBSPACE_STEPS, wanted)[1]])


def leading_axes(times, moments, Q, steps, count):
    """Largest eigenvalues (count,) and their directions (count, L) of a covariance ``C``.

    By ``steps`` of subspace iteration from ``Q`` (L, q), where ``times(Q)`` is ``C Q`` and
    ``moments(Q)`` is ``Q' C Q``.
    """
    for _ in range(steps):
        Q, _ = np.linalg.qr(times(Q))
    values, axes = np.linalg.eigh(moments(Q))
    return values[::-1][:count], (Q @ axes[:, ::-1][:, :count]).T.astype(np.float64)


def principal_order(problem, W):
    """The same span in descending order of energy, unit norm, (K, L)."""
    if len(W) == 1:
        return W
    block, operator = problem.block_for_codes(W), problem.chunks.operator
    if operator.continuous is None:
        stats = problem.chunks.sum(statistics, [block])
    else:
        stats = problem.chunks.sum(at_codes, block, 0)
    return principal_axes(operator, block, stats.moments)[0]


def mean_gram(operator, block, moments):
    """The mean Gram matrix (K, K) of a block in the poses of the rows."""
    [nodes] = moments.nodes
    share = np.einsum("tkk->t", nodes)
    if not moments.posed:
        return np.tensordot(share / share.sum(), block.gram, axes=1)
    alone = np.einsum("skkq->sq", moments.between)[:, None, None] / share.sum()
    moved = [operator.continuous.normal(alone).times(w[None, None])[0, 0] for w in block.weights]
    gram = block.weights @ np.array(moved).T
    return (gram + gram.T) / 2


def principal_axes(operator, block, moments):
    """The span of a block as principal axes, and the energy along each, (K, L) and (K,).

    With coefficients of second moment ``C`` and the mean Gram matrix ``G`` of the rows' poses,
    these are the principal axes of ``G^(1/2) C G^(1/2)``: in descending order of energy, of unit
    norm, orthonormal for isometries.
    """
    [nodes] = moments.nodes
    share = np.einsum("tkk->t", nodes)
    values, vectors = np.linalg.eigh(mean_gram(operator, block, moments))
    root = np.sqrt(np.maximum(values, values[-1] * block.floor))[:, None] * vectors.T
    exponent = np.frexp(share.sum())[1]  # LAPACK rounds differently for very large values
    second = np.ldexp(nodes.sum(axis=0), -exponent)
    energies, axes = np.linalg.eigh(root @ second @ root.T)
    ordered = axes[:, ::-1].T @ np.linalg.solve(root.T, block.weights)
    unit = ordered / np.linalg.norm(ordered, axis=1, keepdims=True)
    return unit, np.ldexp(energies[::-1], exponent)
