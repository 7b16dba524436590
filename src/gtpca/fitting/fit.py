"""From a problem to a fitted model: directly, greedily, or with a shared pose; then refined."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gtpca import checks
from gtpca.data.energies import energy, exponent_of, loud_share, totals
from gtpca.data.missing import warn_of_blank
from gtpca.fitting.annealing import annealed
from gtpca.fitting.between import (
    at_codes,
    codes_poses,
    nested_at_codes,
    refined,
    rough,
    spread,
    stepped,
)
from gtpca.fitting.cautions import cautions
from gtpca.fitting.given import given_statistics, solve_given, solve_together
from gtpca.fitting.outliers import Aside, Screen
from gtpca.fitting.shared_pose import grow_block, principal_axes, principal_order
from gtpca.fitting.threads import SINGLE_BLAS_THREAD
from gtpca.model.coding import deflate, energy_shares, nested_energies, rematch, restore
from gtpca.model.conventions import (
    TakenPoses,
    centred,
    code_poses,
    code_sides,
    conventional,
    match_poses,
    product_sides,
    signs,
)
from gtpca.model.matching import Block, statistics
from gtpca.model.model import Model
from gtpca.model.preprocessing import Preprocessing
from gtpca.operators.poses import is_still
from gtpca.solvers.als import SETTLE_ROWS
from gtpca.solvers.base import Problem, SolverResult
from gtpca.solvers.pca import solve_directly

__all__ = ["Fit", "Progress", "Recipe", "check_finite", "fit", "show_log"]

logger = logging.getLogger("gtpca")
GONE = 1e-7  # share of the energy below which there is nothing left to explain
MOST_LOUD = 0.1  # share of the energy in excess of loud rows from which on there are many optima
LOUD_TRIES = 4  # then every component with separate poses is searched for this often
BETTER = 1e-3  # relative improvement that another try needs


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model, and how it was found.

    Attributes
    ----------
    model : Model
    explained : array (k,)
        Energy explained by each component.
    total : float
        Energy of the rows.
    results : list of SolverResult
    n_rows : int
    cautions : tuple of str
        Reasons to distrust it, in words.
    data_left : array or None
        If rows were whitened, the residual energy of rows in the data after 0, 1, .., k components;
        after 0 and all, if they share a pose.
    aside : Aside or None
        What was set aside; energies are those of the rest.
    """

    model: Model
    explained: np.ndarray
    total: float
    results: list
    n_rows: int = 0
    cautions: tuple[str, ...] = ()
    data_left: np.ndarray | None = None
    aside: Aside | None = None

    def scaled(self, exponent) -> Fit:
        """The same fit for rows times ``2**exponent``."""
        squared = 2 * exponent  # energies are squares
        histories = [np.ldexp(result.history, squared).tolist() for result in self.results]
        return replace(
            self,
            explained=np.ldexp(self.explained, squared),
            total=float(np.ldexp(self.total, squared)),
            results=[replace(r, history=h) for r, h in zip(self.results, histories, strict=True)],
            aside=None if self.aside is None else self.aside.scaled(squared),
        )


@dataclass
class Components:
    """Components and how they were found.

    Attributes
    ----------
    weights : array (k, L)
        Of unit norm.
    explained : array (k,)
        The energy that each explains.
    results : list of SolverResult
    sides : array (2, k)
        The numbers of positive and of negative scores.
    poses : list of TakenPoses
        The poses of rows, for each component, or for all if they share them; none if nothing moves.
    total : float
        Energy of the rows.
    aside : Aside or None
        What they were found without.
    """

    weights: np.ndarray
    explained: np.ndarray
    results: list
    sides: np.ndarray
    poses: list[TakenPoses] = field(default_factory=list)
    total: float = 0.0
    aside: Aside | None = None

    def sorted(self) -> Components:
        """The same in descending order of explained energy."""
        order = np.argsort(-self.explained, kind="stable")
        results, poses = ([each[k] for k in order] for each in (self.results, self.poses))
        explained, sides = self.explained[order], self.sides[:, order]
        return replace(
            self,
            weights=self.weights[order],
            explained=explained,
            results=results,
            sides=sides,
            poses=poses,
        )


