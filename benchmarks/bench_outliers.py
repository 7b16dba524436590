"""Outliers without labels: the paper's outlier tasks, by likelihood, energy and isolation forests.

Models see samples of the target class alone (spikes, or the digit 8), as in the paper; no
classifier is trained. The area under the ROC curve says how well a score of new samples tells the
target class from all others: 1 is perfect, .5 is guessing. Scores:

- ``likelihood``: ``ProbabilisticGTPCA.score_samples``
- ``evidence``: the same less the log-likelihood under its noise alone, ``evidence``
- ``residual``: minus the energy that ``GTPCA`` leaves of a sample
- ``share``: the share of the energy that it explains, ``GTPCA.score_samples``
- ``forest``: an isolation forest on the scores of PCA

For digits the fit of each draw sees 1,500 other images of the digit 8 (of 5,851), and 2,000 other
test images are scored (of 10,000). Rows are kept as they are found: a run that was broken off goes
on.

Run: python benchmarks/bench_outliers.py [--only spikes/i mnist/iv ..]; GTPCA_DATA names the data.
The page paper/results/outliers.md is written from the rows at the end.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from gtpca import GTPCA, ProbabilisticGTPCA
from gtpca.files import atomic_file
from gtpca_paper.data import make_data
from gtpca_paper.spec import experiment_title, find_setting, setting_title

PLACE = Path(__file__).with_suffix(".json")
CASES = {  # settings, and how often they are drawn
    ("spikes", "i"): 3,
    ("spikes", "ii"): 3,
    ("spikes", "iii"): 3,
    ("mnist", "ii"): 3,
    ("mnist", "iii"): 1,  # minutes each
    ("mnist", "iv"): 3,
}
COUNTS = (3, 10)
PAGE = PLACE.parents[1] / "paper" / "results" / "outliers.md"
SCORES = ("likelihood", "evidence", "residual", "share", "forest")
INTRODUCTION = """# Outliers without labels

Written by `python benchmarks/bench_outliers.py` from
[bench_outliers.json](../../benchmarks/bench_outliers.json). Models are fitted to the target class
alone (spikes, or the digit 8), as in the paper's outlier tasks, but no classifier is trained: the
table has the area under the ROC curve (AUROC) with which a score of new samples tells the target
class from all others. 1 is perfect, 0.5 is guessing, and below 0.5 outliers look *more* typical
than the target class. Mean of three draws, and the standard deviation between them; one draw of
MNIST (iii), which takes minutes. Digits: each draw is fitted to 1,500 other images of an 8 (of
5,851), and scores 2,000 other test images (of 10,000).

- *likelihood*: `ProbabilisticGTPCA.score_samples`, what `predict` and `decision_function` go by.
- *evidence*: `ProbabilisticGTPCA.evidence`, the same less the log-likelihood of its noise alone.
- *residual*: minus the energy that `GTPCA` leaves; *share*: the share that it explains,
  `GTPCA.score_samples`.
- *forest*: scikit-learn's isolation forest on the scores of PCA.
"""
REMARKS = """
**Likelihood alone is the wrong score where outliers are simpler than the target class.** A sample
without a spike is little more than noise: it has less to explain, leaves less, and is more likely
than most spikes, though the model is one of spikes. Residual energy and isolation forests fail for
the same reason. What tells them apart is whether the pattern is there at all: evidence, and the
share of explained energy. Among digits, where all classes have about as much ink, likelihood is
better than residual energy and forests; the share of explained energy is better still.
"""
MOST_FIT, MOST_TEST = 1500, 2000


def samples(experiment, setting, repetition):
    """Rows to fit and to score, and which of these are of the target class."""
    data = make_data(experiment, setting, task="outlier", repetition=repetition)
    fit, test = (X.reshape(len(X), -1).astype(float) for X in (data.fit, data.test))
    part = repetition if experiment == "mnist" else 0  # spikes are drawn anew
    seen, new = (slice(part * most, (part + 1) * most) for most in (MOST_FIT, MOST_TEST))
    return fit[seen], test[new], data.target[new], data.fit.shape[1:]


def by_likelihood(K, how, fit, test):
    """Log-likelihoods, and how much more likely rows are than by noise alone."""
    model = ProbabilisticGTPCA(K, tol=1e-3, max_iter=200, **how).fit(fit)
    return {"likelihood": model.score_samples(test), "evidence": model.evidence(test)}


def by_energy(K, how, fit, test):
    """Energies that are left, and shares that are explained."""
    _, left = GTPCA(K, **how).fit(fit).measure(test)
    return {"residual": -left[:, -1], "share": 1 - left[:, -1] / left[:, 0]}


def by_forest(K, how, fit, test):
    """Depths in an isolation forest."""
    pca = PCA(K, random_state=0).fit(fit)
    forest = IsolationForest(random_state=0).fit(pca.transform(fit))
    return {"forest": forest.score_samples(pca.transform(test))}


def case(experiment, setting, repetition, K):
    """The areas under the curves, and processor seconds."""
    fit, test, target, shape = samples(experiment, setting, repetition)
    family = find_setting(experiment, setting).family
    how = {"family": family, "sample_shape": shape, "random_state": 0}
    row = {"experiment": experiment, "setting": setting, "repetition": repetition, "K": K}
    row |= {"n_fit": len(fit), "n_test": len(test), "n_target": int(target.sum())}
    for method in (by_forest, by_energy, by_likelihood):
        begin = time.process_time()
        scores = method(K, how, fit, test)
        row |= {name: round(roc_auc_score(target, score), 4) for name, score in scores.items()}
        row[f"seconds {method.__name__[3:]}"] = round(time.process_time() - begin, 1)
    return row


def mean_and_spread(areas):
    """As text; a single area has no spread."""
    spread = f" ± {np.std(areas, ddof=1):.3f}" if len(areas) > 1 else ""
    return f"{np.mean(areas):.3f}{spread}"


def page(rows):
    """The text of the page."""
    lines = [INTRODUCTION, f"| setting | K | {' | '.join(SCORES)} |", "|---" * 7 + "|"]
    for (experiment, setting), K in product(CASES, COUNTS):
        found = [
            r for r in rows if (r["experiment"], r["setting"], r["K"]) == (experiment, setting, K)
        ]
        means = [mean_and_spread([row[name] for row in found]) for name in SCORES]
        title = f"{experiment_title(experiment)} {setting_title(experiment, setting)}"
        lines.append(f"| {title} | {K} | {' | '.join(means)} |")
    return "\n".join(lines) + "\n" + REMARKS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=["/".join(key) for key in CASES])
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = json.loads(PLACE.read_text()) if PLACE.exists() else []
    done = {(row["experiment"], row["setting"], row["repetition"], row["K"]) for row in rows}
    for K in COUNTS:
        for key, repetitions in CASES.items():
            wanted = range(repetitions) if "/".join(key) in options.only else ()
            for repetition in wanted:
                if (*key, repetition, K) not in done:
                    rows.append(case(*key, repetition, K))
                    print(rows[-1], flush=True)
                    with atomic_file(PLACE) as file:
                        file.write((json.dumps(rows, indent=1) + "\n").encode())
    PAGE.write_text(page(rows))


if __name__ == "__main__":
    main()
