"""Families without geometry: identity, reflections, and your own list of transforms."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from scipy import sparse

from gtpca import checks
from gtpca._typing import Shape
from gtpca.families.base import STEP, Family, Size, bank_size, moved_axes, n_points, resolve_axes
from gtpca.operators import Operator
from gtpca.operators.bank import BankOperator
from gtpca.operators.grid import axis_name
from gtpca.operators.shift import ShiftAxis, ShiftOperator

__all__ = ["Custom", "Identity", "Reflection"]


class Identity(Family):
    """Nothing moves: GT-PCA is ordinary PCA.

    Examples
    --------
    >>> from gtpca import Identity
    >>> Identity().bind((5,)).n_transforms
    1
    """

    hint_if_still = None

    def bind(self, sample_shape: Shape) -> Operator:
        """One transform: the identity on samples of ``sample_shape``."""
        return ShiftOperator([ShiftAxis(size, size) for size in sample_shape], grid=sample_shape)

    def size(self, sample_shape: Shape) -> Size:
        """A single sample."""
        return Size(1, sample_shape, n_points(sample_shape))


class Reflection(Family):
    """Each of the given axes may be flipped: ``2 ** len(axes)`` transforms.

    The pose ``flipped`` (``flipped_0``, .. for several axes) says whether the component appears
    mirrored along that axis.

    Parameters
    ----------
    axes : int, tuple of int or None
        The axes that may flip; samples of rank 1 need none.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import Reflection
    >>> Reflection(axes=0).bind((3,)).apply(np.array([1.0, 2.0, 3.0]))
    array([[1., 2., 3.],
           [3., 2., 1.]])
    """

    domain = "common"  # each flip covers all points

    def __init__(self, axes: int | str | tuple[int | str, ...] | None = None):
        self.axes = axes

    def bind(self, sample_shape: Shape) -> Operator:
        """All combinations of flips for samples of ``sample_shape``."""
        axes = moved_axes(self, sample_shape)
        flips = np.array(list(itertools.product((False, True), repeat=len(axes))))
        positions = np.arange(math.prod(sample_shape)).reshape(sample_shape)
        columns = np.concatenate(
            [
                np.flip(positions, tuple(a for a, on in zip(axes, f, strict=True) if on)).ravel()
                for f in flips
            ]
        )
        matrix = sparse.csr_array(
            (np.ones(columns.size), columns, np.arange(columns.size + 1)),
            shape=(columns.size, positions.size),
        )
        names = [f"flipped_{axis_name(sample_shape, a, '{}')}" for a in axes]
        names = names if len(axes) > 1 else ["flipped"]
        poses = dict(zip(names, flips.T, strict=True))
        return BankOperator(
            matrix, sample_shape, sample_shape, poses=poses, moved_axes=axes, on_grid=True
        )

    def size(self, sample_shape: Shape) -> Size:
        """A bank of all combinations of flips."""
        return bank_size(2.0 ** len(moved_axes(self, sample_shape)), sample_shape, n_reads=1)


class Custom(Family):
    """Your own list of linear transforms.

    Parameters
    ----------
    transforms : list of arrays (d, L), of sparse arrays, or of callables
        Matrices act on flat weights. A callable maps weights of ``weight_shape`` to a sample; it
        must be linear and is called once per weight when bound.
    weight_shape : tuple of int or None
        Default: the shape of the sample; for matrices with another number of columns ``(L,)``.
    axes : int, tuple of int or None
        The axes of a sample that the transforms move; the others hold channels, such as colours,
        which are centred and plotted separately. Default: all.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import Custom
    >>> Custom([np.eye(3), np.eye(3)[::-1]]).bind((3,)).n_transforms
    2
    """

    hint_if_still = None
    hint_if_large = "Leave out some of the transforms of Custom."

    def __init__(
        self,
        transforms: Any,
        weight_shape: Shape | None = None,
        axes: int | str | tuple[int | str, ...] | None = None,
    ):
        self.transforms = transforms
        self.weight_shape = weight_shape
        self.axes = axes

    def bind(self, sample_shape: Shape) -> Operator:
        """The given transforms, checked, for samples of ``sample_shape``."""
        blocks = [self._matrix(t, i, sample_shape) for i, t in enumerate(self._given())]
        shape = self._weight_shape(sample_shape, blocks[0].shape[1])
        self._check_blocks(blocks, (math.prod(sample_shape), math.prod(shape)))
        poses = {"transform": np.arange(len(blocks))}
        axes = None if self.axes is None else resolve_axes(self, self.axes, sample_shape)
        told = Operator.quantities
        matrix = sparse.vstack(blocks)
        return BankOperator(matrix, sample_shape, shape, poses, moved_axes=axes, quantities=told)

    def size(self, sample_shape: Shape) -> Size:
        """The given matrices, or those that callables will be converted to."""
        parts = [self._measure(t, i, sample_shape) for i, t in enumerate(self._given())]
        shape = self._weight_shape(sample_shape, parts[0][0])
        n_values = n_points(shape) + sum(n_values for _, n_values in parts)
        return Size(len(parts), shape, n_values)

    def _given(self):
        transforms = list(self.transforms) if np.iterable(self.transforms) else []
        if not transforms:
            raise ValueError(
                f"Custom: transforms={self.transforms!r} must be a list of at least one matrix or "
                "callable."
            )
        return transforms

    def _measure(self, transform, i, sample_shape):
        """The number of weights of one transform, and approximately its number of values."""
        if callable(transform):
            shape = self._weight_shape(sample_shape, math.prod(sample_shape))
            n_weights = n_points(shape)
            # called for each row of an identity matrix
            return math.prod(shape), n_weights * (n_points(sample_shape) + n_weights + STEP)
        matrix = _numeric(transform, i)
        stored = matrix.nnz if sparse.issparse(matrix) else matrix.size
        return matrix.shape[1], float(stored + sum(matrix.shape))

    def _weight_shape(self, sample_shape, n_weights):
        if self.weight_shape is not None:
            return checks.sizes("Custom: weight_shape", self.weight_shape)
        return tuple(sample_shape) if n_weights == math.prod(sample_shape) else (n_weights,)

    def _matrix(self, transform, i, sample_shape):
        """One transform as a sparse matrix (d, L)."""
        if callable(transform):
            shape = self._weight_shape(sample_shape, math.prod(sample_shape))
            return sparse.csr_array(matrix_of(transform, shape, f"Custom: transform {i}"))
        return sparse.csr_array(_numeric(transform, i), dtype=np.float64)

    def _check_blocks(self, blocks, shape):
        for i, block in enumerate(blocks):
            if block.shape != shape:
                raise ValueError(
                    f"Custom: transform {i} has shape {block.shape}, but must be {shape} "
                    "(features of a sample, weights)."
                )
            if not np.all(np.isfinite(block.data)) or not np.any(block.data):
                raise ValueError(f"Custom: transform {i} is zero or not finite; leave it out.")
        unseen = np.flatnonzero(sum(abs(b).sum(axis=0) for b in blocks) == 0)
        if len(unseen):
            raise ValueError(
                f"Custom: weight {unseen[0]} (of {len(unseen)} such) is seen by no transform; "
                "remove its column from all matrices."
            )


def _numeric(transform, i):
    """A transform that is given as a matrix: sparse, or an array of floats, (d, L)."""
    try:
        matrix = transform if sparse.issparse(transform) else np.asarray(transform, dtype=float)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2:
        many = np.ndim(transform) > 0
        what = f"has shape {np.shape(transform)}" if many else f"is {transform!r}"
        raise ValueError(
            f"Custom: transform {i} {what}, but must be a matrix of numbers (features of a "
            "sample, weights) or a callable."
        )
    return matrix


def matrix_of(function, weight_shape, label):
    """The matrix (d, L) of a linear function of weights; an error if it is not linear."""

    def call(w):
        return np.asarray(function(w.reshape(weight_shape)), dtype=np.float64).ravel()

    size = math.prod(weight_shape)
    matrix = np.stack([call(e) for e in np.eye(size)], axis=1)
    if not np.all(np.isfinite(matrix)):
        raise ValueError(f"{label} returns values that are not finite.")
    probe = np.random.default_rng(0).standard_normal(size)
    if not np.allclose(call(probe), matrix @ probe, atol=1e-8 * np.abs(matrix).max(initial=0.0)):
        raise ValueError(f"{label} is not linear; only linear maps can be fitted.")
    return matrix
