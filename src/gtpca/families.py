"""What users type: families of transforms, free of any grid until they are bound to one.

A family holds hyper-parameters only, so it can be cloned, printed and searched over
(``family__window``). :meth:`Family.bind` turns it into an operator for samples of one shape.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from gtpca import checks
from gtpca.operators.bank import BankOperator
from gtpca.operators.base import Operator
from gtpca.operators.composed import ComposedOperator
from gtpca.operators.shift import ShiftOperator
from gtpca.operators.shift_axis import Track

__all__ = ["Compose", "Custom", "Family", "Identity", "Reflection", "Shift"]


class Family(BaseEstimator, ABC):
    """A family of linear transforms; subclasses store parameters and write :meth:`bind`."""

    @abstractmethod
    def bind(self, sample_shape: tuple[int, ...]) -> Operator:
        """The operator of all transforms for samples of ``sample_shape``."""


def resolve_axes(family, axes, rank, count=None):
    """Axes as a tuple of distinct non-negative ints, in the order given."""
    label = f"{type(family).__name__}: axes={axes!r}"
    given = (axes,) if np.ndim(axes) == 0 else tuple(axes)
    if count is not None and count > rank:
        raise ValueError(
            f"{label} needs samples with at least {count} axes, but they have {rank}; give flat "
            "rows their shape by GTPCA(sample_shape=(.., ..))."
        )
    whole_numbers = all(isinstance(a, (int, np.integer)) for a in given)
    if not given or not whole_numbers or any(not -rank <= a < rank for a in given):
        raise ValueError(
            f"{label} does not fit samples with {rank} axes; use whole numbers from {-rank} to "
            f"{rank - 1}, counted without the sample axis."
        )
    resolved = tuple(int(a) % rank for a in given)
    if len(set(resolved)) != len(resolved) or (count is not None and len(resolved) != count):
        wanted = "different axes" if count is None else f"{count} different axes"
        raise ValueError(f"{label} must name {wanted}.")
    return resolved


def single_axis(family, sample_shape, **others):
    """Axis 0 for samples of rank 1; for others an error that shows both readings.

    ``others`` are further parameters of the second reading, which moves all axes.
    """
    rank = len(sample_shape)
    if rank == 1:
        return 0
    first = clone(family).set_params(axes=0)
    second = clone(family).set_params(**{"axes": tuple(range(rank)), **others})
    raise ValueError(
        f"{type(family).__name__}: axes is ambiguous for samples of shape {tuple(sample_shape)}. "
        f"Write {first!r} to move axis 0 and take the others along, or {second!r}."
    )


class Identity(Family):
    """Nothing moves: GT-PCA is ordinary PCA.

    Examples
    --------
    >>> from gtpca import Identity
    >>> Identity().bind((5,)).n_transforms
    1
    """

    def bind(self, sample_shape):
        """One transform: the identity on samples of ``sample_shape``."""
        return ShiftOperator([Track(size, size) for size in sample_shape])


class Shift(Family):
    """The component is a window that may stand at any position.

    On one axis with ``D`` sample points and a window of ``L`` weights, offset ``o`` is

        (T_o w)[x] = w[x - o]   where 0 <= x - o < L, and 0 elsewhere.

    The pose ``start`` is ``o``: the sample position of the window's first weight; ``centre`` is
    ``o + (L - 1) / 2``. A positive offset moves the component towards larger positions. If the
    window is longer than the sample, offsets are negative and the sample is a crop of the window.

    Parameters
    ----------
    window : int, tuple of int or None
        Size of the component on the moved axes, one entry per axis; None: that of the sample.
    axes : int, tuple of int or None
        The moved axes of a sample, the others (channels) move along. Default: the leading
        ``len(window)`` axes; samples of rank 1 need none.
    boundary : {"valid", "partial", "circular"}
        "valid": the window fully inside the sample, or the sample fully inside the window.
        "partial": at least ``min_overlap`` of the shorter one lies inside the other; for events
        that the border of a sample may cut.
        "circular": the window wraps around the end of the sample.
    max_shift : int or None
        Largest distance from the centred position ``(D - L) // 2``.
    step : int
        Distance between neighbouring offsets; the centred position is one of them.
    min_overlap : float in (0, 1]
        For "partial".

    Examples
    --------
    >>> from gtpca import Shift
    >>> Shift(window=3).bind((5,)).describe([0, 2])["start"]
    array([0, 2])
    >>> Shift(window=(28, 28)).bind((56, 56)).n_transforms
    841
    """

    def __init__(
        self, window=None, axes=None, boundary="valid", max_shift=None, step=1, min_overlap=0.5
    ):
        self.window = window
        self.axes = axes
        self.boundary = boundary
        self.max_shift = max_shift
        self.step = step
        self.min_overlap = min_overlap

    def bind(self, sample_shape):
        """All shifts of the window on samples of ``sample_shape``."""
        self._check()
        axes = self._axes(sample_shape)
        windows = dict(zip(axes, self._windows(sample_shape, axes), strict=True))
        tracks = [
            self._track(size, windows[j]) if j in windows else Track(size, size)
            for j, size in enumerate(sample_shape)
        ]
        return ShiftOperator(tracks, axes)

    def _check(self):
        checks.choice("Shift: boundary", self.boundary, ("valid", "partial", "circular"))
        checks.whole("Shift: step", self.step, 1)
        if self.max_shift is not None:
            checks.whole("Shift: max_shift", self.max_shift, 0)
        checks.number("Shift: min_overlap", self.min_overlap, "in (0, 1]", lambda v: 0 < v <= 1)

    def _axes(self, sample_shape):
        rank = len(sample_shape)
        count = None if np.ndim(self.window) == 0 else len(self.window)
        if count is not None and not 0 < count <= rank:
            raise ValueError(
                f"Shift: window={self.window!r} must have one entry per moved axis, 1 to {rank} "
                f"for samples of shape {tuple(sample_shape)}."
            )
        if self.axes is not None:
            return resolve_axes(self, self.axes, rank, count)
        if count is not None:
            return tuple(range(count))
        both = None if self.window is None else (self.window,) * rank
        return resolve_axes(self, single_axis(self, sample_shape, window=both), rank)

    def _windows(self, sample_shape, axes):
        if self.window is None:
            return [sample_shape[a] for a in axes]
        windows = checks.sizes("Shift: window", self.window)
        return windows * len(axes) if np.ndim(self.window) == 0 else windows

    def _track(self, size, window):
        centre = (size - window) // 2
        if self.boundary == "circular":
            return self._circular_track(size, window, centre)
        low, high = min(0, size - window), max(0, size - window)
        if self.boundary == "partial":
            overlap = math.ceil(self.min_overlap * min(size, window) - 1e-9)
            low, high = overlap - window, size - overlap
        reach = high - low if self.max_shift is None else self.max_shift
        down, up = min(reach, centre - low) // self.step, min(reach, high - centre) // self.step
        return Track(size, window, centre - down * self.step, self.step, down + up + 1)

    def _circular_track(self, size, window, centre):
        if window > size:
            raise ValueError(
                f"Shift: window={window} is longer than the sample ({size} points), which a "
                f"circular boundary does not allow; use at most {size} or boundary='valid'."
            )
        if self.max_shift is None or 2 * self.max_shift >= size:
            first = centre % self.step
            return Track(size, window, first, self.step, -((first - size) // self.step), True)
        down = self.max_shift // self.step
        return Track(size, window, centre - down * self.step, self.step, 2 * down + 1, True)


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

    def __init__(self, axes=None):
        self.axes = axes

    def bind(self, sample_shape):
        """All combinations of flips for samples of ``sample_shape``."""
        given = single_axis(self, sample_shape) if self.axes is None else self.axes
        axes = resolve_axes(self, given, len(sample_shape))
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
        names = ["flipped" if len(axes) == 1 else f"flipped_{a}" for a in axes]
        poses = dict(zip(names, flips.T, strict=True))
        return BankOperator(matrix, sample_shape, sample_shape, poses, axes)


class Custom(Family):
    """Any list of linear transforms of your own.

    Parameters
    ----------
    transforms : list of arrays (d, L), of sparse arrays, or of callables
        Matrices act on flat weights. A callable maps weights of ``weight_shape`` to a sample; it
        must be linear and is called once per weight when bound.
    weight_shape : tuple of int or None
        Default: the shape of the sample; for matrices with another number of columns ``(L,)``.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import Custom
    >>> Custom([np.eye(3), np.eye(3)[::-1]]).bind((3,)).n_transforms
    2
    """

    def __init__(self, transforms, weight_shape=None):
        self.transforms = transforms
        self.weight_shape = weight_shape

    def bind(self, sample_shape):
        """The given transforms, checked, for samples of ``sample_shape``."""
        transforms = list(self.transforms) if np.iterable(self.transforms) else []
        if not transforms:
            raise ValueError(
                f"Custom: transforms={self.transforms!r} must be a list of at least one matrix or "
                "callable."
            )
        blocks = [self._matrix(t, i, sample_shape) for i, t in enumerate(transforms)]
        shape = self._weight_shape(sample_shape, blocks[0].shape[1])
        self._check_blocks(blocks, (math.prod(sample_shape), math.prod(shape)))
        poses = {"transform": np.arange(len(blocks))}
        return BankOperator(sparse.vstack(blocks), sample_shape, shape, poses)

    def _weight_shape(self, sample_shape, n_weights):
        if self.weight_shape is not None:
            return checks.sizes("Custom: weight_shape", self.weight_shape)
        return tuple(sample_shape) if n_weights == math.prod(sample_shape) else (n_weights,)

    def _matrix(self, transform, i, sample_shape):
        """One transform as a sparse matrix (d, L)."""
        if callable(transform):
            shape = self._weight_shape(sample_shape, math.prod(sample_shape))
            return sparse.csr_array(matrix_of(transform, shape, f"Custom: transform {i}"))
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
        return sparse.csr_array(matrix, dtype=np.float64)

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


def matrix_of(function, weight_shape, label):
    """The matrix (d, L) of a linear function of weights; an error if it is not linear."""

    def call(w):
        return np.asarray(function(w.reshape(weight_shape)), dtype=np.float64).ravel()

    size = math.prod(weight_shape)
    matrix = np.stack([call(e) for e in np.eye(size)], axis=1)
    if not np.all(np.isfinite(matrix)):
        raise ValueError(f"{label} returns values that are not finite.")
    probe = np.random.default_rng(0).standard_normal(size)
    if not np.allclose(call(probe), matrix @ probe, atol=1e-8 * np.abs(matrix).max(initial=1.0)):
        raise ValueError(f"{label} is not linear; only linear maps can be fitted.")
    return matrix


class Compose(Family):
    """Every combination of transforms of several families: ``T_outer T_inner ..``.

    The outermost family acts last, on the sample; each inner one is bound to the weight shape of
    the one around it. Put a Shift first: it runs by FFT, once per combination of the others. The
    poses are those of all parts; a name that occurs twice gets the prefix ``inner_``.

    Parameters
    ----------
    outer, inner : Family
    inner2, inner3 : Family or None

    Examples
    --------
    >>> from gtpca import Compose, Reflection, Rotation, Shift
    >>> Compose(Shift((8, 8)), Rotation(4), Reflection(axes=0)).bind((10, 10)).n_transforms
    72
    """

    def __init__(self, outer, inner, inner2=None, inner3=None):
        self.outer = outer
        self.inner = inner
        self.inner2 = inner2
        self.inner3 = inner3

    def __repr__(self, N_CHAR_MAX=700):
        return f"Compose({', '.join(map(repr, self.parts))})"

    @property
    def parts(self):
        """The families that are given, outermost first."""
        given = (self.outer, self.inner, self.inner2, self.inner3)
        return [part for part in given if part is not None]

    def bind(self, sample_shape):
        """The composed operator for samples of ``sample_shape``."""
        operator = None
        for family in self.parts:
            if not isinstance(family, Family):
                raise TypeError(
                    f"Compose: {family!r} is not a family such as Shift() or Rotation()."
                )
            shape = sample_shape if operator is None else operator.weight_shape
            part = family.bind(shape)
            operator = part if operator is None else ComposedOperator(operator, part)
        return operator
