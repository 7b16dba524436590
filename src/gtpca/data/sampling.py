"""Copies of some rows, drawn from all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gtpca.data.chunks import Chunks, as_chunks
from gtpca.data.energies import live_counts, loud_energy, row_counts, row_sizes

__all__ = ["count_live_rows", "in_single_precision", "nested_samples", "pick_rows"]

SINGLE_ROWS = 64  # from this number on, searches run in single precision


def count_live_rows(chunks):
    """How many rows each row counts as, (n,), where weight 2 is two rows; 0 without energy."""
    return np.concatenate(chunks.collect(live_counts))


def nested_samples(chunks, sizes, rng, n_jobs=None):
    """Copies of fewer and fewer rows, each drawn from the previous ones, in single precision.

    Parameters
    ----------
    chunks : Chunks
    sizes : list of int
        Descending. If there are no more rows than that, all are taken.
    rng : RandomState
    n_jobs : int or None

    Returns
    -------
    samples : list of Chunks
    n_live : float
        Number of all rows that count, where weight 2 is two rows.
    """
    counts = count_live_rows(chunks)
    order = np.flatnonzero(counts) if counts.any() else np.arange(chunks.n_rows)
    if chunks.n_rows > sizes[-1]:
        order = rng.permutation(order)
    samples: list[Chunks] = []
    for size in sizes:
        if chunks.n_rows > size:
            chunk = chunks.take(np.sort(order[:size]))
            order = np.argsort(np.argsort(order[:size]))
        elif not samples:
            chunk = chunks.take(np.arange(chunks.n_rows))
        if not samples:
            chunk = in_single_precision(chunk)
        chunks = as_chunks(chunk.rows, chunk.operator, chunk.weight, n_jobs=n_jobs)
        samples.append(chunks)
    return samples, float(counts.sum())


def pick_rows(chunks, draws):
    """Rows drawn with probability proportional to their energy, up to that of loud rows.

    Otherwise a few rows of loud noise would be all that is drawn. The order of the rows does not
    matter, even if energies are equal, as for loud rows and counts; and weight 2 is equivalent to
    repeating a row.
    """
    chunk = chunks.take(np.arange(chunks.n_rows))
    energies = chunk.energies
    energies = np.minimum(energies, loud_energy(energies, row_counts(chunk)))
    order = np.lexsort((_mixed(chunk.filled), energies))
    share = np.cumsum(chunk.weigh(energies)[order])
    place = np.searchsorted(share, draws * share[-1])
    return chunk.rows[order[np.minimum(place, len(order) - 1)]]


def _mixed(rows):
    """A number for every row (n, d) that is practically unique and independent of other rows."""
    return rows @ np.cos(np.arange(1, rows.shape[1] + 1)).astype(rows.dtype)


def in_single_precision(chunk):
    """A chunk in float32, in units in which no square overflows or vanishes.

    If there are very few rows, there is nothing to gain, and it is returned unchanged.
    """
    if np.sum(row_counts(chunk)) <= SINGLE_ROWS:
        return chunk
    if chunk.weight is not None:  # rows that do not count may have values of any size
        chunk.rows[chunk.weight <= 0] = 0
    exponent = int(np.frexp(np.max(row_sizes(chunk.rows), initial=0.0))[1])
    rows = np.ldexp(chunk.rows, -exponent, out=chunk.rows)
    return replace(chunk, rows=rows.astype(np.float32, copy=False))
