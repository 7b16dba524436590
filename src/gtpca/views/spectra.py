"""Spectra of the noise of a model, in physical units if these are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gtpca.operators.grid import axis_of
from gtpca.views.parts import is_density

__all__ = ["Spectrum", "noise_spectra"]

SECONDS = ("s", "sec", "second", "seconds")
FINE = 512  # points of a sample for which frequencies are computed


class Spectrum(NamedTuple):
    """Power of noise along one axis.

    Attributes
    ----------
    name : str
        What it is the power of.
    unit : str
        Of the frequencies.
    frequency : array (f,)
    power : array (c, f)
        Of every channel; its mean over frequencies is the variance.
    """

    name: str
    unit: str
    frequency: np.ndarray
    power: np.ndarray


def noise_spectra(model) -> list[Spectrum]:
    """One for each axis along which noise is stationary; a flat one if it is white."""
    if model.noise_ is None:
        frequency = np.linspace(0.0, 0.5, 2)
        power = np.full((1, 2), _white_variance(model))
        return [Spectrum("white noise", "cycles per point", frequency, power)]
    variance = model.noise_variance_ if is_density(model) else 1.0
    found = []
    for number, axis in enumerate(model.noise_.axes):
        known = axis_of(model.grid_, axis)
        frequency, power = model.noise_.spectrum(number, FINE)
        step = known.step
        if step is None or not known.unit:
            unit, step = "cycles per point", 1.0
        else:
            unit = "Hz" if known.unit in SECONDS else f"cycles per {known.unit}"
        name = known.name or ("noise" if len(model.noise_.axes) == 1 else f"axis {axis}")
        found.append(Spectrum(name, unit, frequency / abs(step), variance * power))
    return found


def _white_variance(model) -> float:
    """Mean square of the residual of a model, or of its noise."""
    if is_density(model):
        return float(np.mean(model.noise_variance_))
    if model.of_recordings:  # of correlations with templates of unit norm
        return float(np.mean(np.square(model.noise_level_)))
    share = 1 - float(np.sum(model.explained_energy_ratio_))
    total = model.explained_energy_[0] / max(model.explained_energy_ratio_[0], 1e-300)
    count = max(1, model.n_samples_seen_) * model.n_features_in_
    return max(share * float(total) / count, np.finfo(float).tiny)
