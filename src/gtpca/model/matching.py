"""Blocks of components, their match with rows, and what an update needs to know of it.

A block is K components that take one pose together; one component is a block with K = 1. For a row
``x`` and the transform ``T_t``, with ``b_k = <x, T_t w_k>`` and the Gram matrix ``G_t`` of the
``T_t w_k``, the coefficients of the projection on their span are ``c = G_t^-1 b`` and the energy it
explains is ``b' G_t^-1 b = |z|^2`` with ``z = root_t b`` and ``root_t = G_t^(-1/2)``. A *match*
takes the transform with the largest ``|z|^2``, or the first of those that tie up to rounding
(:mod:`gtpca.model.ties`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gtpca.model.gaps import (
    Factors,
    factor_dtype,
    hidden_sums,
    lengths_each,
    less_hidden,
    pieces,
    solve_each,
    widest,
)
from gtpca.model.ridge import ridge_diagonals, with_ridge
from gtpca.model.ties import first_best, lengths_of
from gtpca.operators.base import CG_STEPS, conjugate_gradients

__all__ = [
    "POLARITIES",
    "Block",
    "Match",
    "Stats",
    "explained_energy",
    "gram_matrices",
    "make_block",
    "make_blocks",
    "match",
    "orthonormal",
    "rows_as_weights",
    "second_moments",
    "solve_block",
    "statistics",
    "statistics_each",
    "update",
    "update_each",
]

POLARITIES = ("both", "positive")
SINGULAR = 1e-12  # eigenvalues below this share of the largest count as zero
WHITENED = 2**18  # products that are whitened at once: they should stay in the processor's cache


@dataclass(frozen=True)
class Block:
    """Weights with what a match needs to know of them, computed once per pass.

    Attributes
    ----------
    weights : array (K, L)
    root : array (m, K, K), or (1, K, K) for isometries
        ``G_t^(-1/2)``, zero on what is too faint to mean anything.
    norms : array (m, K) or (1, K)
        ``|T_t w_k|``.
    gram : array (m, K, K) or (1, K, K)
        ``G_t``, with a ridge ``G_t + rho W W'`` (:mod:`gtpca.model.ridge`).
    floor : float
        Eigenvalues of the Gram matrices below this share of the largest count as zero.
    polarity : {"both", "positive"}
        Largest absolute or largest signed product, for one component. With "positive" a row that
        nothing fits upright scores 0.
    rough : bool
        Whether ties of transforms are left to rounding, as in a search among few rows.
    """

    weights: np.ndarray
    root: np.ndarray
    norms: np.ndarray
    gram: np.ndarray
    floor: float
    polarity: str = "both"
    rough: bool = False

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

    def coef(self, score: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Coefficients of the ``T w_k`` from scores (n, K): ``score_k / |T w_k|``."""
        norms = self.at(self.norms, index)
        return np.divide(score, norms, out=np.zeros(score.shape), where=norms > 0)


def make_block(operator, W, dtype=np.float64, polarity="both", ridge=0.0) -> Block:
    """The block of weights ``W`` (K, L), for rows of ``dtype``."""
    return make_blocks(operator, W[None], dtype, polarity, ridge)[0]


def make_blocks(
    operator, stack, dtype=np.float64, polarity="both", ridge=0.0, rough=False
) -> list[Block]:
    """The blocks of several weights (S, K, L), for rows of ``dtype``."""
    grams, floor = gram_matrices(operator, stack), max(np.finfo(dtype).eps, SINGULAR)
    norms = np.sqrt(np.einsum("stkk->stk", grams).clip(0.0))
    if ridge:
        grams = grams + ridge * (stack @ stack.transpose(0, 2, 1))[:, None]
    each = zip(stack, _inverse_roots(grams, floor), norms, grams, strict=True)
    return [Block(*parts, floor, polarity, rough) for parts in each]


def gram_matrices(operator, stack):
    """Gram matrices of weights (S, K, L): (S, m, K, K), or (S, 1, K, K) for isometries."""
    if operator.isometric:
        return (stack @ stack.transpose(0, 2, 1))[:, None]
    return operator.gram_each(stack)


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
    index : int array (n,)
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


def match(chunk, block) -> Match:
    """The transform under which a block holds most of each row of a chunk."""
    P = chunk.prepared
    if len(block) == 1:
        index, z, coef = (found.T for found in _coded_each(chunk, P, [block]))
        index = index[:, 0]
    else:
        index, z, coef = _coded(chunk, P, block)
    return Match(index, coef * block.at(block.norms, index), coef, np.sum(z**2, axis=1))


def _coded(chunk, P, block):
    """Best transform (n,) of a block, ``z`` (n, K) and coefficients (n, K)."""
    if chunk.hidden is not None:
        index, z, root = _pick_in_gaps(chunk, P, block)
    else:
        index, z = _pick_whitened(chunk, P, block)
        root = block.at(block.root, index)
    return index, z, np.einsum("nj,njk->nk", z, root)


