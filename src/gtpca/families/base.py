"""What every family shares: binding to a grid, and axes.

A family holds hyper-parameters only, so it can be cloned, printed and searched over
(``family__window``). :meth:`Family.bind` turns it into an operator for samples of one shape.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, clone

from gtpca.operators import Operator

__all__ = ["Family", "resolve_axes", "single_axis"]


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
