"""The cost model of docs/howto/cluster.md beside passes with 1 and 2 workers, 10^4 to 10^6 rows.

A pass is ``chunks.sum(statistics, [block])``, as in a fit. *processor* is the processor time of all
workers, which other work on the machine changes little; *seconds* is the time on the clock. Best of
three. Rows of 256 points in float32, ``Shift(64)``, in a stack of npy files. The formula was fitted
to such rows; ``--check`` runs two other families, shapes and sizes, and says first what it expects.

Run: python benchmarks/bench_cluster.py [--out result.json] [--check]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from bench_large import MALLOC
from distributed import Client, LocalCluster

from gtpca import Rotation, Shift
from gtpca.data.chunks import as_chunks
from gtpca.data.rows import StreamedRows
from gtpca.model.matching import make_block, statistics
from gtpca.testing import PlantedRows

FAMILY, CHUNK = Shift(64), 50_000


@dataclass(frozen=True)
class Case:
    """Rows of one shape, one family, and workers."""

    rows: int
    workers: int
    family: Any = FAMILY
    shape: tuple[int, ...] = (256,)

    @property
    def operator(self):
        return self.family.bind(self.shape)

    @property
    def chunks(self):
        return -(-self.rows // CHUNK)


CASES = [Case(n, workers) for workers in (1, 2) for n in (10_000, 100_000, 1_000_000)]
CHECKS = [
    Case(300_000, 2, Shift(400), (1000,)),
    Case(400_000, 1, Rotation(angles=36), (16, 16)),
]


def row_seconds(case):
    """The formula of the page for one row: shifts by their FFT, all others as banks."""
    d = math.prod(case.shape)
    if isinstance(case.family, Shift):
        return 1.5e-6 + 0.6e-9 * d * math.log2(d)
    return 0.13e-9 * case.operator.n_transforms * d


def predicted(case):
    """Processor seconds of all workers, and seconds on the clock."""
    row = case.rows * row_seconds(case)
    return {
        "model_processor": row,
        "model_seconds": 0.17 + 0.0035 * case.chunks + row / case.workers,
    }


def stack(case, folder):
    """Rows in files of at most CHUNK rows: the same 10,000 again and again."""
    few = PlantedRows(case.operator, 10_000, n_templates=2)[:]
    size = min(case.rows, CHUNK)
    rows = da.from_array(np.resize(few, (size, *case.shape)), chunks=(size, *case.shape))
    da.to_npy_stack(folder, da.concatenate([rows] * case.chunks))
    return da.from_npy_stack(folder)


def used(client):
    """Processor seconds of the workers so far."""
    return sum(client.run(time.process_time).values())


def measure(case, client, folder):
    """Processor seconds and seconds of one case: the best of three passes."""
    chunks = as_chunks(StreamedRows(stack(case, folder)), case.operator, batch_size=None)
    weights = np.random.default_rng(0).standard_normal((1, chunks.operator.n_weights))
    block = make_block(chunks.operator, weights)
    chunks.sum(statistics, [block])
    best = []
    for _ in range(3):
        before, start = used(client), time.perf_counter()
        chunks.sum(statistics, [block])
        best.append((used(client) - before, time.perf_counter() - start))
    return dict(zip(("processor", "seconds"), np.min(best, axis=0).tolist(), strict=True))


def run(case):
    """What is expected of a case, and then what it takes on a cluster of so many processes."""
    said = {"family": repr(case.family), "shape": case.shape, "rows": case.rows}
    said |= {"workers": case.workers, "chunks": case.chunks, **rounded(predicted(case))}
    print(json.dumps(said), flush=True)
    size = {"n_workers": case.workers, "threads_per_worker": 1, "dashboard_address": None}
    with (
        dask.config.set(MALLOC),
        LocalCluster(**size) as cluster,
        Client(cluster) as client,
        tempfile.TemporaryDirectory() as folder,
    ):
        found = rounded(measure(case, client, os.path.join(folder, "rows")))
    print(json.dumps(found), flush=True)
    return said | found


def rounded(values):
    return {name: round(value, 4) for name, value in values.items()}


def main():
    """Run everything, or the checks alone, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=Path(__file__).with_suffix(".json"), type=Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    rows = [run(case) for case in (CHECKS if given.check else CASES)]
    found = {"runs": rows, "load_average": round(os.getloadavg()[0], 1)}
    found |= {"processors": os.cpu_count(), "machine": platform.machine()}
    known = json.loads(given.out.read_text()) if given.out.exists() else {}
    known = known | ({"checks": found} if given.check else found)
    given.out.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
