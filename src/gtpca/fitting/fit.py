"""From chunks and an operator to components: greedy or direct, refined, in a conventional pose."""

from __future__ import annotations

import logging
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gtpca.fitting.shared_pose import grow_block, principal_order
from gtpca.model.block import Block, make_block, separate_blocks
from gtpca.model.coding import (
    deflate,
    energy,
    energy_shares,
    nested_energies,
    rematch,
    restore,
)
from gtpca.model.conventions import match_poses, settle_poses, settled, whole_block
from gtpca.solvers.als import SETTLE_ROWS
from gtpca.solvers.base import SolverResult
from gtpca.solvers.pca import solve_directly

__all__ = ["Components", "Progress", "Recipe", "fit_components"]

logger = logging.getLogger("gtpca")

GONE = 1e-7  # share of the energy below which nothing is left to explain


@dataclass
class Components:
    """What a fit found.

    Attributes
    ----------
    weights : array (k, L)
        Unit norm.
    explained : array (k,)
        Energy explained by each component.
    total : float
        Energy of the rows.
    results : list of SolverResult
    """

    weights: np.ndarray
    explained: np.ndarray
    total: float
    results: list

    def sorted(self) -> Components:
        """The same in descending order of explained energy."""
        order = np.argsort(-self.explained, kind="stable")
        results = [self.results[k] for k in order]
        return Components(self.weights[order], self.explained[order], self.total, results)


class Progress:
    """Tells scikit-learn's callbacks of a fit: fit > component > iteration."""

    def __init__(self, estimator, max_components):
        self.estimator = estimator
        self.root = estimator._init_callback_context(max_subtasks=max_components)
        self.root.call_on_fit_task_begin(estimator=estimator)
        self.stop = False

    @contextmanager
    def component(self):
        """Yields ``report(iteration, explained) -> bool`` for one component."""
        context = self.root.subcontext("component", max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self.estimator)

        def report(iteration, explained):
            leaf = context.subcontext("iteration")
            leaf.call_on_fit_task_begin(estimator=self.estimator)
            return leaf.call_on_fit_task_end(estimator=self.estimator)

        yield report
        self.stop = bool(context.call_on_fit_task_end(estimator=self.estimator))

    def log(self, message, *args):
        """Tell the logger "gtpca": everybody if the estimator is verbose, else who debugs."""
        logger.log(logging.INFO if self.estimator.verbose else logging.DEBUG, message, *args)

    def explained(self, number, share, result):
        """Log how much of the energy is explained after a component."""
        self.log(
            "component %d: %.2f %% of the energy explained so far, %d passes, %s",
            *(number, 100 * share, result.n_iter, result.stopped),
        )

    def end(self):
        """The fit is done."""
        self.root.call_on_fit_task_end(estimator=self.estimator)


class Goal:
    """How many components are wanted: a number, or a share of the energy."""

    def __init__(self, n_components, total):
        self.n_components, self.total = n_components, total
        share = isinstance(n_components, (float, np.floating))
        self.count = None if share else int(n_components)
        self.least = max((1 - n_components) * total if share else 0.0, GONE * total)

    def reached(self, found, left):
        """Whether ``found`` components that leave the energy ``left`` are enough."""
        return (self.count is not None and found >= self.count) or left <= self.least

    def enough(self, left):
        """The least number of components after which little enough is ``left``, (k + 1,)."""
        most = len(left) - 1 if self.count is None else min(len(left) - 1, self.count)
        reached = np.flatnonzero(left[1 : most + 1] <= self.least)
        return int(reached[0]) + 1 if len(reached) else most

    def check(self, found):
        """Warn if the fit had to stop before the goal."""
        short = self.total - np.sum(found.explained) > self.least if self.count is None else True
        if short and len(found.explained) != self.count:
            warnings.warn(
                f"n_components={self.n_components} is out of reach: nothing is left to explain "
                f"after {len(found.explained)} components; n_components_ says how many there are.",
                ConvergenceWarning,
                stacklevel=5,
            )


@dataclass(frozen=True)
class Recipe:
    """How to fit: what :class:`gtpca.GTPCA` was told, checked.

    Attributes
    ----------
    n_components : int or float in (0, 1)
    solver : Solver
    polarity : str
    refine : int
    n_jobs : int or None
    rng : RandomState
    progress : Progress
    shared_pose : bool
    """

    n_components: int | float
    solver: Any
    polarity: str
    refine: int
    n_jobs: int | None
    rng: np.random.RandomState
    progress: Progress
    shared_pose: bool = False


def fit_components(chunks, operator, recipe):
    """All components of the rows in ``chunks``; see :class:`Components`."""
    if chunks.n_rows <= SETTLE_ROWS:
        chunks = chunks.here()
    total = chunks.sum(energy)
    check_size(total)
    if total <= 0:
        raise ValueError(
            "X has no energy to explain: all rows are zero, after centring if there is any "
            f"(n_samples = {chunks.n_rows}, n_features = {operator.n_features})."
        )
    goal = Goal(recipe.n_components, total)
    if operator.n_transforms == 1 and recipe.polarity == "both":
        found = _direct(chunks, operator, recipe, goal, total)
    elif recipe.shared_pose:
        found = _shared(chunks, operator, recipe, goal, total)
    else:
        found = _greedy(chunks, operator, recipe, goal, total)
    if not recipe.progress.stop:
        goal.check(found)
    if recipe.polarity == "both":
        found.weights *= signs(found.weights)[:, None]
    return found


