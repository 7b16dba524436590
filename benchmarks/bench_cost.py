"""How good the guess of the time of a fit is: for every kind of family, the guess and the fit.

``python benchmarks/bench_cost.py [KIND ..]`` prints one line per case: the guess that is made
before a fit, its time, and their ratio, and writes them to ``bench_cost.json``, beside the rows of
kinds that were not asked for. The numbers of passes in ``gtpca/fitting/cost.py`` were chosen so
that the ratios lie around 1. Times are those of the processor, so that other processes hardly
matter; run it with one thread (``OMP_NUM_THREADS=1``). Draws: seed 0, of each case.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from gtpca import GTPCA, Compose, ProbabilisticGTPCA, Rotation, Scaling, Shift, TimeWarp
from gtpca.data.chunks import as_chunks
from gtpca.fitting import cost
from gtpca.solvers.base import Problem

FACTORS = np.geomspace(0.8, 1.25, 5)


def series(rng, n, size, length=32):
    """Bumps of random height at random places, in white noise, (n, size)."""
    X = 0.5 * rng.standard_normal((n, size))
    for x, start in zip(X, rng.integers(size - length, size=n), strict=True):
        x[start : start + length] += 3 * np.hanning(length) * rng.standard_normal()
    return X


def images(rng, n, size):
    """Bars with a spot, turned at random, in white noise, (n, size, size)."""
    X = 0.3 * rng.standard_normal((n, size, size))
    y, x = np.mgrid[:size, :size] - size / 2 + 0.5
    for image, turn in zip(X, rng.uniform(0, 2 * np.pi, n), strict=True):
        u, v = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
        image += 2 * np.exp(-((6 * u / size) ** 2) - (12 * v / size) ** 2)
        image += np.exp(-((u - size / 6) ** 2 + v**2) / 3)
    return X


def cases():
    """Kind, estimator and how samples are drawn."""
    turned = Compose(Shift((20, 20)), Rotation(12))
    sizes = Scaling(np.geomspace(0.8, 1.25, 20), axes=(0, 1))
    yield "fft", GTPCA(2, Shift(64)), series, 300, 1000
    yield "fft", GTPCA(3, Shift(64)), series, 3000, 1000
    yield "fft", GTPCA(3, Shift((12, 12))), images, 3000, 28
    yield "bank", GTPCA(2, Rotation(72)), images, 5000, 28
    yield "bank", GTPCA(2, TimeWarp()), series, 300, 400
    yield "composed", GTPCA(1, turned), images, 200, 28
    yield "composed", GTPCA(1, Compose(Shift(64), Scaling(FACTORS))), series, 300, 500
    yield "huge", GTPCA(1, Compose(Shift((8, 8)), Rotation(360), sizes)), images, 10, 16
    yield "density", ProbabilisticGTPCA(0, Shift(64)), series, 300, 300
    yield "density", ProbabilisticGTPCA(2, Shift(64)), series, 1000, 300
    yield "density", ProbabilisticGTPCA(1, Shift((9, 9))), images, 300, 16
    yield "density", ProbabilisticGTPCA(1, Rotation(36)), images, 300, 16


def guessed(estimator, X):
    """Seconds that a fit would take, and its number of transforms."""
    operator = estimator.family.bind(X.shape[1:])
    chunks, k = as_chunks(X.reshape(len(X), -1), operator), estimator.n_components
    if isinstance(estimator, ProbabilisticGTPCA):
        return cost.guess_density(chunks, k)
    return cost.guess_components(Problem(chunks), k, 16)


def timed(estimator, X) -> float:
    """Seconds of the processor for a fit."""
    begun = time.process_time()
    with warnings.catch_warnings(action="ignore"):
        estimator.set_params(random_state=0).fit(X)
    return time.process_time() - begun


def main(kinds) -> None:
    """Print the table, and write it."""
    cost.WORTH = 0  # guess the cost of short fits too
    time.perf_counter = time.process_time  # of the guess as well
    path = Path(__file__).with_suffix(".json")
    rows = json.loads(path.read_text()) if path.exists() else []
    rows = [row for row in rows if kinds and row["kind"] not in kinds]
    for kind, estimator, draw, n, size in cases():
        if kinds and kind not in kinds:
            continue
        X = draw(np.random.default_rng(0), n, size)
        with warnings.catch_warnings(action="ignore"):
            found = guessed(estimator, X)
        row = {"kind": kind, "family": " ".join(str(estimator.family).split())}
        row |= {"n_components": estimator.n_components, "n_rows": n, "size": size}
        row |= {"n_transforms": found.n_transforms, "guess": found.seconds}
        row |= {"seconds": timed(estimator, X)}
        print(*row.values(), f"{found.seconds / row['seconds']:.2f}", flush=True)
        rows.append(row)
        path.write_text(f"{json.dumps(rows, indent=1)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
