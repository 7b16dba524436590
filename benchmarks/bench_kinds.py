"""Kinds of samples that move: planted ones, MixtureGTPCA beside other ways to group them.

Circular shifts of 64 points. Every kind has a pattern of norm 1 and two loadings of norm ``l``,
white noise smoothed by a Gaussian of 3 points, less its mean; a row is ``roll(m_g + z_1 u_1 + z_2
u_2)`` and noise of norm ``noise`` in all. ``G`` kinds have 100 rows each in the mean; *unequal*:
sizes 1, 1/2, 1/4, .. The number of kinds is known to all. Adjusted Rand index (1 is perfect, 0 is
guessing) of ten draws, the seeds 0 to 9, of

- ``mixture``: ``MixtureGTPCA`` with as many components as were planted, 0 or 2
- ``scores``: k-means on the scores of ``GTPCA(5, shared_pose=True)``
- ``fft``: k-means on the absolute values of the Fourier transform, which do not move
- ``aligned``: k-means on rows that ``GTPCA(1)`` aligned
- ``kshape``: k-Shape of tslearn on z-scored rows, if it is installed
- ``kshape circular``: k-Shape written again with circular correlations, the shifts of these rows;
  ``kshape padded`` is the same code with zero-padded ones, to be compared with that of tslearn
- ``dba``: k-means by dynamic time warping with barycentres (DBA) of aeon 1.6, z-scored rows, warps
  that reach at most a fifth of a row, one start and at most ten passes; three draws, as it is slow
- ``kasba C``: KASBA of aeon 1.6, z-scored rows, at the cost C of its distance: .1, 1 (its default)
  or 10
- ``sbd``: no groups are looked for: each row is assigned to the nearest of the *true* patterns by
  the distance of k-Shape, the largest correlation over shifts of zero-padded z-scored rows
- ``circular``: the same with circular correlations
- ``truth``: the kind that is most likely by the density that rows were drawn from
- ``started``: ``MixtureGTPCA`` whose EM starts at that density: what a better search could reach

``--cost`` measures processor seconds instead: one pass of EM over rows of a mixture and of a single
density, in turns, and a whole fit of 20,000 rows.

Run: python benchmarks/bench_kinds.py [--only mixture fft ..] [--cost]. Figures that are known are
kept: a run that was broken off goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
from scipy.ndimage import gaussian_filter1d
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from gtpca import GTPCA, MixtureGTPCA, Shift
from gtpca.data.chunks import as_chunks
from gtpca.fitting.em import climb_likelihood
from gtpca.fitting.mixture import maximised_kinds
from gtpca.model.mixture import MixtureModel, kind_sums
from gtpca.model.posterior import soft_sums
from gtpca.model.probabilistic import ProbabilisticModel

PLACE = Path(__file__).with_suffix(".json")
FAMILY, SIZE, DRAWS = Shift(boundary="circular"), 64, 10
TURNS = 7
COSTS, FEW = (0.1, 1.0, 10.0), {"dba": 3}  # draws of slow methods


@dataclass(frozen=True)
class Cell:
    """What is planted."""

    kinds: int
    loadings: float
    noise: float
    unequal: bool = False

    @property
    def name(self):
        sizes = ", unequal" if self.unequal else ""
        return f"l = {self.loadings:g}, G = {self.kinds}, noise {self.noise:g}{sizes}"

    @property
    def n_components(self):
        return 2 if self.loadings else 0


CELLS = [
    Cell(5, 0.0, 1.5),
    Cell(5, 0.0, 1.0, unequal=True),
    Cell(2, 0.35, 1.5),
    Cell(3, 0.35, 1.0),
    Cell(3, 0.35, 1.0, unequal=True),
]


@dataclass(frozen=True)
class Draw:
    """Rows (n, 64), their kinds (n,), and the mixture that they come from."""

    rows: np.ndarray
    kind: np.ndarray
    truth: MixtureModel


def smooth(rng):
    """White noise, smoothed, less its mean, of norm 1."""
    w = gaussian_filter1d(rng.standard_normal(SIZE), 3, mode="wrap")
    w = w - w.mean()
    return w / np.linalg.norm(w)


def draw(cell, seed):
    """The rows of a seed."""
    rng, operator = np.random.default_rng(seed), FAMILY.bind((SIZE,))
    patterns = [smooth(rng) for _ in range(cell.kinds)]
    loadings = [
        np.array([cell.loadings * smooth(rng) for _ in range(2)]) for _ in range(cell.kinds)
    ]
    sizes = 0.5 ** np.arange(cell.kinds) if cell.unequal else np.ones(cell.kinds)
    share, n = sizes / sizes.sum(), 100 * cell.kinds
    kind, z = rng.choice(cell.kinds, n, p=share), rng.standard_normal((n, 2))
    places = rng.integers(SIZE, size=n)
    still = (patterns[g] + z[i] @ loadings[g] for i, g in enumerate(kind))
    rows = np.array([np.roll(row, place) for row, place in zip(still, places, strict=True)])
    deviation = cell.noise / np.sqrt(SIZE)
    rows = rows + deviation * rng.standard_normal(rows.shape)
    prior, noise = np.full(SIZE, -np.log(SIZE)), np.array([deviation**2])
    pairs = zip(patterns, loadings, strict=True)
    models = tuple(ProbabilisticModel(operator, m, U, noise, prior) for m, U in pairs)
    return Draw(rows, kind, MixtureModel(models, np.log(share)))


def by_mixture(cell, drawn):
    """Kinds of ``MixtureGTPCA``."""
    model = MixtureGTPCA(cell.kinds, cell.n_components, FAMILY, random_state=0)
    return model.fit_predict(drawn.rows)


def by_scores(cell, drawn):
    """k-means on scores in one pose."""
    model = GTPCA(5, FAMILY, shared_pose=True, random_state=0)
    return grouped(model.fit_transform(drawn.rows), cell)


def by_fft(cell, drawn):
    """k-means on what shifts do not change."""
    return grouped(np.abs(np.fft.rfft(drawn.rows)), cell)


def by_aligned(cell, drawn):
    """k-means on rows aligned with the one pattern of all."""
    model = GTPCA(1, FAMILY, random_state=0).fit(drawn.rows)
    return grouped(model.align(drawn.rows), cell)


def by_kshape(cell, drawn):
    """k-Shape of tslearn."""
    return tslearn_kshape(scored(drawn.rows), cell.kinds)


def tslearn_kshape(rows, n_groups, seed=0):
    """Groups by k-Shape of tslearn, the best of three starts."""
    from tslearn.clustering import KShape

    return KShape(n_groups, n_init=3, random_state=seed).fit_predict(rows[:, :, None])


def scored(rows):
    """Rows of mean 0 and standard deviation 1."""
    rows = rows - rows.mean(axis=1, keepdims=True)
    return rows / rows.std(axis=1, keepdims=True)


def by_circular_kshape(cell, drawn):
    """k-Shape with circular correlations, the best of three starts."""
    return kshape(scored(drawn.rows), cell.kinds, SIZE)


def by_padded_kshape(cell, drawn):
    """k-Shape with zero-padded correlations, the best of three starts."""
    return kshape(scored(drawn.rows), cell.kinds, 2 * SIZE)


def kshape(rows, n_groups, size, seed=0, starts=3, passes=100):
    """Groups of k-Shape (Paparrizos and Gravano, 2015), with correlations of a padded size.

    A centre is the leading eigenvector of ``sum_i x_i x_i'`` of its rows, each moved to where it
    fits the centre before best; rows go to the centre with the largest correlation over shifts. Of
    several random starts, the one with the largest sum of correlations is taken.
    """
    rng, best = np.random.default_rng(seed), (-np.inf, None)
    for _ in range(starts):
        group = rng.integers(n_groups, size=len(rows))
        centres = np.zeros((n_groups, rows.shape[1]))
        for _ in range(passes):
            centres = np.array(
                [centre_of(rows[group == g], centres[g], size, rng) for g in range(n_groups)]
            )
            fit = correlations(rows, centres, size).max(axis=2)
            before, group = group, fit.argmax(axis=1)
            if np.array_equal(before, group):
                break
        if fit.max(axis=1).sum() > best[0]:
            best = fit.max(axis=1).sum(), group
    return best[1]


def correlations(rows, centres, size):
    """``<x, roll(c, s)>`` of rows padded to a size, for all s, (n, G, size)."""
    first, second = (np.fft.rfft(each, size) for each in (rows, centres))
    return np.fft.irfft(first[:, None] * second[None].conj(), size)


def centre_of(rows, old, size, rng):
    """The centre of some rows, of unit norm and mean 0; a random row's place if there are none."""
    d = rows.shape[1]
    if not len(rows):
        return scored(rng.standard_normal((1, d)))[0] / np.sqrt(d)
    if old.any():
        padded = np.pad(rows, ((0, 0), (0, size - d)))
        shift = correlations(rows, old[None], size)[:, 0].argmax(axis=1)
        rows = np.take_along_axis(padded, (np.arange(d) + shift[:, None]) % size, axis=1)
    centred = rows - rows.mean(axis=1, keepdims=True)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    centre = vectors[:, -1] - vectors[:, -1].mean()
    return centre if np.sum(rows @ centre) >= 0 else -centre


