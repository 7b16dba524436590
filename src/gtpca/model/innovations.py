"""Stationary noise along any axes, with channels and gaps: innovations and their inverse.

Points of a sample are put in order, axis by axis. Each is predicted from neighbours that come
before it; the errors, scaled, are its innovations

    e(u) = S^-1 (x(u) - sum_o B_o x(u + o)),

with vectors of C channels, the offsets ``o`` of the neighbours, and ``S S'`` the covariance of the
errors. Near the first points of a sample some neighbours are missing, and the predictors use the
others. So all of this is one sparse triangular matrix ``A`` with ``E = A x``, and ``A' A`` is the
inverse of the covariance of a sample.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import fft, sparse
from scipy.linalg import solve_triangular
from scipy.sparse.linalg import splu

from gtpca.model.autoregression import MOST_ORDERS, Autoregression, burg, reflections
from gtpca.model.covariances import autocovariance, spectra

__all__ = ["Innovations", "along", "autoregression", "filled", "stationary"]

MOST_RADIUS = {1: MOST_ORDERS, 2: 4}  # largest distance of neighbours, by the number of axes
MOST_PREDICTORS = 256  # neighbours times channels
MOST_CHANNELS = 64  # with more channels, each is predicted from itself alone, all in the same way
MOST_VALUES = 2**24  # values of neighbourhoods that are examined
MOST_DENSE = 4096  # points times channels of images for which the full covariance is used
RIDGE = 1e-5  # relative to the mean variance, added to that of images
LEAST = 1e-10  # relative to the largest: smaller variances are raised to this
STEPS, TOL = 300, 1e-6  # of conjugate gradients in gaps


@dataclass(frozen=True, eq=False)
class Innovations:
    """The filter of stationary noise, and its inverse.

    Parameters
    ----------
    matrix : sparse array or array (D, D)
        ``A``, lower triangular; D is the number of points of a sample times its channels.
    root : array (D, D) or None
        Its inverse, if that is known.
    """

    matrix: Any
    root: np.ndarray | None = None

    @cached_property
    def _solver(self):
        return splu(sparse.csc_matrix(self.matrix), permc_spec="NATURAL", diag_pivot_thresh=0.0)

    def whiten(self, rows: np.ndarray) -> np.ndarray:
        """Innovations of rows (n, \\*shape, C) without gaps, of unit variance."""
        flat = rows.reshape(len(rows), -1)
        return np.ascontiguousarray((self.matrix @ flat.T).T).reshape(rows.shape)

    def colour(self, E: np.ndarray) -> np.ndarray:
        """Rows (n, \\*shape, C) that have the innovations ``E``."""
        flat = E.reshape(len(E), -1)
        if self.root is not None:
            return (flat @ self.root.T).reshape(E.shape)
        found = self._solver.solve(np.ascontiguousarray(flat.T))
        return np.ascontiguousarray(found.T).reshape(E.shape)

    def precision(self, rows: np.ndarray) -> np.ndarray:
        """``A' A x`` of flat rows (n, D)."""
        return (self.matrix.T @ (self.matrix @ rows.T)).T


def stationary(rows: np.ndarray) -> Innovations:
    """The filter of the noise in rows (n, \\*shape, C), estimated from all rows together.

    One channel along one axis: by :func:`burg`. Images of up to 4096 values: by their covariance at
    all lags, because they may have waves that are longer than any neighbourhood. Otherwise:
    predictors by least squares from all points that have all neighbours. The distance of neighbours
    with the smallest ``N log det S S' + (number of predictors) log N`` is doubled and increased by
    two points.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca.model.innovations import stationary
    >>> rows = np.cumsum(np.random.default_rng(0).standard_normal((50, 30, 1)), axis=1)
    >>> E = stationary(rows).whiten(rows)
    >>> bool(abs(np.mean(E[:, 1:] * E[:, :-1])) < 0.05)
    True
    """
    shape, n_channels = rows.shape[1:-1], rows.shape[-1]
    if len(shape) == 1 and n_channels == 1:
        return Innovations(along(autoregression(rows[..., 0]), shape[0]))
    if n_channels > MOST_CHANNELS:
        alone = np.moveaxis(rows, -1, 1).reshape(-1, *shape, 1)
        one = np.eye(n_channels) if n_channels > 1 else 1
        return Innovations(sparse.csr_array(sparse.kron(stationary(alone).matrix, one)))
    if len(shape) > 1 and math.prod(rows.shape[1:]) <= MOST_DENSE:
        return _by_covariance(rows)
    radius = _most_radius(rows.shape)
    offsets = _offsets(_reach(shape, radius))
    S, count = _second_moments(rows, offsets)
    order = min(radius, enough(_radius(S, offsets, n_channels, count, radius)))
    kept = [j for j, o in enumerate(offsets) if _distance(o) <= order]
    return Innovations(_by_neighbours(S, offsets, kept, shape, n_channels))


