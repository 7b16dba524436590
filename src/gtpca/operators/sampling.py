r"""Transforms that move points, at any pose: ``(T_theta w)(x) = w(source_theta(x))``.

Values between grid points are interpolated multilinearly: a point reads the ``2^r`` corners of the
cell in which its source lies, with shares that add up to 1; beyond the grid ``w`` is zero. So
``T* diag(v) T`` couples weights with their neighbours only, by the products of the shares of two
corners, and is stored by the difference between them.

Poses with one parameter are searched for on banks of finely spaced poses around each node, which
all rows near it share. For several parameters there are steps of Gauss and Newton, with the
coefficients projected out: with ``M = (T w_k)``, ``c = (M'M)^-1 M'x`` and
``J_p = sum_k c_k dT w_k / dtheta_p``,

    step = A^-1 J'(x - M c),    A = J'J - J'M (M'M)^-1 M'J.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from scipy import sparse

from gtpca.operators.normal import Normal
from gtpca.operators.poses import Continuous

__all__ = ["Neighbours", "Path", "Sampling"]

PIECE = 2**16  # points of rows that are interpolated at once: they should fit into the cache
EDGE = 2  # zeros beyond each end of the grid: far points read, and have slopes, of nothing
LARGE = 2**24  # entries of all fine banks up to which they are kept
FINE = 8  # poses of a bank on either side of a node,
NEAR = FINE // 2 + 1  # and if rows begin with a pose of which it is the nearest node
CANDIDATES = 2  # nodes at which a search in one parameter begins,
SEVERAL = 4  # and in several
FIRST_STEPS, NEXT_STEPS = 8, 3  # of Gauss and Newton from a node, and from the pose so far
LONGEST = 0.75  # step, in distances between nodes
SHORTER = 0.3  # of a step that does not help,
FINEST = 1e-3  # unless it is shorter than this, in distances between nodes
SAME = 1e-5  # relative gain from which on steps go on


class Path(ABC):
    """Where each sample point reads the weights, as a function of the pose.

    Positions are those of the grid of weights, in the order of its ``r`` moved axes.
    """

    @abstractmethod
    def sources(self, pose: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Positions (n, r, P) that sample points (r, P) read at poses (n, p)."""

    @abstractmethod
    def slopes(self, pose: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Derivatives of :meth:`sources` by the parameters, (n, p, r, P)."""


class Sampling(Continuous):
    """Multilinear interpolation at the sources of a :class:`Path`.

    Parameters
    ----------
    path : Path
    axes : tuple of PoseAxis
    lattice : int array (\\*sizes)
        The numbers of all nodes, with one axis for each parameter: neighbours are neighbours.
    shape : tuple of int
        The shape of samples and of weights.
    moved : tuple of int
        The moved axes; the others are channels.
    nodes : array (m, p)
        Their poses.
    domain : bool array (d,) or None
        The features at which transforms show anything.
    ties : sparse array (L, L) or None
        What the weights are replaced by before they are read.
    """

    def __init__(self, path, axes, lattice, shape, moved, nodes, domain=None, ties=None):
        self.path, self.axes, self.nodes = path, tuple(axes), nodes
        self.lattice, self.ties = lattice, ties
        self.shape = tuple(shape[a] for a in moved)
        flat = np.arange(math.prod(shape)).reshape(shape)
        self.flat = np.moveaxis(flat, moved, range(len(moved))).reshape(math.prod(self.shape), -1)
        kept = np.ones(len(self.flat), bool) if domain is None else domain[self.flat[:, 0]]
        self.features = self.flat[kept]  # (P, C)
        grid = np.indices(self.shape, dtype=np.float64).reshape(len(self.shape), -1)
        self.points = grid[:, kept]
        self.padded = tuple(size + 2 * EDGE for size in self.shape)
        strides = [math.prod(self.padded[j + 1 :]) for j in range(len(self.shape))]
        self.strides = strides
        corners = list(itertools.product((0, 1), repeat=len(self.shape)))
        self.corners = [(corner, int(np.dot(corner, strides))) for corner in corners]
        inner = np.indices(self.shape).reshape(len(self.shape), -1) + EDGE
        self.inner = np.ravel_multi_index(tuple(inner), self.padded)  # of the padded grid
        self.size = math.prod(self.padded)
        self._banks: dict[tuple[int, int], sparse.csr_array] = {}

    @cached_property
    def steps(self) -> np.ndarray:
        """Distances between neighbouring nodes along each parameter, (p,)."""
        poses = self.nodes[self.lattice]
        found = []
        for j, axis in enumerate(self.axes):
            along = np.diff(poses[..., j], axis=j)
            found.append(np.abs(along).max(initial=0.0) or (axis.high - axis.low) or 1.0)
        return np.array(found)

    # --- reading ---

    def _pad(self, W):
        """Weights (S, L) on the padded grid, one channel after the other, (S, C, size)."""
        W = W if self.ties is None else (self.ties @ W.T).T
        out = np.zeros((len(W), self.flat.shape[1], self.size), W.dtype)
        out[:, :, self.inner] = W[:, self.flat].transpose(0, 2, 1)
        return out

    def _unpad(self, V):
        """The adjoint of :meth:`_pad`, (S, C, size) to (S, L)."""
        out = np.empty((len(V), self.flat.size), V.dtype)
        out[:, self.flat] = V[:, :, self.inner].transpose(0, 2, 1)
        return out if self.ties is None else (self.ties.T @ out.T).T

    def _cells(self, pose, dtype=np.float64):
        """Where cells begin on the padded grid, (n, P), and positions in them, (r, n, P)."""
        points = self.points.astype(dtype, copy=False)
        sources = self.path.sources(pose.astype(dtype, copy=False), points)
        place, shares = 0, []
        for j, (size, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            source = sources[:, j]
            source += EDGE
            np.clip(source, 0, size + 2 * EDGE - 1, out=source)
            low = source.astype(np.int32)
            np.minimum(low, size + 2 * EDGE - 2, out=low)
            source -= low
            shares.append(source)
            low *= stride
            place = low if j == 0 else place + low
        return place, shares

    def _shares(self, shares):
        """How much each corner counts, with its offset."""
        for corner, offset in self.corners:
            value: np.ndarray | float = 1.0
            for bit, share in zip(corner, shares, strict=True):
                value = value * (share if bit else 1.0 - share)
            yield offset, value

    def _pieces(self, n):
        step = max(1, PIECE // max(1, self.features.size))
        return [slice(i, i + step) for i in range(0, n, step)]

    def products(self, X, V, W, pose):
        n, K = len(pose), len(W)
        b, G, columns = np.empty((n, K)), np.empty((n, K, K)), self._columns(W, X.dtype)
        alike = len(V) == 1 and bool(np.all(V == 1))
        for part in self._pieces(n):
            rows = X[part][:, self.features].reshape(-1, self.features.size, 1)
            moved = self._moved(columns, pose[part])  # (n, P C, K)
            weighed = moved
            if not alike:
                each = (V if len(V) == 1 else V[part])[:, self.features].astype(X.dtype)
                weighed = moved * each.reshape(len(each), -1, 1)
            b[part] = (weighed.transpose(0, 2, 1) @ rows)[:, :, 0]
            G[part] = weighed.transpose(0, 2, 1) @ moved
        return b, G

    def _columns(self, W, dtype):
        """Padded weights (K, L), ready to be read together, (size, C, K)."""
        return np.ascontiguousarray(self._pad(W.astype(dtype, copy=False)).transpose(2, 1, 0))

    def _moved(self, columns, pose):
        """Moved weights on the points that count, (n, P C, K): one sparse product for all K."""
        return self._times(self._matrix(pose, columns.dtype), columns)

    def _times(self, matrix, columns):
        moved = matrix @ columns.reshape(self.size, -1)
        return moved.reshape(-1, self.features.size, columns.shape[2])

    def _matrix(self, pose, dtype):
        """The shares with which points read padded weights, sparse (n P, size)."""
        place, shares = self._cells(pose, dtype)
        indices = np.empty((*place.shape, len(self.corners)), np.int32)
        values = np.empty(indices.shape, dtype)
        for j, (offset, share) in enumerate(self._shares(shares)):
            np.add(place, offset, out=indices[..., j])
            values[..., j] = share
        ends = np.arange(0, values.size + 1, len(self.corners), dtype=np.int32)
        entries = (values.ravel(), indices.ravel(), ends)
        return sparse.csr_array(entries, shape=(place.size, self.size))

    def bank(self, number, poses):
        """:meth:`_matrix` of the poses around a node, kept as long as all of them are small."""
        if len(self.nodes) * len(poses) * len(self.features) * len(self.corners) > LARGE:
            return self._matrix(poses[:, None], np.float32)
        key = number, len(poses)
        if key not in self._banks:
            self._banks[key] = self._matrix(poses[:, None], np.float32)
        return self._banks[key]

    def __getstate__(self):
        return vars(self) | {"_banks": {}}

    def apply(self, w, pose):
        padded = self._pad(np.atleast_2d(w))
        out = np.zeros((len(pose), self.flat.size), w.dtype)
        for part in self._pieces(len(pose)):
            own = padded if w.ndim == 1 else padded[part]
            place, shares = self._cells(pose[part])
            moved = self._read(own, place, list(self._shares(shares)))
            out[part, self.features] = moved.transpose(0, 2, 1)
        return out

    def _read(self, padded, place, read):
        """Interpolated values of padded weights (1, C, size) or (n, C, size), (n, C, P).

        ``read`` are the offsets and shares of all corners.
        """
        n, C = len(place), padded.shape[1]
        if len(padded) > 1:
            place = place + (np.arange(n) * C * self.size)[:, None]
        flat, total = padded.ravel(), np.zeros((n, C, place.shape[1]), padded.dtype)
        for offset, share in read:
            for c in range(C):
                total[:, c] += share * flat.take(place + (offset + c * self.size))
        return total

    def adjoint(self, X, pose):
        C, out = self.flat.shape[1], np.empty((len(X), self.flat.size))
        for part in self._pieces(len(X)):
            place, shares = self._cells(pose[part])
            rows = X[part][:, self.features].astype(np.float64, copy=False)  # (n, P, C)
            first = self._own_places(place)
            sums = np.zeros((len(place), C, self.size))
            for offset, share in self._shares(shares):
                for c in range(C):
                    self._add(sums[:, c], first, offset, share * rows[:, :, c])
            out[part] = self._unpad(sums)
        return out

    def _own_places(self, place):
        """Places (n, P) in a grid for each row, one after the other."""
        return (np.arange(len(place)) * self.size)[:, None] + place

    def _add(self, sums, first, offset, values):
        """Add values (n, P), by their places ``first + offset``, to sums (grids, size)."""
        found = np.bincount(first.ravel(), values.ravel(), sums.size).reshape(sums.shape)
        sums[:, offset:] += found[:, : self.size - offset]

    # --- the normal equations ---

    @cached_property
    def offsets(self) -> list[int]:
        """Differences between two corners of a cell that are not negative."""
        ends = itertools.product(self.corners, repeat=2)
        return sorted({b - a for (_, a), (_, b) in ends if b >= a})

    def sums(self, pose, coef, V):
        C = self.flat.shape[1]
        total = np.zeros((len(coef), C * len(self.offsets) * self.size))
        for part in self._pieces(len(pose)):
            weights = (V if len(V) == 1 else V[part])[:, self.features]  # (n or 1, P, C)
            alike = C > 1 and len(V) == 1 and bool(np.all(weights == weights[:, :, :1]))
            weights, own = weights[..., :1] if alike else weights, coef[:, part]
            if len(own) == 1:  # the rows need not be told apart
                rows = self._stencils(pose[part], own[0][:, None, None] * weights, together=True)
            else:
                rows = self._stencils(pose[part], weights)
            rows = np.repeat(rows, C, axis=1) if alike else rows
            rows = rows.reshape(len(rows), -1)
            total += rows if len(own) == 1 else own @ rows
        return total

    def _stencils(self, pose, weights, together=False):
        """``T* diag(v) T`` of every row, by offset and first corner, (n, C, offsets, size).

        Or their sum over the rows, (1, C, offsets, size).
        """
        place, shares = self._cells(pose)
        first = place.astype(np.intp) if together else self._own_places(place)
        read, n = list(self._shares(shares)), 1 if together else len(place)
        out = np.zeros((n, weights.shape[2], len(self.offsets), self.size))
        for c in range(weights.shape[2]):
            for j, (a, share) in enumerate(read):
                weighed = share * weights[:, :, c]
                for b, other in read[j:]:
                    sums = out[:, c, self.offsets.index(abs(b - a))]
                    self._add(sums, first, min(a, b), weighed * other)
        return out

    def normal(self, sums):
        shape = (*sums.shape[:3], self.flat.shape[1], len(self.offsets), self.size)
        return Neighbours(self, sums.reshape(shape))

    # --- the search ---

    def best_nodes(self, energies):
        """The best nodes that explain more than all their neighbours on the lattice."""
        C = CANDIDATES if len(self.axes) == 1 else SEVERAL
        values = energies[:, self.lattice]
        peak = np.ones(values.shape, dtype=bool)
        for j, axis in enumerate(self.axes, start=1):
            if values.shape[j] == 1:
                continue
            for step in (-1, 1):
                other = np.roll(values, step, axis=j)
                if not axis.wraps:
                    end = [slice(None)] * values.ndim
                    end[j] = slice(0, 1) if step == 1 else slice(-1, None)
                    other[tuple(end)] = -np.inf
                peak &= values >= other
        flat = np.where(peak, values, values - 2 * values.max(initial=0.0) - 1.0)
        flat = flat.reshape(len(values), -1)
        C = min(C, flat.shape[1])
        best = np.argpartition(-flat, C - 1, axis=1)[:, :C]
        order = np.argsort(-np.take_along_axis(flat, best, axis=1), axis=1, kind="stable")
        return self.lattice.ravel()[np.take_along_axis(best, order, axis=1)]

    def search(self, X, V, W, starts, positive=False, rough=False):
        if len(self.axes) == 1:
            return self._search_line(X, V, W, starts[:, :, 0], positive)[:, None]
        return self._search_space(X, V, W, starts, positive)

    def _search_line(self, X, V, W, starts, positive):
        """The best pose (n,) on fine banks around starts (n, C), with a parabola through it."""
        n, step = len(X), self.steps[0] / FINE
        side = NEAR if starts.shape[1] == 1 else FINE
        best, most = starts[:, 0].copy(), np.full(n, -np.inf)
        bank = FineBank(self, X, V, W, positive)
        cell = np.rint(starts / self.steps[0]).astype(np.int64)
        wraps = self.axes[0].wraps
        turns = round(self.axes[0].period / self.steps[0]) if wraps else 0
        cell = cell % turns if turns else cell
        for c in range(starts.shape[1]):
            for number in np.unique(cell[:, c]):
                mine = np.flatnonzero(cell[:, c] == number)
                poses = (number * FINE + np.arange(-side, side + 1)) * step
                if not wraps:
                    poses = np.unique(np.clip(poses, self.axes[0].low, self.axes[0].high))
                found, energy = peaks(poses, bank.energies(mine, number, poses))
                more = energy > most[mine]
                best[mine[more]], most[mine[more]] = found[more], energy[more]
        return self.axes[0].within(best)

    def _search_space(self, X, V, W, starts, positive):
        """Gauss and Newton from every start; the best of them."""
        out = np.empty((len(X), len(self.axes)))
        for part in self._pieces(len(X)):
            weights = (V if len(V) == 1 else V[part])[:, self.features]
            rows = X[part][:, self.features].astype(np.float32)
            newton = Newton(self, rows, weights.astype(np.float32), W, positive)
            out[part] = newton.best_of(starts[part])
        return out


def peaks(poses, energies):
    """The largest value of parabolas through the largest of energies (n, F), and where it is."""
    if len(poses) < 3:
        j = energies.argmax(axis=1)
        return poses[j], energies[np.arange(len(j)), j]
    j = energies.argmax(axis=1)
    i, rows = np.clip(j, 1, len(poses) - 2), np.arange(len(j))
    low, mid, high = (energies[rows, i + k] for k in (-1, 0, 1))
    bend = low - 2 * mid + high
    slope = (high - low) / 2
    inside = (bend < 0) & (i == j)
    shift = np.where(inside, -slope / np.where(inside, bend, 1.0), 0.0)
    shift = np.clip(shift, -0.5, 0.5)
    step = np.where(shift > 0, poses[i + 1] - poses[i], poses[i] - poses[i - 1])
    found = np.where(inside, poses[i] + shift * step, poses[j])
    return found, energies[rows, j] + np.where(inside, slope * shift + bend * shift**2 / 2, 0.0)


class FineBank:
    """What a block explains of rows at poses that many rows have in common.

    Parameters
    ----------
    sampling : Sampling
    X : array (n, d)
    V : array (1, d) or (n, d)
    W : array (K, L)
    positive : bool
    """

    def __init__(self, sampling, X, V, W, positive):
        shape = (-1, sampling.features.size)
        self.sampling, self.W, self.positive = sampling, W, positive
        self.X = X[:, sampling.features].reshape(shape).astype(np.float32, copy=False)
        self.V = V[:, sampling.features].reshape(shape).astype(np.float32)
        self.columns = sampling._columns(W, np.float32)

    def energies(self, mine, number, poses):
        """``b' G^-1 b`` of rows ``mine`` at poses (F,) around node ``number``, (n, F)."""
        K, F, sampling = len(self.W), len(poses), self.sampling
        moved = sampling._times(sampling.bank(number, poses), self.columns)  # (F, P C, K)
        if len(self.V) == 1:
            weighed = moved * self.V[0][:, None]
            b = self.X[mine] @ weighed.transpose(1, 0, 2).reshape(-1, F * K)
            G = (weighed.transpose(0, 2, 1) @ moved).astype(np.float64)[None]
        else:
            V, (first, second) = self.V[mine], np.tril_indices(K)
            b = (self.X[mine] * V) @ moved.transpose(1, 0, 2).reshape(-1, F * K)
            pairs = (moved[:, :, first] * moved[:, :, second]).transpose(1, 0, 2)
            sums = (V @ pairs.reshape(len(pairs), -1)).reshape(-1, F, len(first))
            G = np.empty((len(mine), F, K, K))
            G[:, :, first, second] = G[:, :, second, first] = sums
        return explained(b.reshape(-1, F, K).astype(np.float64), G, self.positive)


def explained(b, G, positive=False):
    """``b' G^-1 b`` of products (n, .., K) and Gram matrices (n or 1, .., K, K)."""
    if b.shape[-1] == 1:
        b, G = b[..., 0], G[..., 0, 0]
        b = np.maximum(b, 0.0) if positive else b
        return np.divide(b**2, G, out=np.zeros_like(b), where=np.broadcast_to(G > 0, b.shape))
    if len(G) == 1:
        return np.einsum("nfj,fjk,nfk->nf", b, inverted(G[0]), b, optimize=True)
    return np.einsum("...k,...k->...", b, solved(G, b))


def inverted(G):
    """``G^-1`` with a small ridge, (.., K, K)."""
    least = 1e-6 * np.einsum("...kk->...", G)[..., None, None]
    return np.linalg.inv(G + np.where(least > 0, least, 1.0) * np.eye(G.shape[-1]))


def solved(G, b):
    """``G^-1 b`` with a small ridge, (.., K)."""
    return (inverted(G) @ b[..., None])[..., 0]


class Newton:
    """Steps of Gauss and Newton for some rows, in single precision.

    Parameters
    ----------
    sampling : Sampling
    X : array (n, P, C)
    V : array (n, P, C) or (1, P, C)
    W : array (K, L)
    positive : bool
    """

    def __init__(self, sampling, X, V, W, positive):
        self.sampling, self.positive = sampling, positive
        n = len(X)
        self.V = np.broadcast_to(V, X.shape).transpose(0, 2, 1).reshape(n, -1)
        self.X = X.transpose(0, 2, 1).reshape(n, -1)  # (n, C P)
        self.padded = sampling._pad(W.astype(np.float32))  # (K, C, size)

    def best_of(self, starts):
        """The best pose (n, p) that is reached from starts (n, C, p)."""
        best = most = None
        steps = NEXT_STEPS if starts.shape[1] == 1 else FIRST_STEPS
        for start in np.moveaxis(starts, 1, 0):
            pose, energy = self.climb(start, steps)
            if best is None:
                best, most = pose, energy
                continue
            more = energy > most
            best, most = np.where(more[:, None], pose, best), np.where(more, energy, most)
        return best

    def climb(self, pose, n_steps):
        """Poses (n, p) after some steps, and what they explain, (n,)."""
        pose = self._within(pose)
        now = self.at(pose, np.arange(len(pose)))
        energy, step = now["energy"], self.step(now)
        active = np.arange(len(pose))
        for _ in range(n_steps):
            tried = self._within(pose[active] + step[active])
            new = self.at(tried, active)
            better = new["energy"] > energy[active]
            mine, worse = active[better], active[~better]
            gain = new["energy"][better] - energy[mine]
            pose[mine], energy[mine] = tried[better], new["energy"][better]
            step[mine] = self.step({name: values[better] for name, values in new.items()})
            step[worse] *= SHORTER
            small = np.abs(step[worse] / self.sampling.steps).max(axis=1, initial=0.0) < FINEST
            active = np.concatenate([mine[gain > SAME * energy[mine]], worse[~small]])
            if not len(active):
                break
        return pose, energy

    def _within(self, pose):
        columns = [axis.within(pose[:, j]) for j, axis in enumerate(self.sampling.axes)]
        return np.stack(columns, axis=1)

    def at(self, pose, rows):
        """Energies (n,), residuals and moved weights of rows at poses, and derivatives."""
        sampling = self.sampling
        place, shares = sampling._cells(pose, np.float32)
        n, (K, C, _) = len(pose), self.padded.shape
        read = np.empty((len(sampling.corners), K, C, *place.shape), np.float32)
        for j, (_, offset) in enumerate(sampling.corners):
            for k in range(K):
                for c in range(C):
                    np.take(self.padded[k, c], place + offset, out=read[j, k, c], mode="clip")
        moved = np.zeros(read.shape[1:], np.float32)
        for j, (_, share) in enumerate(sampling._shares(shares)):
            moved += read[j] * share
        M = np.moveaxis(moved, 2, 0).reshape(n, K, -1)
        X, V = self.X[rows], self.V[rows]
        weighed = M * V[:, None]
        b = (weighed @ X[:, :, None])[:, :, 0].astype(np.float64)
        G = (weighed @ M.transpose(0, 2, 1)).astype(np.float64)
        c = solved(G, b)
        if K == 1 and self.positive:
            c = np.maximum(c, 0.0)
        rest = X - np.einsum("nk,nkp->np", c.astype(np.float32), M)
        J = self._slopes(pose, read, shares, c.astype(np.float32))
        return {
            "energy": np.einsum("nk,nk->n", c, 2 * b - np.einsum("njk,nk->nj", G, c)),
            "A": J * V[:, None] @ J.transpose(0, 2, 1),
            "B": (J @ weighed.transpose(0, 2, 1)).astype(np.float64),
            "G": G,
            "g": (J * V[:, None] @ rest[:, :, None])[:, :, 0].astype(np.float64),
        }

    def _slopes(self, pose, read, shares, c):
        """``J``: derivatives of ``sum_k c_k T w_k`` by the parameters, (n, p, C P)."""
        sampling, n = self.sampling, len(pose)
        values = np.einsum("jkcnp,nk->jcnp", read, c)
        by_source = []
        for axis in range(len(shares)):
            total = np.zeros(values.shape[1:], np.float32)
            for value, (corner, _) in zip(values, sampling.corners, strict=True):
                share: np.ndarray | float = 1.0 if corner[axis] else -1.0
                for other, (bit, part) in enumerate(zip(corner, shares, strict=True)):
                    if other != axis:
                        share = share * (part if bit else 1.0 - part)
                total += share * value
            by_source.append(total)  # (C, n, P)
        slopes = sampling.path.slopes(pose, sampling.points).astype(np.float32)  # (n, p, r, P)
        J = np.einsum("rcnq,nprq->npcq", np.stack(by_source), slopes)
        return J.reshape(n, slopes.shape[1], -1)

    def step(self, now):
        """``A^-1 g`` with the coefficients projected out, at most ``LONGEST``, (n, p)."""
        A, B, G, g = now["A"].astype(np.float64), now["B"], now["G"], now["g"]
        A = A - B @ inverted(G) @ B.transpose(0, 2, 1)
        scale = self.sampling.steps
        A, g = A * scale[:, None] * scale, g * scale  # in distances between nodes
        least = 1e-3 * np.einsum("npp->n", A)[:, None, None]
        A = A + np.where(least > 0, least, 1.0) * np.eye(len(scale))
        step = np.linalg.solve(A, g[:, :, None])[:, :, 0]
        length = np.abs(step).max(axis=1, keepdims=True)
        return step * np.minimum(1.0, LONGEST / np.maximum(length, 1e-30)) * scale


class Neighbours(Normal):
    """Weights coupled to their neighbours on the grid, with an equation for each of them.

    Parameters
    ----------
    sampling : Sampling
    entries : array (S, K, K, C, offsets, size)
        By the first of two corners on the padded grid.
    """

    def __init__(self, sampling, entries):
        self.sampling, self.entries = sampling, entries

    def times(self, W):
        S, K, _ = W.shape
        sampling = self.sampling
        padded = sampling._pad(W.reshape(S * K, -1)).reshape(S, K, -1, sampling.size)
        out = np.zeros_like(padded)
        for j, offset in enumerate(sampling.offsets):
            E, end = self.entries[:, :, :, :, j], sampling.size - offset
            out[..., :end] += np.einsum("sjkcl,skcl->sjcl", E[..., :end], padded[..., offset:])
            if offset:
                out[..., offset:] += np.einsum("sjkcl,skcl->sjcl", E[..., :end], padded[..., :end])
        return sampling._unpad(out.reshape(S * K, -1, sampling.size)).reshape(W.shape)

    @cached_property
    def cover(self):
        own = np.einsum("skkcl->scl", self.entries[:, :, :, :, 0])
        return self.sampling._unpad(own)

    def __rmul__(self, factor):
        return Neighbours(self.sampling, factor * self.entries)
