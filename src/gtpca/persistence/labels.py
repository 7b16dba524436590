"""Checks of the labels of samples from a file."""

from __future__ import annotations

import numpy as np

from gtpca.data.labels import Labels
from gtpca.operators.grid import Axis

__all__ = ["check_labels"]


def check_labels(labels, shape) -> None:
    """Raise an error unless ``labels`` is None, or fits samples of a shape."""
    if labels is None:
        return
    plain = isinstance(labels, Labels) and type(labels.axes) is tuple
    if not plain or not all(isinstance(axis, Axis) for axis in labels.axes):
        raise ValueError("labels_ must be labels with axes, or nothing")
    texts = (labels.kind, labels.samples)
    if not all(isinstance(text, str) for text in texts) or type(labels.weighted) is not bool:
        raise ValueError("labels_ must say in text what the samples came in")
    if not isinstance(labels.reading, dict):
        raise ValueError("labels_ must say by names how files are read")
    if len(labels.axes) == len(shape):
        for axis, size in zip(labels.axes, shape, strict=True):
            _check_axis(axis, size)


def _check_axis(axis, size) -> None:
    """Check that an axis has a name, a unit, and one position or name per point."""
    named = axis.name is None or isinstance(axis.name, str)
    if not named or not isinstance(axis.unit, str) or not isinstance(axis.about, dict):
        raise ValueError("an axis of labels_ must have a name and a unit")
    points, names = axis.points, axis.names
    if points is not None and not _are_positions(points, size):
        raise ValueError(f"the positions of an axis of labels_ must be {size} finite numbers")
    if names is not None and not _are_names(names, size):
        raise ValueError(f"the names of an axis of labels_ must be {size} texts")


def _are_positions(points, size) -> bool:
    known = isinstance(points, np.ndarray) and points.dtype.kind in "if"
    return known and points.shape == (size,) and bool(np.isfinite(points).all())


def _are_names(names, size) -> bool:
    listed = isinstance(names, tuple) and len(names) == size
    return listed and all(isinstance(name, str) for name in names)
