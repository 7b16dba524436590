"""
One latency per trial: EEG
==========================

Twenty subjects saw pictures, five times each; 64 channels were recorded for a second after each
picture. A response may come earlier or later from trial to trial, at all electrodes alike: one
object that moves as a whole, hence ``shared_pose=True``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import signal
from scipy.stats import permutation_test

from gtpca import GTPCA, Shift
from gtpca.datasets import fetch_eeg

eeg = fetch_eeg()
once = ~eeg.repeated  # one trial is in the data twice
subject, names = eeg.subject[once], np.array(eeg.channels)

# %%
# Before looking at the groups
# ----------------------------
# All of this was chosen without the groups: no drift; nothing above 8 Hz, as a trial could jump by
# a period of the alpha rhythm; electrodes in units of their usual size, by ``feature_weight``;
# blinks clipped; every trial of equal weight; soft ends, so that nothing is gained by wrapping
# round; latencies of up to 47 ms, less than a period in all; three components. Channels that are
# no scalp electrodes have weight 0.

low = signal.butter(4, 8, fs=256, output="sos")
smooth = signal.sosfiltfilt(low, signal.detrend(eeg.data[once], axis=1), axis=1)[:, ::2]
usual = np.median(smooth.std(axis=1), axis=0)
scalp = ~np.isin(names, ["X", "Y", "nd"])
weight = np.tile(scalp / usual**2, (128, 1))
ends = signal.windows.tukey(128, 0.2)[:, None]
RATE, REACH = 128, 6  # points per second; latencies in points
MOVING = Shift(axes=0, boundary="circular", max_shift=REACH)


def fit(trials, family=MOVING):
    """A model with three components, the trials as it saw them, and their weights."""
    X = ends * np.clip(trials, -4 * usual, 4 * usual)
    equal = 1 / np.sum(weight * X**2, axis=(1, 2))
    model = GTPCA(3, family, shared_pose=True, feature_weight=weight, random_state=0)
    return model.fit(X, sample_weight=equal), X, equal


def average_share(X, equal):
    """Share of the energy that is in the average."""
    return np.sum(weight * X.mean(axis=0) ** 2) / np.mean(1 / equal)


model, X, equal = fit(smooth)
codes = model.encode(X)
start = model.poses(codes)["start"][:, 0]
latency = 1000 / RATE * ((start + RATE // 2) % RATE - RATE // 2)  # -47 .. 47 ms
aligned = model.align(X)

# %%
# How much of it is there without any response?
# ---------------------------------------------
# The best of 13 latencies always fits something. Surrogates are the same trials, each rolled by a
# random time: the same waves at the same electrodes, but no longer bound to the picture.

rng = np.random.default_rng(0)


def describe(trials):
    """Share explained standing still and moving, in the average before and after alignment."""
    (still, *_), (moving, X, equal) = fit(trials, None), fit(trials)
    positive = moving.transform(X)[:, 0] > 0
    one_sign = max(positive.mean(), 1 - positive.mean())
    shares = [m.explained_energy_ratio_.sum() for m in (still, moving)]
    averages = [average_share(x, equal) for x in (X, moving.align(X))]
    return [*shares, shares[1] - shares[0], *averages, one_sign]


real = describe(smooth)
rolled = [[np.roll(x, rng.integers(RATE), axis=0) for x in smooth] for _ in range(8)]
null = np.array([describe(np.array(trials)) for trials in rolled])
labels = ["explained, still", "explained, moving", "gain", "average", "aligned average", "one sign"]
for name, value, others in zip(labels, real, null.T, strict=True):
    print(f"{name:<20}{value:.3f}   rolled {others.min():.3f} .. {others.max():.3f}")
