"""
Drawings of fitted models
=========================

The functions of :mod:`gtpca.plots`. They take Axes and return them, or make a new figure. How to
read the drawings is said in docs/plots.md, which shows those that are kept in ``drawn``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import lfilter
from sklearn.datasets import load_digits

from gtpca import GTPCA, Compose, Reflection, Rotation, Shift, labelled, plots
from gtpca.datasets import make_spikes, random_embedding, random_rotation
from gtpca.diagnostics import choose, noise_floor, pose_confidence, stability

drawn = {}

# %%
# Curves
# ------
# One spike in each signal, at a random time, of random height and width.

train, _ = make_spikes(500, random_state=0)
spikes, _ = make_spikes(500, random_state=1)
model = GTPCA(3, Shift(window=64, boundary="partial"), random_state=0).fit(train)
print("explained:", model.explained_energy_ratio_.round(3))

drawn["components-curves"] = plots.plot_components(model)
drawn["reconstructions-curves"] = plots.plot_reconstructions(model, spikes, rows=(6, 31, 34))
drawn["perturbation-curves"] = plots.plot_perturbation(model, spikes)
drawn["energy"] = plots.plot_energy(model, spikes)
drawn["history"] = plots.plot_history(model)

# %%
# Images
# ------
# Digits of 8 x 8 pixels, each turned at random; all components of an image share its angle.

flat, digit = load_digits(return_X_y=True)
few = np.flatnonzero(digit < 4)[:500]
turned, _ = random_rotation(flat[few].reshape(-1, 8, 8), angles=20, random_state=0)
images = GTPCA(6, Rotation(angles=20), shared_pose=True, random_state=0).fit(turned)
print("explained:", images.explained_energy_ratio_.round(3))

drawn["components-images"] = plots.plot_components(images)
drawn["reconstructions-images"] = plots.plot_reconstructions(images, turned, counts=(1, 3, 6))
drawn["perturbation-images"] = plots.plot_perturbation(images, turned, components=(0, 1, 2))
drawn["scores"] = plots.plot_scores(images, turned, labels=digit[few], thumbnails=20)

# %%
# Channels
# --------
# The first signals again, as if three sensors heard each spike, one after the other.

inner = spikes[np.abs(spikes.argmax(axis=1) - 128) < 80]  # not cut by the border
heard = np.stack([inner, 0.6 * np.roll(inner, 8, 1), -0.4 * np.roll(inner, 16, 1)], axis=-1)
series = GTPCA(2, Shift(96, axes=0), random_state=0).fit(heard)
drawn["components-series"] = plots.plot_components(series)

# %%
# Poses
# -----
# Each kind of pose has its own drawing, here side by side. A family with several poses takes
# several Axes: ramps that stand anywhere, and some of which are mirrored.

rng = np.random.default_rng(0)
ramps = 0.1 * rng.standard_normal((400, 100))
for row, start in zip(ramps, rng.binomial(70, 0.4, 400), strict=True):
    row[start : start + 30] += np.linspace(0, 1, 30)[:: rng.choice([1, 1, -1])]
mirrored = GTPCA(1, Compose(Shift(30), Reflection()), random_state=0).fit(ramps)
placed, _ = random_embedding(turned, (16, 16), random_state=0)
shifted = GTPCA(1, Shift((8, 8)), random_state=0).fit(placed)

fig = plt.figure(figsize=(12, 3), layout="constrained")
axes = [fig.add_subplot(1, 4, j + 1, projection="polar" if j == 2 else None) for j in range(4)]
drawn["poses"] = plots.plot_poses(mirrored, ramps, ax=axes[:2])
plots.plot_poses(images, turned, ax=axes[2])
plots.plot_poses(shifted, placed, ax=axes[3])

# %%
# Noise
# -----
# Pulses in noise that wanders, as if 250 values a second had been recorded: its spectrum.

wander = lfilter([1.0], [1.0, -0.9], rng.standard_normal((200, 220)))[:, 100:]
for row, start in zip(wander, rng.integers(0, 96, 200), strict=True):
    row[start : start + 24] += 8 * np.hanning(24) * np.sin(np.arange(24))
coloured = GTPCA(1, Shift(24), noise="stationary", random_state=0).fit(labelled(wander, rate=250))
drawn["noise"] = plots.plot_noise(coloured)

# %%
# What is real
# ------------
# What diagnostics found has drawings of its own, which ``plot()`` of each result makes too: of the
# ramps, of which a second component is noise.

two = GTPCA(2, Compose(Shift(30), Reflection()), random_state=0).fit(ramps[:150])
fig, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
drawn["diagnostics"] = plots.plot_noise_floor(noise_floor(two, ramps[:150]), ax=axes[0])
plots.plot_stability(stability(two, ramps[:150]), ax=axes[1])
plots.plot_pose_confidence(pose_confidence(two, ramps[:150]), ax=axes[2])
plots.plot_choice(choose(ramps[:100], "shift", (20, 60), (1, 2), n_folds=2), ax=axes[3])
plt.show()
