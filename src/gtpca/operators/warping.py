r"""Free monotone warps of time, by dynamic programming: the numerics of :class:`gtpca.FreeWarp`.

A warp is piecewise linear between knots ``s_0 < .. < s_J`` that are spread evenly over the times
``0 .. d - 1`` of a sample:

    (T w)(t) = w(gamma(t)),    gamma(s_j) = s_j + pose_j

with linear interpolation of ``w``. Fixed ends have no entry in the pose: it has one per *moving*
knot. Beyond its ends, which only warps with free ends reach, ``w`` continues with its last value.
The component is read at ``L`` of the ``d`` points alone, its *nodes*, and is linear in between:
with fewer nodes than points it is smooth, which keeps warps from pinching single points.

For a row ``x`` with weights ``v`` of its values and coefficients ``c`` of K components, a warp is
worth

    2 c'b - c'G c - rho |x|^2 int (gamma' - 1)^2,    b_k = <v x, T w_k>,  G_jk = <v, T w_j T w_k>

where the integral runs over the sample as an interval of length 1. All three are sums over the
segments between knots, and each depends on the displacements of two neighbouring knots only. So the
best path through a lattice of displacements is found exactly by dynamic programming (Viterbi, 1967;
Sakoe and Chiba, 1978). Coefficients and path alternate; then the path is refined in a *tube* of
three displacements per knot around itself, with ever smaller steps. Paths begin from the
coefficients at the best of a few poses, and from those of the first component alone.

Letters: ``n`` rows, ``K`` components, ``C`` channels, ``d`` times, ``L`` nodes, ``q`` moving knots.
Samples are (n, C, d) here, and components (K, C, d), linear between their nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solveh_banded

__all__ = ["Lattice", "Warped", "refine", "search", "solve_chain"]

PIECE = 2**21  # numbers of a table of products; rows are searched some at a time
CHANNELS, POINTS = 4, 1000  # from how many channels, and up to how many values, sums come first
FINEST = 0.5  # of a point: the step at which the tube ends
ROUNDING = 1e-9
SINGULAR = 1e-10  # eigenvalues of Gram matrices below this share of the largest count as zero


@dataclass(frozen=True, eq=False)
class Segment:
    """All warps of the times between two knots, for M displacements of one and M' of the other.

    Attributes
    ----------
    points : slice
        The times of the segment.
    index, share : arrays (M, M', P)
        The point at or before the place that is read, and the share of the next point.
    price, barrier : arrays (M, M')
        Roughness of the warp, and what keeps its slope in the range: 0, or infinite beyond.
    """

    points: slice
    index: np.ndarray
    share: np.ndarray
    price: np.ndarray
    barrier: np.ndarray


@dataclass(frozen=True, eq=False)
class Lattice:
    """The warps that a search may choose from.

    Parameters
    ----------
    n_times : int
        ``d``.
    n_nodes : int
        ``L``, at least 2.
    n_knots : int
        The number of inner knots, at least 1.
    free : bool
        Whether the ends move too.
    reach : float
        The largest displacement of a knot, in points.
    n_levels : int
        Displacements of a knot on each side of 0.
    slopes : tuple of two floats
        The smallest and the largest slope of ``gamma``.
    rho : float
        Price of roughness, relative to the energy of a row.
    """

    n_times: int
    n_nodes: int
    n_knots: int = 9
    free: bool = False
    reach: float = 20.0
    n_levels: int = 10
    slopes: tuple[float, float] = (0.1, 8.0)
    rho: float = 0.01

    @cached_property
    def times(self) -> np.ndarray:
        """``0 .. d - 1``."""
        return np.arange(self.n_times, dtype=np.float64)

    @cached_property
    def nodes(self) -> np.ndarray:
        """The points at which components are read, (L,)."""
        return np.unique(np.rint(np.linspace(0, self.n_times - 1, self.n_nodes)).astype(np.int64))

    @cached_property
    def knots(self) -> np.ndarray:
        """``s_0 .. s_J``, the ends included."""
        return np.linspace(0.0, self.n_times - 1.0, self.n_knots + 2)

    @property
    def moving(self) -> slice:
        """The knots that move."""
        return slice(None) if self.free else slice(1, -1)

    @property
    def n_moving(self) -> int:
        """``q``."""
        return self.n_knots + 2 * self.free

    @property
    def step(self) -> float:
        """The distance between displacements."""
        return self.reach / self.n_levels

    @property
    def n_halvings(self) -> int:
        """How often the step of the tube is halved."""
        return max(2, math.ceil(math.log2(self.step / FINEST)))

    @cached_property
    def hats(self) -> np.ndarray:
        """The displacement of every time by one unit of each moving knot, (q, d)."""
        every = np.eye(len(self.knots))[self.moving]
        return np.array([np.interp(self.times, self.knots, one) for one in every])

    @cached_property
    def bounds(self) -> np.ndarray:
        """The first time of every segment, and ``d``."""
        return np.append(np.ceil(self.knots[:-1]), self.n_times).astype(np.int64)

    @cached_property
    def levels(self) -> np.ndarray:
        """The displacements of a knot, (2 n_levels + 1,)."""
        return self.step * np.arange(-self.n_levels, self.n_levels + 1)

    def levels_of(self, knot: int) -> np.ndarray:
        """The displacements that a knot may have: 0 alone if it is fixed."""
        inner = 0 < knot < len(self.knots) - 1
        return self.levels if inner or self.free else np.zeros(1)

    def whole(self, pose: np.ndarray) -> np.ndarray:
        """The displacements of all knots, fixed ends included, (n, J + 1)."""
        if self.free:
            return pose
        whole = np.zeros((len(pose), len(self.knots)))
        whole[:, 1:-1] = pose
        return whole

    def warp(self, pose: np.ndarray) -> np.ndarray:
        """``gamma(t)`` of poses (n, q), (n, d)."""
        return self.times + pose @ self.hats

    def roughness(self, pose: np.ndarray) -> np.ndarray:
        """``int (gamma' - 1)^2`` of poses (n, q), (n,)."""
        return self.costs(np.diff(self.whole(pose)), slice(None))[0].sum(axis=1)

    def is_allowed(self, pose: np.ndarray) -> np.ndarray:
        """Whether all slopes of poses (n, q) lie in the range, up to rounding, bool (n,)."""
        return np.all(self.costs(np.diff(self.whole(pose)), slice(None))[1] == 0, axis=1)

    def reads(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places (..) as the point at or before each, and the share of the next point."""
        inside = np.clip(places, 0.0, self.n_times - 1.0)
        index = np.minimum(inside.astype(np.int64), self.n_times - 2)
        return index, inside - index

    def node_reads(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places (..) as the node at or before each, and the share of the next node."""
        where = np.interp(places, self.nodes, np.arange(len(self.nodes)))
        index = np.minimum(where.astype(np.int64), len(self.nodes) - 2)
        return index, where - index

    def smooth(self, W: np.ndarray) -> np.ndarray:
        """Components (.., d) as they are read: linear between the nodes, (.., d)."""
        index, share = self.node_reads(self.times)
        return interpolated(W[..., self.nodes], index, share)

    @cached_property
    def segments(self) -> list[Segment]:
        """All segments, with all displacements of their knots."""
        return [self._segment(j) for j in range(len(self.knots) - 1)]

    def _segment(self, j):
        points, (left, right) = slice(*self.bounds[j : j + 2]), self.knots[j : j + 2]
        share = (self.times[points] - left) / (right - left)
        before, after = self.levels_of(j)[:, None], self.levels_of(j + 1)[None]
        places = self.times[points] + before[..., None] * (1 - share) + after[..., None] * share
        return Segment(points, *self.reads(places), *self.costs(after - before, j))

    @cached_property
    def lengths(self) -> np.ndarray:
        """The lengths of all segments, (J,)."""
        return np.diff(self.knots)

    def costs(self, change: np.ndarray, segment: int | slice) -> tuple[np.ndarray, np.ndarray]:
        """Price and barrier of segments whose ends move apart by ``change`` (..), see Segment."""
        slope = change / self.lengths[segment]
        low, high = self.slopes
        allowed = (slope >= low - 1 - ROUNDING) & (slope <= high - 1 + ROUNDING)
        price = slope**2 * (self.lengths[segment] / (self.n_times - 1))
        return price, np.where(allowed, 0.0, np.inf)

    @cached_property
    def tube(self) -> tuple[np.ndarray, np.ndarray]:
        """Moves of the two knots of a segment by -1, 0 or 1, (9, 2), and of each time, (9, d)."""
        moves = np.array([(a, b) for a in (-1.0, 0.0, 1.0) for b in (-1.0, 0.0, 1.0)])
        number = np.repeat(np.arange(len(self.knots) - 1), np.diff(self.bounds))
        share = (self.times - self.knots[number]) / np.diff(self.knots)[number]
        return moves, moves[:, :1] * (1 - share) + moves[:, 1:] * share


@dataclass(frozen=True, eq=False)
class Warped:
    """Rows in given poses, and their projections on K components there.

    Attributes
    ----------
    pose : array (n, q)
    coef : array (n, K)
        ``c = G^-1 b``; not negative if only that is allowed.
    explained : array (n,)
        ``2 c'b - c'G c``, the energy that the projection explains.
    worth : array (n,)
        The same minus the price of roughness.
    """

    pose: np.ndarray
    coef: np.ndarray
    explained: np.ndarray
    worth: np.ndarray

    def better(self, other: Warped) -> Warped:
        """For every row, the one that is worth more; this one if both are worth the same."""
        mine = self.worth >= other.worth
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Warped(*(np.where(mine.reshape(-1, *(1,) * (a.ndim - 1)), a, b) for a, b in pairs))


def interpolated(W: np.ndarray, index: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Values (.., L) at the places ``index + share``, shape (.., \\*places)."""
    low = W[..., index]
    return low + share * (W[..., index + 1] - low)


def moved(lattice: Lattice, W: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """``T_i w_k`` of smooth components (K, C, d) in poses (n, q), (n, K, C, d)."""
    return interpolated(W, *lattice.reads(lattice.warp(pose))).transpose(2, 0, 1, 3)


def moved_each(lattice: Lattice, W: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Smooth components (n, C, d), one per row, at the places (n, r) of each row, (n, C, r)."""
    index, share = lattice.reads(places)
    low, high = (np.take_along_axis(W, (index + i)[:, None], axis=2) for i in (0, 1))
    return low + share[:, None] * (high - low)


def solve_positive_semidefinite(G, b, positive=False):
    """``G^-1 b`` of matrices (n, K, K) and (n, K), zero in directions without energy."""
    if b.shape[1] == 1:
        found = np.divide(b, G[:, 0], out=np.zeros_like(b), where=G[:, 0] > 0)
        return np.maximum(found, 0.0) if positive else found
    values, vectors = np.linalg.eigh(G)
    seen = values > SINGULAR * values[:, -1:]
    scale = np.where(seen, 1 / np.where(seen, values, 1.0), 0.0)
    return np.einsum("nkj,nj->nk", vectors, scale * np.einsum("nkj,nk->nj", vectors, b))


class Beside:
    """Rows beside components: the one place where their values are multiplied.

    Parameters
    ----------
    lattice : Lattice
    rows : tuple of arrays (n, C, d), (n, C, d) or (1, C, d), and (n,)
        ``v x``, ``v``, and the energies ``|x|^2``.
    W : array (K, C, d)
        Smooth components.
    """

    def __init__(self, lattice, rows, W):
        self.lattice, self.rows, self.W = lattice, rows, W

    def products(self, pose):
        """``b`` (n, K) and ``G`` (n, K, K) in poses (n, q)."""
        X, V, _ = self.rows
        M = moved(self.lattice, self.W, pose).reshape(len(pose), len(self.W), -1)
        b = np.einsum("nkt,nt->nk", M, X.reshape(len(X), -1))
        return b, (M * V.reshape(len(V), 1, -1)) @ M.transpose(0, 2, 1)

    def gains(self, coef, places):
        """``2 v x y - v y^2`` of the curves ``y = c'w`` at the places (n, m, d), over channels."""
        X, V, _ = self.rows
        n, m, d = places.shape
        curves = np.tensordot(coef, self.W, axes=1)
        read = moved_each(self.lattice, curves, places.reshape(n, -1)).reshape(n, -1, m, d)
        return np.sum(read * (2 * X[:, :, None] - V[:, :, None] * read), axis=1)


class Crossed(Beside):
    """The same from sums over channels, which are taken once for all poses.

    With ``y(t) = (1 - f) w(s) + f w(s + 1)``, all that is needed are ``<x(t), w_k(s)>``,
    ``<v(t), w_j(s) w_k(s)>`` and ``<v(t), w_j(s) w_k(s + 1)>``, where products run over channels.
    """

    def __init__(self, lattice, rows, W):
        super().__init__(lattice, rows, W)
        X, V, _ = rows
        first, second = self.pairs = np.tril_indices(len(W))
        after = np.concatenate([W[..., 1:], W[..., -1:]], axis=2)
        self.cross = _over_channels(X, W)
        self.same = _over_channels(V, W[first] * W[second])
        self.next = _over_channels(V, W[first] * after[second] + after[first] * W[second])

    def products(self, pose):
        reads = [a[:, None] for a in self.lattice.reads(self.lattice.warp(pose))]
        b = _interpolated_rows(self.cross, *reads).sum(axis=(2, 3))
        half = self._squares(self.same, self.next, *reads).sum(axis=(2, 3))
        G = np.empty((len(pose), len(self.W), len(self.W)))
        G[:, self.pairs[0], self.pairs[1]] = G[:, self.pairs[1], self.pairs[0]] = half
        return b, G

    def gains(self, coef, places):
        reads = self.lattice.reads(places)
        first, second = self.pairs
        products = np.where(first == second, 1.0, 2.0) * coef[:, first] * coef[:, second]
        cross = np.einsum("nk,nkts->nts", coef, self.cross)[:, None]
        same, after = (_contracted(products, A)[:, None] for A in (self.same, self.next))
        b = _interpolated_rows(cross, *reads)
        return (2 * b - self._squares(same, after, *reads))[:, 0]

    @staticmethod
    def _squares(same, after, index, share):
        """``<v, y_j y_k>`` at every time, (n, p, m, d)."""
        low, high = (_at(same, index + i) for i in (0, 1))
        f = share[:, None]
        return (1 - f) ** 2 * low + f**2 * high + f * (1 - f) * _at(after, index)


def _over_channels(X, W):
    """``sum_c x_ct w_kcs`` of (n, C, d) and (K, C, d), (n, K, d, d)."""
    flat = W.transpose(1, 0, 2).reshape(W.shape[1], -1)
    found = X.transpose(0, 2, 1) @ flat
    return found.reshape(*found.shape[:2], len(W), -1).transpose(0, 2, 1, 3)


def _contracted(coef, A):
    """``sum_p coef_np A_npts``, (n, d, d)."""
    if len(A) == 1:
        return np.tensordot(coef, A[0], axes=1)
    return np.einsum("np,npts->nts", coef, A)


def _at(A, index):
    """``A[n, k, t, index[n, m, t]]``, (n, k, m, d)."""
    n, _, d = index.shape
    row = np.arange(n)[:, None, None] if len(A) > 1 else 0
    return np.moveaxis(A[row, :, np.arange(d), index], 3, 1)


def _interpolated_rows(A, index, share):
    """``A`` at the places ``index + share`` (n, m, d) of every time, (n, k, m, d)."""
    low = _at(A, index)
    return low + share[:, None] * (_at(A, index + 1) - low)


def beside(lattice, rows, W) -> Beside:
    """Rows beside components, in the quicker of two ways."""
    return (Crossed if _sums_first(W) else Beside)(lattice, rows, W)


def _sums_first(W):
    """Whether sums over channels come before poses: many channels of few points."""
    return W.shape[1] >= CHANNELS and len(W) * W.shape[2] <= POINTS


def project(lattice, rows, W, pose, positive=False) -> Warped:
    """The projections of rows in given poses.

    Parameters
    ----------
    lattice, rows, W
        See :class:`Beside`.
    pose : array (n, q)
    positive : bool
        Whether coefficients below 0 are set to 0; for one component only.
    """
    return _projected(beside(lattice, rows, W), pose, positive)


def _projected(pair: Beside, pose, positive) -> Warped:
    """:func:`project` of rows beside components."""
    b, G = pair.products(pose)
    coef = solve_positive_semidefinite(G, b, positive)
    explained = np.einsum("nk,nk->n", coef, 2 * b - np.einsum("njk,nk->nj", G, coef))
    lattice, (_, _, energy) = pair.lattice, pair.rows
    return Warped(pose, coef, explained, explained - lattice.rho * energy * lattice.roughness(pose))


def viterbi(scores: Sequence[np.ndarray]) -> np.ndarray:
    """The path with the largest sum of scores, one array (n, M_j, M_{j+1}) for every segment.

    Returns the number of the level at every knot, (n, J + 1); the first of those that tie.
    """
    value, back = np.zeros(scores[0].shape[:2]), []
    for score in scores:
        total = value[:, :, None] + score
        back.append(total.argmax(axis=1))
        value = np.take_along_axis(total, back[-1][:, None], axis=1)[:, 0]
    rows, path = np.arange(len(value)), [value.argmax(axis=1)]
    for step in reversed(back):
        path.append(step[rows, path[-1]])
    return np.stack(path[::-1], axis=1)


class _Tables:
    """``b`` and ``G`` of all segments and all pairs of displacements, for some rows."""

    def __init__(self, lattice, rows, W):
        X, V, self.energy = rows
        self.lattice, (self.first, self.second) = lattice, np.tril_indices(len(W))
        self.twice = np.where(self.first == self.second, 1.0, 2.0)
        self.products, self.grams = [], []
        for segment in lattice.segments:
            bank = interpolated(W, segment.index, segment.share)  # (K, C, M, M', P)
            bank = bank.transpose(0, 2, 3, 1, 4).reshape(len(W), segment.price.size, -1)
            squares = bank[self.first] * bank[self.second]
            x, v = (A[..., segment.points].reshape(len(A), -1) for A in (X, V))
            self.products.append(_products(x, bank))
            self.grams.append(_products(v, squares))

    def best(self, coef):
        """The best poses (n, q) for coefficients (n, K)."""
        lattice, scores = self.lattice, []
        pairs = self.twice * coef[:, self.first] * coef[:, self.second]
        for segment, b, G in zip(lattice.segments, self.products, self.grams, strict=True):
            quadratic = pairs @ G[0] if len(G) == 1 else np.einsum("np,npm->nm", pairs, G)
            worth = 2 * np.einsum("nk,nkm->nm", coef, b) - quadratic
            worth -= (lattice.rho * self.energy)[:, None] * segment.price.ravel()
            worth -= segment.barrier.ravel()
            scores.append(worth.reshape(-1, *segment.price.shape))
        path = viterbi(scores)
        whole = [lattice.levels_of(j)[path[:, j]] for j in range(len(lattice.knots))]
        return np.stack(whole, axis=1)[:, lattice.moving]


def _products(x, bank):
    """``<x_i, bank_km>`` of rows (n, p) with (K, m, p), (n, K, m)."""
    flat = x @ bank.reshape(-1, bank.shape[2]).T
    return flat.reshape(len(x), *bank.shape[:2])


def in_tube(pair: Beside, found, step):
    """The best poses with every knot moved by -step, 0 or step, for the coefficients found.

    Poses around which no warp is allowed remain as they are.
    """
    lattice, (_, _, energy) = pair.lattice, pair.rows
    moves, moved_times = lattice.tube
    whole = lattice.whole(found.pose)
    gain = pair.gains(found.coef, lattice.warp(found.pose)[:, None] + step * moved_times)
    scores = np.add.reduceat(gain, lattice.bounds[:-1], axis=2)  # (n, 9, J)
    change = np.diff(whole)[:, None] + step * (moves[:, 1] - moves[:, 0])[:, None]
    price, barrier = lattice.costs(change, slice(None))
    barrier = np.where(_within(lattice, whole, step, moves), barrier, np.inf)
    scores = scores - (lattice.rho * energy)[:, None, None] * price - barrier
    scores = scores.reshape(len(whole), 3, 3, -1)
    path = viterbi([scores[..., j] for j in range(scores.shape[-1])])
    after = (whole + step * (path - 1))[:, lattice.moving]
    return np.where(lattice.is_allowed(after)[:, None], after, found.pose)


def _within(lattice, whole, step, moves):
    """Whether moves (9, 2) of the knots of each segment keep within reach, bool (n, 9, J)."""
    ends = np.array([1.0 if lattice.free else 0.0, *np.ones(lattice.n_knots), float(lattice.free)])
    most = np.maximum(lattice.reach * ends, np.abs(whole)) + ROUNDING
    sides = [whole[:, None, :-1] + step * moves[:, :1], whole[:, None, 1:] + step * moves[:, 1:]]
    return (np.abs(sides[0]) <= most[:, None, :-1]) & (np.abs(sides[1]) <= most[:, None, 1:])


def search(lattice, rows, W, starts, positive=False, rough=False) -> Warped:
    """The poses of rows on the whole lattice, refined; never worth less than the starts.

    Parameters
    ----------
    lattice, rows, W, positive
        See :func:`project`.
    starts : list of arrays (n, q)
        Poses to begin with.
    rough : bool
        Whether the path is refined only once.
    """
    return _in_pieces(_search, lattice, rows, W, starts, positive, rough)


def refine(lattice, rows, W, starts, positive=False) -> Warped:
    """The poses of rows near the best of several starts; never worth less than that."""
    return _in_pieces(_refine, lattice, rows, W, starts, positive)


def _in_pieces(find, lattice, rows, W, starts, *how):
    """What ``find`` makes of some rows at a time."""
    X, V, energy = rows
    per_row = len(W) * sum(segment.price.size for segment in lattice.segments)
    pairs = 1 if len(V) == 1 else 1 + len(W)
    sums = pairs * len(W) * X.shape[2] ** 2
    per_row = max(per_row, sums if _sums_first(W) else 9 * X[0].size * len(W))
    size, found = max(1, PIECE // per_row), []
    for first in range(0, len(X), size):
        part = slice(first, first + size)
        some = X[part], V if len(V) == 1 else V[part], energy[part]
        found.append(vars(find(lattice, some, W, [pose[part] for pose in starts], *how)).values())
    return Warped(*(np.concatenate(each) for each in zip(*found, strict=True)))


def _best_of(pair, poses, positive):
    best, *others = (_projected(pair, pose, positive) for pose in poses)
    for other in others:
        best = best.better(other)
    return best


def _refine(lattice, rows, W, starts, positive):
    """:func:`refine` for some rows."""
    pair = beside(lattice, rows, W)
    return _narrowed(pair, _best_of(pair, starts, positive), positive, lattice.n_halvings)


def _narrowed(pair, best, positive, n_halvings):
    """Ever smaller steps of all knots."""
    for halving in range(1, 1 + n_halvings):
        pose = in_tube(pair, best, pair.lattice.step / 2**halving)
        best = best.better(_projected(pair, pose, positive))
    return best


def _search(lattice, rows, W, starts, positive, rough):
    """:func:`search` for some rows."""
    pair = beside(lattice, rows, W)
    best = _best_of(pair, starts, positive)
    tables, first = _Tables(lattice, rows, W), _first_alone(rows, W)
    for coef in [best.coef, first] if positive else [best.coef, first, -first]:
        best = best.better(_projected(pair, tables.best(coef), positive))
    if not rough:
        best = best.better(_projected(pair, tables.best(best.coef), positive))
    return _narrowed(pair, best, positive, 1 if rough else lattice.n_halvings)


def _first_alone(rows, W):
    """Coefficients (n, K) with which the first component alone has the energy of each row."""
    X, V, energy = rows
    squares = np.tensordot(V, W[0] ** 2, axes=2)
    coef = np.zeros((len(X), len(W)))
    coef[:, 0] = np.sqrt(np.divide(energy, squares, out=np.zeros_like(energy), where=squares > 0))
    return coef


def adjoint(lattice: Lattice, X: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """``T_i* x_i`` of rows (n, C, d) in poses (n, q), at the nodes, (n, C, L)."""
    index, share = lattice.node_reads(lattice.warp(pose))
    (n, C, _), L = X.shape, len(lattice.nodes)
    places = index[:, None] + L * np.arange(n * C).reshape(n, C, 1)
    share = share[:, None]
    low = np.bincount(places.ravel(), (X * (1 - share)).ravel(), n * C * L)
    high = np.bincount(places.ravel() + 1, (X * share).ravel(), n * C * L + 1)[: n * C * L]
    return (low + high).reshape(n, C, L)


def chain_sums(lattice: Lattice, V: np.ndarray, pose: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """``sum_i coef_is T_i* diag(v_i) T_i``, which couples neighbouring nodes alone, (S, C, 2, L).

    The diagonal, and the products of every node with the next; additive over rows. Weights of
    values are (n, C, d), or (1, 1, d) if all rows and channels share them; then C is 1.
    """
    index, share = lattice.node_reads(lattice.warp(pose))
    S, C, L = coef.shape[1], V.shape[1], len(lattice.nodes)
    parts = np.stack([(1 - share) ** 2, share * (1 - share), share**2])
    total = np.zeros((S, C, 3, L + 1))
    flat = index.ravel()
    for s in range(S):
        for c in range(C):
            weights = (coef[:, [s]] * V[:, c]) * parts
            total[s, c] = [np.bincount(flat, one.ravel(), L + 1) for one in weights]
    diagonal = total[:, :, 0, :L]
    diagonal[..., 1:] += total[:, :, 2, : L - 1]
    return np.stack([diagonal, total[:, :, 1, :L]], axis=2)


def solve_chain(sums: np.ndarray, rhs: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Solve block-tridiagonal normal equations of K components, one channel, by a banded Cholesky.

    A tiny multiple of the identity holds what no row sees at ``start``: the step is that of a
    proximal point, which cannot raise the residual.

    Parameters
    ----------
    sums : array (K, K, 2, L)
    rhs, start : arrays (K, L)
    """
    K, _, _, L = sums.shape
    N = np.zeros((2 * K, L * K))  # lower form: row r holds entries (i + r, i)
    blocks, beside = sums[:, :, 0].transpose(2, 0, 1), sums[:, :, 1].transpose(2, 0, 1)
    for k in range(K):  # column of the block
        for j in range(K):
            if j >= k:
                N[j - k, k::K] = blocks[:, j, k]
            N[K + j - k, k::K] = beside[
                :, j, k
            ]  # node l + 1, component j, with node l, component k
    largest = np.max(N[0], initial=0.0)
    if not largest > 0:
        return start
    N[0] += SINGULAR * largest
    rest = rhs - chain_times(sums, start)
    step = solveh_banded(N, rest.T.ravel(), lower=True, check_finite=False)
    return start + step.reshape(L, K).T


def chain_times(sums: np.ndarray, W: np.ndarray) -> np.ndarray:
    """``sum_k N_jk w_k`` of sums (K, K, 2, L) and nodes (K, L), (K, L)."""
    found = np.einsum("jkl,kl->jl", sums[:, :, 0], W)
    found[:, :-1] += np.einsum("jkl,kl->jl", sums[:, :, 1, :-1], W[:, 1:])
    found[:, 1:] += np.einsum("jkl,kl->jl", sums[:, :, 1, :-1], W[:, :-1])
    return found


def unwarp(lattice: Lattice, X: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Rows (n, C, d) in the time of the component: ``x(gamma^-1(t))``, (n, C, d).

    Where the row does not reach, it continues with its last value; a value next to a gap is one.
    """
    times = lattice.times
    back = np.array([np.interp(times, gamma, times) for gamma in lattice.warp(pose)])
    return moved_each(lattice, X, back)


def global_poses(lattice: Lattice, strengths: np.ndarray) -> np.ndarray:
    """Warps ``gamma(u) = u ** exp(s)`` of the interval [0, 1] as poses, (m, q)."""
    u = lattice.knots[lattice.moving] / (lattice.n_times - 1)
    poses = (u ** np.exp(strengths)[:, None] - u) * (lattice.n_times - 1)
    return np.clip(poses, -lattice.reach, lattice.reach)
