"""Folders of images of one size."""

from __future__ import annotations

import math
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from gtpca.optional import require
from gtpca.readers.data import Data, check_inflated
from gtpca.text import one_line

__all__ = ["read_images"]

ENDINGS = (".png", ".jpg", ".jpeg")
# What an image is read as, by Pillow's mode, and its shape after height and width.
MODES: dict[str, tuple[str, tuple[int, ...]]] = {
    "1": ("L", ()),
    "L": ("L", ()),
    "I;16": ("I;16", ()),
    "RGB": ("RGB", (3,)),
    "P": ("RGB", (3,)),
}


def read_images(path: Path) -> Data:
    """Grey or RGB images, in the order of their names; other files are left out."""
    image = require("PIL.Image", "io")
    names = sorted(p for p in path.iterdir() if p.suffix.lower() in ENDINGS)
    if not names:
        raise ValueError("there is no PNG or JPEG image in the folder")
    kinds = [_kind(image, name) for name in names]
    for name, kind in zip(names, kinds, strict=True):
        if kind != kinds[0]:
            raise ValueError(
                f"{name.name} is {_words(kind)}, but {names[0].name} is {_words(kinds[0])}; all "
                "images must be alike"
            )
    mode, shape = kinds[0]
    dtype = np.dtype(np.uint16 if mode == "I;16" else np.uint8)
    needed = len(names) * math.prod(shape) * dtype.itemsize
    check_inflated(needed=needed, stored=sum(name.stat().st_size for name in names))
    rows = np.empty((len(names), *shape), dtype)
    for row, name in zip(rows, names, strict=True):
        row[...] = _pixels(image, name, mode)
    return Data(rows)


def _kind(image, name) -> tuple[str, tuple[int, ...]]:
    """Mode and shape from the header alone."""
    with _opened(image, name) as picture:
        mode, (width, height) = picture.mode, picture.size
    if mode not in MODES:
        raise ValueError(f"{name.name} has mode {mode}; convert it to grey or RGB")
    mode, channels = MODES[mode]
    return mode, (height, width, *channels)


def _words(kind) -> str:
    mode, shape = kind
    return f"{shape[1]} x {shape[0]} {'RGB' if mode == 'RGB' else 'grey'}"


def _pixels(image, name, mode) -> np.ndarray:
    with _opened(image, name) as picture:
        return np.asarray(picture if picture.mode == mode else picture.convert(mode))


@contextmanager
def _opened(image, name):
    try:
        with image.open(name, formats=("PNG", "JPEG")) as picture:
            yield picture
    except Exception as error:  # Pillow raises whatever comes
        raise ValueError(f"{name.name} is not a readable image: {one_line(error)}") from None
