"""TIFF and OME-TIFF, through tifffile: stacks of images, and single ones in folders.

Of the axes of a stack, rows, columns, channels and colours belong to a sample; pages, times, depths
and all others count the samples.
"""

from __future__ import annotations

import itertools
import logging
import math
import re
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gtpca.optional import require
from gtpca.readers.data import Data, check_inflated, check_rows, choose
from gtpca.readers.inflating import check_chunks
from gtpca.readers.pictures import Picture, native, resized, unmasked

__all__ = ["read_tiff", "tiff_picture"]

INNER = {"Y": "row", "X": "column", "C": "channel", "S": "colour"}  # axes of a sample, in order
BIG = 43  # the version of BigTIFF
PAGES = ("I", "Q")  # letters of axes without a meaning of their own
ALPHA = (1, 2)  # numbers of extra samples that say what is transparent
PACKED = {8: "zlib", 32946: "zlib", 34925: "lzma", 34926: "zstd", 50000: "zstd"}
DAMAGE = ("TiffPages", "failed to reshape", "missing data")  # words of tifffile about lost pixels
COUNTS = r'\b(?:Size[CZT]|First[CZT]|IFD|PlaneCount|NumPlanes|SamplesPerPixel)\s*=\s*"\s*(\d+)'
CHANNEL = r'<(?:\w+:)?Channel\b[^>]*?\bName="([^"<>]{1,80})"'


def read_tiff(path: Path, key: str | None = None) -> Data:
    """A stack (n, height, width, ..); values that are not compressed stay in the file."""
    with _opened(path) as file:
        found = {str(i): series for i, series in enumerate(file.series)}
        series = found[choose({name: one.shape for name, one in found.items()}, key)]
        outer, inner = _axes(series)
        rows = np.transpose(_values(path, file, series), [*outer, *inner])
        counts = rows.shape[: len(outer)]
        rows = rows.reshape(math.prod(counts), *rows.shape[len(outer) :])
        letters = [series.axes[i] for i in inner]
        names = _channels(file, found, series)
        alpha = _has_alpha(series)
    rows = unmasked(rows) if alpha else rows
    check_rows(rows.shape, rows.dtype)
    axes = tuple(INNER[letter] for letter in letters)[: rows.ndim - 1]
    about: dict[str, Any] = {"ids": _ids(counts), "id_name": _id_name(series, outer), "axes": axes}
    return Data(rows, channels=names if axes[-1] == "channel" else None, **about)


def tiff_picture(path: Path) -> Picture:
    """The only image in a file, of a folder."""
    with _opened(path) as file:
        series, shapes = file.series[0], [one.shape for one in file.series]
        outer, inner = _axes(series)
        if len(shapes) > 1 or math.prod(series.shape[i] for i in outer) > 1:
            raise ValueError(f"it holds several images, {shapes[:3]}; read it alone, as a stack")
        _check_values(path, series)
        shape, dtype, gaps = tuple(series.shape[i] for i in inner), series.dtype, _has_alpha(series)
    if gaps:
        shape = (*shape[:-1], shape[-1] - 1) if shape[-1] > 2 else shape[:-1]
    return Picture(shape, dtype.newbyteorder("="), gaps, partial(_pixels, path))


def _pixels(path, shape=None) -> np.ndarray:
    rows = np.asarray(read_tiff(path).rows)[0]
    return rows if shape is None or rows.shape[:2] == tuple(shape[:2]) else resized(rows, shape)


@contextmanager
def _opened(path):
    """The file; other files that it refers to are not opened, and what it counts is bounded."""
    tifffile = require("tifffile", "images")
    _check_pages(path)
    with _heard() as said:
        file = tifffile.TiffFile(path, _multifile=False)
        try:
            if file.is_ome and _is_wild(file):
                file.close()
                file = tifffile.TiffFile(path, _multifile=False, is_ome=False)
            yield file
        finally:
            file.close()
    broken = next((text for text in said if any(word in text for word in DAMAGE)), None)
    if broken is not None:
        raise ValueError(f"is cut or damaged: {broken}")


