r"""The normal equations of least-squares weights, as a value.

With fixed transforms ``T_i``, coefficients ``a_i`` (K,) and weights of values ``v_i`` (d,), the
weights ``W`` (K, L) that minimise ``sum_i <v_i, (x_i - sum_k a_ik T_i w_k)^2>`` solve

    sum_k N_jk w_k = rhs_j,    N_jk = sum_i a_ij a_ik T_i* diag(v_i) T_i,
    rhs_j = sum_i a_ij T_i* diag(v_i) x_i.

The contribution of the rows to ``N`` is their :class:`Moments`: small, and additive over rows. An
operator turns the sum into a :class:`Normal` (:meth:`gtpca.operators.base.Operator.normal`): a
number if transforms are isometries, a diagonal if they select, a sparse matrix if they
interpolate, and otherwise a loop over all transforms. It is made once from the sum, not for every
chunk: that would cost more than the sums, change their order, and send the operator along with
every answer of a worker.

Everything is stacked: S systems of K components, (S, K, L).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

__all__ = [
    "CG_STEPS",
    "Both",
    "ByNode",
    "Diagonal",
    "Moments",
    "Normal",
    "Scalar",
    "Stencil",
    "conjugate_gradients",
    "moments_at",
    "moments_each",
    "of_pairs",
    "pair_products",
    "seen_by",
    "spread_evenly",
]

CG_TOLERANCE, CG_STEPS = 1e-10, 200
FORCING = 0.1  # reduction of the residual that is enough: codes change afterwards
SINGULAR = 1e-12  # eigenvalues below this share of the largest count as zero
FAINT = np.finfo(np.float64).tiny  # numbers below have fewer digits, and their inverse overflows
SEEN = 1e-9  # coverage of a weight, relative to the largest, below which it is unseen


@dataclass(frozen=True, eq=False)
class Moments:
    """The contribution of rows to the left-hand side of the normal equations; additive, float64.

    Parameters
    ----------
    nodes : array (S, m, K, K), or (S, 1, K, K) for isometries
        ``sum_{i: t_i = t} a_i a_i'``, summed over ``t`` for isometries.
    hidden : array (S, K, K, p), or 0 where all values count
        ``sum_i a_ij a_ik T_i* diag(h_i) T_i``, where ``h_i`` (d,) is what the weights of the values
        of a row lack, in the compact form of :meth:`~gtpca.operators.base.Operator.mask_sums`.
    between : array (S, K, K, q), or 0 where all rows are at nodes
        ``sum_i a_ij a_ik T_i* diag(v_i) T_i`` of rows at poses that are not nodes, in the compact
        form of :meth:`~gtpca.operators.poses.Continuous.sums`. It includes gaps; ``nodes`` is then
        ``sum_i a_i a_i'``, (S, 1, K, K).
    """

    nodes: np.ndarray
    hidden: Any = 0.0
    between: Any = 0.0

    def __add__(self, other: Moments) -> Moments:
        hidden, between = self.hidden + other.hidden, self.between + other.between
        return Moments(self.nodes + other.nodes, hidden, between)

    def __rmul__(self, factor: float) -> Moments:
        return Moments(factor * self.nodes, factor * self.hidden, factor * self.between)

    def __getitem__(self, part: slice) -> Moments:
        """Some of the S systems."""
        hidden = self.hidden[part] if self.lack else 0.0
        return Moments(self.nodes[part], hidden, self.between[part] if self.posed else 0.0)

    @property
    def posed(self) -> bool:
        """Whether rows are at poses that are not nodes."""
        return np.ndim(self.between) > 0

    @property
    def lack(self) -> bool:
        """Whether some values count less than others."""
        return np.ndim(self.hidden) > 0

    @property
    def total(self) -> np.ndarray:
        """``sum_i a_i a_i'``, (S, K, K)."""
        return self.nodes.sum(axis=1)

    @classmethod
    def stored(cls, nodes: np.ndarray, hidden: Any, between: Any) -> Moments:
        """Moments from stored arrays, where 0, or zeros (S,), stand for what there is not."""
        parts = (np.asarray(part) if np.ndim(part) > 1 else 0.0 for part in (hidden, between))
        return cls(nodes, *parts)

    def hidden_energy(self, operator, W: np.ndarray) -> np.ndarray:
        """The part of ``<W, N W>`` of weights (S, K, L) that is not observed, (S,)."""
        if not self.lack:
            return np.zeros(len(W))
        return operator._lacking(self).quadratic(W)

    @staticmethod
    def joined(parts: list[Moments]) -> Moments:
        """Several of them, stacked along the first axis."""
        hidden = np.concatenate([p.hidden for p in parts]) if parts[0].lack else 0.0
        between = np.concatenate([p.between for p in parts]) if parts[0].posed else 0.0
        return Moments(np.concatenate([p.nodes for p in parts]), hidden, between)


