"""The numbers of the paper's tables."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from gtpca.experiments.settings import named

__all__ = ["published"]


@cache
def _tables():
    """experiment -> setting -> task -> metric -> model -> values for k = 1, 2, .."""
    text = files("gtpca.experiments").joinpath("published.json").read_text(encoding="utf-8")
    return json.loads(text)


def published(experiment, setting, task, model, metric) -> list[float | None]:
    """Values the paper has for k = 1, 2, ..; none if it has no such row.

    Parameters
    ----------
    experiment, setting, task, model, metric : str
        As in the rows of a run. All variants of GT-PCA stand beside the paper's one.

    Returns
    -------
    list of float or None
        None where the paper's model exploded. Accuracies are in percent.

    Examples
    --------
    >>> published("oscillations", "512", "projection", "gtpca-als", "resmse")[:3]
    [0.635, 0.464, 0.396]
    >>> published("mnist", "ii", "classification", "kpca", "resmse")
    []
    """
    tasks = named("experiment", experiment, _tables()).get(setting, {})
    rows = tasks.get(task, {}).get(metric, {})
    return list(rows.get("gtpca" if model.startswith("gtpca") else model, []))
