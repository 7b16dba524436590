"""Colours and figures that all drawings of the package share; matplotlib is imported to draw."""

from __future__ import annotations

from gtpca.optional import require

# Okabe and Ito's colours, which are told apart with every kind of colour vision.
BLACK, GREY = "#000000", "#999999"
ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, RED, PINK = "#0072B2", "#D55E00", "#CC79A7"

# Eight markers for seven colours: 56 pairs, and neighbours differ in both.
CYCLE = (BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK)
MARKERS = ("o", "^", "s", "v", "D", "P", "X", "*")

SIGNED = "PuOr"  # orange below zero, purple above
LEVELS = "cividis"  # counts and labels with an order


def require_matplotlib():
    """Raise an ImportError that names the extra where matplotlib is missing."""
    require("matplotlib.figure", "plot")


def new_figure(width, height):
    """A figure that pyplot does not know of.

    Returns
    -------
    matplotlib.figure.Figure
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def whole_ticks(axis, most=9):
    """At most ``most`` ticks, on whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(most, integer=True))


def quiet(ax, labelsize=8, inner=False):
    """Small tick labels, none on the y axis of inner panels, no frame on the right and on top."""
    ax.tick_params(labelsize=labelsize, labelleft=not inner)
    ax.spines[["right", "top"]].set_visible(False)
