"""How near ``partial_fit`` comes to ``fit``: five passes in random order, held-out ResMSE.

``excess`` is against the fit with the same seed. Fits of series from other starts differ by several
percent at ten components, so the mean of three and their spread stand beside it.

Writes ``bench_online.json``. ``python benchmarks/bench_online.py [--rows 10000]``; MNIST is left
out where it is not at hand (GTPCA_DATA).
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path

import numpy as np

from gtpca import GTPCA, Shift
from gtpca.datasets import fetch_mnist, make_oscillations, random_embedding

N_PASSES = 5


def oscillations(seed):
    """Training and test series."""
    return [make_oscillations(1000, random_state=2 * seed + part) for part in (0, 1)]


def digits(seed, n_rows):
    """Digits at random places in 56 x 56 pixels."""
    rng = np.random.RandomState(seed)
    parts = [(fetch_mnist("train"), n_rows), (fetch_mnist("test"), 2000)]
    return [random_embedding(b.data[:n].astype(np.float32), (56, 56), rng)[0] for b, n in parts]


def stream(model, X, size, seed):
    """Five passes over ``X`` in batches of ``size`` rows."""
    rng = np.random.default_rng(seed)
    for _ in range(N_PASSES):
        for rows in np.array_split(rng.permutation(len(X)), len(X) // size):
            model.partial_fit(X[rows])
    return model


def reference(X, new, make):
    """ResMSE (3, k) of fits with three seeds."""
    return np.array([make(seed).fit(X).resmse(new) for seed in range(3)])


def compare(name, X, new, make, size, seed, theirs):
    """One row of the result: ResMSE of both on new samples."""
    ours = stream(make(seed), X, size, seed).resmse(new)
    same, mean = theirs[seed], theirs.mean(axis=0)
    found = {
        "data": name, "rows": len(X), "batch": size, "seed": seed,
        "resmse_fit": same.round(5).tolist(), "resmse_partial_fit": ours.round(5).tolist(),
        "excess": (ours / same - 1).round(4).tolist(),
        "excess_over_mean_of_fits": (ours / mean - 1).round(4).tolist(),
        "spread_of_fits": (np.ptp(theirs, axis=0) / mean).round(4).tolist(),
    }  # fmt: skip
    print(json.dumps(found), flush=True)
    return found


def runs(n_rows):
    """All rows of the result, one after the other."""
    for seed in range(3):
        X, new = oscillations(seed)
        make = partial(GTPCA, 10, Shift(512))
        fits = reference(X, new, _seeded(make))
        for size in (100, 250):
            yield compare("oscillations", X, new, _seeded(make), size, seed, fits)
    try:
        X, new = digits(0, n_rows)
    except (OSError, ValueError) as error:
        yield {"data": "shifted MNIST", "left out": str(error)}
        return
    make = partial(GTPCA, 5, Shift((28, 28)))
    fits = reference(X, new, _seeded(make))
    for size in (100, 1000):
        yield compare("shifted MNIST", X, new, _seeded(make), size, 0, fits)


def _seeded(make):
    return lambda seed: make(random_state=seed)


def main():
    """Run all and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000, help="digits")
    found = list(runs(parser.parse_args().rows))
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps({"passes": N_PASSES, "runs": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
