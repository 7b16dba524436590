"""How often the samples take which pose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gtpca import checks
from gtpca._typing import Samples
from gtpca.data.codes import Codes
from gtpca.plots.panels import need_samples, pick_rows, take_axes
from gtpca.plots.style import integer_ticks, quiet
from gtpca.views.measures import Pose, as_seen, encode, pose_columns, pose_errors
from gtpca.views.palette import BLUE, LEVELS, SKY
from gtpca.views.parts import is_density

__all__ = ["plot_pose_posterior", "plot_poses"]

SIZE = (3.4, 3.0)  # size of a panel

MOST_BARS = 40
MOST_NAMED = 16  # up to this many values have a bar each, evenly spaced, whatever they are
UNITS = {"centre": " (points)", "degrees": " (\N{DEGREE SIGN})"}
NOT_MOVED = "transform"  # the pose of families whose poses are not informative


def plot_poses(
    model: Any,
    X: Samples,
    component: int | None = 0,
    *,
    errors: bool = False,
    ax: Any = None,
) -> Any:
    """Plot histograms of the poses of a component, one panel per quantity.

    Positions (``centre``) are a histogram, those on two axes a map with the first pointing down.
    Angles are a rose plot, counter-clockwise, if the Axes are polar, as those of a new figure are.
    Flips, factors, strengths and numbers of transforms have a bar for every value of the family.
    Redundant quantities, such as the ``start`` of a window besides its centre, are not drawn, nor
    are those with a single value.

    Parameters
    ----------
    model : GTPCA or ProbabilisticGTPCA
        Fitted.
    X : array (n, \\*sample_shape) or (n, d)
    component : int
        Number counted from 0; ignored if the pose is shared.
    errors : bool
        True: instead of histograms, the pose of every sample, in ascending order, with a bar of two
        standard errors to each side (``pose_errors``); only of quantities that have an order.
    ax : Axes, array of Axes or None
        One per quantity; see :mod:`gtpca.plots`.

    Returns
    -------
    ax : as given, or a new array of Axes (quantities,)
    """
    need_samples(model, X, "poses")
    checks.integer("component", component, 0, max(0, model.n_components_ - 1))
    column = 0 if model.shared_pose_ else component
    if errors:
        return _plot_errors(model, X, component, column, ax)
    poses = told_poses(model, encode(model, X), column)
    groups = quantities(poses)
    given, axes = take_axes(ax, (1, len(groups)), len(groups), SIZE, _projections(model, groups))
    for ax, names in zip(axes, groups, strict=True):
        _draw(ax, model, names, poses)
        ax.set_title(_title(model, component), fontsize=9)
    return given


def _plot_errors(model, X, component, column, ax):
    """Every sample's pose with its standard error, one panel per quantity."""
    if not hasattr(model, "pose_errors"):
        raise ValueError(
            f"errors=True: a {type(model).__name__} has no standard errors of poses; "
            "plot_pose_posterior shows how certain they are."
        )
    found, told = pose_errors(model, X), told_poses(model, encode(model, X), column)
    names = [name for name in told if name in found]
    if not names:
        raise ValueError(
            f"errors=True: the poses of this model ({', '.join(told)}) have no order, and so no "
            "standard errors; leave it False."
        )
    given, axes = take_axes(ax, (1, len(names)), len(names), SIZE)
    for ax, name in zip(axes, names, strict=True):
        values, se = told[name].values, found[name][:, column]
        order = np.argsort(values, kind="stable")
        bars = {"fmt": "o", "color": BLUE, "ecolor": SKY, "markersize": 2, "elinewidth": 1}
        ax.errorbar(np.arange(len(order)), values[order], 2 * se[order], **bars)
        ax.set_xlabel("samples, by their pose", fontsize=9)
        ax.set_ylabel(_axis_label(name), fontsize=9)
        if name in model.operator_.pose_space.units:
            ax.set_ylabel(f"{name} ({model.operator_.pose_space.units[name]})", fontsize=9)
        ax.set_title(f"{_title(model, component)}, \N{PLUS-MINUS SIGN} 2 se", fontsize=9)
        quiet(ax)
    return given


def _title(model, component):
    if is_density(model):
        return "pose of the pattern"
    return "pose of all components" if model.shared_pose_ else f"pose of component {component + 1}"


def plot_pose_posterior(
    model: Any, X: Samples, *, rows: Sequence[int] | None = None, ax: Any = None
) -> Any:
    """Plot the probability of each pose of some samples, for a model with a likelihood.

    There is a row of panels for each sample, drawn as by :func:`plot_poses`, but with a bar for
    every value of a quantity: its probability, summed over all transforms that have it. Titles show
    the most likely pose, its probability, and the standard deviation over all poses.

    Parameters
    ----------
    model : ProbabilisticGTPCA
        Fitted.
    X : array (n, \\*sample_shape) or (n, d)
    rows : int, list of int or None
        Which samples; default: the first three.
    ax : Axes, array of Axes or None
        ``len(rows)`` times one per quantity; see :mod:`gtpca.plots`.

    Returns
    -------
    ax : as given, or a new array of Axes (len(rows), quantities)
    """
    need_samples(model, X, "samples")
    if not is_density(model):
        raise ValueError(
            f"model={type(model).__name__}: its poses have no probabilities; fit a "
            "ProbabilisticGTPCA (gtpca fit --probabilistic), or see "
            "gtpca.diagnostics.pose_confidence (gtpca check)."
        )
    some, numbers = pick_rows(model, X, rows)
    found = model.pose_posterior(as_seen(model, some), model.operator_.n_transforms)
    every = [told_poses(model, Codes(np.empty((0, 1)), t[:, None]), 0) for t in found.index]
    groups = quantities(every[0])
    shape = (len(numbers), len(groups))
    projections = _projections(model, groups) * len(numbers)
    given, axes = take_axes(ax, shape, size=SIZE, projections=projections)
    for i, (number, poses) in enumerate(zip(numbers, every, strict=True)):
        for ax, names in zip(axes[i * len(groups) :], groups, strict=False):
            _draw(ax, model, names, poses, found.probability[i])
            said = [_most_likely(name, poses[name], found.std, i) for name in names]
            top = f"sample {number}: {100 * found.probability[i, 0]:.0f} % at"
            ax.set_title("\n".join([top, *said]), fontsize=9)
    return given