def _pick_in_gaps(chunk, P, block):
    """Best transform (n,), ``z`` (n, K) and its root (n, K, K), some rows at a time."""
    operator, dtype, found = chunk.operator, factor_dtype(block, chunk.rows.dtype), []
    masks = _prepared_masks(chunk, dtype)
    for part in pieces(len(chunk.rows), operator, block, dtype):
        factors = Factors(masks[part], operator, block)
        b = np.stack([operator.correlate(P[part], w) for w in block.weights])
        b = b.astype(dtype, copy=False)
        index, z = _pick_joint(factors.whiten(b), _lengths(chunk, block, part.start))
        found.append((index, z, factors.root_at(index)))
    return [np.concatenate(parts) for parts in zip(*found, strict=True)]


def _prepared_masks(chunk, dtype):
    """What the operator makes of the masks of a chunk in some precision."""
    if dtype == chunk.rows.dtype:
        return chunk.prepared_mask
    return chunk.operator.prepare_mask(chunk.mask.astype(dtype))


def _lengths(chunk, block, start=0):
    """Lengths of the rows of a chunk from ``start`` on, for ties; None: rounding decides them."""
    return None if block.rough else lengths_of(chunk, start)


def _pick_joint(z, lengths):
    """Best transform (n,) of ``z`` (K, n, m), and ``z`` there, (n, K)."""
    index = first_best(np.einsum("knm,knm->nm", z, z), lengths, power=2)
    return index, z[:, np.arange(len(index)), index].T.astype(np.float64)


