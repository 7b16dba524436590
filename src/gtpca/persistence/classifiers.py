"""Checks of the classifier in a file: its classes, their shares, and models that fit together."""

from __future__ import annotations

import numpy as np

from gtpca.base import BaseModel
from gtpca.persistence.shapes import is_array, is_floats

__all__ = ["check_classes", "class_names"]

SUM = 1e-6  # tolerance for the sum of shares


def class_names(classes) -> np.ndarray:
    """Classes as a file stores them: numbers, or an object array of text."""
    return classes.astype(object) if classes.dtype.kind == "U" else classes


def check_classes(classes, prior, models) -> np.ndarray:
    """The classes (C,) of ``C`` models, if these and their shares are a possible result of a fit.

    Text is returned as an array of text.
    """
    count = len(models)
    if isinstance(classes, np.ndarray) and classes.dtype == object:
        classes = np.array(list(classes), dtype=str)
    if not is_array(classes, "biufU", (count,)) or not count:
        raise ValueError(f"classes_ must be {count} numbers or texts, and at least one")
    if len(np.unique(classes)) < count or not np.array_equal(np.sort(classes), classes):
        raise ValueError("classes_ must be distinct and sorted")
    if not is_floats(prior, (count,)) or not np.all(prior > 0) or abs(prior.sum() - 1) > SUM:
        raise ValueError(f"class_prior_ must be {count} positive shares that add up to 1")
    alike = {(type(model), model.n_features_in_) for model in models}
    if len(alike) > 1 or not isinstance(models[0], BaseModel):
        raise ValueError("models must be of samples, of one estimator and one number of features")
    return classes