class Goal:
    """The desired number of components, or the share of the energy."""

    def __init__(self, n_components, total):
        self.n_components, self.total = n_components, total
        share = isinstance(n_components, (float, np.floating))
        self.count = None if share else int(n_components)
        self.least = max((1 - n_components) * total if share else 0.0, GONE * total)

    def reached(self, found, left):
        """Whether ``found`` components with residual energy ``left`` are enough."""
        return (self.count is not None and found >= self.count) or left <= self.least

    def enough(self, left):
        """The smallest number of components whose residual energy ``left`` (k + 1,) suffices."""
        most = len(left) - 1 if self.count is None else min(len(left) - 1, self.count)
        reached = np.flatnonzero(left[1 : most + 1] <= self.least)
        return int(reached[0]) + 1 if len(reached) else most

    def check(self, found):
        """Warn if the fit had to stop before the goal."""
        left = 1 - np.sum(found.explained) / found.total
        short = left * self.total > self.least if self.count is None else True
        if short and len(found.explained) != self.count:
            checks.warn(
                f"n_components={self.n_components} is out of reach: nothing is left to explain "
                f"after {len(found.explained)} components; n_components_ says how many there are.",
                ConvergenceWarning,
            )


@dataclass
class Progress:
    """Reports the progress of a fit to scikit-learn's callbacks and to the logger "gtpca".

    Callbacks see the tasks fit > component > iteration, which is a pass over all rows, and
    fit > component > search for each step of the search before it; in one pose, also fit > growth.

    Attributes
    ----------
    estimator : GTPCA
    root : callback context of scikit-learn
        The context of the fit.
    stop : bool
        Whether a callback has asked to stop after this component.
    """

    estimator: Any
    root: Any
    stop: bool = False

    @contextmanager
    def component(self):
        """Yields ``report(iteration, explained) -> bool`` for one component."""
        context = self.root.subcontext("component", max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self.estimator)

        def report(iteration, explained):
            return self.step(context, "iteration" if iteration else "search")

        yield report
        self.stop = bool(context.call_on_fit_task_end(estimator=self.estimator))

    def step(self, context, name):
        """Report a task without parts; True if a callback asks to stop."""
        leaf = context.subcontext(name)
        leaf.call_on_fit_task_begin(estimator=self.estimator)
        return leaf.call_on_fit_task_end(estimator=self.estimator)

    def log(self, message, *args):
        """Write to the logger "gtpca": as info if the estimator is verbose, else as debug."""
        logger.log(logging.INFO if self.estimator.verbose else logging.DEBUG, message, *args)

    def explained(self, number, share, result):
        """Log how much of the energy is explained after a component."""
        self.log(
            "component %d: %.2f %% of the energy explained so far, %d passes, %s",
            number,
            100 * share,
            result.n_iter,
            result.stopped,
        )


class CurrentStderr(logging.StreamHandler):
    """Writes to the current standard error, which tests, notebooks and daemons may replace."""

    def __init__(self):
        logging.Handler.__init__(self)

    @property
    def stream(self):
        """The current ``sys.stderr``; StreamHandler would keep the first one."""
        return sys.stderr

    def emit(self, record):
        """Write the record, if there is anything to write to."""
        if sys.stderr is not None:
            super().emit(record)


def show_log():
    """Make the messages of ``verbose`` visible if logging is not configured."""
    logger.setLevel(logging.INFO)
    if not logger.hasHandlers():
        logger.addHandler(CurrentStderr())


@dataclass(frozen=True)
class Recipe:
    """How to fit: the checked parameters of :class:`gtpca.GTPCA`.

    Attributes
    ----------
    n_components : int or float in (0, 1)
    solver : Solver
    refine : int
    n_jobs : int or None
    rng : RandomState
    progress : Progress
    shared_pose : bool
    n_restarts : int or "auto"
    loud : bool
        Whether a few rows hold much of the energy, so that there are many optima.
    anneal : bool
        Whether noise has unit variance, so that poses can be weighted by probability: with many
        more weights than rows, searches continue in this way.
    outliers : {None, "rows", "values", "both"}
        What is set aside.
    templates : array (t, L)
        The first components, of unit norm, where these are given; the others are searched for.
    posed : tuple of int
        The components of which poses are given, which the chunks hold; 0 if they share the pose.
    """

    n_components: int | float
    solver: Any
    refine: int
    n_jobs: int | None
    rng: np.random.RandomState
    progress: Progress
    shared_pose: bool = False
    n_restarts: int | str = 1
    loud: bool = False
    anneal: bool = False
    outliers: str | None = None
    templates: np.ndarray | tuple = ()
    posed: tuple[int, ...] = ()

    @property
    def is_auto(self) -> bool:
        """Whether the fit decides how often to start, with a solver whose starts are cheap."""
        return self.n_restarts == "auto" and getattr(self.solver, "tries_again", False)

    @property
    def n_fits(self) -> int:
        """How often all components are found."""
        return 1 if self.n_restarts == "auto" else int(self.n_restarts)

    @property
    def n_tries(self) -> int:
        """How often a component with separate poses is searched for."""
        return LOUD_TRIES if self.is_auto and self.loud else 1

    def seed(self) -> int:
        """A new seed for a solver."""
        return self.rng.randint(np.iinfo(np.int32).max)


