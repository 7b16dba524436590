"""A block: K components that take one pose together. One component is a block with K = 1.

For a row ``x`` and the transform ``T_t``, with ``b_k = <x, T_t w_k>`` and the Gram matrix ``G_t``
of the ``T_t w_k``, the coefficients of the projection on their span are ``c = G_t^-1 b`` and the
energy it explains is ``b' G_t^-1 b = |z|^2`` with ``z = root_t b`` and ``root_t = G_t^(-1/2)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from gtpca.operators.base import CG_STEPS, CG_TOLERANCE

__all__ = ["Block", "make_block", "orthonormal", "separate_blocks", "solve_block"]

SINGULAR = 1e-12  # eigenvalues below this share of the largest count as zero


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
    floor : float
        Eigenvalues of the Gram matrices below this share of the largest count as zero.
    """

    weights: np.ndarray
    root: np.ndarray
    norms: np.ndarray
    gram: np.ndarray
    floor: float

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


def make_block(operator, W, dtype=np.float64) -> Block:
    """The block of weights ``W`` (K, L), for rows of ``dtype``."""
    G = (W @ W.T)[None] if operator.isometric else operator.gram(W)
    floor = max(np.finfo(dtype).eps, SINGULAR)
    norms = np.sqrt(np.einsum("tkk->tk", G).clip(min=0.0))
    return Block(W, _inverse_root(G, floor), norms, G, floor)


def separate_blocks(operator, weights, dtype=np.float64) -> list[Block]:
    """One block for each of the weights (k, L)."""
    return [make_block(operator, w[None], dtype) for w in weights]


def _inverse_root(G, floor):
    """``G_t^(-1/2)`` of symmetric matrices (m, K, K), with eigenvalues below the floor dropped."""
    if G.shape[1] == 1:
        values, vectors = G[:, 0], np.ones((1, 1, 1))
    else:
        values, vectors = np.linalg.eigh(G)
    faint = values <= floor * values.max(initial=0.0)
    scale = np.where(faint, 0.0, 1 / np.sqrt(np.where(faint, 1.0, values)))
    return scale[:, :, None] * vectors.transpose(0, 2, 1)


def orthonormal(W):
    """The orthonormal rows nearest to those of ``W`` (K, L) with the same span."""
    if len(W) == 1:
        norm = np.linalg.norm(W)
        return W / norm if norm > 0 else W
    U, _, Vt = np.linalg.svd(W, full_matrices=False)
    return U @ Vt


def solve_block(operator, weight, rhs, W0):
    """Solve ``sum_t,k weight_tjk T_t* T_t w_k = rhs_j`` from ``W0``; the unseen keeps its value.

    Parameters
    ----------
    operator : Operator
    weight : array (m, K, K), or (1, K, K) for isometries
    rhs, W0 : arrays (K, L)
    """
    if len(rhs) == 1:
        return operator.solve_normal(weight[:, 0, 0], rhs[0], W0[0])[None]
    if operator.isometric:
        A = weight.sum(axis=0)
        return W0 + np.linalg.pinv(A, rcond=SINGULAR, hermitian=True) @ (rhs - A @ W0)
    if operator.selects:
        return _solve_each_weight(operator, weight, rhs, W0)
    size = rhs.size
    system = LinearOperator(
        (size, size),
        lambda v: operator.normal_block(weight, v.reshape(rhs.shape)).ravel(),
        dtype=np.float64,
    )
    solved, _ = cg(system, rhs.ravel(), x0=W0.ravel(), rtol=CG_TOLERANCE, maxiter=CG_STEPS)
    return solved.reshape(rhs.shape)


def _solve_each_weight(operator, weight, rhs, W0):
    """One K x K system per weight, for operators with a diagonal ``T* T``."""
    K, ones = len(rhs), np.ones(operator.n_weights)
    A = np.empty((operator.n_weights, K, K))
    for j in range(K):
        for k in range(j + 1):
            A[:, j, k] = A[:, k, j] = operator.normal(weight[:, j, k], ones)
    gap = rhs.T[:, :, None] - A @ W0.T[:, :, None]
    return W0 + (np.linalg.pinv(A, rcond=SINGULAR, hermitian=True) @ gap)[:, :, 0].T
