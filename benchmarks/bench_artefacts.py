"""Bad rows and bad values: how well two planted patterns are found beside them.

300 rows with two patterns, smoothed white noise (a Gaussian of 3 points) of norm 1, scores of
standard deviation 3 and 2, and white noise of standard deviation 0.1.

- ``separate``: patterns of 32 points, each at a place of its own in 128 points; ``Shift(32)``
- ``shared``: orthogonal patterns of 64 points that are rolled together; one pose

Bad *rows* are white noise of 5 times the standard deviation of all values; bad *values* have noise
of 10 times that added, anywhere. Shares of 1, 5 and 20 %. The likeness of a component and a pattern
is their largest correlation over all shifts, in one pose that of both at the shift which is best
for the first; which component is which pattern is what fits best. 20 draws, seeds 0 to 19, and
fits by ``outliers=None`` and by the parameter that names the artefact; ``both`` beside it. For
fits without artefacts also processor seconds, alternating, the sum of the shorter of two of
every draw.

``loud``: rows without a pattern but noise of 5 times the deviation, 2, 3 and 10 % of 300, in one
pose, 30 draws (seeds 1000 to 1029, none of which was seen when limits were chosen). A fit explains
``e`` of the energy of the *other* rows; the best known is the most that it, or one that began at
the planted patterns, explains of them. Counted are fits less than 1 % below.

Run: python benchmarks/bench_artefacts.py [--loud]. Figures that are known are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter1d

from gtpca import ALS, GTPCA, Shift
from gtpca.data.chunks import as_chunks
from gtpca.solvers.base import Problem

PLACE = Path(__file__).with_suffix(".json")
DRAWS, LOUD_DRAWS, N_ROWS = range(20), range(1000, 1030), 300
SHARES, LOUD_SHARES = (0.01, 0.05, 0.2), (0.02, 0.03, 0.1)
BARS = (0.97, 0.95, 0.9)
TURNS = 2


def smooth(rng, size):
    """White noise, smoothed, less its mean, of norm 1."""
    w = gaussian_filter1d(rng.standard_normal(size), 3, mode="wrap")
    w = w - w.mean()
    return w / np.linalg.norm(w)


def planted(seed, shared):
    """Rows (300, d), the two patterns, the family, and the generator for what follows."""
    rng = np.random.default_rng(seed)
    if shared:
        W = np.array([smooth(rng, 64) for _ in range(2)])
        W[1] -= (W[1] @ W[0]) * W[0]
        W[1] /= np.linalg.norm(W[1])
        family = Shift(boundary="circular")
    else:
        W = np.array([smooth(rng, 32) * np.hanning(32) for _ in range(2)])
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        family = Shift(32)
    scores = rng.standard_normal((N_ROWS, 2)) * (3, 2)
    if shared:
        X = np.array(
            [
                np.roll(z @ W, step)
                for z, step in zip(scores, rng.integers(64, size=N_ROWS), strict=True)
            ]
        )
    else:
        X = np.zeros((N_ROWS, 128))
        for row, z in zip(X, scores, strict=True):
            for k, start in enumerate(rng.integers(97, size=2)):
                row[start : start + 32] += z[k] * W[k]
    return X + 0.1 * rng.standard_normal(X.shape), W, family, rng


def spoilt(X, kind, share, rng):
    """Rows with artefacts, and which rows are bad, (n,)."""
    X, deviation, bad = X.copy(), X.std(), np.zeros(len(X), dtype=bool)
    if kind == "rows":
        bad[rng.permutation(len(X))[: round(share * len(X))]] = True
        X[bad] = 5 * deviation * rng.standard_normal((bad.sum(), X.shape[1]))
    else:
        which = rng.random(X.shape) < share
        X[which] += 10 * deviation * rng.standard_normal(which.sum())
    return X, bad


def likenesses(W, V, shared):
    """Of the first and the second pattern."""
    size = len(W[0]) if shared else 2 * len(W[0])
    spectra = [np.fft.rfft(rows, size) for rows in (W, V)]
    products = np.abs(np.fft.irfft(spectra[0][:, None] * spectra[1][None].conj(), size))
    if shared:
        found = [
            products[[0, 1], order, products[0, order[0]].argmax()] for order in ([0, 1], [1, 0])
        ]
    else:
        found = [products[[0, 1], order].max(axis=1) for order in ([0, 1], [1, 0])]
    return max(found, key=min).round(4).tolist()


def fitted(X, family, shared, outliers):
    """A fit, and its processor seconds."""
    begun = time.process_time()
    model = GTPCA(2, family, shared_pose=shared, outliers=outliers, random_state=0).fit(X)
    return model, time.process_time() - begun


def case(shared, kind, share):
    """Likenesses of all draws by every way of fitting."""
    ways = (None, "rows", "values", "both") if share == 0 else (None, kind, "both")
    found, seconds = {str(way): [] for way in ways}, dict.fromkeys(map(str, ways), 0.0)
    for seed in DRAWS:
        X, W, family, rng = planted(seed, shared)
        X = X if share == 0 else spoilt(X, kind, share, rng)[0]
        best, models = dict.fromkeys(ways, np.inf), {}
        for _ in range(TURNS if share == 0 else 1):
            for way in ways:
                models[way], took = fitted(X, family, shared, way)
                best[way] = min(best[way], took)
        for way in ways:
            found[str(way)].append(likenesses(W, models[way].components_.reshape(2, -1), shared))
            seconds[str(way)] += best[way]
    return {
        way: summary(np.array(draws)) | {"seconds": round(seconds[way], 2)}
        for way, draws in found.items()
    }


def summary(draws):
    """Means, in how many draws both are at least as large as some bars, and all draws."""
    least = draws.min(axis=1)
    return {
        "mean": draws.mean(axis=0).round(4).tolist(),
        "at_least": {str(bar): int((least >= bar).sum()) for bar in BARS},
        "draws": draws.tolist(),
    }


def explained(W, X, family):
    """Share of the energy of rows that a block in one pose explains."""
    problem = Problem(as_chunks(X, family.bind(X.shape[1:])))
    return 1 - problem.left(W) / np.sum(X**2)


def loud(share):
    """Explained shares of the good rows: the fit's, and the best known."""
    rows = []
    for seed in LOUD_DRAWS:
        X, W, family, rng = planted(seed, shared=True)
        Y, bad = spoilt(X, "rows", share, rng)
        good = Y[~bad]
        problem = Problem(as_chunks(good, family.bind((64,))))
        known = [explained(ALS().polish(problem, W, 50).weights, good, family)]
        one = {}
        for way in (None, "rows"):
            V = fitted(Y, family, True, way)[0].components_.reshape(2, -1)
            one[str(way)] = round(explained(V, good, family), 5)
        rows.append(one | {"best": round(max(*known, *one.values()), 5)})
    near = {way: int(sum(r[way] >= 0.99 * r["best"] for r in rows)) for way in ("None", "rows")}
    return {"near": near, "of": len(rows), "draws": rows}


def main():
    """Run what is not known yet, and write the JSON after every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loud", action="store_true")
    given = parser.parse_args()
    known = json.loads(PLACE.read_text("utf-8")) if PLACE.exists() else {}
    cases = [("rows", 0)] + [(kind, share) for kind in ("rows", "values") for share in SHARES]
    tasks = {
        f"{'shared' if shared else 'separate'}, {f'{share:g} of {kind}' if share else 'none'}": (
            case,
            (shared, kind, share),
        )
        for shared in (False, True)
        for kind, share in cases
    }
    if given.loud:
        tasks = {f"loud, {share:g}": (loud, (share,)) for share in LOUD_SHARES}
    for name, (fn, arguments) in tasks.items():
        if name not in known:
            known[name] = fn(*arguments) | {"load": round(os.getloadavg()[0], 1)}
            PLACE.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
        short = {
            k: (v if not isinstance(v, dict) else {a: b for a, b in v.items() if a != "draws"})
            for k, v in known[name].items()
            if k != "draws"
        }
        print(name, short, flush=True)


if __name__ == "__main__":
    main()
