"""
Gait: two joints, one clock or two
==================================

Angles of hip and knee of 39 boys during one step (data of the R package fda, by
:func:`~gtpca.datasets.fetch_curves`). Joints are channels, which share the warp of
:class:`~gtpca.FreeWarp`. Do both joints run by one clock? Points that were hidden decide.
"""
# sphinx_gallery_thumbnail_path = "images/examples/plot_gait-1.png"

import warnings

import matplotlib.pyplot as plt
import numpy as np

from gtpca import GTPCA, FreeWarp
from gtpca.datasets import fetch_curves
from gtpca.views.phase import phase_components

warnings.filterwarnings("ignore", message="the means of samples")  # angles have an offset
data = fetch_curves("gait")
X, time = data.data, data.time  # (39, 20, 2) degrees, shares of the step
odd = np.arange(20)[:, None] % 2 == 1


def error(family, channels):
    """Error at odd times of every second boy, from the even times and two components."""
    how = {"shared_pose": True, "missing": "ignore", "random_state": 0}
    Y = X[..., channels]
    model = GTPCA(2, family, **how).fit(Y[::2])
    wrong = np.where(odd, Y[1::2] - model.reconstruct(np.where(odd, np.nan, Y[1::2])), 0)
    return np.sum(wrong**2)


# %%
# Hidden points
# -------------
# Two components and a warp with three knots are fitted to every second boy. Of the others, poses
# and scores are found from every second time; the error is that of the times in between, as a share
# of the energy there.

energy = np.sum(np.where(odd, X[1::2], 0) ** 2)
free = FreeWarp(3, weights=20, axes=0)
for name, family in (("no warp", None), ("free warps", free)):
    together = error(family, [0, 1]) / energy
    apart = (error(family, [0]) + error(family, [1])) / energy
    print(f"{name:>10}: joints together {together:.2%}, each by itself {apart:.2%}")

# %%
# Warps help in both cases. Each joint by itself, with components and a clock of its own, is
# described better: the clocks of hip and knee agree only in part.

joints, scores = ("hip", "knee"), []
fig, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
for c, colour in enumerate(("#0072B2", "#D55E00")):
    Y = X[..., [c]]
    model = GTPCA(2, free, shared_pose=True, random_state=0).fit(Y)
    scores.append(phase_components(model, Y, 1).scores[:, 0])
    axes[0].plot(time, Y[..., 0].T, color=colour, linewidth=0.4)
    axes[0].plot([], color=colour, label=joints[c])
    axes[1].plot(time, model.align(Y)[..., 0].T, color=colour, linewidth=0.4)
print(f"correlation of the two clocks: {np.corrcoef(scores)[0, 1]:.2f}")
axes[0].legend(frameon=False)
axes[0].set(title="as measured", xlabel="share of the step", ylabel="degrees")
axes[1].set(title="aligned, each joint by itself", xlabel="share of the step")
axes[2].plot(*scores, "o", color="black", markersize=3)
axes[2].set(title="first phase component (points)", xlabel="hip", ylabel="knee")
plt.show()
