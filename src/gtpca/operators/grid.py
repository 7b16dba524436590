"""The grid of a sample: its shape, and what is known about its axes.

Families and operators receive the shape of a sample as a tuple. If axes have names, units or
positions, that tuple is a :class:`Grid`; otherwise it behaves like a plain tuple.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gtpca.operators.quadrature import quadrature

__all__ = [
    "DATES",
    "Axis",
    "Grid",
    "axes_of",
    "axis_name",
    "axis_of",
    "axis_texts",
    "even_points",
    "is_dates",
    "length_in_points",
    "resized",
    "shape_text",
]

DATES = "datetime64[ns]"  # the unit of positions that are nanoseconds since 1970
DATE_UNIT = re.compile(r"datetime64\[(s|ms|us|ns)\]")  # coarser units have a wider range
LENGTH = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([^\d\s.]\S*)\s*")
PREFIXES = {"c": 1e-2, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "n": 1e-9, "k": 1e3}
LEAST = 0.5  # of a point: less than that is not rounded up to one
EVEN = 1e-3  # relative difference of steps that still count as even


def is_dates(unit: str) -> bool:
    """Whether positions in this unit are dates, counted from 1970."""
    return DATE_UNIT.fullmatch(unit) is not None


@dataclass(frozen=True, eq=False)
class Axis:
    """What is known about one axis of a sample.

    Attributes
    ----------
    name : str or None
        Such as "time".
    unit : str
        Unit of the positions, such as "s"; empty if it is not known.
    points : float or int array (size,) or None
        Positions of the points of the axis. Integers are for dates, and for numbers that a float
        cannot represent.
    names : tuple of str or None
        Names of the points, such as channels.
    about : dict of str to array (size, ..) or list of str
        What else is known about each point, such as the types and positions of electrodes.
    """

    name: str | None = None
    unit: str = ""
    points: np.ndarray | None = None
    names: tuple[str, ...] | None = None
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def step(self) -> float | None:
        """The distance between neighbours; None if it is unknown or not even."""
        if self.points is None or len(self.points) < 2:
            return None
        steps = np.diff(self.points).astype(np.float64)
        mean = float(steps.mean())
        return mean if mean and np.all(np.abs(steps - mean) <= EVEN * abs(mean)) else None

    def at(self, places) -> np.ndarray:
        """Positions at ``places``, which count points from 0 and may lie between or beyond them.

        Those of points are exact. Integers stay integers: values in between are rounded.
        """
        if self.points is None:
            return np.asarray(places)
        points, places = np.asarray(self.points), np.asarray(places, dtype=np.float64)
        if len(points) == 1:
            return self._told(np.broadcast_to(points[0], places.shape).copy())
        whole = np.floor(places).astype(np.int64)
        near = np.clip(whole, 0, len(points) - 1)
        step = np.diff(points)[np.minimum(near, len(points) - 2)]
        if points.dtype.kind == "f":
            return points[near] + (places - near) * step
        between = np.rint((places - whole) * step).astype(points.dtype)
        return self._told(points[near] + (whole - near) * step + between)

    def _told(self, positions) -> np.ndarray:
        """Positions as shown to the user: dates, if that is what they are."""
        return positions.astype(self.unit) if is_dates(self.unit) else positions

    def cut(self, start: int, size: int) -> Axis:
        """The axis of ``size`` points, the first of them at ``start``."""
        if self.points is None:
            return Axis(self.name, self.unit)
        found = self.at(np.arange(start, start + size))
        return Axis(self.name, self.unit, found.astype(self.points.dtype))


class Grid(tuple):
    """The shape of a sample, a tuple of sizes that knows its axes.

    Parameters
    ----------
    sizes : sequence of int
    axes : sequence of Axis
        One for each size.
    weighted : bool
        Whether inner products are integrals over the positions; see :func:`gtpca.quadrature`.
    """

    axes: tuple[Axis, ...]
    weighted: bool

    def __new__(cls, sizes, axes, weighted=False):
        """A tuple of the sizes."""
        grid = super().__new__(cls, (int(size) for size in sizes))
        grid.axes, grid.weighted = tuple(axes), bool(weighted)
        return grid

    def __getnewargs__(self):
        return tuple(self), self.axes, self.weighted

    @property
    def weight(self) -> np.ndarray | None:
        """Feature weights of the shape of a sample, if inner products are integrals."""
        if not self.weighted:
            return None
        known = [axis.points for axis in self.axes if axis.points is not None]
        weight = quadrature(*known).reshape(*map(len, known), *(1,) * (len(self) - len(known)))
        return np.broadcast_to(weight, tuple(self)).copy()


def even_points(start: float, rate: float, size: int) -> np.ndarray:
    """Positions ``start, start + 1 / rate, ..``; without rounding errors if they are multiples."""
    first = start * rate
    if abs(first - round(first)) < EVEN:
        return (round(first) + np.arange(size)) / rate
    return start + np.arange(size) / rate


def axes_of(shape) -> tuple[Axis, ...]:
    """The axes of a shape; none if that is a plain tuple."""
    return shape.axes if isinstance(shape, Grid) else ()


def axis_of(shape, number: int) -> Axis:
    """What is known about an axis of a shape; nothing if that is a plain tuple."""
    return shape.axes[number] if isinstance(shape, Grid) else Axis()


def axis_name(shape, number: int, default: str = "axis {}") -> str:
    """The name of an axis, or else its number formatted by ``default``."""
    return axis_of(shape, number).name or default.format(number)


def resized(shape, sizes) -> tuple[int, ...]:
    """Other sizes with the axes of a shape; positions are kept where the size is the same."""
    if not isinstance(shape, Grid) or len(shape) != len(sizes):
        return tuple(sizes)
    pairs = zip(shape, sizes, shape.axes, strict=True)
    axes = [axis if old == new else Axis(axis.name, axis.unit) for old, new, axis in pairs]
    return Grid(sizes, axes)


def shape_text(shape) -> str:
    """A shape for messages: ``(100, 20)``, or ``(time: 100, channel: 20)``."""
    if not any(axis_of(shape, j).name for j in range(len(shape))):
        return str(tuple(shape))
    return f"({', '.join(f'{axis_name(shape, j)}: {size}' for j, size in enumerate(shape))})"


def _axis_text(axis: Axis, size: int) -> str:
    """An axis in words: its name, size, range, rate and the names of its points."""
    words = [f"{size} point{'' if size == 1 else 's'}"]
    if axis.points is not None:
        ends = axis.at([0, len(axis.points) - 1])
        texts = [f"{end:g}" if ends.dtype.kind == "f" else str(end) for end in ends]
        words.append(f"{' to '.join(texts)} {'' if is_dates(axis.unit) else axis.unit}".strip())
    if axis.unit == "s" and axis.step:
        words.append(f"rate {1 / axis.step:g} Hz")
    if axis.names is not None:
        words.append(f"named {' to '.join(dict.fromkeys([axis.names[0], axis.names[-1]]))}")
    return f"{axis.name or 'axis'}: {', '.join(words)}"


def axis_texts(shape) -> list[str]:
    """All axes of a shape in words."""
    return [_axis_text(axis_of(shape, j), size) for j, size in enumerate(shape)]


def length_in_points(label: str, value, axis: Axis, least: int = 1):
    """A length in points; text such as ``"0.3s"`` is converted by the step of the axis.

    Parameters
    ----------
    label : str
        The name that errors use.
    value : int, str or None
    axis : Axis
    least : int
        0 if a length of zero, such as ``"0s"``, makes sense.
    """
    if not isinstance(value, str):
        return value
    found = LENGTH.fullmatch(value)
    if found is None:
        raise ValueError(
            f"{label}={value!r} is not a length; write 60 for points, or such as 0.3s."
        )
    if axis.step is None or not axis.unit:
        raise ValueError(
            f"{label}={value!r} needs an axis with even steps of a known unit; say how far apart "
            "its points are (--rate 250Hz, gtpca.labelled(X, rate=250)), or give points."
        )
    points = float(found[1]) * _scale(label, value, found[2], axis.unit) / abs(axis.step)
    if points < LEAST and (points > 0 or least > 0):
        raise ValueError(
            f"{label}={value!r} is {points:.2g} points, less than one: neighbours are "
            f"{abs(axis.step):g} {axis.unit} apart. Give at least that."
        )
    return round(points)


def _scale(label, value, unit, known) -> float:
    """How many of the ``known`` units one ``unit`` is."""
    for text, factor in ((unit, 1.0), (known, -1.0)):
        other = known if text is unit else unit
        if text == other:
            return 1.0
        if text[1:] == other and text[0] in PREFIXES:
            return PREFIXES[text[0]] ** factor
    raise ValueError(f"{label}={value!r} is in {unit!r}, but the axis is in {known!r}.")
