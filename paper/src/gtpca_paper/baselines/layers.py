"""The networks of the paper for GT-PCA, several of them trained as one.

A step of one network is a few small products, and takes as long as the calls that make them.
:func:`train_together` makes them for ``G`` networks at once: those of other repetitions, on other
samples. The gradient is written out, so that nothing has to be recorded. With ``y_i = T_{t_i} w``,
``p_i = <x_i, y_i>`` and ``e_i = |y_i|^2`` of a batch of ``n`` rows,

    loss = -1 / (n c) sum_i p_i^2 / e_i,
    d loss / d y_i = -2 / (n c) (p_i / e_i) (x_i - (p_i / e_i) y_i),

where ``c`` is the mean energy of the first batch; ``T_{t_i}*`` takes it back to the weights.
Starts, batches, steps and the choice of the best epoch are those of
:meth:`gtpca.nn.GTPCNetwork.fit`, but that what a component starts from is not among the epochs.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gtpca.nn import GTPCNetwork
from gtpca.nn.geometry import SHORT_BANK, first_best, padded_rows
from gtpca.nn.training import RowBatches, Schedule
from gtpca.operators.shift import ShiftOperator
from gtpca_paper.baselines.networks import torch  # or what to install

__all__ = ["Poses", "ShiftPoses", "make_poses", "train_together"]

PART = 4096  # rows that are looked at together outside of the training
LARGEST = 2**28  # numbers in all rows up to which their spectra are kept too


class Poses:
    """All transforms of an operator as a list, for the weights of several networks at once.

    Parameters
    ----------
    operator : Operator
        With ``m`` transforms, ``d`` features and ``L`` weights.
    """

    def __init__(self, operator):
        self.operator, matrix = operator, operator.matrix()
        columns, values = padded_rows(matrix)
        self.copies = columns.shape[1] == 1 and bool((values == 1).all())  # every entry is a weight
        self.columns = torch.from_numpy(columns[:, 0]).reshape(operator.n_transforms, -1)
        both: Any = (None, None) if self.copies else map(_sparse, (matrix, matrix.T))
        self.there, self.back = both
        self.crops = self.copies and self._are_crops()

    def _are_crops(self):
        """Whether transforms are all pieces of the weights, from the last to the first."""
        if len(self.operator.sample_shape) != len(self.operator.weight_shape):
            return False
        bank = self._pieces(torch.arange(float(self.operator.n_weights))[None])
        return bank.shape[1:] == self.columns.shape and bool((bank[0] == self.columns).all())

    def _pieces(self, W):
        grid = W.reshape(-1, *self.operator.weight_shape)
        for axis, size in enumerate(self.operator.sample_shape, start=1):
            grid = grid.unfold(axis, size, 1)
        moved = range(1, len(self.operator.sample_shape) + 1)
        return grid.flip(*moved).flatten(len(moved) + 1).flatten(1, len(moved))

    def prepare(self, rows):
        """What :meth:`look` would compute of rows each time; None: nothing."""
        return None

    def spread(self, W):
        """All ``T_t w`` of weights (G, L), shape (G, m, d)."""
        if self.crops:
            return self._pieces(W)
        if self.copies:
            bank = W.index_select(1, self.columns.reshape(-1))
        else:
            bank = (self.there @ W.T.contiguous()).T.contiguous()
        return bank.reshape(len(W), *self.columns.shape)

    def look(self, rows, bank, prepared=None):
        """``|<x, T_t w>| / |T_t w|`` of rows (G, n, d), shape (G, n, m)."""
        sizes = torch.bmm(rows, bank.mT)
        if not self.operator.isometric:
            return sizes.mul_(_inverse_norms((bank * bank).sum(-1))).abs_()
        return sizes.abs_().div_(torch.linalg.vector_norm(bank[:, :1], dim=2, keepdim=True))

    def moved(self, bank, index):
        """``T_{index_gi} w_g`` of ``index`` (G, n), shape (G, n, d)."""
        first = torch.arange(len(bank))[:, None] * bank.shape[1]
        taken = bank.flatten(0, 1).index_select(0, (first + index).reshape(-1))
        return taken.reshape(*index.shape, -1)

    def taken_back(self, Y, index):
        """``sum_i T_{index_gi}* y_gi`` of rows (G, n, d), shape (G, L)."""
        total = torch.zeros(len(Y), self.operator.n_weights)
        if len(self.columns) == 1 and self.copies:
            return total.index_add_(1, self.columns[0], Y.sum(1))
        if self.copies:
            where = self.columns.index_select(0, index.reshape(-1)).reshape(len(Y), -1)
            return total.scatter_add_(1, where, Y.reshape(len(Y), -1))
        chosen = torch.nn.functional.one_hot(index, len(self.columns)).to(Y.dtype)
        summed = torch.bmm(chosen.mT, Y).reshape(len(Y), -1)
        return (self.back @ summed.T.contiguous()).T.contiguous()  # Adam wants that of its weights


def _sparse(matrix):
    """A sparse matrix of 32-bit floats."""
    matrix = matrix.tocsr().astype(np.float32)
    parts = (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)
    with warnings.catch_warnings():  # that it is a beta feature
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(*map(torch.from_numpy, parts), matrix.shape)


class ShiftPoses:
    """Many shifts: products by FFT, moves as pieces of padded weights.

    Parameters
    ----------
    operator : ShiftOperator
    """

    def __init__(self, operator):
        self.operator = operator
        shape = [track.padded for track in operator.tracks]
        self.padded = int(np.prod(shape))
        boxes = np.indices(operator.sample_shape).reshape(len(shape), -1)
        self.reach = torch.from_numpy(np.ravel_multi_index(tuple(boxes), shape))
        every = operator._positions(np.arange(operator.n_transforms), "start_at")
        self.starts = torch.from_numpy(np.ravel_multi_index(every, shape))

    def prepare(self, rows):
        """Spectra (G, n, ..) of rows."""
        return self.operator.prepare(rows.flatten(0, 1)).unflatten(0, rows.shape[:2])

    def spread(self, W):
        """Conjugate spectra, norms and padded copies of weights (G, L)."""
        operator, grids = self.operator, W.reshape(-1, *self.operator.weight_shape)
        laid_out = operator._each_axis("lay_out", grids, 1)
        spectra = torch.fft.rfftn(laid_out, operator._fft_shape, operator._fft_axes).conj()
        if operator.isometric:
            norms = torch.linalg.vector_norm(W, dim=1).reciprocal()[:, None, None]
        else:
            norms = _inverse_norms(operator._each_axis("energies", grids**2, 1).flatten(1))
        padded = operator._each_axis("pad", grids, 1).flatten(1)
        return spectra[:, None], norms, padded

    def look(self, rows, spread, prepared=None):
        """As :meth:`Poses.look`."""
        operator = self.operator
        spectra = self.prepare(rows) if prepared is None else prepared
        lags = spectra * spread[0]
        for axis in reversed(operator._channels):
            lags = sum(lags.unbind(axis + 1))
        lags = lags.flatten(0, 1)
        *others, (last, track) = enumerate((operator.tracks[j] for j in operator._moving), start=1)
        for axis, each in others:
            lags = each.keep_lags(torch.fft.ifft(lags, dim=axis), axis)
        lags = track.keep_lags(torch.fft.irfft(lags, track.fft_length, last), last)
        return (lags.reshape(*rows.shape[:2], -1) * spread[1]).abs_()

    def moved(self, spread, index):
        """As :meth:`Poses.moved`."""
        return spread[2].gather(1, self._where(index)).reshape(*index.shape, -1)

    def taken_back(self, Y, index):
        """As :meth:`Poses.taken_back`."""
        total = torch.zeros(len(Y), self.padded)
        total.scatter_add_(1, self._where(index), Y.reshape(len(Y), -1))
        grid = total.reshape(-1, *(track.padded for track in self.operator.tracks))
        return self.operator._each_axis("unpad", grid, 1).reshape(len(Y), -1)

    def _where(self, index):
        return (self.starts[index][..., None] + self.reach).reshape(len(index), -1)


def make_poses(operator):
    """The quicker of both ways."""
    short = operator.n_transforms * operator.n_features <= SHORT_BANK
    many = isinstance(operator, ShiftOperator) and operator.by_fft and not short
    return ShiftPoses(operator) if many else Poses(operator)


def _inverse_norms(energies):
    """``1 / |T_t w|`` (G, 1, m) of energies (G, m), as :func:`gtpca.nn.geometry.inverse_norms`."""
    floor = max(torch.finfo(energies.dtype).eps, 1e-12) * energies.amax(dim=1, keepdim=True)
    return energies.rsqrt().masked_fill_(energies <= floor, 0.0)[:, None]


def _best(sizes, rows):
    """First of the largest sizes (G, n, m), up to rounding, (G, n)."""
    if sizes.shape[2] == 1:
        return torch.zeros(sizes.shape[:2], dtype=torch.int64)
    lengths = torch.linalg.vector_norm(rows, dim=2).flatten()
    return first_best(sizes.flatten(0, 1), lengths).reshape(sizes.shape[:2])


def train_together(networks, samples, *, seeds, checkpoint=None, **schedule):
    """Train networks one component after the other, each as if it were alone.

    Parameters
    ----------
    networks : list of GTPCNetwork
        ``G`` of them, of one family and size, with weights of 32-bit floats that were not trained.
    samples : list of array (n, \\*sample_shape)
        Of each; not all need be as many.
    seeds : list of int
        Of the order of the samples.
    checkpoint : gtpca.nn.checkpoints.Checkpoint or None
        Where the weights of finished components are kept.
    **schedule
        ``epochs``, ``steps_per_epoch`` and others of :class:`gtpca.nn.training.Schedule`.
    """
    stack = _Stack(networks, samples, seeds, Schedule(**schedule).checked())
    weights = stack.train(checkpoint)
    for g, network in enumerate(networks):
        network.load_weights(weights[:, g].reshape(-1, *network.operator.weight_shape))
        network.keep(stack.records(g), [energies[g] for energies in stack.energies])


class _Stack:
    def __init__(self, networks: list[GTPCNetwork], samples, seeds, schedule):
        self.networks, self.seeds, self.schedule = networks, seeds, schedule
        self.poses: Any = make_poses(networks[0].operator)
        self.counts = [len(X) for X in samples]
        size = max(self.counts)  # row number `size` is zero, as are those that shorter ones lack
        self.rows = torch.zeros(len(samples), size + 1, networks[0].operator.n_features)
        for rows, net, X in zip(self.rows, networks, samples, strict=True):
            rows[: len(X)] = net.preprocess(torch.from_numpy(X))
        self.energies = [self._energy()]
        self.watched: list[list[np.ndarray]] = []  # by component and epoch

    def records(self, g):
        """How the training of a network went, as it keeps it; empty for what was read."""
        return [
            {"loss": [], "watched": [float(each[g]) for each in epochs], "stopped": "epochs"}
            for epochs in self.watched
        ]

    def train(self, checkpoint):
        """Weights (k, G, L) of all components."""
        kept = None if checkpoint is None else checkpoint.load()
        done = kept["weights"] if kept else []
        starts = self._starts()
        for k in range(len(starts)):
            self.watched.append([])
            W = done[k] if k < len(done) else self._component(k, starts[k])
            self._deflate(W)
            self.energies.append(self._energy())
            if k >= len(done):
                done = [*done, W]
                if checkpoint is not None:
                    checkpoint.save({"weights": done})
        return torch.stack(done)

    def _starts(self):
        layers = zip(*(net.layers for net in self.networks), strict=True)
        return [torch.stack([x.weight.detach().reshape(-1) for x in each]) for each in layers]

    def _component(self, k, start):
        """The best weights (G, L) of one component: those after the epoch that explains most."""
        W = start.clone().requires_grad_()
        adam = torch.optim.Adam([W], lr=self.schedule.lr, fused=True)
        orders = [
            RowBatches(torch.from_numpy, count, self.schedule, [seed, k])
            for count, seed in zip(self.counts, self.seeds, strict=True)
        ]
        scale, best, most = None, start.clone(), torch.full((len(W),), -np.inf).double()
        spectra = self._prepared()
        for epoch in range(self.schedule.epochs):
            for batch in zip(*(order.epoch(epoch) for order in orders), strict=True):
                counts = torch.tensor([float(len(numbers)) for numbers in batch])
                numbers = self._filled(batch)
                rows = self._take(self.rows, numbers)
                prepared = None if spectra is None else self._take(spectra, numbers)
                scale = _mean_energies(rows, counts) if scale is None else scale
                W.grad = self._gradient(rows, W.detach(), counts * scale, prepared)
                adam.step()
            found = self._explained(W.detach(), spectra)
            self.watched[k].append(found.numpy())
            better = found >= most
            best[better], most[better] = W.detach()[better], found[better]
        return best

    def _filled(self, batch):
        """Row numbers (G, n) of batches, the shorter filled up with that of a row of zeros."""
        last = self.rows.shape[1] - 1
        return torch.nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=last)

    @staticmethod
    def _take(rows, numbers):
        first = torch.arange(len(rows))[:, None] * rows.shape[1]
        taken = rows.flatten(0, 1).index_select(0, (first + numbers).reshape(-1))
        return taken.reshape(*numbers.shape, *rows.shape[2:])

    def _gradient(self, rows, W, scale, prepared):
        """Of the losses, clipped; ``scale`` (G,) is ``n c``."""
        spread = self.poses.spread(W)
        index = _best(self.poses.look(rows, spread, prepared), rows)
        moved = self.poses.moved(spread, index)
        coef = (rows * moved).sum(2) / _energies(moved)
        slope = torch.addcmul(rows, coef[..., None], moved, value=-1)
        slope *= (coef * (-2 / scale)[:, None])[..., None]
        gradient = self.poses.taken_back(slope, index)
        if self.schedule.clip_norm is not None:
            lengths = torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
            gradient *= (self.schedule.clip_norm / lengths).clamp(max=1.0)
        return gradient

    def _prepared(self):
        """Spectra of all rows, where there is room for them; else None."""
        if self.rows.numel() > LARGEST:
            return None
        return self.poses.prepare(self.rows)

    def _explained(self, W, spectra):
        """Energy that weights explain of all rows, (G,)."""
        total = torch.zeros(len(W), dtype=torch.float64)
        spread = self.poses.spread(W)
        for part in self._parts():
            prepared = None if spectra is None else spectra[:, part]
            sizes = self.poses.look(self.rows[:, part], spread, prepared)
            total += sizes.amax(2).double().square().sum(1)
        return total

    def _deflate(self, W):
        spread = self.poses.spread(W)
        for part in self._parts():
            rows = self.rows[:, part]
            moved = self.poses.moved(spread, _best(self.poses.look(rows, spread), rows))
            coef = (rows * moved).sum(2) / _energies(moved)
            rows -= coef[..., None] * moved

    def _energy(self):
        parts = (self.rows[:, part].double().square().sum((1, 2)) for part in self._parts())
        return torch.stack([*parts]).sum(0).numpy()

    def _parts(self):
        size = max(1, PART // len(self.rows))
        return [slice(i, i + size) for i in range(0, self.rows.shape[1], size)]


def _energies(moved):
    """``|y_i|^2`` (G, n), above 0."""
    return (moved * moved).sum(2).clamp(min=torch.finfo(moved.dtype).tiny)


def _mean_energies(rows, counts):
    """Mean energies (G,) of rows, 1 where that is not a positive number."""
    energies = rows.double().square().sum((1, 2)) / counts
    good = torch.isfinite(energies) & (energies > 0)
    return torch.where(good, energies, 1.0).float()
