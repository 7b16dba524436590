"""What ``choose`` suggests for heartbeats at known places, and what a search costs.

``heartbeats``: 250 normal beats of record 100 of MIT-BIH, each at a random place of 220 points at
least ``margin`` points from the ends, as they are (with their baseline) or less the mean of each
row; windows from 16 to 160, one pose, all else by default. The share of beats whose pose is right
within 2 points, up to a constant, with the model that is suggested. Margins 20 and 60 and seeds
from 100 on; seeds below and other records were looked at while the rule was made.
``planted``: those of bench_diagnostics.py, one pattern or three in one pose, or with poses of their
own; whether the window holds 95 % of the energy of the patterns and is at most 1.6 times as long.

Every case is run with this source and with that of an older one, in turns and in processes of
their own; times are processor seconds of ``choose``. Lines of the JSON that are there are not run
again. GTPCA_DATA names the folder with the data.

Run: python benchmarks/bench_choice.py --old FOLDER/src [--only heartbeats planted] [--sets 5]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from bench_diagnostics import covered, drawn
from heartbeats import beats_at_random, found_again

from gtpca.diagnostics import choose

HERE = Path(__file__).resolve().parent
PATH = HERE / "bench_choice.json"
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}


def cases(sets, only):
    """What is run."""
    for seed in range(100, 100 + sets):
        if "heartbeats" in only:
            for margin, centred in ((60, False), (20, False), (60, True), (20, True)):
                yield {"data": "heartbeats", "margin": margin, "centred": centred, "seed": seed}
        if "planted" in only:
            for count, size in ((3, 60), (1, 24), (1, 140)):
                yield {"data": "planted", "count": count, "size": size, "seed": seed}
            yield {"data": "planted", "count": 3, "size": 60, "seed": seed, "shared": False}


def heartbeats(margin, centred, seed):
    """One search among heartbeats."""
    X, places = beats_at_random(seed, margin)
    X = X - X.mean(axis=1, keepdims=True) if centred else X
    found, seconds = timed(X, windows=(16, 160), shared_pose=True, random_state=seed)
    model = found.estimator.fit(X)
    starts = model.poses(model.encode(X))["start"].reshape(len(X), -1)[:, 0]
    return told(found, seconds) | {"right": round(float(found_again(starts, places)), 4)}


def planted(count, size, seed, shared=True):
    """One search among planted patterns."""
    X, V = drawn(np.random.default_rng(seed), size, count)
    how = {"n_folds": 2, "shared_pose": shared, "random_state": seed}
    found, seconds = timed(X, windows=(16, 256), n_components=(1, 6), **how)
    holds = covered(found.window, V)
    right = bool(holds >= 0.95 and found.window <= 1.6 * size)
    return told(found, seconds) | {"right": right}


def timed(X, **how):
    """What is suggested, and in how many processor seconds."""
    begun = time.process_time()
    found = choose(X, "shift", **how)
    return found, time.process_time() - begun


def told(found, seconds):
    """What is kept of a search."""
    says = "cannot move" in found.sentence
    kept = {"window": found.window, "components": found.n_components, "cannot_move": says}
    return kept | {"cpu_seconds": round(seconds, 3)}


def run(case, source):
    """One case in a process of its own."""
    env = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "--case", json.dumps(case)]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def run_missing(args):
    """Run what is not there, line by line."""
    kept = json.loads(PATH.read_text()) if PATH.exists() else []
    known = {json.dumps([line["case"], line["version"]]) for line in kept}
    for case in cases(args.sets, args.only):
        for version, source in (("old", args.old), ("new", HERE.parent / "src")):
            if json.dumps([case, version]) in known or source is None:
                continue
            kept.append({"case": case, "version": version, **run(case, source)})
            lines = ",\n".join(json.dumps(line) for line in kept)
            PATH.write_text(f"[\n{lines}\n]\n")
    print("\n".join(summary(kept)))


def summary(kept):
    """Right answers and the median ratio of times, by kind of data."""
    groups = {}
    for line in kept:
        name = json.dumps({k: v for k, v in line["case"].items() if k != "seed"})
        groups.setdefault(name, {}).setdefault(line["version"], []).append(line)
    for name, versions in groups.items():
        for version, lines in versions.items():
            right = [float(line["right"]) for line in lines]
            windows = [line["window"] for line in lines]
            yield (
                f"{name} {version}: {len(lines)} sets, right {np.mean(right):.3f} (least "
                f"{min(right):.3f}), windows {min(windows)} to {max(windows)}, "
                f"{np.mean([line['cpu_seconds'] for line in lines]):.1f} s"
            )
        if len(versions) == 2:
            times = [[line["cpu_seconds"] for line in versions[v]] for v in ("new", "old")]
            pairs = np.divide(*(np.array(t[: min(map(len, times))]) for t in times))
            ends = f"{pairs.min():.2f} to {pairs.max():.2f}"
            yield f"  new / old: median {np.median(pairs):.2f}, {ends}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--old", type=Path, help="src of an older version")
    parser.add_argument("--only", nargs="+", default=["heartbeats", "planted"])
    parser.add_argument("--sets", type=int, default=5)
    parser.add_argument("--case", type=json.loads, help="run this one alone")
    args = parser.parse_args()
    if args.case is None:
        run_missing(args)
        return
    warnings.simplefilter("ignore")
    how = {name: value for name, value in args.case.items() if name != "data"}
    found = {"heartbeats": heartbeats, "planted": planted}[args.case["data"]](**how)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
