"""Geometry on pixel grids: where each sample point reads the weights, as sparse matrices.

A transform that moves points is ``(T w)(x) = w(source(x))``. Coordinates are array positions, in
the order of the axes; the centre of a grid is its middle, ``(size - 1) / 2`` on each axis. Beyond
the grid ``w`` is zero.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import sparse

__all__ = ["affine_sources", "centred_points", "centres", "sampling_matrix"]

SNAP = 1e-9  # positions this close to a grid point are on it
POINTS = 2**16  # points of transforms that are interpolated at once


def centres(shape):
    """Middle of the grid, shape (r,)."""
    return (np.asarray(shape, dtype=np.float64) - 1) / 2


def centred_points(shape):
    """All grid points relative to the centre, shape (r, prod(shape))."""
    points = np.indices(shape, dtype=np.float64).reshape(len(shape), -1)
    return points - centres(shape)[:, None]


def affine_sources(matrix, offset, shape):
    """Sources ``matrix^-1 (x - offset)`` of ``p -> matrix p + offset`` about the centre, (r, p)."""
    moved = centred_points(shape) - np.asarray(offset, dtype=np.float64)[:, None]
    return np.linalg.solve(matrix, moved) + centres(shape)[:, None]


def sampling_matrix(sources, sample_shape, axes, nearest=False):
    """The sparse matrix of all ``(T_t w)(x) = w(source_t(x))``, multilinear between grid points.

    Parameters
    ----------
    sources : sequence of arrays (r, prod(moved shape))
        One per transform: the position on the moved axes that each sample point reads.
    sample_shape : tuple of int
        Shape of samples and weights.
    axes : tuple of int
        The ``r`` moved axes, in the order of the coordinates; channels move along.
    nearest : bool
        Read the nearest grid point instead of interpolating.

    Returns
    -------
    sparse.csr_array, shape (m * d, d)
    """
    shape, flat = tuple(sample_shape[a] for a in axes), _flat_positions(sample_shape, axes)
    many = max(1, POINTS // len(flat))
    groups = [np.concatenate(sources[i : i + many], 1) for i in range(0, len(sources), many)]
    blocks = [_with_channels(_interpolation(group, shape, nearest), flat) for group in groups]
    return sparse.csr_array(sparse.vstack(blocks))


def _interpolation(source, shape, nearest):
    """Multilinear interpolation at ``source`` (r, p): sparse (p, prod(shape))."""
    near = np.rint(source)
    source = np.where(nearest | (np.abs(source - near) < SNAP), near, source)
    low = np.floor(source)
    corners = itertools.product((0, 1), repeat=len(shape))
    reads = [_reads(low, source - low, np.array(corner)[:, None], shape) for corner in corners]
    # no two corners are the same grid point: there are no duplicates to add
    rows, columns, values = (np.concatenate(parts) for parts in zip(*reads, strict=True))
    size = (source.shape[1], math.prod(shape))
    return sparse.csr_array((values, (rows, columns)), shape=size)


def _reads(low, share, corner, shape):
    """Rows, columns and values of what is read at one corner (r, 1) of the cells of the grid."""
    value = np.prod(np.where(corner == 1, share, 1 - share), axis=0)
    points = (low + corner).astype(np.int64)
    limits = np.array(shape)[:, None]
    keep = np.flatnonzero(np.all((points >= 0) & (points < limits), axis=0) & (value > 0))
    return keep, np.ravel_multi_index(tuple(points[:, keep]), shape), value[keep]


def _flat_positions(sample_shape, axes):
    """Flat sample position of (moved point, channel), shape (p, C)."""
    flat = np.arange(math.prod(sample_shape)).reshape(sample_shape)
    flat = np.moveaxis(flat, axes, range(len(axes)))
    return flat.reshape(math.prod(sample_shape[a] for a in axes), -1)


def _with_channels(block, flat):
    """Repeat stacked blocks (p, p) for every channel, in the order of the sample."""
    if np.array_equal(flat.ravel(), np.arange(len(flat))):
        return block
    block = sparse.coo_array(block)
    number, point = np.divmod(block.row, len(flat))
    rows, columns = (number[:, None] * flat.size + flat[point]).ravel(), flat[block.col].ravel()
    values = np.repeat(block.data, flat.shape[1])
    size = (block.shape[0] * flat.shape[1], flat.size)
    return sparse.csr_array((values, (rows, columns)), shape=size)
