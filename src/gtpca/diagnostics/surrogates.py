"""Surrogates of rows: noise that resembles the data except for what is aligned.

Each kind is a function of rows (n, \\*shape, C), where patterns may lie anywhere in ``shape``; it
returns a function that draws such rows from a generator. Axes that do not move (channels,
electrodes, colours) keep their covariance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import fft

from gtpca.model.covariances import autocovariance, batches, spectra
from gtpca.model.surrogates import (
    InnovationSurrogates,
    Preparation,
    channels_back,
    channels_last,
    less_means,
    noticed,
    without_means,
)

__all__ = ["DEFAULT", "SURROGATES", "make_surrogates", "prepared"]

DEFAULT = "innovations"

MOST_VALUES = 2**25  # of a spectrum with all pairs of channels
STEPS = 50  # towards covariances before centring


def make_surrogates(surrogate, samples: np.ndarray, axes, prepare=None) -> Callable:
    """A function of a generator that draws surrogates of ``samples``, of the same shape.

    Parameters
    ----------
    surrogate : {"innovations", "flips", "blocks", "gaussian", "mixed", "phase"} or callable
        Or ``surrogate(samples, rng)``, which returns an array of the shape of ``samples``.
    samples : array (n, \\*shape)
        NaN means *not observed*, and is NaN in surrogates too.
    axes : sequence of int
        The axes of a sample along which noise is stationary; none: all.
    prepare : Preparation or None
        The preprocessing of the samples, as rows (n, \\*those along ``axes``, C): see
        :func:`prepared`. None: what is noticed.

    Returns
    -------
    callable
        With an attribute ``kind``, the name of the kind of surrogates.
    """
    axes = tuple(axes) or tuple(range(samples.ndim - 1))
    if callable(surrogate):
        return Draw(partial(_own, surrogate, samples), "own")
    if surrogate not in SURROGATES:
        raise ValueError(
            f"surrogate={surrogate!r} must be one of {', '.join(map(repr, SURROGATES))}, or a "
            "function of samples (n, *shape) and a numpy.random.Generator."
        )
    if surrogate in ("mixed", "phase") and np.isnan(samples).any():
        raise ValueError(
            f"surrogate={surrogate!r} needs complete samples; use surrogate='{DEFAULT}'."
        )
    rows = channels_last(samples, axes)
    prepare = noticed(rows) if prepare is None else prepare
    rows = less_means(rows) if prepare.means else rows
    draw, kind = SURROGATES[surrogate](rows, prepare)
    return Draw(lambda rng: channels_back(draw(rng), samples, axes), kind)


@dataclass(frozen=True, eq=False)
class Draw:
    """A function of a generator that draws samples, and the name of their kind."""

    draw: Callable
    kind: str

    def __call__(self, rng) -> np.ndarray:
        """Samples of noise."""
        return self.draw(rng)


def prepared(samples: np.ndarray, axes, *, centred=False, preprocess=None) -> Preparation:
    """The preprocessing of samples (n, \\*shape), for application to surrogates.

    Parameters
    ----------
    samples : array
    axes : sequence of int
        As in :func:`make_surrogates`.
    centred : bool
        Whether the fit subtracts means of samples, from each channel along ``axes``.
    preprocess : callable or None
        The user's preprocessing, from samples (n, \\*shape) to samples. None: zero means and equal
        norms are noticed.
    """
    axes = tuple(axes) or tuple(range(samples.ndim - 1))
    if preprocess is None:
        rows = channels_last(samples, axes)
        return noticed(less_means(rows) if centred else rows)

    def repeated(rows):
        like = np.broadcast_to(samples[:1], (len(rows), *samples.shape[1:]))
        done = np.asarray(preprocess(channels_back(rows, like, axes)), dtype=np.float64)
        if done.shape != like.shape:
            raise ValueError(
                f"preprocess={preprocess!r} returned an array of shape {done.shape}; it must have "
                f"that of the samples, {like.shape}."
            )
        done = channels_last(done, axes)
        return less_means(done) if centred else done

    return Preparation(other=repeated)


def _own(surrogate, samples, rng):
    """Surrogates drawn by a user's function, after checking their shape."""
    drawn = np.asarray(surrogate(samples, rng))
    if drawn.shape != samples.shape:
        raise ValueError(
            f"surrogate={surrogate!r} returned an array of shape {drawn.shape}; it must have that "
            f"of the samples, {samples.shape}."
        )
    return drawn


