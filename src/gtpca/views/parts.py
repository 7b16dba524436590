"""The parts of a model: components, preceded by the pattern of a density, or of each kind."""

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
        "pattern", "component 1" and so on, "kind 0: pattern" of a mixture, or "template 1" of
        recordings.
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
    def is_pattern(self) -> bool:
        """Whether it is a pattern, which has a norm of its own."""
        return self.name.endswith(PATTERN)

    @property
    def title(self) -> str:
        """Name, size and share of the energy, a line each."""
        size = f"{'norm' if self.is_pattern else 'sd'} {self.size or 0:.3g}"
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
    """All parts of a fitted model, in their order: kind by kind, each with its pattern first."""
    if model.of_recordings:
        return [Part(f"template {k + 1}", w, None) for k, w in enumerate(model.components_)]
    names = [f"component {k + 1}" for k in range(model.n_components_)]
    if not is_density(model):
        found = zip(names, model.components_, model.explained_energy_ratio_, strict=True)
        return [Part(*each) for each in found]
    densities, kind_weights = _densities(model)
    every = [
        share * one.part_energies()
        for share, (_, one, _) in zip(kind_weights, densities, strict=True)
    ]
    noise = np.broadcast_to(np.asarray(model.noise_variance_), model.sample_shape_).sum()
    total, shown = np.sum(every) + noise, []
    for (head, one, weights), energies in zip(densities, every, strict=True):
        sizes = [np.linalg.norm(one.pattern), *one.sizes]
        each = zip([PATTERN, *names], weights, energies / total, sizes, strict=True)
        shown += [Part(head + name, *rest) for name, *rest in each]
    return shown


def _densities(model):
    """What names begin with, density, and pattern with components, of each kind; their weights."""
    if not model.has_kinds:
        weights = np.concatenate([model.mean_pattern_[None], model.components_])
        return [("", model.model_, weights)], np.ones(1)
    weights = np.concatenate([model.mean_patterns_[:, None], model.components_], axis=1)
    heads = [f"kind {g}: " for g in range(len(weights))]
    return list(zip(heads, model.model_.kinds, weights, strict=True)), model.kind_weights_


def picked(model, numbers) -> list[Part]:
    """The components ``numbers`` of each kind, counted from 0; None means all parts."""
    every, first = parts(model), int(is_density(model))
    if numbers is None:
        return every
    starts = range(first, len(every), first + model.n_components_)
    return [every[start + k] for start in starts for k in numbers]
