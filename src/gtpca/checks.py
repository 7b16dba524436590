"""Checks of parameters: an error names the parameter, the value and what would work."""

from __future__ import annotations

import os
import sys
import warnings
from functools import partial
from types import FrameType

import joblib
import numpy as np
import sklearn

__all__ = [
    "at_least",
    "auto_or",
    "choice",
    "integer",
    "non_negative",
    "number",
    "numbers",
    "one_of",
    "optional",
    "parameters",
    "positive",
    "share",
    "sizes",
    "unmasked",
    "warn",
    "weights",
]

# Warnings point to the user's line that led to them: the first outside of these folders.
FOLDERS = [os.path.dirname(module) for module in (__file__, sklearn.__file__, joblib.__file__)]
OURS = tuple(folder + os.sep for folder in FOLDERS)
LARGEST = 1e30  # products of larger weights, or smaller than 1 / this, might overflow when squared


def parameters(owner, rules, prefix=""):
    """Check attributes of an object by ``rules`` for their names, such as ``at_least(1)``."""
    for name, rule in rules.items():
        rule(prefix + name, getattr(owner, name))


def at_least(low):
    """A rule for :func:`parameters`: an integer of at least ``low``."""
    return partial(integer, low=low)


def one_of(*choices):
    """A rule for :func:`parameters`: one of ``choices``."""
    return partial(choice, choices=choices)


def optional(rule):
    """The same rule, or None."""
    return lambda label, value: None if value is None else rule(label, value)


def auto_or(rule):
    """The same rule, or "auto"."""

    def check(label, value):
        if isinstance(value, str) and value != "auto":
            raise ValueError(f"{label}={value!r} must be 'auto' or a number.")
        return value if isinstance(value, str) else rule(label, value)

    return check


def positive(label, value):
    """``value`` as a finite float above 0."""
    return number(label, value, "above 0", lambda v: 0 < v < np.inf)


def non_negative(label, value):
    """``value`` as a finite float of at least 0."""
    return number(label, value, "of at least 0", lambda v: 0 <= v < np.inf)


def share(label, value):
    """``value`` as a float in (0, 1]."""
    return number(label, value, "in (0, 1]", lambda v: 0 < v <= 1)


def warn(message, category):
    """Warn about the line that called the library, however deep the call stack is."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_code.co_filename.startswith(OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def integer(label, value, low, high=None):
    """``value`` as an int between ``low`` and ``high``."""
    is_int = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_int or value < low or (high is not None and value > high):
        span = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{label}={value!r} must be an integer {span}.")
    return int(value)


def number(label, value, wanted, allowed):
    """``value`` as a float for which ``allowed`` holds; ``wanted`` describes this in words."""
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not real or not allowed(value):
        raise ValueError(f"{label}={value!r} must be a number {wanted}.")
    return float(value)


def numbers(label, values, positive=False):
    """A non-empty float array (m,) from a list of finite numbers."""
    wanted = f"a list of at least one {'positive ' if positive else ''}finite number"
    try:
        array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{label}={values!r} must be {wanted}.") from None
    good = array.ndim == 1 and array.size > 0 and np.all(np.isfinite(array))
    if not good or (positive and np.any(array <= 0)):
        raise ValueError(f"{label}={values!r} must be {wanted}.")
    return array


def sizes(label, value):
    """A tuple of positive ints from one or several."""
    given = (value,) if np.ndim(value) == 0 else tuple(value)
    if not given:
        raise ValueError(f"{label}={value!r} must hold at least one integer.")
    for size in given:
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            raise ValueError(f"{label}={value!r} must hold integers of at least 1.")
    return tuple(int(size) for size in given)


def choice(label, value, choices):
    """Raise an error unless ``value`` is one of ``choices``."""
    if not any(value is c or (type(value) is type(c) and value == c) for c in choices):
        raise ValueError(f"{label}={value!r} must be one of {', '.join(map(repr, choices))}.")


def unmasked(label, values):
    """Raise an error if some values are masked, which NumPy would silently ignore."""
    rows = values if isinstance(values, (list, tuple)) else (values,)
    count = sum(np.ma.count_masked(row) for row in rows if np.ma.is_masked(row))
    if count:
        raise ValueError(
            f"{label} is a masked array with {count} masked values, but missing values are not "
            "supported: fill them, as X.filled(0) does, or leave out their rows."
        )


def weights(label, values, shapes):
    """Finite, non-negative float64 weights of one of the ``shapes``, flat."""
    wanted = f"numbers of shape {' or '.join(str(tuple(s)) for s in shapes)}"
    unmasked(label, values)
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{label}={values!r} must be {wanted}.") from None
    if array.shape not in [tuple(s) for s in shapes]:
        raise ValueError(f"{label} has shape {array.shape}, but must be {wanted}.")
    bad = array[~(np.isfinite(array) & (array >= 0))]
    if bad.size:
        raise ValueError(f"{label} holds {bad[0]}, but must be finite and non-negative.")
    if not np.any(array > 0):
        raise ValueError(f"{label} is zero everywhere; at least one weight must be positive.")
    if not 1 / LARGEST <= array.max() <= LARGEST:
        raise ValueError(
            f"{label} has the largest value {array.max():g}, but must have one from "
            f"{1 / LARGEST:g} to {LARGEST:g}: multiply all weights by a number; components depend "
            "on their ratios only."
        )
    return array.ravel()