@dataclass(frozen=True, eq=False)
class Stationary:
    """A Gaussian process along some axes with C channels.

    Parameters
    ----------
    roots : array (\\*size, C, C)
        ``A`` with ``A A*`` the cross-spectral matrices, on a circle that just holds all lags.
    size : tuple of int
        Points of that circle along each axis.
    shape : tuple of int
        The points that are kept.
    """

    roots: np.ndarray
    size: tuple[int, ...]
    shape: tuple[int, ...]

    def draw(self, count: int, rng) -> np.ndarray:
        """Samples (count, \\*shape, C): real and imaginary parts of complex ones."""
        axes, n_channels = tuple(range(1, len(self.shape) + 1)), self.roots.shape[-1]
        kept = (slice(None), *(slice(length) for length in self.shape))
        n_points, found = math.prod(self.size), []
        for part in batches((count + 1) // 2, 2 * n_points * n_channels):
            white = rng.standard_normal((len(part), *self.size, 2 * n_channels)).view(complex)
            drawn = fft.ifftn(self._coloured(white), axes=axes)[kept] * np.sqrt(n_points)
            found += [drawn.real, drawn.imag]
        return np.concatenate(found)[:count]

    def _coloured(self, white):
        """White spectra (n, \\*size, C) times the roots."""
        if white.shape[-1] == 1:
            return white * self.roots[..., 0]
        return (self.roots @ white[..., None])[..., 0]


def innovations(rows, prepare, kind=None):
    """Innovations of the rows (n, \\*shape, C) with random signs, or in another order.

    See :mod:`gtpca.model.surrogates`.
    """
    found = InnovationSurrogates.of(rows, kind, prepare)
    return found, found.kind


def repeated(kind):
    """Surrogates of a kind that only handles means: other preprocessing is applied to them."""

    def made(rows, prepare):
        draw = kind(rows)
        if prepare.other is None:
            return draw, kind.__name__
        return (lambda rng: prepare(draw(rng))), kind.__name__

    return made


def gaussian(rows):
    """Gaussian rows with the autocovariance of all rows (n, \\*shape, C) together.

    With ``x`` zero where it was not observed and ``h`` one where it was, for channels a, b

        c_ab(l) = sum_i,t x_ia(t) x_ib(t + l)  /  sum_i,t h_ia(t) h_ib(t + l) :

    each lag has its own number of pairs, so that noise that continues beyond the sample (cropped
    from something longer) keeps its long waves. Energies of rows are those of the samples, by rank:
    a few loud rows are equally loud in surrogates. No mean is subtracted, as in the fit.

    Rows minus their means have lost their slowest wave, and are louder at their ends: no stationary
    noise looks like them. Surrogates are noise that resembles them once its means are subtracted.
    """
    centred = not np.isnan(rows).any() and without_means(rows)
    process = _fitted(rows, centred)
    energies, hidden = np.sort(_energies(rows)), np.isnan(rows)

    def draw(rng):
        drawn = process.draw(len(rows), rng)
        drawn[hidden] = np.nan
        return _with_energies(less_means(drawn) if centred else drawn, energies)

    return draw


def mixed(rows):
    """Mixtures ``sum_j g_ij x_j`` of all rows with normal ``g``, and the energies of the rows.

    Any two points have the covariance that they have in the data, wherever they are: noise may be
    louder in the middle of samples. What lies at one position in all of them is treated as noise.
    """
    energies, flat = np.sort(_energies(rows)), rows.reshape(len(rows), -1)

    def draw(rng):
        mixtures = rng.standard_normal((len(rows), len(rows))) @ flat
        return _with_energies(mixtures.reshape(rows.shape), energies)

    return draw


def _energies(rows):
    """Energy of the observed values of every row, (n,)."""
    return np.nansum(rows**2, axis=tuple(range(1, rows.ndim)))


def _with_energies(rows, energies):
    """The rows scaled: the faintest has the first of the sorted ``energies``, and so on."""
    own = _energies(rows)
    wanted = np.empty_like(own)
    wanted[np.argsort(own)] = energies
    scale = np.sqrt(np.divide(wanted, own, out=np.zeros_like(own), where=own > 0))
    return rows * scale.reshape(-1, *(1,) * (rows.ndim - 1))


def _fitted(rows, centred) -> Stationary:
    """The process with the autocovariance of rows (n, \\*shape, C), or of centred rows."""
    shape, n_channels = rows.shape[1:-1], rows.shape[-1]
    size = tuple(2 * length - 1 for length in shape)  # exactly the lags that occur
    if math.prod(size) * n_channels**2 > MOST_VALUES:
        raise ValueError(
            f"surrogate='gaussian' needs the covariance of {n_channels} channels at "
            f"{math.prod(size)} lags; use surrogate='mixed', or fewer channels."
        )
    lags, pairs = autocovariance(rows)
    if centred:
        lags = _before_centring(lags, pairs / len(rows), shape)
    return Stationary(_roots(lags, size), size, shape)


def _before_centring(lags, pairs, shape):
    """Covariances of noise that has those given, (\\*size, C, C), when rows lose their means.

    Up to a constant, which goes with the means. With ``B c`` what is lost, and spectra that are not
    negative, the least ``sum_l pairs_l |c - B c - given|_l^2``: long lags have few pairs, and count
    little. By projected steps.
    """
    trust, found = pairs / pairs.max(), np.zeros_like(lags)
    for _ in range(STEPS):
        found = _positive(found + trust * (lags - found + _lost(found, pairs, shape)))
    return found


def _lost(lags, pairs, shape):
    """What covariances lose when rows lose their means, averaged over the pairs of each lag.

    ``E x_a(t) m_b + E m_a x_b(t + l) - E m_a m_b`` with means ``m`` over the ``shape``.
    """
    size, axes, n_points = lags.shape[:-2], range(len(shape)), math.prod(shape)
    there = tuple(slice(length) for length in shape)
    transform = partial(fft.rfftn, s=size, axes=axes)
    back = partial(fft.irfftn, s=size, axes=axes)
    F, ones = transform(lags), transform(np.ones((*shape, 1, 1)))
    first, second = (back(part * ones)[there] / n_points for part in (F.conj(), F))
    both = back(transform(first).conj() * ones + ones.conj() * transform(second))
    return both / pairs - second.mean(axis=tuple(axes))


def _positive(lags):
    """The nearest covariances (\\*size, C, C) with spectra that are not negative, and 0 at 0."""
    axes = range(lags.ndim - 2)
    power, vectors = np.linalg.eigh(fft.fftn(lags, axes=axes).swapaxes(-1, -2))
    power[(0,) * len(axes)] = 0.0
    spectra = (vectors * np.maximum(power, 0.0)[..., None, :]) @ vectors.conj().swapaxes(-1, -2)
    return fft.ifftn(spectra.swapaxes(-1, -2), axes=axes).real


def _roots(lags, size):
    """Roots ``A`` of the spectra of covariances at all lags, (\\*size, C, C)."""
    axes, here = range(len(size)), (0,) * len(size)
    power, vectors = spectra(lags)
    roots = np.sqrt(power)[..., None, :] * vectors
    got = np.mean(np.sum(np.abs(roots) ** 2, axis=-1), axis=tuple(axes))
    wanted = np.einsum("cc->c", lags[here])
    scale = np.sqrt(np.divide(wanted, got, out=np.zeros_like(got), where=got > 0))
    return roots * scale[:, None]


def phase(rows):
    """Every row with its own amplitudes, and phases drawn at random.

    Channels of a row are rotated by the same phases. The two ends of noise that was cropped from
    longer recordings do not fit together, which surrogates of this kind do not reproduce: they then
    give false alarms.
    """
    where, size = tuple(range(1, rows.ndim - 1)), rows.shape[1:-1]
    F = fft.rfftn(rows, axes=where)

    def draw(rng):
        white = fft.rfftn(rng.standard_normal((len(rows), *size, 1)), axes=where)
        return fft.irfftn(F * (white / np.abs(white)), size, axes=where)

    return draw


SURROGATES = {
    DEFAULT: innovations,
    "flips": partial(innovations, kind="flips"),
    "blocks": partial(innovations, kind="blocks"),
    "gaussian": repeated(gaussian),
    "mixed": repeated(mixed),
    "phase": repeated(phase),
}
