"""Kinds among samples that were measured: how well they agree with classes that are known.

- ``ArrowHead``, ``OSULeaf``: outlines of the UCR archive as they come with aeon, training and test
  rows together, circular shifts; K = 2
- ``beats``: normal and ventricular beats of record 119 of the MIT-BIH arrhythmia database, all of
  the second and as many of the first, lead MLII less its mean, windows of 300 points in which the R
  wave is at a random place from 100 to 199 (seed 0); ``Shift(200, boundary="partial")``, K = 0

Rows of outlines have mean 0 and norm 1. The number of kinds is that of the classes. Adjusted Rand
index by the ways of bench_kinds.py. Trace and k-Shape need tslearn; where that is missing they are
left out.

Run: python benchmarks/bench_kinds_real.py [--only beats ..]; GTPCA_DATA names the data.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

sys.path.insert(0, str(Path(__file__).parent))

from bench_classes import load

from gtpca import GTPCA, MixtureGTPCA, Shift
from gtpca.datasets.wfdb import read_annotations, read_wfdb

PLACE = Path(__file__).with_suffix(".json")
WINDOW, MARGIN = 300, 100


def outlines(name):
    """Rows, classes, family and number of components."""
    parts = load(name)
    rows, y = (np.concatenate([part[j] for part in parts]) for j in range(2))
    rows = rows - rows.mean(axis=1, keepdims=True)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows, y, Shift(boundary="circular"), 2


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
}


def ways(rows, family, kinds, components):
    """Groups by every way, each a function."""

    def grouped(values):
        return KMeans(kinds, n_init=10, random_state=0).fit_predict(values)

    def single(count):
        return GTPCA(count, family, shared_pose=count > 1, random_state=0).fit(rows)

    found = {
        "mixture": lambda: MixtureGTPCA(
            kinds, components, family, tol=1e-3, random_state=0
        ).fit_predict(rows),
        "scores": lambda: grouped(single(5).transform(rows)),
        "fft": lambda: grouped(np.abs(np.fft.rfft(rows))),
        "aligned": lambda: grouped(single(1).align(rows)),
    }
    if find_spec("tslearn"):
        found["kshape"] = lambda: kshape(rows, kinds)
    return found


def kshape(rows, kinds):
    """k-Shape, the best of three starts."""
    from tslearn.clustering import KShape

    rows = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)
    return KShape(kinds, n_init=3, random_state=0).fit_predict(rows[:, :, None])


def main():
    """Run what is asked for, and write the JSON after every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=SETS, default=list(SETS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    known = json.loads(PLACE.read_text("utf-8")) if PLACE.exists() else {}
    for name in given.only:
        rows, y, family, components = SETS[name]()
        kinds = len(np.unique(y))
        figures = {"rows": list(rows.shape), "kinds": kinds, "components": components}
        for way, fn in ways(rows, family, kinds, components).items():
            begun = time.process_time()
            figures[way] = round(float(adjusted_rand_score(y, fn())), 4)
            figures[f"seconds {way}"] = round(time.process_time() - begun, 1)
            known[name] = figures
            PLACE.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
            print(name, way, figures[way], figures[f"seconds {way}"], flush=True)


if __name__ == "__main__":
    main()
