"""A progress bar."""

from __future__ import annotations

from contextlib import contextmanager

from gtpca.optional import require

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(show: bool, total: int):
    """Yields ``advance(text)``, to be called ``total`` times."""
    if not show:
        yield lambda text: None
        return
    with require("rich.progress", "torch").Progress() as bar:
        task = bar.add_task("training", total=total)
        yield lambda text: bar.update(task, advance=1, description=text)
