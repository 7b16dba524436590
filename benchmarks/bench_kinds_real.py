"""Kinds among samples that were measured: how well they agree with classes that are known.

- ``ArrowHead``, ``OSULeaf``: outlines of the UCR archive as they come with aeon, training and test
  rows together, circular shifts; K = 2
- ``beats``: normal and ventricular beats of record 119 of the MIT-BIH arrhythmia database, all of
  the second and as many of the first, lead MLII less its mean, windows of 300 points in which the R
  wave is at a random place from 100 to 199 (seed 0); ``Shift(200, boundary="partial")``, K = 0
- ``Trace``: simulated transients of a nuclear plant, as they come with tslearn, training and test
  rows together; rows are crops of longer patterns, ``Shift(375)`` for 275 points; K = 2

Of ArrowHead and Trace, which are small, also mixtures of 0 and 1 components per kind. Rows of
outlines and of Trace have mean 0 and norm 1. The number of kinds is that of the classes.
Adjusted Rand index by the ways of bench_kinds.py, mean of three fits (``random_state`` 0 to 2), one
fit of k-Shape and KASBA; k-Shape with circular correlations only for outlines. What needs aeon, or
tslearn (Trace and k-Shape), is left out where that is missing.

Run: python benchmarks/bench_kinds_real.py [--only beats ..] [--ways kshape ..]; GTPCA_DATA names
the data. Figures of other sets and ways are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

sys.path.insert(0, str(Path(__file__).parent))

from bench_classes import load
from bench_kinds import (
    COSTS,
    kasba,
    kshape,
    mean_and_error,
    scored,
    tslearn_kshape,
)

from gtpca import GTPCA, MixtureGTPCA, Shift
from gtpca.datasets.wfdb import read_annotations, read_wfdb

PLACE = Path(__file__).with_suffix(".json")
WINDOW, MARGIN = 300, 100
FEW_ROWS, OTHERS = 300, (0, 1)
SEEDS, SLOW = range(3), ("kasba", "kshape")


def outlines(name):
    """Rows, classes, family and number of components."""
    parts = load(name)
    rows, y = (np.concatenate([part[j] for part in parts]) for j in range(2))
    return unit(rows), y, Shift(boundary="circular"), 2


def unit(rows):
    """Rows of mean 0 and norm 1."""
    return scored(rows) / np.sqrt(rows.shape[1])


def traces():
    """Transients that begin at different times."""
    from tslearn.datasets import CachedDatasets

    X, y, new, other = CachedDatasets().load_dataset("Trace")
    rows = np.concatenate([X, new])[:, :, 0].astype(float)
    return unit(rows), np.concatenate([y, other]), Shift(375), 2


def beats():
    """Normal and ventricular beats at random places."""
    path, rng = Path(os.environ["GTPCA_DATA"], "ecg", "119.hea"), np.random.default_rng(0)
    signal = np.asarray(read_wfdb(path).values)[:, 0].astype(float)
    places, symbols = read_annotations(path.with_suffix(".atr"))
    inside = (places > WINDOW) & (places < len(signal) - WINDOW)
    normal, other = (places[(symbols == symbol) & inside] for symbol in "NV")
    normal = np.sort(rng.choice(normal, min(len(normal), len(other)), replace=False))
    every = np.concatenate([normal, other])
    first = every - rng.integers(MARGIN, WINDOW - MARGIN, len(every))
    rows = np.stack([signal[start : start + WINDOW] for start in first])
    rows -= np.median(rows, axis=1, keepdims=True)
    y = np.repeat(["N", "V"], [len(normal), len(other)])
    return rows, y, Shift(200, boundary="partial"), 0


SETS = {
    "beats": beats,
    "ArrowHead": lambda: outlines("ArrowHead"),
    "OSULeaf": lambda: outlines("OSULeaf"),
    "Trace": traces,
}


def ways(rows, family, kinds, components, seed):
    """Groups by every way, each a function."""

    def grouped(values):
        return KMeans(kinds, n_init=10, random_state=seed).fit_predict(values)

    def single(count):
        return GTPCA(count, family, shared_pose=count > 1, random_state=seed).fit(rows)

    def mixed(count):
        model = MixtureGTPCA(kinds, count, family, tol=1e-3, random_state=seed)
        return model.fit_predict(rows)

    found = {
        "mixture": lambda: mixed(components),
        "scores": lambda: grouped(single(5).transform(rows)),
        "fft": lambda: grouped(np.abs(np.fft.rfft(rows))),
        "aligned": lambda: grouped(single(1).align(rows)),
    }
    if len(rows) <= FEW_ROWS:
        found |= {f"mixture {count}": partial(mixed, count) for count in OTHERS}
    rows_in, size = scored(rows), rows.shape[1]
    if family.boundary == "circular":
        found["kshape circular"] = lambda: kshape(rows_in, kinds, size, seed)
    if find_spec("tslearn"):
        found["kshape"] = lambda: tslearn_kshape(rows_in, kinds, seed)
    if find_spec("aeon"):
        for cost in COSTS:
            found[f"kasba {cost:g}"] = partial(kasba, rows_in, kinds, cost)
    return found


def main():
    """Run what is asked for, and write the JSON after every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--ways", nargs="*", help="by their first words")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    known = json.loads(PLACE.read_text("utf-8")) if PLACE.exists() else {}
    for name in given.only:
        rows, y, family, components = SETS[name]()
        kinds = len(np.unique(y))
        figures = known.get(name, {})
        figures |= {"rows": list(rows.shape), "kinds": kinds, "components": components}
        known[name] = figures
        for way in ways(rows, family, kinds, components, 0):
            if given.ways and not way.startswith(tuple(given.ways)):
                continue
            found, begun = [], time.process_time()
            for seed in SEEDS[:1] if way.startswith(SLOW) else SEEDS:
                group = ways(rows, family, kinds, components, seed)[way]()
                found.append(round(float(adjusted_rand_score(y, group)), 4))
            seconds = (time.process_time() - begun) / len(found)
            figures[way] = {"draws": found, **mean_and_error(found), "seconds": round(seconds, 1)}
            PLACE.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
            print(name, way, figures[way], flush=True)


if __name__ == "__main__":
    main()
