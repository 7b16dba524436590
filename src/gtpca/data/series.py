"""Samples of unequal size in one array."""

from __future__ import annotations

from typing import Any

import numpy as np

from gtpca import checks
from gtpca._typing import Shape
from gtpca.data.missing import as_nan

__all__ = ["as_one_array", "cut", "pad", "shapes_of"]


def pad(series: Any, *, axes: Any = None, shape: Shape | None = None) -> np.ndarray:
    r"""Combine samples of unequal size in one array, with NaN after the end of each.

    Parameters
    ----------
    series : list of arrays
        Such as (time,), (time, channels) or (height, width), all with the same number of axes.
    axes : int, tuple of int or None
        The axes along which sizes may differ, such as 0 for (time, channels); None: all of them.
    shape : tuple of int or None
        Shape to pad to; default: the largest size on every axis.

    Returns
    -------
    array (n, \*shape), floats
        Input for ``GTPCA(missing="ignore")``.

    Examples
    --------
    >>> import gtpca
    >>> gtpca.pad([[1.0, 2.0, 3.0], [4.0]])
    array([[ 1.,  2.,  3.],
           [ 4., nan, nan]])
    """
    arrays = [_floats(i, sample) for i, sample in enumerate(series)]
    sizes = _sizes([sample.shape for sample in arrays])
    _check_axes(sizes, axes)
    shape = tuple(sizes.max(axis=0)) if shape is None else checks.sizes("shape", shape)
    _check_fit(sizes, shape)
    padded = np.full((len(arrays), *shape), np.nan, np.result_type(*arrays))
    for row, sample in zip(padded, arrays, strict=True):
        row[tuple(slice(size) for size in sample.shape)] = sample
    return padded


def _floats(number, sample):
    """A sample as floats, float32 if that represents all of its values."""
    try:
        sample = np.asarray(as_nan(sample))
        if sample.dtype.kind in "biuf":
            return sample.astype(np.result_type(sample.dtype, np.float32), copy=False)
        return sample.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"series {number} does not hold numbers: {error}") from None


def _sizes(shapes):
    """The shapes of all samples as an array (n, r)."""
    ranks = {len(shape) for shape in shapes}
    if len(ranks) != 1 or 0 in ranks:
        raise ValueError(
            f"series must be a list of at least one array, all with as many axes; those of X have "
            f"{sorted(ranks)} axes."
        )
    sizes = np.array(shapes)
    if not sizes.all():
        empty = int(np.argmin(sizes.all(axis=1)))
        raise ValueError(f"series {empty} has shape {shapes[empty]}: it is empty.")
    return sizes


def _check_axes(sizes, axes):
    """Check that sizes differ along ``axes`` only."""
    if axes is None:
        return
    rank = sizes.shape[1]
    free = {axis % rank for axis in np.atleast_1d(axes)}
    for axis in set(range(rank)) - free:
        if len(np.unique(sizes[:, axis])) > 1:
            low, high = sizes[:, axis].min(), sizes[:, axis].max()
            raise ValueError(
                f"series have {low} to {high} points on axis {axis}, but only axes={axes!r} may "
                "differ."
            )


def _check_fit(sizes, shape):
    """Check that no sample is larger than ``shape``."""
    good = sizes.shape[1] == len(shape) and (sizes <= shape).all()
    if not good:
        worst = tuple(map(int, sizes.max(axis=0)))
        raise ValueError(
            f"series of up to {worst} points do not fit into samples of shape {tuple(shape)}; cut "
            f"them, or fit again with sample_shape={worst}."
        )


def shapes_of(X, shape=None) -> list[tuple[int, ...]] | None:
    """The shapes of samples in a list that is to be padded; None if it is not to be padded.

    Parameters
    ----------
    X : list of arrays, or array of arrays
        Anything else is not padded.
    shape : tuple of int or None
        The final shape of all samples. None, or with another number of axes, as for flat rows:
        samples of equal shape are not padded.
    """
    if not is_list(X):
        return None
    shapes = [_shape(sample) for sample in X]
    alike = shape is not None and {len(shape)} == {len(s) for s in shapes}
    return shapes if len({*shapes, *([tuple(shape)] if alike else [])}) > 1 else None


def is_list(X) -> bool:
    """Whether ``X`` is a list of samples, or an array of arrays."""
    boxed = isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1
    if not boxed and not isinstance(X, (list, tuple)):
        return False
    return all(hasattr(sample, "__len__") and not isinstance(sample, str) for sample in X)


def _shape(sample):
    """The shape of a sample; () if it has none."""
    try:
        return np.shape(sample)
    except ValueError:  # a list of lists of unequal length
        return ()


def as_one_array(X, missing, shape=None):
    """``X``; samples of unequal size padded to ``shape``, or to the largest, if allowed.

    Parameters
    ----------
    X : list of arrays, or array of arrays
    missing : {"error", "ignore"}
    shape : tuple of int or None
    """
    shapes = shapes_of(X, shape if missing == "ignore" else None)
    if shapes is None:
        return list(X) if is_list(X) else X
    if missing == "ignore":
        return pad(X, shape=shape)
    sizes = _sizes(shapes)
    low, high = (tuple(map(int, s)) for s in (sizes.min(axis=0), sizes.max(axis=0)))
    raise ValueError(
        f"X holds {len(shapes)} samples of unequal shape, {low} to {high}; "
        'missing="ignore" accepts them, with values beyond their ends not observed (gtpca.pad).'
    )


def cut(samples, shapes):
    """The samples of an array (n, ..) cut to their ``shapes`` (n, r): a list; an array if None."""
    if shapes is None:
        return samples
    pairs = zip(samples, shapes, strict=True)
    return [sample[tuple(slice(size) for size in shape)] for sample, shape in pairs]
