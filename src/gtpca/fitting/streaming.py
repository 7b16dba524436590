"""Data that keep coming: every batch updates all components, from sums that fade.

    S <- decay S + statistics(batch),    N(S) w = rhs(S)

for one component after the other, each on what the ones before it left of the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gtpca.fitting.fit import check_size, signs
from gtpca.fitting.shared_pose import principal_axes
from gtpca.model.block import Block, make_block
from gtpca.model.coding import Stats, deflate, energy, statistics
from gtpca.solvers.base import update

__all__ = ["Online", "fading"]

RECENT = 6  # without a horizon, the last sixth of all rows seen is remembered


@dataclass(frozen=True)
class Online:
    """Where a stream stands: B blocks of K components.

    Attributes
    ----------
    weights : array (B, K, L)
        In a basis that no convention of signs or order moves.
    rhs, weight, explained : arrays (B, K, L), (B, m, K, K), (B,)
        :class:`~gtpca.model.coding.Stats` of each block.
    energy : float
        Of the rows, faded like the stats.
    mass : float
        Sum of the sample weights, faded only where there is a horizon: the mean of data that do
        not drift is that of all rows.
    n_rows : int
        Seen so far, faded or not.
    """

    weights: np.ndarray
    rhs: np.ndarray
    weight: np.ndarray
    explained: np.ndarray
    energy: float
    mass: float
    n_rows: int

    @classmethod
    def begin(cls, operator, blocks, explained=None, energy=0.0, n_rows=0) -> Online:
        """A stream from components of which nothing else is known.

        Parameters
        ----------
        operator : Operator
        blocks : list of Block
        explained : array (k,) or None
            Energy they explained of ``n_rows`` rows of ``energy``; None: there were no rows. It is
            thought to be spread evenly over the transforms: then ``N w = rhs`` holds.
        """
        W = np.array([block.weights for block in blocks])
        shares = np.zeros(W.shape[:2]) if explained is None else explained.reshape(W.shape[:2])
        m = 1 if operator.isometric else operator.n_transforms
        spread = [np.repeat(np.diag(share)[None] / m, m, axis=0) for share in shares]
        normal = _times if operator.isometric else operator.normal_block
        rhs = [normal(s, w) for s, w in zip(spread, W, strict=True)]
        return cls(W, np.array(rhs), np.array(spread), shares.sum(axis=1), energy, n_rows, n_rows)

    def advance(self, chunks, operator, polarity, horizon) -> Online:
        """The stream after one more batch."""
        decay = fading(self.n_rows, chunks.n_rows, horizon)
        new_energy, new_mass = chunks.sum(energy_and_mass)
        check_size(new_energy)
        sums: list[Stats] = []
        blocks: list[Block] = []
        for W, *old in zip(self.weights, self.rhs, self.weight, self.explained, strict=True):
            if blocks:
                chunks = chunks.then(deflate, operator, blocks[-1], polarity, blocks=blocks)
            block = make_block(operator, W, chunks.dtype)
            sums.append(decay * Stats(*old) + chunks.sum(statistics, operator, block, polarity))
            check_size(sums[-1].rhs, sums[-1].explained)
            blocks.append(make_block(operator, update(operator, sums[-1], W), chunks.dtype))
        return Online(
            np.array([block.weights for block in blocks]),
            np.array([stats.rhs for stats in sums]),
            np.array([stats.weight for stats in sums]),
            np.array([stats.explained for stats in sums]),
            float(decay * self.energy + new_energy),
            float(self.faded_mass(chunks.n_rows, horizon) + new_mass),
            self.n_rows + chunks.n_rows,
        )

    def faded_mass(self, n_new, horizon):
        """What is left of ``mass`` when ``n_new`` rows have come."""
        return self.mass if horizon is None else self.mass * fading(self.n_rows, n_new, horizon)

    def components(self, operator, polarity):
        """Weights (k, L) in the usual order and signs, and the energy that each explains, (k,)."""
        W, explained = self.weights[:, 0], self.explained
        if self.weights.shape[1] > 1:
            stats = Stats(self.rhs[0], self.weight[0], self.explained[0])
            W, explained = principal_axes(make_block(operator, self.weights[0]), stats)
        return (W * signs(W)[:, None] if polarity == "both" else W), explained


def energy_and_mass(chunk):
    """``sum_i q_i |x_i|^2`` and ``sum_i q_i`` with the sample weights ``q``, (2,)."""
    return np.array([energy(chunk), np.sum(chunk.weigh(np.ones(len(chunk.rows))))])


def _times(weight, W):
    """``normal_block`` of isometries, for which ``T* T`` is the identity."""
    return weight[0] @ W


def fading(n_before, n_new, horizon):
    """By how much a batch of ``n_new`` rows fades what is known of the ``n_before`` before it."""
    if horizon is not None:
        return float(np.exp(-n_new / horizon))
    return (n_before / (n_before + n_new)) ** RECENT
