"""Long recordings, read piece by piece, in which events are searched for."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from gtpca.data.missing import as_nan, check_no_infinity
from gtpca.data.rows import is_dask

__all__ = ["Held", "Piecewise", "Signal", "Span", "map_pieces", "parts_of", "spans"]

CORE = 2**16  # points per piece
WINDOWS = 64  # or so many windows, if that is more
LEVELS, LEVEL_POINTS = 64, 2**20  # pieces and points for the level of a recording
PARTS = 4  # parts of long recordings in which templates are started and noise is estimated
PART = 2**15  # points of each
PART_WINDOWS = 256  # or so many windows, if that is more
MARGIN = 16  # windows on both sides of a piece: overlapping events are decoded together


@dataclass(frozen=True)
class Span:
    """A piece of a recording: its own points, and those that are read for them.

    Attributes
    ----------
    recording : int
    start, stop : int
        Its own points.
    low, high : int
        The points that are read: some more windows on both sides.
    """

    recording: int
    start: int
    stop: int
    low: int
    high: int


def spans(sizes, length: int, core: int | None = None) -> list[Span]:
    """Pieces of recordings of the given sizes, for windows of a given length."""
    core = max(CORE, WINDOWS * length) if core is None else core
    margin = MARGIN * length
    found = []
    for number, size in enumerate(sizes):
        # a short last piece is merged with the one before it
        count = max(1, round(size / core))
        ends = [core * i for i in range(count)] + [size]
        for start, stop in pairwise(ends):
            found.append(
                Span(number, start, stop, max(0, start - margin), min(size, stop + margin + length))
            )
    return found


class Signal:
    """One recording (n, C), in memory or anything that can be sliced along its first axis.

    Parameters
    ----------
    source : array (n,) or (n, C)
        With ``shape``, ``dtype`` and slicing.
    label : str
        Its name in error messages.
    turned : bool
        Whether it is (C, n), as in MNE.
    """

    def __init__(self, source: Any, label: str = "X", turned: bool = False):
        self.source, self.label, self.turned = source, label, turned
        shape = tuple(source.shape)
        if turned:
            shape = shape[::-1]
        self.n_points = int(shape[0])
        self.n_channels = int(shape[1]) if len(shape) == 2 else 1

    def __len__(self) -> int:
        return self.n_points

    @cached_property
    def level(self) -> np.ndarray:
        """The median of each channel, from pieces spread over a long recording, (C,)."""
        count, size = LEVELS, self.n_points // LEVELS
        if self.n_points <= LEVEL_POINTS:
            values = self.read(0, self.n_points)
        else:
            length = LEVEL_POINTS // count
            values = np.concatenate([self.read(i * size, i * size + length) for i in range(count)])
        seen = ~np.isnan(values).all(axis=0)
        found = np.zeros(self.n_channels)
        found[seen] = np.nanmedian(values[:, seen], axis=0)
        return found

    def read(self, start: int, stop: int) -> np.ndarray:
        """Points ``start`` to ``stop - 1`` as floats (n, C), with NaN for unobserved values."""
        values = self.source[:, start:stop].T if self.turned else self.source[start:stop]
        values = np.asarray(as_nan(values), dtype=np.float64)
        values = values.reshape(stop - start, self.n_channels)
        if np.isinf(values).any():
            check_no_infinity(self.label, values, np.arange(start, stop))
        return values


class Held:
    """Some points of a recording that were read already, in the place of all of it."""

    def __init__(self, block: np.ndarray, first: int, turned: bool):
        self.block, self.first, self.turned = block, first, turned

    def __getitem__(self, key):
        part = key[1] if self.turned else key
        inside = slice(part.start - self.first, part.stop - self.first)
        return self.block[:, inside] if self.turned else self.block[inside]


@dataclass(frozen=True, eq=False)
class Piecewise:
    """A recording as templates see it: centred, and whitened if noise is not white.

    Parameters
    ----------
    signal : Signal
    centre : array (C,)
    noise : StationaryNoise or None
    start : int
    stop : int or None
        A part of the recording.
    """

    signal: Signal
    centre: np.ndarray
    noise: Any = None
    start: int = 0
    stop: int | None = None

    @classmethod
    def of(cls, signal: Signal, center: bool = True, noise: Any = None) -> Piecewise:
        """The whole recording, minus the median of each channel unless ``center`` is False."""
        return cls(signal, signal.level if center else np.zeros(signal.n_channels), noise)

    @property
    def counted(self) -> int:
        """Number of points of the whole recording, to which the number of false alarms refers."""
        return self.signal.n_points

    @property
    def n_points(self) -> int:
        """Number of points of the part."""
        return (self.signal.n_points if self.stop is None else self.stop) - self.start

    @property
    def n_channels(self) -> int:
        """``C``."""
        return self.signal.n_channels

    def part(self, start: int, stop: int) -> Piecewise:
        """A part of it, as a separate recording."""
        return replace(self, start=self.start + start, stop=self.start + stop)

    @property
    def lookback(self) -> int:
        """Points before others that a filter needs for these."""
        return 0 if self.noise is None else max(self.noise.orders)

    def holding(self, block: Any, first: int) -> Piecewise:
        """The same recording, of which only the points of a block from ``first`` on are there."""
        signal = copy(self.signal)
        signal.source = None if block is None else Held(block, first, signal.turned)
        return replace(self, signal=signal)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Points ``start`` to ``stop - 1`` of the part, (n, C)."""
        first, last = self.start + start, self.start + stop
        if self.noise is None:
            return self.signal.read(first, last) - self.centre
        before = min(first, self.lookback)
        values = self.signal.read(first - before, last) - self.centre
        noise = replace(self.noise, sample_shape=values.shape)
        return noise.whiten(values.reshape(1, -1)).reshape(values.shape)[before:]


