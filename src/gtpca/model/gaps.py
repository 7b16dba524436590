r"""Rows with gaps: hidden values count as zeros with a small weight.

Let ``h_i`` be 1 where row ``i`` was not observed and 0 elsewhere, and ``x_i`` zero in the gaps.
The objective weights features with ``m_i = 1 - (1 - rho) h_i``: 1 where observed, ``rho`` in gaps,

    min over w, t_i, a_i  of  sum_i < m_i, (x_i - a_i T_i w)^2 >,

so a match takes the transform with the largest ``<x, T w>^2 / <m, (T w)^2>`` and an update solves
``N w = sum_i a_i T_i* x_i`` with ``N = sum_i a_i^2 T_i* diag(m_i) T_i``. Both raise the explained
energy, and nothing changes if nothing is missing. With ``rho = 0`` a transform under which hardly
anything of ``T w`` is observed could win, with arbitrarily large coefficients.

For a block, the Gram matrix of row ``i`` is ``G_it = G_t - (1 - rho) H_it = C C'``, where ``H_it``
is the Gram matrix of what is hidden under ``T_t``, one correlation of the masks for every pair of
components. As ``G_it >= rho G_t``, every pivot of its Cholesky factor ``C`` is at least ``rho``
times that of ``G_t``; the energy that a block explains is ``|z|^2`` with ``z = C^-1 b``.
"""

from __future__ import annotations

import numpy as np

from gtpca.operators.normal import of_pairs, pair_products

__all__ = [
    "HIDDEN_WEIGHT",
    "Factors",
    "factor_dtype",
    "gram_at",
    "hidden_sums",
    "lengths_each",
    "pieces",
    "widest",
]

HIDDEN_WEIGHT = 0.02  # rho; benchmarks/bench_gaps.py compares others
PIECE_BYTES = 2**23  # of the factors of the rows that are matched at once


def lengths_each(P, operator, W, root):
    """``<m_i, (T_t w)^2>^(1/2) / |T_t w|`` of S separate components, (S, n, m).

    Parameters
    ----------
    P : masks (n, d), as prepared by ``operator.prepare_mask``
    operator : Operator
    W : array (S, L)
    root : array (S, m), or (S, 1) for isometries
        ``1 / |T_t w|``, zero where that is too small to be meaningful.
    """
    squares = operator.correlate_mask(P, W, W)
    squares *= ((HIDDEN_WEIGHT - 1) * root[:, None] ** 2).astype(squares.dtype)
    squares += 1
    np.maximum(squares, HIDDEN_WEIGHT, out=squares)
    return np.sqrt(squares, out=squares)


