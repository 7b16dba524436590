"""Preprocessing of rows before components see them, and while they are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gtpca.data.energies import weighted_sums
from gtpca.model.stationary import StationaryNoise
from gtpca.operators.backend import cast, constant, is_numpy, namespace

__all__ = ["Preprocessing", "feature_means", "sample_means"]


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """Rows as the solver sees them: centred, whitened, and zero outside the domain.

    Rows may be NumPy arrays or torch tensors; the mean then is of the same type.

    Parameters
    ----------
    mean : array (d,) or None
        Subtracted from every row.
    per_sample : bool
        Whether the mean of each row and channel is subtracted.
    noise : StationaryNoise or None
        Whitens the rows afterwards; None if the noise is white.
    """

    mean: Any = None
    per_sample: bool = False
    noise: StationaryNoise | None = None

    @property
    def changes_nothing(self) -> bool:
        """Whether rows are neither centred nor whitened."""
        return self.mean is None and not self.per_sample and self.noise is None

    def __call__(self, rows, operator, hidden=None):
        """``F (x - mean)`` of rows (n, d), zero outside the operator's domain.

        Inside it, values that are NaN stay NaN; tensors have zeros there instead, and ``hidden``
        (n, d).
        """
        return self.whitened(self.centred(rows, operator, hidden), operator)

    def centred(self, rows, operator, hidden=None):
        """``x - mean`` of rows (n, d)."""
        if self.mean is not None:
            rows = rows - cast(self.mean, rows)
        if self.per_sample:
            rows = rows - sample_means(rows, operator, hidden)
        return rows

    def whitened(self, rows, operator):
        """``F r`` of centred rows (n, d), zero outside the domain."""
        return self.judged(rows if self.noise is None else self.noise.whiten(rows), operator)

    def judged(self, rows, operator):
        """Rows (n, d) with zeros outside the domain."""
        if operator.domain is not None:
            rows = namespace(rows).where(constant(operator.domain, rows), rows, 0)
        return rows

    def undo(self, values, rows, operator):
        """Predictions (n, d), with the means of the ``rows`` (n, d) that they belong to added."""
        if self.mean is not None:
            values = values + cast(self.mean, values)
        if self.per_sample:
            values = values + sample_means(rows, operator)
        return values


def feature_means(chunks):
    """Mean of the observed values of every feature, in float64, (d,); 0 if there are none."""
    sums, mass = chunks.sum(weighted_sums)
    return np.divide(sums, mass, out=np.zeros_like(sums), where=mass > 0)


def sample_means(rows, operator, hidden=None):
    """Mean of each row and channel in the domain, by the feature weight if there is one, (n, d).

    Over observed values, and 0 if there are none; unobserved values are NaN in arrays and
    ``hidden`` (n, d) in tensors.
    """
    grid = rows.reshape(-1, *operator.sample_shape)
    weight = operator.feature_weight
    weight = np.ones(operator.n_features) if weight is None else weight
    weight = weight if operator.domain is None else weight * operator.domain
    weight = weight.reshape(operator.sample_shape)[None]
    axes = tuple(a + 1 for a in operator.moved_axes) or tuple(range(1, grid.ndim))
    total = np.maximum(weight.sum(axis=axes, keepdims=True), np.finfo(float).tiny)
    share = cast(constant(weight / total, rows), rows)
    xp = namespace(rows)
    means = xp.sum(grid * share, axes, keepdims=True)
    if is_numpy(rows) and np.isnan(means).any():
        hidden, grid = np.isnan(rows), np.nan_to_num(grid)
    if hidden is not None:
        seen = share * ~hidden.reshape(grid.shape)
        total = xp.sum(seen, axes, keepdims=True)
        means = xp.sum(seen * grid, axes, keepdims=True) / (total + (total == 0))
    return xp.broadcast_to(means, grid.shape).reshape(rows.shape)
