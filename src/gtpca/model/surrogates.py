"""Noise with the tails, bursts and loudness of the data: surrogates from innovations.

Stationary noise is filtered innovations (:mod:`gtpca.model.innovations`). A pattern consists in
their coherence: the same signs and sizes follow each other again and again. Surrogates have the
innovations of the data in a random order, or with random signs:

    flips    e(u) -> +- e(u), each with its own sign: all sizes stay where they are
    blocks   e(u) -> e(p(u)), permuted within blocks of a few neighbours

Flips are right if innovations are symmetric about zero, blocks if they are skewed (counts): flips
would remove the skew.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gtpca.model.autoregression import Autoregression, reflections
from gtpca.model.innovations import Innovations, along, autoregression, filled, stationary

__all__ = [
    "InnovationSurrogates",
    "Preparation",
    "channels_back",
    "channels_last",
    "less_means",
    "noticed",
    "skewness",
    "without_means",
]

NO_MEAN = 1e-3  # relative to the root mean square: smaller means in all rows are not due to chance
SAME = 1e-3  # relative spread of norms: less is not due to chance
BLOCK = 8  # points that are permuted
SKEWED = 4.0  # standard errors
STEPS, SIMULATED = 8, 1500  # towards noise that resembles the data after the same preprocessing
MOST_LIKE = 6.0  # largest atanh of a reflection coefficient
SEED = 0  # of simulated rows: equal data give equal results


@dataclass(frozen=True, eq=False)
class Preparation:
    """Earlier preprocessing of rows (n, \\*shape, C), which is applied to surrogates too.

    Parameters
    ----------
    means : bool
        The mean of each row and channel was subtracted.
    norms : {None, "rows", "channels"}
        Rows, or channels of rows, have the same mean square.
    other : callable or None
        Any other preprocessing, a function from rows to rows; replaces the former two.
    """

    means: bool = False
    norms: str | None = None
    other: Callable | None = None

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The rows after preprocessing."""
        if self.other is not None:
            return self.other(rows)
        rows = less_means(rows) if self.means else rows
        if self.norms is None:
            return rows
        axes = tuple(range(1, rows.ndim - (self.norms == "channels")))
        size = np.sqrt(np.nanmean(rows**2, axis=axes, keepdims=True))
        return rows / np.where(size > 0, size, 1.0)

    @property
    def linear(self) -> Preparation:
        """The part of it that is a projection: what it removes can be added again."""
        if self.other is not None:
            return self
        return replace(self, norms=None)

    @property
    def does_something(self) -> bool:
        """Whether rows change."""
        return self.means or self.norms is not None or self.other is not None

    def projects(self, rows) -> bool:
        """Whether it irreversibly removes something from rows, and does nothing else."""
        if self.other is None:
            return self.means
        half = len(rows) // 2
        a, b = rows[:half], rows[half : 2 * half]
        first, second, both = self(a), self(b), self(a + b)
        size = np.sqrt(np.mean(rows**2)) * 1e-6
        additive = np.max(np.abs(both - first - second), initial=0.0) <= size
        return bool(additive and np.max(np.abs(self(first) - first), initial=0.0) <= size)


def channels_last(samples, axes):
    """Samples (n, \\*shape) as (n, \\*those along ``axes``, C)."""
    moved = np.moveaxis(samples, [axis + 1 for axis in axes], range(1, len(axes) + 1))
    return moved.reshape(*moved.shape[: len(axes) + 1], -1)


def channels_back(rows, samples, axes):
    """The inverse of :func:`channels_last`, for samples like those given."""
    others = [size for axis, size in enumerate(samples.shape[1:]) if axis not in axes]
    moved = rows.reshape(*rows.shape[:-1], *others)
    return np.moveaxis(moved, range(1, len(axes) + 1), [axis + 1 for axis in axes])


