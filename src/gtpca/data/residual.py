"""What components leave of the rows, from their codes alone."""

from __future__ import annotations

import numpy as np

__all__ = ["Subtraction"]


class Subtraction:
    """The residual from rows and their codes, without a match: ``x_i - sum_k a_ik T_ik w_k``.

    Parameters
    ----------
    operator : Operator
    blocks : list of Block or None
        One for each column of the codes; None for what is left in the rows.
    dtype : dtype of the rows
    """

    def __init__(self, operator, blocks, dtype):
        self.operator = operator
        self.used = [k for k, block in enumerate(blocks) if block is not None]
        if self.used:
            found = [blocks[k] for k in self.used]
            weights = np.concatenate([block.weights for block in found]).astype(dtype)
            self.prepared = operator.prepare_weights(weights)
            norms = np.concatenate([block.norms for block in found], axis=1)
            self.scale = np.divide(-1.0, norms, out=np.zeros(norms.shape), where=norms > 0)

    def __call__(self, rows, codes):
        if not self.used:
            return rows
        index, rows = codes.index[:, self.used], rows.copy()
        scale = self.scale
        if len(scale) > 1:
            scale = scale[index, np.arange(len(self.used))]
        coef = (codes.scores[:, self.used] * scale).astype(rows.dtype)
        self.operator.add_moved(rows, self.prepared, index, coef)
        return rows
