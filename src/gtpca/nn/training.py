"""Adam on minus the mean squared score: batches, steps, epochs, and the state for a checkpoint.

The network and the solver ``Adam`` share one :class:`Trainer`. Which rows a step sees depends on
its number and the seed alone, so that a checkpoint needs to hold little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gtpca import checks

__all__ = ["LoaderBatches", "RowBatches", "Schedule", "Trainer"]


@dataclass(frozen=True)
class Schedule:
    """How long and how fast one component is trained; see :meth:`gtpca.nn.GTPCNetwork.fit`."""

    epochs: int = 5
    steps_per_epoch: int | None = None
    batch_size: int = 32
    lr: float = 1e-3
    clip_norm: float | None = 1.0
    patience: int | None = None

    def checked(self) -> Schedule:
        """The same in plain Python numbers; raises an error for values that make no sense."""
        steps, patience, clip_norm = self.steps_per_epoch, self.patience, self.clip_norm
        if clip_norm is not None:
            clip_norm = checks.number("clip_norm", clip_norm, "above 0, or None", lambda v: v > 0)
        return Schedule(
            epochs=checks.integer("epochs", self.epochs, 0),
            steps_per_epoch=None if steps is None else checks.integer("steps_per_epoch", steps, 1),
            batch_size=checks.integer("batch_size", self.batch_size, 1),
            lr=checks.positive("lr", self.lr),
            clip_norm=clip_norm,
            patience=None if patience is None else checks.integer("patience", patience, 1),
        )


class RowBatches:
    """Shuffled batches of rows that can be taken by number.

    Which rows step ``s`` sees depends on ``s`` and the seed alone, so that a run can be resumed
    anywhere.

    Parameters
    ----------
    take : callable
        From row numbers, an int64 array, to ``(rows, weight or None)``.
    n_rows : int
    schedule : Schedule
    seed : list of int
    """

    def __init__(self, take: Callable, n_rows: int, schedule: Schedule, seed: list[int]):
        self._take, self._n_rows, self._seed = take, n_rows, seed
        self._size = schedule.batch_size
        self._per_pass = -(-n_rows // self._size)
        self._steps = schedule.steps_per_epoch or self._per_pass

    def epoch(self, number: int) -> Iterator:
        """The batches of one epoch."""
        order, current = np.empty(0, dtype=int), -1
        for step in range(number * self._steps, (number + 1) * self._steps):
            around, place = divmod(step, self._per_pass)
            if around != current:
                order, current = self._order(around), around
            yield self._take(order[place * self._size : (place + 1) * self._size])

    def _order(self, around):
        return np.random.default_rng([*self._seed, around]).permutation(self._n_rows)

    def state(self) -> dict:
        """Empty: the number of the epoch is enough."""
        return {}

    def resume(self, state: dict) -> None:
        """Nothing to do."""


class LoaderBatches:
    """Batches of a DataLoader, or of anything that can be iterated repeatedly.

    Parameters
    ----------
    loader : iterable of tensors, or of tuples that begin with one
    preprocess : callable
        From samples to rows.
    schedule : Schedule
    """

    def __init__(self, loader, preprocess: Callable, schedule: Schedule):
        self._loader, self._preprocess = loader, preprocess
        self._steps = schedule.steps_per_epoch
        sampler = getattr(loader, "sampler", None)
        self._generator = getattr(loader, "generator", None) or getattr(sampler, "generator", None)

    def epoch(self, number: int) -> Iterator:
        """The batches of one epoch."""
        count = 0
        for batch in self._loader:
            rows = self._preprocess(first_of(batch))
            if len(rows) == 0:
                raise ValueError(f"The loader gave an empty batch, number {count + 1}.")
            yield rows, None
            count += 1
            if count == self._steps:
                return
        self._check(count, number)

    def _check(self, count, number):
        if count == 0:
            raise ValueError(
                f"The loader gave no batch in epoch {number + 1}: it is empty, or cannot be "
                "iterated a second time."
            )
        if self._steps is not None and count < self._steps:
            raise ValueError(
                f"The loader ended after {count} batches, but steps_per_epoch={self._steps}; "
                "use steps_per_epoch=None for one pass over the loader per epoch."
            )

    def state(self) -> dict:
        """State of the loader's own generator, if it has one."""
        return {} if self._generator is None else {"generator": self._generator.get_state()}

    def resume(self, state: dict) -> None:
        """Restore the generator."""
        if "generator" in state and self._generator is not None:
            self._generator.set_state(state["generator"])


def first_of(batch):
    """The samples of a batch: itself, or the first of a tuple."""
    return batch[0] if isinstance(batch, (tuple, list)) else batch


