"""Planted components in rows with gaps: what a fit explains, beside the planted component itself.

Rows are ``signal + noise``; some values are then hidden. Codes come from what is left; the energy
that reconstructions explain is over all values, hidden or not, and divided by what the planted
components explain with codes from the same gaps. 1 is as good as to know the truth. ``largest`` is
the energy of the largest reconstruction over that of the largest row: nothing must explode.

``passes`` compares processor seconds of one pass (matches, sums and update) over rows with 30 %
gaps and over the same rows without, best of several, for one component and for blocks of 3 and 20
in one pose. Every row with gaps has Gram matrices of its own: K (K + 1) / 2 correlations of its
mask for each transform, where K correlations of the row are enough without gaps. ``masks`` are the
seconds of these correlations alone.

Run: python benchmarks/bench_gaps.py [--seeds 3] [--weights 0.02 0.1] [--only NAME ..]
     python benchmarks/bench_gaps.py --passes [NAME ..]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path

import numpy as np

from gtpca import GTPCA, Compose, Reflection, Rotation, Shift, TimeWarp
from gtpca.data.chunks import as_chunks
from gtpca.fitting.fit import Fit
from gtpca.fitting.fitted import FittedComponents
from gtpca.model import gaps
from gtpca.model.matching import make_block, statistics, update
from gtpca.model.model import Model
from gtpca.solvers.als import UPDATE_STEPS
from gtpca.solvers.base import SolverResult

HERE = Path(__file__).parent
N_ROWS = 300
FAMILIES = {
    "valid": (Shift(24), (64,), 1),
    "partial": (Shift(24, boundary="partial"), (64,), 1),
    "circular": (Shift(boundary="circular"), (64,), 1),
    "crop": (Shift(80), (64,), 1),
    "rotation": (Rotation(8), (12, 12), 1),
    "compose": (Compose(Shift(24), Reflection()), (64,), 1),
    "compose-rotation": (Compose(Shift((8, 8)), Rotation(8)), (12, 12), 1),
    "shared": (Shift(24), (64,), 3),
}
GAPS = [(kind, share) for kind in ("random", "block") for share in (0.1, 0.3, 0.6)] + [("end", 0.5)]
NOISES = (0.3, 1.0)


def least(share, noise):
    """What must be reached, or None."""
    if noise > 0.3:
        return 0.85 if share == 0.6 else None
    return 0.95 if share == 0.6 else 0.98


def planted(family, shape, K, noise, seed):
    """Rows (n, d) of ``K`` components in one random pose each, and their weights (K, L)."""
    rng, operator = np.random.default_rng(seed), family.bind(shape)
    W = np.linalg.qr(rng.standard_normal((operator.n_weights, K)))[0].T
    index = rng.integers(operator.n_transforms, size=N_ROWS)
    scores = rng.standard_normal((N_ROWS, K)) / 2.0 ** np.arange(K)
    lengths = np.array([np.linalg.norm(operator.apply_at(w, index), axis=1) for w in W]).T
    signal = sum((scores / lengths)[:, k, None] * operator.apply_at(W[k], index) for k in range(K))
    return signal + noise * signal.std() * rng.standard_normal(signal.shape), W


def hide(X, kind, share, seed):
    """A copy of ``X`` (n, d) with NaN: at random, in a block, or at the end of every row.

    A block that reaches the end goes on at the beginning, so that no value is hidden in all rows.
    """
    rng, (n, d) = np.random.default_rng([seed, 1]), X.shape
    place, length = np.arange(d), round(share * d)
    if kind == "random":
        hidden = rng.random(X.shape) < share
    elif kind == "block":
        hidden = (place - rng.integers(d, size=(n, 1))) % d < length
    else:
        hidden = place >= rng.integers(d - length, d + 1, size=(n, 1))
    return np.where(hidden, np.nan, X)


def as_fitted(family, shape, W):
    """An estimator with the components ``W``, as if it had been fitted."""
    shared = len(W) > 1
    value = Model(family.bind(shape), W, shared_pose=shared)
    model = GTPCA(len(W), family, missing="ignore", shared_pose=shared)
    model.fit_ = FittedComponents.of(Fit(value, np.ones(len(W)), 2.0 * len(W), [SolverResult(W)]))
    return model


def explained(X, R):
    """Share of the energy of ``X`` that ``R`` explains, both (n, d)."""
    return 1 - np.sum((X - R) ** 2) / np.sum(X**2)


def run(name, kind, share, noise, seed):
    """One case: the explained share of the fit, that of the truth, their ratio, and more."""
    family, shape, K = FAMILIES[name]
    X, W = planted(family, shape, K, noise, seed)
    Y = hide(X, kind, share, seed).reshape(-1, *shape)
    model = GTPCA(K, family, shared_pose=K > 1, missing="ignore", random_state=seed)
    start = time.process_time()
    model.fit(Y)
    seconds = time.process_time() - start
    rebuilt, true = (
        m.reconstruct(Y).reshape(X.shape) for m in (model, as_fitted(family, shape, W))
    )
    sizes = [np.sum(rows**2, axis=1).max() for rows in (rebuilt, X)]
    shares = explained(X, rebuilt), explained(X, true)
    return {
        "explained": shares[0],
        "truth": shares[1],
        "ratio": shares[0] / shares[1],
        "largest": sizes[0] / sizes[1],
        "seconds": seconds,
    }


PASSES = {
    "series": (Shift(64), (256,), 8000),
    "crops": (Shift(512), (256,), 8000),
    "partial": (Shift(64, boundary="partial"), (256,), 8000),
    "circular": (Shift(boundary="circular"), (256,), 8000),
    "images": (Shift((28, 28)), (56, 56), 1000),
    "rotation": (Rotation(20), (28, 28), 8000),
    "warp": (TimeWarp(), (128,), 20000),
    "compose": (Compose(Shift((20, 20)), Rotation(10)), (28, 28), 1000),
}


def seconds_of_a_pass(X, operator, W, repeats):
    """Processor seconds of a pass over float32 rows that have been prepared, the best of some."""
    chunks, times = as_chunks(X, operator), []
    for _ in range(repeats + 1):
        start = time.process_time()
        stats = chunks.sum(statistics, [make_block(operator, W, np.float32)])
        update(operator, stats, W[None], UPDATE_STEPS)
        times.append(time.process_time() - start)
    return min(times[1:])


def seconds_of_masks(X, operator, W, repeats):
    """Processor seconds of the correlations of all masks with the products of all pairs."""
    first, second = np.tril_indices(len(W))
    V, P = W[first] * W[second], operator.prepare_mask(np.isnan(X).astype(X.dtype))
    parts = gaps.pieces(len(X), operator, make_block(operator, W, X.dtype), X.dtype)
    times = []
    for _ in range(repeats):
        start = time.process_time()
        for part in parts:
            operator.correlate(P[part], V)
        times.append(time.process_time() - start)
    return min(times)


def passes(only, repeats=3):
    """Seconds of a pass without and with gaps, and of the masks, for blocks of 1, 3 and 20."""
    found = {}
    for name in only or PASSES:
        family, shape, n = PASSES[name]
        rng, operator = np.random.default_rng(0), family.bind(shape)
        X = rng.standard_normal((n, operator.n_features)).astype(np.float32)
        Y = np.where(rng.random(X.shape) < 0.3, np.float32(np.nan), X)
        for K in (1, 3, 20):
            few = slice(n if K < 20 else n // 8)
            W = np.linalg.qr(rng.standard_normal((operator.n_weights, K)))[0].T
            plain, gappy = (seconds_of_a_pass(Z[few], operator, W, repeats) for Z in (X, Y))
            masks = seconds_of_masks(Y[few], operator, W, repeats)
            seconds = {"complete": plain, "gaps": gappy, "masks": masks, "ratio": gappy / plain}
            found[f"{name}, {K}"] = {"rows": len(X[few]), **seconds}
            print(name, K, *(f"{key} {value:.4f}" for key, value in seconds.items()), flush=True)
    return found


def cases(only, seeds):
    """All cases, as arguments of :func:`run`."""
    for name in only:
        for kind, share in GAPS:
            for noise in NOISES:
                yield from ((name, kind, share, noise, seed) for seed in range(seeds))


def table(rows):
    """The worst ratio over families and seeds for each kind of gap, share and noise."""
    lines = [
        "| gaps | share | noise | wanted | worst ratio | where | largest row |",
        "|" + "---|" * 7,
    ]
    for kind, share in GAPS:
        for noise in NOISES:
            mine = [r for r in rows if (r["kind"], r["share"], r["noise"]) == (kind, share, noise)]
            worst = min(mine, key=lambda r: r["ratio"])
            wanted = least(share, noise) or "-"
            where = f"{worst['family']}, seed {worst['seed']}"
            largest = max(r["largest"] for r in mine)
            lines.append(
                f"| {kind} | {share} | {noise} | {wanted} | {worst['ratio']:.3f} | {where} | "
                f"{largest:.2f} |"
            )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--weights", type=float, nargs="+", default=[gaps.HIDDEN_WEIGHT])
    parser.add_argument("--only", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    parser.add_argument("--out", type=Path, default=HERE / "bench_gaps.json")
    parser.add_argument("--passes", nargs="*", help="only the seconds of a pass, of all or some")
    options = parser.parse_args()
    old = json.loads(options.out.read_text()) if options.out.exists() else {"weights": {}}
    found = old | {"machine": {"type": platform.machine(), "cores": os.cpu_count()}}
    if options.passes is not None:
        found["passes"] = found.get("passes", {}) | passes(options.passes)
    for weight in options.weights if options.passes is None else ():
        gaps.HIDDEN_WEIGHT = weight
        names = ("family", "kind", "share", "noise", "seed")
        rows = [
            dict(zip(names, case, strict=True)) | run(*case)
            for case in cases(options.only, options.seeds)
        ]
        found["weights"][str(weight)] = rows
        print(f"weight {weight} of what is hidden\n\n{table(rows)}\n", flush=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
