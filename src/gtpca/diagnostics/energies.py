"""Energies under every transform, not only the best, and the noise that components see."""

from __future__ import annotations

import numpy as np

from gtpca.model.coding import sweep

__all__ = ["noise_levels", "pose_energies"]


def pose_energies(chunk, block) -> np.ndarray:
    """Energy of every row that a block explains under every transform, (n, m).

    ``|root_t b|^2`` with ``b_k = <x_i, T_t w_k>``, as in :mod:`gtpca.model.matching`.
    """
    each = [chunk.operator.correlate(chunk.prepared, w[None])[0] for w in block.weights]
    b = np.stack(each, axis=-1)
    if block.polarity == "positive":
        b = np.maximum(b, 0.0)
    z = b.astype(np.float64)[:, :, None, :] @ block.root.swapaxes(1, 2)
    return np.sum(z[:, :, 0] ** 2, axis=-1)


def noise_levels(chunks, blocks) -> np.ndarray:
    """Mean energy along a direction of each block in the residual of all of them, (p,).

    The mean is over all rows and transforms: the noise, as the component sees it.
    """
    return chunks.sum(_summed, blocks) / (chunks.n_rows * chunks.operator.n_transforms)


def _summed(chunk, blocks):
    """The same, summed over the rows of a chunk and all transforms."""
    rest = sweep(chunk, blocks)
    return np.array([pose_energies(rest, block).sum() / len(block) for block in blocks])
