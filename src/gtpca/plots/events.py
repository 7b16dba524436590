"""Recordings with their events, and the intervals between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gtpca import checks
from gtpca.plots.panels import take_single
from gtpca.plots.style import labelled
from gtpca.views.intervals import interval_counts
from gtpca.views.palette import CYCLE, GREY, MARKERS

__all__ = ["plot_events", "plot_intervals"]

WINDOWS = 24  # drawn by default


def plot_events(
    model: Any,
    X: Any,
    *,
    events: Any = None,
    recording: int = 0,
    start: float | None = None,
    stop: float | None = None,
    channel: int = 0,
    ax: Any = None,
) -> Any:
    """Plot a piece of a recording with its events, coloured by template.

    The recording is grey, minus its level; each event is drawn in its place, with a mark at its
    peak.

    Parameters
    ----------
    model : EventGTPCA
        Fitted.
    X : recordings
        As ``encode`` takes them.
    events : Events or None
        Of these recordings; None: they are encoded.
    recording : int
        Which of several.
    start, stop : float or None
        What is drawn, in the unit of time, or in points; default: 24 windows from the first event.
    channel : int
        Which channel.
    ax : Axes or None
        See :mod:`gtpca.plots`.

    Returns
    -------
    Axes
    """
    check_is_fitted(model)
    opened = model.opened(X)
    events = model.encode(X) if events is None else events
    checks.integer("recording", recording, 0, len(opened.signals) - 1)
    checks.integer("channel", channel, 0, model.n_channels_ - 1)
    value, mine = model.model_, events.of(recording)
    signal, length, step = value.raw(opened.signals)[recording], model.sample_shape_[0], events.step
    zero = float(events.time[0] - events.start[0] * step) if len(events) else 0.0
    first = int(mine.start[0]) - length if len(mine) else 0
    low = max(0, first if start is None else round((start - zero) / step))
    high = low + WINDOWS * length if stop is None else round((stop - zero) / step)
    high = min(signal.n_points, high)
    if low >= high:
        raise ValueError(f"start={start!r} and stop={stop!r} leave nothing of the recording.")
    ax, times = take_single(ax, (8.0, 2.6)), zero + step * np.arange(low, high)
    ax.plot(times, signal.read(low, high)[:, channel], color=GREY, linewidth=0.7)
    shown = mine[(mine.start > low - length) & (mine.start < high)]
    peaks = model.poses(shown)["peak"]
    for k in range(1 if model.shared_pose_ else model.n_components_):
        colour, own = CYCLE[k % len(CYCLE)], np.flatnonzero(shown.component == k)
        for i in own:
            a, b = max(low, int(shown.start[i])), min(high, int(shown.start[i]) + length)
            one = value.render(shown[[i]], recording, a, b)[:, channel]
            ax.plot(zero + step * np.arange(a, b), one, color=colour, linewidth=1.2)
        name = "event" if model.shared_pose_ else f"template {k + 1}"
        ax.plot(
            peaks[own],
            np.full(len(own), 1.02),
            color=colour,
            marker=MARKERS[k % len(MARKERS)],
            markersize=4,
            linestyle="none",
            transform=ax.get_xaxis_transform(),
            clip_on=False,
            label=name,
        )
    ax.set_xlim(times[0], times[-1])
    return labelled(ax, _time_label(events), "recording", integers=False)


def plot_intervals(model: Any, X: Any, *, events: Any = None, ax: Any = None) -> Any:
    """How long it is from one event to the next, for every template.

    Parameters
    ----------
    model : EventGTPCA
        Fitted.
    X : recordings
        As ``encode`` takes them.
    events : Events or None
        Of these recordings; None: they are encoded.
    ax : Axes or None
        See :mod:`gtpca.plots`.

    Returns
    -------
    Axes
    """
    check_is_fitted(model)
    events = model.encode(X) if events is None else events
    ax = take_single(ax, (4.8, 3.2))
    groups = 1 if model.shared_pose_ else model.n_components_
    found = interval_counts(events, groups)
    if found is None:
        raise ValueError("there are fewer than two events of each template: no interval.")
    edges, counts, _ = found
    for k, count in enumerate(counts):
        name = "events" if model.shared_pose_ else f"template {k + 1}"
        ax.stairs(count, edges, label=name, color=CYCLE[k % len(CYCLE)], linewidth=1.4)
    return labelled(ax, f"to the next event, {_unit(events)}", "events", integers=False)


def _unit(events) -> str:
    known = events.axis is not None and bool(events.axis.unit)
    return events.axis.unit if known else "points"


def _time_label(events) -> str:
    return f"time, {_unit(events)}"
