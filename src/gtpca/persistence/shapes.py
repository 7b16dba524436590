"""Checks of arrays from a file."""

from __future__ import annotations

import numpy as np

__all__ = ["is_array", "is_floats"]


def is_array(array, kinds, shape) -> bool:
    """Whether something is an array of some kinds of numbers, of a shape."""
    return isinstance(array, np.ndarray) and array.dtype.kind in kinds and array.shape == shape


def is_floats(array, shape) -> bool:
    """Whether something is an array of finite floats, of a shape."""
    return is_array(array, "f", shape) and bool(np.isfinite(array).all())
