"""Finding one component: short climbs from many starts, moves, lookahead, and the last climb."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca.data.chunks import count_live_rows, in_single_precision, subsample
from gtpca.model.matching import orthonormal
from gtpca.solvers.base import Problem, SolverResult
from gtpca.solvers.climb import best_of, climb, draw_starts, row_starts
from gtpca.solvers.lookahead import look_ahead

__all__ = ["ALS"]

SCREEN_ROWS = 512  # starts and moves are tried on so many rows
SETTLE_ROWS = 2048  # and the best of them is finished on so many
MANY_ROWS = 8192  # before all rows, climb on so many
HALVINGS = ((2, 8), (4, 3), (6, 1))  # passes for all starts, how many go on; and again
MOVE_PASSES = 4
MOVE_COMPONENTS = 4  # larger blocks have settled where their first components did
LOOK_PASSES = 2  # of each place that the lookahead compares
SCREEN_TOL = 1e-3
BUSY = 2**21  # products of a pass from which threads pay


class ALS(BaseEstimator):
    """Alternating least squares from many short starts, with moves out of local optima.

    ``n_init`` short runs on a few hundred rows, by successive halving; the winner is finished on a
    few thousand, followed by the operator's own moves (re-centring of a window) as long as they
    help, all of it in single precision; then it climbs on ever more rows, in their own precision,
    until only the last passes touch all of them.

    Parameters
    ----------
    n_init : int
        Number of starting points: half of them white noise, half rows of the data.
    max_iter : int
        Largest number of passes of a climb, and so over all rows, per component.
    tol : float
        Stop when a pass raises the explained energy by less than this share.
    lookahead : bool
        Whether to look one component ahead where a window is shorter than the sample: of the places
        that a pattern may have in the window and that explain the same, up to a standard error,
        take the one that leaves least together with the next component, if there is one and the
        pose is not shared. See :mod:`gtpca.solvers.lookahead`.
    foresight : bool
        The old name of ``lookahead``; it will go.

    Examples
    --------
    >>> from gtpca import ALS
    >>> ALS(n_init=4).max_iter
    200
    """

    def __init__(self, n_init=16, max_iter=200, tol=1e-5, lookahead=True, foresight="deprecated"):
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.lookahead = lookahead
        self.foresight = foresight

    def check(self) -> None:
        """Raise an error for parameters that make no sense."""
        checks.integer("n_init", self.n_init, 1)
        checks.integer("max_iter", self.max_iter, 1)
        checks.number("tol", self.tol, "of at least 0", lambda v: 0 <= v < np.inf)
        checks.choice("lookahead", self.lookahead, (True, False))
        checks.choice("foresight", self.foresight, ("deprecated", True, False))
        if self.foresight != "deprecated":
            checks.warn("ALS(foresight=) is now called lookahead; use that.", FutureWarning)

    @property
    def looks_ahead(self) -> bool:
        """Whether there is a lookahead, under its new or its old name."""
        return self.lookahead if self.foresight == "deprecated" else self.foresight

    def solve(
        self,
        problem: Problem,
        random_state=None,
        *,
        n_jobs: int | None = None,
        start: np.ndarray | None = None,
        more: bool = False,
        report: Callable[[int, float], bool] | None = None,
    ) -> SolverResult:
        """The component of the rows of ``problem``, or a block of them from ``start``.

        Parameters
        ----------
        problem : Problem
        random_state : int, RandomState or None
        n_jobs : int or None
            Threads over the starts and moves, which are tried on few rows.
        start : array (K, L) or None
            Weights to begin with instead of looking for starting points.
        more : bool
            Whether another component will be looked for in the residual: where there is lookahead.
        report : callable or None
            ``report(iteration, explained)`` after each pass over all rows; True stops the climb.
        """
        rng = check_random_state(random_state)
        begin = draw_starts(rng, self.n_init, problem.operator)
        search = _Search(self, problem, rng, n_jobs, report)
        best = search.settle(search.best_start(*begin) if start is None else start)
        return search.finish(search.look_ahead(best) if more and self.looks_ahead else best)

    def polish(self, problem: Problem, W: np.ndarray, n_passes: int = 1) -> SolverResult:
        """A few passes from ``W`` (K, L) on all rows: one step of a joint sweep."""
        return climb(problem, W, n_passes, tol=0.0)


def neighbours(operator, W):
    """Blocks worth trying after ``W`` (K, L): the same move for all its components."""
    moves = zip(*(operator.neighbours(w) for w in W), strict=True)
    return [orthonormal(np.array(block)) for block in moves]


class _Search:
    """One call of :meth:`ALS.solve`.

    Everything but the last climbs is done on copies of few rows, in single precision.
    """

    def __init__(self, solver, problem, rng, n_jobs, report):
        self.solver, self.all, self.operator = solver, problem, problem.operator
        self.n_jobs, self.report, self.rng = n_jobs, report, rng
        chunks, counts = problem.chunks, count_live_rows(problem.chunks)
        live = np.flatnonzero(counts)
        order = rng.permutation(live) if chunks.n_rows > SCREEN_ROWS else None
        self.n_live = float(counts.sum())
        self.many: Problem | None = None
        if chunks.n_rows > 2 * MANY_ROWS:  # the others are drawn from it: all rows are read once
            chunks, order = subsample(chunks, order, MANY_ROWS, n_jobs)
            self.many = problem.on(chunks)
        chunks, order = subsample(chunks, order, SETTLE_ROWS, n_jobs)
        chunks = in_single_precision(chunks, n_jobs)
        few, _ = subsample(chunks, order, SCREEN_ROWS, n_jobs=1)
        self.middle, self.screen = problem.on(chunks), problem.on(few)

    def best_start(self, white, draws):
        """The winner of short climbs, by successive halving, (1, L)."""
        starts = self._starts(white, draws)
        for passes, keep in HALVINGS:
            tried = self._try(starts, passes, SCREEN_TOL)
            starts = [result.weights for result in best_of(tried, keep)]
        return starts[0]

    def settle(self, W):
        """Climb, then move and climb again while it helps."""
        best = self._climb(self.middle, W)
        moves = neighbours(self.operator, best.weights) if len(W) <= MOVE_COMPONENTS else []
        while moves:
            tried = best_of(self._try(moves, MOVE_PASSES, 0.0), 1)[0]
            moved = self._climb(self.middle, tried.weights)
            if moved.explained <= best.explained * (1 + self.solver.tol):
                break
            best, moves = moved, neighbours(self.operator, moved.weights)
        return best

    def look_ahead(self, best):
        """The pattern at the place in the window that leaves least with the next component."""
        elsewhere = self.operator.elsewhere(best.weights[0]) if len(best.weights) == 1 else ()
        others = [orthonormal(w[None]) for w in elsewhere if np.any(w)]
        if not others:
            return best
        tried = [best, *self._try(others, LOOK_PASSES, 0.0)]
        found = look_ahead(tried, self.middle, self.screen, self.n_live, self.rng, self.n_jobs)
        return best if found is best else self._climb(self.middle, found.weights)

    def finish(self, best):
        """The last climbs, on many and on all rows."""
        if self.many is not None:
            best = self._climb(self.many, best.weights)
        return self._climb(self.all, best.weights, self.report)

    def _starts(self, white, draws):
        chunk = self.screen.chunks.take(np.arange(self.screen.chunks.n_rows))
        begun = row_starts(self.screen, chunk, draws, white)
        return [*begun, *(orthonormal(w[None]) for w in white[len(begun) :])]

    def _try(self, starts, passes, tol):
        """Short climbs on few rows, in threads where these pay."""
        width = max(self.operator.n_features, self.operator.n_transforms)
        busy = self.screen.chunks.n_rows * width * len(starts[0]) >= BUSY
        return Parallel(n_jobs=self.n_jobs if busy else 1, prefer="threads")(
            delayed(climb)(self.screen, W, passes, tol) for W in starts
        )

    def _climb(self, problem, W, report=None):
        return climb(problem, W, self.solver.max_iter, self.solver.tol, report)
