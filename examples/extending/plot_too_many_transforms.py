"""
All invertible operators would be useless
=========================================

The family decides what a component is. With the identity alone it is PCA. With *all* invertible
linear operators every vector can be moved onto every other: any component explains everything, and
means nothing. Families of more and more random rotations of six-dimensional space show how this
happens, on data with one strong direction and on noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import ortho_group

from gtpca import GTPCA, Custom

# %%
# In ten lines
# ------------
# ``rays`` lie along one direction, ``noise`` along none. As the family grows, the component that
# was fitted to the rays explains both, and so does a component that was fitted to nothing.

rng = np.random.default_rng(0)
rays = rng.standard_normal((500, 1)) * np.eye(6)[0] + 0.1 * rng.standard_normal((500, 6))
noise, any_vector = rng.standard_normal((500, 6)), np.ones(6) / np.sqrt(6)
turns = [np.eye(6), *ortho_group.rvs(6, 9999, random_state=0)]
sizes, shares = [1, 10, 100, 1000, 10_000], []
for size in sizes:
    model = GTPCA(1, Custom(turns[:size]), random_state=0).fit(rays)
    products = np.abs(np.einsum("tij,j,ni->nt", turns[:size], any_vector, rays)).max(axis=1)
    shares.append([1 - model.resmse(rays)[0], 1 - model.resmse(noise)[0], np.sum(products**2)])
    shares[-1][2] /= np.sum(rays**2)

# %%
# With one transform the component tells rays (0.955) from noise (0.175). With ten thousand all
# three are nearly the same, and the error is no measure of anything. A family should move a sample
# in few ways, and in those that really occur: compare what it explains of noise of the same size.

print("transforms   rays  noise  any vector, rays")
for size, share in zip(sizes, shares, strict=True):
    print(f"{size:>10}", *(f"{value:6.3f}" for value in share))

fig, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
for values, style, label in zip(
    np.transpose(shares),
    ("o-", "s-", "^--"),
    ("fitted, on rays", "fitted, on noise", "any vector, on rays"),
    strict=True,
):
    ax.semilogx(sizes, values, style, label=label)
ax.set(xlabel="transforms in the family", ylabel="share of the energy explained", ylim=(0, 1.05))
ax.legend(frameon=False)

plt.show()
