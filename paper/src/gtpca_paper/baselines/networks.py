"""The networks of the paper and their training, on torch, at the defaults of Keras.

Glorot-uniform kernels, zero biases, Adam with step 0.001 and epsilon 1e-7. Nothing here draws from
torch's global generator.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca.optional import missing

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as error:
    raise missing("torch", "torch") from error

__all__ = [
    "Coder",
    "DoubledConv",
    "VariationalCoder",
    "check_schedule",
    "collect",
    "descend",
    "draw_batches",
    "initialised",
    "is_finite",
    "make_generator",
    "mark_if_diverged",
    "tensor",
    "train",
]

# Even and odd outputs, by taps of the small signal and of the doubled one: see DoubledConv.
_DOUBLED = torch.tensor([[[1.0, 0, 0], [0, 1, 1], [0, 0, 0]], [[0, 0, 0], [1, 1, 0], [0, 0, 1]]])
_SAME = torch.ones(1, 1, 1)
ADAM: dict[str, Any] = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-7}


def make_generator(random_state):
    """Return a torch generator, seeded by an int, RandomState or None."""
    seed = check_random_state(random_state).randint(2**31 - 1)
    return torch.Generator().manual_seed(int(seed))


def tensor(rows, shape):
    """Return a copy of ``rows`` as 32-bit floats (n, *shape)."""
    return torch.from_numpy(np.array(rows, dtype=np.float32)).reshape(-1, *shape)


# --- training ---


def check_schedule(model):
    """Check ``epochs``, ``steps_per_epoch`` and ``batch_size`` of an estimator."""
    for label in ("epochs", "steps_per_epoch", "batch_size"):
        checks.integer(label, getattr(model, label), 1)


def initialised(make, generator):
    """Return the network ``make()`` with Glorot-uniform kernels and zero biases."""
    with torch.device("meta"):  # where torch draws no numbers of its own
        net = make()
    net = net.to_empty(device="cpu")
    for parameter in net.parameters():
        if parameter.ndim > 1:
            nn.init.xavier_uniform_(parameter, generator=generator)
        else:
            nn.init.zeros_(parameter)
    return net.to(memory_format=torch.channels_last)


def train(net, loss, *, n_rows, n_batches, batch_size, generator):
    """Minimise ``loss(rows)``, of row numbers (batch_size,), by one step of Adam per batch.

    A loss of NaN ends the training: it diverged, and all weights are set to NaN.

    Returns
    -------
    history : array (n_batches,)
        The losses, NaN after the end.
    """
    batches = draw_batches(n_rows, n_batches=n_batches, batch_size=batch_size, generator=generator)
    history = descend(net, loss, batches)
    mark_if_diverged(net, history)
    return history


def draw_batches(n_rows, *, n_batches, batch_size, generator):
    """Row numbers (n_batches, batch_size): one shuffled pass over the rows after the other."""
    n_passes = math.ceil(n_batches * batch_size / n_rows)
    order = torch.cat([torch.randperm(n_rows, generator=generator) for _ in range(n_passes)])
    return order[: n_batches * batch_size].reshape(n_batches, batch_size).numpy()


def descend(net, loss, batches):
    """One step of Adam per batch, down the sum of ``loss(rows)``: of one number or several.

    Returns
    -------
    history : array (n_batches, *loss_shape)
        Once all losses are NaN they stay so, without further steps.
    """
    adam = torch.optim.Adam(net.parameters(), **ADAM, fused=True)
    history: list[np.ndarray] = []
    for rows in batches:
        if history and np.isnan(history[-1]).all():  # infinite losses may have finite gradients
            break
        adam.zero_grad()
        losses = loss(rows)
        losses.sum().backward()
        adam.step()
        history.append(losses.detach().numpy())
    missing = np.full((len(batches) - len(history), *history[0].shape), np.nan)
    return np.concatenate([np.stack(history), missing]).astype(np.float64)


def mark_if_diverged(net, history):
    """Make all weights NaN if a loss is, or a weight is not finite; and say whether that is so."""
    diverged = bool(np.isnan(history).any()) or not is_finite(net)
    for parameter in net.parameters() if diverged else ():
        nn.init.constant_(parameter, math.nan)
    return diverged


def is_finite(net):
    """Whether all weights are finite; after a training that diverged they are not."""
    return all(bool(torch.isfinite(parameter).all()) for parameter in net.parameters())


def collect(function, rows, size=256):
    """Return ``function`` of all rows, a few at a time: hidden layers are larger than the data."""
    with torch.inference_mode():
        parts = [function(rows[i : i + size]).numpy() for i in range(0, len(rows), size)]
    return np.concatenate(parts)


# --- networks ---


class DoubledConv(nn.Module):
    """Double the size by repetition, then convolve, without ever storing the doubled signal.

    With u[2i] = u[2i + 1] = x[i] and filter f, out[2i] = f0 x[i - 1] + (f1 + f2) x[i] and
    out[2i + 1] = (f0 + f1) x[i] + f2 x[i + 1]: the even and the odd outputs are convolutions of x.

    (n, i, h, w) -> (n, o, p h, q w), where p, q are 2 for a filter size of 3 and 1 for one of 1.
    """

    def __init__(self, n_in, n_out, kernel):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in, *kernel))
        self.bias = nn.Parameter(torch.empty(n_out))

    def forward(self, x):
        kernel = self.weight.shape[2:]
        taps = [_DOUBLED if size == 3 else _SAME for size in kernel]
        weight = torch.einsum("pah,qbk,oihk->pqoiab", *taps, self.weight)
        p, q, o = weight.shape[:3]
        bias, padding = self.bias.repeat(p * q), [size // 2 for size in kernel]
        out = F.conv2d(x, weight.flatten(0, 2), bias, padding=padding).permute(0, 2, 3, 1)
        n, h, w, _ = out.shape
        out = out.reshape(n, h, w, p, q, o).transpose(2, 3).reshape(n, h * p, w * q, o)
        return out.permute(0, 3, 1, 2)


class Coder(nn.Module):
    """Conv 16, pool 2, conv 8, pool 2, dense k | dense, conv 8, up 2, conv 16, up 2, conv C.

    Filters have size 3, ReLU follows all but the code and the last convolution.

    Parameters
    ----------
    grid : tuple (H, W, C)
        Rows are (n, H, W, C). Sizes that 4 does not divide are padded with zeros, and cropped.
    n_codes : int
    series : bool
        Whether H is not an axis of the data: filters are 1 x 3, only W is pooled.
    """

    n_encoded = 1  # numbers per code that the encoder gives

    def __init__(self, grid, n_codes, *, series):
        super().__init__()
        self.grid, self.n_codes, self.series = grid, n_codes, series
        kernel, pool, total = [(1 if series else a, a) for a in (3, 2, 4)]
        small = [math.ceil(size / by) for size, by in zip(grid[:2], total, strict=True)]
        self.below, self.right = (-size % by for size, by in zip(grid[:2], total, strict=True))
        sizes = {"n_channels": grid[2], "kernel": kernel, "small": small}
        self.encoder = _encoder(**sizes, pool=pool, n_encoded=self.n_encoded * n_codes)
        self.decoder = _decoder(**sizes, n_codes=n_codes)

    def encode(self, x):
        """(n, H, W, C) -> (n, k)."""
        return self.encoder(F.pad(x, (0, 0, 0, self.right, 0, self.below)).permute(0, 3, 1, 2))

    def decode(self, z):
        """(n, k) -> (n, H, W, C)."""
        return self.decoder(z).permute(0, 2, 3, 1)[:, : self.grid[0], : self.grid[1]]

    def loss(self, x, generator):
        """Mean of |x - decode(encode(x))|^2 over all values."""
        return F.mse_loss(self.decode(self.encode(x)), x)


class VariationalCoder(Coder):
    """A coder with mean and log-variance of every code; see :class:`~.autoencoders.VAE`."""

    n_encoded = 2

    def __init__(self, grid, n_codes, *, series, kl_weight):
        super().__init__(grid, n_codes, series=series)
        self.kl_weight = kl_weight

    def encode(self, x):
        """Means (n, k)."""
        return self.distribution(x)[0]

    def distribution(self, x):
        """Means and log-variances, (n, k) each."""
        return super().encode(x).split(self.n_codes, dim=1)

    def loss(self, x, generator):
        """Mean of |x - decode(drawn)|^2 over all values, and the weighted divergence."""
        mean, log_variance = self.distribution(x)
        error = F.mse_loss(self.decode(_draw(mean, log_variance, generator)), x)
        if self.kl_weight == 0:  # an infinite divergence times 0 would not be 0
            return error
        divergence = (mean**2 + log_variance.exp() - 1 - log_variance).sum(dim=1) / 2
        return error + self.kl_weight * divergence.mean()

    def draw(self, x, generator):
        """Codes (n, k), drawn from their distribution."""
        mean, log_variance = self.distribution(x)
        return _draw(mean, log_variance, generator)


def _draw(mean, log_variance, generator):
    return mean + torch.exp(log_variance / 2) * torch.randn(mean.shape, generator=generator)


def _conv(n_in, n_out, kernel):
    return nn.Conv2d(n_in, n_out, kernel, padding=[size // 2 for size in kernel])


def _encoder(*, n_channels, kernel, small, pool, n_encoded):
    # max(relu(a), relu(b)) = relu(max(a, b)), and after the pooling there is less to do.
    return nn.Sequential(
        *(_conv(n_channels, 16, kernel), nn.MaxPool2d(pool), nn.ReLU()),
        *(_conv(16, 8, kernel), nn.MaxPool2d(pool), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(8 * math.prod(small), n_encoded)),
    )


def _decoder(*, n_channels, kernel, small, n_codes):
    return nn.Sequential(
        *(nn.Linear(n_codes, 8 * math.prod(small)), nn.ReLU(), nn.Unflatten(1, (8, *small))),
        *(_conv(8, 8, kernel), nn.ReLU()),
        *(DoubledConv(8, 16, kernel), nn.ReLU()),
        DoubledConv(16, n_channels, kernel),
    )
