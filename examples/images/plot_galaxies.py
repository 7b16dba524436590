"""
Galaxies in any orientation
===========================

The Hubble deep field, an image that comes with scikit-image. Galaxies are elongated and have random
orientations: PCA of cut-outs spends its components on orientations, while a single component that
may rotate is enough.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage
from skimage import data

from gtpca import GTPCA, Rotation

sky = data.hubble_deep_field().mean(axis=2) / 255

# %%
# Cut-outs
# --------
# We take blobs above a threshold that are large enough and not at the border: a square of 25 pixels
# around the centre of each, in units of its own energy, with a round mask, since corners are
# rotated out of the image.

smooth = ndimage.gaussian_filter(sky, 1.5) - ndimage.gaussian_filter(sky, 20)
blobs, n_blobs = ndimage.label(smooth > 0.08)
numbers = np.arange(1, n_blobs + 1)
size = ndimage.sum_labels(np.ones_like(sky), blobs, numbers)
middle = np.rint(ndimage.center_of_mass(smooth, blobs, numbers)).astype(int)
inside = np.all((middle >= 13) & (middle < np.array(sky.shape) - 13), axis=1)
places = middle[(size > 20) & (size < 400) & inside]
cuts = np.array([sky[r - 12 : r + 13, c - 12 : c + 13] for r, c in places])
y, x = np.mgrid[-12:13, -12:13]
cuts = (cuts - np.median(cuts, axis=(1, 2), keepdims=True)) * (x**2 + y**2 <= 90)
cuts /= np.linalg.norm(cuts, axis=(1, 2), keepdims=True)
X, X_new = cuts[::2], cuts[1::2]
print(f"{len(cuts)} galaxies, half of them for the fit")

# %%
# Fit
# ---
# All components of a galaxy in one orientation.

model = GTPCA(4, Rotation(24), shared_pose=True, random_state=0).fit(X)
pca = GTPCA(4).fit(X)  # nothing turns
print("left over of new galaxies, turning:", model.resmse(X_new).round(3))
print("left over of new galaxies, PCA:    ", pca.resmse(X_new).round(3))

fig, axes = plt.subplots(2, 4, figsize=(8, 4.2), layout="constrained")
for row, name, fit in ((axes[0], "turning", model), (axes[1], "PCA", pca)):
    row[0].set_ylabel(name)
    for ax, component in zip(row, fit.components_, strict=True):
        limit = np.abs(component).max()
        ax.imshow(component, cmap="PuOr", vmin=-limit, vmax=limit)
        ax.set(xticks=[], yticks=[])

# %%
# Turned back
# -----------
# The most elongated ones, those with the largest second moment in one direction; of these, the ten
# that are explained best, which leaves out pairs. Shown as they are, and aligned.

light = np.clip(cuts, 0, None)
spread = np.stack([(light * v).sum(axis=(1, 2)) for v in (x * x - y * y, 2 * x * y)])
long = np.argsort(-np.linalg.norm(spread, axis=0))[:80]
chosen = long[np.argsort(-model.score_samples(cuts[long]))[:10]]
aligned = model.align(cuts[chosen])
fig, axes = plt.subplots(2, 10, figsize=(10, 2.3), layout="constrained")
for row, pictures in ((axes[0], cuts[chosen]), (axes[1], aligned)):
    for ax, picture in zip(row, pictures, strict=True):
        ax.imshow(picture, cmap="gray")
        ax.set(xticks=[], yticks=[])
angles = model.poses(model.encode(cuts))["degrees"][:, 0]
counts = np.histogram(angles % 180, bins=6, range=(0, 180))[0]
print("galaxies by direction, 30 degrees each:", counts)

# %%
# Where it does not help
# ----------------------
# A round galaxy has no orientation: its angle is noise. If only rotations matter and there are many
# images, steerable PCA covers all angles at once, without a grid.

plt.show()
