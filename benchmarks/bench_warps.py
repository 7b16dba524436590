"""Free warps of time beside other methods for curves: the numbers of docs/howto/own-timing.md.

even        what true warps leave of the variance of the curves of bench_peers.py, 10 draws
curves      the same curves: variance left after alignment, and seconds
clean       held-out curves in noise of .02, .1 and .3: error of the reconstruction from two
            components against the curve without noise, as a share of its energy
noise       white and AR(.9) noise, 20 draws each: how often choose_warp suggests a warp
strength    curves bent by one planted strength, 10 draws: R2 of the first phase component with it
real        growth, gait and pinch (R package fda): error at odd points, two components
neurons     time between two lever presses by the slope of a warp with one knot (affinewarp's data)
tune        the settings of other packages, chosen by variance left on seeds 0 .. 2

Peers are in an environment of their own:
  pip install "numpy<2.4" scikit-learn==1.9.1 fdasrsf affinewarp scikit-fda fdars tslearn rdata
  pip install --no-deps .
A method whose package is missing keeps its stored numbers. Draws were fixed before the first run:
seeds 1000 .. 1009 (curves, clean, strength) and 2000 .. 2019 (noise); defaults were chosen on seeds
0 .. 5 and 200 .. 309. Of the neurons, odd trials chose settings, and even ones are reported.
Seconds are processor time; NUMBA_NUM_THREADS=1 for affinewarp.

Run: python benchmarks/bench_warps.py [parts] [--out result.json]; other parts keep their results.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from bench_peers import warped
from scipy.ndimage import gaussian_filter1d
from scipy.signal import lfilter
from sklearn.model_selection import KFold

from gtpca import ALS, GTPCA, FreeWarp, TimeWarp
from gtpca.datasets import fetch_curves, fetch_neurons
from gtpca.diagnostics import choose_warp

DRAWS = range(1000, 1010)
NOISE_DRAWS = range(2000, 2020)
STARTS = range(5)  # of warps of neurons, which depend on them
NOISES = (0.02, 0.1, 0.3)


def quiet(run, *args, **kwargs):
    """The result of a call, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(*args, **kwargs)


def timed(run, *args, **kwargs):
    """The result of a call and its processor seconds."""
    start = time.process_time()
    return quiet(run, *args, **kwargs), time.process_time() - start


