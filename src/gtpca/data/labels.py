"""What is known about samples besides their values: names, units, positions, how they were read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gtpca import checks
from gtpca._typing import Samples
from gtpca.operators.grid import Axis, Grid, even_points

__all__ = ["Labelled", "Labels", "labelled", "reading_words"]

CLOSE = 1e-3  # relative to a step: positions that differ by less are the same


@dataclass(frozen=True, eq=False)
class Labels:
    """What a fitted model remembers about the container of its samples.

    Attributes
    ----------
    axes : tuple of Axis
        The axes of a sample.
    kind : str
        The type of container: "array", "xarray", "mne" or "skfda".
    samples : str
        Name of the axis of the samples.
    weighted : bool
        Whether inner products are integrals over the positions of the axes.
    reading : dict
        How a file is read: which column is which, and so on. ``columns`` are the names of all
        columns with values, ``columns_given`` those that the user named.
    """

    axes: tuple[Axis, ...]
    kind: str = "array"
    samples: str = "sample"
    weighted: bool = False
    reading: dict[str, Any] = field(default_factory=dict)

    def grid(self, shape) -> tuple[int, ...]:
        """The shape of a sample with these axes; unchanged if it has others."""
        fits = len(shape) == len(self.axes)
        return Grid(shape, self.axes, self.weighted) if fits else tuple(shape)

    def check_same(self, other: Labels) -> None:
        """Raise an error if new samples, with ``other`` labels, are not on the same grid."""
        if len(self.axes) != len(other.axes):
            return  # the shapes differ as well
        for j, (mine, new) in enumerate(zip(self.axes, other.axes, strict=True)):
            label = mine.name or f"axis {j}"
            if mine.name and new.name and mine.name != new.name:
                raise ValueError(
                    f"X has the axis {new.name!r} where GTPCA was fitted to {mine.name!r}; rename "
                    "or transpose it."
                )
            _check_names(label, mine.names, new.names)
            _check_points(label, mine, new)


def _check_names(label, mine, new) -> None:
    """Check that the points of an axis have the same names, if they have any."""
    if mine is None or new is None or len(mine) != len(new) or mine == new:
        return
    first = next(i for i, pair in enumerate(zip(mine, new, strict=True)) if pair[0] != pair[1])
    raise ValueError(
        f"X has {new[first]!r} at place {first} of {label}, but GTPCA was fitted to "
        f"{mine[first]!r} there; bring them into the order of the fit."
    )


def _check_points(label, mine, new) -> None:
    """Check that the points of an axis lie where they did, if known and equally many."""
    if mine.points is None or new.points is None or len(mine.points) != len(new.points):
        return
    step = np.abs(np.diff(mine.points)).min() if len(mine.points) > 1 else 1.0
    units = {unit for unit in (mine.unit, new.unit) if unit}
    if np.abs(new.points - mine.points).max() > CLOSE * step or len(units) > 1:
        raise ValueError(
            f"X has {_range(new)} on {label}, but GTPCA was fitted to {_range(mine)}: poses would "
            "be wrong by the difference. Move the positions, or fit again."
        )


def _range(axis) -> str:
    first, last = axis.at([0, len(axis.points) - 1])
    if axis.points.dtype.kind != "f":
        return f"{first} to {last}"  # dates, which need no unit
    return f"{first:g} to {last:g} {axis.unit}".rstrip()


REMEMBERED = ("times", "channels")  # by a model, but never typed as options


def reading_words(reading) -> list[str]:
    """How a file is read, as the options of a command.

    Parameters
    ----------
    reading : dict
        Options by name, as those of :func:`gtpca.readers.read_data`, or as stored in labels.

    Examples
    --------
    >>> from gtpca.data.labels import reading_words
    >>> reading_words({"id": "name", "header": False, "rate": 250.0, "drop": ["a", "b:d"]})
    ['--id', 'name', '--no-header', '--rate', '250Hz', '--drop', 'a', '--drop', 'b:d']
    """
    told = {n: value for n, value in reading.items() if n not in (*REMEMBERED, "columns")}
    words = []
    for name, value in told.items():
        option = f"--{name.removesuffix('_given')}"
        if isinstance(value, bool):
            words.append(option if value else f"--no-{name}")
        elif value is not None:
            parts = value if isinstance(value, (list, tuple)) else [value]
            words += [word for part in parts for word in (option, _typed_value(name, part))]
    return words


def _typed_value(name, value) -> str:
    """A value of an option as a user would type it, with its unit and all its digits."""
    if name == "rate":
        return f"{_digits(value)}Hz"
    if name in ("window", "step") and isinstance(value, float):
        return f"{_digits(value)}s"
    return str(value)


def _digits(value) -> str:
    """A number without an exponent, which options do not accept."""
    return np.format_float_positional(float(value), trim="-")


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows with their labels, for ``GTPCA.fit`` and the other methods; see :func:`labelled`.

    Attributes
    ----------
    rows : array (n, \\*sample_shape)
    labels : Labels
    """

    rows: Any
    labels: Labels

    def __len__(self) -> int:
        return len(self.rows)


