"""Free warps of time beside other methods for curves: the numbers of docs/howto/own-timing.md.

curves      the curves of bench_peers.py, 10 draws: variance left after alignment, and seconds
clean       held-out curves in noise of .02, .1 and .3: error of the reconstruction from two
            components against the curve without noise, as a share of its energy
noise       white and AR(.9) noise, 20 draws each: how often choose_warp suggests a warp
strength    curves bent by one planted strength, 10 draws: R2 of the first phase component with it
real        growth, gait and pinch (R package fda): error at odd points, two components
neurons     time between two lever presses by the slope of a warp with one knot (affinewarp's data)

Peers are in an environment of their own:
  pip install "numpy<2.4" scikit-learn==1.9.1 fdasrsf affinewarp rdata && pip install --no-deps .
A method whose package is missing keeps its stored numbers. Draws were fixed before the first run:
seeds 1000 .. 1009 (curves, clean, strength) and 2000 .. 2019 (noise); defaults were chosen on seeds
0 .. 5 and 200 .. 309. Seconds are processor time.

Run: python benchmarks/bench_warps.py [parts] [--out result.json]; other parts keep their results.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from bench_peers import warped
from scipy.signal import lfilter
from sklearn.model_selection import KFold

from gtpca import GTPCA, FreeWarp, TimeWarp
from gtpca.diagnostics import choose_warp

DRAWS = range(1000, 1010)
NOISE_DRAWS = range(2000, 2020)
NOISES = (0.02, 0.1, 0.3)


def timed(run):
    """The result of ``run`` and its processor seconds."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(), time.process_time() - start


def summary(values) -> dict:
    """Mean, standard error and all values."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return {
        "mean": round(float(values.mean()), 4),
        "error": round(float(error), 4),
        "draws": np.round(values, 4).tolist(),
    }


# --- methods: each returns aligned curves -----------------------------------------------------


def by_free_warp(X, u):
    return GTPCA(1, FreeWarp(), random_state=0).fit(X).align(X)


def by_time_warp(X, u):
    return GTPCA(1, TimeWarp(np.linspace(-1, 1, 21)), random_state=0).fit(X).align(X)


def by_fdasrsf(X, u):
    import fdasrsf

    done = fdasrsf.fdawarp(X.T.copy(), u)
    done.srsf_align(parallel=False, verbose=False)
    return done.fn.T


def by_affinewarp(X, u):
    from affinewarp import PiecewiseWarping

    model = PiecewiseWarping(n_knots=5, warp_reg_scale=1e-6, smoothness_reg_scale=1e-2)
    model.fit(X[:, :, None], iterations=50, verbose=False)
    return model.transform(X[:, :, None])[:, :, 0]


def by_soft_dtw(X, u):
    """Every curve along its DTW path to the soft-DTW barycentre."""
    from tslearn.barycenters import softdtw_barycenter
    from tslearn.metrics import dtw_path

    centre = softdtw_barycenter(X, gamma=0.1, max_iter=50)[:, 0]
    aligned = np.empty_like(X)
    for x, row in zip(X, aligned, strict=True):
        path, _ = dtw_path(centre, x)
        where = np.array(path)
        row[:] = [x[where[where[:, 0] == t, 1]].mean() for t in range(len(u))]
    return aligned


ALIGN = {
    "FreeWarp": (by_free_warp, "numpy"),
    "TimeWarp": (by_time_warp, "numpy"),
    "fdasrsf": (by_fdasrsf, "fdasrsf"),
    "affinewarp": (by_affinewarp, "affinewarp"),
    "soft-DTW": (by_soft_dtw, "tslearn"),
}


def has(package) -> bool:
    """Whether a package is installed."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def curves(only):
    """Variance left and seconds, for each method and kind of warp."""
    found = {}
    for name, (align, package) in ALIGN.items():
        if (only and name not in only) or not has(package):
            continue
        left, seconds = {False: [], True: []}, []
        for seed in DRAWS:
            rng = np.random.default_rng(seed)
            for free in (False, True):
                u, X = warped(rng, 40, free)
                aligned, spent = timed(lambda align=align, X=X, u=u: align(X, u))
                left[free].append(aligned.var(axis=0).sum() / X.var(axis=0).sum())
                seconds.append(spent)
        found[name] = {
            "one parameter": summary(left[False]),
            "free": summary(left[True]),
            "seconds": round(float(np.mean(seconds)), 3),
            "most_seconds": round(float(np.max(seconds)), 3),
        }
        print(name, found[name], flush=True)
    return found


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

    def fit(self, X, u):
        import fdasrsf

        done = fdasrsf.fdawarp(X.T.copy(), u)
        done.srsf_align(parallel=False, verbose=False)
        self.mean_q, aligned = done.mqn, done.fn.T
        self.mean = aligned.mean(axis=0)
        self.axes = np.linalg.svd(aligned - self.mean, full_matrices=False)[2][:2]
        return self

    def rebuilt(self, X, u):
        from fdasrsf.utility_functions import f_to_srsf, optimum_reparam

        found = np.empty_like(X)
        for x, row in zip(X, found, strict=True):
            gamma = optimum_reparam(self.mean_q, u, f_to_srsf(x, u))
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


