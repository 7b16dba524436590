"""The cost model of docs/howto/cluster.md beside passes with 1 and 2 workers, 10^4 to 10^6 rows.

A pass is ``chunks.sum(statistics, block)``, as in a fit. *processor* is the processor time of all
workers, which other work on the machine changes little; *seconds* is the time on the clock. Best of
three. Rows of 256 points in float32, ``Shift(64)``, in a stack of npy files.

Run: python benchmarks/bench_cluster.py [--out result.json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from bench_large import MALLOC
from distributed import Client, LocalCluster

from gtpca import Shift
from gtpca.data.chunks import as_chunks
from gtpca.data.rows import StreamedRows
from gtpca.model.matching import make_block, statistics
from gtpca.testing import PlantedRows

FAMILY, SHAPE, CHUNK = Shift(64), (256,), 50_000
SIZES, WORKERS = (10_000, 100_000, 1_000_000), (1, 2)


def predicted(n, workers, n_chunks):
    """The formula of the page: processor seconds of all workers, and seconds on the clock."""
    row = 1.5e-6 + 0.6e-9 * SHAPE[0] * np.log2(SHAPE[0])
    return n * row, 0.17 + 0.0035 * n_chunks + n * row / workers


def stack(n, folder):
    """``n`` rows in files of at most CHUNK rows: the same 10,000 again and again."""
    few = PlantedRows(FAMILY.bind(SHAPE), 10_000, n_templates=2)[:]
    size = min(n, CHUNK)
    rows = da.from_array(np.resize(few, (size, *SHAPE)), chunks=(size, *SHAPE))
    da.to_npy_stack(folder, da.concatenate([rows] * (n // size)))
    return da.from_npy_stack(folder)


def used(client):
    """Processor seconds of the workers so far."""
    return sum(client.run(time.process_time).values())


def measure(n, workers, client, folder):
    """One case: the best of three passes."""
    X = stack(n, folder)
    chunks = as_chunks(StreamedRows(X), FAMILY.bind(SHAPE), batch_size=None)
    block = make_block(chunks.operator, np.random.default_rng(0).standard_normal((1, 64)))
    chunks.sum(statistics, block)
    best = []
    for _ in range(3):
        before, start = used(client), time.perf_counter()
        chunks.sum(statistics, block)
        best.append((used(client) - before, time.perf_counter() - start))
    processor, seconds = np.min(best, axis=0)
    model = predicted(n, workers, X.numblocks[0])
    names = (
        "rows",
        "workers",
        "chunks",
        "processor",
        "seconds",
        "model_processor",
        "model_seconds",
    )
    values = (n, workers, X.numblocks[0], processor, seconds, *model)
    return dict(zip(names, (round(float(v), 4) for v in values), strict=True))


def run(workers):
    """All sizes on a cluster of so many processes."""
    size = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with dask.config.set(MALLOC), LocalCluster(**size) as cluster, Client(cluster) as client:
        for n in SIZES:
            with tempfile.TemporaryDirectory() as folder:
                row = measure(n, workers, client, os.path.join(folder, "rows"))
            print(json.dumps(row), flush=True)
            yield row


def main():
    """Run everything and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=Path(__file__).with_suffix(".json"), type=Path)
    out = parser.parse_args().out
    rows = [row for workers in WORKERS for row in run(workers)]
    load, machine = round(os.getloadavg()[0], 1), platform.machine()
    found = {"runs": rows, "load_average": load, "processors": os.cpu_count(), "machine": machine}
    out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
