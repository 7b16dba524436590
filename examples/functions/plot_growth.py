"""
Growth: when, and how much
==========================

39 boys and 54 girls were measured from their first to their eighteenth birthday (data of the R
package fda, by :func:`~gtpca.datasets.fetch_curves`). Every child has a growth spurt, at an age of
its own: the mean of all curves has a broad hump that no child has. :class:`~gtpca.FreeWarp` gives
every child a clock of its own. What remains is *how much* children grow; the clocks tell *when*.
"""
# sphinx_gallery_thumbnail_path = "images/examples/plot_growth-1.png"

import warnings

import matplotlib.pyplot as plt
import numpy as np

from gtpca import GTPCA, FreeWarp, labelled
from gtpca.datasets import fetch_curves
from gtpca.diagnostics import choose_warp
from gtpca.plots import plot_phase
from gtpca.views.phase import phase_components

warnings.filterwarnings("ignore", message="the means of samples")  # children do grow
data = fetch_curves("growth")
age = np.arange(4.25, 18, 0.5)
middle = (data.time[1:] + data.time[:-1]) / 2
speed = np.diff(data.data) / np.diff(data.time)  # cm a year
X = np.array([np.interp(age, middle, child) for child in speed])
girl = data.target == "girl"

# %%
# Clocks
# ------
# Both components share the clock of a child. The principal components of the clocks are scores of
# timing, beside the scores of shape.

years = labelled(X, rate=2, start=age[0], unit="years")
model = GTPCA(2, FreeWarp(knots=3), shared_pose=True, random_state=0).fit(years)
aligned = np.asarray(model.align(years))
timing = phase_components(model, years, 2)
early = timing.scores[:, 0] * np.sign(timing.components[0].sum())
earlier = np.mean(early[girl][:, None] > early[~girl])
print(f"the girl is the earlier one in {earlier:.0%} of all pairs of a girl and a boy")


def largest(curves):
    """Where the mean of the curves is largest after the age of 8, and how large."""
    mean = np.where(age > 8, curves.mean(axis=0), 0)
    return age[mean.argmax()], mean.max()


for name, who in (("girls", girl), ("boys", ~girl)):
    (when, before), (_, after) = largest(X[who]), largest(aligned[who])
    print(f"{name}: at {when:.1f} years, {before:.1f} cm a year in the mean, aligned {after:.1f}")

fig, axes = plt.subplots(1, 4, figsize=(13, 3), layout="constrained")
for ax, curves, title in ((axes[0], X, "as measured"), (axes[1], aligned, "aligned")):
    for who, colour in ((girl, "#D55E00"), (~girl, "#0072B2")):
        ax.plot(age, curves[who].T, color=colour, linewidth=0.3, alpha=0.5)
        ax.plot(age, curves[who].mean(axis=0), color=colour, linewidth=2)
    ax.set(title=title, xlabel="age", ylim=(0, 14))
axes[0].set_ylabel("cm a year")
plot_phase(model, years, 2, ax=axes[2:])

# %%
# The first phase component makes the whole spurt early or late, which separates girls (orange) from
# boys (blue); the second shifts growth between childhood and the spurt. Aligned, the mean spurt is
# as high as that of a child.
#
# What the warp does not give
# ---------------------------
# A shorter description is not what is gained. At ages that are hidden, and with as many numbers per
# child, ordinary components predict as well as clocks; they only do not say when.

found = choose_warp(X, knots=[3], weights=14, n_components=2)
print(found.sentence.split(";")[0])
plt.show()
