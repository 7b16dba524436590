"""The classifier of the scores, as in the paper, and many of them trained at once."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from gtpca import checks
from gtpca_paper.baselines import networks
from gtpca_paper.baselines.networks import F, nn, torch  # or what to install

__all__ = ["Classifier", "Downstream", "StackedClassifiers", "check_scores", "fit_together"]


class Downstream(ClassifierMixin, BaseEstimator):
    """The classifier of the paper: one hidden layer of 10 with ReLU, softmax, cross-entropy.

    Parameters
    ----------
    standardize : bool
        Whether columns get mean 0 and variance 1, by their values in training.
    epochs, steps_per_epoch, batch_size : int
        An epoch is ``steps_per_epoch`` batches of ``batch_size`` rows. The paper has 10 epochs,
        for outliers among rotated digits 5.
    random_state : int, RandomState or None

    Attributes
    ----------
    net_ : torch.nn.Module
    classes_ : array (n_classes,)
    most_frequent_ : int
        Number of the most frequent class. It is predicted for rows that are not finite, and for
        all rows after a training that diverged.
    mean_, scale_ : array (k,)
    loss_, diverged_
        As in :class:`~.autoencoders.Autoencoder`.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> Z = np.arange(-20.0, 20.0)[:, None]
    >>> model = Downstream(epochs=1, random_state=0).fit(Z, Z[:, 0] > 0)
    >>> bool(model.score(Z, Z[:, 0] > 0) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        standardize=True,
        epochs=10,
        steps_per_epoch=500,
        batch_size=32,
        random_state=None,
    ):
        self.standardize = standardize
        self.epochs = epochs
        self.steps_per_epoch = steps_per_epoch
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(self, Z, y):
        """Train on scores ``Z`` (n, k) and classes ``y`` (n,).

        Returns
        -------
        self
        """
        fit_together([self], [Z], y)
        return self

    def predict(self, Z):
        """Classes (n,) of the scores ``Z`` (n, k)."""
        check_is_fitted(self)
        Z = self._scaled(check_scores(Z, self.n_features_in_))
        logits = networks.collect(lambda z: self.net_(networks.tensor(z, z.shape[1:])), Z)
        finite = np.isfinite(logits).all(axis=1)
        return self.classes_[np.where(finite, logits.argmax(axis=1), self.most_frequent_)]

    def _start(self, Z, y):
        """Check all, set the attributes that need no training; scores and class numbers."""
        checks.choice("standardize", self.standardize, (False, True))
        networks.check_schedule(self)
        Z, y = check_scores(Z), self._check_classes(y)
        check_consistent_length(Z, y)
        self._set_scale(Z)
        return self._scaled(Z), y

    def _draw(self, n_rows):
        """Set ``net_`` to its start and return the rows of all batches, (n_batches, batch_size)."""
        generator = networks.make_generator(self.random_state)
        self.net_ = networks.initialised(self._make_net, generator)
        return networks.draw_batches(
            n_rows,
            n_batches=self.epochs * self.steps_per_epoch,
            batch_size=self.batch_size,
            generator=generator,
        )

    def _end(self, history):
        """Set what is known after the training."""
        self.diverged_ = networks.mark_if_diverged(self.net_, history)
        self.loss_ = history.reshape(self.epochs, -1).mean(axis=1)

    def _check_classes(self, y):
        """Set ``classes_`` and return the number of the class of each row."""
        y = column_or_1d(y)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self.most_frequent_ = int(np.bincount(numbers).argmax())
        return numbers

    def _set_scale(self, Z):
        self.n_features_in_ = Z.shape[1]
        self.mean_, self.scale_ = np.zeros(Z.shape[1]), np.ones(Z.shape[1])
        if self.standardize:
            with np.errstate(invalid="ignore", over="ignore"):
                self.mean_, scale = Z.mean(axis=0), Z.std(axis=0)
            self.scale_ = np.where(scale > 1e-12 * np.abs(self.mean_), scale, 1.0)

    def _scaled(self, Z):
        with np.errstate(invalid="ignore", over="ignore"):
            return ((Z - self.mean_) / self.scale_).astype(np.float32)

    def _make_net(self):
        return Classifier(self.n_features_in_, len(self.classes_))


