"""Images that are turned, scaled and shifted, at any angle, factor and place."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from gtpca import checks
from gtpca._typing import Shape
from gtpca.families import grids
from gtpca.families.base import Family, Size, bank_size, resolve_axes
from gtpca.families.paths import Similar
from gtpca.operators import Operator
from gtpca.operators.bank import BankOperator
from gtpca.operators.grid import axis_name
from gtpca.operators.poses import DEGREES, PoseAxis
from gtpca.operators.sampling import Sampling

__all__ = ["Similarity"]

RATIO = 1.26  # largest ratio of neighbouring factors in the list that finds poses
APART = 0.1  # largest distance of neighbouring shifts there, relative to the side of the image


class Similarity(Family):
    """Images may be turned, scaled and shifted, by any angle, factor and distance in a range.

        (T w)(x) = w(c + R^-1 (x - c - b) / s)

    with the rotation ``R`` by an angle, the factor ``s``, the shift ``b`` and the middle ``c`` of
    the image. A short list of transforms finds where a pose lies, and the pose is then refined: its
    four parameters are as exact as the data allow. Beyond the image, components are zero.

    The pose has ``degrees``, counter-clockwise as displayed with row 0 on top; ``factor``, by which
    the component appears larger; and ``shift_0`` and ``shift_1`` (or the names of the axes), how
    many pixels its middle lies below and to the right of the middle of the image.

    Use ``shared_pose=True`` unless the parts of an image move independently of each other. Samples
    are compared everywhere, so that poses that cover more would explain more of a light background:
    subtract it first, or use ``center="samples"``.

    Parameters
    ----------
    factors : tuple of two float
        The smallest and the largest factor; ``(1, 1)`` if nothing is scaled.
    shifts : float, int, or one for each axis
        The longest shift along each axis: an int is a number of pixels, a float a share of the side
        of the image.
    angles : int
        The number of angles in the list that finds poses. More are slower, and safer where
        components have fine details; 1 if nothing is turned.
    axes : tuple of two int
        The image axes (rows, columns); the others (colours) move along.

    Examples
    --------
    >>> from gtpca import Similarity
    >>> operator = Similarity().bind((40, 40))
    >>> operator.n_transforms, [axis.name for axis in operator.pose_space.axes]
    (648, ['degrees', 'factor', 'shift_0', 'shift_1'])
    """

    hint_if_large = "Fewer angles, or a smaller range of Similarity, make fewer transforms."

    def __init__(
        self,
        factors: ArrayLike = (0.8, 1.25),
        shifts: ArrayLike = 0.1,
        angles: int = 24,
        axes: int | str | tuple[int | str, ...] | None = (0, 1),
    ):
        self.factors = factors
        self.shifts = shifts
        self.angles = angles
        self.axes = axes

    def bind(self, sample_shape: Shape) -> Operator:
        """All similarities for images of ``sample_shape``."""
        axes = resolve_axes(self, self.axes, sample_shape, 2)
        shape = tuple(int(sample_shape[a]) for a in axes)
        lines = self._lines(shape)
        sizes = tuple(len(line) for line in lines)
        nodes = np.stack([part.ravel() for part in np.meshgrid(*lines, indexing="ij")], axis=1)
        path = Similar(shape)
        points = np.indices(shape, dtype=np.float64).reshape(2, -1)
        sources = [path.sources(pose[None], points)[0] for pose in nodes]
        matrix = grids.sampling_matrix(sources, sample_shape, axes)
        names = ["degrees", "factor", *(f"shift_{axis_name(sample_shape, a, '{}')}" for a in axes)]
        operator = BankOperator(
            matrix,
            sample_shape,
            sample_shape,
            dict(zip(names, nodes.T, strict=True)),
            axes,
            _nearest_to_rest(nodes, lines),
            on_grid=True,
            quantities=[DEGREES],
        )
        lattice = np.arange(len(nodes)).reshape(sizes)
        how = (operator.sample_shape, axes, nodes)
        operator.continuous = Sampling(path, self._axes(names, lines), lattice, *how)
        return operator

    def size(self, sample_shape: Shape) -> Size:
        """A bank of all transforms of the list."""
        axes = resolve_axes(self, self.axes, sample_shape, 2)
        sizes = self._sizes(tuple(int(sample_shape[a]) for a in axes))
        return bank_size(math.prod(map(float, sizes)), sample_shape, n_reads=4.0)

    def _axes(self, names, lines):
        """The parameters of a pose."""
        turned = replace(DEGREES, low=0.0, high=0.0 if len(lines[0]) == 1 else 360.0)
        ends = zip(names[1:], lines[1:], strict=True)
        return [turned, *(PoseAxis(n, float(line[0]), float(line[-1])) for n, line in ends)]

    def _lines(self, shape):
        """Angles, factors and shifts of the list."""
        angles, factors, *shifts = self._sizes(shape)
        low, high = self._factors()
        lines = [360.0 * np.arange(angles) / angles, np.geomspace(low, high, int(factors))]
        most = self._shifts(shape)
        return [*lines, *(np.linspace(-s, s, int(n)) for s, n in zip(most, shifts, strict=True))]

    def _sizes(self, shape):
        """How many of each there are."""
        low, high = self._factors()
        factors = 1 + math.ceil(math.log(high / low) / math.log(RATIO) - 1e-9)
        shifts = zip(self._shifts(shape), shape, strict=True)
        counts = [1 + 2 * math.ceil(most / (APART * size) - 1e-9) for most, size in shifts]
        return [checks.integer("Similarity: angles", self.angles, 1), factors, *counts]

    def _factors(self):
        factors = checks.numbers("Similarity: factors", self.factors, positive=True)
        if len(factors) != 2 or factors[0] > factors[1]:
            raise ValueError(
                f"Similarity: factors={self.factors!r} must be the smallest and the largest factor,"
                " such as (0.8, 1.25)."
            )
        return factors

    def _shifts(self, shape):
        """The longest shifts in pixels."""
        given = (self.shifts,) * 2 if np.ndim(self.shifts) == 0 else tuple(self.shifts)  # type: ignore[arg-type]
        most = [
            s if isinstance(s, (int, np.integer)) else s * n
            for s, n in zip(given, shape, strict=False)
        ]
        if len(given) != 2 or not all(0 <= s < n for s, n in zip(most, shape, strict=True)):
            raise ValueError(
                f"Similarity: shifts={self.shifts!r} must be one or two lengths of at most "
                f"{min(shape) - 1} pixels, or shares of the side such as 0.1."
            )
        return most


def _nearest_to_rest(nodes, lines):
    """The number of the node nearest to the identity."""
    rest, far = (0.0, 1.0, 0.0, 0.0), np.zeros(len(nodes))
    for values, still, line in zip(nodes.T, rest, lines, strict=True):
        far += np.abs(values - still) / max(np.ptp(line), 1e-9)
    return int(far.argmin())
