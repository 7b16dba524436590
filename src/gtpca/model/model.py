"""What a fitted model does with samples: encode, decode, align, measure."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gtpca import checks
from gtpca.data import validation
from gtpca.data.chunks import as_chunks
from gtpca.data.codes import Codes
from gtpca.data.rows import by_rows
from gtpca.model.block import make_block, separate_blocks
from gtpca.model.coding import (
    align,
    decode,
    encode_to_codes,
    explained_shares,
    measure,
    nested_energies,
)

__all__ = ["FittedGTPCA"]


class FittedGTPCA(TransformerMixin):
    """The methods of :class:`~gtpca.GTPCA` that need components but no fitting.

    For arrays of Dask all of them are lazy, with the same chunks along the samples, except
    ``resmse`` and ``score``, which are numbers.
    """

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
        """How rows are prepared: arguments of ``validation.enter``."""
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

    def _enter(self):
        """What is done to new rows: they are centred and weighted like the training data."""
        mean = None if self.mean_ is None else self.mean_.ravel()
        return partial(validation.enter, **self._entry(self.operator_, mean))

    def chunks(self, X, weight=None, entered=True):
        """New data as :class:`~gtpca.data.chunks.Chunks`, as the components see them.

        Parameters
        ----------
        X : array (n, \\*sample_shape) or (n, d)
        weight : array (n,) or None
            Sample weights.
        entered : bool
            Whether rows are centred and weighted like the training data.
        """
        check_is_fitted(self)
        rows = validation.new_rows(self, X, self.sample_shape_)
        if weight is not None:
            weight = checks.weights("sample_weight", weight, [(rows.n_rows,)])
        rows = rows.entered(self._enter()) if entered else rows
        how = {"batch_size": self.batch_size, "n_jobs": self.n_jobs, "residual": self.residual}
        return as_chunks(rows, self.operator_, weight, **how)

    def _join(self, fn, X):
        """``fn(chunk, operator, blocks, polarity, sweeps)`` of all chunks, as one array."""
        chunks = self.chunks(X)
        return chunks.join(fn, self.operator_, *self._how(chunks))

    def _how(self, chunks):
        """What to match chunks with: blocks, polarity, sweeps."""
        return self._blocks(chunks.dtype), self.polarity, self.refine

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
        return self._join(encode_to_codes, X)

    def measure(self, X):
        """Codes of new samples and the energy that they leave, in one pass.

        Parameters
        ----------
        X : array (n, \\*sample_shape) or (n, d)

        Returns
        -------
        codes : Codes
        energies : array (n, k + 1)
            ``|r_i|^2`` after 0, 1, .., k components; see :meth:`resmse`.
        """
        found = self._join(measure, X)
        return Codes(found["scores"], found["index"]), found["energies"]

    def decode(self, codes):
        """Samples from codes: ``sum_k a_k T_k w_k`` (+ the mean), (n, \\*sample_shape)."""
        check_is_fitted(self)
        blocks = self._blocks(np.float64, codes.scores.shape[1])
        fn = partial(_decoded, operator=self.operator_, blocks=blocks, mean=self.mean_)
        return by_rows(fn, codes.scores, codes.index)

    def reconstruct(self, X):
        """``decode(encode(X))``, shape (n, \\*sample_shape)."""
        return self.decode(self.encode(X))

    def transform(self, X):
        """Signed scores (n, k); with ``output="scores+poses"`` also the indices, (n, 2 k)."""
        codes = self.encode(X)
        if self.output == "scores":
            return codes.scores
        return by_rows(_side_by_side, codes.scores, codes.index)

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
        now = copy(self)  # what is lazy must not change when the model is fitted again
        now.__dict__.pop("online_", None)
        return by_rows(now._inverse, X)

    def _inverse(self, X):
        codes = validation.codes_from_output(self, X)
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
        return by_rows(self.operator_.describe, codes.index)

    def align(self, X, component=0):
        """Every sample brought to the reference pose of a component, (n, \\*weight_shape).

        Each weight gets the average of the sample values that it explains, zero where there are
        none: the part of the sample under the window, or the sample turned or flipped back. The
        sign of the score is not undone, and nothing is centred.
        """
        chunks = self.chunks(X, entered=False)
        checks.whole("component", component, 0, self.n_components_ - 1)
        column = 0 if self.shared_pose else component
        return chunks.join(align, self.operator_, self._enter(), column, *self._how(chunks))

    def resmse(self, X):
        """Residual energy over energy, after 1, 2, .., k components, shape (k,).

        ``sum_i |x_i - proj_k(x_i)|^2 / sum_i |x_i|^2``
        """
        chunks = self.chunks(X)
        energies = chunks.sum(nested_energies, self.operator_, *self._how(chunks))
        return energies[1:] / energies[0] if energies[0] > 0 else np.ones(self.n_components_)

    def score(self, X, y=None):
        """Share of the energy of ``X`` that all components explain: ``1 - resmse(X)[-1]``."""
        return float(1 - self.resmse(X)[-1])

    def score_samples(self, X):
        """Share of the energy of each sample that all components explain, (n,); 0 for zero rows."""
        return self._join(explained_shares, X)

    def get_feature_names_out(self, input_features=None):
        """Names ``gtpca0, gtpca1, ..``, and ``gtpca0_index, ..`` with ``output="scores+poses"``."""
        check_is_fitted(self)
        names = [f"gtpca{k}" for k in range(self.n_components_)]
        if self.output == "scores+poses":
            names += ["gtpca_index"] if self.shared_pose else [f"{name}_index" for name in names]
        return np.asarray(names, dtype=object)


def _decoded(scores, index, operator, blocks, mean):
    """``sum_k a_k T_k w_k`` (+ the mean), (n, \\*sample_shape)."""
    dtype = np.result_type(scores.dtype, np.float32)
    flat = decode(Codes(scores, index), operator, blocks, dtype)
    if mean is not None:
        flat += mean.ravel().astype(dtype)
    return flat.reshape(len(scores), *operator.sample_shape)


def _side_by_side(scores, index):
    return np.hstack([scores, index.astype(scores.dtype)])
