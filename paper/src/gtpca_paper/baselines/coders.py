"""Autoencoders of several repetitions and sizes, trained as one.

All layers are products of matrices: one of the weights, and one of patches of the layer below. In
a layer that is pooled the matrix has the outputs of all places of a window, whose maximum is
taken; in one that doubles its input those of all places that come of one. Values are kept as
``(G, channels, height, width, n)`` of ``G`` networks and ``n`` samples: then a patch is a slice,
and the innermost axis, which every loop runs over, is never cut. Gradients are written out, so that
nothing has to be recorded. Starts, batches, draws and steps are those of
:meth:`~gtpca_paper.baselines.autoencoders.Autoencoder.fit`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gtpca_paper.baselines import networks
from gtpca_paper.baselines.networks import torch  # or what to install

__all__ = ["StackedCoders", "fit_together"]

# Places of a filter of size 3 along one axis, by output and by patch: see `_embedded`.
_SAME = torch.eye(3)[None]  # (1, 3, 3): one output, of a patch of 3
_POOLED = torch.stack([torch.eye(3, 4).T, torch.eye(3, 4).T.roll(1, 0)])  # (2, 4, 3): two, of 4
_DOUBLED = networks._DOUBLED  # (2, 3, 3): the two outputs of a place, of a patch of 3
_QUADRUPLED = torch.zeros(4, 4, 3)  # four outputs of two neighbours, of a patch of 4
for _q in range(4):
    _QUADRUPLED[_q, _q // 2 : _q // 2 + 3] = _DOUBLED[_q % 2]
_NONE = torch.ones(1, 1, 1)  # an axis that the filter has not


CONVOLUTIONS = {  # where a coder has them
    "one": "encoder.0",
    "two": "encoder.3",
    "three": "decoder.3",
    "four": "decoder.5",
    "five": "decoder.7",
}


class Layer(NamedTuple):
    """A convolution as a product.

    ``height`` and ``width`` say which weight every output of a patch has at which place, (outputs,
    patch, filter); patches are ``step`` apart and begin one before.
    """

    height: torch.Tensor
    width: torch.Tensor
    step: tuple[int, int]

    def matrix(self, weight):
        """Weights (G, o, i, kh, kw) as a matrix (G, outputs * o, i * patch)."""
        full = torch.einsum("pah,qbk,goihk->gpqoiab", self.height, self.width, weight)
        return full.flatten(4).flatten(1, 3)

    def gradient(self, matrix, weight):
        """From the gradient of the matrix to that of the weights."""
        (p, a, _), (q, b, _), (_, o, i, _, _) = self.height.shape, self.width.shape, weight.shape
        full = matrix.reshape(-1, p, q, o, i, a, b)
        full = torch.einsum("pah,qbk,gpqoiab->goihk", self.height, self.width, full)
        return full.contiguous()  # as the weights are: Adam goes through both in one order

    def patches(self, x):
        """Patches (G, i * patch, places * n) of ``x`` (G, i, h, w, n)."""
        x = torch.nn.functional.pad(x, (0, 0, *self._margin(1), *self._margin(0)))
        for axis, size in ((2, self.height.shape[1]), (3, self.width.shape[1])):
            x = x.unfold(axis, size, self.step[axis - 2])
        return x.permute(0, 1, 5, 6, 2, 3, 4).flatten(4).flatten(1, 3).contiguous()

    def fold(self, patches, shape):
        """The adjoint of :meth:`patches`: sums (G, i, h, w, n) of what patches share."""
        (g, i, h, w, n), (a, b) = shape, (self.height.shape[1], self.width.shape[1])
        (top, bottom), (left, right) = self._margin(0), self._margin(1)
        places = h // self.step[0], w // self.step[1]
        parts = patches.reshape(g, i, a, b, *places, n)
        out = torch.zeros(g, i, h + top + bottom, w + left + right, n)
        for row in range(a):
            for column in range(b):
                rows = slice(row, row + self.step[0] * places[0], self.step[0])
                columns = slice(column, column + self.step[1] * places[1], self.step[1])
                out[:, :, rows, columns] += parts[:, :, row, column]
        return out[:, :, top : top + h, left : left + w]

    def _margin(self, axis):
        size, step = (self.height, self.width)[axis].shape[1], self.step[axis]
        return (1, size - step - 1) if size > 1 else (0, 0)


def _layers(series):
    """The convolutions of a coder, in their order."""

    def make(taps, step):
        return Layer(_NONE if series else taps, taps, (1 if series else step, step))

    pooled, same = make(_POOLED, 2), make(_SAME, 1)
    return {
        "one": pooled,
        "two": pooled,
        "three": same,
        "four": make(_DOUBLED, 1),
        "five": make(_QUADRUPLED, 2),
    }


class StackedCoders:
    """Coders as one network, with the gradient of the loss of each.

    Parameters
    ----------
    nets : list of Coder
        ``G`` of them, of one kind and grid. Their codes may have different lengths; the shorter
        ones are filled with zeros, which stay zero.
    """

    def __init__(self, nets):
        first = nets[0]
        self.nets, self.grid, self.variational = nets, first.grid, first.n_encoded == 2
        self.n_codes = max(net.n_codes for net in nets)
        self.layers = _layers(first.series)
        self.padded = (self.grid[0] + first.below, self.grid[1] + first.right)
        by = (1 if first.series else 4, 4)
        self.small = tuple(size // b for size, b in zip(self.padded, by, strict=True))
        self.weights = {
            name: self._stacked(f"{place}.weight") for name, place in CONVOLUTIONS.items()
        }
        self.biases = {name: self._stacked(f"{place}.bias") for name, place in CONVOLUTIONS.items()}
        dense = {"code.weight": "encoder.7.weight", "code.bias": "encoder.7.bias"}
        dense |= {"sample.weight": "decoder.0.weight", "sample.bias": "decoder.0.bias"}
        self.dense = {name: self._stacked(place) for name, place in dense.items()}
        self.mask = self._valid()

    def parameters(self):
        """All tensors that are trained."""
        return [*self.weights.values(), *self.biases.values(), *self.dense.values()]

    def _stacked(self, place):
        values = [self._filled(place, net) for net in self.nets]
        return torch.stack(values).contiguous().requires_grad_()

    def _filled(self, place, net):
        """Weights of a net, with zeros where others have more codes."""
        values = net.get_parameter(place).detach()
        if place.startswith("encoder.7"):
            parts = values.reshape(net.n_encoded, net.n_codes, *values.shape[1:])
            whole = torch.zeros(net.n_encoded, self.n_codes, *values.shape[1:])
            whole[:, : net.n_codes] = parts
            return whole.flatten(0, 1)
        if place == "decoder.0.weight":
            whole = torch.zeros(len(values), self.n_codes)
            whole[:, : net.n_codes] = values
            return whole
        return values

    def unstack(self):
        """Give the trained weights to the nets."""
        pairs = [(self.weights, "weight"), (self.biases, "bias")]
        found = {
            f"{CONVOLUTIONS[name]}.{kind}": values
            for tensors, kind in pairs
            for name, values in tensors.items()
        }
        found |= {"encoder.7.weight": self.dense["code.weight"]}
        found |= {"encoder.7.bias": self.dense["code.bias"]}
        found |= {"decoder.0.weight": self.dense["sample.weight"]}
        found |= {"decoder.0.bias": self.dense["sample.bias"]}
        with torch.no_grad():
            for g, net in enumerate(self.nets):
                for place, values in found.items():
                    net.get_parameter(place).copy_(self._cut(place, net, values[g]))

    def _cut(self, place, net, values):
        """The adjoint of :meth:`_filled`."""
        if place.startswith("encoder.7"):
            parts = values.reshape(net.n_encoded, self.n_codes, *values.shape[1:])
            return parts[:, : net.n_codes].flatten(0, 1)
        return values[:, : net.n_codes] if place == "decoder.0.weight" else values

    def _valid(self):
        """Where values of a sample are, among outputs in blocks; None: everywhere."""
        if self.padded == tuple(self.grid[:2]):
            return None
        whole = torch.zeros(1, self.grid[2], *self.padded, 1)
        whole[:, :, : self.grid[0], : self.grid[1]] = 1
        return self._blocks(whole)

    def _blocks(self, x):
        """Values (G, C, H, W, n) as the last layer gives them, (G, outputs * C, places * n)."""
        (g, c, _, _, n), (h, w) = x.shape, self.small
        parts = x.reshape(g, c, h, -1, w, 4, n).permute(0, 3, 5, 1, 2, 4, 6)
        return parts.reshape(g, -1, h * w * n)

    @torch.no_grad()
    def step(self, x, noise=None):
        """Set the gradients of all weights, and return the losses (G,).

        Parameters
        ----------
        x : tensor (G, n, H, W, C)
        noise : tensor (G, n_codes, n) or None
            What codes are drawn with, if the coders are variational.
        """
        n = x.shape[1]
        x = x.permute(0, 4, 2, 3, 1)
        below, right = (p - s for p, s in zip(self.padded, self.grid, strict=False))
        x = torch.nn.functional.pad(x, (0, 0, 0, right, 0, below)).contiguous()
        one = _Pooled(self, "one", x)
        two = _Pooled(self, "two", one.out)
        features = two.out.reshape(len(x), -1, n)
        codes = torch.baddbmm(self._bias("code"), self.dense["code.weight"], features)
        z, spread = codes, None
        if self.variational:
            mean, log_variance = codes.chunk(2, dim=1)
            spread = torch.exp(log_variance / 2) * noise
            z = mean + spread
        rebuilt = torch.baddbmm(self._bias("sample"), self.dense["sample.weight"], z).relu_()
        h, w = self.small
        three = _Plain(self, "three", rebuilt.reshape(len(x), 8, h, w, n))
        four = _Doubled(self, "four", three.out)
        five = _Last(self, "five", four.out)
        error = five.out - self._blocks(x)
        error = error if self.mask is None else error * self.mask.repeat_interleave(n, 2)
        count = n * math.prod(self.grid)
        losses = error.square().sum((1, 2)) / count
        slope = three.back(four.back(five.back(error.mul_(2 / count))))
        slope = torch.ops.aten.threshold_backward(slope.reshape(len(x), -1, n), rebuilt, 0)
        slope = self._dense_back("sample", slope, z)
        if self.variational:
            slope = torch.cat([slope, slope * spread / 2], dim=1)
        slope = self._dense_back("code", slope, features)
        one.back(two.back(slope.reshape(two.out.shape)), last=True)
        return losses

    def _bias(self, name):
        return self.dense[f"{name}.bias"][..., None]

    def _dense_back(self, name, slope, below):
        weight, bias = self.dense[f"{name}.weight"], self.dense[f"{name}.bias"]
        weight.grad, bias.grad = torch.bmm(slope, below.mT), slope.sum(2)
        return torch.bmm(weight.mT, slope)


class _Convolved:
    """A convolution of one step, and the way back through it."""

    def __init__(self, stack, name, x):
        self.weight, self.bias = stack.weights[name], stack.biases[name]
        self.layer, self.shape = stack.layers[name], x.shape
        self.patches, self.matrix = self.layer.patches(x), self.layer.matrix(self.weight)
        outputs = self.matrix.shape[1] // self.bias.shape[1]
        bias = self.bias.repeat(1, outputs)[..., None]
        self.product = torch.baddbmm(bias, self.matrix, self.patches)
        self.places = [s // step for s, step in zip(x.shape[2:4], self.layer.step, strict=True)]
        self.outputs = len(self.layer.height), len(self.layer.width)
        self.out = self.finish()

    def finish(self):
        return self.product

    def start(self, slope):
        return slope

    def back(self, slope, last=False):
        """Set the gradients, and return that of the layer below, if there is one."""
        slope = self.start(slope)
        gradient = torch.bmm(slope, self.patches.mT)
        self.weight.grad = self.layer.gradient(gradient, self.weight)
        g, o = self.bias.shape
        self.bias.grad = slope.sum(2).reshape(g, -1, o).sum(1)
        if last:
            return None
        return self.layer.fold(torch.bmm(self.matrix.mT, slope), self.shape)


class _Pooled(_Convolved):
    """The largest of all outputs of a patch, without what is negative."""

    def finish(self):
        g, o = self.bias.shape
        y = self.product.reshape(g, -1, o, self.product.shape[2])
        self.choices = []
        while y.shape[1] > 1:  # the first of equal ones, as in max_pool2d
            first, second = y[:, ::2], y[:, 1::2]
            self.choices.append(torch.gt(second, first, out=torch.empty_like(first)))
            y = torch.maximum(first, second)
        return y[:, 0].relu().reshape(g, o, *self.places, self.shape[4])

    def start(self, slope):
        slope = torch.ops.aten.threshold_backward(slope, self.out, 0)
        slope = slope.reshape(*self.bias.shape, -1)[:, None]
        for second in reversed(self.choices):  # 1 where the second was the larger, else 0
            g, c, *others = slope.shape
            parts = torch.empty(g, c, 2, *others)
            torch.mul(slope, second, out=parts[:, :, 1])
            torch.sub(slope, parts[:, :, 1], out=parts[:, :, 0])
            slope = parts.flatten(1, 2)
        return slope.flatten(1, 2)


class _Plain(_Convolved):
    """One output of each patch, without what is negative."""

    def finish(self):
        return self.product.relu_().reshape(*self.bias.shape, *self.places, self.shape[4])

    def start(self, slope):
        slope = torch.ops.aten.threshold_backward(slope.contiguous(), self.out, 0)
        return slope.reshape(*self.bias.shape, -1)


class _Doubled(_Convolved):
    """Outputs beside each other, without what is negative."""

    def finish(self):
        (g, o), (p, q), (h, w), n = self.bias.shape, self.outputs, self.places, self.shape[4]
        y = self.product.relu_().reshape(g, p, q, o, h, w, n)
        return y.permute(0, 3, 4, 1, 5, 2, 6).reshape(g, o, h * p, w * q, n)

    def start(self, slope):
        (g, o), (p, q), (h, w), n = self.bias.shape, self.outputs, self.places, self.shape[4]
        y = slope.reshape(g, o, h, p, w, q, n).permute(0, 3, 5, 1, 2, 4, 6)
        y = y.reshape(self.product.shape)
        return torch.ops.aten.threshold_backward(y, self.product, 0)


class _Last(_Convolved):
    """All outputs as they are."""


def fit_together(models, samples):
    """Fit autoencoders in one training: faster, and with the same result, but for rounding.

    Parameters
    ----------
    models : list of Autoencoder
        Of one class, with the same schedule and kind of samples.
    samples : list of array (n, \\*sample_shape)
        Of each; models may share an array.
    """
    arrays: dict[int, torch.Tensor] = {}
    generators, batches, first = [], [], models[0]
    for model, X in zip(models, samples, strict=True):
        generator, order = model._start(X)
        generators.append(generator)
        batches.append(order)
        if id(X) not in arrays:
            arrays[id(X)] = networks.tensor(X, model._grid())
    rows = [arrays[id(X)] for X in samples]
    stack = StackedCoders([model.net_ for model in models])

    def losses(numbers):
        x = torch.stack([r.index_select(0, t) for r, t in zip(rows, numbers, strict=True)])
        return stack.step(x, _noise(stack, generators, x.shape[1]))

    history = _descend(stack, losses, torch.from_numpy(np.stack(batches, axis=1)))
    stack.unstack()
    for model, own in zip(models, history.T, strict=True):
        model._end(own)
    return first


def _noise(stack, generators, n):
    """Standard normal numbers (G, n_codes, n) as each coder draws them alone, or None."""
    if not stack.variational:
        return None
    out = torch.zeros(len(generators), stack.n_codes, n)
    for g, (net, generator) in enumerate(zip(stack.nets, generators, strict=True)):
        out[g, : net.n_codes] = torch.randn(n, net.n_codes, generator=generator).T
    return out


def _descend(stack, losses, batches):
    """As :func:`~.networks.descend`, where ``losses`` sets the gradients itself."""
    adam = torch.optim.Adam(stack.parameters(), **networks.ADAM, fused=True)
    history = np.full((len(batches), len(stack.nets)), np.nan)
    for number, rows in enumerate(batches):
        if number and np.isnan(history[number - 1]).all():
            break
        history[number] = losses(rows).numpy()
        adam.step()
    return history
