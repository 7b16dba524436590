"""Events of recordings: the fitted templates as a value, and the table of their events."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gtpca.data.signals import Piecewise, Span, map_pieces, parts_of, spans
from gtpca.model.decoding import Dictionary, Placed, decode_piece, render
from gtpca.model.prices import Noise, NoiseSample, prices_of
from gtpca.model.stationary import StationaryNoise
from gtpca.operators.grid import Axis
from gtpca.optional import require

__all__ = [
    "EASE",
    "ESTIMATED",
    "FEW_WINDOWS",
    "EventModel",
    "Events",
    "cost_of",
    "decode_all",
    "decode_span",
    "estimated_prices",
    "joined",
    "price_table",
    "statistics",
]

ESTIMATED = 3  # passes after which prices are frozen
EASE = (0.4, 0.7)  # of prices in the first passes: what is not explained yet makes them too high
FEW_WINDOWS = 32  # recordings shorter than this do not tell their noise: that of the fit is taken


@dataclass(frozen=True, eq=False)
class Events:
    """A table of events, sorted by recording and time.

    Attributes
    ----------
    recording : int array (n,)
        Number of the recording.
    start : int array (n,)
        Point at which the window of the event begins.
    component : int array (n,)
        Which template; 0 for all if templates share a pose.
    scores : array (n, 1), or (n, K) if templates share a pose
        How much of each template: components have norm 1.
    gain : array (n,)
        Energy that the residual would gain without the event, over its price: at least 1, but for
        rounding.
    sizes : tuple of int
        Points of each recording.
    axis : Axis or None
        What is known of time: its unit and the distance of points.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import Events
    >>> zeros = np.zeros(3, int)
    >>> events = Events(zeros, np.array([5, 40, 90]), zeros, np.ones((3, 1)), np.full(3, 2.0))
    >>> len(events), events[1:].start
    (3, array([40, 90]))
    """

    recording: np.ndarray
    start: np.ndarray
    component: np.ndarray
    scores: np.ndarray
    gain: np.ndarray
    sizes: tuple[int, ...] = ()
    axis: Axis | None = None

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, which: Any) -> Events:
        """Some of the events: a slice, a mask or numbers."""
        if isinstance(which, (int, np.integer)):
            which = np.array([which])
        names = ("recording", "start", "component", "scores", "gain")
        return replace(self, **{name: getattr(self, name)[which] for name in names})

    def __repr__(self) -> str:
        n = len(self.sizes)
        return f"<{len(self)} events in {n} recording{'' if n == 1 else 's'}>"

    @property
    def step(self) -> float:
        """Distance between points in the unit of time; 1 if that is not known."""
        known = None if self.axis is None else self.axis.step
        return 1.0 if known is None else float(known)

    @property
    def time(self) -> np.ndarray:
        """Starts in the unit of time, (n,); points, if that is not known."""
        first = 0.0
        if self.axis is not None and self.axis.step is not None and self.axis.points is not None:
            first = float(self.axis.points[0])
        return self.start if self.step == 1.0 and not first else first + self.start * self.step

    def columns(self) -> dict[str, np.ndarray]:
        """The table, column by column."""
        unit = "" if self.axis is None or not self.axis.unit else f"_{self.axis.unit}"
        table: dict[str, np.ndarray] = {"recording": self.recording, "start": self.start}
        if unit:
            table[f"time{unit}"] = self.time
        table["component"] = self.component
        if self.scores.shape[1] == 1:
            table["score"] = self.scores[:, 0]
        else:
            table |= {f"score{k}": column for k, column in enumerate(self.scores.T)}
        return table | {"gain": self.gain}

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame."""
        return require("pandas", "io").DataFrame(self.columns())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the table to a file; the ending says which kind: ``.csv``, ``.parquet``, ..

        It is written under another name first: a file of that name is whole.
        """
        from gtpca.readers.writers import write_table

        write_table(path, self.columns())

    def of(self, recording: int) -> Events:
        """The events of one recording."""
        return self[self.recording == recording]

    @property
    def intervals(self) -> np.ndarray:
        """Times from each event to the next one of the same recording, in the unit of time."""
        same = self.recording[1:] == self.recording[:-1]
        return (np.diff(self.start) * self.step)[same]


@dataclass(frozen=True, eq=False)
class EventModel:
    """Fitted templates as a value: it decodes recordings.

    Parameters
    ----------
    weights : array (S, Q, L, C)
        Templates in what is decoded, whitened or not: of unit norm, in groups that share a pose.
    data_weights : array (S, Q, L, C)
        The same in the units of the data, of unit norm.
    scale : array (S, Q)
        Scores in the data are those on ``weights`` times this.
    noise : StationaryNoise or None
        The filter that makes the noise of recordings white.
    level : Noise
        Deviation and crossings of correlations with noise in the recordings of the fit.
    positive : bool
    refractory : int
    false_alarms : float
    center : bool
        Whether the level of each channel, its median, is taken off.
    n_jobs : int or None
    core : int or None
        Points of a piece; None: a default.
    """

    weights: np.ndarray
    data_weights: np.ndarray
    scale: np.ndarray
    noise: StationaryNoise | None
    level: Noise
    positive: bool
    refractory: int
    false_alarms: float = 1.0
    center: bool = True
    n_jobs: int | None = None
    core: int | None = field(default=None)

    @property
    def dictionary(self) -> Dictionary:
        """Templates with the overlaps of their copies."""
        return Dictionary(self.weights, self.positive, self.refractory)

    def seen(self, signals) -> list[Piecewise]:
        """Recordings as the templates see them."""
        return [Piecewise.of(signal, self.center, self.noise) for signal in signals]

    def raw(self, signals) -> list[Piecewise]:
        """Recordings in their own units, minus their level."""
        return [Piecewise.of(signal, self.center) for signal in signals]

    def levels(self, seen) -> list[Noise]:
        """The noise of each recording; that of the fit if it is too short to estimate it."""
        dictionary, found = self.dictionary, []
        for signal in seen:
            if signal.n_points < FEW_WINDOWS * dictionary.length:
                found.append(self.level)
                continue
            parts = parts_of([signal], dictionary.length)
            each = estimated_prices(parts, dictionary, self)[0]
            sigma = np.median([one.sigma for one in each], axis=0)
            found.append(Noise(sigma, np.mean([one.rate for one in each], axis=0)))
        return found

    def prices(self, seen, noise: list[Noise] | None = None) -> np.ndarray:
        """``theta^2`` of every recording and group, (R, S), from the noise of each recording."""
        pairs = zip(self.levels(seen) if noise is None else noise, seen, strict=True)
        dictionary, alarms = self.dictionary, self.false_alarms
        return np.stack([prices_of(one, s.counted, alarms, dictionary) for one, s in pairs])

    def placed(self, signals) -> list[Placed]:
        """Events of recordings, with scores on ``weights``."""
        seen = self.seen(signals)
        return decode_all(seen, self.dictionary, self.prices(seen), self)[0]

    def encode(self, signals, axis: Axis | None = None) -> Events:
        """Events of recordings, with scores in the units of the data."""
        return self.table(self.placed(signals), [s.n_points for s in signals], axis)

    def table(self, placed, sizes, axis=None) -> Events:
        """Events of all recordings as one table."""
        number = np.repeat(np.arange(len(placed)), [len(events) for events in placed])
        every = joined(placed)
        scores = every.scores * self.scale[every.group]
        sizes = tuple(int(n) for n in sizes)
        return Events(number, every.start, every.group, scores, every.gain, sizes, axis)

    def render(self, events: Events, recording: int, start: int, stop: int) -> np.ndarray:
        """The sum of events on some points of a recording, in the units of the data, (n, C)."""
        mine = events[
            (events.recording == recording)
            & (events.start > start - self.weights.shape[2])
            & (events.start < stop)
        ]
        placed = Placed(mine.start - start, mine.component, mine.scores)
        return render(placed, self.data_weights, stop - start)


def decode_all(signals, dictionary, prices, recipe, before=None, thorough=True):
    """Events of every recording, and samples of noise in its correlations.

    Parameters
    ----------
    signals : list of Piecewise
    dictionary : Dictionary
    prices : array (R, S)
    recipe : EventRecipe
    before : list of Placed or None
        Events to improve; None: they are found from scratch.
    thorough : bool
        Whether pairs of events are swept over.

    Returns
    -------
    placed : list of Placed
        With ``gain``: what the residual would gain without each, relative to its price.
    samples : list of NoiseSample
    """
    dictionary.prepare()
    nothing = [None] * len(signals) if before is None else before

    def given(span):
        r = span.recording
        return dictionary, prices[r], nothing[r], thorough

    pieces, parts = over_spans(signals, recipe, dictionary.length, decode_span, given)
    sizes = [signal.n_points for signal in signals]
    found: list[list[Placed]] = [[] for _ in sizes]
    samples = [NoiseSample.none(dictionary) for _ in sizes]
    for span, (placed, sample) in zip(pieces, parts, strict=True):
        found[span.recording].append(placed)
        samples[span.recording] = samples[span.recording] + sample
    return [joined(each) for each in found], samples


def over_spans(signals, recipe, length, task, given):
    """``task(signal, span, *given(span))`` of all pieces of recordings, in their order.

    Returns
    -------
    pieces : list of Span
    answers : list
    """
    pieces = spans([signal.n_points for signal in signals], length, recipe.core)
    return pieces, map_pieces(signals, pieces, task, map(given, pieces), recipe.n_jobs)


def decode_span(signal, span: Span, dictionary, prices, before, thorough):
    """Events that begin in a piece, and its sample of noise."""
    Y = signal.read(span.low, span.high)
    old = None
    if before is not None:
        inside = (before.start >= span.low) & (before.start <= span.high - dictionary.length)
        old = before.take(inside).moved(-span.low)
    piece = decode_piece(Y, dictionary, prices, old, thorough)
    placed = piece.told().moved(span.low)
    mine = (placed.start >= span.start) & (placed.start < span.stop)
    return placed.take(mine), NoiseSample.of(piece, span, signal.n_points)


def joined(parts: list[Placed]) -> Placed:
    """Events of consecutive pieces."""
    return Placed(
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.group for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.gain for part in parts]),
    )


def statistics(signals, placed, weights, recipe, pad=0):
    """Right-hand sides ``sum_e a_e y(t_e + l)`` of the update, and the energy of the residual.

    Windows are longer by ``pad`` on both sides. Unobserved values are predicted by the events: then
    least squares on complete recordings lowers the energy of the observed values.
    """

    def given(span):
        return placed[span.recording], weights, pad

    _, parts = over_spans(signals, recipe, weights.shape[2], _span_statistics, given)
    return sum(rhs for rhs, _ in parts), sum(left for _, left in parts)


def _span_statistics(signal, span: Span, events, weights, pad):
    """What a piece says: right-hand sides of the events that begin in it, and its energy left."""
    S, Q, L, C = weights.shape
    rhs, reach = np.zeros((S, Q, L + 2 * pad, C)), L + pad
    low, high = max(0, span.start - reach), min(signal.n_points, span.stop + reach)
    Y = signal.read(low, high)
    near = events.take((events.start > low - L) & (events.start < high)).moved(-low)
    built = render(near, weights, high - low)
    Y = np.where(np.isnan(Y), built, Y)
    rest = (Y - built)[span.start - low : span.stop - low]
    own = near.take((near.start >= span.start - low) & (near.start < span.stop - low))
    windows = sliding_window_view(np.pad(Y, ((pad, pad), (0, 0))), L + 2 * pad, axis=0)
    for g in np.unique(own.group):
        mine = own.group == g
        cut = windows[own.start[mine]].reshape(mine.sum(), -1)  # (n, C L)
        rhs[g] += (own.scores[mine].T @ cut).reshape(Q, C, -1).transpose(0, 2, 1)
    return rhs, float(np.vdot(rest, rest))


def price_table(samples, signals, recipe, dictionary):
    """The noise of every recording, and ``theta^2`` of every recording and group, (R, S)."""
    noise = [sample.noise() for sample in samples]
    pairs = zip(noise, signals, strict=True)
    return noise, np.stack(
        [prices_of(one, signal.counted, recipe.false_alarms, dictionary) for one, signal in pairs]
    )


def cost_of(placed, prices) -> float:
    """The prices of all events together."""
    return sum(float(prices[r][events.group].sum()) for r, events in enumerate(placed))


def estimated_prices(signals, dictionary, recipe, n_passes=ESTIMATED):
    """Prices of templates that stay fixed, from the residual of decoding; and the noise.

    The first prices are those of the recordings including the events.
    """
    none = np.full((len(signals), dictionary.n_groups), np.inf)
    samples = decode_all(signals, dictionary, none, recipe, thorough=False)[1]
    noise, prices = price_table(samples, signals, recipe, dictionary)
    for i in range(n_passes):
        ease = EASE[i] if i < len(EASE) else 1.0
        samples = decode_all(signals, dictionary, ease * prices, recipe, thorough=False)[1]
        noise, prices = price_table(samples, signals, recipe, dictionary)
    return noise, prices