def check_scores(Z, n_columns=None):
    """``Z`` as 64-bit floats (n, k), where ``k`` must be ``n_columns`` if that is given."""
    # Those of an autoencoder that diverged are NaN, and the accuracy after it is still a figure.
    Z = check_array(Z, dtype=np.float64, ensure_all_finite=False, input_name="Z")
    if n_columns is not None and Z.shape[1] != n_columns:
        raise ValueError(f"Z has {Z.shape[1]} columns, but {n_columns} are needed.")
    return Z


class Classifier(nn.Module):
    """Scores (n, k) -> hidden layer of 10 with ReLU -> logits (n, n_classes)."""

    def __init__(self, n_scores, n_classes):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_scores, 10), nn.ReLU(), nn.Linear(10, n_classes))

    def forward(self, z):
        return self.layers(z)


class StackedClassifiers(nn.Module):
    """Classifiers as one network: trained together, each as if it were alone.

    Parameters
    ----------
    nets : list of Classifier
        ``G`` of them, with the same classes. Their scores may have different lengths; the shorter
        ones are filled with zeros, to ``q``.
    """

    def __init__(self, nets):
        super().__init__()
        layers = [[net.layers[i] for net in nets] for i in (0, 2)]
        kernels = [
            nn.utils.rnn.pad_sequence([x.weight.T for x in each], batch_first=True)
            for each in layers
        ]
        biases = [torch.stack([x.bias for x in each])[:, None] for each in layers]
        self.kernels = nn.ParameterList(kernel.detach() for kernel in kernels)
        self.biases = nn.ParameterList(bias.detach() for bias in biases)

    def forward(self, z):
        """Scores (G, n, q) -> logits (G, n, n_classes)."""
        hidden = torch.baddbmm(self.biases[0], z, self.kernels[0]).relu()
        return torch.baddbmm(self.biases[1], hidden, self.kernels[1])

    def losses(self, z, y):
        """Mean cross-entropy (G,) of the class numbers ``y`` (G, n)."""
        logits = self(z).flatten(0, 1)
        return F.cross_entropy(logits, y.flatten(), reduction="none").reshape(y.shape).mean(dim=1)

    def unstack(self, nets):
        """Give the trained weights to ``nets``."""
        with torch.no_grad():
            for g, net in enumerate(nets):
                for i, layer in enumerate((net.layers[0], net.layers[2])):
                    layer.weight.copy_(self.kernels[i][g, : layer.in_features].T)
                    layer.bias.copy_(self.biases[i][g, 0])


def fit_together(models, scores, y):
    """Fit classifiers to the same rows in one training: much faster, and with the same result.

    Parameters
    ----------
    models : list of Downstream
        With the same schedule.
    scores : list of array (n, k)
        Of each model.
    y : array (n,)
        Classes.
    """
    if len({(m.epochs, m.steps_per_epoch, m.batch_size) for m in models}) > 1:
        raise ValueError("models must have the same epochs, steps_per_epoch and batch_size.")
    tasks = [model._start(Z, y) for model, Z in zip(models, scores, strict=True)]
    numbers, all_scores = torch.from_numpy(tasks[0][1]), _stacked([Z for Z, _ in tasks])
    n_models, n, q = all_scores.shape
    batches = torch.from_numpy(np.stack([model._draw(n) for model in models], axis=1))
    nets = StackedClassifiers([model.net_ for model in models])
    first = torch.arange(n_models)[:, None] * n

    def losses(rows):
        z = all_scores.view(-1, q).index_select(0, (first + rows).flatten())
        return nets.losses(z.view(n_models, -1, q), numbers[rows])

    history = networks.descend(nets, losses, batches)
    nets.unstack([model.net_ for model in models])
    for model, losses in zip(models, history.T, strict=True):
        model._end(losses)


def _stacked(scores):
    """Scores (n, k) of several models as one tensor (G, n, largest k), filled with zeros."""
    out = torch.zeros(len(scores), len(scores[0]), max(Z.shape[1] for Z in scores))
    for g, Z in enumerate(scores):
        out[g, :, : Z.shape[1]] = torch.from_numpy(Z)
    return out
