"""The autoencoders of the paper, plain and variational."""

from __future__ import annotations

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from gtpca import checks
from gtpca_paper.baselines import networks
from gtpca_paper.baselines.classifier import check_scores

__all__ = ["VAE", "Autoencoder"]


class Autoencoder(TransformerMixin, BaseEstimator):
    """The convolutional autoencoder of the paper.

    Minimises the mean of ``|x - decode(encode(x))|^2`` over all values, with an encoder conv 16,
    pool 2, conv 8, pool 2, dense k and a decoder dense, conv 8, up 2, conv 16, up 2, conv C.
    Data are taken as they are, neither centred nor scaled.

    Parameters
    ----------
    n_components : int
        Size k of the code.
    channels : bool
        Whether the last axis of ``X`` holds channels.
    epochs, steps_per_epoch, batch_size : int
        An epoch is ``steps_per_epoch`` batches of ``batch_size`` rows. The paper has 5 epochs,
        for handwriting and rotated digits 10.
    random_state : int, RandomState or None

    Attributes
    ----------
    net_ : torch.nn.Module
    loss_ : array (epochs,)
        Mean loss of each epoch.
    diverged_ : bool
        Whether a loss was NaN. Training ended there, and all codes and samples are NaN.
    sample_shape_ : tuple of int

    Examples
    --------
    >>> import numpy as np
    >>> X = np.sin(np.linspace(0, 6, 24) + np.arange(50)[:, None])
    >>> model = Autoencoder(2, epochs=1, steps_per_epoch=20, random_state=0).fit(X)
    >>> model.transform(X).shape, model.reconstruct(X).shape
    ((50, 2), (50, 24))
    """

    def __init__(
        self,
        n_components=2,
        *,
        channels=False,
        epochs=5,
        steps_per_epoch=500,
        batch_size=32,
        random_state=None,
    ):
        self.n_components = n_components
        self.channels = channels
        self.epochs = epochs
        self.steps_per_epoch = steps_per_epoch
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(self, X, y=None):
        """Train on series or images.

        Parameters
        ----------
        X : array (n, T) or (n, H, W), with ``channels`` (n, T, C) or (n, H, W, C)
            Numbers of any kind; 32-bit floats inside.
        y : ignored

        Returns
        -------
        self
        """
        generator, batches = self._start(X)
        X = self._check_samples(X)

        def loss(rows):
            return self.net_.loss(self._tensor(X[rows]), generator)

        self._end(networks.descend(self.net_, loss, batches))
        return self

    def _start(self, X):
        """Check all and set ``net_`` to its start; the generator, and the rows of all batches."""
        self._check_parameters()
        X = self._check_samples(X)
        self.sample_shape_ = X.shape[1:]
        generator = networks.make_generator(self.random_state)
        self.net_ = networks.initialised(self._make_net, generator)
        batches = networks.draw_batches(
            len(X),
            n_batches=self.epochs * self.steps_per_epoch,
            batch_size=self.batch_size,
            generator=generator,
        )
        return generator, batches

    def _end(self, history):
        """Set what is known after the training."""
        self.diverged_ = networks.mark_if_diverged(self.net_, history)
        self.loss_ = history.reshape(self.epochs, -1).mean(axis=1)

    def transform(self, X):
        """Codes (n, k) of ``X``."""
        X = self._check_new(X)
        return networks.collect(lambda x: self.net_.encode(self._tensor(x)), X)

    def inverse_transform(self, Z):
        """Samples (n, *sample_shape) with the codes ``Z`` (n, k)."""
        check_is_fitted(self)
        Z = check_scores(Z, self.n_components)
        X = networks.collect(lambda z: self.net_.decode(networks.tensor(z, z.shape[1:])), Z)
        return X.reshape(-1, *self.sample_shape_)

    def reconstruct(self, X):
        """``X`` as it leaves the network, (n, *sample_shape)."""
        return self.inverse_transform(self.transform(X))

    def _check_parameters(self):
        checks.integer("n_components", self.n_components, 1)
        checks.choice("channels", self.channels, (False, True))
        networks.check_schedule(self)

    def _check_samples(self, X):
        X = check_array(X, dtype="numeric", allow_nd=True, ensure_2d=False, input_name="X")
        if X.ndim - self.channels not in (2, 3):
            shapes = "(n, T, C) or (n, H, W, C)" if self.channels else "(n, T) or (n, H, W)"
            raise ValueError(f"X has shape {X.shape}, but channels={self.channels} takes {shapes}.")
        if 0 in X.shape:
            raise ValueError(f"X has shape {X.shape}: there is nothing in it.")
        return X

    def _check_new(self, X):
        check_is_fitted(self)
        X = self._check_samples(X)
        if X.shape[1:] != self.sample_shape_:
            raise ValueError(
                f"X has samples of shape {X.shape[1:]}, but {type(self).__name__} was fitted to "
                f"samples of shape {self.sample_shape_}."
            )
        return X

    def _grid(self):
        """Shape (H, W, C) of a sample to the network; a series is an image of height 1."""
        shape = self.sample_shape_ if self.channels else (*self.sample_shape_, 1)
        return shape if len(shape) == 3 else (1, *shape)

    def _tensor(self, rows):
        # Batch by batch, since 32-bit floats are up to four times as large as the data.
        return networks.tensor(rows, self._grid())

    def _make_net(self):
        return networks.Coder(self._grid(), self.n_components, series=self._is_series())

    def _is_series(self):
        return len(self.sample_shape_) - self.channels == 1


