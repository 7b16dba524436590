"""
One latency per trial: EEG
==========================

Twenty subjects saw a picture, five times each; 64 channels recorded the second after it. The
response may come earlier or later, at all electrodes alike: one object that moves as a whole, hence
``shared_pose=True``. Are the latencies real, and do the two groups of subjects differ?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import signal, stats

from gtpca import GTPCA, Shift
from gtpca.datasets import fetch_eeg

eeg = fetch_eeg()
once, names = ~eeg.repeated, np.array(eeg.channels)  # one trial is in the data twice
subject, group = eeg.subject[once], eeg.group[once]

# %%
# Components
# ----------
# Chosen before looking at the groups: no drift; nothing above 8 Hz, or a trial could jump by a
# period of the alpha rhythm; electrodes in units of their usual size, 0 for the channels off the
# scalp; blinks clipped; soft ends, so that wrapping round gains nothing; trials of equal weight;
# latencies within 47 ms; three components.

low = signal.butter(4, 8, fs=256, output="sos")
smooth = signal.sosfiltfilt(low, signal.detrend(eeg.data[once], axis=1), axis=1)[:, ::2]
scalp, usual = ~np.isin(names, ["X", "Y", "nd"]), np.median(smooth.std(axis=1), axis=0)
trials = (smooth / usual * scalp).astype(np.float32)


def fit(trials, reach):
    """Model with latencies up to ``reach`` points of 7.8 ms, and the trials as it saw them."""
    X = np.clip(trials, -4, 4) * signal.windows.tukey(128, 0.2)[:, None]
    family = Shift(axes=0, boundary="circular", max_shift=reach)
    model = GTPCA(3, family, shared_pose=True, random_state=0)
    return model.fit(X, sample_weight=1 / np.sum(X**2, axis=(1, 2))), X


model, X = fit(trials, reach=6)
codes = model.encode(X)
start = model.poses(codes)["start"][:, 0]  # counted round the circle: 127 is -1
latency = np.where(start < 64, start, start - 128) / 0.128
time, rows = np.arange(128) / 0.128, "FP AF F FT FC T C TP CP P PO O".split()  # front to back
place = np.array([rows.index(name.rstrip("Z0123456789")) for name in names[scalp]])

fig, axes = plt.subplots(2, 3, figsize=(10, 6), layout="constrained")
for k, ax in enumerate(axes[0]):
    image = model.components_[k][:, scalp][:, np.argsort(place, kind="stable")].T
    ax.pcolormesh(time, np.arange(61), image, cmap="PuOr", norm=plt.Normalize(-0.06, 0.06))
    ax.set_yticks([np.sum(place < rows.index(row)) for row in "FCPO"], list("FCPO"))
    ax.set(title=f"component {k + 1}", xlabel="ms after the picture", ylim=(60.5, -0.5))
best = np.abs(X.mean(axis=0)).max(axis=0).argmax()
for name, data, style in (("as it is", X, "--"), ("aligned", model.align(X), "-")):
    axes[1, 0].plot(time, usual[best] * data.mean(axis=0)[:, best], style, label=name)
axes[1, 0].set(title=f"average at {names[best]}", xlabel="ms after the picture", ylabel="microvolt")
axes[1, 1].hist([latency[group == g] for g in "ac"], label=["alcoholic", "control"])
axes[1, 1].set(title="latencies", xlabel="ms", ylabel="trials")

# %%
# Are the latencies real?
# -----------------------
# The best of 13 latencies always fits something. For comparison: trials without any response (each
# rolled by a random time), and trials with one response that never moves (the average, plus the
# rest of each trial, rolled).

rng, gains = np.random.default_rng(0), []
for name, still in (("the trials", trials), ("no response", 0), ("it never moves", trials.mean(axis=0))):
    for _ in range(1 if name == "the trials" else 9):
        rest = np.array([np.roll(x, rng.integers(128), axis=0) for x in trials - still])
        shares = [fit(still + rest, reach)[0].explained_energy_ratio_.sum() for reach in (0, 6)]
        gains.append([name, *shares, shares[1] - shares[0]])
        print(f"{name:<15} explained {shares[0]:.3f}, moving {shares[1]:.3f}", f"gain {shares[1] - shares[0]:.3f}")

# %%
# Do the groups differ?
# ---------------------
# The unit is the subject: five trials are not five subjects.

measures = {"latency": latency, "share explained": model.score_samples(X)}
measures |= {f"score {k + 1}": codes.scores[:, k] for k in range(3)}
for name, values in measures.items():
    means = [[values[subject == s].mean() for s in np.unique(subject[group == g])] for g in "ac"]
    a, c = np.array(means)
    test = stats.permutation_test((a, c), lambda a, c, axis: a.mean(axis) - c.mean(axis))
    d = test.statistic / np.sqrt((a.var(ddof=1) + c.var(ddof=1)) / 2)
    print(f"{name:<16} a {a.mean():6.2f}  c {c.mean():6.2f}  d {d:+.2f}  p {test.pvalue:.3f}")
plt.show()
