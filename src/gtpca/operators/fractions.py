r"""Shifts between samples: windows at offsets in steps of a fraction of a sample.

With the whole-sample shifts ``T_o`` and Keys' cubic taps ``h_j(f)`` (j = -1, 0, 1, 2), the shift by
``o + f`` is

    T_{o+f} = sum_j h_j(f) T_{o+j}:

the shifted window is the cubic interpolation of its weights, which are zero beyond its ends.
Everything follows from whole shifts. With the lags ``l = i - j`` of two taps and the weights
``w(. + l)`` that are ``l`` points ahead,

    <x, T_{o+f} w>       = sum_j h_j(f) <x, T_{o+j} w>
    (T_a v) (T_{a-l} w)  = T_a (v w(. + l))

so norms, Gram matrices and products with masks are those of a few products ``v w(. + l)`` under
whole shifts, and ``sum_t c_t T_t* diag(q) T_t`` is a band matrix: its entries at ``(y, y + l)`` are
the coverage of the weight ``y`` by whole shifts that occur ``sum_t c_t h_i h_{i-l}`` times.

Reference: Keys, R. (1981). Cubic convolution interpolation for digital image processing. IEEE
Transactions on Acoustics, Speech, and Signal Processing, 29(6), 1153-1160.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import sparse

from gtpca.operators.backend import cut_axis, pad_axis
from gtpca.operators.base import Operator, with_feature_weight
from gtpca.operators.normal import Stencil
from gtpca.operators.shift import ShiftAxis, ShiftOperator
from gtpca.operators.windows import describe_windows

__all__ = ["TAPS", "FineAxis", "FractionalShiftOperator", "fine_axis", "keys_taps"]

TAPS = np.array([-1, 0, 1, 2])  # where the taps of a fraction lie
LAGS = 4  # 0, 1, 2, 3: distances of two taps


def keys_taps(f: np.ndarray) -> np.ndarray:
    """Keys' cubic ``h_j(f)`` of fractions (n,) for j = -1, 0, 1, 2, shape (n, 4); they sum to 1."""
    f = np.asarray(f, dtype=np.float64)
    near = np.stack([f * (f - 1) ** 2, f**2 * (1 - f)], axis=-1) / -2
    here = (3 * f**3 - 5 * f**2 + 2) / 2
    return np.stack([near[..., 0], here, 1 - here - near.sum(axis=-1), near[..., 1]], axis=-1)


def linear_taps(f: np.ndarray) -> np.ndarray:
    """``1 - f`` and ``f`` in the places of :func:`keys_taps`, none of them negative."""
    f = np.asarray(f, dtype=np.float64)
    return np.stack([np.zeros_like(f), 1 - f, f, np.zeros_like(f)], axis=-1)


@dataclass(frozen=True, eq=False)
class FineAxis:
    """The offsets of a window on one axis, in steps of ``1 / parts``.

    Parameters
    ----------
    track : ShiftAxis
        The whole offsets.
    parts : int
        The number of fractions; 1 if there is nothing between them.
    """

    track: ShiftAxis
    parts: int

    @cached_property
    def closed(self) -> bool:
        """Whether the last whole offset is followed by the first."""
        return self.track.circular and self.track.count == self.track.size

    @cached_property
    def count(self) -> int:
        """The number of offsets."""
        whole = self.track.count if self.closed else self.track.count - 1
        return whole * self.parts + (not self.closed)

    @cached_property
    def wide(self) -> ShiftAxis:
        """All whole offsets that taps read: one more at each end, unless the axis is a circle."""
        if self.parts == 1 or self.closed:
            return self.track
        return replace(self.track, first=self.track.first - 1, count=self.track.count + 2)

    @cached_property
    def places(self) -> np.ndarray:
        """The wide offsets that each fine one reads, (count, 4), or (count, 1) without parts."""
        if self.parts == 1:
            return np.arange(self.count)[:, None]
        places = np.arange(self.count)[:, None] // self.parts + TAPS
        if self.closed:
            return places % self.wide.count
        return np.clip(places + 1, 0, self.wide.count - 1)  # the last one reads itself only

    def shares(self, taps) -> np.ndarray:
        """The factors of these, by a function such as :func:`keys_taps`."""
        if self.parts == 1:
            return np.ones((self.count, 1))
        return taps(np.arange(self.count) % self.parts / self.parts)

    def offset_at(self, number) -> np.ndarray:
        """The offsets with the given numbers."""
        offset = self.track.first + np.asarray(number) / self.parts
        return self.track.offset_at(number) if self.parts == 1 else offset

    def interpolated(self, a, axis, taps) -> np.ndarray:
        """Values at wide offsets along an axis, ``sum_j h_j a_{o+j}`` at all fine ones."""
        if self.parts == 1:
            return a
        a = np.moveaxis(a, axis, -1)
        if self.closed:
            a = np.concatenate([a[..., -1:], a, a[..., :2]], axis=-1)
        h = taps(np.arange(self.parts) / self.parts).astype(a.dtype)
        fine = sliding_window_view(a, len(TAPS), axis=-1) @ h.T
        fine = fine.reshape(*fine.shape[:-2], -1)
        if not self.closed:
            fine = np.concatenate([fine, a[..., -2:-1]], axis=-1)
        return np.moveaxis(fine, -1, axis)


