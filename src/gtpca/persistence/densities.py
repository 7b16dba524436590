"""Checks of the density in a file: everything that its methods rely on."""

from __future__ import annotations

import math

import numpy as np

from gtpca import checks
from gtpca.persistence.noises import check_noise_file
from gtpca.persistence.shapes import is_array, is_floats

__all__ = ["NEEDED_OF_DENSITIES", "check_density_file"]

NEEDED_OF_DENSITIES = (
    *("mean_pattern_", "explained_variance_", "noise_variance_", "pose_prior_", "offset_"),
    *("history_", "n_iter_", "labels_", "held_out_gain_", "smoothing_", "shrinkage_"),
)
SUM = 1e-6  # how far probabilities may be from 1 in sum


def check_density_file(model) -> None:
    """Raise an error unless the fitted attributes of a density can be what a fit found."""
    operator = model.operator_
    count = checks.integer("n_components_", model.n_components_, 0)
    _check_floats(model, "components_", (count, *operator.weight_shape))
    _check_floats(model, "mean_pattern_", operator.weight_shape)
    _check_floats(model, "explained_variance_", (count,))
    _check_floats(model, "pose_prior_", (operator.n_transforms,))
    _check_floats(model, "history_", (np.size(model.history_),))
    if np.any(model.explained_variance_ < 0):
        raise ValueError("explained_variance_ must not be negative")
    if np.any(model.pose_prior_ < 0) or abs(model.pose_prior_.sum() - 1) > SUM:
        raise ValueError("pose_prior_ must be probabilities")
    check_noise_file(model, "whitened_weights_", count + 1)
    _check_noise(model)
    _check_numbers(model)


def _check_floats(model, name, shape) -> None:
    if not is_floats(getattr(model, name), tuple(shape)):
        raise ValueError(f"{name} must be finite numbers of shape {tuple(shape)}")


def _check_noise(model) -> None:
    """One variance, or one for each feature, all of them positive."""
    noise, one = model.noise_variance_, not model.noise_by_feature
    one = one or (model.n_features_in_ == 1 and np.ndim(noise) == 0)  # as older files have it
    good = isinstance(noise, float) if one else is_array(noise, "f", model.sample_shape_)
    if not good or not np.all(np.isfinite(noise)) or np.any(np.asarray(noise) <= 0):
        raise ValueError("noise_variance_ must be positive: a number, or one for each feature")


def _check_numbers(model) -> None:
    for name in ("offset_", "smoothing_", "shrinkage_"):
        if not _is_finite(getattr(model, name)):
            raise ValueError(f"{name} must be a number")
    for name in ("held_out_gain_", "held_out_total_", "halves_gain_"):
        value = getattr(model, name)
        if value is not None and not _is_finite(value):
            raise ValueError(f"{name} must be a number, or nothing")
    if not all(_is_finite(value) for value in model.noise_gains_ or ()):
        raise ValueError("noise_gains_ must be numbers")
    checks.integer("n_iter_", model.n_iter_, 0)


def _is_finite(value) -> bool:
    return isinstance(value, float) and math.isfinite(value)
