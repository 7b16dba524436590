"""Rows that do not fit into memory: memory, cost per row and component, and Dask.

memory      private memory of a fit to a memory map of 1 GB and of 4 GB, in fresh processes
linear      time of a pass per row with 10,000 and 100,000 rows
components  time of a pass for component 20 and for component 1, with the residual kept and with
            the residual computed again
dask, zarr  a fit with two worker processes on 2 GB in a stack of npy files or in zarr, and a fit
            with one process on a memory map

Times are the best of several, taken in turns. Files go to a temporary directory (TMPDIR), 5 GB.

Run: python benchmarks/bench_large.py [memory linear components dask zarr] [--out result.json]
Parts that are not run keep their results.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np

from gtpca import ALS, GTPCA, Rotation, Shift
from gtpca.data.chunks import as_chunks
from gtpca.data.rows import StreamedRows
from gtpca.model.coding import deflate
from gtpca.model.matching import make_block, statistics
from gtpca.testing import PlantedRows, assert_same_components

HERE = Path(__file__).parent
FAMILY, SHAPE = Shift(128), (1024,)  # 4 KiB per row in float32
ROWS_PER_GB = 2**30 // 4096
BATCH = 1024
# By default workers give every freed piece of memory back at once, and get it again, page by page:
# a pass then takes much longer.
MALLOC = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**25,
}
SOLVER = ALS(n_init=2, max_iter=2, tol=0.0)


def model(n_components=2, **options):
    return GTPCA(n_components, FAMILY, solver=SOLVER, random_state=0, **options)


def made(n):
    return PlantedRows(FAMILY.bind(SHAPE), n, n_templates=2)


def written(n, folder):
    """``n`` rows in a file of numpy."""
    path = Path(folder) / "rows.npy"
    rows = made(n)
    rows.write(np.lib.format.open_memmap(path, "w+", rows.dtype, rows.shape)).flush()
    return path


def best_of(rounds, *runs):
    """Best time of each run, in turns."""
    times = [[] for _ in runs]
    for _ in range(rounds):
        for run, seconds in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
    return [min(seconds) for seconds in times]


# --- memory: /proc says what is private and not backed by a file ---


def private_megabytes():
    """RssAnon of this process: what is in memory and belongs to no file."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


class Peak(threading.Thread):
    """Largest private memory while it runs, looked at every 2 ms."""

    def __init__(self):
        super().__init__(daemon=True)
        self.value, self.over = 0.0, False

    def run(self):
        while not self.over:
            self.value = max(self.value, private_megabytes())
            time.sleep(0.002)

    def end(self):
        self.over = True
        self.join()
        return self.value


def child(path, gigabytes):
    """In a process of its own: fit, and print megabytes above the interpreter with its imports."""
    before = private_megabytes()
    X = np.load(path, mmap_mode="r")[: int(gigabytes * ROWS_PER_GB)]
    peak = Peak()
    peak.start()
    start = time.perf_counter()
    found = model(batch_size=BATCH).fit(X)
    seconds = time.perf_counter() - start
    result = {"megabytes": peak.end() - before, "seconds": seconds, "rows": len(X)}
    sys.stdout.write(json.dumps({**result, "explained": found.score(X[:1000])}))


