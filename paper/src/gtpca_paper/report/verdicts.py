"""Sentences on what agrees with the paper, what is better, what is not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gtpca_paper.report.tables import Table, ranges
from gtpca_paper.spec import EXPERIMENTS, is_gtpca

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["counts", "parts", "sentences"]

KINDS = ("agrees", "better", "worse")
SIMULATED = (
    "These results come from simulated data. The published numbers stand beside them for "
    "orientation; nothing is compared."
)
EARLIER = "rows of an earlier version of the solver, not run again yet."
SAME_SAMPLES = (
    "The samples are the same in every repetition. What differs is where networks and classifiers "
    "start; values without a standard error are identical."
)


def _same_samples(key) -> bool:
    settings = EXPERIMENTS[key.experiment].settings if key.experiment in EXPERIMENTS else ()
    return any(setting.name == key.setting and not setting.drawn for setting in settings)


def counts(table: Table) -> dict[str, Counter]:
    """How many values get which verdict: of GT-PCA by ALS, its other variants, and the baselines.

    Returns
    -------
    dict with "als", "variants" and "baselines"
    """
    return {name: Counter(cells["verdict"]) for name, cells in parts(table).items()}


def parts(table: Table) -> dict[str, DataFrame]:
    """Cells of GT-PCA by ALS, of its other variants, and of the baselines."""
    model = table.cells["model"]
    als, ours = model == "gtpca-als", model.map(is_gtpca)
    chosen = {"als": als, "variants": ours & ~als, "baselines": ~ours}
    return {name: table.cells[part] for name, part in chosen.items()}


def sentences(table: Table) -> dict[str, list[str]]:
    """What to say of a table.

    A ResMSE agrees within 3 % of the published one, an accuracy within 2 points; otherwise a
    smaller ResMSE or a larger accuracy is better, and the opposite worse.

    Returns
    -------
    dict of str to list of str
        Under "agrees", "better", "worse", and "notes" for everything else.
    """
    said: dict[str, list[str]] = {kind: [] for kind in (*KINDS, "notes")}
    said["notes"] += [SIMULATED] if table.simulated else _means(table)
    said["notes"] += [SAME_SAMPLES] if _same_samples(table.key) else []
    for line, cells in table.lines():
        name = table.full_name(line)
        for kind in KINDS:
            part = cells[cells["verdict"] == kind]
            said[kind] += [_sentence(table, name, cells, part)] if len(part) else []
        said["notes"] += _explosions(name, cells)
        said["notes"] += [f"{name}: {EARLIER}"] if cells["earlier"].any() else []
    return said


def _sentence(table, name, cells, part) -> str:
    """E.g. "PCA is worse at k = 3-5, by up to 4.1 % (k = 4: 0.734 against 0.705)."."""
    kind, compared = part["verdict"].iloc[0], (cells["verdict"] != "").sum()
    everywhere = len(part) == compared and compared > 1
    where = f"all {compared} k compared" if everywhere else f"k = {ranges(part['k'])}"
    size = table.deviations(part).abs()
    worst = part.loc[size.idxmax()]
    most = f"{size.max():.1f}" if size.max() < 1e5 else f"{size.max():.0e}"
    amount = f"{most} {table.unit}"
    if kind == "agrees":
        return f"{name} agrees at {where}; the largest difference is {amount}."
    example = f"k = {worst['k']}: {worst['mean']:.4g} against {worst['published']:.4g}"
    return f"{name} is {kind} at {where}, by up to {amount} ({example}){_by_chance(part)}."


def _by_chance(part) -> str:
    """Where the published value is within two standard errors of ours."""
    near = part[part["difference"].abs() <= 2 * part["stderr"]]
    if near.empty:
        return ""
    where = "all of these" if len(near) == len(part) else f"k = {ranges(near['k'])}"
    return f"; at {where} the published value is within two standard errors of ours"


def _means(table) -> list[str]:
    """Mean accuracies over k, where both sides have them."""
    parts = []
    for line, cells in table.lines():
        both = cells[cells["verdict"] != ""]
        if table.key.metric == "accuracy" and len(both) > 1:
            ours, theirs = both["mean"].mean(), both["published"].mean()
            parts.append(f"{table.full_name(line)} {ours:.1f} against {theirs:.1f}")
    return [f"Mean over the k compared: {'; '.join(parts)}."] if parts else []


def _explosions(name, cells) -> list[str]:
    said = []
    for (bad, of), part in cells[cells["diverged"] > 0].groupby(["diverged", "count"]):
        said.append(f"{name}: {bad} of {of} repetitions diverged at k = {ranges(part['k'])}.")
    return said
