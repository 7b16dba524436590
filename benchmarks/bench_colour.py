"""Noise that is not white: what whitening gains, loses and costs, for energy and for likelihood.

``pulses``: a spike or a bump of 24 in 120 points, of strength d' = 4 in whitened noise, with
amplitudes of 1 +- .2 at uniform places 8 .. 88, in white, AR(1), narrow-band AR(2) and 1/f noise;
share of the poses within 2 points up to one common shift, and likeness with the truth, of a single
component (``gtpca``) and of a pattern with a likelihood (``density``): as if noise were white, with
a filter estimated from the same rows, and with one from 10,000 rows of noise alone (``known``).
``likelihood``: how much more likely held-out rows are with ``noise="stationary"``, nats per row.
``images``: the same for a blob of 8 x 8 in 24 x 24 pixels: noise whose covariance is a product over
both axes, and isotropic 1/f noise, for which a product is an approximation.
``eeg``: EEG trials cut out at known random places: shares, white and whitened, beside what can be
known: d' of the average response (halves of the trials against one another, so that noise does not
count), the share that a matched filter with the response of the other trials finds, and the share
that it would find if every trial were the average response in the fitted noise.
``erp``: that average response, made as strong as some d', in noise of the fitted spectrum; and how
much more likely rows are, in nats, by the pattern that is found than by the one to which
expectation maximisation leads from the truth: above 0, it is not the search that misses it.
``turned``: galaxies of the Hubble deep field, each in two known random orientations, in isotropic
noise of power 1 / f^beta as strong as they are: share of pairs whose angles agree within 15
degrees, for images as they are, and for images divided, frequency by frequency, by the root of the
radial spectrum of the images themselves, or of noise alone: a filter that commutes with rotations.
``cost``: processor seconds of a fit over those of a white one, of a density without its tests of
doubt (``density alone``); and of a pass: over rows in memory, which are whitened once and then only
matched (``kept pass``), over rows that are whitened before each (``pass``), and over a file of
rows, read and whitened chunk by chunk (``streamed pass``).

Draws are kept one by one, a run that was interrupted goes on. Seeds from 0 on are reported; those
from 100 on were for development.
Run: python benchmarks/bench_colour.py [--only pulses ..] [--seeds 10] [--first 100] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
import warnings
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy import ndimage
from scipy.signal import lfilter

from gtpca import GTPCA, ProbabilisticGTPCA, Rotation, Shift
from gtpca.data.chunks import as_chunks
from gtpca.data.rows import StreamedRows
from gtpca.datasets import fetch_eeg
from gtpca.fitting.em import DensityRecipe, climb_likelihood
from gtpca.model.matching import make_block, statistics
from gtpca.model.probabilistic import ProbabilisticModel
from gtpca.model.stationary import estimate_noise

PATH = Path(__file__).with_suffix(".json")
SIZE, WINDOW, NEAR, STRENGTH = 120, 24, 2, 4.0
TIMES = np.arange(WINDOW)
PATTERNS = {
    "spike": np.exp(-0.5 * ((TIMES - 10) / 1.5) ** 2)
    - 0.5 * np.exp(-0.5 * ((TIMES - 15) / 2.5) ** 2),
    "bump": np.exp(-0.5 * ((TIMES - 12) / 5) ** 2),
}
POLE = 0.97 * np.exp(2j * np.pi / 12)
FILTERS = {
    "white": [1.0],
    "AR(1) .5": [1.0, -0.5],
    "AR(1) .7": [1.0, -0.7],
    "AR(1) .9": [1.0, -0.9],
    "AR(2)": np.real(np.poly([POLE, POLE.conj()])),
}
NOISES = ("white", "AR(1) .9", "AR(2)", "1/f")
EEG_CHANNELS = ("PZ", "OZ", "O1", "O2", "PO7", "PO8")
REACH, EEG_WINDOW, FIRST = 40, 128, 20  # in points of 1/256 s, the first from 78 ms on
SIZES = (300, 25)
ERP_STRENGTHS = (4.0, 5.0)
PASSES = 60  # of which the quickest is taken


def noise_rows(kind, n, seed, size=SIZE):
    """Rows (n, size) of noise of unit variance."""
    rng = np.random.default_rng(seed)
    if kind == "1/f":
        long = 2048
        f = np.fft.rfftfreq(long)
        f[0] = f[1]
        power = f**-1.0
        X = np.fft.irfft(np.fft.rfft(rng.standard_normal((n, long))) * np.sqrt(power), long)
        return X[:, :size] / np.sqrt(np.mean(np.r_[power, power[1:-1]]))
    a = FILTERS[kind]
    X = lfilter([1.0], a, rng.standard_normal((n, size + 500)))[:, 500:]
    return X / np.sqrt(np.sum(lfilter([1.0], a, np.eye(1, 5000)[0]) ** 2))


@cache
def known_noise(kind, seed=10_000):
    """The filter of 10,000 rows of noise alone."""
    return estimate_noise(noise_rows(kind, 10_000, seed), {0: False})


def strength(noise, w):
    """d' of a pattern: its norm after the filter, with nothing before and behind it."""
    row = np.zeros(SIZE)
    row[40 : 40 + len(w)] = w
    return float(np.linalg.norm(noise.whiten(row[None])))


