"""A progress bar for a fit: in a notebook or on a terminal, and only if somebody can see it."""

from __future__ import annotations

import importlib
import math
import multiprocessing
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from gtpca._typing import HAS_CALLBACKS
from gtpca.fitting.shared_pose import n_growths
from gtpca.optional import require

__all__ = ["DELAY", "FitBar", "new_bar", "shown", "told"]

DELAY = 3.0  # seconds; shorter fits have no bar unless requested
PAUSE = 0.2  # seconds between two updates of a bar in a notebook
# Whether there is anything to show a bar on; for most fits this is the only check.
NOTEBOOK = "ipykernel" in sys.modules
LOOKED_AT = NOTEBOOK or (sys.stderr is not None and sys.stderr.isatty())


def new_bar():
    """A rich progress bar, which is invisible if there is nothing to show it on."""
    console = require("rich.console", "cli").Console(stderr=True)
    rich = require("rich.progress", "cli")
    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.TimeElapsedColumn())
    seen = console.is_terminal or console.is_jupyter
    return rich.Progress(*columns, console=console, transient=True, disable=not seen)


class NotebookBar:
    """A progress bar in a notebook, with those methods of rich's bars that are used here.

    There rich needs widgets, which may not be installed and are not saved with the notebook. This
    is one output that is overwritten, which works wherever a notebook runs.
    """

    def __init__(self) -> None:
        self.handle: Any = None
        self.total: int | None = None
        self.begun = self.drawn = -math.inf

    def add_task(self, description: str, total: int | None = None) -> int:
        """Add one task; nothing is shown yet."""
        self.total, self.begun = total, time.monotonic()
        return 0

    def start(self) -> None:
        """As in rich; the first update shows the bar."""

    def update(
        self, task: int, *, completed: int, description: str, total: int | None = None
    ) -> None:
        """Show the progress, unless that was done a moment ago."""
        self.total = total
        now = time.monotonic()
        if now - self.drawn < PAUSE:
            return
        self.drawn = now
        share = "" if self.total is None else f' value="{completed}" max="{self.total}"'
        text = f"{description}, {now - self.begun:.0f} s"
        self._write(text, f"<progress{share}></progress> {escape(text)}")

    def stop(self) -> None:
        """Remove the bar."""
        if self.handle is not None:
            self._write("", "")

    def _write(self, text: str, html: str) -> None:
        data = {"text/plain": text, "text/html": html}
        if self.handle is None:
            display = importlib.import_module("IPython.display").display
            self.handle = display(data, raw=True, display_id=True)
        else:
            self.handle.update(data, raw=True)


@contextmanager
def shown(estimator) -> Iterator[None]:
    """A context in which a fit of ``estimator`` has a progress bar, if ``progress`` says so.

    "auto" shows a bar after some seconds, in notebooks and on terminals, unless the estimator has
    its own callbacks, runs in a worker or another thread, or is on a terminal without rich.
    """
    wanted = _wanted() if estimator.progress == "auto" else estimator.progress is True
    if not wanted or getattr(estimator, "_skl_callbacks", None):
        yield
        return
    estimator.set_callbacks(FitBar.of(estimator, DELAY if estimator.progress == "auto" else 0))
    try:
        yield
    finally:
        estimator.set_callbacks()


@contextmanager
def told(progress) -> Iterator[Any]:
    """A function that shows the current step of a fit, in words; None if nobody can see it.

    Parameters
    ----------
    progress : {"auto", True, False}
        As in :func:`shown`.
    """
    if not (_wanted() if progress == "auto" else progress is True):
        yield None
        return
    shown_bar = NotebookBar() if NOTEBOOK else new_bar()
    task, begun = shown_bar.add_task("reading", total=None), time.monotonic()

    def tell(words: str) -> None:
        if progress is True or time.monotonic() - begun >= DELAY:
            shown_bar.start()
            shown_bar.update(task, completed=0, description=words)

    try:
        yield tell
    finally:
        shown_bar.stop()


def _wanted() -> bool:
    """Whether this fit should show a bar."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    alone = HAS_CALLBACKS and multiprocessing.parent_process() is None
    alone = alone and threading.current_thread() is threading.main_thread()
    return alone and (NOTEBOOK or (terminal and _importable("rich")))


def _importable(name) -> bool:
    try:
        return bool(require(name, "cli"))
    except ImportError:
        return False


class FitBar:
    """A scikit-learn callback: one bar for a fit, with its component and step.

    A step is one of the search, or a pass over all rows.

    Parameters
    ----------
    count : int or None
        Number of components, if it is known.
    refine : int
        Joint sweeps after the last component.
    unit : str
        What is counted, if not components.
    delay : float
        Seconds before the bar appears.
    """

    def __init__(
        self, count: int | None, refine: int = 0, unit: str = "component", delay: float = 0.0
    ):
        self.count, self.refine, self.unit, self.delay = count, refine, unit, delay
        self.bar = NotebookBar() if NOTEBOOK else new_bar()

    @classmethod
    def of(cls, model, delay=0.0):
        """The bar for a fit of ``model``: components, or the rounds to a block in one pose."""
        n_fits = 1 if model.n_restarts == "auto" else model.n_restarts
        if model.shared_pose:
            rounds = 1 if model.n_components == 1 else sum(n_growths(model.n_restarts == "auto"))
            return cls(rounds * n_fits, model.refine, "round", delay)
        known = not isinstance(model.n_components, float)
        count = model.n_components * n_fits if known else None
        return cls(count, model.refine, delay=delay)

    def setup(self, estimator, context) -> None:
        """The fit begins."""
        self.task = self.bar.add_task("reading", total=self.count)
        self.found = self.passes = 0
        self.begun = time.monotonic()
        self._show()

    def on_fit_task_begin(self, estimator, context) -> None:
        """A component, or one step towards it, begins."""
        if context.task_name == "component":
            self.passes = 0
            if self.count is not None:  # loud rows, which only the fit notices, need more
                self.count = max(self.count, self.found + 1)
        elif context.task_name in ("iteration", "search", "growth"):
            self.passes += 1
        self._show()

    def on_fit_task_end(self, estimator, context) -> None:
        """A component was found; its bar advances."""
        if context.task_name == "component":
            self.found += 1
            self._show()

    def _show(self) -> None:
        if time.monotonic() - self.begun < self.delay:
            return
        self.bar.start()
        text = f"{self.unit} {self.found + 1}" + (f" of {self.count}" if self.count else "")
        text += f", step {self.passes}"
        if self.count == self.found:
            text = f"{self.refine} sweeps over all components" if self.refine else "finishing"
        self.bar.update(self.task, completed=self.found, total=self.count, description=text)

    def teardown(self, estimator, context) -> None:
        """The fit has ended or was aborted."""
        self.bar.stop()
