"""The cost of a fit, before it starts: its transforms, its rows, and an estimate of its time.

A pass over ``n`` rows takes ``a + b n`` seconds, where both are measured on a few rows. The number
of passes of a search and of the last climbs is known from fits of all kinds of families
(``benchmarks/bench_cost.py``); a single fit may need several times more or fewer.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, replace

import numpy as np

from gtpca import checks
from gtpca.data.chunks import as_chunks
from gtpca.fitting import wording
from gtpca.model.matching import orthonormal, statistics, update
from gtpca.operators.poses import is_still
from gtpca.solvers.als import (
    ALS,
    HALVINGS,
    LOOK_PASSES,
    MANY_ROWS,
    MOVE_PASSES,
    MOVE_ROWS,
    NEXT_PASSES,
    SCREEN_ROWS,
    SETTLE_ROWS,
    UPDATE_STEPS,
)
from gtpca.solvers.base import Problem

__all__ = ["Cost", "check_cost", "guess", "guess_density"]

WORTH = 3e10  # products of a transform and a value, below which a fit takes seconds at most
TRIED = (2, 64)  # rows of the passes that are measured,
SLOWLY_TRIED = 8  # rows of the second of them if the first is slow
REPEATS, ENOUGH = 6, 0.3  # repetitions, or seconds after which to stop
SETTLING, MOVES, LAST = 80, 2, 25  # climbs on few rows, moves from there, passes over all rows
SHARES = 8  # expected number of components if a share of the energy is given
EM_FITS = 5  # times that of a single component, for each component of a density
GROWTHS, AUTO_GROWTHS = 2, 3  # times as many passes if components grow in one pose
LEAST_PASSES = 100  # taken by any fit
TOLD, WARNED = 10.0, 60.0  # seconds from which on a fit is logged, and warned about
MAX_HOURS = "GTPCA_MAX_HOURS"  # environment variable; a fit that needs more is refused
DEFAULT_HOURS = 24.0


@dataclass(frozen=True)
class Cost:
    """The size of a fit.

    Attributes
    ----------
    n_transforms, n_rows : int
    seconds : float
        An estimate; 0 for fits that are too short to be estimated.
    """

    n_transforms: int
    n_rows: int
    seconds: float = 0.0

    def times(self, n_fits: int) -> Cost:
        """The cost of several such fits."""
        return replace(self, seconds=n_fits * self.seconds)


def guess(problem, recipe) -> Cost:
    """The cost of a fit; 0 seconds for solvers other than ALS.

    Parameters
    ----------
    problem : Problem
    recipe : Recipe
        Of a GTPCA.
    """
    return guess_components(problem, _n_fits(recipe), getattr(recipe.solver, "n_init", 0))


def _n_fits(recipe) -> float:
    """The number of single components that would take as long."""
    count = SHARES if isinstance(recipe.n_components, float) else recipe.n_components
    if not recipe.shared_pose or count == 1:
        return count * recipe.n_fits
    return count * recipe.n_fits * (AUTO_GROWTHS if recipe.is_auto else GROWTHS)


def guess_density(chunks, n_components) -> Cost:
    """The cost of a density: of its start, and of EM, whose passes weight all transforms."""
    how = (1 + EM_FITS * (1 + n_components), ALS().n_init)
    return guess_components(Problem(chunks, "positive"), *how)


def guess_components(problem, n_components, n_starts) -> Cost:
    """The cost of ``n_components`` single components, each found from ``n_starts`` starts."""
    operator, n = problem.chunks.operator, problem.chunks.n_rows
    size = operator.n_transforms * max(operator.n_features, operator.n_weights)
    if not n_starts or is_still(operator) or size * n * n_components < WORTH / LEAST_PASSES:
        return Cost(operator.n_transforms, n)
    row_passes, passes = _passes(operator, n, n_starts)
    each, per_row = _pass_time(problem)
    return Cost(operator.n_transforms, n, n_components * (passes * each + row_passes * per_row))


def _passes(operator, n, n_starts):
    """Approximate number of rows that one component is matched with, and of passes.

    A stack of weights is matched in one pass: starts, then moves and positions of a lookahead.
    """
    (first, kept, few), (second, _, more) = HALVINGS
    w = np.ones(operator.n_weights) / math.sqrt(operator.n_weights)
    moves = MOVES * MOVE_PASSES * len(list(operator.moves(w)))
    places = (LOOK_PASSES + NEXT_PASSES) * len(list(operator.moves(w, far=True)))
    steps = {few: n_starts * first, more: kept * second, MOVE_ROWS: moves, SCREEN_ROWS + 1: places}
    steps |= {SETTLE_ROWS: SETTLING, n + SETTLE_ROWS: LAST}
    rows = sum(passes * min(n, most) for most, passes in steps.items())
    rows += LAST * MANY_ROWS if n > 2 * MANY_ROWS else 0
    return rows, first + second + SETTLING + MOVES * MOVE_PASSES + LAST


def _pass_time(problem):
    """Seconds of a pass over no rows, and per row, as measured.

    If a pass is fast, its fixed cost hides that of the rows: at least half of the time for many
    rows is attributed to them.
    """
    few, many, least = min(TRIED[0], problem.chunks.n_rows), TRIED[1], 0.5
    alone = _timed(problem, few)
    if alone > ENOUGH:
        many, least = SLOWLY_TRIED, 0.05
    many = min(many, problem.chunks.n_rows)
    if few == many:
        return 0.0, alone / few
    together = max(_timed(problem, many), alone)
    per_row = max((together - alone) / (many - few), least * together / many)
    return max(alone - few * per_row, 0.0), per_row


def _timed(problem, count):
    """Seconds of a pass of one random component over the first rows, once all is prepared."""
    chunk = problem.chunks.take(np.arange(count))
    rows = np.nan_to_num(chunk.rows)
    rows = rows / (np.abs(rows).max(initial=0) or 1)  # no square overflows
    chunks = as_chunks(rows, chunk.operator, chunk.weight)
    few = Problem(chunks, problem.polarity, ridge=problem.ridge)
    size = (1, 1, chunk.operator.n_weights)
    W = orthonormal(np.random.default_rng(0).standard_normal(size))
    found: list[float] = []
    while len(found) < REPEATS and sum(found) < 2 * ENOUGH:
        begun = time.perf_counter()
        stats = chunks.sum(statistics, few.blocks_for_fit(W))
        update(chunk.operator, stats, W, UPDATE_STEPS, problem.ridge)
        found.append(time.perf_counter() - begun)
    return min(found[1:] or found)


def check_cost(cost, family, log) -> None:
    """Report how long a fit will take if that is long; refuse what would take days.

    Parameters
    ----------
    cost : Cost
    family : Family
    log : callable
        ``log(message)``, for fits that take some seconds.
    """
    if cost.seconds < TOLD:
        return
    text = wording.long_fit(cost)
    most = _max_hours()
    if cost.seconds > 3600 * most:
        raise ValueError(wording.too_long(text, family, most, MAX_HOURS))
    if cost.seconds >= WARNED:
        checks.warn(f"{text}. {family.hint_if_large}".rstrip(), UserWarning)
    else:
        log(text)


def _max_hours() -> float:
    """The number of hours that a fit may take, from the environment."""
    given = os.environ.get(MAX_HOURS, "")
    try:
        hours = float(given) if given else DEFAULT_HOURS
    except ValueError:
        hours = math.nan
    if not hours > 0:
        raise ValueError(f"{MAX_HOURS}={given!r} in the environment must be a number of hours.")
    return hours