def pulses_of(kind, pattern, n, seed, d=STRENGTH):
    """Rows (n, 120) and the places of their pulses."""
    rng = np.random.default_rng([seed, 1])
    w = PATTERNS[pattern]
    w = w * d / strength(known_noise(kind), w)
    X, places = noise_rows(kind, n, seed), rng.integers(8, 89, n)
    for row, place, size in zip(X, places, 1 + 0.2 * rng.standard_normal(n), strict=True):
        row[place : place + WINDOW] += size * w
    return X, places


def near(found, places):
    """Share within 2 points, up to one shift of all."""
    lag = np.asarray(found) - places
    common = range(int(lag.min()), int(lag.max()) + 1)
    return float(max(np.mean(np.abs(lag - s) <= NEAR) for s in common))


def likeness(w, truth):
    """The largest correlation over shifts."""
    product = np.max(np.abs(np.correlate(w, truth, "full")))
    return float(product / np.linalg.norm(w) / np.linalg.norm(truth))


def models(noise, family, seed=0):
    """Both estimators, by name."""
    yield "gtpca", GTPCA(1, family, noise=noise, random_state=seed)
    yield "density", ProbabilisticGTPCA(0, family, noise=noise, random_state=seed)


def shown(model):
    """The component, or the pattern."""
    return model.components_[0] if isinstance(model, GTPCA) else model.mean_pattern_


def starts_of(model, X, name="start"):
    return np.asarray(model.poses(model.encode(X))[name])[:, 0]


def pulses(seeds):
    """Cases, and functions that give the shares of each."""
    for n in SIZES:
        for seed in seeds:
            for kind in NOISES if n < 100 else (*NOISES, "AR(1) .7"):
                for pattern in PATTERNS:
                    case = {"noise": kind, "pattern": pattern, "n": n, "seed": seed}
                    yield case, partial(pulses_case, **case)


def pulses_case(noise, pattern, n, seed):
    X, places = pulses_of(noise, pattern, n, seed)
    found = {}
    ways = {"white": "white", "stationary": "stationary", "known": known_noise(noise)}
    for how, value in ways.items():
        for name, model in models(value, Shift(WINDOW)):
            model.fit(X)
            found[f"{name} {how}"] = near(starts_of(model, X), places)
            found[f"{name} {how} likeness"] = likeness(shown(model), PATTERNS[pattern])
    return found


def likelihood(seeds):
    """Cases: twice as many draws as elsewhere."""
    seeds = list(seeds)
    for seed in [*seeds, *(seed + 1000 for seed in seeds)]:
        for kind in ("white", "AR(1) .5", "AR(1) .7", "AR(1) .9"):
            case = {"noise": kind, "seed": seed}
            yield case, partial(likelihood_case, **case)


def likelihood_case(noise, seed):
    X, new = (pulses_of(noise, "spike", 300, [seed, part])[0] for part in (0, 1))
    white, coloured = (
        ProbabilisticGTPCA(0, Shift(WINDOW), noise=how, random_state=0).fit(X).score(new)
        for how in ("white", "stationary")
    )
    return {"gain": coloured - white}


