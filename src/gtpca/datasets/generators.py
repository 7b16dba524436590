"""Simulated signals."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state, check_scalar

from gtpca import checks
from gtpca._typing import RandomState
from gtpca.datasets import errp


def make_oscillations(
    n_samples: int = 1000, n_times: int = 256, noise: float = 0.2, random_state: RandomState = None
) -> np.ndarray:
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


def make_spikes(
    n_samples: int = 1000,
    n_times: int = 256,
    spike_probability: float = 1.0,
    noise: float = 0.2,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw noisy signals with, or without, one parabolic spike at a random time.

    ``X[i, t - 1] = y_i f_i(t / T) + noise * N(0, 1)`` for t = 1..T with
    ``f(x) = a max(-4 / w^2 (x - t0)^2 + 3, 0)``, t0 ~ U[0, 1], a ~ U[0.5, 2.5], w ~ U[0.05, 0.1].

    Parameters
    ----------
    n_samples, n_times, noise, random_state
        As in :func:`make_oscillations`.
    spike_probability : float in [0, 1]
        Probability that a signal has a spike, drawn independently for every signal.

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


def simulate_errp(
    n_subjects: int = 6,
    channels: Any = ("Fz", "FCz"),
    random_state: RandomState = None,
    *,
    window: Any = (-0.25, 0.75),
    outside: str = "raise",
    recordings: bool = False,
) -> Any:
    """Simulate EEG like that of :func:`fetch_errp`, for use when its files are not available.

    ``x_c(t) = b_c(t) + g_c sum_i a_i h(t - t_i - s_i)`` over the errors i, at t_i seconds, with
    ``h(t) = 8 exp(-(t - 0.32)^2 / (2 0.03^2)) - 6 exp(-(t - 0.25)^2 / (2 0.025^2))`` microvolt,
    a_i ~ U[0.5, 1.5], s_i ~ U[-0.03, 0.03] seconds, ``g_c = exp(-d_c^2 / (2 0.35^2))`` at d_c
    head radii from FCz. Correct movements evoke nothing. The background b_c is Gaussian noise: of
    10 microvolt with spectrum 1/f, and an alpha rhythm of 10 Hz, from 2 microvolt in front to 9
    in the back; electrodes at a distance d correlate by ``0.95 exp(-d^2 / (2 0.4^2))``.

    Each subject has as many trials of each kind as in the real data, spread over 2 sessions of 10
    runs of 3 minutes.

    Parameters
    ----------
    n_subjects, channels, window, outside, recordings
        As in :func:`fetch_errp`; windows within -1 and 2 seconds fit.
    random_state : int, RandomState or None
        A subject's data do not change with ``n_subjects``, but do with ``channels``.

    Returns
    -------
    Bunch
        As for :func:`fetch_errp`, with simulated: True.
    """
    names = errp.channel_names(channels)
    checks.integer("n_subjects", n_subjects, 1, len(errp.TOTALS))
    checks.choice("outside", outside, ("raise", "drop"))
    ends = errp.samples(window)
    runs = _errp_runs(n_subjects, names, check_random_state(random_state))
    return Bunch(
        **errp.cut_trials(runs, ends, outside=outside, recordings=recordings),
        channels=names,
        window=tuple(window),
        simulated=True,
        DESCR="Simulated EEG with error potentials; no real recording.",
    )


def _errp_runs(n_subjects, names, rng) -> Iterator[errp.Recording]:
    """All runs, drawn one at a time."""
    n_times, place = 180 * errp.SAMPLING_RATE, _electrodes(names)
    amplitude, root = _noise_amplitude(n_times, place[:, 1]), _noise_root(place)
    near = np.exp(-(_distances(place, _electrodes(["FCz"]))[:, 0] ** 2) / (2 * 0.35**2))
    for subject, session in np.ndindex(n_subjects, 2):
        wrong = _shuffled_errors(errp.TOTALS[subject], session, rng)
        for run, error in enumerate(np.array_split(wrong, 10)):
            code, position = _errp_events(error, rng)
            noise = rng.standard_normal((len(amplitude), 2 * len(names))).view(complex)
            x = np.fft.irfft(amplitude * (noise @ root.T), n_times, axis=0)
            _add_responses(x, position[error], near, rng)
            key = (subject + 1, session + 1, run + 1)
            yield errp.Recording(key=key, x=x, code=code, position=position)


def _shuffled_errors(totals, session, rng) -> np.ndarray:
    """Which trials of a session are errors; the first session has the odd ones."""
    counts = [(total + 1 - session) // 2 for total in totals]
    return rng.permutation(np.repeat([False, True], counts))


def _errp_events(error, rng) -> tuple[np.ndarray, np.ndarray]:
    """Codes, and positions from 1 to 178 seconds, at least half the mean distance apart."""
    side = rng.randint(2, size=len(error))
    code = np.where(error, np.array(errp.ERROR)[side], np.array(errp.CORRECT)[side])
    steps = np.arange(len(error)) + rng.uniform(0, 0.5, len(error))
    seconds = 1 + 177 * steps / len(error)
    return code, (seconds * errp.SAMPLING_RATE).astype(int)


def _add_responses(x, position, near, rng) -> None:
    """Add ``a g_c h(t - s)`` after each position, to x (n_times, n_channels) in place."""
    t = np.arange(int(0.6 * errp.SAMPLING_RATE)) / errp.SAMPLING_RATE
    for p in position:
        a, u = rng.uniform(0.5, 1.5), t - rng.uniform(-0.03, 0.03)
        positive = 8 * np.exp(-((u - 0.32) ** 2) / (2 * 0.03**2))
        negative = 6 * np.exp(-((u - 0.25) ** 2) / (2 * 0.025**2))
        x[p : p + len(t)] += a * np.outer(positive - negative, near)


def _noise_amplitude(n_times, y) -> np.ndarray:
    """Of each frequency (n_times // 2 + 1,) and channel, for standard normal coefficients."""
    f = np.fft.rfftfreq(n_times, 1 / errp.SAMPLING_RATE)[1:, None]
    pink, alpha = 1 / f, np.exp(-((f - 10) ** 2) / 2)
    power = 10**2 * pink / pink.sum() + (5 - 4 * y) ** 2 * alpha / alpha.sum()
    return np.r_[np.zeros((1, len(y))), n_times / 2 * np.sqrt(power)]


def _noise_root(place) -> np.ndarray:
    """A root of the correlations of the channels: ``root @ root.T``."""
    related = np.exp(-(_distances(place, place) ** 2) / (2 * 0.4**2))
    return np.linalg.cholesky(0.95 * related + 0.05 * np.eye(len(place)))


def _electrodes(names) -> np.ndarray:
    """Right and front coordinates (n, 2) of the 10-10 system, in head radii from Cz, roughly."""
    rows = {"FP": 4, "AF": 3, "F": 2, "FC": 1, "FT": 1, "C": 0, "T": 0, "CP": -1, "TP": -1}
    rows |= {"P": -2, "PO": -3, "O": -4, "I": -5}
    place = []
    for name in names:
        row = name.rstrip("z0123456789")
        number = int(name[len(row) :].replace("z", "0"))
        column = (number + 1) // 2 * (1 if number % 2 == 0 else -1)
        y = 0.2 * rows[row.upper()]
        place.append((0.2 * column * np.sqrt(1 - y**2), y))
    return np.array(place)


def _distances(a, b) -> np.ndarray:
    return np.hypot(*np.moveaxis(a[:, None] - b, -1, 0))
