"""One pose per sample on all of MNIST: shifted (28x28 in 56x56) and rotated (20 angles), k = 20.

Held-out ResMSE, the accuracy of a small network on the standardised scores, and the time of the fit
beside that of the ordinary fit with a pose per component, all in one run.

Run: python benchmarks/bench_shared_pose.py [--only shifted rotated] [--out result.json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from pathlib import Path

import numpy as np
import sklearn
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gtpca import GTPCA, Rotation, Shift
from gtpca.datasets import fetch_mnist, random_embedding, random_rotation

HERE = Path(__file__).parent
K = 20


def shifted(images, seed):
    return random_embedding(images, (56, 56), random_state=seed)[0].astype(np.float32)


def rotated(images, seed):
    return random_rotation(images, 20, random_state=seed)[0].astype(np.float32)


SETTINGS = {"shifted": (shifted, Shift((28, 28))), "rotated": (rotated, Rotation(20, domain="all"))}


def accuracy(scores, labels, new_scores, new_labels):
    """Share of right answers of a network with one hidden layer of 10."""
    network = MLPClassifier((10,), max_iter=40, batch_size=128, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = make_pipeline(StandardScaler(), network).fit(scores, labels)
    return float(model.score(new_scores, new_labels))


def timed_fit(model, X):
    start = time.perf_counter()
    model.fit(X)
    return time.perf_counter() - start


def upright(train, test):
    """Uncentred PCA of the digits before they were moved."""
    X, Y = (part.data.reshape(len(part.data), -1).astype(np.float32) for part in (train, test))
    pca = TruncatedSVD(K, algorithm="arpack", random_state=0).fit(X)
    scores = pca.transform(Y)
    left = np.sum((Y - scores @ pca.components_) ** 2) / np.sum(Y**2)
    right = accuracy(pca.transform(X), train.target, scores, test.target)
    return {"resmse": float(left), "accuracy": right}


def run(name, train, test, n_jobs):
    move, family = SETTINGS[name]
    X, Y = move(train.data, 0), move(test.data, 1)
    shared = GTPCA(K, family, shared_pose=True, random_state=0, n_jobs=n_jobs)
    ordinary = GTPCA(K, family, random_state=0, n_jobs=n_jobs)
    seconds, ordinary_seconds = timed_fit(shared, X), timed_fit(ordinary, X)
    right = accuracy(shared.transform(X), train.target, shared.transform(Y), test.target)
    return {
        "resmse": float(shared.resmse(Y)[-1]),
        "accuracy": right,
        "seconds": seconds,
        "ordinary_seconds": ordinary_seconds,
        "time_ratio": seconds / ordinary_seconds,
        "ordinary_resmse": float(ordinary.resmse(Y)[-1]),
        "passes": shared.n_iter_.tolist(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--out", default=HERE / "bench_shared_pose.json", type=Path)
    args = parser.parse_args()
    train, test = fetch_mnist("train"), fetch_mnist("test")
    result = json.loads(args.out.read_text()) if args.out.exists() else {}
    result["upright"] = upright(train, test)
    for name in args.only:
        result[name] = run(name, train, test, os.cpu_count())
        result["versions"] = {"numpy": np.__version__, "scikit-learn": sklearn.__version__}
        result["machine"] = {"type": platform.machine(), "cores": os.cpu_count()}
        result["machine"]["load_average"] = round(os.getloadavg()[0], 1)
        args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
