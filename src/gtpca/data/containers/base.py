"""The base class of containers: rows and labels as input, results in the same type as output."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from gtpca.data.labels import Labels
from gtpca.operators.grid import Axis, Grid

__all__ = ["Container", "axes_of"]


class Container:
    """Samples as passed by a user; this class returns plain arrays.

    Parameters
    ----------
    rows : array (n, \\*sample_shape)
    labels : Labels or None
    """

    takes_lists = False  # whether a list of such objects counts as one container

    def __init__(self, rows, labels: Labels | None = None):
        self.rows: Any = rows
        self.labels: Any = labels

    def samples(self, values: np.ndarray, grid) -> Any:
        """Samples (n, \\*grid), or parts of them, in the type of container that was passed."""
        return values

    def table(self, values: np.ndarray, names: Iterable[str]) -> Any:
        """One row per sample, and named columns."""
        return values

    def poses(self, poses) -> Any:
        """Pose quantities (n, k) by name."""
        return poses

    def take(self, numbers) -> Container:
        """The container of some of the samples; it need not hold their values."""
        return self

    @classmethod
    def components(cls, values: np.ndarray, grid, labels: Labels | None) -> Any:
        """Components (k, \\*grid) in a container of this kind."""
        return values


def axes_of(grid, labels: Labels, shape) -> tuple[Axis, ...]:
    """The axes of values of a shape: those of a grid, if known, else those of labels."""
    if isinstance(grid, Grid):
        return grid.axes
    known = labels.axes if len(labels.axes) == len(shape) else (Axis(),) * len(shape)
    sizes = zip(known, shape, strict=True)
    return tuple(a if _fits(a, size) else replace(a, points=None, names=None) for a, size in sizes)


def _fits(axis, size) -> bool:
    return all(len(known) == size for known in (axis.points, axis.names) if known is not None)
