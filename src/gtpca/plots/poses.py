"""How often the samples take which pose."""

from __future__ import annotations

from typing import Any

import numpy as np

from gtpca import checks
from gtpca.plots.panels import need_samples, take_axes
from gtpca.plots.style import integer_ticks, quiet
from gtpca.shell import Samples
from gtpca.views.measures import Pose, encode, pose_columns
from gtpca.views.palette import BLUE, LEVELS, SKY

__all__ = ["plot_poses"]

MOST_BARS = 40
MOST_NAMED = 16  # up to so many values have a bar each, evenly spaced, whatever they are
UNITS = {"centre": " (points)", "degrees": " (\N{DEGREE SIGN})"}
NOT_MOVED = "transform"  # the pose of families whose poses say nothing


def plot_poses(model: Any, X: Samples, component: int | None = 0, *, ax: Any = None) -> Any:
    """Histograms of the poses of a component, one panel per quantity.

    Positions (``centre``) are a histogram, those on two axes a map with the first downwards. Angles
    are a rose, counter-clockwise, if the Axes are polar, as those of a new figure are. Flips,
    factors, strengths and numbers of transforms have a bar for every value that the family has.
    A quantity that says the same as another, as the ``start`` of a window does beside its centre,
    is not drawn, nor is one with a single value.

    Parameters
    ----------
    model : GTPCA
        Fitted.
    X : array (n, \\*sample_shape) or (n, d)
    component : int
        Number counted from 0; of no account if the pose is shared.
    ax : Axes, array of Axes or None
        One per quantity; see :mod:`gtpca.plots`.

    Returns
    -------
    ax : as given, or a new array of Axes (quantities,)
    """
    need_samples(model, X, "poses")
    checks.integer("component", component, 0, model.n_components_ - 1)
    poses = told_poses(model, encode(model, X), 0 if model.shared_pose_ else component)
    groups = quantities(poses)
    kinds = ["polar" if "degrees" in names[0] else None for names in groups]
    given, axes = take_axes(ax, (1, len(groups)), len(groups), (3.4, 3.0), kinds)
    for ax, names in zip(axes, groups, strict=True):
        draw = _draw_map if len(names) == 2 else _draw_one
        draw(ax, names, *zip(*(poses[name] for name in names), strict=True))
        _say_units(ax, names, model.operator_.pose_units)
        ax.set_title(_title(model, component), fontsize=9)
    return given


def _title(model, component):
    return "pose of all components" if model.shared_pose_ else f"pose of component {component + 1}"


def told_poses(model, codes, column):
    """The poses in one column of ``codes``, by name; if none says anything, the transforms."""
    found = pose_columns(model, codes) or {NOT_MOVED: Pose(codes.index, codes.index)}
    return {name: Pose(values[:, column], possible) for name, (values, possible) in found.items()}


def quantities(poses):
    """Groups of names that share a panel: two positions, or a single quantity."""
    groups: dict[str, list[str]] = {}
    for name in poses:
        pair = name.rpartition("_")[0] if "centre_" in name else name
        groups.setdefault(pair, []).append(name)
    split = [[name] for group in groups.values() if len(group) != 2 for name in group]
    return [sorted(group, key=_axis) for group in groups.values() if len(group) == 2] + split


def _axis(name):
    """The number of an axis; those with names are in their order already."""
    number = name.rpartition("_")[2]
    return int(number) if number.isdecimal() else 0


def _say_units(ax, names, units):
    """The units of positions that have one, instead of points."""
    for name, label in zip(names[::-1], (ax.xaxis, ax.yaxis), strict=False):
        if name in units:
            label.set_label_text(f"{name} ({units[name]})")


def _axis_label(name):
    kind = next((kind for kind in UNITS if kind in name), "")
    return name + UNITS.get(kind, "")


def _draw_one(ax, names, values, possible):
    (name,), (values,), (possible,) = names, values, possible
    if "degrees" in name and ax.name == "polar":
        _draw_rose(ax, name, values, possible)
        return
    levels = np.unique(possible)
    numeric = levels.dtype.kind in "iuf"
    if not numeric or (len(levels) <= MOST_NAMED and "centre" not in name):
        counts = np.bincount(np.searchsorted(levels, values), minlength=len(levels))
        ax.bar(np.arange(len(levels)), counts, width=0.8, color=BLUE)
        ax.set_xticks(np.arange(len(levels)), [_value(v) for v in levels])
    else:
        counts, edges = count_values(values, levels)
        ax.bar(edges[:-1], counts, width=np.diff(edges), align="edge", color=BLUE)
    ax.set_xlabel(_axis_label(name), fontsize=9)
    ax.set_ylabel("samples", fontsize=9)
    quiet(ax)


def _value(value):
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:g}"


def count_values(values, levels):
    """Counts in bins of neighbouring ``levels`` (sorted), at most 40, and the edges of the bins."""
    place, edges = _places(values, levels)
    return np.bincount(place, minlength=len(edges) - 1), edges


def _places(values, levels):
    """The bin of each value, and the edges of the bins."""
    first = levels[:: -(-len(levels) // MOST_BARS)]
    half = np.diff(levels).min() / 2 if len(levels) > 1 else 0.5
    place = np.searchsorted(first, values, side="right") - 1
    return place, np.r_[first - half, levels[-1] + half]


def _draw_rose(ax, name, values, possible):
    counts, edges = count_values(values, np.unique(possible))
    edges = np.deg2rad(edges)
    ax.bar(edges[:-1], counts, np.diff(edges), align="edge", color=SKY, edgecolor=BLUE)
    ax.set_rlabel_position(np.rad2deg(edges[counts.argmin() :][:2].mean()))
    ax.set_xlabel(f"{name}, counter-clockwise", fontsize=9)
    ax.tick_params(labelsize=8)
    integer_ticks(ax.yaxis, 4)


def _draw_map(ax, names, values, possible):
    """The first axis downwards, the second to the right, as images are displayed."""
    parts = [np.unique(p) for p in possible]
    rows, edges = zip(*(_places(v, p) for v, p in zip(values, parts, strict=True)), strict=True)
    counts = np.zeros([len(e) - 1 for e in edges], dtype=int)
    np.add.at(counts, rows, 1)
    drawn = ax.pcolormesh(edges[1], edges[0], counts, cmap=LEVELS)
    ax.set(xlim=edges[1][[0, -1]], ylim=edges[0][[-1, 0]], aspect="equal")
    ax.set_xlabel(_axis_label(names[1]), fontsize=9)
    ax.set_ylabel(_axis_label(names[0]), fontsize=9)
    ax.tick_params(labelsize=8)
    bar = ax.figure.colorbar(drawn, ax=ax)
    bar.set_label("samples", fontsize=9)
    bar.ax.tick_params(labelsize=8)
