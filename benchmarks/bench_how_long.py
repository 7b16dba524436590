"""How long a fit of many rows takes beside one of few.

Starts and moves see a few hundred rows, and only passes see all of them: a fit of ``m n`` rows
should take at most ``m`` times as long as one of ``n`` rows. ``share`` is its time over that bound,
for 4,000 and 16,000 rows (1,000 and 4,000 images). Rows are two smooth patterns of each family at
random poses, and white noise of a fifth of their energy; processor seconds of fits of two
components. Seeds 10 to 14; on seeds 0 to 4 another rule, a straight line through fits of 2,000 and
4,000 rows, had foretold between -2.6 and 3.1 times the time of 16,000.

Run: python benchmarks/bench_how_long.py [--out result.json]. What is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter

from gtpca import GTPCA, Compose, ProbabilisticGTPCA, Rotation, Scaling, Shift, TimeWarp

HERE = Path(__file__).parent
SEEDS = range(10, 15)
SIZES = (4000, 16_000)
CASES = {  # estimator, family, shape of a sample, rows as a share of SIZES
    "shifts": (GTPCA, Shift(64, boundary="partial"), (256,), 1),
    "shifts, one pose": (GTPCA, Shift(64, boundary="partial"), (256,), 1),
    "shifts, density": (ProbabilisticGTPCA, Shift(64, boundary="partial"), (256,), 1),
    "circular shifts": (GTPCA, Shift(boundary="circular"), (128,), 1),
    "time warps": (GTPCA, TimeWarp(), (128,), 1),
    "scalings": (GTPCA, Scaling(np.geomspace(0.7, 1.4, 11)), (128,), 1),
    "rotations": (GTPCA, Rotation(24), (28, 28), 1 / 4),
    "rotations, refined": (GTPCA, Rotation(24, refine_poses=True), (28, 28), 1 / 4),
    "shifts of images": (GTPCA, Shift((20, 20)), (32, 32), 1 / 4),
    "shifts and rotations": (GTPCA, Compose(Shift((20, 20)), Rotation(8)), (24, 24), 1 / 4),
}


def planted(family, shape, n, seed, noise=0.2):
    """Rows (n, \\*shape): two patterns, each at a pose of its own, and noise."""
    rng = np.random.default_rng(seed)
    operator, rows = family.bind(shape), 0.0
    for size in (1.0, 0.5):
        grid = rng.standard_normal(operator.weight_shape)
        moved = operator.apply(gaussian_filter(grid, 2, mode="constant").ravel())
        moved /= np.linalg.norm(moved, axis=1).max()
        scores = size * rng.uniform(0.5, 1.5, (n, 1))
        rows = rows + scores * moved[rng.integers(len(moved), size=n)]
    level = np.sqrt(noise * np.mean(rows**2))
    return (rows + level * rng.standard_normal(rows.shape)).reshape(n, *shape)


def seconds(name, n, seed):
    """Processor seconds of a fit of two components to ``n`` rows."""
    estimator, family, shape, _ = CASES[name]
    model = estimator(2, family, random_state=seed)
    if name.endswith("one pose"):
        model.set_params(shared_pose=True)
    X = planted(family, shape, n, seed)
    begin = time.process_time()
    model.fit(X)
    return time.process_time() - begin


def run(name, seed):
    """Seconds of few and of many rows, and what each further row takes."""
    few, many = (round(n * CASES[name][-1]) for n in SIZES)
    short, long = (seconds(name, n, seed) for n in (few, many))
    return {
        "rows": [few, many],
        "seconds": [short, long],
        "share": long / (short * many / few),
        "microseconds": 1e6 * (long - short) / (many - few),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE / "bench_how_long.json")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    found = json.loads(args.out.read_text()) if args.out.exists() else {}
    for seed in SEEDS:
        for name in CASES:
            rows = found.setdefault(name, {})
            if str(seed) not in rows:
                rows[str(seed)] = run(name, seed)
                args.out.write_text(json.dumps(found, indent=1) + "\n")
                print(name, seed, json.dumps(rows[str(seed)]), flush=True)


if __name__ == "__main__":
    main()
