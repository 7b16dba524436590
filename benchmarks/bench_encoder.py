"""One window at a time: the encoder, ``transform`` of one row, and streams of events.

encoder  one window of 256 points, Shift(64, boundary="partial"), beside ``PCA.transform`` of
         scikit-learn of one row: medians and 99th percentiles of 2,000 calls, in turns of 100
families the encoder of other families, k = 1, beside the same
stream   a recording of 100,000 points at 1 kHz, played to ``EventGTPCA.stream`` in pieces of 1, 100
         and 1,000 points: processor time per point and template

Run: python benchmarks/bench_encoder.py [encoder families stream] [--out result.json]
Times are those of the processor, so that other processes hardly matter.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from gtpca import ALS, GTPCA, Compose, EventGTPCA, Reflection, Rotation, Scaling, Shift

HERE = Path(__file__).parent
CALLS, TURN = 2000, 100
QUICK = ALS(n_init=1, max_iter=3)
FAMILIES = {
    "Shift(64) on 256": (Shift(64), (256,)),
    "Shift(512) on 256": (Shift(512), (256,)),
    "circular shifts of 427": (Shift(boundary="circular"), (427,)),
    "partial Shift(64) on 256 x 8": (Shift(64, boundary="partial", axes=0), (256, 8)),
    "Shift(28, 28) on 56 x 56": (Shift((28, 28)), (56, 56)),
    "Rotation(20) of 28 x 28": (Rotation(20), (28, 28)),
    "Scaling of 256": (Scaling(np.linspace(0.7, 1.4, 20)), (256,)),
    "Shift(64), Reflection on 256": (Compose(Shift(64), Reflection()), (256,)),
}


def in_turns(calls):
    """Processor microseconds of every call, by name: 2,000 of each, in turns of 100."""
    times = {name: [] for name in calls}
    for _ in range(CALLS // TURN):
        for name, call in calls.items():
            for _ in range(TURN):
                start = time.thread_time()
                call()
                times[name].append(1e6 * (time.thread_time() - start))
    return times


def told(times):
    """Medians, 99th percentiles and their ratios to those of PCA."""
    medians = {name: float(np.median(each)) for name, each in times.items()}
    return {
        "median_us": medians,
        "p99_us": {name: float(np.quantile(each, 0.99)) for name, each in times.items()},
        "over_pca": {name: median / medians["pca"] for name, median in medians.items()},
        "p99_over_median": {
            name: float(np.quantile(each, 0.99)) / medians[name] for name, each in times.items()
        },
    }


def one_window(k, family, shape, seed=0):
    X = np.random.default_rng(seed).standard_normal((200, *shape))
    model = GTPCA(k, family, solver=QUICK, random_state=0).fit(X)
    flat = X.reshape(len(X), -1)
    pca, encoder, x, row = PCA(k).fit(flat), model.encoder(), X[0], flat[:1]
    calls = {
        "pca": lambda: pca.transform(row),
        "encoder": lambda: encoder(x),
        "transform": lambda: model.transform(row),
    }
    found = told(in_turns(calls))
    scores = np.array([encoder(x)[0] for x in X])
    codes = model.encode(X)
    found["largest_difference"] = float(np.abs(scores - codes.scores).max())
    found["other_transforms"] = int(np.sum(encoder.encode(X).index != codes.index))
    return found


def encoder():
    family = Shift(64, boundary="partial")
    return {f"k={k}": one_window(k, family, (256,)) for k in (1, 3)}


def families():
    return {name: one_window(1, *case) for name, case in FAMILIES.items()}


def beats(n_points, seed=0):
    """Beats of 600 points about every 850, of which every seventh is another, and noise."""
    rng, t = np.random.default_rng(seed), np.arange(600)
    wave = [(150, 25, 0.2), (240, 8, -0.2), (252, 8, 1.2), (264, 8, -0.3), (420, 40, 0.35)]
    first = sum(a * np.exp(-(((t - c) / w) ** 2)) for c, w, a in wave)
    second = 0.9 * np.exp(-(((t - 260) / 40) ** 2)) - 0.5 * np.exp(-(((t - 400) / 60) ** 2))
    y, start, number = 0.08 * rng.standard_normal(n_points), 100, 0
    while start + 600 < n_points:
        y[start : start + 600] += (second if number % 7 == 6 else first) * rng.uniform(0.9, 1.1)
        start, number = start + int(rng.normal(850, 60)), number + 1
    return y


def played(model, y, size):
    """Processor seconds of a recording that is played in pieces, and its events."""
    stream, parts = model.stream(y), []
    start = time.process_time()
    for at in range(0, len(y), size):
        parts.append(stream(y[at : at + size]))
    parts.append(stream.finish())
    return time.process_time() - start, np.concatenate([part.start for part in parts])


def stream():
    y = beats(100_000)
    model = EventGTPCA(2, Shift(600), rate=1000.0, counts=False, random_state=0).fit(y)
    events, found = model.encode(y), {"n_events": 0, "delay": model.stream(y).delay}
    for size in (1, 100, 1000):
        seconds, starts = min((played(model, y, size) for _ in range(3)), key=lambda each: each[0])
        found[f"us_per_point_and_template, pieces of {size}"] = 1e6 * seconds / len(y) / 2
        found["same_events"] = bool(np.array_equal(starts, events.start))
        found["n_events"] = len(starts)
    return found


PARTS = {"encoder": encoder, "families": families, "stream": stream}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help="encoder, families, stream")
    parser.add_argument("--out", type=Path, default=HERE / "bench_encoder.json")
    args = parser.parse_args()
    found = json.loads(args.out.read_text()) if args.out.exists() else {}
    for name in args.parts:
        found[name] = PARTS[name]()
        print(json.dumps({name: found[name]}, indent=1))
    found["machine"] = {"python": platform.python_version(), "numpy": np.__version__}
    args.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
