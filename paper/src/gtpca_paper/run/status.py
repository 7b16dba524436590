"""What is missing of a plan, and how long it would take here, by what took how long before."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Any

from gtpca_paper.rows import is_earlier
from gtpca_paper.run.jobs import Job
from gtpca_paper.run.provenance import processor
from gtpca_paper.run.store import missing
from gtpca_paper.spec import MODELS, find_setting

__all__ = ["Times", "status"]


class Times:
    """Seconds of jobs, learnt from rows: of this processor where there are any, else of all.

    Parameters
    ----------
    rows : list of dict
    here : str
        Name of the processor.
    """

    def __init__(self, rows, here):
        own = [row for row in rows if row.get("made", {}).get("processor") == here]
        self.known = [_learnt(own), _learnt(rows)]

    def guess(self, job: Job) -> float | None:
        """Seconds of a job, by the median of those most like it; None if nothing is known."""
        spec = MODELS[job.model]
        size = 1 if spec.separate else job.counts[-1]
        found = self._each(job, job.model)
        if found is None and spec.like and spec.epochs:
            usual = find_setting(job.experiment, job.setting).epochs
            found = self._each(job, spec.like)
            size *= spec.epochs / usual
        return None if found is None else size * found

    def _each(self, job, model) -> float | None:
        for like in _likenesses(job.experiment, job.setting, job.task, model):
            for times in self.known:
                if like in times:
                    return median(times[like])
        return None


def _likenesses(experiment, setting, task, model) -> tuple[tuple[str, ...], ...]:
    """From much alike to hardly."""
    return (
        (experiment, setting, task, model),
        (experiment, setting, model),
        (experiment, model),
        (model,),
    )


def _learnt(rows) -> dict[tuple[str, ...], list[float]]:
    """Seconds of jobs by what they are like: of each component, if all come of one fit."""
    fits: dict[tuple, dict[tuple, float]] = {}
    for row in rows:
        name = tuple(row[n] for n in ("experiment", "setting", "task", "model"))
        separate = row["model"] in MODELS and MODELS[row["model"]].separate
        job = (*name, row["repetition"], row["k"] if separate else 0)
        part = (row["metric"], row["protocol"], row["k"] if row["metric"] == "accuracy" else 0)
        fits.setdefault(job, {})[part] = row["seconds"]
        size = fits[job].get(("largest",), 0)
        fits[job]["largest",] = max(size, 1 if separate else row["k"])
    times: dict[tuple[str, ...], list[float]] = {}
    for job, parts in fits.items():
        size = parts.pop(("largest",))
        for like in _likenesses(*job[:4]):
            times.setdefault(like, []).append(sum(parts.values()) / size)
    return times


def status(jobs: Iterable[Job], rows: list[dict[str, Any]], here=None) -> list[str]:
    """Lines on what is missing, by experiment, task and model, with the hours on one core.

    Parameters
    ----------
    jobs : list of Job
        The plan.
    rows : list of dict
        All rows that are there.
    here : str or None
        Name of the processor; default: the present one.
    """
    jobs, here = list(jobs), here or processor()
    times, total, unknown = Times(rows, here), 0.0, 0
    groups: dict[tuple[str, str, str], list[Job]] = {}
    for job in missing(jobs, rows):
        groups.setdefault((job.experiment, job.task, job.model), []).append(job)
    lines = []
    for (experiment, task, model), lacking in groups.items():
        guesses = [times.guess(job) for job in lacking]
        seconds = sum(guess for guess in guesses if guess is not None)
        total, unknown = total + seconds, unknown + guesses.count(None)
        among = [j for j in jobs if (j.experiment, j.task, j.model) == (experiment, task, model)]
        span = "unknown time" if None in guesses else f"about {_hours(seconds)}"
        lines.append(
            f"{experiment}, {task}, {model}: {len(lacking)} of {len(among)} jobs missing, {span}"
        )
    if not lines:
        lines.append(f"Nothing is missing of {len(jobs)} jobs.")
    else:
        more = f", and {unknown} jobs of unknown time" if unknown else ""
        lines.append(f"In all about {_hours(total)} on one core of {here}{more}.")
    without = sum("made" not in row for row in rows)
    earlier = sum(map(is_earlier, rows))
    lines.append(
        f"{len(rows)} rows are there: {without} do not say what computed them, {earlier} are of an "
        "earlier solver."
    )
    return lines


def _hours(seconds) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 360 else f"{seconds / 60:.1f} min"