def memory(folder):
    path = written(4 * ROWS_PER_GB, folder)
    result = {"batch_size": BATCH, "n_components": 2}
    for gigabytes in (1, 4):
        command = [sys.executable, __file__, "--child", path, str(gigabytes)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        result[f"{gigabytes} GB"] = json.loads(done.stdout)
    peaks = [result[f"{g} GB"]["megabytes"] for g in (1, 4)]
    return {**result, "growth_megabytes": peaks[1] - peaks[0], "bar": "< 100, total < 1000"}


# --- time ---


def passes(X, family, n_done, residual, batch_size=None):
    """A function that makes one pass of match, statistics and residual for the next component."""
    operator = family.bind(X.shape[1:])
    W = np.random.default_rng(0).standard_normal((n_done + 1, operator.n_weights))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    *blocks, last = [make_block(operator, w[None], X.dtype) for w in W]
    chunks = as_chunks(StreamedRows(X), operator, batch_size=batch_size, residual=residual)
    for k, block in enumerate(blocks):
        chunks = chunks.update(deflate, block, blocks=blocks[: k + 1])
    return lambda: chunks.sum(statistics, [last])


def linear(folder):
    sizes = (10_000, 100_000)
    X = np.load(written(sizes[1], folder), mmap_mode="r")
    runs = [passes(X[:n], FAMILY, 0, "recompute") for n in sizes]
    small = lambda: [runs[0]() for _ in range(10)]  # noqa: E731  the same number of rows
    seconds = best_of(7, small, runs[1])
    per_row = [1e6 * s / sizes[1] for s in seconds]
    return {
        "microseconds_per_row": dict(zip(map(str, sizes), per_row, strict=True)),
        "ratio": per_row[1] / per_row[0],
        "bar": "0.8 .. 1.2",
    }


def components(folder):
    result = {"bar": "kept <= 1.5, recomputed <= 3"}
    cases = {
        "shift 128 in 1024": (FAMILY, SHAPE, 16384),
        "shift 28x28 in 56x56": (Shift((28, 28)), (56, 56), 4096),
        "shift 512 over 256": (Shift(512), (256,), 16384),
        "rotation 28x28": (Rotation(20), (28, 28), 16384),
    }
    for name, (family, shape, n) in cases.items():
        X = PlantedRows(family.bind(shape), n)[:]
        runs = [
            passes(X, family, done, residual)
            for done, residual in ((0, "memory"), (19, "memory"), (19, "recompute"))
        ]
        first, kept, again = best_of(15, *runs)
        result[name] = {
            "microseconds_per_row": [1e6 * s / n for s in (first, kept, again)],
            "kept": kept / first,
            "recomputed": again / first,
        }
    return result


def nothing(chunk):
    return 0


def stack(X, rows, folder):
    """``X`` as a stack of files of numpy, which workers map into memory."""
    import dask.array as da

    da.to_npy_stack(folder, da.from_array(X, chunks=(rows, *SHAPE)))
    return da.from_npy_stack(folder)


def stored(X, rows, folder):
    """``X`` as an array of zarr, not compressed; workers read whole chunks."""
    import dask.array as da
    import zarr

    how = {"chunks": (rows, *SHAPE), "dtype": X.dtype, "compressors": None}
    store = zarr.create_array(folder, shape=X.shape, **how)
    for start in range(0, len(X), rows):
        store[start : start + rows] = X[start : start + rows]
    return da.from_zarr(store)


def cluster(folder, store, rows):
    """A fit with two worker processes on what ``store`` makes, and one on a memory map."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    n = 2 * ROWS_PER_GB
    X = np.load(written(n, folder), mmap_mode="r")
    D, found = store(X, rows, Path(folder) / "stored"), {}

    def alone():
        found["memmap"] = model().fit(X)

    def together():
        found["dask"] = model().fit(D)

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with dask.config.set(MALLOC), LocalCluster(**options) as local, Client(local):
        empty = da.zeros(X.shape, chunks=(rows, *SHAPE), dtype=X.dtype)
        chunks = as_chunks(StreamedRows(empty), FAMILY.bind(SHAPE), batch_size=rows)
        chunks.sum(nothing)
        (overhead,) = best_of(5, lambda: chunks.sum(nothing))
        memmap, two = best_of(2, alone, together)
    assert_same_components(found["memmap"], found["dask"], atol=1e-4)
    return {
        "gigabytes": X.nbytes / 2**30,
        "chunks": D.numblocks[0],
        "seconds_memmap_one_process": memmap,
        "seconds_dask_two_processes": two,
        "ratio": two / memmap,
        "overhead_seconds_per_pass": overhead,
        "bar": "<= 1",
    }


PARTS = {
    "memory": memory,
    "linear": linear,
    "components": components,
    "dask": partial(cluster, store=stack, rows=2**16),
    "zarr": partial(cluster, store=stored, rows=7 * 2**10),  # larger ones are mapped each time
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(PARTS)}; default: all")
    parser.add_argument("--out", default=HERE / "bench_large.json", type=Path)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child[0], float(args.child[1]))
        return
    result = json.loads(args.out.read_text()) if args.out.exists() else {}
    for name in args.parts or PARTS:
        with tempfile.TemporaryDirectory(prefix="gtpca-bench-") as folder:
            result[name] = PARTS[name](folder)
        result[name]["processors"] = os.cpu_count()
        result[name]["load_average"] = round(os.getloadavg()[0], 1)
        result[name]["machine"] = platform.machine()
        args.out.write_text(json.dumps(result, indent=1) + "\n")
        sys.stdout.write(f"{name}: {json.dumps(result[name], indent=1)}\n")


if __name__ == "__main__":
    main()
