"""What is done to rows before components see them, and while they are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gtpca.data.chunks import weighted_sums
from gtpca.operators.backend import cast, constant, namespace

__all__ = ["Preprocessing", "feature_means", "sample_means"]


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """Rows as the solver sees them: centred, and times the root of the feature weight.

    Rows may be of NumPy or of torch; the mean then is, too.

    Parameters
    ----------
    mean : array (d,) or None
        Subtracted from every row.
    per_sample : bool
        Whether the mean of each row and channel is subtracted.
    """

    mean: Any = None
    per_sample: bool = False

    def __call__(self, rows, operator):
        """``sqrt(q) (x - mean)`` of rows (n, d), with the feature weight ``q`` of the operator."""
        if self.mean is not None:
            rows = rows - cast(self.mean, rows)
        if self.per_sample:
            rows = rows - sample_means(rows, operator)
        if operator.feature_weight is not None:
            rows = rows * cast(constant(np.sqrt(operator.feature_weight), rows), rows)
        return rows


def feature_means(chunks):
    """Mean of every feature in float64, (d,)."""
    sums = chunks.sum(weighted_sums)
    return sums[:-1] / sums[-1]


def sample_means(rows, operator):
    """Mean of each row and channel, by the feature weight if there is one, (n, d)."""
    grid = rows.reshape(-1, *operator.sample_shape)
    weight = operator.feature_weight
    weight = np.ones(operator.n_features) if weight is None else weight
    weight = weight.reshape(operator.sample_shape)[None]
    axes = tuple(a + 1 for a in operator.moved_axes) or tuple(range(1, grid.ndim))
    total = np.maximum(weight.sum(axis=axes, keepdims=True), np.finfo(float).tiny)
    share = cast(constant(weight / total, rows), rows)
    means = namespace(rows).sum(grid * share, axes, keepdims=True)
    return namespace(rows).broadcast_to(means, grid.shape).reshape(rows.shape)
