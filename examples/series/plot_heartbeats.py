"""
Heartbeats that do not line up
==============================

Blood pressure in an artery, 21 heartbeats: part of the UCR anomaly archive, as distributed with the
package aeon. A recording is cut into windows of equal length, but the heart does not keep pace with
them: in every window the beat begins at a different point. A component that may slide finds the
beat; its pose is the time.
"""

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from gtpca import GTPCA, Shift
from gtpca.datasets import sliding_windows
from gtpca.readers import read_data

# aeon itself is not imported: its files are enough.
folder = Path(find_spec("aeon").origin).parent / "datasets" / "data" / "KDD-TSAD_135"
(path,) = folder.glob("*_TEST.csv")
pressure = read_data(path, columns="value").rows[:4000, 0]

# %%
# Windows
# -------
# A beat takes about 190 points. Windows of 380 points hold a whole beat wherever it begins. The
# mean of each window has no meaning here: ``center="samples"``.

windows = sliding_windows(pressure, length=380, step=95)
model = GTPCA(2, Shift(window=190), center="samples", shared_pose=True, random_state=0)
model.fit(windows)
start = model.poses(model.encode(windows))["start"][:, 0]
cut = model.align(windows)  # (n, 190): each beat in the same place

# %%
# The average of the windows is flat; that of the aligned beats is a beat. The window has settled
# from peak to peak: where a cycle begins is a convention. One window contains no complete cycle of
# that kind and is not explained.

fig, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
axes[0].plot(pressure[:1500], color="#999999")
axes[0].set(title="the record", xlabel="point", ylabel="pressure")
for ax, rows, name in ((axes[1], windows[:, :190], "windows"), (axes[2], cut, "aligned beats")):
    rows = rows - rows.mean(axis=1, keepdims=True)
    ax.plot(rows.T, color="#0072B2", alpha=0.2, linewidth=0.7)
    ax.plot(rows.mean(axis=0), color="#D55E00", linewidth=2)
    ax.set(title=f"{name} and their average", xlabel="point", ylim=(-30, 50))
    print(f"{name:<14} standard deviation around the average: {rows.std(axis=0).mean():.1f}")

# %%
# When, and how large
# -------------------
# The time of a beat is the place of its window plus the pose. Windows overlap, so that most beats
# are found several times; times within 20 points are one beat.

times = np.sort(95 * np.arange(len(windows)) + start)
beats = [group.mean() for group in np.split(times, np.flatnonzero(np.diff(times) > 20) + 1)]
interval = np.diff(beats)
print(f"{len(beats)} beats, {np.median(interval):.0f} points apart (median)")

# %%
# Two components in one pose are the beat and its main mode of variation.

fig, axes = plt.subplots(1, 2, figsize=(8, 2.6), layout="constrained")
for k, ax in enumerate(axes):
    ax.plot(model.components_[k], color="black")
    ax.set(title=f"component {k + 1}", xlabel="point")

# %%
# Where it does not help
# ----------------------
# A beat that lasts longer is not only later. ``Compose(Shift(190), Scaling(..))`` also stretches,
# at the cost of as many matches as there are factors. If beats have already been detected, and cut
# at the detected peak, only the errors of the detector can be improved.

plt.show()
