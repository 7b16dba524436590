"""Checks of the noise by which rows are whitened, from a file."""

from __future__ import annotations

import math

import numpy as np

from gtpca.model.autoregression import Autoregression
from gtpca.model.stationary import StationaryNoise, shift_axes
from gtpca.persistence.shapes import is_floats

__all__ = ["check_noise_file"]

MOST_ORDERS = 1000


def check_noise_file(model, name, counts) -> None:
    """Raise an error unless ``noise_`` is None, or fits the operator of a model.

    In the latter case the attribute ``name`` must have the whitened weights, (\\*counts).
    """
    noise, seen, operator = model.noise_, getattr(model, name), model.operator_
    if noise is None:
        if seen is not None:
            raise ValueError(f"{name} must be nothing where noise_ is")
        return
    if not isinstance(noise, StationaryNoise) or noise.sample_shape != model.sample_shape_:
        raise ValueError("noise_ must be a noise of samples of this shape, or nothing")
    if not is_floats(seen, (*counts, *operator.weight_shape)):
        raise ValueError(f"{name} must be {math.prod(counts)} arrays of finite numbers")
    check_noise_value(noise, shift_axes(operator))


def check_noise_value(noise, circular) -> None:
    """Raise an error unless a noise has a filter for every axis and channel."""
    axes = noise.axes
    n_channels = math.prod(s for a, s in enumerate(noise.sample_shape) if a not in circular)
    if axes != tuple(circular) or not isinstance(noise.filters, tuple):
        raise ValueError("noise_ must be stationary along the axes of the shift")
    lengths = [len(each) for each in noise.filters if isinstance(each, tuple)]
    if lengths != [n_channels] * len(axes):
        raise ValueError("noise_ must have one filter for each axis and channel")
    for axis, each in zip(axes, noise.filters, strict=True):
        for one in each:
            _check_filter(one, circular[axis])
    mixing = noise.mixing
    good = is_floats(mixing, (n_channels, n_channels)) and np.array_equal(np.tril(mixing), mixing)
    if not good or not (np.diagonal(mixing) > 0).all():
        raise ValueError("mixing of noise_ must be a lower triangular factor of a covariance")


def _check_filter(one, circular) -> None:
    good = isinstance(one, Autoregression) and one.circular is circular
    good = good and isinstance(one.variance, float) and 0 < one.variance < math.inf
    good = good and is_floats(one.reflection, (np.size(one.reflection),))
    if not good or one.order > MOST_ORDERS or np.any(np.abs(one.reflection) >= 1):
        raise ValueError("noise_ must have filters with reflection coefficients inside (-1, 1)")