def summary(values) -> dict:
    """Mean, standard error and all values."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return {
        "mean": round(float(values.mean()), 4),
        "error": round(float(error), 4),
        "draws": np.round(values, 4).tolist(),
    }


# --- methods: each returns aligned curves, and the time of the mean at every time of a curve ---


def by_free_warp(X, u):
    model = GTPCA(1, FreeWarp(), random_state=0).fit(X)
    pose = model.encode(X).pose[:, 0]
    return model.align(X), model.operator_.lattice.warp(pose) / (len(u) - 1)


def by_time_warp(X, u):
    model = GTPCA(1, TimeWarp(np.linspace(-1, 1, 21)), random_state=0).fit(X)
    strength = model.poses(model.encode(X))["strength"]
    return model.align(X), u ** np.exp(np.asarray(strength))


def by_fdasrsf(X, u, lam=0.0):
    import fdasrsf

    done = fdasrsf.fdawarp(X.T.copy(), u)
    done.srsf_align(parallel=False, verbose=False, lam=lam)
    return done.fn.T, inverse(done.gam.T, u)


def by_skfda(X, u, penalty=0.0):
    from skfda import FDataGrid
    from skfda.preprocessing.registration import FisherRaoElasticRegistration

    register = FisherRaoElasticRegistration(penalty=penalty)
    aligned = register.fit_transform(FDataGrid(X, u))
    return aligned.data_matrix[..., 0], inverse(register.warping_.data_matrix[..., 0], u)


def by_fdars(X, u, penalty=0.0):
    from fdars.alignment import karcher_mean

    found = karcher_mean(np.ascontiguousarray(X), u, lambda_=penalty)
    return found["aligned_data"], inverse(found["gammas"], u)


def by_affinewarp(X, u, knots=5, penalty=0.0):
    from affinewarp import PiecewiseWarping

    np.random.seed(0)  # noqa: NPY002
    model = PiecewiseWarping(n_knots=knots, warp_reg_scale=penalty, smoothness_reg_scale=1e-2)
    model.fit(X[:, :, None], iterations=50, verbose=False)
    rows = list(zip(X, model.x_knots, model.y_knots, strict=True))
    aligned = np.array([np.interp(np.interp(u, b, a), u, x) for x, a, b in rows])
    return aligned, np.array([np.interp(u, a, b) for _, a, b in rows])


def by_dtw(X, u, radius=None):
    """Every curve along its DTW path to the DTW barycentre."""
    from tslearn.barycenters import dtw_barycenter_averaging

    band = {} if radius is None else {"sakoe_chiba_radius": radius}
    band = band and {"metric_params": {"global_constraint": "sakoe_chiba", **band}}
    centre = dtw_barycenter_averaging(X, max_iter=50, **band)[:, 0]
    return along_paths(X, centre, **band.get("metric_params", {}))


def by_soft_dtw(X, u, gamma=0.1):
    """Every curve along its DTW path to the soft-DTW barycentre."""
    from tslearn.barycenters import softdtw_barycenter

    return along_paths(X, softdtw_barycenter(X, gamma=gamma, max_iter=50)[:, 0])


def along_paths(X, centre, **band):
    """Means of every curve, and of the times of the centre, along the DTW path between them."""
    from tslearn.metrics import dtw_path

    aligned, back, d = np.empty_like(X), np.empty_like(X), X.shape[1]
    for x, row, times in zip(X, aligned, back, strict=True):
        i, j = np.array(dtw_path(centre, x, **band)[0]).T
        row[:] = np.bincount(i, x[j], d) / np.bincount(i, minlength=d)
        times[:] = np.bincount(j, i, d) / np.bincount(j, minlength=d) / (d - 1)
    return aligned, back


def inverse(gamma, u):
    """Inverse warps of [0, 1], (n, d)."""
    return np.array([np.interp(u, g, u) for g in gamma])


# Each with its settings, of which the part ``tune`` chooses one.
ALIGN = {
    "FreeWarp": (by_free_warp, "numpy", [{}]),
    "TimeWarp": (by_time_warp, "numpy", [{}]),
    "fdasrsf": (by_fdasrsf, "fdasrsf", [{"lam": lam} for lam in (0.0, 0.01, 0.1)]),
    "scikit-fda": (by_skfda, "scikit-fda", [{"penalty": p} for p in (0.0, 0.01, 0.1)]),
    "fdars": (by_fdars, "fdars", [{"penalty": p} for p in (0.0, 0.01, 0.1)]),
    "affinewarp": (
        by_affinewarp,
        "affinewarp",
        [{"knots": k, "penalty": p} for k in (3, 5, 9) for p in (0.0, 0.01)],
    ),
    "DTW barycentre": (by_dtw, "tslearn", [{"radius": r} for r in (None, 5, 20)]),
    "soft-DTW barycentre": (by_soft_dtw, "tslearn", [{"gamma": g} for g in (0.01, 0.1, 1.0)]),
}
TUNED_ON = range(3)


def has(package) -> bool:
    """Whether a package is installed."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def both_kinds(seed, bent=True):
    """Curves bent by one parameter, and freely; or the same ones in even time."""
    rng = np.random.default_rng(seed)
    return {kind: warped(rng, 40, kind == "free", bent) for kind in ("one parameter", "free")}


def tune(only, known):
    """For each method, the setting that leaves the least variance on other draws."""
    found = {}
    for name, (align, package, settings) in ALIGN.items():
        if (only and name not in only) or not has(package):
            continue
        left = []
        for setting in settings:
            pairs = [pair for seed in TUNED_ON for pair in both_kinds(seed).values()]
            shares = [share_left(quiet(align, X, u, **setting)[0], X) for u, X in pairs]
            left.append(float(np.mean(shares)))
        best = int(np.argmin(left))
        found[name] = {"setting": settings[best], "tried": np.round(left, 4).tolist()}
        print(name, found[name], flush=True)
    return found


def share_left(aligned, X):
    """Variance around the mean, relative to that before."""
    return aligned.var(axis=0).sum() / X.var(axis=0).sum()


