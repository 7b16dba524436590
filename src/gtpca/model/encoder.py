"""A fitted model that codes one sample after the other, as fast as they come."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from gtpca.data.codes import Codes
from gtpca.data.missing import as_nan, check_no_infinity, check_observed
from gtpca.model.model import Poses
from gtpca.operators.grid import shape_text

__all__ = ["Encoder"]

KEPT_POSES = 2**16  # transforms up to which their descriptions are kept


class Encoder:
    """A fitted model, prepared for one sample at a time.

    Made by ``model.encoder()``. It is a snapshot: the model may be fitted again afterwards. Nothing
    in it changes, so that threads may share it. Samples are checked for their shape and for gaps
    only: arrays of float32 or float64, in which precision scores are returned.

    Parameters
    ----------
    model : Model, ProbabilisticModel or MixtureModel
    grid : tuple of int
        Shape of a sample, with what is known about its axes.
    missing : {"error", "ignore"}
        Whether NaN means not observed.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import GTPCA, Shift
    >>> X = np.zeros((20, 12))
    >>> for i in range(20):
    ...     X[i, i % 10 : i % 10 + 3] = [1.0, 3.0, 1.0]
    >>> encoder = GTPCA(n_components=1, family=Shift(window=3), random_state=0).fit(X).encoder()
    >>> scores, poses = encoder(X[4])
    >>> scores.round(3), poses["start"]
    (array([3.317]), array([4]))
    """

    def __init__(self, model: Any, grid: tuple[int, ...], missing: str = "error"):
        operator = model.operator  # is never changed; all else may be
        self._model = deepcopy(model, {id(operator): operator})
        self._grid, self._missing = grid, missing
        self.sample_shape: tuple[int, ...] = tuple(operator.sample_shape)
        self._coders: dict[str, Callable] = {}
        self._one = ((operator.n_features,), self.sample_shape)
        self._units, self._shared = operator.pose_space.units, model.shared_pose
        self._table: dict[str, np.ndarray] | None = None
        if operator.continuous is None and operator.n_transforms <= KEPT_POSES:
            self._table = operator.describe(np.arange(operator.n_transforms))

    def __repr__(self) -> str:
        return f"<Encoder of samples of shape {shape_text(self._grid)}>"

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, Poses]:
        """Scores and poses of one sample, or of a few.

        Parameters
        ----------
        x : array of the shape of a sample, or (d,); (n, \\*sample_shape) or (n, d) for a few
            float32 or float64.

        Returns
        -------
        scores : array (k,), or (n, k)
        poses : dict of str to array (k,), or (n, k)
            One entry per quantity, as ``poses`` of the model returns them; of shape (1,) or (n, 1)
            if all components share the pose.
        """
        rows, single = self._rows(x)
        coder = self._coder(rows)
        if single:
            scores, index = coder.one(rows[0])
        else:
            codes = coder(rows)
            scores, index = codes.scores, codes.index
        return scores, self._poses(index)

    def encode(self, x: np.ndarray) -> Codes:
        """The same as :class:`~gtpca.Codes`, with one row for each sample."""
        rows, _ = self._rows(x)
        return replace(self._coder(rows)(rows), operator=self._model.operator)

    def _coder(self, rows):
        """What codes rows of a data type; made at the first of them."""
        found = self._coders.get(rows.dtype.char)
        if found is None:
            found = self._coders[rows.dtype.char] = self._model.coder(rows.dtype)
        return found

    def _poses(self, index):
        """Transforms of any shape in physical units."""
        if self._table is None:
            told = self._model.operator.describe(index)
        else:
            told = {name: values[index] for name, values in self._table.items()}
        return Poses(told, self._units, self._shared)

    def _rows(self, x):
        """Rows (n, d), and whether they are a single sample."""
        if type(x) is not np.ndarray:
            x = as_nan(x) if np.ma.isMaskedArray(x) else np.asarray(x)
        if x.dtype.char not in "fd":
            raise TypeError(f"x is of {x.dtype}, but must be float32 or float64: x.astype(float).")
        single, d = x.shape in self._one, self._one[0][0]
        if not single and x.shape[1:] not in self._one:
            raise ValueError(
                f"x has shape {x.shape}, but must be one sample, {shape_text(self._grid)}, or a "
                "few of them along a first axis."
            )
        flat = x.reshape(-1)
        if not math.isfinite(np.vdot(flat, flat)):
            self._check(flat.reshape(-1, d))
        return flat.reshape(-1, d), single

    def _check(self, rows):
        """Raise an error for infinite values, and for gaps unless they are ignored."""
        if self._missing == "error":
            check_observed("x", np.isnan(rows), shape=self.sample_shape)
        check_no_infinity("x", rows, shape=self.sample_shape)
