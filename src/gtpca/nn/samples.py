"""Training samples: a tensor whose residual is kept, or a loader that is iterated over."""

from __future__ import annotations

import numpy as np
import torch

from gtpca import checks
from gtpca.nn.training import LoaderBatches, RowBatches, first_of

__all__ = ["LoaderSamples", "TensorSamples", "as_samples"]

EVALUATION_ROWS = 1024


def energy(rows):
    """``sum_i |x_i|^2``."""
    return float(rows.double().square().sum())


@torch.no_grad()
def energies_left(rows, layers):
    """Energy of rows (n, d) after 0, 1, .. layers, an array."""
    energies = [energy(rows)]
    for layer in layers:
        rows = rows - layer.match(rows).projection
        energies.append(energy(rows))
    return np.array(energies)


class TensorSamples:
    """All samples in one tensor; its residual is kept.

    Parameters
    ----------
    rows : tensor (n, d)
        A private copy.
    """

    def __init__(self, rows):
        self.rows, self.n_rows = rows, len(rows)

    def batches(self, schedule, seed):
        """Shuffled batches of the residual."""
        return RowBatches(self._take, self.n_rows, schedule, seed)

    def _take(self, numbers):
        return self.rows[torch.from_numpy(numbers)], None

    @torch.no_grad()
    def explained(self, layer):
        """Energy that the layer explains."""
        return sum(float(layer.match(part).explained.double().sum()) for part in self._parts())

    @torch.no_grad()
    def deflate(self, layer):
        """Subtract what the layer explains."""
        for part in self._parts():
            part -= layer.match(part).projection

    def energy(self):
        """Energy of the residual."""
        return sum(map(energy, self._parts()))

    def remaining(self):
        """The same, for loaders too."""
        return self.energy()

    def left(self, layers):
        """Energies after 0, 1, .. layers; nothing is subtracted permanently."""
        return sum(energies_left(part, layers) for part in self._parts())

    def _parts(self):
        return self.rows.split(EVALUATION_ROWS)


class LoaderSamples:
    """Samples from a loader; residuals are computed batch by batch.

    Parameters
    ----------
    loader : iterable
    preprocess : callable
        From samples to rows (n, d).
    """

    n_rows = None

    def __init__(self, loader, preprocess):
        self._loader, self._preprocess, self._layers = loader, preprocess, []

    def batches(self, schedule, seed):
        """The loader's own batches."""
        return LoaderBatches(self._loader, self._residual, schedule)

    @torch.no_grad()
    def _residual(self, x):
        rows = self._preprocess(x)
        for layer in self._layers:
            rows = rows - layer.match(rows).projection
        return rows

    def _total(self, measure):
        """Sum of ``measure(rows)`` in one pass over the loader."""
        values = [measure(self._residual(first_of(batch))) for batch in self._loader]
        if not values:
            raise ValueError(
                "validation gave no batch: it is empty, or cannot be iterated a second time."
            )
        return sum(values)

    @torch.no_grad()
    def explained(self, layer):
        """Energy that the layer explains."""
        return self._total(lambda rows: float(layer.match(rows).explained.double().sum()))

    def deflate(self, layer):
        """Subtract what the layer explains, from now on."""
        self._layers.append(layer)

    def energy(self):
        """Unknown without a pass over the loader."""
        return np.nan

    def remaining(self):
        """Energy of the residual, by a pass over the loader."""
        return self._total(energy)

    def left(self, layers):
        """Energies after 0, 1, .. layers."""
        return self._total(lambda rows: energies_left(rows, layers))


def as_samples(label, data, preprocess):
    """Samples of a tensor, an array or a loader."""
    if hasattr(data, "to_numpy"):
        data = data.to_numpy()
    checks.unmasked(label, data)
    if isinstance(data, np.ndarray):
        plain = data.flags.writeable and all(step > 0 for step in data.strides)
        data = torch.from_numpy(data if plain else data.copy())
    if isinstance(data, torch.Tensor):
        rows = preprocess(data)
        if len(rows) == 0:
            raise ValueError(f"{label} has shape {tuple(data.shape)}: there is no sample in it.")
        return TensorSamples(rows.clone())
    if not hasattr(data, "__iter__"):
        raise TypeError(f"{label} is a {type(data).__name__}, but must be a tensor or a loader.")
    return LoaderSamples(data, preprocess)