def less_means(rows):
    """Rows (n, \\*shape, C) minus the mean of observed values of each row and channel."""
    axes = tuple(range(1, rows.ndim - 1))
    known = ~np.isnan(rows)
    counts = known.sum(axis=axes, keepdims=True)
    return rows - np.nansum(rows, axis=axes, keepdims=True) / np.maximum(counts, 1)


def without_means(rows: np.ndarray) -> bool:
    """Whether the mean of each row and channel has been subtracted, (n, \\*shape, C)."""
    lost = rows - less_means(rows)
    return bool(np.nanmax(np.abs(lost), initial=0.0) <= NO_MEAN * np.sqrt(np.nanmean(rows**2)))


def noticed(rows: np.ndarray) -> Preparation:
    """The preprocessing of rows (n, \\*shape, C) that is visible: zero means, equal norms."""
    means = without_means(rows)
    inner = tuple(range(1, rows.ndim - 1))
    with np.errstate(invalid="ignore"):
        each = np.nanmean(rows**2, axis=inner) if len(rows) > 1 else np.zeros((0, rows.shape[-1]))
    if _same(each.ravel()):
        return Preparation(means, "channels")
    squares = np.nansum(rows**2, axis=(*inner, rows.ndim - 1))
    counts = np.maximum((~np.isnan(rows)).sum(axis=(*inner, rows.ndim - 1)), 1)
    return Preparation(means, "rows" if len(rows) > 1 and _same(squares / counts) else None)


def _same(values):
    """Whether all are equal, and not zero."""
    known = values[np.isfinite(values)]
    return bool(len(known) > 1 and known.mean() > 0 and known.std() <= SAME * known.mean())


@dataclass(frozen=True, eq=False)
class InnovationSurrogates:
    """Draws noise that resembles some rows.

    Parameters
    ----------
    noise : Innovations
    innovations : array (n, \\*shape, C)
    kind : {"flips", "blocks"}
    mean : array (C,)
        Mean of all rows: it is not a pattern, and is kept.
    hidden : bool array (n, \\*shape, C)
        Unobserved values, which are missing in surrogates too.
    prepare : Preparation
    """

    noise: Innovations
    innovations: np.ndarray
    kind: str
    mean: np.ndarray
    hidden: np.ndarray
    prepare: Preparation

    @classmethod
    def of(cls, rows: np.ndarray, kind=None, prepare=None) -> InnovationSurrogates:
        """The surrogates of rows (n, \\*shape, C); NaN means *not observed*.

        Parameters
        ----------
        rows : array
        kind : {None, "flips", "blocks"}
            None: blocks if innovations are skewed, otherwise flips.
        prepare : Preparation or None
            The preprocessing of the rows; None: what is noticed.
        """
        rows = np.asarray(rows, dtype=np.float64)
        prepare = noticed(rows) if prepare is None else prepare
        hidden = np.isnan(rows)
        mean = np.zeros(rows.shape[-1])
        if not prepare.does_something:
            flat = rows.reshape(-1, rows.shape[-1])
            counts = np.maximum((~np.isnan(flat)).sum(axis=0), 1)
            mean = np.nansum(flat, axis=0) / counts
        rng = np.random.default_rng(SEED)
        noise = _like(rows - mean, prepare)
        complete = filled(rows - mean, noise, rng)
        complete = complete + _lost(complete, noise, prepare.linear, rng)
        E = noise.whiten(complete)
        if kind is None:
            kind = "blocks" if abs(skewness(np.where(hidden, 0.0, E))[1]) > SKEWED else "flips"
        return cls(noise, E, kind, mean, hidden, prepare)

    def __call__(self, rng) -> np.ndarray:
        """One set of rows, (n, \\*shape, C)."""
        E = self.innovations
        E = flipped(E, rng) if self.kind == "flips" else permuted(E, rng)
        rows = self.noise.colour(E) + self.mean
        rows[self.hidden] = np.nan
        return self.prepare(rows)


