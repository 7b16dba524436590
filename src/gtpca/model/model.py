"""The fitted model as a value: it encodes, decodes, aligns and measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from gtpca.data.chunks import Chunks
from gtpca.data.codes import Codes
from gtpca.data.rows import by_rows
from gtpca.model import coding
from gtpca.model.matching import Block, make_block
from gtpca.model.pose_errors import pose_errors, pose_steps
from gtpca.model.preprocessing import Preprocessing
from gtpca.model.row_coder import RowCoder
from gtpca.operators import Operator

__all__ = ["CodedModel", "Model", "Poses"]


class Poses(dict):
    """Quantities (n, k) by name, such as ``start`` and ``centre``.

    Attributes
    ----------
    units : dict of str to str
        Units of the quantities that have one, such as "s"; others are points, degrees or factors.
    shared : bool
        Whether all components of a sample share the pose.
    """

    def __init__(self, quantities, units=None, shared=False):
        super().__init__(quantities)
        self.units, self.shared = dict(units or {}), bool(shared)

    def __missing__(self, name):
        raise KeyError(f"{name!r} is not a quantity of these poses; there are {', '.join(self)}.")


class CodedModel(Protocol):
    """The protocol of every fitted model of samples, with or without a likelihood."""

    @property
    def operator(self) -> Operator: ...
    @property
    def weights(self) -> np.ndarray: ...
    @property
    def data_weights(self) -> np.ndarray | None: ...
    @property
    def n_components(self) -> int: ...
    @property
    def shared_pose(self) -> bool: ...
    @property
    def n_poses(self) -> int: ...
    def encode(self, chunks: Chunks) -> Codes: ...
    def coder(self, dtype: np.dtype) -> Callable[[np.ndarray], Codes]: ...
    def measure(self, chunks: Chunks) -> tuple[Codes, np.ndarray]: ...
    def energies(self, chunks: Chunks) -> np.ndarray: ...
    def data_energies(self, chunks: Chunks) -> np.ndarray: ...
    def align(self, chunks: Chunks, component: int = 0) -> np.ndarray: ...
    def impute(self, chunks: Chunks) -> np.ndarray: ...
    def decode(self, codes: Codes) -> np.ndarray: ...
    def poses(self, codes: Codes) -> Poses: ...
    def pose_errors(self, chunks: Chunks) -> Poses: ...


@dataclass(frozen=True, eq=False)
class Model:
    """Components on a grid, and how rows are encoded with them.

    Rows come as :class:`~gtpca.data.chunks.Chunks`, preprocessed unless stated otherwise. For Dask
    arrays the results are lazy, with the same chunks along the samples, except for energies.

    Parameters
    ----------
    operator : Operator
    weights : array (k, L)
        One component per row, as it appears in preprocessed rows. The model holds weights and not
        blocks, because a block depends on the data type of the rows.
    polarity : {"both", "positive"}
    shared_pose : bool
        Whether all components share one pose.
    sweeps : int
        How often each component is matched again, given all the others.
    preprocessing : Preprocessing
    data_weights : array (k, L) or None
        The same components in the units of the data, if rows are whitened: a component with the
        coefficient ``a`` in whitened rows is ``a T w`` there, and ``a T v`` with these weights
        ``v`` in the data. Scores refer to these.
    """

    operator: Operator
    weights: np.ndarray
    polarity: str = "both"
    shared_pose: bool = False
    sweeps: int = 0
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    data_weights: np.ndarray | None = None

    @property
    def n_components(self) -> int:
        """``k``."""
        return len(self.weights)

    @property
    def n_poses(self) -> int:
        """The number of poses of a sample."""
        return 1 if self.shared_pose else len(self.weights)

    def blocks(self, dtype=np.float64, count=None) -> list[Block]:
        """The first ``count`` components, as blocks that have one pose each."""
        return self._blocks_of(self.weights[:count], dtype)

    def data_blocks(self, dtype=np.float64, count=None) -> list[Block]:
        """The same in the units of the data."""
        return self._blocks_of(
            (self.weights if self.data_weights is None else self.data_weights)[:count], dtype
        )

    def _blocks_of(self, weights, dtype):
        groups = [weights] if self.shared_pose else [w[None] for w in weights]
        return [make_block(self.operator, W, dtype, self.polarity) for W in groups]

    @property
    def units(self) -> np.ndarray | None:
        """The factors that convert scores in whitened rows to the data: ``|T_t v_k| / |T_t w_k|``.

        Of shape (m, k), or (1, k) for isometries; None if both are the same.
        """
        if self.data_weights is None:
            return None
        both = (self.data_blocks(), self.blocks())
        shown, seen = (np.concatenate([b.norms for b in blocks], axis=1) for blocks in both)
        return np.divide(shown, seen, out=np.zeros_like(shown), where=seen > 0)

    def encode(self, chunks: Chunks) -> Codes:
        """Scores and transforms of all rows."""
        return chunks.concat(coding.encode, self.blocks(chunks.dtype), self.sweeps, self.units)

    def coder(self, dtype: np.dtype) -> RowCoder:
        """A function from few rows (n, d) that are not preprocessed to their codes."""
        return RowCoder(self, dtype)

    def measure(self, chunks: Chunks) -> tuple[Codes, np.ndarray]:
        """Codes, and the energy of every row after 0, 1, .., k components, (n, k + 1)."""
        how = (self.blocks(chunks.dtype), self.sweeps, self.units)
        found = chunks.concat(coding.measure, *how)
        return Codes(found["scores"], found["index"]), found["energies"]

    def energies(self, chunks: Chunks) -> np.ndarray:
        """Energy of all rows after 0, 1, .., k components, weighted, (k + 1,)."""
        return chunks.sum(coding.nested_energies, self.blocks(chunks.dtype), self.sweeps)

    def explained_shares(self, chunks: Chunks) -> np.ndarray:
        """Share of the energy of every row that all components explain, (n,)."""
        return chunks.concat(coding.explained_shares, self.blocks(chunks.dtype), self.sweeps)

    def align(self, chunks: Chunks, component: int = 0) -> np.ndarray:
        """Rows that are not preprocessed, moved to the reference pose of a component."""
        column = 0 if self.shared_pose else component
        how = (self.blocks(chunks.dtype), self.sweeps)
        return chunks.concat(coding.align, self.preprocessing, column, *how)

    def impute(self, chunks: Chunks) -> np.ndarray:
        """Rows that are not preprocessed, with predictions for unobserved values."""
        how = (self.blocks(chunks.dtype), self.sweeps, self.units, self.data_blocks(chunks.dtype))
        return chunks.concat(coding.impute, self.preprocessing, *how)

    def data_energies(self, chunks: Chunks) -> np.ndarray:
        """Energy of rows that are not preprocessed, after 0, 1, .., k components in the data.

        After centring, weighted, (k + 1,). All components have their final codes.
        """
        how = (self.blocks(chunks.dtype), self.sweeps, self.units, self.data_blocks(chunks.dtype))
        return chunks.sum(coding.data_energies, self.preprocessing, *how)

    def decode(self, codes: Codes) -> np.ndarray:
        """Samples from codes: ``sum_k a_k T_k w_k`` (+ the mean), (n, \\*sample_shape)."""
        blocks = self.data_blocks(np.float64, codes.scores.shape[1])
        return by_rows(partial(self._decoded, blocks), codes.scores, codes.index)

    def _decoded(self, blocks, scores, index):
        dtype = np.result_type(scores.dtype, np.float32)
        flat = coding.decode(Codes(scores, index), self.operator, blocks, dtype)
        if self.preprocessing.mean is not None:
            flat += self.preprocessing.mean.astype(dtype)
        return flat.reshape(len(scores), *self.operator.sample_shape)

    def poses(self, codes: Codes) -> Poses:
        """The transforms of codes in physical units."""
        told = by_rows(self.operator.describe, codes.index)
        return Poses(told, self.operator.pose_space.units, self.shared_pose)

    def pose_errors(self, chunks: Chunks) -> Poses:
        """Standard errors of the poses of all rows, in physical units."""
        how = (pose_steps(self.operator), self.blocks(chunks.dtype), self.sweeps)
        return Poses(
            chunks.concat(pose_errors, *how), self.operator.pose_space.units, self.shared_pose
        )