def fit(problem: Problem, recipe: Recipe, preprocessing: Preprocessing) -> Fit:
    """The model of the rows in ``problem``, which were preprocessed accordingly.

    Very large or small rows are fitted in other units, scaled exactly by a power of two.
    """
    if problem.chunks.n_rows <= SETTLE_ROWS:
        problem = replace(problem, chunks=problem.chunks.to_memory())
    rows = _totals(problem.chunks)
    total, exponent = rows.energy, int(exponent_of(np.sqrt(rows.live)))
    problem = replace(problem, complete=rows.hidden == 0 and recipe.outliers is None)
    if exponent:
        problem = replace(problem, chunks=problem.chunks.scaled(-exponent))
    goal = Goal(recipe.n_components, float(np.ldexp(total, -2 * exponent)))
    if recipe.is_auto and recipe.outliers is None and not _is_direct(problem, recipe):
        recipe = replace(recipe, loud=loud_share(problem.chunks) > MOST_LOUD)
    found = _best_components(problem, recipe, goal)
    if not recipe.progress.stop:
        goal.check(found)
    model = Model(
        operator=problem.chunks.operator,
        weights=found.weights,
        polarity=problem.polarity,
        shared_pose=recipe.shared_pose,
        sweeps=recipe.refine,
        preprocessing=preprocessing,
    )
    taken = [(poses.used, poses.counts) for poses in found.poses]
    less_mean = preprocessing.mean is not None
    done = Fit(
        model=model,
        explained=found.explained,
        total=found.total,
        results=found.results,
        n_rows=problem.chunks.n_rows,
        aside=found.aside,
        cautions=cautions(model.operator, rows.offset / total, taken, less_mean),
    )
    return done.scaled(exponent)


def _best_components(problem, recipe, goal):
    """The components of the best restart: the fewest, if these differ, that leave least."""
    found = [_components(problem, recipe, goal)]
    wanted = 1 if _is_direct(problem, recipe) else recipe.n_fits
    while len(found) < wanted and not recipe.progress.stop:
        found.append(_components(problem, recipe, goal))
    if recipe.progress.stop and len(found) > 1:
        found.pop()  # stopped half-way
    return min(found, key=lambda one: (len(one.weights), -one.explained.sum() / one.total))


def _components(problem, recipe, goal):
    """All components, with their final signs."""
    if _is_direct(problem, recipe):
        found = _direct(problem, recipe, goal)
    else:  # products are too small for threads, which would only wait for each other
        with SINGLE_BLAS_THREAD:
            found = (_shared if recipe.shared_pose else _greedy)(problem, recipe, goal)
    if problem.polarity == "both":
        n_given = len(recipe.templates)
        found.weights[n_given:] *= signs(found.weights, found.sides)[n_given:, None]
    return found


def _totals(chunks):
    """Totals of the rows, whose energy must not be zero."""
    found = chunks.sum(totals)
    check_finite(found.energy, found.live)
    if found.energy <= 0:
        raise ValueError(
            "X has no energy to explain: all rows are zero, after centring if there is any "
            f"(n_samples = {chunks.n_rows}, n_features = {chunks.operator.n_features})."
        )
    if found.blank:
        warn_of_blank(found.blank, chunks.n_rows)
    return found


def check_finite(*sums):
    """Raise an error if sums over the rows are not finite."""
    if not all(np.isfinite(values).all() for values in sums):
        raise ValueError("X is too large: its energy overflows; divide it by a suitable constant.")


def _is_direct(problem, recipe):
    """Whether all components are principal components, of rows without gaps."""
    still = is_still(problem.chunks.operator) and not len(recipe.templates)
    return still and problem.polarity == "both" and problem.complete