def flipped(E: np.ndarray, rng) -> np.ndarray:
    """Innovations (n, \\*shape, C) with a random sign at each point; channels share it."""
    return E * rng.choice([-1.0, 1.0], size=(*E.shape[:-1], 1))


def permuted(E: np.ndarray, rng) -> np.ndarray:
    """Innovations (n, \\*shape, C) in another order within blocks of about 8 points.

    Blocks begin at a random position; channels move together.
    """
    shape, n_channels = E.shape[1:-1], E.shape[-1]
    side = max(2, round(BLOCK ** (1 / len(shape))))
    labels = np.zeros((), dtype=int)
    for size in shape:
        places = (np.arange(size) + rng.integers(side)) // side
        labels = labels[..., None] * (places.max() + 1) + places
    blocks = np.broadcast_to(labels.ravel(), (len(E), math.prod(shape)))
    order = np.argsort(blocks + rng.random(blocks.shape), axis=1)
    there = np.argsort(labels.ravel(), kind="stable")
    found = np.empty((len(E), math.prod(shape), n_channels))
    flat = E.reshape(found.shape)
    found[:, there] = np.take_along_axis(flat, order[..., None], axis=1)
    return found.reshape(E.shape)


def skewness(E: np.ndarray) -> tuple[float, float]:
    """Skewness of innovations (n, \\*shape, C), and the same in standard errors.

    ``sum e^3 / sqrt(sum e^6)``: the standard error is what random signs would give, for any tails.
    """
    third = np.sum(E**3, axis=-1)
    total, spread = float(third.sum()), float(np.sqrt(np.sum(third**2)))
    square = float(np.mean(E**2))
    return (
        total / E.size / square**1.5 if square > 0 else 0.0,
        total / spread if spread > 0 else 0.0,
    )


def _like(rows, prepare) -> Innovations:
    """The noise that resembles rows (n, \\*shape, C) after their preprocessing.

    For one channel along one axis, by steps on ``atanh k`` of the reflection coefficients ``k``,
    until simulated rows have those of the data after the same preprocessing.
    """
    if not prepare.does_something or rows.ndim > 3 or rows.shape[-1] > 1:
        return stationary(rows)
    found = autoregression(rows[..., 0])
    wanted = np.arctanh(found.reflection)
    rng, guess = np.random.default_rng(SEED), wanted.copy()
    white = rng.standard_normal((SIMULATED, rows.shape[1]))
    hidden = np.isnan(rows)[rng.integers(len(rows), size=SIMULATED)]
    for _ in range(STEPS):
        made = Autoregression(np.tanh(guess), 1.0).colour(white)[..., None]
        made[hidden] = np.nan
        got = reflections(prepare(made)[..., 0], len(wanted))[0]
        guess = np.clip(guess + wanted - np.arctanh(got), -MOST_LIKE, MOST_LIKE)
    process = Autoregression(np.tanh(guess), 1.0)
    variance = _variance(process, white, prepare.linear, found.variance)
    return Innovations(along(replace(process, variance=variance), rows.shape[1]))


def _variance(process, white, linear, after):
    """That of noise of which so much is ``after`` what was done to it."""
    made = process.colour(white)[..., None]
    left = np.mean(linear(made) ** 2) if linear.projects(made) else np.mean(made**2)
    return after / left if left > 0 else after


def _lost(rows, noise, linear, rng):
    """What noise like the rows has, and loses by their preprocessing; as loud as each row.

    Without it, rows would begin at a level that such noise does not have.
    """
    if not linear.does_something:
        return 0.0
    drawn = noise.colour(rng.standard_normal(rows.shape))
    if not linear.projects(drawn):
        return 0.0
    kept = linear(drawn)
    axes = tuple(range(1, rows.ndim))
    own = np.sqrt(np.mean(rows**2, axis=axes, keepdims=True))
    size = np.sqrt(np.mean(kept**2))
    return (drawn - kept) * (own / size if size > 0 else 0.0)
