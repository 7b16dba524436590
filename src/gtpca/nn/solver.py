"""The training of the paper as a solver of the estimator."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.utils import check_random_state

from gtpca._typing import BaseEstimator
from gtpca.data.energies import total_weight
from gtpca.model.matching import explained_energy, orthonormal
from gtpca.nn.geometry import Geometry
from gtpca.nn.layer import GTPCLayer
from gtpca.nn.training import RowBatches, Schedule, Trainer
from gtpca.operators.base import on_nodes
from gtpca.solvers.base import SolverResult

__all__ = ["Adam"]


class Adam(BaseEstimator):
    """Adam on minus the mean squared score, in shuffled batches: ``GTPCA(solver=Adam())``.

    The network of the paper behind the estimator. It is slower than :class:`gtpca.ALS` and explains
    less; it is meant for comparison, and for getting the same numbers from both.

    Parameters
    ----------
    epochs, steps_per_epoch, batch_size, lr, clip_norm
        As in :meth:`gtpca.nn.GTPCNetwork.fit`.
    device : str
        Where to train.

    Examples
    --------
    >>> from gtpca.datasets import make_spikes
    >>> from gtpca import GTPCA, Shift
    >>> from gtpca.nn import Adam
    >>> X, _ = make_spikes(200, n_times=64, random_state=0)
    >>> model = GTPCA(1, Shift(32), solver=Adam(epochs=2), random_state=0).fit(X)
    >>> len(model.history_[0])
    3
    """

    joint = False  # one component at a time

    def __init__(
        self,
        epochs=5,
        steps_per_epoch=None,
        batch_size=32,
        lr=1e-3,
        clip_norm=1.0,
        device="cpu",
    ):
        self.epochs = epochs
        self.steps_per_epoch = steps_per_epoch
        self.batch_size = batch_size
        self.lr = lr
        self.clip_norm = clip_norm
        self.device = device

    def _schedule(self):
        return Schedule(
            epochs=self.epochs,
            steps_per_epoch=self.steps_per_epoch,
            batch_size=self.batch_size,
            lr=self.lr,
            clip_norm=self.clip_norm,
        ).checked()

    def check(self) -> None:
        """Raise an error for parameters that make no sense."""
        self._schedule()

    def solve(
        self,
        problem,
        random_state=None,
        *,
        n_jobs=None,
        start=None,
        more=False,
        report=None,
    ) -> SolverResult:
        """The component of the rows of ``problem``; see :meth:`gtpca.ALS.solve`.

        ``history`` is the explained energy at the start and after each epoch, as far as it rises:
        the best weights are kept.
        """
        seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=2)
        layer = self._layer(problem, int(seeds[0]), start)
        trainer = Trainer(layer, self._schedule(), lambda: explained(layer, problem))
        batches = self._batches(problem.chunks, int(seeds[1]))
        stopped = trainer.run(
            batches, lambda: report and report(len(trainer.losses), max(trainer.watched))
        )
        history = np.maximum.accumulate(trainer.watched).tolist()
        return SolverResult(weights_of(layer), history, len(trainer.losses), stopped)

    def polish(self, problem, W, n_passes=1) -> SolverResult:
        """A few epochs from ``W`` (1, L): one step of a joint sweep."""
        short = Adam(**{**self.get_params(), "epochs": n_passes})
        return short.solve(problem, 0, start=W)

    def _layer(self, problem, seed, start):
        operator = on_nodes(problem.chunks.operator, "solver=Adam()")
        dtype = torch.from_numpy(np.empty(0, problem.chunks.dtype)).dtype
        options = {"polarity": problem.polarity, "random_state": seed, "device": self.device}
        layer = GTPCLayer(Geometry(operator), operator.sample_shape, dtype=dtype, **options)
        if start is not None:
            with torch.no_grad():
                layer.weight.copy_(torch.as_tensor(start.reshape(operator.weight_shape)))
        return layer

    def _batches(self, chunks, seed):
        mean = chunks.sum(total_weight) / chunks.n_rows

        def take(rows):
            chunk = chunks.take(np.sort(rows))
            weight = None if chunk.weight is None else chunk.weight / mean
            parts = (chunk.filled * np.sqrt(chunk.value_weights()), weight, chunk.hidden)
            return tuple(None if a is None else self._tensor(a, chunks.dtype) for a in parts)

        return RowBatches(take, chunks.n_rows, self._schedule(), [seed])

    def _tensor(self, array, dtype):
        return torch.from_numpy(np.asarray(array, dtype=dtype)).to(self.device)


def weights_of(layer):
    """The weights of a layer as a block, (1, L) in float64, unit norm."""
    w = layer.weight.detach().cpu().numpy().astype(np.float64)
    return orthonormal(w.reshape(1, -1))


def explained(layer, problem):
    """Energy of all rows that the layer explains."""
    return problem.chunks.sum(explained_energy, problem.block_for_codes(weights_of(layer)))
