"""Data that keep arriving: every batch updates all components, from sums that decay.

    S <- decay S + statistics(batch),    N(S) w = rhs(S)

for one component after the other, each on the residual of the batch after the previous ones. The
first rows are kept, so that the stream can start from a fit of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gtpca.data.energies import exponent_of, totals, weighted_sums
from gtpca.fitting.coloured import data_solution
from gtpca.fitting.fit import Fit, check_finite
from gtpca.fitting.shared_pose import principal_axes
from gtpca.model.coding import deflate
from gtpca.model.conventions import kept_signs
from gtpca.model.matching import Block, Stats, explained_energy, statistics, update
from gtpca.model.model import Model
from gtpca.operators.normal import Moments, spread_evenly
from gtpca.solvers.base import Problem

__all__ = ["N_FITS", "KeptRows", "Stream", "fading"]

RECENT = 6  # without a horizon, the last sixth of all rows seen is remembered
START_ROWS = 1024  # rows that are kept, and fitted again when their number has doubled
START_BYTES = 2**26
N_FITS = 5  # fits before they are dropped: a stream stays near the optimum in which it started


@dataclass(frozen=True, eq=False)
class Stream:
    """The state of a stream: B blocks of K components.

    Attributes
    ----------
    weights : array (B, K, L)
        In a basis that does not change with conventions of signs or order.
    rhs, weight, explained : arrays (B, K, L), (B, m, K, K), (B,)
        :class:`~gtpca.model.matching.Stats` of each block.
    energy : float
        Energy of the rows, decayed like the stats.
    mass : array (d,)
        Sum of the sample weights of rows in which a feature was observed, decayed only if there is
        a horizon: the mean of data that do not drift is that of all rows.
    n_rows : int
        Number of rows seen so far.
    hidden : array (B, K, K, p), (B,) or 0
        Of the stats of each block; zeros if no row had a gap.
    ridge : array (B,) or 0
        The ridge with which each block is updated.
    data : array (B, K, L) or 0
        The weights in the units of the data, if rows are whitened.
    between : array (B, K, K, q) or 0
        Of the stats of each block, if poses lie between the nodes.
    """

    weights: np.ndarray
    rhs: np.ndarray
    weight: np.ndarray
    explained: np.ndarray
    energy: float
    mass: np.ndarray | float
    n_rows: int
    hidden: np.ndarray | float = 0.0
    ridge: np.ndarray | float = 0.0
    data: np.ndarray | float = 0.0
    between: np.ndarray | float = 0.0

    @classmethod
    def begin(cls, model: Model, explained=None, energy=0.0, n_rows=0, ridge=0.0) -> Stream:
        """Start a stream from components about which nothing else is known.

        Parameters
        ----------
        model : Model
        explained : array (k,) or None
            Energy that they explained of ``n_rows`` rows with ``energy``; None: there were no rows.
            It is assumed to be spread evenly over the transforms: then ``N w = rhs`` holds, with
            the ridge.
        ridge : array (B,) or 0
            The ridge with which they were found.
        """
        operator = model.operator
        W = np.array([block.weights for block in model.blocks()])
        data = 0.0
        if model.data_weights is not None:
            sizes = np.linalg.norm(W, axis=2, keepdims=True)
            W, data = W / sizes, model.data_weights.reshape(W.shape) / sizes
        shares = np.zeros(W.shape[:2]) if explained is None else explained.reshape(W.shape[:2])
        moments = spread_evenly(operator, shares)
        spread = moments.nodes
        rhs = operator.normal(moments).times(W)
        rhs += np.reshape(ridge, (-1, 1, 1)) * (spread.sum(axis=1) @ W)
        return cls(
            weights=W,
            rhs=rhs,
            weight=spread,
            explained=shares.sum(axis=1),
            energy=energy,
            mass=n_rows,
            n_rows=n_rows,
            ridge=ridge,
            data=data,
            between=moments.between,
        )

    def advance(self, problem: Problem, horizon) -> Stream:
        """The stream after one more batch."""
        chunks, n_new = problem.chunks, problem.chunks.n_rows
        decay = fading(self.n_rows, n_new, horizon)
        new = chunks.sum(totals)
        check_finite(new.energy, new.live)
        exponent = int(exponent_of(np.sqrt(new.live)))
        chunks, unit = chunks.scaled(-exponent), 4.0**exponent
        sums: list[Stats] = []
        blocks: list[Block] = []
        for W, old, ridge in zip(self.weights, self.stats, self.ridges, strict=True):
            if blocks:
                chunks = chunks.update(deflate, blocks[-1], blocks=list(blocks))
            own = replace(problem, chunks=chunks, ridge=float(ridge))
            known = decay / unit * old + _statistics(own, W)
            check_finite(known.rhs, known.explained)
            [W] = update(problem.chunks.operator, known, W[None], ridge=ridge)
            blocks.append(problem.block_for_codes(W))
            sums.append(unit * known)
        known = Stats.joined(sums)
        return Stream(
            weights=np.array([block.weights for block in blocks]),
            rhs=known.rhs,
            weight=known.moments.nodes,
            explained=known.explained,
            energy=float(decay * self.energy + new.energy),
            mass=self.faded_mass(n_new, horizon) + new.mass,
            n_rows=self.n_rows + n_new,
            hidden=known.moments.hidden,
            ridge=self.ridge,
            data=self.data,
            between=known.moments.between,
        )

    def in_data(self, before: Stream, chunks, model: Model, horizon) -> Stream:
        """The stream with weights in the units of the data, after a batch of centred rows.

        They are the mean of those ``before`` and of those of the batch alone, each weighted by its
        sum of squared coefficients, which has decayed for the former.

        Parameters
        ----------
        before : Stream
        chunks : Chunks
            As for :func:`gtpca.fitting.coloured.data_solution`.
        model : Model
            How rows are whitened.
        horizon : int or None
        """
        W = self.weights.reshape(-1, self.weights.shape[2])
        own = replace(model, weights=W, data_weights=None, sweeps=0)
        new = data_solution(chunks, own)[0].reshape(self.weights.shape)
        decay = fading(before.n_rows, self.n_rows - before.n_rows, horizon)
        old, every = (np.einsum("btkk->bk", s.weight)[:, :, None] for s in (before, self))
        share = np.divide(decay * old, every, out=np.zeros_like(every), where=every > 0)
        return replace(self, data=share * before.data + (1 - share) * new)

    @property
    def ridges(self) -> np.ndarray:
        """The ridge of each block, (B,)."""
        return np.broadcast_to(self.ridge, len(self.weights))

    @property
    def stats(self) -> list[Stats]:
        """The statistics of the rows, for each block."""
        moments = Moments.stored(self.weight, self.hidden, self.between)
        known = Stats(self.rhs, moments, self.explained)
        return [known[b : b + 1] for b in range(len(self.weights))]

    def faded_mass(self, n_new, horizon):
        """What remains of ``mass`` after ``n_new`` rows."""
        return self.mass if horizon is None else self.mass * fading(self.n_rows, n_new, horizon)

    def moved_mean(self, mean, chunks, horizon):
        """The mean (d,) of all rows, with their decayed weights, after those of ``chunks``."""
        (sums, new), old = chunks.sum(weighted_sums), self.faded_mass(chunks.n_rows, horizon)
        mass = old + new
        return np.divide(old * mean + sums, mass, out=np.zeros_like(sums), where=mass > 0)

    def fit(self, model: Model, results) -> Fit:
        """The model with the components of the stream, in the usual order, with their old signs."""
        W, explained = self.weights[:, 0], self.explained
        whitened = np.ndim(self.data) > 0
        data = np.asarray(self.data)
        V = data[:, 0] if whitened else W
        if self.weights.shape[1] > 1:
            (block,) = replace(model, weights=self.weights[0]).blocks()
            moments = self.stats[0].moments
            W, explained = principal_axes(model.operator, block, moments)
            V = W @ np.linalg.pinv(self.weights[0]) @ data[0] if whitened else W
            if moments.lack:  # these would include the energies in gaps
                explained = explained * (self.explained[0] / explained.sum())
        if model.polarity == "both":
            turns = kept_signs(V, model.data_weights if whitened else model.weights)[:, None]
            W, V = W * turns, V * turns
        if whitened:
            sizes = np.linalg.norm(V, axis=1, keepdims=True)
            model = replace(model, data_weights=V / sizes)
            W = W / sizes
        return Fit(
            model=replace(model, weights=W),
            explained=explained,
            total=self.energy,
            results=results,
            n_rows=self.n_rows,
        )


def _statistics(problem, W):
    """:class:`Stats` of the rows under the ridge; the explained energy is that of the codes."""
    if not problem.ridge:
        return problem.chunks.sum(statistics, [problem.block_for_codes(W)])
    explained = problem.chunks.sum(explained_energy, problem.block_for_codes(W))
    stats = problem.chunks.sum(statistics, problem.blocks_for_fit(W[None]))
    return replace(stats, explained=np.array([explained]))


def fading(n_before, n_new, horizon):
    """The factor by which ``n_new`` rows decay the sums of ``n_before`` earlier rows."""
    if horizon is not None:
        return float(np.exp(-n_new / horizon))
    return (n_before / (n_before + n_new)) ** RECENT


@dataclass(frozen=True, eq=False)
class KeptRows:
    """The first rows of a stream.

    Attributes
    ----------
    rows : array (n, d)
        The original rows.
    weight : array (n,)
    n_fitted : int
        The number of rows at the last fit.
    """

    rows: np.ndarray
    weight: np.ndarray
    n_fitted: int

    @classmethod
    def of(cls, rows, weight) -> KeptRows | None:
        """The rows of a first batch; None if there are too many."""
        if too_many(rows.n_rows, rows):
            return None
        return cls(np.array(rows.read(0, rows.n_rows)), _ones(rows, weight), rows.n_rows)

    def joined(self, rows, weight) -> KeptRows | None:
        """These rows and those of a batch; None if there are too many."""
        if too_many(len(self.rows) + rows.n_rows, rows):
            return None
        both = np.concatenate([self.rows, rows.read(0, rows.n_rows)])
        return KeptRows(both, np.append(self.weight, _ones(rows, weight)), self.n_fitted)

    @property
    def doubled(self) -> bool:
        """Whether there are twice as many as at the last fit."""
        return len(self.rows) >= 2 * self.n_fitted

    def fitted(self) -> KeptRows:
        """The same rows, after a fit of all of them."""
        return replace(self, n_fitted=len(self.rows))

    def faded(self, horizon):
        """Sample weights that decay with age, (n,)."""
        if horizon is None:
            return self.weight
        return self.weight * np.exp(np.arange(1 - len(self.rows), 1) / horizon)


def too_many(n, rows):
    """Whether ``n`` such rows are too many to be kept."""
    return n > START_ROWS or n * rows.n_features * rows.dtype.itemsize > START_BYTES


def _ones(rows, weight):
    return np.ones(rows.n_rows) if weight is None else weight
