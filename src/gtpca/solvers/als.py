"""Finding one component: short climbs from many starts, moves, lookahead, and the last climb.

A climb alternates two steps, each of which can only raise the explained energy ``sum_i s_i^2``:

    match:   t_i, a_i  for fixed w           (:func:`gtpca.model.matching.match`)
    update:  N w = rhs  for fixed t_i, a_i,   N = sum_t weight_t T_t* T_t,  rhs = sum_i a_i T_i* r_i

Starts, moves and lookahead are tried on coarser grids. Samples and weights are pooled by ``P``
(:mod:`gtpca.operators.pooling`), as often as rows stay far from white noise and every axis that
moves keeps enough points; a pass there costs a fraction, and what is found is spread by ``P*``.

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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca.data.chunks import Chunk, as_chunks
from gtpca.data.energies import energy, weighted_energies
from gtpca.data.sampling import count_live_rows, nested_samples, pick_rows
from gtpca.model.coding import deflate
from gtpca.model.matching import (
    match,
    orthonormal,
    rows_as_weights,
    statistics,
    update,
)
from gtpca.operators.base import with_feature_weight
from gtpca.operators.pooling import pooling
from gtpca.shell import BaseEstimator, Documented, RandomState
from gtpca.solvers.base import Problem, SolverResult

__all__ = [
    *("ALS", "Coarse", "climb", "climb_each", "coarsened"),
    *("comparable", "draw_starts", "left_after_next", "look_ahead"),
]

SCREEN_ROWS = 512  # starts and places are tried on so many rows
SETTLE_ROWS = 2048  # and the best of them is finished on so many,
BLOCK_ROWS = 1024  # a block of several components on so many
MANY_ROWS = 8192  # before all rows, climb on so many
HALVINGS = ((3, 4, 256), (5, 1, 512))  # passes, how many go on, rows; and again
WHOLE_ROWS = 256  # up to here all rows are used in any case
MOVE_PASSES, MOVE_ON, MOVE_ROWS = 3, 12, 1024  # of each move and of the best, on so many rows
MOVE_COMPONENTS = 8  # larger blocks have settled where their first components did
LOOK_PASSES = 2  # of each place that the lookahead compares
SCREEN_TOL = 1e-3
LOOSE = 10  # times tol: what a climb must gain that others follow
LOOSEST = 100  # and one over so many rows that each pass counts
NEARLY = 1e-3  # a move that explains so much less on few rows may still explain more
UPDATE_STEPS = 10  # of conjugate gradients: codes change before an exact solution would pay
SCREEN_STEPS = 5  # where climbs are short
SMOOTH = 0.2  # how far from white noise rows must be to be pooled
LEAST = {1: (24, 24, 64), 2: (12, 20, 32)}  # points on an axis after pooling, by how many move
LOOK_INIT = 16  # the next component is looked for from half as many rows,
NEXT_PASSES = 3  # with so many passes each
RULES = {
    "n_init": checks.at_least(1),
    "max_iter": checks.at_least(1),
    "tol": checks.non_negative,
    "lookahead": checks.one_of(True, False),
    "foresight": checks.one_of("deprecated", True, False),
}


class ALS(Documented, BaseEstimator):
    """Alternating least squares from many short starts, with moves out of local optima.

    ``n_init`` short runs on a few hundred rows, by successive halving, on a coarser grid where the
    rows are smooth; the winner is finished on a few thousand, followed by the operator's own moves
    (re-centring of a window) as long as they help, all of it in single precision; then it climbs on
    ever more rows, in their own precision, until only the last passes touch all of them.

    Parameters
    ----------
    n_init : int
        Number of starting points: half of them white noise, half rows of the data.
    max_iter : int
        Largest number of passes of a climb, and so over all rows, per component.
    tol : float
        Stop when a pass raises the explained energy by less than this share: ten times as much in
        climbs that others follow, a hundred times in the last one over very many rows.
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

    ridged = True  # knows the ridge of a problem
    tries_again = True  # cheap enough to start more often where optima are many

    def __init__(
        self,
        n_init: int = 16,
        max_iter: int = 200,
        tol: float = 1e-5,
        lookahead: bool = True,
        foresight: Any = "deprecated",
    ):
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
        random_state: RandomState = None,
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
            Threads over chunks of the rows that climbs are tried on.
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
        settle = SETTLE_ROWS if start is None else BLOCK_ROWS
        search = _Search(self, problem, rng, settle, n_jobs, report)
        best = search.settle(search.best_start(*begin) if start is None else start)
        best = search.look_ahead(best) if more and self.looks_ahead else best
        return search.finish(search.weigh_ridge(best))

    def polish(self, problem: Problem, W: np.ndarray, n_passes: int = 1) -> SolverResult:
        """A few passes from ``W`` (K, L) on all rows; fewer if one gains hardly anything."""
        return climb(problem, W, n_passes, self.tol * LOOSE)