def by_dba(cell, drawn):
    """k-means by dynamic time warping, with barycentres."""
    return dba(scored(drawn.rows), cell.kinds)


def by_kasba(cell, drawn, cost):
    """KASBA."""
    return kasba(scored(drawn.rows), cell.kinds, cost)


def dba(rows, n_groups):
    """Groups by dynamic time warping with barycentres."""
    from aeon.clustering import TimeSeriesKMeans

    reach = 0.2
    model = TimeSeriesKMeans(
        n_groups,
        distance="dtw",
        averaging_method="ba",
        distance_params={"window": reach},
        average_params={"window": reach},
        n_init=1,
        max_iter=10,
        random_state=0,
    )
    return model.fit_predict(rows[:, None])


def kasba(rows, n_groups, cost):
    """Groups by KASBA."""
    from aeon.clustering import KASBA

    return KASBA(n_groups, distance_params={"c": cost}, random_state=0).fit_predict(rows[:, None])


def by_sbd(cell, drawn):
    """The nearest true pattern by the distance of k-Shape."""
    return nearest(drawn, 2 * SIZE)


def by_circular(cell, drawn):
    """The nearest true pattern by circular correlations."""
    return nearest(drawn, SIZE)


def nearest(drawn, size):
    """The true pattern with the largest correlation over shifts of rows padded to a size."""
    patterns = np.array([kind.pattern for kind in drawn.truth.kinds])
    rows, patterns = (np.fft.rfft(scored(each), size) for each in (drawn.rows, patterns))
    products = np.fft.irfft(rows[:, None] * patterns[None].conj(), size)
    return products.max(axis=2).argmax(axis=1)


