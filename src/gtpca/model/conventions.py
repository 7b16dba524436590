"""The sign, the pose and the extent in which components are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gtpca.model.matching import match

__all__ = ["Poses", "centred", "code_poses", "conventional", "match_poses", "signs"]


def signs(weights):
    """+1 or -1 for each row of (k, L), so that its largest absolute entry becomes positive."""
    largest = np.abs(weights).argmax(axis=1)
    return np.where(weights[np.arange(len(weights)), largest] < 0, -1.0, 1.0)


@dataclass(frozen=True)
class Poses:
    """Which transforms rows are in.

    Attributes
    ----------
    size : float
        Largest absolute score among rows that count.
    index : int
        Its transform.
    used : int array
        All transforms of rows that count and of which something is explained, each once.
    counts : int array
        How many such rows take each of them.
    """

    size: float
    index: int
    used: np.ndarray
    counts: np.ndarray

    def __add__(self, other: Poses) -> Poses:
        most = max(self, other, key=lambda poses: (poses.size, poses.index))
        used, place = np.unique(np.concatenate([self.used, other.used]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([self.counts, other.counts]), len(used))
        return replace(most, used=used, counts=counts.astype(np.int64))


def code_poses(chunk, k):
    """:class:`Poses` of the codes on component ``k``."""
    sizes = np.abs(chunk.codes.scores[:, k])
    return summarise(chunk, sizes, sizes, chunk.codes.index[:, k])


def match_poses(chunk, block):
    """:class:`Poses` of the matches of a block, by the scores on its first component."""
    found = match(chunk, block)
    return summarise(chunk, np.abs(found.score[:, 0]), found.explained, found.index)


def summarise(chunk, sizes, explained, index):
    """:class:`Poses` of absolute scores, of what they explain, and of transforms, (n,) each."""
    count = np.flatnonzero(chunk.weigh(explained) > 0)
    sizes, index = sizes[count], index[count]
    if not len(sizes):
        return Poses(-1.0, 0, index, index)
    row = int(sizes.argmax())
    return Poses(float(sizes[row]), int(index[row]), *np.unique(index, return_counts=True))


def conventional(operator, W, poses):
    """Weights (K, L) in the conventional pose.

    For groups that of the row with the largest absolute score; for windows of which rows see a part
    that in which this part is centred, with predictions for the rest.
    """
    moved = [operator.translate(w, poses.index) for w in W]
    if all(w is not None for w in moved):
        return np.array(moved)
    return centred(operator, W, poses.used)


def centred(operator, W, used):
    """Weights (K, L) with what the transforms ``used`` see in the middle; the rest is predicted."""
    if not operator.crops:
        return W
    weight = np.bincount(used, minlength=operator.n_transforms)
    seen = operator.normal(weight, np.ones(operator.n_weights)) > 0
    moved = [operator.centre(w, used, seen) for w in W]
    return W if any(w is None for w in moved) else np.array(moved)
