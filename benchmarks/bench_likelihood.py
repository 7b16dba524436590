"""Poses, sizes and doubts under noise: energy, hard and soft likelihood, beside what can be known.

``poses``: an ECG-like pulse with three modes of variation at random places, in noise of some share
of the pulse's standard deviation; share of the poses within 2 samples after one global shift, for
energy with K components in one pose, a single component, Woody averaging, hard and soft EM, and the
true model with known parameters; ``varied poses``: with modes three times as large.
``eeg``: the same methods on EEG trials that are cut out at known random places, beside a model that
was made with these places known: what can be reached at all. Draws of these three are kept one by
one, a run that was interrupted goes on, and soft EM less the best other method has its standard
error over draws.
``calibration``: how often 90 % credible sets of poses hold the true one, beside their mean mass.
``number``: which K the likelihood of held-out rows picks, where 3 are planted.
``faint``: correlation with the true pattern and its size at low signal-to-noise ratios, and what is
found in pure noise; the library says so if held-out rows speak against a pattern.
``doubts``: how often the library says that there is no evidence for a pattern, in noise and where
there is one: a window of 24 points in 80, 20 draws each.
``passes``: processor seconds of a soft pass over those of a hard one, over those of an energy pass
of the same block, which has as many weights (pattern, components), and of the components alone.

Hard EM is shown as it is, soft EM with what held-out rows say (``shrink``), unless it is said
otherwise. Run: python benchmarks/bench_likelihood.py [--only poses calibration ..] [--seeds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gtpca import GTPCA, ProbabilisticGTPCA, Rotation, Shift
from gtpca.data.chunks import as_chunks
from gtpca.datasets import fetch_eeg
from gtpca.fitting.em import least_noise, maximised
from gtpca.model.matching import make_block, statistics, update
from gtpca.model.posterior import hard_sums, soft_sums
from gtpca.model.probabilistic import ProbabilisticModel

PATH = Path(__file__).with_suffix(".json")
SIZE, WINDOW, NEAR = 300, 120, 2
KNOWING = ("true model", "one place for all", "places known 3", "places known 6")
EEG_CHANNELS = ("PZ", "OZ", "O1", "O2", "PO7", "PO8")
NOISES = (0.05, 0.15, 0.5, 1.0, 1.5)
# Rows, norm of the pattern and components, for what is said of noise and of patterns.
DOUBTED = [(200, 0, 0), (200, 0, 2), (40, 0, 0), (200, 2, 0), (200, 2, 5), (40, 3, 0), (40, 3, 4)]
CIRCULAR = Shift(boundary="circular")
TIMED = {
    "shift": (Shift(120), (300,)),
    "circular": (CIRCULAR, (256,)),
    "images": (Shift((10, 10)), (28, 28)),
    "rotation": (Rotation(16), (20, 20)),
}


def bump(centre, width, size=WINDOW):
    """A Gaussian bump on the window."""
    return np.exp(-0.5 * ((np.arange(size) - centre) / width) ** 2)


def heartbeat(variation=1):
    """A pulse (120,) like that of an ECG, and three modes of variation (3, 120)."""
    wave = 0.15 * bump(25, 5) - 0.15 * bump(46, 2) + bump(50, 2.5) - 0.25 * bump(55, 2.5)
    modes = [0.25 * bump(50, 2.5), 0.12 * bump(90, 9), 0.1 * (bump(86, 8) - bump(96, 8))]
    return wave + 0.3 * bump(90, 8), variation * np.array(modes)


def beats(n, noise, seed, variation=1):
    """Rows (n, 300) with a heartbeat at random places (n,), and the standard deviation of noise."""
    rng, (pulse, modes) = np.random.default_rng(seed), heartbeat(variation)
    sigma, places = noise * pulse.std(), rng.integers(30, 151, size=n)
    X = sigma * rng.standard_normal((n, SIZE))
    for x, place, z in zip(X, places, rng.standard_normal((n, 3)), strict=True):
        x[place : place + WINDOW] += pulse + z @ modes
    return X, places, sigma


def near(found, places, size=None):
    """Share of poses within 2 samples of the truth, after the one shift that is best."""
    gaps = np.asarray(found) - places
    shifts = np.unique(gaps)
    away = np.abs(gaps[:, None] - shifts)
    away = away if size is None else np.minimum(away % size, -away % size)
    return float((away <= NEAR).mean(axis=0).max())


def woody(X, window, passes=10):
    """Places of the best correlation with the mean of the rows cut there, again and again."""
    cuts = np.lib.stride_tricks.sliding_window_view(X, window, axis=1)
    places = np.full(len(X), (X.shape[1] - window) // 2)
    for _ in range(passes):
        places = (cuts @ cuts[np.arange(len(X)), places].mean(axis=0)).argmax(axis=1)
    return places


def likely(K, family, em="soft", **how):
    """The estimator, with what all cases share."""
    how = {"shrink": em == "soft"} | how
    return ProbabilisticGTPCA(K, family, em=em, random_state=0, **how)


def start_of(model, X):
    """Where the windows begin, (n,)."""
    return model.poses(model.encode(X))["start"][:, 0]


def knowing(X, sigma, variation):
    """Places by the true model."""
    operator, (pulse, modes) = Shift(WINDOW).bind((SIZE,)), heartbeat(variation)
    uniform = np.full(operator.n_transforms, -np.log(operator.n_transforms))
    model = ProbabilisticModel(operator, pulse, modes, np.array([sigma**2]), uniform)
    return model.encode(as_chunks(X, operator)).index[:, 0]


def compared(X, places, window):
    """Shares near the truth, by method."""
    family = Shift(window)
    single = GTPCA(1, family, random_state=0).fit(X)
    found = {
        "single": near(start_of(single, X), places),
        "woody": near(woody(X, window), places),
    }
    for K in (3, 6):
        shared = GTPCA(K, family, shared_pose=True, random_state=0).fit(X)
        found[f"energy {K}"] = near(start_of(shared, X), places)
        for em in ("hard", "soft"):
            found[f"{em} {K}"] = near(start_of(likely(K, family, em).fit(X), X), places)
    return found


def poses_case(noise, seed, variation, n=400):
    """Shares near the truth, by method, and by who knows the true model."""
    X, places, sigma = beats(n, noise, seed, variation)
    return {"true model": near(knowing(X, sigma, variation), places)} | compared(X, places, WINDOW)


def averaged(cases):
    """The mean of dicts of numbers."""
    return {name: round(float(np.mean([case[name] for case in cases])), 4) for name in cases[0]}


def poses(seeds, variation=1):
    """Cases, and functions that give the shares of each."""
    for noise in reversed(NOISES):  # where methods differ first
        for seed in range(seeds):
            yield {"noise": noise, "seed": seed}, partial(poses_case, noise, seed, variation)


def with_places(X, places, window, K):
    """Places by a model of the rows that were cut out at the true ones, these included."""
    operator = Shift(window).bind(X.shape[1:])
    cuts = np.stack([x[place : place + window] for x, place in zip(X, places, strict=True)])
    mean = cuts.mean(axis=0)
    _, sizes, axes = np.linalg.svd(cuts - mean, full_matrices=False)
    variances = sizes[:K] ** 2 / len(X)
    noise = (np.mean(X**2) * X.shape[1] - mean @ mean - variances.sum()) / X.shape[1]
    loadings = np.sqrt(np.maximum(variances - noise, 0))[:, None] * axes[:K]
    uniform = np.full(operator.n_transforms, -np.log(operator.n_transforms))
    model = ProbabilisticModel(operator, mean, loadings, np.array([noise]), uniform)
    return model.encode(as_chunks(X, operator)).index[:, 0]


def eeg(seeds):
    """Cases, and functions that give the shares of each: what is added is known, not what was."""
    data = fetch_eeg()
    for seed in range(seeds):
        for name in EEG_CHANNELS:
            trials = data.data[~data.repeated][:, :, list(data.channels).index(name)]
            yield {"channel": name, "seed": seed}, partial(eeg_case, trials, seed)


def eeg_case(trials, seed):
    """Shares near the truth where trials are cut out at known random places, by method."""
    trials = trials - trials.mean(axis=1, keepdims=True)
    starts = np.random.default_rng(seed).integers(41, size=len(trials))
    X = np.stack([x[s : s + 216] for x, s in zip(trials, starts, strict=True)])
    found = {"one place for all": near(np.zeros(len(X)), -starts)}
    for K in (3, 6):
        found[f"places known {K}"] = near(with_places(X, 64 - starts, 128, K), -starts)
    return found | compared(X, -starts, 128)


def summary(draws):
    """Means over draws with standard errors, by noise or channel; all together for channels."""
    name = next(iter(draws[0]))
    groups = {row[name]: [draw for draw in draws if draw[name] == row[name]] for row in draws}
    if name == "channel":
        groups["all"] = draws
    return [{name: key, **judged(group)} for key, group in groups.items()]


def judged(draws):
    """Means of shares, standard errors, and soft EM less the best other method, draw by draw."""
    shares = {k: np.array([draw[k] for draw in draws]) for k in list(draws[0])[2:]}
    found = {"draws": len(draws), **{k: round(float(v.mean()), 4) for k, v in shares.items()}}
    found["se"] = {k: standard_error(v) for k, v in shares.items()}
    methods = [k for k in shares if k not in KNOWING]
    for soft in ("soft 3", "soft 6"):
        best = max((k for k in methods if k != soft), key=lambda k: shares[k].mean())
        less = shares[soft] - shares[best]
        found[f"{soft} less best"] = {
            "best": best,
            "mean": round(float(less.mean()), 4),
            "se": standard_error(less),
        }
    return found


def standard_error(values):
    """That of a mean; of single shares there is none."""
    return round(float(values.std(ddof=1) / np.sqrt(len(values))), 4) if len(values) > 1 else None


def calibration(seeds):
    """Coverage and mean mass of 90 % sets on new rows, by noise; also without shrinking."""
    rows = []
    for n, noise in [(n, noise) for n in (600, 2400) for noise in (0.5, 1.0, 1.5)]:
        cases = [coverage(n, noise, seed) for seed in range(seeds)]
        plain = [coverage(n, noise, seed, shrink=False) for seed in range(seeds)]
        beside = {f"plain {name}": value for name, value in averaged(plain).items()}
        rows.append({"n": n, "noise": noise, **averaged(cases), **beside})
        print(rows[-1], flush=True)
    return rows


def coverage(n, noise, seed, shrink=True):
    """How often 90 % sets hold the true pose, their mean mass, and how many poses are in them."""
    model = likely(3, Shift(WINDOW), shrink=shrink).fit(beats(n, noise, seed)[0])
    X, places, _ = beats(1000, noise, 100 + seed)
    found = model.pose_posterior(X, n_poses=SIZE)
    shift = np.median(found.index[:, 0] - places)
    taken = np.cumsum(found.probability, axis=1) - found.probability < 0.9
    hits = np.any(taken & (found.index == (places + shift)[:, None]), axis=1)
    mass = np.sum(found.probability * taken, axis=1)
    return {"covered": hits.mean(), "mass": mass.mean(), "poses": taken.sum(1).mean()}


def planted(n, seed, noise=0.5):
    """Rows (n, 64) with a pattern and 3 components of 24 points, in one pose."""
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.standard_normal((24, 4)))[0].T
    scores = np.column_stack([np.full(n, 4.0), rng.standard_normal((n, 3)) * [2, 1.5, 1]])
    X = noise * rng.standard_normal((n, 64))
    for x, place, row in zip(X, rng.integers(41, size=n), scores @ V, strict=True):
        x[place : place + 24] += row
    return X


def number(draws=10):
    """The number of components that held-out likelihood picks, where 3 were planted."""
    picked = []
    for draw in range(draws):
        X = planted(600, draw)
        scores = [likely(K, Shift(24)).fit(X[:400]).score(X[400:]) for K in range(9)]
        picked.append(int(np.argmax(scores)))
    print("picked", picked, flush=True)
    return {"picked": picked, "right": int(np.sum(np.array(picked) == 3))}


def circular_rows(n, size, seed, points=64):
    """A smooth pattern of some norm at random circular shifts in unit noise; and the pattern."""
    rng = np.random.default_rng(seed)
    pattern = np.random.default_rng(1000 + seed).standard_normal(points)
    low = np.exp(-0.5 * (np.arange(points // 2 + 1) / (points / 8)) ** 2)
    pattern = np.fft.irfft(low * np.fft.rfft(pattern), points)
    pattern *= size / np.linalg.norm(pattern)
    index = (np.arange(points) - rng.integers(points, size=n)[:, None]) % points
    return pattern[index] + rng.standard_normal((n, points)), pattern


def resemblance(found, truth):
    """The largest correlation over circular shifts."""
    products = np.fft.irfft(np.fft.rfft(found) * np.fft.rfft(truth).conj(), len(truth))
    return float(products.max() / (np.linalg.norm(found) * np.linalg.norm(truth)))


def faint_case(n, size, seed):
    """Correlation with the truth and size of what is found, by method."""
    X, truth = circular_rows(n, size, seed)
    energy = GTPCA(1, CIRCULAR, polarity="positive", random_state=0).fit(X)
    found = {"energy": energy.components_[0] * energy.transform(X).mean()}
    for em in ("hard", "soft"):
        found[em] = likely(0, CIRCULAR, em).fit(X).mean_pattern_
    found["plain soft"] = likely(0, CIRCULAR, shrink=False).fit(X).mean_pattern_
    return {f"{name} correlation": resemblance(w, truth) for name, w in found.items()} | {
        f"{name} size": float(np.linalg.norm(w)) for name, w in found.items()
    }


def noise_case(n, seed):
    """What is found where nothing is: its size, and held-out likelihood beside that of noise."""
    X = np.random.default_rng(seed).standard_normal((2 * n, 64))
    X, new = X[:n], X[n:]
    energy = GTPCA(1, CIRCULAR, polarity="positive", random_state=0).fit(X)
    variance = np.mean(X**2)
    nothing = -32 * np.log(2 * np.pi * variance) - np.sum(new**2, axis=1) / (2 * variance)
    plain, model = likely(0, CIRCULAR, shrink=False).fit(X), likely(0, CIRCULAR).fit(X)
    hard = energy.transform(X).mean()
    found = {"told": float(model.doubt_ is not None)}
    for name, each in (("", model), ("plain ", plain)):
        gain = float(each.score(new) - nothing.mean())
        size = float(np.linalg.norm(each.mean_pattern_) / hard)
        found |= {f"{name}size over hard": size, f"{name}gain": gain}
        found[f"{name}below nothing"] = float(gain < 0)
    return found


def faint(seeds):
    """Tables over sizes and numbers of rows."""
    rows = []
    for n, size in [(n, size) for n in (300, 3000, 30_000) for size in (6, 4.5, 3.5, 2.5)]:
        cases = [faint_case(n, size, seed) for seed in range(seeds if n < 30_000 else 1)]
        rows.append({"n": n, "size": size, **averaged(cases)})
        print(rows[-1], flush=True)
    for n, draws in ((300, 20), (3000, 20)):
        rows.append({"n": n, "size": 0, **averaged([noise_case(n, seed) for seed in range(draws)])})
        print(rows[-1], flush=True)
    return rows


def doubts(draws=20):
    """Whether it is said that there is no evidence for a pattern: in noise, and where one is."""
    unit = np.hanning(24) / np.linalg.norm(np.hanning(24))
    lines = []
    for n, norm, K in DOUBTED:
        for seed in range(draws):
            rng = np.random.default_rng([seed, n, norm])
            X = rng.standard_normal((n, 80))
            for x, place in zip(X, rng.integers(57, size=n), strict=True):
                x[place : place + 24] += norm * unit
            model = likely(K, Shift(24)).fit(X)
            case = {"n": n, "norm": norm, "components": K, "seed": seed}
            gain = round(float(model.held_out_gain_), 4)
            lines.append({**case, "doubt": int(model.doubt_ is not None), "gain": gain})
        print(lines[-1], sum(line["doubt"] for line in lines[-draws:]), flush=True)
    return lines


def seconds(function, repeats=5):
    """The least processor seconds of several runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def passes(seeds, K=3):
    """Seconds of a pass and its update: soft, hard, and that of the same block by energy."""
    rng, rows = np.random.default_rng(seeds), []
    for name, (family, shape) in TIMED.items():
        operator = family.bind(shape)
        chunks = as_chunks(rng.standard_normal((1000, operator.n_features)), operator)
        V = rng.standard_normal((1 + K, operator.n_weights))
        uniform = np.full(operator.n_transforms, -np.log(operator.n_transforms))
        model = ProbabilisticModel(operator, V[0], V[1:], np.ones(1), uniform)
        floor = least_noise(chunks)

        def em(sums, model=model, chunks=chunks, floor=floor):
            e_step = model.e_step()
            maximised(model, e_step, chunks.sum(sums, e_step), floor)

        def energy(V, chunks=chunks, operator=operator):
            update(operator, chunks.sum(statistics, [make_block(operator, V)]), V[None])

        timed = {
            "soft": seconds(lambda em=em: em(soft_sums)),
            "hard": seconds(lambda em=em: em(hard_sums)),
            "energy": seconds(partial(energy, V)),
            "energy of components": seconds(partial(energy, V[1:])),
        }
        over = {f"soft over {name}": timed["soft"] / t for name, t in timed.items()}
        del over["soft over soft"]
        rows.append({"case": name, **{n: round(v, 4) for n, v in (timed | over).items()}})
        print(rows[-1], flush=True)
    return rows