def _pick_whitened(chunk, P, block):
    """Best transform (n,) of ``root_t b``, and that there, (n, K)."""
    operator = chunk.operator
    if len(block.root) == 1:
        W = block.root[0] @ block.weights
        z = np.stack([operator.correlate(P, w) for w in W])
        return _pick_joint(z, _lengths(chunk, block))
    b = [operator.correlate(P, w) for w in block.weights]
    root = block.root.astype(b[0].dtype).transpose(0, 2, 1)
    step = max(1, WHITENED // (len(b) * len(root)))
    found = [
        _pick_joint(_whiten(b, root, i, i + step), _lengths(chunk, block, i))
        for i in range(0, len(b[0]), step)
    ]
    return [np.concatenate(parts) for parts in zip(*found, strict=True)]


def _whiten(b, root, first, last):
    """``root_t b`` of some rows of K products (n, m), (K, n, m); ``root`` is transposed."""
    rows = np.stack([products[first:last] for products in b], axis=-1)
    return (rows.transpose(1, 0, 2) @ root).transpose(2, 1, 0)


def _coded_each(chunk, P, blocks):
    """Best transforms, ``z`` and coefficients of S components by themselves, (S, n) each."""
    W = np.concatenate([block.weights for block in blocks])
    root = np.concatenate([block.root for block in blocks]).reshape(len(W), -1)
    products, lengths = _products(P, chunk.operator, W, root), None
    if chunk.hidden is not None:
        masks = _prepared_masks(chunk, widest(blocks, chunk.rows.dtype))
        lengths = lengths_each(masks, chunk.operator, W, root).astype(products.dtype, copy=False)
        products /= lengths
    index, z = _pick_each(products, blocks[0].polarity, _lengths(chunk, blocks[0]))
    coef = z * (root if root.shape[1] == 1 else root[np.arange(len(root))[:, None], index])
    if lengths is not None:
        coef /= np.take_along_axis(lengths, index[:, :, None], axis=2)[:, :, 0]
    return index, z, coef


def _pick_each(products, polarity, lengths):
    """Best transforms (S, n) and ``z`` (S, n), with its sign, of S components by themselves."""
    sizes = products if polarity == "positive" else np.abs(products)
    index = first_best(sizes, lengths)
    each, rows = np.arange(len(products))[:, None], np.arange(products.shape[1])
    z = products[each, rows, index].astype(np.float64)
    return index, np.maximum(z, 0.0) if polarity == "positive" else z


def _products(P, operator, W, root):
    """``<x_i, T_t w> / |T_t w|`` of S components by themselves, (S, n, m)."""
    constant = root.shape[1] == 1
    products = operator.correlate_each(P, W * root if constant else W)
    if not constant:
        products *= root[:, None].astype(products.dtype)
    return products


@dataclass(frozen=True)
class Stats:
    """All that an update needs to know of the rows: additive over chunks, float64.

    Parameters
    ----------
    rhs : array (K, L)
        ``sum_i a_i T_i* r_i``.
    weight : array (m, K, K), or (1, K, K) for isometries
        ``sum_{i: t_i = t} a_i a_i'``, summed over ``t`` for isometries.
    explained : float
        Explained energy ``sum_i |z_i|^2``; ``sum_i s_i^2`` for one component.
    hidden : array (K, K, p), or 0
        What gaps take away from ``N``, see :func:`gtpca.model.gaps.hidden_sums`.

    Those of several blocks have one more axis in front, (S, ..).
    """

    rhs: np.ndarray
    weight: np.ndarray
    explained: Any
    hidden: Any = 0.0

    def __add__(self, other: Stats) -> Stats:
        return Stats(*(a + b for a, b in zip(self.fields, other.fields, strict=True)))

    def __getitem__(self, number: int) -> Stats:
        """One of several, where there is a leading axis for them."""
        hidden = self.hidden[number] if self.has_gaps else 0.0
        return Stats(self.rhs[number], self.weight[number], self.explained[number], hidden)

    def __rmul__(self, factor: float) -> Stats:
        return Stats(*(factor * field for field in self.fields))

    @property
    def fields(self) -> tuple:
        """All of them."""
        return self.rhs, self.weight, self.explained, self.hidden

    def stacked(self) -> Stats:
        """The same with a leading axis, (1, ..)."""
        hidden = self.hidden[None] if self.has_gaps else 0.0
        return Stats(self.rhs[None], self.weight[None], np.array([self.explained]), hidden)

    @property
    def has_gaps(self) -> bool:
        """Whether something was hidden."""
        return np.ndim(self.hidden) > 0


def statistics(chunk, block) -> Stats:
    """Match a chunk and reduce it to its :class:`Stats`."""
    operator, found = chunk.operator, match(chunk, block)
    weighted = (chunk.weigh(found.coef.T)).T
    rows, hidden = chunk.rows, 0.0
    if chunk.hidden is not None:
        rows, hidden = chunk.filled, hidden_sums(chunk, found.index, weighted, found.coef)
    if len(block) == 1:
        rhs = operator.adjoint_at(rows, found.index, weighted[:, 0])[None]
    else:
        rhs = operator.adjoint_block(rows, found.index, weighted)
    weight = second_moments(operator, found.index, weighted, found.coef)
    return Stats(rhs, weight, float(np.sum(chunk.weigh(found.explained))), hidden)


def explained_energy(chunk, block) -> float:
    """The energy of a chunk that a block explains."""
    return float(np.sum(chunk.weigh(match(chunk, block).explained)))


def second_moments(operator, index, weighted, coef):
    """``sum_{i: t_i = t} a_i a_i'``, shape (m, K, K); the sum over ``t`` for isometries."""
    if operator.isometric:
        return (weighted.T @ coef)[None]
    first, second = np.tril_indices(coef.shape[1])
    each = np.broadcast_to(index, (len(first), len(index)))
    sums = _sums_by_index(operator, each, weighted.T[first] * coef.T[second])
    total = np.empty((operator.n_transforms, *(coef.shape[1],) * 2))
    total[:, first, second] = total[:, second, first] = sums.T
    return total


def _sums_by_index(operator, index, values):
    """``sum_{i: t_i = t} values_i`` for each of several indices and values (S, n), (S, m)."""
    m = operator.n_transforms
    places = (index + m * np.arange(len(index))[:, None]).ravel()
    return np.bincount(places, values.ravel(), m * len(index)).reshape(-1, m)


def statistics_each(chunk, blocks) -> Stats:
    """:func:`statistics` of several blocks, as one with a leading axis (S, ..)."""
    if len(blocks[0]) == 1:
        P, size = chunk.prepared, _stack_size(chunk)
        parts = [_stacked(chunk, P, blocks[i : i + size]) for i in range(0, len(blocks), size)]
        if len(parts) == 1:
            return parts[0]
    else:
        parts = [statistics(chunk, block).stacked() for block in blocks]
    *sums, hidden = zip(*(part.fields for part in parts), strict=True)
    rhs, weight, explained = (np.concatenate(field) for field in sums)
    return Stats(rhs, weight, explained, 0.0 if chunk.hidden is None else np.concatenate(hidden))


def _stack_size(chunk):
    """How many components are matched at once."""
    operator = chunk.operator
    width = max(operator.n_features, operator.n_weights, operator.n_transforms)
    return max(1, operator.stacked // (len(chunk.rows) * width))


def _stacked(chunk, P, blocks):
    """:class:`Stats` of S components by themselves, all at once."""
    operator = chunk.operator
    index, z, coef = _coded_each(chunk, P, blocks)
    weighted = chunk.weigh(coef)
    hidden: Any = 0.0
    if operator.isometric:
        weight = np.einsum("sn,sn->s", weighted, coef)[:, None]
    else:
        weight = _sums_by_index(operator, index, weighted * coef)
    if chunk.hidden is not None:
        each = zip(index, weighted[:, :, None], coef[:, :, None], strict=True)
        hidden = np.stack([hidden_sums(chunk, *one) for one in each])
    rows = chunk.rows if chunk.hidden is None else chunk.filled
    rhs = operator.adjoint_each(rows, index, weighted)
    explained = np.sum(chunk.weigh(z**2), axis=1)
    return Stats(rhs[:, None], weight[:, :, None, None], explained, hidden)


def rows_as_weights(chunk, blocks):
    """Rows as weights, ``a_i T_i* x_i``, each in the pose of a block (1, L) of its own, (n, L)."""
    index, _, coef = _coded_each(chunk, chunk.prepared, blocks)
    rows = chunk.rows if chunk.hidden is None else chunk.filled
    return chunk.operator.adjoint_each(rows, index, coef * np.eye(len(coef)))


def update(operator, stats, W, steps=CG_STEPS, ridge=0.0):
    """The least-squares weights (K, L) for fixed codes, made orthonormal.

    ``steps`` of conjugate gradients, where these are needed, bring them nearer at least.
    """
    more = ridge_diagonals(operator, stats.weight, ridge) if ridge else 0.0
    if len(W) == 1 and stats.has_gaps:
        solved = solve_each(operator, stats.stacked(), W, steps, np.ravel(more))
    else:
        solved = solve_block(operator, stats.weight, stats.rhs, W, steps, stats.hidden, more)
    new = orthonormal(solved)
    return new if np.all(np.isfinite(new)) and np.any(new) else W


def update_each(operator, stats, stack, steps=CG_STEPS, ridge=0.0):
    """:func:`update` of several weights (S, K, L), each with its own of the stacked ``stats``."""
    if stack.shape[1] > 1:
        return np.array([update(operator, stats[s], W, steps, ridge) for s, W in enumerate(stack)])
    more = ridge_diagonals(operator, stats.weight, ridge)[:, 0, 0] if ridge else 0.0
    if stats.has_gaps:
        solved = solve_each(operator, stats, stack[:, 0], steps, more)
    else:
        how = (stats.weight[:, :, 0, 0], stats.rhs[:, 0], stack[:, 0], steps, more)
        solved = operator.solve_normal_each(*how)
    norms = np.linalg.norm(solved, axis=1)[:, None]
    good = (norms > 0) & (norms < np.inf)
    return np.where(good, solved / np.where(good, norms, 1.0), stack[:, 0])[:, None]


def solve_block(operator, weight, rhs, W0, steps=CG_STEPS, hidden=0.0, more=0.0):
    """Solve ``sum_t,k weight_tjk T_t* T_t w_k = rhs_j`` from ``W0``; the unseen keeps its value.

    Parameters
    ----------
    operator : Operator
    weight : array (m, K, K), or (1, K, K) for isometries
    rhs, W0 : arrays (K, L)
    steps : int
        Of conjugate gradients, where these are needed.
    hidden : array (K, K, p) or 0
        What gaps take away, see :class:`Stats`.
    more : array (K, K, L) or 0
        What a ridge adds, see :func:`gtpca.model.ridge.ridge_diagonals`.
    """
    gaps = np.ndim(hidden) > 0
    if len(rhs) == 1 and not gaps:
        return operator.solve_normal(weight[:, 0, 0], rhs[0], W0[0], steps, np.ravel(more))[None]
    if operator.isometric and not gaps:
        A = weight.sum(axis=0)
        return W0 + np.linalg.pinv(A, rcond=SINGULAR, hermitian=True) @ (rhs - A @ W0)
    if operator.selects:
        return _solve_each_weight(_diagonals(operator, weight) - hidden + more, rhs, W0)
    system = operator.normal_system(weight)

    def times(v):
        return (system @ v[0])[None]

    flat = (rhs.reshape(1, -1), W0.reshape(1, -1))
    times = less_hidden(operator, times, hidden) if gaps else times
    times = with_ridge(times, more) if np.ndim(more) else times
    return conjugate_gradients(times, *flat, steps).reshape(rhs.shape)


def _diagonals(operator, weight):
    """``sum_t weight_tjk T_t* T_t`` of operators for which it is diagonal, (K, K, L)."""
    K = weight.shape[1]
    if operator.isometric:
        return weight.sum(axis=0)[:, :, None] * np.ones(operator.n_weights)
    pairs = weight.transpose(1, 2, 0).reshape(K * K, -1)
    return operator.normal_diagonals(pairs).reshape(K, K, -1)


def _solve_each_weight(A, rhs, W0):
    """One K x K system per weight: ``sum_k A_jkl w_kl = rhs_jl``, from ``W0`` (K, L)."""
    A = A.transpose(2, 0, 1)
    gap = rhs.T[:, :, None] - A @ W0.T[:, :, None]
    return W0 + (np.linalg.pinv(A, rcond=SINGULAR, hermitian=True) @ gap)[:, :, 0].T
