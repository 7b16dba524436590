"""The first thing on the page: what was reproduced, who wins, and what does not hold.

Every sentence is computed from the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from gtpca_paper.report.standings import losses, score
from gtpca_paper.report.tables import POINTS, REFERENCE, TOLERANCE, compared
from gtpca_paper.spec import MODELS, experiment_title

__all__ = ["does_not_hold", "reproduced", "winners"]

FAR = 3.0  # points between mean accuracies over k that are worth a sentence
METRICS = {
    "resmse": ("errors", f"{TOLERANCE:g} %"),
    "accuracy": ("accuracies", f"{POINTS:g} points"),
}
ABOVE = 1.0  # percent above the published error that are counted
WON = {
    "error": "Held-out error with as many components",
    "error-numbers": "Held-out error with as many numbers stored per sample, scores and poses",
    "error-bits": "Held-out error with as many bits stored per sample",
    "accuracy": "Accuracy from as many signed, standardised scores",
    "accuracy-numbers": "Accuracy from as many numbers, poses among them",
    "accuracy-bits": "Accuracy from as many bits",
}
MOVES = {
    True: "where something moves",
    False: "where nothing does, and it is PCA without centring,",
}


def reproduced(tables) -> list[str]:
    """What agrees with the paper: counts by model, GT-PCA's errors and accuracies, variants."""
    cells = {metric: compared(tables, metric) for metric in METRICS}
    said = [_agreement(cells, model) for model in MODELS.values()]
    said += [_errors(cells["resmse"]), _mean_accuracies(cells["accuracy"]), _balanced(tables)]
    return [*filter(None, said), *_variants(tables)]


def _agreement(cells, model) -> str:
    """E.g. "PCA: 58 of 60 errors are within 3 %, 2 better."."""
    parts = []
    for metric, (name, tolerance) in METRICS.items():
        own = cells[metric][cells[metric]["model"] == model.name]
        for rare, part in own.groupby((own["task"] == "outlier") & (metric == "accuracy")):
            counts = dict(part["verdict"].value_counts())
            what = f"{name} in outlier detection" if rare else name
            said = f"{counts.pop('agrees', 0)} of {len(part)} {what} are within {tolerance}"
            parts += [", ".join([said, *(f"{n} {kind}" for kind, n in sorted(counts.items()))])]
    return f"{model.title}: {'; '.join(parts)}." if parts else ""


def _errors(cells) -> str:
    cells = cells[cells["model"] == REFERENCE]
    if cells.empty:
        return ""
    worst = cells.loc[cells["deviation"].astype(float).idxmax()]
    most, where = worst["deviation"], f"{worst['table']}, k = {worst['k']}"
    said = f"at most {most:.1f} % more" if most > 0 else f"at least {-most:.1f} % less"
    return (
        f"GT-PCA by ALS leaves {said} than published ({where}); the median of {len(cells)} "
        f"differences is {cells['deviation'].median():+.1f} %."
    )


def _above(cells) -> Iterator[str]:
    """Where ALS leaves more than published, by how much, and how much of that may be chance."""
    above = cells[(cells["model"] == REFERENCE) & (cells["deviation"] > ABOVE)]
    if above.empty:
        return
    worst = above.loc[above["deviation"].astype(float).idxmax()]
    clear, alone = (above["difference"] > 2 * above["stderr"]).sum(), above["stderr"].isna().sum()
    yield (
        f"GT-PCA by ALS leaves more than {ABOVE:g} % more than published in {len(above)} places, "
        f"{clear} of them by more than two standard errors, {alone} without any; at most "
        f"{worst['deviation']:.1f} % ({worst['table']}, k = {worst['k']})."
    )


def _mean_accuracies(cells) -> str:
    means = _means_over_k(cells)
    if means.empty:
        return ""
    return (
        f"Accuracies of GT-PCA by ALS, means over k: {means.min():+.1f} to {means.max():+.1f} "
        f"points from the published ones, in {(means.abs() <= FAR).sum()} of {len(means)} tables "
        f"within {FAR:g} points."
    )


def _balanced(tables) -> str:
    """The best balanced accuracy of GT-PCA's outlier detection, scores as in the paper."""
    parts = []
    for table in tables:
        if table.key.metric == "balanced" and not table.simulated:
            cells = table.cells[table.cells["model"] == REFERENCE]
            cells = cells[(cells["protocol"] == "paper") & (cells["normalisation"] != "own")]
            best = cells["mean"].max()
            parts += [f"{table.key.short_title} {best:.0f} %"] if best > 0 else []
    said = "Balanced accuracies of GT-PCA by ALS at the best k, where guessing has 50 %"
    return f"{said}: {'; '.join(parts)}." if parts else ""


def _means_over_k(cells):
    """Mean difference of GT-PCA's accuracies from the published ones, by table."""
    cells = cells[cells["model"] == REFERENCE]
    return cells.groupby("table", sort=False)["deviation"].mean()


def _variants(tables) -> Iterator[str]:
    """Other forms of GT-PCA against ALS, on the same repetitions, by experiment."""
    for model in MODELS.values():
        found: dict[str, list[float]] = {}
        for table in tables:
            found.setdefault(table.key.experiment, []).extend(_against(table, model.name))
        said = [f"{experiment_title(e)} {_span(values)}" for e, values in found.items() if values]
        if said:
            yield f"{model.title}, error against ALS on the same repetitions: {'; '.join(said)}."


def _against(table, model) -> list[float]:
    cells = table.cells
    cells = cells[(cells["model"] == model) & (cells["pairs"] > 0)]
    return [*cells["against"]] if table.key.metric == "resmse" else []


def _span(values) -> str:
    low, high = round(min(values)), round(max(values))
    return f"{low:+d} %" if low == high else f"{low:+d} to {high:+d} %"


def winners(standings) -> list[str]:
    """How often GT-PCA wins each contest, where something moves and where nothing does."""
    said = []
    for name, text in WON.items():
        parts = []
        for moves, where in MOVES.items():
            won, tied, lost = score(s for s in standings[name] if s.block.moves == moves)
            total = won + tied + lost
            counts = f"{where} it wins {won}, ties {tied} and loses {lost} of {total} comparisons"
            parts += [counts] if total else []
        said += [f"{text}: {'; '.join(parts)}."] if parts else []
    return said


def does_not_hold(tables, standings) -> list[str]:
    """What is worse than published, which mean accuracies are far off, where GT-PCA loses."""
    said = [sentence for model in MODELS.values() for sentence in _worse(tables, model)]
    said += _above(compared(tables, "resmse"))
    means = _means_over_k(compared(tables, "accuracy"))
    far = [f"{table} {value:+.1f}" for table, value in means[means.abs() > FAR].items()]
    said += [f"More than {FAR:g} points off in the mean over k: {'; '.join(far)}."] if far else []
    for name in ("error", "error-numbers", "accuracy", "accuracy-numbers"):
        lost = [sentence.partition(":")[0] for sentence in losses(standings[name])]
        title = standings[name][0].contest.title if lost else ""
        said += [f"GT-PCA loses somewhere in {title}: {'; '.join(lost)}."] if lost else []
    return said


def _worse(tables, model) -> Iterator[str]:
    parts = []
    for metric, (name, _) in METRICS.items():
        cells = compared(tables, metric)
        for experiment, part in cells[cells["model"] == model.name].groupby("experiment"):
            worse = (part["verdict"] == "worse").sum()
            where = f"{len(part)} {name} of {experiment_title(experiment)}"
            parts += [f"{worse} of {where}"] if worse else []
    if parts:
        yield f"{model.title} is worse than published in {', '.join(parts)}."
