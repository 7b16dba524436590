"""A progress bar for a fit: on standard error, and only if somebody looks at it."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gtpca.fitting.shared_pose import N_GROWTHS
from gtpca.optional import require

__all__ = ["DELAY", "FitBar", "new_bar", "shown"]

DELAY = 3.0  # seconds; a shorter fit has no bar unless it is asked for
# Whether there is anything to show a bar on; most fits go by without a further question.
NOTEBOOK = "ipykernel" in sys.modules
LOOKED_AT = NOTEBOOK or (sys.stderr is not None and sys.stderr.isatty())


def new_bar():
    """A bar of rich, of which nothing is seen where nobody looks."""
    console = require("rich.console", "cli").Console(stderr=True)
    rich = require("rich.progress", "cli")
    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.TimeElapsedColumn())
    seen = console.is_terminal or console.is_jupyter
    return rich.Progress(*columns, console=console, transient=True, disable=not seen)


@contextmanager
def shown(estimator) -> Iterator[None]:
    """Where a fit of ``estimator`` has a progress bar, if its parameter ``progress`` says so.

    "auto" is a bar after some seconds, in notebooks and on terminals, unless the estimator has
    callbacks of its own, runs in a worker or another thread, or rich is not there.
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


def _wanted() -> bool:
    """Whether somebody looks at this very fit."""
    notebook = NOTEBOOK and _importable("ipywidgets")  # rich needs it there
    terminal = sys.stderr is not None and sys.stderr.isatty()
    alone = multiprocessing.parent_process() is None
    alone = alone and threading.current_thread() is threading.main_thread()
    return (notebook or terminal) and alone and _importable("rich")


def _importable(name) -> bool:
    try:
        return bool(require(name, "cli"))
    except ImportError:
        return False


class FitBar:
    """A callback of scikit-learn: one bar for a fit, with its component and step.

    A step is one of the search, or a pass over all rows.

    Parameters
    ----------
    count : int or None
        Number of components, if it is known.
    refine : int
        Joint sweeps after the last of them.
    unit : str
        What is counted, if it is something else.
    delay : float
        Seconds before there is a bar.
    """

    def __init__(
        self, count: int | None, refine: int = 0, unit: str = "component", delay: float = 0.0
    ):
        self.count, self.refine, self.unit, self.delay = count, refine, unit, delay
        self.bar = new_bar()

    @classmethod
    def of(cls, model, delay=0.0):
        """For a fit of ``model``: components, or the rounds to a block of them in one pose."""
        if model.shared_pose:
            rounds = 1 if model.n_components == 1 else N_GROWTHS + 1
            return cls(rounds * model.n_restarts, model.refine, "round", delay)
        known = not isinstance(model.n_components, float)
        count = model.n_components * model.n_restarts if known else None
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
        elif context.task_name in ("iteration", "search", "growth"):
            self.passes += 1
        self._show()

    def on_fit_task_end(self, estimator, context) -> None:
        """A component was found; its bar moves on."""
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
        self.bar.update(self.task, completed=self.found, description=text)

    def teardown(self, estimator, context) -> None:
        """The fit is done or was given up."""
        self.bar.stop()
