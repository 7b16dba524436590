"""Windows of a recording, and samples put at random positions and angles."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import ndimage
from sklearn.utils import check_random_state, check_scalar

from gtpca import checks
from gtpca._typing import RandomState, Shape


def sliding_windows(x: ArrayLike, length: int, step: int = 1) -> np.ndarray:
    """Cut a long recording into windows ``x[i * step : i * step + length]``, without a copy.

    Parameters
    ----------
    x : array of shape (n_times,) or (n_times, n_channels)
    length, step : int
        Time points of a window, and from one window to the next.

    Returns
    -------
    windows : ndarray of shape (n_windows, length) or (n_windows, length, n_channels)
        A read-only view of ``x``; n_windows = (n_times - length) // step + 1.
    """
    x = _recording(x)
    check_scalar(length, "length", Integral, min_val=1, max_val=len(x))
    check_scalar(step, "step", Integral, min_val=1)
    windows = np.lib.stride_tricks.sliding_window_view(x, length, axis=0)[::step]
    return np.moveaxis(windows, -1, 1)


def event_windows(
    x: ArrayLike,
    positions: ArrayLike,
    start: int,
    stop: int,
    outside: str = "raise",
    return_inside: bool = False,
) -> Any:
    """Cut windows ``x[p + start : p + stop]`` out of a recording, one for each event at ``p``.

    Parameters
    ----------
    x : array of shape (n_times,) or (n_times, n_channels)
    positions : array of shape (n_events,), int
        Time points of the events, counted from 0: subtract 1 from positions of MATLAB.
    start, stop : int
        Ends of the window relative to the event, ``stop`` not included; negative is before it.
    outside : {"raise", "drop"}
        What to do with an event whose window does not lie within the recording.
    return_inside : bool
        Whether to return also which events were kept.

    Returns
    -------
    windows : ndarray of shape (n_inside, stop - start) or (n_inside, stop - start, n_channels)
        n_inside = n_events unless some were dropped.
    inside : ndarray of shape (n_events,), bool
        Only if ``return_inside``.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca.datasets import event_windows
    >>> event_windows(np.arange(10), [2, 7], start=-1, stop=3)
    array([[1, 2, 3, 4],
           [6, 7, 8, 9]])
    """
    x, positions = _recording(x), _positions(positions)
    check_scalar(start, "start", Integral)
    check_scalar(stop, "stop", Integral, min_val=start + 1)
    checks.choice("outside", outside, ("raise", "drop"))
    inside = (positions + start >= 0) & (positions + stop <= len(x))
    if outside == "raise" and not np.all(inside):
        i = np.flatnonzero(~inside)[0]
        raise ValueError(
            f"positions[{i}]={positions[i]}: its window from {positions[i] + start} to "
            f"{positions[i] + stop} is not within the {len(x)} time points of x; pass "
            "outside='drop' to do without such events."
        )
    windows = x[positions[inside, None] + np.arange(start, stop)]
    return (windows, inside) if return_inside else windows


def _recording(x) -> np.ndarray:
    x = np.asarray(x)
    if x.ndim not in (1, 2):
        raise ValueError(f"x has shape {x.shape}; expected (n_times,) or (n_times, n_channels).")
    return x


def _positions(positions) -> np.ndarray:
    positions = np.asarray(positions)
    if positions.ndim != 1 or (positions.dtype.kind not in "iu" and positions.size):
        found = f"{positions.dtype} {positions.shape}"
        raise ValueError(f"positions is {found}; expected integers of shape (n_events,).")
    return positions.astype(np.intp)


def random_crop(X: np.ndarray, size: int | Shape, random_state: RandomState = None) -> Any:
    r"""Cut a box out of every sample, at a uniformly random position.

    Parameters
    ----------
    X : array of shape (n_samples, \*sample_shape)
    size : int or tuple of r ints
        Size of the box along the first r sample axes; the axes after them (channels) are kept.
    random_state : int, RandomState or None

    Returns
    -------
    X_new : ndarray of shape (n_samples, \*size, \*sample_shape[r:]), dtype of ``X``
    offset : ndarray of shape (n_samples, r), int
        Position of the crop within the sample.
    """
    X, X_new, offset = _draw_positions(X, size, "at most", random_state)
    for new, sample, start in zip(X_new, X, offset, strict=True):
        new[...] = sample[_box(start, new.shape)]
    return X_new, offset


def random_embedding(X: np.ndarray, size: int | Shape, random_state: RandomState = None) -> Any:
    r"""Put every sample into a larger frame of zeros, at a uniformly random position.

    Parameters
    ----------
    X : array of shape (n_samples, \*sample_shape)
    size : int or tuple of r ints
        Size of the frame along the first r sample axes; the axes after them (channels) are kept.
    random_state : int, RandomState or None

    Returns
    -------
    X_new : ndarray of shape (n_samples, \*size, \*sample_shape[r:]), dtype of ``X``
    offset : ndarray of shape (n_samples, r), int
        Position of the sample within the frame.
    """
    X, X_new, offset = _draw_positions(X, size, "at least", random_state)
    for new, sample, start in zip(X_new, X, offset, strict=True):
        new[_box(start, sample.shape)] = sample
    return X_new, offset


def random_rotation(X: np.ndarray, angles: ArrayLike = 20, random_state: RandomState = None) -> Any:
    """Rotate every image by a random multiple of 360 / angles degrees.

    Counter-clockwise as displayed with row 0 on top, like ``numpy.rot90``, about the middle of the
    pixel grid ((H - 1) / 2, (W - 1) / 2); bilinear, zeros outside. Right angles are exact.

    Parameters
    ----------
    X : array of shape (n_samples, H, W)
    angles : int
        Number of equally spaced angles, from 0.
    random_state : int, RandomState or None

    Returns
    -------
    X_new : ndarray of shape (n_samples, H, W)
        In the dtype of ``X`` if floating, else float32 (float64 for integers of 32 bits or more).
    degrees : ndarray of shape (n_samples,), float64
    """
    X = np.asarray(X)
    if X.ndim != 3 or X.dtype.kind not in "buif":
        raise ValueError(f"X is {X.dtype} {X.shape}; expected real images (n_samples, H, W).")
    check_scalar(angles, "angles", Integral, min_val=1)
    index = check_random_state(random_state).randint(angles, size=len(X))
    work = np.result_type(X.dtype, np.float32)
    X_new = np.empty(X.shape, X.dtype if X.dtype.kind == "f" else work)
    how = {"axes": (1, 2), "reshape": False, "order": 1, "mode": "grid-constant"}
    for k in np.unique(index):
        X_new[index == k] = ndimage.rotate(X[index == k].astype(work), k * 360 / angles, **how)
    return X_new, index * 360 / angles


def _draw_positions(X, size, bound, random_state):
    """X as an array, zeros of the new shape, and the positions of one within the other."""
    X = np.asarray(X)
    size = (size,) if isinstance(size, Integral) else tuple(size)
    old, rest = X.shape[1 : 1 + len(size)], X.shape[1 + len(size) :]
    limit = max if bound == "at least" else min
    fits = len(old) == len(size) > 0 and size == tuple(map(limit, size, old))
    if not fits or min(size) < 1:
        raise ValueError(f"size={size} must be positive and {bound} {old}; X has shape {X.shape}.")
    room = np.abs(np.subtract(size, old))
    offset = check_random_state(random_state).randint(room + 1, size=(len(X), len(size)))
    return X, np.zeros((len(X), *size, *rest), X.dtype), offset


def _box(start, shape) -> tuple[slice, ...]:
    return tuple(slice(a, a + s) for a, s in zip(start, shape, strict=False))
