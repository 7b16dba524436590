"""From samples of any shape to what a screen can show: curves, a picture, or colours."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

__all__ = ["Layout", "lay_out"]

CURVES = 6  # more channels than that are drawn as the rows of a picture
ROWS, TILES = 64, 16  # channels drawn as rows, and side by side
POINTS = {"curves": 2048, "image": 8192, "colours": 8192}  # values of one drawn sample
RGB = 3
THIN = 4  # an axis so short beside a long one holds channels


@dataclass(frozen=True)
class Layout:
    """How arrays (n, \\*shape) are drawn.

    Attributes
    ----------
    kind : {"curves", "image", "colours"}
        Channels of a series (C, T), one picture (H, W), or one in three colours (H, W, 3).
    shape : tuple of int
        Of one array before it is drawn.
    order : tuple of int
        Its axes: first the channels, then the drawn ones.
    n_drawn : int
        How many axes are drawn, 1 or 2.
    channels : int array
        Those that are drawn.
    factor : int
        So many neighbours on each drawn axis are averaged.
    """

    kind: str
    shape: tuple[int, ...]
    order: tuple[int, ...]
    n_drawn: int
    channels: np.ndarray
    factor: int

    def __call__(self, arrays) -> np.ndarray:
        """What is drawn of arrays (n, \\*shape), in float64; linear in them."""
        grid = np.asarray(arrays, dtype=np.float64).reshape(-1, *self.shape)
        grid = grid.transpose(0, *(axis + 1 for axis in self.order))
        drawn = grid.shape[grid.ndim - self.n_drawn :]
        grid = grid.reshape(len(grid), -1, *drawn)[:, self.channels]
        for axis in range(2, grid.ndim):
            grid = block_means(grid, self.factor, axis)
        return self._arranged(grid)

    def _arranged(self, grid):
        """Channels (n, C, ..) where they are drawn."""
        if self.n_drawn == 1:
            return grid
        if self.kind == "colours":
            return np.moveaxis(grid, 1, -1)
        return montage(grid)

    def described(self) -> dict:
        """What the page must know."""
        size = self(np.zeros((1, *self.shape))).shape[1:]
        hidden = math.prod(self.shape) // math.prod(self._drawn_sizes()) - len(self.channels)
        return {
            "kind": self.kind,
            "shape": list(size),
            "factor": self.factor,
            "channels": self.channels.tolist(),
            "hidden": hidden,
            "tiled": self.n_drawn == 2 and self.kind == "image" and len(self.channels) > 1,
            "rows": self.n_drawn == 1 and self.kind == "image",
        }

    def _drawn_sizes(self):
        return [self.shape[axis] for axis in self.order[len(self.order) - self.n_drawn :]]


def lay_out(shape, moved_axes) -> Layout:
    """The layout of arrays of ``shape`` whose ``moved_axes`` are no channels."""
    shape = tuple(int(size) for size in shape)
    drawn = _drawn_axes(shape, tuple(moved_axes))
    rest = tuple(axis for axis in range(len(shape)) if axis not in drawn)
    count = math.prod(shape[axis] for axis in rest)
    kind = _kind(len(drawn), count)
    most = {"curves": CURVES, "image": ROWS if len(drawn) == 1 else TILES, "colours": RGB}[kind]
    channels = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
    sizes = [shape[axis] for axis in drawn]
    factor = _factor(sizes, len(channels), POINTS[kind])
    return Layout(kind, shape, rest + drawn, len(drawn), channels, factor)


def _drawn_axes(shape, moved):
    """One axis for curves, two for pictures."""
    if len(shape) == 1 or len(moved) == 1:
        return moved or (0,)
    if len(moved) != 2:  # nothing moves, or everything in a volume: the two longest axes
        moved = tuple(sorted(sorted(range(len(shape)), key=lambda axis: -shape[axis])[:2]))
    short, long = sorted(moved, key=lambda axis: shape[axis])
    thin = len(shape) == 2 and shape[short] <= THIN and shape[long] > THIN * shape[short]
    return (long,) if thin else moved


def _kind(n_drawn, n_channels):
    if n_drawn == 1:
        return "curves" if n_channels <= CURVES else "image"
    return "colours" if n_channels == RGB else "image"


def _factor(sizes, n_channels, most):
    """The smallest factor by which the drawn axes must shrink."""
    factor = 1
    while n_channels * math.prod(-(-size // factor) for size in sizes) > most and factor < max(
        sizes
    ):
        factor += 1
    return factor


def block_means(grid, factor, axis):
    """Means of ``factor`` neighbours along an axis; the last block may be shorter."""
    if factor == 1:
        return grid
    starts = np.arange(0, grid.shape[axis], factor)
    counts = np.diff([*starts, grid.shape[axis]])
    shape = [-1 if a == axis else 1 for a in range(grid.ndim)]
    return np.add.reduceat(grid, starts, axis=axis) / counts.reshape(shape)


def montage(grid):
    """Pictures (n, C, H, W) side by side with a gap of one point: (n, H', W')."""
    n, count, height, width = grid.shape
    across = math.ceil(math.sqrt(count))
    down = -(-count // across)
    out = np.zeros((n, down * (height + 1) - 1, across * (width + 1) - 1))
    for c in range(count):
        top, left = c // across * (height + 1), c % across * (width + 1)
        out[:, top : top + height, left : left + width] = grid[:, c]
    return out
