"""NumPy arrays: ``.npy`` files are memory-mapped, ``.npz`` files are read."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Literal

import numpy as np

from gtpca.files import npy_array, npy_header
from gtpca.readers.data import Data, check_inflated, check_rows, choose

__all__ = ["read_npy", "read_npz"]

HEADER = 2**12  # bytes within which the header of an array ends
DEFLATE = 1040  # largest ratio by which a compressed member can grow


def read_npy(path: Path, least: int = 2) -> Data:
    """A memory map of the array, which has at least ``least`` axes; nothing is loaded."""
    with open(path, "rb") as file:
        shape, fortran, dtype = npy_header(file, path.stat().st_size)
        start = file.tell()
    check_rows(shape, dtype, least=least)
    order: Literal["F", "C"] = "F" if fortran else "C"
    return Data(np.memmap(path, dtype, "r", offset=start, shape=shape, order=order))


def read_npz(path: Path, key: str | None = None, least: int = 2) -> Data:
    """One array of an archive, in memory."""
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        names = {n.removesuffix(".npy"): n for n in entries if n.endswith(".npy")}
        if key is not None and key in names:
            names = {key: names[key]}
        heads = {k: _header(archive, entries[n]) for k, n in names.items()}
        key = choose({k: head[0] for k, head in heads.items()}, key)
        shape, _, dtype = heads[key]
        check_rows(shape, dtype, least=least)
        entry = entries[names[key]]
        check_inflated(needed=entry.file_size, stored=entry.compress_size)
        return Data(npy_array(archive.read(entry)))


def _header(archive, entry):
    """Shape, order and dtype of a member, whose size must be consistent with them."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"the member {entry.filename!r} is compressed in a way that is not known")
    if entry.file_size > DEFLATE * entry.compress_size:
        raise ValueError(f"the member {entry.filename!r} is larger than it can be")
    with archive.open(entry) as file:
        head = io.BytesIO(file.read(HEADER))
    return npy_header(head, entry.file_size)
