"""Where a search for a component begins: white noise, and rows of the data."""

from __future__ import annotations

import numpy as np

from gtpca.model.block import make_block, orthonormal
from gtpca.model.coding import match, row_energies

__all__ = ["draw_starts", "pick_rows", "row_start", "row_starts"]


def draw_starts(rng, n_init, operator):
    """White weights (n_init, L) and one uniform number per start that begins at a row."""
    white = rng.standard_normal((n_init, operator.n_weights))
    white *= operator.normal(np.ones(operator.n_transforms), white[0]) != 0  # not what none sees
    return white, rng.uniform(size=n_init // 2)


def pick_rows(chunk, draws):
    """Rows drawn with probability proportional to their energy.

    The order of the rows does not matter, and weight 2 is the same as a row given twice.
    """
    energies = row_energies(chunk.rows)
    order = np.argsort(energies, kind="stable")
    share = np.cumsum(chunk.weigh(energies)[order])
    place = np.searchsorted(share, draws * share[-1])
    return chunk.rows[order[np.minimum(place, len(order) - 1)]]


def row_start(row, operator, w, polarity):
    """The row itself as weights, in the pose in which it fits ``w`` best."""
    found = match(operator.prepare(row[None]), operator, make_block(operator, w), polarity)
    start = operator.adjoint_at(row[None], found.index, np.ones(1))[None]
    return orthonormal(start) if np.any(start) else w


def row_starts(chunk, draws, white, operator, polarity):
    """Rows of a chunk as weights, one for each draw, posed by the white weights (n, L)."""
    pairs = zip(pick_rows(chunk, draws), white, strict=False)
    return [row_start(x, operator, orthonormal(w[None]), polarity) for x, w in pairs]