def measures(X, u, aligned, back) -> dict:
    """What this and other packages measure; smaller is better but for the correlation.

    least squares, Sobolev, correlation: those of Srivastava et al. (2011), in fdasrsf, scikit-fda
    and fdars. template: energy of the curves around their warped mean, relative to that around the
    plain mean, the loss of affinewarp. DTW: squared DTW distance to the mean of the aligned curves,
    relative to the energy around the plain mean.
    """
    slopes, mean = np.gradient(aligned, u, axis=1), aligned.mean(axis=0)
    energy = np.sum((X - X.mean(axis=0)) ** 2)
    rebuilt = np.array([np.interp(times, u, mean) for times in back])
    off_diagonal = ~np.eye(len(X), dtype=bool)
    return {
        "left": share_left(aligned, X),
        "least squares": np.mean(energies(aligned) / energies(X)),
        "Sobolev": share_left(slopes, np.gradient(X, u, axis=1)),
        "correlation": np.corrcoef(aligned)[off_diagonal].sum()
        / np.corrcoef(X)[off_diagonal].sum(),
        "template": np.sum((X - rebuilt) ** 2) / energy,
        "DTW": sum(dtw(mean, x) for x in X) / energy,
    }


def energies(X):
    """Energy of every curve around the mean of the others, (n,)."""
    return np.sum((X - (X.sum(axis=0) - X) / (len(X) - 1)) ** 2, axis=1)


def dtw(a, b) -> float:
    """The smallest sum of squared differences along a path."""
    cost = (a[:, None] - b) ** 2
    best = np.full((len(a) + 1, len(b) + 1), np.inf)
    best[0, 0] = 0
    for total in range(2, len(a) + len(b) + 1):  # anti-diagonals
        i = np.arange(max(1, total - len(b)), min(len(a), total - 1) + 1)
        j = total - i
        before = np.minimum(np.minimum(best[i - 1, j], best[i, j - 1]), best[i - 1, j - 1])
        best[i, j] = cost[i - 1, j - 1] + before
    return float(best[-1, -1])


def even(only, known):
    """What true warps leave: different heights, and noise."""
    left = {"one parameter": [], "free": []}
    for seed in DRAWS:
        for (kind, (_, straight)), (_, X) in zip(
            both_kinds(seed, bent=False).items(), both_kinds(seed).values(), strict=True
        ):
            left[kind].append(share_left(straight, X))
    return {kind: summary(values) for kind, values in left.items()}


def curves(only, known):
    """All measures and seconds, for each method and kind of warp."""
    found, settings = {}, known.get("tune", {})
    for name, (align, package, [default, *_]) in ALIGN.items():
        if (only and name not in only) or not has(package):
            continue
        setting = settings.get(name, {}).get("setting", default)
        told, seconds = {"one parameter": [], "free": []}, []
        quiet(align, *both_kinds(0)["free"][::-1], **setting)  # whatever has to be compiled
        for seed in DRAWS:
            for kind, (u, X) in both_kinds(seed).items():
                done, spent = timed(align, X, u, **setting)
                told[kind].append(measures(X, u, *done))
                seconds.append(spent)
        found[name] = {kind: summaries(values) for kind, values in told.items()}
        found[name]["seconds"] = round(float(np.mean(seconds)), 3)
        found[name]["most_seconds"] = round(float(np.max(seconds)), 3)
        print(name, found[name], flush=True)
    return found


def summaries(draws) -> dict:
    """Each quantity of some draws."""
    return {key: summary([draw[key] for draw in draws]) for key in draws[0]}


# --- reconstructions of new curves -------------------------------------------------------------


class OurCurves:
    """Free warps with two components in one pose."""

    def __init__(self, **how):
        self.how = how

    def fit(self, X, u):
        self.model = GTPCA(2, FreeWarp(**self.how), shared_pose=True, missing="ignore")
        self.model.set_params(random_state=0).fit(X)
        return self

    def rebuilt(self, X, u):
        return self.model.reconstruct(X)


class ElasticCurves:
    """fdasrsf: curves are aligned to its mean, projected on two components, and warped back."""

    def __init__(self, lam=0.0):
        self.lam = lam

    def fit(self, X, u):
        import fdasrsf

        done = fdasrsf.fdawarp(X.T.copy(), u)
        done.srsf_align(parallel=False, verbose=False, lam=self.lam)
        self.mean_q, aligned = done.mqn, done.fn.T
        self.mean = aligned.mean(axis=0)
        self.axes = np.linalg.svd(aligned - self.mean, full_matrices=False)[2][:2]
        return self

    def rebuilt(self, X, u):
        from fdasrsf.utility_functions import f_to_srsf, optimum_reparam

        found = np.empty_like(X)
        for x, row in zip(X, found, strict=True):
            gamma = optimum_reparam(self.mean_q, u, f_to_srsf(x, u), lam=self.lam)
            aligned = np.interp(gamma * (u[-1] - u[0]) + u[0], u, x)
            shape = self.mean + (aligned - self.mean) @ self.axes.T @ self.axes
            back = np.interp(u, gamma * (u[-1] - u[0]) + u[0], u)
            row[:] = np.interp(back, u, shape)
        return found


