"""How to display a sample or a component: lines, rows of a picture, an image, tiles, or colours."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gtpca.operators.grid import Axis, axes_of, is_dates
from gtpca.views.palette import CYCLE

__all__ = ["View", "choose_view", "component_view", "evenly", "montage", "sample_view"]

FEW_CHANNELS = len(CYCLE)  # up to this many are lines, each in its own colour
TILES = 16  # channels of a picture shown side by side
COLOURS = 3
THIN = 4  # an axis this short next to a long one holds channels


@dataclass(frozen=True)
class View:
    """How arrays of one shape are displayed, in plots and on the page.

    Attributes
    ----------
    kind : {"lines", "rows", "image", "tiles", "colours"}
        Either one axis is drawn, with a line for each of few channels or a row of a picture for
        each of many; or two axes are drawn, as one image, as an image per channel, or in three
        colours.
    shape : tuple of int
        Of one array.
    drawn : tuple of int
        The one or two axes that are drawn; the others hold channels.
    axes : tuple of Axis
        What is known about the axes; empty if nothing is.
    """

    kind: str
    shape: tuple[int, ...]
    drawn: tuple[int, ...]
    axes: tuple[Axis, ...] = ()

    @property
    def channel_axes(self) -> tuple[int, ...]:
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.drawn)

    @property
    def n_channels(self) -> int:
        return math.prod(self.shape[axis] for axis in self.channel_axes)

    @property
    def positions(self) -> np.ndarray:
        """Positions of the points of the last drawn axis; their numbers, if unknown."""
        axis = self._axis(self.drawn[-1])
        return np.arange(self.shape[self.drawn[-1]]) if axis.points is None else axis.points

    @property
    def position_name(self) -> str:
        """The name of the positions: "time (s)", or "point"."""
        axis = self._axis(self.drawn[-1])
        if axis.points is None or is_dates(axis.unit):
            return "point"
        return f"{axis.name or 'position'} ({axis.unit})" if axis.unit else axis.name or "position"

    @property
    def channel_names(self) -> list[str]:
        """Names of the channels: their own, or numbers from 1."""
        known = self._axis(self.channel_axes[0]).names if len(self.channel_axes) == 1 else None
        return list(known or (str(c + 1) for c in range(self.n_channels)))

    def _axis(self, number) -> Axis:
        return self.axes[number] if self.axes else Axis()

    @property
    def is_curve(self) -> bool:
        """Whether it is a single line."""
        return self.kind == "lines" and self.n_channels == 1

    def channels(self, arrays) -> np.ndarray:
        """Arrays (n, \\*shape) as (n, channels, points) or (n, channels, height, width)."""
        grid = np.asarray(arrays, dtype=np.float64).reshape(-1, *self.shape)
        order = (*self.channel_axes, *self.drawn)
        grid = grid.transpose(0, *(axis + 1 for axis in order))
        return grid.reshape(len(grid), -1, *(self.shape[axis] for axis in self.drawn))

    def picture(self, channels, gap=0.0) -> np.ndarray:
        """The values to draw from (n, channels, ..): pictures, or unchanged for lines and rows.

        An image is (n, height, width), as are tiles with a ``gap`` between them; in colours it is
        (n, height, width, 3).
        """
        if self.kind == "image":
            return channels[:, 0]
        if self.kind == "colours":
            return np.moveaxis(channels, 1, -1)
        return montage(channels, gap) if self.kind == "tiles" else channels


def sample_view(model) -> View:
    """The view of the samples of a fitted model."""
    operator = model.operator_
    view = choose_view(operator.sample_shape, operator.moved_axes, _only_flips(operator))
    return replace(view, axes=axes_of(operator.grid))


def component_view(model) -> View:
    """The view of its components: that of the samples, if they have the same number of axes."""
    operator = model.operator_
    shape = operator.weight_shape
    if len(shape) != len(operator.sample_shape):
        return choose_view(shape, range(len(shape)))
    drawn, axes = sample_view(model).drawn, axes_of(operator.weight_grid)
    return View(_kind(shape, drawn, operator.moved_axes), shape, drawn, axes)


def _only_flips(operator):
    names = operator.describe(np.zeros(1, dtype=np.int64))
    return bool(names) and all("flipped" in name for name in names)


def choose_view(shape, moved_axes, only_flips=False) -> View:
    """The view of arrays of ``shape``.

    1. Three values on the first or last of three axes, which does not move, are colours.
    2. Otherwise a single axis is drawn if it is the only one, or the only one that moves. Flips do
       not count: it is images, rather than series, that are mirrored.
    3. Otherwise two axes are drawn: those that move, or the two longest if these are not two.
    4. Of two axes, only the long one is drawn if the other has at most four points and it is more
       than four times as long: the short one holds channels.
    5. Up to seven channels of one axis are lines, more are the rows of a picture. Three channels of
       two axes that do not move are colours, others are shown side by side.

    Without rules 1 and 2, colour images that are only flipped, or moved along one axis, would be
    striped rows. Without rules 3 and 4, a volume would be shown by its middle slice, and channels
    next to a long axis as a picture of a few pixels. As to rule 5, seven lines can be distinguished
    and more cannot; and slices of a volume along a moving axis are not colours, even if there are
    three of them.

    Parameters
    ----------
    shape : tuple of int
    moved_axes : sequence of int
        These hold no channels.
    only_flips : bool
        Whether axes are flipped and nothing else.
    """
    shape, moved = tuple(int(size) for size in shape), tuple(moved_axes)
    drawn = _drawn_axes(shape, moved, () if only_flips else moved)
    return View(_kind(shape, drawn, moved), shape, drawn)


def _drawn_axes(shape, moved, travelled):
    """One axis for lines, two for pictures; ``travelled`` are those that are not just flipped."""
    axes = range(len(shape))
    colour = _colour_axis(shape, moved)
    if colour is not None:
        pair = tuple(axis for axis in axes if axis != colour)
    elif len(shape) == 1 or len(travelled) == 1:
        return travelled or (0,)
    elif len(travelled) == 2:
        pair = travelled
    else:
        pair = tuple(sorted(sorted(axes, key=lambda axis: -shape[axis])[:2]))
    short, long = sorted(pair, key=lambda axis: shape[axis])
    return (long,) if shape[short] <= THIN and shape[long] > THIN * shape[short] else pair


def _colour_axis(shape, moved):
    """The axis of red, green and blue, or None."""
    ends = (2, 0) if len(shape) == 3 else ()
    return next((axis for axis in ends if shape[axis] == COLOURS and axis not in moved), None)


def _kind(shape, drawn, moved):
    channels = [axis for axis in range(len(shape)) if axis not in drawn]
    count = math.prod(shape[axis] for axis in channels)
    if len(drawn) == 1:
        return "lines" if count <= FEW_CHANNELS else "rows"
    if count == 1:
        return "image"
    return "colours" if count == COLOURS and not set(channels) & set(moved) else "tiles"


def evenly(count, most) -> np.ndarray:
    """At most ``most`` of the numbers from 0 to ``count - 1``, evenly spaced."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def montage(grid, gap=0.0) -> np.ndarray:
    """Pictures (n, C, H, W) side by side, one point of ``gap`` between them: (n, H', W')."""
    n, count, height, width = grid.shape
    across = math.ceil(math.sqrt(count))
    down = -(-count // across)
    out = np.full((n, down * (height + 1) - 1, across * (width + 1) - 1), gap)
    for c in range(count):
        top, left = c // across * (height + 1), c % across * (width + 1)
        out[:, top : top + height, left : left + width] = grid[:, c]
    return out
