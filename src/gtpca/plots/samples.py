"""How a sample or a component looks: a curve, a series of channels, an image, a colour image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gtpca.plots.style import BLACK, CYCLE, GREY, SIGNED, quiet, whole_ticks

__all__ = [
    "Scale",
    "View",
    "component_view",
    "draw_lines",
    "draw_panel",
    "draw_picture",
    "finish",
    "has_few_lines",
    "name_channels",
    "row_name",
    "sample_view",
]

FEW_CHANNELS = len(CYCLE)  # so many are drawn as lines, each in a colour of its own


@dataclass(frozen=True)
class View:
    """How values of one shape are looked at.

    Attributes
    ----------
    kind : {"curve", "series", "image", "colours"}
    axis : int
        The time axis of a series, the colour axis of a colour image.
    """

    kind: str
    axis: int = 0

    def arrange(self, values):
        """(time,), (time, channel), (row, column) or (row, column, colour).

        Of an image with more than two axes, the middle of the leading ones.
        """
        values = np.asarray(values, dtype=np.float64)
        if self.kind == "series":
            return np.moveaxis(values, self.axis, 0)
        if self.kind == "colours":
            return np.moveaxis(values, self.axis, -1)
        while self.kind == "image" and values.ndim > 2:
            values = values[len(values) // 2]
        return values


def sample_view(model):
    """The view of a sample."""
    return _view(model, model.sample_shape_)


def component_view(model):
    """The view of a component."""
    return _view(model, model.components_.shape[1:])


def _view(model, shape):
    rank, moved = len(shape), model.operator_.moved_axes
    if rank != len(model.sample_shape_):
        moved = tuple(range(rank))
    if rank == 1:
        return View("curve")
    if rank == 2 and len(set(moved)) == 1 and not _only_flips(model):
        return View("series", moved[0])
    for axis in (rank - 1, 0) if rank == 3 else ():
        if shape[axis] == 3 and axis not in moved:
            return View("colours", axis)
    return View("image")


def _only_flips(model):
    """Images, rather than series, are flipped along one of two axes."""
    names = model.operator_.describe(np.zeros(1, dtype=np.int64))
    return bool(names) and all("flipped" in name for name in names)


@dataclass(frozen=True)
class Scale:
    """Which colours stand for which values.

    Attributes
    ----------
    limit : float
        The largest absolute value.
    signed : bool
        Zero in the middle of the colours; otherwise black.
    """

    limit: float
    signed: bool

    @classmethod
    def of(cls, values, signed=None):
        """For ``values``; signed if there are negative ones, unless told."""
        if signed is None:
            signed = bool(np.min(values) < 0)
        return cls(float(np.abs(values).max()) or 1.0, signed)

    def mapping(self):
        """Arguments of ``imshow``."""
        colours = {"cmap": SIGNED if self.signed else "gray", "interpolation": "nearest"}
        return {**colours, "vmin": -self.limit if self.signed else 0, "vmax": self.limit}

    def colours(self, values):
        """Values (row, column, 3) between 0 and 1; zero is grey if signed, else black."""
        if self.signed:
            return np.clip(0.5 + values / (2 * self.limit), 0, 1)
        return np.clip(values / self.limit, 0, 1)


def draw_lines(ax, view, values, **look):
    """A curve, or one line per channel of a series; returns the lines."""
    lines = ax.plot(view.arrange(values), **{"linewidth": 1.5, **look})
    for j, line in enumerate(lines if len(lines) > 1 else ()):
        line.set(color=CYCLE[j % len(CYCLE)], label=f"channel {j + 1}")
    return lines


def has_few_lines(view, shape):
    """Whether values of ``shape`` are better drawn as lines than as a picture."""
    if view.kind == "series":
        return shape[1 - view.axis] <= FEW_CHANNELS
    return view.kind == "curve"


def draw_picture(ax, view, values, scale):
    """An image, or the channels of a series below each other; returns the image."""
    values = view.arrange(values)
    if view.kind == "series":
        whole_ticks(ax.yaxis)
        extent = (-0.5, len(values) - 0.5, values.shape[1] + 0.5, 0.5)  # channels from 1
        return ax.imshow(values.T, aspect="auto", extent=extent, **scale.mapping())
    ax.set(xticks=[], yticks=[])
    if view.kind == "colours":
        return ax.imshow(scale.colours(values), interpolation="nearest")
    return ax.imshow(np.atleast_2d(values), **scale.mapping())


def draw_panel(ax, view, values, scale):
    """Lines about zero if there are few channels, else a picture."""
    if not has_few_lines(view, np.shape(values)):
        draw_picture(ax, view, values, scale)
        return
    ax.axhline(0, color=GREY, linewidth=0.8)
    draw_lines(ax, view, values, color=BLACK)
    ax.set_ylim(-(1.1 if scale.signed else 0.1) * scale.limit, 1.1 * scale.limit)


def name_channels(ax):
    """A legend of the channels, to the right of the Axes, where they are lines."""
    if ax.get_legend_handles_labels()[1]:
        place = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
        ax.legend(fontsize=7, frameon=False, **place)


def row_name(view, shape, name=""):
    """Label of the y axis of the first panel in a row."""
    pictured = view.kind == "series" and not has_few_lines(view, shape)
    return "\n".join(filter(None, (name, "channel" if pictured else "")))


def finish(ax, view, title="", first=True, last=True):
    """Title and labels; those of the y axis if ``first`` of a row, of the x axis if ``last``."""
    ax.set_title(title, fontsize=9)
    if view.kind in ("curve", "series"):
        quiet(ax, labelsize=7, inner=not first)
        ax.set_xlabel("point" if last else "", fontsize=8)
    else:
        ax.spines[:].set(color=GREY, linewidth=0.6)
