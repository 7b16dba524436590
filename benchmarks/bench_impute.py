"""Filling gaps: ``GTPCA.impute`` beside column means, neighbours, regression, and PCA.

20 % of the values are hidden, at random or in one block per sample. The error is that of the hidden
values, ``sum (x - filled)^2 / sum (x - mean)^2`` with the column means of what is left: 1 is as
good as to fill in these means. Numbers of components, and what else there is to choose for GT-PCA
(:func:`candidates`), are chosen for it and for PCA alike: by the error on a further 20 % of the
values, hidden in the same way. The other methods have scikit-learn's defaults, but for
IterativeImputer, which looks at 30 columns at a time in 5 rounds.

Data: EEG trials (100 trials of 6 electrodes, 128 points), handwritten digits of scikit-learn at
random places of 14 x 14 pixels, the same digits where they were (nothing moves: here PCA is at
home), and generated pulses at random times.

Run: python benchmarks/bench_impute.py [--only NAME ..] [--seeds 3] [--out result.json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from pathlib import Path

import numpy as np
import sklearn
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from gtpca import GTPCA, Shift
from gtpca.datasets import fetch_eeg, random_embedding

HERE = Path(__file__).parent
ELECTRODES = ("FZ", "CZ", "PZ", "OZ", "C3", "C4")
COUNTS = (1, 2, 5, 10, 20)  # components of PCA


def eeg(seed):
    """Trials (600, 128), one electrode each, without their means."""
    found = fetch_eeg()
    data = found.data[:, :, [found.channels.index(name) for name in ELECTRODES]]
    rows = data.transpose(0, 2, 1).reshape(-1, 128, 2).mean(axis=2)
    return rows - rows.mean(axis=1, keepdims=True)


def shifted_digits(seed):
    """Digits (600, 14, 14) at random places."""
    return random_embedding(digits(seed), (14, 14), random_state=seed)[0]


def digits(seed):
    """Digits (600, 8, 8)."""
    images = load_digits().images
    return images[np.random.default_rng(seed).permutation(len(images))[:600]]


def pulses(seed):
    """Pulses (600, 96) of two shapes at random times, with noise."""
    rng, t = np.random.default_rng(seed), np.arange(24)
    shapes = np.stack([np.exp(-(((t - 11.5) / 3) ** 2)), np.sin(t / 2) * np.hanning(24)])
    scores = rng.uniform(0.5, 2, (600, 2)) * [1, 1]
    rows, starts = 0.1 * rng.standard_normal((600, 96)), rng.integers(73, size=600)
    for row, start, score in zip(rows, starts, scores, strict=True):
        row[start : start + 24] += score @ shapes
    return rows


def candidates(name):
    """The models among which one is chosen."""
    if name == "eeg":
        options = [{"n_components": k, "shared_pose": True} for k in (1, 2, 5, 10)]
        options += [{"n_components": k, "refine": 1} for k in (5, 10, 20)]
        return [option | {"family": Shift(160)} for option in options]
    if name == "pulses":
        options = [{"n_components": k, "shared_pose": k > 1} for k in (1, 2, 4)]
        options += [{"n_components": 1, "polarity": "positive"}]
        return [option | {"family": Shift(w)} for w in (24, 32) for option in options]
    still = {"family": None, "center": True}
    options = {"family": Shift((8, 8)), "shared_pose": True} if name == "shifted digits" else still
    return [options | {"n_components": k} for k in COUNTS]


DATA = {"eeg": eeg, "shifted digits": shifted_digits, "digits": digits, "pulses": pulses}
KINDS = ("random", "block")
SHARE = 0.2  # of the values is hidden


def hide(X, share, kind, seed):
    """``X`` (n, ..) with NaN for a share of the values: at random, or in a block of each sample."""
    rng, shape = np.random.default_rng(seed), X.shape[1:]
    if kind == "random":
        return np.where(rng.random(X.shape) < share, np.nan, X)
    sizes = [max(1, round(size * share ** (1 / len(shape)))) for size in shape]
    hidden = np.zeros(X.shape, dtype=bool)
    for mask in hidden:
        starts = [
            rng.integers(size - length + 1) for size, length in zip(shape, sizes, strict=True)
        ]
        mask[tuple(slice(a, a + length) for a, length in zip(starts, sizes, strict=True))] = True
    return np.where(hidden, np.nan, X)


def error(X, Y, filled):
    """Error of the values of ``X`` that are hidden in ``Y``, relative to that of column means."""
    hidden = np.isnan(Y) & ~np.isnan(X)
    return float(np.sum((X - filled)[hidden] ** 2) / np.sum((X - means(Y))[hidden] ** 2))


def means(Y):
    """The column means of what was observed, 0 where nothing was."""
    seen = ~np.isnan(Y)
    return np.broadcast_to(np.nansum(Y, axis=0) / np.maximum(seen.sum(axis=0), 1), Y.shape)


def fill_by_pca(Y, k, rounds=200):
    """Fill with the means, then with what ``k`` principal components say, until it settles."""
    flat = Y.reshape(len(Y), -1)
    hidden, filled = np.isnan(flat), np.where(np.isnan(flat), means(flat), flat)
    for _ in range(rounds):
        centre = filled.mean(axis=0)
        U, s, Vt = np.linalg.svd(filled - centre, full_matrices=False)
        new = np.where(hidden, (U[:, :k] * s[:k]) @ Vt[:k] + centre, flat)
        change, filled = np.linalg.norm(new - filled), new
        if change <= 1e-4 * np.linalg.norm(filled):
            break
    return filled.reshape(Y.shape)


def fill_by_gtpca(Y, options):
    model = GTPCA(missing="ignore", random_state=0, **options)
    return model.fit(Y).impute(Y)


def chosen(Y, kind, seed, options, fill):
    """The option with the least error on further values that are hidden in the same way."""
    Z = np.where(np.isnan(hide(Y, SHARE, kind, seed + 100)), np.nan, Y)
    return min(options, key=lambda option: error(Y, Z, fill(Z, option)))


def fill_by(imputer):
    def fill(Y):
        return imputer.fit_transform(Y.reshape(len(Y), -1)).reshape(Y.shape)

    return fill


def methods(name, kind, seed):
    """Functions from arrays with gaps to arrays without."""
    few = {"n_nearest_features": 30, "max_iter": 5, "random_state": 0}
    keep = {"keep_empty_features": True}
    yield "neighbours", fill_by(KNNImputer(**keep))
    yield "regression", fill_by(IterativeImputer(**few, **keep))
    yield "PCA", lambda Y: fill_by_pca(Y, chosen(Y, kind, seed, COUNTS, fill_by_pca))
    options = candidates(name)
    yield "GT-PCA", lambda Y: fill_by_gtpca(Y, chosen(Y, kind, seed, options, fill_by_gtpca))


def run(name, kind, seed):
    """The errors of all methods, and their processor seconds."""
    X = DATA[name](seed)
    Y = hide(X, SHARE, kind, seed)
    errors, seconds = {"column means": 1.0}, {}
    for method, fill in methods(name, kind, seed):
        start = time.process_time()
        errors[method] = error(X, Y, fill(Y))
        seconds[method] = time.process_time() - start
    return {"data": name, "kind": kind, "seed": seed, "errors": errors, "seconds": seconds}


def table(rows):
    """Mean errors over the seeds; the least is in bold."""
    names = list(rows[0]["errors"])
    lines = [f"| data | hidden | {' | '.join(names)} |", "|" + "---|" * (2 + len(names))]
    for data, kind in dict.fromkeys((row["data"], row["kind"]) for row in rows):
        mine = [row["errors"] for row in rows if (row["data"], row["kind"]) == (data, kind)]
        found = {name: float(np.mean([errors[name] for errors in mine])) for name in names}
        least = min(found.values())
        cells = [f"**{v:.3f}**" if v == least else f"{v:.3f}" for v in found.values()]
        lines.append(f"| {data} | {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=HERE / "bench_impute.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name in options.only:
        for kind in KINDS:
            rows += [run(name, kind, seed) for seed in range(options.seeds)]
            print({m: round(e, 3) for m, e in rows[-1]["errors"].items()}, name, kind, flush=True)
    found = {
        "versions": {"numpy": np.__version__, "scikit-learn": sklearn.__version__},
        "machine": {"type": platform.machine(), "cores": os.cpu_count()},
        "rows": rows,
    }
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
