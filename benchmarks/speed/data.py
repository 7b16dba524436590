"""Rows of the speed benchmark: what to fit and what to hold out, a function of the seed alone."""

from __future__ import annotations

import os

import numpy as np
from scipy import ndimage
from sklearn.datasets import load_digits

from gtpca.datasets import (
    fetch_eeg,
    fetch_handwriting,
    fetch_mnist,
    make_oscillations,
    make_spikes,
    random_crop,
    random_embedding,
    random_rotation,
)

HAS_FILES = "GTPCA_DATA" in os.environ  # else digits and EEG are made, none is downloaded


def halves(rows, n):
    """The first ``n`` rows and the others."""
    return rows[:n], rows[n:]


def oscillations(seed):
    return tuple(make_oscillations(1000, 256, random_state=s) for s in (seed, 1000 + seed))


def spikes(seed, n=1000):
    return tuple(make_spikes(n, 256, random_state=s)[0] for s in (seed, 1000 + seed))


def demo_spikes(seed):
    """Those of ``python -m gtpca.demo``."""
    return tuple(make_spikes(500, random_state=s)[0] for s in (seed, 1 + seed))


def leaves(seed, n=200, size=427):
    """Distance of an outline from its centre along the angle, of six kinds of leaves.

    ``r(t) = sum_h (a_h + 0.3 N(0, 1) / h) cos(h t + b_h)``, from a random angle on; standardised.
    """
    rng = np.random.default_rng(seed)
    order = np.arange(1, 13)
    a, b = rng.standard_normal((6, 12)) / order, rng.uniform(0, 2 * np.pi, (6, 12))
    kind = rng.integers(6, size=2 * n)
    amplitude = a[kind] + 0.3 * rng.standard_normal((2 * n, 12)) / order
    t = 2 * np.pi * np.arange(size) / size + rng.uniform(0, 2 * np.pi, (2 * n, 1))
    rows = np.einsum(
        "nh,nht->nt", amplitude, np.cos(order[:, None] * t[:, None] + b[kind, :, None])
    )
    rows += 0.1 * rng.standard_normal(rows.shape)
    return halves((rows - rows.mean(1, keepdims=True)) / rows.std(1, keepdims=True), n)


def heartbeats(seed, n=2268, size=300):
    """One beat per row, at a random time and possibly cut; one in ten is wide, without P.

    Waves P, Q, R, S, T are Gaussians whose times, heights and widths change from beat to beat.
    """
    rng = np.random.default_rng(seed)
    wide = rng.uniform(size=(2 * n, 1)) < 0.1
    time = np.where(wide, [-40, -12, 0, 14, 45], [-32, -6, 0, 6, 42])
    height = np.where(wide, [0, -0.2, 1.1, -0.5, -0.4], [0.15, -0.15, 1.0, -0.25, 0.3])
    width = np.where(wide, [6, 5, 7, 6, 14], [5, 2, 2.5, 2.5, 9])
    time = time * rng.normal(1, 0.08, (2 * n, 1)) + rng.uniform(20, size - 20, (2 * n, 1))
    height, width = (v * rng.lognormal(0, 0.15, v.shape) for v in (height, width))
    x = np.arange(size)[:, None]
    waves = height[:, None] * np.exp(-(((x - time[:, None]) / width[:, None]) ** 2) / 2)
    return halves(waves.sum(2) + 0.03 * rng.standard_normal((2 * n, size)), n)


