"""Grids with half as many points: pairs of neighbours are added and divided by ``sqrt(2)``.

The matrix ``P`` of this map has orthonormal rows, so that ``P* P`` is the projection on what a
coarse grid can represent: ``|P x|^2 / |x|^2`` is the share of ``x`` that it keeps.
"""

from __future__ import annotations

from functools import lru_cache, reduce

import numpy as np
from scipy import sparse

__all__ = ["pooled_shape", "pooling"]


def pooled_shape(shape, axes):
    """The shape of a pooled grid: the last point of an odd axis stays alone."""
    return tuple(-(-size // 2) if axis in axes else size for axis, size in enumerate(shape))


@lru_cache(maxsize=32)
def pooling(shape, axes):
    """``P`` for flat arrays of a shape, pooled along some axes, sparse (d', d); do not modify it.

    Cached, since it is needed again for every component.
    """
    parts = [_pairs(n) if j in axes else sparse.eye_array(n) for j, n in enumerate(shape)]
    return sparse.csr_array(reduce(sparse.kron, parts))


def _pairs(size):
    """The sums of pairs of ``size`` points, over ``sqrt(2)``."""
    points = np.arange(size)
    scale = np.full(size, np.sqrt(0.5))
    scale[size - size % 2 :] = 1.0
    return sparse.csr_array((scale, (points // 2, points)), shape=(-(-size // 2), size))
