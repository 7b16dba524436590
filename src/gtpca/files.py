"""Files that are there as a whole or not at all."""

from __future__ import annotations

import glob
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import IO

__all__ = ["whole_file", "write_whole"]


@contextmanager
def whole_file(path) -> Iterator[IO[bytes]]:
    """A binary file that takes the name ``path`` once the block has ended without an error.

    Until then it stands beside it under another name, so that nobody ever sees a part of it. What a
    killed process has left of the same file is removed.

    Parameters
    ----------
    path : path
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():  # a pipe or a device must not be replaced
        with open(path, "wb") as file:
            yield file
        return
    stem = f".{path.name[:150]}.{platform.node()[:50]}."
    beside = path.with_name(f"{stem}{os.getpid()}-{get_ident()}.part")
    try:
        with open(beside, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
        _sweep(path.parent, stem)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _sweep(folder, stem) -> None:
    """Remove the parts of a file that were written by processes of this machine which are gone."""
    for part in folder.glob(f"{glob.escape(stem)}*.part"):
        pid = part.name[len(stem) :].partition("-")[0]
        if pid.isdecimal() and not _is_running(int(pid)):
            part.unlink(missing_ok=True)


def _is_running(pid) -> bool:
    """Whether there is such a process; always where the system cannot be asked."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def write_whole(path, text: str) -> None:
    """Write a text file, and the folders above it where they are missing."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(text.encode())
