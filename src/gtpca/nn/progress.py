"""A progress bar."""

from __future__ import annotations

from contextlib import contextmanager

from gtpca.optional import require

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(show: bool, total: int):
    """Yields ``show(done, text)``: so many of ``total`` steps are done."""
    if not show:
        yield lambda done, text: None
        return
    with require("rich.progress", "torch").Progress() as bar:
        task = bar.add_task("training", total=total)
        yield lambda done, text: bar.update(task, completed=done, description=text)
