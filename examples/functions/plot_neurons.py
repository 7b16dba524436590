"""
Neurons between two lever presses
=================================

A rat presses a lever twice while 30 neurons of its motor cortex are recorded (Williams et al. 2020,
by :func:`~gtpca.datasets.fetch_neurons`). Sometimes the second press comes soon, sometimes late. Do
the neurons run through the same activity at another pace? A warp with one knot, shared by all
neurons, is fitted to spikes alone; then its slope is compared with the time between the presses,
which the fit does not know.
"""
# sphinx_gallery_thumbnail_path = "images/examples/plot_neurons-1.png"

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter1d

from gtpca import ALS, GTPCA, FreeWarp
from gtpca.datasets import fetch_neurons

warnings.filterwarnings("ignore", message="the means of samples")  # rates are positive
spikes = fetch_neurons()
between = spikes.second - spikes.first  # ms; the first press is always at 500
BIN, BEGIN, END = 30, 400, 1600  # ms
edges = np.arange(BEGIN, END + 1, BIN)
trial = np.arange(len(between))[::6]  # every sixth trial

# %%
# Rates: spikes are counted in bins and smoothed, and every neuron is scaled to variance 1.

counts = np.zeros((len(between), len(edges) - 1, spikes.neuron.max() + 1))
inside = (spikes.time >= BEGIN) & (spikes.time < END)
bins = ((spikes.time[inside] - BEGIN) // BIN).astype(int)
np.add.at(counts, (spikes.trial[inside], bins, spikes.neuron[inside]), 1)
rates = gaussian_filter1d(counts, 1.5, axis=1, mode="nearest")
X, gap = (rates / rates.std(axis=(0, 1)))[trial], between[trial]

# %%
# Fit
# ---
# Rates of single trials are mostly noise: the component is smooth, with six values along time, and
# warps are stiff.

family = FreeWarp(1, "free", weights=6, reach=0.2, stiffness=0.3, axes=0)
model = GTPCA(1, family, solver=ALS(n_init=2), random_state=0).fit(X)
warps = model.operator_.lattice.warp(model.encode(X).pose[:, 0])  # in bins
first, later = (int((t - BEGIN) / BIN) for t in (500, 1100))
slope = (warps[:, later] - warps[:, first]) / (later - first)
print(f"correlation of slope and time between presses: {np.corrcoef(slope, gap)[0, 1]:.2f}")
rng = np.random.default_rng(0)
chance = [np.corrcoef(slope, rng.permutation(gap))[0, 1] for _ in range(1000)]
print(f"the largest of 1000 with shuffled trials: {np.abs(chance).max():.2f}")

# %%
# Where the clock of the neurons is slow (a slope below 1), the second press is late. In single
# trials the slope is uncertain; means of trials show the line.

aligned = model.align(X)
neuron = model.components_[0, 20:].std(axis=0).argmax()  # the one that changes most, after 1 s
fig, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
order, shown = (
    np.argsort(gap),
    {"extent": (BEGIN, END, len(X), 0), "aspect": "auto", "cmap": "Greys"},
)
axes[0].imshow(X[order, :, neuron], **shown)
axes[0].plot(gap[order] + 500, np.arange(len(X)), color="#D55E00")
axes[0].set(title=f"neuron {neuron}, and the second press", xlim=(BEGIN, END), xlabel="ms")
axes[1].imshow(aligned[order, :, neuron], **shown)
axes[1].set(title="aligned", xlabel="ms of the component")
axes[2].plot(slope, gap, ".", color="0.75", markersize=3)
groups = np.array_split(np.argsort(slope), 12)
axes[2].plot([slope[g].mean() for g in groups], [gap[g].mean() for g in groups], "o-")
axes[2].set(title="pace of the neurons", xlabel="slope", ylabel="ms between presses")
plt.show()
