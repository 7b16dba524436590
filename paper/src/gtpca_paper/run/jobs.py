"""Units of work: one fit, and all rows that come out of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gtpca_paper.data import Data, is_simulated, make_data, seed_of
from gtpca_paper.models import make_model
from gtpca_paper.rows import RowKey
from gtpca_paper.run import measures
from gtpca_paper.spec import (
    ALL_CHANNELS,
    MODELS,
    PROFILES,
    find_experiment,
    find_setting,
    has_rare_class,
    lookup,
)

__all__ = ["Job", "plan", "run_job", "run_together", "together"]

MOST = 12  # networks that are trained as one


@dataclass(frozen=True, kw_only=True)
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
        count = [f"k{self.counts[0]}"] if MODELS[self.model].separate else []
        simulated = ["simulated"] if is_simulated(self.experiment) else []
        return "_".join([*parts, f"r{self.repetition}", *count, *simulated])

    @property
    def classifies(self) -> bool:
        """Whether scores are classified."""
        return self.task != "projection"

    @property
    def needs_torch(self) -> bool:
        """Whether it trains a network: as the model, or as the classifier of the scores."""
        return MODELS[self.model].network or self.classifies

    def row_keys(self) -> list[RowKey]:
        """Keys of all rows that the job will write."""
        experiment = find_experiment(self.experiment)
        keys = [
            self.row_key(metric="resmse", normalisation=normalisation, k=k)
            for normalisation in experiment.normalisations(self.task, "resmse")
            for k in self.counts
        ]
        return keys + [
            self.row_key(metric="accuracy", protocol=protocol, normalisation=normalisation, k=k)
            for protocol, k in self.classifiers()
            for normalisation in experiment.normalisations(self.task, "accuracy")
        ]

    def classifiers(self) -> list[tuple[str, int]]:
        """Protocol and number of components of each classifier."""
        setting = find_setting(self.experiment, self.setting)
        protocols = MODELS[self.model].protocols(setting) if self.classifies else ()
        return [(protocol, k) for protocol in protocols for k in self.counts]

    def row_key(self, *, metric, normalisation, k, protocol="none") -> RowKey:
        """Key of one of its rows."""
        return RowKey(
            experiment=self.experiment,
            setting=self.setting,
            task=self.task,
            model=self.model,
            protocol=protocol,
            metric=metric,
            normalisation=normalisation,
            k=k,
            repetition=self.repetition,
            simulated=is_simulated(self.experiment),
            profile=self.profile,
        )

    def seed(self, *words) -> int:
        """A seed for what ``words`` name, the same in all profiles."""
        return seed_of(self.experiment, self.setting, self.task, self.repetition, *words)


def plan(
    experiments, *, profile="default", setting=None, task=None, models=None, repeats=None,
    repetitions=None, k=None, channels=None,
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
        How many repetitions, from the first one; default: those of the profile.
    repetitions : list of int or None
        These repetitions, counted from 0, instead of the first ones.
    k : int or None
        Largest number of components; default: the paper's.
    channels : {"all"} or None
        Of "errp"; default: the two of the paper.

    Returns
    -------
    list of Job
    """
    lookup("profile", profile, PROFILES)
    for model in models or ():
        lookup("model", model, MODELS)
    jobs = []
    for name in experiments:
        experiment = find_experiment(name)
        suffix = ALL_CHANNELS if channels == "all" and experiment.more_channels else ""
        for place, this_task in _blocks(experiment, setting, task):
            for model in _chosen(experiment.models(place), models):
                where = {"setting": place.name + suffix, "task": this_task}
                chosen = repetitions or range(repeats or experiment.repeats[profile].of(model))
                size = {"profile": PROFILES[profile], "repetitions": chosen, "k": k}
                jobs += _jobs(experiment, model, **where, **size)
    return sorted(jobs, key=lambda job: job.repetition)


def _blocks(experiment, setting, task):
    """Settings and tasks of an experiment."""
    settings = experiment.settings if setting is None else [experiment.setting(setting)]
    if task is not None:
        lookup(f"task of {experiment.name}", task, experiment.largest)
    tasks = experiment.largest if task is None else [task]
    return [(place, each) for place in settings for each in tasks]


def _chosen(models, wanted):
    return [model for model in models if wanted is None or model.name in wanted]


def _jobs(experiment, model, *, setting, task, profile, repetitions, k) -> list[Job]:
    """Those of one model: for each repetition one, or one for each number of components."""
    counts = profile.counts(model, k or experiment.largest[task], experiment.trained)
    return [
        Job(
            profile=profile.name,
            experiment=experiment.name,
            setting=setting,
            task=task,
            model=model.name,
            repetition=repetition,
            counts=group,
        )
        for repetition in repetitions
        for group in ([(count,) for count in counts] if model.separate else [counts])
    ]


def run_job(job) -> list[dict[str, Any]]:
    """Fit, measure, and return the rows of a job; see :func:`run_together`."""
    return next(run_together([job]))[1]


