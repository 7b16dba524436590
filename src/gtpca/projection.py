"""What a fitted model does with samples: encode, decode, align, measure."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gtpca import checks, inputs
from gtpca.blocks import make_block, separate_blocks
from gtpca.chunks import as_chunks
from gtpca.codes import Codes
from gtpca.coding import (
    bring_back,
    decode,
    encode_to_codes,
    first_and_last,
    residual_energies,
)

__all__ = ["FittedGTPCA"]


class FittedGTPCA(TransformerMixin):
    """The methods of :class:`~gtpca.GTPCA` that need components but no fitting."""

    center: bool | str
    shared_pose: bool
    polarity: str
    output: str
    refine: int
    batch_size: int | None
    n_jobs: int | None
    residual: str
    components_: np.ndarray
    n_components_: int
    sample_shape_: tuple[int, ...]
    mean_: np.ndarray | None
    operator_: Any
    _row_shape: tuple[int, ...]

    def _entry(self, operator, mean):
        """How rows are prepared: arguments of ``inputs.enter``."""
        return {"operator": operator, "mean": mean, "per_sample": self.center == "samples"}

    def __sklearn_is_fitted__(self):
        return hasattr(self, "components_")

    def _blocks(self, dtype, count=None):
        """The first ``count`` components, as blocks that take one pose each."""
        weights = self.components_.reshape(self.n_components_, -1)[:count]
        if self.shared_pose:
            return [make_block(self.operator_, weights, dtype)]
        return separate_blocks(self.operator_, weights, dtype)

    @property
    def _n_features_out(self):
        return self.n_components_ + (self._n_poses if self.output == "scores+poses" else 0)

    @property
    def _n_poses(self):
        """How many poses a sample has."""
        return 1 if self.shared_pose else self.n_components_

    def _chunks(self, X, weight=None):
        """New data as chunks, centred and weighted like the training data."""
        check_is_fitted(self)
        rows = inputs.new_rows(self, X, self.sample_shape_)
        if weight is not None:
            weight = checks.weights("sample_weight", weight, [(rows.n_rows,)])
        mean = None if self.mean_ is None else self.mean_.ravel()
        rows = rows.entered(partial(inputs.enter, **self._entry(self.operator_, mean)))
        how = {"batch_size": self.batch_size, "n_jobs": self.n_jobs, "residual": self.residual}
        return as_chunks(rows, self.operator_, weight, **how)

    def _collect(self, X, fn, *small):
        """``fn`` on all chunks of ``X``."""
        chunks = self._chunks(X)
        blocks = self._blocks(chunks.dtype)
        return chunks.collect(fn, self.operator_, blocks, self.polarity, *small)

    def encode(self, X):
        """Scores and transforms of new samples.

        Parameters
        ----------
        X : array (n, \\*sample_shape) or (n, d)

        Returns
        -------
        Codes
            With ``scores`` (n, k) and ``index`` (n, k), or (n, 1) if the pose is shared.
        """
        parts = self._collect(X, encode_to_codes, self.refine)
        return Codes(
            np.concatenate([codes.scores for codes in parts]),
            np.concatenate([codes.index for codes in parts]),
        )

    def decode(self, codes):
        """Samples from codes: ``sum_k a_k T_k w_k`` (+ the mean), (n, \\*sample_shape)."""
        check_is_fitted(self)
        dtype = np.result_type(codes.scores.dtype, np.float32)
        blocks = self._blocks(np.float64, codes.scores.shape[1])
        flat = decode(codes, self.operator_, blocks, dtype)
        if self.mean_ is not None:
            flat += self.mean_.ravel().astype(dtype)
        return flat.reshape(len(codes), *self.sample_shape_)

    def reconstruct(self, X):
        """``decode(encode(X))``, shape (n, \\*sample_shape)."""
        return self.decode(self.encode(X))

    def transform(self, X):
        """Signed scores (n, k); with ``output="scores+poses"`` also the indices, (n, 2 k)."""
        codes = self.encode(X)
        if self.output == "scores":
            return codes.scores
        return np.hstack([codes.scores, codes.index.astype(codes.scores.dtype)])

    def inverse_transform(self, X):
        """Samples from what ``transform`` returned.

        With plain scores every component is in its reference pose: the window centred, no rotation,
        no flip. With ``output="scores+poses"`` it is the reconstruction.

        Parameters
        ----------
        X : array (n, k) or (n, 2 k)

        Returns
        -------
        array (n, d) if the training rows were flat, else (n, \\*sample_shape)
        """
        check_is_fitted(self)
        codes = inputs.codes_from_output(self, X)
        return self.decode(codes).reshape(len(codes), *self._row_shape)

    def poses(self, codes):
        """The transforms of ``codes`` in a person's units.

        Returns
        -------
        dict of str to array (n, k)
            One entry per quantity, e.g. ``start`` and ``centre`` of the window, ``degrees``,
            ``flipped``, ``factor``; see the family for signs, zeros and units.
        """
        check_is_fitted(self)
        return self.operator_.describe(codes.index)

    def align(self, X, component=0):
        """Every sample brought to the reference pose of a component, (n, \\*weight_shape).

        Each weight gets the average of the sample values that it explains, zero where there are
        none: the part of the sample under the window, or the sample turned or flipped back. The
        sign of the score is not undone, and nothing is centred.
        """
        codes = self.encode(X)
        checks.whole("component", component, 0, self.n_components_ - 1)
        rows = inputs.new_rows(self, X, self.sample_shape_)
        column, operator = 0 if self.shared_pose else component, self.operator_.plain
        chunks = as_chunks(rows, operator, None, self.batch_size, self.n_jobs, codes)
        aligned = np.concatenate(chunks.collect(bring_back, operator, column))
        return aligned.reshape(rows.n_rows, *operator.weight_shape)

    def resmse(self, X):
        """Residual energy over energy, after 1, 2, .., k components, shape (k,).

        ``sum_i |x_i - proj_k(x_i)|^2 / sum_i |x_i|^2``
        """
        energies = np.concatenate(self._collect(X, residual_energies, self.refine)).sum(axis=0)
        return energies[1:] / energies[0] if energies[0] > 0 else np.ones(self.n_components_)

    def score(self, X, y=None):
        """Share of the energy of ``X`` that all components explain: ``1 - resmse(X)[-1]``."""
        return float(1 - self.resmse(X)[-1])

    def score_samples(self, X):
        """Share of the energy of each sample that all components explain, (n,); 0 for zero rows."""
        energies = np.concatenate(self._collect(X, first_and_last, self.refine))
        total = energies[:, 0]
        return 1 - np.divide(energies[:, 1], total, out=np.ones_like(total), where=total > 0)

    def get_feature_names_out(self, input_features=None):
        """Names ``gtpca0, gtpca1, ..``, and ``gtpca0_index, ..`` with ``output="scores+poses"``."""
        check_is_fitted(self)
        names = [f"gtpca{k}" for k in range(self.n_components_)]
        if self.output == "scores+poses":
            names += ["gtpca_index"] if self.shared_pose else [f"{name}_index" for name in names]
        return np.asarray(names, dtype=object)