class VAE(Autoencoder):
    r"""The variational autoencoder of the paper, which is trained without its KL term.

    The encoder gives a mean :math:`m` and a log-variance :math:`v` of every code. The codes of the
    training are drawn, :math:`z = m + e^{v / 2} \epsilon` with standard normal :math:`\epsilon`,
    and the loss is the mean of :math:`|x - \text{decode}(z)|^2` over all values, plus

    .. math:: \text{kl\_weight} \cdot \text{mean}_i \,
        \tfrac12 \sum_k (m_{ik}^2 + e^{v_{ik}} - 1 - v_{ik}).

    Parameters
    ----------
    n_components, channels, epochs, steps_per_epoch, batch_size, random_state
        As in :class:`Autoencoder`.
    kl_weight : float
        0 as in the paper; :math:`2 \sigma^2 / d` is the evidence bound for samples of d values
        with noise of variance :math:`\sigma^2`.
    draw : bool
        Whether ``reconstruct`` decodes codes drawn as in training, as the authors' code does, or
        their means. ``transform`` gives the means either way.

    Attributes
    ----------
    net_, loss_, diverged_, sample_shape_
        As in :class:`Autoencoder`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.sin(np.linspace(0, 6, 24) + np.arange(50)[:, None])
    >>> model = VAE(2, epochs=1, steps_per_epoch=20, kl_weight=0.1, random_state=0).fit(X)
    >>> model.transform(X).shape
    (50, 2)
    """

    def __init__(
        self,
        n_components=2,
        *,
        channels=False,
        epochs=5,
        steps_per_epoch=500,
        batch_size=32,
        kl_weight=0.0,
        draw=False,
        random_state=None,
    ):
        self.n_components = n_components
        self.channels = channels
        self.epochs = epochs
        self.steps_per_epoch = steps_per_epoch
        self.batch_size = batch_size
        self.kl_weight = kl_weight
        self.draw = draw
        self.random_state = random_state

    def reconstruct(self, X):
        """``X`` as it leaves the network, (n, *sample_shape)."""
        if not self.draw:
            return super().reconstruct(X)
        X, generator = self._check_new(X), networks.make_generator(self.random_state)
        Z = networks.collect(lambda x: self.net_.draw(self._tensor(x), generator), X)
        return self.inverse_transform(Z)

    def _check_parameters(self):
        super()._check_parameters()
        checks.non_negative("kl_weight", self.kl_weight)
        checks.choice("draw", self.draw, (False, True))

    def _make_net(self):
        size = self._grid(), self.n_components
        return networks.VariationalCoder(*size, series=self._is_series(), kl_weight=self.kl_weight)
