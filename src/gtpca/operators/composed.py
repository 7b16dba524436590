"""Every pair of transforms of two operators, as a linear operator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from gtpca.operators.backend import is_numpy, namespace
from gtpca.operators.bank import BankOperator
from gtpca.operators.base import Operator
from gtpca.operators.normal import Masked
from gtpca.operators.poses import declared_axes, is_pose
from gtpca.operators.ready import ReadyPairs

__all__ = ["ComposedOperator", "composed"]

BANK_VALUES = 2**20  # size of all moved weights up to which two banks become one


def composed(outer, inner) -> Operator:
    """Every pair ``T_outer T_inner``; two banks that are not too large become one bank."""
    pairs = ComposedOperator(outer, inner)
    banks = isinstance(outer, BankOperator) and isinstance(inner, BankOperator)
    if not banks or pairs.n_transforms * pairs.n_features > BANK_VALUES:
        return pairs
    return BankOperator(
        pairs.matrix(),
        pairs.grid,
        pairs.weight_shape,
        pairs.describe(np.arange(pairs.n_transforms)),
        moved_axes=pairs.moved_axes,
        reference=pairs.reference,
        on_grid=outer.on_grid and inner.on_grid,
        domain=outer.domain,
        quantities=pairs.quantities,
    )


class ComposedOperator(Operator):
    """Every pair ``T_outer T_inner``, numbered ``t_inner * m_outer + t_outer``.

    The outer operator sees the rows, so an outer shift still uses the FFT, once per inner
    transform.

    Parameters
    ----------
    outer, inner : Operator
        ``inner`` is bound to the weight shape of ``outer``.
    """

    def __init__(self, outer, inner):
        n_transforms = outer.n_transforms * inner.n_transforms
        same_rank = len(outer.weight_shape) == len(outer.sample_shape)
        axes = outer.moved_axes + (inner.moved_axes if same_rank else ())
        super().__init__(outer.grid, inner.weight_shape, n_transforms, axes, outer.domain)
        self.outer, self.inner = outer, inner
        self.domain_share = inner.domain_share * outer.domain_share
        self.weight_grid, self.edges = inner.weight_grid, inner.edges
        told = _joined(declared_axes(outer), declared_axes(inner))
        self.quantities = tuple(replace(axis, name=name) for name, axis in told.items())
        self.reference = inner.reference * outer.n_transforms + outer.reference
        self.selects = outer.selects and inner.selects
        self.isometric = outer.isometric and inner.isometric
        self._same_grid = outer.weight_shape == inner.weight_shape
        self.crops = inner.crops or (outer.crops and self._same_grid)

    @property
    def magnitude(self):
        if self.continuous is not None:
            return self  # interpolation adds no signs
        return ComposedOperator(self.outer.magnitude, self.inner.magnitude)

    @property
    def _averaging(self):
        return ComposedOperator(self.outer._averaging, self.inner._averaging)

    def _split(self, index):
        m = self.outer.n_transforms
        return index // m, index % m

    def _groups(self, index):
        """For each inner transform in use: its number, its rows and their outer transforms."""
        inside, outside = self._split(index)
        for t in np.unique(inside):
            rows = np.flatnonzero(inside == t)
            yield t, rows, outside[rows]

    def apply(self, w):
        return namespace(w).concat([self.outer.apply(v) for v in self.inner.apply(w)])

    def adjoint(self, M):
        blocks = np.asarray(M).reshape(self.inner.n_transforms, self.outer.n_transforms, -1)
        return self.inner.adjoint(np.stack([self.outer.adjoint(block) for block in blocks]))

    def prepare(self, X):
        return self.outer.prepare(X)

    def ready(self, w, dtype=np.float64):
        return ReadyPairs(self, w, dtype)

    def _correlate(self, P, w):
        if is_numpy(w):
            parts = [self.outer.correlate(P, v[None])[0] for v in self.inner.apply(w)]
        else:
            parts = [self.outer._correlate(P, v) for v in self.inner.apply(w)]
        return namespace(w).concat(parts, 1)

    def _adjoint_sum(self, P, coef):
        blocks = coef.reshape(len(coef), self.inner.n_transforms, -1).transpose(1, 0, 2)
        return self.inner.adjoint(self.outer.adjoint_sum(P, blocks))

    def prepare_mask(self, H):
        return self.outer.prepare_mask(H)

    def _correlate_mask(self, P, v, w):
        first, second = self.inner.apply(v), self.inner.apply(w)
        if is_numpy(w):
            parts = self.outer.correlate_mask(P, first, second)
            return parts.transpose(1, 0, 2).reshape(len(P), -1)
        parts = [self.outer._correlate_mask(P, a, b) for a, b in zip(first, second, strict=True)]
        return namespace(w).concat(parts, 1)

    def _correlate_squares(self, P, W):
        return np.stack([self._correlate_mask(P, w, w) for w in W])

    def _mask_rows(self, H, index):
        inside, outside = self._split(index)
        return self.inner._mask_rows(self.outer._mask_rows(H, outside), inside)

    def _mask_sums(self, H, index, coef):
        """If the outer operator selects, ``T* diag(h) T = T_i* diag(T_o* h) T_i``."""
        if not self.outer.selects:
            return super()._mask_sums(H, index, coef)
        inside, outside = self._split(index)
        return self.inner._mask_sums(self.outer._mask_rows(H, outside), inside, coef)

    def _mask_sum(self, H, coef):
        if not self.outer.selects:
            return super()._mask_sum(H, coef)
        P = self.outer.prepare_mask(H)
        blocks = coef.reshape(len(coef), self.inner.n_transforms, -1).transpose(1, 0, 2)
        return self.inner._mask_total(self.outer.adjoint_sum(P, blocks))

    def _mask_total(self, M):
        if not self.outer.selects:
            return super()._mask_total(M)
        blocks = M.reshape(self.inner.n_transforms, self.outer.n_transforms, -1)
        return self.inner._mask_total(np.stack([self.outer.adjoint(block) for block in blocks]))

    def _mask_normal(self, sums, w):
        if not self.outer.selects:
            return super()._mask_normal(sums, w)
        return self.inner._mask_normal(sums, w)

    def _norms(self, w):
        if self.isometric:
            return self._constant_norms(w)
        return namespace(w).concat([self.outer._norms(v) for v in self.inner.apply(w)])

    def _gram_of(self, W):
        banks = np.stack([self.inner.apply(w) for w in W], axis=1)
        return np.concatenate([self.outer._gram_of(block) for block in banks])

    def _apply_at(self, w, index):
        inside, outside = self._split(index)
        return self.outer.apply_at(self.inner.apply_at(w, inside), outside)

    def _apply_rows(self, V, index):
        inside, outside = self._split(index)
        return self.outer.apply_at(self.inner.apply_at(V, inside), outside)

    def _adjoint_at(self, X, index, coef):
        M = np.zeros((self.inner.n_transforms, self.inner.n_features))
        for t, rows, outside in self._groups(index):
            M[t] = self.outer.adjoint_at(X[rows], outside[None], coef[None, rows])[0]
        return self.inner.adjoint(M)

    def _coverage(self, counts):
        if not self.selects or self.feature_weight is not None:
            return super()._coverage(counts)
        blocks = np.asarray(counts).reshape(-1, self.inner.n_transforms, self.outer.n_transforms)
        shown = self.inner.apply(np.ones(self.n_weights))
        inside = ((self.outer._coverage(block) * shown) for block in blocks)
        return np.array([self.inner.adjoint(each) for each in inside])

    def _normal(self, nodes):
        if self.feature_weight is not None and self.outer.selects and not self.selects:
            return self._weighted_normal(nodes)
        if self.isometric or self.selects or not self.outer.isometric:
            return super()._normal(nodes)
        shape = (len(nodes), self.inner.n_transforms, self.outer.n_transforms, *nodes.shape[2:])
        return self.inner._normal(nodes.reshape(shape).sum(axis=2))

    def _weighted_normal(self, nodes):
        """``T_o* diag(q) T_o`` is diagonal: its sums are weights of the inner features."""
        q, pairs = self.feature_weight, np.moveaxis(nodes, 1, 3)
        sums = [self._mask_total(each[:, None] * q) for each in pairs.reshape(-1, pairs.shape[3])]
        cover = self._coverage(np.einsum("stkk->st", nodes))
        return Masked(self, np.array(sums).reshape(*pairs.shape[:3], -1), cover)

    def _node_times(self, nodes, W):
        if self.feature_weight is not None:
            return super()._node_times(nodes, W)
        blocks = nodes.reshape(self.inner.n_transforms, self.outer.n_transforms, *nodes.shape[1:])
        banks = np.stack([self.inner.apply(w) for w in W], axis=1)
        M = np.stack([self.outer._node_times(b, V) for b, V in zip(blocks, banks, strict=True)])
        return np.array([self.inner.adjoint(M[:, k]) for k in range(len(W))])

    def _adjoint_rows(self, X, index):
        inside, outside = self._split(index)
        return self.inner.adjoint_at(self.outer.adjoint_at(X, outside), inside)

    def coarser(self, axes):
        outer, inner = self.outer.coarser(axes), self.inner.coarser(axes)
        return None if outer is None or inner is None else ComposedOperator(outer, inner)

    def matrix(self):
        outer, inner = self.outer.matrix(), self.inner.matrix()
        size = self.inner.n_features
        blocks = [outer @ inner[t * size : (t + 1) * size] for t in range(self.inner.n_transforms)]
        return sparse.csr_array(sparse.vstack(blocks))

    def describe(self, index):
        if self.continuous is not None and is_pose(np.asarray(index)):
            return self.continuous.describe(index)
        inside, outside = self._split(np.asarray(index))
        return _joined(self.outer.describe(outside), self.inner.describe(inside))

    def centre(self, w, used, seen):
        """Rolling the weights rolls the window, if the transforms in between commute with it."""
        if not self.inner.crops and self.outer.weight_shape != self.weight_shape:
            return None  # the moving window shows weights placed inside it
        if used is None:
            return (self.inner if self.inner.crops else self.outer).centre(w, None, seen)
        if np.all(seen) or not self.crops:
            return None
        inside, outside = (np.unique(part) for part in self._split(used))
        if self.inner.crops:
            return self.inner.centre(w, inside, seen)
        if not set(self.inner.moved_axes).isdisjoint(self.outer.moved_axes):
            outside = self._showing_only(seen)
            if not self._goes_along(used, outside, seen):
                return self.outer.centre(w, None, seen)
        return self.outer.centre(w, outside, seen)

    def _showing_only(self, seen):
        """The outer transforms that show no weights but those ``seen`` (L,)."""
        outer, weight = self.outer, self.feature_weight
        features = np.ones(outer.n_features) if weight is None else weight > 0
        prepared = outer.prepare(features[None].astype(float))
        counts = outer.correlate(prepared, 1.0 - seen[None])[0, 0]
        return np.flatnonzero(counts < 0.5)

    def _goes_along(self, used, outside, seen):
        """Whether centred weights show everything that the transforms ``used`` showed of them.

        They do if the inner transforms are flips; those that scale then have another centre.
        """
        probe = np.random.default_rng(0).standard_normal(self.n_weights)
        moved = self.outer.centre(probe, outside, seen) if len(outside) else None
        if moved is None:
            return False
        shown, norms = self._apply_at(probe, used), self._norms(moved)
        scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        best = (self._correlate(self.prepare(shown), moved) * scale).max(axis=1)
        return np.allclose(best, np.linalg.norm(shown, axis=1), rtol=1e-9, atol=0)

    def translate(self, w, index):
        """``T_index w`` if all transforms form a group; ``T_inner w`` if these do by themselves."""
        moved = super().translate(w, index)
        if moved is not None or self.crops:
            return moved
        return self.inner.translate(w, self._split(index)[0])

    def moves(self, w, far=False):
        yield from self.inner.moves(w, far)
        if self._same_grid:
            yield from self.outer.moves(w, far)


def _joined(outer, inner) -> dict:
    """Merge the pose descriptions of two operators; a name that occurs twice gets a prefix."""
    columns = dict(outer)
    for name, values in inner.items():
        while name in columns:
            name = f"inner_{name}"
        columns[name] = values
    return columns
