"""A ridge for windows that rows see only in part: what it costs, and what components look like.

For settings of the paper in which rows are crops, and each ridge: held-out ResMSE for every number
of components, and how much of the energy of components 1 to 3 lies in the middle half of the window
(all of it, if each component of spikes is one pattern), over the repetitions of the paper's
experiments. Printed are the changes of the mean in percent, beside no ridge, with standard errors
of the differences, and the least share of all repetitions. ``--codes`` also takes codes with the
ridge, in the fit and after it. What is in the file already, of other settings, stays.

Run: python benchmarks/bench_ridge.py [--only spikes-outlier ..] [--ridge auto 0.05 ..]
     [--repetitions 10] [--codes] [--out result.json]
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import numpy as np

from gtpca import GTPCA
from gtpca.commands.options import auto_or_number
from gtpca.model.matching import make_block
from gtpca.model.model import Model
from gtpca.solvers.base import Problem
from gtpca_paper.data import make_data, seed_of
from gtpca_paper.spec import find_experiment, find_setting

HERE = Path(__file__).parent
SETTINGS = {
    "spikes-classification": ("spikes", "i", "classification"),
    "spikes-outlier": ("spikes", "i", "outlier"),
    "oscillations": ("oscillations", "512", "projection"),
    "handwriting": ("handwriting", "700", "projection"),
}
RIDGES = ("auto", 0.01, 0.05, 0.1)


def middle_share(components):
    """Share of the energy of each component (k, L, ..) in the middle half of its window, (k,)."""
    L = components.shape[1]
    energy = (components.reshape(len(components), L, -1) ** 2).sum(axis=2)
    return energy[:, L // 4 : L - L // 4].sum(axis=1) / energy.sum(axis=1)


def with_ridge_in_codes(ridge):
    """Patches under which codes are taken with the ridge, in the fit and after it."""

    def blocks(model, dtype=np.float64, count=None):
        pairs = [w[None] for w in model.weights[:count]]
        return [make_block(model.operator, W, dtype, model.polarity, ridge) for W in pairs]

    def block(problem, W):
        return problem.blocks_for_fit(W[None])[0]

    return mock.patch.object(Model, "blocks", blocks), mock.patch.object(Problem, "block", block)


def run(name, ridge, repetition):
    """Held-out and training ResMSE for k = 1, 2, .., shares in the middle half, and ridges."""
    experiment, setting, task = SETTINGS[name]
    data = make_data(experiment, setting, task=task, repetition=repetition)
    k = find_experiment(experiment).largest[task]
    seed = seed_of(experiment, setting, task, repetition, "ridge")
    family = find_setting(experiment, setting).family
    model = GTPCA(k, family, ridge=ridge, random_state=seed)
    model.fit(data.fit.astype(np.float32))
    test = data.test[data.target].astype(np.float32)
    return {
        "resmse": model.resmse(test).tolist(),
        "train": model.resmse(data.fit.astype(np.float32)).tolist(),
        "middle": middle_share(model.components_)[:3].tolist(),
        "ridge": model.ridge_.tolist(),
    }


def run_all(name, ridge, repetitions, codes):
    """All repetitions of a setting with one ridge."""
    with ExitStack() as stack:
        for patch in with_ridge_in_codes(ridge) if codes else ():
            stack.enter_context(patch)
        return [run(name, ridge, r) for r in range(repetitions)]


def report(name, found):
    """One line for each ridge: the change of the error beside no ridge, and the least share."""
    plain = np.array([one["resmse"] for one in found["0"]])
    for ridge, runs in found.items():
        left = np.array([one["resmse"] for one in runs])
        change = 100 * (left.mean(axis=0) / plain.mean(axis=0) - 1)
        error = 100 * (left - plain).std(axis=0, ddof=1) / len(runs) ** 0.5 / plain.mean(axis=0)
        least = np.array([one["middle"] for one in runs]).min(axis=0)
        shown = " ".join(f"{c:+.2f}({e:.2f})" for c, e in zip(change, error, strict=True))
        print(f"{name} {ridge}: middle {least.round(2)}, % {shown}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--ridge", nargs="+", type=auto_or_number, default=RIDGES)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--codes", action="store_true")
    parser.add_argument("--out", type=Path, default=HERE / "bench_ridge.json")
    args = parser.parse_args()
    ridges = [0, *args.ridge]
    results = json.loads(args.out.read_text()) if args.out.exists() else {}
    for name in args.only:
        found = {str(r): run_all(name, r, args.repetitions, args.codes) for r in ridges}
        results[f"{name}, codes with the ridge" if args.codes else name] = found
        report(name, found)
        args.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
