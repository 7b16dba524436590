"""Samples as points: their scores, labels and thumbnails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gtpca import checks
from gtpca._typing import Samples
from gtpca.plots import samples
from gtpca.plots.panels import (
    check_components,
    need_components,
    need_one_kind,
    need_samples,
    pick_rows,
    take_single,
)
from gtpca.plots.style import quiet
from gtpca.views.measures import as_seen, encode, set_aside
from gtpca.views.palette import BLACK, BLUE, CYCLE, GREY, LEVELS, MARKERS, Scale
from gtpca.views.samples import sample_view

__all__ = ["plot_scores"]

MOST_CLASSES = 20  # with more distinct numbers, labels are a quantity
MOST_NAMES = len(CYCLE) * len(MARKERS)  # more names cannot be distinguished
THUMBNAIL = 0.11  # width and height of a thumbnail, as a share of the Axes


def plot_scores(
    model: Any,
    X: Samples,
    *,
    labels: ArrayLike | None = None,
    thumbnails: int = 0,
    components: Sequence[int] | None = None,
    ax: Any = None,
) -> Any:
    """Plot scores on two components, one point per sample.

    Classes have a colour and a marker each, and a legend, if there are at most 56 of them; labels
    with more than 20 distinct numbers are a quantity, with a colour bar. Rows that the fit set
    aside have a cross, if ``X`` has as many rows as the fit.

    Parameters
    ----------
    model : GTPCA or ProbabilisticGTPCA
        Fitted, with a component or more.
    X : array (n, \\*sample_shape) or (n, d)
    labels : array (n,) or None
        A class or a number for every sample.
    thumbnails : int
        Maximum number of samples that are drawn at their points, far from each other; fewer if they
        would overlap.
    components : int, pair of int or None
        Numbers counted from 0; default: the first two. A single one is drawn over the row number.
    ax : Axes or None
        See :mod:`gtpca.plots`.

    Returns
    -------
    Axes
    """
    need_samples(model, X, "scores")
    need_one_kind(model, "scores")
    need_components(model)
    numbers = _check_pair(model, components)
    checks.integer("thumbnails", thumbnails, 0)
    scores = encode(model, X).scores
    labels = None if labels is None else _check_labels(labels, len(scores))
    points = _points(scores, numbers)
    ax = take_single(ax, (5.6, 4.2))
    colours = _draw_points(ax, points, labels)
    aside = set_aside(model, len(points)).rows
    if len(aside):
        ax.scatter(*points[aside].T, marker="x", s=36, linewidth=1, color=BLACK, label="set aside")
        ax.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
    _label(ax, numbers)
    _limit(ax, points)
    if thumbnails:
        _draw_thumbnails(ax, model, X, points, colours, thumbnails)
    return ax


def _check_pair(model, components):
    if components is None:
        components = tuple(range(min(2, model.n_components_)))
    numbers = check_components(model, components)
    if len(numbers) > 2:
        raise ValueError(f"components={components!r} must be one number or two.")
    return numbers


def _check_labels(labels, count):
    labels = np.asarray(labels)
    if labels.shape != (count,):
        raise ValueError(
            f"labels has shape {labels.shape}, but X has {count} samples: shape ({count},)."
        )
    return labels.astype(str) if labels.dtype == object else labels


def _points(scores, numbers):
    """Coordinates (n, 2)."""
    if len(numbers) == 2:
        return scores[:, numbers].astype(np.float64)
    return np.column_stack([np.arange(len(scores)), scores[:, numbers[0]]])


def _label(ax, numbers):
    names = [f"score on component {k + 1}" for k in numbers]
    if len(names) == 1:
        names.insert(0, "sample")
    ax.set_xlabel(names[0], fontsize=9)
    ax.set_ylabel(names[1], fontsize=9)
    ax.axhline(0, color=GREY, linewidth=0.6, zorder=0)
    if len(numbers) == 2:
        ax.axvline(0, color=GREY, linewidth=0.6, zorder=0)
    quiet(ax)


def _limit(ax, points):
    """Make room for thumbnails at the outermost points."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.08 * np.where(high > low, high - low, 1.0)
    ax.set(xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1]))


def _draw_points(ax, points, labels):
    """Draw all points; returns the colour of each."""
    look = {"s": 18, "alpha": 0.75, "linewidth": 0}
    if labels is None:
        ax.scatter(*points.T, color=BLUE, **look)
        return [BLACK] * len(points)
    classes, place = np.unique(labels, return_inverse=True)
    if labels.dtype.kind in "iuf" and len(classes) > MOST_CLASSES:
        return _draw_quantity(ax, points, labels, look)
    if len(classes) > MOST_NAMES:
        classes, place = np.array([f"{len(classes)} classes"]), np.zeros_like(place)
    for j, name in enumerate(classes):
        style = {"color": CYCLE[j % len(CYCLE)], "marker": MARKERS[j % len(MARKERS)]}
        ax.scatter(*points[place == j].T, label=_legible(name), **style, **look)
    place_legend = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0}
    ax.legend(fontsize=8, frameon=False, ncols=1 + (len(classes) - 1) // 20, **place_legend)
    return [CYCLE[j % len(CYCLE)] for j in place]


def _legible(name):
    """A name as the legend can show it: matplotlib skips blanks and "_..", and parses "$"."""
    text = str(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text.strip() or "(none)"


def _draw_quantity(ax, points, labels, look):
    drawn = ax.scatter(*points.T, c=labels, cmap=LEVELS, **look)
    bar = ax.figure.colorbar(drawn, ax=ax)
    bar.set_label("label", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    bar.solids.set_alpha(1)
    return drawn.to_rgba(labels)


def _draw_thumbnails(ax, model, X, points, colours, count):
    low, high = (np.array(ends) for ends in zip(ax.get_xlim(), ax.get_ylim(), strict=True))
    chosen = spread_out((points - low) / (high - low), count, THUMBNAIL)
    values, view = as_seen(model, pick_rows(model, X, chosen)[0]), sample_view(model)
    scale, size = Scale.of(values), THUMBNAIL * (high - low)
    for i, x in zip(chosen, values, strict=True):
        corner = points[i] - size / 2
        small = ax.inset_axes([*corner, *size], transform=ax.transData)
        _draw_thumbnail(small, view, x, scale, colours[i])


def _draw_thumbnail(small, view, x, scale, colour):
    if view.kind == "lines":
        samples.draw_lines(small, view, x, color=BLACK, linewidth=0.8)
        samples.set_range(small, scale, 0.05)
    else:
        samples.draw_picture(small, view, x, scale)
    small.set(xticks=[], yticks=[])
    for spine in small.spines.values():
        spine.set(edgecolor=colour, linewidth=1.2)


def spread_out(points, count, least):
    """Rows of at most ``count`` points (n, 2), far from each other, at least by ``least``.

    The first is the farthest from the mean; each further one is the farthest from those chosen,
    in the larger of both coordinate distances.
    """
    chosen = [int(np.abs(points - points.mean(axis=0)).max(axis=1).argmax())]
    distance = np.full(len(points), np.inf)
    while len(chosen) < count:
        distance = np.minimum(distance, np.abs(points - points[chosen[-1]]).max(axis=1))
        if distance.max() < least:
            break
        chosen.append(int(distance.argmax()))
    return chosen