def image_noise(kind, n, seed, size=24):
    """Images (n, size, size) of noise of unit variance."""
    rng = np.random.default_rng(seed)
    if kind == "product AR(1) .9":
        X = lfilter([1.0], [1.0, -0.9], rng.standard_normal((n, size + 60, size + 60)), axis=1)
        X = lfilter([1.0], [1.0, -0.9], X, axis=2)[:, 60:, 60:]
    elif kind == "isotropic 1/f":
        wide = 96
        f = np.hypot(np.fft.fftfreq(wide)[:, None], np.fft.rfftfreq(wide))
        f[0, 0] = f[0, 1]
        spectrum = np.fft.rfft2(rng.standard_normal((n, wide, wide)))
        X = np.fft.irfft2(spectrum / f, (wide, wide))[:, :size, :size]
    else:
        X = rng.standard_normal((n, size, size))
    return X / X.std()


def images(seeds):
    """Cases of a blob in images."""
    for seed in seeds:
        for kind in ("white", "product AR(1) .9", "isotropic 1/f"):
            case = {"noise": kind, "seed": seed}
            yield case, partial(images_case, **case)


@cache
def known_image_noise(kind):
    return estimate_noise(image_noise(kind, 2000, 10_000), {0: False, 1: False})


def images_case(noise, seed, n=200, d=6.0):
    u = np.arange(8) - 3.5
    blob = u[:, None] * np.exp(-(u[:, None] ** 2 + u**2) / 4)
    row = np.zeros((24, 24))
    row[8:16, 8:16] = blob
    blob = blob * d / np.linalg.norm(known_image_noise(noise).whiten(row.reshape(1, -1)))
    X, rng = image_noise(noise, n, seed), np.random.default_rng([seed, 1])
    places = rng.integers(0, 17, (n, 2))
    for image, (a, b) in zip(X, places, strict=True):
        image[a : a + 8, b : b + 8] += blob
    found = {}
    known = known_image_noise(noise)
    for how, value in (("white", "white"), ("stationary", "stationary"), ("known", known)):
        for name, model in models(value, Shift((8, 8))):
            if name == "density" and how == "known":
                continue
            model.fit(X)
            lag = np.stack([starts_of(model, X, f"start_{a}") for a in (0, 1)], axis=1) - places
            good = np.abs(lag - np.median(lag, axis=0)).max(axis=1) <= 1
            found[f"{name} {how}"] = float(good.mean())
    return found


CHANNEL_SETS = {"OZ": ("OZ",), "six": EEG_CHANNELS, "all": None}


@cache
def eeg_trials(name):
    """Trials (n, channel, 256) without their means; "all" are those on the scalp."""
    data = fetch_eeg()
    names = CHANNEL_SETS[name] or [c for c in data.channels if c not in ("X", "Y", "nd")]
    columns = [list(data.channels).index(channel) for channel in names]
    trials = data.data[~data.repeated][:, :, columns].transpose(0, 2, 1).astype(float)
    return trials - trials.mean(axis=2, keepdims=True)


@cache
def eeg_noise(name):
    """The noise of trials around their average."""
    trials = eeg_trials(name)
    return estimate_noise(trials - trials.mean(axis=0), {1: False})


@cache
def whitened_trials(name):
    trials = eeg_trials(name)
    return eeg_noise(name).whiten(trials.reshape(len(trials), -1)).reshape(trials.shape)


def response_strength(name, splits=200):
    """d' of the average response in a window: halves of whitened trials against one another."""
    white = whitened_trials(name)[:, :, FIRST : FIRST + EEG_WINDOW]
    rng, squares = np.random.default_rng(0), []
    for _ in range(splits):
        order = rng.permutation(len(white))
        half = len(white) // 2
        squares.append(np.sum(white[order[:half]].mean(axis=0) * white[order[half:]].mean(axis=0)))
    return float(np.sqrt(max(0.0, np.mean(squares))))


def best_places(white, responses, first, reach):
    """Offsets -reach .. reach at which rows (n, c, t) have the largest product with responses."""
    size = responses.shape[-1]
    offsets = np.arange(-reach, reach + 1)
    products = [
        np.sum(white[:, :, first + s : first + s + size] * responses, axis=(1, 2)) for s in offsets
    ]
    return offsets[np.argmax(products, axis=0)]


