r"""Several kinds of samples, each with its own density: the posterior of kinds.

    p(x) = sum_g pi_g p_g(x),    r_g = pi_g p_g(x) / p(x)

where ``p_g`` is the density of :mod:`gtpca.model.probabilistic` with its own pattern, loadings and
prior, and one noise for all kinds. With ``log pi_g`` included in the prior of the transforms of a
kind, its joint density of row, kind and transform is that of a single model, and :class:`KindSums`
are the sums of every kind over rows weighted by ``r_ig``.

A pose belongs to a kind: two kinds have no common zero. Where a single pose is needed, it is that
of the most likely kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from gtpca.data.chunks import Chunks
from gtpca.data.codes import Codes
from gtpca.data.energies import row_energies
from gtpca.data.rows import by_rows
from gtpca.model.coding import bring_back, filled_in
from gtpca.model.model import Poses
from gtpca.model.posterior import EStep, Sums, most_likely, moved, normalised, shared_sums, with_one
from gtpca.model.probabilistic import ProbabilisticModel, posterior_in_short
from gtpca.model.row_coder import ChunkCoder
from gtpca.operators import Operator

__all__ = [
    "KindSums",
    "MixtureModel",
    "encode",
    "kind_counts",
    "kind_data_sums",
    "kind_sums",
    "log_likelihoods",
    "log_shares_of_kinds",
    "measure",
    "pose_summary",
    "probabilities",
    "rest_of_rows",
]


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """Kinds with their weights: a density of rows (n, d) in double precision.

    Parameters
    ----------
    kinds : tuple of ProbabilisticModel
        ``G`` of them, with the same operator, noise and whitening, and as many components.
    log_weights : array (G,)
        ``log pi_g``.
    """

    kinds: tuple[ProbabilisticModel, ...]
    log_weights: np.ndarray

    @property
    def operator(self) -> Operator:
        """The operator of all kinds."""
        return self.kinds[0].operator

    @property
    def weights(self) -> np.ndarray:
        """Patterns and loadings, (G, 1 + K, L)."""
        return np.array([kind.weights for kind in self.kinds])

    @property
    def noise(self) -> np.ndarray:
        """Variance of the noise, (1,)."""
        return self.kinds[0].noise

    @property
    def sizes(self) -> np.ndarray:
        """``sqrt(lambda_gk) = |u_gk|`` in the units of the data, (G, K)."""
        return np.array([kind.sizes for kind in self.kinds])

    def with_weights(self, weights: np.ndarray, noise: np.ndarray) -> MixtureModel:
        """The same with other patterns and loadings (G, 1 + K, L), and another noise."""
        pairs = zip(self.kinds, weights, strict=True)
        return replace(self, kinds=tuple(kind.with_weights(W, noise) for kind, W in pairs))

    def e_step(self) -> tuple[EStep, ...]:
        """What a pass over rows needs to know about every kind, including ``log pi_g``."""
        pairs = zip(self.kinds, self.log_weights, strict=True)
        each = (replace(kind, log_prior=kind.log_prior + log_weight) for kind, log_weight in pairs)
        return tuple(kind.e_step() for kind in each)

    def canonical(self) -> MixtureModel:
        """The same density: the kind of the largest weight first, each with orthogonal loadings."""
        order = np.argsort(-self.log_weights, kind="stable")
        return MixtureModel(
            tuple(self.kinds[g].canonical() for g in order), self.log_weights[order]
        )

    def score_samples(self, chunks: Chunks) -> np.ndarray:
        """``log p(x_i)``, (n,)."""
        return chunks.concat(log_likelihoods, self.e_step())

    def probabilities(self, chunks: Chunks) -> np.ndarray:
        """``r_ig``, (n, G)."""
        return chunks.concat(probabilities, self.e_step())

    def encode(self, chunks: Chunks) -> Codes:
        """Most likely kind of every row, its most likely pose there, and the mean scores."""
        found = chunks.concat(encode, self.e_step(), self.sizes)
        return Codes(found["scores"], found["index"], kind=found["kind"])

    @property
    def shared_pose(self) -> bool:
        """Pattern and components of a kind share one pose."""
        return True

    def coder(self, dtype: np.dtype) -> ChunkCoder:
        """A function from few rows (n, d) that are not preprocessed to their codes."""
        e_steps, sizes = self.e_step(), self.sizes
        return ChunkCoder(
            self.operator, self.kinds[0].seen, lambda chunk: Codes(**encode(chunk, e_steps, sizes))
        )

    def measure(self, chunks: Chunks) -> tuple[Codes, np.ndarray]:
        """Codes, and the energy of every row with nothing, its pattern, 1, .., K components."""
        found = chunks.concat(measure, self.e_step(), self.sizes)
        return Codes(found["scores"], found["index"], kind=found["kind"]), found["energies"]

    def align(self, chunks: Chunks) -> np.ndarray:
        """Every row moved back from the pose of its kind, (n, \\*weight_shape)."""
        return chunks.concat(align, self.e_step())

    def impute(self, chunks: Chunks) -> np.ndarray:
        """Rows with unobserved values predicted by their kind in its most likely pose."""
        return chunks.concat(impute, self.e_step())

    def decode(self, codes: Codes) -> np.ndarray:
        """``T_i (m_g + sum_k scores_ik w_gk)`` of the kind ``g`` of row i, (n, \\*sample_shape)."""
        if codes.kind is None:
            raise ValueError("codes have no kind, but must be what encode(X) of a mixture returns.")
        return by_rows(self._decoded, codes.scores, codes.index, codes.kind[:, None])

    def _decoded(self, scores, index, kind):
        total = np.zeros((len(scores), *self.operator.sample_shape))
        for g, one in enumerate(self.kinds):
            mine = kind[:, 0] == g
            total[mine] = one.decode(Codes(scores[mine], index[mine]))
        return total

    def poses(self, codes: Codes) -> Poses:
        """The transforms of codes in physical units; every kind has its own zero."""
        return self.described(codes.index)

    def described(self, index) -> Poses:
        """Some transforms in physical units."""
        return self.kinds[0].described(index)

    def sample(self, n_samples: int, rng) -> tuple[np.ndarray, Codes]:
        """Rows (n, d) drawn from the model, and their codes."""
        kind = rng.choice(len(self.kinds), n_samples, p=np.exp(self.log_weights))
        rows = np.zeros((n_samples, self.operator.n_features))
        scores, index = np.zeros((n_samples, self.sizes.shape[1])), np.zeros((n_samples, 1), int)
        for g, one in enumerate(self.kinds):
            mine = kind == g
            rows[mine], codes = one.sample(int(mine.sum()), rng)
            scores[mine], index[mine] = codes.scores, codes.index
        return rows, Codes(scores, index, kind=kind)


@dataclass(frozen=True)
class KindSums:
    """The :class:`~gtpca.model.posterior.Sums` of every kind: rows count ``r_ig`` times.

    Attributes
    ----------
    each : tuple of Sums
        The ``log_likelihood`` of a kind is ``sum_i r_ig log p(x_i)``.
    """

    each: tuple[Sums, ...]

    @property
    def log_likelihood(self) -> float:
        """``sum_i log p(x_i)``."""
        return sum(sums.log_likelihood for sums in self.each)

    @property
    def count(self) -> float:
        """Number of rows."""
        return sum(sums.count for sums in self.each)

    def __add__(self, other: KindSums) -> KindSums:
        return KindSums(tuple(a + b for a, b in zip(self.each, other.each, strict=True)))


def kind_sums(chunk, e_steps, by_feature=False) -> KindSums:
    """The :class:`KindSums` of a chunk, over all kinds and transforms weighted by probability."""
    pieces = e_steps[0].pieces(chunk)
    return reduce(add, (_sums(e_steps, piece, piece, by_feature) for piece in pieces))


def kind_data_sums(chunk, e_steps) -> KindSums:
    """The sums of the original rows, with the kinds, poses and scores of whitened ones."""
    first = e_steps[0]
    pairs = zip(first.pieces(first.whitened(chunk)), first.pieces(chunk), strict=True)
    return reduce(add, (_sums(e_steps, *pair) for pair in pairs))


def _sums(e_steps, seen, piece, by_feature=False):
    """Sums of a piece, with the probabilities from the piece that is ``seen``."""
    joints = [e_step.joint(seen) for e_step in e_steps]
    found = [normalised(joint) for joint, _, _ in joints]
    fit, share = normalised(np.stack([logs for logs, _ in found], axis=1))
    each = []
    for g, (e_step, (_, z, terms)) in enumerate(zip(e_steps, joints, strict=True)):
        mine = replace(piece, weight=piece.weight * share[:, g])
        each.append(shared_sums(e_step, by_feature, mine, fit, found[g][1], z, terms))
    return KindSums(tuple(each))


@dataclass(frozen=True, eq=False)
class Known:
    """What is known about the rows of a piece.

    Attributes
    ----------
    kind, index : int array (n,)
        The most likely kind, and the most likely transform of it.
    scores : array (n, K)
        Their mean there, in units of the prior.
    share : array (n, m)
        The probabilities of the transforms of this kind.
    """

    kind: np.ndarray
    index: np.ndarray
    scores: np.ndarray
    share: np.ndarray


def _known(e_steps, piece) -> Known:
    """Kind, transform and scores of the rows of a piece."""
    joints, z = zip(*(e_step.joint(piece)[:2] for e_step in e_steps), strict=True)
    logs = np.stack([normalised(joint)[0] for joint in joints], axis=1)
    rows, kind = np.arange(len(logs)), most_likely(e_steps[0], piece, logs)
    joint = np.stack(joints)[kind, rows]
    index = most_likely(e_steps[0], piece, joint)
    return Known(kind, index, np.stack(z)[kind, :, rows, index], normalised(joint)[1])


def _coded(chunk, e_steps) -> Codes:
    """Codes of a chunk, with scores in units of the prior."""
    found = [_known(e_steps, piece) for piece in e_steps[0].pieces(chunk)]
    kind, index, scores = (
        np.concatenate([getattr(known, name) for known in found])
        for name in ("kind", "index", "scores")
    )
    return Codes(scores, index[:, None].astype(np.int32), kind=kind)


def encode(chunk, e_steps, sizes):
    """Codes of a chunk as a dict, with scores in units of unit-norm components."""
    codes = _coded(chunk, e_steps)
    return {"scores": codes.scores * sizes[codes.kind], "index": codes.index, "kind": codes.kind}


def measure(chunk, e_steps, sizes):
    """:func:`encode` of a chunk, and residual ``energies`` (n, K + 2) of its rows.

    With nothing, with the pattern of their kind, and with its first 1, .., K components.
    """
    codes, rest = _coded(chunk, e_steps), chunk.rows
    columns, coef = [row_energies(rest)], with_one(codes.scores)
    for k in range(coef.shape[1]):
        stack = [e_step.weights[[k]] for e_step in e_steps]
        rest = rest - _moved_by_kind(chunk.operator, stack, coef[:, [k]], codes)
        columns.append(row_energies(rest))
    scores, energies = codes.scores * sizes[codes.kind], np.stack(columns, axis=1)
    return {"scores": scores, "index": codes.index, "kind": codes.kind, "energies": energies}


def _moved_by_kind(operator, stack, coef, codes):
    """``T_i sum_q coef_iq w_gq`` with the weights (G, q, L) of the kind ``g`` of row i, (n, d)."""
    rows = np.zeros((len(codes), operator.n_features))
    for g, W in enumerate(stack):
        mine = codes.kind == g
        rows[mine] = moved(operator, W, coef[mine], codes.index[mine, 0])
    return rows


def _shown(operator, stack, codes):
    """The reconstruction by the kinds, with weights (G, 1 + K, L) and prior-unit scores, (n, d)."""
    return _moved_by_kind(operator, stack, with_one(codes.scores), codes)


def rest_of_rows(chunk, e_steps):
    """Rows minus the reconstruction by their most likely kind in its most likely pose, (n, d)."""
    codes = _coded(chunk, e_steps)
    return chunk.rows - _shown(chunk.operator, [e_step.weights for e_step in e_steps], codes)


def align(chunk, e_steps):
    """Rows moved back from the most likely transform of their kind, (n, \\*weight_shape)."""
    index = _coded(e_steps[0].whitened(chunk), e_steps).index[:, 0]
    return bring_back(chunk.rows, chunk.operator, index).reshape(-1, *chunk.operator.weight_shape)


def impute(chunk, e_steps):
    """Rows whose gaps within the domain are filled by their kind, (n, \\*sample_shape)."""

    def shown():
        codes = _coded(e_steps[0].whitened(chunk), e_steps)
        return _shown(chunk.operator, [e_step.visible for e_step in e_steps], codes)

    return filled_in(chunk, shown)


def _log_shares(e_steps, piece):
    """``log pi_g p_g(x_i)``, (n, G)."""
    return np.stack([normalised(e_step.joint(piece)[0])[0] for e_step in e_steps], axis=1)


def log_shares_of_kinds(chunk, e_steps):
    """``log pi_g p_g(x_i)`` of a chunk, (n, G)."""
    return np.concatenate([_log_shares(e_steps, piece) for piece in e_steps[0].pieces(chunk)])


def log_likelihoods(chunk, e_steps):
    """``log p(x_i)``, (n,)."""
    return normalised(log_shares_of_kinds(chunk, e_steps))[0]


def probabilities(chunk, e_steps):
    """``r_ig``, (n, G)."""
    return normalised(log_shares_of_kinds(chunk, e_steps))[1]


def kind_counts(chunk, e_steps):
    """The number of rows assigned to each kind, and their lack of certainty, (2, G).

    ``sum_i q_i`` and ``sum_i q_i (1 - r_ig)`` over the rows of kind g, with sample weights ``q``.
    """
    share = probabilities(chunk, e_steps)
    kind, weight = share.argmax(axis=1), chunk.weigh(np.ones(len(share)))
    doubt = weight * (1 - share.max(axis=1))
    return np.array([np.bincount(kind, each, len(e_steps)) for each in (weight, doubt)])


def pose_summary(chunk, e_steps, n_poses):
    """:func:`gtpca.model.probabilistic.pose_summary` of the transforms of the most likely kind."""
    parts = []
    for piece in e_steps[0].pieces(chunk):
        known = _known(e_steps, piece)
        parts.append(posterior_in_short(chunk.operator, known.share, known.index, n_poses))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
