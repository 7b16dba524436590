"""One training run of a network: component after component, with checkpoints."""

from __future__ import annotations

from dataclasses import asdict
from hashlib import sha256

import numpy as np
import torch

from gtpca.families import Family
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
        The training samples, and those that determine which weights are best.
    path : path or None
        Path of the checkpoint.
    seed : int or None
        Seed of the order of the samples; None: that of the checkpoint, or a new one.
    """

    def __init__(self, network, schedule, *, samples, watched, path, seed):
        self.network, self.schedule = network, schedule
        self.samples, self.watched = samples, watched
        self.checkpoint = Checkpoint(path, {} if path is None else self._plan(seed))
        self.saved = self.checkpoint.load() or {
            "start": snapshot(network),
            "now": snapshot(network),
            "before": self._before(),
            "histories": [],
            "seed": int(torch.randint(2**31, ())) if seed is None else seed,
            "trainer": None,
            "batches": {},
        }

    @property
    def blind(self) -> bool:
        """Whether there is nothing to monitor: a loader without validation samples."""
        return self.watched is self.samples and self.samples.n_rows is None

    def _plan(self, seed):
        """What must be unchanged for a training to be resumed."""
        net, schedule = self.network, asdict(self.schedule)
        weight = net.operator.feature_weight
        plan = {
            "family": repr(net.family) if isinstance(net.family, Family) else "callable",
            "n_components": len(net.layers),
            "sample_shape": list(net.operator.sample_shape),
            "weight_shape": list(net.operator.weight_shape),
            "n_transforms": net.operator.n_transforms,
            "polarity": net.polarity,
            "center": net.center,
            "dtype": str(net.weight.dtype),
            "n_samples": self.samples.n_rows,
            "energy": None if self.samples.n_rows is None else self.samples.energy(),
            "mean": None if net.mean is None else fingerprint(net.mean),
            "feature_weight": None if weight is None else fingerprint(torch.from_numpy(weight)),
            "validation": self._validation(),
        }
        return {**plan, **schedule, **({} if seed is None else {"random_state": seed})}

    def _validation(self):
        """What distinguishes validation sets; None if there is none."""
        if self.watched is self.samples:
            return None
        if self.watched.n_rows is not None:
            return fingerprint(self.watched.rows)
        return f"energy {self.watched.remaining():.6g}"  # of a loader, in any order

    def _before(self):
        """Energies of the residual of a network that was already trained, else None."""
        if self.blind or not np.all(np.isfinite(self.network.energies_)):
            return None
        return self.watched.left(self.network.layers).tolist()

    def train(self, show) -> None:
        """Train all components that are not yet trained; ``show(done, text)`` after each epoch.

        A network that was already trained, and whose components together explained more before,
        keeps them: what one component gains the next ones may lose.
        """
        restore(self.network, self.saved["now"])
        energies = [self.samples.energy()]
        for k, layer in enumerate(self.network.layers):
            if k >= len(self.saved["histories"]):
                self._component(k, layer, show)
            show((k + 1) * self.schedule.epochs, f"component {k + 1}")
            for part in dict.fromkeys((self.samples, self.watched)):
                part.deflate(layer)
            energies.append(self.samples.energy())
        histories = self.saved["histories"]
        before = self.saved["before"]
        if before is not None and before[-1] < self.watched.remaining():
            restore(self.network, self.saved["start"])
            histories = [{**record, "stopped": "no gain"} for record in histories]
            energies = before if self.watched is self.samples else self.network.energies_
        self.network.keep(histories, energies)

    def _component(self, k, layer, show):
        watch = None if self.blind else lambda: self.watched.explained(layer)
        trainer = Trainer(layer, self.schedule, watch, only_weights=k > 0)
        batches = self.samples.batches(self.schedule, [self.saved["seed"], k])
        batches.resume(self.saved["batches"])
        if self.saved["trainer"] is not None:
            trainer.resume(self.saved["trainer"])

        def after_epoch():
            self._save(trainer.state(), batches.state())
            done = k * self.schedule.epochs + len(trainer.losses)
            show(done, f"component {k + 1}, loss {trainer.losses[-1]:.4f}")

        stopped = trainer.run(batches, after_epoch)
        record = {"loss": trainer.losses, "watched": trainer.watched, "stopped": stopped}
        self.saved["histories"] = [*self.saved["histories"], record]
        self._save(None, batches.state())

    def _save(self, trainer, batches):
        self.saved = {
            **self.saved,
            "now": snapshot(self.network),
            "trainer": trainer,
            "batches": batches,
        }
        self.checkpoint.save(self.saved)


def fingerprint(tensor) -> str:
    """A digest that is the same for equal tensors only, on any device."""
    values = tensor.detach().cpu().contiguous().reshape(-1)
    return sha256(values.view(torch.uint8).numpy().data).hexdigest()


def snapshot(network) -> dict[str, torch.Tensor]:
    """Copies of all parameters, including those of a callable family."""
    return {name: p.detach().clone() for name, p in network.named_parameters()}


@torch.no_grad()
def restore(network, parameters) -> None:
    """Restore what :func:`snapshot` took."""
    for name, parameter in network.named_parameters():
        parameter.copy_(parameters[name])
