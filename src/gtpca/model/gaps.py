r"""Rows with gaps: what is hidden counts as zero, with a small weight.

Let ``h_i`` be 1 where nothing of row ``i`` was observed and 0 elsewhere, ``x_i`` zero in the gaps.
The objective weighs features with ``m_i = 1 - (1 - rho) h_i``: 1 where observed, ``rho`` in gaps,

    min over w, t_i, a_i  of  sum_i < m_i, (x_i - a_i T_i w)^2 >,

so a match takes the transform with the largest ``<x, T w>^2 / <m, (T w)^2>`` and an update solves
``N w = sum_i a_i T_i* x_i`` with ``N = sum_i a_i^2 T_i* diag(m_i) T_i``. Both raise the explained
energy, and nothing changes where nothing is missing. With ``rho = 0`` a transform under which hardly
anything of ``T w`` is observed could win, with coefficients as large as it likes.

For a block, ``root_t G_t root_t' = 1`` for complete rows. With gaps the Gram matrix of row ``i`` is
``root_t G_it root_t' = 1 - (1 - rho) S_it = C C'`` where ``S_it`` is that of what is hidden, between
0 and 1. All eigenvalues are at least ``rho``, so the Cholesky factor ``C`` is always there, and the
explained energy is ``|z|^2`` with ``z = C^-1 root_t b``.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator

__all__ = ["HIDDEN_WEIGHT", "Whitening", "hidden_sums", "less_hidden"]

HIDDEN_WEIGHT = 0.1  # rho; benchmarks/bench_gaps.py compares others


class Whitening:
    """The Cholesky factors ``C`` of all rows and transforms, for K components.

    Parameters
    ----------
    P : what ``operator.prepare_mask`` made of masks (n, d)
    operator : Operator
    block : Block
    """

    def __init__(self, P, operator, block):
        S = hidden_grams(P, operator, block)
        self.factor = cholesky(S)

    def __call__(self, z):
        """``C^-1 z`` of ``z`` (K, n, m), in place."""
        for k, row in enumerate(self.factor):
            for j in range(k):
                z[k] -= row[j] * z[j]
            z[k] /= row[k]
        return z

    def root_at(self, index):
        """``C^-1`` of every row at its transform, (n, K, K) in float64."""
        K, rows = len(self.factor), np.arange(len(index))
        C = np.zeros((len(index), K, K))
        for k, row in enumerate(self.factor):
            for j, entries in enumerate(row):
                C[:, k, j] = entries[rows, index]
        return np.linalg.inv(C)


def hidden_grams(P, operator, block):
    """``S_it`` of all rows and transforms: arrays (n, m) in a lower triangle, S[j][k], k <= j."""
    if len(block.root) == 1:
        return mask_products(P, operator, block.root[0] @ block.weights)
    S = mask_products(P, operator, block.weights)
    root = block.root.astype(S[0][0].dtype)
    if len(S) == 1:
        return [[S[0][0] * root[:, 0, 0] ** 2]]
    K = range(len(S))
    half = [[sum(root[:, j, a] * S[max(a, b)][min(a, b)] for a in K) for b in K] for j in K]
    return [[sum(half[j][b] * root[:, k, b] for b in K) for k in range(j + 1)] for j in K]


def mask_products(P, operator, W):
    """``<h_i, (T_t w_j) (T_t w_k)>`` for k <= j, arrays (n, m) in a lower triangle."""
    return [[operator.correlate_mask(P, w, v) for v in [*W[:j], w]] for j, w in enumerate(W)]


def cholesky(S):
    """The lower triangle of ``C`` with ``C C' = 1 - (1 - rho) S``, in place of ``S``."""
    for j, row in enumerate(S):
        for k, entries in enumerate(row):
            entries *= HIDDEN_WEIGHT - 1
            for i in range(k):
                entries -= row[i] * S[k][i]
            if k < j:
                entries /= S[k][k]
        row[j] += 1
        np.sqrt(np.maximum(row[j], HIDDEN_WEIGHT, out=row[j]), out=row[j])
    return S


def gram_at(chunk, block, index):
    """``<m_i, (T_i w_j) (T_i w_k)>`` of every row at its transform, (n, K, K).

    A little is added to the diagonal, as in ``block.nested_root``.
    """
    weight = 1 - (1 - HIDDEN_WEIGHT) * chunk.hidden
    moved = np.stack([chunk.operator.apply_at(w, index) for w in block.weights], axis=1)
    ridge = block.floor * block.gram.max(initial=0.0) * np.eye(len(block))
    return (moved * weight[:, None]) @ moved.transpose(0, 2, 1) + ridge


def hidden_sums(chunk, index, coef, weighted):
    """``(1 - rho) sum_i a_ij a_ik T_i* diag(h_i) T_i`` of a chunk with gaps, (K, K, p).

    Parameters
    ----------
    chunk : Chunk
    index : int array (n,)
    coef, weighted : arrays (n, K)
        Coefficients, and the same times the sample weights.

    Returns
    -------
    array (K, K, p) as :meth:`~gtpca.operators.base.Operator.mask_sums` says
    """
    K = coef.shape[1]
    first, second = np.tril_indices(K)
    products = (1 - HIDDEN_WEIGHT) * weighted[:, first] * coef[:, second]
    sums = chunk.operator.mask_sums(chunk.mask, index, products)
    total = np.empty((K, K, sums.shape[1]))
    total[first, second] = total[second, first] = sums
    return total


def less_hidden(operator, system, hidden):
    """The operator ``system - hidden`` on flat blocks (K L,), for ``hidden`` (K, K, p)."""
    K, L = len(hidden), operator.n_weights

    def times(v):
        W = v.reshape(K, L)
        pairs = [[operator.mask_normal(hidden[j, k], W[k]) for k in range(K)] for j in range(K)]
        return system @ v - np.array([sum(row) for row in pairs]).ravel()

    return LinearOperator((K * L, K * L), times, dtype=np.float64)
