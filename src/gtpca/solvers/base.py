"""What solvers share: the problem, the result, starting points, and the climb from one of them.

    match:   t_i, a_i  for fixed w           (:func:`gtpca.model.matching.match`)
    update:  N w = rhs  for fixed t_i, a_i,   N = sum_t weight_t T_t* T_t,  rhs = sum_i a_i T_i* r_i

Both steps can only raise the explained energy ``sum_i s_i^2``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from gtpca.data.chunk import row_energies
from gtpca.data.chunks import Chunks
from gtpca.model.matching import Block, make_block, match, orthonormal, statistics, update
from gtpca.operators import Operator

__all__ = [
    "Problem",
    "SolverResult",
    "best_of",
    "climb",
    "draw_starts",
    "extrapolate",
    "row_starts",
]


@dataclass(frozen=True, eq=False)
class Problem:
    """All that a solver sees: rows, which know their operator, and how components may match them.

    Parameters
    ----------
    chunks : Chunks
    polarity : {"both", "positive"}
    """

    chunks: Chunks
    polarity: str = "both"

    @property
    def operator(self) -> Operator:
        """What components do to reach the rows."""
        return self.chunks.operator

    def on(self, chunks: Chunks) -> Problem:
        """The same problem for other rows."""
        return replace(self, chunks=chunks)

    def block(self, W: np.ndarray) -> Block:
        """The block of weights ``W`` (K, L) for these rows."""
        return make_block(self.operator, W, self.chunks.dtype, self.polarity)


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
        new = update(problem.operator, stats, point)
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
    return [
        _row_start(problem, replace(chunk, rows=x[None]), orthonormal(w[None])) for x, w in pairs
    ]


def _row_start(problem, chunk, w):
    """The row of a chunk as weights, in the pose in which it fits ``w`` best."""
    block = make_block(chunk.operator, w, polarity=problem.polarity)
    start = chunk.operator.adjoint_at(chunk.rows, match(chunk, block).index, np.ones(1))[None]
    return orthonormal(start) if np.any(start) else w
