"""Progress bars, on standard error, and only if somebody looks at it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from gtpca.fitting.shared_pose import N_GROWTHS

__all__ = ["FitBar", "watched"]


def _bar() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


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
    """

    def __init__(self, count: int | None, refine: int = 0, unit: str = "component"):
        self.count, self.refine, self.unit = count, refine, unit
        self.bar = _bar()

    @classmethod
    def of(cls, model):
        """For a fit of ``model``: components, or the rounds to a block of them in one pose."""
        if model.shared_pose:
            rounds = 1 if model.n_components == 1 else N_GROWTHS + 1
            return cls(rounds * model.n_restarts, model.refine, "round")
        known = not isinstance(model.n_components, float)
        return cls(model.n_components * model.n_restarts if known else None, model.refine)

    def setup(self, estimator, context) -> None:
        """The fit begins."""
        self.bar.start()
        self.task = self.bar.add_task("reading", total=self.count)
        self.found = self.passes = 0

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
        text = f"{self.unit} {self.found + 1}" + (f" of {self.count}" if self.count else "")
        text += f", step {self.passes}"
        if self.count == self.found:
            text = f"{self.refine} sweeps over all components" if self.refine else "finishing"
        self.bar.update(self.task, completed=self.found, description=text)

    def teardown(self, estimator, context) -> None:
        """The fit is done or was given up."""
        self.bar.stop()


def watched(pieces: Iterable, total: int, text: str) -> Iterator:
    """``pieces``, with a bar of ``total`` steps."""
    with _bar() as bar:
        yield from bar.track(pieces, total=total, description=text)
