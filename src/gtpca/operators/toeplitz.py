"""Normal equations of templates that occur many times and may overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.linalg import cho_factor, cho_solve

__all__ = ["Toeplitz"]

DENSE = 2048  # unknowns up to which the matrix is built
RIDGE = 1e-10  # relative to the mean diagonal; on the step from the start, so nothing gets worse
STEPS, TOL = 200, 1e-10  # of conjugate gradients


@dataclass(frozen=True, eq=False)
class Toeplitz:
    """The block Toeplitz matrix ``N[(a, l), (b, l')] = nu_ab(l - l')``, the same for all channels.

    With events at ``t_e`` that hold ``x_ea`` of template ``a``, the recording is about
    ``sum_e,a x_ea w_a(t - t_e)``, and least squares in ``w`` has

        nu_ab(tau) = sum over all e, f with t_f - t_e = tau of x_ea x_fb.

    Parameters
    ----------
    lags : array (A, A, 2 L - 1)
        ``nu`` at the lags ``-(L - 1) .. L - 1``.
    """

    lags: np.ndarray

    @classmethod
    def of(cls, starts, scores, length) -> Toeplitz:
        """The matrix for events at ascending ``starts`` (n,) with ``scores`` (n, A)."""
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

    def __add__(self, other) -> Toeplitz:
        return Toeplitz(self.lags + other.lags)

    def times(self, W: np.ndarray) -> np.ndarray:
        """``N W`` of templates (A, L, C)."""
        n = next_fast_len(self.lags.shape[2] + self.length - 1, real=True)
        kernel = rfft(self.lags, n, axis=2)
        moved = np.einsum("abf,bfc->afc", kernel, rfft(W, n, axis=1))
        return irfft(moved, n, axis=1)[:, self.length - 1 : 2 * self.length - 1]

    def quadratic(self, W: np.ndarray) -> float:
        """``<W, N W>``: the energy of the reconstruction from the events."""
        return float(np.vdot(W, self.times(W)))

    def matrix(self) -> np.ndarray:
        """``N``, (A L, A L)."""
        length, n_templates = self.length, len(self.lags)
        apart = length - 1 + np.subtract.outer(np.arange(length), np.arange(length))
        blocks = self.lags[:, :, apart].transpose(0, 2, 1, 3)
        return blocks.reshape(n_templates * length, n_templates * length)

    def solve(self, rhs: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Templates (A, L, C) with ``N W = rhs``; unseen values keep those of ``start``."""
        rest = rhs - self.times(start)
        mean = float(np.trace(self.lags[:, :, self.length - 1])) / len(self.lags)
        if not mean > 0:
            return start
        if start.shape[0] * start.shape[1] > DENSE:
            return start + self._conjugate_gradients(rest)
        flat = rest.reshape(-1, rest.shape[2])
        matrix = self.matrix()
        matrix[np.diag_indices(len(matrix))] += RIDGE * mean
        step = cho_solve(cho_factor(matrix, lower=True, overwrite_a=True), flat)
        return start + step.reshape(start.shape)

    def _conjugate_gradients(self, rest):
        """The step for the residual of the right-hand side."""
        step, direction = np.zeros_like(rest), rest.copy()
        size = first = np.vdot(rest, rest)
        for _ in range(STEPS):
            if size <= TOL**2 * first:
                break
            moved = self.times(direction)
            along = np.vdot(direction, moved)
            if not along > 0:
                break
            step += size / along * direction
            rest = rest - size / along * moved
            before, size = size, np.vdot(rest, rest)
            direction = rest + size / before * direction
        return step
