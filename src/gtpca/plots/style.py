"""Figures, Axes and colour maps that all plots share; matplotlib is imported only to draw."""

from __future__ import annotations

from gtpca.optional import require
from gtpca.views.palette import GREY, SIGNED, UNSIGNED


def require_matplotlib():
    """Raise an ImportError that names the extra if matplotlib is missing."""
    require("matplotlib.figure", "plot")


def new_figure(width, height):
    """A figure that is not registered with pyplot.

    Returns
    -------
    matplotlib.figure.Figure
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def mapping(scale):
    """Arguments of ``imshow`` for values on a :class:`~gtpca.views.palette.Scale`."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = SIGNED if scale.signed else UNSIGNED
    colours = LinearSegmentedColormap.from_list("gtpca", stops).with_extremes(bad=GREY)
    limits = {"vmin": scale.low, "vmax": scale.high}
    return {"cmap": colours, "interpolation": "nearest", **limits}


def integer_ticks(axis, most=9):
    """At most ``most`` ticks, on integers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(most, integer=True))


def quiet(ax, labelsize=8, inner=False):
    """Small tick labels, none on the y axis of inner panels, no frame on the right and on top."""
    ax.tick_params(labelsize=labelsize, labelleft=not inner)
    ax.spines[["right", "top"]].set_visible(False)


def labelled(ax, x, y, integers=True):
    """The Axes with labels and a legend, and integer ticks along x unless stated otherwise."""
    ax.set_xlabel(x, fontsize=9)
    ax.set_ylabel(y, fontsize=9)
    if integers:
        integer_ticks(ax.xaxis)
    ax.legend(fontsize=8, frameon=False)
    quiet(ax)
    return ax
