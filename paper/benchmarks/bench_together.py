"""Networks of several repetitions trained as one, against one after the other.

Processor seconds of both ways in turn, the best of several rounds, on the shapes of the paper;
networks of GT-PCA with one component and their looks at all rows, autoencoders of five codes.

Run: python paper/benchmarks/bench_together.py [--out result.json] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import torch

from gtpca import Rotation, Shift
from gtpca.families import Identity
from gtpca.nn import GTPCNetwork
from gtpca_paper.baselines import coders
from gtpca_paper.baselines.autoencoders import VAE, Autoencoder
from gtpca_paper.baselines.layers import train_together
from gtpca_paper.run.provenance import provenance

HERE = Path(__file__).parent
STEPS = 200
NETWORKS = {  # family, shape of a sample, samples
    "oscillations 512": (Shift(512), (256,), 1000),
    "oscillations 256": (Identity(), (256,), 1000),
    "spikes i": (Shift(256), (128,), 1000),
    "spikes iii": (Shift(128), (256,), 1000),
    "handwriting 700": (Shift(1400, axes=0), (700, 2), 16),
    "handwriting 1400": (Identity(), (1400, 2), 16),
    "mnist i": (Shift((28, 28)), (16, 16), 2000),
    "mnist iii": (Shift((28, 28)), (56, 56), 500),
    "mnist iv": (Rotation(20, domain="all"), (28, 28), 2000),
}
AUTOENCODERS = {  # shape of a sample, channels
    "spikes i": ((128,), False),
    "oscillations": ((256,), False),
    "handwriting 700": ((700, 2), True),
}


def networks(family, shape, n, count):
    """Both ways to train networks of GT-PCA."""
    rng = np.random.default_rng(0)
    samples = [rng.standard_normal((n, *shape)).astype(np.float32) for _ in range(count)]
    schedule = {"epochs": 1, "steps_per_epoch": STEPS}

    def make():
        return [GTPCNetwork(1, family, shape, random_state=g) for g in range(count)]

    def alone():
        for g, (net, X) in enumerate(zip(make(), samples, strict=True)):
            net.fit(X, **schedule, random_state=g)

    def together():
        train_together(make(), samples, seeds=range(count), **schedule)

    return alone, together


def autoencoders(kind, shape, channels, count):
    """Both ways to train autoencoders."""
    X = np.random.default_rng(0).standard_normal((200, *shape)).astype(np.float32)
    how = {"channels": channels, "epochs": 1, "steps_per_epoch": STEPS // 8}

    def make():
        return [kind(5, **how, random_state=g) for g in range(count)]

    def alone():
        for model in make():
            model.fit(X)

    def together():
        coders.fit_together(make(), [X] * count)

    return alone, together


def measure(ways, rounds):
    """Best processor seconds of each way, in turn."""
    for way in ways:
        way()
    best = [np.inf] * len(ways)
    for _ in range(rounds):
        for j, way in enumerate(ways):
            start = time.process_time()
            way()
            best[j] = min(best[j], time.process_time() - start)
    alone, together = best
    return {"alone": alone, "together": together, "ratio": alone / together}


def main():
    """Measure all cases and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=HERE / "bench_together.json", type=Path)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--counts", default=[3, 10], type=int, nargs="+")
    args = parser.parse_args()
    torch.set_num_threads(1)
    result = {"steps": STEPS, "made": provenance(), "load": [os.getloadavg()[0]], "cases": {}}
    for count in args.counts:
        for name, case in NETWORKS.items():
            found = measure(networks(*case, count), args.rounds)
            result["cases"][f"network, {name}, {count} together"] = found
        for kind in (Autoencoder, VAE):
            for name, case in AUTOENCODERS.items():
                found = measure(autoencoders(kind, *case, count), args.rounds)
                result["cases"][f"{kind.__name__.lower()}, {name}, {count} together"] = found
    result["load"].append(os.getloadavg()[0])
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    for name, found in result["cases"].items():
        print(f"{name}: {found['ratio']:.1f} times as fast")


if __name__ == "__main__":
    main()
