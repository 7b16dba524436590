"""The parts of a model: components, preceded by the pattern of a density."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["PATTERN", "Part", "is_density", "known_labels", "parts", "picked"]

PATTERN = "pattern"  # its name wherever it is shown


class Part(NamedTuple):
    """What moves over the samples.

    Attributes
    ----------
    name : str
        "pattern", "component 1" and so on, or "template 1" of recordings.
    weights : array (\\*weight_shape)
        A component has unit norm, a pattern its own.
    share : float or None
        Share of the energy of the training rows; for a density, the expected share. None for
        templates of recordings, which overlap.
    size : float or None
        Norm of the pattern, or standard deviation of the scores, for a density.
    """

    name: str
    weights: np.ndarray
    share: float | None
    size: float | None = None

    @property
    def title(self) -> str:
        """Name, size and share of the energy, a line each."""
        size = f"{'norm' if self.name == PATTERN else 'sd'} {self.size or 0:.3g}"
        said = [] if self.size is None else [size]
        if self.share is not None:
            said.append(f"{100 * self.share:.1f} % of energy")
        return "\n".join([self.name, *said])


def is_density(model) -> bool:
    """Whether the model has a likelihood: a pattern and all components then share one pose."""
    return model.has_likelihood


def known_labels(model):
    """What a model knows about its samples besides their values; None before a fit."""
    return model.labels_ if model.__sklearn_is_fitted__() else None


def parts(model) -> list[Part]:
    """All parts of a fitted model, in their order."""
    if model.of_recordings:
        return [Part(f"template {k + 1}", w, None) for k, w in enumerate(model.components_)]
    names = [f"component {k + 1}" for k in range(model.n_components_)]
    if not is_density(model):
        found = zip(names, model.components_, model.explained_energy_ratio_, strict=True)
        return [Part(*each) for each in found]
    value, names = model.model_, [PATTERN, *names]
    weights = np.concatenate([model.mean_pattern_[None], model.components_])
    energies, noise = value.part_energies(), np.asarray(model.noise_variance_)
    total = energies.sum() + np.broadcast_to(noise, model.sample_shape_).sum()
    sizes = [np.linalg.norm(value.pattern), *value.sizes]
    return [Part(*each) for each in zip(names, weights, energies / total, sizes, strict=True)]


def picked(model, numbers) -> list[Part]:
    """The components ``numbers``, counted from 0; None means all parts."""
    every = parts(model)
    first = len(every) - model.n_components_
    return every if numbers is None else [every[first + k] for k in numbers]
