"""Stationary noise along one axis as an autoregression: its filter, and the inverse of it.

    x(t) = sum_{j=1..p} a_j x(t - j) + e(t),   Var e = v_p

By Levinson's recursion, the reflection coefficients ``k_1 .. k_p`` and the variance ``v_0`` of
``x`` also give the predictors of all lower orders. These predict the first points of a row, so that
whitening preserves the length of rows: it is the inverse of the Cholesky factor of their
covariance, ``C = L L'``, without the matrix.

On a circle every point has a past, and one filter serves them all. After a gap a row starts anew:
what lies before the gap is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.signal import lfilter

__all__ = ["Autoregression", "burg", "reflections"]

MOST_ORDERS = 12
BLOCK = 16  # points of rows that one matrix product whitens
TOGETHER = 2**18  # values that are processed at a time, to stay in the cache
MOST_REFLECTION = 1 - 1e-9  # beyond this, rows are predicted without error


@dataclass(frozen=True, eq=False)
class Autoregression:
    """An autoregressive process along the last axis.

    Parameters
    ----------
    reflection : array (p,)
        Reflection coefficients ``k_j``, each in (-1, 1); none: white noise.
    variance : float
        Variance of the process, ``v_0``.
    circular : bool
        Whether the last point of a row comes before its first.
    """

    reflection: np.ndarray
    variance: float
    circular: bool = False

    @property
    def order(self) -> int:
        """The number of previous points used in a prediction, ``p``."""
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
        """Innovations ``L^-1 x`` of rows (.., d), of unit variance; NaN stays NaN."""
        X = np.asarray(X, np.float64)
        gaps = np.isnan(np.sum(X))
        if self.circular:
            self._check_circle(X.shape[-1], gaps)
        elif gaps:
            return self._whiten_runs(X)
        if self.order == 0:
            return X / np.sqrt(self.variance)
        rows = X.reshape(-1, X.shape[-1])
        rows = rows if rows.strides[-1] == rows.itemsize else np.ascontiguousarray(rows)
        E = np.empty(rows.shape)
        whiten = self._whiten_circle if self.circular else self._whiten_rows
        count = max(1, TOGETHER // max(1, rows.shape[1]))
        for first in range(0, len(rows), count):
            whiten(rows[first : first + count], E[first : first + count])
        return E.reshape(X.shape)

    def _whiten_rows(self, X, E):
        """Write innovations of rows (n, d) into ``E`` (n, d): the first points, then the others."""
        first, _ = self._matrices
        size = min(len(first), X.shape[1])
        np.matmul(X[:, :size], first[:size, :size], out=E[:, :size])
        self._whiten_later(X[:, size - self.order :], E[:, size:])

    def _whiten_circle(self, X, E):
        self._whiten_later(np.concatenate([X[:, X.shape[1] - self.order :], X], axis=1), E)

    def _whiten_later(self, X, E):
        """Write innovations into ``E`` (n, d), for points that have a past: ``X`` (n, p + d)."""
        _, later = self._matrices
        p, most = self.order, later.shape[1]
        for first in range(0, E.shape[1], most):
            size = min(most, E.shape[1] - first)
            out = E[:, first : first + size]
            np.matmul(X[:, first : first + size + p], later[: size + p, :size], out=out)

    @cached_property
    def _matrices(self):
        """The matrices that whiten ``b`` points: the first, (b, b), and later ones, (p + b, b).

        Their columns are rows of ``L^-1``; those for later points begin ``p`` points before them.
        """
        p, size = self.order, max(BLOCK, self.order)
        scaled = self.filters / np.sqrt(self.variances)[:, None]
        first, later = np.zeros((size, size)), np.zeros((p + size, size))
        for t in range(size):
            reach = min(t, p)
            first[t - reach : t + 1, t] = scaled[reach, reach::-1]
            later[t : t + p + 1, t] = scaled[p, ::-1]
        return first, later

    def _whiten_runs(self, X):
        """Rows with gaps: every run of observed values is treated as a row."""
        orders, filled = self._orders(np.isnan(X)), np.where(np.isnan(X), 0.0, X)
        E = np.where(np.isnan(X), np.nan, 0.0)
        for lag in range(min(self.order + 1, X.shape[-1])):
            past = filled[..., : X.shape[-1] - lag]
            E[..., lag:] += self.filters[orders[..., lag:], lag] * past
        return E / np.sqrt(self.variances[orders])

    def _orders(self, hidden):
        """The number of previous points used at each point: those of its run, at most ``p``."""
        places = np.broadcast_to(np.arange(hidden.shape[-1]), hidden.shape)
        gap = np.maximum.accumulate(np.where(hidden, places, -1), axis=-1)
        return np.minimum(np.maximum(places - gap - 1, 0), self.order)

    def colour(self, E: np.ndarray) -> np.ndarray:
        """Rows ``L e`` (.., d) of the process that have the innovations ``E``."""
        if self.circular:
            self._check_circle(E.shape[-1])
            spectrum = np.fft.rfft(E * np.sqrt(self.variances[-1]), axis=-1)
            return np.fft.irfft(spectrum / self.response(E.shape[-1]), E.shape[-1], axis=-1)
        if np.isnan(np.sum(E)):
            return self._colour_runs(E)
        X = E * self._deviations(E.shape[-1])
        for t in range(1, min(self.order, X.shape[-1])):
            X[..., t] -= X[..., t - 1 :: -1] @ self.filters[t, 1 : t + 1]
        if 0 < self.order < X.shape[-1]:
            past = X[..., self.order - 1 :: -1]
            state = -_states(past, self.filters[-1])
            tail = lfilter([1.0], self.filters[-1], X[..., self.order :], axis=-1, zi=state)
            X[..., self.order :] = tail[0]
        return X

    def _colour_runs(self, E):
        """The inverse of :meth:`_whiten_runs`."""
        hidden = np.isnan(E)
        orders = self._orders(hidden)
        X = np.where(hidden, 0.0, E * np.sqrt(self.variances[orders]))
        for t in range(1, E.shape[-1]):
            reach = min(self.order, t)
            past = X[..., t - reach : t][..., ::-1]
            known = self.filters[orders[..., t], 1 : reach + 1]
            X[..., t] -= np.where(hidden[..., t], 0.0, np.sum(known * past, axis=-1))
        return np.where(hidden, np.nan, X)

    def log_determinant(self, n_points: int) -> float:
        """``log det L`` of ``n_points`` points: ``log p(x) = log p(L^-1 x) - log det L``."""
        if not self.circular:
            return float(np.log(self._deviations(n_points)).sum())
        response = np.fft.fft(self.filters[-1], n_points)
        return float(n_points * np.log(self.variances[-1]) / 2 - np.log(np.abs(response)).sum())

    def log_deviations(self, hidden: np.ndarray) -> np.ndarray:
        """Log standard deviations of prediction errors of rows with gaps, (.., d); 0 in gaps."""
        return np.where(hidden, 0.0, np.log(self.variances[self._orders(hidden)]) / 2)

    def response(self, n_points: int) -> np.ndarray:
        """The response of the filter at frequencies ``0, 1 / n, .., 1 / 2`` per point, complex."""
        return np.fft.rfft(self.filters[-1], n_points)

    def power(self, n_points: int) -> np.ndarray:
        """Power of the process at the frequencies of :meth:`response`: its mean is the variance.

        ``S(f) = v_p / |1 - sum_j a_j exp(-2 pi i f j)|^2``.
        """
        return self.variances[-1] / np.abs(self.response(n_points)) ** 2

    def _deviations(self, n_points):
        """Standard deviations of the prediction errors along a row, (d,)."""
        return np.sqrt(self.variances[np.minimum(np.arange(n_points), self.order)])

    def _check_circle(self, n_points, gaps=False):
        if gaps:
            raise ValueError(
                "noise='stationary' on a circle needs complete rows: a gap has no end there; use "
                "noise='white', or fill the gaps first."
            )
        if n_points <= self.order:
            raise ValueError(
                f"a circle of {n_points} points is too short for a filter of order {self.order}."
            )


def _states(past, filter_):
    """The contribution of ``p`` points before a row to its first ``p``.

    It is ``z_t = sum_{j>t} f_j x(t - j)``; ``past`` (.., p) has the latest point first.
    """
    order = len(filter_) - 1
    later = np.zeros((order, order))
    for t in range(order):
        later[t, : order - t] = filter_[t + 1 :]
    return past @ later.T


def burg(
    X: np.ndarray,
    most_orders: int = MOST_ORDERS,
    weight: np.ndarray | None = None,
    circular: bool = False,
) -> Autoregression:
    """The autoregression of rows (n, d) by Burg's method, all rows together.

    Each reflection coefficient minimises the forward and backward prediction errors ``f`` and ``b``
    of all rows, so that there are no biased ends:

        k_j = 2 sum_i,t f_i(t) b_i(t - 1)  /  sum_i,t f_i(t)^2 + b_i(t - 1)^2

    The order is that with the smallest ``sum_j N_j log(1 - k_j^2) + log N_j``, with ``N_j`` pairs
    of errors each: gaps leave few pairs for high orders. NaN means not observed, and so is every
    error that would need it. Rows are weighted by ``weight`` (n,); ``circular`` rows wrap around.

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
    X = np.asarray(X, np.float64)
    seen = np.isfinite(X)
    rows = np.ones(len(X)) if weight is None else weight
    count = float(rows @ seen.sum(axis=1))
    variance = float(rows @ np.sum(np.where(seen, X, 0.0) ** 2, axis=1) / count) if count else 0.0
    if variance == 0.0:
        return Autoregression(np.zeros(0), variance, circular)
    found, pairs = reflections(X, most_orders, weight, circular)
    return Autoregression(found[: _order(found, pairs)], variance, circular)


