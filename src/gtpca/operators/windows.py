"""Positions of windows on a grid, in the units of its axes."""

from __future__ import annotations

import numpy as np

from gtpca.operators.grid import Grid, axis_name, axis_of, is_dates
from gtpca.operators.poses import PoseAxis

__all__ = ["describe_windows", "window_grid", "window_quantities"]


def describe_windows(grid, axes, tracks, offsets) -> dict:
    """``start`` and ``centre`` of windows along each of some axes, from their offsets."""
    columns = {}
    for j, suffix in _suffixes(grid, axes).items():
        track, axis = tracks[j], axis_of(grid, j)
        for name, place in (("start", 0), ("centre", (track.window - 1) / 2)):
            at = offsets[j] + place
            columns[name + suffix] = axis.at(at % track.size if track.circular else at)
    return columns


def _suffixes(grid, axes) -> dict[int, str]:
    """Suffixes that distinguish the quantities of the moved axes, if there are several."""
    return {j: f"_{axis_name(grid, j, '{}')}" * (len(axes) > 1) for j in axes}


def window_quantities(grid, axes, tracks) -> tuple[PoseAxis, ...]:
    """The units and periods of these quantities, as far as they are known."""
    found = []
    for j, suffix in _suffixes(grid, axes).items():
        axis, track = axis_of(grid, j), tracks[j]
        unit = "" if not axis.unit or is_dates(axis.unit) else axis.unit
        period = track.size * _step(axis, track.size) if track.circular else 0.0
        names = ("start" + suffix, "centre" + suffix)
        found += [PoseAxis(name, unit=unit, period=period or None) for name in names]
    return tuple(found)


def _step(axis, size) -> float:
    """The distance between two points in the units of an axis; 0 if these are not numbers."""
    ends = np.asarray(axis.at(np.array([0, size - 1])))
    return float(ends[1] - ends[0]) / max(1, size - 1) if ends.dtype.kind in "iuf" else 0.0


def window_grid(grid, tracks) -> tuple[int, ...]:
    """The shape of a window, with the positions it has in the middle of the sample."""
    shape = tuple(track.window for track in tracks)
    if not isinstance(grid, Grid):
        return shape
    axes = [
        axis.cut(int(track.offsets[track.centred]), track.window) if track.moves else axis
        for track, axis in zip(tracks, grid.axes, strict=True)
    ]
    return Grid(shape, axes)