def matched_on_trials(name):
    """Share of trials in which the response of all the others fits best where it is: 41 places."""
    white = whitened_trials(name)
    others = (white.sum(axis=0) - white) / (len(white) - 1)
    found = best_places(white, others[:, :, FIRST : FIRST + EEG_WINDOW], FIRST, REACH // 2)
    return float(np.mean(np.abs(found) <= NEAR))


def matched_in_noise(response, d, seed, n=2000):
    """The same, if rows were a whitened response (c, t) of strength ``d`` in white noise."""
    response, half = response * d / np.linalg.norm(response), REACH // 2
    rows = np.random.default_rng(seed).standard_normal((n, len(response), EEG_WINDOW + REACH))
    rows[:, :, half : half + EEG_WINDOW] += response
    return float(np.mean(np.abs(best_places(rows, response[None], half, half)) <= NEAR))


def eeg(seeds):
    """Cases of trials with planted places."""
    for seed in seeds:
        for channels in CHANNEL_SETS:
            case = {"channels": channels, "seed": seed}
            yield case, partial(eeg_case, **case)


def eeg_case(channels, seed):
    """Shares by fits, white and whitened, and by those who know the response."""
    trials = eeg_trials(channels)
    shifts = np.random.default_rng(seed).integers(REACH + 1, size=len(trials))
    X = np.stack([x[:, s : s + 256 - REACH] for x, s in zip(trials, shifts, strict=True)])
    d, average = response_strength(channels), whitened_trials(channels).mean(axis=0)
    found = {"d'": d, "one place for all": near(np.zeros(len(X)), -shifts)}
    found["matched, response of the others"] = matched_on_trials(channels)
    response = average[:, FIRST : FIRST + EEG_WINDOW]
    found["matched, if trials were the average"] = matched_in_noise(response, d, seed)
    for how in ("white", "stationary"):
        for name, model in models(how, Shift(EEG_WINDOW, axes=1)):
            if channels != "all" or name == "gtpca":
                model.fit(X)
                found[f"{name} {how}"] = near(starts_of(model, X), -shifts)
    return found


def erp(seeds):
    """Cases: the average response as strong as some d' in noise of the fitted spectrum."""
    for seed in seeds:
        for n in (99, 300):
            for d in ERP_STRENGTHS:
                case = {"d": d, "n": n, "seed": seed}
                yield case, partial(erp_case, **case)


def erp_case(d, n, seed):
    """Six channels, a window of 128 in 168 points."""
    noise = eeg_noise("six")
    response = eeg_trials("six").mean(axis=0)[:, FIRST : FIRST + EEG_WINDOW]
    response = response * np.hanning(EEG_WINDOW)
    row = np.zeros(noise.sample_shape)
    row[:, 64 : 64 + EEG_WINDOW] = response
    white = noise.whiten(row.reshape(1, -1)).reshape(row.shape)[:, 64 : 64 + EEG_WINDOW]
    response = response * d / np.linalg.norm(white)
    rng = np.random.default_rng(seed)
    X = noise.colour(rng.standard_normal((n, row.size))).reshape(n, *row.shape)
    X, starts = X[:, :, : EEG_WINDOW + REACH].copy(), rng.integers(REACH + 1, size=n)
    for x, start in zip(X, starts, strict=True):
        x[:, start : start + EEG_WINDOW] += response
    found = {"matched": matched_in_noise(white, d, seed)}
    for how in ("white", "stationary"):
        for name, model in models(how, Shift(EEG_WINDOW, axes=1)):
            model.fit(X)
            found[f"{name} {how}"] = near(starts_of(model, X), starts)
    found["likelier than from the truth"] = above_truth(model, X, d * white / np.linalg.norm(white))
    return found


def above_truth(model, X, truth):
    """How much more likely rows are than by the climb from a whitened pattern, in nats."""
    operator, noise = model.operator_, model.noise_
    chunks = as_chunks(noise.whiten(X.reshape(len(X), -1)), operator)
    uniform = np.full(operator.n_transforms, -np.log(operator.n_transforms))
    nothing = np.zeros((0, operator.n_weights))
    begin = ProbabilisticModel(operator, truth.ravel(), nothing, np.ones(1), uniform, noise)
    _, history, _ = climb_likelihood(chunks, DensityRecipe(0, whitening=noise), begin)
    return float(len(X) * (model.history_[-1] - history[-1]))


@cache
def galaxies(half=20):
    """Cut-outs (n, 41, 41) of the Hubble deep field, of unit mean square in their middle."""
    from skimage import data

    sky = data.hubble_deep_field().mean(axis=2) / 255
    smooth = ndimage.gaussian_filter(sky, 1.5) - ndimage.gaussian_filter(sky, 20)
    blobs, count = ndimage.label(smooth > 0.08)
    numbers = np.arange(1, count + 1)
    size = ndimage.sum_labels(np.ones_like(sky), blobs, numbers)
    middle = np.rint(ndimage.center_of_mass(smooth, blobs, numbers)).astype(int)
    inside = np.all((middle >= half) & (middle < np.array(sky.shape) - half), axis=1)
    places = middle[(size > 40) & (size < 400) & inside]
    cuts = [sky[r - half : r + half + 1, c - half : c + half + 1] for r, c in places]
    cuts = np.array([cut - np.median(cut) for cut in cuts])
    return cuts / np.sqrt(np.mean(cuts[:, 8:33, 8:33] ** 2, axis=(1, 2), keepdims=True))


def power_noise(beta, n, rng, size=25, wide=96):
    """Images of isotropic noise of power 1 / f^beta and unit variance."""
    f = np.hypot(np.fft.fftfreq(wide)[:, None], np.fft.rfftfreq(wide))
    f[0, 0] = f[0, 1]
    spectrum = np.fft.rfft2(rng.standard_normal((n, wide, wide))) * f ** (-beta / 2)
    X = np.fft.irfft2(spectrum, (wide, wide))[:, :size, :size]
    return X / X.std()


def radial_root(X, wide=64, bins=14):
    """Root of the power of images (n, 25, 25) by radial frequency, on the grid of an FFT."""
    taper = np.hanning(27)[1:-1]
    X = (X - X.mean(axis=(1, 2), keepdims=True)) * np.outer(taper, taper)
    power = np.mean(np.abs(np.fft.fft2(X, (wide, wide))) ** 2, axis=0)
    f, edges = np.hypot(*np.meshgrid(*[np.fft.fftfreq(wide)] * 2)), np.linspace(0, 0.75, bins + 1)
    ring = np.clip(np.digitize(f, edges) - 1, 0, bins - 1)
    means = np.bincount(ring.ravel(), power.ravel()) / np.bincount(ring.ravel())
    half = np.hypot(np.fft.fftfreq(wide)[:, None], np.fft.rfftfreq(wide))
    return np.sqrt(np.interp(half, (edges[1:] + edges[:-1]) / 2, means))


def radially_white(X, root, wide=64):
    """Images divided by a radial root of power, mirrored at their borders."""
    padded = np.pad(X, ((0, 0), (19, 20), (19, 20)), mode="reflect")
    return np.fft.irfft2(np.fft.rfft2(padded) / root, (wide, wide))[:, 19:44, 19:44]


def turned(seeds):
    """Cases of galaxies in noise."""
    for seed in seeds:
        for beta in (0, 1, 2):
            case = {"beta": beta, "seed": seed}
            yield case, partial(turned_case, **case)


def turned_case(beta, seed):
    """Shares of pairs of images whose angles agree."""
    rng, base = np.random.default_rng(seed), galaxies()
    angles = rng.uniform(0, 360, (2, len(base)))
    both = []
    for turns in angles:
        images = [
            ndimage.rotate(g, a, reshape=False, order=1, mode="nearest")[8:33, 8:33]
            for g, a in zip(base, turns, strict=True)
        ]
        both.append(np.array(images) + power_noise(beta, len(base), rng))
    y, x = np.mgrid[-12:13, -12:13]
    disc = x**2 + y**2 <= 144
    roots = {
        "as they are": None,
        "own spectrum": radial_root(np.concatenate(both)),
        "spectrum of noise": radial_root(power_noise(beta, 3000, rng)),
    }
    found = {}
    for name, root in roots.items():
        seen = [disc * (X if root is None else radially_white(X, root)) for X in both]
        model = GTPCA(1, Rotation(24), random_state=0).fit(np.concatenate(seen))
        first, second = (starts_of(model, X, "degrees") for X in seen)
        lags = [(second - first - s * (angles[1] - angles[0])) % 180 for s in (-1, 1)]
        found[name] = max(float(np.mean(np.minimum(lag, 180 - lag) <= 15)) for lag in lags)
    return found


def cost(seeds):
    """Processor seconds of fits and passes, whitened over white."""
    del seeds
    cases = (("AR(1) .9", SIZE, 300), ("1/f", 500, 3000))
    rows = [cost_case(*case) for case in cases]
    print(rows, flush=True)
    return rows


def cost_case(kind, size, n):
    X = noise_rows(kind, n, 0, size)
    for row, place in zip(X, np.random.default_rng(0).integers(8, size - 32, n), strict=True):
        row[place : place + WINDOW] += 3 * PATTERNS["spike"]
    found = {"noise": kind, "rows": n, "points": size}
    both = [dict(models(how, Shift(WINDOW))) for how in ("white", "stationary")]
    for each in both:
        each["density alone"] = each.pop("density").set_params(shrink=False)
    for name in both[0]:
        found[f"{name} fit"] = ratio(*(partial(each[name].fit, X) for each in both))
    return found | passes(both[1]["gtpca"], X)


def passes(model, X):
    """Ratios of passes that match rows against a component, whitened over white."""
    operator, whiten = model.operator_, model.noise_.whiten
    block = make_block(operator, model.components_.reshape(1, -1))

    def one(rows):
        as_chunks(rows, operator).sum(statistics, [block])

    white = whiten(X)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "rows.npy", X)
        rows = StreamedRows(np.load(Path(folder) / "rows.npy", mmap_mode="r"))
        return {
            "kept pass": ratio(partial(one, X), partial(one, white), PASSES),
            "pass": ratio(partial(one, X), lambda: one(whiten(X)), PASSES),
            "streamed pass": ratio(
                partial(one, rows), partial(one, rows.preprocessed(whiten)), PASSES
            ),
        }


