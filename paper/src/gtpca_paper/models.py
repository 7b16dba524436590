"""The models under one interface: fit, residuals for every number of components, features."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA, KernelPCA

from gtpca.estimator import GTPCA
from gtpca.families import Identity
from gtpca.solvers.als import ALS
from gtpca_paper.spec import lookup

__all__ = ["Projection", "make_model", "pose_features"]

SWEEPS = 10  # of gtpca-refine; twenty lower the residual by another 0.1 %


class Projection(ABC):
    """A model for the numbers of components ``counts``.

    Parameters
    ----------
    counts : tuple of int
        Increasing.
    family : Family or None
        Of GT-PCA.
    channels : bool
        Whether the last axis of a sample holds channels.
    epochs, steps : int
        And batches per epoch, where a network is trained.
    random_state : int
    """

    def __init__(self, *, counts, family, channels, epochs, steps, random_state):
        self.counts, self.family, self.channels = counts, family, channels
        self.schedule = {"epochs": epochs, "steps_per_epoch": steps}
        self.random_state = random_state

    @property
    def scale(self) -> float:
        """What scores are divided by before they are classified as in the paper."""
        return 1.0

    @abstractmethod
    def fit(self, X):
        """Fit to ``X`` (n, *sample_shape)."""

    @classmethod
    def fit_together(cls, models, samples, checkpoint=None):
        """Fit models of this class that differ in repetition or count alone, each as if alone.

        Parameters
        ----------
        models : list of Projection
        samples : list of array (n, *sample_shape)
            Of each model; models may share them.
        checkpoint : path or None
            How files begin where a training that takes long keeps what it has.
        """
        for model, X in zip(models, samples, strict=True):
            model.fit(X)

    @abstractmethod
    def residuals(self, X) -> np.ndarray:
        """``|x_i - proj_k(x_i)|^2``, (n, n_counts); NaN if the model diverged."""

    @abstractmethod
    def encode(self, X):
        """What :meth:`features` needs to know of ``X``."""

    @abstractmethod
    def features(self, codes, k, protocol) -> np.ndarray:
        """Input (n, q) of the classifier, from the first ``k`` components."""


class _GreedyGTPCA(Projection):
    """GT-PCA by alternating least squares: one fit for all counts."""

    def options(self):
        """Parameters of GTPCA that the variants change."""
        return {"solver": ALS()}

    @property
    def scale(self):
        """``sqrt(n)``, of the ``n`` weights or features, whichever are more.

        The authors' weights have norm ``sqrt(n)`` and their scores are ``<x, w> / n``; ours are
        products with weights of norm 1.
        """
        operator = self.model.operator_
        return math.sqrt(max(operator.n_weights, operator.n_features))

    def fit(self, X):
        self.model = GTPCA(
            *(self.counts[-1], self.family),
            **{"n_jobs": 1, "random_state": self.random_state, **self.options()},
        )
        self.model.fit(X.astype(np.float32, copy=False))
        return self

    def residuals(self, X):
        _, energies = self.model.measure(X.astype(np.float32, copy=False))
        return energies[:, list(self.counts)]

    def encode(self, X):
        return self.model.encode(X.astype(np.float32, copy=False))

    def features(self, codes, k, protocol):
        codes = codes.first(k)
        if protocol == "paper":
            return np.abs(codes.scores) / self.scale
        if protocol == "signed" or k == 1:
            return codes.scores
        return np.hstack([codes.scores, pose_features(self.model.poses(codes))])


def pose_features(poses):
    """Poses of components 2, .., k relative to that of component 1, (n, q).

    Angles become the cosine and the sine of the difference; everything else is a difference.

    Parameters
    ----------
    poses : dict of str to array (n, k)
        As from ``GTPCA.poses``.

    Examples
    --------
    >>> import numpy as np
    >>> pose_features({"start": np.array([[3, 5]]), "centre": np.array([[4.0, 6.0]])})
    array([[2.]])
    >>> pose_features({"degrees": np.array([[90.0, 270.0]])}).round(6) + 0
    array([[-1.,  0.]])
    """
    columns = []
    for name, values in poses.items():
        relative = (values[:, 1:] - values[:, :1]).astype(np.float64)
        if name == "degrees":
            angle = np.deg2rad(relative)
            columns += [np.cos(angle), np.sin(angle)]
        elif not name.startswith("centre"):  # a start says the same
            columns.append(relative)
    return np.hstack(columns)


class _AdamGTPCA(_GreedyGTPCA):
    """GT-PCA as the paper trains it, also where a single transform could be solved directly."""

    def fit(self, X):
        self.fit_together([self], [X])
        return self

    @classmethod
    def fit_together(cls, models, samples, checkpoint=None):
        from gtpca_paper.baselines.layers import LARGEST

        several = max(1, LARGEST // max(X.size for X in samples))
        for i in range(0, len(models), several):
            cls._fit(models[i : i + several], samples[i : i + several], checkpoint)

    @classmethod
    def _fit(cls, models, samples, checkpoint):
        from gtpca.nn import GTPCNetwork
        from gtpca.nn.checkpoints import Checkpoint
        from gtpca_paper.baselines.layers import train_together

        first, seeds = models[0], [model.random_state % 2**31 for model in models]
        family = Identity() if first.family is None else first.family
        size = (first.counts[-1], family, samples[0].shape[1:])
        networks = [GTPCNetwork(*size, random_state=seed) for seed in seeds]
        kept = None
        if checkpoint is not None:
            Path(checkpoint).parent.mkdir(parents=True, exist_ok=True)
            plan = {"seeds": seeds, "shape": list(size[2]), **first.schedule}
            kept = Checkpoint(f"{checkpoint}-{seeds[0]}.pt", plan)
        samples = [X.astype(np.float32, copy=False) for X in samples]
        train_together(networks, samples, seeds=seeds, checkpoint=kept, **first.schedule)
        for model, network in zip(models, networks, strict=True):
            model.model = network.to_estimator()


class _RefinedGTPCA(_GreedyGTPCA):
    """Joint sweeps: components are the best together, so there is a fit for every count."""

    def options(self):
        return {"refine": SWEEPS}


class _SharedGTPCA(_GreedyGTPCA):
    """One pose per sample.

    The fit is that of the largest count. Smaller ones are its first components, in poses of all.
    """

    def options(self):
        return {"shared_pose": True}


class _PCA(Projection):
    """PCA of scikit-learn: centred, one fit for all counts."""

    def fit(self, X):
        # Exact, and without the centred copy of the data that other solvers make.
        solver = "covariance_eigh" if len(X) > X[0].size else "full"
        self.model = PCA(self.counts[-1], svd_solver=solver).fit(X.reshape(len(X), -1))
        return self

    def encode(self, X):
        return self.model.transform(X.reshape(len(X), -1)).astype(np.float64)

    def residuals(self, X):
        centred = X.reshape(len(X), -1).astype(np.float64) - self.model.mean_
        explained = np.cumsum(self.encode(X) ** 2, axis=1)[:, np.subtract(self.counts, 1)]
        return np.maximum((centred**2).sum(axis=1)[:, None] - explained, 0.0)

    def features(self, codes, k, protocol):
        return codes[:, :k]


class _PerCount(Projection):
    """Models with a fit for every count: their inverse, or all of them, depends on it."""

    @abstractmethod
    def make(self, k):
        """An unfitted estimator with ``k`` components."""

    def rows(self, X):
        """``X`` as the estimator takes it."""
        return X

    def fit(self, X):
        self.models = {k: self.make(k).fit(self.rows(X)) for k in self.counts}
        return self

    def encode(self, X):
        return {k: model.transform(self.rows(X)) for k, model in self.models.items()}

    def residuals(self, X):
        rows = self.rows(X)
        rebuilt = (self.rebuild(model, rows) for model in self.models.values())
        with np.errstate(over="ignore", invalid="ignore"):
            columns = [((rows - r).reshape(len(rows), -1) ** 2).sum(axis=1) for r in rebuilt]
        return np.stack(columns, axis=1)

    def rebuild(self, model, rows):
        """The projection of the rows."""
        return model.inverse_transform(model.transform(rows))

    def features(self, codes, k, protocol):
        return codes[k]


class _KPCA(_PerCount):
    """Kernel PCA of scikit-learn, with the kernel of the paper and a learnt inverse."""

    def make(self, k):
        kernel = {"kernel": "poly", "degree": 3, "fit_inverse_transform": True}
        return KernelPCA(k, **kernel, random_state=self.random_state)

    def rows(self, X):
        return X.reshape(len(X), -1).astype(np.float64)


class _Autoencoder(_PerCount):
    name = "Autoencoder"

    @classmethod
    def fit_together(cls, models, samples, checkpoint=None):
        from gtpca_paper.baselines.coders import fit_together

        if samples[0].ndim - models[0].channels > 2:  # of images it is arithmetic that takes time
            for model, X in zip(models, samples, strict=True):
                _PerCount.fit(model, X)
            return
        made = [(model.make(k), X) for model, X in zip(models, samples, strict=True)
                for k in model.counts]  # fmt: skip
        fit_together(*map(list, zip(*made, strict=True)))
        found = iter(made)
        for model in models:
            model.models = {k: next(found)[0] for k in model.counts}

    def fit(self, X):
        self.fit_together([self], [X])
        return self

    def make(self, k):
        from gtpca_paper.baselines import autoencoders

        return getattr(autoencoders, self.name)(
            k, channels=self.channels, random_state=self.random_state, **self.schedule
        )

    def rebuild(self, model, rows):
        return model.reconstruct(rows).astype(np.float64)


class _VAE(_Autoencoder):
    name = "VAE"

    def make(self, k):
        return super().make(k).set_params(draw=True)


_CLASSES: dict[str, type[Projection]] = {
    "gtpca-als": _GreedyGTPCA,
    "gtpca-adam": _AdamGTPCA,
    "gtpca-adam-1": _AdamGTPCA,
    "gtpca-adam-20": _AdamGTPCA,
    "gtpca-adam-40": _AdamGTPCA,
    "gtpca-adam-160": _AdamGTPCA,
    "gtpca-refine": _RefinedGTPCA,
    "gtpca-shared": _SharedGTPCA,
    "pca": _PCA,
    "kpca": _KPCA,
    "autoencoder": _Autoencoder,
    "vae": _VAE,
}


def make_model(name, **parameters) -> Projection:
    """The model with this name, unfitted; see :class:`Projection` for the parameters."""
    return lookup("model", name, _CLASSES)(**parameters)