def fine_axis(track: ShiftAxis, fractions: int) -> FineAxis:
    """An axis with offsets between the whole ones, if it has more than one."""
    return FineAxis(track, fractions if track.count > 1 else 1)


class FractionalShiftOperator(Operator):
    """Shifts in steps of a fraction of a sample along the moving axes.

    Transform ``t`` is the combination of fine offsets ``np.unravel_index(t, counts)``.

    Parameters
    ----------
    tracks : sequence of ShiftAxis
        The whole offsets, one per axis of the sample.
    axes : tuple of int
        The axes that were asked to move, even if there is only one position.
    fractions : int
        The number of offsets per sample.
    grid : tuple of int or None
        The shape of a sample, if more than its sizes is known.

    Attributes
    ----------
    base : ShiftOperator
        The whole shifts alone.
    whole : ShiftOperator
        The whole shifts that taps read: one more at each end.
    fine : tuple of FineAxis
    """

    def __init__(self, tracks, axes, fractions, grid=None):
        self.base = ShiftOperator(tracks, axes, grid=grid)
        self.fine = tuple(fine_axis(track, fractions) for track in self.base.tracks)
        self.counts = tuple(axis.count for axis in self.fine)
        base = self.base
        super().__init__(base.grid, base.weight_shape, np.prod(self.counts), axes)
        self.whole = ShiftOperator([axis.wide for axis in self.fine], axes, grid=grid)
        self.quantities, self.circular = base.quantities, base.circular
        self.weight_grid, self.edges, self.crops = base.weight_grid, base.edges, base.crops
        self.stacked = self.whole.stacked
        self.short_list = base  # starts on fractions end in optima that whole shifts do not have
        centred = [axis.track.centred * axis.parts for axis in self.fine]
        self.reference = int(np.ravel_multi_index(centred, self.counts))
        self._split = tuple(j for j, axis in enumerate(self.fine) if axis.parts > 1)
        self._set_taps(keys_taps)

    def _set_taps(self, taps):
        """Where every transform reads whole shifts (m, q), with which factors (m, q)."""
        counts = self.whole.counts
        places, shares = np.zeros((1, 1), np.int64), np.ones((1, 1))
        for axis, size in zip(self.fine, counts, strict=True):
            places = places[:, None, :, None] * size + axis.places[None, :, None, :]
            shares = shares[:, None, :, None] * axis.shares(taps)[None, :, None, :]
            places, shares = (a.reshape(a.shape[0] * a.shape[1], -1) for a in (places, shares))
        self._taps, self._places, self._shares = taps, places, shares
        self._reads = self._matrix_of(np.arange(shares.shape[1]), shares)

    def _matrix_of(self, columns, values):
        """The sparse matrix (m, wide offsets) with ``values`` (m, p) at the places ``columns``."""
        m = self.n_transforms
        rows = np.repeat(np.arange(m), values.shape[1])
        places = self._places[:, columns].ravel()
        shape = (m, self.whole.n_transforms)
        found = sparse.csr_array((values.ravel(), (rows, places)), shape=shape)
        found.eliminate_zeros()
        return found

    @property
    def magnitude(self):
        return self._with_taps(lambda f: np.abs(keys_taps(f)))

    @property
    def _averaging(self):
        return self._with_taps(linear_taps)

    def _with_taps(self, taps):
        other = copy.copy(self)
        for name in ("_pairs", "_prepared_weight"):
            vars(other).pop(name, None)
        other._set_taps(taps)
        return other

    # --- all transforms ---

    def apply(self, w):
        return self._reads @ self.whole.apply(w)

    def adjoint(self, M):
        return self.whole.adjoint(self._reads.T @ np.asarray(M, dtype=np.float64))

    def matrix(self):
        each = sparse.kron(self._reads, sparse.eye_array(self.n_features), format="csr")
        return sparse.csr_array(each @ self.whole.matrix())

    def prepare(self, X):
        return self.whole.prepare(X)

    def correlate(self, P, W):
        return self.interpolate(self.whole.correlate(P, W))

    def _correlate(self, P, w):
        return self.correlate(P, w[None])[0]

    def interpolate(self, products: np.ndarray) -> np.ndarray:
        """Products with all transforms (.., m), from those with whole shifts."""
        grid = products.reshape(*products.shape[:-1], *self.whole.counts)
        for j, axis in enumerate(self.fine, start=products.ndim - 1):
            grid = axis.interpolated(grid, j, self._taps)
        return grid.reshape(*products.shape[:-1], -1)

    def adjoint_sum(self, P, coef):
        wide = self._reads.T @ coef.reshape(-1, self.n_transforms).T
        shape = (*coef.shape[:-1], self.whole.n_transforms)
        return self.whole.adjoint_sum(P, wide.T.reshape(shape))

    # --- one transform per row ---

    def _apply_at(self, w, index):
        return self._added(lambda places: self.whole.apply_at(w, places), index)

    def _apply_rows(self, V, index):
        return self._added(lambda places: self.whole.apply_at(V, places), index)

    def _adjoint_rows(self, X, index):
        if self._broad is None:
            return self._added(lambda places: self.whole.adjoint_at(X, places), index)
        pieces = self._pieces(X, index)
        parts = (
            pieces[under] * _columns(self._shares[index, j], pieces)
            for j, under in enumerate(self._under)
        )
        return sum(parts).reshape(len(X), -1)

    def _added(self, moved_by, index):
        """``sum_j h_j`` times the rows that whole shifts of ``index`` (n,) give, (n, ..)."""
        moved = (moved_by(places) for places in self._places[index].T)
        shares = self._shares[index].T[:, :, None]
        return sum(m * h.astype(m.dtype) for m, h in zip(moved, shares, strict=True))

    def _adjoint_at(self, X, index, coef):
        return self._adjoint_block(X, index, np.asarray(coef)[:, None])[0]

    def _adjoint_block(self, X, index, coef):
        q = self._shares.shape[1]
        each = (coef[:, :, None] * self._shares[index][:, None]).reshape(len(coef), -1)
        sums = self._sums_at_taps(X, index, each, np.tile(np.arange(q), coef.shape[1]))
        return sums.reshape(coef.shape[1], q, -1).sum(axis=1)

    def _sums_at_taps(self, X, index, coef, taps):
        """``sum_i coef_ic T_o* x_i`` with the whole shift that tap ``taps_c`` reads, (C, L)."""
        sums = np.empty((len(taps), self.n_weights))
        if self._broad is None:
            for j in np.unique(taps):
                places = self._places[index, j]
                sums[taps == j] = self.whole._adjoint_block(X, places, coef[:, taps == j])
            return sums
        coef = coef.astype(np.result_type(X, np.float32))
        pieces = self._pieces(X, index)
        whole = (coef.T @ pieces.reshape(len(X), -1)).reshape(-1, *pieces.shape[1:])
        for j, under in enumerate(self._under):
            sums[taps == j] = whole[taps == j][under].reshape(-1, self.n_weights)
        return sums

    @cached_property
    def _broad(self):
        """The whole shifts of a window that is wide enough for all taps; None in a short circle."""
        tracks = [_broadened(axis) for axis in self.fine]
        if any(track.circular and track.window > track.size for track in tracks):
            return None
        return ShiftOperator(tracks, self.moved_axes)

    @cached_property
    def _under(self):
        """The part of the broad window that each tap reads."""
        each = itertools.product(*(range(axis.places.shape[1]) for axis in self.fine))
        shape = self.weight_shape
        ends = (zip(taps, shape, strict=True) for taps in each)
        return [(slice(None), *(slice(j, j + size) for j, size in pairs)) for pairs in ends]

    def _pieces(self, X, index):
        """The part of each row under the broad window, (n, \\*its shape)."""
        numbers = np.unravel_index(index, self.counts)
        whole = [t // axis.parts for axis, t in zip(self.fine, numbers, strict=True)]
        places = np.ravel_multi_index(whole, self._broad.counts)
        return self._broad.adjoint_at(X, places).reshape(len(X), *self._broad.weight_shape)

    # --- products of weights with themselves, and of what is hidden ---

    @cached_property
    def _pairs(self):
        """Lags of pairs of taps, and how often whole shifts occur in them, (m, wide offsets).

        Only one of ``l`` and ``-l`` is listed: they belong to the same pairs.
        """
        steps = [TAPS if axis.parts > 1 else np.zeros(1, np.int64) for axis in self.fine]
        taps = np.array(list(itertools.product(*steps)))
        zero, found = (0,) * len(self.fine), []
        lags = itertools.product(*(range(1 - LAGS, LAGS) if len(s) > 1 else (0,) for s in steps))
        for lag in lags:
            if lag < zero:
                continue
            first, second = np.nonzero(np.all(taps[:, None] - taps == lag, axis=2))
            values = self._shares[:, first] * self._shares[:, second]
            found.append((lag, first, second, self._matrix_of(first, values)))
        return found

    def _ahead(self, W, lag):
        """Weights ``w(. + lag)`` of rows (n, L), zero beyond the ends of the window, (n, L)."""
        grid = W.reshape(-1, *self.weight_shape)
        for j in self._split:
            grid = _moved_along(grid, lag[j], j + 1, self.fine[j].track)
        return grid.reshape(W.shape)

    def _lagged(self, V, W):
        """Products ``v w(. + l) + w v(. + l)`` of rows (n, L), or ``v w``, for each lag."""
        for lag, *_, counts in self._pairs:
            if not any(lag):
                yield counts, V * W
            else:
                yield counts, V * self._ahead(W, lag) + W * self._ahead(V, lag)

    def _gram(self, stack):
        S, K, L = stack.shape
        first, second = np.tril_indices(K)
        V, W = (stack[:, each].reshape(-1, L) for each in (first, second))
        each = (counts @ self._sums_shown(products).T for counts, products in self._lagged(V, W))
        sums = np.sum(list(each), axis=0)
        G = np.empty((S, self.n_transforms, K, K))
        G[:, :, first, second] = sums.reshape(-1, S, len(first)).transpose(1, 0, 2)
        G[:, :, second, first] = G[:, :, first, second]
        return G

    def _sums_shown(self, products):
        """Sums of products (n, L) over what each whole shift shows, (n, wide offsets)."""
        if self.whole.isometric:
            sums = products.sum(axis=1, keepdims=True)
            return np.repeat(sums, self.whole.n_transforms, axis=1)
        grid = products.reshape(-1, *self.weight_shape)
        return self.whole._each_axis("energies", grid, first=1).reshape(len(products), -1)

    def _gram_of(self, W):
        return self._gram(W[None])[0]

    def _norms(self, w):
        return np.sqrt(self._gram(w[None, None])[0, :, 0, 0].clip(0.0))

    def prepare_mask(self, H):
        return self.whole.prepare_mask(H)

    def _correlate_mask(self, P, v, w):
        return self._masked(P, v[None], w[None])[0]

    def _correlate_squares(self, P, W):
        return self._masked(P, W, W)

    def correlate_mask(self, P, V, W):
        return self._masked(P, V, W)

    def _masked(self, P, V, W):
        """``<h_i, (T_t v_s) (T_t w_s)>``, (S, n, m)."""
        total = np.zeros(())
        for counts, products in self._lagged(V, W):
            wide = self.whole.correlate(P, products)
            flat = wide.reshape(-1, wide.shape[-1])
            total = (counts.astype(flat.dtype) @ flat.T).T + total.astype(flat.dtype)
        return total.reshape(len(V), -1, self.n_transforms)

    def _mask_sums(self, H, index, coef):
        """The bands of ``sum_i coef_is T_i* diag(h_i) T_i``, (S, lags L)."""
        taps = np.concatenate([first for _, first, _, _ in self._pairs])
        others = np.concatenate([second for _, _, second, _ in self._pairs])
        both = self._shares[index][:, taps] * self._shares[index][:, others]
        each = (coef[:, :, None] * both[:, None]).reshape(len(coef), -1)
        sums = self._sums_at_taps(H, index, each, np.tile(taps, coef.shape[1]))
        starts = np.cumsum([0, *(len(first) for _, first, _, _ in self._pairs[:-1])])
        sums = sums.reshape(coef.shape[1], len(taps), -1)
        return np.add.reduceat(sums, starts, axis=1).reshape(len(sums), -1)

    def _mask_sum(self, H, coef):
        P = self.prepare_mask(H)
        wide = np.stack([(counts.T @ coef.T).T for *_, counts in self._pairs])
        return self.whole.adjoint_sum(P, wide).ravel()

    def _mask_total(self, M):
        return np.concatenate([self.whole.adjoint(counts.T @ M) for *_, counts in self._pairs])

    def _mask_normal(self, sums, w):
        return self._stencil(sums[None, None, None]).times(w[None, None])[0, 0]

    # --- the normal equations: a band matrix ---

    @cached_property
    def _band(self):
        """Columns and beginnings of the rows of the band matrix, and the band of each entry."""
        y = np.arange(self.n_weights)
        found = []
        for number, (lag, *_) in enumerate(self._pairs):
            ahead = self._ahead(np.arange(1.0, len(y) + 1)[None], lag)[0].astype(np.int64) - 1
            there = np.flatnonzero(ahead >= 0)
            both = ((y[there], ahead[there]), (ahead[there], y[there]))
            for first, second in both if any(lag) else both[:1]:
                found.append((first, second, number * len(y) + there))
        rows, columns, sources = (np.concatenate(each) for each in zip(*found, strict=True))
        order = np.lexsort((columns, rows))
        indptr = np.searchsorted(rows[order], np.arange(len(y) + 1))
        return columns[order], indptr, sources[order]

    def _stencil(self, bands):
        """The system with bands (S, K, K, lags L)."""
        indices, indptr, sources = self._band
        return Stencil(indices, indptr, np.moveaxis(bands[..., sources], 3, 1))

    def _lacking(self, moments):
        return self._stencil(moments.hidden)

    def _normal(self, nodes):
        S, m, K, _ = nodes.shape
        each = nodes.transpose(0, 2, 3, 1).reshape(-1, m)
        whole = self._weighted_whole
        bands = [whole._coverage((counts.T @ each.T).T) for *_, counts in self._pairs]
        return self._stencil(np.stack(bands, axis=1).reshape(S, K, K, -1))

    def _coverage(self, counts):
        seen = (self._reads.power(2).T @ np.asarray(counts, dtype=np.float64).T).T
        return self._weighted_whole._coverage(seen)

    @cached_property
    def _weighted_whole(self):
        return with_feature_weight(self.whole, self.feature_weight)

    # --- descriptions, and moves that the solver tries ---

    def describe(self, index):
        numbers = np.unravel_index(np.asarray(index, dtype=np.int64), self.counts)
        offsets = [axis.offset_at(t) for axis, t in zip(self.fine, numbers, strict=True)]
        return describe_windows(self.grid, self.moved_axes, self.base.tracks, offsets)

    def _nearest_whole(self, index, rounded):
        """Numbers of the nearest whole shifts, by a function that rounds."""
        numbers = np.unravel_index(index, self.counts)
        places = [
            rounded(t / axis.parts).astype(np.int64) % axis.track.count
            for axis, t in zip(self.fine, numbers, strict=True)
        ]
        return np.ravel_multi_index(places, self.base.counts)

    def coarser(self, axes):
        return self.base.coarser(axes)

    def moves(self, w, far=False):
        return self.base.moves(w, far)

    def centre(self, w, used, seen):
        """As whole shifts do; nothing is moved if a row reads zeros beyond the window."""
        if used is not None and self._reads_beyond(used):
            used = None
        if used is not None:
            used = np.unique([self._nearest_whole(used, r) for r in (np.floor, np.ceil)])
        return self.base.centre(w, used, seen)

    def _reads_beyond(self, index):
        """Whether a crop lies between the first two or the last two whole positions."""
        numbers = np.unravel_index(index, self.counts)
        return any(
            np.any((t % axis.parts > 0) & ((t < axis.parts) | (t >= axis.count - axis.parts)))
            for axis, t in zip(self.fine, numbers, strict=True)
            if axis.track.covers
        )

    def translate(self, w, index):
        """As by the nearest whole shift: those form a group, if any do."""
        whole = self._nearest_whole(np.array([index]), np.rint)
        numbers = np.unravel_index(whole, self.base.counts)
        fine = [n * axis.parts for n, axis in zip(numbers, self.fine, strict=True)]
        return super().translate(w, int(np.ravel_multi_index(fine, self.counts)[0]))


def _columns(values, like):
    """Values (n,) in the shape and type for a product with rows (n, ..)."""
    return values.reshape(-1, *[1] * (like.ndim - 1)).astype(like.dtype)


def _broadened(axis):
    """The whole offsets of a window that reaches as far as the taps of every fraction."""
    if axis.parts == 1:
        return axis.track
    reach = len(TAPS) - 1
    return replace(axis.track, window=axis.track.window + reach, first=axis.track.first - 1)


def _moved_along(grid, lag, axis, track):
    """Rows ``w(. + lag)`` along an axis; zero beyond the ends of the window, or round a circle."""
    if not lag:
        return grid
    if track.circular:
        whole = pad_axis(grid, axis, 0, track.size - track.window)
        return cut_axis(np.roll(whole, -lag, axis), axis, 0, track.window)
    before, after = max(0, -lag), max(0, lag)
    return cut_axis(pad_axis(grid, axis, before, after), axis, after, track.window)