def _by_covariance(rows) -> Innovations:
    """For images: by the Cholesky factor of their covariance, at all lags."""
    shape, n_channels = rows.shape[1:-1], rows.shape[-1]
    power, vectors = spectra(autocovariance(rows)[0])
    density = (vectors * power[..., None, :]) @ vectors.conj().swapaxes(-1, -2)
    lags = fft.ifftn(density.swapaxes(-1, -2), axes=range(len(shape))).real
    points = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    points = points.reshape(-1, len(shape))
    apart = np.moveaxis(points[None] - points[:, None], -1, 0)  # negative ones from the other end
    size = len(points) * n_channels
    covariance = np.moveaxis(lags[tuple(apart)], 1, 2).reshape(size, size)
    floor = RIDGE * np.trace(covariance) / size
    root = np.linalg.cholesky(covariance + max(floor, np.finfo(float).tiny) * np.eye(size))
    return Innovations(solve_triangular(root, np.eye(size), lower=True), root)


def enough(order: int) -> int:
    """An order that leaves nothing to be predicted, given the one that predicts best.

    Too many predictors cost little here. With too few, the data would keep some coherence that
    surrogates do not have.
    """
    return 2 + 2 * order


def autoregression(X: np.ndarray) -> Autoregression:
    """The autoregression of rows (n, d), with higher orders than predict best."""
    found = burg(X)
    return replace(found, reflection=reflections(X, min(MOST_ORDERS, enough(found.order)))[0])


def along(process: Autoregression, size):
    """``A`` of an autoregression along one axis."""
    last = np.minimum(np.arange(size), process.order)
    deviations = np.sqrt(np.maximum(process.variances[last], LEAST * process.variance))
    deviations[deviations == 0] = 1.0
    bands = [
        (process.filters[last, j] / deviations)[j:] for j in range(min(process.order + 1, size))
    ]
    return sparse.csr_array(sparse.diags_array(bands, offsets=[-j for j in range(len(bands))]))


