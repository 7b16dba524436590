"""Finding one component: alternating least squares, its starting points and its moves.

    match:   t_i, a_i  for fixed w           (:func:`gtpca.coding.match`)
    update:  N w = rhs  for fixed t_i, a_i,   N = sum_t weight_t T_t* T_t,  rhs = sum_i a_i T_i* r_i

Both steps can only raise the explained energy ``sum_i s_i^2``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca.blocks import make_block, orthonormal, solve_block
from gtpca.chunks import Chunks, random_order, subsample
from gtpca.coding import match, row_energies, statistics

__all__ = ["ALS", "SolverResult"]

logger = logging.getLogger("gtpca")

SCREEN_ROWS = 512  # starts and moves are tried on so many rows
SETTLE_ROWS = 2048  # and the best of them is finished on so many
LADDER = (8192,)  # before all rows, climb on so many; the largest first
HEATS = ((2, 8), (4, 3), (6, 1))  # passes for all starts, how many go on; and again
MOVE_PASSES = 4
MOVE_COMPONENTS = 4  # larger blocks have settled where their first components did
SCREEN_TOL = 1e-3


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


class ALS(BaseEstimator):
    """Alternating least squares from many short starts, with moves out of local optima.

    ``n_init`` short runs on a few hundred rows, in heats; the winner is finished on a few thousand,
    followed by the operator's own moves (re-centring of a window) as long as they help; then it
    climbs on ever more rows until only the last passes touch all of them.

    Parameters
    ----------
    n_init : int
        Number of starting points: half of them white noise, half rows of the data.
    max_iter : int
        Largest number of passes over all rows per component, those of moves included.
    tol : float
        Stop when a pass raises the explained energy by less than this share.

    Examples
    --------
    >>> from gtpca import ALS
    >>> ALS(n_init=4).max_iter
    200
    """

    def __init__(self, n_init=16, max_iter=200, tol=1e-5):
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol

    def check(self) -> None:
        """Raise an error for parameters that make no sense."""
        checks.whole("n_init", self.n_init, 1)
        checks.whole("max_iter", self.max_iter, 1)
        checks.number("tol", self.tol, "of at least 0", lambda v: 0 <= v < np.inf)

    def solve(
        self,
        chunks,
        operator,
        random_state=None,
        *,
        polarity: str = "both",
        n_jobs: int | None = None,
        start: np.ndarray | None = None,
        report: Callable[[int, float], bool] | None = None,
    ) -> SolverResult:
        """The component of the rows in ``chunks``, or a block of them from ``start``.

        Parameters
        ----------
        chunks : Chunks
        operator : Operator
        random_state : int, RandomState or None
        polarity : {"both", "positive"}
        n_jobs : int or None
            Threads over the starts and moves, which are tried on few rows.
        start : array (K, L) or None
            Weights to begin with instead of looking for starting points.
        report : callable or None
            ``report(iteration, explained)`` after each pass over all rows; True stops the climb.
        """
        self.check()
        rng = check_random_state(random_state)
        white, draws = draw_starts(rng, self.n_init, operator)
        search = _Search(self, chunks, operator, rng, polarity, n_jobs, report)
        return search.finish(search.best_start(white, draws) if start is None else start)

    def polish(self, chunks, operator, W, *, polarity="both", n_passes=1) -> SolverResult:
        """A few passes from ``W`` (K, L) on all rows: one step of a joint sweep."""
        return climb(chunks, operator, W, polarity, n_passes, tol=0.0)


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


def row_start(row, operator, w, polarity):
    """The row itself as weights, in the pose in which it fits ``w`` best."""
    found = match(operator.prepare(row[None]), operator, make_block(operator, w), polarity)
    start = operator.adjoint_at(row[None], found.index, np.ones(1))[None]
    return orthonormal(start) if np.any(start) else w


def neighbours(operator, W):
    """Blocks worth trying after ``W`` (K, L): the same move for all its components."""
    moves = zip(*(operator.neighbours(w) for w in W), strict=True)
    return [orthonormal(np.array(block)) for block in moves]


def best_of(results, n):
    """The ``n`` results that explain most, best first."""
    return sorted(results, key=lambda r: r.explained, reverse=True)[:n]


class _Search:
    """One call of :meth:`ALS.solve`: the rows, the subsamples and the passes that are left."""

    def __init__(self, solver, chunks, operator, rng, polarity, n_jobs, report):
        self.solver, self.chunks, self.operator = solver, chunks, operator
        self.polarity, self.n_jobs, self.report = polarity, n_jobs, report
        self.spent, self.halted = 0, False
        order = random_order(chunks, rng) if chunks.n_rows > SCREEN_ROWS else None
        self.ladder: list[Chunks] = []
        for size in LADDER:  # each is drawn from the one before: all rows are read once
            if chunks.n_rows > 2 * size:
                chunks, order = subsample(chunks, operator, order, size, n_jobs)
                self.ladder.insert(0, chunks)
        self.middle, order = subsample(chunks, operator, order, SETTLE_ROWS, n_jobs)
        self.screen, _ = subsample(self.middle, operator, order, SCREEN_ROWS, n_jobs=1)

    def best_start(self, white, draws):
        """The winner of short climbs, in heats, (1, L)."""
        starts = self._starts(white, draws)
        for passes, keep in HEATS:
            tried = self._screen(starts, passes, SCREEN_TOL)
            starts = [result.weights for result in best_of(tried, keep)]
        return starts[0]

    def finish(self, W):
        """Moves and the last climbs, on ever more rows."""
        best = self._settle(W)
        for rows in self.ladder:
            best = self._climb(rows, best.weights)
        if self.middle is not self.chunks:
            best = self._climb(self.chunks, best.weights)
        best.n_iter = self.spent
        return best

    @property
    def left(self):
        """Passes over all rows that may still be made."""
        return 0 if self.halted else self.solver.max_iter - self.spent

    def _starts(self, white, draws):
        rows = pick_rows(self.screen.take(np.arange(self.screen.n_rows)), draws)
        white = [orthonormal(w[None]) for w in white]
        begun = [
            row_start(x, self.operator, w, self.polarity) for x, w in zip(rows, white, strict=False)
        ]
        return [*begun, *white[len(begun) :]]

    def _screen(self, starts, passes, tol):
        """Short climbs on few rows, in threads."""
        args = (self.polarity, passes, tol)
        return Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(climb)(self.screen, self.operator, W, *args) for W in starts
        )

    def _climb(self, rows, W):
        everything = rows is self.chunks
        limit = max(1, self.left) if everything else self.solver.max_iter
        report = self.report if everything else None
        result = climb(rows, self.operator, W, self.polarity, limit, self.solver.tol, report)
        if everything:
            self.spent += result.n_iter
            self.halted = result.stopped == "callback"
        return result

    def _settle(self, W):
        """Climb, then move and climb again while it helps."""
        best = self._climb(self.middle, W)
        while self.left > 0:
            moves = neighbours(self.operator, best.weights) if len(W) <= MOVE_COMPONENTS else []
            cost = len(moves) * MOVE_PASSES if self.screen is self.chunks else 0
            if not moves or cost >= self.left:
                break
            tried = self._screen(moves, MOVE_PASSES, 0.0)
            self.spent += sum(result.n_iter for result in tried) if cost else 0
            moved = self._climb(self.middle, best_of(tried, 1)[0].weights)
            if moved.explained <= best.explained * (1 + self.solver.tol):
                break
            better = [value for value in moved.history if value > best.explained]
            best = SolverResult(moved.weights, best.history + better, stopped=moved.stopped)
        return best
