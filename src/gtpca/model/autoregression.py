"""Stationary noise along one axis as an autoregression: its filter, and the inverse of that.

    x(t) = sum_{j=1..p} a_j x(t - j) + e(t),   Var e = v_p

By Levinson's recursion the reflection coefficients ``k_1 .. k_p`` and the variance ``v_0`` of ``x``
give the predictors of all lower orders too. The first points of a row are predicted by these, so
that whitening keeps the length of rows: it is the inverse of the Cholesky factor of their
covariance, ``C = L L'``, without the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.signal import lfilter

__all__ = ["Autoregression", "burg", "reflections"]

MOST_ORDERS = 12
MOST_REFLECTION = 1 - 1e-9  # beyond it rows are predicted without error


@dataclass(frozen=True, eq=False)
class Autoregression:
    """An autoregressive process along the last axis.

    Parameters
    ----------
    reflection : array (p,)
        Reflection coefficients ``k_j``, each in (-1, 1); none: white noise.
    variance : float
        That of the process, ``v_0``.
    """

    reflection: np.ndarray
    variance: float

    @property
    def order(self) -> int:
        """How many points a prediction looks back, ``p``."""
        return len(self.reflection)

    @cached_property
    def variances(self) -> np.ndarray:
        """Of the prediction errors of orders 0 .. p: ``v_j = v_{j-1} (1 - k_j^2)``, (p + 1,)."""
        return self.variance * np.cumprod(np.r_[1.0, 1 - self.reflection**2])

    @cached_property
    def filters(self) -> np.ndarray:
        """Prediction-error filters of orders 0 .. p as rows, (p + 1, p + 1); the first entry is 1.

        ``f_j = (f_{j-1}, 0) - k_j (0, reversed f_{j-1})``.
        """
        filters = np.zeros((self.order + 1, self.order + 1))
        filters[0, 0] = 1.0
        for j, k in enumerate(self.reflection, 1):
            filters[j, : j + 1] = filters[j - 1, : j + 1] - k * filters[j - 1, j::-1]
        return filters

    def whiten(self, X: np.ndarray) -> np.ndarray:
        """Innovations ``L^-1 x`` of rows (.., d), of unit variance."""
        E = lfilter(self.filters[-1], [1.0], X, axis=-1)
        for t in range(min(self.order, X.shape[-1])):
            E[..., t] = X[..., t::-1] @ self.filters[t, : t + 1]
        return E / self._deviations(X.shape[-1])

    def colour(self, E: np.ndarray) -> np.ndarray:
        """Rows ``L e`` (.., d) of the process that have the innovations ``E``."""
        X = E * self._deviations(E.shape[-1])
        for t in range(1, min(self.order, X.shape[-1])):
            X[..., t] -= X[..., t - 1 :: -1] @ self.filters[t, 1 : t + 1]
        if 0 < self.order < X.shape[-1]:
            past = X[..., self.order - 1 :: -1]
            state = -_states(past, self.filters[-1])
            tail = lfilter([1.0], self.filters[-1], X[..., self.order :], axis=-1, zi=state)
            X[..., self.order :] = tail[0]
        return X

    def log_determinant(self, n_points: int) -> float:
        """``log det L`` of rows of so many points: whitening divides densities by its ``exp``."""
        return float(np.log(self._deviations(n_points)).sum())

    def _deviations(self, n_points):
        """Standard deviations of the prediction errors along a row, (d,)."""
        return np.sqrt(self.variances[np.minimum(np.arange(n_points), self.order)])


def _states(past, filter_):
    """What ``p`` points before a row add to its first ``p``: ``z_t = sum_{j>t} f_j x(t - j)``.

    ``past`` (.., p), the latest first.
    """
    order = len(filter_) - 1
    later = np.zeros((order, order))
    for t in range(order):
        later[t, : order - t] = filter_[t + 1 :]
    return past @ later.T


def burg(X: np.ndarray, most_orders: int = MOST_ORDERS) -> Autoregression:
    """The autoregression of rows (n, d) by Burg's method, all rows together.

    Each reflection coefficient minimises the forward and backward prediction errors ``f`` and ``b``
    of all rows, and so biased ends play no part:

        k_j = 2 sum_i,t f_i(t) b_i(t - 1)  /  sum_i,t f_i(t)^2 + b_i(t - 1)^2

    The order is that with the least ``sum_j N_j log(1 - k_j^2) + log N_j``, from ``N_j`` pairs
    each. NaN is not observed, and so is every error that would need it.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.signal import lfilter
    >>> from gtpca.model.autoregression import burg
    >>> noise = np.random.default_rng(0).standard_normal((200, 150))
    >>> found = burg(lfilter([1.0], [1.0, -0.9], noise)[:, 50:])
    >>> found.order, found.reflection.round(2)
    (1, array([0.9]))
    """
    found, pairs = reflections(X, most_orders)
    known = np.isfinite(X)
    variance = float(np.mean(np.square(X, where=known, out=np.zeros(X.shape)), where=known))
    return Autoregression(found[: _order(found, pairs)], variance if known.any() else 0.0)


def reflections(X: np.ndarray, most_orders: int) -> tuple[np.ndarray, np.ndarray]:
    """Reflection coefficients of rows (n, d) up to some order, (p,), and the pairs of each, (p,).

    Fewer where rows are shorter, or are predicted without error.
    """
    X = np.asarray(X, np.float64)
    forward, backward, found, pairs = X, X, [], []
    for _ in range(min(most_orders, X.shape[1] - 1)):
        f, b = forward[:, 1:], backward[:, :-1]
        both = np.isfinite(f) & np.isfinite(b)
        f, b = np.where(both, f, 0.0), np.where(both, b, 0.0)
        energy = np.vdot(f, f) + np.vdot(b, b)
        if energy == 0.0:
            break
        k = np.clip(2 * np.vdot(f, b) / energy, -MOST_REFLECTION, MOST_REFLECTION)
        found.append(k)
        pairs.append(both.sum())
        nothing = np.where(both, 0.0, np.nan)
        forward, backward = f - k * b + nothing, b - k * f + nothing
    return np.array(found), np.array(pairs, dtype=np.float64)


def _order(reflection, pairs):
    """The order with the least ``sum_j N_j log(1 - k_j^2) + log N_j``."""
    gains = pairs * np.log1p(-np.square(reflection)) + np.log(np.maximum(pairs, 1))
    return int(np.argmin(np.r_[0.0, np.cumsum(gains)]))
