"""One training step of the GT-PC layer against the obvious formulations in torch.

Series of 256 points, window of 512: the bank of all transformed weights times the batch, by
autograd. Images of 56 x 56, window of 28 x 28: a direct convolution. Batch of 32, the same Adam and
the same clipping for all; times are the best of many steps, taken in turns.

Run: python benchmarks/bench_layer.py [--out result.json]
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path

import torch

from gtpca import Shift
from gtpca.nn import GTPCLayer
from gtpca.nn.training import Schedule, Trainer, clip

HERE = Path(__file__).parent
ROUNDS, STEPS = 30, 20


class Plain:
    """A training step by autograd through all products (n, m)."""

    def __init__(self, w, products):
        self.w, self.products = w.clone().requires_grad_(), products
        self.optimizer = torch.optim.Adam([self.w], lr=1e-3, fused=True)

    def step(self, x):
        loss = -self.products(x, self.w).abs().max(dim=1).values.square().mean()
        self.w.grad = None
        loss.backward()
        clip([self.w.grad], 1.0)
        self.optimizer.step()


def bank(x, w):
    """All crops of ``w`` (512,), unit norm, times the batch (n, 256)."""
    crops = w.unfold(0, x.shape[1], 1)
    return x @ crops.T / crops.norm(dim=1)


def convolution(x, w):
    """All placements of ``w`` (28, 28) in the batch (n, 56, 56)."""
    return torch.conv2d(x[:, None], w[None, None]).flatten(1) / w.norm()


CASES = {
    "series": (Shift(512), (256,), bank),
    "images": (Shift((28, 28)), (56, 56), convolution),
}


def best_times(steps, x):
    """Seconds per step of each, best of many, in turns."""
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(ROUNDS):
        for name, step in steps.items():
            for _ in range(STEPS):
                start = time.perf_counter()
                step(x)
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def run(name):
    family, shape, products = CASES[name]
    x = torch.randn(32, *shape, generator=torch.Generator().manual_seed(0))
    layer = GTPCLayer(family, shape, random_state=0)
    plain = Plain(layer.weight.detach(), products)
    trainer, rows = Trainer(layer, Schedule()), x.reshape(32, -1)
    times = best_times({"layer": lambda x: trainer.step(rows), "plain": plain.step}, x)
    ratio = times["plain"] / times["layer"]
    return {**{f"{k}_ms": 1e3 * v for k, v in times.items()}, "plain_over_layer": ratio}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=HERE / "bench_layer.json", type=Path)
    args = parser.parse_args()
    result: dict = {}
    for threads in (1, torch.get_num_threads()):
        torch.set_num_threads(threads)
        result[f"threads_{threads}"] = {name: run(name) for name in CASES}
    result["torch"] = torch.__version__
    result["machine"] = {"type": platform.machine(), "threads": torch.get_num_threads()}
    args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
