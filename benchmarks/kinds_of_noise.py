"""Noise of many kinds, for the level of diagnostics: rows without any pattern.

Each is a function of a generator that returns samples: 100 rows of 96 points, unless it says
otherwise.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.signal import detrend, lfilter

ROWS, POINTS, WINDOW = 100, 96, 24
BEFORE = 200  # points of a process that are left out: it has forgotten its start
POLE = 0.97 * np.exp(2j * np.pi / 12)
NARROW = (2 * POLE.real, -(abs(POLE) ** 2))  # a peak at a period of 12 points


def white(draw):
    """Independent values, ``draw(rng, shape)``."""

    def made(rng, rows=ROWS, points=POINTS):
        return np.asarray(draw(rng, (rows, points)), dtype=np.float64)

    return made


def gaussian(rng, shape):
    """Standard normal values."""
    return rng.standard_normal(shape)


def autoregression(*coefficients, draw=gaussian):
    """``x(t) = sum_j a_j x(t - j) + e(t)``."""

    def made(rng, rows=ROWS, points=POINTS):
        E = draw(rng, (rows, points + BEFORE))
        return lfilter([1.0], np.r_[1.0, -np.array(coefficients)], E, axis=1)[:, BEFORE:]

    return made


def power_law(exponent, longer=16):
    """Power 1 / f^exponent, cropped from series that are 16 times as long."""

    def made(rng, rows=ROWS, points=POINTS):
        total = longer * points
        frequency = np.fft.rfftfreq(total)
        frequency[0] = frequency[1]
        F = np.fft.rfft(rng.standard_normal((rows, total))) * frequency ** (-exponent / 2)
        starts = rng.integers(total - points + 1, size=rows)
        found = zip(np.fft.irfft(F, total), starts, strict=True)
        return np.stack([row[start : start + points] for row, start in found])

    return made


def bursts(rng, rows=ROWS, points=POINTS):
    """White noise that is five times as loud in runs of 8 points, 15 % of all."""
    loud = np.repeat(rng.random((rows, points // 8 + 2)) < 0.15, 8, axis=1)
    starts = rng.integers(8, size=rows)
    loud = np.stack([row[s : s + points] for row, s in zip(loud, starts, strict=True)])
    return rng.standard_normal((rows, points)) * np.where(loud, 5.0, 1.0)


def loudness(rng):
    """White noise in rows of very different loudness."""
    return rng.standard_normal((ROWS, POINTS)) * np.exp(0.7 * rng.standard_normal((ROWS, 1)))


def spectra(rng):
    """AR(1) noise of unit variance with coefficients from -.5 to .95, another in each row."""
    k = rng.uniform(-0.5, 0.95, size=(ROWS, 1))
    E = rng.standard_normal((ROWS, POINTS + BEFORE))
    X = np.zeros_like(E)
    for t in range(1, POINTS + BEFORE):
        X[:, t] = k[:, 0] * X[:, t - 1] + E[:, t]
    return X[:, BEFORE:] * np.sqrt(1 - k**2)


def less_means(X):
    """Rows less their means."""
    return X - X.mean(axis=1, keepdims=True)


def z_scored(X):
    """Rows less their means, over their standard deviations."""
    return less_means(X) / X.std(axis=1, keepdims=True)


def unit_norm(X):
    """Rows over their norms."""
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def detrended(X):
    """Rows less their straight lines."""
    return detrend(X, axis=1)


def after(change, make):
    """Noise to which something was done."""
    return lambda rng: change(make(rng))


def with_gaps(make, share=0.2):
    """Runs of 1 to 8 points are missing, a share in all."""

    def made(rng):
        X = make(rng)
        hidden = np.zeros(X.shape, dtype=bool)
        while hidden.mean() < share:
            row, start, length = rng.integers(len(X)), rng.integers(X.shape[1]), rng.integers(1, 9)
            hidden[row, start : start + length] = True
        return np.where(hidden, np.nan, X)

    return made


def with_ends(make):
    """Rows of unequal lengths, from half to all, filled up with NaN."""

    def made(rng):
        X = make(rng)
        lengths = rng.integers(X.shape[1] // 2, X.shape[1] + 1, size=len(X))
        return np.where(np.arange(X.shape[1]) < lengths[:, None], X, np.nan)

    return made


def channels(rng, points=48, count=8):
    """White noise of 8 channels, plus AR(1) noise that all of them have in common, (n, 48, 8)."""
    common = autoregression(0.8)(rng, ROWS, points)[..., None]
    return common * rng.uniform(0.5, 1.5, size=count) + rng.standard_normal((ROWS, points, count))


def power_law_images(rng, size=16, whole=64):
    """Power 1 / f^2, cropped from the middle of larger images."""
    frequency = np.hypot(*np.meshgrid(*[np.fft.fftfreq(whole)] * 2, indexing="ij"))
    frequency[0, 0] = 1 / whole
    F = np.fft.fft2(rng.standard_normal((ROWS, whole, whole))) / frequency
    first = (whole - size) // 2
    return np.fft.ifft2(F).real[:, first : first + size, first : first + size]


def heavy_tailed_images(rng):
    """t(3) noise, smoothed over one point, cropped."""
    return gaussian_filter(rng.standard_t(3, size=(ROWS, 32, 32)), (0, 1, 1))[:, 8:24, 8:24]


def pattern(norm, points=20):
    """``hanning(20) sin(t / 2.2)`` of some norm."""
    curve = np.hanning(points) * np.sin(np.arange(points) / 2.2)
    return norm * curve / np.linalg.norm(curve)


def planted(X, norm, rng, margin=0):
    """Noise with the pattern at random places, some points from the ends at least."""
    X, curve = X.copy(), pattern(norm)
    last = X.shape[1] - len(curve) - margin
    for x, start in zip(X, rng.integers(margin, last + 1, size=len(X)), strict=True):
        x[start : start + len(curve)] += curve
    return X


AR9 = autoregression(0.9)
SERIES = {
    "white": white(gaussian),
    "Laplace": white(lambda rng, shape: rng.laplace(size=shape)),
    "t(3)": white(lambda rng, shape: rng.standard_t(3, size=shape)),
    "t(8)": white(lambda rng, shape: rng.standard_t(8, size=shape)),
    "Poisson(.5)": white(lambda rng, shape: rng.poisson(0.5, size=shape)),
    "Poisson(5)": white(lambda rng, shape: rng.poisson(5.0, size=shape)),
    "uniform": white(lambda rng, shape: rng.uniform(-1, 1, size=shape)),
    "bursts": bursts,
    "AR(1) .3": autoregression(0.3),
    "AR(1) .9": AR9,
    "AR(2) narrow": autoregression(*NARROW),
    "AR(.8) by t(5)": autoregression(0.8, draw=lambda rng, shape: rng.standard_t(5, size=shape)),
    "1/f": power_law(1.0),
    "1/f^2": power_law(2.0),
    "rows of different loudness": loudness,
    "rows of different spectra": spectra,
    "z-scored AR(1) .9": after(z_scored, AR9),
    "unit norm AR(2) narrow": after(unit_norm, autoregression(*NARROW)),
    "AR(1) .9 less means": after(less_means, AR9),
    "AR(1) .9 detrended": after(detrended, AR9),
    "AR(1) .9 with 20 % gaps": with_gaps(AR9),
    "AR(1) .9 with NaN ends": with_ends(AR9),
    "6 rows AR(1) .9": lambda rng: AR9(rng, 6),
    "8 channels with common noise": channels,
}
IMAGES = {"power-law images": power_law_images, "heavy-tailed images": heavy_tailed_images}
PREPROCESS = {"AR(1) .9 detrended": detrended}
