"""Results of a long search, one line of JSON per fit, so that an interrupted search goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

__all__ = ["Kept", "fingerprint"]


def fingerprint(samples: np.ndarray, *more: Any) -> str:
    """Sixteen characters that differ for other samples or other settings."""
    found = hashlib.sha256(np.ascontiguousarray(samples).tobytes())
    found.update(repr((samples.shape, *more)).encode())
    return found.hexdigest()[:16]


class Kept:
    """What is known of a search, in memory and in a file.

    Parameters
    ----------
    path : path or None
        None: in memory only. Lines of other searches in the file stay as they are.
    search : str
        Which search it is, see :func:`fingerprint`.
    """

    def __init__(self, path, search: str):
        self.path = None if path is None else Path(path)
        self.search, self._lock = search, Lock()
        self._known: dict[str, Any] = {}
        if self.path is not None and self.path.exists():
            self._take(self.path.read_text(encoding="utf-8").splitlines())

    def _take(self, lines) -> None:
        """Take what lines say of this search; one that was cut off is passed over."""
        for line in lines:
            try:
                found = json.loads(line)
                if found["search"] == self.search:
                    self._known[json.dumps(found["case"])] = found["result"]
            except (ValueError, KeyError, TypeError):
                continue

    def __len__(self) -> int:
        return len(self._known)

    def get(self, case: dict[str, Any], find: Callable[[], Any]) -> Any:
        """The result of a case, found now unless it is known; it must be plain numbers or lists."""
        name = json.dumps(case)
        if name not in self._known:
            result = find()
            with self._lock:
                self._known[name] = result
                self._write({"search": self.search, "case": case, "result": result})
        return self._known[name]

    def _write(self, line) -> None:
        """Append a line; one that was cut off before is ended first."""
        if self.path is None:
            return
        with open(self.path, "ab+") as file:
            if file.tell():
                file.seek(-1, 2)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write((json.dumps(line) + "\n").encode())