def mean_energy(rows):
    """Mean ``|x_i|^2``, or 1 if that is not a positive number."""
    energy = float(rows.double().square().sum() / len(rows))
    return energy if np.isfinite(energy) and energy > 0 else 1.0


def clip(gradients, limit):
    """Scale gradients down in place, together, to a length of at most ``limit``."""
    length = torch.linalg.vector_norm(torch.cat([g.reshape(-1) for g in gradients]))
    scale = (limit / length).clamp(max=1.0)
    for gradient in gradients:
        gradient *= scale


class Trainer:
    """Trains one layer.

    The loss ``-mean_i s_i^2`` is divided by the mean energy of the first batch. This does not
    affect Adam, but it affects clipping: a gradient of length 1 is then a long one in any unit.

    Parameters
    ----------
    layer : GTPCLayer
    schedule : Schedule
    watch : callable or None
        Returns after each epoch how good the layer is; the best weights are kept.
    only_weights : bool
        Whether parameters of a callable family stay fixed.
    """

    def __init__(self, layer, schedule, watch=None, only_weights=False):
        self.layer, self.schedule, self.watch = layer, schedule, watch
        given = [layer.weight] if only_weights else layer.parameters()
        self.parameters = [p for p in given if p.requires_grad]
        if not self.parameters:
            raise ValueError("The layer is frozen: it has no weights to train.")
        self.optimizer = torch.optim.Adam(self.parameters, lr=schedule.lr, fused=True)
        self.scale = 0.0
        self.losses: list[float] = []
        self.watched = [] if watch is None else [watch()]
        self.best = self._copy()

    def run(self, batches, after_epoch: Callable[[], Any] | None = None) -> str:
        """Train until the last epoch, or until ``after_epoch()`` is True; return why it stopped."""
        while len(self.losses) < self.schedule.epochs:
            if self._worn_out():
                return self._end("patience")
            self.losses.append(self._epoch(batches.epoch(len(self.losses))))
            self._look()
            if after_epoch is not None and after_epoch():
                return self._end("callback")
        return self._end("epochs")

    def _epoch(self, batches):
        """Mean loss of the steps of one epoch."""
        losses = [self.step(*batch) for batch in batches]
        mean = float(torch.stack(losses).mean())
        if not np.isfinite(mean):
            self._restore()
            raise ValueError(
                "The loss is not finite: the samples hold NaN or infinite values, or are too large "
                f"for {self.layer.weight.dtype}."
            )
        return mean

    def step(self, rows, weight=None, hidden=None):
        """One step on preprocessed rows (n, d) with sample weights (n,); returns the prior loss.

        ``hidden`` (n, d) is 1 where values were not observed.
        """
        self.scale = self.scale or mean_energy(rows)
        squares = self.layer.match(rows, hidden).explained
        if weight is not None:
            squares = squares * weight
        loss = squares.mean() / -self.scale
        for parameter in self.parameters:
            parameter.grad = None
        loss.backward()
        if self.schedule.clip_norm is not None:
            clip([p.grad for p in self.parameters if p.grad is not None], self.schedule.clip_norm)
        self.optimizer.step()
        return loss.detach()

    def _look(self):
        """Keep the weights if they are the best so far."""
        if self.watch is None:
            return
        self.watched.append(self.watch())
        if not np.isfinite(self.watched[-1]):
            self._restore()
            raise ValueError("The watched energy is not finite: is there a NaN in validation?")
        if self.watched[-1] >= max(self.watched):
            self.best = self._copy()

    def _worn_out(self):
        """Whether nothing has improved for ``patience`` epochs."""
        if self.schedule.patience is None or not self.watched:
            return False
        return len(self.watched) - 1 - int(np.argmax(self.watched)) >= self.schedule.patience

    def _copy(self):
        return [p.detach().clone() for p in self.parameters]

    @torch.no_grad()
    def _restore(self):
        """Restore the best weights."""
        for parameter, best in zip(self.parameters, self.best, strict=True):
            parameter.copy_(best)

    def _end(self, reason):
        if self.watch is not None:
            self._restore()
        for parameter in self.parameters:
            parameter.grad = None
        return reason

    def state(self) -> dict:
        """Everything that a run needs to be resumed from here."""
        return {
            "parameters": self._copy(),
            "best": self.best,
            "optimizer": self.optimizer.state_dict(),
            "scale": self.scale,
            "losses": list(self.losses),
            "watched": list(self.watched),
        }

    def resume(self, state: dict) -> None:
        """Restore everything."""
        with torch.no_grad():
            for parameter, value in zip(self.parameters, state["parameters"], strict=True):
                parameter.copy_(value)
        self.optimizer.load_state_dict(state["optimizer"])
        self.best, self.scale = state["best"], state["scale"]
        self.losses, self.watched = list(state["losses"]), list(state["watched"])