def clean(only):
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
                rebuilt, _ = timed(
                    lambda make=make, X=X, u=u, new=new: make().fit(X, u).rebuilt(new, u)
                )
                errors[noise].append(np.sum((rebuilt - truth) ** 2) / np.sum(truth**2))
        found[name] = {str(noise): summary(values) for noise, values in errors.items()}
        print(name, found[name], flush=True)
    return found


# --- noise, and planted strengths --------------------------------------------------------------


def noise(only):
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


def strength(only):
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
    import rdata

    folder = Path(os.environ["GTPCA_DATA"]) / "curves"
    growth = rdata.read_rda(folder / "growth.rda")["growth"]
    heights = np.concatenate([np.asarray(growth["hgtm"]), np.asarray(growth["hgtf"])], axis=1).T
    age = np.asarray(growth["age"], dtype=float)
    yield "growth", (np.diff(heights) / np.diff(age))[:, :, None], (age[1:] + age[:-1]) / 2
    gait = np.asarray(rdata.read_rda(folder / "gait.rda")["gait"], dtype=float)
    yield "gait", gait.transpose(1, 0, 2), np.arange(len(gait), dtype=float)
    pinch = np.asarray(rdata.read_rda(folder / "pinch.rda")["pinch"], dtype=float)
    yield "pinch", pinch.T[:, :, None], np.arange(len(pinch), dtype=float)


def real(only):
    """Error at odd points of held-out curves, from their even points and two components."""
    found = {}
    for name, X, u in real_curves():
        odd = np.arange(len(u)) % 2 == 1
        folds = list(KFold(4, shuffle=True, random_state=0).split(X))
        errors = {method: np.zeros(len(X)) for method in JUDGED if not only or method in only}
        for method in list(errors):
            if method == "fdasrsf" and not has("fdasrsf"):
                del errors[method]
                continue
            for train, test in folds:
                guess, _ = timed(
                    lambda method=method, train=train, test=test, X=X, u=u, odd=odd: JUDGED[method](
                        X[train], X[test], u, odd
                    )
                )
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


def by_elastic(train, test, u, odd):
    """fdasrsf, each channel by itself, on curves interpolated between their even points."""
    channels = []
    for c in range(train.shape[2]):
        model = ElasticCurves().fit(train[:, :, c], u)
        seen = np.array([np.interp(u, u[~odd], x[~odd]) for x in test[:, :, c]])
        channels.append(model.rebuilt(seen, u))
    return np.stack(channels, axis=2)


JUDGED = {
    "FreeWarp(5)": lambda *data: by_warps(*data, knots=5),
    "FreeWarp, chosen": by_chosen,
    "no warp": by_components,
    "fdasrsf": by_elastic,
}


def trials():
    """Spike counts (n, times, neurons) in bins of 20 ms around two lever presses; tap2 - tap1."""
    file = np.load(Path(os.environ["GTPCA_DATA"]) / "neurons" / "motor_ctx_data.npz")
    edges = np.arange(400.0, 1601.0, 20.0)
    bins = np.searchsorted(edges, file["spiketimes"], side="right") - 1
    inside = (bins >= 0) & (bins < len(edges) - 1)
    n, d, neurons = len(file["tap1"]), len(edges) - 1, int(file["neuron_ids"].max()) + 1
    X = np.zeros((n, d, neurons))
    np.add.at(X, (file["trial_ids"][inside], bins[inside], file["neuron_ids"][inside]), 1.0)
    kernel = np.exp(-0.5 * (np.arange(-4, 5) / 2.0) ** 2)
    smooth = np.apply_along_axis(np.convolve, 1, X, kernel / kernel.sum(), mode="same")
    smooth /= np.maximum(smooth.std(axis=(0, 1)), 1e-9)
    return smooth, file["tap2"] - file["tap1"]


def neurons(only):
    """Correlation of the inverse slope of a warp between the presses with the time between them."""
    X, gap = trials()
    found = {}
    if not only or "FreeWarp" in only:
        family = FreeWarp(1, "free", axes=0, weights=20)
        model = GTPCA(1, family, random_state=0)
        pose, seconds = timed(lambda: model.fit(X).encode(X).pose[:, 0])
        found["FreeWarp"] = {"seconds": round(seconds, 2)} | _slopes(
            model.operator_.lattice.warp(pose), gap
        )
    if has("affinewarp") and (not only or "affinewarp" in only):
        from affinewarp import PiecewiseWarping

        model = PiecewiseWarping(n_knots=0, smoothness_reg_scale=1e-2)
        _, seconds = timed(lambda: model.fit(X, iterations=50, verbose=False))
        ends = model.y_knots if hasattr(model, "y_knots") else model.y
        line = ends[:, :1] + (ends[:, -1:] - ends[:, :1]) * np.linspace(0, 1, X.shape[1])
        found["affinewarp"] = {"seconds": round(seconds, 2)} | _slopes(X.shape[1] * line, gap)
    print(found, flush=True)
    return found


def _slopes(warp, gap):
    """Correlation of the mean slope between 500 and 1100 ms with the gap, inverse and plain."""
    slope = (warp[:, 35] - warp[:, 5]) / 30
    return {
        "slope": round(float(np.corrcoef(slope, gap)[0, 1]), 3),
        "inverse": round(float(np.corrcoef(1 / np.maximum(slope, 0.05), gap)[0, 1]), 3),
    }


PARTS = {
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
        found = PARTS[part](options.only)
        results = json.loads(options.out.read_text()) if options.out.exists() else {}
        results[part] = results.get(part, {}) | found
        options.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
