"""Long tables, with one value per line, as one row per trial."""

from __future__ import annotations

import math

import numpy as np

from gtpca.readers.data import Data, check_inflated, check_rows

__all__ = ["as_wide"]

CLOSE = 1e-3  # relative to a step: times that differ by less are the same
MOST_TIMES = 8  # times as many as in the longest trial: with more, times do not match


def as_wide(names, times, values, trials, channels=None, *, beside, missing, grid=None) -> Data:
    """One row per trial, in the order of first occurrence, with one value per time (and channel).

    Parameters
    ----------
    names : list of str
        Of the columns of times, values, trials and channels.
    times, values : float array (n,)
    trials : array (n,) of str
    channels : array (n,) of str, or None
        Samples are then (times, channels), the latter in the order of their first occurrence.
    beside : dict of str to array (n,) of str
        Labels, the same in all lines of a trial.
    missing : {"error", "ignore"}
        What to do if a trial lacks a value at a time, or of a channel, that others have.
    grid : dict or None
        The ``times`` and ``channels`` of a sample, if they are known; default: all that occur.
    """
    if not np.isfinite(times).all():
        line = int((~np.isfinite(times)).argmax())
        raise ValueError(f"column {names[0]!r} has no time in row {line}")
    known, (ids, row, first) = grid or {}, _in_order(trials)
    points, column = _columns(times, row, known.get("times"), names[0])
    called, channel = _channels(channels, row, known.get("channels"), names[-1])
    table = Table(names, ids, points, called)
    place = table.places(row, column, channel)
    rows = np.full(math.prod(table.shape), np.nan)
    rows[place] = values
    table.check(rows, missing)
    rows = rows.reshape(table.shape if channels is not None else table.shape[:2])
    check_rows(rows.shape, rows.dtype)
    found = {name: _of_trials(name, texts, row, first) for name, texts in beside.items()}
    return Data(
        rows,
        labels=next(iter(found.values()), None),
        channels=None if channels is None else called,
        ids=ids,
        beside=found,
        id_name=names[2],
        positions=points,
        times=points,
        axes=(names[0], *names[3:]),
    )


class Table:
    """Where the values of a long table go, and how errors name these places.

    Parameters
    ----------
    names : list of str
        Of the columns of times, values, trials and channels.
    ids : array (n,) of str
    points : array (d,)
    channels : list of str
    """

    def __init__(self, names, ids, points, channels):
        self.names, self.ids, self.points, self.channels = names, ids, points, channels
        self.shape = (len(ids), len(points), len(channels))

    def places(self, row, column, channel) -> np.ndarray:
        """The place of each line; none is taken twice, and the times of the trials match."""
        time, longest = self.names[0], int(np.bincount(row * self.shape[2] + channel).max())
        if self.shape[1] > MOST_TIMES * longest:
            raise ValueError(
                f"the values of {time!r} differ from trial to trial: {self.shape[1]} different "
                f"ones, but the longest trial has {longest}; round them"
            )
        check_inflated(needed=8 * math.prod(self.shape), stored=8 * len(row))
        place = np.ravel_multi_index((row, column, channel), self.shape)
        counts = np.bincount(place)
        if counts.max() > 1:
            trial, where = self.words(counts.argmax())
            raise ValueError(f"{trial} has {counts.max()} values at {where}")
        return place

    def check(self, rows, missing) -> None:
        """Raise an error for a place without a value, unless missing values are ignored."""
        empty = np.isnan(rows)
        if missing == "ignore" or not empty.any():
            return
        trial, where = self.words(empty.argmax())
        raise ValueError(
            f"{trial} has no value at {where}, one of {int(empty.sum())} that are missing; "
            '--missing ignore leaves them out (in Python missing="ignore")'
        )

    def words(self, place) -> tuple[str, str]:
        """The trial and the position in it, in words, of a flat place."""
        i, j, k = np.unravel_index(place, self.shape)
        where = f"{self.names[0]} {self.points[j]:g}"
        more = "".join(f", {name} {self.channels[k]!r}" for name in self.names[3:])
        return f"{self.names[2]} {str(self.ids[i])!r}", where + more


def _in_order(texts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Different texts in the order of occurrence, the number of each line, and first lines."""
    different, first, number = np.unique(texts, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return different[order], np.argsort(order)[number], first[order]


def _columns(times, trials, points, name):
    """The times of the columns, and the column of every line."""
    if points is None:
        return _merged(times, trials)
    points = np.asarray(points, dtype=np.float64)
    nearest = _nearest(points, times)
    step = np.diff(np.sort(points)).min(initial=np.inf)
    off = np.abs(times - points[nearest]) > CLOSE * (step if np.isfinite(step) else 1.0)
    if off.any():
        raise ValueError(
            f"column {name!r} holds {times[off][0]:g}, which is none of the {len(points)} times "
            f"of the fit, {points[0]:g} to {points[-1]:g}"
        )
    return points, nearest


def _nearest(points, times) -> np.ndarray:
    """The number of the point (d,) that is nearest to each of the times (n,)."""
    order = np.argsort(points)
    edges = (points[order][1:] + points[order][:-1]) / 2
    return order[np.searchsorted(edges, times)]


def _merged(times, trials) -> tuple[np.ndarray, np.ndarray]:
    """Different times, and which one each line has; those closer than ``CLOSE`` of a step are one.

    The step is the smallest within a trial: 0.3 and 0.1 * 3 are the same time in two trials.
    """
    found, number, count = np.unique(times, return_inverse=True, return_counts=True)
    tolerance = _tolerance(times, trials)
    cluster = np.append(0, np.cumsum(np.diff(found) > tolerance))
    starts = np.flatnonzero(np.diff(cluster, prepend=-1))
    spans = found[np.append(starts[1:], len(found)) - 1] - found[starts]
    if (spans > tolerance).any():  # a chain of times that are all different
        return found, number
    often = np.lexsort((-count, cluster))[starts]  # the most frequent of each cluster
    return found[often], cluster[number]


def _tolerance(times, trials) -> float:
    """The distance up to which times are equal: ``CLOSE`` of the smallest step, or rounding."""
    rounding = 16 * np.finfo(np.float64).eps * float(np.abs(times).max())
    order = np.lexsort((times, trials))
    within = np.diff(times[order])[np.diff(trials[order]) == 0]
    steps = within[within > rounding]
    return max(rounding, CLOSE * float(steps.min()) if len(steps) else 0.0)


def _channels(channels, row, known, name) -> tuple[list[str], np.ndarray]:
    """The channels, and the number of the channel of every line."""
    if channels is None:
        return [""], np.zeros_like(row)
    found, number, _ = _in_order(channels)
    if known is None:
        return found.tolist(), number
    new = [text for text in found.tolist() if text not in known]
    if new:
        raise ValueError(
            f"column {name!r} holds {new[0]!r}, which is none of the {len(known)} channels of the "
            f"fit, {', '.join(known[:20])}"
        )
    return list(known), np.array([known.index(text) for text in found.tolist()])[number]


def _of_trials(name, texts, row, first) -> np.ndarray:
    """One label per trial."""
    found = texts[first]
    wrong = np.flatnonzero(texts != found[row])
    if len(wrong):
        raise ValueError(f"labels={name!r} changes within a trial, in row {int(wrong[0])}")
    return found
