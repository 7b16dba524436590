r"""One pose per sample, as a probability: the posterior of poses, and the sums that EM needs.

    x = T_t (m + sum_k z_k u_k) + noise,    z ~ N(0, I),    t ~ prior,    noise ~ N(0, diag(v))

The *loadings* ``u_k = sqrt(lambda_k) w_k`` and the pattern ``m`` move together. With rows and
transforms in units of the noise, the products ``b_0 = <x, T_t m>`` and ``b_k = <x, T_t u_k>``, the
Gram matrix ``G_t`` of ``T_t m, T_t u_1, ..`` and ``c = b_{1..} - G_{1..,0}``, up to a constant

    log p(x, t) = log prior_t + b_0 - G_00 / 2 - log det(M_t) / 2 + c' M_t^-1 c / 2 - |x|^2 / 2

with ``M_t = I + G_{1..,1..}``; given ``x`` and ``t`` the scores are ``z ~ N(M_t^-1 c, M_t^-1)``.
For isometries ``G`` and ``M`` do not depend on ``t``.

NaN in a row means not observed: all of this is then over the other features alone, so that ``G``,
``M`` and the constant also depend on the row. The hidden part of the Gram matrix, one correlation
of the masks for every pair, is subtracted from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from gtpca.model.stationary import StationaryNoise
from gtpca.model.ties import TIED, first_within
from gtpca.operators import Operator
from gtpca.operators.normal import Moments, moments_at

__all__ = [
    "EStep",
    "Sums",
    "Terms",
    "data_sums",
    "hard_sums",
    "most_likely",
    "moved",
    "normalised",
    "shared_sums",
    "soft_sums",
    "with_one",
]

PIECE = 2**16  # products that are computed at once: with more, new memory costs more than the sums


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of ``log p(x, t)`` that depend only on which values of a row were observed.

    Attributes
    ----------
    inverse : array (m, K, K), (1, K, K) for isometries, or (n, m, K, K) in gaps
        ``M_t^-1``.
    matrix : array of the same shape
        ``M_t``.
    offset : array (K, 1, m), (K, 1, 1) or (K, n, m)
        ``<T_t u_k, T_t m>`` in units of the noise.
    constant : array (m,) or (n, m)
    """

    inverse: np.ndarray
    matrix: np.ndarray
    offset: np.ndarray
    constant: np.ndarray

    @classmethod
    def of(cls, G, base) -> Terms:
        """The terms from Gram matrices (.., m, 1 + K, 1 + K) and the other constants, (.., m)."""
        M = np.eye(G.shape[-1] - 1) + G[..., 1:, 1:]
        constant = base - G[..., 0, 0] / 2 - np.linalg.slogdet(M)[1] / 2
        offset = np.moveaxis(G[..., 1:, 0], -1, 0)
        return cls(np.linalg.inv(M), M, offset if G.ndim == 4 else offset[:, None], constant)

    def scores(self, c) -> np.ndarray:
        """``M_t^-1 c`` of products (K, n, m)."""
        return _each_times(self.inverse, c)

    def rest(self, c, z) -> np.ndarray:
        """``z' (c - M_t z)``, (n, m), which is 0 up to rounding."""
        return np.einsum("knt,knt->nt", z, c - _each_times(self.matrix, z))

    def spread(self, g) -> np.ndarray:
        """``sum_i g_it M_it^-1`` of probabilities (n, m), (m, K, K); its sum for isometries."""
        if self.inverse.ndim == 4:
            return np.einsum("nt,ntjk->tjk", g, self.inverse)
        mass = g.sum(axis=0)
        return (mass if len(self.inverse) > 1 else mass.sum()[None])[:, None, None] * self.inverse


def _each_times(A, c):
    """``A_t c`` of symmetric matrices (m, K, K), (1, K, K) or (n, m, K, K), and c (K, n, m)."""
    if A.ndim == 4:
        return np.einsum("ntjk,knt->jnt", A, c)
    if len(A) == 1:
        return np.tensordot(A[0], c, axes=1)
    return (c.transpose(2, 1, 0) @ A).transpose(2, 1, 0)


