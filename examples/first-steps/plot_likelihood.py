"""
Drawings of a model with a likelihood
=====================================

Beats in strong noise, and a :class:`~gtpca.ProbabilisticGTPCA`: a pattern beside its components.
"""

import matplotlib.pyplot as plt
import numpy as np

from gtpca import ProbabilisticGTPCA, Shift, plots

drawn = {}

# %%
# The beats stand anywhere, and a late wave differs from beat to beat.

rng, t = np.random.default_rng(0), np.arange(30)
pulse, mode = 2 * np.exp(-((t - 14) ** 2) / 8), np.exp(-((t - 20) ** 2) / 8)
beats = rng.standard_normal((300, 90))
for row, start in zip(beats, rng.integers(61, size=300), strict=True):
    row[start : start + 30] += pulse + 1.5 * rng.standard_normal() * mode
density = ProbabilisticGTPCA(1, Shift(30), random_state=0).fit(beats)
print("standard deviation of the noise:", np.sqrt(density.noise_variance_).round(2))

# %%
# Pattern and component.

drawn["components-density"] = plots.plot_components(density)

# %%
# How likely each pose is, where the model is not sure, in a common case, and where it is sure.

three = np.argsort(density.pose_posterior(beats).probability[:, 0])[[20, 150, 280]]
fig, axes = plt.subplots(1, 3, figsize=(9, 2.6), layout="constrained", sharey=True)
drawn["pose-posterior"] = plots.plot_pose_posterior(density, beats, rows=three, ax=axes)
plt.show()