def galaxies(seed, n=600, size=48):
    """Radio galaxies at random angles: a core, two lobes, of which one is bent, and a jet."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([_galaxies(rng, count, size) for count in [100] * (2 * n // 100)])
    return halves(rows, n)


def _galaxies(rng, n, size):
    def drawn(low, high):
        return rng.uniform(low, high, (n, 1, 1))

    def blob(u0, v0, long, broad):
        return np.exp(-(((u - u0) / long) ** 2) / 2 - ((v - v0) / broad) ** 2 / 2)

    y, x = (np.indices((size, size)) - (size - 1) / 2) * 48 / size
    angle, far, bent = drawn(0, 2 * np.pi), drawn(8, 15), drawn(0, 4)
    u, v = np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x
    rows = drawn(0.5, 1.5) * blob(0, 0, 1.5, 1.5) + drawn(0.2, 0.8) * blob(far / 2, 0, far / 3, 1.2)
    rows += drawn(0.5, 1) * blob(far, bent, drawn(2.5, 4.5), drawn(2, 3.5))
    rows += drawn(0.3, 0.8) * blob(-far * drawn(0.7, 1), 0, drawn(2.5, 4.5), drawn(2, 3.5))
    return rows + 0.03 * rng.standard_normal(rows.shape)


def moved_galaxies(seed):
    """Galaxies of 28 x 28 somewhere in 40 x 40."""
    rows = np.concatenate(galaxies(seed, 500, 28))
    return halves(random_embedding(rows, (40, 40), random_state=seed)[0], 500)


def warped(seed):
    """Events in time that is warped, as TimeWarp does."""
    return _events(seed, lambda u, strength: u ** np.exp(strength))


def scaled(seed):
    """Events that are wider or narrower, as of Scaling."""
    return _events(seed, lambda u, strength: 0.5 + (u - 0.5) / 1.6 ** (strength / 0.6))


def _events(seed, source, n=1000, size=256):
    """Three events of varying height in every row, at ``source(u, strength)``."""
    rng = np.random.default_rng(seed)
    strength, height = rng.uniform(-0.6, 0.6, (2 * n, 1)), rng.normal(1, 0.4, (2 * n, 1, 3))
    x = source(np.linspace(0, 1, size), strength)[..., None] - np.array([0.3, 0.5, 0.72])
    events = np.exp(-((x / 0.06) ** 2) / 2) * np.cos(np.array([0, 60, 90]) * x)
    return halves((height * events).sum(2) + 0.1 * rng.standard_normal((2 * n, size)), n)


def small_digits(seed, n=1000):
    """Digits of scikit-learn as 16 x 16 pixels, in random order."""
    order = np.random.default_rng(seed).permutation(1797)
    return halves(_enlarged(2)[order], n)


def _enlarged(factor):
    return ndimage.zoom(load_digits().images / 16, (1, factor, factor), order=1)


def slanted_digits(seed, n=1000):
    """The same, each turned, slanted and scaled at random about the middle."""
    rows, rng = np.concatenate(small_digits(seed)), np.random.default_rng(seed)
    turn, slant = rng.uniform(-0.4, 0.4, (2, len(rows)))
    size, middle = rng.uniform(0.8, 1.25, len(rows)), np.array([7.5, 7.5])
    for i, row in enumerate(rows):
        cos, sin = np.cos(turn[i]), np.sin(turn[i])
        inverse = np.array([[cos, -sin], [sin, cos]]) @ [[1, slant[i]], [0, 1]] / size[i]
        rows[i] = ndimage.affine_transform(row, inverse, middle - inverse @ middle, order=1)
    return halves(rows, n)


def shifted_mnist(seed):
    return tuple(
        random_embedding(_mnist(subset), (56, 56), random_state=seed + 1000 * i)[0]
        for i, subset in enumerate(("train", "test"))
    )


def rotated_mnist(seed):
    return tuple(
        random_rotation(_mnist(subset), 20, random_state=seed + 1000 * i)[0]
        for i, subset in enumerate(("train", "test"))
    )


def new_digits(seed):
    """10,000 shifted digits to transform, twice: none is held out."""
    rows = random_embedding(_mnist("test"), (56, 56), random_state=seed)[0]
    return rows, rows


def few_shifted(seed):
    """2,000 others, for the components."""
    return random_embedding(_mnist("train")[:2000], (56, 56), random_state=1000 + seed)[0]


def _mnist(subset):
    """MNIST, or as many enlarged digits of scikit-learn, one after the other; (n, 28, 28)."""
    if HAS_FILES:
        return fetch_mnist(subset).data.astype(np.float32)
    n = {"train": 60_000, "test": 10_000}[subset]
    rows = np.pad(_enlarged(3), ((0, 0), (2, 2), (2, 2))).astype(np.float32)
    return 255 * rows[np.arange(n) % len(rows)]


def handwriting(seed):
    """Windows of 700 points, at random, of 16 recordings and of the other four."""
    rng = np.random.RandomState(seed)
    samples = fetch_handwriting().data[:, :1400]
    return halves(random_crop(samples[rng.permutation(len(samples))], 700, rng)[0], 16)


def eeg(seed):
    """80 and 20 trials of 256 points and 64 channels."""
    rng = np.random.default_rng(seed)
    trials = fetch_eeg().data if HAS_FILES else _evoked(rng)
    return halves(trials[rng.permutation(len(trials))], 80)


def _evoked(rng):
    """Three responses at random times, each on all channels, in noise that is smooth in time."""
    mixing, late = rng.standard_normal((3, 64)), rng.uniform(60, 190, (100, 1, 3))
    waves = np.exp(-(((np.arange(256)[:, None] - late) / [8, 12, 20]) ** 2) / 2)
    noise = ndimage.gaussian_filter1d(rng.standard_normal((100, 256, 64)), 3, axis=1)
    return 10 * waves @ mixing + 10 * noise
