"""
Handwriting, cut at random
==========================

The letters "fda", written twenty times: the position of the pen along 2.3 seconds (data of the R
package fda, by :func:`~gtpca.datasets.fetch_handwriting`). We see a part of 1.5 seconds of each,
and do not know which part. The component is longer than the samples: each sample is a crop of it,
and the pose tells which. Time is the axis that moves, and the coordinates are channels that are
carried along.
"""
# sphinx_gallery_thumbnail_path = "images/examples/plot_handwriting-1.png"

import matplotlib.pyplot as plt
import numpy as np

from gtpca import GTPCA, Shift, TimeWarp
from gtpca.datasets import fetch_handwriting

data = fetch_handwriting()
pen = 1000 * data.data[:, ::8]  # (20, 176, 2): millimetres, every 13 ms
pen = pen - pen.mean(axis=(0, 1))
rng = np.random.default_rng(0)
LENGTH = 115


def crops(curves, n_each):
    """Parts of the curves (n, LENGTH, 2), where each begins, and of which curve it is."""
    of = np.repeat(np.arange(len(curves)), n_each)
    start = rng.integers(curves.shape[1] - LENGTH + 1, size=len(of))
    return np.stack([curves[i, s : s + LENGTH] for i, s in zip(of, start, strict=True)]), start


X, _ = crops(pen[:15], 8)
X_new, start = crops(pen[15:], 8)  # five writings that the fit has not seen

# %%
# Fit
# ---
# A window of 176 points on samples of 115: 62 places.

model = GTPCA(2, Shift(window=176, axes=0), shared_pose=True, random_state=0).fit(X)
pca = GTPCA(2).fit(X)
print("left over of new crops, shift:", model.resmse(X_new).round(3))
print("left over of new crops, PCA:  ", pca.resmse(X_new).round(3))
found = -model.poses(model.encode(X_new))["start"][:, 0]
error = found - start
error -= np.rint(np.median(error)).astype(int)  # only differences mean something
print(f"{np.mean(np.abs(error) <= 2):.0%} of the crops are placed within 2 points (26 ms)")

# %%
# The component is the whole writing, assembled from parts: drawn as a path, it can be read.

fig, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
axes[0].plot(*X_new[0].T, color="#0072B2")
axes[0].plot(*X_new[9].T, color="#D55E00")
axes[0].set(title="two samples", aspect="equal")
path = model.components_[0] * np.sign(np.sum(model.components_[0] * pen.mean(axis=0)))
axes[1].plot(*path.T, color="black")
axes[1].set(title="component 1", aspect="equal")
axes[2].plot(start, found, ".", color="#0072B2")
axes[2].set(title="where the crop begins", xlabel="true", ylabel="found")

# %%
# Where it does not help
# ----------------------
# The twenty writings are well synchronised. If nothing is cut, warping time gains nothing for new
# writings: the data were aligned before they were published.

for name, family in (("PCA", None), ("warp", TimeWarp(np.linspace(-0.04, 0.04, 9), axes=0))):
    whole = GTPCA(2, family, shared_pose=True, random_state=0).fit(pen[:15])
    print(f"whole writings, {name:<5} left over: {whole.resmse(pen[15:])[1]:.4f}")
plt.show()
