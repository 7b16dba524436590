"""Operators with a single transform: principal components, found directly and all at once.

For a single transform ``T`` the problem is ordinary PCA in the range of ``T``. With
``G = T* Q T``, where ``Q`` is the feature weight, and ``V = T G^(-1/2)``, whose columns are
orthonormal, the components are ``w_k = G^(-1/2) u_k``, where ``u_k`` are the leading eigenvectors
of ``V* Q (sum_i x_i x_i') Q V``.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from gtpca.solvers.base import SolverResult

__all__ = ["solve_directly"]

DENSE_WEIGHTS = 4096  # up to here the covariance matrix is formed
BISECTED = 64  # exponent of its trace: LAPACK looks for few eigenvalues up to an absolute error


def solve_directly(chunks, n_components, random_state):
    """The leading components of an operator with one transform.

    Parameters
    ----------
    chunks : Chunks
        With an operator of one transform.
    n_components : int
    random_state : RandomState

    Returns
    -------
    list of SolverResult, in descending order of explained energy
    """
    operator = chunks.operator
    T, q = operator.matrix(), operator.feature_weight
    whiten = None if q is None and _is_identity(T) else _whitening(T, q)
    T = None if _is_identity(T) else T
    if chunks.n_rows <= min(operator.n_weights, DENSE_WEIGHTS):
        values, U = _few_rows(np.concatenate(chunks.collect(_seen, T)), whiten, n_components)
    elif operator.n_weights <= DENSE_WEIGHTS or n_components >= operator.n_weights:
        values, U = _dense(chunks.sum(covariance, T), whiten, n_components)
    else:
        v0 = random_state.standard_normal(operator.n_weights)
        values, U = _lanczos(chunks, T, whiten, n_components, v0)
    W = U if whiten is None else whiten @ U
    W = W / np.maximum(np.linalg.norm(W, axis=0), np.finfo(float).tiny)
    order = np.argsort(values)[::-1]
    return [SolverResult(W[:, j][None], [max(float(values[j]), 0.0)], 1) for j in order]


def _is_identity(T):
    size = T.shape[1]
    same = T.shape[0] == size and T.nnz == size and np.all(T.data == 1.0)
    return bool(same and np.array_equal(T.indices, np.arange(size)))


def _whitening(T, q):
    """``G^(-1/2)`` on the weights that ``T`` sees, zero on the others."""
    G = sparse.csr_array(T.T @ (T if q is None else sparse.diags_array(q) @ T))
    diagonal = G.diagonal()
    if G.nnz == np.count_nonzero(diagonal):
        root = np.sqrt(np.where(diagonal > 0, diagonal, np.inf))
        return sparse.diags_array(1 / root).tocsr()
    values, vectors = linalg.eigh(G.toarray())
    keep = values > 1e-12 * values[-1]
    return (vectors[:, keep] / np.sqrt(values[keep])) @ vectors[:, keep].T


def _seen(chunk, T):
    """Rows in weight space, ``T* Q x_i``, times the root of their sample weights: (n, L)."""
    rows = chunk.weighed if T is None else (T.T.astype(chunk.rows.dtype) @ chunk.weighed.T).T
    return (
        rows if chunk.weight is None else rows * np.sqrt(chunk.weight)[:, None].astype(rows.dtype)
    )


def covariance(chunk, T):
    """``sum_i (T* x_i)(T* x_i)'`` in float64, shape (L, L)."""
    Y = _seen(chunk, T)
    return (Y.T @ Y).astype(np.float64)


def project(chunk, T, v):
    """``sum_i T* x_i <T* x_i, v>``, shape (L,)."""
    Y = _seen(chunk, T)
    return (Y.T @ (Y @ v.astype(Y.dtype))).astype(np.float64)


def _few_rows(Y, whiten, k):
    Y = Y.astype(np.float64) if whiten is None else (whiten.T @ Y.T.astype(np.float64)).T
    _, s, Vt = linalg.svd(Y, full_matrices=False, overwrite_a=whiten is not None)
    return s[:k] ** 2, Vt[:k].T


def _dense(C, whiten, k):
    if whiten is not None:
        C = whiten.T @ (whiten.T @ C.T).T
    size, shift = len(C), BISECTED - int(np.frexp(np.trace(C))[1])
    C = np.ldexp(C, shift)
    values, U = linalg.eigh(C, subset_by_index=[size - k, size - 1], overwrite_a=True)
    return np.ldexp(values, -shift), U


def _lanczos(chunks, T, whiten, k, v0):
    def times(u):
        v = u.ravel() if whiten is None else whiten @ u.ravel()
        y = chunks.sum(project, T, v)
        return y if whiten is None else whiten.T @ y

    size = len(v0)
    return eigsh(LinearOperator((size, size), times, dtype=np.float64), k=k, v0=v0)
