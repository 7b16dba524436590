"""Draw a sample or a component into Axes: lines, rows of a picture, an image, tiles, or colours."""

from __future__ import annotations

import numpy as np

from gtpca.plots.style import integer_ticks, mapping, quiet
from gtpca.views.palette import BLACK, CYCLE, GREY, PREDICTED, RED
from gtpca.views.samples import TILES, evenly

__all__ = [
    "draw_lines",
    "draw_panel",
    "draw_picture",
    "draw_predicted",
    "finish",
    "line",
    "name_channels",
    "row_name",
    "set_range",
]


ROW_NAMES = 9  # largest number of channels of a picture whose names are shown


def line(view, values):
    """The points of a curve, (points,)."""
    return view.channels(values)[0, 0]


def draw_lines(ax, view, values, **look):
    """One line per channel; returns the lines."""
    lines = ax.plot(view.positions, view.channels(values)[0].T, **{"linewidth": 1.5, **look})
    names = channel_labels(view)
    for j, one in enumerate(lines if len(lines) > 1 else ()):
        one.set(color=CYCLE[j % len(CYCLE)], label=names[j])
    return lines


def channel_labels(view):
    """Names of channels for a legend."""
    return [f"channel {name}" if name.isdecimal() else name for name in view.channel_names]


def draw_picture(ax, view, values, scale):
    """Draw a picture, or the channels of a series below each other; returns the image."""
    channels = view.channels(values)
    if view.kind == "rows":
        return _draw_rows(ax, view, channels[0], scale)
    ax.set(xticks=[], yticks=[])
    if view.kind == "tiles":
        channels = channels[:, evenly(view.n_channels, TILES)]
    (picture,) = view.picture(channels, gap=np.nan)
    if view.kind == "colours":
        blank = np.isnan(picture).any(axis=-1, keepdims=True)
        shown = np.where(blank, to_grey(), scale.shares(picture))
        return ax.imshow(shown, interpolation="nearest")
    return ax.imshow(picture, **mapping(scale))


def to_grey():
    """The colour of missing values, (3,)."""
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(GREY))


def _draw_rows(ax, view, channels, scale):
    count, x = len(channels), view.positions
    half = (x[-1] - x[0]) / (2 * max(1, len(x) - 1)) or 0.5
    extent = (x[0] - half, x[-1] + half, count + 0.5, 0.5)  # channels from 1
    names = view.channel_names
    if all(name.isdecimal() for name in names):
        integer_ticks(ax.yaxis)
    else:
        few = evenly(count, ROW_NAMES)
        ax.set_yticks(few + 1, [names[c] for c in few])
    return ax.imshow(channels, aspect="auto", extent=extent, **mapping(scale))


def draw_predicted(ax, view, x, part):
    """Draw the predictions of ``part`` in the gaps of the sample ``x``, in a separate colour."""
    hidden = np.isnan(x)
    if not hidden.any():
        return
    if view.kind == "lines":
        values = view.channels(np.where(hidden, part, np.nan))[0].T
        look = {"color": PREDICTED, "linewidth": 1.5, "marker": ".", "markersize": 3}
        ax.plot(view.positions, values, **look)[0].set_label("predicted")
    else:
        _tint(ax, view, hidden)


def draw_rejected(ax, view, x, rejected):
    """Where values of the sample ``x`` were set aside: crosses, or a veil."""
    if not rejected.any():
        return
    if view.kind == "lines":
        values = view.channels(np.where(rejected, x, np.nan))[0].T
        look = {"color": RED, "linestyle": "", "marker": "x", "markersize": 4}
        ax.plot(view.positions, values, **look)[0].set_label("set aside")
    else:
        _tint(ax, view, rejected, RED)


def _tint(ax, view, hidden, colour=PREDICTED):
    """Tint points of a picture, such as those that were predicted."""
    from matplotlib.colors import to_rgba

    channels, extent = view.channels(hidden), ax.images[0].get_extent()
    if view.kind == "tiles":
        channels = channels[:, evenly(view.n_channels, TILES)]
    veil = view.picture(channels)[0]
    veil = veil.max(axis=-1) if view.kind == "colours" else veil
    veil = np.array(to_rgba(colour, 0.35)) * (veil > 0)[..., None]
    ax.imshow(veil, interpolation="nearest", extent=extent, aspect=ax.get_aspect())


def draw_panel(ax, view, values, scale):
    """Lines about zero, or a picture."""
    if view.kind != "lines":
        draw_picture(ax, view, values, scale)
        return
    ax.axhline(0, color=GREY, linewidth=0.8)
    draw_lines(ax, view, values, color=BLACK)
    set_range(ax, scale, 0.1)


def set_range(ax, scale, room):
    """Set the y axis to the range of a scale, extended by a share of it."""
    margin = room * scale.residual.high
    ax.set_ylim(scale.low - margin, scale.high + margin)


def name_channels(ax):
    """Add a legend of the channels, to the right of the Axes, if they are lines."""
    if ax.get_legend_handles_labels()[1]:
        place = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
        ax.legend(fontsize=7, frameon=False, **place)


def row_name(view, name=""):
    """Label of the y axis of the first panel in a row."""
    return "\n".join(filter(None, (name, "channel" if view.kind == "rows" else "")))


def finish(ax, view, title="", *, first=True, last=True):
    """Title and labels; those of the y axis if ``first`` in a row, of the x axis if ``last``."""
    ax.set_title(title, fontsize=9)
    if view.kind in ("lines", "rows"):
        quiet(ax, labelsize=7, inner=not first)
        ax.set_xlabel(view.position_name if last else "", fontsize=8)
    else:
        ax.spines[:].set(color=GREY, linewidth=0.6)
