"""
What components of handwritten digits do
========================================

The paper says about shifted digits that the first component is roughly their mean, and that the
second and the fourth mainly change the bottom and the top of the digits. Here we use MNIST digits,
each somewhere in an image of 44 x 44 pixels. Since we know where each digit is, we can measure
where a component acts.
"""
# sphinx_gallery_thumbnail_path = "images/examples/plot_digit_components-1.png"

import matplotlib.pyplot as plt
import numpy as np

from gtpca import GTPCA, Shift
from gtpca.datasets import fetch_mnist, random_embedding

digits = fetch_mnist("train").data[:1000].astype(np.float32)
X, corners = random_embedding(digits, (44, 44), random_state=0)
model = GTPCA(4, Shift((28, 28)), random_state=0).fit(X)
codes = model.encode(X)

# %%
# Where a component acts
# ----------------------
# Each component has its own position in every image. Its squared contribution is summed along the
# rows of the original 28 x 28 pixels of the digit, which gives a profile from top to bottom.

rebuilt = [np.zeros_like(X), *(model.decode(codes.first(k)) for k in range(1, 5))]
added = np.diff(rebuilt, axis=0)


def profile(part):
    """Energy of what a component adds, by row of the digit, (28,); it sums to 1."""
    boxes = [image[i : i + 28, j : j + 28] for image, (i, j) in zip(part, corners, strict=True)]
    rows = np.sum(np.square(boxes), axis=(0, 2))
    return rows / rows.sum()


profiles = [profile(part) for part in added]
original = profile(X)
print("share of the energy   top  middle  bottom")
names = ["digits", *(f"component {k}" for k in range(1, 5))]
for name, p in zip(names, [original, *profiles], strict=True):
    print(f"{name:<18}", *(f"{part.sum():7.2f}" for part in (p[:10], p[10:18], p[18:])))

# %%
# The first component is spread like the digits themselves. The fourth acts at the top more than
# any other, as the paper says. The second and the third leave the top alone and bend what is below
# it; at the very bottom the third does more than the second.

fig, axes = plt.subplots(2, 5, figsize=(10, 4.2), layout="constrained")
for k, component in enumerate(model.components_):
    largest = np.abs(component).max()
    axes[0, k].imshow(component, cmap="PuOr", vmin=-largest, vmax=largest)
    axes[0, k].set(title=f"component {k + 1}", xticks=[], yticks=[])
    axes[0, 4].plot(profiles[k], np.arange(28), label=f"component {k + 1}")
axes[0, 4].plot(original, np.arange(28), "--", color="#999999", label="digits")
axes[0, 4].set(title="energy by row", ylim=(27.5, -0.5))
axes[0, 4].legend(frameon=False, fontsize=6, loc="lower right")
axes[1, 0].imshow(X[0], cmap="gray")
axes[1, 0].set_title("a digit")
for k in range(1, 5):
    axes[1, k].imshow(rebuilt[k][0], cmap="gray", vmin=0, vmax=255)
    axes[1, k].set_title(f"from {k}")
for ax in axes[1]:
    ax.set(xticks=[], yticks=[])

plt.show()
