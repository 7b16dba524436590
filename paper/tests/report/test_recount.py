"""The counts of the contest once more, from the rows alone, without the code of the report."""

import json
from collections import Counter
from pathlib import Path
from statistics import mean, stdev

import pytest

ROWS = Path(__file__).parents[2] / "results" / "rows.jsonl"
MOVING = {"oscillations/512", "spikes/i", "spikes/iii", "handwriting/700"}
MOVING |= {"mnist/i", "mnist/iii", "mnist/iv"}
QUANTILES = [4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157]
OTHERS = ["pca", "kpca", "autoencoder", "vae"]


def read():
    """Values by setting and task, and by metric, protocol, model, k and repetition."""
    found = {}
    for line in ROWS.read_text(encoding="utf-8").splitlines():
        r = json.loads(line)
        moving = f"{r['experiment']}/{r['setting']}" in MOVING
        if not moving or r["simulated"] or r["normalisation"] == "paper" or r["repetition"] > 9:
            continue
        rare = r["metric"] == "accuracy" and r["task"] == "outlier"
        if not rare or "balanced" in r:
            place = found.setdefault((r["experiment"], r["setting"], r["task"]), {})
            values = place.setdefault((r["metric"], r["protocol"], r["model"], r["k"]), {})
            values[r["repetition"]] = r["balanced" if rare else "value"]
    return found


def compare(ours, theirs, sign):
    """Gap and outcome of one pair: errors in percent of the larger, accuracies as they are."""
    both = sorted(set(ours) & set(theirs))
    if len(both) > 2 and all(theirs[r] is None and ours[r] is not None for r in both):
        return 100.0, "won"
    both = [r for r in both if ours[r] is not None and theirs[r] is not None]
    if not both:
        return None
    larger = max(mean(ours[r] for r in both), mean(theirs[r] for r in both))
    unit = 100 / larger if sign < 0 else 1.0
    gaps = [sign * unit * (ours[r] - theirs[r]) for r in both]
    if len(both) < 3:
        return mean(gaps), "undecided"
    beyond = abs(mean(gaps)) > QUANTILES[len(both) - 3] * stdev(gaps) / len(both) ** 0.5
    return mean(gaps), ("won" if mean(gaps) > 0 else "lost") if beyond else "even"


def recount(ours, metric, protocol, numbers=False):
    counts = Counter()
    for (experiment, _, _), values in read().items():
        rivals = [m for m in OTHERS if experiment != "mnist" or m != "kpca"]
        for at in range(1, 21):
            own = values.get((metric, protocol, ours, at // 2 if numbers else at))
            fields = [values.get((metric, protocol, m, at)) for m in rivals]
            if own is None or None in fields:
                continue
            pairs = [compare(own, theirs, -1 if metric == "resmse" else 1) for theirs in fields]
            pairs = [pair for pair in pairs if pair] or [(0.0, "undecided")]
            counts[min([p for p in pairs if p[1] == "lost"] or pairs)[1]] += 1
    return counts


@pytest.mark.skipif(not ROWS.exists(), reason="needs paper/results of the repository")
def test_the_counts_are_those_of_the_report():
    pytest.importorskip("pandas", reason='needs pandas: pip install "gtpca[report]"')
    pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")
    from gtpca_paper.report import contests, standings, tables

    found = standings.make_standings(contests.make_blocks(tables.read_rows(ROWS.parent)))
    for name, (model, metric, protocol, numbers) in {
        "error": ("gtpca-als", "resmse", "none", False),
        "error-numbers": ("gtpca-als", "resmse", "none", True),
        "accuracy": ("gtpca-shared", "accuracy", "signed", False),
        "accuracy-als": ("gtpca-als", "accuracy", "signed", False),
    }.items():
        counts = recount(model, metric, protocol, numbers)
        assert {k: n for k, n in standings.score(found[name]).items() if n} == dict(counts)
