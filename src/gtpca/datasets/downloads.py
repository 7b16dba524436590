"""Resumable downloads, into files that are complete or do not exist."""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import contextmanager, suppress
from email.utils import formatdate, mktime_tz, parsedate_tz
from functools import partial
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

TIMEOUT = 60  # seconds of silence after which a connection counts as broken


def download(url: str, path: Path, checksum: str | None = None) -> None:
    """Fetch ``url`` to ``path``; an interrupted download stays in ``path.part`` and is continued.

    The file gets its name once it is complete and verified. Only one process at a time downloads
    into a folder; the next one waits, and then finds the file or continues it.

    Parameters
    ----------
    url : str
    path : Path
    checksum : str or None
        "algorithm:hexdigest". Without one, only the length is verified, and a part is continued
        only if the server confirms by its date that the file is unchanged.
    """
    with _locked(path.parent):
        if not path.exists():
            part = path.with_name(path.name + ".part")
            _complete(url, part, checksum)
            os.replace(part, path)


def digest(path: Path, algorithm: str) -> str:
    """Hexadecimal digest of a file."""
    with path.open("rb") as file:
        new = partial(hashlib.new, algorithm, usedforsecurity=False)
        return hashlib.file_digest(file, new).hexdigest()


def _complete(url: str, part: Path, checksum: str | None) -> None:
    """Bring ``part`` to its full length and verify it, from the start if the file has changed."""
    continued = _size(part) > 0
    if continued and checksum and not _fault(part, None, checksum):
        return
    total = _receive(url, part, checksum)
    if total is not None and _size(part) < total:
        raise OSError(f"broke off after {_size(part)} of {total} bytes; call again to continue")
    fault = _fault(part, total, checksum)
    if fault:
        part.unlink()
        if not continued:
            raise OSError(f"{fault}; the download was removed")
        _complete(url, part, checksum)


def _fault(part: Path, total: int | None, checksum: str | None) -> str:
    """What is wrong with a download, or an empty text."""
    if checksum is None:
        return "" if _size(part) == total else f"{_size(part)} bytes, expected {total}"
    algorithm, expected = checksum.split(":")
    found = digest(part, algorithm)
    return "" if found == expected else f"{algorithm} {found}, expected {expected}"


def _receive(url: str, part: Path, checksum: str | None) -> int | None:
    """Append what ``part`` lacks; return the total length, if the server states it."""
    try:
        with urlopen(Request(url, headers=_headers(part, checksum)), timeout=TIMEOUT) as answer:
            _write(answer, part)
            return _total(answer.headers)
    except HTTPError as error:
        error.close()
        if error.code != 416 or not part.exists():
            raise
        part.unlink()  # longer than the file
        return _receive(url, part, checksum)


def _headers(part: Path, checksum: str | None) -> dict[str, str]:
    if not _size(part):
        return {}
    if checksum:
        return {"Range": f"bytes={_size(part)}-"}
    date = formatdate(part.stat().st_mtime, usegmt=True)
    return {"Range": f"bytes={_size(part)}-", "If-Range": date}


def _write(answer, part: Path) -> None:
    """Append the rest of a file, or write all of it, depending on the response."""
    given, asked = answer.headers.get("Content-Range", ""), f"bytes {_size(part)}-"
    if answer.status == 206 and not given.startswith(asked):
        part.unlink(missing_ok=True)
        raise OSError(f"answered {given!r} to {asked!r}; the part was removed")
    date = parsedate_tz(answer.headers.get("Last-Modified", ""))
    with part.open("ab" if answer.status == 206 else "wb") as file:
        while chunk := answer.read1(1 << 16):
            file.write(chunk)
            file.flush()
            if date:  # needed for If-Range; written each time, since the process may be killed
                os.utime(part, (mktime_tz(date),) * 2)


def _total(headers) -> int | None:
    """Total length: 10 for ``Content-Range: bytes 5-9/10`` or ``Content-Length: 10``."""
    length = headers.get("Content-Range") or headers.get("Content-Length") or ""
    length = length.rpartition("/")[2]
    return int(length) if length.isdigit() else None


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


@contextmanager
def _locked(folder: Path):
    """Hold the lock of a folder; the system releases it however the process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("ab") as file:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            # Some network file systems have no locks. Files are verified there as well.
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield
