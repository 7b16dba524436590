"""The first thing on the page: who wins, what was reproduced, what does not hold.

Every sentence is computed from the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from gtpca_paper.report.standings import losses, score, settings
from gtpca_paper.report.tables import POINTS, REFERENCE, TOLERANCE, compared
from gtpca_paper.spec import MODELS, experiment_title

__all__ = ["avoid", "counts", "does_not_hold", "failures", "reproduced", "successes"]

FAR = 3.0  # points between mean accuracies over k that are worth a sentence
METRICS = {
    "resmse": ("errors", f"{TOLERANCE:g} %"),
    "accuracy": ("accuracies", f"{POINTS:g} points"),
}
ABOVE = 1.0  # percent above the published error that are counted
NETWORK = "gtpca-adam"
PAPER = 10  # repetitions of the paper, whose standard deviation is taken to be ours
WON = {
    "error": "Held-out error with as many components",
    "error-numbers": "Held-out error with as many numbers stored per sample, scores and poses",
    "accuracy": "Accuracy from as many signed, standardised scores, one pose per sample",
    "accuracy-als": "Accuracy from as many scores, with a pose for each component",
}


# --- the first screen ---


def successes(tables) -> list[str]:
    """What was reproduced, in three sentences: the network, ALS, and the baselines."""
    cells = {metric: compared(tables, metric) for metric in METRICS}
    baselines = [model for model in MODELS.values() if not model.name.startswith("gtpca")]
    parts = [
        f"{model.title} {agree} of {total}"
        for model in baselines
        if (total := len(own := _of(cells["resmse"], model.name)))
        and (agree := int((own["verdict"] == "agrees").sum())) >= 0
    ]
    said = [_network(cells), _errors(cells["resmse"])]
    said += (
        [f"Errors within {TOLERANCE:g} % of the published: {', '.join(parts)}."] if parts else []
    )
    return [*filter(None, said)]


def _of(cells, model):
    return cells[cells["model"] == model]


def _network(cells) -> str:
    """How near the network of the paper comes, with the joint standard error of both means."""
    parts = []
    for metric, (name, tolerance) in METRICS.items():
        own = _informative(_of(cells[metric], NETWORK), metric)
        if len(own):
            agree = int((own["verdict"] == "agrees").sum())
            three = own[own["count"] >= 3]
            joint = _joint(three)
            within = int((three["difference"].abs() <= 2 * joint).sum())
            parts.append(
                f"{agree} of {len(own)} {name} are within {tolerance} of the published, "
                f"{within} of {len(three)} with three repetitions within two joint standard errors"
            )
    if not parts:
        return ""
    return f"The paper's own algorithm, the network: {'; '.join(parts)}."


def _informative(cells, metric):
    """Without accuracies that always giving the frequent answer would reach."""
    if metric == "resmse":
        return cells
    return cells[cells["task"] != "outlier"]


def _joint(cells):
    """Standard errors of the difference of two means, of ``count`` and of ten repetitions."""
    return cells["stderr"].fillna(0) * (1 + cells["count"] / PAPER) ** 0.5


def failures(claims, standings) -> list[str]:
    """What does not hold, in at most three sentences."""
    wrong = [claim.text for claim in claims if claim.holds is False]
    decided = [claim for claim in claims if claim.holds is not None]
    said = []
    if wrong:
        said.append(
            f"{len(wrong)} of {len(decided)} sentences of the paper that were decided do not hold, "
            f"among them: {'; '.join(wrong[:3])}."
        )
    for name in ("error-numbers", "accuracy-als"):
        lost = [s for s in standings[name] if "lost" in s.parts()]
        titles = [f"{s.block.title} {s.place(s.parts()['lost'])}" for s in lost]
        said += [f"{WON[name]}: GT-PCA loses in {'; '.join(titles)}."] if titles else []
    return said


def avoid(tables, standings) -> list[str]:
    """Where GT-PCA should not be used."""
    said = []
    still = _still(tables)
    if still:
        said.append(
            "Where nothing moves it is PCA without centring, and PCA leaves less: "
            f"{', '.join(still)}."
        )
    numbers = standings["error-numbers"]
    losing = [s.block.title for s in numbers if s.outcome == "lost"]
    if losing:
        said.append(
            "Where a sample must be stored in few numbers, since a pose is one: autoencoders leave "
            f"less in {', '.join(losing)}."
        )
    return said


def _still(tables) -> list[str]:
    """Settings in which PCA leaves less than ALS at most k, though nothing moves."""
    found = []
    for table in tables:
        key = table.key
        if key.metric != "resmse" or table.simulated:
            continue
        cells = table.cells[table.cells["normalisation"] != "own"].set_index(["model", "k"])["mean"]
        if REFERENCE not in cells or "pca" not in cells or "gtpca-shared" in cells:
            continue
        ours, theirs = cells[REFERENCE].dropna(), cells["pca"].dropna()
        if (theirs < ours.reindex(theirs.index)).mean() > 0.5:
            found.append(key.short_title)
    return found


def counts(standings) -> list[str]:
    """How many settings and places GT-PCA wins, for each contest."""
    said = []
    for name, text in WON.items():
        if not standings[name]:
            continue
        by_setting, by_place = settings(standings[name]), score(standings[name])
        total, places = sum(by_setting.values()), sum(by_place.values())
        said.append(
            f"{text}: of {total} settings GT-PCA wins {by_setting['won']}, loses "
            f"{by_setting['lost']}, is even in {by_setting['even']}, {by_setting['mixed']} are "
            f"mixed and {by_setting['undecided']} not decided; of {places} places it wins "
            f"{by_place['won']}, is even in {by_place['even']}, loses {by_place['lost']}, and "
            f"{by_place['undecided']} are not decided."
        )
    return said


# --- the pages below it ---


def reproduced(tables) -> list[str]:
    """What agrees with the paper: counts by model, GT-PCA's errors and accuracies, variants."""
    cells = {metric: compared(tables, metric) for metric in METRICS}
    said = [_agreement(cells, model) for model in MODELS.values()]
    said += [_errors(cells["resmse"]), _mean_accuracies(cells["accuracy"]), _balanced(tables)]
    return [*filter(None, said), *_variants(tables)]


def _agreement(cells, model) -> str:
    """E.g. "PCA: 58 of 60 errors are within 3 %, 2 better.", of what says something."""
    parts = []
    for metric, (name, tolerance) in METRICS.items():
        part = _informative(_of(cells[metric], model.name), metric)
        if part.empty:
            continue
        found = dict(part["verdict"].value_counts())
        said = f"{found.pop('agrees', 0)} of {len(part)} {name} are within {tolerance}"
        parts += [", ".join([said, *(f"{n} {kind}" for kind, n in sorted(found.items()))])]
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


def does_not_hold(tables, standings) -> list[str]:
    """What is worse than published, which mean accuracies are far off, where GT-PCA loses."""
    said = [sentence for model in MODELS.values() for sentence in _worse(tables, model)]
    said += _above(compared(tables, "resmse"))
    means = _means_over_k(compared(tables, "accuracy"))
    far = [f"{table} {value:+.1f}" for table, value in means[means.abs() > FAR].items()]
    said += [f"More than {FAR:g} points off in the mean over k: {'; '.join(far)}."] if far else []
    for name in WON:
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
