"""Limit BLAS to a single thread while any fit of this process is running."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Any

import threadpoolctl

__all__ = ["SINGLE_BLAS_THREAD", "SingleBlasThread"]


class SingleBlasThread:
    """A context in which BLAS uses one thread; several threads may enter it at once.

    The number of threads is a property of the process. Entries are counted: the first sets it, and
    the last to leave restores what the first found. If each restored what it found, overlapping
    fits would leave a single thread behind.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _libraries().limit(limits=1, user_api="blas")
                _release()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()
                _release()


SINGLE_BLAS_THREAD = SingleBlasThread()


def _release() -> None:
    """Let any thread set the number again: the one that restores it may be another.

    Newer versions of threadpoolctl accept this only from the thread that set it first.
    """
    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):
        openblas.clear_controlling_thread()


@lru_cache(maxsize=1)
def _libraries() -> threadpoolctl.ThreadpoolController:
    """The libraries that multiply matrices; cached, since finding them takes milliseconds."""
    return threadpoolctl.ThreadpoolController()
