"""Weights that no sample has seen, predicted from those that were seen.

If a window is longer than the samples, each sample sees only a part of it, and with few samples
some weights at its ends, or in its corners, are never seen. Least squares does not determine them,
but a new sample may reach them. They are set to their conditional mean, assuming that the window
is a piece of a stationary process with mean zero whose autocovariance ``C`` is that of the seen
part:

    w_unseen = C_us (C_ss + ridge C_0 I)^-1 w_seen:

beyond the border the pattern continues as before, and fades to zero farther away. (This is the
linear prediction of N. Wiener, Extrapolation, Interpolation, and Smoothing of Stationary Time
Series, 1949, for a finite past.)
"""

from __future__ import annotations

import numpy as np
from scipy.fft import irfftn, next_fast_len, rfftn
from scipy.linalg import solve_toeplitz
from scipy.sparse.linalg import LinearOperator, cg

__all__ = ["predict_unseen"]

RIDGE = 1e-2  # white noise, relative to the variance, so that predictions do not overshoot
CG_STEPS, CG_TOLERANCE = 5000, 1e-12  # rounding errors of ``w`` must not be amplified


def predict_unseen(w, seen, axes):
    """Fill in the weights that are not seen.

    Parameters
    ----------
    w : array (\\*weight_shape)
    seen : bool array (\\*weight_shape)
    axes : tuple of int
        The axes along which windows move. Along the others, each channel is filled separately.

    Returns
    -------
    array (\\*weight_shape)
    """
    last = tuple(range(-len(axes), 0))
    moved, mask = (np.moveaxis(a, axes, last) for a in (w, seen))
    size = moved.shape[w.ndim - len(axes) :]
    channels = zip(moved.reshape(-1, *size), mask.reshape(-1, *size), strict=True)
    filled = np.array([_predict(v, known) for v, known in channels])
    return np.moveaxis(filled.reshape(moved.shape), last, axes)


def _predict(v, seen):
    """One channel: ``v`` where seen, the prediction elsewhere."""
    known = np.where(seen, v, 0.0)
    scale = np.sqrt(np.sum(known**2) / max(seen.sum(), 1))
    if scale == 0 or np.all(seen):
        return known
    known /= scale
    covariance = _Covariance(known, seen)
    return np.where(seen, v, scale * covariance.times(covariance.solve(known)))


class _Covariance:
    """The autocovariance of the seen part, by FFT; its spectrum is not negative."""

    def __init__(self, known, seen):
        self.seen, self.shape = seen, known.shape
        self.lengths = [next_fast_len(2 * n, real=True) for n in known.shape]
        self.spectrum = np.abs(rfftn(known, self.lengths)) ** 2 / seen.sum()

    def times(self, a):
        """``C a`` on the whole window."""
        spectrum = rfftn(a.reshape(self.shape), self.lengths) * self.spectrum
        return irfftn(spectrum, self.lengths)[tuple(slice(n) for n in self.shape)]

    def solve(self, known):
        """``(C_ss + ridge I)^-1`` applied to the seen part, zero elsewhere."""
        places = np.flatnonzero(self.seen)
        if known.ndim == 1 and len(places) == places[-1] - places[0] + 1:
            column = irfftn(self.spectrum, self.lengths)[: len(places)]
            column[0] += RIDGE
            solved = np.zeros_like(known)
            solved[places] = solve_toeplitz(column, known[places])
            return solved
        system = LinearOperator((known.size, known.size), self.between_seen, dtype=np.float64)
        return cg(system, known.ravel(), rtol=CG_TOLERANCE, maxiter=CG_STEPS)[0]

    def between_seen(self, a):
        """``(C_ss + ridge I) a`` for ``a`` that is zero where not seen, flat."""
        return (self.seen * self.times(a)).ravel() + RIDGE * a.ravel()
