"""A chain of layers, each trained on the residual of the previous ones."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from gtpca import checks
from gtpca.estimator import GTPCA
from gtpca.families.text import as_family
from gtpca.model.matching import POLARITIES
from gtpca.model.preprocessing import Preprocessing
from gtpca.nn.conversion import check_convertible, make_estimator
from gtpca.nn.geometry import Geometry, make_operator
from gtpca.nn.layer import GTPCLayer, blanked, check_samples, observed
from gtpca.nn.runs import Run
from gtpca.nn.samples import as_samples
from gtpca.nn.training import Schedule
from gtpca.optional import require

__all__ = ["GTPCNetwork"]


class GTPCNetwork(nn.Module):
    r"""GT-PCA as a network: ``n_components`` layers, each on the residual of the previous ones.

    Parameters
    ----------
    n_components : int
    family, sample_shape, weight_shape, polarity, feature_weight
        As in :class:`GTPCLayer`.
    center : False or "samples"
        "samples": the mean of each sample and channel is subtracted and not restored.
    mean : array of the shape of a sample or None
        Subtracted from all samples and added to reconstructions.
    random_state : int or None
        Seed of the Glorot-uniform starts.
    device, dtype
        Of the weights.

    Attributes
    ----------
    layers : ModuleList of GTPCLayer
    history_ : list of dict
        For each component: ``loss`` of each epoch, what was ``watched`` (the explained energy
        before and after each epoch), and the reason why it ``stopped``.
    energies_ : array (k + 1,)
        Energy of the residual of the training samples after 0, 1, .., k components; NaN if unknown,
        as after ``load_state_dict``.

    Examples
    --------
    >>> import torch
    >>> from gtpca import Shift
    >>> from gtpca.nn import GTPCNetwork
    >>> X = torch.randn(100, 12, generator=torch.Generator().manual_seed(0))
    >>> net = GTPCNetwork(2, Shift(5), sample_shape=(12,), random_state=0)
    >>> net = net.fit(X, epochs=2, random_state=0)
    >>> scores, index = net.encode(X)
    >>> net(X).shape
    torch.Size([100, 12])
    """

    def __init__(
        self,
        n_components,
        family,
        sample_shape,
        *,
        weight_shape=None,
        polarity="both",
        center=False,
        mean=None,
        feature_weight=None,
        random_state=None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        checks.integer("n_components", n_components, 1)
        checks.choice("polarity", polarity, POLARITIES)
        checks.choice("center", center, (False, "samples"))
        self.family, self.polarity, self.center = family, polarity, center
        operator = make_operator(family, sample_shape, weight_shape, feature_weight)
        geometry = Geometry(operator)
        if center and mean is not None:
            raise ValueError(f"center={center!r} and mean exclude each other: leave one out.")
        seeds = component_seeds(random_state, n_components)
        options = {"polarity": polarity, "device": device, "dtype": dtype}
        shape = operator.sample_shape
        self.layers = nn.ModuleList(
            GTPCLayer(geometry, shape, random_state=seed, **options) for seed in seeds
        )
        self.register_buffer("mean", self._mean(mean, shape))
        self.forget()

    def _mean(self, mean, shape):
        if mean is None:
            return None
        values = torch.as_tensor(mean, dtype=self.weight.dtype, device=self.weight.device)
        if tuple(values.shape) != tuple(shape):
            raise ValueError(f"mean has shape {tuple(values.shape)}, but must be {tuple(shape)}.")
        return values.clone()

    @property
    def weight(self):
        """Weights of the first layer, whose type and device are those of all layers."""
        return self.layers[0].weight

    @property
    def operator(self):
        """The family, bound to the shape of the samples."""
        return self.layers[0].geometry.bound

    def preprocess(self, x, hidden=None):
        """Samples as flat rows (n, d): centred, times the root of the feature weight.

        Zero where ``hidden`` (n, d), if that is given.
        """
        check_samples(x, self.operator.sample_shape, self.weight)
        mean = None if self.mean is None else self.mean.reshape(-1)
        rows = x.reshape(-1, self.operator.n_features)
        rows = Preprocessing(mean, self.center == "samples")(rows, self.operator, hidden)
        rows = self.layers[0].geometry.weigh(rows)
        return blanked(rows, hidden)

    def _walk(self, x, mask):
        """What each layer finds in the residual of the previous ones."""
        x, hidden = observed(x, mask)
        rows = self.preprocess(x, hidden)
        for layer in self.layers:
            found = layer.match(rows, hidden)
            rows = blanked(rows - found.projection, hidden)
            yield found

    def encode(
        self, x: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores (n, k) and transforms (n, k) of samples; ``mask`` as in :class:`GTPCLayer`."""
        found = list(self._walk(x, mask))
        scores = torch.stack([f.score for f in found], dim=1).to(x.dtype)
        return scores, torch.stack([f.index for f in found], dim=1)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """The reconstruction of samples by all components, like ``x``; ``mask``: the observed."""
        rows = sum(found.coef[:, None] * found.moved for found in self._walk(x, mask)).to(x.dtype)
        return (rows if self.mean is None else rows + self.mean.reshape(-1)).reshape(x.shape)

    def encoder(self) -> nn.Module:
        """A module whose forward pass is :meth:`encode`, for ``torch.export``."""
        return Encoder(self)

    def fit(
        self,
        data,
        epochs=5,
        steps_per_epoch=None,
        batch_size=32,
        lr=1e-3,
        *,
        clip_norm=1.0,
        validation=None,
        patience=None,
        checkpoint=None,
        progress=False,
        random_state=None,
    ):
        """Train one component after the other, from its present weights; earlier ones stay fixed.

        Adam on minus the mean squared score. The paper uses ``epochs=5, steps_per_epoch=500``. A
        network that was trained or converted before does not get worse on the monitored samples.

        Parameters
        ----------
        data : tensor or array (n, \\*sample_shape), or loader
            A loader yields tensors, or tuples that begin with one, and can be iterated repeatedly.
        epochs : int
            For each component.
        steps_per_epoch : int or None
            None: one pass over the data. A loader begins again in every epoch.
        batch_size : int
            Not used with a loader, which has its own.
        lr : float
            Learning rate.
        clip_norm : float or None
            Longest gradient, in units of the mean energy of a sample.
        validation : tensor, array, loader or None
            After each epoch the explained energy of these samples is computed, or else that of
            ``data`` if it is a tensor. The best weights are kept.
        patience : int or None
            Stop after this many epochs without improvement.
        checkpoint : path or None
            Written after each epoch. If it exists, training resumes from it and reaches the same
            weights as without an interruption; a loader must then be unshuffled or have its own
            generator. Data, validation, mean, feature weight, family and schedule must be the same.
        progress : bool
            Show a progress bar.
        random_state : int or None
            Seed of the order of the samples.

        Returns
        -------
        self
        """
        schedule = Schedule(
            epochs=epochs,
            steps_per_epoch=steps_per_epoch,
            batch_size=batch_size,
            lr=lr,
            clip_norm=clip_norm,
            patience=patience,
        ).checked()
        self._check_trainable()
        samples = as_samples("data", data, self._preprocess_on_device)
        watched = samples
        if validation is not None:
            watched = as_samples("validation", validation, self._preprocess_on_device)
        if patience is not None and watched is samples and samples.n_rows is None:
            raise ValueError(f"patience={patience!r} needs validation samples beside a loader.")
        if random_state is not None:
            random_state = checks.integer("random_state", random_state, 0)
        run = Run(
            self, schedule, samples=samples, watched=watched, path=checkpoint, seed=random_state
        )
        with progress_bar(progress, len(self.layers) * epochs) as show, torch.enable_grad():
            run.train(show)
        return self

    def _check_trainable(self):
        for k, layer in enumerate(self.layers):
            if not layer.weight.requires_grad:
                raise ValueError(f"layers[{k}] is frozen: it has no weights to train.")

    @torch.no_grad()
    def _preprocess_on_device(self, x):
        return self.preprocess(x.to(self.weight.device) if isinstance(x, torch.Tensor) else x)

    @classmethod
    def from_estimator(cls, estimator: GTPCA, *, device=None, dtype=None) -> GTPCNetwork:
        """A network that encodes and reconstructs like a fitted estimator.

        Parameters
        ----------
        estimator : fitted GTPCA
        device : torch device or None
        dtype : torch dtype or None
            Default: that of ``components_``, which is float64 after a fit whatever the samples.
        """
        check_convertible(estimator)
        weights = torch.from_numpy(np.ascontiguousarray(estimator.components_))
        net = cls(
            estimator.n_components_,
            estimator.operator_,
            estimator.sample_shape_,
            polarity=estimator.polarity_,
            center="samples" if estimator.center_ == "samples" else False,
            mean=estimator.mean_,
            device=device,
            dtype=dtype or weights.dtype,
        )
        net.family = as_family(estimator.family)
        net.load_weights(weights)
        total = estimator.explained_energy_[0] / estimator.explained_energy_ratio_[0]
        net.energies_ = total - np.cumsum([0, *estimator.explained_energy_])
        return net

    def to_estimator(self) -> GTPCA:
        """A fitted :class:`gtpca.GTPCA` with the same components, of unit norm and the same dtype.

        ``explained_energy_`` is known after training on a tensor, otherwise it is NaN.
        """
        return make_estimator(self)

    @torch.no_grad()
    def load_weights(self, weights) -> None:
        """Set the weights of all layers from (k, \\*weight_shape)."""
        for layer, w in zip(self.layers, weights, strict=True):
            layer.weight.copy_(w)
        self.forget()

    def _load_from_state_dict(self, *args, **options):
        """Loaded weights have no training record; torch calls this for nested modules too."""
        super()._load_from_state_dict(*args, **options)
        self.forget()

    def forget(self) -> None:
        """Discard the training record."""
        self.keep([], [np.nan] * (len(self.layers) + 1))

    def keep(self, history, energies) -> None:
        """Store the training record, and the residual energy after 0, 1, .. components."""
        self.history_, self.energies_ = list(history), np.array(energies)


def component_seeds(random_state, count):
    """A seed for each layer, or None."""
    if random_state is None:
        return [None] * count
    seed = checks.integer("random_state", random_state, 0)
    return [int(s) for s in np.random.SeedSequence(seed).generate_state(count)]


@contextmanager
def progress_bar(show: bool, total: int):
    """Yields ``show(done, text)``: ``done`` of ``total`` steps are complete."""
    if not show:
        yield lambda done, text: None
        return
    with require("rich.progress", "torch").Progress() as bar:
        task = bar.add_task("training", total=total)
        yield lambda done, text: bar.update(task, completed=done, description=text)


class Encoder(nn.Module):
    """Scores and transforms as the forward pass of a module."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores (n, k) and transforms (n, k)."""
        return self.network.encode(x)
