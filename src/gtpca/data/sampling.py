"""Copies of some rows, drawn from all of them."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np

from gtpca.data.chunks import Chunks, as_chunks
from gtpca.data.energies import live_counts, loud_energy, row_counts, row_sizes

__all__ = [
    "content_order",
    "count_live_rows",
    "different_rows",
    "in_single_precision",
    "nested_samples",
    "pick_rows",
    "row_hashes",
]

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
    order = content_order(chunk, energies)
    share = np.cumsum(chunk.weigh(energies)[order])
    place = np.searchsorted(share, draws * share[-1])
    return chunk.rows[order[np.minimum(place, len(order) - 1)]]


def content_order(chunk, energies):
    """The order of rows by ``energies`` (n,), those of equal energy by their values."""
    return np.lexsort((_mixed(chunk.filled), energies))


def different_rows(chunks, most, rng, rounded=False):
    """Some of all rows in memory, with as much weight as all rows that are equal to them.

    At most ``most`` different rows are drawn by a hash of their values, so that the order of the
    rows does not matter, and weight 2 is equivalent to repeating a row. Rows of weight 0 are left
    out.

    Returns
    -------
    chunk : Chunk
    whole : bool
        Whether there are no other rows.
    """
    if chunks.n_rows <= most:
        return chunks.take(np.arange(chunks.n_rows)), True
    seed = int(rng.randint(2**31))
    hashes, weights = map(
        np.concatenate, zip(*chunks.collect(_hashes_and_weights, rounded, seed), strict=True)
    )
    live = np.flatnonzero(weights > 0)
    known, first, which = np.unique(hashes[live], return_index=True, return_inverse=True)
    total, numbers = np.bincount(which, weights[live])[:most], live[first[:most]]
    order = np.argsort(numbers)
    weight = None if np.all(total == 1) else total[order]
    return replace(chunks.take(numbers[order]), weight=weight), len(known) <= most


def _hashes_and_weights(chunk, rounded, seed):
    """:func:`row_hashes` and sample weights of a chunk, both (n,)."""
    return row_hashes(chunk.rows, rounded, seed), chunk.weigh(np.ones(len(chunk.rows)))


def row_hashes(rows, rounded=False, seed=0) -> np.ndarray:
    """A number from 0 to 2^32 - 1 for every row, (n,), from its values.

    Computed values are ``rounded`` first: their last digits depend on the machine and on the units
    of the data.
    """
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(rows, np.float16 if rounded else None)
    return np.array([zlib.crc32(row.tobytes(), seed) for row in rows], dtype=np.int64)


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
