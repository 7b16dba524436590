"""From recordings to templates: starts, then passes of decoding, prices and updates.

    min  sum_r |y_r - sum_e a_e T_{t_e} w_{g_e}|^2 + sum_e theta_{r, g_e}^2,   |w| = 1

Given events, all templates are solved for at once (:mod:`gtpca.fitting.event_sums`); given
templates, events are decoded (:mod:`gtpca.model.decoding`). Prices are estimated in the first
passes and then frozen: from there on no pass raises the objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

import numpy as np

from gtpca.data.signals import Piecewise
from gtpca.fitting.event_starts import faint_template, first_templates, spaced
from gtpca.fitting.event_sums import EventSums, normal_equations, normalised
from gtpca.model.decoding import Dictionary, Placed, correlations, render
from gtpca.model.events import (
    EASE,
    ESTIMATED,
    cost_of,
    decode_all,
    estimated_prices,
    price_table,
    statistics,
)
from gtpca.model.prices import Noise

__all__ = [
    "EventFit",
    "EventRecipe",
    "fit_events",
    "updated",
]

TOGETHER = 0.5  # share of events with the same companion from which on templates may be mixed
HOPE = 0.01  # share of the objective that an exchange may cost before templates have settled
FAILURES = 2  # exchanges without success after which a start is left as it is


@dataclass(frozen=True, eq=False)
class EventRecipe:
    """How to search for templates.

    Parameters
    ----------
    n_components, length : int
        ``K`` templates of ``L`` points.
    false_alarms : float
        Events per recording and group that noise alone may produce.
    refractory : int
        Minimum distance between events of one group, in points.
    positive : bool
        Whether amplitudes must be positive.
    shared_pose : bool
        Whether there is one group of ``K`` templates instead of ``K`` groups of one.
    n_init : int
        Number of starts.
    max_iter : int
        Maximum number of passes with frozen prices.
    tol : float
        The fit ends when a pass lowers the objective by no more than this share.
    rng : RandomState
    n_jobs : int or None
        Threads over pieces of recordings.
    core : int or None
        Points of a piece; None means the default.
    report : callable or None
        ``report(words)`` is called before every pass.
    """

    n_components: int
    length: int
    false_alarms: float = 1.0
    refractory: int = 1
    positive: bool = True
    shared_pose: bool = False
    n_init: int = 2
    max_iter: int = 30
    tol: float = 1e-4
    rng: Any = None
    n_jobs: int | None = None
    core: int | None = None
    report: Callable | None = None

    def say(self, words: str) -> None:
        """Report a step of the fit, if anybody listens."""
        if self.report is not None:
            self.report(words)


@dataclass(eq=False)
class EventFit:
    """Templates and events, and how they were found.

    Attributes
    ----------
    dictionary : Dictionary
    prices : array (R, S)
        ``theta^2`` for every recording and group.
    placed : list of Placed
        The events of each recording.
    noise : list of Noise
        The noise of each recording.
    objective : float
    history : list of float
        The objective after each pass with fixed prices.
    converged : bool
    sums : EventSums or None
        What templates were solved from in the last pass.
    """

    dictionary: Dictionary
    prices: np.ndarray
    placed: list[Placed] = field(default_factory=list)
    noise: list[Noise] = field(default_factory=list)
    objective: float = np.inf
    history: list[float] = field(default_factory=list)
    converged: bool = True
    sums: EventSums | None = None


# -- passes over recordings -----------------------------------------------------------------------


def updated(signals, placed, dictionary, recipe, pad=0):
    """New templates by least squares, events with matching scores, the residual energy, and sums.

    With ``pad``, windows are extended by that many points on both sides, and the part with the most
    energy is kept: a template that its window cuts off moves into it. There are no sums then.

    Returns
    -------
    dictionary : Dictionary
    placed : list of Placed
    left : float
        Energy of the residual before the update.
    sums : EventSums or None
    """
    W = dictionary.weights
    S, Q, L, C = W.shape
    rhs, left = statistics(signals, placed, W, recipe, pad)
    lags = normal_equations(placed, W.shape, pad)
    sums = EventSums(
        lags, rhs.reshape(S * Q, -1, C), n_points=float(sum(s.n_points for s in signals))
    )
    new = sums.solved(np.pad(W, ((0, 0), (0, 0), (pad, pad), (0, 0))))
    first = [_loudest_cut(each, L) if pad else 0 for each in new]
    cut = np.array([each[:, low : low + L] for each, low in zip(new, first, strict=True)])
    weights, turn = normalised(cut, sums.moments, W)
    placed = [events.copy() for events in placed]
    for g, low in enumerate(first):
        mine = slice(g * Q, (g + 1) * Q)
        for events in placed:
            of_group = events.group == g
            events.scores[of_group] = events.scores[of_group] @ turn[mine, mine]
            events.start[of_group] += low - pad
    if pad:
        pairs = zip(placed, signals, strict=True)
        placed = [events.within(signal.n_points - L) for events, signal in pairs]
    return replace(dictionary, weights=weights), placed, left, None if pad else sums.turned(turn)


def _loudest_cut(W, length):
    """The start of the window with the most energy in templates (Q, n, C)."""
    energy = np.cumsum(np.concatenate([[0.0], np.sum(W**2, axis=(0, 2))]))
    return int((energy[length:] - energy[:-length]).argmax())


def one_pass(fit, signals, recipe, *, thorough, estimate=False, pad=0, warm=False, ease=1.0):
    """Decode with the current templates, estimate prices if requested, and update templates."""
    before = fit.placed if warm else None
    prices = ease * fit.prices
    placed, samples = decode_all(signals, fit.dictionary, prices, recipe, before, thorough)
    dictionary, after, left, sums = updated(signals, placed, fit.dictionary, recipe, pad)
    objective = left + cost_of(placed, prices)
    noise, table = fit.noise, fit.prices
    if estimate:
        noise, table = price_table(samples, signals, recipe, fit.dictionary)
    history = [*fit.history, objective]
    return EventFit(dictionary, table, after, noise, objective, history, sums=sums)


# -- starts -----------------------------------------------------------------------------------


def begun(signals, recipe, weights) -> EventFit:
    """A fit from given templates, after some quick passes in which their windows may move."""
    dictionary = Dictionary(weights, recipe.positive, recipe.refractory)
    noise, prices = estimated_prices(signals, dictionary, recipe, 0)
    return settled(EventFit(dictionary, prices, noise=noise), signals, recipe)


def settled(fit, signals, recipe) -> EventFit:
    """The fit after quick passes that estimate prices and move windows, with its objective."""
    for ease in EASE:
        fit = one_pass(
            fit, signals, recipe, thorough=False, estimate=True, pad=recipe.length // 2, ease=ease
        )
    return judged(fit, signals, recipe)


def judged(fit, signals, recipe) -> EventFit:
    """The fit with its events decoded again, in a quick pass, and its objective."""
    placed, _ = decode_all(signals, fit.dictionary, fit.prices, recipe, thorough=False)
    left = statistics(signals, placed, fit.dictionary.weights, recipe)[1]
    return replace(fit, placed=placed, objective=left + cost_of(placed, fit.prices))


def start(signals, recipe) -> EventFit:
    """The best of several starts, for recordings that fit into memory."""
    arrays = [signal.read(0, signal.n_points) for signal in signals]
    own, found = replace(recipe, shared_pose=False), []
    for number in range(recipe.n_init):
        recipe.say(f"start {number + 1} of {recipe.n_init}")
        found.append(begun(signals, own, first_templates(arrays, own)))
    best = min(found, key=lambda fit: fit.objective)
    failures = 0
    while failures < FAILURES and recipe.n_components > 1:
        recipe.say("templates are exchanged")
        after = unmixed(best, signals, own) or exchanged(best, arrays, signals, own)
        failures = failures + 1 if after is None else 0
        best = best if after is None else after
    if not recipe.shared_pose:
        return best
    return begun(signals, recipe, aligned_modes(best, arrays, recipe))


def exchanged(fit, arrays, signals, recipe) -> EventFit | None:
    """The fit with its least useful template replaced by one from the residual; None if not better.

    The new template has not been improved by any pass: if the exchange raises the objective only a
    little, it is judged after some passes.
    """
    rest = [
        Y - render(events, fit.dictionary.weights, len(Y))
        for Y, events in zip(arrays, fit.placed, strict=True)
    ]
    new = faint_template(rest, recipe)
    W = np.concatenate([fit.dictionary.weights, new])
    prices = np.concatenate([fit.prices, fit.prices.mean(axis=1, keepdims=True)], axis=1)
    larger = EventFit(replace(fit.dictionary, weights=W), prices)
    larger = one_pass(larger, signals, recipe, thorough=False, pad=recipe.length // 2)
    tried = []
    for k in range(len(W) - 1):
        kept = [j for j in range(len(W)) if j != k]
        less = replace(larger.dictionary, weights=larger.dictionary.weights[kept])
        tried.append(judged(EventFit(less, prices[:, kept]), signals, recipe))
    best = min(tried, key=lambda each: each.objective)
    if best.objective >= fit.objective * (1 + HOPE):
        return None
    after = settled(best, signals, recipe)
    return after if after.objective < fit.objective else None


def unmixed(fit, signals, recipe) -> EventFit | None:
    """The fit with two mixed templates separated; None if that is not better.

    If most events of one template occur together with an event of another at a fixed distance, the
    second one only corrects the first: what really occurs is their sum.
    """
    W, length = fit.dictionary.weights[:, 0], recipe.length
    for k, j, lag, share in companions(fit.placed, len(W), length):
        both = np.zeros((3 * length, W.shape[2]))
        both[length : 2 * length] = W[k]
        both[length + lag : 2 * length + lag] += share * W[j]
        first = _loudest_cut(both[None], length)
        new = both[first : first + length]
        V = W.copy()
        V[k] = new / np.linalg.norm(new)
        after = EventFit(replace(fit.dictionary, weights=V[:, None]), fit.prices, noise=fit.noise)
        after = settled(after, signals, recipe)
        if after.objective < fit.objective:
            return after
    return None


def companions(placed, count, length) -> list[tuple[int, int, int, float]]:
    """Templates whose events mostly occur together with those of another, at a fixed distance.

    Returns
    -------
    list of (k, j, lag, share)
        An event of ``k`` at ``t`` is accompanied by one of ``j`` at about ``t + lag``, with a score
        that is ``share`` times its own.
    """
    found = []
    for k, j in permutations(range(count), 2):
        lags, shares, total = [], [], 0
        for events in placed:
            mine, other = (np.flatnonzero(events.group == g) for g in (k, j))
            total += len(mine)
            start, near = events.start[mine], events.start[other]
            low, high = np.searchsorted(near, [start - length + 1, start + length])
            first = np.repeat(np.arange(len(mine)), high - low)
            ranges = [np.arange(a, b) for a, b in zip(low, high, strict=True)]
            second = np.concatenate([np.zeros(0, int), *ranges])
            lags.append(near[second] - start[first])
            scores = events.scores[:, 0]
            shares.append(scores[other][second] / scores[mine][first])
        lag, share = np.concatenate(lags), np.concatenate(shares)
        if len(lag) < 3:
            continue
        best = int(np.bincount(lag + length).argmax()) - length
        near = np.abs(lag - best) <= 1
        if near.sum() > TOGETHER * total:
            found.append((k, j, best, float(np.median(share[near]))))
    return found


def aligned_modes(fit, arrays, recipe) -> np.ndarray:
    """Templates (1, K, L, C) in one pose: the leading singular vectors of all aligned events."""
    W, length = fit.dictionary.weights[:, 0], recipe.length
    counts = sum(np.bincount(events.group, minlength=len(W)) for events in fit.placed)
    padded = np.pad(W[int(np.argmax(counts))], ((length - 1, length - 1), (0, 0)))
    lags = correlations(padded, W).argmax(axis=1) - (length - 1)  # to the most frequent one
    rows = [1e-9 * np.eye(recipe.n_components, W[0].size)]
    for Y, events in zip(arrays, fit.placed, strict=True):
        loud = np.argsort(-np.abs(events.scores[:, 0]), kind="stable")
        place = (events.start - lags[events.group])[loud]
        place = spaced(place[(place >= 0) & (place <= len(Y) - length)], recipe.refractory)
        rows.append(np.nan_to_num(Y)[place[:, None] + np.arange(length)].reshape(len(place), -1))
    V = np.linalg.svd(np.concatenate(rows), full_matrices=False)[2]
    return V[: recipe.n_components].reshape(1, recipe.n_components, *W[0].shape)


# -- the fit --------------------------------------------------------------------------------------


def fit_events(signals: list[Piecewise], recipe: EventRecipe, parts=None, first=None) -> EventFit:
    """Templates and events of recordings.

    Parameters
    ----------
    signals : list of Piecewise
    recipe : EventRecipe
    parts : list of Piecewise or None
        Parts of the recordings in which the search for templates starts; None means all.
    first : array (S, Q, L, C) or None
        Templates to start from, instead of a search.
    """
    parts = signals if parts is None else parts
    if first is None:
        first = start(parts, recipe).dictionary.weights
    dictionary = Dictionary(first, recipe.positive, recipe.refractory)
    noise, prices = estimated_prices(parts, dictionary, recipe)
    fit = EventFit(dictionary, _spread(prices, signals, parts), noise=noise)
    for i in range(ESTIMATED):
        recipe.say(f"pass {i + 1}, prices are estimated")
        last = i == ESTIMATED - 1
        pad = 0 if last else recipe.length // 4
        fit = one_pass(fit, signals, recipe, thorough=last, estimate=True, pad=pad)
    fit.history, fit.converged, thorough = [], False, False
    while len(fit.history) < recipe.max_iter and not fit.converged:
        before = fit.history[-1] if fit.history else np.inf
        recipe.say(f"pass {ESTIMATED + len(fit.history) + 1}, {sum(map(len, fit.placed))} events")
        thorough = thorough or len(fit.history) == recipe.max_iter - 1
        fit = one_pass(fit, signals, recipe, thorough=thorough, warm=True)
        still = before - fit.objective <= recipe.tol * abs(fit.objective)
        fit.converged, thorough = still and thorough, still  # pair sweeps come last
    return fit


def _spread(prices, signals, parts):
    """The first prices of recordings: the means over their parts."""
    if parts is signals:
        return prices
    found = []
    for signal in signals:
        mine = [p for p, part in zip(prices, parts, strict=True) if part.signal is signal.signal]
        found.append(np.mean(mine if mine else prices, axis=0))
    return np.stack(found)
