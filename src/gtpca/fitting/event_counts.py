"""Whether there are more events than in noise: counts by templates of other data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gtpca.data.signals import parts_of
from gtpca.fitting.event_noise import surrogate_of
from gtpca.fitting.events import fit_events
from gtpca.model.events import decode_all, estimated_prices

__all__ = ["EventCounts", "count_events", "fitted_halves", "too_short"]

SHORT = 64  # windows; shorter recordings are not divided into halves
CHANCE, PRICES = 4.0, 2.0  # standard deviations, and prices, by which events must exceed noise
MOST = 4.0  # times the median: an event counts no more, as a few loud ones are no template


@dataclass(frozen=True)
class EventCounts:
    """Numbers of events.

    Attributes
    ----------
    fitted : int
        In the recordings, by templates fitted to them.
    cross_fitted : int or None
        In each half of the recordings, by templates of the other half.
    surrogate : int or None
        In a fit to noise with the spectrum, tails and bursts of the recordings. For long
        recordings it is the count in a surrogate of some parts, scaled to all points.
    excess : tuple of float or None
        ``sum_e min(g_e - 1, m)``: how much more than their prices cross-fitted events gain, in
        units of prices, each at most ``m``, four times the median. In the recordings, in the
        surrogate, and the standard deviation of the difference between two such surrogates.
    """

    fitted: int
    cross_fitted: int | None = None
    surrogate: int | None = None
    excess: tuple[float, float, float] | None = None

    @property
    def bar(self) -> float | None:
        """The excess of noise plus four standard deviations and two prices; None if unknown."""
        if self.excess is None:
            return None
        return self.excess[1] + CHANCE * self.excess[2] + PRICES

    @property
    def above_noise(self) -> bool | None:
        """Whether cross-fitted events gain more than they would in noise; None if unknown."""
        if self.bar is None or self.excess is None:
            return None
        return bool(self.excess[0] > self.bar)


def count_events(signals, fitted: int, recipe, halves=None) -> EventCounts:
    """Counts of a fit, of fits to halves, and of such fits to a surrogate.

    Parameters
    ----------
    signals : list of Piecewise
        Whitened, if the noise is not white; so are surrogates then: those of recordings that drift
        would have steps where their rows meet.
    fitted : int
        Number of events of the fit.
    recipe : EventRecipe
    halves : list of (Dictionary, list of Placed) or None
        The result of :func:`fitted_halves`; None means that it is computed.
    """
    if too_short(signals, recipe):
        return EventCounts(fitted)
    quick = replace(recipe, n_init=1, report=None)
    recipe.say("templates of halves")
    halves = fitted_halves(signals, recipe) if halves is None else halves
    crossed = [events for _, placed in halves for events in placed]
    recipe.say("a surrogate of noise")
    parts = parts_of(signals, recipe.length)
    noise = surrogate_of(parts, recipe.length, _generator(recipe.rng))
    found = fit_events(noise, quick).placed
    share = sum(s.n_points for s in signals) / sum(s.n_points for s in noise)
    alike = [events for _, placed in fitted_halves(noise, recipe) for events in placed]
    mine, chance = (np.concatenate([one.gain for one in each]) - 1 for each in (crossed, alike))
    most = MOST * float(np.median(np.concatenate([mine, chance, [0.0]])))
    mine, chance = np.minimum(mine, most), np.minimum(chance, most)
    spread = float(np.sqrt(2 * share * np.sum(chance**2)))
    return EventCounts(
        fitted,
        sum(map(len, crossed)),
        round(share * sum(map(len, found))),
        (float(mine.sum()), float(share * chance.sum()), spread),
    )


def too_short(signals, recipe) -> bool:
    """Whether a recording is too short to be divided into halves."""
    return any(signal.n_points < SHORT * recipe.length for signal in signals)


def fitted_halves(signals, recipe) -> list:
    """Templates of each half of the recordings, and their events in the other half.

    Returns
    -------
    list of (Dictionary, list of Placed)
    """
    quick = replace(recipe, n_init=1, report=None)
    halves = [
        [signal.part(0, signal.n_points // 2) for signal in signals],
        [signal.part(signal.n_points // 2, signal.n_points) for signal in signals],
    ]
    found = []
    for mine, other in (halves, halves[::-1]):
        fit = fit_events(mine, quick, parts_of(mine, recipe.length, loud=True))
        prices = estimated_prices(other, fit.dictionary, quick)[1]
        found.append((fit.dictionary, decode_all(other, fit.dictionary, prices, quick)[0]))
    return found


def _generator(rng) -> np.random.Generator:
    """A generator derived from a RandomState."""
    return np.random.default_rng(rng.randint(2**31 - 1))
