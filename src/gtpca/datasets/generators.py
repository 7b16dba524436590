"""Signals made from a formula."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state, check_scalar


def make_oscillations(n_samples=1000, n_times=256, noise=0.2, random_state=None):
    """Draw noisy sums of an alpha and a beta oscillation at random times.

    ``X[i, t - 1] = f_i(t / T) + noise * N(0, 1)`` for t = 1..T with
    ``f(x) = 0.6 sin(2 pi alpha (x + t0)) + 0.4 cos(2 pi beta (x + t0))``,
    alpha ~ U[8, 12], beta ~ U[13, 30], t0 ~ U[0, 1].

    Parameters
    ----------
    n_samples, n_times : int
        Number of signals, and of time points T of each.
    noise : float
        Standard deviation of the added white noise.
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, n_times), float64
    """
    x = _time_grid(n_samples, n_times, noise)
    rng = check_random_state(random_state)
    alpha, beta, t0 = (rng.uniform(*ends, (n_samples, 1)) for ends in ((8, 12), (13, 30), (0, 1)))
    phase = 2 * np.pi * (x + t0)
    X = 0.6 * np.sin(alpha * phase) + 0.4 * np.cos(beta * phase)
    return X + noise * rng.standard_normal(X.shape)


def make_spikes(n_samples=1000, n_times=256, spike_probability=1.0, noise=0.2, random_state=None):
    """Draw noisy signals with, or without, one parabolic spike at a random time.

    ``X[i, t - 1] = y_i f_i(t / T) + noise * N(0, 1)`` for t = 1..T with
    ``f(x) = a max(-4 / w^2 (x - t0)^2 + 3, 0)``, t0 ~ U[0, 1], a ~ U[0.5, 2.5], w ~ U[0.05, 0.1].

    Parameters
    ----------
    n_samples, n_times, noise, random_state
        As in :func:`make_oscillations`.
    spike_probability : float in [0, 1]
        Chance that a signal has a spike, drawn for every signal on its own.

    Returns
    -------
    X : ndarray of shape (n_samples, n_times), float64
    y : ndarray of shape (n_samples,), int
        1 with a spike, 0 without.
    """
    x = _time_grid(n_samples, n_times, noise)
    check_scalar(spike_probability, "spike_probability", Real, min_val=0, max_val=1)
    rng = check_random_state(random_state)
    t0, a, w = (rng.uniform(*ends, (n_samples, 1)) for ends in ((0, 1), (0.5, 2.5), (0.05, 0.1)))
    y = (rng.uniform(size=n_samples) < spike_probability).astype(int)
    X = y[:, None] * a * np.maximum(-4 / w**2 * (x - t0) ** 2 + 3, 0)
    return X + noise * rng.standard_normal(X.shape), y


def _time_grid(n_samples, n_times, noise):
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    check_scalar(n_times, "n_times", Integral, min_val=1)
    check_scalar(noise, "noise", Real, min_val=0)
    return np.arange(1, n_times + 1) / n_times
