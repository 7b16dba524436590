"""Normal equations of templates that occur many times and may overlap."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.linalg import cho_factor, cho_solve

from gtpca.operators.normal import CG_STEPS, Normal

__all__ = ["Toeplitz"]

DENSE = 512  # unknowns up to which the matrix is built: from there on, gradients are faster
RIDGE = 1e-10  # relative to the mean diagonal; on the step from the start, so nothing gets worse


class Toeplitz(Normal):
    """The block Toeplitz matrix ``N[(j, l), (k, l')] = nu_jk(l - l')``, common to all systems.

    With events at ``t_e`` that hold ``x_ek`` of template ``k``, the recording is about
    ``sum_e,k x_ek w_k(t - t_e)``, and least squares in ``w`` has

        nu_jk(tau) = sum over all e, f with t_f - t_e = tau of x_ej x_fk.

    The S systems are the channels: all of them have the same events.

    Parameters
    ----------
    lags : array (K, K, 2 L - 1)
        ``nu`` at the lags ``-(L - 1) .. L - 1``.
    """

    def __init__(self, lags: np.ndarray):
        self.lags = lags

    @classmethod
    def of(cls, starts, scores, length) -> Toeplitz:
        """The matrix for events at ascending ``starts`` (n,) with ``scores`` (n, K)."""
        n_templates = scores.shape[1]
        lags = np.zeros((2 * length - 1, n_templates, n_templates))
        gap = 0
        while gap < len(starts):
            apart = starts[gap:] - starts[: len(starts) - gap]
            near = np.flatnonzero(apart < length)
            if not len(near):
                break
            pairs = scores[near][:, :, None] * scores[near + gap][:, None, :]
            np.add.at(lags, length - 1 + apart[near], pairs)
            if gap:
                np.add.at(lags, length - 1 - apart[near], pairs.transpose(0, 2, 1))
            gap += 1
        return cls(lags.transpose(1, 2, 0))

    @property
    def length(self) -> int:
        """``L``."""
        return (self.lags.shape[2] + 1) // 2

    @property
    def cover(self) -> np.ndarray:
        """``sum_k nu_kk(0)`` at every weight, (1, L)."""
        return np.full((1, self.length), np.trace(self.lags[:, :, self.length - 1]))

    def __add__(self, other):
        return (
            Toeplitz(self.lags + other.lags) if type(other) is Toeplitz else super().__add__(other)
        )

    def __rmul__(self, factor):
        return Toeplitz(factor * self.lags)

    def times(self, W: np.ndarray) -> np.ndarray:
        """``N W`` of templates (S, K, L)."""
        moved = np.einsum("jkf,skf->sjf", self._spectra, rfft(W, self._size, axis=2))
        return irfft(moved, self._size, axis=2)[:, :, self.length - 1 : 2 * self.length - 1]

    @property
    def _size(self):
        """Points of an FFT in which nothing is wrapped around."""
        return next_fast_len(self.lags.shape[2] + self.length - 1, real=True)

    @cached_property
    def _spectra(self):
        return rfft(self.lags, self._size, axis=2)

    def matrix(self) -> np.ndarray:
        """``N``, (K L, K L)."""
        length, n_templates = self.length, len(self.lags)
        apart = length - 1 + np.subtract.outer(np.arange(length), np.arange(length))
        blocks = self.lags[:, :, apart].transpose(0, 2, 1, 3)
        return blocks.reshape(n_templates * length, n_templates * length)

    def solve(self, rhs: np.ndarray, start: np.ndarray, steps: int = CG_STEPS) -> np.ndarray:
        """Templates (S, K, L) with ``N W = rhs``; unseen values keep those of ``start``."""
        mean = float(self.cover[0, 0]) / len(self.lags)
        if not mean > 0:
            return start
        if start.shape[1] * start.shape[2] > DENSE:
            return super().solve(rhs, start, steps)
        rest = (rhs - self.times(start)).reshape(len(rhs), -1).T
        matrix = self.matrix()
        matrix[np.diag_indices(len(matrix))] += RIDGE * mean
        step = cho_solve(cho_factor(matrix, lower=True, overwrite_a=True), rest)
        return start + step.T.reshape(start.shape)
