"""Detecting data that may be transposed: rows that look like features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Neighbours", "neighbours"]

MORE_FEATURES = 4  # ratio of features to rows from which on there are far more features
FEWEST_ROWS = 16
MOST_ROWS, MOST_FEATURES = 512, 4096  # that are examined
HIGH, APART = 0.5, 0.3  # thresholds for correlations of neighbours, and for their differences


@dataclass(frozen=True)
class Neighbours:
    """Median correlations of neighbours in a matrix (n, d), after centring rows and columns.

    Attributes
    ----------
    rows, features : float
        Of rows ``i`` and ``i + 1``, and of features ``j`` and ``j + 1``.
    far_rows : float
        Of rows that are half of all rows apart.
    """

    rows: float
    features: float
    far_rows: float

    @property
    def transposed(self) -> bool:
        """Whether rows follow each other like the points of a series, and features do not.

        Rows that are similar without being neighbours are not a series. Nor are overlapping
        windows, whose features follow each other as closely as the rows do.
        """
        others = max(self.features, self.far_rows)
        return self.rows >= HIGH and self.rows - others >= APART


def neighbours(X) -> Neighbours | None:
    """How neighbours correlate in flat rows (n, d); None unless there are far more features.

    Parameters
    ----------
    X : float array (n, d)
        With NaN for unobserved values.
    """
    n, d = X.shape
    if n < FEWEST_ROWS or d < MORE_FEATURES * n:
        return None
    rows = np.asarray(X[:MOST_ROWS], dtype=np.float64)
    some = np.linspace(0, d - 2, min(d - 1, MOST_FEATURES)).astype(int)
    here, beside = (_centred(rows[:, columns]) for columns in (some, some + 1))
    apart = np.arange(len(rows)) - len(rows) // 2
    return Neighbours(
        rows=_correlation(here[1:], here[:-1]),
        features=_correlation(here.T, beside.T),
        far_rows=_correlation(here, here[apart]),
    )


def _centred(X):
    """``X`` minus the means of its columns and rows, 0 for unobserved values."""
    largest = np.nanmax(np.abs(X), initial=0.0) or 1.0
    X = np.nan_to_num(X / largest - _mean(X / largest, 0))
    return X - X.mean(axis=1, keepdims=True)


def _mean(X, axis):
    """Means of observed values; 0 if there are none."""
    seen = np.maximum(np.sum(~np.isnan(X), axis=axis, keepdims=True), 1)
    return np.nansum(X, axis=axis, keepdims=True) / seen


def _correlation(A, B) -> float:
    """The median over all pairs of rows ``A[i], B[i]`` that vary; 0 if there are none."""
    A, B = (M - M.mean(axis=1, keepdims=True) for M in (A, B))
    energy = np.sum(A**2, axis=1) * np.sum(B**2, axis=1)
    varies = energy > 1e-24
    found = np.sum(A * B, axis=1)[varies] / np.sqrt(energy[varies])
    return float(np.median(found)) if len(found) else 0.0
