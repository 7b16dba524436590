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
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from gtpca.data.chunks import Chunks
from gtpca.data.codes import Codes
from gtpca.data.energies import row_energies
from gtpca.data.rows import by_rows
from gtpca.model.coding import bring_back, filled_in
from gtpca.model.model import Poses
from gtpca.model.pose_errors import PosedPart, errors_of_parts, pose_steps, seen_values
from gtpca.model.preprocessing import Preprocessing
from gtpca.model.row_coder import ChunkCoder
from gtpca.model.stationary import StationaryNoise
from gtpca.model.ties import TIED, first_within
from gtpca.operators import Operator
from gtpca.operators.base import with_feature_weight
from gtpca.operators.normal import Moments, moments_at

__all__ = [
    "EStep",
    "ProbabilisticModel",
    "Sums",
    "data_sums",
    "density_errors",
    "encode",
    "hard_sums",
    "log_likelihoods",
    "most_likely",
    "moved",
    "normalised",
    "pose_summary",
    "posterior_in_short",
    "rest_of_rows",
    "shared_sums",
    "soft_sums",
    "total_likelihood",
    "with_one",
]

PIECE = 2**16  # products that are computed at once: with more, new memory costs more than the sums


@dataclass(frozen=True, eq=False)
class ProbabilisticModel:
    """Pattern, loadings, noise and prior on a grid: a density of rows (n, d), in double precision.

    Parameters
    ----------
    operator : Operator
    pattern : array (L,)
    loadings : array (K, L)
    noise : array (1,) or (d,)
        Variance of the noise, of all features or of each.
    log_prior : array (m,)
    whitening : StationaryNoise or None
        The noise by which rows were whitened; densities are those of the original rows.
    data_weights : array (1 + K, L) or None
        Pattern and loadings in the units of the data, if rows are whitened.
    """

    operator: Operator
    pattern: np.ndarray
    loadings: np.ndarray
    noise: np.ndarray
    log_prior: np.ndarray
    whitening: StationaryNoise | None = None
    data_weights: np.ndarray | None = None

    @property
    def shared_pose(self) -> bool:
        """Pattern and components share one pose."""
        return True

    @property
    def n_poses(self) -> int:
        """The number of poses of a sample."""
        return 1

    @property
    def weights(self) -> np.ndarray:
        """Pattern and loadings, (1 + K, L)."""
        return np.concatenate([self.pattern[None], self.loadings])

    @property
    def n_components(self) -> int:
        """``K``."""
        return len(self.loadings)

    @property
    def visible(self) -> np.ndarray:
        """Pattern and loadings in the units of the data, (1 + K, L)."""
        return self.weights if self.data_weights is None else self.data_weights

    @property
    def sizes(self) -> np.ndarray:
        """``sqrt(lambda_k) = |u_k|`` in the units of the data, (K,)."""
        return np.linalg.norm(self.visible[1:], axis=1)

    def with_weights(self, weights: np.ndarray, noise: np.ndarray) -> ProbabilisticModel:
        """The same with another pattern and other loadings (1 + K, L), and another noise."""
        return replace(self, pattern=weights[0], loadings=weights[1:], noise=noise)

    def e_step(self) -> EStep:
        """What a pass over rows needs to know about the model, computed once."""
        one, operator = len(self.noise) == 1, self.operator
        operator = operator if one else with_feature_weight(operator, 1 / self.noise)
        scale = 1 / float(self.noise[0]) if one else 1.0
        G = operator.gram(self.weights[None])[0] * scale
        log_noise = np.log(2 * np.pi * np.broadcast_to(self.noise, operator.n_features))
        log_noise = log_noise if operator.domain is None else log_noise * operator.domain
        base = self.log_prior - log_noise.sum() / 2
        if self.whitening is not None:
            base = base - self.whitening.log_determinant
        return EStep(
            operator=operator,
            weights=self.weights,
            scale=scale,
            gram=G,
            terms=Terms.of(G, base),
            base=base,
            log_noise=log_noise,
            whitening=self.whitening,
            visible=self.visible,
        )

    def canonical(self) -> ProbabilisticModel:
        """The same density with orthogonal loadings, the largest first, each with a sign.

        The covariance ``U' U`` of the pattern does not determine the rotation of ``z``.
        """
        _, sizes, axes = np.linalg.svd(self.loadings, full_matrices=False)
        largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1, keepdims=True), axis=1)
        return replace(self, loadings=sizes[:, None] * axes * np.where(largest < 0, -1.0, 1.0))

    def score_samples(self, chunks: Chunks) -> np.ndarray:
        """``log p(x_i)``, (n,)."""
        return chunks.concat(log_likelihoods, self.e_step())

    def evidence(self, chunks: Chunks) -> np.ndarray:
        """``log p(x_i) - log N(x_i; 0, noise)``, (n,)."""
        return chunks.concat(evidence, self.e_step())

    def encode(self, chunks: Chunks) -> Codes:
        """Most likely pose of every row, and the mean of its scores there."""
        return chunks.concat(encode, self.e_step(), self.sizes)

    def coder(self, dtype: np.dtype) -> ChunkCoder:
        """A function from few rows (n, d) that are not preprocessed to their codes."""
        code = partial(encode, e_step=self.e_step(), sizes=self.sizes)
        return ChunkCoder(self.operator, self.seen, code)

    def seen(self, rows: np.ndarray) -> np.ndarray:
        """Rows (n, d) as the model sees them: in double precision, whitened."""
        rows = Preprocessing()(rows.astype(np.float64, copy=False), self.operator)
        return rows if self.whitening is None else self.whitening.whiten(rows)

    def measure(self, chunks: Chunks) -> tuple[Codes, np.ndarray]:
        """Codes, and the energy of every row with nothing, the pattern, 1, .., K components."""
        found = chunks.concat(measure, self.e_step(), self.sizes)
        return Codes(found["scores"], found["index"]), found["energies"]

    def energies(self, chunks: Chunks) -> np.ndarray:
        """Energy of all rows with nothing, the pattern, 1, .., K components, weighted, (K + 2,)."""
        return chunks.sum(left_energies, self.e_step())

    def data_energies(self, chunks: Chunks) -> np.ndarray:
        """:meth:`energies` of the original rows, in the units of the data."""
        return chunks.sum(data_energies, self.e_step())

    def part_energies(self) -> np.ndarray:
        """Mean over the prior of ``|T_t m|^2`` and of ``|T_t u_k|^2``, (1 + K,)."""
        G = self.operator.gram(self.weights[None])[0]
        squares = np.diagonal(G, axis1=1, axis2=2)
        return squares[0] if len(G) == 1 else np.exp(self.log_prior) @ squares

    def align(self, chunks: Chunks, component: int = 0) -> np.ndarray:
        """Every row moved back from its most likely pose, (n, \\*weight_shape)."""
        return chunks.concat(align, self.e_step())

    def impute(self, chunks: Chunks) -> np.ndarray:
        """Rows with unobserved values predicted in the most likely pose."""
        return chunks.concat(impute, self.e_step())

    def decode(self, codes: Codes) -> np.ndarray:
        """``T_i (m + sum_k scores_ik w_k)``, (n, \\*sample_shape), for k with scores."""
        return by_rows(self._decoded, codes.scores, codes.index)

    def _decoded(self, scores, index):
        sizes = self.sizes[: scores.shape[1]]
        z = np.divide(scores, sizes, out=np.zeros(scores.shape), where=sizes > 0)
        return self.shown(z, index[:, 0]).reshape(-1, *self.operator.sample_shape)

    def poses(self, codes: Codes) -> Poses:
        """The transforms of codes in physical units."""
        return self.described(codes.index)

    def pose_errors(self, chunks: Chunks) -> Poses:
        """Standard errors of the most likely poses, in physical units."""
        steps = pose_steps(self.operator)
        found = chunks.concat(density_errors, self.e_step(), steps)
        return Poses(found, self.operator.pose_units, shared=True)

    def described(self, index) -> Poses:
        """Some transforms in physical units."""
        told = by_rows(self.operator.describe, index)
        return Poses(told, self.operator.pose_units, shared=True)

    def shown(self, z: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The rows ``T_{index_i} (m + sum_k z_ik u_k)``, (n, d)."""
        return moved(self.operator, self.visible[: 1 + z.shape[1]], with_one(z), index)

    def sample(self, n_samples: int, rng) -> tuple[np.ndarray, Codes]:
        """Rows (n, d) drawn from the model, and their codes."""
        index = rng.choice(len(self.log_prior), n_samples, p=np.exp(self.log_prior))
        z = rng.standard_normal((n_samples, len(self.loadings)))
        noise = np.sqrt(self.noise) * rng.standard_normal((n_samples, self.operator.n_features))
        noise = noise if self.whitening is None else self.whitening.colour(noise)
        noise = noise if self.operator.domain is None else noise * self.operator.domain
        return self.shown(z, index) + noise, Codes(z * self.sizes, index[:, None])


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


def rest_of_rows(chunk, e_step):
    """Rows minus their reconstruction in the most likely pose, (n, d)."""
    codes = encode(chunk, e_step, 1.0)
    return chunk.rows - moved(
        chunk.operator, e_step.weights, with_one(codes.scores), codes.index[:, 0]
    )


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


def log_likelihoods(chunk, e_step):
    """``log p(x_i)``, (n,)."""
    found = [normalised(e_step.joint(piece)[0])[0] for piece in e_step.pieces(chunk)]
    return np.concatenate(found)


def evidence(chunk, e_step):
    """``log p(x_i) - log N(x_i; 0, noise)``, (n,)."""
    parts = []
    for piece in e_step.pieces(chunk):
        noise = -(piece.seen @ e_step.log_noise + e_step.scale * piece.energies) / 2
        noise += piece.jacobian(e_step)
        parts.append(normalised(e_step.joint(piece)[0])[0] - noise)
    return np.concatenate(parts)


def total_likelihood(chunk, e_step):
    """``sum_i log p(x_i)``, weighted."""
    return float(np.sum(chunk.weigh(log_likelihoods(chunk, e_step))))


def encode(chunk, e_step, sizes) -> Codes:
    """Most likely transforms, and the mean scores there in units of unit-norm components."""
    found = []
    for piece in e_step.pieces(chunk):
        joint, z, _ = e_step.joint(piece)
        index = most_likely(e_step, piece, joint)
        found.append((z[:, np.arange(len(index)), index].T * sizes, index[:, None]))
    scores, index = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Codes(scores, index.astype(np.int32))


def measure(chunk, e_step, sizes):
    """Codes of a chunk as a dict, and residual ``energies`` (n, K + 2) of its rows.

    With nothing, with the pattern ``|x_i - T_i m|^2``, and with the first 1, .., K components.
    """
    codes, rest = encode(chunk, e_step, 1.0), chunk.rows
    columns, coef = [row_energies(rest)], with_one(codes.scores)
    for k, w in enumerate(e_step.weights):
        rest = rest - moved(chunk.operator, w[None], coef[:, [k]], codes.index[:, 0])
        columns.append(row_energies(rest))
    energies = np.stack(columns, axis=1)
    return {"scores": codes.scores * sizes, "index": codes.index, "energies": energies}


def left_energies(chunk, e_step):
    """``sum_i`` of the energies of :func:`measure`, weighted, (K + 2,)."""
    return chunk.weigh(measure(chunk, e_step, 1.0)["energies"].T).sum(axis=1)


def data_energies(chunk, e_step):
    """``sum_i`` of residual energies of the original rows, in the units of the data, (K + 2,)."""
    codes = encode(e_step.whitened(chunk), e_step, 1.0)
    rest = Preprocessing()(chunk.rows, chunk.operator)
    columns, coef = [row_energies(rest)], with_one(codes.scores)
    for k, w in enumerate(e_step.visible):
        rest = rest - moved(chunk.operator, w[None], coef[:, [k]], codes.index[:, 0])
        columns.append(row_energies(rest))
    return chunk.weigh(np.stack(columns)).sum(axis=1)


def density_errors(chunk, e_step, steps):
    """Standard errors of most likely poses, (n, 1) of each quantity.

    See :mod:`gtpca.model.pose_errors`.
    """
    codes, variance = encode(chunk, e_step, 1.0), 1 / e_step.scale
    free = np.arange(len(e_step.weights)) > 0
    part = PosedPart(e_step.weights, codes.index[:, 0], with_one(codes.scores), free)
    noise = np.full(len(codes), variance)
    return errors_of_parts(e_step.operator, steps, [part], seen_values(chunk), noise, variance)


def align(chunk, e_step):
    """Rows moved back from their most likely transform, (n, \\*weight_shape)."""
    index = encode(e_step.whitened(chunk), e_step, 1.0).index[:, 0]
    return bring_back(chunk.rows, chunk.operator, index).reshape(-1, *chunk.operator.weight_shape)


def impute(chunk, e_step):
    """Rows whose gaps are filled by the prediction in their most likely pose, (n, \\*sample_shape).

    Outside the domain there is no prediction.
    """

    def shown():
        codes = encode(e_step.whitened(chunk), e_step, 1.0)
        return moved(chunk.operator, e_step.visible, with_one(codes.scores), codes.index[:, 0])

    return filled_in(chunk, shown)


def pose_summary(chunk, e_step, n_poses):
    """A summary of the probabilities of transforms.

    Returns
    -------
    dict
        ``index`` and ``probability`` (n, n_poses) of the most likely ones, the largest first;
        ``entropy`` (n,) in nats; ``std_<quantity>`` (n,) of every pose that is a number.
    """
    parts = []
    for piece in e_step.pieces(chunk):
        joint = e_step.joint(piece)[0]
        first = most_likely(e_step, piece, joint)
        parts.append(posterior_in_short(chunk.operator, normalised(joint)[1], first, n_poses))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def posterior_in_short(operator, share, first, n_poses):
    """The summary of probabilities (n, m), of which the ``first`` (n,) is the largest."""
    falling = -share
    falling[np.arange(len(share)), first] = -np.inf
    index = np.argsort(falling, axis=1, kind="stable")[:, :n_poses]
    told = operator.describe(np.arange(operator.n_transforms))
    spreads = {
        f"std_{name}": _deviation(share, np.asarray(values, float), operator.periods.get(name))
        for name, values in told.items()
        if np.asarray(values).dtype.kind in "biuf"
    }
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    entropy = -np.einsum("nt,nt->n", share, logs)
    probability = np.take_along_axis(share, index, axis=1)
    return {"index": index, "probability": probability, "entropy": entropy} | spreads


def _deviation(share, values, period=None):
    """Standard deviation of values (m,) with probabilities (n, m); circular if periodic.

    In that case it is ``sqrt(-2 log R)`` with the length ``R`` of the mean direction.
    """
    if period is None:
        centre = (share @ values)[:, None]
        return np.sqrt(np.einsum("nt,nt->n", share, (values - centre) ** 2))
    length = np.abs(share @ np.exp(2j * np.pi * values / period))
    return (
        period
        / (2 * np.pi)
        * np.sqrt(2 * np.abs(np.log(np.clip(length, np.finfo(float).tiny, 1.0))))
    )
