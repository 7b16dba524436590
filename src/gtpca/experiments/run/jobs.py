"""Units of work: one fit, and all rows that come out of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gtpca.experiments.data import Data, is_simulated, make_data, seed_of
from gtpca.experiments.models import PER_COUNT, make_model, protocols_of, scored_counts
from gtpca.experiments.run import measures
from gtpca.experiments.spec import (
    MODELS,
    NETWORKS,
    PROFILES,
    SLOW,
    find_experiment,
    find_setting,
    named,
)

__all__ = ["KEY", "Job", "plan", "row_key", "run_job"]

# What tells a row from all others; the rest of a row is what was found.
KEY = (
    *("experiment", "setting", "task", "model", "protocol", "metric", "normalisation"),
    *("k", "repetition", "simulated", "profile"),
)


def row_key(row) -> tuple:
    """What a row is about: the values of ``KEY``."""
    return tuple(row[name] for name in KEY)


@dataclass(frozen=True)
class Job:
    """One fit of one model to one repetition.

    Attributes
    ----------
    profile, experiment, setting, task, model : str
    repetition : int
    counts : tuple of int
        Numbers of components that there will be rows for.
    """

    profile: str
    experiment: str
    setting: str
    task: str
    model: str
    repetition: int
    counts: tuple[int, ...]

    @property
    def name(self) -> str:
        """Unique, and a valid name of a file."""
        parts = [self.profile, self.experiment, self.setting, self.task, self.model]
        count = [f"k{self.counts[0]}"] if self.model in PER_COUNT else []
        simulated = ["simulated"] if is_simulated(self.experiment) else []
        return "_".join([*parts, f"r{self.repetition}", *count, *simulated])

    @property
    def needs_torch(self) -> bool:
        """Whether it trains a network: as the model, or as the classifier of the scores."""
        return self.model in NETWORKS or self.task != "projection"

    def row_keys(self) -> list[tuple]:
        """Keys of all rows that the job will write."""
        return [row_key(row) for row in self.blanks()]

    def blanks(self) -> Iterator[dict[str, Any]]:
        """The rows of the job, without what will be found."""
        for normalisation in measures.resmse_normalisations(self.task):
            for k in self.counts:
                yield self.blank("none", "resmse", normalisation, k)
        if self.task == "projection":
            return
        n_paper = find_experiment(self.experiment).n_paper
        for protocol in protocols_of(self.model, self.place.family):
            for normalisation in measures.accuracy_normalisations(n_paper):
                for k in scored_counts(self.model, self.counts):
                    yield self.blank(protocol, "accuracy", normalisation, k)

    def blank(self, protocol, metric, normalisation, k) -> dict[str, Any]:
        """A row without value and seconds."""
        return {
            "experiment": self.experiment,
            "setting": self.setting,
            "task": self.task,
            "model": self.model,
            "protocol": protocol,
            "metric": metric,
            "normalisation": normalisation,
            "k": k,
            "repetition": self.repetition,
            "simulated": is_simulated(self.experiment),
            "profile": self.profile,
        }

    @property
    def place(self):
        """The setting."""
        return find_setting(self.experiment, self.setting)


def plan(
    experiments, *, profile="default", setting=None, task=None, models=None, repeats=None, k=None,
    channels=None,
) -> list[Job]:  # fmt: skip
    """All jobs, those of the first repetition first.

    Parameters
    ----------
    experiments : list of str
    profile : {"quick", "default", "paper"}
    setting, task : str or None
        Only this one; None: all.
    models : list of str or None
    repeats : int or None
        Repetitions; default: those of the profile.
    k : int or None
        Largest number of components; default: the paper's.
    channels : {"all"} or None
        Of "errp"; default: the two of the paper.

    Returns
    -------
    list of Job
    """
    named("profile", profile, PROFILES)
    for model in models or ():
        named("model", model, dict.fromkeys(MODELS))
    jobs = []
    for name in experiments:
        suffix = "-all" if channels == "all" and name == "errp" else ""
        for place, this_task in _blocks(name, setting, task):
            for model in _chosen(find_experiment(name).models(place), models):
                where = (profile, name, place.name + suffix, this_task, model)
                jobs += _repeated(where, repeats, k)
    return sorted(jobs, key=lambda job: job.repetition)


def _blocks(name, setting, task):
    """Settings and tasks of an experiment."""
    experiment = find_experiment(name)
    known = {each.name: each for each in experiment.settings}
    settings = known.values() if setting is None else [named(f"setting of {name}", setting, known)]
    if task is not None:
        named(f"task of {name}", task, experiment.largest)
    tasks = experiment.largest if task is None else [task]
    return [(place, each) for place in settings for each in tasks]


def _chosen(models, wanted):
    return [model for model in models if wanted is None or model in wanted]


def _repeated(where, repeats, k) -> list[Job]:
    profile, name, setting, task, model = where
    experiment = find_experiment(name)
    counts = PROFILES[profile].counts(model, k or experiment.largest[task])
    usual = experiment.repeats[profile][model in SLOW]
    groups = [(count,) for count in counts] if model in PER_COUNT else [counts]
    return [
        Job(profile, name, setting, task, model, r, group)
        for r in range(repeats or usual)
        for group in groups
    ]


def run_job(job) -> list[dict[str, Any]]:
    """Fit, measure, and return the rows of a job.

    ``seconds`` is the time of the fit in rows of residuals, and that of training and applying the
    classifier in rows of accuracies: an equal part for each, since they are trained together.
    """
    profile = PROFILES[job.profile]
    data = make_data(job.experiment, job.setting, job.task, job.repetition, profile)
    channels = find_experiment(job.experiment).channels
    seed = seed_of(job.experiment, job.setting, job.task, job.repetition, job.model)
    model = make_model(job.model, job.counts, job.place, channels, profile.steps, seed)
    start = time.perf_counter()
    model.fit(data.fit)
    rows = _residual_rows(job, model, data, time.perf_counter() - start)
    if job.task != "projection":
        rows += _accuracy_rows(job, model, data)
    return rows


def _residual_rows(job, model, data: Data, seconds):
    flat = data.test.reshape(len(data.test), -1)
    energy = np.einsum("ij,ij->i", flat, flat, dtype=np.float64)
    rows = []
    for k, residual in zip(job.counts, model.residuals(data.test).T, strict=True):
        values = measures.resmse(residual, energy, data.target, job.task)
        for normalisation, value in values.items():
            found = {"value": value, "seconds": round(seconds, 3)}
            rows.append(job.blank("none", "resmse", normalisation, k) | found)
    return rows


def _accuracy_rows(job, model, data: Data):
    """Rows of the classifiers; they start from the same weights for all models and measures."""
    start = time.perf_counter()
    kinds = [
        (protocol, k)
        for protocol in protocols_of(job.model, job.place.family)
        for k in scored_counts(job.model, job.counts)
    ]
    predicted = _classified(job, model, data, kinds)
    seconds = round((time.perf_counter() - start) / len(kinds), 3)
    n_paper = find_experiment(job.experiment).n_paper
    return [
        job.blank(protocol, "accuracy", normalisation, k) | {"value": value, "seconds": seconds}
        for (protocol, k), answers in zip(kinds, predicted, strict=True)
        for normalisation, value in measures.accuracies(answers, data.test_y, n_paper).items()
    ]


def _classified(job, model, data: Data, kinds):
    """Classes of the test samples, for each protocol and number of components."""
    train, test = (
        [model.features(codes, k, protocol) for protocol, k in kinds]
        for codes in map(model.encode, (data.train, data.test))
    )
    where = (job.experiment, job.setting, job.task, job.repetition, "downstream")
    epochs = job.place.downstream_epochs.get(job.task, 10)
    seeds = [seed_of(*where, k) for _, k in kinds]
    schedule = ([protocol for protocol, _ in kinds], epochs, PROFILES[job.profile].steps, seeds)
    return measures.classify(train, data.train_y, test, *schedule)
