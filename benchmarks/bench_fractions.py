"""Latencies between samples: what fractions of a sample cost and gain; standard errors of poses.

Spikes have a trough that is three samples wide at half its depth. Each is the same analytic
waveform, evaluated at sample times minus a latency that is any real number; nothing is interpolated
when data are made. Half of the rows are fitted, and everything is measured on the other half:

- ``residual``: what a component leaves, relative to the share of the noise;
- ``rms``: the error of the latency, up to a common offset: a component may stand anywhere in its
  window; ``se`` and ``covered``: the median standard error, and the share of rows within two of
  them;
- ``same``: the share of rows whose pose is the best of all transforms, compared one by one;
- ``pass``: the time of a pass of the fit, relative to whole samples, alternating, best of several.

Peers start from the component that whole samples give: the parabola through the largest of the
correlations and its neighbours, and scikit-image's phase correlation of every row with the
component in the middle of a sample. Normalisation and upsampling of the latter were chosen on seeds
100 and 101.

    python benchmarks/bench_fractions.py            # all, a minute; writes bench_fractions.json
    python benchmarks/bench_fractions.py --seeds 100 101 --out /tmp/try.json

Seeds 0 to 4 are those reported. A file that exists is extended.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from skimage.registration import phase_cross_correlation

from gtpca import GTPCA, Shift
from gtpca.data.chunks import Chunk
from gtpca.model.between import best_between
from gtpca.model.matching import make_blocks, statistics, update
from gtpca.model.ties import first_best

HERE = Path(__file__).parent
ROWS, POINTS, WINDOW, WIDTH = 1000, 64, 36, 3.0
SHARES = (0.0023, 0.02, 0.1, 0.5)  # of the noise in the energy
FRACTIONS = (1, 2, 4, 8, 16)
PASSES, PASS_ROWS = 25, 4000
PHASE = {"normalization": None, "upsample_factor": 100}


def spike(u):
    """The waveform at times ``u`` after its trough, in samples."""
    sigma = WIDTH / np.sqrt(8 * np.log(2))
    trough, hump = -np.exp(-0.5 * (u / sigma) ** 2), 0.35 * np.exp(-0.5 * ((u - 7) / 3) ** 2)
    return trough + hump - 0.08 * np.exp(-0.5 * ((u - 16) / 5) ** 2)


def draw(rng, n, share):
    """Rows (n, POINTS), their latencies (n,), and the variance of their noise."""
    latency = rng.uniform(14, 34, n)
    clean = rng.uniform(0.7, 1.4, (n, 1)) * spike(np.arange(POINTS) - latency[:, None])
    variance = share / (1 - share) * np.mean(clean**2)
    return clean + np.sqrt(variance) * rng.standard_normal(clean.shape), latency, variance


def off(found, latency):
    """Errors of latencies, up to the offset of the component in its window, (n,)."""
    errors = found - latency
    return errors - np.median(errors)


def rms(errors):
    """Root of the mean square."""
    return float(np.sqrt(np.mean(errors**2)))


def measure(X, Y, latency, variance, fractions):
    """All figures of one fit but its time."""
    model = GTPCA(1, Shift(WINDOW, fractions=fractions), random_state=0).fit(X)
    share = len(Y) * POINTS * variance / np.sum(Y**2)
    start = model.poses(model.encode(Y))["start"][:, 0]
    errors, se = off(start, latency), model.pose_errors(Y)["start"][:, 0]
    found = {
        "residual": float(model.resmse(Y)[0] / share),
        "rms": rms(errors),
        "se": float(np.nanmedian(se)),
        "covered": float(np.mean(np.abs(errors) <= 2 * se)),
    }
    return (found | {"same": same(model, Y)}) if fractions > 1 else found


def same(model, Y):
    """The share of rows in which the search finds the best of all transforms."""
    operator, w = model.operator_, model.components_.reshape(1, -1)
    P, root = operator.prepare(Y), 1 / np.sqrt(operator.gram(w[None])[:, :, :1, :1])
    [index], _ = best_between(operator, P, w[None], root)
    every = np.abs(operator.correlate(P, w)[0]) * root[0, :, 0, 0]
    return float(np.mean(index == first_best(every, None)))


def shared(X, Y, variance, count):
    """The residual of several components on whole samples in one pose."""
    model = GTPCA(count, Shift(WINDOW), shared_pose=True, random_state=0).fit(X)
    return float(model.resmse(Y)[-1] / (len(Y) * POINTS * variance / np.sum(Y**2)))


def peers(X, Y, latency):
    """Errors of the parabola and of phase correlation."""
    model = GTPCA(1, Shift(WINDOW), random_state=0).fit(X)
    w = model.components_[0]
    products = np.abs(model.operator_.correlate(model.operator_.prepare(Y), w[None])[0])
    best = products.argmax(axis=1)
    inner = (best > 0) & (best < products.shape[1] - 1)  # a parabola needs both neighbours
    left, here, right = (products[inner, best[inner] + j] for j in (-1, 0, 1))
    vertex = best[inner] + 0.5 * (left - right) / (left - 2 * here + right)
    still = np.zeros(POINTS)
    first = (POINTS - WINDOW) // 2
    still[first : first + WINDOW] = w * np.sign(np.median(model.transform(X)))
    shifts = [phase_cross_correlation(y, still, **PHASE)[0][0] for y in Y]
    errors = off(vertex, latency[inner]), off(np.array(shifts), latency)
    return dict(zip(("parabola", "phase"), map(rms, errors), strict=True))


def pass_time(fractions, rng):
    """Time of a pass relative to whole samples: blocks, match, sums, update."""
    X = draw(rng, PASS_ROWS, SHARES[0])[0]
    w = spike(np.arange(WINDOW) - 12.0)[None, None]
    w /= np.linalg.norm(w)
    operators = [Shift(WINDOW).bind((POINTS,)), Shift(WINDOW, fractions=fractions).bind((POINTS,))]
    chunks = [Chunk(X, operator).afresh() for operator in operators]
    best = [np.inf, np.inf]
    for _ in range(PASSES):
        for j, (operator, chunk) in enumerate(zip(operators, chunks, strict=True)):
            begin = time.process_time()
            found = statistics(chunk, make_blocks(operator, w))
            update(operator, found, w)
            best[j] = min(best[j], time.process_time() - begin)
    return best[1] / best[0]


def main():
    """Measure all, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2, 3, 4])
    parser.add_argument("--out", type=Path, default=HERE / "bench_fractions.json")
    args = parser.parse_args()
    found = json.loads(args.out.read_text()) if args.out.exists() else {}
    for share in SHARES:
        for seed in args.seeds:
            rng = np.random.default_rng(seed)
            X, _, _ = draw(rng, ROWS, share)
            Y, latency, variance = draw(rng, ROWS, share)
            row = {f"fractions {F}": measure(X, Y, latency, variance, F) for F in FRACTIONS}
            row["shared"] = {str(k): shared(X, Y, variance, k) for k in (2, 3)}
            row["peers"] = peers(X, Y, latency)
            found.setdefault(f"noise {share}", {})[str(seed)] = row
            print(share, seed, row["fractions 8"], row["shared"], row["peers"], flush=True)
    for F in FRACTIONS[1:]:
        each = {str(s): pass_time(F, np.random.default_rng(s)) for s in args.seeds}
        found.setdefault("pass", {}).setdefault(str(F), {}).update(each)
    print(found["pass"])
    args.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