REBUILD = {
    "FreeWarp": (OurCurves, "numpy"),
    "FreeWarp(weights=14)": (lambda: OurCurves(weights=14), "numpy"),
    "fdasrsf": (ElasticCurves, "fdasrsf"),
}


def noisy(rng, n, noise):
    """Freely bent curves in noise, and without it."""
    state = rng.bit_generator.state
    _, X = warped(rng, n, True)
    rng.bit_generator.state = state
    _, clean = _clean(rng, n)
    return clean + noise * rng.standard_normal(X.shape), clean


def _clean(rng, n):
    """The curves of ``warped(rng, n, True)`` without their noise."""
    u = np.linspace(0, 1, 80)
    phase = u ** np.exp(rng.normal(0, 0.35, (n, 1)))
    bend = rng.normal(0, 0.035, (n, 3)) @ np.sin(np.pi * np.outer([2, 3, 4], u))
    phase = np.maximum.accumulate(np.clip(phase + bend, 0, 1), axis=1)
    height = rng.normal(1, 0.15, (n, 2))
    return u, sum(
        height[:, [k]] * np.exp(-(((phase - c) / 0.09) ** 2)) for k, c in enumerate((0.35, 0.7))
    )


def clean(only, known):
    """Errors of held-out curves against the truth."""
    found = {}
    for name, (make, package) in REBUILD.items():
        if (only and name not in only) or not has(package):
            continue
        errors = {noise: [] for noise in NOISES}
        for seed in DRAWS:
            for noise in NOISES:
                rng = np.random.default_rng(seed)
                X, _ = noisy(rng, 40, noise)
                new, truth = noisy(rng, 40, noise)
                u = np.linspace(0, 1, 80)
                rebuilt = quiet(make().fit(X, u).rebuilt, new, u)
                errors[noise].append(np.sum((rebuilt - truth) ** 2) / np.sum(truth**2))
        found[name] = {str(noise): summary(values) for noise, values in errors.items()}
        print(name, found[name], flush=True)
    return found


# --- noise, and planted strengths --------------------------------------------------------------


def noise(only, known):
    """How often a warp is suggested in pure noise."""
    found = {}
    for kind in ("white", "AR(.9)"):
        suggested = []
        for seed in NOISE_DRAWS:
            X = np.random.default_rng(seed).standard_normal((40, 280))
            X = X[:, 200:] if kind == "white" else lfilter([1], [1, -0.9], X, axis=1)[:, 200:]
            suggested.append(choose_warp(X).supported)
        found[kind] = {"suggested": int(np.sum(suggested)), "draws": len(suggested)}
        print(kind, found[kind], flush=True)
    bent = []
    for seed in DRAWS:
        _, X = warped(np.random.default_rng(seed), 40, True)
        bent.append(choose_warp(X).supported)
    found["freely bent curves"] = {"suggested": int(np.sum(bent)), "draws": len(bent)}
    print(found, flush=True)
    return found


def strength(only, known):
    """R2 of the first phase component with a planted strength."""
    squares = []
    for seed in DRAWS:
        rng = np.random.default_rng(seed)
        u, planted = np.linspace(0, 1, 80), rng.normal(0, 0.35, (40, 1))
        phase, height = u ** np.exp(planted), rng.normal(1, 0.15, (40, 2))
        bumps = [np.exp(-(((phase - c) / 0.09) ** 2)) for c in (0.35, 0.7)]
        X = (
            height[:, :1] * bumps[0]
            + height[:, 1:] * bumps[1]
            + 0.02 * rng.standard_normal((40, 80))
        )
        model = GTPCA(2, FreeWarp(), shared_pose=True, random_state=0).fit(X)
        pose = model.encode(X).pose[:, 0]
        scores = np.linalg.svd(pose - pose.mean(axis=0), full_matrices=False)[0][:, 0]
        squares.append(np.corrcoef(scores, planted[:, 0])[0, 1] ** 2)
    found = {"R2": summary(squares)}
    print(found, flush=True)
    return found