def _direct(problem, recipe, goal):
    """All principal components of a single transform at once."""
    operator, n_rows = problem.chunks.operator, problem.chunks.n_rows
    most = min(operator.n_weights, operator.n_features, n_rows)
    count = most if goal.count is None else min(goal.count, most)
    found: list[SolverResult] = []
    left = goal.total
    for result in solve_directly(problem.chunks, count, recipe.rng):
        if goal.reached(len(found), left) or recipe.progress.stop:
            break
        if found and result.explained <= GONE * goal.total:
            break
        with recipe.progress.component() as report:
            report(1, result.explained)
        found.append(result)
        left -= result.explained
        recipe.progress.explained(len(found), 1 - left / goal.total, result)
    explained = np.array([result.explained for result in found])
    W = np.concatenate([result.weights for result in found])
    if recipe.shared_pose:
        found = [SolverResult(W, [float(explained.sum())], 1)]
    sides = problem.chunks.sum(product_sides, W)
    return Components(W, explained, found, sides, total=goal.total)


def _greedy(problem, recipe, goal):
    """One component after the other, each on the residual of the previous ones."""
    if recipe.outliers is not None:
        return _screened(problem, recipe, goal)
    results: list[SolverResult] = []
    blocks: list[Block] = []
    left = [goal.total]
    while not (goal.reached(len(results), left[-1]) or recipe.progress.stop):
        is_given, is_posed = len(results) < len(recipe.templates), len(results) in recipe.posed
        if is_given:
            result = _given(problem, recipe, len(results), 1)
        elif is_posed:
            result = _solve_posed(problem, recipe, len(results), 1)
        else:
            if len(results) - 1 in recipe.posed and len(results) > 1:
                problem = _apart(problem, recipe, results, blocks)
            more = len(results) + 1 != goal.count
            few = rough(problem, recipe)
            result = spread(few, problem, _solve(few.problem, recipe, more, recipe.n_tries))
        chunks, result = _deflated(problem, recipe, result, blocks)
        left.append(chunks.sum(energy))
        if results and not (is_given or is_posed) and left[-2] - left[-1] <= GONE * goal.total:
            left.pop()  # the family cannot explain the rest of the energy
            break
        ridge = problem.ridge if is_posed else result.ridge  # 0 once it costs too much
        problem = replace(problem, chunks=chunks, ridge=ridge)
        results.append(result)
        recipe.progress.explained(len(results), 1 - left[-1] / goal.total, result)
    W, sides = np.concatenate([r.weights for r in results]), np.zeros((2, len(results)))
    found = Components(W, -np.diff(left), results, sides, total=goal.total)
    return _finished(problem, recipe, found)


def _deflated(problem, recipe, result, blocks):
    """The residual after a component, which is appended to ``blocks``, and the component.

    Where poses may lie between the nodes, it is refined with them first, unless it was given, or
    its poses were.
    """
    chunks, between = problem.chunks, problem.chunks.operator.continuous is not None
    known = result.stopped == "given" or len(blocks) in recipe.posed
    if between and not recipe.progress.stop and not known:
        chunks, result = refined(problem, recipe, result, blocks)
    blocks.append(problem.block_for_codes(result.weights))
    if between and chunks is not problem.chunks:
        return chunks.update(rematch, blocks[-1], len(blocks) - 1, blocks=list(blocks)), result
    return chunks.update(deflate, blocks[-1], blocks=list(blocks)), result


def _screened(problem, recipe, goal):
    """The same, with bad rows and values set aside; energies are those of what is kept at last."""
    screen, rest = Screen(problem, recipe.outliers), 1.0
    results: list[SolverResult] = []
    while not (goal.reached(len(results), rest * goal.total) or recipe.progress.stop):
        solve = partial(_solve, recipe=recipe, more=len(results) + 1 != goal.count, n_tries=1)
        result = screen.solve(solve, recipe.solver)
        before, rest = rest, screen.share_left
        if results and before - rest <= GONE:
            screen.forget()
            break
        screen.problem = replace(screen.problem, ridge=result.ridge)
        results.append(result)
        recipe.progress.explained(len(results), 1 - rest, result)
    blocks: list[Block] = []
    results = screen.sweep(recipe.solver)
    problem = screen.kept
    left = [problem.chunks.sum(energy)]
    for result in results:
        blocks.append(problem.block_for_codes(result.weights))
        chunks = problem.chunks.update(deflate, blocks[-1], blocks=list(blocks))
        problem = replace(problem, chunks=chunks)
        left.append(chunks.sum(energy))
    W, sides = np.concatenate([r.weights for r in results]), np.zeros((2, len(results)))
    found = Components(W, -np.diff(left), results, sides, total=left[0], aside=screen.aside)
    return _finished(problem, recipe, found)


