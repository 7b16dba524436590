"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import IO

__all__ = ["whole_file", "write_whole"]


@contextmanager
def whole_file(path) -> Iterator[IO[bytes]]:
    """A binary file that takes the name ``path`` once the block has ended without an error.

    Until then it stands beside it under another name, so that nobody ever sees a part of it.

    Parameters
    ----------
    path : path
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():  # a pipe or a device must not be replaced
        with open(path, "wb") as file:
            yield file
        return
    beside = path.with_name(f".{path.name[:200]}.{os.getpid()}-{get_ident()}.part")
    try:
        with open(beside, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def write_whole(path, text: str) -> None:
    """Write a text file, and the folders above it where they are missing."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(text.encode())
