r"""One pose per sample, as a probability: what a row says about its pose, and what EM must know.

    x = T_t (m + sum_k z_k u_k) + noise,    z ~ N(0, I),    t ~ prior,    noise ~ N(0, diag(v))

The *loadings* ``u_k = sqrt(lambda_k) w_k`` and the pattern ``m`` move together. With rows and
transforms in units of the noise, the products ``b_0 = <x, T_t m>`` and ``b_k = <x, T_t u_k>``, the
Gram matrix ``G_t`` of ``T_t m, T_t u_1, ..`` and ``c = b_{1..} - G_{1..,0}``, up to a constant

    log p(x, t) = log prior_t + b_0 - G_00 / 2 - log det(M_t) / 2 + c' M_t^-1 c / 2 - |x|^2 / 2

with ``M_t = I + G_{1..,1..}``; given ``x`` and ``t`` the scores are ``z ~ N(M_t^-1 c, M_t^-1)``.
For isometries ``G`` and ``M`` do not depend on ``t``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from gtpca.data.chunks import Chunks, Codes, row_energies
from gtpca.data.rows import by_rows
from gtpca.model.coding import bring_back
from gtpca.model.matching import gram_matrices, second_moments
from gtpca.operators import Operator

__all__ = [
    "Lens",
    "ProbabilisticModel",
    "Sums",
    "hard_sums",
    "log_likelihoods",
    "pose_summary",
    "soft_sums",
]

PIECE = 2**16  # products that are made at once: beyond, new memory costs more than the sums


@dataclass(frozen=True, eq=False)
class ProbabilisticModel:
    """Pattern, loadings, noise and prior on a grid: a density of rows (n, d) in double precision.

    Parameters
    ----------
    operator : Operator
    pattern : array (L,)
    loadings : array (K, L)
    noise : array (1,) or (d,)
        Variance of the noise, of all features or of each.
    log_prior : array (m,)
    """

    operator: Operator
    pattern: np.ndarray
    loadings: np.ndarray
    noise: np.ndarray
    log_prior: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """Pattern and loadings, (1 + K, L)."""
        return np.concatenate([self.pattern[None], self.loadings])

    def lens(self) -> Lens:
        """What a pass over rows needs to know of the model, computed once."""
        one, operator = len(self.noise) == 1, self.operator
        operator = operator if one else operator.weighted(1 / self.noise)
        scale = 1 / float(self.noise[0]) if one else 1.0
        G = gram_matrices(operator, self.weights[None])[0] * scale
        M = np.eye(len(self.loadings)) + G[:, 1:, 1:]
        still = -(operator.n_features * np.log(2 * np.pi * self.noise).mean()) / 2
        return Lens(
            operator=operator,
            weights=self.weights,
            scale=scale,
            root=None if one else np.sqrt(1 / self.noise),
            inverse=np.linalg.inv(M),
            offset=G[:, 1:, 0].T,
            constant=still + self.log_prior - G[:, 0, 0] / 2 - np.linalg.slogdet(M)[1] / 2,
        )

    def canonical(self) -> ProbabilisticModel:
        """The same density with orthogonal loadings, the largest first, each with a sign.

        The covariance ``U' U`` of the pattern does not say which rotation of ``z`` is meant.
        """
        _, sizes, axes = np.linalg.svd(self.loadings, full_matrices=False)
        largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1, keepdims=True), axis=1)
        return replace(self, loadings=sizes[:, None] * axes * np.where(largest < 0, -1.0, 1.0))

    def score_samples(self, chunks: Chunks) -> np.ndarray:
        """``log p(x_i)``, (n,)."""
        return chunks.join(log_likelihoods, self.lens())

    def encode(self, chunks: Chunks) -> Codes:
        """Most likely pose of every row, and the mean of its scores there."""
        return chunks.join(encode, self.lens(), np.linalg.norm(self.loadings, axis=1))

    def align(self, chunks: Chunks) -> np.ndarray:
        """Every row brought back from its most likely pose, (n, \\*weight_shape)."""
        return chunks.join(align, self.lens())

    def decode(self, codes: Codes) -> np.ndarray:
        """``T_i (m + sum_k scores_ik w_k)``, (n, \\*sample_shape)."""
        return by_rows(self._decoded, codes.scores, codes.index)

    def _decoded(self, scores, index):
        sizes = np.linalg.norm(self.loadings, axis=1)
        z = np.divide(scores, sizes, out=np.zeros(scores.shape), where=sizes > 0)
        return self.shown(z, index[:, 0]).reshape(-1, *self.operator.sample_shape)

    def poses(self, codes: Codes) -> dict[str, np.ndarray]:
        """The transforms of codes in a person's units."""
        return self.described(codes.index)

    def described(self, index) -> dict[str, np.ndarray]:
        """Some transforms in a person's units."""
        return by_rows(self.operator.describe, index)

    def shown(self, z: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The rows ``T_{index_i} (m + sum_k z_ik u_k)``, (n, d)."""
        return moved(self.operator, self.weights, with_one(z), index)

    def sample(self, n_samples: int, rng) -> tuple[np.ndarray, Codes]:
        """Rows (n, d) drawn from the model, and their codes."""
        index = rng.choice(len(self.log_prior), n_samples, p=np.exp(self.log_prior))
        z = rng.standard_normal((n_samples, len(self.loadings)))
        noise = np.sqrt(self.noise) * rng.standard_normal((n_samples, self.operator.n_features))
        scores = z * np.linalg.norm(self.loadings, axis=1)
        return self.shown(z, index) + noise, Codes(scores, index[:, None])


@dataclass(frozen=True, eq=False)
class Lens:
    """A model as a pass over rows sees it. Small: it travels to workers.

    Attributes
    ----------
    operator : Operator
        With a weight of ``1 / v`` if every feature has a noise of its own.
    weights : array (1 + K, L)
    scale : float
        ``1 / v`` of isotropic noise, else 1: what makes products ``b`` of rows.
    root : array (d,) or None
        What rows are multiplied by: ``1 / sqrt(v)`` of each feature.
    inverse : array (m, K, K), or (1, K, K) for isometries
        ``M_t^-1``.
    offset : array (K, m) or (K, 1)
        ``<T_t u_k, T_t m>`` in units of the noise.
    constant : array (m,)
        All of ``log p(x, t)`` that does not depend on ``x``.
    """

    operator: Operator
    weights: np.ndarray
    scale: float
    root: np.ndarray | None
    inverse: np.ndarray
    offset: np.ndarray
    constant: np.ndarray

    def pieces(self, chunk) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows of a chunk in units of the noise, and what was prepared of them, few at a time."""
        if self.root is not None:
            chunk = replace(chunk, rows=chunk.rows * self.root, operator=self.operator, memory=None)
        P, size = chunk.prepared, max(1, PIECE // (len(self.weights) * self.operator.n_transforms))
        for start in range(0, max(1, len(P)), size):
            yield chunk.rows[start : start + size], P[start : start + size]

    def joint(self, rows: np.ndarray, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``log p(x_i, t)``, (n, m), and the mean scores ``M_t^-1 c``, (K, n, m)."""
        b = np.stack([self.operator.correlate(P, w) for w in self.weights * self.scale])
        c = b[1:] - self.offset[:, None]
        z = self._scores(c)
        total = b[0] + np.einsum("knt,knt->nt", c, z) / 2 + self.constant
        total -= self.scale / 2 * row_energies(rows)[:, None]
        return total, z

    def _scores(self, c):
        """``M_t^-1 c`` of products (K, n, m)."""
        if len(self.inverse) == 1:
            return np.tensordot(self.inverse[0], c, axes=1)
        return (c.transpose(2, 1, 0) @ self.inverse).transpose(2, 1, 0)


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
    """All that an update needs to know of the rows: additive over pieces and chunks.

    With the coefficients ``a = (1, z)`` and the probability ``g_it`` of a transform, which for hard
    EM is 1 for the best of them:

    Attributes
    ----------
    fit : float
        ``sum_i log p(x_i)``, or ``sum_i max_t log p(x_i, t)``.
    count, energy : float
        Number of rows, and the energy that they have in units of the noise if there are several.
    mass : array (m,)
        ``sum_i g_it``.
    rhs : array (1 + K, L)
        ``sum_it g_it E[a] T_t* x_i``.
    moments : array (m, 1 + K, 1 + K), or (1, 1 + K, 1 + K) for isometries
        ``sum_i g_it E[a a']``.
    squares : array (d,), or 0 where nobody asks
        ``sum_i x_ij^2 - 2 x_ij E[T_t (m + U z)]_j``.
    """

    fit: float
    count: float
    energy: float
    mass: np.ndarray
    rhs: np.ndarray
    moments: np.ndarray
    squares: Any = 0.0

    def __add__(self, other: Sums) -> Sums:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Sums(*(a + b for a, b in pairs))


def soft_sums(chunk, lens, by_feature=False) -> Sums:
    """The :class:`Sums` of a chunk, over all transforms by their probability."""
    return reduce(add, (_soft(lens, by_feature, *piece) for piece in lens.pieces(chunk)))


def hard_sums(chunk, lens, by_feature=False) -> Sums:
    """The :class:`Sums` of a chunk, of the most likely transform of every row."""
    return reduce(add, (_hard(lens, by_feature, *piece) for piece in lens.pieces(chunk)))


def _soft(lens, by_feature, rows, P):
    joint, z = lens.joint(rows, P)
    fit, share = normalised(joint)
    coef = np.concatenate([share[None], share * z])
    return Sums(
        fit=float(fit.sum()),
        count=float(len(rows)),
        energy=float(row_energies(rows).sum()),
        mass=share.sum(axis=0),
        rhs=np.stack([lens.operator.adjoint_sum(P, c) for c in coef]),
        moments=_with_spread(lens, share.sum(axis=0), _soft_moments(lens, coef, z)),
        squares=_squares(rows, _soft_mean(lens, coef)) if by_feature else 0.0,
    )


def _soft_mean(lens, coef):
    """The mean of what is shown, over transforms and scores, (n, d)."""
    return sum(lens.operator.apply_sum(c, w) for c, w in zip(coef, lens.weights, strict=True))


def _soft_moments(lens, coef, z):
    """``sum_i g_it a a'`` of mean coefficients, (m, 1 + K, 1 + K), or its sum over ``t``."""
    if lens.operator.isometric:
        coef, z = (each.reshape(len(each), coef[0].size, 1) for each in (coef, z))
    total = np.empty((coef.shape[2], len(coef), len(coef)))
    total[:, 0] = total[:, :, 0] = coef.sum(axis=1).T
    total[:, 1:, 1:] = coef[1:].transpose(2, 0, 1) @ z.transpose(2, 1, 0)
    return total


def _hard(lens, by_feature, rows, P):
    joint, z = lens.joint(rows, P)
    operator, index = lens.operator, joint.argmax(axis=1)
    each = np.arange(len(index))
    coef, mass = with_one(z[:, each, index].T), np.bincount(index, minlength=joint.shape[1])
    shown = moved(operator, lens.weights, coef, index) if by_feature else None
    return Sums(
        fit=float(joint[each, index].sum()),
        count=float(len(rows)),
        energy=float(row_energies(rows).sum()),
        mass=mass.astype(float),
        rhs=operator.adjoint_block(rows, index, coef),
        moments=_with_spread(lens, mass, second_moments(operator, index, coef, coef)),
        squares=_squares(rows, shown) if by_feature else 0.0,
    )


def _with_spread(lens, mass, moments):
    """Moments of mean coefficients with the covariance ``M_t^-1`` of the scores added."""
    mass = np.array([mass.sum()]) if len(moments) == 1 else mass
    moments[:, 1:, 1:] += mass[:, None, None] * lens.inverse
    return moments


def _squares(rows, mean):
    return np.einsum("nj,nj->j", rows, rows - 2 * mean)


def log_likelihoods(chunk, lens):
    """``log p(x_i)``, (n,)."""
    found = [normalised(lens.joint(*piece)[0])[0] for piece in lens.pieces(chunk)]
    return np.concatenate(found)


def encode(chunk, lens, sizes) -> Codes:
    """Most likely transforms, and the mean scores there in units of unit-norm components."""
    found = []
    for piece in lens.pieces(chunk):
        joint, z = lens.joint(*piece)
        index = joint.argmax(axis=1)
        found.append((z[:, np.arange(len(index)), index].T * sizes, index[:, None]))
    scores, index = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Codes(scores, index.astype(np.int32))


def align(chunk, lens):
    """Rows brought back from their most likely transform, (n, \\*weight_shape)."""
    index = encode(chunk, lens, 1.0).index[:, 0]
    return bring_back(chunk.rows, chunk.operator, index).reshape(-1, *chunk.operator.weight_shape)


def pose_summary(chunk, lens, n_poses):
    """The probabilities of transforms in short.

    Returns
    -------
    dict
        ``index`` and ``probability`` (n, n_poses) of the most likely ones, the largest first;
        ``entropy`` (n,) in nats; ``std_<quantity>`` (n,) of every pose that is a number.
    """
    shares = (normalised(lens.joint(*piece)[0])[1] for piece in lens.pieces(chunk))
    parts = [_summary(chunk.operator, share, n_poses) for share in shares]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _summary(operator, share, n_poses):
    index = np.argsort(-share, axis=1, kind="stable")[:, :n_poses]
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
    """Standard deviation of values (m,) with probabilities (n, m); on a circle if they go round.

    There it is ``sqrt(-2 log R)`` with the length ``R`` of the mean direction.
    """
    if period is None:
        centre = (share @ values)[:, None]
        return np.sqrt(np.einsum("nt,nt->n", share, (values - centre) ** 2))
    length = np.abs(share @ np.exp(2j * np.pi * values / period))
    return period / (2 * np.pi) * np.sqrt(-2 * np.log(np.clip(length, np.finfo(float).tiny, 1.0)))
