"""Windows that may be at any position."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from gtpca import checks
from gtpca._typing import Shape
from gtpca.families.base import Family, Size, moved_axes, resolve_axes
from gtpca.operators import Operator
from gtpca.operators.fractions import FractionalShiftOperator, fine_axis
from gtpca.operators.grid import Grid, axis_of, length_in_points, resized, shape_text
from gtpca.operators.shift import ShiftAxis, ShiftOperator

__all__ = ["Shift"]

RULES = {
    "boundary": checks.one_of("valid", "partial", "circular"),
    "step": checks.at_least(1),
    "window": checks.optional(checks.sizes),
    "max_shift": checks.optional(checks.at_least(0)),
    "min_overlap": checks.share,
    "fractions": checks.at_least(1),
}
SHORT_CIRCLE = 7  # points of a circle on which all taps of two fractions are distinct


class Shift(Family):
    """The component is a window that may be at any position.

    On one axis with ``D`` sample points and a window of ``L`` weights, offset ``o`` is

        (T_o w)[x] = w[x - o]   where 0 <= x - o < L, and 0 elsewhere.

    The pose ``start`` is ``o``: the sample position of the window's first weight; ``centre`` is
    ``o + (L - 1) / 2``. A positive offset moves the component towards larger positions. If the
    window is longer than the sample, offsets are negative and the sample is a crop of the window.

    Parameters
    ----------
    window : int, str, tuple of these or None
        Size of the component on the moved axes, one entry per axis; None: that of the sample. In
        points or, if the unit of an axis is known, a length such as ``"0.3s"``.
    axes : int, str, tuple of these or None
        The moved axes of a sample, by number or by name; the others (channels) move along. Default:
        the leading ``len(window)`` axes; samples of rank 1 need none, and for samples with the axes
        "channel" and "time", such as MNE's Epochs, time is moved.
    boundary : {"valid", "partial", "circular"}
        "valid": the window lies fully inside the sample, or the sample fully inside the window.
        "partial": at least ``min_overlap`` of the shorter one lies inside the other; for events
        that the border of a sample may cut. "circular": the window wraps around the end of the
        sample.
    max_shift : int, str or None
        Largest distance from the centred position ``(D - L) // 2``.
    step : int or str
        Distance between neighbouring offsets; the centred position is one of them.
    min_overlap : float in (0, 1]
        For "partial".
    fractions : int
        Number of offsets per sample: with 8, offsets are multiples of 1/8. Between samples the
        window is interpolated by Keys' cubic. Needs ``step=1``. For sharp features at any latency;
        see the how-to "Latencies between samples".

    Examples
    --------
    >>> from gtpca import Shift
    >>> Shift(window=3).bind((5,)).describe([0, 2])["start"]
    array([0, 2])
    >>> Shift(window=(28, 28)).bind((56, 56)).n_transforms
    841
    >>> Shift(window=3, fractions=4).bind((5,)).describe([0, 1, 8])["start"]
    array([0.  , 0.25, 2.  ])
    """

    hint_if_still = "A smaller window can move."
    hint_if_large = "A larger step or a smaller max_shift of Shift makes fewer transforms."

    window: Any  # as it was given; `bind` converts it to points
    axes: Any
    max_shift: Any
    step: Any

    def __init__(
        self,
        window: int | str | tuple[int | str, ...] | None = None,
        axes: int | str | tuple[int | str, ...] | None = None,
        boundary: Literal["valid", "partial", "circular"] = "valid",
        max_shift: int | str | None = None,
        step: int | str = 1,
        min_overlap: float = 0.5,
        fractions: int = 1,
    ):
        self.window = window
        self.axes = axes
        self.boundary = boundary
        self.max_shift = max_shift
        self.step = step
        self.min_overlap = min_overlap
        self.fractions = fractions

    def bind(self, sample_shape: Shape) -> Operator:
        """All shifts of the window on samples of ``sample_shape``."""
        family = self._in_points(sample_shape)
        tracks, axes = family._tracks(sample_shape), family._axes(sample_shape)
        if self.fractions > 1:
            return FractionalShiftOperator(tracks, axes, self.fractions, grid=sample_shape)
        return ShiftOperator(tracks, axes, grid=sample_shape)

    def size(self, sample_shape: Shape) -> Size:
        """The grid of the FFT, the weights of a component and one score per transform."""
        tracks = self._in_points(sample_shape)._tracks(sample_shape)
        windows = tuple(track.window for track in tracks)
        if isinstance(sample_shape, Grid):
            windows = resized(sample_shape, windows)
        n_transforms = math.prod(float(fine_axis(t, self.fractions).count) for t in tracks)
        n_grid = math.prod(float(track.extent) for track in tracks)
        n_weights = math.prod(map(float, windows))
        return Size(n_transforms, windows, n_grid + n_weights + n_transforms)

    def _in_points(self, sample_shape):
        """The same family, with all lengths in points."""
        lengths = (self.window, self.max_shift, self.step)
        if not any(isinstance(part, str) for length in lengths for part in _parts(length)):
            return self
        axes = [axis_of(sample_shape, j) for j in self._axes(sample_shape)]
        window = [
            length_in_points("Shift: window", part, axis)
            for part, axis in zip(_parts(self.window), axes, strict=False)
        ]
        others = {
            name: length_in_points(f"Shift: {name}", getattr(self, name), axes[0], least)
            for name, least in (("max_shift", 0), ("step", 1))
        }
        windows = tuple(window) if np.ndim(self.window) else window[0]
        return clone(self).set_params(window=windows, **others)

    def _tracks(self, sample_shape):
        checks.parameters(self, RULES, "Shift: ")
        axes = self._axes(sample_shape)
        self._check_fractions([sample_shape[a] for a in axes])
        windows = dict(zip(axes, self._windows(sample_shape, axes), strict=True))
        return [
            self._track(size, windows[j]) if j in windows else ShiftAxis(size, size)
            for j, size in enumerate(sample_shape)
        ]

    def _check_fractions(self, sizes):
        if self.fractions > 1 and self.step != 1:
            raise ValueError(
                f"Shift: fractions={self.fractions} needs step=1, but step={self.step}; offsets "
                f"are then 1/{self.fractions} of a sample apart."
            )
        if self.fractions > 1 and self.boundary == "circular" and min(sizes) < SHORT_CIRCLE:
            raise ValueError(
                f"Shift: fractions={self.fractions} needs at least {SHORT_CIRCLE} points on a "
                f"circular axis, but there are {min(sizes)}; use fractions=1."
            )

    def _axes(self, sample_shape):
        rank = len(sample_shape)
        count = None if np.ndim(self.window) == 0 else len(self.window)
        window = None if isinstance(self.window, str) else self.window
        if count is not None and not 0 < count <= rank:
            raise ValueError(
                f"Shift: window={self.window!r} must have one entry per moved axis, 1 to {rank} "
                f"for samples of shape {shape_text(sample_shape)}."
            )
        if self.axes is not None:
            return resolve_axes(self, self.axes, sample_shape, count)
        if count is not None:
            return tuple(range(count))
        return moved_axes(self, sample_shape, window)

    def _windows(self, sample_shape, axes):
        if self.window is None:
            return [sample_shape[a] for a in axes]
        windows = self.window if np.ndim(self.window) else (self.window,) * len(axes)
        return [int(window) for window in windows]

    def _track(self, size, window):
        centre = (size - window) // 2
        if self.boundary == "circular":
            return self._circular_track(size, window, centre)
        low, high = min(0, size - window), max(0, size - window)
        if self.boundary == "partial":
            overlap = math.ceil(self.min_overlap * min(size, window) - 1e-9)
            low, high = overlap - window, size - overlap
        reach = high - low if self.max_shift is None else self.max_shift
        down, up = min(reach, centre - low) // self.step, min(reach, high - centre) // self.step
        first = centre - down * self.step
        return ShiftAxis(size, window, first=first, step=self.step, count=down + up + 1)

    def _circular_track(self, size, window, centre):
        if window > size:
            raise ValueError(
                f"Shift: window={window} is longer than the sample ({size} points), which a "
                f"circular boundary does not allow; use at most {size} or boundary='valid'."
            )
        if self.max_shift is None or 2 * self.max_shift >= size:
            first = centre % self.step
            count = -((first - size) // self.step)
        else:
            down = self.max_shift // self.step
            first, count = centre - down * self.step, 2 * down + 1
        return ShiftAxis(size, window, first=first, step=self.step, count=count, circular=True)


def _parts(length):
    """The entries of a length, one or several."""
    return length if np.ndim(length) else (length,)
