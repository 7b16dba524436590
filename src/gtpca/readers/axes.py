"""What a file says about the axes of its samples, in the form that a fitted model stores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gtpca.data.labels import Labels
from gtpca.operators.grid import Axis, even_points

if TYPE_CHECKING:
    from gtpca.readers.data import Data

__all__ = ["labels_of", "with_rate"]

CLOSE = 1e-3  # of a step


def with_rate(data: Data, rate: float) -> Data:
    """The data with a sampling rate in Hz; times that count points become seconds."""
    if not 0 < rate < np.inf:
        raise ValueError(f"rate={rate!r} must be a number above 0")
    if data.positions is None or len(data.positions) < 2:
        return replace(data, sampling_rate=float(rate))
    step = float(np.diff(data.positions).min())
    if abs(step * rate - 1) <= CLOSE:
        return replace(data, sampling_rate=float(rate))
    if abs(step - 1) <= CLOSE:
        return replace(data, sampling_rate=float(rate), positions=data.positions / rate)
    raise ValueError(
        f"rate={rate:g} does not fit times {step:g} apart; they must count points, or be seconds"
    )


def labels_of(data: Data, reading=None) -> Labels:
    """Names, units and positions of the axes of a sample.

    If a sampling rate is known, series run along "time", which is the first axis unless the file
    says otherwise; ``reading`` are the options with which the file was read.
    """
    shape = data.rows.shape[1:]
    names = list(data.axes or (None,) * len(shape))
    timed = data.sampling_rate is not None or data.positions is not None
    if timed and "time" not in names:
        names[0] = names[0] or "time"
    clock = names.index("time") if "time" in names else 0
    known = [data.features, *[None] * (len(shape) - 1)]  # names along the axes
    known = [*known[:-1], data.channels] if len(shape) > 1 else known
    each = enumerate(zip(names, known, shape, strict=True))
    axes = [_axis(data, *about, timed and j == clock) for j, about in each]
    return Labels(tuple(axes), reading=dict(reading or {}))


def _axis(data, name, known, size, timed) -> Axis:
    """One axis, with positions if it is the time axis."""
    unique = known is not None and len(known) == len(set(known)) == size
    names = tuple(known) if unique else None
    if not timed:
        return Axis(name, names=names)
    rate = data.sampling_rate
    points = data.positions
    if points is None:
        points = even_points(data.start, float(rate or 1), size)
    return Axis(name, "" if rate is None else "s", np.asarray(points, dtype=np.float64), names)
