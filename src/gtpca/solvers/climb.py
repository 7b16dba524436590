"""Alternating least squares from one starting point, and where to start.

    match:   t_i, a_i  for fixed w           (:func:`gtpca.model.matching.match`)
    update:  N w = rhs  for fixed t_i, a_i,   N = sum_t weight_t T_t* T_t,  rhs = sum_i a_i T_i* r_i

Both steps can only raise the explained energy ``sum_i s_i^2``.
"""

from __future__ import annotations

import numpy as np

from gtpca.data.chunk import Chunk, row_energies
from gtpca.model.matching import make_block, match, orthonormal, statistics, update
from gtpca.solvers.base import SolverResult

__all__ = ["best_of", "climb", "draw_starts", "row_starts"]

UPDATE_STEPS = 10  # of conjugate gradients: codes change before an exact solution would pay


def extrapolate(new, last, age):
    """A step beyond ``new`` in the direction from ``last``, longer the more steps went well."""
    return orthonormal(new + age / (age + 3) * (new - last))


def climb(problem, W, max_iter, tol, report=None):
    """Alternate match and update until the explained energy rises by less than ``tol``, relative.

    Every pass but the first is taken at an extrapolated point. Where that explains less than the
    point before, it is rejected and the plain update is taken: the history never falls.
    """
    result = SolverResult(W, stopped="max_iter")
    point, age = W, 0
    while result.n_iter < max_iter:
        stats = problem.chunks.sum(statistics, problem.block(point))
        result.n_iter += 1
        if stats.explained < result.explained and age:
            point, age = result.weights, 0
            continue
        gain = stats.explained - result.explained
        result.history.append(stats.explained)
        new = update(problem.operator, stats, point, UPDATE_STEPS)
        age += 1
        point, result.weights = extrapolate(new, result.weights, age), new
        result.stopped = _reason(result, gain, tol, report)
        if result.stopped != "max_iter":
            break
    return result


def _reason(result, gain, tol, report):
    """Why to stop after this pass; "max_iter" if there is none yet."""
    if report is not None and report(result.n_iter, result.explained):
        return "callback"
    if result.explained <= 0:
        return "no energy"
    if len(result.history) > 1 and gain <= tol * result.explained:
        return "converged"
    return "max_iter"


def best_of(results, n):
    """The ``n`` results that explain most, best first."""
    return sorted(results, key=lambda r: r.explained, reverse=True)[:n]


def draw_starts(rng, n_init, operator):
    """White weights (n_init, L) and one uniform number per start that begins at a row."""
    white = rng.standard_normal((n_init, operator.n_weights))
    white *= operator.normal(np.ones(operator.n_transforms), white[0]) != 0  # not what none sees
    return white, rng.uniform(size=n_init // 2)


def pick_rows(chunk, draws):
    """Rows drawn with probability proportional to their energy.

    The order of the rows does not matter, and weight 2 is the same as a row given twice.
    """
    energies = row_energies(chunk.rows)
    order = np.argsort(energies, kind="stable")
    share = np.cumsum(chunk.weigh(energies)[order])
    place = np.searchsorted(share, draws * share[-1])
    return chunk.rows[order[np.minimum(place, len(order) - 1)]]


def row_starts(problem, chunk, draws, white):
    """Rows of a chunk as weights, one for each draw, posed by the white weights (n, L)."""
    pairs = zip(pick_rows(chunk, draws), white, strict=False)
    return [_row_start(problem, Chunk(x[None], chunk.operator), w[None]) for x, w in pairs]


def _row_start(problem, chunk, w):
    """The row of a chunk as weights, in the pose in which it fits ``w`` best."""
    w = orthonormal(w)
    block = make_block(chunk.operator, w, polarity=problem.polarity)
    start = chunk.operator.adjoint_at(chunk.rows, match(chunk, block).index, np.ones(1))[None]
    return orthonormal(start) if np.any(start) else w
