"""Quantities of samples shown next to a model: codes, energies, poses, and PCA for comparison."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from gtpca.data.codes import Codes
from gtpca.data.energies import n_hidden
from gtpca.data.rows import counted, is_dask, new_rows
from gtpca.model.outputs import error_columns
from gtpca.model.pose_errors import ordered
from gtpca.model.preprocessing import sample_means
from gtpca.operators.poses import is_pose, is_still
from gtpca.views.parts import is_density

__all__ = [
    "ASIDE",
    "PCA",
    "Pose",
    "UncentredPCA",
    "as_seen",
    "confusion",
    "doubts",
    "encode",
    "measure",
    "mixed_up",
    "pose_columns",
    "pose_errors",
    "set_aside",
    "shares",
    "spread_runs",
    "uncentred_pca",
    "uncertain",
]

ODDS = 19  # a sample is uncertain if another kind is at most so many times less likely
ASIDE = 0.1  # a row of the fit that counted less is reported as set aside
PCA = "PCA (uncentred)"  # its name wherever it is shown
PCA_COST = 5e10  # largest number of multiplications for it
PCA_VALUES = 2**25  # largest number of values read for it
PCA_RUNS = 64  # in this many places
MOST_TRANSFORMS = 2**20  # with more, only those that occur are considered


def encode(model, X) -> Codes:
    """The codes of ``X`` in memory, whatever the type of ``X``."""
    return _codes_in_memory(model.encode(X))[0]


def measure(model, X) -> tuple[Codes, np.ndarray]:
    """Codes of ``X`` and energies (n, k + 1) after 0, 1, .., k components, in one pass.

    For a density, those with the pattern alone come after the first column.
    """
    codes, energies = _codes_in_memory(*model.measure(X))
    return codes, energies


def _codes_in_memory(codes, *more):
    """Codes, and other arrays, of which Dask arrays are computed together."""
    kind = () if codes.kind is None else (codes.kind,)
    scores, index, *found = _in_memory(codes.scores, codes.index, *kind, *more)
    return Codes(scores, index, kind=found.pop(0) if kind else None), *found


def _in_memory(*arrays):
    """The arrays; Dask arrays are computed together."""
    if not any(is_dask(array) for array in arrays):
        return arrays
    import dask

    return dask.compute(*arrays)


class Aside(NamedTuple):
    """What a fit set aside of its rows.

    Attributes
    ----------
    weight : array (n,) or None
        How much each row counted.
    rejected : bool array (n, \\*sample_shape) or None
        Which values were hidden.
    """

    weight: np.ndarray | None = None
    rejected: np.ndarray | None = None

    @property
    def rows(self) -> np.ndarray:
        """Numbers of the rows that hardly counted."""
        return np.flatnonzero(np.asarray([] if self.weight is None else self.weight) < ASIDE)

    @property
    def text(self) -> str:
        """How much of what, in words; empty where nothing could be set aside."""
        said = []
        if self.weight is not None:
            said.append(f"{len(self.rows)} of {len(self.weight)} rows (weight below {ASIDE:g})")
        if self.rejected is not None:
            said.append(f"{self.rejected.sum()} of {self.rejected.size} values")
        return ", ".join(said)


def set_aside(model, n_rows=None) -> Aside:
    """What a fit set aside; nothing of rows that are not as many as those of the fit."""
    weight, rejected = (getattr(model, name, None) for name in ("row_weight_", "rejected_"))
    sizes = [len(each) for each in (weight, rejected) if each is not None]
    alike = sizes and (n_rows is None or int(n_rows) == sizes[0])
    return Aside(weight, rejected) if alike else Aside()


def confusion(kind, labels, n_kinds=None) -> tuple[np.ndarray, np.ndarray]:
    """Classes (C,), and how many samples of each are of every kind, (C, G)."""
    kind, labels = np.asarray(kind), np.asarray(labels)
    if labels.shape != kind.shape:
        raise ValueError(f"labels has shape {labels.shape}, but there are {len(kind)} samples.")
    classes, place = np.unique(labels.astype(str), return_inverse=True)
    n_kinds = int(kind.max(initial=-1)) + 1 if n_kinds is None else n_kinds
    counts = np.zeros((len(classes), n_kinds), dtype=int)
    np.add.at(counts, (place, kind), 1)
    return classes, counts


def uncertain(share) -> np.ndarray:
    """Which samples have another kind within odds of 19 to 1, by probabilities (n, G), (n,)."""
    best = np.sort(share, axis=1)[:, ::-1][:, :2]
    return best[:, 1] * ODDS >= best[:, 0] if share.shape[1] > 1 else np.zeros(len(share), bool)


def mixed_up(share) -> np.ndarray:
    """How many uncertain samples have kind g as the most, h as the next most likely, (G, G)."""
    counts = np.zeros((share.shape[1],) * 2, dtype=int)
    order = np.argsort(-share[uncertain(share)], axis=1, kind="stable")
    if share.shape[1] > 1:
        np.add.at(counts, (order[:, 0], order[:, 1]), 1)
    return counts


def doubts(model, X) -> dict[str, np.ndarray]:
    """Columns (n,) that say how sure poses are.

    Standard errors, such as ``gtpca0_start_se``; of a model with a likelihood, ``pose_probability``
    of the most likely pose, ``<quantity>_std`` over all poses, and ``log_likelihood``, and of
    several kinds also ``kinds``, their probabilities (n, G).
    """
    if not is_density(model):
        columns = error_columns(model.model_, model.pose_errors(X))
        return dict(zip(columns, _in_memory(*columns.values()), strict=True))
    found = model.pose_posterior(X, 1)
    columns = {"pose_probability": found.probability[:, 0]}
    columns |= {f"{name}_std": values for name, values in found.std.items()}
    columns["log_likelihood"] = model.score_samples(X)
    if model.has_kinds:
        columns["kinds"] = model.predict_proba(X)
    return dict(zip(columns, _in_memory(*columns.values()), strict=True))


def pose_errors(model, X) -> dict[str, np.ndarray]:
    """Standard errors of poses (n, poses), by quantity; only of those that have an order."""
    names, found = ordered(model.operator_), model.pose_errors(X)
    values = _in_memory(*(found[name] for name in names))
    return dict(zip(names, map(np.asarray, values), strict=True))


def as_seen(model, X, numbers=None) -> np.ndarray:
    """Samples (n, \\*sample_shape) as they are shown next to their reconstructions.

    They are those of ``X``, or its rows ``numbers`` (ascending), without the mean of each if
    ``center="samples"``: the model does not restore it either.
    """
    source = new_rows(model, counted(X, model), model.sample_shape_)
    rows = source.take(np.arange(source.n_rows) if numbers is None else numbers)
    if model.center_ == "samples":
        rows = rows - sample_means(rows, model.operator_)
    return rows.reshape(-1, *model.sample_shape_)


def domain_text(operator) -> str:
    """The part of a sample, or of the moving window, on which samples are compared, in words."""
    whole = "its points" if operator.domain is not None else "the points of the window"
    return f"{100 * operator.domain_share:.0f} % of {whole}, where every transform is defined"


def shares(energies) -> np.ndarray:
    """Explained share of each row of energies (n, k + 1), after 1, .., k components; 0 if zero."""
    total, left = energies[:, :1], energies[:, 1:]
    return 1 - np.divide(left, total, out=np.ones_like(left), where=total > 0)


class UncentredPCA(NamedTuple):
    """The energy explained by components that cannot move.

    Attributes
    ----------
    shares : array (min(k, n_rows, d),)
        Of the energy, after 1, 2, .. components.
    n_rows, n_all : int
        Rows that were used, and rows that there are.
    """

    shares: np.ndarray
    n_rows: int
    n_all: int


def uncentred_pca(model, X, random_state=0) -> UncentredPCA | None:
    """What as many components explain that cannot move: :data:`PCA`.

    With the rows ``x_i`` as the model sees them (after its own centring, in its inner product) and
    ``l_1 >= l_2 >= ..`` the eigenvalues of ``sum_i x_i x_i'``, the shares are

        (l_1 + .. + l_k) / sum_i |x_i|^2 :

    those of PCA that subtracts no mean of its own, as the model does not either. No subspace of k
    dimensions explains more of these rows.

    Parameters
    ----------
    model : GTPCA
        Fitted.
    X : array (n, \\*sample_shape) or (n, d)
        All that ``model.chunks`` takes. Where all rows would be too many, some are read: 64 runs of
        neighbours, spread over all of them.
    random_state : int
        For where these runs are.

    Returns
    -------
    UncentredPCA or None
        None if the components of the model do not move either, if there are none, and where
        values are missing.
    """
    if is_still(model.operator_) or model.n_components_ == 0:
        return None
    chunks = model.chunks(counted(X, model))
    n, d = chunks.n_rows, model.operator_.n_features
    numbers = spread_runs(n, _pca_rows(n, d), np.random.default_rng(random_state))
    chunk = chunks.take(numbers)
    if n_hidden(chunk):
        return None
    rows = chunk.rows * np.sqrt(chunk.value_weights())
    gram = rows @ rows.T if len(rows) <= d else rows.T @ rows
    count, total = min(model.n_components_, *rows.shape), np.trace(gram)
    values = linalg.eigvalsh(gram, subset_by_index=[len(gram) - count, len(gram) - 1])[::-1]
    explained = np.cumsum(np.maximum(values, 0.0))
    return UncentredPCA(explained / total if total > 0 else np.zeros(count), len(rows), n)


def _pca_rows(n, d):
    """A number of rows for which the smaller Gram matrix is cheap and the rows are not large."""
    cheap = max(PCA_COST / d**2, np.sqrt(PCA_COST / d))
    return int(max(1, min(n, cheap, PCA_VALUES / d)))


def spread_runs(n, size, rng, runs=PCA_RUNS) -> np.ndarray:
    """About ``size`` of the numbers from 0 to ``n - 1``, ascending; all if there are no more.

    One random run of neighbours in each of ``runs`` equal parts: a file is read in few places, and
    rows that are sorted by kind are drawn in proportion.
    """
    if size >= n:
        return np.arange(n)
    parts = min(runs, size)
    ends, shares = (np.linspace(0, top, parts + 1).astype(np.int64) for top in (n, size))
    lengths = np.minimum(np.diff(shares), np.diff(ends))
    starts = rng.integers(ends[:-1], ends[1:] - lengths, endpoint=True)
    return np.concatenate([np.arange(a, a + b) for a, b in zip(starts, lengths, strict=True)])


class Pose(NamedTuple):
    """One quantity of the poses of samples.

    Attributes
    ----------
    values : array (n, k), or (n, 1) if the pose is shared
    possible : array (m,)
        The values of all transforms; of those that occur, if there are very many.
    """

    values: np.ndarray
    possible: np.ndarray


def pose_columns(model, codes) -> dict[str, Pose]:
    """The informative poses, by name.

    A quantity with a single value is left out, and so is one that distinguishes the same transforms
    as a later one, such as the start of a window besides its centre.
    """
    operator, count = model.operator_, model.operator_.n_transforms
    if is_pose(codes.index):
        possible = operator.describe(operator.pose_space.nodes)
        values = operator.describe(codes.index)
        return {n: Pose(np.asarray(v), np.asarray(possible[n])) for n, v in values.items()}
    every = np.arange(count) if count <= MOST_TRANSFORMS else np.unique(codes.index)
    possible = operator.describe(every)
    groups = {name: np.unique(v, return_inverse=True)[1] for name, v in possible.items()}
    names: list[str] = []
    for name in reversed(groups):
        if groups[name].any() and not any(_same(groups[name], groups[kept]) for kept in names):
            names.insert(0, name)
    values = operator.describe(codes.index)
    return {name: Pose(np.asarray(values[name]), np.asarray(possible[name])) for name in names}


def _same(a, b):
    """Whether two columns of group numbers are the same partition."""
    pairs = a.astype(np.int64) * (b.max() + 1) + b
    return len(np.unique(pairs)) == a.max() + 1 == b.max() + 1
