"""Free monotone warps of time, found by dynamic programming."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gtpca import checks
from gtpca._typing import Shape
from gtpca.families.base import Family, Size, n_points, resolve_axes, single_axis
from gtpca.operators import Operator
from gtpca.operators.free_warp import FreeWarpOperator
from gtpca.operators.warping import Lattice

__all__ = ["FreeWarp"]

LEVELS = 10  # displacements of a knot on each side of 0, before they are refined
LEAST = 3  # points along the axis


class FreeWarp(Family):
    """Time may run faster and slower at will: increasing warps that are linear between knots.

        (T w)(t) = w(gamma(t)),   gamma(s_j) = s_j + pose_j

    with ``knots`` inner knots ``s_j``, spread evenly. The best warp of every sample is found by
    dynamic programming, so there is no list of transforms. The pose has one number per knot,
    ``knot_1``, ``knot_2``, ..: how far the clock of the component is ahead of that of the sample
    there, in units of the axis, or in points. It is positive where an event comes *earlier* in the
    sample than in the component. Channels share the warp.

    Use it with ``shared_pose=True``: then all components describe the same aligned curves. With
    poses of their own, every further component finds warps that fit noise.

    A warp can explain much by itself. To keep it from pinching single points, components have fewer
    free values than there are points; ``knots`` and ``weights`` are chosen by values that were not
    used for the fit, see :func:`gtpca.diagnostics.choose_warp`.

    Parameters
    ----------
    knots : int
        Number of inner knots. Fewer are better in noise: 5, or 1 for a single event in the middle.
    ends : {"fixed", "free"}
        Whether the ends stay in place. If they are free, their poses are ``knot_0`` and the last
        one; warps then include shifts, and other durations. Beyond its ends, a component continues
        with its last value.
    weights : int or None
        Number of free values of a component along the axis; it is linear in between. Default: half
        the number of points. A quarter is better in noise.
    reach : float
        The largest displacement of a knot, as a share of the length of the axis.
    slopes : tuple of two floats
        The smallest and the largest slope of a warp.
    stiffness : float
        The price of ``int (gamma' - 1)^2``, as a share of the energy of a sample. It matters where
        nothing else says how time runs.
    axes : int, str or None
        The time axis; samples of rank 1 need none.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import GTPCA, FreeWarp
    >>> u, rng = np.linspace(0, 1, 60), np.random.default_rng(0)
    >>> late = rng.uniform(-0.5, 0.5, (30, 1))
    >>> X = np.exp(-(((u ** np.exp(late) - 0.5) / 0.1) ** 2))
    >>> model = GTPCA(1, FreeWarp(), random_state=0).fit(X)
    >>> aligned = model.align(X)
    >>> bool(aligned.var(axis=0).sum() < 0.02 * X.var(axis=0).sum())
    True
    """

    hint_if_large = "A smaller reach, or fewer points, makes fewer warps of FreeWarp."

    def __init__(
        self,
        knots: int = 9,
        ends: Literal["fixed", "free"] = "fixed",
        weights: int | None = None,
        reach: float = 0.4,
        slopes: ArrayLike = (0.1, 8.0),
        stiffness: float = 0.01,
        axes: int | str | tuple[int | str, ...] | None = None,
    ):
        self.knots = knots
        self.ends = ends
        self.weights = weights
        self.reach = reach
        self.slopes = slopes
        self.stiffness = stiffness
        self.axes = axes

    def bind(self, sample_shape: Shape) -> Operator:
        """All warps of samples of ``sample_shape``."""
        axis = self._axis(sample_shape)
        return FreeWarpOperator(sample_shape, axis, self._lattice(sample_shape[axis]))

    def size(self, sample_shape: Shape) -> Size:
        """Tables of all pairs of displacements of neighbouring knots."""
        self._axis(sample_shape)
        n_values = float(2 * LEVELS + 1) ** 2 * n_points(sample_shape)
        return Size(1, sample_shape, n_values)

    def _axis(self, sample_shape):
        given = self.axes
        if given is None:
            given = single_axis(self, sample_shape, several=False)
        return resolve_axes(self, given, sample_shape, 1)[0]

    def _lattice(self, n_times):
        if n_times < LEAST:
            raise ValueError(
                f"FreeWarp: samples have {n_times} points along the warped axis, but at least "
                f"{LEAST} are needed; choose another axis by axes."
            )
        knots = checks.integer("FreeWarp: knots", self.knots, 1)
        if knots > n_times - 2:
            raise ValueError(
                f"FreeWarp: knots={knots} needs samples of at least {knots + 2} points, but they "
                f"have {n_times}; use at most {n_times - 2}."
            )
        checks.choice("FreeWarp: ends", self.ends, ("fixed", "free"))
        checks.positive("FreeWarp: reach", self.reach)
        checks.non_negative("FreeWarp: stiffness", self.stiffness)
        return Lattice(
            n_times,
            self._n_weights(n_times),
            knots,
            free=self.ends == "free",
            reach=min(float(self.reach), 1.0) * (n_times - 1),
            n_levels=LEVELS,
            slopes=self._slopes(),
            rho=float(self.stiffness),
        )

    def _n_weights(self, n_times):
        if self.weights is None:
            return max(2, math.ceil(n_times / 2))
        count = checks.integer("FreeWarp: weights", self.weights, 2)
        if count > n_times:
            raise ValueError(
                f"FreeWarp: weights={count} is more than the {n_times} points of a sample; use "
                f"{math.ceil(n_times / 2)}, or at most {n_times}."
            )
        return count

    def _slopes(self):
        slopes = checks.numbers("FreeWarp: slopes", self.slopes, positive=True)
        if len(slopes) != 2 or not slopes[0] <= 1 <= slopes[1]:
            raise ValueError(
                f"FreeWarp: slopes={self.slopes!r} must be two numbers around 1, the smallest and "
                "the largest slope, such as (0.1, 8)."
            )
        low, high = np.asarray(slopes, dtype=np.float64).tolist()
        return low, high
