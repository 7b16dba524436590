"""One training of a network: component after component, with checkpoints."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import torch

from gtpca.nn.checkpoints import Checkpoint
from gtpca.nn.training import Trainer

__all__ = ["Run"]


class Run:
    """Trains the layers of a network one after the other.

    Parameters
    ----------
    network : GTPCNetwork
    schedule : Schedule
    samples, watched : samples
        What to train on, and what decides which weights are the best.
    path : path or None
        Of the checkpoint.
    seed : int or None
        Of the order of the samples; None: that of the checkpoint, or a new one.
    """

    def __init__(self, network, schedule, samples, watched, path, seed):
        self.network, self.schedule = network, schedule
        self.samples, self.watched = samples, watched
        self.checkpoint = Checkpoint(path, self._plan(seed))
        self.saved = self.checkpoint.load()
        self.start = network.weights() if self.saved is None else self.saved["start"]
        self.seed = self._seed(seed)
        self.histories = [] if self.saved is None else list(self.saved["histories"])
        self.before = self._before()

    def _plan(self, seed):
        net = self.network
        plan = {
            "n_components": len(net.layers),
            "sample_shape": list(net.operator.sample_shape),
            "weight_shape": list(net.operator.weight_shape),
            "n_transforms": net.operator.n_transforms,
            "polarity": net.polarity,
            "dtype": str(net.weight.dtype),
            "n_samples": self.samples.n_rows,
            **asdict(self.schedule),
        }
        return plan if seed is None else {**plan, "random_state": seed}

    def _seed(self, seed):
        if seed is not None:
            return seed
        return int(torch.randint(2**31, ())) if self.saved is None else self.saved["seed"]

    def _before(self):
        """Energies that a network left which comes here trained already, else None."""
        known = np.all(np.isfinite(self.network.energies_))
        if not known or (self.watched is self.samples and self.samples.n_rows is None):
            return None
        self.network.load_weights(self.start)
        return self.watched.left(self.network.layers)

    def train(self, advance) -> None:
        """Train all components that are not yet; ``advance(text)`` after each epoch.

        A network that comes here trained already, and whose components together explained more
        before, keeps them: what one component gains the next ones may lose.
        """
        if self.saved is not None:
            self.network.load_weights(self.saved["weights"])
        energies = [self.samples.energy()]
        for k, layer in enumerate(self.network.layers):
            if k >= len(self.histories):
                self._component(k, layer, advance)
            for part in dict.fromkeys((self.samples, self.watched)):
                part.deflate(layer)
            energies.append(self.samples.energy())
        if self.before is not None and self.before[-1] < self.watched.energy():
            self.network.load_weights(self.start)
            energies = self.before if self.watched is self.samples else self.network.energies_
        self.network.keep(self.histories, energies)

    def _component(self, k, layer, advance):
        trainer = Trainer(layer, self.schedule, self._watch(layer), only_weights=k > 0)
        batches = self.samples.batches(self.schedule, [self.seed, k])
        if self.saved is not None and self.saved["trainer"] is not None:
            trainer.resume(self.saved["trainer"])
            batches.resume(self.saved["batches"])
        self.saved = None

        def after_epoch():
            self._save(trainer.state(), batches.state())
            advance(f"component {k + 1}, loss {trainer.losses[-1]:.4f}")

        stopped = trainer.run(batches, after_epoch)
        record = {"loss": trainer.losses, "watched": trainer.watched, "stopped": stopped}
        self.histories.append(record)
        self._save(None, batches.state())

    def _watch(self, layer):
        if self.watched is self.samples and self.samples.n_rows is None:
            return None
        return lambda: self.watched.explained(layer)

    def _save(self, trainer, batches):
        self.checkpoint.save(
            {
                "start": self.start,
                "weights": self.network.weights(),
                "histories": self.histories,
                "seed": self.seed,
                "trainer": trainer,
                "batches": batches,
            }
        )
