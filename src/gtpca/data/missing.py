"""Values that were not observed: NaN from here on, whatever said so before."""

from __future__ import annotations

import numpy as np

from gtpca import checks

__all__ = ["MISSING", "as_nan", "check_observed", "warn_of_blank", "where_missing"]

MISSING = ("error", "ignore")
NOTHING = ("NoneType", "NAType", "NaTType")  # pandas is not imported: its NA is known by its name


def as_nan(X):
    """``X`` with NaN where it is masked, None or pandas' NA; as it is if there is none of these."""
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
    return values != values  # true of NaN alone, also among objects


def check_observed(label, hidden, names=None, shape=None, kind="NaN") -> None:
    """Raise an error that names the first missing value and their number, if there are any.

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
    row, place = np.argwhere(rows)[0]
    row = row if names is None else names[row]
    shape = hidden.shape[1:] if shape is None or len(shape) < 2 else shape
    where = f"column {place}"
    if len(shape) > 1:
        where = f"place {tuple(map(int, np.unravel_index(place, shape)))}"
    raise ValueError(
        f"{label} has {rows.sum()} missing values ({kind}), the first in row {row}, {where}; "
        'missing="ignore" (on the command line --missing ignore) leaves them out, or fill them.'
    )


def warn_of_blank(blank: int, n_rows: int) -> None:
    """Warn of rows in which nothing was observed, if there are any."""
    if blank:
        checks.warn(
            f"{blank} of {n_rows} rows of X hold no observed value: they take no part in a fit and "
            "score 0.",
            UserWarning,
        )