def pieces(n_rows, operator, block, dtype):
    """Slices of the rows whose factors take about ``PIECE_BYTES``."""
    pairs = len(block) * (len(block) + 1) // 2
    step = max(1, PIECE_BYTES // (pairs * operator.n_transforms * np.dtype(dtype).itemsize))
    return [slice(start, start + step) for start in range(0, n_rows, step)]


class Factors:
    """The Cholesky factors ``C`` of some rows and all transforms, (K, K, n, m): lower triangles.

    Parameters
    ----------
    P : masks (n, d), as prepared by ``operator.prepare_mask``
    operator : Operator
    block : Block
    """

    def __init__(self, P, operator, block):
        W, G, K = block.weights, visible_gram(block), len(block)
        least = np.sqrt(HIDDEN_WEIGHT) * np.einsum("tkk->kt", np.linalg.cholesky(G))
        for j in range(K):
            lack = operator.correlate_mask(P, W[: j + 1], np.repeat(W[j : j + 1], j + 1, axis=0))
            if not j:
                self.factors = np.empty((K, K, *lack.shape[1:]), lack.dtype)
            row = np.multiply(lack, HIDDEN_WEIGHT - 1, out=self.factors[j, : j + 1])
            row += G[:, j, : j + 1].T[:, None].astype(row.dtype)
        for k in range(K):
            self._factorise(k, least[k].astype(self.factors.dtype))

    def _factorise(self, k, least):
        """``C_jk = (G_jk - sum_{i < k} C_ji C_ki) / C_kk`` in place of ``G_jk``, for j >= k."""
        C = self.factors
        if k:
            C[k:, k] -= np.einsum("jinm,inm->jnm", C[k:, :k], C[k, :k])
        np.sqrt(np.maximum(C[k, k], least**2, out=C[k, k]), out=C[k, k])
        C[k + 1 :, k] /= C[k, k]

    def whiten(self, b):
        """``C^-1 b`` of products (K, n, m), in place."""
        for k, row in enumerate(self.factors):
            if k:
                b[k] -= np.einsum("inm,inm->nm", row[:k], b[:k])
            b[k] /= row[k]
        return b

    def root_at(self, index):
        """``C^-1`` of every row at its transform, (n, K, K) in float64."""
        C = np.tril(self.factors[:, :, np.arange(len(index)), index].transpose(2, 0, 1))
        return np.linalg.inv(C.astype(np.float64))


def visible_gram(block):
    """Gram matrices (m, K, K) in which directions that are too small get the largest length.

    No row has a part along them, so they get no coefficient.
    """
    length = np.linalg.norm(block.root, axis=2, keepdims=True)
    kept = np.divide(block.root, length, out=np.zeros_like(block.root), where=length > 0)
    faint = np.eye(len(block)) - kept.transpose(0, 2, 1) @ kept
    faint[np.all(length > 0, axis=(1, 2))] = 0.0
    return block.gram + max(block.gram.max(initial=0.0), np.finfo(float).tiny) * faint


def factor_dtype(block, dtype):
    """The precision in which pivots of factors exceed rounding errors.

    The eigenvalues ``1 / |root_tk|^2`` of ``G_t`` that count may shrink by the factor ``rho``,
    while each of K sums over masks has an error of the precision times the largest of them. If that
    is more, coefficients in the precision ``dtype`` of the rows could be anything.
    """
    longest = np.sum(block.root**2, axis=2).max(initial=0.0)
    wrong = len(block) * np.finfo(dtype).eps * block.gram.max(initial=0.0)
    return np.dtype(np.float64 if wrong * longest > HIDDEN_WEIGHT else dtype)


def widest(blocks, dtype):
    """The widest :func:`factor_dtype` of several blocks."""
    return max((factor_dtype(block, dtype) for block in blocks), key=lambda one: one.itemsize)


def gram_at(chunk, block, index):
    """``<m_i, (T_i w_j) (T_i w_k)>`` of every row at its transform, (n, K, K).

    A small value is added to the diagonal, as in ``block.nested_root``.
    """
    moved = np.stack([chunk.operator.apply_at(w, index) for w in block.weights], axis=1)
    ridge = block.floor * block.gram.max(initial=0.0) * np.eye(len(block))
    weights = chunk.value_weights(HIDDEN_WEIGHT)
    return (moved * weights[:, None]) @ moved.transpose(0, 2, 1) + ridge


def hidden_sums(chunk, index, weighted, coef):
    """``(1 - rho) sum_i a_ij a_ik T_i* diag(h_i) T_i`` of a chunk, (1, K, K, p).

    Parameters
    ----------
    chunk : Chunk
    index : int array (n,)
    weighted, coef : arrays (n, K)
        Coefficients times the sample weights, and coefficients.

    Returns
    -------
    array (1, K, K, p) as :meth:`~gtpca.operators.base.Operator.mask_sums` says
    """
    K, products = coef.shape[1], pair_products((1 - HIDDEN_WEIGHT) * weighted, coef)
    # the systems of a block can be so ill-conditioned that the energy drops in single precision
    mask = chunk.lack if K == 1 else chunk.lack.astype(np.float64)
    return of_pairs(chunk.operator.mask_sums(mask, index, products), K)[None]
