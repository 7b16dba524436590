"""GT-PCA beside methods for the same kind of data: the numbers of docs/comparison.md.

kshape      one pattern at random times: correlation with the truth, of k-Shape's centre, of the DTW
            barycentre (DBA), of the mean and of a component; two patterns: adjusted Rand index
dictionary  one and three events per sample: the atoms of convolutional dictionary learning
elastic     curves whose time is warped, by one parameter or freely: what is left of new curves
steerable   images in all directions: what is left of new images, for as many numbers

Peers are in an environment of their own, where aeon would install too:
  pip install "numpy<2.4" scikit-learn==1.9.1 tslearn alphacsc fdasrsf && pip install --no-deps .
A part whose package is missing is left out. Seconds are processor time. Three draws each, medians.

Run: python benchmarks/bench_peers.py [parts] [--out result.json]; other parts keep their results.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from gtpca import GTPCA, Rotation, Shift, TimeWarp
from gtpca.datasets import random_rotation, sliding_windows

DRAWS = 3
T = np.arange(40)
A = np.exp(-(((T - 14) / 5) ** 2)) - 0.6 * np.exp(-(((T - 27) / 6) ** 2))
B = np.sin(T / 3.5) * np.hanning(40)


def timed(run):
    """The result of ``run`` and its processor seconds."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(), time.process_time() - start


