"""FITS images, through astropy: cubes, and single ones in folders. Blank values are missing."""

from __future__ import annotations

import math
import warnings
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gtpca.optional import require
from gtpca.readers.data import ANY_FILE, MOST_INFLATED, Data, check_inflated, check_rows, choose
from gtpca.readers.inflating import inflated_size
from gtpca.readers.pictures import Picture, native, resized

__all__ = ["fits_picture", "read_fits"]

BYTES = 8  # of a value in memory, at most
NOTHING = "there is no image in it; unpack compressed ones first, for example by funpack"


def read_fits(path: Path, key: str | None = None) -> Data:
    """A cube (n, rows, columns), or a single image as (1, rows, columns); row 0 is the first.

    ``key`` is the name or the number of the part of the file, if several hold images.
    """
    with _opened(path) as parts:
        found = _images(parts)
        image = found[choose({name: part.shape for name, part in found.items()}, key)]
        rows = _values(path, image)
    axes = (*(f"axis {i}" for i in range(1, rows.ndim - 2)), "row", "column")
    return Data(rows, ids=np.arange(len(rows)).astype(str), id_name="plane", axes=axes)


def fits_picture(path: Path) -> Picture:
    """The first image in a file, of a folder."""
    with _opened(path) as parts:
        image = next(iter(_images(parts).values()))
        shape = tuple(size for size in image.shape if size > 1) or (1, 1)
        if len(shape) != 2:
            raise ValueError(f"it holds {image.shape}, not one image; read it alone, as a cube")
        rows = _values(path, image)  # whether values are scaled is known only after that
    return Picture(shape, rows.dtype, False, partial(_pixels, path))


def _pixels(path, shape=None) -> np.ndarray:
    with _opened(path) as parts:
        image = next(iter(_images(parts).values()))
        rows = _values(path, image)
    rows = rows.reshape([size for size in image.shape if size > 1] or [1, 1])
    return rows if shape is None or rows.shape == tuple(shape) else resized(rows, shape)


@contextmanager
def _opened(path):
    """The parts of the file; nothing is unpacked beyond what the file can hold."""
    fits = require("astropy.io.fits", "images")
    if path.suffix.lower() == ".gz":
        most = max(ANY_FILE, MOST_INFLATED * path.stat().st_size)
        check_inflated(
            needed=inflated_size("gzip", path.read_bytes(), most), stored=path.stat().st_size
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about cards that do not follow the standard
        with fits.open(
            path, mode="readonly", memmap=False, disable_image_compression=True
        ) as parts:
            yield parts


def _images(parts) -> dict[str, Any]:
    """All parts that hold images by their names, or by their numbers if these are not unique."""
    images = {i: part for i, part in enumerate(parts) if part.is_image and len(part.shape) > 1}
    images = {i: part for i, part in images.items() if math.prod(part.shape)}
    if not images:
        raise ValueError(NOTHING)
    names = [part.name for part in images.values()]
    unique = len(set(names)) == len(names) and all(names)
    return {part.name if unique else str(i): part for i, part in images.items()}


def _values(path, image) -> np.ndarray:
    """The values of an image, (n, .., rows, columns), scaled, with NaN for blank ones."""
    stored, shape = path.stat().st_size, tuple(image.shape)
    check_inflated(needed=math.prod(shape) * BYTES, stored=stored)
    if path.suffix.lower() != ".gz" and image.fileinfo()["datLoc"] + image.size > stored:
        raise ValueError(f"is cut: {image.size} bytes of values are not all there")
    rows = native(np.asarray(image.data))
    rows = rows if rows.ndim > 2 else rows[None]
    check_rows(rows.shape, rows.dtype)
    return rows
