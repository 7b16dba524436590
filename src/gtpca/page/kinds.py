"""The kinds of samples on the page: how many of each, which are mixed up, and known classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gtpca.page.packing import clipped
from gtpca.views.measures import confusion, mixed_up, uncertain

__all__ = ["Kinds", "kind_column", "kind_tables"]

CLASSES = 40  # with more, a column of labels has no table


@dataclass(frozen=True)
class Kinds:
    """Tables for the template.

    Attributes
    ----------
    rows : list of list of str
        For each kind: its weight, number and share of samples, uncertain ones among them, mean
        probability of other kinds, strength, and standard deviations of scores.
    n_uncertain : int
        Samples that have another kind within odds of 19 to 1.
    mixed : list of list of int
        Numbers of these, by the most likely (row) and the next most likely kind (column).
    classes : list of dict
        For each column of labels: ``name`` and ``rows``, a class and its samples of each kind.
    """

    rows: list[list[str]]
    n_uncertain: int
    mixed: list[list[int]]
    classes: list[dict[str, Any]]


def kind_tables(model, share, columns) -> Kinds:
    """The tables from probabilities (n, G), and columns of labels by name."""
    kind, doubtful, told = share.argmax(axis=1), uncertain(share), model.kinds_
    rows = []
    for g, weight in enumerate(told["weight"]):
        mine = kind == g
        doubt = float(np.mean(1 - share[mine, g])) if mine.any() else 0.0
        rows.append(
            [
                f"{weight:.3f}",
                f"{mine.sum():,} ({100 * mine.mean():.1f} %)",
                f"{(mine & doubtful).sum():,}",
                f"{100 * doubt:.2g} %",
                f"{told['strength'][g]:.3g}",
                ", ".join(f"{size:.3g}" for size in told["sizes"][g]),
            ]
        )
    classes = [_classes(name, kind, labels, len(rows)) for name, labels in columns.items()]
    known = [table for table in classes if table is not None]
    return Kinds(rows, int(doubtful.sum()), mixed_up(share).tolist(), known)


def _classes(name, kind, labels, n_kinds):
    """The samples of each class by kind; None for too many classes."""
    names, counts = confusion(kind, labels, n_kinds)
    if len(names) > CLASSES:
        return None
    pairs = zip(names, counts.tolist(), strict=True)
    return {"name": clipped(name), "rows": [(clipped(text), row) for text, row in pairs]}


def kind_column(kind, columns) -> dict[str, np.ndarray]:
    """Columns of labels after that of kinds, under a name that is not taken."""
    name = "kind" if "kind" not in columns else "kind found"
    return {name: np.array([str(g) for g in kind], dtype=object)} | columns
