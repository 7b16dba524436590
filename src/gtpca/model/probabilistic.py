"""The density of rows as a value: pattern, loadings, noise and prior.

It scores, encodes, measures, aligns and fills chunks of rows by the posterior of their poses
(:mod:`gtpca.model.posterior`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gtpca.data.chunks import Chunks
from gtpca.data.codes import Codes
from gtpca.data.energies import row_energies
from gtpca.data.rows import by_rows
from gtpca.model.coding import bring_back, filled_in
from gtpca.model.model import Poses
from gtpca.model.pose_errors import PosedPart, errors_of_parts, pose_steps, seen_values
from gtpca.model.posterior import EStep, Terms, most_likely, moved, normalised, with_one
from gtpca.model.preprocessing import Preprocessing
from gtpca.model.row_coder import ChunkCoder
from gtpca.model.stationary import StationaryNoise
from gtpca.operators import Operator
from gtpca.operators.base import with_feature_weight

__all__ = [
    "ProbabilisticModel",
    "density_errors",
    "encode",
    "log_likelihoods",
    "pose_summary",
    "posterior_in_short",
    "rest_of_rows",
    "total_likelihood",
]


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
        return Poses(found, self.operator.pose_space.units, shared=True)

    def described(self, index) -> Poses:
        """Some transforms in physical units."""
        told = by_rows(self.operator.describe, index)
        return Poses(told, self.operator.pose_space.units, shared=True)

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


def rest_of_rows(chunk, e_step):
    """Rows minus their reconstruction in the most likely pose, (n, d)."""
    codes = encode(chunk, e_step, 1.0)
    return chunk.rows - moved(
        chunk.operator, e_step.weights, with_one(codes.scores), codes.index[:, 0]
    )


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
    told, axes = operator.describe(np.arange(operator.n_transforms)), operator.pose_space.named
    spreads = {
        f"std_{name}": _deviation(share, np.asarray(values, float), axes[name].period)
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
