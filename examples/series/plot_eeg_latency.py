"""
One latency per trial: EEG
==========================

Twenty subjects saw a picture, five times each; 64 channels recorded the second after it. The
response may occur earlier or later, at all electrodes alike: it is one object that moves as a
whole, hence ``shared_pose=True``. Are the latencies real, and do the two groups of subjects differ?
"""
# sphinx_gallery_thumbnail_path = "images/examples/plot_eeg_latency-1.png"

import matplotlib.pyplot as plt
import numpy as np
from scipy import signal, stats

from gtpca import GTPCA, Shift
from gtpca.datasets import fetch_eeg

eeg = fetch_eeg()
once, names = ~eeg.repeated, np.array(eeg.channels)  # one trial is in the data twice
subject, group = eeg.subject[once], eeg.group[once]

# %%
# These settings were chosen among several before looking at the groups: no drift; nothing above 8
# Hz, since otherwise a trial could jump by a period of the alpha rhythm; electrodes in units of
# their usual amplitude, 0 for the channels off the scalp; blinks clipped; tapered ends, so that
# wrapping around gains nothing; trials of equal weight; latencies within 47 ms; three components.

low = signal.butter(4, 8, fs=256, output="sos")
smooth = signal.sosfiltfilt(low, signal.detrend(eeg.data[once], axis=1), axis=1)[:, ::2]
scalp, usual = ~np.isin(names, ["X", "Y", "nd"]), np.median(smooth.std(axis=1), axis=0)
trials = (smooth / usual * scalp).astype(np.float32)


def fit(trials, reach):
    X = np.clip(trials, -4, 4) * signal.windows.tukey(128, 0.2)[:, None]
    family = Shift(axes=0, boundary="circular", max_shift=reach) if reach else None
    model = GTPCA(3, family, shared_pose=True, random_state=0)
    return model.fit(X, sample_weight=1 / np.sum(X**2, axis=(1, 2))), X


model, X = fit(trials, reach=6)
codes = model.encode(X)
latency = ((model.poses(codes)["start"][:, 0] + 64) % 128 - 64) / 0.128  # start 127 is -7.8 ms

# %%
# Component 1 is the response: negative (orange) in the back at 160 ms, positive (purple) at 350 ms.
# After alignment, the average has a higher second wave but a lower first: one latency does not fit
# both.

fig, axes = plt.subplots(2, 3, figsize=(10, 6), layout="constrained")
time = np.arange(128) / 0.128
rows = ["FP", "AF", "F", "FT", "FC", "T", "C", "TP", "CP", "P", "PO", "O"]  # front to back
place = np.array([rows.index(name.rstrip("Z0123456789")) for name in names[scalp]])
for k, ax in enumerate(axes[0]):
    image = model.components_[k][:, scalp][:, np.argsort(place, kind="stable")].T
    ax.pcolormesh(time, np.arange(61), image, cmap="PuOr", vmin=-0.06, vmax=0.06)
    ax.set_yticks([np.sum(place < rows.index(row)) for row in "FCPO"], list("FCPO"))
    ax.set(title=f"component {k + 1}", xlabel="ms after the picture", ylim=(60.5, -0.5))
best = np.abs(X.mean(axis=0)).max(axis=0).argmax()
for name, data, style in (("as it is", X, "--"), ("aligned", model.align(X), "-")):
    axes[1, 0].plot(time, usual[best] * data.mean(axis=0)[:, best], style, label=name)
axes[1, 0].set(title=f"average at {names[best]}", xlabel="ms after the picture", ylabel="microvolt")
axes[1, 1].hist([latency[group == g] for g in "ac"], 13, label=["alcoholic", "control"])
axes[1, 1].set(title="latencies", xlabel="ms", ylabel="trials", ylim=(0, 20))
for ax in axes[1, :2]:
    ax.legend(frameon=False)

