"""The page of a recording: its trace and events, templates, amplitudes, intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gtpca.page.alignment import pack_map
from gtpca.page.layouts import block_means, lay_out
from gtpca.page.packing import clipped, pack, pack_rows
from gtpca.views import palette
from gtpca.views.intervals import interval_counts
from gtpca.views.samples import component_view

__all__ = ["RecordingContents", "gather_recording"]

CHANNELS = 4  # those in which the templates are strongest
OVERVIEW = 1500  # parts of a recording, of which the smallest and the largest value are drawn
BYTES = 2.8  # bytes of a point in the file: two, in base64
SHARE = 0.75  # share of the room for the recording itself
MOST_EVENTS = 20_000  # that can be displayed
MOST_POINTS = 3000  # of the amplitudes over time
ROWS, COLUMNS = 150, 200  # of a heat map, at most
PILE = 2000  # largest number of superimposed events of a template
QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True, eq=False)
class RecordingContents:
    """What the template and the scripts need.

    Attributes
    ----------
    data : dict
        For the scripts.
    n_events : int
        In all recordings.
    counts : list of int
        Events of each template, or of all if they share a pose.
    explained : float
        Share of the energy.
    n_drawn : int
        Points of the first recording that can be displayed, from its beginning on.
    sizes : tuple of int
        Points of each recording.
    step : float
        Distance between points in the unit of time.
    unit : str
    hidden : int
        Channels that are not drawn.
    """

    data: dict[str, Any]
    n_events: int
    counts: list[int]
    explained: float
    n_drawn: int
    sizes: tuple[int, ...]
    step: float
    unit: str
    hidden: int


def gather_recording(model, X, room: int, rng) -> RecordingContents:
    """All that is shown of recordings.

    Parameters
    ----------
    model : EventGTPCA
    X : recordings
        As for ``encode``; the first is drawn.
    room : int
        Bytes.
    rng : Generator
        For choosing the events that are drawn, if there are too many.
    """
    opened, events = model.opened(X), model.encode(X)
    channels = _strongest(model)
    groups = 1 if model.shared_pose_ else model.n_components_
    signal = model.model_.raw(opened.signals)[0]
    mine = events.of(0)
    n_drawn = _n_drawn(signal, mine, len(channels), room)
    layout = lay_out(component_view(model))
    poses = model.poses(mine)
    known = mine.axis is not None and bool(mine.axis.unit)
    unit = mine.axis.unit if known else "points"
    names = _channel_names(model)
    counts = np.bincount(events.component, minlength=groups).tolist()
    data = {
        "palette": palette.for_page(),
        "unit": unit,
        "step": mine.step,
        "zero": float(mine.time[0] - mine.start[0] * mine.step) if len(mine) else 0.0,
        "length": model.sample_shape_[0],
        "size": signal.n_points,
        "shared": bool(model.shared_pose_),
        "names": _names(model),
        "counts": counts,
        "channels": [
            {"name": clipped(names[c]), "weights": pack(_weights(model, c))} for c in channels
        ],
        "overview": _overview(signal, channels),
        "trace": _trace(signal, channels, n_drawn),
        "events": _events(mine, poses, n_drawn),
        "amplitudes": _amplitudes(mine, poses, rng),
        "templates": {
            "layout": layout.described(),
            "values": pack_rows(layout(model.components_)),
        },
        "intervals": _intervals(events, groups),
        "piles": [_pile(model, X, events, k, channels, rng) for k in range(groups)],
    }
    return RecordingContents(
        data,
        len(events),
        counts,
        1 - model.resmse(X, events=events),
        n_drawn,
        events.sizes,
        mine.step,
        unit,
        model.n_channels_ - len(channels),
    )


def _names(model) -> list[str]:
    """Names of the lines of charts."""
    if model.shared_pose_:
        return ["event"]
    return [f"template {k + 1}" for k in range(model.n_components_)]


def _channel_names(model) -> list[str]:
    axes = [] if model.labels_ is None else list(model.labels_.axes)
    known = axes[1].names if len(axes) == 2 else None
    return list(known or (str(c + 1) for c in range(model.n_channels_)))


def _flat(model) -> np.ndarray:
    """Templates (K, L, C)."""
    return model.components_.reshape(model.n_components_, -1, model.n_channels_)


def _strongest(model) -> np.ndarray:
    """The channels in which templates have most energy, ascending."""
    energy = np.sum(_flat(model) ** 2, axis=(0, 1))
    return np.sort(np.argsort(-energy, kind="stable")[:CHANNELS])


def _weights(model, channel) -> np.ndarray:
    """Templates in one channel, (K, L)."""
    return _flat(model)[:, :, channel]


def _n_drawn(signal, events, n_channels, room) -> int:
    """The number of points of a recording that fit on the page, with a limit on events."""
    n = min(signal.n_points, int(SHARE * room / BYTES / n_channels))
    return n if len(events) <= MOST_EVENTS else min(n, int(events.start[MOST_EVENTS]))


def _overview(signal, channels) -> dict[str, Any]:
    """The smallest and the largest value in parts of a recording, read piece by piece."""
    count = min(OVERVIEW, signal.n_points)
    ends = np.linspace(0, signal.n_points, count + 1).astype(int)
    low, high = np.full((2, len(channels), count), np.nan)
    for i in range(count):
        values = signal.read(ends[i], ends[i + 1])[:, channels]
        seen = ~np.isnan(values).all(axis=0)
        low[seen, i] = np.nanmin(values[:, seen], axis=0)
        high[seen, i] = np.nanmax(values[:, seen], axis=0)
    return {"ends": pack(ends), "low": _with_gaps(low), "high": _with_gaps(high)}


def _with_gaps(rows) -> list[list[float | None]]:
    """Numbers with six digits, None for unobserved values."""
    return [[None if np.isnan(v) else float(f"{v:.6g}") for v in row] for row in rows]


def _trace(signal, channels, n_drawn) -> dict[str, Any]:
    """The first points of a recording, channel by channel, and where values are missing."""
    values = signal.read(0, n_drawn)[:, channels].T
    hidden = np.isnan(values)
    found = pack_rows(np.where(hidden, 0.0, values))
    gaps = [np.flatnonzero(np.diff(np.pad(row.astype(int), 1))).reshape(-1, 2) for row in hidden]
    return found | {"gaps": [gap.tolist() for gap in gaps]}


def _events(events, poses, n_drawn) -> dict[str, Any]:
    """The events that can be displayed."""
    shown = events.start < n_drawn
    return {
        "start": pack(events.start[shown]),
        "component": pack(events.component[shown]),
        "scores": pack(events.scores[shown]),
        "gain": pack(events.gain[shown]),
        "peak": pack(np.asarray(poses["peak"], dtype=float)[shown]),
        "width": events.scores.shape[1],
    }


def _amplitudes(events, poses, rng) -> dict[str, Any]:
    """Scores over time, of all events or of some."""
    chosen = np.arange(len(events))
    if len(chosen) > MOST_POINTS:
        chosen = np.sort(rng.choice(chosen, MOST_POINTS, replace=False))
    return {
        "time": pack(np.asarray(poses["peak"], dtype=float)[chosen]),
        "start": pack(events.start[chosen]),
        "component": pack(events.component[chosen]),
        "scores": pack(events.scores[chosen]),
    }


def _intervals(events, groups) -> dict[str, Any] | None:
    """Histograms of times from each event to the next one of its template."""
    found = interval_counts(events, groups)
    if found is None:
        return None
    edges, counts, each = found
    medians = [float(np.median(one)) if len(one) else None for one in each]
    return {"edges": edges.tolist(), "counts": counts.tolist(), "medians": medians}


def _quantiles(cut) -> np.ndarray:
    """Quantiles over windows (n, L, C), 0 if nothing was observed in any, (3, L, C)."""
    seen = ~np.isnan(cut).all(axis=0)
    found = np.zeros((len(QUANTILES), *cut.shape[1:]))
    found[:, seen] = np.nanquantile(cut[:, seen], QUANTILES, axis=0)
    return found


def _pile(model, X, events, k, channels, rng) -> dict[str, Any] | None:
    """Windows of the events of a template in the order of time, and their quantiles."""
    own = np.flatnonzero(events.component == k)
    if not len(own):
        return None
    if len(own) > PILE:
        own = np.sort(rng.choice(own, PILE, replace=False))
    cut = model.cut(X, events[own]).reshape(len(own), -1, model.n_channels_)[:, :, channels]
    factor = -(-cut.shape[1] // COLUMNS)
    per_row = -(-len(own) // ROWS)
    rows = block_means(block_means(cut, factor, 1), per_row, 0)
    bands = block_means(_quantiles(cut), factor, 1)
    x = events.step * block_means(np.arange(cut.shape[1], dtype=float), factor, 0)
    return {
        "count": len(own),
        "per_row": per_row,
        "rows": len(rows),
        "x": pack(x),
        "maps": [pack_map(rows[:, :, c]) for c in range(len(channels))],
        "bands": [pack(bands[:, :, c]) for c in range(len(channels))],
    }
