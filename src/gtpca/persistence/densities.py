"""Checks of the density in a file: everything that its methods rely on."""

from __future__ import annotations

import math

import numpy as np

from gtpca import checks
from gtpca.persistence.noises import check_noise_file
from gtpca.persistence.shapes import is_array, is_floats

__all__ = ["check_density_file", "check_mixture_file"]

SUM = 1e-6  # tolerance for the sum of probabilities


def check_density_file(model) -> None:
    """Raise an error unless the fitted attributes of a density are a possible result of a fit."""
    operator = model.operator_
    count = checks.integer("n_components_", model.n_components_, 0)
    _check_floats(model, "components_", (count, *operator.weight_shape))
    _check_floats(model, "mean_pattern_", operator.weight_shape)
    _check_floats(model, "explained_variance_", (count,))
    _check_floats(model, "pose_prior_", (operator.n_transforms,))
    _check_floats(model, "history_", (np.size(model.history_),))
    _check_not_negative(model, "explained_variance_")
    _check_probabilities(model, "pose_prior_")
    check_noise_file(model, "whitened_weights_", (count + 1,))
    _check_noise(model, not model.noise_by_feature)
    _check_numbers(model)


def check_mixture_file(model) -> None:
    """Raise an error unless the fitted attributes of a mixture are a possible result of a fit."""
    operator = model.operator_
    count = checks.integer("n_components_", model.n_components_, 0)
    kinds = checks.integer("number of kind_weights_", np.size(model.kind_weights_), 1)
    _check_floats(model, "components_", (kinds, count, *operator.weight_shape))
    _check_floats(model, "mean_patterns_", (kinds, *operator.weight_shape))
    _check_floats(model, "explained_variance_", (kinds, count))
    _check_floats(model, "pose_prior_", (kinds, operator.n_transforms))
    _check_floats(model, "history_", (np.size(model.history_),))
    for name in ("kind_weights_", "kind_counts_", "doubts_"):
        _check_floats(model, name, (kinds,))
    for name in ("explained_variance_", "kind_counts_", "doubts_"):
        _check_not_negative(model, name)
    _check_probabilities(model, "pose_prior_")
    _check_probabilities(model, "kind_weights_")
    if not np.all(model.kind_weights_ > 0):
        raise ValueError("kind_weights_ must be positive")
    check_noise_file(model, "whitened_weights_", (kinds, count + 1))
    _check_noise(model, one=True)
    checks.integer("n_iter_", model.n_iter_, 0)


def _check_not_negative(model, name) -> None:
    if np.any(getattr(model, name) < 0):
        raise ValueError(f"{name} must not be negative")


def _check_probabilities(model, name) -> None:
    values = getattr(model, name)
    if np.any(values < 0) or np.any(np.abs(values.sum(axis=-1) - 1) > SUM):
        raise ValueError(f"{name} must be probabilities")


def _check_floats(model, name, shape) -> None:
    if not is_floats(getattr(model, name), tuple(shape)):
        raise ValueError(f"{name} must be finite numbers of shape {tuple(shape)}")


def _check_noise(model, one) -> None:
    """Check that there is one variance, or one for each feature, all of them positive."""
    noise = model.noise_variance_
    one = one or (model.n_features_in_ == 1 and np.ndim(noise) == 0)  # as in older files
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