def by_truth(cell, drawn):
    """The kind that is most likely by the true density."""
    return drawn.truth.encode(as_chunks(drawn.rows, FAMILY.bind((SIZE,)))).kind


def by_started(cell, drawn):
    """Kinds of ``MixtureGTPCA`` without its search: EM starts at the true density."""

    def known(chunks, recipe, n_kinds, rng):
        return climb_likelihood(chunks, recipe, drawn.truth, kind_sums, maximised_kinds)

    with mock.patch("gtpca.mixture.find_kinds", known):
        return by_mixture(cell, drawn)


def grouped(values, cell):
    """Groups by k-means, the best of ten starts."""
    return KMeans(cell.kinds, n_init=10, random_state=0).fit_predict(values)


METHODS = {
    "mixture": by_mixture,
    "scores": by_scores,
    "fft": by_fft,
    "aligned": by_aligned,
    "truth": by_truth,
    "kshape": by_kshape,
    "kshape circular": by_circular_kshape,
    "kshape padded": by_padded_kshape,
    "dba": by_dba,
    "sbd": by_sbd,
    "circular": by_circular,
    "started": by_started,
}
TUNED = {  # the settings of a method
    "kasba": {f"kasba {cost:g}": partial(by_kasba, cost=cost) for cost in COSTS},
}
METHODS |= {name: method for each in TUNED.values() for name, method in each.items()}
KNOWN_PATTERNS = ("truth", "sbd", "circular", "started")  # do not look for groups


