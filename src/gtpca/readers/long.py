"""Long tables, one value a line, as one row per trial."""

from __future__ import annotations

import numpy as np

from gtpca.readers.data import Data, check_inflated, check_rows

__all__ = ["as_wide"]

CLOSE = 1e-3  # of a step: times that differ by less are the same
MOST_TIMES = 8  # times as many as the longest trial has: more of them do not match


def as_wide(times, values, trials, beside, names, missing, points=None) -> Data:
    """One row per trial, in the order in which they begin, and one column per time.

    Parameters
    ----------
    times, values : float array (n,)
    trials : array (n,) of str
    beside : dict of str to array (n,) of str
        Labels, the same in all lines of a trial.
    names : list of str
        Of the columns of times, values and trials.
    missing : {"error", "ignore"}
        What it is if a trial has no value at a time that others have.
    points : list of float or None
        The times of the columns; default: all that occur.
    """
    if not np.isfinite(times).all():
        raise ValueError(f"column {names[0]!r} has no time in row {int(np.isnan(times).argmax())}")
    ids, first, row = np.unique(trials, return_index=True, return_inverse=True)
    order = np.argsort(first)
    row = np.argsort(order)[row]
    points, column = _columns(times, points, names[0])
    called = ids[order].tolist()
    _check_times(points, row, column, called, names)
    rows = np.full((len(ids), len(points)), np.nan)
    rows[row, column] = values
    check_rows(rows.shape, rows.dtype)
    if missing == "error" and np.isnan(rows).any():
        i, j = np.argwhere(np.isnan(rows))[0]
        raise ValueError(
            f"{names[2]} {called[i]!r} has no value at {names[0]} {points[j]:g}, one of "
            f"{int(np.isnan(rows).sum())} that are missing; --missing ignore leaves them out (in "
            'Python missing="ignore")'
        )
    found = {name: _of_trials(name, texts, row, first[order]) for name, texts in beside.items()}
    return Data(
        rows,
        labels=next(iter(found.values()), None),
        ids=ids[order],
        beside=found,
        id_name=names[2],
        positions=points,
        times=points,
        axes=(names[0],),
    )


def _columns(times, points, name):
    """The times of the columns, and the column of every line."""
    if points is None:
        return np.unique(times, return_inverse=True)
    points = np.asarray(points, dtype=np.float64)
    nearest = np.abs(times[:, None] - points).argmin(axis=1)
    step = np.diff(points).min(initial=np.inf)
    off = np.abs(times - points[nearest]) > CLOSE * (step if np.isfinite(step) else 1.0)
    if off.any():
        raise ValueError(
            f"column {name!r} holds {times[off][0]:g}, which is none of the {len(points)} times "
            f"of the fit, {points[0]:g} to {points[-1]:g}"
        )
    return points, nearest


def _check_times(points, row, column, ids, names) -> None:
    """No time is there twice in a trial, and those of the trials match."""
    longest = int(np.bincount(row).max())
    if len(points) > MOST_TIMES * longest:
        raise ValueError(
            f"the values of {names[0]!r} differ from trial to trial: {len(points)} different ones, "
            f"but the longest trial has {longest}; round them"
        )
    check_inflated(needed=8 * len(points) * len(ids), stored=8 * len(row))
    place = row * len(points) + column
    counts = np.bincount(place)
    if counts.max() > 1:
        i, j = divmod(int(counts.argmax()), len(points))
        where = f"{names[0]} {points[j]:g}"
        raise ValueError(f"{names[2]} {ids[i]!r} has {counts.max()} values at {where}")


def _of_trials(name, texts, row, first) -> np.ndarray:
    """One label per trial."""
    found = texts[first]
    wrong = np.flatnonzero(texts != found[row])
    if len(wrong):
        raise ValueError(f"labels={name!r} changes within a trial, in row {int(wrong[0])}")
    return found
