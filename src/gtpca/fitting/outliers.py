r"""Bad rows and bad values: components of what remains when these are set aside.

With the residual ``r_i`` of row ``i`` after a component and sample weights ``q_i``, a fit lowers

    sum_i q_i phi(g_i),    phi(g) = 2 s arctan(g / 2 s),
    g_i = sum over values of min(r_ij^2, tau^2 + rho p_ij^2),

where ``p_i`` is the projection on the component. A row has the weight
``phi'(g) = 1 / (1 + (g / 2 s)^2)``, which is small if it has many times the residual energy ``s``
of the median row, and decreases the worse it fits. A value that is farther than ``tau`` from its
projection is *hidden*, like a gap (:mod:`gtpca.model.gaps`, which defines ``rho``). ``phi`` is
concave and lies below its tangents, so for fixed ``s`` and ``tau`` every step lowers the loss: new
row weights, a new mask, and a climb with both fixed.

The first weights are computed from the energies of rows, not of residuals, so that no row counts
more than an ordinary one, however loud it is: a search starts where bad rows cannot dominate it.
If values are to be set aside, it starts on rows whose values are clipped, and once more on the
original rows, since a clipped pattern may stay clipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from scipy.special import ndtri

from gtpca.data.chunks import as_chunks
from gtpca.data.energies import energy, row_energies
from gtpca.model.coding import projection
from gtpca.model.gaps import HIDDEN_WEIGHT
from gtpca.model.matching import match
from gtpca.solvers.base import Problem, SolverResult

__all__ = ["ASIDE", "OUTLIERS", "Aside", "Screen", "feature_medians", "row_weights"]

OUTLIERS = (None, "rows", "values", "both")
BEND = 2.0  # times the median: residual energy at which a row counts half
FALSE = 0.05  # share of the hidden values that may belong to Gaussian noise
LEAST_FAR = 3.5  # standard deviations from which a value may be hidden
NORMAL_MAD = 1.4826  # median absolute deviation of Gaussian noise, times this, is its deviation
ROUNDS = 30  # of weights, mask and climb, at most
FREE_ROUNDS = 3  # in which the scale still follows the residual
LOUDEST = (3.0, 8.0)  # times the median: largest energy of a row when a search starts
FLOOR = 1e-9  # smallest residual energy of the median row, as a share of its energy
ASIDE = 0.1  # a row with a smaller weight is reported as set aside
PASSES = 8  # of the climb in each round
SETTLED = 1e-4  # rounds end when one lowers the loss by no more than this share


@dataclass(frozen=True, eq=False)
class Aside:
    """What a fit set aside.

    Attributes
    ----------
    row_weight : array (n,) or None
        The weight of every row, from 0 to 1.
    rejected : bool array (n, d) or None
        Which values were hidden.
    losses : list of arrays
        For each component, or for all with a shared pose, the loss after every round with a fixed
        scale: it never increases except by rounding.
    """

    row_weight: np.ndarray | None
    rejected: np.ndarray | None
    losses: list[np.ndarray]

    def scaled(self, exponent) -> Aside:
        """The same with losses times ``2**exponent``."""
        return replace(self, losses=[np.ldexp(each, exponent) for each in self.losses])


def row_weights(left, scale):
    """``1 / (1 + (g / 2 s)^2)`` of residual energies (n,)."""
    return 1 / (1 + (left / (BEND * scale)) ** 2)


def middle(values, weight) -> float:
    """The weighted median of values (n,)."""
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(weight[order])
    return float(values[order[np.searchsorted(up_to, 0.5 * up_to[-1])]])


def feature_medians(chunks) -> np.ndarray:
    """The weighted median of every feature over rows in memory, (d,); 0 where none was observed."""
    chunk = chunks.take(np.arange(chunks.n_rows))
    rows, weight = chunk.rows, chunk.weigh(np.ones(len(chunk.rows)))
    order = np.argsort(rows, axis=0, kind="stable")  # NaN comes last
    seen = ~np.isnan(rows) * weight[:, None]
    up_to = np.cumsum(np.take_along_axis(seen, order, axis=0), axis=0)
    place = (up_to >= 0.5 * up_to[-1]).argmax(axis=0)
    columns = np.arange(rows.shape[1])
    values = rows[order[place, columns], columns].astype(np.float64)
    return np.where(up_to[-1] > 0, values, 0.0)


def threshold(rest, weight, least=0.0) -> float:
    """The size from which on values of a residual (n, d) are hidden; NaN are gaps.

    It is the smallest size, at least 3.5 standard deviations, such that Gaussian noise with the
    median absolute deviation of all values would have at most a twentieth of the values that lie
    beyond it. Without outliers, hardly any value does. The standard deviation is at least
    ``least``.
    """
    sizes = np.abs(rest if np.all(weight > 0) else rest[weight > 0])
    sizes = sizes[sizes > 0]  # neither NaN, nor zeros, which say nothing of noise
    count = len(sizes)
    if not count:
        return np.inf
    deviation = max(NORMAL_MAD * float(np.partition(sizes, count // 2)[count // 2]), least)
    sizes = np.sort(sizes[sizes >= LEAST_FAR * deviation])  # the others cannot lie beyond
    beyond = np.arange(len(sizes), 0, -1)  # values at least as large as each
    rare = -ndtri(0.5 * np.minimum(FALSE * beyond / count, 0.5))
    far = np.flatnonzero(sizes >= np.maximum(rare, LEAST_FAR) * deviation)
    return float(sizes[far[0]]) * (1 - 1e-9) if len(far) else np.inf


@dataclass(frozen=True, eq=False)
class Limits:
    """The limits ``s`` of the residual energy of a row, and ``tau`` of the size of a value."""

    energy: float = np.inf
    value: float = np.inf


def nothing_hidden() -> np.ndarray:
    """A mask (1, 1) that hides no value."""
    return np.zeros((1, 1), dtype=bool)


@dataclass(frozen=True, eq=False)
class Verdict:
    """What is set aside.

    Attributes
    ----------
    share : array (n,)
        The weight of every row.
    hidden : bool array (n, d), or (1, 1) if no value is
    loss : float
    """

    share: np.ndarray
    hidden: np.ndarray = field(default_factory=nothing_hidden)
    loss: float = np.inf

    @property
    def sets_aside(self) -> bool:
        """Whether a value is hidden, or a row has almost no weight."""
        return bool(self.hidden.any()) or bool(self.share.min(initial=1.0) < ASIDE)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A component or block, the projections of rows on it (n, d), and its ridge penalty (n,)."""

    result: SolverResult
    shown: np.ndarray
    penalty: np.ndarray

    @property
    def little(self) -> np.ndarray:
        """``rho p^2`` for all values: the loss of a component where values are hidden."""
        return HIDDEN_WEIGHT * self.shown.astype(np.float64) ** 2


