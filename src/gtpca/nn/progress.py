"""A progress bar."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(show: bool, total: int):
    """Yields ``advance(text)``, to be called ``total`` times."""
    if not show:
        yield lambda text: None
        return
    try:
        bar = import_module("rich.progress").Progress()
    except ImportError as error:
        raise ImportError('rich is missing: pip install "gtpca[torch]"') from error
    with bar:
        task = bar.add_task("training", total=total)
        yield lambda text: bar.update(task, advance=1, description=text)
