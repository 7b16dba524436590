"""Weights for features that are values of a function on a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gtpca import checks

__all__ = ["quadrature"]


def quadrature(*points: ArrayLike) -> np.ndarray:
    """Weights of the trapezoidal rule, for functions sampled on an uneven grid.

    With ``feature_weight=quadrature(t)``, inner products of samples approximate integrals: ``sum_j
    q_j x_j y_j = int x(t) y(t) dt`` for ``q_j = (t_{j+1} - t_{j-1}) / 2``, and half of the adjacent
    interval at both ends. Without weights, a function counts most where it was sampled most
    densely. Families that shift need an even grid instead: see ``numpy.interp``.

    Parameters
    ----------
    *points : arrays (n_1,), .., (n_r,)
        Increasing positions on each axis of a sample, at least two.

    Returns
    -------
    array (n_1, .., n_r)
        Products of the weights on all axes. Where channels follow, repeat it:
        ``np.repeat(q[..., None], n_channels, axis=-1)``.

    Examples
    --------
    >>> import gtpca
    >>> gtpca.quadrature([0, 1, 2, 4])
    array([0.5, 1. , 1.5, 1. ])
    >>> gtpca.quadrature([0, 1], [0, 1, 4]).shape
    (2, 3)
    """
    if not points:
        raise ValueError("quadrature needs the positions on at least one axis, such as t.")
    weights = np.ones(())
    for axis, t in enumerate(points):
        weights = weights[..., None] * _trapezoids(t, axis)
    return weights


def _trapezoids(t, axis) -> np.ndarray:
    """Weights (n,) of one axis."""
    label = f"quadrature: points of axis {axis}"
    t = checks.numbers(label, t)
    steps = np.diff(t)
    if len(t) < 2 or np.any(steps <= 0):
        raise ValueError(f"{label} must be at least two, each larger than the one before it.")
    weights = np.zeros(len(t))
    weights[:-1] += steps / 2
    weights[1:] += steps / 2
    return weights