def moments_at(operator, index, weighted, coef):
    """``sum_{i: t_i = t} a_i a_i'``, (m, K, K); the sum over ``t`` for isometries, (1, K, K).

    Parameters
    ----------
    operator : Operator
    index : int array (n,)
    weighted, coef : arrays (n, K)
        Coefficients times the sample weights, and coefficients.
    """
    if operator._alike:
        return (weighted.T @ coef)[None]
    products = pair_products(weighted, coef)
    sums = _sums_by_index(operator, np.broadcast_to(index, products.shape), products)
    return np.ascontiguousarray(np.moveaxis(of_pairs(sums, coef.shape[1]), 2, 0))


def pair_products(weighted, coef):
    """``a_ij a_ik`` of coefficients (n, K), times sample weights, for ``k <= j``, (pairs, n)."""
    first, second = np.tril_indices(coef.shape[1])
    return (weighted[:, first] * coef[:, second]).T


def of_pairs(sums, K):
    """Symmetric matrices (K, K, ..) from sums of :func:`pair_products`, (pairs, ..)."""
    first, second = np.tril_indices(K)
    total = np.empty((K, K, *sums.shape[1:]))
    total[first, second] = total[second, first] = sums
    return total


def moments_each(operator, index, weighted, coef):
    """:func:`moments_at` for S separate components, with arrays (S, n), (S, m, 1, 1)."""
    if operator._alike:
        sums = np.einsum("sn,sn->s", weighted, coef)[:, None]
    else:
        sums = _sums_by_index(operator, index, weighted * coef)
    return sums[:, :, None, None]


def _sums_by_index(operator, index, values):
    """``sum_{i: t_i = t} values_i`` for each of several indices and values (S, n), (S, m)."""
    m = operator.n_transforms
    places = (index + m * np.arange(len(index))[:, None]).ravel()
    return np.bincount(places, values.ravel(), m * len(index)).reshape(-1, m)


def seen_by(operator, counts: np.ndarray) -> np.ndarray:
    """The weights that transforms show if they occur ``counts`` (m,) times, bool (L,)."""
    return operator.normal(Moments(counts[None, :, None, None])).cover[0] > 0


def spread_evenly(operator, shares):
    """:class:`Moments` of rows that are spread evenly over all transforms.

    ``shares`` (B, K) are the sums of the squared coefficients of each component.
    """
    squares = np.array([np.diag(share) for share in shares])
    if operator.continuous is None:
        m = 1 if operator._alike else operator.n_transforms
        return Moments(np.repeat(squares[:, None] / m, m, axis=1))
    q, m = operator.feature_weight, operator.n_transforms
    V = np.ones((1, operator.n_features)) if q is None else np.asarray(q)[None]
    every = operator.continuous.sums(operator.pose_space.nodes, np.full((1, m), 1 / m), V)[0]
    return Moments(squares[:, None], between=squares[..., None] * every)


class Normal(ABC):
    """The matrices ``N`` of S systems of K components."""

    @abstractmethod
    def times(self, W: np.ndarray) -> np.ndarray:
        """``sum_k N_jk w_k`` of weights (S, K, L), (S, K, L)."""

    @property
    @abstractmethod
    def cover(self) -> np.ndarray:
        """(S, L), positive if some row sees a weight: ``sum_j N_jj`` if it is diagonal."""

    def solve(self, rhs: np.ndarray, start: np.ndarray, steps: int = CG_STEPS) -> np.ndarray:
        """Solve ``N W = rhs`` from ``start``, (S, K, L); unseen weights keep their value there.

        Where conjugate gradients are needed, at most ``steps`` steps are made; each of them lowers
        ``<W, N W> / 2 - <W, rhs>``. If these were the steps of a full solution and were not enough,
        because rows see some weights far less than others, as many follow that are preconditioned
        by the coverage.
        """
        shape = (len(rhs), -1)

        def times(flat):
            return self.times(flat.reshape(rhs.shape)).reshape(shape)

        wanted = rhs.reshape(shape)
        flat = conjugate_gradients(times, wanted, start.reshape(shape), steps)
        if steps >= CG_STEPS:
            cover = np.broadcast_to(self.cover[:, None], rhs.shape).reshape(shape)
            flat = conjugate_gradients(times, wanted, flat, steps, scale=divide(1.0, cover, 0.0))
        return flat.reshape(rhs.shape)

    def quadratic(self, W: np.ndarray) -> np.ndarray:
        """``sum_jk <w_j, N_jk w_k>`` of weights (S, K, L), (S,)."""
        return np.einsum("skl,skl->s", W, self.times(W))

    @property
    def seen(self) -> np.ndarray:
        """Weights about which the rows say more than rounding errors, bool (S, L)."""
        return self.cover > SEEN * self.cover.max(axis=1, keepdims=True)

    def ridged(self, ridge: float, moments: Moments) -> Normal:
        """``N + ridge sum_i a_i a_i'`` at every weight that a row sees; unchanged if ridge is 0."""
        if not ridge:
            return self
        seen = (self.cover > 0)[:, None, None]
        return self + Diagonal(ridge * moments.total[..., None] * seen)

    def __add__(self, other: Normal) -> Normal:
        return Both(self, other)

    @abstractmethod
    def __rmul__(self, factor: float) -> Normal: ...