# --- real curves -------------------------------------------------------------------------------


def real_curves():
    """Growth velocity, gait (two angles) and pinch force, (n, d, channels), and their times."""
    growth, gait, pinch = (fetch_curves(name) for name in ("growth", "gait", "pinch"))
    velocity, age = np.diff(growth.data) / np.diff(growth.time), growth.time
    yield "growth", velocity[:, :, None], (age[1:] + age[:-1]) / 2
    yield "gait", gait.data, gait.time
    yield "pinch", pinch.data[:, :, None], pinch.time


def real(only, known):
    """Error at odd points of held-out curves, from their even points and two components.

    Every channel by itself, as fdasrsf takes them, or all channels with one warp and joint scores.
    """
    found = {}
    for name, X, u in real_curves():
        odd = np.arange(len(u)) % 2 == 1
        folds = list(KFold(4, shuffle=True, random_state=0).split(X))
        errors = {}
        for method in JUDGED:
            if (only and method not in only) or (method[0] == "f" and not has("fdasrsf")):
                continue
            if method.endswith("together") and X.shape[2] == 1:
                continue
            errors[method] = np.zeros(len(X))
            for train, test in folds:
                guess = quiet(JUDGED[method], X[train], X[test], u, odd)
                errors[method][test] = np.sum((X[test] - guess)[:, odd] ** 2, axis=(1, 2))
        total = np.sum(X[:, odd] ** 2) / len(X)
        found[name] = {method: summary_of_rows(e / total) for method, e in errors.items()}
        print(name, found[name], flush=True)
    return found


def summary_of_rows(shares) -> dict:
    """Mean over curves and its standard error."""
    error = shares.std(ddof=1) / np.sqrt(len(shares))
    return {"mean": round(float(shares.mean()), 5), "error": round(float(error), 5)}


def by_warps(train, test, u, odd, **how):
    """Free warps: hidden points are gaps."""
    family = FreeWarp(axes=0, **how)
    model = GTPCA(2, family, shared_pose=True, missing="ignore", random_state=0).fit(train)
    return model.reconstruct(np.where(odd[:, None], np.nan, test))


def by_chosen(train, test, u, odd):
    """Free warps with knots and weights of choose_warp on the training curves."""
    found = choose_warp(train, FreeWarp(axes=0), n_components=2)
    best = found.best_warp
    how = {"knots": int(found.knots[best]), "weights": int(found.weights[best])}
    return by_warps(train, test, u, odd, **how)


def by_components(train, test, u, odd):
    """Two principal components, without a warp."""
    model = GTPCA(2, None, missing="ignore", shared_pose=True, random_state=0).fit(train)
    return model.reconstruct(np.where(odd[:, None], np.nan, test))


def each_channel(method):
    """A method for each channel by itself, with components and warps of its own."""

    def by_channels(train, test, u, odd):
        channels = [[c] for c in range(train.shape[2])]
        parts = [method(train[..., c], test[..., c], u, odd) for c in channels]
        return np.concatenate(parts, axis=2)

    return by_channels


def by_elastic(train, test, u, odd, lam=0.0):
    """fdasrsf, on curves of one channel that are interpolated between their even points."""
    seen = np.array([np.interp(u, u[~odd], x[~odd]) for x in test[:, :, 0]])
    return ElasticCurves(lam).fit(train[:, :, 0], u).rebuilt(seen, u)[:, :, None]


def by_elastic_chosen(train, test, u, odd):
    """fdasrsf with the penalty that is best at odd points of halves of the training curves."""
    wrong = []
    for lam in PENALTIES:
        halves = KFold(2, shuffle=True, random_state=0).split(train)
        guesses = [(train[b], by_elastic(train[a], train[b], u, odd, lam)) for a, b in halves]
        wrong.append(sum(np.sum((x - guess)[:, odd] ** 2) for x, guess in guesses))
    return by_elastic(train, test, u, odd, PENALTIES[int(np.argmin(wrong))])