@dataclass(frozen=True, eq=False)
class Coarse:
    """A problem on a coarse grid, and the way between the grids.

    Parameters
    ----------
    problem : Problem
    pool : sparse array (L', L) or None
        ``P`` of the weights, with orthonormal rows; None where the grid is the same.
    """

    problem: Problem
    pool: sparse.csr_array | None = None

    def pooled(self, stack):
        """Weights (S, K, L) on the coarse grid, orthonormal, (S, K, L')."""
        if self.pool is None:
            return stack
        flat = (self.pool @ stack.reshape(-1, stack.shape[-1]).T).T
        return orthonormal(flat.reshape(*stack.shape[:2], -1))

    def spread(self, W):
        """Weights (K, L') on the fine grid, (K, L)."""
        return W if self.pool is None else W @ self.pool

    def refined(self, W, coarse):
        """``W`` (K, L) with ``coarse`` (K, L') in place of what the coarse grid can hold of it."""
        if self.pool is None:
            return coarse
        held = W @ self.pool.T
        return orthonormal(W + (np.linalg.norm(held) / np.sqrt(len(W)) * coarse - held) @ self.pool)

    def on(self, n_rows):
        """The problem on so many of the rows that count, evenly spread; on all if they are few."""
        chunks = self.problem.chunks
        most = max(n_rows, WHOLE_ROWS)
        live = np.flatnonzero(count_live_rows(chunks)) if chunks.n_rows > most else ()
        if len(live) <= most:
            return self.problem
        return self.problem.on(live[np.arange(n_rows) * len(live) // n_rows])


def coarse_axes(operator, level):
    """The axes that move and have points to spare."""
    sizes = (operator.sample_shape, operator.weight_shape)
    if len(sizes[0]) != len(sizes[1]):
        return ()
    least = 2 * LEAST.get(len(operator.moved_axes), LEAST[2])[level]
    return tuple(a for a in operator.moved_axes if min(s[a] for s in sizes) >= least)


def coarsened(problem) -> Coarse:
    """The rows of a problem, few of them and in memory, on as coarse a grid as they allow."""
    found, total = Coarse(problem), problem.chunks.sum(energy)
    for level in range(len(LEAST[1])):
        step = _halved(found.problem, level)
        if step is None or _smoothness(problem, step.problem, total) < SMOOTH:
            break
        pool = step.pool if found.pool is None else step.pool @ found.pool
        found = Coarse(step.problem, pool)
    return found


def _smoothness(fine, coarse, total):
    """0 for white noise, 1 for rows of which the coarse grid holds everything."""
    white = coarse.chunks.operator.n_features / fine.chunks.operator.n_features
    return (coarse.chunks.sum(energy) / total - white) / (1 - white)


def _halved(problem, level):
    """The problem with half as many points along its axes; None if it has too few."""
    operator = problem.chunks.operator
    axes = coarse_axes(operator, level)
    coarser = operator.coarser(axes) if axes else None
    if coarser is None:
        return None
    chunk = problem.chunks.take(np.arange(problem.chunks.n_rows))
    pool = pooling(operator.sample_shape, axes)
    weight = None if operator.feature_weight is None else pool.power(2) @ operator.feature_weight
    coarser = with_feature_weight(coarser, weight)
    rows, jobs = _pooled_rows(chunk, pool.astype(chunk.rows.dtype), weight), problem.chunks.n_jobs
    chunks = as_chunks(rows, coarser, chunk.weight, n_jobs=jobs)
    return Coarse(replace(problem, chunks=chunks), pooling(operator.weight_shape, axes))


def _pooled_rows(chunk, pool, weight=None):
    """Rows on a coarse grid, (n, d'); hidden there is what no observed value is pooled into.

    With a feature weight, values count in a mean as it says, and have its mean ``weight`` (d',).
    """
    rows = np.ascontiguousarray((pool @ chunk.weighed.T).T)
    if weight is not None:
        scale = np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0)
        rows *= scale.astype(rows.dtype)
    if chunk.hidden is not None:
        rows[(pool @ ~chunk.hidden.T).T == 0] = np.nan
    return rows


def neighbours(operator, W):
    """Blocks worth trying after ``W`` (K, L): the same move for all its components."""
    moves = zip(*(operator.moves(w) for w in W), strict=True)
    return [orthonormal(np.array(block)) for block in moves]


class _Search:
    """One call of :meth:`ALS.solve`.

    Everything but the last climbs is done on copies of few rows, in single precision.
    """

    def __init__(self, solver, problem, rng, settle, n_jobs, report):
        self.solver, self.all, self.operator = solver, problem, problem.chunks.operator
        self.n_jobs, self.report, self.rng, self.stop = n_jobs, report, rng, False
        sizes = [MANY_ROWS] * (problem.chunks.n_rows > 2 * MANY_ROWS) + [settle]
        found, self.n_live = nested_samples(problem.chunks, sizes, rng, n_jobs)
        *self.many, self.middle = (replace(problem, chunks=c, rough=True) for c in found)
        self.coarse = coarsened(self.middle)
        self.screen = self.coarse.on(SCREEN_ROWS)
        self.moves = self.coarse.on(MOVE_ROWS)

    def best_start(self, white, draws):
        """The winner of short climbs, by successive halving, (1, L)."""
        stack = self._starts(self.coarse.pooled(white[:, None]), draws)
        for passes, keep, n_rows in HALVINGS:
            tried = self._try(self.coarse.on(n_rows), stack, passes)
            stack = np.array([result.weights for result in best_of(tried, keep)])
        return self.coarse.spread(stack[0])

    def settle(self, W):
        """Climb, then move and climb again while it helps."""
        best = self._climb(self.middle, W)
        while len(W) <= MOVE_COMPONENTS and not self.stop:
            moved = self._moved(best.weights)
            if moved is None:
                break
            moved = self._climb(self.middle, moved)
            if moved.explained <= best.explained * (1 + self.solver.tol):
                break
            best = moved
        return best

    def _moved(self, W):
        """The most promising neighbour of ``W`` (K, L), after a few passes; None if none is."""
        moves = neighbours(self.operator, W)
        if not moves:
            return None
        stack = self.coarse.pooled(np.array([W, *moves]))
        stay, *tried = self._try(self.moves, stack, MOVE_PASSES)
        best = int(np.argmax([result.explained for result in tried]))
        if tried[best].explained <= stay.explained * (1 - NEARLY):
            return None
        found = climb(self.moves, tried[best].weights, MOVE_ON, self.solver.tol * LOOSE)
        return self.coarse.refined(moves[best], found.weights)

    def look_ahead(self, best):
        """The pattern at the place in the window that leaves least with the next component."""
        elsewhere = self.operator.moves(best.weights[0], far=True) if len(best.weights) == 1 else ()
        others = [orthonormal(w[None]) for w in elsewhere if np.any(w)]
        if not others or self.stop:
            return best
        tried = self._try(self.screen, self.coarse.pooled(np.array(others)), LOOK_PASSES)
        moved = [self.coarse.refined(W, r.weights) for W, r in zip(others, tried, strict=True)]
        stack, few = np.array([best.weights, *moved]), replace(self.coarse, problem=self.screen)
        found = look_ahead(stack, self.middle, few=few, n_rows=self.n_live, rng=self.rng)
        return best if found == 0 else self._climb(self.middle, stack[found])

    def weigh_ridge(self, best):
        """The component under the ridge of the problem, or without it where that costs too much."""
        ridge, cost = self.all.ridge, self.all.cost
        if not ridge or cost == np.inf or self.stop:
            return best
        self._set_ridge(0.0)
        plain = self._climb(self.middle, best.weights)
        if self.middle.left(best.weights) > (1 + cost) * self.middle.left(plain.weights):
            return self.settle(plain.weights)
        self._set_ridge(ridge)
        return best

    def _set_ridge(self, ridge):
        problems = (self.all, self.middle, self.moves, *self.many)
        self.all, self.middle, self.moves, *self.many = (replace(p, ridge=ridge) for p in problems)

    def finish(self, best):
        """The last climbs, on many and on all rows."""
        for problem in self.many:
            best = self._climb(problem, best.weights)
        return replace(self._climb(self.all, best.weights, self.report), ridge=self.all.ridge)

    def _starts(self, white, draws):
        begun = row_starts(self.screen, draws, white[:, 0]) if len(draws) else white[:0]
        return np.concatenate([begun, white[len(begun) :]])

    def _try(self, problem, stack, passes):
        """Short climbs on few rows of a coarse grid."""
        tried = climb_each(problem, stack, passes, SCREEN_TOL, steps=SCREEN_STEPS)
        self.tell(tried[0])
        return tried

    def tell(self, result):
        """Say that the search goes on, and hear whether it shall."""
        if self.report is not None and self.report(0, result.explained):
            self.stop = True

    def _climb(self, problem, W, report=None):
        last = problem is self.all
        tol = self.solver.tol * ((LOOSEST if self.many else 1) if last else LOOSE)
        result = climb(problem, W, self.solver.max_iter, tol, report)
        if report is None:
            self.tell(result)
        return result


def extrapolate(new, last, ages):
    """Steps beyond ``new`` (S, K, L) from ``last``, longer the more steps went well."""
    lengths = ages / (ages + 3)
    return orthonormal(new + lengths[:, None, None] * (new - last))


def climb(problem, W, max_iter, tol, report=None):
    """:func:`climb_each` from ``W`` (K, L) alone."""
    return climb_each(problem, W[None], max_iter, tol, report)[0]


def climb_each(problem, stack, max_iter, tol, report=None, steps=UPDATE_STEPS):
    """Alternate match and update until the explained energy rises by less than ``tol``, relative.

    From several weights (S, K, L) at once, which know nothing of one another; a list of results.
    """
    climbs = [_Climb(W, SolverResult(W, stopped="max_iter")) for W in stack]
    active = climbs if max_iter else []
    while active:
        points = np.array([one.point for one in active])
        stats = problem.chunks.sum(statistics, problem.blocks(points))
        updated = update(problem.chunks.operator, stats, points, steps, problem.ridge)
        last = np.array([one.result.weights for one in active])
        beyond = extrapolate(updated, last, np.array([one.age + 1 for one in active]))
        for i, one in enumerate(active):
            one.take(float(stats.explained[i]), updated[i], beyond[i], tol, report)
        active = [one for one in active if one.goes_on(max_iter)]
    return [one.result for one in climbs]


@dataclass
class _Climb:
    """Where a climb stands.

    Every pass but the first is taken at an extrapolated ``point``. Where that explains less than
    the point before, it is rejected and the plain update is taken: the history never falls.
    """

    point: np.ndarray
    result: SolverResult
    age: int = 0

    def take(self, explained, new, beyond, tol, report):
        """Go on from what the point explains, the update of it, and a step beyond that, (K, L)."""
        result = self.result
        result.n_iter += 1
        if explained < result.explained and self.age:
            self.point, self.age = result.weights, 0
            return
        gain = explained - result.explained
        result.history.append(explained)
        self.age += 1
        self.point, result.weights = beyond, new
        result.stopped = _reason(result, gain, tol, report)

    def goes_on(self, max_iter):
        """Whether another pass is wanted."""
        return self.result.stopped == "max_iter" and self.result.n_iter < max_iter


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
    white *= operator.coverage(np.ones((1, operator.n_transforms)))[0] > 0  # not what none sees
    return white, rng.uniform(size=n_init // 2)


def row_starts(problem, draws, white):
    """Rows as weights, one for each draw, in the poses in which they fit ``white`` (n, L).

    Shape (n, 1, L). A row that fits nothing is replaced by its white weights.
    """
    chunk = Chunk(pick_rows(problem.chunks, draws), problem.chunks.operator)
    white = orthonormal(white[: len(draws), None])
    starts = rows_as_weights(chunk, problem.blocks(white))[:, None]
    return orthonormal(np.where(starts.any(axis=2, keepdims=True), starts, white))


def look_ahead(stack, problem, *, few, n_rows, rng):
    """Of weights that explain about the same, those that leave least with the next component.

    Parameters
    ----------
    stack : array (S, 1, L)
        Single components; the first wins ties.
    problem : Problem
        The rows on which they are compared.
    few : Coarse
        Fewer rows to look ahead on.
    n_rows : float
        Number of all rows that count, weight 2 being a row twice, of which those of ``problem``
        may be a sample. The standard error is theirs: the more rows, the less is given up.
    rng : RandomState

    Returns
    -------
    int
        Which of them.
    """
    near = comparable(stack, problem, n_rows)
    if len(near) == 1:
        return near[0]
    begin = draw_starts(rng, LOOK_INIT, few.problem.chunks.operator)
    ahead = [left_after_next(few.problem, W, *begin) for W in few.pooled(stack[near])]
    return near[int(np.argmin(ahead))]


def comparable(stack, problem, n_rows):
    """Which of the weights (S, 1, L) explain as much as the best, up to a standard error.

    That of the difference to the best, over the rows.
    """
    chunks, blocks = problem.chunks, problem.blocks(stack)
    largest = max(float(energies.max()) for energies in chunks.collect(weighted_energies))
    products = chunks.sum(explained_products, blocks, int(np.frexp(largest)[1]))
    mean, second = products[0, 1:] / products[0, 0], products[1:, 1:] / products[0, 0]
    best = int(mean.argmax())
    behind = mean[best] - mean
    square = second[best, best] - 2 * second[best] + second.diagonal()
    error = np.sqrt(np.maximum(square - behind**2, 0.0) / n_rows)
    return np.flatnonzero(behind <= error).tolist()


def explained_products(chunk, blocks, exponent):
    """``sum_i q_i e_i e_i'``, sample weights q, ``e_i = (1, explained by each block)``, (C, C).

    Rows without energy do not count. Energies are in units of ``2**exponent``, without which their
    squares may overflow.
    """
    columns = [match(chunk, block).explained for block in blocks]
    explained = np.stack([chunk.energies > 0, *np.ldexp(columns, -exponent)])
    return chunk.weigh(explained) @ explained.T


def left_after_next(problem, W, white, draws) -> float:
    """The energy that ``W`` (1, L) and the next component leave of the rows, roughly."""
    chunk = problem.chunks.take(np.arange(problem.chunks.n_rows))
    rest = deflate(chunk, problem.block(W))
    left = replace(problem, chunks=as_chunks(rest.rows, rest.operator, rest.weight))
    climbs = climb_each(left, row_starts(left, draws, white), NEXT_PASSES, tol=0.0)
    return energy(rest) - max(found.explained for found in climbs)
