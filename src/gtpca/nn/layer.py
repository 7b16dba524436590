"""One component as a layer: finds the best transform for every sample and projects on it.

The transform is found without a gradient, and the score is computed from it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import nn

from gtpca import checks
from gtpca.model.gaps import HIDDEN_WEIGHT
from gtpca.model.matching import POLARITIES
from gtpca.model.preprocessing import Preprocessing
from gtpca.nn.geometry import Geometry, make_operator

__all__ = ["GTPCLayer", "LayerOutput"]


class LayerOutput(NamedTuple):
    """The output of a layer.

    Attributes
    ----------
    projection : tensor, like the samples
        ``a_i T_{t_i} w``, the part of each sample that the component explains.
    score : tensor (n,)
        Signed length of the projection.
    index : int64 tensor (n,)
        Which transform fits best.
    """

    projection: torch.Tensor
    score: torch.Tensor
    index: torch.Tensor


class GTPCLayer(nn.Module):
    r"""A component that moves to fit every sample.

    .. math:: t_i = \arg\max_t \frac{|\langle x_i, T_t w\rangle|}{|T_t w|},\quad
        s_i = \frac{\langle x_i, T_{t_i} w\rangle}{|T_{t_i} w|},\quad
        p_i = s_i \frac{T_{t_i} w}{|T_{t_i} w|}

    Differentiable with respect to the weights and the samples: the transform is found without a
    gradient, since it is piecewise constant, and the score is computed from it.

    Parameters
    ----------
    family : Family or callable
        Such as ``Shift((28, 28))``; or a differentiable function from weights of ``weight_shape``
        to all their transforms, (n_transforms, \*sample_shape). A ``torch.nn.Module`` with its own
        parameters is trained along.
    sample_shape : tuple of int
        Shape of one sample.
    weight_shape : tuple of int or None
        Shape of the weights of a callable; default ``sample_shape``. A family defines its own.
    polarity : {"both", "positive"}
        Whether the component may match upside down.
    feature_weight : array of the shape of a sample or None
        Weights ``q`` of the inner product ``sum_j q_j x_j y_j``.
    frozen : bool
        Whether the weights, and the parameters of a callable family, are excluded from training.
    random_state : int or None
        Seed of the Glorot-uniform start; None: torch's global generator.
    device, dtype
        Of the weights.

    Attributes
    ----------
    weight : Parameter of the shape of the weights
        Its length does not matter.

    Examples
    --------
    >>> import torch
    >>> from gtpca import Shift
    >>> from gtpca.nn import GTPCLayer
    >>> layer = GTPCLayer(Shift(3), sample_shape=(8,), random_state=0)
    >>> layer(torch.zeros(5, 8)).projection.shape
    torch.Size([5, 8])
    """

    def __init__(
        self,
        family,
        sample_shape,
        *,
        weight_shape=None,
        polarity="both",
        feature_weight=None,
        frozen=False,
        random_state=None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        checks.choice("polarity", polarity, POLARITIES)
        if not isinstance(family, Geometry):
            family = Geometry(make_operator(family, sample_shape, weight_shape, feature_weight))
        dtype = dtype or torch.get_default_dtype()
        self.geometry, self.polarity = family.to(device=device, dtype=dtype), polarity
        operator = self.geometry.bound
        self.sample_shape, self.weight_shape = operator.sample_shape, operator.weight_shape
        start = glorot_uniform(self.weight_shape, random_state)
        self.weight = nn.Parameter(start.to(device=device, dtype=dtype))
        if frozen:
            self.requires_grad_(False)

    def extra_repr(self):
        """Shown by ``print``."""
        return f"weights {self.weight_shape}, samples {self.sample_shape}"

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> LayerOutput:
        """Project samples (n, \\*sample_shape), or flat rows (n, d), on the component.

        ``mask``, of the shape of ``x``, is True where values were observed; None: all were. Hidden
        values may be anything, including NaN, and have no gradient; the projection predicts them.
        See :mod:`gtpca.model.gaps`.
        """
        rows, hidden = observed(x, mask)
        found = self.match(self.preprocess(rows), hidden)
        projection = (found.coef[:, None] * found.moved).reshape(x.shape)
        return LayerOutput(projection.to(x.dtype), found.score.to(x.dtype), found.index)

    def preprocess(self, x):
        """Flat rows (n, d), times the root of the feature weight."""
        check_samples(x, self.sample_shape, self.weight)
        rows = x.reshape(-1, math.prod(self.sample_shape))
        return self.geometry.weigh(Preprocessing()(rows, self.geometry.bound))

    def match(self, rows, hidden=None):
        """The best transform of preprocessed rows (n, d) and the projection there.

        ``hidden`` (n, d) is 1 where values were not observed, and rows are zero; None: all were.
        """
        w = self.weight.reshape(-1)
        if w.dtype in (torch.float16, torch.bfloat16):  # too narrow for squares
            rows, w = rows.float(), w.float()
        w = at_ordinary_length(w)
        index = self.geometry.best(rows, w, self.polarity, hidden)
        moved = self.geometry.move(w, index)
        seen = self.geometry.weigh(moved)
        product, energy = (rows * seen).sum(1), (seen * seen).sum(1)
        if self.polarity == "positive":
            product = product.clamp(min=0)
        energy = energy.clamp(min=torch.finfo(energy.dtype).tiny)
        found = LayerMatch(index=index, product=product, energy=energy, moved=moved, seen=seen)
        if hidden is None:
            return found
        less = (1 - HIDDEN_WEIGHT) * (hidden * seen * seen).sum(1)
        return found._replace(energy=energy - less, length=energy.sqrt())


class LayerMatch(NamedTuple):
    """Where the component fits each row.

    ``seen`` is ``moved`` times the root of the weight, ``energy`` is ``|seen|^2`` and ``product``
    is ``<row, seen>``. With gaps, hidden values count less in ``energy``, and ``length`` is
    ``|seen|``; otherwise it is None.
    """

    index: torch.Tensor
    product: torch.Tensor
    energy: torch.Tensor
    moved: torch.Tensor
    seen: torch.Tensor
    length: torch.Tensor | None = None

    @property
    def score(self):
        """Signed length of the projection, (n,)."""
        if self.length is not None:
            return self.coef * self.length
        return self.product * self.energy.rsqrt()

    @property
    def explained(self):
        """Energy of the projection, (n,): the square of the score, except with gaps."""
        return self.product * self.product / self.energy

    @property
    def coef(self):
        """The projection is ``coef`` times ``moved``, (n,)."""
        return self.product / self.energy

    @property
    def projection(self):
        """What the component explains of preprocessed rows, (n, d)."""
        return self.coef[:, None] * self.seen


def observed(x, mask):
    """Samples with zeros for unobserved values, and which are hidden (n, d), or None."""
    if mask is None:
        return x, None
    if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool or mask.shape != x.shape:
        got = getattr(mask, "shape", None), getattr(mask, "dtype", type(mask).__name__)
        raise ValueError(
            f"mask has shape {got[0]} and type {got[1]}, but must be a bool tensor of the shape "
            f"{tuple(x.shape)} of x: True where values were observed."
        )
    return torch.where(mask, x, torch.zeros_like(x)), ~mask.reshape(len(x), -1)


def blanked(rows, hidden):
    """Rows (n, d) with zeros where they are ``hidden``; None: nowhere."""
    return rows if hidden is None else rows.masked_fill(hidden, 0.0)


def at_ordinary_length(w):
    """``w`` times a power of two, so that its largest entry is about 1: squares stay in range."""
    with torch.no_grad():
        largest = w.abs().max()
        exponent = torch.frexp(largest).exponent.clamp(-126, 126)
        factor = torch.ldexp(torch.ones_like(largest), -exponent)
    return w * factor


def glorot_uniform(shape, random_state=None):
    """Uniform on +-sqrt(6 / (fan_in + fan_out)), the fans being the last two axes times the others.

    A single axis is both fans.
    """
    fans = sum(shape[-2:]) * math.prod(shape[:-2]) if len(shape) > 1 else 2 * shape[0]
    limit, generator = math.sqrt(6 / fans), None
    if random_state is not None:
        seed = checks.integer("random_state", random_state, 0)
        generator = torch.Generator().manual_seed(seed)
    return limit * (2 * torch.rand(shape, generator=generator) - 1)


def check_samples(x, sample_shape, weight):
    """Raise an error unless ``x`` holds samples with the type and device of the weights."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"x is a {type(x).__name__}, but must be a tensor: torch.as_tensor(x).")
    shapes = (tuple(sample_shape), (math.prod(sample_shape),))
    if x.ndim < 2 or tuple(x.shape[1:]) not in shapes:
        wanted = " or ".join(f"(n, {', '.join(map(str, s))})" for s in dict.fromkeys(shapes))
        raise ValueError(f"x has shape {tuple(x.shape)}, but must be {wanted}.")
    if x.dtype != weight.dtype:
        raise TypeError(
            f"x is {x.dtype}, but the weights are {weight.dtype}; use x.to({weight.dtype}) or "
            f"module.to({x.dtype})."
        )
    if x.device != weight.device:
        raise ValueError(
            f"x is on {x.device}, but the weights are on {weight.device}; use x.to({weight.device})"
            f" or module.to({str(x.device)!r})."
        )
