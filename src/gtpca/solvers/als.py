"""Search for one component: short climbs from many starts, moves, lookahead, and a final climb.

A climb alternates two steps, each of which can only raise the explained energy ``sum_i s_i^2``:

    match:   t_i, a_i  for fixed w           (:func:`gtpca.model.matching.match`)
    update:  N w = rhs  for fixed t_i, a_i,   N = sum_t weight_t T_t* T_t,  rhs = sum_i a_i T_i* r_i

Starts, moves and lookahead are tried on coarser grids. Samples and weights are pooled by ``P``
(:mod:`gtpca.operators.pooling`), repeatedly, as long as the rows stay far from white noise and
every moving axis keeps enough points. A pass on a coarse grid costs a fraction of a full one; its
result is brought back to the fine grid by ``P*``.

The *lookahead* is for windows that must stay inside the sample. A pattern at position ``p`` of a
window of length L reaches the times ``p .. p + D - L`` of a sample of D points. Where it sits in
the window hardly matters for what one component explains, but matters a lot for the residual: two
components with the pattern near the two ends of the window reach all times; after one with the
pattern in the middle, no second component reaches both ends of the sample. Among the positions
that explain as much as the best one, up to a standard error of the difference over the rows, the
solver takes the one whose residual is smallest together with the next component. (The
one-standard-error rule is that of Breiman et al., Classification and Regression Trees, 1984,
section 3.4.3.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca._typing import BaseEstimator, Documented, RandomState
from gtpca.data.chunks import Chunk, as_chunks
from gtpca.data.energies import energy, weighted_energies
from gtpca.data.sampling import count_live_rows, nested_samples, pick_rows
from gtpca.model.coding import deflate
from gtpca.model.matching import (
    least_gain,
    match,
    orthonormal,
    rows_as_weights,
    statistics,
    update,
)
from gtpca.operators.base import with_feature_weight
from gtpca.operators.normal import seen_by
from gtpca.operators.pooling import pooling
from gtpca.operators.poses import has_own_search
from gtpca.solvers.base import Problem, SolverResult

__all__ = [
    "ALS",
    "Coarse",
    "climb",
    "climb_each",
    "coarsened",
    "comparable",
    "draw_starts",
    "left_after_next",
    "look_ahead",
]

SCREEN_ROWS = 512  # rows on which starts and positions are tried
SETTLE_ROWS = 2048  # rows on which the best of them is refined,
BLOCK_ROWS = 1024  # and rows for a block of several components
MANY_ROWS = 8192  # rows of a climb before the one on all rows
HALVINGS = ((3, 4, 256), (5, 1, 512))  # two rounds of: passes, survivors, rows
WHOLE_ROWS = 256  # up to this number, all rows are always used
MOVE_PASSES, MOVE_ON, MOVE_ROWS = 3, 12, 1024  # for each move, for the best, and rows
MOVE_COMPONENTS = 8  # larger blocks keep the place of their first components
LOOK_PASSES = 2  # for each position that the lookahead compares
SCREEN_TOL = 1e-3
LOOSE = 10  # times tol: the threshold of a climb that is followed by others
LOOSEST = 100  # and of one over so many rows that every pass is expensive
NEARLY = 1e-3  # a move that explains less by up to this share on few rows may still win
UPDATE_STEPS = 10  # of conjugate gradients: codes change before an exact solution pays off
SCREEN_STEPS = 5  # the same in short climbs
SMOOTH = 0.2  # rows must be at least this far from white noise to be pooled
LEAST = {1: (24, 24, 64), 2: (12, 20, 32)}  # points per axis after pooling, by moving axes
MOST_OWN = 8  # starts if poses are found row by row
LOOK_INIT = 16  # starts for the next component; half of them are rows,
NEXT_PASSES = 3  # and passes for each of them
RULES = {
    "n_init": checks.at_least(1),
    "max_iter": checks.at_least(1),
    "tol": checks.non_negative,
    "lookahead": checks.one_of(True, False),
    "foresight": checks.one_of("deprecated", True, False),
}


class ALS(Documented, BaseEstimator):
    """Alternating least squares from many short starts, with moves out of local optima.

    ``n_init`` short runs on a few hundred rows compete by successive halving, on a coarser grid
    where the rows are smooth. The winner is refined on a few thousand rows, and the operator's own
    moves (re-centring of a window) follow as long as they help; all of this is done in single
    precision. The result then climbs on more and more rows, in their own precision, until only the
    last passes touch all of them.

    Parameters
    ----------
    n_init : int
        Number of starting points: half of them white noise, half rows of the data.
    max_iter : int
        Maximum number of passes of a climb, and therefore over all rows, per component.
    tol : float
        Stop when a pass raises the explained energy by less than this share. The threshold is ten
        times as large in climbs that are followed by others, and a hundred times as large in the
        last one over very many rows, which also stops if the last update promises no more.
    lookahead : bool
        Whether to look one component ahead where a window is shorter than the sample: among the
        positions of a pattern in the window that explain the same, up to a standard error, take the
        one whose residual is smallest together with the next component. Only used if there is a
        next component and the pose is not shared. See :mod:`gtpca.solvers.als`.
    foresight : bool
        The old name of ``lookahead``; it will be removed.

    Examples
    --------
    >>> from gtpca import ALS
    >>> ALS(n_init=4).max_iter
    200
    """

    ridged = True  # uses the ridge of a problem
    tries_again = True  # cheap enough for more starts where there are many optima

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
        """Whether lookahead is enabled, under its new or its old name."""
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
        """Find one component of the rows of ``problem``, or a block of components from ``start``.

        Parameters
        ----------
        problem : Problem
        random_state : int, RandomState or None
        n_jobs : int or None
            Number of threads over chunks of the rows on which climbs are tried.
        start : array (K, L) or None
            Weights to begin with, instead of searching for starting points.
        more : bool
            Whether another component will be searched for in the residual; only then is there
            lookahead.
        report : callable or None
            Called as ``report(iteration, explained)`` after each pass over all rows, and with
            iteration 0 at each step of the search before them. If it returns True, the search ends
            or the climb stops.
        """
        rng = check_random_state(random_state)
        begin = draw_starts(rng, self.n_init, problem.chunks.operator)
        settle = SETTLE_ROWS if start is None else BLOCK_ROWS
        search = _Search(self, problem, rng, settle, n_jobs, report)
        best = search.settle(search.best_start(*begin) if start is None else start)
        best = search.look_ahead(best) if more and self.looks_ahead else best
        return search.finish(search.weigh_ridge(best))

    def polish(self, problem: Problem, W: np.ndarray, n_passes: int = 1) -> SolverResult:
        """Make a few passes from ``W`` (K, L) on all rows; fewer if one gains hardly anything."""
        return climb(problem, W, n_passes, self.tol * LOOSE)


@dataclass(frozen=True, eq=False)
class Coarse:
    """A problem on a coarse grid, and the mapping between the two grids.

    Parameters
    ----------
    problem : Problem
    pool : sparse array (L', L) or None
        ``P`` of the weights, with orthonormal rows; None if the grid is the same.
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
        """``W`` (K, L) with its part on the coarse grid replaced by ``coarse`` (K, L')."""
        if self.pool is None:
            return coarse
        held = W @ self.pool.T
        return orthonormal(W + (np.linalg.norm(held) / np.sqrt(len(W)) * coarse - held) @ self.pool)

    def on(self, n_rows):
        """The problem on ``n`` of the rows that count, evenly spread; on all if there are few."""
        chunks = self.problem.chunks
        most = max(n_rows, WHOLE_ROWS)
        live = np.flatnonzero(count_live_rows(chunks)) if chunks.n_rows > most else ()
        if len(live) <= most:
            return self.problem
        return self.problem.on(live[np.arange(n_rows) * len(live) // n_rows])


def coarse_axes(operator, level):
    """The moving axes that have points to spare."""
    sizes = (operator.sample_shape, operator.weight_shape)
    if len(sizes[0]) != len(sizes[1]):
        return ()
    least = 2 * LEAST.get(len(operator.moved_axes), LEAST[2])[level]
    return tuple(a for a in operator.moved_axes if min(s[a] for s in sizes) >= least)


def coarsened(problem) -> Coarse:
    """The problem, with few rows in memory, on the coarsest grid that the rows allow.

    And with as few transforms as the operator suggests.
    """
    found, total = Coarse(_shortened(problem)), problem.chunks.sum(energy)
    for level in range(len(LEAST[1])):
        step = _halved(found.problem, level)
        if step is None or _smoothness(problem, step.problem, total) < SMOOTH:
            break
        pool = step.pool if found.pool is None else step.pool @ found.pool
        found = Coarse(step.problem, pool)
    return found


def _shortened(problem):
    """The problem on the short list of transforms of its operator, if there is one."""
    operator = problem.chunks.operator
    if operator.short_list is None:
        return problem
    chunk = problem.chunks.take(np.arange(problem.chunks.n_rows))
    short = with_feature_weight(operator.short_list, operator.feature_weight)
    chunks = as_chunks(chunk.rows, short, chunk.weight, n_jobs=problem.chunks.n_jobs)
    return replace(problem, chunks=chunks)


def _smoothness(fine, coarse, total):
    """0 for white noise, 1 for rows that the coarse grid represents completely."""
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
    """Rows on a coarse grid, (n, d'); a point is hidden if no observed value is pooled into it.

    With a feature weight, means are weighted by it, and points have its mean ``weight`` (d',).
    """
    rows = np.ascontiguousarray((pool @ chunk.weighed.T).T)
    if weight is not None:
        scale = np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0)
        rows *= scale.astype(rows.dtype)
    np.copyto(rows, np.nan, where=(pool @ chunk.seen.T).T == 0)
    return rows


def neighbours(operator, W):
    """Blocks worth trying after ``W`` (K, L): all components make the same move."""
    moves = zip(*(operator.moves(w) for w in W), strict=True)
    return [orthonormal(np.array(block)) for block in moves]


class _Search:
    """The state of one call of :meth:`ALS.solve`.

    Everything but the last climbs runs on copies of few rows, in single precision.
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
        best = self._climb(self.middle, standardised(self.middle, W))
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
        """Place the pattern in the window where it leaves the least after the next component."""
        relocations = (
            self.operator.moves(best.weights[0], far=True) if len(best.weights) == 1 else ()
        )
        others = [orthonormal(w[None]) for w in relocations if np.any(w)]
        if not others or self.stop:
            return best
        tried = self._try(self.screen, self.coarse.pooled(np.array(others)), LOOK_PASSES)
        moved = [self.coarse.refined(W, r.weights) for W, r in zip(others, tried, strict=True)]
        stack, few = np.array([best.weights, *moved]), replace(self.coarse, problem=self.screen)
        found = look_ahead(stack, self.middle, few=few, n_rows=self.n_live, rng=self.rng)
        return best if found == 0 else self._climb(self.middle, stack[found])

    def weigh_ridge(self, best):
        """The component found with the ridge of the problem, or without if it costs too much."""
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
        best = replace(best, weights=standardised(self.middle, best.weights))
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
        """Report that the search goes on; return whether it should."""
        if self.report is not None and self.report(0, result.explained):
            self.stop = True

    def _climb(self, problem, W, report=None):
        # other passes follow, or passes from the poses that are found
        followed = problem is not self.all or has_own_search(self.operator)
        costly = not followed and bool(self.many)
        tol = self.solver.tol * (LOOSE if followed else LOOSEST if costly else 1)
        result = climb(problem, W, self.solver.max_iter, tol, report, costly)
        if report is None:
            self.tell(result)
        return result


def standardised(problem, W):
    """Weights (K, L) for which the mean pose of the rows is neutral, where that has a meaning."""
    if not has_own_search(problem.chunks.operator):
        return W
    *total, count = problem.chunks.sum(pose_sums, problem.block_for_codes(W))
    if not count > 0:
        return W
    return orthonormal(problem.chunks.operator.continuous.standardised(W, np.array(total) / count))


def pose_sums(chunk, block):
    """The sum of the poses of rows that a block partly explains, and their number, (p + 1,)."""
    found = match(chunk, block)
    counts = chunk.weigh((found.explained > 0).astype(np.float64))
    return np.append(counts @ found.index, counts.sum())


def extrapolate(new, last, ages):
    """Points beyond ``new`` (S, K, L), away from ``last``; farther after more successful steps."""
    lengths = ages / (ages + 3)
    return orthonormal(new + lengths[:, None, None] * (new - last))


def climb(problem, W, max_iter, tol, report=None, costly=False):
    """:func:`climb_each` from ``W`` (K, L) alone."""
    return climb_each(problem, W[None], max_iter, tol, report, costly=costly)[0]


def climb_each(problem, stack, max_iter, tol, report=None, steps=UPDATE_STEPS, costly=False):
    """Alternate match and update until the explained energy rises by less than ``tol``, relative.

    Starts from several weights (S, K, L) at once, independently, and returns a list of results. If
    passes are ``costly``, none is made only to see how little it gains: a climb also stops if the
    last update promises to raise the energy by less than ``tol``.
    """
    lists = not has_own_search(problem.chunks.operator)
    climbs = [_Climb(W, SolverResult(W, stopped="max_iter"), lists) for W in stack]
    active = climbs if max_iter else []
    while active:
        points = np.array([one.point for one in active])
        stats = problem.chunks.sum(statistics, problem.blocks_for_fit(points))
        updated = update(problem.chunks.operator, stats, points, steps, problem.ridge)
        promised = [np.inf] * len(active)
        if costly:
            promised = least_gain(problem.chunks.operator, stats, points, steps, problem.ridge)
        last = np.array([one.result.weights for one in active])
        beyond = extrapolate(updated, last, np.array([one.age + 1 for one in active]))
        for i, one in enumerate(active):
            one.take(float(stats.explained[i]), updated[i], beyond[i], tol, report, promised[i])
        active = [one for one in active if one.goes_on(max_iter)]
    return [one.result for one in climbs]


@dataclass
class _Climb:
    """The state of a climb.

    Every pass but the first is taken at a ``point`` extrapolated beyond the last update (momentum).
    If that explains less than the point before, it is rejected and the plain update is taken: the
    history never decreases.
    """

    point: np.ndarray
    result: SolverResult
    lists: bool = True  # poses are those of a list: only rounding can lower the energy of an update
    age: int = 0

    def take(self, explained, new, beyond, tol, report, promised=np.inf):
        """Continue with what the point explains, its update, and a step beyond that, (K, L).

        The update is ``promised`` to explain so much more.
        """
        result = self.result
        result.n_iter += 1
        if explained < result.explained and not (self.lists and self.age == 0):
            if not self.age:  # a search for poses without a list may miss those of the last pass
                result.stopped = "converged"
            self.point, self.age = result.weights, 0
            return
        gain = explained - result.explained if result.history else np.inf
        result.history.append(explained)
        self.age += 1
        self.point, result.weights = beyond, new
        result.stopped = _reason(result, min(gain, promised), tol, report)

    def goes_on(self, max_iter):
        """Whether another pass is needed."""
        return self.result.stopped == "max_iter" and self.result.n_iter < max_iter


def _reason(result, gain, tol, report):
    """Why to stop after this pass; "max_iter" if there is none yet."""
    if report is not None and report(result.n_iter, result.explained):
        return "callback"
    if result.explained <= 0:
        return "no energy"
    if gain <= tol * result.explained:
        return "converged"
    return "max_iter"


def best_of(results, n):
    """The ``n`` results that explain most, best first."""
    return sorted(results, key=lambda r: r.explained, reverse=True)[:n]


def draw_starts(rng, n_init, operator):
    """White weights (n_init, L), and one uniform number for each start that begins at a row.

    That is half of them; all, and fewer, if poses are found row by row: white noise tells nothing
    about these, and each search takes time.
    """
    n_rows = n_init // 2
    if has_own_search(operator):
        n_init = n_rows = min(n_init, MOST_OWN)
    white = rng.standard_normal((n_init, operator.n_weights))
    white *= seen_by(operator, np.ones(operator.n_transforms))
    return white, rng.uniform(size=n_rows)


def row_starts(problem, draws, white):
    """Rows as weights, one for each draw, in the poses in which they fit ``white`` (n, L).

    Shape (n, 1, L). A row that fits nothing is replaced by its white weights.
    """
    chunk = Chunk(pick_rows(problem.chunks, draws), problem.chunks.operator)
    white = orthonormal(white[: len(draws), None])
    if has_own_search(chunk.operator):
        still = np.full(len(draws), chunk.operator.reference)
        starts = chunk.operator.adjoint_at(chunk.weighed, still)[:, None]
    else:
        starts = rows_as_weights(chunk, problem.blocks_for_fit(white))[:, None]
    return orthonormal(np.where(starts.any(axis=2, keepdims=True), starts, white))


def look_ahead(stack, problem, *, few, n_rows, rng):
    """Choose, among weights that explain about the same, those with the best next component.

    Parameters
    ----------
    stack : array (S, 1, L)
        Single components; the first wins ties.
    problem : Problem
        The rows on which they are compared.
    few : Coarse
        Fewer rows, on which the next component is searched for.
    n_rows : float
        Number of all rows that count, where weight 2 counts as two rows; those of ``problem`` may
        be a sample of them. The standard error is that of all rows: the more rows, the less is
        given up.
    rng : RandomState

    Returns
    -------
    int
        The number of the chosen weights.
    """
    near = comparable(stack, problem, n_rows)
    if len(near) == 1:
        return near[0]
    begin = draw_starts(rng, LOOK_INIT, few.problem.chunks.operator)
    ahead = [left_after_next(few.problem, W, *begin) for W in few.pooled(stack[near])]
    return near[int(np.argmin(ahead))]


def comparable(stack, problem, n_rows):
    """Which of the weights (S, 1, L) explain as much as the best, up to a standard error.

    The standard error is that of the difference to the best, over the rows.
    """
    chunks, blocks = problem.chunks, problem.blocks_for_fit(stack)
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
    """Approximate energy of the residual after ``W`` (1, L) and the next component."""
    chunk = problem.chunks.take(np.arange(problem.chunks.n_rows))
    rest = deflate(chunk, problem.block_for_codes(W))
    left = replace(problem, chunks=as_chunks(rest.rows, rest.operator, rest.weight))
    climbs = climb_each(left, row_starts(left, draws, white), NEXT_PASSES, tol=0.0)
    return energy(rest) - max(found.explained for found in climbs)
