"""The types of what a fit leaves behind, for type checkers and readers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gtpca.bases import BaseEstimator, CallbackSupportMixin, Shape, TransformerMixin
from gtpca.data.labels import Labels
from gtpca.operators import Operator

__all__ = ["Published"]


class Published(CallbackSupportMixin, TransformerMixin, BaseEstimator):
    """The fitted attributes of ``GTPCA``, which says what they mean; its ``restore`` sets them."""

    components_: np.ndarray
    explained_energy_: np.ndarray
    explained_energy_ratio_: np.ndarray
    n_components_: int
    n_iter_: np.ndarray
    history_: list[np.ndarray]
    ridge_: np.ndarray
    mean_: np.ndarray | None
    polarity_: str
    center_: bool | str
    shared_pose_: bool
    sample_shape_: Shape
    labels_: Labels | None
    operator_: Operator
    n_features_in_: int
    n_samples_seen_: int
    online_: dict[str, Any]
    _row_shape: Shape
