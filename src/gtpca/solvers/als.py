"""Finding one component: short climbs from many starts, moves, lookahead, and the last climb.

A climb alternates two steps, each of which can only raise the explained energy ``sum_i s_i^2``:

    match:   t_i, a_i  for fixed w           (:func:`gtpca.model.matching.match`)
    update:  N w = rhs  for fixed t_i, a_i,   N = sum_t weight_t T_t* T_t,  rhs = sum_i a_i T_i* r_i

The *lookahead* is for windows that must stay inside the sample. A pattern at place ``p`` of a
window of length L reaches the times ``p .. p + D - L`` of a sample of D points. Where it sits
hardly matters for what one component explains, and much for what it leaves: two components with the
pattern near the two ends of the window reach all times; after one with the pattern in the middle,
no second reaches both ends of the sample. Of the places that explain as much as the best, up to a
standard error of the difference over the rows, the one is taken that leaves least together with the
next component. (The rule of one standard error is that of Breiman et al., Classification and
Regression Trees, 1984, section 3.4.3.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca.data.chunks import (
    Chunk,
    as_chunks,
    energy,
    nested_samples,
    pick_rows,
    row_energies,
    weighted_energies,
)
from gtpca.model.coding import deflate
from gtpca.model.matching import match, orthonormal, statistics, update
from gtpca.solvers.base import Problem, SolverResult

__all__ = ["ALS", "climb", "comparable", "draw_starts", "left_after_next", "look_ahead"]

SCREEN_ROWS = 512  # starts and moves are tried on so many rows
SETTLE_ROWS = 2048  # and the best of them is finished on so many
MANY_ROWS = 8192  # before all rows, climb on so many
HALVINGS = ((2, 8), (4, 3), (6, 1))  # passes for all starts, how many go on; and again
MOVE_PASSES = 4
MOVE_COMPONENTS = 4  # larger blocks have settled where their first components did
LOOK_PASSES = 2  # of each place that the lookahead compares
SCREEN_TOL = 1e-3
UPDATE_STEPS = 10  # of conjugate gradients: codes change before an exact solution would pay
LOOK_INIT = 16  # the next component is looked for from half as many rows,
NEXT_PASSES = 3  # with so many passes each
BUSY = 2**21  # products of a pass from which threads pay
RULES = {
    "n_init": checks.at_least(1),
    "max_iter": checks.at_least(1),
    "tol": checks.non_negative,
    "lookahead": checks.one_of(True, False),
    "foresight": checks.one_of("deprecated", True, False),
}


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
        pose is not shared. See :mod:`gtpca.solvers.als`.
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
        checks.parameters(self, RULES)
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
            ``report(iteration, explained)`` after each pass over all rows, and with iteration 0
            at each step of the search before them; True ends the search, or stops the climb.
        """
        rng = check_random_state(random_state)
        begin = draw_starts(rng, self.n_init, problem.chunks.operator)
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
        self.solver, self.all, self.operator = solver, problem, problem.chunks.operator
        self.n_jobs, self.report, self.rng, self.stop = n_jobs, report, rng, False
        sizes = [MANY_ROWS] * (problem.chunks.n_rows > 2 * MANY_ROWS) + [SETTLE_ROWS, SCREEN_ROWS]
        found, self.n_live = nested_samples(problem.chunks, sizes, rng, n_jobs)
        *self.many, self.middle, self.screen = (replace(problem, chunks=c) for c in found)

    def best_start(self, white, draws):
        """The winner of short climbs, by successive halving, (1, L)."""
        starts = self._starts(white, draws)
        for passes, keep in HALVINGS:
            starts = [result.weights for result in self._try(starts, passes, SCREEN_TOL, keep)]
        return starts[0]

    def settle(self, W):
        """Climb, then move and climb again while it helps."""
        best = self._climb(self.middle, W)
        moves = neighbours(self.operator, best.weights) if len(W) <= MOVE_COMPONENTS else []
        while moves and not self.stop:
            [tried] = self._try(moves, MOVE_PASSES, 0.0, keep=1)
            moved = self._climb(self.middle, tried.weights)
            if moved.explained <= best.explained * (1 + self.solver.tol):
                break
            best, moves = moved, neighbours(self.operator, moved.weights)
        return best

    def look_ahead(self, best):
        """The pattern at the place in the window that leaves least with the next component."""
        elsewhere = self.operator.elsewhere(best.weights[0]) if len(best.weights) == 1 else ()
        others = [orthonormal(w[None]) for w in elsewhere if np.any(w)]
        if not others or self.stop:
            return best
        tried = [best, *self._try(others, LOOK_PASSES, 0.0)]
        how = {"few": self.screen, "n_rows": self.n_live, "rng": self.rng, "n_jobs": self.n_jobs}
        found = look_ahead(tried, self.middle, **how)
        return best if found is best else self._climb(self.middle, found.weights)

    def finish(self, best):
        """The last climbs, on many and on all rows."""
        for problem in self.many:
            best = self._climb(problem, best.weights)
        return self._climb(self.all, best.weights, self.report)

    def _starts(self, white, draws):
        begun = row_starts(self.screen, draws, white)
        return [*begun, *(orthonormal(w[None]) for w in white[len(begun) :])]

    def _try(self, starts, passes, tol, keep=None):
        """Short climbs on few rows, in threads where these pay; the best first, if not all."""
        width = max(self.operator.n_features, self.operator.n_transforms)
        busy = self.screen.chunks.n_rows * width * len(starts[0]) >= BUSY
        tried = Parallel(n_jobs=self.n_jobs if busy else 1, prefer="threads")(
            delayed(climb)(self.screen, W, passes, tol) for W in starts
        )
        self.tell(tried[0])
        return tried if keep is None else best_of(tried, keep)

    def tell(self, result):
        """Say that the search goes on, and hear whether it shall."""
        if self.report is not None and self.report(0, result.explained):
            self.stop = True

    def _climb(self, problem, W, report=None):
        result = climb(problem, W, self.solver.max_iter, self.solver.tol, report)
        if report is None:
            self.tell(result)
        return result


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
        new = update(problem.chunks.operator, stats, point, UPDATE_STEPS)
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


def row_starts(problem, draws, white):
    """Rows as weights, one for each draw, posed by the white weights (n, L)."""
    pairs = zip(pick_rows(problem.chunks, draws), white, strict=False)
    return [_row_start(problem, x[None], w[None]) for x, w in pairs]


def _row_start(problem, row, w):
    """A row (1, d) as weights, in the pose in which it fits ``w`` (1, L) best."""
    w = orthonormal(w)
    start = statistics(Chunk(row, problem.chunks.operator), problem.block(w)).rhs
    return orthonormal(start) if np.any(start) else w


def look_ahead(results, problem, *, few, n_rows, rng, n_jobs=None):
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
    begin = draw_starts(rng, LOOK_INIT, problem.chunks.operator)
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
    left = replace(problem, chunks=as_chunks(rest.rows, rest.operator, rest.weight))
    starts = row_starts(left, draws, white)
    climbs = [climb(left, start, NEXT_PASSES, tol=0.0) for start in starts]
    return energy(rest) - max(found.explained for found in climbs)