def _check_pages(path) -> None:
    """Check that the list of pages leads to none of them twice: tifffile would follow a cycle."""
    size, seen = path.stat().st_size, set()
    with open(path, "rb") as file:
        head = file.read(16)
        order: Literal["big", "little"] = "big" if head[:2] == b"MM" else "little"
        big = int.from_bytes(head[2:4], order) == BIG
        width, count, tag = (8, 8, 20) if big else (4, 2, 12)  # bytes: of a place, a count, a tag
        place = int.from_bytes(head[8:16] if big else head[4:8], order)
        while 0 < place < size:
            if place in seen:
                raise ValueError(f"is damaged: its list of pages leads back to byte {place}")
            seen.add(place)
            file.seek(place)
            end = place + count + tag * int.from_bytes(file.read(count), order)
            if end >= size:
                return
            file.seek(end)
            place = int.from_bytes(file.read(width), order)


@contextmanager
def _heard():
    """What tifffile says about the file: it reports damage, and goes on with what is left."""
    logger, said = logging.getLogger("tifffile"), []
    handler, before = logging.Handler(), logger.propagate
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield said
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def _is_wild(file) -> bool:
    """Whether metadata of OME count more than there can be, which would be allocated."""
    text, most = file.ome_metadata or "", 4 * (len(file.pages) + 16)
    counts = re.findall(COUNTS, text)
    return "ModuloAlong" in text or any(len(n) > 9 or int(n) > most for n in counts)


def _axes(series) -> tuple[list[int], list[int]]:
    """The numbers of the axes that count samples, and of those of a sample, in order."""
    letters = series.axes
    if len(letters) != len(series.shape) or not {"Y", "X"} <= set(letters):
        raise ValueError(f"has the axes {letters!r}: these are not images")
    inner = [letters.index(letter) for letter in INNER if letter in letters]
    return [i for i in range(len(letters)) if i not in inner], inner


def _has_alpha(series) -> bool:
    extra = tuple(getattr(series.keyframe, "extrasamples", ()) or ())
    inner = "S" in series.axes and series.shape[series.axes.index("S")] > 1
    return bool(inner and extra and int(extra[-1]) in ALPHA)


def _check_values(path, series) -> None:
    """Check the size of the values, and of packed pieces, which are unpacked whole."""
    stored, dtype = path.stat().st_size, series.dtype
    if dtype is None:
        raise ValueError("holds values of a type that is not known")
    check_rows((1, *series.shape), dtype)
    size = 4 if _has_alpha(series) else dtype.itemsize
    check_inflated(needed=math.prod(series.shape) * max(size, dtype.itemsize), stored=stored)
    for page in series.pages:
        if page is None:
            raise ValueError("refers to images that are not in it; copy them into one file")
        segments = list(zip(page.dataoffsets, page.databytecounts, strict=False))
        if any(place + count > stored for place, count in segments):
            raise ValueError("is cut: its values are not all there")
        packer = PACKED.get(int(page.compression))
        if packer:
            reads = ((count, partial(_raw, path, place, count)) for place, count in segments)
            check_chunks(reads, packer, stored)


def _raw(path, place, count) -> bytes:
    with open(path, "rb") as file:
        file.seek(place)
        return file.read(count)


def _values(path, file, series) -> np.ndarray:
    """The array as stored: a memory map if nothing has to be unpacked."""
    _check_values(path, series)
    place = series.dataoffset
    same = np.dtype(file.byteorder + series.dtype.char) == series.dtype.newbyteorder("=")
    if place is not None and same and not _has_alpha(series):
        return np.memmap(path, series.dtype, "r", place, series.shape)
    try:
        return native(np.asarray(series.asarray(maxworkers=1)).reshape(series.shape))
    except ValueError as error:
        if "imagecodecs" not in str(error):
            raise
        packer = series.keyframe.compression.name
        raise ValueError(f"is compressed by {packer}: pip install imagecodecs") from None


def _ids(counts) -> np.ndarray:
    """The number of each sample, or those along all axes, joined by a hyphen."""
    each = itertools.product(*(range(count) for count in counts))
    return np.array(["-".join(map(str, numbers)) or "0" for numbers in each])


def _id_name(series, outer) -> str:
    letters = [series.axes[i] for i in outer]
    return "-".join("page" if letter in PAGES else letter for letter in letters) or "page"


def _channels(file, found, series) -> list[str] | None:
    """Names of the channels in the metadata of OME, if there is one name for each."""
    if len(found) > 1 or not file.is_ome or "C" not in series.axes:
        return None
    names = re.findall(CHANNEL, file.ome_metadata or "")
    count = series.shape[series.axes.index("C")]
    return names if len(names) == len(set(names)) == count else None