@dataclass(frozen=True, eq=False)
class RowPiece:
    """Some rows of a chunk, all of whose values were observed.

    Attributes
    ----------
    rows : array (n, d)
        Zeros in gaps.
    weighed : array (n, d)
        The rows times the weight of each feature.
    energies : array (n,)
        Of the rows in the inner product of the operator.
    prepared : array
        What the operator prepared from the weighed rows.
    weight : array (n,)
        Sample weights.
    """

    rows: np.ndarray
    weighed: np.ndarray
    energies: np.ndarray
    prepared: np.ndarray
    weight: np.ndarray

    @property
    def seen(self) -> np.ndarray:
        """Where values were observed, (n, d)."""
        return np.ones(self.rows.shape)

    def observed(self) -> np.ndarray:
        """Number of rows in which each feature was observed, by their weights, (d,)."""
        return np.full(self.rows.shape[1], self.weight.sum())

    def terms(self, e_step) -> Terms:
        """The terms of ``log p(x, t)`` that do not depend on the values of the rows."""
        return e_step.terms

    def jacobian(self, e_step) -> Any:
        """What whitening adds to ``log p(x)``: one number, or (n,) with gaps."""
        return e_step.jacobian

    def lack(self, e_step, g, z, terms) -> Any:
        """``sum_it g_it E[a a'] T_t* diag(q h_i) T_t``, (1, 1 + K, 1 + K, p); 0 without gaps."""
        return 0.0

    def lacking_squares(self, e_step, g, z, terms) -> Any:
        """``sum_i h_ij E[T_t (m + U z)]_j^2``, (d,); 0 without gaps."""
        return 0.0

    def sums_at(self, e_step, by_feature, index, joint, z, terms) -> Sums:
        """The sums of rows that each take the transform ``index`` (n,) alone."""
        each, operator = np.arange(len(index)), e_step.operator
        coef = with_one(z[:, each, index].T)
        weighted = coef * self.weight[:, None]
        mass = np.bincount(index, self.weight, joint.shape[1])
        moments = moments_at(operator, index, weighted, coef)
        spread = mass if len(moments) > 1 else mass.sum()[None]
        moments[:, 1:, 1:] += spread[:, None, None] * terms.inverse
        shown = moved(operator, e_step.weights, weighted, index) if by_feature else None
        return Sums(
            **_counts(e_step, self, joint[each, index]),
            mass=mass,
            rhs=operator.adjoint_at(self.weighed, index, weighted.T)[None],
            moments=Moments(moments[None]),
            squares=_squares(self, shown) if by_feature else 0.0,
        )


