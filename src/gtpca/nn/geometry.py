"""The operators of the library on tensors.

Shifts and compositions run the code of :mod:`gtpca.operators` itself; every other operator becomes
a
:class:`TensorBank` with the entries of its :meth:`~gtpca.operators.base.Operator.matrix`. A new
family needs nothing else for torch. ``apply_at`` for rows of weights, each with its own transform,
is what makes compositions work here.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from gtpca import checks
from gtpca.families import Family
from gtpca.model.gaps import HIDDEN_WEIGHT
from gtpca.model.ties import TIED
from gtpca.operators.base import Operator, on_nodes, weigh_features
from gtpca.operators.composed import ComposedOperator
from gtpca.operators.shift import ShiftOperator
from gtpca.parameters import bind_family

__all__ = ["CallableBank", "Geometry", "make_operator"]

SHORT_BANK = 2**17  # up to this many entries the product with the bank is faster than the FFT


class Constants(nn.Module):
    """Tensors that move with a module from device to device but are not part of its state."""

    def __init__(self, **arrays):
        super().__init__()
        for name, values in arrays.items():
            self.register_buffer(name, torch.as_tensor(values), persistent=False)

    def _apply(self, fn, recurse=True):
        """Follow a module to its device, but keep float64 if the device supports it."""
        for name, values in self._buffers.items():
            device = fn(values.new_empty(0, dtype=torch.float32)).device
            lower = device.type == "mps" and values.dtype == torch.float64
            self._buffers[name] = (values.float() if lower else values).to(device)
        return self


class TensorBank(Operator):
    """A finite list of transforms, each entry of a sample a sum of at most ``q`` weights.

    Parameters
    ----------
    operator : Operator
    constants : list of Constants
        Receives ``columns`` and ``values`` (m, d * q): which weights, and their factors.
    """

    def __init__(self, operator, constants):
        shapes = (operator.sample_shape, operator.weight_shape)
        super().__init__(*shapes, operator.n_transforms, operator.moved_axes)
        self.isometric, self.selects = operator.isometric, operator.selects
        columns, values = padded_rows(operator.matrix())
        m = self.n_transforms
        self._terms = Constants(columns=columns.reshape(m, -1), values=values.reshape(m, -1))
        constants.append(self._terms)

    def apply(self, w):
        columns, values = self._terms.columns, self._terms.values
        terms = w.index_select(0, columns.reshape(-1)) * values.reshape(-1).to(w.dtype)
        return self._add(terms)

    def _apply_at(self, w, index):
        return self.apply(w).index_select(0, index)

    def _apply_rows(self, V, index):
        columns, values = self._terms.columns[index], self._terms.values[index]
        return self._add(V.gather(1, columns) * values.to(V.dtype))

    def _add(self, terms):
        """Sums of ``q`` neighbours each: (n, d)."""
        q = self._terms.columns.shape[1] // self.n_features
        return terms.reshape(-1, self.n_features, q).sum(-1)

    def adjoint(self, M):
        raise NotImplementedError("torch differentiates apply instead.")


def padded_rows(matrix):
    """Columns and values (rows, q) of a sparse matrix, rows padded with zeros to the longest."""
    counts = np.diff(matrix.indptr)
    rows = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], counts)
    columns = np.zeros((len(counts), max(1, counts.max(initial=0))), dtype=np.int64)
    values = np.zeros(columns.shape)
    columns[rows, place], values[rows, place] = matrix.indices, matrix.data
    return columns, values


class CallableBank(Operator):
    """A family given as a differentiable function from weights to the bank of all ``T_t w``.

    It need not be linear, nor known to the rest of the library.

    Parameters
    ----------
    function : callable
        From a tensor of ``weight_shape`` to one of shape (m, *sample_shape).
    sample_shape, weight_shape : tuple of int
    """

    def __init__(self, function, sample_shape, weight_shape):
        with torch.no_grad():
            bank = function(self._probe(function, weight_shape))
        good = isinstance(bank, torch.Tensor) and bank.ndim > 0 and len(bank) > 0
        if not good or tuple(bank.shape[1:]) != tuple(sample_shape):
            got = tuple(bank.shape) if isinstance(bank, torch.Tensor) else type(bank).__name__
            raise ValueError(
                f"family={function!r} returned {got} for weights of shape {tuple(weight_shape)}, "
                f"but must return a tensor (n_transforms, *{tuple(sample_shape)})."
            )
        super().__init__(sample_shape, weight_shape, len(bank))
        self.function = function

    @staticmethod
    def _probe(function, weight_shape):
        """Weights of ones, in the type of the function's own parameters if it has any."""
        own = next(function.parameters(), None) if isinstance(function, nn.Module) else None
        return torch.ones(weight_shape) if own is None else own.new_ones(weight_shape)

    def apply(self, w):
        return self.function(w.reshape(self.weight_shape)).reshape(self.n_transforms, -1)

    def _apply_at(self, w, index):
        return self.apply(w).index_select(0, index)

    def adjoint(self, M):
        raise NotImplementedError("torch differentiates apply instead.")


def on_tensors(operator, constants):
    """The same operator for tensors; its arrays are appended to ``constants``."""
    if isinstance(operator, CallableBank):
        return operator
    if isinstance(operator, ComposedOperator):
        parts = (on_tensors(part, constants) for part in (operator.outer, operator.inner))
        return ComposedOperator(*parts)
    if isinstance(operator, ShiftOperator):
        return operator
    return TensorBank(operator, constants)


