"""
A short video
=============

Somebody waves a hand, at a random position and time: videos of 20 frames of 20 x 20 pixels, each
with a wave that lasts 8 frames. A component is itself a short video, and ``Shift((8, 10, 10))``
moves it in time and space: three axes, 13 x 11 x 11 positions.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from gtpca import GTPCA, Shift

time, row, column = np.ogrid[:8, :10, :10]
place = 4.5 + 3 * np.sin(np.pi * (time - 3.5) / 4)  # of the hand, in columns: right, left, right
distance = (row - 4.5) ** 2 + (column - place) ** 2


def videos(n_samples, random_state):
    """Noisy videos (n, 20, 20, 20), and first frame, row and column of each wave."""
    rng = np.random.default_rng(random_state)
    X = 0.05 * rng.standard_normal((n_samples, 20, 20, 20))
    starts = np.stack([rng.integers(0, size, n_samples) for size in (13, 11, 11)], axis=1)
    for video, (t, i, j) in zip(X, starts, strict=True):
        hand = np.exp(-distance / rng.uniform(1, 4))  # small and large ones
        video[t : t + 8, i : i + 10, j : j + 10] += rng.uniform(0.7, 1.3) * hand
    return X, starts


train, _ = videos(120, random_state=0)
test, starts = videos(60, random_state=1)

# %%
# Found in time and space
# -----------------------

model = GTPCA(2, Shift((8, 10, 10)), random_state=0).fit(train)
noise = 0.05**2 * 20**3 / np.mean(np.sum(test**2, axis=(1, 2, 3)))
left = model.resmse(test)
print(f"left over, 1 and 2 components: {left[0]:.3f} {left[1]:.3f}; noise is {noise:.3f}")
pca = PCA(20).fit(train.reshape(120, -1))
flat = test.reshape(60, -1)
rest = flat - pca.inverse_transform(pca.transform(flat))
print(f"left over, PCA with 20:        {np.sum(rest**2) / np.sum(flat**2):.3f}")
poses = model.poses(model.encode(test))
found = np.stack([poses[f"start_{axis}"][:, 0] for axis in range(3)], axis=1)
near = found - starts == np.median(found - starts, axis=0)  # up to where it sits in the window
print("found, of all frames, rows, columns:", *near.mean(axis=0).round(3))

# %%
# The components
# --------------
# The first is a moving hand, the second makes it larger or smaller. PCA would need a component for
# every position and time. Averaged at the positions found, all videos look alike.

fig, axes = plt.subplots(3, 8, figsize=(10, 4), layout="constrained")
shown = [model.components_[0], model.components_[1], model.align(test).mean(axis=0)]
names = ["component 1", "component 2", "mean, aligned"]
for ax, frame in zip(axes[0], range(1, 9), strict=True):
    ax.set_title(f"frame {frame}")
for line, name, video in zip(axes, names, shown, strict=True):
    largest = np.abs(video).max()
    for ax, image in zip(line, video, strict=True):
        ax.imshow(image, cmap="PuOr", vmin=-largest, vmax=largest)
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name)

plt.show()
