"""Events of a recording that is still going on, reported as soon as they are certain.

Points are kept in a buffer. Whenever there are enough, a :class:`~gtpca.data.signals.Span` is
decoded like one of a whole recording: events are those that begin in its own points, with some
windows before and after them read along, as events that overlap are decoded together.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gtpca.data.missing import as_nan
from gtpca.data.signals import Piecewise, Signal, Span
from gtpca.model.decoding import Placed
from gtpca.model.events import EventModel, Events, decode_span, joined
from gtpca.operators.grid import Axis

__all__ = ["DELAY", "EventStream"]

DELAY = 16  # windows
ALONG = 4  # windows that are read along before and after the own points of a span


class EventStream:
    """Events of a recording whose points come in one after the other.

    Made by ``EventGTPCA.stream``. Each call takes the next points, as many as there are, and
    returns the events that have become certain. How points are divided among calls does not change
    the events. A stream remembers its points: every recording, and every thread, needs its own.

    Parameters
    ----------
    model : EventModel
    prices : array (S,)
        ``theta^2`` of each group.
    level : array (C,)
        Subtracted from every point.
    delay : int
        Points after the end of its window by which an event is reported.
    flat : bool
        Whether points are single values.
    axis : Axis or None
        What is known about time.

    Attributes
    ----------
    n_points : int
        The number of points so far.
    delay : int
    """

    def __init__(
        self,
        model: EventModel,
        prices: np.ndarray,
        level: np.ndarray,
        delay: int,
        flat: bool,
        axis: Axis | None = None,
    ):
        self._model, self._prices, self._axis = model, prices, axis
        self._dictionary = model.dictionary
        self._dictionary.prepare()
        self._shape = () if flat else (len(level),)
        self._signal = Piecewise(Signal(np.empty((0, len(level))), "x"), level, model.noise)
        self._length = self._dictionary.length
        self._ahead = min(delay // 2, ALONG * self._length)
        self._step = delay - self._ahead
        self._before = ALONG * self._length
        self.delay, self.n_points = delay, 0
        self._decoded = 0  # points whose events have been reported
        self._first, self._ended = 0, False
        kept = self._before + self._signal.lookback + delay + self._length
        self._block = np.empty((2 * kept, len(level)))
        none = model.table([Placed.none(self._dictionary.size)], [0])
        self._none = (none.recording, none.start, none.component, none.scores, none.gain)

    def __repr__(self) -> str:
        return f"<EventStream after {self.n_points} points, with a delay of {self.delay}>"

    def __call__(self, x: Any) -> Events:
        """Take the next points and return the events that are certain now.

        Parameters
        ----------
        x : array (n,) or (n, C), or a single point, a number or (C,)
            NaN means not observed and never produces an event.

        Returns
        -------
        Events
            Their starts count from the first point of the stream.
        """
        points, found = self._points(x), []
        while len(points):
            room = len(self._block) - (self.n_points - self._first)
            self._append(points[:room])
            points = points[room:]
            while self.n_points >= self._due:
                found.append(self._decode(self._decoded + self._step))
            self._forget()
        return self._table(found)

    def finish(self) -> Events:
        """The remaining events of a recording that has come to its end."""
        found = []
        if not self._ended and self.n_points >= self._length:
            found.append(self._decode(self.n_points))
        self._ended = True
        return self._table(found)

    def _points(self, x):
        """Points as an array (n, C)."""
        if self._ended:
            raise ValueError("the stream has finished; make another one for another recording.")
        if type(x) is not np.ndarray:
            x = np.asarray(x if isinstance(x, float) else as_nan(x))
        if x.dtype.kind not in "biuf":
            raise TypeError(f"x is of {x.dtype}, but must hold numbers.")
        if x.shape[x.ndim - len(self._shape) :] != self._shape or x.ndim > len(self._shape) + 1:
            what = "(n,)" if not self._shape else f"(n, {self._shape[0]})"
            raise ValueError(f"x has shape {x.shape}, but must be the next points, {what}.")
        if not math.isfinite(x.sum()) and np.isinf(x).any():
            raise ValueError("x has infinite values; replace them by NaN if they are not known.")
        return x.reshape(-1, self._block.shape[1])

    @property
    def _due(self):
        """The number of points with which the next span can be decoded."""
        return self._decoded + self._step + self._ahead + self._length

    def _append(self, points):
        """Put points behind those of the buffer."""
        at = self.n_points - self._first
        self._block[at : at + len(points)] = points
        self.n_points += len(points)

    def _forget(self):
        """Drop points that nothing to come depends on."""
        first = max(0, self._decoded - self._before - self._signal.lookback)
        if self.n_points - self._first == len(self._block):
            kept = self._block[first - self._first : self.n_points - self._first].copy()
            self._block[: len(kept)] = kept
            self._first = first

    def _decode(self, stop):
        """Events that begin between the points decoded so far and ``stop``."""
        start = self._decoded
        high = min(self.n_points, stop + self._ahead + self._length)
        span = Span(0, start, stop, max(0, start - self._before), high)
        signal = self._signal.holding(self._block, self._first)
        placed, _ = decode_span(signal, span, self._dictionary, self._prices, None, True)
        self._decoded = stop
        return placed

    def _table(self, found):
        """Events of consecutive spans."""
        if not found:
            return Events(*self._none, (self.n_points,), self._axis)
        return self._model.table([joined(found)], [self.n_points], self._axis)
