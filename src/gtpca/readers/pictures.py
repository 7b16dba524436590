"""One image in a file: what its header says, and its pixels."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gtpca.optional import require

__all__ = ["Picture", "native", "resized", "unmasked"]


class Picture(NamedTuple):
    """An image that has not been read yet.

    Attributes
    ----------
    shape : tuple of int
        Height and width, and the number of colours or channels if there are several.
    dtype : dtype
    gaps : bool
        Whether pixels may be missing: there is an alpha channel.
    pixels : callable
        Reads the pixels of ``shape``, or resized to the shape that is given, with NaN for what is
        missing.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    gaps: bool
    pixels: Callable[..., np.ndarray]


def unmasked(pixels: np.ndarray) -> np.ndarray:
    """Colours (.., c), or grey values (..), of pixels (.., c + 1) whose last value is alpha.

    Where alpha is zero, nothing is seen: these are NaN. Other values of alpha do not matter.
    """
    colours, hidden = pixels[..., :-1], pixels[..., -1] == 0
    colours = colours[..., 0] if colours.shape[-1] == 1 else colours
    if not hidden.any():
        return colours
    found = colours.astype(np.result_type(colours.dtype, np.float32))
    found[hidden] = np.nan
    return found


def native(values: np.ndarray) -> np.ndarray:
    """The same values in the order of bytes of this machine."""
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def resized(pixels: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Pixels (h, w, ..) resized to the height and width of ``shape``; integers are rounded."""
    image = require("PIL.Image", "io")
    layers = pixels.reshape(*pixels.shape[:2], -1).astype(np.float32)
    size = (shape[1], shape[0])
    found = [np.asarray(image.fromarray(layer).resize(size)) for layer in np.moveaxis(layers, 2, 0)]
    values = np.stack(found, axis=2).reshape(*shape[:2], *pixels.shape[2:])
    if pixels.dtype.kind == "f":
        return values.astype(pixels.dtype)
    limits = np.iinfo(pixels.dtype)
    return np.rint(values).clip(limits.min, limits.max).astype(pixels.dtype)