def check_size(*sums):
    """Raise an error if sums over the rows are not finite."""
    if not all(np.isfinite(values).all() for values in sums):
        raise ValueError("X is too large: its energy overflows; divide it by a suitable constant.")


def signs(weights):
    """+1 or -1 for each row of (k, L), so that its largest absolute entry becomes positive."""
    largest = np.abs(weights).argmax(axis=1)
    return np.where(weights[np.arange(len(weights)), largest] < 0, -1.0, 1.0)


def _direct(chunks, operator, recipe, goal, total):
    """All principal components of a single transform at once."""
    most = min(operator.n_weights, operator.n_features, chunks.n_rows)
    count = most if goal.count is None else min(goal.count, most)
    found: list[SolverResult] = []
    left = total
    for result in solve_directly(chunks, operator, count, recipe.rng):
        if goal.reached(len(found), left) or recipe.progress.stop:
            break
        with recipe.progress.component() as report:
            report(1, result.explained)
        found.append(result)
        left -= result.explained
        recipe.progress.explained(len(found), 1 - left / total, result)
    explained = np.array([result.explained for result in found])
    return Components(np.concatenate([r.weights for r in found]), explained, total, found)


def _greedy(chunks, operator, recipe, goal, total):
    """One component after the other, each on what the ones before it left over."""
    results: list[SolverResult] = []
    blocks: list[Block] = []
    left = [total]
    options = {"polarity": recipe.polarity, "n_jobs": recipe.n_jobs}
    while not (goal.reached(len(results), left[-1]) or recipe.progress.stop):
        seed = recipe.rng.randint(np.iinfo(np.int32).max)
        options["more"] = len(results) + 1 != goal.count
        with recipe.progress.component() as report:
            result = recipe.solver.solve(chunks, operator, seed, report=report, **options)
        block = whole_block(chunks, operator, result.weights, recipe.polarity)
        result.weights = block.weights
        rest = chunks.then(deflate, operator, block, recipe.polarity, blocks=[*blocks, block])
        left.append(rest.sum(energy))
        if results and left[-2] - left[-1] <= GONE * total:
            left.pop()  # the family has no way to the rest of the energy
            break
        chunks = rest
        blocks.append(block)
        results.append(result)
        recipe.progress.explained(len(results), 1 - left[-1] / total, result)
    found = Components(np.concatenate([r.weights for r in results]), -np.diff(left), total, results)
    if recipe.refine:
        chunks = _refine(chunks, operator, recipe, found)
    if recipe.refine or not operator.plain.crops:
        settle_poses(chunks, operator, found.weights)
    return found.sorted() if recipe.refine else found


def _shared(chunks, operator, recipe, goal, total):
    """All components at once, in one pose per row."""
    result = grow_block(chunks, operator, recipe, goal)
    W = principal_order(chunks, operator, result.weights, recipe.polarity)
    block = make_block(operator, W, chunks.dtype)
    poses = chunks.sum(match_poses, operator, block, recipe.polarity)
    block = make_block(operator, settled(operator, W, poses), chunks.dtype)
    W, left = _falling_order(chunks, operator, block, recipe.polarity)
    count = goal.enough(left)
    return Components(W[:count], -np.diff(left)[:count], total, [result])


def _falling_order(chunks, operator, block, polarity, tries=5):
    """Weights sorted until each explains less than the one before; and what is left, (K + 1,)."""
    for _ in range(tries):
        left = chunks.sum(nested_energies, operator, [block], polarity)
        order = np.argsort(np.diff(left), kind="stable")
        if operator.isometric or np.all(order == np.arange(len(order))):
            break
        block = make_block(operator, block.weights[order], chunks.dtype)
    return block.weights, left


def _refine(chunks, operator, recipe, found):
    """Joint sweeps: each component solved and matched anew beside all the others."""
    polarity, dtype = recipe.polarity, chunks.dtype
    blocks = separate_blocks(operator, found.weights, dtype)
    for sweep in range(recipe.refine):
        for k, block in enumerate(blocks):
            others = [*blocks[:k], None, *blocks[k + 1 :]]
            chunks = chunks.then(restore, operator, block, k, blocks=others)
            result = recipe.solver.polish(chunks, operator, block.weights, polarity=polarity)
            blocks[k] = make_block(operator, result.weights, dtype)
            chunks = chunks.then(rematch, operator, blocks[k], k, polarity, blocks=blocks)
        share = 1 - chunks.sum(energy) / found.total
        recipe.progress.log("sweep %d: %.2f %% explained", sweep + 1, 100 * share)
    found.weights = np.concatenate([block.weights for block in blocks])
    found.explained = chunks.sum(energy_shares, operator, blocks)
    return chunks


def show_log():
    """Make the messages of ``verbose`` visible where nobody has set up logging."""
    logger.setLevel(logging.INFO)
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler(sys.stderr))
