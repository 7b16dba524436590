"""How near ``partial_fit`` comes to ``fit``: five passes in random order, held-out ResMSE.

Writes ``bench_online.json``. ``python benchmarks/bench_online.py [--rows 10000]``; MNIST is left
out where it is not at hand (GTPCA_DATA).
"""

from __future__ import annotations

import argparse
import json
import time
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


def timed(work):
    """Result of ``work()`` and the seconds it took."""
    start = time.perf_counter()
    return work(), round(time.perf_counter() - start, 1)


def compare(name, X, new, model, size, seed):
    """One row of the result: ResMSE of both on new samples."""
    fitted, fit_seconds = timed(lambda: model().fit(X))
    streamed, stream_seconds = timed(lambda: stream(model(), X, size, seed))
    ours, theirs = streamed.resmse(new), fitted.resmse(new)
    return {
        "data": name, "rows": len(X), "batch": size, "seed": seed,
        "resmse_fit": theirs.round(5).tolist(), "resmse_partial_fit": ours.round(5).tolist(),
        "largest_excess": round(float((ours / theirs - 1).max()), 4),
        "excess_at_the_last_k": round(float(ours[-1] / theirs[-1] - 1), 4),
        "seconds_fit": fit_seconds, "seconds_partial_fit": stream_seconds,
    }  # fmt: skip


def main():
    """Run all and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000, help="digits")
    n_rows = parser.parse_args().rows
    found = []
    for seed in range(3):
        for size in (100, 250):
            model = lambda: GTPCA(10, Shift(512), random_state=seed)  # noqa: B023, E731
            found.append(compare("oscillations", *oscillations(seed), model, size, seed))
            print(json.dumps(found[-1]), flush=True)
    try:
        X, new = digits(0, n_rows)
    except (OSError, ValueError) as error:
        found.append({"data": "shifted MNIST", "left out": str(error)})
    else:
        for size in (100, 1000):
            model = lambda: GTPCA(5, Shift((28, 28)), random_state=0)  # noqa: E731
            found.append(compare("shifted MNIST", X, new, model, size, 0))
            print(json.dumps(found[-1]), flush=True)
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps({"passes": N_PASSES, "runs": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