def reflections(
    X: np.ndarray,
    most_orders: int,
    weight: np.ndarray | None = None,
    circular: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Reflection coefficients of rows (n, d) up to some order, (p,), and numbers of pairs, (p,).

    As in :func:`burg`; fewer if rows are shorter, or are predicted without error.
    """
    X = np.asarray(X, np.float64)
    rows = np.ones(len(X)) if weight is None else weight
    X = X if weight is None else X * np.sqrt(weight)[:, None]
    forward, backward, found, pairs = X, X, [], []
    gaps = not np.isfinite(X).all()
    for _ in range(min(most_orders, X.shape[1] - 1)):
        if circular:
            f, b = forward, np.roll(backward, 1, axis=1)
        else:
            f, b = forward[:, 1:], backward[:, :-1]
        if gaps:
            both = np.isfinite(f) & np.isfinite(b)
            f, b = np.where(both, f, 0.0), np.where(both, b, 0.0)
        energy = np.vdot(f, f) + np.vdot(b, b)
        if energy == 0.0:
            break
        k = np.clip(2 * np.vdot(f, b) / energy, -MOST_REFLECTION, MOST_REFLECTION)
        found.append(k)
        pairs.append(rows @ both.sum(axis=1) if gaps else rows.sum() * f.shape[1])
        forward, backward = f - k * b, b - k * f
        if gaps:
            forward, backward = (np.where(both, each, np.nan) for each in (forward, backward))
    return np.array(found), np.array(pairs, dtype=np.float64)


def _order(reflection, pairs):
    """The order with the smallest ``sum_j N_j log(1 - k_j^2) + log N_j``."""
    gains = pairs * np.log1p(-np.square(reflection)) + np.log(np.maximum(pairs, 1.0))
    return int(np.argmin(np.r_[0.0, np.cumsum(gains)]))
