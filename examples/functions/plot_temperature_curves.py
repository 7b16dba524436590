"""
Temperature curves, day by day
==============================

A functional time series: one curve per day, and each day resembles the one before. The curves are
simulated, so that the truth is known. The amplitude and the hour of the daily curve vary slowly,
each by an autoregression, and now and then a shower cools some hours. The day is a circle, so
:class:`~gtpca.Shift` wraps around.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from gtpca import GTPCA, Shift

N_DAYS, LAG_ONE = 600, 0.7
hours = np.arange(0, 24, 0.5)
rng = np.random.default_rng(0)


def wander(mean, deviation):
    """A first-order autoregression of N_DAYS values."""
    steps = np.sqrt(1 - LAG_ONE**2) * rng.standard_normal(N_DAYS)
    values = steps.copy()
    for day in range(1, N_DAYS):
        values[day] += LAG_ONE * values[day - 1]
    return mean + deviation * values


def around(peak, width):
    """A bump at an hour of the day, for all days; the day is a circle."""
    away = (hours - peak[:, None] + 12) % 24 - 12
    return np.exp(-((away / width) ** 2))


size, late = wander(8, 2), wander(15, 2)
day = around(late, 4) - 0.6 * around(late - 9, 3)  # warm afternoons, cold early mornings
shower = (rng.random(N_DAYS) < 0.3) * rng.uniform(1, 4, N_DAYS)
rain = around(rng.uniform(0, 24, N_DAYS), 1.5)
noise = 0.3 * rng.standard_normal(day.shape)
X = size[:, None] * day - shower[:, None] * rain + noise

# %%
# The first component is the day
# ------------------------------
# Its score is the warmth of the day, and its pose is the hour. Both are recovered, and so is the
# dynamics of the weather: they are correlated from one day to the next like the truth.

model = GTPCA(2, Shift(boundary="circular"), random_state=0).fit(X)
codes = model.encode(X)
found_size, step = codes.scores[:, 0], codes.index[:, 0]
usual = np.angle(np.mean(np.exp(2j * np.pi * step / 48))) * 24 / (2 * np.pi)  # on the circle
found_late = (step / 2 - usual + 12) % 24 - 12
found_late += late.mean() - found_late.mean()  # only differences of hours mean something


def lag_one(series):
    """Correlation of each day with the next."""
    return np.corrcoef(series[1:], series[:-1])[0, 1]


for name, truth, found in (("amplitude", size, found_size), ("hour", late, found_late)):
    right = np.corrcoef(truth, found)[0, 1]
    print(f"{name:<9} correlation with the truth {right:.3f}", end=", ")
    print(f"from day to day {lag_one(found):.2f}, in truth {lag_one(truth):.2f}")

# %%
# What PCA makes of it
# --------------------
# PCA has no notion of the hour. Its first score follows the hour as long as that is near the usual
# one, the amplitude is spread over several scores, and with two numbers per day its residual is
# twice as large.

pca = PCA(2).fit(X)
Z = pca.transform(X)
for k in range(2):
    both = [np.corrcoef(Z[:, k], truth)[0, 1] for truth in (size, late)]
    print(
        f"PCA, score {k + 1}: correlation with amplitude {both[0]:+.2f}, with hour {both[1]:+.2f}"
    )
rest = X - pca.inverse_transform(Z)
print(f"left over by a score and an hour {model.resmse(X)[0]:.3f}", end=", ")
print(f"by two scores of PCA {np.sum(rest**2) / np.sum(X**2):.3f}")

fig, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
axes[0].plot(hours, X[:12].T, color="#999999", linewidth=0.7)
axes[0].set(title="twelve days", xlabel="hour")
for k in range(2):
    axes[1].plot(hours, model.components_[k], label=f"component {k + 1}")
axes[1].set(title="components", xlabel="hour")
axes[1].legend(frameon=False)
axes[2].plot(late[:200], "--", color="#999999", label="truth")
axes[2].plot(found_late[:200], color="#0072B2", linewidth=0.9, label="found")
axes[2].set(title="when the day is warmest", xlabel="day", ylabel="hour")
axes[2].legend(frameon=False)

plt.show()
