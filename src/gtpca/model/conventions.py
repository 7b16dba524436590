"""The pose and the extent in which components are kept: which transforms rows use decides it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gtpca.model.block import make_block
from gtpca.model.coding import match

__all__ = ["Poses", "code_poses", "match_poses", "settle_poses", "settled", "whole_block"]


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
    """

    size: float
    index: int
    used: np.ndarray

    def __add__(self, other: Poses) -> Poses:
        most = max(self, other, key=lambda poses: (poses.size, poses.index))
        return replace(most, used=np.union1d(self.used, other.used))


def code_poses(chunk, k):
    """:class:`Poses` of the codes on component ``k``."""
    sizes = np.abs(chunk.codes.scores[:, k])
    return summarise(chunk, sizes, sizes, chunk.codes.index[:, k])


def match_poses(chunk, operator, block, polarity):
    """:class:`Poses` of the matches of a block, by the scores on its first component."""
    found = match(chunk.prepared(operator), operator, block, polarity)
    return summarise(chunk, np.abs(found.score[:, 0]), found.explained, found.index)


def summarise(chunk, sizes, explained, index):
    """:class:`Poses` of absolute scores, of what they explain, and of transforms, (n,) each."""
    count = np.flatnonzero(chunk.weigh(explained) > 0)
    sizes, index = sizes[count], index[count]
    if not len(sizes):
        return Poses(-1.0, 0, index)
    row = int(sizes.argmax())
    return Poses(float(sizes[row]), int(index[row]), np.unique(index))


def whole_block(chunks, operator, W, polarity):
    """The block of the weights (1, L), of which those that no row sees are predicted."""
    block = make_block(operator, W, chunks.dtype)
    if not operator.plain.crops:
        return block
    poses = chunks.sum(match_poses, operator, block, polarity)
    return make_block(operator, _centred(operator, W, poses.used), chunks.dtype)


def settle_poses(chunks, operator, weights):
    """Bring each component (k, L) to its conventional pose."""
    for k, w in enumerate(weights):
        weights[k] = settled(operator, w[None], chunks.sum(code_poses, k))[0]


def settled(operator, W, poses):
    """Weights (K, L) in the conventional pose.

    For groups that of the row with the largest absolute score; for windows of which rows see a part
    that in which this part is centred, with predictions for the rest.
    """
    moved = [operator.translate(w, poses.index) for w in W]
    if all(w is not None for w in moved):
        return np.array(moved)
    return _centred(operator, W, poses.used) if operator.plain.crops else W


def _centred(operator, W, used):
    """Weights (K, L) with what the transforms ``used`` see in the middle."""
    weight = np.bincount(used, minlength=operator.n_transforms)
    seen = operator.normal(weight, np.ones(operator.n_weights)) > 0
    moved = [operator.centre(w, used, seen) for w in W]
    return W if any(w is None for w in moved) else np.array(moved)
