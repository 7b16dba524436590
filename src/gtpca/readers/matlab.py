"""Variables of MATLAB files.

Files of version 5 to 7.2 are parsed here, because compiled parsers can crash on broken ones: a
header of 128 bytes, then one element per variable, possibly compressed, that holds flags, sizes, a
name and values in column order. Files of version 7.3 are HDF5.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gtpca.readers.containers import check_hdf5, read_hdf5
from gtpca.readers.data import ANY_FILE, MOST_INFLATED, Data, check_inflated, check_rows, choose

__all__ = ["check_mat", "read_mat"]

HEADER, HEAD = 128, 4096  # bytes of the header, and of a variable within which its name ends
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
COMPRESSED, MATRIX = 15, 14
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4"}
CLASSES |= {14: "i8", 15: "u8"}
CELL, STRUCT, TEXT = 1, 2, 4  # classes that a structure of EEGLAB is made of
WIDE_TEXT = {16: "u1", 17: "u2", 18: "u4"}  # types of UTF-8, UTF-16 and UTF-32
DEEPEST = 30  # structures within structures
OTHERS = {1: "a cell", 2: "a struct", 3: "an object", 4: "text", 5: "sparse"}
COMPLEX = 0x800


@dataclass(frozen=True)
class Stored:
    """The bytes of an element in the file, without its tag."""

    start: int
    size: int
    compressed: bool


@dataclass(frozen=True)
class Variable:
    """The position of a variable in the file, and its header.

    Attributes
    ----------
    stored : Stored
    shape : tuple of int
    kind : int
        MATLAB's number of the class.
    is_complex : bool
    values : int
        Where the tag of the values begins in the inflated element.
    """

    stored: Stored
    shape: tuple[int, ...]
    kind: int
    is_complex: bool
    values: int


def read_mat(path: Path, key: str | None = None) -> Data:
    """One variable: loaded if the file is of MATLAB 5 to 7.2, otherwise read row by row."""
    with open(path, "rb") as file:
        order = _order(file)
        if order is None:
            return read_hdf5(path, key, matlab=True)
        found = _variables(file, path.stat().st_size, order)
        key = choose({name: variable.shape for name, variable in found.items()}, key)
        return Data(_values(file, found[key], order, key))


def _order(file) -> str | None:
    """The order of bytes of a file of MATLAB 5 to 7.2; None if it is of version 7.3."""
    head = file.read(HEADER)
    if head[124:128] in (b"\x00\x02IM", b"\x02\x00MI"):
        return None
    if head[124:128] not in (b"\x00\x01IM", b"\x01\x00MI"):
        raise ValueError("is not a file of MATLAB 5 or newer; save it with -v7")
    return "<" if head.endswith(b"IM") else ">"


def check_mat(path: Path) -> None:
    """Check that a file can be left to another parser: nothing in it is larger than it can be.

    All parts lie inside the one that contains them and have as many values as their sizes say.
    """
    size = path.stat().st_size
    with open(path, "rb") as file:
        order = _order(file)
        if order is None:
            return check_hdf5(path)
        most, needed = max(ANY_FILE, MOST_INFLATED * size), 0
        for stored in _elements(file, size, order):
            data = memoryview(_bytes(file, stored, limit=most + 16))
            needed += len(data)
            check_inflated(needed=needed, stored=size)
            _check_matrix(data, order)
    return None


def _check_matrix(data, order, depth=0) -> None:
    """Check the contents of an element that holds an array, text, a cell or a structure."""
    if not len(data):
        return
    flags, place = _element(data, 0, order)
    sizes, place = _element(data, place, order)
    _, place = _element(data, place, order)  # the name
    if flags.itemsize != 4 or len(flags) != 2 or not 2 <= len(sizes) <= 32 or min(sizes) < 0:
        raise ValueError("is damaged: the sizes of an array are not known")
    kind, count = int(flags[0]) & 0xFF, math.prod(sizes.tolist())
    if kind in (CELL, STRUCT) and depth < DEEPEST:
        if kind == STRUCT:
            length, place = _element(data, place, order)
            names, place = _element(data, place, order)
            if len(length) != 1 or length[0] < 1 or names.nbytes % length[0]:
                raise ValueError("is damaged: the names of a structure are not known")
            count *= names.nbytes // int(length[0])
        _check_parts(data, place, order, count, depth)
        return
    if kind not in (*CLASSES, TEXT):
        what = "too deep" if kind in (CELL, STRUCT) else OTHERS.get(kind, "of another kind")
        raise ValueError(f"contains something that is {what}, which is not read")
    for _ in range(1 + bool(int(flags[0]) & COMPLEX)):
        values, place = _element(data, place, order)
        if len(values) != count:
            raise ValueError(f"is damaged: {len(values)} values have the sizes {sizes.tolist()}")


def _check_parts(data, place, order, count, depth) -> None:
    """Check ``count`` elements, one after the other."""
    if 8 * count > len(data):
        raise ValueError(f"is damaged: {len(data)} bytes hold {count} parts")
    for _ in range(count):
        if place + 8 > len(data):
            raise ValueError("is damaged: it ends within a structure")
        kind, length = np.frombuffer(data, f"{order}u4", 2, place).tolist()
        if kind != MATRIX or place + 8 + length > len(data):
            raise ValueError(f"is damaged: a part of type {kind} with {length} bytes")
        _check_matrix(data[place + 8 : place + 8 + length], order, depth + 1)
        place += 8 + length


def _variables(file, size, order) -> dict[str, Variable]:
    """All variables by name, from their headers alone."""
    found = {}
    for stored in _elements(file, size, order):
        name, variable = _head(file, stored, order)
        if name:
            found[name] = variable
    return found


def _elements(file, size, order) -> Iterator[Stored]:
    """The elements of the file, one after the other."""
    start = HEADER
    while start + 8 <= size:
        file.seek(start)
        kind, length = np.frombuffer(file.read(8), f"{order}u4").tolist()
        if kind not in (COMPRESSED, MATRIX) or start + 8 + length > size:
            raise ValueError(f"is cut or damaged at byte {start}")
        yield Stored(start=start + 8, size=length, compressed=kind == COMPRESSED)
        start += 8 + length


def _head(file, stored, order) -> tuple[str, Variable]:
    data = _bytes(file, stored, limit=HEAD)
    flags, place = _element(data, 0, order)
    sizes, place = _element(data, place, order)
    name, place = _element(data, place, order)
    if flags.dtype.itemsize != 4 or len(flags) != 2 or not 2 <= len(sizes) <= 32 or min(sizes) < 0:
        raise ValueError(f"is damaged at byte {stored.start}")
    kind = int(flags[0])
    return name.tobytes().decode("ascii"), Variable(
        stored=stored,
        shape=tuple(sizes.tolist()),
        kind=kind & 0xFF,
        is_complex=bool(kind & COMPLEX),
        values=place,
    )


def _bytes(file, stored, limit) -> bytes | memoryview:
    """The first ``limit`` bytes of an element, or slightly fewer, without its tag."""
    file.seek(stored.start)
    if not stored.compressed:
        return file.read(min(stored.size, limit))
    inflated = zlib.decompressobj().decompress(file.read(stored.size), limit)
    return memoryview(inflated)[8:]  # the tag is within


def _element(data, place, order) -> tuple[np.ndarray, int]:
    """The numbers of a part of a variable, and where the next part begins."""
    first, second = np.frombuffer(data, f"{order}u4", 2, place).tolist()
    small = first >> 16
    kind, length = (first & 0xFFFF, small) if small else (first, second)
    begin = place + (4 if small else 8)
    if kind not in (TYPES | WIDE_TEXT) or length > (4 if small else len(data) - begin):
        raise ValueError(f"is damaged: a part of type {kind} with {length} bytes")
    dtype = np.dtype(order + (TYPES | WIDE_TEXT)[kind])
    end = place + 8 if small else begin + -(-length // 8) * 8
    return np.frombuffer(data, dtype, length // dtype.itemsize, begin), end


def _values(file, variable, order, key) -> np.ndarray:
    """The array of a variable."""
    if variable.kind not in CLASSES or variable.is_complex:
        what = "complex" if variable.is_complex else OTHERS.get(variable.kind, "of another kind")
        raise ValueError(f"{key!r} is {what}, but must hold real numbers")
    dtype = np.dtype(CLASSES[variable.kind])
    check_rows(variable.shape, dtype)
    n_values = math.prod(variable.shape)
    check_inflated(needed=8 * n_values, stored=variable.stored.size)
    limit = variable.values + 8 * n_values + 64
    data = _bytes(file, variable.stored, limit)
    flat, _ = _element(data, variable.values, order)
    if len(flat) != n_values:
        raise ValueError(f"{key!r} has {len(flat)} values, but shape {variable.shape}")
    return np.ascontiguousarray(flat.astype(dtype, copy=False).reshape(variable.shape, order="F"))
