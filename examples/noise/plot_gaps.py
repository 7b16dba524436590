"""
Gaps, and series that end early
===============================

A sensor drops out, or a recording is cut short: values are missing, and not the same ones in every
sample. With ``missing="ignore"`` a component is matched to the observed values, wherever it lies,
and ``impute`` predicts the missing ones.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import gtpca
from gtpca import GTPCA, Shift
from gtpca.plots import plot_reconstructions
from gtpca.readers import read_data

rng = np.random.default_rng(0)
t = np.arange(24)
shapes = np.stack([np.exp(-(((t - 11.5) / 3) ** 2)), np.sin(t / 2) * np.hanning(24)])


def pulses(lengths):
    """Series with a pulse of two shapes at a random time, and noise."""
    for length in lengths:
        x, start = 0.1 * rng.standard_normal(length), rng.integers(length - 23)
        x[start : start + 24] += rng.uniform(0.5, 2, 2) @ shapes
        yield x


# %%
# A wide table with empty fields
# ------------------------------
# One series per line; a fifth of the fields are empty. Without ``missing="ignore"`` an error names
# the first of them.

whole = np.array(list(pulses([96] * 300)))
hidden = rng.random(whole.shape) < 0.2
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "wide.csv"
    fields = np.where(hidden, "", whole.astype(str))
    path.write_text("\n".join(",".join(line) for line in fields))
    X = read_data(path, header=False, missing="ignore").rows

model = GTPCA(2, Shift(24), shared_pose=True, missing="ignore", random_state=0).fit(X)
filled = model.impute(X)  # what was observed stays as it is
means = np.broadcast_to(np.nanmean(X, axis=0), X.shape)
for name, values in (("impute", filled), ("column means", means)):
    error = np.sum((values - whole)[hidden] ** 2) / np.sum(whole[hidden] ** 2)
    print(f"{name}: {error:.3f} of the energy of the missing values is wrong")

plot_reconstructions(model, X, rows=[0, 1])
plt.suptitle("missing values stay blank; predictions are pink")

# %%
# Series of unequal length
# ------------------------
# A list is accepted directly, and lists of the same lengths are returned. ``gtpca.pad`` converts it
# to one array, with NaN after the end of each series.

series = list(pulses(rng.integers(40, 97, size=300)))
model = GTPCA(2, Shift(24), shared_pose=True, missing="ignore", random_state=0).fit(series)
starts = model.poses(model.encode(series))["start"]
rebuilt = model.reconstruct(series)
print("lengths:", [len(x) for x in series[:4]], "rebuilt:", [len(x) for x in rebuilt[:4]])
print(f"explained: {model.score(series):.3f} of what was observed")

fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for row, (x, y, start) in enumerate(zip(series[:6], rebuilt, starts[:, 0], strict=False)):
    ax.plot(x + 4 * row, color="grey", linewidth=1)
    ax.plot(y + 4 * row, color="black")
    ax.axvspan(start, start + 23, ymin=row / 6, ymax=(row + 1) / 6, alpha=0.15)
ax.set(xlabel="point", yticks=[], title="six series, what is rebuilt of them, and where")

# %%
# Where it does not help
# ----------------------
# A gap that hides most of a pattern leaves its pose to chance. Single missing values in a smooth
# curve are better interpolated from their neighbours. Samples on an uneven grid that do not shift
# need no gaps: ``feature_weight=gtpca.quadrature(t)`` weights their points instead.

print("weights of an uneven grid:", gtpca.quadrature([0.0, 1.0, 1.5, 2.0]))
plt.show()
