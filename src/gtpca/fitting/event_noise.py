"""The spectrum of the noise in recordings, and surrogates of noise that resemble a recording."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np

from gtpca.data.signals import Piecewise, Signal
from gtpca.fitting.events import EventRecipe, start
from gtpca.model.decoding import render
from gtpca.model.stationary import StationaryNoise, estimate_noise
from gtpca.model.surrogates import InnovationSurrogates, Preparation

__all__ = ["checked_noise", "recording_noise", "rows_of", "surrogate_of"]

ROW = 4096  # points of the rows from which a filter is estimated
SURROGATE_ROW = 512  # points of the rows from which surrogates are made
SURROGATE_WINDOWS = 8  # or so many windows, if that is more


def rows_of(arrays, length) -> np.ndarray:
    """Recordings (n, C) cut into rows of one length, (m, length, C), without the remainder."""
    length = min([length, *(len(Y) for Y in arrays)])
    cut = [Y[: len(Y) // length * length].reshape(-1, length, Y.shape[1]) for Y in arrays]
    return np.concatenate(cut)


def noise_of(arrays) -> StationaryNoise:
    """The noise of arrays (n, C) that contain nothing else."""
    return estimate_noise(rows_of(arrays, ROW), {0: False})


def recording_noise(parts: list[Piecewise], recipe: EventRecipe) -> StationaryNoise:
    """The noise of recordings, estimated from everything in them, and again without events.

    Parameters
    ----------
    parts : list of Piecewise
        Not whitened.
    recipe : EventRecipe
    """
    arrays = [part.read(0, part.n_points) for part in parts]
    first = noise_of(arrays)
    seen = [replace(part, noise=first) for part in parts]
    recipe.say("the noise is estimated")
    fit = start(seen, replace(recipe, n_init=1, rng=deepcopy(recipe.rng)))
    rest = []
    for part, events in zip(seen, fit.placed, strict=True):
        Y = part.read(0, part.n_points)
        left = Y - render(events, fit.dictionary.weights, len(Y))
        shaped = replace(first, sample_shape=left.shape)
        rest.append(shaped.colour(left.reshape(1, -1)).reshape(left.shape))
    return noise_of(rest)


def checked_noise(noise, n_channels: int) -> StationaryNoise | None:
    """The noise that a user passed: that of another model, or a recording of noise; else None."""
    if isinstance(noise, str):
        return None
    if isinstance(noise, StationaryNoise):
        found = noise
    else:
        values = np.asarray(noise, dtype=np.float64)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(values) < 2 or np.isinf(values).any():
            raise ValueError(
                f"noise has shape {values.shape}, but must be a recording of noise, (time,) or "
                "(time, channels), 'white', 'stationary', or noise_ of a fitted model."
            )
        found = noise_of([values - np.nanmedian(values, axis=0)])
    if found.n_channels != n_channels or found.axes != (0,):
        raise ValueError(
            f"noise has {found.n_channels} channels, but the recordings have {n_channels}."
        )
    return found


def surrogate_of(parts: list[Piecewise], length: int, rng) -> list[Piecewise]:
    """Noise with the spectrum, tails and bursts of recordings, as recordings.

    See :mod:`gtpca.model.surrogates`.
    """
    found = []
    for part in parts:
        Y = part.read(0, part.n_points)
        rows = rows_of([Y], max(SURROGATE_ROW, SURROGATE_WINDOWS * length))
        drawn = InnovationSurrogates.of(rows, prepare=Preparation())(rng)
        noise = drawn.reshape(-1, Y.shape[1])
        found.append(Piecewise(Signal(noise), np.zeros(Y.shape[1])))
    return found
