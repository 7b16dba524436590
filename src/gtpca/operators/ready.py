"""Weights of one component, prepared once for matches with few rows, one after the other.

A fit matches many rows with weights that change at every pass; an encoder matches one row after the
other with weights that stay. Whatever depends on the weights alone is computed here beforehand.
"""

from __future__ import annotations

import numpy as np

__all__ = ["Ready", "ReadyBank", "ReadyPairs", "ReadyShift"]


class Ready:
    """Weights (L,) as an operator sees them: always correct, nothing is prepared.

    Parameters
    ----------
    operator : Operator
    w : array (L,)
    """

    def __init__(self, operator, w):
        self.operator, self.w = operator, w

    def products(self, P: np.ndarray) -> np.ndarray:
        """``<x_i, T_t w>`` of rows, (n, m), with ``P = operator.prepare(X)``."""
        return self.operator.correlate(P, self.w[None])[0]

    def moved(self, index: int) -> np.ndarray:
        """``T_index w``, (d,); not to be changed."""
        return self.operator.apply_at(self.w, np.array([index]))[0]


class ReadyBank(Ready):
    """All moved weights ``T_t w``, (m, d), where rows are not prepared."""

    def __init__(self, operator, w, dtype):
        super().__init__(operator, w)
        self._bank = operator.apply(w).astype(dtype, copy=False)

    def products(self, P):
        return P @ self._bank.T

    def moved(self, index):
        return self._bank[index]


class ReadyShift(Ready):
    """The spectrum of a window, and the window in zeros, of which every ``T_t w`` is a piece."""

    def __init__(self, operator, w, dtype):
        super().__init__(operator, w)
        self._spectrum = operator.spectrum(w).astype(np.result_type(dtype, np.complex64))
        self._padded, self._starts = operator.padded(w.astype(dtype, copy=False))

    def products(self, P):
        return self.operator.lags(P, self._spectrum)

    def moved(self, index):
        sizes = zip(self._starts, self.operator.sample_shape, strict=True)
        piece = tuple(slice(start[index], start[index] + size) for start, size in sizes)
        return self._padded[piece].ravel()


class ReadyPairs(Ready):
    """The weights under every inner transform, each ready for the outer operator."""

    def __init__(self, operator, w, dtype):
        super().__init__(operator, w)
        self._each = [operator.outer.ready(v, dtype) for v in operator.inner.apply(w)]

    def products(self, P):
        return np.concatenate([each.products(P) for each in self._each], axis=1)

    def moved(self, index):
        inside, outside = divmod(index, self.operator.outer.n_transforms)
        return self._each[inside].moved(outside)