@dataclass(frozen=True, eq=False)
class Round:
    """A component, the limits beside it, and what is set aside by them."""

    fitted: Fitted
    limits: Limits
    verdict: Verdict
    losses: tuple[float, ...] = ()


class Screen:
    """The residual of rows in memory, and the parts of it that are set aside during a fit.

    Parameters
    ----------
    problem : Problem
    kind : {"rows", "values", "both"}
    """

    def __init__(self, problem, kind):
        chunk = problem.chunks.take(np.arange(problem.chunks.n_rows))
        self.problem, self.operator, self.rows = problem, chunk.operator, chunk.rows
        self.rest = chunk.rows.copy()
        self.weight = np.ones(len(chunk.rows)) if chunk.weight is None else chunk.weight
        self.by_row, self.by_value = kind in ("rows", "both"), kind in ("values", "both")
        self.rounds: list[Round] = []
        self.beside = np.zeros((1, 1))  # loss of the components that were subtracted
        self.penalty = np.zeros(1)
        self.least = 0.0
        energies = row_energies(chunk.rows, self.operator.feature_weight)
        self.least = FLOOR * self._middle(energies)
        self.faint = float(np.sqrt(self.least / chunk.rows.shape[1]))

    @property
    def verdict(self) -> Verdict:
        """What was set aside for the last component."""
        return self.rounds[-1].verdict

    @property
    def aside(self) -> Aside:
        """What the whole fit has set aside."""
        share, hidden = self.verdict.share, self.verdict.hidden
        hidden = np.broadcast_to(hidden, self.rest.shape).copy()
        losses = [np.array(one.losses) for one in self.rounds]
        return Aside(share if self.by_row else None, hidden if self.by_value else None, losses)

    @property
    def kept(self) -> Problem:
        """The original rows without what was set aside."""
        return self._problem(self.rows, self.verdict)

    @property
    def share_left(self) -> float:
        """The residual energy of what was kept, as a share of its energy."""
        parts = (self._problem(rows, self.verdict).chunks for rows in (self.rest, self.rows))
        left, total = (chunks.sum(energy) for chunks in parts)
        return left / total if total > 0 else 0.0

    def forget(self) -> None:
        """Undo the last component, which was one too many."""
        self._move(self.rounds.pop().fitted, 1)

    def _move(self, fitted, sign):
        """Subtract the projections on a component from the residual (-1), or add them (1)."""
        self.rest = self.rest + sign * fitted.shown
        self.beside = self.beside - sign * fitted.little
        self.penalty = self.penalty - sign * fitted.penalty

    def solve(self, solve: Callable, solver, shared=False) -> SolverResult:
        """Find a component or block of the residual, and subtract it.

        Parameters
        ----------
        solve : callable
            ``solve(problem) -> SolverResult``.
        solver : Solver
            Climbs from known weights.
        shared : bool
            Whether it is a block in one pose, which has many local maxima and needs more starts.
        """
        tau = threshold(self.rest, self.weight, self.faint) if self.by_value else np.inf
        rows = np.clip(self.rest, -tau, tau)
        loudest = LOUDEST[: 2 if self.by_row and shared else 1]
        shares = [self._first_share(rows, most) for most in loudest]
        best = self._best([self._begun(rows, share, solve, solver) for share in shares])
        if np.nanmax(np.abs(self.rest), initial=0.0) > tau:
            start = best.fitted.result.weights
            climb = partial(
                solver.solve, random_state=0, n_jobs=self.problem.chunks.n_jobs, start=start
            )
            share = self._first_share(self.rest, LOUDEST[0])
            best = self._best([best, self._begun(self.rest, share, climb, solver)])
        if shared and best.verdict.sets_aside:
            best = self._best([best, self._begun(*self._cleaned(best), solve, solver)])
        best = self._settled(best, solver)
        self.rounds.append(best)
        self._move(best.fitted, -1)
        return best.fitted.result

    def sweep(self, solver) -> list[SolverResult]:
        """All components after another climb of each beside the others, the largest first.

        When a component was found, later ones were still part of its residual, and partly taken for
        artefacts.
        """
        last = self.rounds[-1]
        losses = list(last.losses)
        for k, one in enumerate(self.rounds if len(self.rounds) > 1 else ()):
            self._move(one.fitted, 1)
            now = replace(one, limits=last.limits, verdict=self._judged(one.fitted, last.limits))
            fitted = self._climbed(now, solver)
            self.rounds[k] = replace(now, fitted=fitted)
            last = replace(last, verdict=self._judged(fitted, last.limits))
            losses.append(last.verdict.loss)
            self._move(fitted, -1)
        self.rounds[-1] = replace(self.rounds[-1], verdict=last.verdict, losses=tuple(losses))
        shares = self.weight * last.verdict.share
        sizes = [shares @ np.sum(one.fitted.shown**2, axis=1) for one in self.rounds]
        order = np.argsort(np.negative(sizes), kind="stable")
        return [self.rounds[k].fitted.result for k in order]

    def _cleaned(self, now) -> tuple[np.ndarray, np.ndarray]:
        """Rows with projections in place of hidden values, and the weight of each row."""
        return np.where(now.verdict.hidden, now.fitted.shown, self.rest), now.verdict.share

    def _first_share(self, rows, loudest):
        """Weights that limit the energy of every row to a multiple of the median."""
        if not self.by_row:
            return np.ones(len(rows))
        energies = row_energies(rows, self.operator.feature_weight)
        most = loudest * self._middle(energies)
        return np.minimum(1.0, most / np.maximum(energies, np.finfo(float).tiny))

    def _best(self, rounds):
        """The round with the smallest loss by the narrowest limits among all of them."""
        limits = [one.limits for one in rounds]
        least = Limits(min(one.energy for one in limits), min(one.value for one in limits))
        return min(rounds, key=lambda one: self._judged(one.fitted, least).loss)

    def _begun(self, rows, share, solve, solver) -> Round:
        """A search on weighted rows, and rounds in which the limits are still estimated."""
        problem = self._problem(rows, Verdict(share))
        fitted = self._fitted(problem, solve(problem))
        for number in range(FREE_ROUNDS):
            limits = self._limits(fitted)
            now = Round(fitted, limits, self._judged(fitted, limits))
            if number < FREE_ROUNDS - 1:
                fitted = self._climbed(now, solver)
        return now

    def _settled(self, now, solver) -> Round:
        """The result of rounds with fixed limits, each of which lowers the loss."""
        losses = [now.verdict.loss]
        while len(losses) < ROUNDS and now.fitted.result.stopped != "callback":
            fitted = self._climbed(now, solver)
            now = Round(fitted, now.limits, self._judged(fitted, now.limits))
            losses.append(now.verdict.loss)
            if losses[-2] - losses[-1] <= SETTLED * losses[-2]:
                break
        return replace(now, losses=tuple(losses))

    def _climbed(self, now, solver) -> Fitted:
        """The component after a climb without what is set aside."""
        problem, old = self._problem(self.rest, now.verdict), now.fitted.result
        result = solver.polish(replace(problem, ridge=old.ridge), old.weights, PASSES)
        passes = old.n_iter + result.n_iter
        return self._fitted(problem, replace(result, n_iter=passes, ridge=old.ridge))

    def _problem(self, rows, verdict):
        """The problem of given rows without what is set aside."""
        if verdict.hidden.any():
            rows = np.where(verdict.hidden, rows.dtype.type(np.nan), rows)
        old = self.problem.chunks
        chunks = as_chunks(
            rows,
            self.operator,
            self.weight * verdict.share if self.by_row else self.weight,
            batch_size=getattr(old, "batch_size", None),
            n_jobs=old.n_jobs,
        )
        return replace(self.problem, chunks=chunks, complete=False)

    def _fitted(self, problem, result) -> Fitted:
        """A result with the projections of the rows on it."""
        problem = replace(problem, ridge=result.ridge)
        [block] = problem.blocks_for_fit(result.weights[None])
        found = problem.chunks.concat(_matched, block)
        penalty = result.ridge * np.sum((found["coef"] @ block.weights) ** 2, axis=1)
        shown = projection(self.operator, block, found["index"], found["coef"], self.rest.dtype)
        return Fitted(result, shown, penalty)

    def _limits(self, fitted) -> Limits:
        """The limits for the residual of a component."""
        tau = (
            threshold(self.rest - fitted.shown, self.weight, self.faint)
            if self.by_value
            else np.inf
        )
        left = self._left(fitted, Limits(value=tau))[0]
        return Limits(self._middle(left) if self.by_row else np.inf, tau)

    def _left(self, fitted, limits):
        """``g_i`` (n,), and which values are hidden, (n, d), or (1, 1) if none is."""
        squares = (self.rest - fitted.shown).astype(np.float64) ** 2
        little, hidden = fitted.little + self.beside, nothing_hidden()
        if limits.value < np.inf:
            hidden = squares > limits.value**2 + little
            squares = np.where(hidden, limits.value**2 + little, squares)
        squares = np.where(np.isnan(squares), little, squares)
        q = self.operator.feature_weight
        left = np.sum(squares if q is None else squares * q, axis=1)
        return left + fitted.penalty + self.penalty, hidden

    def _judged(self, fitted, limits) -> Verdict:
        """What has to be set aside beside a component, and the loss."""
        left, hidden = self._left(fitted, limits)
        if not limits.energy < np.inf:
            return Verdict(np.ones(len(left)), hidden, float(self.weight @ left))
        bend = BEND * limits.energy
        loss = float(self.weight @ (bend * np.arctan(left / bend)))
        return Verdict(row_weights(left, limits.energy), hidden, loss)

    def _middle(self, left):
        """The median of the positive energies among (n,)."""
        alive = np.where(left > 0, self.weight, 0.0)
        return max(middle(left, alive), self.least) if alive.any() else 1.0


def _matched(chunk, block):
    found = match(chunk, block)
    return {"index": found.index, "coef": found.coef}
