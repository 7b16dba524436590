"""Warnings about columns of a table that are probably not meant to be fitted."""

from __future__ import annotations

import numpy as np

from gtpca import checks

__all__ = ["warn_of_columns", "warn_of_recording"]

LARGEST_SHARE = 0.99  # share of the energy in one column
ENOUGH_ROWS = 20  # from which on an increase is not due to chance
LONG, FEW = 5000, 16  # points and channels from which on an array looks like a recording
ADVICE = "If it is not data, name it by --labels or remove it."


def warn_of_columns(data) -> None:
    """Warn about a column with nearly all the energy, and about one that counts the samples.

    Parameters
    ----------
    data : gtpca.readers.Data
        Only rows of numbers in memory, (n, d), are examined, such as those of tables.
    """
    rows = data.rows
    if type(rows) is not np.ndarray or rows.ndim != 2 or rows.shape[1] == 1:
        return
    share, column = _largest_share(rows)
    if share > LARGEST_SHARE:
        checks.warn(
            f"{_name(data, column)} holds {share:.2%} of the energy of all samples. {ADVICE}",
            UserWarning,
        )
    counters = _increasing_integers(rows)
    if len(counters):
        more = f", and so are {len(counters) - 1} more" if len(counters) > 1 else ""
        checks.warn(
            f"{_name(data, counters[0])} is integers that increase from sample to sample{more}, as "
            f"ids and times are. {ADVICE}",
            UserWarning,
        )


def warn_of_recording(data) -> None:
    """Warn about an array that looks like one recording instead of samples."""
    if len(data.rows.shape) != 2:
        return
    n, d = data.rows.shape
    if n == 1 and d >= LONG:
        seen = f"DATA is a single row of {d} points"
    elif n >= LONG and d <= FEW:
        seen = f"DATA may be one recording of {n} points and {d} channel{'' if d == 1 else 's'}"
    else:
        return
    checks.warn(
        f"{seen}: `gtpca events` finds what recurs in a recording, and --window 500 cuts it into "
        "samples of 500 points.",
        UserWarning,
    )


def _name(data, column) -> str:
    return f"column {column if data.features is None else repr(data.features[column])}"


def _largest_share(rows) -> tuple[float, int]:
    """The largest share of the energy in one column, and the number of the column."""
    largest = np.fmax.reduce(np.abs(rows), axis=None)
    scale = largest if largest > 0 else 1.0
    energy = np.array([np.nansum((column / scale) ** 2) for column in rows.T])
    column = int(energy.argmax())
    return float(energy[column] / max(energy.sum(), 1e-300)), column


def _increasing_integers(rows) -> np.ndarray:
    """Numbers of the columns that are strictly increasing integers."""
    if len(rows) < ENOUGH_ROWS:
        return np.array([], dtype=int)
    few = rows[:ENOUGH_ROWS]  # nearly always enough to rule it out
    some = np.flatnonzero(_increases(few))
    return some[_increases(rows[:, some])]


def _increases(rows) -> np.ndarray:
    return np.all(rows[1:] > rows[:-1], axis=0) & np.all(rows == np.rint(rows), axis=0)
