"""The numbers printed in the paper."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import NamedTuple

from gtpca import checks

__all__ = ["TableKey", "published", "published_models", "published_row", "published_tables"]

_MODELS = {
    "GT-PCA": "gtpca",
    "Autoencoder": "autoencoder",
    "VAE": "vae",
    "PCA": "pca",
    "KPCA": "kpca",
}
_TASKS = {"class": "classification", "outlier": "outlier", "": "projection"}


class TableKey(NamedTuple):
    """Which table: the fields of a row of results that all of its rows share."""

    experiment: str
    setting: str
    task: str
    metric: str

    def __str__(self) -> str:
        return "/".join(self)


def published(experiment, setting, task, model, metric) -> list[float | None]:
    """Published values over k = 1, 2, ..

    Parameters
    ----------
    experiment : {"oscillations", "spikes", "handwriting", "mnist", "errp"}
    setting : str
        "512" or "256" (oscillations), "700" or "1400" (handwriting), else "i" to "iv".
    task : {"projection", "classification", "outlier"}
    model : str
        "gtpca-als" and all other names that start with "gtpca" are the paper's GT-PCA.
    metric : {"resmse", "accuracy"}
        Accuracies are in percent.

    Returns
    -------
    list of float or None
        None where the gradients exploded in all repetitions. Empty if the paper has no such row.

    Examples
    --------
    >>> from gtpca.experiments.report.published import published
    >>> published("oscillations", "512", "projection", "pca", "resmse")[:3]
    [0.926, 0.854, 0.779]
    >>> published("oscillations", "512", "projection", "pca", "accuracy")
    []
    """
    checks.choice("experiment", experiment, sorted({key.experiment for key in _tables()}))
    return published_row(TableKey(experiment, setting, task, metric), model)


def published_row(key: TableKey, model: str) -> list[float | None]:
    """:func:`published` values of a model in a table; empty if there is no such table."""
    name = "gtpca" if model.startswith("gtpca") else model
    return list(_tables().get(key, {}).get(name, []))


def published_tables() -> list[TableKey]:
    """All tables, in the order of the paper."""
    return list(_tables())


def published_models(key: TableKey) -> list[str]:
    """Models with a row in a table, "gtpca" being GT-PCA; empty if there is no such table."""
    return list(_tables().get(key, {}))


@cache
def _tables() -> dict[TableKey, dict[str, list[float | None]]]:
    source = resources.files("gtpca.experiments.report") / "published.json"
    tables = {}
    for name, content in json.loads(source.read_text(encoding="utf-8")).items():
        for block in content["blocks"]:
            rows = {_MODELS[model]: values for model, values in block["rows"].items()}
            tables[_key(name, block["setting"])] = rows
    return tables


def _key(table, label) -> TableKey:
    """From e.g. "spikes_results_class" and "Accuracies -- (i) T=128, w_l= 256"."""
    experiment, task = table.split("_results")
    roman = re.search(r"\(([iv]+)\)", label)
    setting = roman[1] if roman else re.findall(r"\d+", label)[-1]
    metric = "accuracy" if label.startswith("Accuracies") else "resmse"
    return TableKey(experiment, setting, _TASKS[task.strip("_")], metric)
