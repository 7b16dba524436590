"""What components leave of the rows: from their codes alone, or kept in a file."""

from __future__ import annotations

import math
import os
import tempfile

import numpy as np

__all__ = ["Subtraction", "scratch"]


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


def scratch(shape, dtype):
    """An array in a temporary file that has no name: it is gone when nobody uses it any more.

    The room is reserved first: a disk that is full is an error here, not later.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    with tempfile.TemporaryFile(prefix="gtpca-") as file:
        try:
            reserve(file, size)
        except OSError as error:
            raise OSError(
                error.errno,
                f"residual='scratch' needs {size / 1e9:.2f} GB in {tempfile.gettempdir()}: "
                f"{error.strerror}; set TMPDIR to another disk or use residual='recompute'",
            ) from error
        return np.memmap(file, dtype=dtype, mode="r+", shape=shape)


def reserve(file, size):
    """Make the file ``size`` bytes long, with room on the disk for all of them."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)
