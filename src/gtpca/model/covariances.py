"""Autocovariance of rows along several axes, and spectra that are not negative."""

from __future__ import annotations

import math

import numpy as np
from scipy import fft

__all__ = ["autocovariance", "batches", "nearest_positive", "spectra"]

BATCH_VALUES = 2**20  # values that are transformed at once


def autocovariance(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Covariances of rows (n, \\*shape, C) at all lags, (\\*size, C, C), and numbers of pairs.

    With ``x`` zero where it was not observed and ``h`` one where it was, for channels a, b

        c_ab(l) = sum_i,t x_ia(t) x_ib(t + l)  /  sum_i,t h_ia(t) h_ib(t + l) .

    Lags are on a circle that just holds all of them, ``2 length - 1`` points along each axis.
    """
    shape = rows.shape[1:-1]
    size = tuple(2 * length - 1 for length in shape)
    hidden = np.isnan(rows)
    observed = ~hidden if hidden.any() else np.ones((1, *shape, 1))
    products, pairs = _lagged(np.where(hidden, 0.0, rows), size), _lagged(observed, size)
    pairs = np.rint(pairs) * (len(rows) / len(observed))
    return np.divide(products, pairs, out=np.zeros_like(products), where=pairs > 0.5), pairs


def _lagged(rows, size):
    """``sum_i,t x_ia(t) x_ib(t + l)`` at all lags, (\\*size, C, C)."""
    axes, total = tuple(range(1, rows.ndim - 1)), 0.0
    for part in batches(len(rows), math.prod(size) * rows.shape[-1]):
        F = fft.rfftn(rows[part.start : part.stop].astype(np.float64), size, axes=axes)
        F = np.moveaxis(F, 0, -2)  # (*frequencies, n, C)
        total = total + F.conj().swapaxes(-1, -2) @ F
    return fft.irfftn(total, size, axes=range(len(size)))


def batches(count, width):
    """The numbers from 0 to ``count - 1``, in batches, for rows of ``width`` values."""
    step = max(1, BATCH_VALUES // width)
    return (range(first, min(first + step, count)) for first in range(0, count, step))


def spectra(lags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (\\*size, C), none negative, and eigenvectors of the spectra of covariances.

    Estimates at single frequencies are too high or too low, and negative power must be removed.
    Setting it to zero would keep what is too high, as noise that the surrogates have but the data
    do not. Instead all power is lowered equally: these are the nearest spectra with the same sum.
    """
    power, vectors = np.linalg.eigh(fft.fftn(lags, axes=range(lags.ndim - 2)).swapaxes(-1, -2))
    return nearest_positive(power.ravel()).reshape(power.shape), vectors


def nearest_positive(values):
    """The nearest vector to ``values`` (m,) without negative entries and with the same sum.

    ``max(values - t, 0)`` with the right ``t``.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca.model.covariances import nearest_positive
    >>> nearest_positive(np.array([5.0, 2.0, 0.0, -1.0]))
    array([4.5, 1.5, 0. , 0. ])
    """
    ordered = -np.sort(-values)
    lower = (np.cumsum(ordered) - values.sum()) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(ordered >= lower)
    return np.maximum(values - lower[last[-1]], 0.0) if len(last) else np.zeros_like(values)
