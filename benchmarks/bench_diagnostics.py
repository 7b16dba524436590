"""Whether diagnostics say what is so: level and power of ``noise_floor``, choices of ``choose``.

``noise``: how often the first component found in noise of all kinds (kinds_of_noise.py: 100 rows of
96 points with a window of 24, 48 points and 8 channels with a window of 12, or 16 x 16 with windows
of 6 x 6) is called real at 5 %, by the default surrogates, 19 of them; draws from 1000 on.
``again``: 400 more draws, from 2000 on, of what was called real too often there.
``before``: the same by Gaussian surrogates, where they are wrong; draws from 6000 on.
``beside``: how often a second component is called real beside a pattern, in noise of several kinds,
with poses of their own and in one pose; draws from 3000 on.
``found``: how often a pattern is called real, by its norm and kind of noise (200 rows of 128
points, window 32), by the default and by Gaussian surrogates; draws from 4000 on.
``doubt``: how often a density doubts that there is a pattern, in noise, and with a pattern of norm
3; draws from 5000 on.
``others``: the first component found in noise, as in ``noise``, by up to 99 surrogates, as many as
each verdict needs, with windows that may leave the sample, circular shifts and rotations; 60 draws
from 7000 on.
``level``: the first component found in noise, as before, by Gaussian surrogates
(200 rows of 128 points with a window of 32, or of 16 x 16 with windows of 8 x 8).
``kinds``: the same for noise without means, and for noise that is not the same everywhere, by kind
of surrogates.
``second``: how often a second component is called real where one pattern lies in noise, for
components with poses of their own and in one pose.
``power``: the same where a pattern of some norm, in standard deviations of the noise, lies at
random places.
``choose``: windows and numbers of components that are suggested where they are known; draws from
200 on were run once, with the rule as it is.
``cost``: processor seconds of ``noise_floor`` with 19 surrogates over those of a fit.
``eeg``: the first component of EEG trials beside surrogates of each kind, and where a pattern is
added at random places, with a share of the energy that trials have in a window.
``real``: what all diagnostics say of EEG trials, handwriting and digits.

Every line of the JSON is one data set; a run that was interrupted goes on where it was.

Run: python benchmarks/bench_diagnostics.py [--only level power ..] [--sets 200] [--tables]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from functools import partial
from pathlib import Path

import kinds_of_noise as kinds_of
import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_digits

from gtpca import GTPCA, ProbabilisticGTPCA, Rotation, Shift
from gtpca.datasets import fetch_eeg, fetch_handwriting
from gtpca.diagnostics import choose, noise_floor, pose_confidence, stability

PATH = Path(__file__).with_suffix(".json")
N, SIZE, WINDOW = 200, 128, 32
SECONDS = 5  # between two writes of what is known
STRENGTHS = (3, 2.5, 2, 3.5, 1.5)


def white(rng, shape=(SIZE,)):
    """White noise."""
    return rng.standard_normal((N, *shape))


def cropped(rng, exponent=1.0, longer=16):
    """Noise with power 1 / f^exponent, cropped from series that are 16 times as long."""
    total = longer * SIZE
    frequency = np.fft.rfftfreq(total)
    frequency[0] = frequency[1]
    F = np.fft.rfft(rng.standard_normal((N, total))) * frequency ** (-exponent / 2)
    starts = rng.integers(total - SIZE + 1, size=N)
    rows = zip(np.fft.irfft(F, total), starts, strict=True)
    return np.stack([row[start : start + SIZE] for row, start in rows])


def smooth_images(rng, width=1.5):
    """White images, smoothed over 1.5 points, cropped from larger ones."""
    return gaussian_filter(rng.standard_normal((N, 32, 32)), (0, width, width))[:, 8:-8, 8:-8]


def loud(rng):
    """White noise, in rows of very different loudness."""
    return white(rng) * np.exp(0.7 * rng.standard_normal((N, 1)))


def less_means(make):
    """The same noise, each row less its mean, as many prepare their data."""

    def made(rng):
        X = make(rng)
        return X - X.mean(axis=tuple(range(1, X.ndim)), keepdims=True)

    return made


def louder_inside(rng):
    """1/f noise that is three times as loud in the middle of a row as at its ends."""
    return cropped(rng) * (1 + 2 * np.hanning(SIZE))


def pattern_of(size, rng, width=2.0):
    """A smooth random curve that does not fade towards its ends, norm 1."""
    curve = gaussian_filter(rng.standard_normal(size + 40), width)[20:-20]
    return curve / np.linalg.norm(curve)


def planted(rng, norm):
    """White noise with one pattern of some norm at random places."""
    X, pattern = white(rng), norm * pattern_of(WINDOW, rng)
    for x, start in zip(X, rng.integers(SIZE - WINDOW + 1, size=N), strict=True):
        x[start : start + WINDOW] += pattern
    return X


SERIES, IMAGES = Shift(WINDOW), Shift((8, 8))
PAIRED = [("AR(1) .3", 2.5), ("AR(1) .9", 7), ("1/f", 7)]  # norms were chosen on other draws
NOISE = {
    "1/f noise": (cropped, SERIES),
    "smooth images": (smooth_images, IMAGES),
    "white noise": (white, SERIES),
    "white images": (lambda rng: white(rng, (16, 16)), IMAGES),
    "1/f^2 noise": (lambda rng: cropped(rng, 2.0), SERIES),
    "rows of different loudness": (loud, SERIES),
}


KINDS = [  # noise, surrogates, data sets
    ("1/f noise less means", "gaussian", 200),
    ("1/f noise", "mixed", 100),
    ("rows of different loudness", "mixed", 100),
    ("louder inside", "mixed", 50),
    ("louder inside", "gaussian", 50),
    ("smooth images less means", "gaussian", 100),
    ("white noise less means", "gaussian", 50),
    ("pattern of norm 3", "mixed", 40),
    ("pattern of norm 3 less means", "gaussian", 40),
]
KINDS_OF_NOISE = NOISE | {
    "1/f noise less means": (less_means(cropped), SERIES),
    "white noise less means": (less_means(white), SERIES),
    "smooth images less means": (less_means(smooth_images), IMAGES),
    "louder inside": (louder_inside, SERIES),
    "pattern of norm 3": (lambda rng: planted(rng, 3), SERIES),
    "pattern of norm 3 less means": (less_means(lambda rng: planted(rng, 3)), SERIES),
}


def is_real(X, family, seed, surrogate="gaussian"):
    """Whether the first component is called real."""
    model = GTPCA(1, family, random_state=seed).fit(X)
    how = {"n_surrogates": 19, "verdict_only": True, "random_state": seed}
    return noise_floor(model, X, surrogate=surrogate, **how).n_real


def noise_of(name):
    """A function that draws such noise, the family, and how it is tested."""
    how = {"preprocess": kinds_of.PREPROCESS[name]} if name in kinds_of.PREPROCESS else {}
    if name in kinds_of.IMAGES:
        return kinds_of.IMAGES[name], Shift((6, 6)), how
    family = Shift(12, axes=0) if "channels" in name else Shift(kinds_of.WINDOW)
    return kinds_of.SERIES[name], family, how


def in_noise(name, seed, surrogate="innovations", other=None, n_surrogates=19):
    """Whether the first component found in some noise is called real; with an ``other`` family."""
    make, family, how = noise_of(name)
    X = make(np.random.default_rng(seed))
    missing = "ignore" if np.isnan(X).any() else "error"
    model = GTPCA(1, other or family, missing=missing, random_state=seed).fit(X)
    how |= {"verdict_only": True, "random_state": seed}
    found = noise_floor(model, X, n_surrogates, surrogate, **how)
    return {"real": found.n_real, "surrogate": found.kinds[0]}


def noises(sets):
    """Cases and what they say."""
    for seed in range(1000, 1000 + sets):
        images = kinds_of.IMAGES if seed < 1060 else {}
        for name in (*kinds_of.SERIES, *images):
            yield {"noise": name, "seed": seed}, partial(in_noise, name, seed)


def again(sets):
    """Cases and what they say: kinds of noise that were called real in more than a tenth."""
    lines = load().get("noise", [])
    for name in (*kinds_of.SERIES, *kinds_of.IMAGES):
        real = [line["real"] for line in lines if line["noise"] == name]
        if sum(real) > (7 if name in kinds_of.IMAGES else 20):
            for seed in range(2000, 2400):
                yield {"noise": name, "seed": seed}, partial(in_noise, name, seed)


ROWS_OF = ("white", "t(3)", "AR(1) .9")
OTHERS = {  # how the fit or the test differs: kinds of noise, family, surrogates
    "99 surrogates": (ROWS_OF, None, 99),
    "partial windows": (ROWS_OF, Shift(kinds_of.WINDOW, boundary="partial"), 19),
    "circular shifts": (ROWS_OF, Shift(boundary="circular"), 19),
    "rotations": (tuple(kinds_of.IMAGES), Rotation(8), 19),
}


def others(sets):
    """Cases and what they say."""
    for seed in range(7000, 7000 + min(sets, 60)):
        for which, (names, family, count) in OTHERS.items():
            for name in names:
                how = {"other": family, "n_surrogates": count}
                yield (
                    {"which": which, "noise": name, "seed": seed},
                    partial(in_noise, name, seed, **how),
                )


TAILS = (
    "Laplace",
    "t(3)",
    "Poisson(.5)",
    "bursts",
    "z-scored AR(1) .9",
    "AR(1) .9 with NaN ends",
)


def before(sets):
    """Cases and what they say."""
    for seed in range(6000, 6000 + min(sets, 20)):
        for name in TAILS:
            case = {"noise": name, "surrogate": "gaussian", "seed": seed}
            yield case, partial(in_noise, name, seed, "gaussian")


BESIDE = [("white", 6), ("Laplace", 6), ("AR(1) .9", 9), ("t(3)", 6)]
MARGIN = kinds_of.WINDOW - 20  # of the pattern in its window: it can be anywhere in it


def beside(sets):
    """Cases and what they say."""
    for seed in range(3000, 3000 + sets):
        for name, norm in BESIDE:
            for shared in (False, True):
                case = {"noise": name, "norm": norm, "one pose": shared, "seed": seed}
                yield case, partial(second_in_noise, name, norm, shared, seed)


def unit(X):
    """Noise of unit variance."""
    return X / X.std()


def second_in_noise(name, norm, shared, seed):
    """How many of two components are called real where one pattern was planted."""
    rng = np.random.default_rng(seed)
    X = kinds_of.planted(unit(kinds_of.SERIES[name](rng)), norm, rng, MARGIN)
    family = Shift(kinds_of.WINDOW)
    model = GTPCA(2, family, shared_pose=shared, random_state=seed).fit(X)
    return {"real": noise_floor(model, X, 19, verdict_only=True, random_state=seed).n_real}


FOUND = [  # noise, norm, surrogates
    ("white", 3, "innovations"),
    ("white", 2.5, "innovations"),
    ("Laplace", 4, "innovations"),
    *((name, norm, kind) for name, norm in PAIRED for kind in ("innovations", "gaussian")),
]


def found(sets):
    """Cases and what they say."""
    for seed in range(4000, 4000 + sets):
        for name, norm, surrogate in FOUND:
            case = {"noise": name, "norm": norm, "surrogate": surrogate, "seed": seed}
            yield case, partial(pattern_found, name, norm, surrogate, seed)


def with_pattern(name, norm, seed):
    """200 rows of 128 points of noise of unit variance, with a pattern of some norm."""
    rng = np.random.default_rng(seed)
    X = unit(kinds_of.SERIES[name](rng, N, SIZE))
    return kinds_of.planted(X, norm, rng) if norm else X


def pattern_found(name, norm, surrogate, seed):
    """Whether a pattern at random places is called real."""
    X = with_pattern(name, norm, seed)
    model = GTPCA(1, SERIES, random_state=seed).fit(X)
    how = {"surrogate": surrogate, "verdict_only": True, "random_state": seed}
    return {"real": noise_floor(model, X, 19, **how).n_real}


DOUBTS = [  # noise, norm of the pattern
    *((name, 0) for name in ("white", "AR(1) .3", "AR(1) .9", "1/f", "t(3)", "bursts")),
    ("white", 3),
]


def doubt(sets):
    """Cases and what they say."""
    for seed in range(5000, 5000 + min(sets, 60)):
        for name, norm in DOUBTS:
            yield {"noise": name, "norm": norm, "seed": seed}, partial(doubted, name, norm, seed)


def doubted(name, norm, seed, count=1):
    """Whether a density of a pattern and one component says that there may be none."""
    X = with_pattern(name, norm, seed)
    model = ProbabilisticGTPCA(count, SERIES, random_state=seed).fit(X)
    return {"doubt": int(model.doubt_ is not None), "surrogates": len(model.noise_gains_ or ())}


def kinds(sets):
    """Cases and what they say."""
    for name, surrogate, count in KINDS:
        make, family = KINDS_OF_NOISE[name]
        for seed in range(count):
            yield (
                {"noise": name, "surrogate": surrogate, "seed": seed},
                partial(of_kind, make, family, surrogate, seed),
            )


def of_kind(make, family, surrogate, seed):
    """Whether the first component found in some noise is called real."""
    return {"real": is_real(make(np.random.default_rng(seed)), family, seed, surrogate)}


def second(sets):
    """Cases and what they say."""
    for shared in (False, True):
        for seed in range(sets // 2):
            yield {"norm": 4, "one pose": shared, "seed": seed}, partial(of_two, 4, shared, seed)


def of_two(norm, shared, seed):
    """How many of two components are called real where one pattern was planted."""
    X = planted(np.random.default_rng(seed), norm)
    model = GTPCA(2, SERIES, shared_pose=shared, random_state=seed).fit(X)
    how = {"surrogate": "gaussian", "verdict_only": True, "random_state": seed}
    return {"real": noise_floor(model, X, 19, **how).n_real}


def level(sets):
    """Cases and what they say."""
    for seed in range(sets):
        names = list(NOISE) if seed < sets // 4 else list(NOISE)[:4]
        for name, (make, family) in ((name, NOISE[name]) for name in names):
            rng = np.random.default_rng(seed)
            yield (
                {"noise": name, "seed": seed},
                lambda m=make, f=family, r=rng, s=seed: {"real": is_real(m(r), f, s)},
            )


def power(sets):
    """Cases and what they say."""
    for seed in range(sets):
        for strength in STRENGTHS if seed < sets // 5 else STRENGTHS[:1]:
            rng = np.random.default_rng(seed)
            yield (
                {"norm": strength, "seed": seed},
                lambda r=rng, v=strength, s=seed: {"real": is_real(planted(r, v), SERIES, s)},
            )


def drawn(rng, size, count, n=200, points=400, noise=0.5):
    """Rows with ``count`` patterns of ``size`` points in one pose, and the patterns.

    A single one has scores around 1 that vary by .3, several have standard deviations 1, .8, .6.
    The noise has half of the standard deviation of the signal where it is.
    """
    V = np.linalg.qr(np.array([pattern_of(size, rng) for _ in range(count)]).T)[0].T
    scores = rng.standard_normal((n, count)) * np.array([1, 0.8, 0.6])[:count]
    scores = 1 + 0.3 * scores if count == 1 else scores
    signal = scores @ V
    X = noise * signal.std() * rng.standard_normal((n, points))
    for x, start, row in zip(X, rng.integers(points - size + 1, size=n), signal, strict=True):
        x[start : start + size] += row
    return X, V


def covered(window, V):
    """Share of the energy of patterns (K, L) that the best window of some length holds."""
    energy = np.cumsum(np.r_[0, np.sum(V**2, axis=0)])
    length = min(window, V.shape[1])
    return float((energy[length:] - energy[: len(energy) - length]).max() / energy[-1])


def chosen(size, count, seed):
    """What is suggested for one data set."""
    X, V = drawn(np.random.default_rng(seed), size, count)
    how = {"n_folds": 2, "shared_pose": True, "random_state": seed}
    found = choose(X, "shift", (16, 256), (1, 6), **how)
    return {
        "window": found.window,
        "flat": found.flat,
        "components": found.n_components,
        "holds": round(covered(found.window, V), 4),
        "ratio": round(found.window / size, 3),
    }


def choices(sets):
    """Cases and what they say."""
    for count, size in ((3, 60), (3, 24), (1, 60), (3, 140), (1, 24), (1, 140)):
        for seed in (*range(10), *range(200, 210)):
            case = {"size": size, "count": count, "seed": seed}
            yield case, partial(chosen, size, count, seed)


def real(sets):
    """Cases and what they say."""
    for name, (make, estimator) in REAL.items():
        yield {"data": name}, partial(checked, make, estimator)


def eeg_trials(channel="PZ"):
    """Trials of one electrode, less their means."""
    data = fetch_eeg()
    X = data.data[~data.repeated][:, :, list(data.channels).index(channel)].astype(np.float64)
    return X - X.mean(axis=1, keepdims=True)


def eeg(sets):
    """Cases and what they say."""
    for channel in ("PZ", "OZ", "PO7"):
        for surrogate in ("gaussian", "mixed", "phase", "innovations"):
            yield (
                {"channel": channel, "surrogate": surrogate, "added": 0, "seed": 0},
                partial(beside_noise, channel, surrogate, 0, 0),
            )
    for added in (0.25, 0.5, 1):
        for surrogate in ("gaussian", "mixed"):
            for seed in range(5):
                yield (
                    {"channel": "PZ", "surrogate": surrogate, "added": added, "seed": seed},
                    partial(beside_noise, "PZ", surrogate, added, seed),
                )


def beside_noise(channel, surrogate, added, seed, window=128):
    """What the first component explains of trials with a pattern added, and what surrogates do."""
    X, rng = eeg_trials(channel), np.random.default_rng(seed)
    norm = np.sqrt(added * window * np.mean(X**2))
    pattern = norm * pattern_of(window, rng, width=8)
    for x, start in zip(X, rng.integers(X.shape[1] - window + 1, size=len(X)), strict=True):
        x[start : start + window] += pattern
    X -= X.mean(axis=1, keepdims=True)
    model = GTPCA(1, Shift(window), random_state=seed).fit(X)
    found = noise_floor(model, X, 19, surrogate, random_state=seed)
    shares = {"gain": found.gains[0], "lowest": found.surrogates.min(), "bar": found.band[0]}
    told = {name: round(float(share), 4) for name, share in shares.items()}
    return told | {"p": float(found.p_values[0]), "real": found.n_real}


def digits():
    """The 8 x 8 digits of scikit-learn, in random places of 16 x 16."""
    images, rng = load_digits().images[:600] / 16, np.random.default_rng(0)
    X = np.zeros((600, 16, 16))
    for x, image, (a, b) in zip(X, images, rng.integers(9, size=(600, 2)), strict=True):
        x[a : a + 8, b : b + 8] = image
    return X


REAL = {
    "EEG trials": (eeg_trials, GTPCA(4, Shift(128), random_state=0)),
    "handwriting": (lambda: fetch_handwriting().data, GTPCA(4, Shift(400, axes=0), random_state=0)),
    "digits": (digits, GTPCA(8, Shift((10, 10)), random_state=0)),
    "digits in one pose": (digits, GTPCA(8, Shift((10, 10)), shared_pose=True, random_state=0)),
}


def checked(make, estimator):
    """The sentences of all diagnostics."""
    X = np.asarray(make(), dtype=np.float64)
    model = estimator.fit(X)
    return {
        "shape": list(X.shape),
        "noise floor": noise_floor(model, X).sentence,
        "stability": stability(model, X, n_splits=2, n_seeds=1).sentence,
        "pose confidence": pose_confidence(model, X).sentence,
    }


def cost(sets):
    """Cases and what they say: seconds of a fit, and how many fits the test takes."""
    cases = {
        "series": (white, SERIES, {}),
        "images": (smooth_images, IMAGES, {}),
        "one pose": (lambda rng: planted(rng, 8), SERIES, {"shared_pose": True}),
    }
    for name, (make, family, how) in cases.items():
        for K in (1, 3):
            X = make(np.random.default_rng(0))
            yield (
                {"case": name, "components": K},
                lambda x=X, f=family, k=K, h=how: timed(GTPCA(k, f, random_state=0, **h), x),
            )


def timed(estimator, X):
    """Least processor seconds of a fit of several, and the test in such fits."""
    fits = [seconds(lambda: estimator.fit(X)) for _ in range(5)]
    # with such a level no component ends the list: what the longest test takes
    test = seconds(lambda: noise_floor(estimator, X, 19, level=0.999))
    return {"fit": round(float(np.mean(fits)), 4), "fits": round(test / np.mean(fits), 2)}


def seconds(function):
    """Processor seconds."""
    begin = time.process_time()
    function()
    return time.process_time() - begin


PARTS = {
    "noise": noises,
    "again": again,
    "others": others,
    "before": before,
    "beside": beside,
    "found": found,
    "doubt": doubt,
    "level": level,
    "kinds": kinds,
    "second": second,
    "power": power,
    "choose": choices,
    "cost": cost,
    "eeg": eeg,
    "real": real,
}


def load(path):
    """What is known already, by part."""
    return json.loads(path.read_text()) if path.exists() else {}


def keep(results, path):
    """Write all lines."""
    parts = []
    for name, lines in results.items():
        body = ",\n".join(f"  {json.dumps(line)}" for line in lines)
        parts.append(f' "{name}": [\n{body}\n ]')
    beside = path.with_suffix(".part")
    beside.write_text("{\n" + ",\n".join(parts) + "\n}\n")
    beside.replace(path)


def counted(lines, columns, value):
    """Lines of a table: cases by their columns, and how many of all have a value."""
    found: dict = {}
    for line in lines:
        found.setdefault(tuple(line[column] for column in columns), []).append(value(line))
    return [
        "| " + " | ".join([*map(str, case), f"{sum(values)} of {len(values)}"]) + " |"
        for case, values in found.items()
    ]


TABLES = {  # columns, and what is counted
    "noise": (["noise"], lambda line: line["real"]),
    "again": (["noise"], lambda line: line["real"]),
    "others": (["which", "noise"], lambda line: line["real"]),
    "before": (["noise"], lambda line: line["real"]),
    "beside": (["noise", "norm", "one pose"], lambda line: int(line["real"] > 1)),
    "found": (["noise", "norm", "surrogate"], lambda line: line["real"]),
    "doubt": (["noise", "norm"], lambda line: line["doubt"]),
}


def tables(results):
    """Level, power and doubts as they are in docs/diagnostics.md."""
    for name, (columns, value) in TABLES.items():
        lines = counted(results.get(name, []), columns, value)
        print(f"{name}:", *lines, "", sep="\n")
    lines = results.get("noise", [])
    if lines:
        share = np.mean([line["real"] for line in lines])
        print(f"in the mean {100 * share:.1f} % of {len(lines)}")


def run(name, sets, results, path):
    """All cases of a part that are not known yet."""
    lines, kept = results.setdefault(name, []), time.monotonic()
    for case, find in PARTS[name](sets):
        if any(all(line.get(k) == v for k, v in case.items()) for line in lines):
            continue
        lines.append(case | find())
        if time.monotonic() - kept > SECONDS:
            keep(results, path)
            kept = time.monotonic()
    keep(results, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--tables", action="store_true", help="print tables of what is known")
    parser.add_argument("--out", type=Path, default=PATH)
    options = parser.parse_args()
    if options.tables:
        return tables(load(options.out))
    warnings.simplefilter("ignore")
    results = load(options.out)
    for name in options.only:
        run(name, options.sets, results, options.out)


if __name__ == "__main__":
    main()
