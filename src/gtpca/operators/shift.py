"""Shifts on a grid with any number of axes: placements, crops, partial overlaps, circular shifts.

On one axis with ``D`` sample points and a window of ``L`` weights, the transform with *offset*
``o`` is

    (T_o w)[x] = w[x - o]   where 0 <= x - o < L,   and 0 elsewhere:

the window starts at sample position ``o``. A window that is longer than the sample has negative
offsets: the sample is a crop of it. Axes are independent; an axis that does not move has one
offset.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.lib.stride_tricks import as_strided
from scipy.fft import next_fast_len

from gtpca.operators.backend import (
    cast,
    constant,
    cut_axis,
    fft_of,
    inverse_fft,
    is_numpy,
    largest_prime,
    namespace,
    pad_axis,
    pieces_at,
    row_numbers,
    window_sums,
    zeros,
)
from gtpca.operators.base import READY_BANK, Operator, sum_by_index
from gtpca.operators.extrapolation import predict_unseen
from gtpca.operators.lags import SHORT_AXIS, coarser_track, conjugate_spectra, lag_matrix
from gtpca.operators.ready import Ready, ReadyBank, ReadyShift
from gtpca.operators.windows import describe_windows, window_grid, window_quantities

__all__ = ["ShiftAxis", "ShiftOperator"]

SHORT_SAMPLE = 1024  # up to this size one scattered sum is faster than a loop over the rows
FEW_TRANSFORMS = 16  # up to this number one matrix product is faster than the FFT
MANY_CHANNELS = 16  # from this number on products of vectors are faster than einsum
LARGE_PRIME = 64  # prime factors of the length from this one on make an FFT slow
FEW_STACKED = 2**19  # size of stacked weights; FFTs gain less from stacking
STACKED_PRODUCTS = 2**17  # of several weights at once: they should fit into the processor's cache
FEW_PRODUCTS = 2**15  # the same, where rows may differ in the last bits between batches


@dataclass(frozen=True)
class ShiftAxis:
    """The offsets ``first, first + step, ..`` of a window on one axis.

    Parameters
    ----------
    size, window : int
        Sample points ``D`` and weights ``L`` on this axis.
    first, step, count : int
        The offsets, ascending.
    circular : bool
        Whether the window wraps around the end of the sample.
    """

    size: int
    window: int
    first: int = 0
    step: int = 1
    count: int = 1
    circular: bool = False

    @cached_property
    def offsets(self) -> np.ndarray:
        """All offsets, shape (count,)."""
        return self.offset_at(np.arange(self.count))

    @cached_property
    def moves(self) -> bool:
        """False for a channel axis, which has only the identity."""
        return self.count > 1 or self.window != self.size

    @cached_property
    def inside(self) -> bool:
        """Whether every weight is visible at every offset."""
        last = int(self.offsets[-1])
        return self.circular or (self.first >= 0 and last + self.window <= self.size)

    @cached_property
    def centred(self) -> int:
        """Number of the offset nearest to the centred position."""
        return int(np.abs(self.offsets - (self.size - self.window) // 2).argmin())

    @cached_property
    def covers(self) -> bool:
        """Whether a longer window covers the whole sample at every offset."""
        fits = self.size - self.window <= self.first and self.offsets[-1] <= 0
        return self.window > self.size and fits and not self.circular

    @cached_property
    def confined(self) -> bool:
        """Whether the window has several positions in the sample and must not leave it."""
        return self.count > 1 and self.inside and not self.circular

    def roll_for(self, numbers) -> int:
        """How far to roll the weights, so that the offsets in use lie amid all others."""
        if not self.covers:
            return 0
        spare = (self.count - 1) - int(numbers.min()) - int(numbers.max())
        return -self.step * (spare // 2)

    @cached_property
    def before(self) -> int:
        """Zeros in front of the padded window."""
        return 0 if self.circular else max(0, int(self.offsets[-1]))

    @cached_property
    def padded(self) -> int:
        """Length of the padded window, of which each ``T_o w`` is a piece of length ``size``."""
        if self.circular:
            return 2 * self.size
        return self.before + max(self.window, self.size - self.first)

    def offset_at(self, number):
        """The offsets with the given numbers."""
        return self.first + self.step * number

    def place_at(self, number):
        """Where the windows with the given numbers begin in an extended sample."""
        offset = self.offset_at(number)
        return offset % self.size if self.circular else offset - min(0, self.first)

    def start_at(self, number):
        """Where the pieces with the given numbers start in the padded window."""
        start = self.before - self.first - self.step * number
        return start % self.size if self.circular else start

    @cached_property
    def starts(self) -> np.ndarray:
        """Where all pieces start in the padded window, shape (count,)."""
        return self.start_at(np.arange(self.count))

    @cached_property
    def extent(self) -> int:
        """The smallest length at which wrapping around does not affect the requested offsets."""
        reach = self.step * (self.count - 1) + self.window
        if self.circular:
            return reach if self.unrolled else self.size
        return max(self.size, self.window, self.size - self.first, self.first + reach)

    @cached_property
    def unrolled(self) -> bool:
        """Whether a circle is repeated as far as windows reach, as its own FFT would be slow."""
        return self.circular and largest_prime(self.size) > LARGE_PRIME

    @cached_property
    def fft_length(self) -> int:
        """A length for the FFT that is at least :attr:`extent`."""
        on_circle = self.circular and not self.unrolled
        return self.size if on_circle else next_fast_len(self.extent, real=True)

    def unroll(self, a: np.ndarray, axis: int) -> np.ndarray:
        """Samples from the first offset as far as windows reach, if unrolled; else unchanged."""
        if not self.unrolled:
            return a
        places = (self.first + np.arange(self.extent)) % self.size
        return a[(slice(None),) * axis + (constant(places, a),)]

    @cached_property
    def n_frequencies(self) -> int:
        """Length of the spectrum of real values."""
        return self.fft_length // 2 + 1

    def pad(self, a: np.ndarray, axis: int) -> np.ndarray:
        """The padded window of which all shifted ones are pieces."""
        if self.circular:
            whole = pad_axis(a, axis, 0, self.size - self.window)
            return namespace(a).concat([whole, whole], axis)
        return pad_axis(a, axis, self.before, self.padded - self.before - self.window)

    def unpad(self, a: np.ndarray, axis: int) -> np.ndarray:
        """The adjoint of :meth:`pad`."""
        if self.circular:
            first, second = np.split(a, 2, axis=axis)
            return cut_axis(first + second, axis, 0, self.window)
        return cut_axis(a, axis, self.before, self.window)

    def extend(self, a: np.ndarray, axis: int) -> np.ndarray:
        """Extended samples, of which all windows are pieces: zeros beyond the ends, or a circle."""
        if self.circular:
            return np.concatenate([a, cut_axis(a, axis, 0, self.window - 1)], axis)
        if self.inside:
            return a
        after = int(self.offsets[-1]) + self.window - self.size
        return pad_axis(a, axis, max(0, -self.first), max(0, after))

    def lay_out(self, a: np.ndarray, axis: int) -> np.ndarray:
        """A window in zeros, from its first offset on, around the length of the FFT.

        The first offset is then exactly at lag 0 of the FFT: no multiplication is needed.
        """
        if not self.first or self.unrolled:
            return a  # the FFT does the padding
        laid_out = zeros((*a.shape[:axis], self.fft_length, *a.shape[axis + 1 :]), a)
        start = self.first % self.fft_length
        head = min(self.window, self.fft_length - start)
        cut_axis(laid_out, axis, start, head)[:] = cut_axis(a, axis, 0, head)
        cut_axis(laid_out, axis, 0, self.window - head)[:] = cut_axis(a, axis, head, self.window)
        return laid_out

    def take_back(self, a: np.ndarray, axis: int) -> np.ndarray:
        """The adjoint of :meth:`lay_out`."""
        first = 0 if self.unrolled else self.first
        return a.take((first + np.arange(self.window)) % a.shape[axis], axis)

    def keep_lags(self, a: np.ndarray, axis: int) -> np.ndarray:
        """The lags that are offsets of this axis; the others are dropped before the next axis."""
        return a[(slice(None),) * axis + (slice(0, self.step * self.count, self.step),)]

    def energies(self, a: np.ndarray, axis: int) -> np.ndarray:
        """Sums of ``a`` over the visible weights, one per offset."""
        sums = window_sums(self.pad(a, axis), self.size, axis)
        return sums[(slice(None),) * axis + (constant(self.starts, sums),)]

    def coverage(self, a: np.ndarray, axis: int) -> np.ndarray:
        """Sums of ``a`` over the offsets that see each weight: the adjoint of energies."""
        shape = list(a.shape)
        shape[axis] = self.padded + self.size - 1
        spread = np.zeros(shape)
        spread[(slice(None),) * axis + (self.starts + self.size - 1,)] = a
        return self.unpad(window_sums(spread, self.size, axis), axis)


class ShiftOperator(Operator):
    """All shifts given by one :class:`ShiftAxis` per sample axis.

    Transform ``t`` is the combination of offsets ``np.unravel_index(t, counts)``. The correlation
    uses the FFT over the moving axes, summed over channels in the frequency domain.

    Parameters
    ----------
    tracks : sequence of ShiftAxis
        One per axis of the sample.
    axes : tuple of int
        The axes that were asked to move, even if there is only one position.
    few_products : int
        Size of a bank up to which one matrix product is preferred to the FFT.
    grid : tuple of int or None
        The shape of a sample, if more than its sizes is known.
    """

    selects = True

    def __init__(self, tracks, axes=(), few_products=0, grid=None):
        self.tracks = tuple(tracks)
        moved = [j for j, track in enumerate(self.tracks) if track.moves]
        self.counts = tuple(track.count for track in self.tracks)
        sizes, windows = [t.size for t in self.tracks], [t.window for t in self.tracks]
        super().__init__(grid or tuple(sizes), windows, np.prod(self.counts), axes)
        self.quantities = window_quantities(self.grid, self.moved_axes, self.tracks)
        self.circular = {j: self.tracks[j].circular for j in self.moved_axes}
        self.weight_grid = window_grid(self.grid, self.tracks)
        self.edges = {axis: self._edge(axis) for axis in self.moved_axes}
        self._moving = tuple(moved)
        self.isometric = all(track.inside for track in self.tracks)
        self.crops = not self.isometric
        centred = [track.centred for track in self.tracks]
        self.reference = int(np.ravel_multi_index(centred, self.counts))
        large = self.n_transforms * self.n_features > few_products
        self.by_fft = large and self.n_transforms > FEW_TRANSFORMS
        self.stacked = FEW_STACKED if self.by_fft else Operator.stacked
        whole = self.isometric and not self._unrolled
        self._moves_prepared = self.by_fft and whole and len(moved) > 1
        self._placed = self.isometric and not any(track.circular for track in self.tracks)
        self._covered = all(t.covers or not (t.moves or t.first) for t in self.tracks)
        self._fft_axes = [j + 1 for j in moved]
        self._fft_shape = [self.tracks[j].fft_length for j in moved]
        self._channels = tuple(j + 1 for j in range(len(self.tracks)) if j not in moved)

    def _each_axis(self, name, a, first=0):
        """Run one method of the tracks along every axis of ``a``, from axis ``first`` on."""
        for axis, track in enumerate(self.tracks, start=first):
            a = getattr(track, name)(a, axis)
        return a

    def _positions(self, index, name):
        """Offsets or starts of the transforms ``index``, one array per axis."""
        places = []
        for axis, track in reversed(list(enumerate(self.tracks))):
            number = index % track.count if axis else index
            places.append(getattr(track, name)(number))
            index = index // track.count if axis else None
        return tuple(reversed(places))

    @cached_property
    def _all_starts(self):
        return self._positions(np.arange(self.n_transforms), "start_at")

    def apply(self, w):
        return self._pieces(w, [constant(starts, w) for starts in self._all_starts])

    def _apply_each(self, W):
        padded = self._each_axis("pad", W.reshape(-1, *self.weight_shape), first=1)
        pieces = boxes_of(padded, self.sample_shape)[(slice(None), *self._all_starts)]
        return pieces.reshape(len(W), self.n_transforms, -1)

    def _apply_at(self, w, index):
        return self._pieces(w, self._positions(index, "start_at"))

    def _pieces(self, w, starts):
        """The pieces of the padded weights that begin at ``starts``, (n, d)."""
        padded = self._each_axis("pad", w.reshape(self.weight_shape))
        return pieces_at(padded, starts, self.sample_shape).reshape(-1, self.n_features)

    def prepare_weights(self, W):
        return W if self._placed else super().prepare_weights(W)

    def add_moved(self, X, Q, index, coef):
        if not self._placed:
            super().add_moved(X, Q, index, coef)
            return
        windows = boxes_of(X.reshape(len(X), *self.sample_shape), self.weight_shape)
        for w, t, c in zip(Q, index.T, coef.T, strict=True):
            part = np.outer(c, w).reshape(-1, *self.weight_shape)
            windows[(np.arange(len(X)), *self._positions(t, "offset_at"))] += part

    def _apply_rows(self, V, index):
        padded = self._each_axis("pad", V.reshape(-1, *self.weight_shape), first=1)
        starts = (row_numbers(V), *self._positions(index, "start_at"))
        return pieces_at(padded, starts, (1, *self.sample_shape)).reshape(-1, self.n_features)

    def adjoint(self, M):
        return self._scatter(M, np.arange(self.n_transforms))

    def _scatter(self, M, index):
        """``sum_i T_{index_i}* M_i``, one addition of a whole sample per row."""
        shape = [track.padded for track in self.tracks]
        starts = self._positions(index, "start_at")
        if self.n_features <= SHORT_SAMPLE:
            reach = np.ravel_multi_index(np.indices(self.sample_shape), shape).ravel()
            places = np.ravel_multi_index(starts, shape)[:, None] + reach
            total = np.bincount(places.ravel(), M.ravel(), math.prod(shape)).reshape(shape)
        else:
            total = np.zeros(shape)
            pieces = boxes_of(total[None], self.sample_shape)[0]
            for row, *start in zip(M.reshape(-1, *self.sample_shape), *starts, strict=True):
                pieces[tuple(start)] += row
        return self._each_axis("unpad", total).ravel()

    def _adjoint_at(self, X, index, coef):
        if self.isometric or self.n_features <= SHORT_SAMPLE:
            coef = np.asarray(coef, dtype=np.result_type(X, np.float32))
            return (coef @ self._adjoint_rows(X, index)).astype(np.float64)
        used, index = np.unique(index, return_inverse=True)
        return self._scatter(sum_by_index(X, index, coef, len(used)), used)

    def _adjoint_each(self, X, index, coef):
        if len(index) == 1 or not (self.isometric or self.n_features <= SHORT_SAMPLE):
            pairs = zip(index, coef, strict=True)
            return np.array([self._adjoint_at(X, t, c) for t, c in pairs])
        coef = np.asarray(coef, dtype=np.result_type(X, np.float32))
        return (coef[:, None, :] @ self._adjoint_rows(X, index))[:, 0].astype(np.float64)

    def _adjoint_rows(self, X, index):
        """The part of each row under the window at ``index`` (.., n), shape (.., n, L)."""
        if self._covered:
            return self._lay_in(X, index)
        grid = self._each_axis("extend", X.reshape(len(X), *self.sample_shape), first=1)
        places = (np.arange(len(X)), *self._positions(index, "place_at"))
        return boxes_of(grid, self.weight_shape)[places].reshape(*index.shape, self.n_weights)

    def _lay_in(self, X, index):
        """Each row in a window that covers it, padded with zeros."""
        back = np.zeros((index.size, *self.weight_shape), X.dtype)
        places = np.arange(index.size).reshape(index.shape), *self._positions(index, "start_at")
        boxes_of(back, self.sample_shape)[places] = X.reshape(len(X), *self.sample_shape)
        return back.reshape(*index.shape, self.n_weights)

    def _adjoint_block(self, X, index, coef):
        back = self._adjoint_rows(X, index)
        coef = coef.astype(np.result_type(back, np.float32))
        return (coef.T @ back).astype(np.float64)

    def prepare(self, X):
        if not self.by_fft:
            return X
        grid = X.reshape(-1, *self.sample_shape)
        grid = self._each_axis("unroll", grid, first=1) if self._unrolled else grid
        if len(self._fft_axes) == 1:
            return fft_of(X).rfft(grid, self._fft_shape[0], self._fft_axes[0])
        return fft_of(X).rfftn(grid, self._fft_shape, self._fft_axes)

    def ready(self, w, dtype=np.float64):
        if self.by_fft:
            return ReadyShift(self, w, dtype)
        few = self.n_transforms * self.n_features <= READY_BANK
        return ReadyBank(self, w, dtype) if few else Ready(self, w)

    def padded(self, w):
        """The padded window, and where every ``T_t w`` starts in it along each axis, (m,) each."""
        return self._each_axis("pad", w.reshape(self.weight_shape)), self._all_starts

    def move_prepared(self, P, W, index, coef):
        """A shift multiplies a spectrum by phases, if no part of the window leaves the sample."""
        if not self._moves_prepared:  # on a single axis the transform itself is as fast
            return False
        grids, (first, *others) = W.reshape(-1, *self.weight_shape), self._moving
        spectra = fft_of(W).rfftn(grids, self._fft_shape, self._fft_axes)
        numbers = np.unravel_index(index, self.counts)
        turns = reduce(np.multiply, (self._turns[j][numbers[j]] for j in others))
        for spectrum, c in zip(spectra, coef.T, strict=True):
            part = cast(self._turns[first] * spectrum, P)[numbers[first]]
            part *= cast(turns * c.reshape(-1, *[1] * spectrum.ndim), P)
            P += part
        return True

    @cached_property
    def _turns(self):
        """The phases that move spectra to all offsets of an axis, by axis."""
        places = {j: self.tracks[j].place_at(np.arange(self.counts[j])) for j in self._moving}
        return {j: self._turn(j, offsets) for j, offsets in places.items()}

    def _turn(self, j, offsets):
        """``exp(-2 pi i f o / N)`` of offsets (n,) and frequencies of an axis, (n, .., F, ..)."""
        length = self.tracks[j].fft_length
        numbers = np.arange(self.tracks[j].n_frequencies if j == self._moving[-1] else length)
        shape = [-1 if axis == j else 1 for axis in range(len(self.tracks))]
        angles = np.outer(offsets, numbers) % length / length
        return np.exp(-2j * np.pi * angles).reshape(len(offsets), *shape)

    def _correlate(self, P, w):
        if not self.by_fft:
            return super()._correlate(P, w)
        return self.lags(P, cast(self.spectrum(w), P))

    def lags(self, P, spectrum):
        """``<x_i, T_t w>``, (n, m), from the spectra of rows and of weights."""
        return self._inverted(self._multiply(P, spectrum))

    def _inverted(self, lags):
        """Spectra of products (n, ..) transformed back to the offsets, (n, m)."""
        track, axis = self.tracks[self._moving[-1]], len(self._moving)
        for other in range(1, axis):
            lags = self.tracks[self._moving[other - 1]].keep_lags(inverse_fft(lags, other), other)
        if axis > 1 and is_numpy(lags) and track.fft_length <= SHORT_AXIS:
            lags = lags.view(lags.real.dtype) @ cast(self._last_lags, lags.real)
        else:
            lags = track.keep_lags(fft_of(lags).irfft(lags, track.fft_length, axis), axis)
        return lags.reshape(-1, self.n_transforms)

    @cached_property
    def _many_channels(self):
        """Whether the last axes are channels, so many that products of vectors are fast."""
        first = len(self._moving)
        sizes = self.sample_shape[first:]
        return self._moving == tuple(range(first)) and math.prod(sizes) >= MANY_CHANNELS

    @cached_property
    def _unrolled(self):
        return any(track.unrolled for track in self.tracks)

    @cached_property
    def _last_lags(self):
        return lag_matrix(self.tracks[self._moving[-1]])

    def _adjoint_sum(self, P, coef):
        return self.adjoint_sum(P, coef[None])[0] if self.by_fft else super()._adjoint_sum(P, coef)

    def adjoint_sum(self, P, coef):
        """``sum_i P_i conj(fft(coef_i))``, transformed back, from the first offset on."""
        if not self.by_fft:
            return super().adjoint_sum(P, coef)
        each = (
            conjugate_spectra(c.reshape(-1, *self.counts), self.tracks, self._moving) for c in coef
        )
        total = np.stack([np.einsum("n...,n...->...", P, c, dtype=np.complex128) for c in each])
        whole = fft_of(total).irfftn(total, self._fft_shape, self._fft_axes)
        return self._each_axis("take_back", whole, first=1).reshape(len(coef), -1)

    def correlate(self, P, W):
        if not self.by_fft:
            return self._product_each(P, W)
        size = max(1, STACKED_PRODUCTS // (len(P) * self.n_transforms))
        if len(W) == 1 or size == 1:
            return np.stack([self._correlate(P, w) for w in W])
        parts = [self._correlate_each(P, W[i : i + size]) for i in range(0, len(W), size)]
        return np.concatenate(parts)

    def _correlate_each(self, P, W):
        """:meth:`correlate` by one FFT of all products."""
        grids = self._each_axis("lay_out", W.reshape(-1, *self.weight_shape), first=1)
        spectra = cast(fft_of(W).rfftn(grids, self._fft_shape, self._fft_axes).conj(), P)
        products = np.stack([self._multiply(P, spectrum) for spectrum in spectra])
        return self._inverted(products.reshape(-1, *products.shape[2:])).reshape(len(W), len(P), -1)

    def correlate_mask(self, P, V, W):
        return self.correlate(P, V * W) if self.by_fft else super().correlate_mask(P, V, W)

    def coarser(self, axes):
        tracks = [coarser_track(t) if j in axes else t for j, t in enumerate(self.tracks)]
        return ShiftOperator(tracks, self.moved_axes, FEW_PRODUCTS)

    def spectrum(self, w):
        """The conjugate spectrum of weights (L,), with their first offset at lag 0."""
        grid = self._each_axis("lay_out", w.reshape(self.weight_shape))
        return fft_of(w).rfftn(grid, self._fft_shape, self._moving).conj()

    def _multiply(self, P, spectrum):
        """Product of the spectra, summed over the channels."""
        if not self._channels:
            return P * spectrum
        if self._many_channels and is_numpy(P):  # row by row, so that every batch gives the same
            places = spectrum.shape[: len(self._moving)]
            rows = P.reshape(len(P), *places, 1, -1)
            return np.matmul(rows, spectrum.reshape(*places, -1, 1))[..., 0, 0]
        axes = list(range(P.ndim))
        kept = [a for a in axes if a not in self._channels]
        return namespace(P).einsum(P, axes, spectrum, axes[1:], kept)

    def _norms(self, w):
        if self.isometric:
            return self._constant_norms(w)
        energy = self._each_axis("energies", (w**2).reshape(self.weight_shape))
        return namespace(w).sqrt(energy).reshape(-1)

    def _gram_of(self, W):
        if self.isometric:
            return np.broadcast_to(W @ W.T, (self.n_transforms, len(W), len(W)))
        return self._gram(W[None])[0]

    def _gram(self, stack):
        S, K = stack.shape[:2]
        pairs = (stack[:, :, None] * stack[:, None]).reshape(-1, *self.weight_shape)
        sums = self._each_axis("energies", pairs, first=1).reshape(S, K, K, -1)
        return sums.transpose(0, 3, 1, 2)

    def _coverage(self, counts):
        if self.feature_weight is not None:
            return super()._coverage(counts)
        if self.isometric:
            return np.repeat(np.sum(counts, axis=1)[:, None], self.n_weights, axis=1)
        places = np.asarray(counts, dtype=np.float64).reshape(-1, *self.counts)
        return self._each_axis("coverage", places, first=1).reshape(len(counts), -1)

    def _node_times(self, nodes, W):
        if self.isometric:
            return nodes.sum(axis=0) @ W
        K = len(W)
        diagonals = self._coverage(nodes.transpose(1, 2, 0).reshape(K * K, -1))
        return np.einsum("jkl,kl->jl", diagonals.reshape(K, K, -1), W)

    def describe(self, index):
        offsets = self._positions(np.asarray(index, dtype=np.int64), "offset_at")
        return describe_windows(self.grid, self.moved_axes, self.tracks, offsets)

    def centre(self, w, used, seen):
        if used is None:
            return self._completed(w, seen)
        if np.all(seen):
            return None
        places = np.unravel_index(used, self.counts)
        rolls = [track.roll_for(at) for track, at in zip(self.tracks, places, strict=True)]
        every, shape = range(len(rolls)), self.weight_shape
        return self._completed(*(np.roll(a.reshape(shape), rolls, every) for a in (w, seen)))

    def _completed(self, w, seen):
        """The same component with predictions for the weights that are not ``seen`` (L,)."""
        shape = self.weight_shape
        filled = predict_unseen(w.reshape(shape), seen.reshape(shape), self._moving)
        size = np.linalg.norm(filled)
        return filled.ravel() / size if size > 0 else None

    def _edge(self, axis):
        track = self.tracks[axis]
        return "wrap" if track.circular and track.window == track.size else "edge"

    def moves(self, w, far=False):
        """The weights moved along each axis by all steps that its offsets allow."""
        steps_of = relocation_steps if far else recentring_steps
        grid, tracks = w.reshape(self.weight_shape), enumerate(self.tracks)
        moves = [(steps, axis) for axis, track in tracks for steps in steps_of(track)]
        return [slide(grid, steps, axis).ravel() for steps, axis in moves]


def boxes_of(grid, shape):
    """A writeable view of all boxes of ``shape`` in rows (n, ..): (n, \\*places, \\*shape)."""
    places = [size - box + 1 for size, box in zip(grid.shape[1:], shape, strict=True)]
    return as_strided(grid, (len(grid), *places, *shape), grid.strides + grid.strides[1:])


def relocation_steps(track):
    """Shifts by sixteenths of a window that must stay inside, up to half of it."""
    sizes = {track.window * i // 16 for i in range(1, 9)}
    return both_sides(sizes - {0}) if track.confined else []


def recentring_steps(track):
    """Shifts by 1, 2 and up to a quarter of the window, if they are not transforms themselves."""
    if not track.moves or (track.circular and track.window == track.size):
        return []
    sizes = {1, 2, track.window // 16, track.window // 8, track.window // 4}
    return both_sides(size for size in sizes if 0 < size < track.window)


def both_sides(sizes):
    """Steps of these sizes forwards and backwards, the smallest first."""
    return [sign * size for size in sorted(sizes) for sign in (1, -1)]


def slide(a, steps, axis):
    """``a`` moved by ``steps`` along an axis; zeros come in."""
    moved = np.roll(a, steps, axis)
    edge = slice(0, steps) if steps > 0 else slice(steps, None)
    np.moveaxis(moved, axis, 0)[edge] = 0.0
    return moved
