"""Phase components: the principal components of warps, beside those of shapes.

A fit with free warps (:class:`gtpca.FreeWarp`) gives every sample a warp, the displacements of its
knots. Their principal components say how samples differ in timing: scores of timing, beside the
scores of shape that ``transform`` returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gtpca import checks
from gtpca._typing import Samples
from gtpca.operators.free_warp import FreeWarpOperator

__all__ = ["PhaseComponents", "phase_components"]


@dataclass(frozen=True, eq=False)
class PhaseComponents:
    """Principal components of the poses of n samples with q moving knots.

    Attributes
    ----------
    mean : array (q,)
        The mean pose, in points.
    components : array (k, q)
        Orthonormal, in descending order of variance; the largest entry of each is positive.
    scores : array (n, k)
        Of the samples, in points.
    variance_ratio : array (k,)
        Share of the variance of the poses.
    lattice : Lattice
        Converts poses to warps.
    """

    mean: np.ndarray
    components: np.ndarray
    scores: np.ndarray
    variance_ratio: np.ndarray
    lattice: Any

    def warps(self, component: int, sizes) -> np.ndarray:
        """``gamma(t)`` at the mean plus ``sizes`` (s,) standard deviations of a component, (s, d).

        In points: ``gamma(t) - t`` is how far the clock of the pattern is ahead.
        """
        spread = self.scores[:, component].std()
        poses = self.mean + np.multiply.outer(
            np.asarray(sizes) * spread, self.components[component]
        )
        return self.lattice.warp(poses)


def phase_components(
    model: Any, X: Samples, n_components: int = 2, component: int = 0
) -> PhaseComponents:
    """The principal components of the warps of samples.

    Parameters
    ----------
    model : GTPCA
        Fitted, with the family :class:`gtpca.FreeWarp`.
    X : array (n, \\*sample_shape)
    n_components : int
        At most the number of moving knots.
    component : int
        The component of the model whose poses are taken; ignored if poses are shared.

    Returns
    -------
    PhaseComponents

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import GTPCA, FreeWarp
    >>> from gtpca.views.phase import phase_components
    >>> u, late = np.linspace(0, 1, 50), np.linspace(-0.4, 0.4, 20)
    >>> X = np.exp(-(((u ** np.exp(late[:, None]) - 0.5) / 0.15) ** 2))
    >>> model = GTPCA(1, FreeWarp(3), random_state=0).fit(X)
    >>> timing = phase_components(model, X, 1)
    >>> bool(abs(np.corrcoef(timing.scores[:, 0], late)[0, 1]) > 0.98)
    True
    """
    operator = model.operator_
    if not isinstance(operator, FreeWarpOperator):
        raise TypeError(f"family={model.family!r} has no warps; fit a model with FreeWarp().")
    count = checks.integer("n_components", n_components, 1, operator.lattice.n_moving)
    checks.integer("component", component, 0, max(0, model.n_components_ - 1))
    pose = np.asarray(model.encode(X).pose)[:, 0 if model.shared_pose_ else component]
    mean = pose.mean(axis=0)
    _, sizes, axes = np.linalg.svd(pose - mean, full_matrices=False)
    axes = axes[:count]
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    total = max(float(np.sum(sizes**2)), np.finfo(float).tiny)
    return PhaseComponents(
        mean, axes, (pose - mean) @ axes.T, sizes[:count] ** 2 / total, operator.lattice
    )
