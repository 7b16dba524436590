"""Sums over rows and over the values of a row: energies, sizes, counts, means.

Sums over a whole chunk use its sample weights, and are additive over chunks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

__all__ = [
    "Totals",
    "energy",
    "exponent_of",
    "live_counts",
    "loud_energy",
    "loud_share",
    "masses",
    "n_hidden",
    "offset_energy",
    "row_counts",
    "row_energies",
    "row_exponents",
    "row_sizes",
    "total_weight",
    "totals",
    "weighted_energies",
    "weighted_sums",
    "zero_filled",
]

LOUD, QUARTILE = 4, 0.75  # times the upper quartile of the energies is loud
ORDINARY = 32  # squares and sums of values between 2^-32 and 2^32 fit into any precision


def zero_filled(rows):
    """A copy with zeros in place of NaN."""
    return np.where(np.isnan(rows), rows.dtype.type(0), rows)


def row_energies(rows, weight=None):
    """``|x_i|^2`` of observed values, in float64, (n,); with weights ``sum_j q_j x_ij^2``."""
    wide = rows.astype(np.float64, copy=False)  # faster than einsum
    energies = np.einsum("ij,ij->i", wide, wide if weight is None else wide * weight)
    gaps = np.isnan(energies)
    if gaps.any():
        energies[gaps] = row_energies(zero_filled(rows[gaps]), weight)
    return energies


def total_weight(chunk) -> float:
    """``sum_i q_i`` of the sample weights."""
    return float(len(chunk.rows) if chunk.weight is None else chunk.weight.sum())


def row_sizes(rows):
    """The largest absolute value of each row, shape (n,); 0 if nothing was observed."""
    sizes = np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))
    gaps = np.isnan(sizes)
    if gaps.any():
        sizes[gaps] = row_sizes(zero_filled(rows[gaps]))
    return sizes


def row_exponents(rows, weight=None):
    """:func:`exponent_of` the largest absolute value of each row, shape (n, 1).

    Takes into account the feature weight of the inner product in which squares are taken.
    """
    largest = 1.0 if weight is None else np.sqrt(np.max(weight))
    return exponent_of(row_sizes(rows) * largest)[:, None]


def exponent_of(sizes):
    """Powers of two by which values of these sizes are divided, so that squares do not overflow.

    It is 0 for ordinary sizes, for which nothing has to be done.
    """
    exponent = np.frexp(sizes)[1]
    return np.where(np.abs(exponent) > ORDINARY, exponent, 0)


def row_counts(chunk):
    """How many rows each row counts as, (n,): its sample weight, at least 1; 0 for weight 0."""
    if chunk.weight is None:
        return np.ones(len(chunk.rows))
    return np.where(chunk.weight > 0, np.maximum(chunk.weight, 1.0), 0.0)


def live_counts(chunk):
    """:func:`row_counts`, but 0 for rows without energy, shape (n,)."""
    return np.where(weighted_energies(chunk) > 0, row_counts(chunk), 0.0)


def weighted_energies(chunk):
    """``|x_i|^2`` times the sample weights, shape (n,)."""
    return chunk.weigh(chunk.energies)


def energy(chunk):
    """``sum_i |x_i|^2``, weighted."""
    return float(np.sum(weighted_energies(chunk)))


@dataclass(frozen=True)
class Totals:
    """Totals of rows; additive over chunks.

    Attributes
    ----------
    energy : float
        ``sum_i q_i |x_i|^2`` with the sample weights ``q``.
    offset : float
        The part of it that is constant in each sample and channel, see :func:`offset_energy`.
    live : float
        ``sum_{q_i > 0} |x_i|^2``.
    mass : array (d,)
        :func:`masses`.
    hidden, blank : int
        Number of unobserved values, and of rows without any observed value.
    """

    energy: float
    offset: float
    live: float
    mass: np.ndarray
    hidden: int
    blank: int

    def __add__(self, other: Totals) -> Totals:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Totals(*(a + b for a, b in pairs))


def totals(chunk) -> Totals:
    """:class:`Totals` of a chunk."""
    live = np.where(row_counts(chunk) > 0, chunk.energies, 0.0)
    blank = _hidden_in_domain(chunk).all(axis=1)
    return Totals(
        energy=energy(chunk),
        offset=offset_energy(chunk),
        live=float(np.sum(live)),
        mass=masses(chunk),
        hidden=n_hidden(chunk),
        blank=int(blank.sum()),
    )


def n_hidden(chunk) -> int:
    """Number of values in the domain that were not observed."""
    return int(_hidden_in_domain(chunk).sum())


def _hidden_in_domain(chunk) -> np.ndarray:
    """Which values in the domain were not observed, (n, d'), or (1, d') if all were."""
    hidden, domain = ~chunk.seen, chunk.operator.domain
    return hidden if domain is None else hidden[:, domain]


def offset_energy(chunk):
    """Energy of the means of samples: ``sum_i q_i sum_c (sum_j r_j x_ij)^2 / sum_j r_j``.

    The sums are over the features ``j`` of each channel ``c``, with the feature weight ``r``.
    Unobserved values count as zero.
    """
    operator, rows, count = chunk.operator, chunk.weighed, np.ones(chunk.rows.shape[1])
    count = count if operator.domain is None else count * operator.domain
    count = count if operator.feature_weight is None else count * operator.feature_weight
    axes = operator.moved_axes or range(len(operator.sample_shape))
    grid, axes = (-1, *operator.sample_shape), tuple(axis + 1 for axis in axes)
    sums = rows.reshape(grid).sum(axis=axes, dtype=np.float64)
    total = np.maximum(count.reshape(grid).sum(axis=axes), np.finfo(float).tiny)
    return float(np.sum(chunk.weigh((sums**2 / total).reshape(len(rows), -1).sum(axis=1))))


def masses(chunk):
    """``sum_i q_i`` of the sample weights, over the rows in which a feature was observed, (d,).

    It is 0 outside the domain of the operator.
    """
    weight, seen = chunk.weigh(np.ones(len(chunk.rows))), chunk.seen
    total = weight.reshape(len(seen), -1).sum(axis=1) @ seen  # complete rows count together
    return total if chunk.operator.domain is None else total * chunk.operator.domain


def weighted_sums(chunk):
    """``sum_i q_i x_i`` with the sample weights ``q``, and :func:`masses`, in float64, (2, d)."""
    weight = chunk.weigh(np.ones(len(chunk.rows)))
    sums = np.einsum("n,nd->d", weight, chunk.filled, dtype=np.float64)
    return np.stack([sums, masses(chunk)])


def loud_energy(energies, counts) -> float:
    """The energy above which rows are loud: four times the upper quartile of nonzero energies.

    Parameters
    ----------
    energies, counts : array (n,)
        Energies of the rows, and how often each of them counts.
    """
    counts = np.where(energies > 0, counts, 0.0)
    live = energies[counts > 0]
    if len(live) and np.count_nonzero(counts == 1) == len(live):  # far faster than sorting
        rank = math.ceil(QUARTILE * len(live)) - 1
        return LOUD * float(np.partition(live, rank)[rank])
    order = np.argsort(energies, kind="stable")
    up_to = np.cumsum(counts[order])
    if not up_to[-1] > 0:
        return np.inf
    return LOUD * float(energies[order[np.searchsorted(up_to, QUARTILE * up_to[-1])]])


def loud_share(chunks) -> float:
    """The share of the total energy by which loud rows exceed :func:`loud_energy`."""
    energies, counts = np.concatenate(list(chunks.collect(_energies_and_counts)), axis=1)
    beyond = np.maximum(energies - loud_energy(energies, counts), 0.0)
    total = float(counts @ energies)
    return float(counts @ beyond) / total if total > 0 else 0.0


def _energies_and_counts(chunk):
    return np.stack([chunk.energies, row_counts(chunk)])
