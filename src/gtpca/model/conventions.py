"""Conventions for the sign, the pose and the extent in which components are stored."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gtpca.model.matching import match_given
from gtpca.model.ties import TIED
from gtpca.operators.normal import seen_by

__all__ = [
    "SAME",
    "TakenPoses",
    "centred",
    "code_poses",
    "code_sides",
    "conventional",
    "kept_signs",
    "match_poses",
    "product_sides",
    "signs",
]

EVEN = 1e-9  # relative difference below which both signs are equally frequent
SAME = 0.5  # product of unit weights from which two fits have the same component


def signs(weights, sides=None):
    """+1 or -1 for each row of (k, L), so that most scores become positive.

    In a tie, or if scores are not known, so that the largest absolute entry becomes positive.

    Parameters
    ----------
    weights : array (k, L)
    sides : array (2, k) or None
        Of the scores on each, see :func:`score_sides`.
    """
    largest = np.abs(weights).argmax(axis=1)
    found = np.where(weights[np.arange(len(weights)), largest] < 0, -1.0, 1.0)
    if sides is None:
        return found
    up, down = sides
    clear = np.abs(up - down) > EVEN * (up + down)
    return np.where(clear, np.where(down > up, -1.0, 1.0), found)


def kept_signs(weights, before, least=0.0):
    """+1 or -1 for each row of (k, L), so that earlier weights (k, L) are not flipped.

    1 if the product with them is smaller than ``least``.
    """
    return np.where(np.sum(weights * before, axis=1) < -least, -1.0, 1.0)


def score_sides(chunk, scores):
    """Sums of the sample weights of rows with positive and with negative scores (n, k), (2, k).

    Scores that are zero up to rounding, compared with others of the row, do not count.
    """
    sizes = np.abs(scores)
    least = TIED * np.finfo(chunk.rows.dtype).eps * sizes.max(axis=1, keepdims=True, initial=0.0)
    counts = chunk.weigh(np.ones(len(scores)))
    return np.stack([counts @ (scores > least), counts @ (scores < -least)])


def code_sides(chunk):
    """:func:`score_sides` of the codes."""
    return score_sides(chunk, chunk.codes.scores)


def product_sides(chunk, W):
    """:func:`score_sides` of the products with weights (k, L) under a single transform."""
    return score_sides(chunk, chunk.operator.correlate(chunk.prepared, W)[:, :, 0].T)


@dataclass(frozen=True)
class TakenPoses:
    """Which transforms rows are in.

    Attributes
    ----------
    size : float
        Largest absolute score among rows that count.
    index : int
        Its transform.
    used : int array
        All transforms of rows that count and are partly explained, each once.
    counts : int array
        The number of such rows with each of them.
    sides : array (2, k)
        :func:`score_sides` of all scores.
    """

    size: float
    index: int
    used: np.ndarray
    counts: np.ndarray
    sides: np.ndarray

    def __add__(self, other: TakenPoses) -> TakenPoses:
        most = max(self, other, key=lambda poses: (poses.size, poses.index))
        used, place = np.unique(np.concatenate([self.used, other.used]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([self.counts, other.counts]), len(used))
        sides = self.sides + other.sides
        return replace(most, used=used, counts=counts.astype(np.int64), sides=sides)


def code_poses(chunk, k):
    """:class:`TakenPoses` of the codes on component ``k``."""
    scores = chunk.codes.scores[:, [k]]
    return summarise(chunk, scores, np.abs(scores[:, 0]), chunk.codes.index[:, k])


def match_poses(chunk, block):
    """:class:`TakenPoses` of the matches of a block, by the scores on its first component."""
    found = match_given(chunk, block, chunk.turn)
    return summarise(chunk, found.score, found.explained, found.index)


def summarise(chunk, scores, explained, index):
    """:class:`TakenPoses` of scores (n, K), of what they explain, and of transforms, (n,) each.

    Poses between the nodes count as the nearest nodes.
    """
    sides, count = score_sides(chunk, scores), np.flatnonzero(chunk.weigh(explained) > 0)
    sizes, index = np.abs(scores[count, 0]), chunk.operator.pose_space.nearest(index[count])
    if not len(sizes):
        return TakenPoses(-1.0, 0, index, index, sides)
    row = int(sizes.argmax())
    taken = np.unique(index, return_counts=True)
    return TakenPoses(float(sizes[row]), int(index[row]), *taken, sides)


def conventional(operator, W, poses):
    """Weights (K, L) in the conventional pose.

    For groups, this is the pose of the row with the largest absolute score; for windows of which
    rows see only a part, it is the one in which this part is centred, with predictions for the
    rest.
    """
    moved = [operator.translate(w, poses.index) for w in W]
    if all(w is not None for w in moved):
        return np.array(moved)
    return centred(operator, W, poses.used)


def centred(operator, W, used):
    """Weights (K, L) with what the transforms ``used`` see in the middle; the rest is predicted."""
    if not operator.crops:
        return W
    counts = np.bincount(used, minlength=operator.n_transforms)
    seen = seen_by(operator, counts)
    moved = [operator.centre(w, used, seen) for w in W]
    return W if any(w is None for w in moved) else np.array(moved)
