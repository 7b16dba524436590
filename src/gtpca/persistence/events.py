"""Checks of templates of recordings in a file: everything that their methods rely on."""

from __future__ import annotations

import math

import numpy as np
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca.fitting.event_counts import EventCounts
from gtpca.model.stationary import StationaryNoise
from gtpca.persistence.labels import check_labels
from gtpca.persistence.noises import check_noise_value
from gtpca.persistence.shapes import is_floats
from gtpca.recordings import check_event_parameters

__all__ = ["check_event_file"]

NEEDED = (
    *("components_", "whitened_components_", "event_counts_", "counts_text_", "prices_"),
    *("noise_level_", "crossings_", "noise_", "score_scale_", "history_", "n_iter_", "cautions_"),
    *("refractory_", "n_components_", "n_channels_", "n_features_in_", "sample_shape_", "labels_"),
    *("shared_pose_", "polarity_", "center_"),
)
MOST_JOBS = 4096


def check_event_file(model, fitted, max_size):
    """The model with its fitted attributes; an error unless they can be what a fit found."""
    missing = [name for name in NEEDED if name not in fitted]
    if missing:
        raise ValueError(f"{missing[0]} is missing")
    check_event_parameters(model)
    check_random_state(model.random_state)
    if model.n_jobs is not None:
        checks.integer("n_jobs", model.n_jobs, -MOST_JOBS, MOST_JOBS)
    model.restore(None, **fitted)
    shape, count = model.sample_shape_, checks.integer("n_components_", model.n_components_, 1)
    if not isinstance(shape, tuple) or len(shape) not in (1, 2):
        raise ValueError("sample_shape_ must be that of a template")
    if count * math.prod(checks.sizes("sample_shape_", shape)) > max_size:
        raise ValueError(f"templates are larger than max_size={max_size}")
    if (
        model.n_channels_ != (shape[1] if len(shape) == 2 else 1)
        or type(model.n_channels_) is not int
    ):
        raise ValueError("n_channels_ must be that of a template")
    for name, value, allowed in (
        ("shared_pose_", model.shared_pose_, (False, True)),
        ("center_", model.center_, (False, True)),
        ("polarity_", model.polarity_, ("positive", "both")),
    ):
        checks.choice(name, value, allowed)
    _check_arrays(model, shape, count)
    _check_noise(model)
    checks.integer("refractory_", model.refractory_, 1)
    checks.integer("n_iter_", model.n_iter_, 0)
    texts = [model.counts_text_, *model.cautions_] if isinstance(model.cautions_, list) else [None]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("cautions_ and counts_text_ must be sentences")
    if not isinstance(model.event_counts_, EventCounts):
        raise ValueError("event_counts_ must be numbers of events")
    check_labels(model.labels_, shape)
    return model.restore(model.bind(model.grid_), **fitted)


def _check_arrays(model, shape, count) -> None:
    """Templates of unit norm, and positive numbers for each group of them."""
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


def _check_noise(model) -> None:
    if (model.noise_ is None) != (model.whitened_components_ is None):
        raise ValueError("whitened_components_ and noise_ belong together")
    if model.noise_ is not None:
        if not isinstance(model.noise_, StationaryNoise) or len(model.noise_.sample_shape) != 2:
            raise ValueError("noise_ must be a noise of recordings, or nothing")
        check_noise_value(model.noise_, {0: False})
        if model.noise_.n_channels != model.n_channels_:
            raise ValueError("noise_ must have the channels of the recordings")
