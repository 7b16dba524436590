"""How far a fit depends on the order of sums: on batches, and on the order of the rows.

Sums of other batches, or of rows in another order, differ in their last bits. Where one pose or
start is clearly the best that is all; in white noise, where many are nearly as good, a last bit may
decide which optimum is found. ``python benchmarks/bench_rounding.py`` fits two components to white
noise and to a pattern in noise, of every kind of family, with other batches and orders, and prints
the largest difference of a share of the energy, over draws 0 to 9.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np

from gtpca import GTPCA, Compose, Rotation, Scaling, Shift, TimeWarp

DRAWS, SIZES = range(10), (100, 600)  # up to 256 rows, all of them are searched
BATCH = 32


def series(rng, n, pattern):
    """Rows of white noise, with a pattern or without, (n, 60)."""
    X = rng.standard_normal((n, 60))
    for x, start in zip(X, rng.integers(44, size=n), strict=True):
        x[start : start + 16] += 4 * pattern * np.hanning(16)
    return X


def images(rng, n, pattern):
    """Images of white noise, with a bar or without, (n, 12, 12)."""
    X = rng.standard_normal((n, 12, 12))
    for image, turn in zip(X, rng.integers(4, size=n), strict=True):
        image += (
            2 * pattern * np.rot90(np.outer(np.hanning(12), np.r_[np.zeros(8), np.ones(4)]), turn)
        )
    return X


FAMILIES = {
    "Shift(20)": (Shift(20), series),
    "Rotation(12)": (Rotation(12), images),
    "Scaling()": (Scaling(), series),
    "TimeWarp()": (TimeWarp(), series),
    "Compose(Shift(20), Scaling())": (Compose(Shift(20), Scaling()), series),
}


def shares(family, X, **how):
    """Shares of the energy that two components explain."""
    return GTPCA(2, family, random_state=0, **how).fit(X).explained_energy_ratio_


def differences(family, make, n, pattern, draw):
    """Largest difference of a share by batches, and by the order of the rows."""
    rng = np.random.default_rng(draw)
    X = make(rng, n, pattern)
    whole = shares(family, X)
    batches = np.abs(shares(family, X, batch_size=BATCH) - whole).max()
    return batches, np.abs(shares(family, X[rng.permutation(n)]) - whole).max()


def main() -> None:
    """Print the table, and write it as JSON."""
    found = {}
    kinds = ((0, "noise"), (1, "pattern"))
    for (name, how), (pattern, kind), n in product(FAMILIES.items(), kinds, SIZES):
        each = np.array([differences(*how, n, pattern, draw) for draw in DRAWS])
        case = f"{name}, {kind}, {n} rows"
        found[case] = {"batches": each[:, 0].max(), "order": each[:, 1].max()}
        print(case, {name: f"{value:.1e}" for name, value in found[case].items()}, flush=True)
    text = json.dumps(found, indent=1)
    Path(__file__).with_suffix(".json").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
