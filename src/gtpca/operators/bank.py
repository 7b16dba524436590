"""A finite list of transforms, given as one sparse matrix."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from gtpca.operators.base import Operator

__all__ = ["BankOperator"]


class BankOperator(Operator):
    """A finite list of transforms, given as one sparse matrix.

    Parameters
    ----------
    matrix : sparse array (m * d, L)
        Row ``t * d + j`` holds feature ``j`` of ``T_t``.
    sample_shape, weight_shape : tuple of int
    poses : dict of str to array (m,)
        The columns of :meth:`describe`.
    moved_axes : tuple of int, optional
    reference : int
        The identity, or the transform nearest to it.
    """

    def __init__(self, matrix, sample_shape, weight_shape, poses, moved_axes=None, reference=0):
        n_transforms = matrix.shape[0] // math.prod(sample_shape)
        super().__init__(sample_shape, weight_shape, n_transforms, moved_axes)
        self._matrix = sparse.csr_array(matrix, dtype=np.float64)
        self._transposed = self._matrix.T.tocsr()
        self._poses, self.reference = poses, int(reference)
        single = np.diff(self._matrix.indptr).max(initial=0) <= 1
        self.selects = bool(single and np.all(self._matrix.data == 1.0))
        counts = self.apply(np.ones(self.n_weights)).sum(axis=1)
        self.isometric = (
            self.selects and bool(np.all(counts == self.n_weights)) and self._injective()
        )

    def _injective(self):
        """Whether every transform shows every weight exactly once."""
        rows = np.repeat(np.arange(self.n_transforms), self.n_weights)
        pairs = rows * self.n_weights + self._matrix.indices
        return len(np.unique(pairs)) == len(pairs)

    def apply(self, w):
        return (self._matrix @ w).reshape(self.n_transforms, self.n_features)

    def adjoint(self, M):
        return self._transposed @ np.asarray(M, dtype=np.float64).ravel()

    def norms(self, w):
        return self._constant_norms(w) if self.isometric else super().norms(w)

    def apply_rows(self, V, index):
        return self._each_row(V, index, np.empty((len(V), self.n_features), V.dtype), lambda A: A)

    def adjoint_rows(self, X, index):
        return self._each_row(X, index, np.empty((len(X), self.n_weights)), lambda A: A.T)

    def _each_row(self, rows, index, out, direction):
        """Fill ``out`` (n, ..) with each row times the matrix of its transform."""
        d = self.n_features
        for t in np.unique(index):
            mine = index == t
            out[mine] = (direction(self._matrix[t * d : (t + 1) * d]) @ rows[mine].T).T
        return out

    def normal_block(self, weight, W):
        shape = (self.n_transforms, self.n_features, len(W))
        mixed = (self._matrix @ W.T).reshape(shape) @ weight.transpose(0, 2, 1)
        return (self._transposed @ mixed.reshape(-1, len(W))).T

    def matrix(self):
        return self._matrix

    def describe(self, index):
        return {name: np.asarray(values)[index] for name, values in self._poses.items()}
