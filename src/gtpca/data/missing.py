"""Missing values, in any notation: converted to NaN."""

from __future__ import annotations

import numpy as np

from gtpca import checks

__all__ = [
    "MISSING",
    "as_nan",
    "check_no_infinity",
    "check_observed",
    "warn_of_blank",
    "where_missing",
]

MISSING = ("error", "ignore")
NOTHING = ("NoneType", "NAType", "NaTType")  # NA of pandas, without importing it, by its name


def as_nan(X):
    """``X`` with NaN where it is masked, None or pandas' NA; unchanged if it has none of these."""
    if hasattr(X, "iloc"):
        return X.mask(X.isna(), np.nan) if "object" in map(str, _dtypes(X)) else X
    if isinstance(X, (list, tuple)) and any(np.ma.isMaskedArray(row) for row in X):
        return np.array([as_nan(row) for row in X])
    if np.ma.isMaskedArray(X):
        return np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    X = np.asarray(X)
    return np.where(_is_nothing(X), np.nan, X) if X.dtype == object else X


def _dtypes(frame):
    return np.atleast_1d(np.asarray(frame.dtypes, dtype=object))


def _is_nothing(values):
    """Where objects are None or pandas' NA."""
    return np.frompyfunc(lambda v: type(v).__name__ in NOTHING, 1, 1)(values).astype(bool)


def where_missing(X) -> np.ndarray:
    """Where ``X`` is NaN, masked, None or NA: a bool array (n, ..)."""
    if hasattr(X, "iloc"):
        return np.asarray(X.isna())
    values = as_nan(X)
    return values != values  # true for NaN alone, also among objects


def check_observed(label, hidden, names=None, shape=None, kind="NaN") -> None:
    """Raise an error that names the first missing value and counts them, if there are any.

    Parameters
    ----------
    label : str
        What the values are called.
    hidden : bool array (n, ..)
    names : int array (n,) or None
        Numbers of the rows; None: 0, 1, ..
    shape : tuple of int or None
        Shape of a sample, if rows are flat.
    kind : str
        What the values are.
    """
    if not hidden.any():
        return
    rows = hidden.reshape(len(hidden), -1)
    raise ValueError(
        f"{label} has {rows.sum()} missing values ({kind}), the first in "
        f"{_first(hidden, names, shape)}; "
        'missing="ignore" (on the command line --missing ignore) leaves them out, or fill them.'
    )


def _first(where, names, shape) -> str:
    """The first position at which a bool array (n, ..) is true, in words."""
    row, place = np.argwhere(where.reshape(len(where), -1))[0]
    row = row if names is None else names[row]
    shape = where.shape[1:] if shape is None or len(shape) < 2 else shape
    if len(shape) > 1:
        return f"row {row}, place {tuple(map(int, np.unravel_index(place, shape)))}"
    return f"row {row}, column {place}"


def check_no_infinity(label, rows, start=0, shape=None) -> None:
    """Raise an error that names the first infinite value and counts them, if there are any.

    Parameters
    ----------
    label : str
        What the values are called.
    rows : float array (n, ..)
    start : int or int array (n,)
        Number of the first row, or numbers of all.
    shape : tuple of int or None
        Shape of a sample, if rows are flat.
    """
    bad = np.isinf(rows)
    if bad.any():
        names = start + np.arange(len(rows)) if np.ndim(start) == 0 else start
        raise ValueError(
            f"{label} has {bad.sum()} infinite values, the first in {_first(bad, names, shape)}; "
            "replace them, or leave out their rows."
        )


def warn_of_blank(blank: int, n_rows: int) -> None:
    """Warn if there are rows without any observed value."""
    if blank:
        checks.warn(
            f"{blank} of {n_rows} rows of X hold no observed value: they take no part in a fit and "
            "score 0.",
            UserWarning,
        )
