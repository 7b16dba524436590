"""How much of a view fits on the page: which channels, and how many neighbours are averaged."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gtpca.page.packing import clipped
from gtpca.views.samples import TILES, View, evenly

__all__ = ["Layout", "lay_out"]

ROWS = 64  # largest number of channels drawn as rows
LINE_POINTS, PICTURE_POINTS = 2048, 8192  # values per drawn sample


@dataclass(frozen=True)
class Layout:
    """How arrays (n, \\*shape) are drawn on the page.

    Attributes
    ----------
    view : View
    channels : int array
        Those that are drawn.
    factor : int
        Number of neighbours that are averaged on each drawn axis.
    """

    view: View
    channels: np.ndarray
    factor: int

    @property
    def kind(self) -> str:
        return self.view.kind

    def __call__(self, arrays) -> np.ndarray:
        """The values to draw from arrays (n, \\*shape), in float64; linear in them."""
        grid = self.view.channels(arrays)[:, self.channels]
        for axis in range(2, grid.ndim):
            grid = block_means(grid, self.factor, axis)
        return self.view.picture(grid)

    def described(self) -> dict:
        """What the page needs to know."""
        sizes = [-(-self.view.shape[axis] // self.factor) for axis in self.view.drawn]
        return {
            "kind": self.kind,
            "shape": list(self(np.zeros((1, *self.view.shape))).shape[1:]),
            "factor": self.factor,
            "channels": self.channels.tolist(),
            "names": [clipped(self.view.channel_names[c]) for c in self.channels],
            "x": block_means(self.view.positions.astype(np.float64), self.factor, 0).tolist(),
            "x_name": self.view.position_name,
            "hidden": self.view.n_channels - len(self.channels),
            "tile": sizes if self.kind == "tiles" else None,
        }


def lay_out(view) -> Layout:
    """The layout of a view."""
    most = {"rows": ROWS, "tiles": TILES}.get(view.kind, view.n_channels)
    channels = evenly(view.n_channels, most)
    points = LINE_POINTS if view.kind == "lines" else PICTURE_POINTS
    factor = _factor([view.shape[axis] for axis in view.drawn], len(channels), points)
    return Layout(view, channels, factor)


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
