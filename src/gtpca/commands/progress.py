"""Progress bars on standard error, only if it is a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gtpca.fitting.bar import FitBar, new_bar

__all__ = ["FitBar", "watched"]


def watched(pieces: Iterable, total: int, text: str) -> Iterator:
    """``pieces``, with a bar of ``total`` steps."""
    with new_bar() as bar:
        yield from bar.track(pieces, total=total, description=text)
