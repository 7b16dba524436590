"""
Spikes at random times
======================

Every signal contains one spike, at an unknown time, of unknown height and width, in noise. Ordinary
PCA needs a component for every possible position of a spike. Here a component is a short window
that may be anywhere, even partly outside the signal.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from gtpca import GTPCA, Shift
from gtpca.datasets import make_spikes

train, _ = make_spikes(500, random_state=0)
test, _ = make_spikes(500, random_state=1)
clean, _ = make_spikes(500, noise=0.0, random_state=1)  # the same spikes without the noise

# %%
# Fit
# ---
# ``boundary="partial"`` lets half of the window extend beyond the border, for spikes that are cut
# there.

model = GTPCA(3, Shift(window=64, boundary="partial"), random_state=0).fit(train)
pca = PCA(3).fit(train)
left = np.sum((test - pca.inverse_transform(pca.transform(test))) ** 2) / np.sum(test**2)
print("ResMSE of GT-PCA with 1, 2, 3 components:", model.resmse(test).round(3))
print(f"ResMSE of PCA with 3 components: {left:.3f}")
print(f"share of the noise: {np.sum((test - clean) ** 2) / np.sum(test**2):.3f}")

fig, axes = plt.subplots(1, 3, figsize=(9, 2.4), sharey=True, layout="constrained")
for k, ax in enumerate(axes):
    ax.plot(model.components_[k], color="black")
    ax.set_title(f"component {k + 1}")

# %%
# Poses
# -----
# A code is a score and a pose. In physical units, the pose of a shift is the start and the centre
# of the window. The centre follows the spike at a fixed distance, since the spike need not be in
# the middle of the window.

codes = model.encode(test)
centre = model.poses(codes)["centre"][:, 0]
distance = centre - clean.argmax(axis=1)
off = np.abs(distance - np.median(distance))
print(f"the window's centre is {np.median(distance):+.1f} points from the spike (median);")
print(f"{np.mean(off <= 3):.1%} of the signals are within 3 points of that")

# %%
# Alignment
# ---------
# :meth:`~gtpca.GTPCA.align` cuts the window out of every signal: all spikes lie on top of each
# other, and only their height and width still vary.

fig, (before, after) = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
before.plot(test[:40].T, color="#0072B2", alpha=0.3, linewidth=0.8)
before.set_title("40 signals")
after.plot(model.align(test[:40]).T, color="#0072B2", alpha=0.3, linewidth=0.8)
after.set_title("the same, aligned to component 1")

# %%
# A warning
# ---------
# The best of many positions always fits something. Without any spike in the data, the windows
# settle where the noise happens to look like the component, and the average of the aligned noise
# has the shape of the component, although there is nothing to find. (With ``polarity="positive"``
# no window matches upside down; otherwise the average would cancel.) Before you believe a
# component, fit the same family to noise.

noise, _ = make_spikes(500, spike_probability=0.0, random_state=2)
fresh, _ = make_spikes(500, spike_probability=0.0, random_state=3)
nothing = GTPCA(1, model.family, polarity="positive", random_state=0).fit(noise)
straight = GTPCA(1).fit(noise)  # nothing moves: ordinary PCA
for name, fit in (("a moving window", nothing), ("PCA", straight)):
    print(f"{name}: one component 'explains' {fit.score(noise):.1%} of pure noise", end="")
    print(f" and {fit.score(fresh):.1%} of new noise")
average = nothing.align(fresh).mean(axis=0)
likeness = np.corrcoef(average, nothing.components_[0])[0, 1]
print(f"correlation of the component with the average of aligned new noise: {likeness:.2f}")

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(average, color="#D55E00", label="average of new noise, aligned")
ax.plot(fresh[:, :64].mean(axis=0), "--", color="#999999", label="the same, not aligned")
ax.set_ylim(top=0.3)
ax.legend(frameon=False)
plt.show()
