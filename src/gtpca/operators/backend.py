"""The switch between NumPy and torch: one name for what the operators need from either.

NumPy and torch share one geometry: ``_correlate``, ``_norms`` and ``apply_at`` of shifts and
compositions are written once for arrays of both. Functions that have the same name and the same
positional arguments in both libraries are called through :func:`namespace`; the others are here.
torch is never imported: a tensor brings it along.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import fft

__all__ = [
    "cast",
    "constant",
    "cut_axis",
    "fft_of",
    "inverse_fft",
    "is_numpy",
    "largest_prime",
    "namespace",
    "pad_axis",
    "pieces_at",
    "row_numbers",
    "window_sums",
    "zeros",
]


def is_numpy(a) -> bool:
    """Whether ``a`` is a NumPy array, not a torch tensor."""
    return isinstance(a, (np.ndarray, np.generic))


def namespace(a) -> Any:
    """The library of ``a``: numpy or torch."""
    return np if is_numpy(a) else sys.modules["torch"]


def fft_of(a) -> Any:
    """The Fourier transforms for ``a``: scipy.fft or torch.fft."""
    return fft if is_numpy(a) else sys.modules["torch"].fft


def inverse_fft(a, axis):
    """Complex inverse transform along one axis; ``a`` may be overwritten."""
    if is_numpy(a):
        return fft.ifft(a, axis=axis, overwrite_x=True)
    return sys.modules["torch"].fft.ifft(a, None, axis)


def zeros(shape, like):
    """Zeros of the data type, and on the device, of ``like``."""
    return np.zeros(shape, like.dtype) if is_numpy(like) else like.new_zeros(shape)


def cast(a, like):
    """``a`` in the data type of ``like``, or the complex type that goes with it."""
    return a.astype(like.dtype, copy=False) if is_numpy(a) else a.to(like.dtype)


def constant(values, like):
    """A NumPy array, in its own data type, for use with ``like``."""
    return values if is_numpy(like) else sys.modules["torch"].as_tensor(values, device=like.device)


def row_numbers(a):
    """0, 1, .., one for each row of ``a``."""
    if is_numpy(a):
        return np.arange(len(a))
    return sys.modules["torch"].arange(a.shape[0], device=a.device)


def pieces_at(a, starts, shape):
    """The boxes of ``shape`` that begin at ``starts``, n places along each axis of ``a``.

    Returns
    -------
    array (n, *shape)
    """
    if is_numpy(a):
        return sliding_window_view(a, shape)[tuple(starts)]
    strides = [math.prod(a.shape[j + 1 :]) for j in range(a.ndim)]
    first = sum(start * stride for start, stride in zip(starts, strides, strict=True))
    if a.requires_grad and sys.modules["torch"].is_grad_enabled():
        places = first[:, None] + _reach(a, shape, strides)
        return a.reshape(-1).index_select(0, places.reshape(-1)).reshape(-1, *shape)
    span = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    windows = a.contiguous().as_strided((a.numel() - span, *shape), (1, *strides))
    return windows.index_select(0, first)


def _reach(a, shape, strides):
    """Where the entries of a box lie after its first one, flat."""
    torch = sys.modules["torch"]
    reach = torch.arange(shape[-1], device=a.device)
    for size, stride in zip(shape[-2::-1], strides[-2::-1], strict=True):
        reach = torch.arange(size, device=a.device)[:, None] * stride + reach
        reach = reach.reshape(-1)
    return reach


def pad_axis(a, axis, before, after):
    """Zeros before and after ``a`` along one axis."""
    if before == after == 0:
        return a
    length = a.shape[axis]
    padded = zeros((*a.shape[:axis], before + length + after, *a.shape[axis + 1 :]), a)
    cut_axis(padded, axis, before, length)[:] = a
    return padded


def cut_axis(a, axis, start, length):
    """``length`` entries from ``start`` along one axis, a view."""
    return a[(slice(None),) * axis + (slice(start, start + length),)]


def window_sums(a, width, axis):
    """Sums over all windows of ``width`` along an axis, by additions alone.

    A window is the end of one block of ``width`` and the beginning of the next. Differences of a
    cumulative sum would lose all digits of a faint window next to a strong one.
    """
    xp, last = namespace(a), axis % a.ndim == a.ndim - 1
    a = a if last else xp.moveaxis(a, axis, -1)
    count = a.shape[-1] - width + 1
    blocks = pad_axis(a, a.ndim - 1, 0, -a.shape[-1] % width).reshape(*a.shape[:-1], -1, width)
    heads = blocks.cumsum(-1).reshape(*a.shape[:-1], -1)
    tails = _flipped(_flipped(blocks).cumsum(-1)).reshape(*a.shape[:-1], -1)
    sums = tails[..., :count] + heads[..., width - 1 : width - 1 + count]
    sums[..., ::width] = tails[..., :count:width]  # windows that are whole blocks
    return sums if last else xp.moveaxis(sums, -1, axis)


def _flipped(a):
    """Reversed along the last axis."""
    return a[..., ::-1] if is_numpy(a) else a.flip(-1)


def largest_prime(number):
    """The largest prime factor of a number above 1; 1 for 1."""
    factor = 2
    while factor * factor <= number:
        if number % factor:
            factor += 1
        else:
            number //= factor
    return number
