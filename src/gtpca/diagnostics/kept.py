"""Results of a long search, one line of JSON per fit, so that it can continue if interrupted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from gtpca.files import check_regular

__all__ = ["ResultCache", "are_numbers", "fingerprint"]


def are_numbers(value: Any) -> bool:
    """Whether a value from a file is a number, or a list of numbers."""
    listed = value if isinstance(value, list) else [value]
    return all(type(number) in (int, float) for number in listed)


def fingerprint(samples: np.ndarray, *more: Any) -> str:
    """Sixteen characters that differ for other samples or other settings."""
    found = hashlib.sha256(np.ascontiguousarray(samples).tobytes())
    found.update(repr((samples.shape, *more)).encode())
    return found.hexdigest()[:16]


class ResultCache:
    """The results of a search, in memory and in a file.

    Parameters
    ----------
    path : path or None
        None: in memory only. Lines of other searches in the file are kept.
    search : str
        Identifies the search, see :func:`fingerprint`.
    """

    def __init__(self, path, search: str):
        self.path = None if path is None else Path(path)
        self.search, self._lock = search, Lock()
        self._known: dict[str, Any] = {}
        if self.path is not None and self.path.exists():
            check_regular(self.path)
            self._take(self.path.read_text(encoding="utf-8", errors="replace").splitlines())

    def _take(self, lines) -> None:
        """Take the results of this search from lines; lines that make no sense are skipped."""
        for line in lines:
            try:
                found = json.loads(line)
                if found["search"] == self.search:
                    self._known[json.dumps(found["case"])] = found["result"]
            except (ValueError, KeyError, TypeError, RecursionError):
                continue

    def __len__(self) -> int:
        return len(self._known)

    def get(self, case: dict[str, Any], find: Callable[[], Any], good=are_numbers) -> Any:
        """The result of a case: the stored one, if ``good(result)`` holds, or else a new one.

        It must consist of plain numbers or lists.
        """
        name = json.dumps(case)
        if name not in self._known or not good(self._known[name]):
            result = find()
            with self._lock:
                self._known[name] = result
                self._write({"search": self.search, "case": case, "result": result})
        return self._known[name]

    def _write(self, line) -> None:
        """Append a line; an incomplete line before it is ended first."""
        if self.path is None:
            return
        with open(self.path, "ab+") as file:
            if file.tell():
                file.seek(-1, 2)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write((json.dumps(line) + "\n").encode())