PENALTIES = (0.0, 0.03, 0.3, 3.0)
JUDGED = {
    "FreeWarp(5)": each_channel(lambda *data: by_warps(*data, knots=5)),
    "FreeWarp, chosen": each_channel(by_chosen),
    "FreeWarp, chosen, channels together": by_chosen,
    "no warp": each_channel(by_components),
    "no warp, channels together": by_components,
    "fdasrsf": each_channel(by_elastic),
    "fdasrsf, chosen": each_channel(by_elastic_chosen),
}


BIN, BEGIN, END = 20.0, 400.0, 1600.0  # ms; presses are at 500 and, in the mean, at 1240
NEURONS = {"weights": 6, "reach": 0.2, "stiffness": 0.3}
LINES = {"smoothness_reg_scale": 1.0, "warp_reg_scale": 0.1}  # both chosen on the odd trials


def trials(half):
    """Smoothed spike counts (n, times, neurons) of even (0) or odd (1) trials; times between."""
    spikes = fetch_neurons()
    edges = np.arange(BEGIN, END + 1, BIN)
    bins = np.searchsorted(edges, spikes.time, side="right") - 1
    inside = (bins >= 0) & (bins < len(edges) - 1)
    X = np.zeros((len(spikes.first), len(edges) - 1, 1 + spikes.neuron.max()))
    np.add.at(X, (spikes.trial[inside], bins[inside], spikes.neuron[inside]), 1.0)
    smooth = gaussian_filter1d(X, 2.0, axis=1, mode="nearest")
    return (smooth / smooth.std(axis=(0, 1)))[half::2], (spikes.second - spikes.first)[half::2]


def neurons(only, known):
    """Correlation of the slope of a warp between the presses with the time between them."""
    X, gap = trials(0)
    found = {}
    for name, (warps, package) in BETWEEN.items():
        if (only and name not in only) or not has(package):
            continue
        quiet(warps, X[:10], 0)  # whatever has to be compiled
        done = [timed(warps, X, start) for start in STARTS]
        seconds = float(np.mean([spent for _, spent in done]))
        correlation = summary([slopes(places, gap) for places, _ in done])
        found[name] = {"trials": len(X), "seconds": round(seconds, 2), "correlation": correlation}
        print(name, found[name], flush=True)
    return found


def warps_of_knots(X, start, **how):
    """``gamma(t)`` in points, of free warps with one inner knot."""
    family = FreeWarp(1, "free", axes=0, **NEURONS)
    model = GTPCA(1, family, random_state=start, **how).fit(X)
    return model.operator_.lattice.warp(model.encode(X).pose[:, 0])


def warps_of_lines(X, start):
    """The same of affinewarp's linear warps, which are searched for at random, in compiled code."""
    from affinewarp import PiecewiseWarping
    from numba import njit

    seed = njit(lambda number: np.random.seed(number))  # noqa: NPY002
    np.random.seed(start)  # noqa: NPY002
    seed(start)
    model = PiecewiseWarping(n_knots=0, **LINES)
    model.fit(X, iterations=50, verbose=False)
    ends = (X.shape[1] - 1) * model.y_knots
    return ends[:, :1] + (ends[:, 1:] - ends[:, :1]) * np.linspace(0, 1, X.shape[1])


BETWEEN = {
    "FreeWarp": (warps_of_knots, "numpy"),
    "FreeWarp, one start": (partial(warps_of_knots, solver=ALS(n_init=1)), "numpy"),
    "affinewarp": (warps_of_lines, "affinewarp"),
}


def slopes(places, gap):
    """Correlation of the mean slope from the first press to 600 ms later with the gap."""
    first, last = int((500 - BEGIN) / BIN), int((1100 - BEGIN) / BIN)
    slope = (places[:, last] - places[:, first]) / (last - first)
    return float(np.corrcoef(slope, gap)[0, 1])


PARTS = {
    "tune": tune,
    "even": even,
    "curves": curves,
    "clean": clean,
    "noise": noise,
    "strength": strength,
    "real": real,
    "neurons": neurons,
}


def main():
    """Run the parts and keep their results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--only", nargs="*", default=[], help="names of methods")
    parser.add_argument("--out", default=Path(__file__).with_suffix(".json"), type=Path)
    options = parser.parse_args()
    for part in options.parts:
        results = json.loads(options.out.read_text()) if options.out.exists() else {}
        found = PARTS[part](options.only, results)
        results = json.loads(options.out.read_text()) if options.out.exists() else {}
        results[part] = results.get(part, {}) | found
        options.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