DRAWN = {"poses": poses, "varied poses": partial(poses, variation=3), "eeg": eeg}
PARTS = {
    "calibration": calibration,
    "number": lambda seeds: number(),
    "faint": faint,
    "doubts": lambda seeds: doubts(),
    "passes": passes,
}


def add_draws(results, name, seeds):
    """Draws of a part that are not known yet, one by one, and their summary."""
    lines = results.setdefault("draws", {}).setdefault(name, [])
    for case, find in DRAWN[name](seeds):
        if any(all(line[k] == v for k, v in case.items()) for line in lines):
            continue
        lines.append(case | {k: round(v, 4) for k, v in find().items()})
        results[name] = summary(lines)
        keep(results)
        print(name, lines[-1], flush=True)


def keep(results):
    """Write all that is known, at once."""
    beside = PATH.with_suffix(".part")
    beside.write_text(json.dumps(results, indent=1) + "\n")
    beside.replace(PATH)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = [*DRAWN, *PARTS]
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    results = json.loads(PATH.read_text()) if PATH.exists() else {}
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", "there is no evidence")
    for name in options.only:
        if name in DRAWN:
            add_draws(results, name, options.seeds)
            continue
        begin = time.process_time()
        results[name] = PARTS[name](options.seeds)
        results.setdefault("seconds", {})[name] = round(time.process_time() - begin, 1)
        results["machine"] = {"python": platform.python_version(), "cpus": os.cpu_count()}
        keep(results)


if __name__ == "__main__":
    main()
