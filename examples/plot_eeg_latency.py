"""
One latency per trial: EEG
==========================

Twenty subjects saw a picture, five times each; 64 channels were recorded in the second after it.
The response may come earlier or later from trial to trial, at all electrodes alike: one object
that moves as a whole, hence ``shared_pose=True``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import signal, stats

from gtpca import GTPCA, Shift
from gtpca.datasets import fetch_eeg

eeg = fetch_eeg()
once = ~eeg.repeated  # one trial is in the data twice
subject, names = eeg.subject[once], np.array(eeg.channels)

# %%
# Before looking at the groups
# ----------------------------
# Chosen without the groups: no drift; nothing above 8 Hz, or a trial could jump by a period of the
# alpha rhythm; electrodes in units of their usual size, by ``feature_weight``, which is 0 for the
# channels off the scalp; blinks clipped; soft ends, so that wrapping round gains nothing; trials
# of equal weight; latencies within 47 ms, less than a period from end to end; three components.

low = signal.butter(4, 8, fs=256, output="sos")
smooth = signal.sosfiltfilt(low, signal.detrend(eeg.data[once], axis=1), axis=1)[:, ::2]
N, RATE = 128, 128  # points of a trial, points per second
usual = np.median(smooth.std(axis=1), axis=0)
weight = np.tile(~np.isin(names, ["X", "Y", "nd"]) / usual**2, (N, 1))


def fit(trials, reach):
    """Model with latencies up to ``reach`` points, what it saw, and the weights of the trials."""
    X = np.clip(trials, -4 * usual, 4 * usual) * signal.windows.tukey(N, 0.2)[:, None]
    equal = 1 / np.sum(weight * X**2, axis=(1, 2))
    family = Shift(axes=0, boundary="circular", max_shift=reach)
    model = GTPCA(3, family, shared_pose=True, feature_weight=weight, random_state=0)
    return model.fit(X.astype(np.float32), sample_weight=equal), X, equal


def shares(trials):
    """Explained when still and moving, their difference, and the average's share, aligned too."""
    (still, X, equal), (moving, *_) = fit(trials, 0), fit(trials, 6)
    explained = [m.explained_energy_ratio_.sum() for m in (still, moving)]
    means = [np.mean(x, axis=0) for x in (X, moving.align(X))]
    return [*explained, np.diff(explained)[0], *(np.sum(weight * m**2) * np.mean(equal) for m in means)]


def roll(trials):
    return np.array([np.roll(x, rng.integers(N), axis=0) for x in trials])


# %%
rng = np.random.default_rng(0)
import time
t=time.time()
mean = smooth.mean(axis=0)
nothing = np.array([shares(roll(smooth)) for _ in range(9)])
fixed = np.array([shares(mean + roll(smooth - mean)) for _ in range(9)])
real=shares(smooth)
for a, b, c in zip(real, nothing.T, fixed.T, strict=True):
    print(f"{a:.3f}   {b.min():.3f} .. {b.max():.3f}  {c.min():.3f} .. {c.max():.3f}")
print(time.time()-t)
