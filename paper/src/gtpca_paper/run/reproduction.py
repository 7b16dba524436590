"""``gtpca reproduce``: from what a user asks for to a run, and what is said of it."""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path

from gtpca import checks
from gtpca.datasets import DatasetError
from gtpca.datasets.files import locate
from gtpca.files import check_writable
from gtpca.optional import missing
from gtpca_paper.data import is_simulated
from gtpca_paper.run.jobs import plan
from gtpca_paper.run.runner import run
from gtpca_paper.run.status import status
from gtpca_paper.run.store import read_rows
from gtpca_paper.spec import EXPERIMENTS, find_experiment

__all__ = ["listing", "reproduce", "what_is_missing"]


def listing() -> list[str]:
    """Lines that name experiments, settings, tasks and models."""
    lines = []
    for experiment in EXPERIMENTS.values():
        tasks = ", ".join(f"{task} (k to {k})" for task, k in experiment.largest.items())
        lines += [experiment.name, f"  tasks     {tasks}"]
        for setting in experiment.settings:
            lines.append(f"  setting   {setting.name:5} {setting.title}")
        models = experiment.models(experiment.settings[0])
        lines.append(f"  models    {', '.join(model.name for model in models)}")
    return lines


def reproduce(name, out, *, workers=1, say=print, wanted=None) -> int:
    """Run an experiment, or all, and say what is there.

    Parameters
    ----------
    name : str
        An experiment, or "all".
    out : path
        Folder of the rows.
    workers : int
    say : callable
        Takes a line of text.
    wanted : dict or None
        Parameters of :func:`~gtpca_paper.run.jobs.plan`.

    Returns
    -------
    int
        0 if all rows are there that can be, 1 if a job failed.
    """
    checks.choice("NAME", name, (*EXPERIMENTS, "all", "report", "status"))
    wanted = dict(wanted or {})
    names = _fitting(wanted) if name == "all" else [name]
    _check_options(name, wanted)
    jobs = plan(names, **wanted)
    if not jobs:
        raise ValueError(f"There is nothing to do: {name} has no such model.")
    _check_torch(jobs)
    absent = _absent({job.experiment for job in jobs})
    if absent and name != "all":
        raise DatasetError(absent[name])
    for simulated in filter(is_simulated, names):
        say(f"{simulated}: its files are not there; the data are simulated, and all rows say so.")
    jobs = [job for job in jobs if job.experiment not in absent]
    _check_folder(out)
    with _Progress(say) as progress:
        outcome = run(jobs, out, workers=workers, report=progress)
    return _conclude(outcome, absent, out, say)


def what_is_missing(out, wanted=None) -> list[str]:
    """Lines on what is missing in a folder of all experiments, and how long it would take here."""
    wanted = dict(wanted or {})
    _check_options("all", wanted)
    return status(plan(_fitting(wanted), **wanted), read_rows(out))


def _fitting(wanted) -> list[str]:
    """Experiments with the setting and the task that are wanted."""
    setting, task = wanted.get("setting"), wanted.get("task")
    names = [
        e.name
        for e in EXPERIMENTS.values()
        if (setting is None or setting in [s.name for s in e.settings])
        and (task is None or task in e.largest)
    ]
    if not names:
        raise ValueError(f"No experiment has setting={setting!r} and task={task!r}; see --list.")
    return names


def _check_options(name, wanted) -> None:
    checks.choice("--channels", wanted.get("channels"), (None, "all"))
    able = [e.name for e in EXPERIMENTS.values() if e.more_channels]
    if wanted.get("channels") and name not in (*able, "all"):
        raise ValueError(f"--channels is an option of {', '.join(able)}; {name} has no electrodes.")
    if wanted.get("repeats") and wanted.get("repetitions"):
        raise ValueError("--repeats (how many) and --repetitions (which) exclude each other.")


def _check_folder(out) -> None:
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
        check_writable(Path(out) / "rows.jsonl")
    except OSError as error:
        raise ValueError(f"--out {out} cannot be written: {error.strerror}.") from None


def _check_torch(jobs) -> None:
    if any(job.needs_torch for job in jobs) and find_spec("torch") is None:
        raise missing("torch", "torch")


def _absent(names) -> dict[str, str]:
    """Experiments whose data cannot be had, and why."""
    absent = {}
    for name in sorted(names):
        experiment = find_experiment(name)
        file = "" if experiment.simulable else experiment.file
        try:
            if file:
                locate(file, None)
            if file.endswith(".rda") and find_spec("rdata") is None:
                absent[name] = str(missing("rdata", "data"))
        except DatasetError as error:
            absent[name] = str(error)
    return absent


def _conclude(outcome, absent, out, say) -> int:
    for line in outcome.summary.lines():
        say(line)
    for name, reason in absent.items():
        say(f"{name} was left out. {' '.join(reason.split())}")
    for job, error in outcome.failed.items():
        say(f"failed: {job}: {error}")
    say(f"The rows are in {out}; `gtpca reproduce report --out {out}` makes the tables.")
    return 1 if outcome.failed else 0


class _Progress:
    """A bar on a terminal, else a line now and then."""

    def __init__(self, say):
        self.say, self.bar, self.task, self.said = say, None, None, 0.0

    def __enter__(self):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        console = Console(stderr=True)
        if console.is_terminal:
            columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
            self.bar = Progress(*columns, console=console)
            self.bar.start()
            self.task = self.bar.add_task("starting", total=None)
        return self

    def __exit__(self, *error):
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, said, *, done, total, left):
        text = f"{_span(left)} left; {said}"
        if self.bar is not None:
            self.bar.update(self.task, completed=done, total=total, description=text)
        elif done == total or time.monotonic() - self.said > 10:
            self.say(f"{done} of {total} jobs, {text}")
            self.said = time.monotonic()


def _span(seconds) -> str:
    """Seconds as a person says it."""
    if seconds is None:
        return "unknown time"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s"
