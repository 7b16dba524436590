"""Alternating least squares from one starting point.

    match:   t_i, a_i  for fixed w           (:func:`gtpca.model.coding.match`)
    update:  N w = rhs  for fixed t_i, a_i,   N = sum_t weight_t T_t* T_t,  rhs = sum_i a_i T_i* r_i

Both steps can only raise the explained energy ``sum_i s_i^2``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gtpca.model.block import make_block, orthonormal, solve_block
from gtpca.model.coding import statistics

__all__ = ["SolverResult", "best_of", "climb", "extrapolate", "update"]


@dataclass
class SolverResult:
    """One component, or a block of components in one pose, and how it was found.

    Attributes
    ----------
    weights : array (K, L)
        Orthonormal.
    history : list of float
        Explained energy at each pass over all rows; never falls.
    n_iter : int
        Passes over all rows, those of rejected moves included.
    stopped : str
        Why it stopped: "converged", "max_iter", "callback" or "no energy".
    """

    weights: np.ndarray
    history: list[float] = field(default_factory=list)
    n_iter: int = 0
    stopped: str = "converged"

    @property
    def explained(self) -> float:
        """Explained energy at the last pass."""
        return self.history[-1] if self.history else 0.0


def update(operator, stats, W):
    """The least-squares weights (K, L) for fixed codes, made orthonormal."""
    new = orthonormal(solve_block(operator, stats.weight, stats.rhs, W))
    return new if np.all(np.isfinite(new)) and np.any(new) else W


def extrapolate(new, last, age):
    """A step beyond ``new`` in the direction from ``last``, longer the more steps went well."""
    return orthonormal(new + age / (age + 3) * (new - last))


def climb(chunks, operator, W, polarity, max_iter, tol, report=None):
    """Alternate match and update until the explained energy rises by less than ``tol``, relative.

    Every pass but the first is taken at an extrapolated point. Where that explains less than the
    point before, it is rejected and the plain update is taken: the history never falls.
    """
    result = SolverResult(W, stopped="max_iter")
    point, age = W, 0
    while result.n_iter < max_iter:
        block = make_block(operator, point, chunks.dtype)
        stats = chunks.sum(statistics, operator, block, polarity)
        result.n_iter += 1
        if stats.explained < result.explained and age:
            point, age = result.weights, 0
            continue
        gain = stats.explained - result.explained
        result.history.append(stats.explained)
        new = update(operator, stats, point)
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