def labelled(
    X: Samples,
    axes: Any = None,
    *,
    rate: float | None = None,
    start: float = 0.0,
    unit: str | None = "s",
    channels: Any = None,
) -> Labelled:
    """Attach names of axes and a sampling rate to rows.

    For arrays without names, such as the collections of aeon, (n, channels, time). Results are
    plain arrays, but families accept axes by name and lengths in seconds, and poses are in seconds.

    Parameters
    ----------
    X : array (n, \\*sample_shape), or MNE Epochs
        Anything that ``GTPCA.fit`` accepts.
    axes : tuple of str or None
        Names of the axes of a sample. Default: ``("time",)`` for flat rows, and ``("channel",
        "time")`` for samples with two axes.
    rate : float or None
        Points per unit along "time".
    start : float
        Position of the first point.
    unit : str
        Unit of the positions.
    channels : list of str or None
        Names of the points of the axis "channel". For MNE Epochs, or a list of Evoked: the channels
        to use, which may include some that hold no data.

    Returns
    -------
    Labelled

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import GTPCA, Shift, labelled
    >>> X = np.zeros((40, 2, 100))
    >>> for i in range(40):
    ...     X[i, :, i : i + 10] = np.hanning(10)
    >>> model = GTPCA(1, Shift("40ms", axes="time"), random_state=0)
    >>> model.fit(labelled(X, rate=250)).components_.shape
    (1, 2, 10)
    """
    if hasattr(X[0] if isinstance(X, (list, tuple)) and len(X) else X, "ch_names"):
        return Labelled(X, Labels((Axis("channel", names=tuple(channels or ())), Axis("time"))))
    shape = tuple(np.shape(X) if isinstance(X, (list, tuple)) else X.shape)[1:]
    known = {1: ("time",), 2: ("channel", "time")}.get(len(shape)) if axes is None else axes
    names = (known,) if isinstance(known, str) else tuple(known or ())
    if len(names) != len(shape) or len(set(names)) != len(names):
        raise ValueError(
            f"axes={axes!r} must name the axes of samples of shape {shape}, each once."
        )
    rows = np.asarray(X) if isinstance(X, (list, tuple)) else X
    return Labelled(rows, Labels(tuple(_axes(names, shape, rate, start, unit, channels))))


def _axes(names, shape, rate, start, unit, channels):
    """The axes of a sample, with positions along "time" and names along "channel"."""
    for option, axis in ((rate, "time"), (channels, "channel")):
        if option is not None and axis not in names:
            given = "rate" if axis == "time" else "channels"
            raise ValueError(f"{given} needs an axis {axis!r}; axes={names!r} has none.")
    for name, size in zip(names, shape, strict=True):
        if name == "time" and rate is not None:
            yield Axis(name, unit, even_points(start, checks.positive("rate", rate), size))
        elif name == "channel" and channels is not None:
            yield Axis(name, names=_names(channels, size))
        else:
            yield Axis(name)


def _names(channels, size) -> tuple[str, ...]:
    if len(channels) != size:
        raise ValueError(f"channels holds {len(channels)} names, but there are {size} channels.")
    return tuple(map(str, channels))
