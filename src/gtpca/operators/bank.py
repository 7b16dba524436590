"""A finite list of transforms, given as one sparse matrix."""

from __future__ import annotations

import itertools
import math
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree

from gtpca.operators.base import LARGE_BANK, Operator
from gtpca.operators.normal import Stencil
from gtpca.operators.pooling import pooled_shape, pooling
from gtpca.operators.poses import is_pose

__all__ = ["BankOperator"]

NEIGHBOURS = 16  # entries per weight up to which normal equations are assembled
READS = 8  # weights per feature up to which they are
MOST_NEAREST = 16  # weights that are averaged if they are equally near


class BankOperator(Operator):
    """A finite list of transforms, given as one sparse matrix.

    It finds out by itself whether the transforms select or are isometric.

    Parameters
    ----------
    matrix : sparse array (m * d, L)
        Row ``t * d + j`` holds feature ``j`` of ``T_t``.
    sample_shape, weight_shape : tuple of int
    poses : dict of str to array (m,)
        The columns of :meth:`describe`.
    moved_axes : tuple of int, optional
        The sample axes that the transforms act on; the others are channels, which
        ``center="samples"`` averages one by one. Default: all.
    reference : int
        The identity, or the transform nearest to it: the pose of scores that come without one.
    on_grid : bool
        Whether neighbours on the grid stay neighbours, so that a coarser grid gives about the same
        result. The solver may then try its starts there first, which is faster.
    domain : bool array (d,), optional
        Outside of it, rows of ``matrix`` are zero, see ``Operator``. Default: all features.
    quantities : iterable of PoseAxis
        What is known of the poses, see ``Operator``.
    """

    read: np.ndarray | None = None  # weights (L,) that others are tied to; None: there are no ties

    def __init__(
        self,
        matrix,
        sample_shape,
        weight_shape,
        poses,
        moved_axes=None,
        reference=0,
        on_grid=False,
        domain=None,
        quantities=(),
    ):
        n_transforms = matrix.shape[0] // math.prod(sample_shape)
        super().__init__(sample_shape, weight_shape, n_transforms, moved_axes, domain)
        self._coarser: dict[tuple[int, ...], BankOperator] = {}
        self._matrix = sparse.csr_array(matrix, dtype=np.float64)
        self._poses, self.reference, self.on_grid = poses, int(reference), on_grid
        self.quantities = tuple(quantities)
        single = np.diff(self._matrix.indptr).max(initial=0) <= 1
        self.selects = bool(single and np.all(self._matrix.data == 1.0))
        counts = self.apply(np.ones(self.n_weights)).sum(axis=1)
        self.isometric = (
            self.selects and bool(np.all(counts == self.n_weights)) and self._injective()
        )

    @cached_property
    def _transposed(self):
        return self._matrix.T.tocsr()

    def judged(self, domain: np.ndarray | None = None, read: np.ndarray | None = None):
        """The same transforms, compared with samples on a ``domain`` (d,), with weights tied.

        Where they would show weights other than those ``read`` (L,), they show the nearest of
        these, or the mean of several equally near ones.
        """
        matrix = self._matrix
        if domain is not None:
            matrix = rows_kept(matrix, np.tile(domain, self.n_transforms))
        if read is not None:
            matrix = matrix @ ties(read, self.weight_shape)
        found = BankOperator(
            matrix,
            self.grid,
            self.weight_shape,
            self._poses,
            moved_axes=self.moved_axes,
            reference=self.reference,
            on_grid=self.on_grid,
            domain=domain,
            quantities=self.quantities,
        )
        found.read = read
        return found

    def largest_shares(self, kept: np.ndarray) -> np.ndarray:
        """``max_t sum_j T_t[j, l]^2`` over the features that are ``kept`` (d,), (L,)."""
        most, d = np.zeros(self.n_weights), self.n_features
        for t in range(self.n_transforms):
            one = self._matrix[t * d : (t + 1) * d]
            shares = one.data * np.repeat(kept, np.diff(one.indptr))
            most = np.maximum(most, np.bincount(one.indices, shares**2, self.n_weights))
        return most

    @property
    def magnitude(self):
        if self._matrix.data.min(initial=0.0) >= 0:
            return self
        shapes = (self.sample_shape, self.weight_shape)
        return BankOperator(abs(self._matrix), *shapes, self._poses, self.moved_axes)

    def _injective(self):
        """Whether every transform shows every weight exactly once."""
        rows = np.repeat(np.arange(self.n_transforms), self.n_weights)
        pairs = rows * self.n_weights + self._matrix.indices
        return len(np.unique(pairs)) == len(pairs)

    def apply(self, w):
        return (self._matrix @ w).reshape(self.n_transforms, self.n_features)

    def _apply_each(self, W):
        shape = (self.n_transforms, self.n_features, len(W))
        return (self._matrix @ W.T).reshape(shape).transpose(2, 0, 1)

    def correlate(self, P, W):
        return super().correlate(P, W) if len(W) == 1 else self._product_each(P, W)

    def correlate_mask(self, P, V, W):
        if self.selects or V is W:
            return super().correlate_mask(P, V, W)
        return self._mask_products(P, self._apply_each(V) * self._apply_each(W))

    def _correlate_squares(self, P, W):
        return self._mask_products(P, self._apply_each(W) ** 2)

    def _mask_products(self, P, banks):
        """Products of masks (n, d) with S banks (m, d), (S, n, m)."""
        products = P @ banks.reshape(-1, self.n_features).astype(P.dtype, copy=False).T
        return products.reshape(len(P), len(banks), -1).transpose(1, 0, 2)

    def _gram(self, stack):
        if self.isometric or stack.shape[1] > 1:
            return super()._gram(stack)
        squares = (self._matrix @ stack[:, 0].T) ** 2
        return squares.reshape(self.n_transforms, -1, len(stack)).sum(1).T[:, :, None, None]

    def _adjoint_each(self, X, index, coef):
        if len(index) == 1:
            return self._adjoint_at(X, index[0], coef[0])[None]
        groups = index + np.arange(len(index))[:, None] * self.n_transforms
        rows = np.broadcast_to(np.arange(len(X)), index.shape)
        pick = np.zeros((len(index) * self.n_transforms, len(X)), np.result_type(X, np.float32))
        pick[groups, rows] = coef
        M = (pick @ X).reshape(len(index), -1).astype(np.float64)
        return (self._transposed @ M.T).T

    def adjoint(self, M):
        return self._transposed @ np.asarray(M, dtype=np.float64).ravel()

    def _norms(self, w):
        return self._constant_norms(w) if self.isometric else super()._norms(w)

    def _apply_rows(self, V, index):
        return self._each_row(V, index, np.empty((len(V), self.n_features), V.dtype), lambda A: A)

    def _adjoint_rows(self, X, index):
        return self._each_row(X, index, np.empty((len(X), self.n_weights)), lambda A: A.T)

    def _each_row(self, rows, index, out, direction):
        """Fill ``out`` (n, ..) with each row times the matrix of its transform."""
        d = self.n_features
        for t in np.unique(index):
            mine = index == t
            out[mine] = (direction(self._matrix[t * d : (t + 1) * d]) @ rows[mine].T).T
        return out

    def _adjoint_block(self, X, index, coef):
        dtype = np.result_type(X, np.float32)
        M = np.zeros((self.n_transforms, self.n_features, coef.shape[1]), dtype)
        for t in np.unique(index):
            mine = index == t
            M[t] = X[mine].T @ coef[mine].astype(dtype)
        return (self._transposed @ M.reshape(-1, coef.shape[1]).astype(np.float64)).T

    @cached_property
    def _coupling(self):
        """All ``T_t* T_t`` on their common sparsity pattern: indices, indptr, and values (m, nnz).

        Interpolation couples neighbours only; None if a list of matrices couples more.
        """
        L = self.n_weights
        if np.diff(self._matrix.indptr).max(initial=0) > READS:
            return None
        pairs = list(self._pairs())
        every = np.arange(L, dtype=np.int64) * (L + 1)  # no row is empty
        places = np.unique(np.concatenate([every, *(np.unique(place) for _, place, _ in pairs)]))
        if len(places) > NEIGHBOURS * L:
            return None
        values = np.zeros(self.n_transforms * len(places))
        for transform, place, value in pairs:
            np.add.at(values, transform * len(places) + np.searchsorted(places, place), value)
        indptr = np.searchsorted(places, np.arange(L + 1) * L)
        return places % L, indptr, values.reshape(self.n_transforms, -1)

    def _pairs(self):
        """The terms of ``T_t* T_t``: ``t``, the position ``j L + k``, and the value there.

        Each is multiplied by the feature weight.
        """
        q = np.ones(self.n_features) if self.feature_weight is None else self.feature_weight
        counts = np.diff(self._matrix.indptr)
        feature = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(feature)) - self._matrix.indptr[feature]
        columns = np.zeros((counts.max(initial=0), len(counts)), np.int64)
        values = np.zeros(columns.shape)
        columns[number, feature], values[number, feature] = self._matrix.indices, self._matrix.data
        for j, k in itertools.product(range(len(columns)), repeat=2):
            both = np.flatnonzero(values[j] * values[k])
            place = columns[j, both] * self.n_weights + columns[k, both]
            value = values[j, both] * values[k, both] * q[both % self.n_features]
            yield both // self.n_features, place, value

    def __getstate__(self):
        return {n: v for n, v in vars(self).items() if n != "_coupling"} | {"_coarser": {}}

    def _normal(self, nodes):
        """Assembled on the common sparsity pattern of all ``T_t* T_t``, if that is small."""
        K = nodes.shape[2]
        if self.continuous is not None and not self.selects:
            return self._normal_between(nodes)
        small = K == 1 or NEIGHBOURS * self.n_weights * K * K <= LARGE_BANK
        if self.selects or self._coupling is None or not small:
            return super()._normal(nodes)
        indices, indptr, values = self._coupling
        if K == 1:
            entries = (nodes[:, :, 0, 0] @ values)[:, :, None, None]
        else:
            each = [values.T @ one.reshape(len(one), -1) for one in nodes]
            entries = np.stack(each).reshape(len(nodes), -1, K, K)
        return Stencil(indices, indptr, entries)

    def _normal_between(self, nodes):
        """The same in the form that holds for all poses: nothing is kept for each transform."""
        q = np.ones(self.n_features) if self.feature_weight is None else self.feature_weight
        pairs, between = nodes.transpose(0, 2, 3, 1), self.continuous
        assert between is not None
        sums = between.sums(self.pose_space.nodes, pairs.reshape(-1, nodes.shape[1]), q[None])
        return between.normal(sums.reshape(*pairs.shape[:3], -1))

    def _node_times(self, nodes, W):
        if len(W) == 1:
            return super()._node_times(nodes, W)
        shape = (self.n_transforms, self.n_features, len(W))
        mixed = (self._matrix @ W.T).reshape(shape) @ nodes.transpose(0, 2, 1)
        mixed = mixed if self.feature_weight is None else mixed * self.feature_weight[:, None]
        return (self._transposed @ mixed.reshape(-1, len(W))).T

    def coarser(self, axes):
        """``P T_t P*`` with the pooling ``P`` of samples and weights."""
        if self.on_grid and axes not in self._coarser:
            self._coarser[axes] = self._pooled(axes)
        return self._coarser.get(axes)

    def _pooled(self, axes):
        few, many = pooling(self.weight_shape, axes), pooling(self.sample_shape, axes)
        every = sparse.kron(sparse.eye_array(self.n_transforms), many, format="csr")
        return BankOperator(
            every @ self._matrix @ few.T,
            pooled_shape(self.sample_shape, axes),
            pooled_shape(self.weight_shape, axes),
            self._poses,
            self.moved_axes,
            self.reference,
            on_grid=True,
        )

    def matrix(self):
        return self._matrix

    def describe(self, index):
        if self.continuous is not None and is_pose(index):
            return self.continuous.describe(index)
        return {name: np.asarray(values)[index] for name, values in self._poses.items()}


def rows_kept(matrix, keep):
    """A sparse matrix in which only the rows of ``keep`` (rows,) are not empty."""
    counts = np.where(keep, np.diff(matrix.indptr), 0)
    entries = np.repeat(keep, np.diff(matrix.indptr))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array((matrix.data[entries], matrix.indices[entries], indptr), matrix.shape)


def ties(read, shape):
    """The matrix (L, L) that replaces each weight by the nearest of those ``read`` (L,)."""
    points = np.indices(shape).reshape(len(shape), -1).T
    missing, there = np.flatnonzero(~read), np.flatnonzero(read)
    numbers = np.arange(1, min(len(there), MOST_NEAREST) + 1)
    far, near = KDTree(points[there]).query(points[missing], k=numbers)
    equal = far <= far[:, :1] * (1 + 1e-9)
    rows, share = np.nonzero(equal)[0], 1 / equal.sum(axis=1)
    shares = np.r_[np.ones(len(there)), share[rows]]
    places = (np.r_[there, missing[rows]], np.r_[there, there[near[equal]]])
    return sparse.csr_array((shares, places), shape=(len(read), len(read)))
