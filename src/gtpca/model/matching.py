"""Blocks of components, their match with rows, and the statistics that an update needs.

A block is K components that share one pose; a single component is a block with K = 1. For a row
``x`` and the transform ``T_t``, with ``b_k = <x, T_t w_k>`` and the Gram matrix ``G_t`` of the
``T_t w_k``, the coefficients of the projection on their span are ``c = G_t^-1 b`` and the energy it
explains is ``b' G_t^-1 b = |z|^2`` with ``z = root_t b`` and ``root_t = G_t^(-1/2)``. A *match*
takes the transform with the largest ``|z|^2``, or the first of those that tie up to rounding
(:mod:`gtpca.model.ties`).

Where poses may lie between the nodes of an operator (:mod:`gtpca.operators.poses`), the best nodes
are where its own search for a pose begins, and ``index`` holds poses (n, p) instead of numbers.

With ``polarity="positive"``, scores are clipped at 0: a row that nothing fits upright does not take
part, instead of being fitted upside down. Otherwise the explained energy would not be monotone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gtpca.data.chunks import known_rows
from gtpca.model.gaps import HIDDEN_WEIGHT
from gtpca.model.picking import correlated, grams_of, upright
from gtpca.operators.base import Operator, lengths_at
from gtpca.operators.normal import (
    CG_STEPS,
    Moments,
    moments_at,
    moments_each,
    of_pairs,
    pair_products,
)
from gtpca.operators.poses import is_pose

__all__ = [
    "POLARITIES",
    "Block",
    "Match",
    "Stats",
    "coded_statistics",
    "explained_energy",
    "least_gain",
    "make_block",
    "make_blocks",
    "match",
    "match_at",
    "match_given",
    "moved_products",
    "orthonormal",
    "products_in",
    "regular",
    "rows_as_weights",
    "statistics",
    "update",
]

POLARITIES = ("both", "positive")
SINGULAR = 1e-12  # eigenvalues below this share of the largest count as zero


@dataclass(frozen=True)
class Block:
    """Weights, with what a match needs to know about them, computed once per pass.

    Attributes
    ----------
    weights : array (K, L)
    root : array (m, K, K), or (1, K, K) for isometries
        ``G_t^(-1/2)``, zero in directions that are too small to be meaningful.
    norms : array (m, K) or (1, K)
        ``|T_t w_k|``.
    gram : array (m, K, K) or (1, K, K)
        ``G_t``, with a ridge ``G_t + rho W W'`` (:mod:`gtpca.model.ridge`).
    floor : float
        Eigenvalues of the Gram matrices below this share of the largest count as zero.
    polarity : {"both", "positive"}
        Largest absolute or largest signed product, for one component. With "positive", a row that
        nothing fits upright has score 0.
    rough : bool
        Whether ties between transforms are decided by rounding, as in a search among few rows.
    fine : bool
        Whether rows are matched at poses between the nodes.
    """

    weights: np.ndarray
    root: np.ndarray
    norms: np.ndarray
    gram: np.ndarray
    floor: float
    polarity: str = "both"
    rough: bool = False
    fine: bool = False

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def nested_root(self) -> np.ndarray:
        """``C^-1`` with ``G_t = C C'``: its first k rows serve the first k weights."""
        ridge = self.floor * self.gram.max(initial=0.0) * np.eye(len(self))
        return np.linalg.inv(np.linalg.cholesky(self.gram + ridge))

    def at(self, values: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Rows of ``root`` or ``norms`` for the transforms ``index``."""
        return values[np.zeros_like(index)] if len(values) == 1 else values[index]

    def coef(self, operator: Operator, score: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Coefficients of the ``T w_k`` from scores (n, K): ``score_k / |T w_k|``."""
        if is_pose(index):
            norms = lengths_at(operator, self.weights, index)
        else:
            norms = self.at(self.norms, index)
        return np.divide(score, norms, out=np.zeros(score.shape), where=norms > 0)


def make_block(operator, W, dtype=np.float64, polarity="both", ridge=0.0) -> Block:
    """The block of weights ``W`` (K, L), for rows of ``dtype``."""
    return make_blocks(operator, W[None], dtype, polarity, ridge)[0]


def make_blocks(
    operator, stack, dtype=np.float64, polarity="both", ridge=0.0, rough=False, fine=True
) -> list[Block]:
    """The blocks of several weights (S, K, L), for rows of ``dtype``.

    With ``fine``, rows are matched at poses between the nodes, if the operator has any; operators
    whose nodes do not lead to them are matched there in any case.
    """
    between = operator.continuous
    fine = between is not None and (fine or not between.from_nodes)
    grams, floor = operator.gram(stack), max(np.finfo(dtype).eps, SINGULAR)
    norms = np.sqrt(np.einsum("stkk->stk", grams).clip(0.0))
    if ridge:
        grams = grams + ridge * (stack @ stack.transpose(0, 2, 1))[:, None]
    each = zip(stack, _inverse_roots(grams, floor), norms, grams, strict=True)
    return [Block(*parts, floor, polarity, rough, fine) for parts in each]


def _inverse_roots(G, floor):
    """``G_t^(-1/2)`` of matrices (S, m, K, K); eigenvalues below the floor of each S dropped."""
    if G.shape[2] == 1:
        values, vectors = G[:, :, 0], np.ones((1, 1, 1, 1))
    else:
        values, vectors = np.linalg.eigh(G)
    faint = values <= floor * values.max(axis=(1, 2), keepdims=True, initial=0.0)
    scale = np.where(faint, 0.0, 1 / np.sqrt(np.where(faint, 1.0, values)))
    return scale[..., None] * vectors.swapaxes(2, 3)


def orthonormal(W):
    """The orthonormal rows nearest to those of ``W`` (.., K, L) with the same span."""
    if W.shape[-2] == 1:
        norms = np.sqrt(np.einsum("...kl,...kl->...", W, W))[..., None, None]
        return W / np.where(norms > 0, norms, 1.0)
    U, _, Vt = np.linalg.svd(W, full_matrices=False)
    return U @ Vt


@dataclass(frozen=True)
class Match:
    """The best transform of every row, and the projection on a block of K components there.

    Attributes
    ----------
    index : int array (n,), or poses (n, p) between the nodes
    score : array (n, K)
        ``coef_k |T w_k|``, the signed length of each part of the projection.
    coef : array (n, K)
        The projection is ``sum_k coef_k T w_k``.
    explained : array (n,)
        Energy of the projection.
    """

    index: np.ndarray
    score: np.ndarray
    coef: np.ndarray
    explained: np.ndarray

    def or_better(self, other: Match) -> Match:
        """For each row, this match, or another one that explains more."""
        more = (other.explained > self.explained)[:, None]
        return Match(
            np.where(more, other.index, self.index),
            np.where(more, other.score, self.score),
            np.where(more, other.coef, self.coef),
            np.maximum(self.explained, other.explained),
        )


def match(chunk, block, before=None, anew=True) -> Match:
    """For each row of a chunk, the transform under which a block explains most of it.

    Parameters
    ----------
    chunk : Chunk
    block : Block
    before : poses (n, p) or None
        Poses that must not become worse, for blocks that are matched between the nodes.
    anew : bool
        Whether to search everywhere, and not only around the poses ``before``.
    """
    if block.fine:
        return _match_between(chunk, block, before, anew)
    if len(block) == 1:
        index, z, coef = (found.T for found in grams_of(chunk).best_each(chunk.prepared, [block]))
        index = index[:, 0]
    else:
        index, z, coef = grams_of(chunk).best(chunk.prepared, block)
    return Match(index, coef * block.at(block.norms, index), coef, np.sum(z**2, axis=1))


def _match_between(chunk, block, before, anew):
    """The :class:`Match` of a block at poses between the nodes."""
    between, starts = chunk.operator.continuous, []
    if before is not None:
        before = chunk.operator.pose_space.at(before)
        if between.from_nodes or not anew:
            starts.append(before[:, None])
    if between.from_nodes and (anew or before is None):
        starts.append(chunk.operator.pose_space.nodes[_best_nodes(chunk, block)])
    found = match_at(
        chunk,
        block,
        between.search(
            chunk.filled,
            chunk.value_weights(HIDDEN_WEIGHT),
            block.weights,
            np.concatenate(starts, axis=1) if starts else None,
            block.polarity == "positive" and len(block) == 1,
            block.rough,
        ),
    )
    return found if before is None else found.or_better(match_at(chunk, block, before))


def match_given(chunk, block, column, before=None) -> Match:
    """:func:`match`, with the rows whose pose on component ``column`` is given in that pose."""
    given = chunk.given_on(column)
    if given is None:
        return match(chunk, block, before)
    known = known_rows(given)
    if known.all():
        return match_at(chunk, block, given)
    found = match(chunk, block, before).index
    return match_at(
        chunk, block, np.where(known if found.ndim == 1 else known[:, None], given, found)
    )


def moved_products(X, V, moved):
    """``<v_i, x_i m_ik>`` (n, K) and ``<v_i, m_ij m_ik>`` (n, K, K) of moved weights (n, K, d).

    In the precision of the rows, and returned in float64.
    """
    weighed = moved * V[:, None].astype(X.dtype)
    b, G = weighed @ X[:, :, None], weighed @ moved.transpose(0, 2, 1)
    return b[:, :, 0].astype(np.float64), G.astype(np.float64)


def match_at(chunk, block, pose) -> Match:
    """The projection of the rows of a chunk on a block at given nodes (n,) or poses (n, p)."""
    K, (b, G) = len(block), products_in(chunk, block, pose)
    lengths = grams_of(chunk).lengths(block, pose, G)
    if K == 1:
        squares = G[:, 0]
        coef = np.divide(b, squares, out=np.zeros_like(b), where=squares > 0)
        coef = upright(coef, block.polarity)
    else:
        G = regular(G, block.floor)
        coef = np.linalg.solve(G, b[:, :, None])[:, :, 0]
    explained = np.einsum("nk,nk->n", coef, 2 * b - np.einsum("njk,nk->nj", G, coef))
    return Match(pose, coef * lengths, coef, np.maximum(explained, 0.0))


def products_in(chunk, block, pose):
    """``b_k = <x_i, T_i w_k>`` (n, K) and ``G`` (n, K, K) at given nodes (n,) or poses (n, p)."""
    V, operator, dtype = chunk.value_weights(HIDDEN_WEIGHT), chunk.operator, chunk.rows.dtype
    if is_pose(pose):
        return operator.continuous.products(chunk.filled, V, block.weights, pose)
    W = block.weights.astype(dtype)
    moved = np.stack([operator.apply_at(w, pose) for w in W], axis=1)
    return moved_products(chunk.filled, V, moved.astype(dtype, copy=False))


def regular(G, floor):
    """Gram matrices (n, K, K) with a ridge of a share ``floor`` of their traces."""
    least = floor * np.einsum("nkk->n", G)[:, None, None]
    return G + np.where(least > 0, least, 1.0) * np.eye(G.shape[-1])


def _best_nodes(chunk, block):
    """The numbers of the nodes from which a search begins, best first, (n, C)."""
    energies = _node_energies(chunk, block)
    return chunk.operator.continuous.best_nodes(energies)


def _node_energies(chunk, block):
    """The energy that a block explains of each row at every node, (n, m)."""
    b = correlated(chunk.operator, chunk.prepared, block.weights).astype(np.float64, copy=False)
    z = grams_of(chunk).whitened(b, block)
    if len(block) == 1:
        z = upright(z, block.polarity)
    return np.einsum("knm,knm->nm", z, z)


@dataclass(frozen=True)
class Stats:
    """All that an update of S blocks needs to know about the rows: additive over chunks, float64.

    Parameters
    ----------
    rhs : array (S, K, L)
        ``sum_i a_i T_i* r_i``.
    moments : Moments
        Moments of the normal equations.
    explained : array (S,)
        Explained energy ``sum_i |z_i|^2``; ``sum_i s_i^2`` for one component.
    """

    rhs: np.ndarray
    moments: Moments
    explained: np.ndarray

    def __add__(self, other: Stats) -> Stats:
        moments = self.moments + other.moments
        return Stats(self.rhs + other.rhs, moments, self.explained + other.explained)

    def __rmul__(self, factor: float) -> Stats:
        return Stats(factor * self.rhs, factor * self.moments, factor * self.explained)

    def __getitem__(self, part: slice) -> Stats:
        """Some of the S blocks."""
        return Stats(self.rhs[part], self.moments[part], self.explained[part])

    @staticmethod
    def joined(parts: list[Stats]) -> Stats:
        """The statistics of several blocks, concatenated."""
        if len(parts) == 1:
            return parts[0]
        return Stats(
            np.concatenate([part.rhs for part in parts]),
            Moments.joined([part.moments for part in parts]),
            np.concatenate([part.explained for part in parts]),
        )


def statistics(chunk, blocks) -> Stats:
    """Match a chunk with each of several blocks separately, and reduce it to its :class:`Stats`."""
    if len(blocks[0]) > 1 or blocks[0].fine:
        return Stats.joined([_statistics(chunk, block) for block in blocks])
    P, size = chunk.prepared, _stack_size(chunk)
    parts = [_stacked(chunk, P, blocks[i : i + size]) for i in range(0, len(blocks), size)]
    return Stats.joined(parts)


def _statistics(chunk, block):
    """:class:`Stats` of a block of several components."""
    found = match(chunk, block)
    worth = found.explained
    if is_pose(found.index):
        worth = worth - chunk.operator.continuous.price(found.index, chunk.energies)
    explained = np.array([np.sum(chunk.weigh(worth))])
    return coded_statistics(chunk, found.index, found.coef, explained)


def coded_statistics(chunk, index, coef, explained) -> Stats:
    """:class:`Stats` of a chunk in the poses ``index`` (n,) or (n, p), with coefficients (n, K).

    ``explained`` (1,) is passed through.
    """
    operator, weighted = chunk.operator, chunk.weigh(coef.T).T
    rhs = operator.adjoint_at(chunk.weighed, index, weighted.T)[None]
    if is_pose(index):
        return Stats(rhs, _moments_between(chunk, index, weighted, coef), explained)
    nodes = moments_at(operator, index, weighted, coef)[None]
    missing = grams_of(chunk).missing(index, weighted, coef)
    return Stats(rhs, Moments(nodes, missing), explained)


def _moments_between(chunk, pose, weighted, coef):
    """:class:`Moments` of a chunk at poses (n, p); gaps are part of them."""
    products, V = pair_products(weighted, coef), chunk.value_weights(HIDDEN_WEIGHT)
    sums = chunk.operator.continuous.sums(pose, products, V)
    between = of_pairs(sums, coef.shape[1])[None]
    return Moments((weighted.T @ coef)[None, None], between=between)


def explained_energy(chunk, block) -> float:
    """The energy of a chunk that a block explains."""
    return float(np.sum(chunk.weigh(match(chunk, block).explained)))


def _stack_size(chunk):
    """The number of components that are matched at once."""
    operator = chunk.operator
    width = max(operator.n_features, operator.n_weights, operator.n_transforms)
    return max(1, operator.stacked // (len(chunk.rows) * width))


def _stacked(chunk, P, blocks):
    """:class:`Stats` of S separate components, all at once."""
    operator, grams = chunk.operator, grams_of(chunk)
    index, z, coef = grams.best_each(P, blocks)
    weighted = chunk.weigh(coef)
    nodes = moments_each(operator, index, weighted, coef)
    rhs = operator.adjoint_at(chunk.weighed, index, weighted)
    explained = np.sum(chunk.weigh(z**2), axis=1)
    missing = grams.missing_each(index, weighted, coef)
    return Stats(rhs[:, None], Moments(nodes, missing), explained)


def rows_as_weights(chunk, blocks):
    """Rows as weights, ``a_i T_i* x_i``, each in its pose on a block (1, L), (n, L)."""
    index, _, coef = grams_of(chunk).best_each(chunk.prepared, blocks)
    return chunk.operator.adjoint_at(chunk.weighed, index, coef * np.eye(len(coef)))


def update(operator, stats, stack, steps=CG_STEPS, ridge=0.0):
    """The least-squares weights (S, K, L) for fixed codes, made orthonormal.

    If conjugate gradients are needed, ``steps`` steps bring the weights closer to the solution.
    Weights that would be zero or not finite stay those of ``stack``.
    """
    parts = range(len(stack)) if stack.shape[1] > 1 else ()
    if len(parts) > 1:  # the matrices of blocks are large
        each = [(stats[s : s + 1], stack[s : s + 1]) for s in parts]
        return np.concatenate([update(operator, *one, steps, ridge) for one in each])
    _, solved = _solved(operator, stats, stack, steps, ridge)
    new = orthonormal(solved) if stack.shape[1] > 1 else _unit(solved)
    good = np.isfinite(new).all(axis=(1, 2)) & new.any(axis=(1, 2))
    return np.where(good[:, None, None], new, stack)


def least_gain(operator, stats, stack, steps=CG_STEPS, ridge=0.0):
    """How much more energy the update of weights (S, K, L) explains with the same codes, (S,).

    That is ``2 <W, rhs> - <W, N W>`` at the solution, less the energy that the weights explain. The
    next match explains more, as its codes are the best for the new weights.
    """
    normal, solved = _solved(operator, stats, stack, steps, ridge)
    reached = np.einsum("skl,skl->s", solved, 2 * stats.rhs - normal.times(solved))
    return reached - stats.explained


def _solved(operator, stats, stack, steps, ridge):
    """The normal equations, and their solution from weights (S, K, L)."""
    normal = operator.normal(stats.moments).ridged(ridge, stats.moments)
    return normal, normal.solve(stats.rhs, stack, steps)


def _unit(W):
    """Weights (S, 1, L) of unit norm; 0 if that is not possible."""
    norms = np.linalg.norm(W, axis=2, keepdims=True)
    good = (norms > 0) & (norms < np.inf)
    return np.where(good, W / np.where(good, norms, 1.0), 0.0)
