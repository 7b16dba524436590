"""Align by one component, then PCA: features for classifiers beside scores in one pose.

Rows of the sets of bench_classes.py and their split into training and test rows: outlines of arrow
heads and leaves (ArrowHead, OSULeaf), every row at a random circular shift, as they are and in
white noise of half the standard deviation of a row; and images of digits (scikit-learn's, 8 x 8,
600 training and 600 test images), each turned by a random multiple of 30 degrees. Accuracy on the
test rows, mean of five draws (seeds 0 to 4) of shifts, noise and angles, of

- ``aligned``: ``GTPCA(1, family, output="aligned")``, then PCA with 20 components
- ``scores``: 20 scores of ``GTPCA(20, family, shared_pose=True)``
- ``nearest``: the class of the nearest training row, by the largest correlation over all transforms
- ``fft``: for outlines, the absolute values of the Fourier transform

All but ``nearest`` are features of a support vector machine with C = 10 on standardised features.

Run: python benchmarks/bench_aligned.py [--only SET ..]

The number of components was fixed beforehand, that of bench_classes.py.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path

import numpy as np
from bench_classes import DRAWS, FAMILY, by_fft, by_nearest, by_scores, load, machine
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from gtpca import GTPCA, Rotation
from gtpca.datasets import random_rotation

PLACE = Path(__file__).with_suffix(".json")
TURNS = Rotation(12, domain="all")


def outlines(name, noise, rng):
    """Training and test rows of outlines at random shifts, and their classes."""
    found = []
    for rows, classes in load(name):
        steps = rng.integers(rows.shape[1], size=len(rows))
        moved = np.array([np.roll(row, step) for row, step in zip(rows, steps, strict=True)])
        sizes = moved.std(axis=1, keepdims=True)
        found += [moved + noise * sizes * rng.standard_normal(moved.shape), classes]
    return found


def digits(rng):
    """Training and test images of digits at random angles, and their classes."""
    data, seed = load_digits(), int(rng.integers(2**31))
    turned, _ = random_rotation(data.images[:1200] / 16, angles=12, random_state=seed)
    return [turned[:600], data.target[:600], turned[600:], data.target[600:1200]]


def by_aligned(X, y, new, family=FAMILY):
    align = GTPCA(1, family, output="aligned", random_state=0)
    return make_pipeline(align, PCA(20, random_state=0), machine()).fit(X, y).predict(new)


def by_turned_scores(X, y, new):
    model = GTPCA(20, TURNS, shared_pose=True, random_state=0)
    return machine().fit(model.fit_transform(X), y).predict(model.transform(new))


def by_nearest_turn(X, y, new):
    operator = TURNS.bind(X.shape[1:])
    banks = np.array([operator.apply(x.ravel()) for x in X])
    banks /= np.linalg.norm(banks, axis=2, keepdims=True)
    return y[[(banks @ x.ravel()).max(axis=1).argmax() for x in new]]


CURVES = {"aligned": by_aligned, "scores": by_scores, "nearest": by_nearest, "fft": by_fft}
IMAGES = {
    "aligned": partial(by_aligned, family=TURNS),
    "scores": by_turned_scores,
    "nearest": by_nearest_turn,
}
SETS = {
    f"{name}, noise {noise:g}": (partial(outlines, name, noise), CURVES)
    for name in ("ArrowHead", "OSULeaf")
    for noise in (0, 0.5)
} | {"digits": (digits, IMAGES)}


def run(name):
    """Accuracy of every method: all draws, their mean and its standard error."""
    draw, methods = SETS[name]
    found = {method: [] for method in methods}
    for seed in range(DRAWS):
        X, y, new, wanted = draw(np.random.default_rng(seed))
        for method, predict in methods.items():
            found[method].append(round(float(np.mean(predict(X, y, new) == wanted)), 4))
    return {
        method: {
            "draws": draws,
            "mean": round(float(np.mean(draws)), 4),
            "error": round(float(np.std(draws, ddof=1) / np.sqrt(DRAWS)), 4),
        }
        for method, draws in found.items()
    }


def main():
    """Run some sets, or all of them, and write the JSON after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=SETS, default=list(SETS))
    known = json.loads(PLACE.read_text("utf-8")) if PLACE.exists() else {}
    for name in parser.parse_args().only:
        known[name] = run(name)
        print(name, json.dumps(known[name]), flush=True)
        ordered = {one: known[one] for one in SETS if one in known}
        PLACE.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
