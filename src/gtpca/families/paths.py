"""Where sample points read the weights, as smooth functions of a pose, with derivatives."""

from __future__ import annotations

import numpy as np

from gtpca.families.grids import centres
from gtpca.operators.sampling import Path

__all__ = ["Bending", "Similar", "Stretching", "Turning"]

RADIANS = np.pi / 180


class Centred(Path):
    """A path about the middle of the grid.

    Parameters
    ----------
    shape : tuple of int
    """

    def __init__(self, shape):
        self.middle = centres(shape)[:, None]


def turned(cos, sin, y, x):
    """Points (y, x) turned back, (n, 2, points)."""
    return np.stack([cos * y + sin * x, cos * x - sin * y], axis=1)


class Turning(Centred):
    """``source(x) = R(-degrees) (x - c) + c``: counter-clockwise as displayed."""

    def sources(self, pose, points):
        cos, sin = np.cos(RADIANS * pose), np.sin(RADIANS * pose)
        y, x = points - self.middle
        return turned(cos, sin, y, x) + self.middle

    def slopes(self, pose, points):
        cos, sin = np.cos(RADIANS * pose), np.sin(RADIANS * pose)
        y, x = points - self.middle
        return RADIANS * np.stack([cos * x - sin * y, -cos * y - sin * x], axis=1)[:, None]


class Stretching(Centred):
    """``source(x) = c + (x - c) / factor``."""

    def sources(self, pose, points):
        return (points - self.middle) / pose[:, :, None] + self.middle

    def slopes(self, pose, points):
        return (-(points - self.middle) / pose[:, :, None] ** 2)[:, None]


class Bending(Path):
    """The maps of :class:`~gtpca.families.warps.TimeWarp`.

    Parameters
    ----------
    shape : tuple of one int
    kind : {"power", "sine"}
    """

    def __init__(self, shape, kind):
        self.length, self.kind = max(1, shape[0] - 1), kind

    def sources(self, pose, points):
        u = points / self.length
        if self.kind == "power":
            return self.length * (u ** np.exp(pose))[:, None]
        return self.length * (u - pose * np.sin(np.pi * u) / np.pi)[:, None]

    def slopes(self, pose, points):
        u = points / self.length
        if self.kind == "sine":
            each = np.broadcast_to(-np.sin(np.pi * u) / np.pi, (len(pose), u.shape[1]))
        else:
            log = np.log(np.where(u > 0, u, 1.0))
            each = u ** np.exp(pose) * log * np.exp(pose)
        return self.length * each[:, None, None]


class Similar(Centred):
    """``source(x) = c + R(-degrees) (x - c - shift) / factor``, pose (degrees, factor, shift)."""

    def sources(self, pose, points):
        cos, sin = self._matrix(pose)
        y, x = self._relative(pose, points)
        return turned(cos, sin, y, x) + self.middle

    def _matrix(self, pose):
        degrees, factor = pose[:, :1], pose[:, 1:2]
        return np.cos(RADIANS * degrees) / factor, np.sin(RADIANS * degrees) / factor

    def _relative(self, pose, points):
        y, x = points - self.middle
        return y - pose[:, 2:3], x - pose[:, 3:4]

    def slopes(self, pose, points):
        cos, sin = self._matrix(pose)
        y, x = self._relative(pose, points)
        at_y, at_x = turned(cos, sin, y, x).swapaxes(0, 1)
        one, factor = np.ones_like(at_y), pose[:, 1:2]
        by_angle = np.stack([RADIANS * at_x, -RADIANS * at_y], axis=1)
        by_factor = np.stack([-at_y / factor, -at_x / factor], axis=1)
        by_row = np.stack([-cos * one, sin * one], axis=1)
        by_column = np.stack([-sin * one, -cos * one], axis=1)
        return np.stack([by_angle, by_factor, by_row, by_column], axis=1)
