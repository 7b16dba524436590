"""What the page says of all rows: energies, ordinary PCA beside them, histograms."""

from __future__ import annotations

import numpy as np

from gtpca.data.chunk import energy
from gtpca.data.chunks import as_chunks
from gtpca.families import Identity
from gtpca.solvers.pca import solve_directly

__all__ = ["energies", "histogram", "pca_shares", "pose_columns", "shares"]

PCA_COST = 5e10  # multiplications that are spent on PCA
BARS, BINS = 60, 50  # single values up to here have a bar each


def energies(model, X) -> np.ndarray:
    """Energy of every row after 0, 1, .., k components, (n, k + 1), as in ``model.resmse``."""
    return model.measure(X)[1]


def shares(left) -> np.ndarray:
    """Explained share of each row of energies (n, k + 1), after 1, .., k components; 0 if zero."""
    total = left[:, :1]
    return 1 - np.divide(left[:, 1:], total, out=np.ones_like(left[:, 1:]), where=total > 0)


def pca_shares(model, X, rng) -> tuple[np.ndarray, int] | None:
    """What as many components explain that cannot move, and of how many rows.

    The rows are centred and weighted like those of the model. They are drawn at random where all
    would take too long. None if the components of the model do not move either.
    """
    if model.operator_.n_transforms == 1:
        return None
    chunks, still = model.chunks(X), Identity().bind(model.sample_shape_)
    n, d = chunks.n_rows, still.n_features
    size = int(min(n, max(PCA_COST / d**2, np.sqrt(PCA_COST / d))))
    if size < n:
        rows = chunks.take(np.sort(rng.choice(n, size, replace=False))).rows
        chunks = as_chunks(rows, still)
    count = min(model.n_components_, size, d)
    found = solve_directly(chunks, count, np.random.RandomState(0), still)
    total = chunks.sum(energy)
    explained = np.cumsum([result.history[-1] for result in found])
    return (explained / total if total > 0 else np.zeros(count)), size


def pose_columns(model, codes) -> dict[str, np.ndarray]:
    """The poses that say something, (n, k) or (n, 1) each.

    A column with a single value, or one that says the same as a later one (the start of a window
    beside its centre), is left out.
    """
    whole = model.operator_.describe(np.arange(model.operator_.n_transforms))
    groups = {name: np.unique(v, return_inverse=True)[1] for name, v in whole.items()}
    names: list[str] = []
    for name in reversed(groups):
        if groups[name].any() and not any(_same(groups[name], groups[kept]) for kept in names):
            names.insert(0, name)
    poses = model.poses(codes)
    return {name: np.asarray(poses[name]) for name in names}


def _same(a, b):
    """Whether two columns of group numbers are the same partition."""
    pairs = a.astype(np.int64) * (b.max() + 1) + b
    return len(np.unique(pairs)) == a.max() + 1 == b.max() + 1


def histogram(values, possible) -> dict:
    """Counts of each of the ``possible`` values, or of bins between them if they are many."""
    possible = np.unique(np.asarray(possible, dtype=np.float64))
    values = np.asarray(values, dtype=np.float64)
    if len(possible) <= BARS:
        counts = np.bincount(np.searchsorted(possible, values), minlength=len(possible))
        return {"x": possible.tolist(), "counts": counts.tolist(), "width": None}
    counts, edges = np.histogram(values, BINS, (possible[0], possible[-1]))
    middle = (edges[1:] + edges[:-1]) / 2
    return {"x": middle.tolist(), "counts": counts.tolist(), "width": float(edges[1] - edges[0])}
