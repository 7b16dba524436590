"""The numbers printed in the paper."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources

from gtpca_paper.rows import TableKey
from gtpca_paper.spec import MODELS, is_gtpca, model_title

__all__ = ["published_models", "published_row", "published_tables"]

_MODELS = {model_title(name): name for name in ("gtpca", *MODELS)}
_TASKS = {"class": "classification", "outlier": "outlier", "": "projection"}


def published_row(key: TableKey, model: str) -> list[float | None]:
    """Published values of a model in a table, over k = 1, 2, ..

    Parameters
    ----------
    key : TableKey
    model : str
        "gtpca-als" and all other names that start with "gtpca" are the paper's GT-PCA.

    Returns
    -------
    list of float or None
        Accuracies are in percent. None where the training diverged in all repetitions. Empty if
        the paper has no such row.

    Examples
    --------
    >>> key = TableKey(experiment="oscillations", setting="512", task="projection", metric="resmse")
    >>> published_row(key, "pca")[:3]
    [0.926, 0.854, 0.779]
    >>> published_row(key._replace(metric="accuracy"), "pca")
    []
    """
    name = "gtpca" if is_gtpca(model) else model
    return list(_tables().get(key, {}).get(name, []))


def published_tables() -> list[TableKey]:
    """All tables, in the order of the paper."""
    return list(_tables())


def published_models(key: TableKey) -> list[str]:
    """Models with a row in a table, "gtpca" being GT-PCA; empty if there is no such table."""
    return list(_tables().get(key, {}))


@cache
def _tables() -> dict[TableKey, dict[str, list[float | None]]]:
    source = resources.files("gtpca_paper.report") / "published.json"
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
