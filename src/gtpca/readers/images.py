"""Folders of images."""

from __future__ import annotations

import math
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from gtpca.optional import require
from gtpca.readers.data import Data, check_inflated
from gtpca.text import one_line, shown

__all__ = ["read_images", "write_images"]

ENDINGS = (".png", ".jpg", ".jpeg")
SIZES = ("pad", "resize")  # treatment of images of unequal size
# How an image is read, by Pillow's mode, and its shape after height and width.
MODES: dict[str, tuple[str, tuple[int, ...]]] = {
    "1": ("L", ()),
    "L": ("L", ()),
    "I;16": ("I;16", ()),
    "RGB": ("RGB", (3,)),
    "P": ("RGB", (3,)),
}


def read_images(path: Path, sizes: str | None = None, sample_shape=None) -> Data:
    """Grey or RGB images, in the order of their names; other files are ignored.

    Images of unequal size are an error, unless ``sizes`` is given: they are then padded with
    missing values to the largest height and width ("pad"), or resized to the median ones
    ("resize"), or to those of ``sample_shape``.
    """
    image = require("PIL.Image", "io")
    names = sorted(p for p in path.iterdir() if p.suffix.lower() in ENDINGS)
    if not names:
        raise ValueError("there is no PNG or JPEG image in the folder")
    if sizes is not None and sizes not in SIZES:
        raise ValueError(f"sizes={sizes!r} must be one of {', '.join(map(repr, SIZES))}")
    kinds = [_kind(image, name) for name in names]
    _check_alike(names, kinds, sizes)
    mode, shape = kinds[0][0], _common_shape(kinds, sizes, sample_shape)
    unequal = {kind[1] for kind in kinds} != {shape}
    dtype = np.dtype(np.uint16 if mode == "I;16" else np.uint8)
    dtype = np.dtype(np.float32) if unequal and sizes == "pad" else dtype
    needed = len(names) * math.prod(shape) * dtype.itemsize
    largest = max(math.prod(kind[1]) * dtype.itemsize for kind in kinds)
    stored = sum(name.stat().st_size for name in names)
    check_inflated(needed=max(needed, largest), stored=stored)
    rows = np.full((len(names), *shape), np.nan if dtype.kind == "f" else 0, dtype)
    for row, name in zip(rows, names, strict=True):
        pixels = _pixels(image, name, mode, shape if sizes == "resize" else None)
        row[tuple(slice(size) for size in pixels.shape)] = pixels
    axes = ("row", "column", "colour")[: rows.ndim - 1]
    shapes = np.array([kind[1] for kind in kinds]) if unequal and sizes == "pad" else None
    ids = np.array([os.fsencode(name.name).decode(errors="backslashreplace") for name in names])
    return Data(rows, ids=ids, id_name="file", axes=axes, shapes=shapes)


def write_images(folder: Path, images: np.ndarray, names, shapes=None) -> None:
    """Write images (n, height, width) or (n, height, width, 3) as PNG files, into a new folder.

    Values are rounded to 0 .. 255, or 0 .. 65535 if any is above 255.5.

    Parameters
    ----------
    folder : Path
        It gets its name when all images have been written.
    images : array
    names : list of str
        Names of the files; their extensions become ``.png``.
    shapes : int array (n, 2 or 3) or None
        Shapes to which padded images are cropped.
    """
    image = require("PIL.Image", "io")
    if images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[-1] != 3):
        raise ValueError(f"samples of shape {images.shape[1:]} are not images; write them to .npy.")
    deep = np.fmax.reduce(images, axis=None, initial=0) > 255.5 and images.ndim == 3
    most, dtype = (65535, np.uint16) if deep else (255, np.uint8)
    whole = np.nan_to_num(np.rint(images)).clip(0, most).astype(dtype)
    with tempfile.TemporaryDirectory(dir=folder.absolute().parent, prefix=".gtpca") as room:
        new = Path(room) / "images"
        new.mkdir()
        for i, (pixels, name) in enumerate(zip(whole, names, strict=True)):
            if shapes is not None:
                pixels = pixels[tuple(slice(size) for size in shapes[i])]
            image.fromarray(pixels).save(new / f"{Path(name).stem}.png")
        new.rename(folder)


def _check_alike(names, kinds, sizes) -> None:
    """Check that all images have the same mode and, unless ``sizes`` is given, the same size."""
    for name, kind in zip(names, kinds, strict=True):
        same = kind[0] == kinds[0][0] if sizes else kind == kinds[0]
        if not same:
            mine, first = (shown(p.name) for p in (name, names[0]))
            raise ValueError(
                f"{mine} is {_words(kind)}, but {first} is {_words(kinds[0])}; all "
                "images must be alike, but for their sizes with --sizes pad or --sizes resize (in "
                'Python sizes="pad")'
            )


def _common_shape(kinds, sizes, wanted) -> tuple[int, ...]:
    """The shape of all images in one array: the desired one, if possible."""
    shapes = np.array([shape for _, shape in kinds])
    common = np.median(shapes, axis=0) if sizes == "resize" else shapes.max(axis=0)
    alike = wanted is not None and len(wanted) == len(common) and wanted[2:] == kinds[0][1][2:]
    if alike and (sizes == "resize" or (sizes == "pad" and (common <= wanted).all())):
        common = wanted
    return tuple(int(size) for size in common)


def _kind(image, name) -> tuple[str, tuple[int, ...]]:
    """Mode and shape from the header alone."""
    with _opened(image, name) as picture:
        mode, (width, height) = picture.mode, picture.size
    if mode not in MODES:
        raise ValueError(f"{shown(name.name)} has mode {mode}; convert it to grey or RGB")
    mode, channels = MODES[mode]
    return mode, (height, width, *channels)


def _words(kind) -> str:
    mode, shape = kind
    return f"{shape[1]} x {shape[0]} {'RGB' if mode == 'RGB' else 'grey'}"


def _pixels(image, name, mode, shape=None) -> np.ndarray:
    """The pixels of an image, resized to a shape if one is given."""
    with _opened(image, name) as picture:
        picture = picture if picture.mode == mode else picture.convert(mode)
        if shape is not None and picture.size != (shape[1], shape[0]):
            picture = picture.resize((shape[1], shape[0]))
        return np.asarray(picture)


@contextmanager
def _opened(image, name):
    try:
        with image.open(name, formats=("PNG", "JPEG")) as picture:
            yield picture
    except Exception as error:  # Pillow may raise anything
        raise ValueError(f"{shown(name.name)} is not a readable image: {one_line(error)}") from None