class Scalar(Normal):
    """Isometries: ``N_jk = A_jk`` times the identity.

    Parameters
    ----------
    A : array (S, K, K)
    n_weights : int
    """

    def __init__(self, A, n_weights):
        self.A, self.n_weights = A, n_weights

    def times(self, W):
        return self.A @ W

    @property
    def cover(self):
        traces = np.einsum("skk->s", self.A)[:, None]
        return np.broadcast_to(traces, (len(self.A), self.n_weights))

    @property
    def seen(self):
        return np.ones((len(self.A), self.n_weights), dtype=bool)

    def solve(self, rhs, start, steps=CG_STEPS):
        if rhs.shape[1] == 1:
            return divide(rhs, self.A, start)
        return start + shortest(self.A, rhs - self.A @ start)

    def __add__(self, other):
        if isinstance(other, Scalar):
            return Scalar(self.A + other.A, self.n_weights)
        return Diagonal(self.A[..., None] * np.ones(self.n_weights)) + other

    def __rmul__(self, factor):
        return Scalar(factor * self.A, self.n_weights)


class Diagonal(Normal):
    """Transforms that select: one K x K system for every weight.

    Parameters
    ----------
    entries : array (S, K, K, L)
    """

    def __init__(self, entries):
        self.entries = entries

    def times(self, W):
        return np.einsum("sjkl,skl->sjl", self.entries, W)

    @property
    def cover(self):
        return np.einsum("skkl->sl", self.entries)

    def solve(self, rhs, start, steps=CG_STEPS):
        if rhs.shape[1] == 1:
            return divide(rhs, self.entries[:, 0], start)
        A = self.entries.transpose(0, 3, 1, 2)
        first, wanted = (each.transpose(0, 2, 1)[..., None] for each in (start, rhs))
        return start + shortest(A, wanted - A @ first)[..., 0].transpose(0, 2, 1)

    def __add__(self, other):
        if isinstance(other, Diagonal):
            return Diagonal(self.entries + other.entries)
        return super().__add__(other)

    def __rmul__(self, factor):
        return Diagonal(factor * self.entries)


class Stencil(Normal):
    """Interpolation: weights are coupled to their neighbours only, equally for all transforms.

    Parameters
    ----------
    indices : int array (q,)
        Columns of the entries, one row (weight) after the other; no row is empty.
    indptr : int array (L + 1,)
        Where rows begin.
    entries : array (S, q, K, K)
    """

    def __init__(self, indices, indptr, entries):
        self.indices, self.indptr, self.entries = indices, indptr, entries

    def times(self, W):
        if W.shape[1] == 1:
            products = self.entries[:, :, 0, 0] * W[:, 0, self.indices]
            return np.add.reduceat(products, self.indptr[:-1], axis=1)[:, None]
        pairs = zip(self._matrices, W, strict=True)
        return np.stack([(N @ V.T.ravel()).reshape(-1, len(V)).T for N, V in pairs])

    @cached_property
    def _matrices(self):
        """The sparse matrices of the S systems, whose unknowns are the K values of each weight."""
        K, L = self.entries.shape[2], len(self.indptr) - 1
        shape, where = (K * L, K * L), (self.indices, self.indptr)
        return [sparse.bsr_array((one, *where), shape=shape) for one in self.entries]

    @cached_property
    def cover(self):
        rows = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        return np.einsum("sqkk->sq", self.entries[:, rows == self.indices])

    def __rmul__(self, factor):
        return Stencil(self.indices, self.indptr, factor * self.entries)


class ByNode(Normal):
    """Any transforms: a loop over all of them.

    Parameters
    ----------
    operator : Operator
    nodes : array (S, m, K, K)
    """

    def __init__(self, operator, nodes):
        self.operator, self.nodes = operator, nodes

    def times(self, W):
        pairs = zip(self.nodes, W, strict=True)
        return np.stack([self.operator._node_times(nodes, V) for nodes, V in pairs])

    @cached_property
    def cover(self):
        return self.operator._coverage(np.einsum("stkk->st", self.nodes))

    def __rmul__(self, factor):
        return ByNode(self.operator, factor * self.nodes)