def map_pieces(signals: list[Piecewise], pieces: list[Span], task, given, n_jobs=None) -> list:
    """``task(signal, span, *small)`` of every piece: in threads, or where Dask has its points.

    Parameters
    ----------
    signals : list of Piecewise
    pieces : list of Span
    task : callable
        A function of a module.
    given : iterable of tuples
        Further arguments of each piece.
    n_jobs : int or None
        Threads; without meaning for Dask.
    """
    if any(is_dask(signal.signal.source) for signal in signals):
        from gtpca.data.dask import map_spans

        return map_spans(signals, pieces, task, given)
    run = delayed(task)
    return Parallel(n_jobs=n_jobs, prefer="threads")(
        run(signals[span.recording], span, *small)
        for span, small in zip(pieces, given, strict=True)
    )


def parts_of(signals: list[Piecewise], length: int, loud: bool = False) -> list[Piecewise]:
    """Parts of recordings that are small enough to be held in memory; short ones as a whole.

    Parameters
    ----------
    signals : list of Piecewise
    length : int
        Length of a window.
    loud : bool
        Whether half of the parts are those with the loudest windows and the others are spread
        evenly; otherwise all are spread evenly.
    """
    size = max(PART, PART_WINDOWS * length)
    if sum(signal.n_points for signal in signals) <= PARTS * size:
        return signals
    found = [
        signal.part(start, min(start + size, signal.n_points))
        for signal in signals
        for start in range(0, max(1, signal.n_points - size // 2), size)
    ]
    spread = np.unique(np.linspace(0, len(found) - 1, PARTS).round().astype(int))
    if loud:
        order = np.argsort([-_loudness(part, length) for part in found], kind="stable")
        spread = np.union1d(spread[::2], order[: PARTS // 2])
    return [found[i] for i in spread]


def _loudness(part, length) -> float:
    """Energy of the loudest window relative to that of a usual one."""
    power = np.nan_to_num(np.sum(part.read(0, part.n_points) ** 2, axis=1))
    total = np.cumsum(np.concatenate([[0.0], power]))
    energy = total[length:] - total[:-length]
    usual = np.median(energy) if len(energy) else 0.0
    return float(energy.max() / usual) if usual > 0 else 0.0
