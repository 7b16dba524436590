"""
Choosing the window
===================

How long is the event? A window that is too short cuts it, one that is too long brings noise and
leaves less room to move. Here the truth is known: an event of 40 points in signals of 200. Held-out
signals say which windows are good enough.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_validate

from gtpca import ALS, GTPCA, Shift

rng = np.random.default_rng(0)
EVENT = np.sin(np.arange(40) / 4) * np.hanning(40)


def signals(n_samples, noise=0.3):
    """Signals of 200 points with the event at a random time."""
    X = noise * rng.standard_normal((n_samples, 200))
    for row, start in zip(X, rng.integers(161, size=n_samples), strict=True):
        row[start : start + 40] += rng.uniform(0.7, 1.3) * EVENT
    return X


# %%
# A grid of windows, each about a quarter longer than the one before
# ------------------------------------------------------------------

X = signals(150)
windows = np.array([10, 13, 16, 20, 25, 32, 40, 50, 63, 80, 100, 125])
trained, folds = [], []
for window in windows:
    model = GTPCA(1, Shift(int(window)), solver=ALS(n_init=8), random_state=0)
    shares = cross_validate(model, X, cv=3, return_train_score=True)
    trained.append(shares["train_score"].mean())
    folds.append(shares["test_score"])

# %%
# The best share of held-out signals, and all windows that explain less by at most one standard
# error of the difference. Folds are compared one by one, as :func:`gtpca.diagnostics.choose` does.

held_out = np.mean(folds, axis=1)
best = held_out.argmax()
less = folds[best] - np.array(folds)
spread = less.std(axis=1, ddof=1) / np.sqrt(3)
flat = windows[less.mean(axis=1) <= spread]
print(f"best window {windows[best]}, flat part {flat[0]} to {flat[-1]}; the event has 40 points,")
inside = np.cumsum(EVENT**2) / np.sum(EVENT**2)
core = np.searchsorted(inside, 0.99) - np.searchsorted(inside, 0.01)
print(f"of which {core} hold 98 % of its energy")

fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.errorbar(windows, held_out, spread, color="#0072B2", marker="o", label="held-out signals")
ax.plot(windows, trained, "--", color="#999999", label="training signals")
ax.axvspan(flat[0], flat[-1], color="#0072B2", alpha=0.15, label="flat part")
ax.set(xscale="log", xlabel="window (points)", ylabel="explained share")
ax.set_xticks(windows, windows)
ax.minorticks_off()
ax.legend(frameon=False)

# %%
# What the windows look like
# --------------------------
# Too short: a piece of the event. Right. Too long: noise beside it, and less room to move.

fig, axes = plt.subplots(1, 3, figsize=(9, 2.2), sharey=True, layout="constrained")
for ax, window in zip(axes, (13, int(windows[best]), 125), strict=True):
    component = GTPCA(1, Shift(window), random_state=0).fit(X).components_[0]
    ax.plot(component, color="black")
    ax.set(title=f"window {window}", xlabel="point")

# %%
# Where it does not help
# ----------------------
# The number of components cannot be chosen in this way: what is left of new signals falls with
# every component. :doc:`/howto/window` and :doc:`/howto/is-it-real` say what can.

plt.show()