def run_together(jobs, checkpoint=None) -> Iterator[tuple[Job, list[dict[str, Any]]]]:
    """Fit the models of jobs that :func:`together` put into a group, and yield each with its rows.

    ``seconds`` is the time of the fit in rows of residuals, and that of training and applying the
    classifier in rows of accuracies: an equal part for each, since they are trained together.
    Accuracies have ``balanced`` beside them where a class is rare, and in the paper's protocol
    ``scale``, see :attr:`~gtpca_paper.models.Projection.scale`.

    Parameters
    ----------
    jobs : list of Job
    checkpoint : path or None
        How files begin where a training that takes long keeps what it has.
    """
    data = _Drawn()
    models, samples = [_make_model(job) for job in jobs], [data.fit(job) for job in jobs]
    start = time.perf_counter()
    type(models[0]).fit_together(models, samples, checkpoint)
    seconds = (time.perf_counter() - start) / len(jobs)
    del samples, data.fits
    for job, model in zip(jobs, models, strict=True):
        drawn = data.of(job)
        rows = _residual_rows(job, model, drawn, seconds)
        yield job, rows + (_accuracy_rows(job, model, drawn) if job.classifies else [])


class _Drawn:
    """Samples of jobs, those of the last repetition kept: jobs in order draw each twice at most."""

    def __init__(self):
        self.last: tuple[int, Data] | None = None
        self.fits: dict[int, np.ndarray] = {}

    def of(self, job) -> Data:
        """All samples of a job."""
        if self.last is None or self.last[0] != job.repetition:
            drawn = {"repetition": job.repetition, "profile": PROFILES[job.profile]}
            data = make_data(job.experiment, job.setting, task=job.task, **drawn)
            self.last = job.repetition, data
        return self.last[1]

    def fit(self, job) -> np.ndarray:
        """Those that its model is fitted to: the same array for jobs of one repetition."""
        if job.repetition not in self.fits:
            self.fits = {**self.fits, job.repetition: self.of(job).fit}
        return self.fits[job.repetition]


def _make_model(job):
    setting, spec = find_setting(job.experiment, job.setting), MODELS[job.model]
    return make_model(
        job.model,
        counts=job.counts,
        family=setting.family,
        channels=find_experiment(job.experiment).channels,
        epochs=spec.epochs or setting.epochs,
        steps=PROFILES[job.profile].steps,
        random_state=job.seed(spec.like or spec.name),
    )


def together(jobs) -> list[list[Job]]:
    """Jobs in groups whose networks are trained as one; others alone. The first come first.

    Groups differ in repetition and, where there is a network for every number of components, in
    that. They are of at most :data:`MOST` networks, since rows are written when a group ends.
    """
    groups: dict[tuple, list[Job]] = {}
    for number, job in enumerate(jobs):
        like = (job.profile, job.experiment, job.setting, job.task, job.model)
        alone = () if MODELS[job.model].network else (number,)
        groups.setdefault(like + alone, []).append(job)
    return [
        sorted(group, key=lambda job: job.repetition)[i : i + MOST]
        for group in groups.values()
        for i in range(0, len(group), MOST)
    ]


def _row(key, value, seconds, **more) -> dict[str, Any]:
    return {**key._asdict(), "value": value, "seconds": round(seconds, 3), **more}


def _residual_rows(job, model, data: Data, seconds):
    flat = data.test.reshape(len(data.test), -1)
    energy = np.einsum("ij,ij->i", flat, flat, dtype=np.float64)
    rows = []
    for k, residual in zip(job.counts, model.residuals(data.test).T, strict=True):
        values = measures.resmse(residual, energy, target=data.target, task=job.task)
        for normalisation, value in values.items():
            key = job.row_key(metric="resmse", normalisation=normalisation, k=k)
            rows.append(_row(key, value, seconds))
    return rows


def _accuracy_rows(job, model, data: Data):
    """Rows of the classifiers; they start from the same weights for all models and protocols."""
    start = time.perf_counter()
    predicted = _classified(job, model, data)
    seconds = (time.perf_counter() - start) / len(predicted)
    scales = {"paper": {"scale": model.scale}}
    rows = []
    for (protocol, k), answers in zip(job.classifiers(), predicted, strict=True):
        for normalisation, found in _measured(job, answers, data.test_y).items():
            key = {"protocol": protocol, "normalisation": normalisation, "k": k}
            more = {"seconds": seconds, **found, **scales.get(protocol, {})}
            rows.append(_row(job.row_key(metric="accuracy", **key), **more))
    return rows


def _measured(job, answers, y) -> dict[str, dict[str, float]]:
    """Columns of the rows of one classifier, by normalisation."""
    n_paper = find_experiment(job.experiment).n_paper
    found = {part: {"value": v} for part, v in measures.accuracies(answers, y, n_paper).items()}
    if has_rare_class(job.experiment, job.task):
        for part, value in measures.balanced_accuracies(answers, y, n_paper).items():
            found[part]["balanced"] = value
    return found


def _classified(job, model, data: Data):
    """Classes of the test samples, by each classifier."""
    classifiers, setting = job.classifiers(), find_setting(job.experiment, job.setting)
    train, test = (
        [model.features(codes, k, protocol) for protocol, k in classifiers]
        for codes in map(model.encode, (data.train, data.test))
    )
    return measures.classify(
        *(train, data.train_y, test),
        protocols=[protocol for protocol, _ in classifiers],
        seeds=[job.seed("downstream", k) for _, k in classifiers],
        epochs=setting.downstream_epochs.get(job.task, 10),
        steps=PROFILES[job.profile].steps,
    )
