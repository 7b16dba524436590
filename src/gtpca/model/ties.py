"""Which transform is best where several are, up to rounding: the first of them.

A product ``<x, T w> / |T w|`` is wrong by about ``eps |x|``, and by how much depends on how many
rows are multiplied at once. Transforms whose products differ by no more than a few times that tie,
and the first is taken: so codes of a row, with their signs, do not depend on the rows beside it.
"""

from __future__ import annotations

import numpy as np

__all__ = ["TIED", "first_best", "first_within", "lengths_of"]

TIED = 8  # times eps |x|: products that differ by no more tie
FAINT = 2.0**-6  # rows of which less than this share is in a product are not looked at for ties


def first_best(values, lengths, power=1):
    """The first transform with the largest product, up to rounding, (.., n).

    Parameters
    ----------
    values : array (.., n, m)
        Products of rows, or their squares.
    lengths : callable or None
        From numbers of rows (j,) to ``|x_i|`` (j,): they are asked for where there may be ties.
        None: the largest product as it was rounded.
    power : {1, 2}
        2: values are squares.
    """
    index = values.argmax(axis=-1)
    if lengths is None:
        return index
    best = values[(*np.indices(index.shape, sparse=True), index)]
    wrong = TIED * np.finfo(values.dtype).eps
    near = values >= (best - power * wrong / FAINT * np.abs(best))[..., None]
    if np.count_nonzero(near) == index.size:
        return index
    where = np.nonzero(np.count_nonzero(near, axis=-1) > 1)
    least = best[where] ** (1 / power) - wrong * lengths(where[-1])
    least = least if power == 1 else np.maximum(least, 0.0) ** power
    index[where] = first_within(values[where], least)
    return index


def first_within(values, least):
    """The first transform whose value (n, m) is at least ``least`` (n,), shape (n,)."""
    return (values >= least.astype(values.dtype, copy=False)[:, None]).argmax(axis=1)


def lengths_of(chunk, start=0):
    """The function from numbers of rows of a chunk, from ``start`` on, to their ``|x_i|``."""
    return lambda rows: np.sqrt(chunk.energies_of(chunk.rows[start + rows]))
