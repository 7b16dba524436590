"""Atomic writes, after which a file is complete or does not exist, and the .npy format."""

from __future__ import annotations

import errno
import glob
import io
import math
import os
import platform
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import IO

import numpy as np

__all__ = [
    "NPY_KINDS",
    "atomic_file",
    "check_regular",
    "check_writable",
    "npy_array",
    "npy_bytes",
    "npy_header",
    "write_bytes",
    "write_npy",
    "write_text",
]

NPY_KINDS = "biufcU"  # bool, int, unsigned, float, complex, text: no objects
LONGEST_HEADER = 2**10  # of an array; limits nesting


@contextmanager
def atomic_file(path) -> Iterator[IO[bytes]]:
    """Atomic write: a binary file that gets the name ``path`` once the block has succeeded.

    Until then it has another name in the same folder, so that nobody ever sees a partial file. What
    a killed process has left of the same file is removed. An existing file keeps its permissions.

    Parameters
    ----------
    path : path
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():  # a pipe or a device must not be replaced
        with open(path, "wb") as file:
            yield file
        return
    beside = _beside(path)
    try:
        with open(beside, "wb") as file:
            if path.exists():
                beside.chmod(stat.S_IMODE(path.stat().st_mode))  # while it is still empty
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
        _sweep(path.parent, _stem(path))
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _stem(path) -> str:
    """How the names of all partial files of a path begin."""
    return f".{_cut(path.name, 150)}.{_cut(platform.node(), 50)}."


def _cut(name, longest) -> str:
    """At most ``size`` bytes of a name: file systems allow 255 bytes, not characters."""
    return os.fsencode(name)[:longest].decode(errors="ignore")


def _beside(path) -> Path:
    """Where this thread writes what is to become ``path``."""
    return path.with_name(f"{_stem(path)}{os.getpid()}-{get_ident()}.part")


def check_writable(path) -> None:
    """Raise the OSError that :func:`atomic_file` would raise, and leave nothing behind.

    Parameters
    ----------
    path : path
    """
    path = Path(os.path.realpath(path))
    with suppress(FileNotFoundError):
        os.lstat(path)  # the name may be too long
    if path.exists() and not path.is_file():  # opening a pipe would wait for its reader
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return
    beside = _beside(path)
    beside.open("wb").close()
    beside.unlink()


def check_regular(path) -> None:
    """Raise a ValueError for a pipe or a device, which might block for ever when opened.

    A file that does not exist is left to the code that opens it.

    Parameters
    ----------
    path : path
    """
    with suppress(OSError):
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise ValueError(f"{os.fspath(path)!r} is a pipe or a device; copy it into a file.")


def _sweep(folder, stem) -> None:
    """Remove partial files written by processes of this machine that no longer exist."""
    for part in folder.glob(f"{glob.escape(stem)}*.part"):
        pid = part.name[len(stem) :].partition("-")[0]
        if pid.isdecimal() and not _is_running(int(pid)):
            part.unlink(missing_ok=True)


def _is_running(pid) -> bool:
    """Whether there is such a process; always True if the system cannot tell."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def write_text(path, text: str) -> None:
    """Write a text file atomically, creating missing parent folders."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text.encode())


def write_bytes(path, data: bytes) -> None:
    """Write a binary file atomically."""
    with atomic_file(path) as file:
        file.write(data)


def write_npy(file: IO[bytes], pieces: Iterable[np.ndarray], shape: tuple[int, ...]) -> None:
    """Write an ``.npy`` file of ``shape`` that is never in memory as a whole.

    Parameters
    ----------
    file : binary file
    pieces : iterable of arrays (some rows, \\*shape[1:])
        At least one; all of the same dtype.
    shape : tuple of int
        Of all pieces together.
    """
    for i, piece in enumerate(pieces):
        if i == 0:
            head = {"descr": piece.dtype.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, head)
        file.write(np.ascontiguousarray(piece).data)


def npy_bytes(array) -> bytes:
    """An array as the bytes of an ``.npy`` file."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def npy_array(data: bytes) -> np.ndarray:
    """The array in the bytes of an ``.npy`` file, checked by :func:`npy_header`: a view of them."""
    buffer = io.BytesIO(data)
    shape, fortran, dtype = npy_header(buffer, len(data))
    flat = np.frombuffer(data, dtype, offset=buffer.tell())
    return flat.reshape(shape, order="F" if fortran else "C")


def npy_header(file, size: int) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, Fortran order and dtype of an ``.npy`` file of ``size`` bytes, position 0.

    Raises an error if it contains objects, or if its values do not fill the file exactly; so
    nothing larger than the file is ever allocated.
    """
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version} of the .npy format is not known")
    read = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
    shape, fortran, dtype = read[version[0]](file, max_header_size=LONGEST_HEADER)
    if dtype.kind not in NPY_KINDS or dtype.itemsize == 0:
        raise ValueError(f"values of dtype {dtype} are not read; only numbers and text are")
    if not all(type(length) is int and length >= 0 for length in shape) or len(shape) > 32:
        raise ValueError(f"the shape {shape} makes no sense")
    there = size - file.tell()
    if math.prod(shape) * dtype.itemsize != there:
        raise ValueError(f"{there} bytes of values do not make {dtype} of shape {shape}")
    return shape, fortran, dtype