def _given(problem, recipe, column, count):
    """Templates (K, L) in one pose as the result of a search, with the energy they explain."""
    W = recipe.templates[column : column + count]
    block = problem.block_for_codes(W)
    if column in recipe.posed:
        found = problem.chunks.sum(given_statistics, block, column)
    else:
        found = problem.chunks.sum(statistics, [block])
    return SolverResult(W, found.explained.tolist(), stopped="given")


def _solve(problem, recipe, more, n_tries):
    """The next component; of a window that rows see in part, centred and complete.

    The best of several tries: the first one, unless another explains clearly more.
    """
    seed = recipe.seed()
    with recipe.progress.component() as report:
        solve = partial(
            recipe.solver.solve, problem, n_jobs=recipe.n_jobs, more=more, report=report
        )
        result = solve(seed)
        for other_seed in other_seeds(seed, n_tries - 1):
            if result.stopped == "callback":
                break
            other = solve(other_seed)
            if other.stopped != "callback" and other.explained > (1 + BETTER) * result.explained:
                result = other
        if recipe.anneal and result.stopped != "callback":
            result = annealed(problem, solve, result)
    if problem.chunks.operator.crops:
        poses = problem.chunks.sum(match_poses, problem.block_for_codes(result.weights))
        result.weights = centred(problem.chunks.operator, result.weights, poses.used)
    return result


def other_seeds(seed, count):
    """More seeds, which do not affect the random numbers of the fit."""
    return np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=count).tolist()


def _finished(problem, recipe, found):
    """Greedy components after the sweeps of ``refine``, in the conventional pose.

    Templates keep theirs, and their place in the order.
    """
    chunks, n_given = problem.chunks, len(recipe.templates)
    if recipe.posed and len(found.weights) > 1:
        chunks = _together(problem, recipe, found)
    elif recipe.refine:
        chunks = _refine(problem, recipe, found)
    free = [k for k in range(len(found.weights)) if k not in recipe.posed]
    found.poses = [chunks.sum(code_poses, k) for k in free]
    if recipe.refine or recipe.posed or not problem.chunks.operator.crops:
        for k, poses in zip(free, found.poses, strict=True):
            if k >= n_given:
                W = found.weights[[k]]
                found.weights[k] = conventional(problem.chunks.operator, W, poses)[0]
    found.sides = chunks.sum(code_sides)
    return found.sorted() if recipe.refine and not (n_given or recipe.posed) else found


def _solve_posed(problem, recipe, column, count):
    """A component of which poses are given, or a block of ``count`` that share them."""
    with recipe.progress.component() as report:
        result = solve_given(problem, column, count, recipe.rng)
        report(max(1, result.n_iter), result.explained)
    return result


def _apart(problem, recipe, results, blocks):
    """The residual of components that were solved together, of which the last have known poses.

    What is searched for next would otherwise be what one of them took from another.
    """
    chunks, found, _ = solve_together(problem, blocks, len(recipe.templates), recipe.progress.log)
    for k, block in enumerate(found):
        results[k], blocks[k] = replace(results[k], weights=block.weights), block
    return replace(problem, chunks=chunks)


def _together(problem, recipe, found):
    """All components solved again together, as poses of some are given; the residual."""
    blocks = [problem.block_for_codes(w[None]) for w in found.weights]
    chunks, blocks, _ = solve_together(problem, blocks, len(recipe.templates), recipe.progress.log)
    found.weights = np.concatenate([block.weights for block in blocks])
    found.explained = chunks.sum(energy_shares, blocks)
    return chunks


def _refine(problem, recipe, found):
    """Joint sweeps: each component is solved and matched again, given all the others."""
    chunks, blocks = problem.chunks, [problem.block_for_codes(w[None]) for w in found.weights]
    for sweep in range(recipe.refine):
        for k, block in enumerate(blocks):
            others = [*blocks[:k], None, *blocks[k + 1 :]]
            chunks = chunks.update(restore, block, k, blocks=others)
            if k >= len(recipe.templates):
                own = replace(problem, chunks=chunks, ridge=found.results[k].ridge)
                blocks[k] = problem.block_for_codes(_polished(own, recipe, block, k))
            chunks = chunks.update(rematch, blocks[k], k, blocks=list(blocks))
        share = 1 - chunks.sum(energy) / found.total
        recipe.progress.log("sweep %d: %.2f %% explained", sweep + 1, 100 * share)
    found.weights = np.concatenate([block.weights for block in blocks])
    found.explained = chunks.sum(energy_shares, blocks)
    return chunks


