"""Folders of images: PNG and JPEG through Pillow, TIFF through tifffile, FITS through astropy."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from gtpca.optional import require
from gtpca.readers.data import Data, check_inflated
from gtpca.readers.fits import fits_picture
from gtpca.readers.pictures import Picture, unmasked
from gtpca.readers.tiff import tiff_picture
from gtpca.text import one_line, shown

__all__ = ["read_images", "write_images"]

SIZES = ("pad", "resize")  # treatment of images of unequal size
# How an image is read, by Pillow's mode, and its shape after height and width.
MODES: dict[str, tuple[str, tuple[int, ...]]] = {
    "1": ("L", ()),
    "L": ("L", ()),
    "I;16": ("I;16", ()),
    "LA": ("L", ()),
    "RGB": ("RGB", (3,)),
    "RGBA": ("RGB", (3,)),
    "P": ("RGB", (3,)),
    "PA": ("RGB", (3,)),
}
ALPHA = {"L": "LA", "RGB": "RGBA"}  # the same with an alpha channel


def read_images(path: Path, sizes: str | None = None, sample_shape=None) -> Data:
    """Images in the order of their names; other files are ignored.

    Pixels that are transparent, with an alpha of zero, are missing values; the alpha channel itself
    is left out. Images of unequal size are an error, unless ``sizes`` is given: they are then
    padded with missing values to the largest height and width ("pad"), or resized to the median
    ones ("resize"), or to those of ``sample_shape``.
    """
    names = sorted(p for p in path.iterdir() if _ending(p) in READERS)
    if not names:
        raise ValueError(f"there is no image in the folder: {', '.join(READERS)}")
    if sizes is not None and sizes not in SIZES:
        raise ValueError(f"sizes={sizes!r} must be one of {', '.join(map(repr, SIZES))}")
    pictures = [_picture(name) for name in names]
    _check_alike(names, pictures, sizes)
    shape = _common_shape(pictures, sizes, sample_shape)
    unequal = {picture.shape for picture in pictures} != {shape}
    padded, plain = unequal and sizes == "pad", pictures[0].dtype
    gaps = padded or any(picture.gaps for picture in pictures)
    dtype = np.result_type(plain, np.float32) if gaps else plain
    needed = len(names) * math.prod(shape) * dtype.itemsize
    largest = max(math.prod(picture.shape) * dtype.itemsize for picture in pictures)
    stored = sum(name.stat().st_size for name in names)
    check_inflated(needed=max(needed, largest), stored=stored)
    rows = np.full((len(names), *shape), np.nan if dtype.kind == "f" else 0, dtype)
    for row, name, picture in zip(rows, names, pictures, strict=True):
        pixels = _pixels(name, picture, shape if sizes == "resize" else None)
        row[tuple(slice(size) for size in pixels.shape)] = pixels
    if gaps and not padded and dtype != plain and not np.isnan(rows).any():
        rows = rows.astype(plain)  # no pixel is transparent
    axes = ("row", "column", "colour")[: rows.ndim - 1]
    shapes = np.array([picture.shape for picture in pictures]) if padded else None
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


def _check_alike(names, pictures, sizes) -> None:
    """Check that all images have the same kind and, unless ``sizes`` is given, the same size."""
    first = pictures[0]
    for name, one in zip(names, pictures, strict=True):
        same = (one.dtype, one.shape[2:]) == (first.dtype, first.shape[2:])
        if not (same and (sizes or one.shape == first.shape)):
            raise ValueError(
                f"{shown(name.name)} is {_words(one)}, but {shown(names[0].name)} is "
                f"{_words(first)}; all images must be alike, but for their sizes with --sizes pad "
                'or --sizes resize (in Python sizes="pad")'
            )


def _common_shape(pictures, sizes, wanted) -> tuple[int, ...]:
    """The shape of all images in one array: the desired one, if possible."""
    shapes = np.array([picture.shape for picture in pictures])
    common = np.median(shapes, axis=0) if sizes == "resize" else shapes.max(axis=0)
    alike = wanted is not None and len(wanted) == len(common)
    alike = alike and wanted[2:] == pictures[0].shape[2:]
    if alike and (sizes == "resize" or (sizes == "pad" and (common <= wanted).all())):
        common = wanted
    return tuple(int(size) for size in common)


def _words(picture) -> str:
    height, width, *channels = picture.shape
    kind = "grey" if not channels else "RGB" if channels == [3] else f"with {channels[0]} channels"
    deep = "" if picture.dtype == np.uint8 else f" of {picture.dtype}"
    return f"{width} x {height} {kind}{deep}"


def _ending(path) -> str:
    """The extension, both parts of it if the file is compressed."""
    ending = path.suffix.lower()
    return f"{path.with_suffix('').suffix.lower()}.gz" if ending == ".gz" else ending


def _picture(name) -> Picture:
    with _named(name):
        return READERS[_ending(name)](name)


def _pixels(name, picture, shape) -> np.ndarray:
    with _named(name):
        return picture.pixels(shape)


@contextmanager
def _named(name):
    """Any error as one that names the file."""
    try:
        yield
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # libraries may raise anything
        raise ValueError(f"{shown(name.name)} is not a readable image: {one_line(error)}") from None


def _pillow(name) -> Picture:
    """A PNG or JPEG image, of which the header was read."""
    with _opened(name) as picture:
        mode, (width, height), gaps = picture.mode, picture.size, _has_alpha(picture)
    if mode not in MODES:
        raise ValueError(f"it has mode {mode}; convert it to grey or RGB")
    mode, channels = MODES[mode]
    dtype = np.dtype(np.uint16 if mode == "I;16" else np.uint8)
    how = partial(_pillow_pixels, name, ALPHA[mode] if gaps else mode, gaps)
    return Picture((height, width, *channels), dtype, gaps, how)


def _has_alpha(picture) -> bool:
    return picture.mode != "I;16" and picture.has_transparency_data


def _pillow_pixels(name, mode, gaps, shape=None) -> np.ndarray:
    """The pixels of an image, resized to a shape if one is given."""
    with _opened(name) as picture:
        picture = picture if picture.mode == mode else picture.convert(mode)
        if shape is not None and picture.size != (shape[1], shape[0]):
            picture = picture.resize((shape[1], shape[0]))
        pixels = np.asarray(picture)
    return unmasked(pixels) if gaps else pixels


def _opened(name):
    return require("PIL.Image", "io").open(name, formats=("PNG", "JPEG"))


# How the images of a folder are read, by their extensions.
READERS: dict[str, Callable[[Path], Picture]] = dict.fromkeys((".png", ".jpg", ".jpeg"), _pillow)
READERS |= dict.fromkeys((".tif", ".tiff"), tiff_picture)
READERS |= dict.fromkeys((".fits", ".fit", ".fts", ".fits.gz"), fits_picture)
