"""Stationary noise on the grid of a sample: a preprocessing step that whitens it.

    y = F x,   x = a T_t w + n   ->   F x = a T_t (F w) + white noise

A filter ``F`` along the axes of a shift commutes with it, so that poses do not change. Along each
such axis it is an autoregression for each channel; with several axes one filter follows the other,
as for noise whose covariance is a product over them. The innovations of channels are then
decorrelated by the inverse of the Cholesky factor of their covariance.

Rows are centred, then whitened. The weights of a model are then those of whitened rows, with which
all matches are made; ``data_weights`` are those that users see. Both have the same coefficients,
and ``Model.units`` converts the scores of the one to scores of the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from scipy.linalg import solve_triangular

from gtpca.model.autoregression import Autoregression, burg, reflections

__all__ = [
    "StationaryNoise",
    "estimate_noise",
    "lag_one",
    "noise_of_channels",
    "shift_axes",
    "shifts",
]

LEAST_SHARE = 1e-6  # of the mean variance of channels, added to all: some may depend on others


@dataclass(frozen=True, eq=False, repr=False)
class StationaryNoise:
    """Noise that is stationary along some axes of a sample.

    Parameters
    ----------
    sample_shape : tuple of int
    axes : tuple of int
        The axes along which it is stationary; the others are channels, ``c`` in total.
    filters : tuple of tuples of Autoregression
        For each of the axes, one for each channel.
    mixing : array (c, c)
        Lower triangular factor of the covariance of the channels' innovations.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca.model.stationary import estimate_noise
    >>> noise = np.cumsum(np.random.default_rng(0).standard_normal((200, 50)), axis=1)
    >>> found = estimate_noise(noise, {0: False})
    >>> found.whiten(noise).std().round(1)
    np.float64(1.0)
    """

    sample_shape: tuple[int, ...]
    axes: tuple[int, ...]
    filters: tuple[tuple[Autoregression, ...], ...]
    mixing: np.ndarray

    def __repr__(self) -> str:
        return (
            f"StationaryNoise(sample_shape={self.sample_shape}, axes={self.axes}, "
            f"orders={self.orders})"
        )

    @property
    def n_channels(self) -> int:
        """``c``."""
        return len(self.mixing)

    @property
    def orders(self) -> tuple[int, ...]:
        """The largest order of the filters along each axis."""
        return tuple(max(one.order for one in each) for each in self.filters)

    def whiten(self, rows: np.ndarray) -> np.ndarray:
        """Innovations of rows (n, d), of unit variance and uncorrelated; NaN stays NaN."""
        parts = self._divided(rows.astype(np.float64, copy=False))
        for number in range(len(self.axes)):
            parts = self._along(number, "whiten", parts)
        if self.n_channels > 1 or self.mixing[0, 0] != 1:
            inverse = solve_triangular(self.mixing, np.eye(self.n_channels), lower=True)
            parts = _mixed(inverse, parts)
        return self._joined(parts).astype(rows.dtype, copy=False)

    def colour(self, rows: np.ndarray) -> np.ndarray:
        """Rows (n, d) whose innovations are ``rows``: the inverse of :meth:`whiten`."""
        parts = _mixed(self.mixing, self._divided(rows.astype(np.float64, copy=False)))
        for number in reversed(range(len(self.axes))):
            parts = self._along(number, "colour", parts)
        return self._joined(parts).astype(rows.dtype, copy=False)

    @property
    def log_determinant(self) -> float:
        """``log p(F x) - log p(x)``: the logarithm of the determinant of the inverse of ``F``."""
        total = np.log(np.diagonal(self.mixing)).sum() * math.prod(self.sizes)
        for number, each in enumerate(self.filters):
            times = math.prod(self.sizes) // self.sizes[number]
            total += times * sum(one.log_determinant(self.sizes[number]) for one in each)
        return float(total)

    def log_determinants(self, hidden: np.ndarray) -> np.ndarray:
        """:attr:`log_determinant` of rows with unobserved values ``hidden`` (n, d), (n,)."""
        logs = np.log(np.diagonal(self.mixing))
        parts = self._divided(hidden)
        every = tuple(range(1, parts.ndim))
        total = np.sum(~parts * logs.reshape(-1, *(1,) * len(self.axes)), axis=every)
        return total + reduce(
            add,
            (
                np.sum(self._along(number, "log_deviations", parts), axis=every)
                for number in range(len(self.axes))
            ),
        )

    def spectrum(self, axis: int = 0, n_points: int = 256) -> tuple[np.ndarray, np.ndarray]:
        """Power of every channel along one of the axes, (c, f), at ``f`` frequencies per point.

        With several axes, it is the spectrum of what the previous filters left.
        """
        power = np.stack([one.power(n_points) for one in self.filters[axis]])
        return np.fft.rfftfreq(n_points), power

    @property
    def sizes(self) -> tuple[int, ...]:
        """Points along each of the axes."""
        return tuple(self.sample_shape[axis] for axis in self.axes)

    @property
    def _order_of_axes(self):
        """Axes of an array of samples: rows, channels, then those that are filtered."""
        channels = [a for a in range(len(self.sample_shape)) if a not in self.axes]
        return (0, *(a + 1 for a in channels), *(a + 1 for a in self.axes))

    def _divided(self, rows):
        """Rows (n, d) as (n, c, *sizes)."""
        grid = rows.reshape(-1, *self.sample_shape).transpose(self._order_of_axes)
        return grid.reshape(len(rows), self.n_channels, *self.sizes)

    def _joined(self, parts):
        """Rows (n, d) from parts (n, c, *sizes)."""
        order = self._order_of_axes
        shape = [(len(parts), *self.sample_shape)[axis] for axis in order]
        back = np.argsort(order)
        return np.ascontiguousarray(parts.reshape(shape).transpose(back)).reshape(len(parts), -1)

    def _along(self, number, method, parts):
        """Apply a method of the filters along one axis to every channel of (n, c, *sizes)."""
        turned = np.moveaxis(parts, number + 2, -1)
        each = [getattr(one, method)(turned[:, c]) for c, one in enumerate(self.filters[number])]
        joined = each[0][:, None] if len(each) == 1 else np.stack(each, axis=1)
        return np.moveaxis(joined, -1, number + 2)


def _mixed(matrix, parts):
    """``matrix`` (c, c) times the channels of parts (n, c, ..); 0 times NaN is 0."""
    flat = parts.reshape(*parts.shape[:2], -1)
    found, hidden = np.matmul(matrix, flat), np.isnan(flat)
    if hidden.any() and np.count_nonzero(matrix) < len(matrix) * (len(matrix) + 1) // 2:
        found = np.matmul(matrix, np.where(hidden, 0.0, flat))
        found[np.matmul(matrix != 0, hidden)] = np.nan
    return found.reshape(parts.shape)


def lag_one(samples, axes) -> float:
    """The lag-one correlation of samples (n, \\*sample_shape) along the axis where it is largest.

    It is the first reflection coefficient of all rows and channels, over observed values; 0 if
    there are none.
    """
    largest = np.nanmax(np.abs(samples), initial=0.0)
    if not largest > 0:
        return 0.0
    samples, found = samples / largest, [0.0]  # squares of large values would overflow
    for axis in axes:
        lines = np.moveaxis(samples, axis + 1, -1).reshape(-1, samples.shape[axis + 1])
        found += reflections(lines, 1)[0].tolist()
    return max(found, key=abs)


def shift_axes(operator) -> dict[int, bool]:
    """The sample axes along which an operator shifts, and whether each is circular.

    Raises an error for families that do not commute with a filter along axes.
    """
    if not shifts(operator):
        raise ValueError(
            "noise='stationary' is for families that shift along axes, such as Shift(window=64): "
            "a filter that makes noise white commutes with shifts alone; use noise='white' with "
            "this family."
        )
    return operator.circular


def shifts(operator) -> bool:
    """Whether an operator shifts along axes, and does nothing else."""
    return len(operator.circular) > 0


def estimate_noise(samples, circular, weight=None) -> StationaryNoise:
    """The noise of samples (n, \\*sample_shape) that contain nothing else.

    Parameters
    ----------
    samples : array (n, \\*sample_shape)
        NaN means not observed.
    circular : dict of int to bool
        The axes along which it is stationary, and whether each is circular.
    weight : array (n,) or None
        Sample weights.
    """
    shape, axes = samples.shape[1:], tuple(circular)
    n_channels = math.prod(size for axis, size in enumerate(shape) if axis not in axes)
    known: list[tuple[Autoregression, ...]] = []
    white = np.eye(n_channels)
    for axis, goes_round in circular.items():
        before = StationaryNoise(shape, axes, (*known, *_nothing(axes[len(known) :], white)), white)
        parts = before._divided(before.whiten(samples.reshape(len(samples), -1)))
        turned = np.moveaxis(parts, len(known) + 2, -1)
        lines = turned.reshape(len(turned), n_channels, -1, shape[axis])
        each = None if weight is None else np.repeat(weight, lines.shape[2])
        known.append(
            tuple(
                _alive(burg(lines[:, c].reshape(-1, shape[axis]), weight=each, circular=goes_round))
                for c in range(n_channels)
            )
        )
    alone = StationaryNoise(shape, axes, tuple(known), white)
    innovations = alone._divided(alone.whiten(samples.reshape(len(samples), -1)))
    return StationaryNoise(shape, axes, tuple(known), _mixing(innovations, weight))


def _nothing(axes, white):
    """Filters that change nothing, for each of some axes and all channels."""
    same = tuple(Autoregression(np.zeros(0), 1.0) for _ in white)
    return tuple(same for _ in axes)


def _alive(found):
    """The filter; for a channel without any variance, one that changes nothing."""
    return found if found.variance > 0 else Autoregression(np.zeros(0), 1.0, found.circular)


def _mixing(innovations, weight):
    """Cholesky factor of the covariance of channels, from innovations (n, c, ..).

    A small share of the mean variance is added to all, more if there are few innovations. Channels
    that were never observed are as loud as the others, and have nothing to do with them.
    """
    n, n_channels = innovations.shape[:2]
    if n_channels == 1:
        return np.ones((1, 1))
    flat = np.moveaxis(innovations.reshape(n, n_channels, -1), 1, -1)
    mass = np.broadcast_to(1.0 if weight is None else weight[:, None], flat.shape[:2]).ravel()
    flat = flat.reshape(-1, n_channels)
    dead = np.isnan(flat).all(axis=0)
    seen = ~np.isnan(flat[:, ~dead]).any(axis=1)
    flat, mass = np.where(dead, 0.0, flat[seen]), mass[seen]
    total = mass.sum()
    if total == 0:
        return np.eye(n_channels)
    covariance = (flat.T * mass) @ flat / total
    covariance += np.diag(dead) * np.trace(covariance) / max(1, np.sum(~dead))
    return _factor(covariance, max(LEAST_SHARE, n_channels / total))


def _factor(covariance, share):
    """Cholesky factor of a covariance (c, c) with a share of the mean variance added to all."""
    n_channels = len(covariance)
    mean = np.trace(covariance) / n_channels
    return np.linalg.cholesky(covariance + share * (mean or 1.0) * np.eye(n_channels))


def noise_of_channels(covariance, sample_shape, circular) -> StationaryNoise:
    """Noise that is white along some axes and has a covariance (c, c) across channels.

    ``sample_shape`` and ``circular`` are as for :func:`estimate_noise`.
    """
    axes = tuple(circular)
    filters = _nothing(axes, covariance)
    return StationaryNoise(tuple(sample_shape), axes, filters, _factor(covariance, LEAST_SHARE))