@dataclass(frozen=True, eq=False)
class GappyPiece(RowPiece):
    """Some rows of a chunk with gaps: Gram matrices and constants depend on the row.

    Attributes
    ----------
    hidden : bool array (n, d)
        Where values were not observed.
    masks : what the operator prepared from it
    """

    hidden: np.ndarray
    masks: np.ndarray

    @property
    def seen(self):
        return ~self.hidden

    def observed(self):
        return self.weight @ ~self.hidden

    def terms(self, e_step):
        """The terms of every row, without the hidden parts of Gram matrices and noise."""
        n, W, operator = len(self.rows), e_step.weights, e_step.operator
        G = np.tile(e_step.gram, (n, operator.n_transforms // len(e_step.gram), 1, 1))
        for j, k in zip(*np.tril_indices(len(W)), strict=True):
            [hidden] = operator.correlate_mask(self.masks, W[j, None], W[k, None])
            hidden = e_step.scale * hidden
            G[:, :, j, k] -= hidden
            G[:, :, k, j] -= hidden if j != k else 0.0
        more = self.hidden @ e_step.log_noise / 2 + self.jacobian(e_step) - e_step.jacobian
        return Terms.of(G, e_step.base + more[:, None])

    def jacobian(self, e_step):
        return e_step.jacobian_in_gaps(self.hidden)

    def lack(self, e_step, g, z, terms):
        total: dict[tuple[int, int], np.ndarray] = {}
        q = e_step.operator.feature_weight
        H = self.hidden * (np.ones(1) if q is None else q)
        for j, k, coef in _pairs(g, z, terms):
            total[j, k] = total[k, j] = e_step.operator.mask_sums(H, None, coef[None])[0]
        each = range(len(e_step.weights))
        return np.array([[[total[j, k] for k in each] for j in each]])

    def lacking_squares(self, e_step, g, z, terms):
        banks = [e_step.operator.apply(w) for w in e_step.weights]
        total = np.zeros(self.rows.shape[1])
        for j, k, coef in _pairs(g, z, terms):
            both = np.sum((coef.T @ self.hidden) * banks[j] * banks[k], axis=0)
            total += both if j == k else 2 * both
        return total

    def sums_at(self, e_step, by_feature, index, joint, z, terms):
        """The sums of rows that take every transform, with a share of 1 or 0."""
        each, share = np.arange(len(index)), np.zeros(joint.shape)
        share[each, index] = 1.0
        return shared_sums(e_step, by_feature, self, joint[each, index], share, z, terms)


@dataclass(frozen=True, eq=False)
class EStep:
    """What a pass over rows needs to know about a model. Small, since it is sent to workers.

    Attributes
    ----------
    operator : Operator
        In the inner product of ``1 / v`` if every feature has its own noise variance.
    weights : array (1 + K, L)
    scale : float
        ``1 / v`` for isotropic noise, else 1: the factor of the products ``b``.
    gram : array (m, 1 + K, 1 + K), or (1, 1 + K, 1 + K) for isometries
        ``G_t``.
    terms : Terms
        Of rows without gaps.
    base : array (m,)
        ``log prior_t - sum_j log(2 pi v_j) / 2``.
    log_noise : array (d,)
        ``log(2 pi v_j)``; 0 outside the domain.
    whitening : StationaryNoise or None
    visible : array (1 + K, L)
        The weights in the units of the data.
    """

    operator: Operator
    weights: np.ndarray
    scale: float
    gram: np.ndarray
    terms: Terms
    base: np.ndarray
    log_noise: np.ndarray
    whitening: StationaryNoise | None
    visible: np.ndarray

    def whitened(self, chunk):
        """A chunk of original rows, as the model sees them."""
        if self.whitening is None:
            return chunk
        return replace(chunk, rows=self.whitening.whiten(chunk.rows))

    @property
    def jacobian(self) -> float:
        """What is added to ``log p(F x)`` to get ``log p(x)`` of a complete row."""
        return 0.0 if self.whitening is None else -self.whitening.log_determinant

    def jacobian_in_gaps(self, hidden) -> Any:
        """The same of rows with gaps ``hidden`` (n, d), (n,); 0 if they are not whitened."""
        return 0.0 if self.whitening is None else -self.whitening.log_determinants(hidden)

    def pieces(self, chunk) -> Iterator[RowPiece]:
        """The rows of a chunk, few at a time."""
        if self.operator is not chunk.operator and self.operator.feature_weight is not None:
            chunk = replace(chunk, operator=self.operator)
        one = chunk.weigh(np.ones(len(chunk.rows)))
        parts = [chunk.filled, chunk.weighed, chunk.energies, chunk.prepared, one]
        size = PIECE // (len(self.weights) * self.operator.n_transforms)
        kind: type[RowPiece] = RowPiece
        if chunk.hidden is not None:
            kind, size = GappyPiece, size // len(self.weights)
            parts += [chunk.hidden, chunk.prepared_mask]
        for start in range(0, max(1, len(chunk.rows)), max(1, size)):
            yield kind(*(part[start : start + max(1, size)] for part in parts))

    def joint(self, piece) -> tuple[np.ndarray, np.ndarray, Terms]:
        """``log p(x_i, t)``, (n, m), the mean scores ``M_t^-1 c``, (K, n, m), and all terms."""
        terms = piece.terms(self)
        W = self.weights * self.scale
        b = np.concatenate([self.operator.correlate(piece.prepared, w[None]) for w in W])
        c = b[1:] - terms.offset
        z = terms.scores(c)
        total = b[0] + np.einsum("knt,knt->nt", c, z) / 2 + terms.constant
        if self.operator.feature_weight is not None:  # where inverses are less accurate
            total += terms.rest(c, z) / 2
        total -= self.scale / 2 * piece.energies[:, None]
        return total, z, terms


def most_likely(e_step, piece, joint):
    """The most likely transform of every row, (n,); the first of those that tie up to rounding.

    A log-likelihood is a sum of terms as large as ``|x|^2`` in units of the noise.
    """
    best = joint.max(axis=1)
    size = e_step.scale * piece.energies + np.abs(best)
    return first_within(joint, best - TIED * np.finfo(joint.dtype).eps * size)


def normalised(joint):
    """``log p(x_i)``, (n,), and the probability of every transform, (n, m)."""
    top = joint.max(axis=1, keepdims=True)
    share = np.exp(joint - top)
    total = share.sum(axis=1, keepdims=True)
    share /= total
    return (top + np.log(total))[:, 0], share


def with_one(z):
    """A column of ones in front of scores (n, K): the coefficient of the pattern."""
    return np.concatenate([np.ones((len(z), 1)), z], axis=1)


def moved(operator, W, coef, index):
    """The rows ``sum_k coef_ik T_{index_i} w_k``, (n, d)."""
    total = np.zeros((len(index), operator.n_features))
    each = np.broadcast_to(index[:, None], coef.shape)
    operator.add_moved(total, operator.prepare_weights(W), each, coef)
    return total


@dataclass(frozen=True)
class Sums:
    """All that an update needs to know about the rows: additive over pieces and chunks.

    With the coefficients ``a = (1, z)`` and the probability ``g_it`` of a transform, which for hard
    EM is 1 for the best of them:

    Attributes
    ----------
    log_likelihood : float
        ``sum_i log p(x_i)``, or ``sum_i max_t log p(x_i, t)``.
    count, energy : float
        Number of rows, and their energy, in units of the noise if there are several.
    observed : array (d,)
        Number of rows in which each feature was observed.
    mass : array (m,)
        ``sum_i g_it``.
    rhs : array (1, 1 + K, L)
        ``sum_it g_it E[a] T_t* x_i``.
    moments : Moments
        Of ``sum_it g_it E[a a'] T_t* diag(o_i) T_t``, where ``o_i`` is 1 for observed values.
    squares : array (d,), or 0 if not needed
        ``sum_i x_ij^2 - 2 x_ij E[T_t (m + U z)]_j``, minus ``E[T_t (m + U z)]_j^2`` in gaps, in the
        units of the rows.

    Rows are weighted by their sample weights.
    """

    log_likelihood: float
    count: float
    energy: float
    observed: np.ndarray
    mass: np.ndarray
    rhs: np.ndarray
    moments: Moments
    squares: Any = 0.0

    def __add__(self, other: Sums) -> Sums:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Sums(*(a + b for a, b in pairs))


def soft_sums(chunk, e_step, by_feature=False) -> Sums:
    """The :class:`Sums` of a chunk, over all transforms weighted by probability."""
    return reduce(add, (_soft(e_step, by_feature, piece) for piece in e_step.pieces(chunk)))


def hard_sums(chunk, e_step, by_feature=False) -> Sums:
    """The :class:`Sums` of a chunk, over the most likely transform of every row."""
    return reduce(add, (_hard(e_step, by_feature, piece) for piece in e_step.pieces(chunk)))


def data_sums(chunk, e_step, hard=False) -> Sums:
    """The :class:`Sums` of the original rows, with the poses and scores of whitened ones."""
    pairs = zip(e_step.pieces(e_step.whitened(chunk)), e_step.pieces(chunk), strict=True)
    return reduce(add, (_both(e_step, hard, *pair) for pair in pairs))


def _both(e_step, hard, seen, piece):
    joint, z, terms = e_step.joint(seen)
    fit, share = normalised(joint)
    if hard:
        share = np.eye(joint.shape[1])[most_likely(e_step, seen, joint)]
    return shared_sums(e_step, False, piece, fit, share, z, terms)


def _soft(e_step, by_feature, piece):
    joint, z, terms = e_step.joint(piece)
    fit, share = normalised(joint)
    return shared_sums(e_step, by_feature, piece, fit, share, z, terms)


def shared_sums(e_step, by_feature, piece, fit, share, z, terms):
    """The sums of rows (n,) that take every transform with its share (n, m)."""
    g = share * piece.weight[:, None]
    coef = np.concatenate([g[None], g * z])
    moments = _moments(e_step, coef, z)
    moments[:, 1:, 1:] += terms.spread(g) if len(moments) > 1 else terms.spread(g).sum(axis=0)
    squares = 0.0
    if by_feature:
        squares = _squares(piece, _mean(e_step, coef)) - piece.lacking_squares(e_step, g, z, terms)
    return Sums(
        **_counts(e_step, piece, fit),
        mass=g.sum(axis=0),
        rhs=e_step.operator.adjoint_sum(piece.prepared, coef)[None],
        moments=Moments(moments[None], piece.lack(e_step, g, z, terms)),
        squares=squares,
    )


def _counts(e_step, piece, fit):
    """The sums that do not depend on transforms."""
    weight, domain = piece.weight, e_step.operator.domain
    observed = piece.observed()
    return {
        "log_likelihood": float(weight @ fit),
        "count": float(weight.sum()),
        "energy": float(weight @ piece.energies),
        "observed": observed if domain is None else observed * domain,
    }


def _mean(e_step, coef):
    """The mean reconstruction over transforms and scores, (n, d)."""
    return sum(c @ e_step.operator.apply(w) for c, w in zip(coef, e_step.weights, strict=True))


def _moments(e_step, coef, z):
    """``sum_i g_it a a'`` of mean coefficients, (m, 1 + K, 1 + K), or its sum over ``t``."""
    if len(e_step.gram) == 1:
        coef, z = (each.reshape(len(each), coef[0].size, 1) for each in (coef, z))
    total = np.empty((coef.shape[2], len(coef), len(coef)))
    total[:, 0] = total[:, :, 0] = coef.sum(axis=1).T
    total[:, 1:, 1:] = coef[1:].transpose(2, 0, 1) @ z.transpose(2, 1, 0)
    return total


def _pairs(g, z, terms):
    """``j, k`` and ``g_it E[a_j a_k]``, (n, m), of all pairs of coefficients of rows in gaps."""
    a = np.concatenate([np.ones((1, *g.shape)), z])
    for j, k in zip(*np.tril_indices(len(a)), strict=True):
        spread = terms.inverse[:, :, j - 1, k - 1] if k else 0.0
        yield j, k, g * (a[j] * a[k] + spread)


def _hard(e_step, by_feature, piece):
    joint, z, terms = e_step.joint(piece)
    index = most_likely(e_step, piece, joint)
    return piece.sums_at(e_step, by_feature, index, joint, z, terms)


def _squares(piece, mean):
    """``sum_i x_ij^2 - 2 x_ij mean_ij`` for means that include the sample weights."""
    return np.einsum("nj,nj->j", piece.rows, piece.weight[:, None] * piece.rows - 2 * mean)
