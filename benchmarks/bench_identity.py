"""Identity against scikit-learn's fastest exact PCA on 60,000 x 784 float32 rows, k = 20.

Run: python benchmarks/bench_identity.py [out.json]
"""

from __future__ import annotations

import json
import platform
import sys
import time
from pathlib import Path

import numpy as np
import sklearn
from sklearn.decomposition import PCA

import gtpca

HERE = Path(__file__).parent


def best_of(n, *fits):
    """Best time of each fit, run in turns."""
    times = [[] for _ in fits]
    for _ in range(n):
        for fit, seconds in zip(fits, times, strict=True):
            start = time.perf_counter()
            fit()
            seconds.append(time.perf_counter() - start)
    return [min(seconds) for seconds in times]


def main(path=HERE / "bench_identity.json"):
    rng = np.random.default_rng(0)
    scale = np.linspace(1, 0.01, 784, dtype=np.float32)
    X = rng.standard_normal((60_000, 784), dtype=np.float32) * scale
    ours = gtpca.GTPCA(n_components=20)
    theirs = PCA(n_components=20, svd_solver="covariance_eigh")
    seconds, reference = best_of(5, lambda: ours.fit(X), lambda: theirs.fit(X))
    result = {
        "rows": X.shape,
        "seconds_gtpca": seconds,
        "seconds_pca_covariance_eigh": reference,
        "ratio": seconds / reference,
        "versions": {"numpy": np.__version__, "scikit-learn": sklearn.__version__},
        "machine": platform.machine(),
    }
    Path(path).write_text(json.dumps(result, indent=1) + "\n")
    sys.stdout.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
