"""
Faults in windows of a sensor
=============================

A pressure sensor is monitored in windows. At one point the signal has a glitch of twelve points:
which window contains it? The recording is that of the heartbeats example (UCR anomaly archive, as
distributed with the package aeon), where the position of the fault is known. The beat is at a
different position in every window, so that PCA needs many components to describe an ordinary beat.
"""

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from gtpca import GTPCA, Shift
from gtpca.datasets import sliding_windows
from gtpca.readers import read_data

# aeon itself is not imported: its files are enough.
folder = Path(find_spec("aeon").origin).parent / "datasets" / "data" / "KDD-TSAD_135"
(path,) = folder.glob("*_TEST.csv")
data = read_data(path, columns="value", labels="is_anomaly")
pressure, fault = data.rows[:, 0], data.labels.astype(float) == 1

# %%
# Learn what is ordinary
# ----------------------
# The first 3,000 points hold no fault. A window of 100 points is cut every 25; a component of 200
# points is longer than the window: the window is a crop of the beat.

LENGTH, STEP = 100, 25
windows = sliding_windows(pressure, LENGTH, STEP)
odd = sliding_windows(fault, LENGTH, STEP).any(axis=1)
ordinary = slice(0, 3000 // STEP - LENGTH // STEP)
model = GTPCA(3, Shift(window=200), center="samples", shared_pose=True, random_state=0)
model.fit(windows[ordinary])

# %%
# What is not explained
# ---------------------
# The residual of every window, in the units of the sensor, compared with PCA with three components,
# and with four, which are as many numbers as three scores and a pose.


def left(rows, rebuilt):
    """Root mean square of what is left of each row, its mean aside."""
    return np.std(rows - rebuilt, axis=1)


rows = windows - windows.mean(axis=1, keepdims=True)
measures = {"GT-PCA, 3": left(windows, model.reconstruct(windows))}
for k in (3, 4):
    pca = PCA(k).fit(rows[ordinary])
    measures[f"PCA, {k}"] = left(rows, pca.inverse_transform(pca.transform(rows)))
fig, axes = plt.subplots(3, 1, figsize=(9, 5), sharex=True, layout="constrained")
for ax, (name, values) in zip(axes, measures.items(), strict=True):
    ax.plot(STEP * np.arange(len(values)), values, color="#0072B2")
    ax.plot(STEP * np.flatnonzero(odd), values[odd], "o", color="#D55E00")
    ax.set(title=name, ylabel="left over")
    usual = values[~odd]
    print(f"{name:<10} fault {values[odd].max():.2f}, largest without {usual.max():.2f}", end="")
    print(f", ratio {values[odd].max() / usual.max():.1f}")
axes[-1].set(xlabel="first point of the window")

# %%
# Where it does not help
# ----------------------
# A fault that concerns a whole beat, such as a missing one, shows up in the distances between
# poses, not in the residual. With as many components as a beat has degrees of freedom, PCA is
# equally good, since such a smooth recording has few.

plt.show()
