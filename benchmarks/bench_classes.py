"""Classes that are known, at unknown shifts in noise: one model per class beside other classifiers.

Outlines of arrow heads and leaves (ArrowHead and OSULeaf of the UCR archive, as they come with the
package aeon, in their split into training and test rows), every row at a random circular shift, in
white noise of the standard deviation that the row has itself. Accuracy on the test rows, mean of
ten draws (seeds 0 to 9) of shifts and noise, of

- ``likelihood``: ``GTPCAClassifier(ProbabilisticGTPCA(6))``: held-out training rows decide how far
  patterns are smoothed
- ``as found``: ``GTPCAClassifier(ProbabilisticGTPCA(4, shrink=False))``, which smooths nothing
- ``share``: ``GTPCAClassifier(GTPCA(8, shared_pose=True))``
- ``nearest``: the class of the nearest training row, by the largest correlation over all shifts
- ``scores``: a support vector machine on 20 scores of ``GTPCA(shared_pose=True)`` of all classes
- ``fft``: a support vector machine on the absolute values of the Fourier transform

The support vector machines have C = 10 and standardised features.

Numbers of components were chosen on draws of other seeds (100 to 104).

Run: python benchmarks/bench_classes.py [--only likelihood ..]. Draws that are known are kept.
"""

from __future__ import annotations

import argparse
import json
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from gtpca import GTPCA, GTPCAClassifier, ProbabilisticGTPCA, Shift
from gtpca.readers import read_data

PLACE, DRAWS = Path(__file__).with_suffix(".json"), 10
SETS = ("ArrowHead", "OSULeaf")
FAMILY = Shift(boundary="circular")


def load(name):
    """Rows and classes of training and test samples."""
    folder = Path(find_spec("aeon").origin).parent / "datasets" / "data" / name
    parts = [read_data(folder / f"{name}_{part}.ts") for part in ("TRAIN", "TEST")]
    return [(np.asarray(data.rows, dtype=float), np.asarray(data.labels)) for data in parts]


def moved_in_noise(rows, rng):
    """Every row at a random circular shift, in noise of its own standard deviation."""
    steps = rng.integers(rows.shape[1], size=len(rows))
    rows = np.array([np.roll(row, step) for row, step in zip(rows, steps, strict=True)])
    return rows + rows.std(axis=1, keepdims=True) * rng.standard_normal(rows.shape)


def by_likelihood(X, y, new):
    model = ProbabilisticGTPCA(6, FAMILY, tol=1e-3, random_state=0)
    return GTPCAClassifier(model).fit(X, y).predict(new)


def by_likelihood_as_found(X, y, new):
    model = ProbabilisticGTPCA(4, FAMILY, shrink=False, tol=1e-3, random_state=0)
    return GTPCAClassifier(model).fit(X, y).predict(new)


def by_share(X, y, new):
    model = GTPCA(8, FAMILY, shared_pose=True, random_state=0)
    return GTPCAClassifier(model).fit(X, y).predict(new)


def by_nearest(X, y, new):
    unit = [rows - rows.mean(axis=1, keepdims=True) for rows in (X, new)]
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in unit]
    spectra, size = [np.fft.rfft(rows) for rows in unit], X.shape[1]
    best = [np.fft.irfft(row * spectra[0].conj(), size).max(axis=1).argmax() for row in spectra[1]]
    return y[best]


def by_scores(X, y, new):
    model = GTPCA(20, FAMILY, shared_pose=True, random_state=0)
    return machine().fit(model.fit_transform(X), y).predict(model.transform(new))


def by_fft(X, y, new):
    return machine().fit(np.abs(np.fft.rfft(X)), y).predict(np.abs(np.fft.rfft(new)))


def machine():
    return make_pipeline(StandardScaler(), SVC(C=10))


METHODS = {
    "likelihood": by_likelihood,
    "as found": by_likelihood_as_found,
    "share": by_share,
    "nearest": by_nearest,
    "scores": by_scores,
    "fft": by_fft,
}


def run(name, method, known):
    """Accuracy of all draws, their mean and its standard error."""
    (X, y), (new, wanted) = load(name)
    found = list(known.get("draws", []))
    for seed in range(len(found), DRAWS):
        rng = np.random.default_rng(seed)
        train, test = moved_in_noise(X, rng), moved_in_noise(new, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kinds = METHODS[method](train, y, test)
        found.append(round(float(np.mean(kinds == wanted)), 4))
    error = np.std(found, ddof=1) / np.sqrt(DRAWS)
    mean = round(float(np.mean(found)), 4)
    return {"draws": found, "mean": mean, "error": round(float(error), 4)}


def main():
    """Run everything, and write the JSON after every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=METHODS, default=list(METHODS))
    given = parser.parse_args()
    known = json.loads(PLACE.read_text("utf-8")) if PLACE.exists() else {}
    for method in given.only:
        for name in SETS:
            figures = known.setdefault(name, {})
            figures[method] = run(name, method, figures.get(method, {}))
            print(name, method, figures[method], flush=True)
            PLACE.write_text(json.dumps(known, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