def run(cell, method, known):
    """The figures of all draws, and their mean with its standard error."""
    found = list(known.get("draws", []))
    for seed in range(len(found), FEW.get(method, DRAWS)):
        drawn = draw(cell, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind = METHODS[method](cell, drawn)
        found.append(round(float(adjusted_rand_score(drawn.kind, kind)), 4))
    return {"draws": found} | mean_and_error(found)


def mean_and_error(values):
    values = np.asarray(values)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return {"mean": round(float(values.mean()), 4), "error": round(float(error), 4)}


def above(cell):
    """By how much the mixture is above every other method, with the error of the difference."""
    names = [name for name in cell if name not in ("mixture", *KNOWN_PATTERNS)]
    first = np.asarray(cell["mixture"]["draws"])
    found = {name: np.asarray(cell[name]["draws"]) for name in names}
    return {name: mean_and_error(first[: len(each)] - each) for name, each in found.items()}


def cost():
    """Processor seconds of a pass of EM, a mixture of four beside one density; and of a fit."""
    cell = Cell(4, 0.35, 1.0)
    few = draw(cell, 0).truth
    rows = few.sample(4000, np.random.RandomState(0))[0]
    chunks = as_chunks(rows, few.operator)
    tasks = {"one": (soft_sums, few.kinds[0].e_step()), "four": (kind_sums, few.e_step())}
    best = dict.fromkeys(tasks, np.inf)
    for _ in range(TURNS):
        for name, task in tasks.items():
            begun = time.process_time()
            chunks.sum(*task)
            best[name] = min(best[name], time.process_time() - begun)
    rng = np.random.default_rng(0)
    long = np.concatenate([rows, rng.standard_normal(rows.shape) / 8], axis=1)
    long = np.concatenate([np.roll(long, s, axis=1) for s in (0, 20, 40, 60, 80)])
    begun, clock = time.process_time(), time.perf_counter()
    model = MixtureGTPCA(4, 2, FAMILY, n_jobs=2, random_state=0).fit(long)
    return {
        "pass_one": round(best["one"], 4),
        "pass_four": round(best["four"], 4),
        "ratio": round(best["four"] / best["one"], 2),
        "fit_rows": list(long.shape),
        "fit_passes": model.n_iter_,
        "fit_processor": round(time.process_time() - begun, 1),
        "fit_seconds": round(time.perf_counter() - clock, 1),
        "load_average": round(os.getloadavg()[0], 1),
    }


def main():
    """Run what is asked for, and write the JSON after every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=[*METHODS, *TUNED], default=list(METHODS))
    parser.add_argument("--cost", action="store_true")
    given = parser.parse_args()
    known = json.loads(PLACE.read_text("utf-8")) if PLACE.exists() else {}
    if given.cost:
        known["cost"] = cost()
        PLACE.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
        return
    known["cells"] = {cell.name: asdict(cell) for cell in CELLS}
    for method in (name for word in given.only for name in TUNED.get(word, [word])):
        for cell in CELLS:
            figures = known.setdefault("figures", {}).setdefault(cell.name, {})
            figures[method] = run(cell, method, figures.get(method, {}))
            print(cell.name, method, figures[method], flush=True)
            if "mixture" in figures:
                known.setdefault("above", {})[cell.name] = above(figures)
            PLACE.write_text(json.dumps(known, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
