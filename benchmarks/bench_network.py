"""The network of the paper on oscillations, window 512 on 256 points, by the paper's schedule.

Held-out ResMSE at k = 1, 2, 3 of three seeds: 1,000 training and 1,000 test series, 5 epochs of 500
batches of 32 for each component, Adam with its default rate. Beside it the same network started
at the solution of ALS, and ALS itself.

Run: python benchmarks/bench_network.py [--out result.json]
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path

import numpy as np
import torch

from gtpca import GTPCA, Shift
from gtpca.datasets import make_oscillations
from gtpca.nn import GTPCNetwork

HERE = Path(__file__).parent
K, SEEDS = 3, range(3)
SCHEDULE = {"epochs": 5, "steps_per_epoch": 500, "batch_size": 32, "lr": 1e-3}
PUBLISHED = [0.635, 0.464, 0.396]  # Heinrichs 2024, table of the oscillations, weight length 512


def run(seed):
    """ResMSE (k,) of the network, of ALS, and of the network started there; seconds of training."""
    X, Y = (make_oscillations(1000, 256, random_state=2 * seed + s) for s in range(2))
    X, Y = X.astype(np.float32), Y.astype(np.float32)
    start = time.perf_counter()
    net = GTPCNetwork(K, Shift(512), (256,), random_state=seed)
    net.fit(X, **SCHEDULE, random_state=seed)
    seconds = time.perf_counter() - start
    als = GTPCA(K, Shift(512), random_state=seed).fit(X)
    warm = GTPCNetwork.from_estimator(als, dtype=torch.float32)
    warm.fit(X, **SCHEDULE, random_state=seed)
    models = {"network": net.to_estimator(), "als": als, "network_from_als": warm.to_estimator()}
    found = {name: model.resmse(Y).tolist() for name, model in models.items()}
    training = {f"{name}_training": model.resmse(X).tolist() for name, model in models.items()}
    return {**found, **training, "seconds": seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=HERE / "bench_network.json", type=Path)
    args = parser.parse_args()
    runs = [run(seed) for seed in SEEDS]
    means = {name: np.mean([r[name] for r in runs], axis=0).tolist() for name in runs[0]}
    result = {"mean": means, "published": PUBLISHED, "runs": runs, "torch": torch.__version__}
    result["machine"] = {"type": platform.machine(), "threads": torch.get_num_threads()}
    args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
