"""How often the warning that X may be transposed is given, where it should be and where not.

Draws are consecutive or random rows of real and made-up data, few enough that there are far more
features than rows; each is taken as it is, and where rows of the transpose are as many, transposed.
The rule is that of gtpca.data.orientation; its numbers were fixed before these draws.

Run: GTPCA_DATA=FOLDER python benchmarks/bench_transposed.py [--out result.json]
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from gtpca.data.orientation import MORE_FEATURES, neighbours
from gtpca.datasets import (
    fetch_eeg,
    fetch_handwriting,
    fetch_mnist,
    make_oscillations,
    make_spikes,
    sliding_windows,
)

HERE = Path(__file__).parent
SEED, DRAWS = 2029, 50


def ecg(name: str) -> np.ndarray:
    """The first signal of a record of the MIT-BIH database, in format 212."""
    path = Path(os.environ["GTPCA_DATA"]) / "ecg" / f"{name}.dat"
    b = np.fromfile(path, np.uint8).reshape(-1, 3).astype(np.int64)
    first = b[:, 0] | ((b[:, 1] & 15) << 8)
    return np.where(first > 2047, first - 4096, first)[:300_000].astype(float)


def data_sets() -> dict[str, np.ndarray]:
    """Flat rows (n, d) that are as they should be."""
    rng = np.random.default_rng([SEED, 1])
    mnist, digits = fetch_mnist("test"), load_digits()
    eeg, pen = fetch_eeg(), fetch_handwriting()
    noise = rng.standard_normal((2000, 400))
    walk = rng.standard_normal((2000, 400)).cumsum(axis=1)
    alike = np.sin(np.arange(400) / 9) * 5 + noise
    found = {
        "digits": digits.data,
        "digits, sorted by class": digits.data[np.argsort(digits.target, kind="stable")],
        "MNIST": mnist.data[:3000].reshape(3000, -1),
        "MNIST, sorted by class": mnist.data[np.argsort(mnist.target, kind="stable")].reshape(
            len(mnist.data), -1
        ),
        "EEG, one channel": np.concatenate(np.moveaxis(eeg.data, -1, 0)[:8]),
        "EEG, flat": eeg.data.reshape(len(eeg.data), -1),
        "handwriting, x": pen.data[:, :, 0],
        "handwriting, flat": pen.data.reshape(len(pen.data), -1),
        "white noise": noise,
        "random walks": walk,
        "a pattern in every row, and noise": alike,
        "spikes": make_spikes(2000, n_times=400, random_state=SEED)[0],
        "oscillations": make_oscillations(2000, n_times=400, random_state=SEED),
    }
    for name in ("100", "119"):
        x = ecg(name)
        for length, step in ((720, 720), (720, 72), (720, 10), (720, 1), (180, 5)):
            windows = sliding_windows(x, length, step)[:3000]
            found[f"ECG {name}, windows of {length} every {step}"] = windows
    return found


def draw(X, rng, random: bool) -> np.ndarray:
    """Rows, one after the other or any, few enough for their features."""
    most = min(len(X), X.shape[1] // MORE_FEATURES)
    n = int(rng.integers(16, max(most, 16) + 1))
    if random:
        return X[rng.choice(len(X), n, replace=False)]
    start = int(rng.integers(0, len(X) - n + 1))
    return X[start : start + n]


def turned(X, rng) -> np.ndarray | None:
    """The transpose of neighbouring points of many rows: far more features than rows again."""
    points = min(X.shape[1], len(X) // MORE_FEATURES)
    if points < 16:
        return None
    start = int(rng.integers(0, X.shape[1] - points + 1))
    return X[:, start : start + points].T


def rates(X, number) -> dict[str, float]:
    """Shares of draws with a warning, and the means of what was measured."""
    rng, told, found = np.random.default_rng([SEED, number]), {}, {}
    cases = {
        "consecutive": [draw(X, rng, False) for _ in range(DRAWS)],
        "random": [draw(X, rng, True) for _ in range(DRAWS)],
        "transposed": [turned(X[rng.permutation(len(X))], rng) for _ in range(DRAWS)],
    }
    for name, drawn in cases.items():
        found = [neighbours(np.asarray(one, float)) for one in drawn if one is not None]
        found = [one for one in found if one is not None]
        if found:
            told[name] = sum(one.transposed for one in found) / len(found)
            told[f"{name}, rows"] = round(float(np.mean([one.rows for one in found])), 3)
            told[f"{name}, features"] = round(float(np.mean([one.features for one in found])), 3)
            told[f"{name}, draws"] = len(found)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE / "bench_transposed.json")
    given = parser.parse_args()
    found = {}
    for number, (name, X) in enumerate(data_sets().items()):
        found[name] = rates(np.asarray(X), number)
        print(name, found[name], flush=True)
    given.out.write_text(json.dumps({"seed": SEED, "draws": DRAWS, "sets": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
