"""The base class of families: binding to a grid, size limits, and axes.

A family holds hyper-parameters only, so it can be cloned, printed and searched over
(``family__window``). :meth:`Family.bind` turns it into an operator for samples of one shape.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from gtpca._typing import BaseEstimator, Documented
from gtpca.operators import Operator
from gtpca.operators.grid import axis_name, axis_of, shape_text
from gtpca.text import did_you_mean, shortened

__all__ = [
    "Family",
    "Size",
    "bank_size",
    "check_size",
    "everywhere",
    "moved_axes",
    "n_points",
    "resolve_axes",
    "single_axis",
]

STEP = 512  # array entries that take as long as one step of a Python loop
MOST_VALUES = 2**30  # 12 to 64 GB as a bank: five scalings of 256 x 256 x 256 voxels, but no typo
MOST_WEIGHTS, PER_VALUE = 2**20, 2**10  # of a component; beyond, per value of a sample


@dataclass(frozen=True)
class Size:
    """The size of a family on samples of one shape.

    Attributes
    ----------
    n_transforms : float
        A float, which overflows to infinity, because parameters can ask for more than fits
        anywhere.
    weight_shape : tuple of int
        The shape of a component.
    n_values : float
        Approximate number of values needed to bind the family and to match one sample; loops are
        counted by their time. Never smaller than ``n_transforms`` or the number of weights.
    """

    n_transforms: float
    weight_shape: tuple[int, ...]
    n_values: float


class Family(Documented, BaseEstimator, ABC):
    """A family of linear transforms; subclasses store parameters and define :meth:`bind`.

    Attributes
    ----------
    hint_if_still : str or None
        What would help if there is only one transform on samples of some shape; None if that is
        intended.
    hint_if_large : str
        Which parameter reduces the number of transforms.
    domain : {"all", "common"}
        Where samples are compared: everywhere, or only where every transform is defined. A
        parameter of families in which some transforms leave points uncovered that others cover.
    """

    hint_if_still: str | None = ""
    hint_if_large: str = ""
    domain: str = "all"

    @property
    def windows(self) -> tuple[str, ...]:
        """The names of the parameters that are windows; of parts such as ``inner__window``."""
        return tuple(name for name in self.get_params() if name.rpartition("__")[2] == "window")

    @abstractmethod
    def bind(self, sample_shape: tuple[int, ...]) -> Operator:
        """The operator of all transforms for samples of ``sample_shape``."""

    def size(self, sample_shape: tuple[int, ...]) -> Size:
        """The size of the family on samples of ``sample_shape``, before anything is allocated.

        A fit refuses more than 2 ** 30 values, a file more than ``load(max_size=)``. The default
        binds the family and counts; override it if a short parameter can create a large operator.
        """
        operator = self.bind(sample_shape)
        n_values = operator.n_transforms * operator.n_features + operator.n_weights
        return Size(operator.n_transforms, operator.weight_shape, n_values)

    def check_repeatable(self) -> None:
        """Raise a ValueError if binding the family does not give the same operator every time."""


def check_size(family: Family, sample_shape: tuple[int, ...]) -> None:
    """Refuse families that would fill the memory, before anything is allocated.

    A family without its own ``size`` is not checked: it would have to be bound for that.
    """
    if type(family).size is Family.size:
        return
    size = family.size(sample_shape)
    if not size.n_values <= MOST_VALUES:
        raise ValueError(
            f"{shortened(repr(family), 80)} needs about {size.n_values:.3g} numbers on samples of "
            f"shape {shape_text(sample_shape)}; "
            f"{MOST_VALUES:.3g} are allowed. Use fewer transforms or smaller samples. "
            f"{family.hint_if_large}".rstrip()
        )
    most = max(MOST_WEIGHTS, PER_VALUE * n_points(sample_shape))
    if n_points(size.weight_shape) > most:
        raise ValueError(
            f"{shortened(repr(family), 80)} has components of {n_points(size.weight_shape):.3g} "
            f"weights on samples of shape {shape_text(sample_shape)}; {most:.3g} are allowed. "
            "Use a smaller window."
        )


def everywhere(family: Family) -> Family:
    """A copy of a family, and of its parts, that compares samples everywhere."""
    family = clone(family)
    named = (name for name in family.get_params() if name.rpartition("__")[2] == "domain")
    return family.set_params(**dict.fromkeys(named, "all"))


def n_points(shape) -> float:
    """The number of points of a grid."""
    return math.prod(map(float, shape))


def bank_size(n_transforms, sample_shape, n_reads) -> Size:
    """Size of a bank of sparse matrices, each made in ``n_reads`` steps of one read per point."""
    n_values = float(n_transforms) * n_reads * (n_points(sample_shape) + STEP)
    return Size(n_transforms, sample_shape, n_values)


def resolve_axes(family, axes, sample_shape, count=None):
    """Axes, given by number or by name, as a tuple of distinct non-negative ints, in that order."""
    label, rank = f"{type(family).__name__}: axes={axes!r}", len(sample_shape)
    given = (axes,) if np.ndim(axes) == 0 else tuple(axes)
    if any(isinstance(axis, str) for axis in given):
        given = tuple(_numbered(label, axis, sample_shape) for axis in given)
    if count is not None and count > rank:
        raise ValueError(
            f"{label} needs samples with at least {count} axes, but they have {rank}; give flat "
            "rows their shape by GTPCA(sample_shape=(.., ..))."
        )
    integers = all(isinstance(a, (int, np.integer)) for a in given)
    if not given or not integers or any(not -rank <= a < rank for a in given):
        raise ValueError(
            f"{label} does not fit samples {_with_axes(sample_shape)}; use integers from {-rank} "
            f"to {rank - 1}, counted without the sample axis."
        )
    resolved = tuple(int(a) % rank for a in given)
    if len(set(resolved)) != len(resolved) or (count is not None and len(resolved) != count):
        wanted = "different axes" if count is None else f"{count} different axes"
        raise ValueError(f"{label} must name {wanted}.")
    return resolved


def _numbered(label, axis, sample_shape):
    """The number of an axis that is given by its name."""
    names = [axis_of(sample_shape, j).name for j in range(len(sample_shape))]
    if not isinstance(axis, str):
        return axis
    if axis in names:
        return names.index(axis)
    known = [name for name in names if name]
    if not known:
        raise ValueError(
            f"{label}: the axes of samples of shape {tuple(sample_shape)} have no names; use "
            "integers counted without the sample axis, or name them by gtpca.labelled(X, axes=..)."
        )
    hint = did_you_mean(axis, known)
    raise ValueError(f"{label}: there is no axis {axis!r}.{hint} Samples have {', '.join(known)}.")


def _with_axes(sample_shape) -> str:
    """The number of axes, and their names if they have any."""
    names = ", ".join(axis_name(sample_shape, j, "") for j in range(len(sample_shape)))
    return f"with {len(sample_shape)} axes" + (f" ({names})" if names.strip(", ") else "")


def moved_axes(family, sample_shape, window=None):
    """The ``axes`` of a family, by default the only one there is."""
    given = single_axis(family, sample_shape, window) if family.axes is None else family.axes
    return resolve_axes(family, given, sample_shape)


def single_axis(family, sample_shape, window=None, several=True):
    """Axis 0 for samples of rank 1, time for samples with channels and time; otherwise an error.

    The error shows the readings that make sense: the longest axis with the others as channels, and
    all axes, unless the family moves only one, or some axes are shorter than its ``window`` and
    others are not.
    """
    if len(sample_shape) == 1:
        return 0
    names = [axis_of(sample_shape, j).name for j in range(len(sample_shape))]
    if sorted(map(str, names)) == ["channel", "time"]:
        return names.index("time")
    texts = [_one_axis(family, sample_shape)]
    if several and (window is None or not min(sample_shape) < window <= max(sample_shape)):
        texts.append(_every_axis(family, sample_shape, window))
    raise ValueError(
        f"{type(family).__name__}: axes is ambiguous for samples of shape "
        f"{shape_text(sample_shape)}. Write {', or '.join(texts)}."
    )


def _one_axis(family, shape) -> str:
    """How to move the longest axis alone."""
    axis = int(np.argmax(shape))
    one = clone(family).set_params(axes=axis_of(shape, axis).name or axis)
    others = [j for j in range(len(shape)) if j != axis]
    named = any(axis_of(shape, j).name for j in others)
    names = "" if named else f"ax{'i' if len(others) == 1 else 'e'}s "
    names += ", ".join(axis_name(shape, j, "{}") for j in others)
    channels = f"{' x '.join(str(shape[j]) for j in others)} channels"
    moved = f"{axis_name(shape, axis)} ({shape[axis]} points)"
    return f"{one!r} to move {moved} and take {names} ({channels}) along"


def _every_axis(family, shape, window) -> str:
    """How to move all axes."""
    rank = len(shape)
    others = {} if window is None else {"window": (window,) * rank}
    axes = tuple(axis_of(shape, j).name or j for j in range(rank))
    every = clone(family).set_params(axes=axes, **others)
    return f"{every!r} to move {'both' if rank == 2 else 'all'} axes"