class Masked(Normal):
    """``sum_i a_ij a_ik T_i* diag(h_i) T_i`` of transforms that do not select.

    Parameters
    ----------
    operator : Operator
    hidden : array (S, K, K, p)
    cover : array (S, L)
        Coverage by all transforms; 0 for terms that are subtracted.
    """

    def __init__(self, operator, hidden, cover=0.0):
        self.operator, self.hidden = operator, hidden
        self._cover = np.broadcast_to(cover, (len(hidden), operator.n_weights))

    def times(self, W):
        return np.stack([self._times(*pair) for pair in zip(self.hidden, W, strict=True)])

    def _times(self, hidden, W):
        K = range(len(W))
        return np.array([sum(self.operator._mask_normal(hidden[j, k], W[k]) for k in K) for j in K])

    @property
    def cover(self):
        return self._cover

    def __rmul__(self, factor):
        return Masked(self.operator, factor * self.hidden, factor * self._cover)


class Both(Normal):
    """The sum of two sets of normal equations.

    Parameters
    ----------
    first, second : Normal
    """

    def __init__(self, first, second):
        self.first, self.second = first, second

    def times(self, W):
        return self.first.times(W) + self.second.times(W)

    @property
    def cover(self):
        return self.first.cover + self.second.cover

    def __rmul__(self, factor):
        return Both(factor * self.first, factor * self.second)


def divide(rhs, diagonal, w0):
    """``rhs / diagonal``, and ``w0`` where the diagonal is zero, or too faint to divide by."""
    seen = diagonal >= FAINT
    return np.where(seen, rhs / np.where(seen, diagonal, 1.0), w0)


def shortest(A, rest):
    """The shortest solutions of ``A step = rest`` (.., K, n), for symmetric ``A`` (.., K, K).

    They are 0 where all of ``A`` is too faint to divide by. Each system is scaled by a power of
    two, which changes no digit: the inverse of what is small might overflow.
    """
    size = np.abs(A).max(axis=(-2, -1), keepdims=True)
    seen = size >= FAINT
    unit = np.ldexp(0.5, np.frexp(np.where(seen, size, 1.0))[1])
    scaled = np.where(seen, A, 0.0) / unit
    return np.linalg.pinv(scaled, rcond=SINGULAR, hermitian=True) @ (rest / unit)


def conjugate_gradients(times, rhs, w, steps=CG_STEPS, tolerance=CG_TOLERANCE, scale=None):
    """At most ``steps`` steps towards the solutions of ``N_s w_s = rhs_s``, from ``w`` (S, L).

    The steps are those of ``scipy.sparse.linalg.cg``, without its checks, and for several systems
    at once: here they are small, and there are many. If few steps are asked for, a residual that is
    ten times smaller is enough.

    Parameters
    ----------
    times : callable
        ``times(w)`` (S, L) returns all ``N_s w_s``.
    rhs, w : arrays (S, L)
    steps : int
    tolerance : float
        Norm of the residual at which a system is solved, relative to that of ``rhs``.
    scale : array (S, L), optional
        A preconditioner: roughly the inverse of the diagonals.
    """
    r = rhs - times(w)
    unit = np.abs(r).max(axis=1, keepdims=True, initial=0.0)
    unit = np.where((unit > 0) & (unit < np.inf), unit, np.inf)  # its square might overflow
    r = r / unit
    p, energy, left = _scaled(r, scale)
    least = tolerance**2 * _squares(rhs / unit, rhs / unit)
    if steps < CG_STEPS:
        least = np.maximum(least, FORCING**2 * left)
    move = np.zeros_like(r)
    for _ in range(steps):
        Np = times(p)
        bend = _squares(p, Np)
        on = (left > least) & (bend > 0)
        if not on.any():
            break
        length = np.where(on, energy, 0.0) / np.where(on, bend, 1.0)
        move += length * p
        r = r - length * Np
        before = energy
        z, energy, left = _scaled(r, scale)
        p = z + energy / np.where(on, before, np.inf) * p
    return w + np.where(np.isfinite(unit), unit, 0.0) * move


def _scaled(r, scale):
    """``z = scale r``, ``<r_s, z_s>`` and ``<r_s, r_s>``, the last two (S, 1)."""
    left = _squares(r, r)
    if scale is None:
        return r, left, left
    return scale * r, _squares(r, scale * r), left


def _squares(a, b):
    """``<a_s, b_s>``, (S, 1)."""
    return np.einsum("sl,sl->s", a, b)[:, None]
