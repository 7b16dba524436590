"""
Gait: two joints, one clock
===========================

Angles of hip and knee of 39 boys during one step (data of the R package fda, by
:func:`~gtpca.datasets.fetch_curves`). Both joints belong to one leg: they are channels, which share
the warp of :class:`~gtpca.FreeWarp`. Does it help? Hidden points decide.
"""

import matplotlib.pyplot as plt

from gtpca import GTPCA, FreeWarp
from gtpca.datasets import fetch_curves
from gtpca.diagnostics import choose_warp
from gtpca.views.phase import phase_components

data = fetch_curves("gait")
X, time = data.data, data.time  # (39, 20, 2) degrees, shares of the step

# %%
# Is a warp supported?
# --------------------
# Poses and scores of held-out boys come from every second time, the error from the times between.

found = choose_warp(X, FreeWarp(axes=0), knots=[1, 3, 5], n_components=(1, 3))
print(found)

# %%
# One clock for both joints
# -------------------------

model = GTPCA(2, FreeWarp(3, axes=0), shared_pose=True, random_state=0).fit(X)
aligned = model.align(X)
for c, joint in enumerate(("hip", "knee")):
    left = aligned[..., c].var(axis=0).sum() / X[..., c].var(axis=0).sum()
    print(f"{joint}: {left:.2f} of the variance is left after alignment")
timing = phase_components(model, X, 1)
print(f"one number describes {timing.variance_ratio[0]:.0%} of the variance of the warps")

fig, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
for c, (joint, colour) in enumerate((("hip", "#0072B2"), ("knee", "#D55E00"))):
    axes[0].plot(time, X[..., c].T, color=colour, linewidth=0.4)
    axes[1].plot(time, aligned[..., c].T, color=colour, linewidth=0.4)
    axes[0].text(0.5, X[:, 10, c].max() + 4, joint, color=colour)
axes[0].set(title="as measured", xlabel="share of the step", ylabel="degrees")
axes[1].set(title="aligned", xlabel="share of the step")
for size, style in ((-2, "--"), (2, "-")):
    warp = timing.warps(0, [size])[0] / 20 + time[0]
    axes[2].plot(time, warp - time, style, color="black", label=f"{size:+d} standard deviations")
axes[2].legend(frameon=False)
axes[2].set(title="first phase component", xlabel="share of the step", ylabel="ahead")
plt.show()
