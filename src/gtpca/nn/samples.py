"""The samples of a training: a tensor whose residual is kept, or a loader that is gone through."""

from __future__ import annotations

import numpy as np
import torch

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
        Our own copy.
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

    def left(self, layers):
        """Energies after 0, 1, .. of the layers; nothing is subtracted for good."""
        return sum(energies_left(part, layers) for part in self._parts())

    def _parts(self):
        return self.rows.split(EVALUATION_ROWS)


class LoaderSamples:
    """Samples of a loader; residuals are computed from batch to batch.

    Parameters
    ----------
    loader : iterable
    enter : callable
        From samples to rows (n, d).
    """

    n_rows = None

    def __init__(self, loader, enter):
        self._loader, self._first, self._layers = loader, enter, []

    def batches(self, schedule, seed):
        """The loader's own batches."""
        return LoaderBatches(self._loader, self._enter, schedule)

    @torch.no_grad()
    def _enter(self, x):
        rows = self._first(x)
        for layer in self._layers:
            rows = rows - layer.match(rows).projection
        return rows

    @torch.no_grad()
    def explained(self, layer):
        """Energy that the layer explains in one pass over the loader."""
        parts = (self._enter(first_of(batch)) for batch in self._loader)
        return sum(float(layer.match(rows).explained.double().sum()) for rows in parts)

    def deflate(self, layer):
        """Subtract what the layer explains, from now on."""
        self._layers.append(layer)

    def energy(self):
        """Not known without a pass over the loader."""
        return np.nan

    def left(self, layers):
        """Energies after 0, 1, .. of the layers, in one pass over the loader."""
        return sum(energies_left(self._enter(first_of(b)), layers) for b in self._loader)


def as_samples(label, data, enter):
    """Samples of a tensor, an array or a loader."""
    if isinstance(data, np.ndarray):
        data = torch.from_numpy(data)
    if isinstance(data, torch.Tensor):
        if len(data) == 0:
            raise ValueError(f"{label} has shape {tuple(data.shape)}: there is no sample in it.")
        return TensorSamples(enter(data).clone())
    if not hasattr(data, "__iter__"):
        raise TypeError(f"{label} is a {type(data).__name__}, but must be a tensor or a loader.")
    return LoaderSamples(data, enter)
