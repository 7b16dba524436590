"""Known poses: parts of trials that begin with the stimulus and with the response, which overlap.

Trials of 1.2 s at 250 Hz. A part of 0.4 s begins with the stimulus, and one of 0.4 s is centred on
the response, whose time is known (log-normal, with a median of 0.3, 0.4 or 0.5 s, and a standard
deviation of the logarithm of .25); their scores vary by 30 %. ``overlap`` is the mean share of the
first window that the second covers. Noise has the spectrum 1 / f, and 1 or 2 times the standard
deviation of the two parts in their windows. Likeness is the absolute cosine of a component and the
planted one, for each of both parts, mean and smallest of ten draws (seeds 10 to 19), of

- ``together``: ``GTPCA(2, Shift(100), polarity="positive").fit(X, poses=..)``, both times given
- ``whitened``: the same with ``noise="stationary"``
- ``regression``: least squares with both times given and the same score in all trials, known as
  overlap correction, deconvolution or rERP
- ``separate``: ``GTPCA(1, ..)`` with the time of the part alone
- ``averages``: the averages around the stimulus and around the response
- ``free``: ``GTPCA(2, .., polarity="positive", refine=5)`` without times, at the best shift

``third``: the same, with a median of 0.5 s and noise of 1, and a part of 0.4 s at a time that
nobody knows, 0.2 to 0.7 s after the stimulus: its likeness at the best shift, and the correlation
of its latencies with the true ones, beside the likeness of the first two; ``known`` has the two
times.

Run: python benchmarks/bench_known_poses.py [--only CASE ..]     (about a minute)

Parts, rules and settings were chosen on seeds 0 to 2.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

from gtpca import GTPCA, Shift

PLACE = Path(__file__).with_suffix(".json")
SEEDS, N, RATE, POINTS, WINDOW = range(10, 20), 100, 250, 300, 100
SPREAD, VARY = 0.25, 0.3
TIMES = np.arange(WINDOW) / RATE


def bump(centre, width):
    """A Gaussian in a window, with a peak of 1."""
    return np.exp(-(((TIMES - centre) / width) ** 2) / 2)


STIMULUS = 0.8 * bump(0.10, 0.015) - 1.2 * bump(0.17, 0.025) + bump(0.25, 0.04)
RESPONSE = 1.3 * bump(0.16, 0.06) - 0.8 * bump(0.27, 0.03)
HIDDEN = 1.2 * bump(0.18, 0.03) - bump(0.25, 0.04)


def pink(rng, shape):
    """Noise with the spectrum 1 / f and a standard deviation of 1."""
    frequencies = np.fft.rfftfreq(4 * shape[1])
    gains = np.zeros(len(frequencies))
    gains[4:] = frequencies[4:] ** -0.5
    noise = np.fft.irfft(gains * np.fft.rfft(rng.standard_normal((shape[0], 4 * shape[1]))))
    return noise[:, : shape[1]] / noise.std()


def trials(median, noise, seed, third=False):
    """Trials (n, points), and the starts of all windows (n, 2), or (n, 3) with a third part."""
    rng = np.random.default_rng(seed)
    times = median * np.exp(SPREAD * rng.standard_normal(N))
    starts = np.round(np.clip(times, 0.2, 0.95) * RATE).astype(int) - WINDOW // 2
    places = np.c_[np.zeros(N, int), starts]
    parts = [STIMULUS, RESPONSE]
    if third:
        places = np.c_[places, rng.integers(0.2 * RATE, 0.7 * RATE, N)]
        parts.append(HIDDEN)
    X = noise * np.std(parts[:2]) * pink(rng, (N, POINTS))
    scores = 1 + VARY * rng.standard_normal((N, len(parts)))
    for x, at, a in zip(X, places, scores, strict=True):
        for start, score, part in zip(at, a, parts, strict=True):
            x[start : start + WINDOW] += score * part
    return X, places.astype(float)


def likeness(a, b):
    return float(abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b))


def moved_likeness(a, b):
    """The likeness at the best shift."""
    return float(np.abs(np.correlate(a, b, "full")).max() / np.linalg.norm(a) / np.linalg.norm(b))


def together(X, places):
    return GTPCA(2, Shift(WINDOW), polarity="positive").fit(X, poses=places).components_


def whitened(X, places):
    how = {"polarity": "positive", "noise": "stationary"}
    return GTPCA(2, Shift(WINDOW), **how).fit(X, poses=places).components_


def regression(X, places):
    rows, columns = [], []
    for i, starts in enumerate(places.astype(int)):
        for k, start in enumerate(starts):
            rows.append(i * POINTS + start + np.arange(WINDOW))
            columns.append(k * WINDOW + np.arange(WINDOW))
    at = (np.concatenate(rows), np.concatenate(columns))
    design = sparse.csr_array((np.ones(len(at[0])), at), shape=(X.size, 2 * WINDOW))
    return spsolve(sparse.csc_array(design.T @ design), design.T @ X.ravel()).reshape(2, -1)


def separate(X, places):
    each = (places[:, [k]] for k in range(2))
    return [GTPCA(1, Shift(WINDOW)).fit(X, poses=one).components_[0] for one in each]


def averages(X, places):
    starts = places.astype(int).T
    return [np.mean([x[s : s + WINDOW] for x, s in zip(X, at, strict=True)], 0) for at in starts]


def free(X, places):
    how = {"polarity": "positive", "refine": 5, "random_state": 0}
    return GTPCA(2, Shift(WINDOW), **how).fit(X).components_


def both(method, X, places):
    """Likeness to both planted parts; free components at the best shift, in the better order."""
    found = method(X, places)
    if method is not free:
        return [likeness(w, part) for w, part in zip(found, (STIMULUS, RESPONSE), strict=True)]
    each = [[moved_likeness(w, part) for w in found] for part in (STIMULUS, RESPONSE)]
    orders = [[each[0][0], each[1][1]], [each[0][1], each[1][0]]]
    return max(orders, key=sum)


def summary(draws):
    """Mean, standard error and smallest of draws (n, parts), rounded."""
    draws = np.array(draws)
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    kinds = {"mean": draws.mean(axis=0), "error": error, "least": draws.min(axis=0)}
    return {name: np.round(values, 4).tolist() for name, values in kinds.items()}


def with_third(seed):
    """Likeness of all three parts, and the correlation of latencies of the third."""
    X, places = trials(0.5, 1, seed, third=True)
    found = {}
    for name, known in (("known", places[:, :2]), ("free", None)):
        how = {"polarity": "positive", "refine": 5, "random_state": 0}
        model = GTPCA(3, Shift(WINDOW), **how).fit(X, poses=known)
        starts = model.poses(model.encode(X, known))["start"]
        parts = [moved_likeness(w, HIDDEN) for w in model.components_]
        third = 2 if known is not None else int(np.argmax(parts))
        latency = abs(np.corrcoef(starts[:, third], places[:, 2])[0, 1])
        others = [
            max(moved_likeness(w, part) for w in model.components_)
            if known is None
            else likeness(model.components_[k], part)
            for k, part in enumerate((STIMULUS, RESPONSE))
        ]
        found[name] = [*others, parts[third], float(latency)]
    return found


def two_parts(median, noise):
    """Likeness of both parts by every method."""
    rows = [trials(median, noise, seed) for seed in SEEDS]
    shared = [1 - places[:, 1].clip(0, WINDOW) / WINDOW for _, places in rows]
    found = {"overlap": round(float(np.mean(shared)), 3)}
    for method in (together, whitened, regression, separate, averages, free):
        found[method.__name__] = summary([both(method, *each) for each in rows])
    return found


def three_parts():
    """All parts with two times that are known, and without."""
    draws = [with_third(seed) for seed in SEEDS]
    return {name: summary([draw[name] for draw in draws]) for name in ("known", "free")}


CASES = {
    f"{median} s, noise {noise}": partial(two_parts, median, noise)
    for median in (0.3, 0.4, 0.5)
    for noise in (1, 2)
} | {"third": three_parts}


def main():
    """Run some cases, or all of them, and write the JSON after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    known = json.loads(PLACE.read_text("utf-8")) if PLACE.exists() else {}
    for name in parser.parse_args().only:
        known[name] = CASES[name]()
        print(name, json.dumps(known[name]), flush=True)
        ordered = {case: known[case] for case in CASES if case in known}
        PLACE.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