# %%
# Are the latencies real? The best of 13 always fits something. For comparison: trials without any
# response (absent: each rolled by a random time), and with one that never moves (fixed: the
# average, plus the rest of each trial, rolled). The response is real: components that stand still
# explain 0.31 of the trials, and at most 0.23 without a response. Latencies add 0.045 to that, but
# 0.034 to 0.042 where nothing moves, and even more where there is nothing: most of it is due to
# chance, and more than a third of the latencies are at the ends of the range. None of them can be
# trusted.

print(f"{np.mean(np.abs(latency) > 46):.2f} of the latencies are at the ends of the range")
rng, mean = np.random.default_rng(0), trials.mean(axis=0)
cases = {"the trials": (trials, 1), "absent": (0, 5), "fixed": (mean, 5)}
for name, (still, count) in cases.items():
    shares = np.zeros((count, 2))
    for share in shares:
        rest = np.array([np.roll(t, rng.integers(128), axis=0) for t in trials - still])
        share[:] = [fit(still + rest, r)[0].explained_energy_ratio_.sum() for r in (0, 6)]
    gain = np.diff(shares)
    spans = (f"{v.min():.3f} to {v.max():.3f}" for v in (*shares.T, gain))
    print(f"{name:<12}", "explained {}, with latencies {}, gain {}".format(*spans))
    axes[1, 2].plot([name] * count, gain, "o", alpha=0.6)
axes[1, 2].set(title="explained by latencies", xlim=(-0.5, 2.5), ylim=(0, 0.06))

# %%
# Would latencies be found if they were there? EEG noise is far from white. Here the average
# response at six electrodes in the back, at its actual strength, twice and three times that, is put
# at random times into noise with the spectra and the covariance of these trials; printed is the
# share of latencies that are right within 8 ms, with a model of white noise and with
# ``noise="stationary"``. At its actual strength, the response of a single trial is too faint for
# either: d' is its norm in whitened noise, and about 4 is needed.

back = np.isin(names, ["PZ", "OZ", "O1", "O2", "PO7", "PO8"])
raw = signal.detrend(eeg.data[once][:, :, back], axis=1, type="constant").transpose(0, 2, 1)
alone = GTPCA(1, Shift(128, axes=1), noise=raw - raw.mean(axis=0), random_state=0).fit(raw).noise_
response, rng = raw.mean(axis=0)[:, 20:148] * np.hanning(128), np.random.default_rng(0)
for times in (1, 2, 3):
    planted = alone.colour(rng.standard_normal((99, raw[0].size))).reshape(raw.shape)
    late = rng.integers(0, 41, 99)
    for row, start in zip(planted, late, strict=True):
        row[:, start : start + 128] += times * response
    d = np.linalg.norm(alone.whiten(np.pad(times * response, ((0, 0), (64, 64))).reshape(1, -1)))
    for noise in ("white", "stationary"):
        found = GTPCA(1, Shift(128, axes=1), noise=noise, random_state=0).fit(planted[:, :, :168])
        lag = found.poses(found.encode(planted[:, :, :168]))["start"][:, 0] - late
        share = np.mean(np.abs(lag - np.median(lag)) <= 2)
        print(f"response times {times}, d' = {d:.1f}, {noise:<10} {share:.2f} of the latencies")

# %%
# Do the groups differ? The unit of analysis is the subject: five trials are not five subjects. Five
# comparisons require p < 0.01. No difference was found; with ten subjects each, only a large one
# could be detected.

measures = {"latency": latency, "share explained": model.score_samples(X)}
measures |= {f"score {k + 1}": codes.scores[:, k] for k in range(3)}
for name, values in measures.items():
    means = [[values[subject == s].mean() for s in np.unique(subject[group == g])] for g in "ac"]
    gap = stats.permutation_test(means, lambda a, c, axis: a.mean(axis) - c.mean(axis))
    d = gap.statistic / np.sqrt(np.var(means, axis=1, ddof=1).mean())
    print(f"{name:<16}", np.mean(means, axis=1).round(2), f"{d:+.2f} sd, p = {gap.pvalue:.2f}")
plt.show()
