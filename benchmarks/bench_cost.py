"""How good the guess of the time of a fit is: for every kind of family, the guess and the fit.

``python benchmarks/bench_cost.py`` prints one line per case: the guess that is made before a fit,
its time, and their ratio. The numbers of passes in ``gtpca/fitting/cost.py`` were chosen so that
the ratios lie around 1. Draws: seed 0.
"""

from __future__ import annotations

import time
import warnings

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


def cases(rng):
    """Kind, family, samples and number of components."""
    yield "fft", Shift(64), series(rng, 300, 1000), 2
    yield "fft", Shift(64), series(rng, 3000, 1000), 3
    yield "fft", Shift((12, 12)), images(rng, 3000, 28), 3
    yield "bank", Rotation(72), images(rng, 5000, 28), 2
    yield "bank", TimeWarp(), series(rng, 300, 400), 2
    yield "composed", Compose(Shift((20, 20)), Rotation(12)), images(rng, 200, 28), 1
    yield "composed", Compose(Shift(64), Scaling(FACTORS)), series(rng, 300, 500), 1


def guessed(family, X, k) -> float:
    """Seconds that ``k`` components would take."""
    operator = family.bind(X.shape[1:])
    problem = Problem(as_chunks(X.reshape(len(X), -1), operator))
    return cost.guess_components(problem, k, 16).seconds


def timed(estimator, X) -> float:
    """Seconds of a fit."""
    begun = time.perf_counter()
    with warnings.catch_warnings(action="ignore"):
        estimator.fit(X)
    return time.perf_counter() - begun


def main() -> None:
    """Print the table."""
    cost.WORTH = 0  # guess the cost of short fits too
    rng = np.random.default_rng(0)
    for kind, family, X, k in cases(rng):
        guess, taken = guessed(family, X, k), timed(GTPCA(k, family, random_state=0), X)
        shown = " ".join(str(family).split())[:50]
        print(f"{kind:9} {shown:50} {len(X):6} rows  {guess:6.1f} s  {taken:6.1f} s", end="")
        print(f"  {guess / taken:.2f}", flush=True)
    X, family = series(rng, 1000, 300), Shift(64)
    operator = family.bind(X.shape[1:])
    guess = cost.guess_density(as_chunks(X, operator), 2).seconds
    taken = timed(ProbabilisticGTPCA(2, family, random_state=0), X)
    print(f"density   {family!s:50} {len(X):6} rows  {guess:6.1f} s  {taken:6.1f} s", end="")
    print(f"  {guess / taken:.2f}")


if __name__ == "__main__":
    main()
