"""``choose_warp``: knots, weights and components of free warps, by points that were hidden.

Warps fit whatever they are given: in pure noise, one component in free poses explains almost half
of it, also of samples that were held out. So the error of held-out samples cannot choose between
warps. Honest is an error at points that had no say: components are fitted to some samples; of the
others, poses and scores are found from the points 0, 2, 4, .. of the time axis, and the error is
that of the points 1, 3, 5, .. in between.

Neighbouring points of coloured noise are alike, and then anything that follows the even points is
right about the odd ones. Warps are therefore compared with as many numbers that do not warp: with
principal components of the samples as they are, at most as many as a warp has knots and components.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from gtpca import checks
from gtpca.data.rows import training_rows
from gtpca.diagnostics import wording
from gtpca.diagnostics.common import Diagnosis, each, excess, quietly, refit
from gtpca.diagnostics.wording import Commands
from gtpca.estimator import GTPCA
from gtpca.families import FreeWarp, Identity
from gtpca.families.text import as_family

__all__ = ["WarpChoice", "choose_warp"]

KNOTS = (1, 3, 5, 9)
SUPPORTED = 3.0  # standard errors by which a warp must be better than no warp


@dataclass(frozen=True, eq=False)
class WarpChoice(Diagnosis):
    """Suggested knots, weights and components of a free warp; or none.

    Attributes
    ----------
    knots : int array (r,)
        Of everything that was tried; 0 means no warp.
    weights : int array (r,)
        Free values of a component along the axis.
    n_components : int array (r,)
    errors : array (r, n)
        Squared error at the odd points of every sample, held out.
    energies : array (n,)
        Energy of the odd points of every sample.
    chosen : int
        The number of the suggestion.
    plain : int
        The number of the best without a warp.
    estimator : GTPCA
        The suggestion, not fitted.
    commands : Commands
        What may be run next.
    """

    knots: np.ndarray
    weights: np.ndarray
    n_components: np.ndarray
    errors: np.ndarray
    energies: np.ndarray
    chosen: int
    plain: int
    estimator: GTPCA
    commands: Any

    @property
    def supported(self) -> bool:
        """Whether a warp is suggested."""
        return bool(self.knots[self.chosen])

    @property
    def shares(self) -> np.ndarray:
        """Error relative to the energy of the odd points, (r,)."""
        return self.errors.sum(axis=1) / self.energies.sum()

    @property
    def best_warp(self) -> int:
        """The number of the warp with the smallest error."""
        return int(np.where(self.knots > 0, self.shares, np.inf).argmin())

    @property
    def gain(self) -> tuple[float, float]:
        """How much smaller the share is with the best warp than without one, and its error."""
        less, error = excess(self.errors, self.best_warp)
        scale = self.errors.shape[1] / self.energies.sum()
        return float(scale * less[self.plain]), float(scale * error[self.plain])

    @property
    def table(self) -> dict[str, np.ndarray]:
        """One row for everything that was tried; ``more`` than the best, and ``+-`` its error."""
        more, error = excess(self.errors, int(self.shares.argmin()))
        scale = self.errors.shape[1] / self.energies.sum()
        return {
            "knots": self.knots,
            "weights": self.weights,
            "components": self.n_components,
            "error": self.shares,
            "more": scale * more,
            "+-": scale * error,
            "best": np.arange(len(self.knots)) == self.chosen,
        }

    def said(self, commands) -> str:
        """What to choose, or that no warp is supported."""
        return wording.warp_choice(self, commands)


def choose_warp(
    X,
    family="freewarp",
    knots=None,
    weights=None,
    n_components=(1, 2),
    *,
    n_folds=2,
    n_jobs=None,
    random_state=0,
    progress=None,
    **parameters,
) -> WarpChoice:
    """Choose knots, weights and components of free warps by points that were hidden.

    Poses and scores of held-out samples come from every second point of the time axis, and the
    error is that of the points in between. First the number of knots is chosen, then that of
    components, then that of weights; each is the smallest within one standard error of the best. A
    warp is suggested only if its error is smaller than that of every number of components *without*
    a warp, up to the number of its knots and components, by three standard errors over the samples.

    Parameters
    ----------
    X : array (n, \\*sample_shape)
        Held in memory as a whole; may have gaps with ``missing="ignore"``.
    family : FreeWarp or str
        Its knots and weights are replaced.
    knots : sequence of int or None
        Numbers of knots to try. Default: 1, 3, 5 and 9.
    weights : sequence of int or None
        Numbers of weights to try. Default: a quarter, half and all of the points.
    n_components : tuple (smallest, largest) or int
    n_folds : int
        Of the cross-validation.
    n_jobs : int or None
        Threads, over fits.
    random_state : int
        Of folds and fits.
    progress : callable or None
        Such as ``tqdm``: ``progress(iterable, total=.., desc=..)``.
    **parameters
        Of :class:`~gtpca.GTPCA`. Poses are shared unless ``shared_pose=False``.

    Returns
    -------
    WarpChoice

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca.diagnostics import choose_warp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((20, 40))
    >>> choose_warp(X, knots=[1, 3], n_components=1).supported
    False
    """
    family = as_family(family)
    if not isinstance(family, FreeWarp):
        raise TypeError(f"family={family!r} must be FreeWarp(): only its knots are chosen here.")
    low, high = _range(n_components)
    seed = checks.integer("random_state", random_state, 0)
    parameters = {"shared_pose": True} | parameters
    given = GTPCA(low, family, random_state=seed, **parameters)
    samples, labels, grid = _read(clone(given), X)
    axis = family.bind(grid).moved_axes[0]
    size = grid[axis]
    most = np.ravel(KNOTS if knots is None else knots).tolist()
    most = sorted({checks.integer("knots", k, 1) for k in most})
    most = [k for k in most if k <= size - 2] or [max(1, size - 2)]
    counts = [-(-size // 4), -(-size // 2), size] if weights is None else np.ravel(weights).tolist()
    counts = sorted({max(2, checks.integer("weights", one, 1)) for one in counts})
    n_folds = checks.integer("n_folds", n_folds, 2)
    if len(samples) < 2 * n_folds:
        raise ValueError(
            f"n_folds={n_folds} needs at least {2 * n_folds} samples, but X has {len(samples)}."
        )
    folds = list(KFold(n_folds, shuffle=True, random_state=seed).split(samples))
    base = clone(given).set_params(missing="ignore", sample_shape=None, n_jobs=None)
    trials = Trials(base, family, samples, labels, folds, axis)
    run = partial(trials.run, n_jobs=n_jobs, progress=progress)
    start = counts[len(counts) // 2]
    run([(k, start, low) for k in most])
    best = trials.simplest(0)
    run([(best[0], start, k) for k in range(low + 1, high + 1)])
    best = trials.simplest(2, best)
    run([(best[0], one, best[2]) for one in counts])
    best = trials.simplest(1, best)
    run([(0, size, k) for k in range(best[0] + best[2] + 1)])
    told = {"random_state": random_state, "n_jobs": n_jobs, "sample_shape": given.sample_shape}
    return trials.choice(best, given, told)


class Trials:
    """Errors at hidden points of everything that was tried.

    Parameters
    ----------
    estimator : GTPCA
    family : FreeWarp
    samples : array (n, \\*sample_shape)
    labels : Labels or None
    folds : list of (train, test)
    axis : int
        The time axis of a sample.
    """

    def __init__(self, estimator, family, samples, labels, folds, axis):
        self.estimator, self.family, self.labels = estimator, family, labels
        self.samples, self.folds = samples, folds
        odd = np.arange(samples.shape[1 + axis]) % 2 == 1
        self.odd = np.expand_dims(odd, tuple(a for a in range(samples.ndim - 1) if a != axis))
        self.errors: dict[tuple[int, int, int], np.ndarray] = {}

    def run(self, cases, n_jobs=None, progress=None):
        """Try (knots, weights, components) that are not known yet."""
        cases = [case for case in cases if case not in self.errors]
        tasks = [(case, fold) for case in cases for fold in self.folds]
        found = iter(each(self._held_out, tasks, text="warps", n_jobs=n_jobs, progress=progress))
        for case in cases:
            errors = np.empty(len(self.samples))
            for _, test in self.folds:
                errors[test] = next(found)
            self.errors[case] = errors

    @quietly
    def _held_out(self, task):
        case, (train, test) = task
        return self._error(self.samples[test], self._predicted(case, train, test))

    def _predicted(self, case, train, test):
        """The prediction of held-out samples from their even points."""
        if case[2] == 0:
            return np.zeros_like(self.samples[test])
        model = self.model(case)
        if not case[0]:
            model.set_params(n_components=min(case[2], len(train), self.samples[0].size))
        model = refit(model, self.samples[train], self.labels)
        seen = np.where(self.odd, np.nan, self.samples[test])
        return np.asarray(model.decode(model.encode(seen))).reshape(seen.shape)

    def _error(self, samples, predicted):
        """Squared error at odd points that were observed, (n,)."""
        wrong = np.where(self.odd & np.isfinite(samples), samples - predicted, 0.0)
        return np.sum(wrong.reshape(len(wrong), -1) ** 2, axis=1)

    def model(self, case) -> GTPCA:
        """The estimator of (knots, weights, components)."""
        knots, weights, count = case
        family: Any = Identity()
        if knots:
            family = clone(self.family).set_params(knots=knots, weights=weights)
        return clone(self.estimator).set_params(n_components=count, family=family)

    def simplest(self, part, like=None):
        """The best case, or the smallest in one of its parts within a standard error of it.

        Of cases with a warp that agree with ``like`` in the other parts.
        """
        cases = [case for case in self.errors if case[0]]
        if like is not None:
            cases = [c for c in cases if c[:part] + c[part + 1 :] == like[:part] + like[part + 1 :]]
        errors = np.array([self.errors[case] for case in cases])
        more, error = excess(errors, int(errors.sum(axis=1).argmin()))
        near = [case for case, far in zip(cases, more > error, strict=True) if not far]
        return min(near, key=lambda case: case[part])

    def choice(self, best, given, told) -> WarpChoice:
        """The suggestion, given the best warp."""
        cases = list(self.errors)
        errors = np.array(list(self.errors.values()))
        plain = [number for number, case in enumerate(cases) if not case[0]]
        least = plain[int(errors[plain].sum(axis=1).argmin())]
        warp = cases.index(best)
        more, error = excess(errors, warp)
        chosen = warp if more[least] > SUPPORTED * error[least] else least
        knots, weights, count = cases[chosen]
        model = self.model((knots, weights, max(1, count)))
        suggestion = model.set_params(missing=given.missing, shared_pose=given.shared_pose, **told)
        tried = dict(zip(("knots", "weights", "n_components"), np.array(cases).T, strict=True))
        return WarpChoice(
            **tried,
            errors=errors,
            energies=self._error(self.samples, 0.0),
            chosen=chosen,
            plain=least,
            estimator=suggestion,
            commands=Commands.of(suggestion),
        )


def _range(given) -> tuple[int, int]:
    pair = (given, given) if np.ndim(given) == 0 else tuple(given)
    if len(pair) != 2:
        raise ValueError(
            f"n_components={given!r} must be a pair (smallest, largest) or an integer."
        )
    low = checks.integer("n_components[0]", pair[0], 1)
    return low, checks.integer("n_components[1]", pair[1], low)


@quietly
def _read(estimator, X):
    """Samples (n, \\*sample_shape), their labels, and the grid of a sample."""
    rows, _, shape = training_rows(estimator, X, estimator.sample_shape)
    samples = rows.take(np.arange(rows.n_rows)).astype(np.float64, copy=False)
    labels = None if rows.container is None else rows.container.labels
    return samples.reshape(-1, *shape), labels, shape if labels is None else labels.grid(shape)
