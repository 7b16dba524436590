"""Ties between transforms: of those that are equally good up to rounding, the first is taken.

A product ``<x, T w> / |T w|`` has an error of about ``eps |x|``, which depends on how many rows are
multiplied at once. Transforms whose products differ by no more than a few times that error tie, and
the first is taken: so the codes of a row, with their signs, do not depend on the other rows.
"""

from __future__ import annotations

import numpy as np

__all__ = ["TIED", "first_best", "first_of_row", "first_within", "lengths_of"]

TIED = 8  # times eps |x|: largest difference of products that tie
ROUNDING = {c: TIED * float(np.finfo(c).eps) for c in "fd"}  # by the type of the products
FAINT = 2.0**-6  # ties are not checked for rows of which a product holds less than this share


def first_best(values, lengths, power=1):
    """The first transform with the largest product, up to rounding, (.., n).

    Parameters
    ----------
    values : array (.., n, m)
        Products of rows, or their squares.
    lengths : callable or None
        Maps numbers of rows (j,) to ``|x_i|`` (j,); called only if there may be ties. None: take
        the largest product as computed.
    power : {1, 2}
        2: values are squares.
    """
    index = values.argmax(axis=-1)
    if lengths is None:
        return index
    best = values[(*np.indices(index.shape, sparse=True), index)]
    wrong = ROUNDING[values.dtype.char]
    near = values >= (best - power * wrong / FAINT * np.abs(best))[..., None]
    if np.count_nonzero(near) == index.size:
        return index
    where = np.nonzero(np.count_nonzero(near, axis=-1) > 1)
    least = best[where] ** (1 / power) - wrong * lengths(where[-1])
    least = least if power == 1 else np.maximum(least, 0.0) ** power
    index[where] = first_within(values[where], least)
    return index


def first_of_row(values, length) -> int:
    """:func:`first_best` of the products (m,) of a single row; ``length()`` is ``|x|``."""
    index = int(values.argmax())
    best, wrong = float(values[index]), ROUNDING[values.dtype.char]
    near = values >= best - wrong / FAINT * abs(best)
    if np.count_nonzero(near) == 1:
        return index
    least = np.array([best - wrong * length()])
    return int(first_within(values[None], least)[0])


def first_within(values, least):
    """The first transform whose value (n, m) is at least ``least`` (n,), shape (n,)."""
    return (values >= least.astype(values.dtype, copy=False)[:, None]).argmax(axis=1)


def lengths_of(chunk, start=0):
    """The function from numbers of rows of a chunk, from ``start`` on, to their ``|x_i|``."""
    return lambda rows: np.sqrt(chunk.energies_of(chunk.rows[start + rows]))