def _polished(problem, recipe, block, k):
    """The weights (1, L) of component ``k`` after one pass on the restored residual."""
    if problem.chunks.operator.continuous is None:
        return recipe.solver.polish(problem, block.weights).weights
    return stepped(problem, problem.chunks.sum(at_codes, block, k), block.weights)


def _shared(problem, recipe, goal):
    """All components at once, with one pose per row."""
    if len(recipe.templates):
        return _shared_templates(problem, recipe, goal)
    if recipe.posed:
        return _shared_posed(problem, recipe, goal)
    aside = None
    if recipe.outliers is None:
        few = rough(problem, recipe)
        result = spread(few, problem, grow_block(few.problem, recipe, goal))
    else:
        screen = Screen(problem, recipe.outliers)
        grow = partial(grow_block, recipe=recipe, goal=goal)
        result = screen.solve(grow, recipe.solver, shared=True)
        problem, aside = screen.kept, screen.aside
    if problem.chunks.operator.continuous is not None:
        chunks, result = refined(problem, recipe, result, [])
        problem = replace(problem, chunks=chunks)
    W = principal_order(problem, result.weights)
    poses = _taken(problem, W)
    operator = problem.chunks.operator
    if operator.continuous is None:
        W, left, order = _falling_order(problem, conventional(operator, W, poses))
    else:  # the poses of the codes are those of the weights before they are moved
        W, left, order = _falling_order(problem, W)
        W = conventional(operator, W, poses)
    total = goal.total if aside is None else left[0]
    goal = goal if aside is None else Goal(goal.n_components, total)
    nothing = np.flatnonzero(-np.diff(left)[1:] <= GONE * total)
    count = min(goal.enough(left), 1 + int(nothing[0]) if len(nothing) else len(W))
    sides = poses.sides[:, order[:count]]
    return Components(
        W[:count], -np.diff(left)[:count], [result], sides, [poses], total=total, aside=aside
    )


def _shared_templates(problem, recipe, goal):
    """Templates with one pose per row."""
    result = _given(problem, recipe, 0, len(recipe.templates))
    block = problem.block_for_codes(result.weights)
    left = problem.chunks.sum(nested_energies, [block])
    poses = problem.chunks.sum(match_poses, block)
    free = [] if recipe.posed else [poses]
    return Components(result.weights, -np.diff(left), [result], poses.sides, free, total=goal.total)


def _shared_posed(problem, recipe, goal):
    """Components with one pose per row, which is given: principal axes of rows moved back."""
    result = _solve_posed(problem, recipe, 0, goal.count)
    block = problem.block_for_codes(result.weights)
    stats = problem.chunks.sum(given_statistics, block, 0)
    W = principal_axes(problem.chunks.operator, block, stats.moments)[0]
    block = problem.block_for_codes(W)
    left = problem.chunks.sum(nested_energies, [block])
    sides = problem.chunks.sum(match_poses, block).sides
    return Components(W, -np.diff(left), [result], sides, total=goal.total)


def _taken(problem, W):
    """The poses of rows on a block (K, L): those of its codes, if there are any."""
    block, known = problem.block_for_codes(W), problem.chunks.operator.continuous is not None
    return problem.chunks.sum(codes_poses if known else match_poses, block)


def _left_after(problem, W):
    """Residual energies after 0, 1, .., K components of a block (K, L), in the same poses."""
    block = problem.block_for_codes(W)
    if problem.chunks.operator.continuous is not None:
        return problem.chunks.sum(nested_at_codes, block)
    return problem.chunks.sum(nested_energies, [block])


def _falling_order(problem, W, tries=5):
    """Weights sorted until each explains less than the one before; what is left, (K + 1,).

    And the order of the weights as they were given. There may be no such order, as what each
    explains depends on those before it: the last one tried is taken then.
    """
    numbers, left = np.arange(len(W)), _left_after(problem, W)
    for _ in range(tries):
        order = np.argsort(np.diff(left), kind="stable")
        if len(problem.block_for_codes(W).gram) == 1 or np.all(order == np.arange(len(order))):
            break
        W, numbers = W[order], numbers[order]
        left = _left_after(problem, W)
    return W, left, numbers
