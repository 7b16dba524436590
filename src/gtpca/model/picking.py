"""The best transform of every row for a block of components, and the projection there.

The energy that a block explains of a row under ``T_t`` is ``|z|^2`` with ``z = root b``, where
``b`` are the products of the row with all ``T_t w_k`` and ``root root'`` is the inverse of a Gram
matrix. Complete rows share the Gram matrices of the block (:class:`SharedGrams`); rows with gaps
have their own, of the values that they show (:class:`OwnGrams`). :func:`grams_of` a chunk are the
former or the latter: a match does not ask again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from gtpca.model.between import best_between, searches
from gtpca.model.gaps import Factors, factor_dtype, hidden_sums, lengths_each, pieces, widest
from gtpca.model.ties import first_best, lengths_of
from gtpca.operators.base import lengths_at

__all__ = ["RowGrams", "grams_of", "sizes_of", "upright"]

WHITENED = 2**18  # products that are whitened at once: they should fit into the processor's cache
FEW_TOGETHER = 4  # components up to which sums of products are faster than small matrix products


class RowGrams(ABC):
    """The Gram matrices by which the rows of a chunk are matched.

    Parameters
    ----------
    chunk : Chunk
    """

    def __init__(self, chunk):
        self.chunk, self.operator = chunk, chunk.operator

    @abstractmethod
    def best(self, P, block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Best transform (n,) of a block, ``z`` (n, K) and coefficients (n, K).

        ``P`` are the rows, as prepared by the operator.
        """

    @abstractmethod
    def best_each(self, P, blocks) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Best transforms, ``z`` and coefficients of S separate components, (S, n) each."""

    @abstractmethod
    def whitened(self, b, block) -> np.ndarray:
        """``z`` of products (K, n, m) with a block, (K, n, m)."""

    @abstractmethod
    def lengths(self, block, pose, G) -> np.ndarray:
        """``|T w_k|`` at the poses (n, p) of the rows, whose Gram matrices are ``G``, (n, K)."""

    @abstractmethod
    def missing(self, index, weighted, coef) -> Any:
        """What gaps subtract from the normal equations: :func:`gtpca.model.gaps.hidden_sums`."""

    @abstractmethod
    def missing_each(self, index, weighted, coef) -> Any:
        """The same for S separate components, for arrays (S, n), (S, 1, 1, p)."""

    def ties(self, block, start=0):
        """Lengths of the rows from ``start`` on, for ties; None: decided by rounding."""
        return None if block.rough else lengths_of(self.chunk, start)


class SharedGrams(RowGrams):
    """Complete rows: the Gram matrices ``G_t`` are those of the block."""

    def best(self, P, block):
        index, z = self._pick(P, block)
        return index, z, np.einsum("nj,njk->nk", z, block.at(block.root, index))

    def _pick(self, P, block):
        """Best transform (n,) of ``root_t b``, and its value there, (n, K)."""
        if searches(self.operator):
            stack, root = block.weights[None], block.root[None]
            [index], [z] = best_between(self.operator, P, stack, root, lengths=self.ties(block))
            return index, z
        if len(block.root) == 1:
            z = correlated(self.operator, P, block.root[0] @ block.weights)
            return pick_joint(z, self.ties(block))
        b = correlated(self.operator, P, block.weights)
        root = block.root.astype(b[0].dtype)
        step = max(1, WHITENED // (len(b) * len(root)))
        found = [
            pick_joint(_whiten(b[:, i : i + step], root), self.ties(block, i))
            for i in range(0, len(b[0]), step)
        ]
        return [np.concatenate(parts) for parts in zip(*found, strict=True)]

    def best_each(self, P, blocks):
        W, root = stacked(blocks)
        if searches(self.operator):
            return self._best_between(P, blocks[0], W, root)
        products = scaled_products(P, self.operator, W, root)
        index, z = pick_each(products, blocks[0].polarity, self.ties(blocks[0]))
        return index, z, z * roots_at(root, index)

    def _best_between(self, P, block, W, root):
        """:meth:`best_each` of weights (S, L) and roots (S, m), for shifts between samples."""
        positive = block.polarity == "positive"
        each = W[:, None], root[:, :, None, None]
        index, z = best_between(self.operator, P, *each, positive, self.ties(block))
        z = upright(z[:, :, 0], block.polarity)
        return index, z, z * root[np.arange(len(root))[:, None], index]

    def whitened(self, b, block):
        if len(block.root) == 1:
            return np.einsum("jk,knm->jnm", block.root[0], b)
        return np.einsum("mjk,knm->jnm", block.root, b)

    def lengths(self, block, pose, G):
        return np.sqrt(np.einsum("nkk->nk", G))

    def missing(self, index, weighted, coef):
        return 0.0

    def missing_each(self, index, weighted, coef):
        return 0.0


class OwnGrams(RowGrams):
    """Rows with gaps: ``G_t`` without the part that is hidden, another one for every row."""

    def best(self, P, block):
        dtype, found = factor_dtype(block, self.chunk.rows.dtype), []
        masks = self._masks(dtype)
        for part in pieces(len(self.chunk.rows), self.operator, block, dtype):
            factors = Factors(masks[part], self.operator, block)
            b = correlated(self.operator, P[part], block.weights)
            b = b.astype(dtype, copy=False)
            index, z = pick_joint(factors.whiten(b), self.ties(block, part.start))
            found.append((index, z, factors.root_at(index)))
        index, z, root = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return index, z, np.einsum("nj,njk->nk", z, root)

    def best_each(self, P, blocks):
        W, root = stacked(blocks)
        products = scaled_products(P, self.operator, W, root)
        masks = self._masks(widest(blocks, self.chunk.rows.dtype))
        lengths = lengths_each(masks, self.operator, W, root).astype(products.dtype, copy=False)
        products /= lengths
        index, z = pick_each(products, blocks[0].polarity, self.ties(blocks[0]))
        at = np.take_along_axis(lengths, index[:, :, None], axis=2)[:, :, 0]
        return index, z, z * roots_at(root, index) / at

    def _masks(self, dtype):
        """The masks of the chunk, prepared by the operator in a given precision."""
        if dtype == self.chunk.rows.dtype:
            return self.chunk.prepared_mask
        return self.operator.prepare_mask(self.chunk.lack.astype(dtype))

    def whitened(self, b, block):
        return Factors(self._masks(np.dtype(np.float64)), self.operator, block).whiten(b)

    def lengths(self, block, pose, G):
        return lengths_at(self.operator, block.weights, pose)

    def missing(self, index, weighted, coef):
        return hidden_sums(self.chunk, index, weighted, coef)

    def missing_each(self, index, weighted, coef):
        each = zip(index, weighted[:, :, None], coef[:, :, None], strict=True)
        return np.concatenate([hidden_sums(self.chunk, *one) for one in each])


def grams_of(chunk) -> RowGrams:
    """The Gram matrices by which the rows of a chunk are matched."""
    return SharedGrams(chunk) if chunk.hidden is None else OwnGrams(chunk)


def correlated(operator, P, W):
    """``<x_i, T_t w_k>``, (K, n, m): one component after the other, to save memory."""
    first = operator.correlate(P, W[:1])
    if len(W) == 1:
        return first
    found = np.empty((len(W), *first.shape[1:]), first.dtype)
    found[0] = first[0]
    del first
    for products, w in zip(found[1:], W[1:], strict=True):
        products[:] = operator.correlate(P, w[None])[0]
    return found


def scaled_products(P, operator, W, root):
    """``<x_i, T_t w> / |T_t w|`` of S separate components, (S, n, m)."""
    constant = root.shape[1] == 1
    products = operator.correlate(P, W * root if constant else W)
    if not constant:
        products *= root[:, None].astype(products.dtype)
    return products


def stacked(blocks):
    """The weights (S, L) of S blocks of one component, and their roots (S, m) or (S, 1)."""
    W = np.concatenate([block.weights for block in blocks])
    return W, np.concatenate([block.root for block in blocks]).reshape(len(W), -1)


def roots_at(root, index):
    """Roots (S, m) or (S, 1) at the transforms (S, n)."""
    return root if root.shape[1] == 1 else root[np.arange(len(root))[:, None], index]


def pick_joint(z, lengths):
    """Best transform (n,) of ``z`` (K, n, m), and ``z`` there, (n, K)."""
    index = first_best(np.einsum("knm,knm->nm", z, z), lengths, power=2)
    return index, z[:, np.arange(len(index)), index].T.astype(np.float64)


def pick_each(products, polarity, lengths):
    """Best transforms (S, n) and ``z`` (S, n), with its sign, of S separate components."""
    index = first_best(sizes_of(products, polarity), lengths)
    each, rows = np.arange(len(products))[:, None], np.arange(products.shape[1])
    return index, upright(products[each, rows, index].astype(np.float64), polarity)


def sizes_of(products, polarity):
    """What is compared between transforms: signed products if only upright ones count."""
    return products if polarity == "positive" else np.abs(products)


def upright(z, polarity):
    """Signed lengths ``z``; a negative one is 0 if only upright ones count."""
    return np.maximum(z, 0.0) if polarity == "positive" else z


def _whiten(b, root):
    """``root_t b`` of products (K, n, m) and matrices (m, K, K), shape (K, n, m)."""
    if len(b) > FEW_TOGETHER:
        each = np.stack(list(b), axis=-1).transpose(1, 0, 2)
        return (each @ root.transpose(0, 2, 1)).transpose(2, 1, 0)
    z = np.empty_like(b)
    for whitened, row in zip(z, np.ascontiguousarray(root.transpose(1, 2, 0)), strict=True):
        np.multiply(b[0], row[0], out=whitened)
        for products, entries in zip(b[1:], row[1:], strict=True):
            whitened += products * entries
    return z