def events(rng, patterns, kind, n_times, n_events=1, noise=0.3):
    """Rows with ``n_events`` copies of pattern ``kind[i]`` at random times that do not overlap."""
    X = noise * rng.standard_normal((len(kind), n_times))
    for row, k in zip(X, kind, strict=True):
        slots = rng.choice(n_times // 44, size=n_events, replace=False)
        for slot in slots:
            start = slot * 44 + rng.integers(5) if n_events > 1 else rng.integers(n_times - 39)
            row[start : start + 40] += rng.uniform(0.7, 1.3) * patterns[k]
    return X


def likeness(found, true):
    """Largest absolute correlation over all shifts."""
    found = found - found.mean() if len(found) > len(true) else found
    scale = np.linalg.norm(found) * np.linalg.norm(true)
    return float(np.abs(np.correlate(found, true, "full")).max() / scale)


def summary(draws):
    """Medians over the draws, for each method and quantity."""
    names = draws[0]
    return {
        name: {
            key: round(float(np.median([d[name][key] for d in draws])), 3) for key in names[name]
        }
        for name in names
    }


def kshape_draw(seed):
    from tslearn.barycenters import dtw_barycenter_averaging
    from tslearn.clustering import KShape
    from tslearn.preprocessing import TimeSeriesScalerMeanVariance as Scaler

    rng = np.random.default_rng(seed)
    one = events(rng, [A], np.zeros(150, int), 128)
    kind = rng.integers(2, size=150)
    two = events(rng, [A, B], kind, 128)
    scaled = Scaler().fit_transform(one)[..., 0], Scaler().fit_transform(two)[..., 0]

    def cluster(X, k):
        return KShape(k, n_init=2, random_state=seed).fit(X)

    centre, s1 = timed(lambda: cluster(scaled[0], 1).cluster_centers_[0, :, 0])
    groups, s2 = timed(lambda: cluster(scaled[1], 2).labels_)
    mean, s3 = timed(lambda: dtw_barycenter_averaging(one, max_iter=10)[:, 0])
    fit = GTPCA(1, Shift(44), polarity="positive", random_state=0)
    component, s4 = timed(lambda: fit.fit(one).components_[0])
    model = GTPCA(2, Shift(44), shared_pose=True, random_state=0)
    scores, s5 = timed(lambda: model.fit_transform(two))
    ours = KMeans(2, n_init=5, random_state=0).fit_predict(scores)
    return {
        "mean": {"likeness": likeness(one.mean(axis=0), A)},
        "DBA": {"likeness": likeness(mean, A), "seconds": s3},
        "k-Shape": {
            "likeness": likeness(centre, A),
            "rand": adjusted_rand_score(kind, groups),
            "seconds": s1 + s2,
        },
        "GT-PCA": {
            "likeness": likeness(component, A),
            "rand": adjusted_rand_score(kind, ours),
            "seconds": s4 + s5,
        },
    }


def dictionary_draw(seed):
    from alphacsc import learn_d_z

    rng, found = np.random.default_rng(seed), {}
    for n_events in (1, 3):
        X = events(rng, [A], np.zeros(100, int), 176, n_events)
        learn = {"n_iter": 20, "random_state": seed, "verbose": 0}
        atom, s1 = timed(lambda X=X, learn=learn: learn_d_z(X, 1, 44, reg=1.0, **learn)[2][0])
        windows = X if n_events == 1 else sliding_windows(X.ravel(), 88, 44)
        fit = GTPCA(1, Shift(44), polarity="positive", random_state=0)
        component, s2 = timed(lambda fit=fit, windows=windows: fit.fit(windows).components_[0])
        found[f"dictionary, {n_events} events"] = {"likeness": likeness(atom, A), "seconds": s1}
        found[f"GT-PCA, {n_events} events"] = {"likeness": likeness(component, A), "seconds": s2}
    return found


def warped(rng, n, free, bent=True):
    """Curves whose time runs unevenly: by one parameter, or by a smooth random warp; or evenly."""
    u = np.linspace(0, 1, 80)
    a = rng.normal(0, 0.35, (n, 1))
    phase = u ** np.exp(a)
    if free:
        bend = rng.normal(0, 0.035, (n, 3)) @ np.sin(np.pi * np.outer([2, 3, 4], u))
        phase = np.clip(phase + bend, 0, 1)
        phase = np.maximum.accumulate(phase, axis=1)
    phase = phase if bent else u
    height = rng.normal(1, 0.15, (n, 2))
    curve = sum(
        height[:, [k]] * np.exp(-(((phase - c) / 0.09) ** 2)) for k, c in enumerate((0.35, 0.7))
    )
    return u, curve + 0.02 * rng.standard_normal(curve.shape)


def elastic_draw(seed):
    import fdasrsf

    rng, found = np.random.default_rng(seed), {}
    for free in (False, True):
        u, X = warped(rng, 40, free)

        def register(u=u, X=X):
            done = fdasrsf.fdawarp(X.T.copy(), u)
            done.srsf_align(parallel=False, verbose=False)
            return done.fn.T

        aligned, s1 = timed(register)
        fit = GTPCA(1, TimeWarp(np.linspace(-1, 1, 21)), random_state=0)
        ours, s2 = timed(lambda fit=fit, X=X: fit.fit(X).align(X))
        case = "free" if free else "one parameter"
        for name, curves, seconds in (("elastic", aligned, s1), ("GT-PCA", ours, s2)):
            share = curves.var(axis=0).sum() / X.var(axis=0).sum()
            found[f"{name}, {case}"] = {"variance_left": share, "seconds": seconds}
    return found


def steerable_draw(seed):
    """Steerable PCA by its definition: PCA of all rotated copies of all images."""
    turned, _ = random_rotation(load_digits().images / 16, angles=36, random_state=seed)
    X, X_new = turned[:400].reshape(400, -1), turned[400:800].reshape(400, -1)
    bank, found = Rotation(36, domain="all").bind((8, 8)), {}

    def steer():
        copies = np.concatenate([bank.apply(x) for x in X])
        return np.linalg.eigh(copies.T @ copies)[1][:, ::-1]

    basis, s1 = timed(steer)
    for numbers in (4, 8, 16):
        W = basis[:, :numbers]
        left = np.sum((X_new - X_new @ W @ W.T) ** 2) / np.sum(X_new**2)
        fit = GTPCA(
            numbers - 1,
            Rotation(36, domain="all"),
            sample_shape=(8, 8),
            shared_pose=True,
            random_state=0,
        )
        ours, s2 = timed(lambda fit=fit: fit.fit(X))
        found[f"steerable, {numbers} numbers"] = {"left": left, "seconds": s1}
        found[f"GT-PCA, {numbers} numbers"] = {"left": ours.resmse(X_new)[-1], "seconds": s2}
    return found


PARTS = {
    "kshape": (kshape_draw, "tslearn"),
    "dictionary": (dictionary_draw, "alphacsc"),
    "elastic": (elastic_draw, "fdasrsf"),
    "steerable": (steerable_draw, "scikit-learn"),
}


def main():
    """Run the parts and keep their results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--out", default=Path(__file__).with_suffix(".json"), type=Path)
    options = parser.parse_args()
    results = json.loads(options.out.read_text()) if options.out.exists() else {}
    for part in options.parts:
        draw, package = PARTS[part]
        try:
            found = {package: version(package), "numpy": version("numpy")}
            found |= summary([draw(seed) for seed in range(DRAWS)])
        except (ImportError, PackageNotFoundError) as error:
            print(f"{part} is left out: {error}")
            continue
        results[part] = found
        print(part, json.dumps(found, indent=1))
        options.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
