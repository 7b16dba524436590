"""One axis of a shift: where a window may stand on it, and sums over what is in sight."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.fft import next_fast_len

from gtpca.operators.backend import constant, namespace, zeros

__all__ = ["Track", "cut_axis", "pad_axis", "window_sums"]


@dataclass(frozen=True)
class Track:
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
        """False for a channel axis: nothing but the identity."""
        return self.count > 1 or self.window != self.size

    @cached_property
    def inside(self) -> bool:
        """Whether every weight is in sight at every offset."""
        last = self.first + self.step * (self.count - 1)
        return self.circular or (self.first >= 0 and last + self.window <= self.size)

    @cached_property
    def centred(self) -> int:
        """Number of the offset nearest to the centred position."""
        return int(np.abs(self.offsets - (self.size - self.window) // 2).argmin())

    @cached_property
    def covers(self) -> bool:
        """Whether the whole sample is under a longer window at every offset."""
        fits = self.size - self.window <= self.first and self.offsets[-1] <= 0
        return self.window > self.size and fits and not self.circular

    @cached_property
    def confined(self) -> bool:
        """Whether the window has several places in the sample, and must not leave it."""
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
        """The least length at which wrapping around does not touch the offsets asked for."""
        if self.circular:
            return self.size
        last = self.first + self.step * (self.count - 1)
        return max(self.size, self.window, self.size - self.first, last + self.window)

    @cached_property
    def fft_length(self) -> int:
        """A length of the FFT that is at least :attr:`extent`."""
        return self.size if self.circular else next_fast_len(self.extent, real=True)

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

    def lay_out(self, a: np.ndarray, axis: int) -> np.ndarray:
        """Zero-pad to the FFT length and move offset ``first`` to lag 0."""
        laid_out = pad_axis(a, axis, 0, self.fft_length - self.window)
        return namespace(a).roll(laid_out, self.first, axis) if self.first else laid_out

    def keep_lags(self, a: np.ndarray, axis: int) -> np.ndarray:
        """The lags that are offsets of this track; others are dropped before the next axis."""
        return a[(slice(None),) * axis + (slice(0, self.step * self.count, self.step),)]

    def energies(self, a: np.ndarray, axis: int) -> np.ndarray:
        """Sums of ``a`` over the weights in sight, one per offset."""
        sums = window_sums(self.pad(a, axis), self.size, axis)
        return sums[(slice(None),) * axis + (constant(self.starts, sums),)]

    def coverage(self, a: np.ndarray, axis: int) -> np.ndarray:
        """Sums of ``a`` over the offsets that see each weight: the adjoint of energies."""
        shape = list(a.shape)
        shape[axis] = self.padded - self.size + 1
        spread = np.zeros(shape)
        np.moveaxis(spread, axis, 0)[self.starts] = np.moveaxis(a, axis, 0)
        margin = self.size - 1
        return self.unpad(
            window_sums(pad_axis(spread, axis, margin, margin), self.size, axis), axis
        )


def pad_axis(a, axis, before, after):
    """Zeros before and after ``a`` along one axis."""
    if before == after == 0:
        return a
    margins = [zeros((*a.shape[:axis], m, *a.shape[axis + 1 :]), a) for m in (before, after)]
    return namespace(a).concat([margins[0], a, margins[1]], axis)


def cut_axis(a, axis, start, length):
    """``length`` entries from ``start`` along one axis, a view."""
    return a[(slice(None),) * axis + (slice(start, start + length),)]


def window_sums(a, width, axis):
    """Sums over all windows of ``width`` along an axis, by additions alone.

    A window is the end of one block of ``width`` and the beginning of the next. Differences of a
    cumulative sum would lose all digits of a faint window beside a strong one.
    """
    xp, a = namespace(a), namespace(a).moveaxis(a, axis, -1)
    count = a.shape[-1] - width + 1
    blocks = pad_axis(a, a.ndim - 1, 0, -a.shape[-1] % width).reshape(*a.shape[:-1], -1, width)
    heads = xp.cumsum(blocks, -1).reshape(*a.shape[:-1], -1)
    tails = xp.flip(xp.cumsum(xp.flip(blocks, (-1,)), -1), (-1,)).reshape(*a.shape[:-1], -1)
    split = constant(np.arange(count) % width != 0, a)
    sums = tails[..., :count] + split * heads[..., width - 1 : width - 1 + count]
    return xp.moveaxis(sums, -1, axis)
