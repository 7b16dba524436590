"""Checks of templates of recordings in a file: everything that their methods rely on."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np

from gtpca import checks
from gtpca.fitting.event_counts import EventCounts
from gtpca.fitting.event_sums import EventSums
from gtpca.model.stationary import StationaryNoise
from gtpca.persistence.noises import check_noise_value
from gtpca.persistence.shapes import is_floats

__all__ = ["check_event_file", "check_template_shape"]


def check_template_shape(fitted, max_size) -> None:
    """Raise an error unless ``sample_shape_`` is that of templates of moderate size."""
    shape = fitted["sample_shape_"]
    if not isinstance(shape, tuple) or len(shape) not in (1, 2):
        raise ValueError("sample_shape_ must be that of a template")
    if fitted["n_components_"] * math.prod(checks.sizes("sample_shape_", shape)) > max_size:
        raise ValueError(f"templates are larger than max_size={max_size}")
    count = shape[1] if len(shape) == 2 else 1
    for name in ("n_channels_", "n_features_in_"):
        if fitted[name] != count or type(fitted[name]) is not int:
            raise ValueError(f"{name} must be that of a template")


def check_event_file(model) -> None:
    """Raise an error unless the fitted attributes of templates are a possible result of a fit."""
    count = checks.integer("n_components_", model.n_components_, 1)
    for name, value, allowed in (
        ("shared_pose_", model.shared_pose_, (False, True)),
        ("center_", model.center_, (False, True)),
        ("polarity_", model.polarity_, ("positive", "both")),
    ):
        checks.choice(name, value, allowed)
    _check_arrays(model, model.sample_shape_, count)
    _check_noise(model)
    _check_sums(model, count)
    checks.integer("refractory_", model.refractory_, 1)
    checks.integer("n_iter_", model.n_iter_, 0)
    if not isinstance(model.counts_text_, str):
        raise ValueError("counts_text_ must be a sentence")
    if not isinstance(model.event_counts_, EventCounts):
        raise ValueError("event_counts_ must be numbers of events")


def _check_arrays(model, shape, count) -> None:
    """Check for templates of unit norm, and positive numbers for each group of them."""
    groups = 1 if model.shared_pose_ else count
    rows = len(model.prices_) if np.ndim(model.prices_) == 2 else 0
    wanted = {
        "components_": (count, *shape),
        "prices_": (rows, groups),
        "noise_level_": (groups,),
        "crossings_": (groups,),
        "score_scale_": (count,),
        "history_": (np.size(model.history_),),
    }
    if model.whitened_components_ is not None:
        wanted["whitened_components_"] = (count, *shape)
    for name, size in wanted.items():
        if not is_floats(getattr(model, name), size):
            raise ValueError(f"{name} must be finite numbers of shape {size}")
    if not model.components_.reshape(count, -1).any(axis=1).all():
        raise ValueError("components_ must not be zero")
    if np.any(model.noise_level_ < 0) or np.any(model.score_scale_ <= 0):
        raise ValueError("noise_level_ and score_scale_ must be positive")


def _check_sums(model, count) -> None:
    """What ``partial_fit`` goes on from; files of earlier versions do not hold it."""
    known, length = model.fit_.online, model.sample_shape_[0]
    if known is None:
        return
    if not isinstance(known, dict) or set(known) != {f.name for f in fields(EventSums)}:
        raise ValueError("online_ must hold sums of recordings")
    wanted = {
        "lags": (count, count, 2 * length - 1),
        "rhs": (count, length, model.n_channels_),
        "data": (count, length, model.n_channels_),
    }
    if model.noise_ is None:
        del wanted["data"]
    for name, size in wanted.items():
        if not is_floats(known[name], size):
            raise ValueError(f"{name} of online_ must be finite numbers of shape {size}")
    checks.non_negative("n_points of online_", known["n_points"])


def _check_noise(model) -> None:
    if (model.noise_ is None) != (model.whitened_components_ is None):
        raise ValueError("whitened_components_ and noise_ belong together")
    if model.noise_ is not None:
        if not isinstance(model.noise_, StationaryNoise) or len(model.noise_.sample_shape) != 2:
            raise ValueError("noise_ must be a noise of recordings, or nothing")
        check_noise_value(model.noise_, {0: False})
        if model.noise_.n_channels != model.n_channels_:
            raise ValueError("noise_ must have the channels of the recordings")
