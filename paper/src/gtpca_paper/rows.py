"""What a row of results is about: the keys of rows, of tables and of their lines."""

from __future__ import annotations

from typing import NamedTuple

from gtpca_paper.spec import (
    METRICS,
    MODELS,
    OWN_TITLES,
    PROTOCOLS,
    TASKS,
    experiment_title,
    has_rare_class,
    is_gtpca,
    model_title,
    setting_title,
)

__all__ = ["Line", "RowKey", "TableKey", "is_earlier", "is_outdated", "is_whole", "revision_of"]


class RowKey(NamedTuple):
    """What tells a row from all others; the rest of a row is what was found."""

    experiment: str
    setting: str
    task: str
    model: str
    protocol: str
    metric: str
    normalisation: str
    k: int
    repetition: int
    simulated: bool
    profile: str

    @classmethod
    def of(cls, row) -> RowKey:
        """The key of a row."""
        return cls(**{name: row[name] for name in cls._fields})


def is_outdated(row) -> bool:
    """Whether a row is of absolute scores of GT-PCA that were not scaled as in the paper."""
    absolute = (row["metric"], row["protocol"]) == ("accuracy", "paper")
    return absolute and is_gtpca(row["model"]) and "scale" not in row


def is_earlier(row) -> bool:
    """Whether a row is of an earlier solver: it is marked so, or its revision is not the present.

    Rows without provenance are of revision 0.
    """
    if row.get("earlier"):
        return True
    present = MODELS[row["model"]].revision if row["model"] in MODELS else 0
    return revision_of(row) < present


def revision_of(row) -> int:
    """Revision of the model that a row was computed with, see :class:`~.spec.ModelSpec`."""
    return int(row.get("made", {}).get("revision", 0))


def is_whole(row) -> bool:
    """Whether a row has all columns, which older ones have not, and is of the present solver."""
    rare = row["metric"] == "accuracy" and has_rare_class(row["experiment"], row["task"])
    return ("balanced" in row or not rare) and not is_earlier(row)


class TableKey(NamedTuple):
    """Which table: the fields that all of its rows share."""

    experiment: str
    setting: str
    task: str
    metric: str

    def __str__(self) -> str:
        return "/".join(self)

    @property
    def title(self) -> str:
        """Title of the table, with what its numbers are."""
        parts = [experiment_title(self.experiment), self.setting_title, self.task_title]
        return f"{', '.join(part for part in parts if part)}: {self.metric_title}"

    @property
    def short_title(self) -> str:
        """Experiment, name of the setting and task, e.g. "MNIST (iv), outlier detection"."""
        numbered = not self.setting.strip("iv")
        setting = f"({self.setting})" if numbered else self.setting
        parts = [f"{experiment_title(self.experiment)} {setting}", self.task_title]
        return ", ".join(filter(None, parts))

    @property
    def setting_title(self) -> str:
        """Title of the setting."""
        return setting_title(self.experiment, self.setting)

    @property
    def task_title(self) -> str:
        """Title of the task; empty for "projection", which is never one of several."""
        return "" if self.task == "projection" else TASKS.get(self.task, self.task)

    @property
    def metric_title(self) -> str:
        """Title of the metric."""
        return METRICS.get(self.metric, self.metric)


class Line(NamedTuple):
    """Which line of a table: the fields that its rows share for all k and repetitions."""

    model: str
    protocol: str
    normalisation: str
    profile: str

    @property
    def title(self) -> str:
        """Title of the model."""
        return model_title(self.model)

    @property
    def is_own(self) -> bool:
        """Whether the paper has no such normalisation."""
        return self.normalisation == "own"

    def label(self, metric) -> str:
        """What tells it from other lines of its model; empty if nothing has to be said."""
        parts = ["" if self.protocol == "none" else PROTOCOLS.get(self.protocol, self.protocol)]
        parts += [OWN_TITLES.get(metric, self.normalisation)] if self.is_own else []
        parts += [f"profile {self.profile}"] if self.profile else []
        return ", ".join(part for part in parts if part)
