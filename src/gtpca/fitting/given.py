"""Components whose poses are given: linear in their weights, and solved together.

A component whose poses ``T_i`` are known is the leading principal axis of rows that are moved back,
``T_i* x_i``, or the leading ones, if several share the pose: exactly so for isometries, and the
start of alternating passes over scores and weights otherwise.

Where components with known poses overlap others, each of them alone contains some of the others:
the average around the stimulus contains a smeared response. So once there is a start for each, all
are solved together,

    min over W, A, free poses   of   sum_i | x_i - sum_k a_ik T_ik w_k |^2,

by turns: codes for fixed weights (:func:`gtpca.model.coding.recoded`), and all weights at once for
fixed codes, by conjugate gradients. Neither turn can raise the residual.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from gtpca.data.chunks import known_rows
from gtpca.data.codes import Codes
from gtpca.data.energies import energy
from gtpca.fitting.shared_pose import leading_axes
from gtpca.model.coding import coefficients, pulls, recoded
from gtpca.model.matching import coded_statistics, match_given, update
from gtpca.operators.base import lengths_at
from gtpca.operators.normal import conjugate_gradients
from gtpca.solvers.base import SolverResult

__all__ = ["given_statistics", "solve_given", "solve_together", "solved_weights"]

DENSE_WEIGHTS = 4096  # up to here a covariance matrix is formed
SUBSPACE_STEPS, SPARE = 20, 8  # otherwise: steps of subspace iteration, and directions to spare
MOST_PASSES, TOLERANCE = 200, 1e-7  # of one component; gain relative to what is explained
MOST_ROUNDS, SETTLED = 300, 1e-6  # of all of them; gain relative to the residual
WEIGHT_STEPS = 20  # of conjugate gradients in each round


def solve_given(problem, column, count, rng) -> SolverResult:
    """A component of which poses are given, or a block of ``count`` that share them.

    Rows whose pose is free take part after the start, each in its best pose.
    """
    chunks = problem.chunks
    W = _upright(problem, column, _leading(chunks, column, count, rng))
    result = SolverResult(W, stopped="max_iter")
    for _ in range(MOST_PASSES):
        stats = chunks.sum(given_statistics, problem.block_for_codes(W), column)
        explained = float(stats.explained[0])
        if result.history and explained - result.explained <= TOLERANCE * explained:
            result.stopped = "converged"
            break
        result.weights, result.n_iter = W, result.n_iter + 1
        result.history.append(explained)
        [W] = update(chunks.operator, stats, W[None])
    return result


def _upright(problem, column, W):
    """Weights (K, L), or the negative of a single one if that fits more rows upright."""
    if problem.polarity == "both":
        return W
    both = [problem.block_for_codes(sign * W) for sign in (1.0, -1.0)]
    stats = [problem.chunks.sum(given_statistics, block, column) for block in both]
    return -W if stats[1].explained[0] > stats[0].explained[0] else W


def given_statistics(chunk, block, column):
    """:class:`Stats` of a chunk on a block in given poses, as far as they are known."""
    found = match_given(chunk, block, column)
    explained = np.array([np.sum(chunk.weigh(found.explained))])
    return coded_statistics(chunk, found.index, found.coef, explained)


def _leading(chunks, column, count, rng):
    """The leading principal axes (count, L) of rows that are moved back from known poses."""
    size = chunks.operator.n_weights
    if size <= DENSE_WEIGHTS:
        C = chunks.sum(_covariance, column)
        C = np.ldexp(C, -int(np.frexp(np.trace(C))[1]))  # LAPACK rounds very large values
        axes = linalg.eigh(C, subset_by_index=[size - count, size - 1])[1]
        return axes[:, ::-1].T
    Q = rng.standard_normal((size, min(size, count + SPARE)))

    def times(Q):
        return chunks.sum(_covariance_times, column, Q)

    return leading_axes(times, lambda Q: Q.T @ times(Q), Q, SUBSPACE_STEPS, count)[1]


def _moved_back(chunk, column):
    """``sqrt(q_i) T_i* x_i`` of the rows whose pose is given, (n, L)."""
    given = chunk.given_on(column)
    if given is None:
        return np.zeros((0, chunk.operator.n_weights))
    known = known_rows(given)
    back = chunk.operator.adjoint_at(chunk.weighed[known], given[known])
    return back.astype(np.float64) * np.sqrt(chunk.weigh(np.ones(len(known)))[known])[:, None]


def _covariance(chunk, column):
    rows = _moved_back(chunk, column)
    return rows.T @ rows


def _covariance_times(chunk, column, Q):
    rows = _moved_back(chunk, column)
    return rows.T @ (rows @ Q)


def solve_together(problem, blocks, n_fixed=0, log=None):
    """All components together, from codes and weights that were found one after the other.

    Parameters
    ----------
    problem : Problem
        Its chunks are the residual, with the codes of all components.
    blocks : list of Block
        One for each component; the first ``n_fixed`` are kept as they are.
    n_fixed : int
    log : callable or None
        Called as ``log(message, *args)`` after each round.

    Returns
    -------
    chunks : Chunks
        The residual, with the final codes.
    blocks : list of Block
    losses : list of float
        The energy of the residual after every round, with that of components in gaps; never rises.
    """
    chunks, losses = problem.chunks, []
    for number in range(MOST_ROUNDS):
        chunks = chunks.update(recoded, blocks, blocks=list(blocks))
        losses.append(float(chunks.sum(_loss, blocks)))
        if log is not None:
            log("round %d: residual %.6g", number + 1, losses[-1])
        settled = number and losses[-2] - losses[-1] <= SETTLED * losses[-1]
        if settled or n_fixed == len(blocks):
            break
        W = solved_weights(chunks, blocks, n_fixed)
        after = [problem.block_for_codes(_unit(w)[None]) for w in W]
        after[:n_fixed] = blocks[:n_fixed]
        chunks = chunks.update(_exchanged, blocks, W, blocks=list(after))
        blocks = after
    return chunks, blocks, losses


def _unit(w):
    size = np.linalg.norm(w)
    return w / size if size > 0 else w


def _loss(chunk, blocks):
    """The energy of the residual, and what components in gaps cost, see :func:`pulls`."""
    total, rho = energy(chunk), pulls(chunk)
    if not rho.any():
        return total
    coef, index = coefficients(chunk, blocks), chunk.codes.index
    for k, block in enumerate(blocks):
        part = coef[:, [k]] * chunk.operator.apply_at(block.weights[0], index[:, k])
        total += np.sum(chunk.weigh(np.sum(part**2 * rho, axis=1)))
    return total


def solved_weights(chunks, blocks, n_fixed=0, steps=WEIGHT_STEPS):
    """Weights (k, L) for fixed codes, not of unit norm, after steps of conjugate gradients.

    What is added to the weights so far solves ``N D = g`` with the gradient ``g_k = sum_i a_ik
    T_ik* r_i``; unknowns are scaled by the energy of the coefficients of their component.
    """
    W = np.concatenate([block.weights for block in blocks])
    sizes = np.sqrt(chunks.sum(_coefficient_energies, blocks))
    scale = np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    scale[:n_fixed] = 0.0

    def times(D):
        moved = chunks.sum(_normal_times, blocks, scale[:, None] * D.reshape(W.shape))
        return (scale[:, None] * moved).reshape(1, -1)

    rhs = (scale[:, None] * chunks.sum(_gradient, blocks)).reshape(1, -1)
    D = conjugate_gradients(times, rhs, np.zeros_like(rhs), steps)
    return W + scale[:, None] * D.reshape(W.shape)


def _coefficient_energies(chunk, blocks):
    """``sum_i q_i a_ik^2``, (k,)."""
    return chunk.weigh(coefficients(chunk, blocks).T ** 2).sum(axis=1)


def _gradient(chunk, blocks):
    """``sum_i a_ik T_ik* r_i`` of the residual, (k, L), less what gaps pull."""
    W = np.concatenate([block.weights for block in blocks])
    return _adjoints(chunk, blocks, chunk.weighed, -W)


def _normal_times(chunk, blocks, D):
    """``sum_i a_ik T_ik* (v_i sum_j a_ij T_ij d_j)``, (k, L), plus what gaps pull."""
    coef, index = coefficients(chunk, blocks), chunk.codes.index
    total = np.zeros(chunk.rows.shape)
    for k, d in enumerate(D):
        total += coef[:, [k]] * chunk.operator.apply_at(d, index[:, k])
    return _adjoints(chunk, blocks, total * chunk.value_weights(), D)


def _adjoints(chunk, blocks, rows, D):
    """``sum_i a_ik T_ik* (rows_i + rho_i a_ik T_ik d_k)``, (k, L), with the weights of gaps."""
    operator, coef, index = chunk.operator, coefficients(chunk, blocks), chunk.codes.index
    found, rho = np.zeros(D.shape), pulls(chunk)
    for k, d in enumerate(D):
        part = rows
        if rho.any():
            part = rows + rho * coef[:, [k]] * operator.apply_at(d, index[:, k])
        found[k] = operator.adjoint_at(part, index[:, k], chunk.weigh(coef[:, k])[None])[0]
    return found


def _exchanged(chunk, blocks, W):
    """The chunk with other weights (k, L) in place of those of the blocks, with the same codes.

    Weights need not be of unit norm: coefficients stay, so that scores change.
    """
    coef, index, operator = coefficients(chunk, blocks), chunk.codes.index, chunk.operator
    lengths = [lengths_at(operator, w[None], index[:, k]) for k, w in enumerate(W)]
    codes = Codes(coef * np.hstack(lengths), index)
    for k, block in enumerate(blocks):
        chunk = chunk.plus(block.weights - W[[k]], index[:, k], coef[:, [k]], codes)
    return chunk