def _most_likely(name, pose, std, i):
    """The first value, and the standard deviation of numbers; 0 below 1 % of a step."""
    said = f"{name} {_value(pose.values[0])}"
    levels = np.unique(pose.possible)
    if name not in std or len(levels) == 1:
        return said
    spread = std[name][i] if std[name][i] > 0.01 * np.diff(levels.astype(float)).min() else 0
    return f"{said}, sd {spread:.2g}"


def _projections(model, groups):
    """Polar Axes for angles."""
    angles = _angles(model.operator_)
    return ["polar" if names[0] in angles else None for names in groups]


def _angles(operator):
    """The names of the quantities that are angles."""
    return {axis.name for axis in operator.pose_space.axes if axis.angle}


def _draw(ax, model, names, poses, weights=None):
    """One panel: the number of samples with each value, or its total weight."""
    values, possible = zip(*(poses[name] for name in names), strict=True)
    if ax.name == "polar" and names[0] in _angles(model.operator_):
        _draw_rose(ax, names[0], values[0], possible[0], weights)
    else:
        draw = _draw_map if len(names) == 2 else _draw_one
        draw(ax, names, values, possible, weights)
    _say_units(ax, names, model.operator_.pose_space.units)


def _counted(weights):
    """What is counted."""
    return "samples" if weights is None else "probability"


def told_poses(model, codes, column):
    """The poses in one column of ``codes``, by name; the transforms if none is informative."""
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
    """The number of an axis; named axes are already in order."""
    number = name.rpartition("_")[2]
    return int(number) if number.isdecimal() else 0


def _say_units(ax, names, units):
    """Use the units of positions that have one, instead of points."""
    for name, label in zip(names[::-1], (ax.xaxis, ax.yaxis), strict=False):
        if name in units:
            label.set_label_text(f"{name} ({units[name]})")


def _axis_label(name):
    kind = next((kind for kind in UNITS if kind in name), "")
    return name + UNITS.get(kind, "")


def _draw_one(ax, names, values, possible, weights=None):
    (name,), (values,), (possible,) = names, values, possible
    levels = np.unique(possible)
    numeric = levels.dtype.kind in "iuf"
    if not numeric or (len(levels) <= MOST_NAMED and "centre" not in name):
        counts = np.bincount(np.searchsorted(levels, values), weights, len(levels))
        ax.bar(np.arange(len(levels)), counts, width=0.8, color=BLUE)
        ax.set_xticks(np.arange(len(levels)), [_value(v) for v in levels])
    else:
        counts, edges = count_values(values, levels, weights)
        ax.bar(edges[:-1], counts, width=np.diff(edges), align="edge", color=BLUE)
    ax.set_xlabel(_axis_label(name), fontsize=9)
    ax.set_ylabel(_counted(weights), fontsize=9)
    quiet(ax)


def _value(value):
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:g}"


def count_values(values, levels, weights=None):
    """Counts in bins of neighbouring ``levels`` (sorted), and the edges of the bins.

    At most 40 bins; with weights, as many as there are levels.
    """
    place, edges = _places(values, levels, MOST_BARS if weights is None else len(levels))
    return np.bincount(place, weights, len(edges) - 1), edges


def _places(values, levels, most=MOST_BARS):
    """The bin of each value, and the edges of at most ``most`` bins."""
    first = levels[:: -(-len(levels) // most)]
    half = np.diff(levels).min() / 2 if len(levels) > 1 else 0.5
    place = np.searchsorted(first, values, side="right") - 1
    return place, np.r_[first - half, levels[-1] + half]


def _draw_rose(ax, name, values, possible, weights):
    counts, edges = count_values(values, np.unique(possible), weights)
    edges = np.deg2rad(edges)
    ax.bar(edges[:-1], counts, np.diff(edges), align="edge", color=SKY, edgecolor=BLUE)
    ax.set_rlabel_position(np.rad2deg(edges[counts.argmin() :][:2].mean()))
    ax.set_xlabel(f"{name}, counter-clockwise", fontsize=9)
    ax.tick_params(labelsize=8)
    if weights is None:
        integer_ticks(ax.yaxis, 4)


def _draw_map(ax, names, values, possible, weights=None):
    """The first axis pointing down, the second to the right, as images are displayed."""
    parts = [np.unique(p) for p in possible]
    most = MOST_BARS if weights is None else max(map(len, parts))
    found = (_places(v, p, most) for v, p in zip(values, parts, strict=True))
    rows, edges = zip(*found, strict=True)
    counts = np.zeros([len(e) - 1 for e in edges])
    np.add.at(counts, rows, 1 if weights is None else weights)
    drawn = ax.pcolormesh(edges[1], edges[0], counts, cmap=LEVELS)
    ax.set(xlim=edges[1][[0, -1]], ylim=edges[0][[-1, 0]], aspect="equal")
    ax.set_xlabel(_axis_label(names[1]), fontsize=9)
    ax.set_ylabel(_axis_label(names[0]), fontsize=9)
    ax.tick_params(labelsize=8)
    bar = ax.figure.colorbar(drawn, ax=ax)
    bar.set_label(_counted(weights), fontsize=9)
    bar.ax.tick_params(labelsize=8)