def _reach(shape, radius):
    """The largest distance of neighbours along each axis: less than half of it."""
    return [min(radius, (size - 1) // 2) for size in shape]


def _offsets(reach):
    """Offsets of the point itself and of all previous neighbours within reach, by distance."""
    box = itertools.product(*(range(-r, r + 1) for r in reach))
    before = [o for o in box if o < (0,) * len(reach)]
    return [(0,) * len(reach), *sorted(before, key=_distance)]


def _distance(offset):
    """The distance along the axis where it is largest."""
    return max(map(abs, offset))


def _most_radius(shape):
    """The largest distance with no more predictors than points to estimate them."""
    n, *size, n_channels = shape
    for radius in range(min(MOST_RADIUS.get(len(size), 2), (max(size) - 1) // 2), 0, -1):
        reach = _reach(size, radius)
        count = math.prod(2 * r + 1 for r in reach) // 2 * n_channels
        points = n * math.prod(s - 2 * r for s, r in zip(size, reach, strict=True))
        if count <= MOST_PREDICTORS and points >= 4 * count:
            return radius
    return 0


def _second_moments(rows, offsets):
    """Moments of points and their neighbours (m C, m C), and the number of points.

    From points that have all neighbours; each pair where both were observed.
    """
    shape, reach = rows.shape[1:-1], np.abs(offsets).max(axis=0)
    # along the first axis neighbours are on one side only, along the others on both
    ends = [0, *reach[1:]]
    inside = [range(r, s - e) for s, r, e in zip(shape, reach, ends, strict=True)]
    most = max(2, MOST_VALUES // (len(offsets) * math.prod(rows.shape[1:])))
    some = rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int)]

    def moved(offset):
        cut = (slice(r.start + o, r.stop + o) for r, o in zip(inside, offset, strict=True))
        return some[(slice(None), *cut)].reshape(-1, rows.shape[-1])

    V = np.concatenate([moved(o) for o in offsets], axis=1)
    seen = np.isfinite(V)
    if seen.all():
        return V.T @ V / len(V), len(V)
    V, H = np.where(seen, V, 0.0), seen.astype(np.float64)
    pairs = H.T @ H
    S = np.divide(V.T @ V, pairs, out=np.zeros_like(pairs), where=pairs > 0)
    power, vectors = np.linalg.eigh(S)
    S = (vectors * np.maximum(power, 1e-6 * power.max())) @ vectors.T
    return S, float(np.median(pairs))


def _radius(S, offsets, n_channels, count, most):
    """The distance of neighbours with the smallest ``N log det + (number of predictors) log N``."""
    found = []
    for radius in range(most + 1):
        near = [j for j, o in enumerate(offsets) if _distance(o) <= radius][1:]
        log_det = np.linalg.slogdet(_predictors(S, near, n_channels)[1])[1]
        found.append(count * log_det + len(near) * n_channels**2 * np.log(max(count, 2)))
    return int(np.argmin(found))


def _predictors(S, neighbours, n_channels):
    """``B`` (C, m C) from some neighbours, and the covariance of the errors, (C, C)."""
    here = np.arange(n_channels)
    there = np.concatenate([j * n_channels + here for j in neighbours]) if neighbours else here[:0]
    floor = max(LEAST * np.trace(S) / len(S), np.finfo(float).tiny)
    G = S[np.ix_(there, there)] + floor * np.eye(len(there))
    B = np.linalg.solve(G, S[np.ix_(there, here)]).T
    left = S[np.ix_(here, here)] - B @ S[np.ix_(there, here)]
    power, vectors = np.linalg.eigh((left + left.T) / 2)
    return B, (vectors * np.maximum(power, floor)) @ vectors.T


def _by_neighbours(S, offsets, kept, shape, n_channels):
    """``A`` from moments: points with the same available neighbours have the same predictors."""
    where = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    points = where.reshape(-1, len(shape))
    there = points[:, None] + np.array([offsets[j] for j in kept])[None]  # (points, m, axes)
    inside = np.all((there >= 0) & (there < shape), axis=-1)
    sights, of_point = np.unique(inside, axis=0, return_inverse=True)
    blocks: list[tuple[np.ndarray, ...]] = []
    for number, sight in enumerate(sights):
        mine = np.flatnonzero(of_point.ravel() == number)
        near = [kept[j] for j in np.flatnonzero(sight)]
        B, left = _predictors(S, near[1:], n_channels)
        root = np.linalg.inv(np.linalg.cholesky(left))
        taps = np.concatenate([root, -root @ B], axis=1)  # (C, m C)
        columns = np.ravel_multi_index(np.moveaxis(there[mine][:, sight], -1, 0), shape)
        columns = (columns[..., None] * n_channels + np.arange(n_channels)).reshape(len(mine), -1)
        lines = mine[:, None] * n_channels + np.arange(n_channels)
        every = (len(mine), n_channels, taps.shape[1])
        blocks.append(
            (
                np.broadcast_to(taps, every).ravel(),
                np.broadcast_to(lines[:, :, None], every).ravel(),
                np.broadcast_to(columns[:, None, :], every).ravel(),
            )
        )
    values, lines, columns = (np.concatenate(part) for part in zip(*blocks, strict=True))
    size = math.prod(shape) * n_channels
    A = sparse.coo_array((values, (lines, columns)), shape=(size, size))
    A.sum_duplicates()
    kept_values = A.data != 0
    A = sparse.coo_array((A.data[kept_values], (A.row[kept_values], A.col[kept_values])), A.shape)
    return sparse.csr_array(A)


def filled(rows: np.ndarray, noise: Innovations, rng) -> np.ndarray:
    """Rows (n, \\*shape, C) whose gaps are filled with noise that continues what is next to them.

    The noise is drawn given the observed values: the most likely values, plus the deviation of a
    simulated row ``z`` from its own most likely values, as loud as the innovations of the row,
    ``s_i^2 = |A x_i|^2 / (number of values observed)``.
    """
    hidden = np.isnan(rows).reshape(len(rows), -1)
    which = np.flatnonzero(hidden.any(axis=1))
    if not len(which):
        return rows
    found = np.array(rows, dtype=np.float64).reshape(len(rows), -1)
    H = hidden[which]
    X = _most_likely(np.where(H, 0.0, found[which]), H, noise)
    seen = np.maximum((~H).sum(axis=1, keepdims=True), 1)
    loud = np.sqrt(np.sum((noise.matrix @ X.T).T ** 2, axis=1, keepdims=True) / seen)
    Z = noise.colour(rng.standard_normal(X.shape))
    Z -= _most_likely(np.where(H, 0.0, Z), H, noise)
    found[which] = X + np.where(H, loud * Z, 0.0)
    return found.reshape(rows.shape)


def _most_likely(X, hidden, noise):
    """Flat rows with the values at ``hidden`` that minimise ``|A x|``, by conjugate gradients.

    All rows at once: each has its own step.
    """
    X = X.copy()
    left = -np.where(hidden, noise.precision(X), 0.0)
    step = left.copy()
    energy = np.sum(left**2, axis=1)
    least = TOL**2 * np.maximum(energy, np.finfo(float).tiny)
    for _ in range(STEPS):
        if np.all(energy <= least):
            break
        moved = np.where(hidden, noise.precision(step), 0.0)
        slope = np.sum(step * moved, axis=1)
        far = np.divide(energy, slope, out=np.zeros_like(energy), where=slope > 0)[:, None]
        X += far * step
        left -= far * moved
        before, energy = energy, np.sum(left**2, axis=1)
        ratio = np.divide(energy, before, out=np.zeros_like(energy), where=before > 0)
        step = left + ratio[:, None] * step
    return X