def make_operator(family, sample_shape, weight_shape=None, feature_weight=None):
    """The operator of a family or of a callable, on its nodes; an operator remains as it is."""
    if isinstance(family, Operator):
        return on_nodes(family, "A layer")
    shape = checks.sizes("sample_shape", sample_shape)
    if isinstance(family, Family):
        operator = on_nodes(bind_family(family, shape), "A layer")
    elif callable(family) and not isinstance(family, type):
        given = shape if weight_shape is None else checks.sizes("weight_shape", weight_shape)
        operator = CallableBank(family, shape, given)
    else:
        raise TypeError(f"family={family!r} is neither a family, such as Shift(), nor a callable.")
    if weight_shape is not None and tuple(np.atleast_1d(weight_shape)) != operator.weight_shape:
        raise ValueError(f"weight_shape={weight_shape!r} is {operator.weight_shape} in {family!r}.")
    return operator if feature_weight is None else weigh_features(operator, feature_weight)


class Geometry(nn.Module):
    """An operator on tensors: finds the best transform and moves weights; has no parameters.

    Parameters
    ----------
    operator : Operator
        An operator of the library, bound to a grid.
    """

    def __init__(self, operator):
        super().__init__()
        self.constants = nn.ModuleList()
        self.bound = operator
        self.on_tensors = on_tensors(operator, self.constants)
        self.short = operator.n_transforms * operator.n_features <= SHORT_BANK
        q = operator.feature_weight
        self.weighting = None if q is None else Constants(root=np.sqrt(q))
        function = getattr(operator, "function", None)
        self.function = function if isinstance(function, nn.Module) else None
        if function is None:
            self._settle()

    @torch.no_grad()
    def _settle(self):
        """Match once, so that operators keep what they compute on first use.

        They do so under a lock (``cached_property`` in Python 3.11), which ``torch.compile`` does
        not support.
        """
        w = torch.zeros(self.bound.n_weights, dtype=torch.float32)
        rows = torch.zeros(1, self.bound.n_features, dtype=torch.float32)
        self.move(w, self.best(rows, w, "both"))

    @property
    def root(self):
        """Square root (d,) of the feature weight, or None."""
        return None if self.weighting is None else self.weighting.root

    def weigh(self, rows, power=1):
        """Rows (n, d) times the root of the feature weight to some power."""
        return rows if self.root is None else rows * self.root.to(rows.dtype) ** power

    @torch.no_grad()
    def best(self, rows, w, polarity, hidden=None):
        """``argmax_t |<x_i, T_t w>| / |T_t w|`` for weighed rows (n, d), shape (n,).

        Values that are ``hidden`` (n, d) count less in the norm; rows are zero there.
        """
        if torch.is_autocast_enabled(rows.device.type):
            with torch.autocast(rows.device.type, enabled=False):
                return self.best(rows, w, polarity, hidden)
        if rows.shape[0] == 0:
            return torch.zeros(0, dtype=torch.int64, device=rows.device)
        products, energies = self._correlate(rows, w)
        if not self.bound.isometric or self.root is not None:
            products *= inverse_norms(energies)
        if hidden is not None:
            products *= self._in_gaps(hidden, w, energies)
        sizes = products if polarity == "positive" else products.abs_()
        return first_best(sizes, torch.linalg.vector_norm(rows, dim=1))

    def _correlate(self, rows, w):
        """``<x_i, T_t w>`` (n, m) and ``|T_t w|^2`` (m,)."""
        operator = self.on_tensors
        if self.short:
            bank = self.weigh(operator.apply(w))
            return rows @ bank.T, torch.linalg.vecdot(bank, bank)
        products = operator._correlate(operator.prepare(self.weigh(rows)), w)
        if self.root is None:
            return products, operator._norms(w).square()
        everywhere = operator.prepare_mask(self.weigh(torch.ones_like(rows[:1]), 2))
        return products, operator._correlate_mask(everywhere, w, w)[0].clamp(min=0.0)

    def _in_gaps(self, hidden, w, energies):
        """``|T_t w| / <m_i, (T_t w)^2>^(1/2)`` with the weights ``m_i`` of gaps, (n, m)."""
        operator, hidden = self.on_tensors, self.weigh(hidden.to(w.dtype), 2)
        if self.short:
            shares = hidden @ operator.apply(w).square().T
        else:
            shares = operator._correlate_mask(operator.prepare_mask(hidden), w, w)
        shares = shares * inverse_norms(energies).square()
        return (1 - (1 - HIDDEN_WEIGHT) * shares).clamp(min=HIDDEN_WEIGHT).rsqrt()

    def move(self, w, index):
        """The rows ``T_{index_i} w``, without the feature weight, (n, d)."""
        return self.on_tensors.apply_at(w, index)


def first_best(sizes, lengths):
    """The first transform with the largest product (n, m), up to rounding, (n,).

    As in :mod:`gtpca.model.ties`, for rows of the given ``lengths`` (n,).
    """
    wrong = TIED * torch.finfo(sizes.dtype).eps * lengths
    as_good = sizes >= (sizes.amax(dim=1) - wrong)[:, None]
    return as_good.to(torch.uint8).argmax(dim=1)


def inverse_norms(energies):
    """``1 / |T_t w|``, zero where that is too small to be meaningful, as in the estimator."""
    floor = max(torch.finfo(energies.dtype).eps, 1e-12) * energies.max()
    return energies.rsqrt().masked_fill_(energies <= floor, 0.0)