def ratio(white, coloured, times=7):
    """Processor seconds of one over those of another: the least of runs that take turns."""
    both = np.array([[seconds(fn) for fn in (white, coloured)] for _ in range(times)]).min(axis=0)
    return round(float(both[1] / both[0]), 2)


def seconds(fn):
    """Processor seconds of a run."""
    begin = time.process_time()
    fn()
    return time.process_time() - begin


DRAWN = {
    "pulses": pulses,
    "likelihood": likelihood,
    "images": images,
    "erp": erp,
    "eeg": eeg,
    "turned": turned,
}
PARTS = {"cost": cost}
KEYS = ("noise", "pattern", "n", "channels", "d", "beta")


def add_draws(results, name, seeds, path):
    """Draws of a part that are not known yet, one by one, and their summary."""
    lines = results.setdefault("draws", {}).setdefault(name, [])
    for case, find in DRAWN[name](seeds):
        if any(all(line[k] == v for k, v in case.items()) for line in lines):
            continue
        lines.append(case | {k: round(v, 4) for k, v in find().items()})
        results[name] = summary(lines)
        keep(results, path)
        print(name, lines[-1], flush=True)


def summary(lines):
    """Means with standard errors of all draws of a case."""
    keys = [key for key in KEYS if key in lines[0]]
    rows = []
    for case in dict.fromkeys(tuple(line[k] for k in keys) for line in lines):
        group = [line for line in lines if tuple(line[k] for k in keys) == case]
        names = [k for k in group[0] if k not in (*keys, "seed")]
        values = {k: np.array([line[k] for line in group]) for k in names}
        rows.append(
            dict(zip(keys, case, strict=True))
            | {"draws": len(group)}
            | {k: round(float(v.mean()), 4) for k, v in values.items()}
            | {"se": {k: standard_error(v) for k, v in values.items()}}
            | {"least": {k: float(v.min()) for k, v in values.items()}}
        )
    return rows


def standard_error(values):
    """That of a mean; of a single one there is none."""
    return round(float(values.std(ddof=1) / np.sqrt(len(values))), 4) if len(values) > 1 else None


def keep(results, path):
    """Write all that is known, at once."""
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(results, indent=1) + "\n")
    beside.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = [*DRAWN, *PARTS]
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out", type=Path, default=PATH)
    options = parser.parse_args()
    results = json.loads(options.out.read_text()) if options.out.exists() else {}
    warnings.simplefilter("ignore")
    for name in options.only:
        seeds = range(options.first, options.first + options.seeds)
        if name in DRAWN:
            add_draws(results, name, seeds, options.out)
            continue
        results[name] = PARTS[name](seeds)
        results["machine"] = {"python": platform.python_version(), "cpus": os.cpu_count()}
        keep(results, options.out)


if __name__ == "__main__":
    main()
