"""
Colour images
=============

Toadstools in the grass: simulated photographs of 32 x 32 pixels with three colours, with a cap at a
random position, more or less red, on a stem that is more or less bright. ``Shift(axes=(0, 1))``
moves rows and columns; the last axis, the colours, is carried along.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from gtpca import GTPCA, Shift
from gtpca.plots import plot_components

y, x = np.mgrid[-7.5:8, -7.5:8]  # a toadstool has 16 x 16 pixels
cap = ((x / 7) ** 2 + ((y + 2) / 5) ** 2 < 1) & (y < 0)
stem = (abs(x) < 2) & (y >= 0) & (y < 7)
RED, WHITE, GRASS = np.array([0.8, 0.1, 0.1]), np.array([0.9, 0.9, 0.8]), np.array([0.2, 0.4, 0.1])


def photographs(n_samples, random_state):
    """Images minus the colour of grass, (n, 32, 32, 3), and the corner of each toadstool."""
    rng = np.random.default_rng(random_state)
    images = 0.05 * rng.standard_normal((n_samples, 32, 32, 3))
    corners = rng.integers(0, 17, (n_samples, 2))
    for image, (i, j) in zip(images, corners, strict=True):
        red, light = rng.uniform(0.6, 1.2), rng.uniform(0.6, 1.2)
        patch = image[i : i + 16, j : j + 16]
        patch[cap] += red * RED - GRASS
        patch[stem] += light * WHITE - GRASS
    return images, corners


train, _ = photographs(300, random_state=0)
test, corners = photographs(300, random_state=1)

# %%
# Components of 16 x 16 pixels and three colours
# ----------------------------------------------
# There are 17 x 17 positions. Colour is not moved: a red cap does not match a green one elsewhere.

model = GTPCA(2, Shift((16, 16), axes=(0, 1)), random_state=0).fit(train)
left = model.resmse(test)
noise = 0.05**2 * 32 * 32 * 3 / np.mean(np.sum(test**2, axis=(1, 2, 3)))
print(f"GT-PCA, 1 and 2 components: left over {left[0]:.3f} {left[1]:.3f}; noise is {noise:.3f}")
for k in (2, 4, 20):
    pca = PCA(k).fit(train.reshape(300, -1))
    rows = test.reshape(300, -1)
    rest = rows - pca.inverse_transform(pca.transform(rows))
    print(f"PCA, {k:2} components:          left over {np.sum(rest**2) / np.sum(rows**2):.3f}")

codes = model.encode(test)
poses = model.poses(codes)
offset = np.stack([poses["start_0"][:, 0], poses["start_1"][:, 0]], axis=1) - corners
usual = np.median(offset, axis=0)
print(f"found where they are: {np.mean(np.all(offset == usual, axis=1)):.3f} of the toadstools")

# %%
# The first component is the toadstool; the second distinguishes a red cap from a bright stem: its
# score is negative for one and positive for the other. The residual is noise.

fig, axes = plt.subplots(1, 6, figsize=(11, 2.2), layout="constrained")
for ax, image in zip(axes[:2], test, strict=False):
    ax.imshow(np.clip(image + GRASS, 0, 1))
    ax.set_title("a photograph")
for ax, image in zip(axes[2:4], model.decode(codes[:2]), strict=True):
    ax.imshow(np.clip(image + GRASS, 0, 1))
    ax.set_title("rebuilt")
plot_components(model, ax=axes[4:])
for ax in axes:
    ax.set(xticks=[], yticks=[])

plt.show()
