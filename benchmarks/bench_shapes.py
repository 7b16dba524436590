"""Fits to data of unusual shapes, beside the bare arithmetic of their matches.

A fit matches rows with weights; ``matches`` counts the pairs of a row and a component. The bare
arithmetic of a match is what ``operator.ready(w).products`` does with rows that are prepared: one
product of spectra and one inverse FFT, or one matrix product. ``over_bare`` is the processor time
of the fit over that of its matches by bare arithmetic; everything else of a fit (starts, updates,
FFTs of residuals) is in it. Oscillations are the first case of bench_speed.py, to compare with.

dask: wall seconds of the same fit with Dask's schedulers, one after the other.

Run: python benchmarks/bench_shapes.py [case ..] [--out result.json]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from gtpca import GTPCA, Shift
from gtpca.datasets import make_oscillations
from gtpca.operators.shift import ShiftOperator

HERE = Path(__file__).parent


def noise(*shape):
    return np.random.default_rng(0).standard_normal(shape)


CASES = {
    "oscillations": (10, Shift(512), lambda: make_oscillations(1000, 256, random_state=0)),
    "3 rows of 10^6 points": (1, Shift(1000), lambda: noise(3, 10**6)),
    "k = 100": (100, Shift(100), lambda: noise(500, 300)),
    "k = 200": (200, Shift(50), lambda: noise(300, 100)),
    "64 channels": (2, Shift(500, axes=0), lambda: noise(100, 1000, 64)),
    "10^6 rows of 4 points": (1, Shift(2), lambda: noise(10**6, 4)),
    "10^6 transforms": (1, Shift((100, 100)), lambda: noise(5, 1100, 1100)),
    "circles of 509 points, a prime": (2, Shift(boundary="circular"), lambda: noise(1000, 509)),
    "circles of 512 points": (2, Shift(boundary="circular"), lambda: noise(1000, 512)),
}


class Matches:
    """Counts rows times weights that operators correlate, by operator and precision."""

    def __enter__(self):
        self.counts, self.operators, self.plain = Counter(), {}, ShiftOperator.correlate
        mine = self

        def counted(operator, P, W):
            key = (operator.tracks, P.dtype.char)
            mine.counts[key] += len(P) * len(W)
            mine.operators[key] = operator
            return mine.plain(operator, P, W)

        ShiftOperator.correlate = counted
        return self

    def __exit__(self, *_):
        ShiftOperator.correlate = self.plain

    def bare_seconds(self):
        """Processor seconds of all matches by bare arithmetic."""
        return sum(n * bare(self.operators[key], key[1]) for key, n in self.counts.items())


def bare(operator, char):
    """Processor seconds of one match of a row."""
    dtype = np.float32 if char in "fF" else np.float64
    width = max(operator.n_features, operator.n_transforms)
    X = noise(max(1, 2**18 // width), operator.n_features).astype(dtype)
    ready, P = operator.ready(noise(operator.n_weights), dtype), operator.prepare(X)
    best = np.inf
    for _ in range(5):
        start, count = time.process_time(), 0
        while time.process_time() - start < 0.02:
            ready.products(P)
            count += len(X)
        best = min(best, (time.process_time() - start) / count)
    return best


def run(name):
    k, family, rows = CASES[name]
    X = rows()
    with Matches() as matches:
        start = time.process_time()
        GTPCA(k, family, random_state=0).fit(X)
        seconds = time.process_time() - start
    expected = matches.bare_seconds()
    return {
        "seconds": seconds,
        "matches": sum(matches.counts.values()),
        "bare_seconds": expected,
        "over_bare": seconds / expected,
    }


def with_dask():
    """Wall seconds of a fit with each scheduler; processes are started in the first one."""
    import dask
    import dask.array as da

    X, found = da.from_array(noise(3000, 60), chunks=(1000, 60)), {}
    for name in ("synchronous", "threads", "processes", "processes, started"):
        with dask.config.set(scheduler=name.partition(",")[0]):
            start = time.perf_counter()
            GTPCA(2, Shift(16), random_state=0).fit(X)
            found[name] = time.perf_counter() - start
    return {"seconds": found, "over_synchronous": found["processes"] / found["synchronous"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=[*CASES, "dask"])
    parser.add_argument("--out", type=Path, default=HERE / "bench_shapes.json")
    args = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    for name in args.cases:
        found = json.loads(args.out.read_text()) if args.out.exists() else {}
        found[name] = with_dask() if name == "dask" else run(name)
        args.out.write_text(json.dumps(found, indent=1) + "\n")
        print(name, json.dumps(found[name]), flush=True)


if __name__ == "__main__":
    main()
