"""
Growth: when, and how much
==========================

39 boys and 54 girls were measured from their first to their eighteenth birthday (data of the R
package fda, by :func:`~gtpca.datasets.fetch_curves`). Every child has a growth spurt, at an age of
its own: the mean of all curves has a broad hump that no child has. :class:`~gtpca.FreeWarp` gives
every child a clock of its own. What remains is *how much* children grow; the clocks tell *when*.
"""

import matplotlib.pyplot as plt
import numpy as np

from gtpca import GTPCA, FreeWarp, labelled
from gtpca.datasets import fetch_curves
from gtpca.diagnostics import choose_warp
from gtpca.plots import plot_phase
from gtpca.views.phase import phase_components

data = fetch_curves("growth")
age = np.arange(4.25, 18, 0.5)
middle = (data.time[1:] + data.time[:-1]) / 2
speed = np.diff(data.data) / np.diff(data.time)  # cm a year
X = np.array([np.interp(age, middle, child) for child in speed])
girl = data.target == "girl"

# %%
# Is a warp supported?
# --------------------
# Warps fit whatever they are given, so we ask at points that had no say: poses and scores come from
# every second age, the error from the ages in between.

found = choose_warp(X, knots=[1, 3, 5], n_components=(1, 2))
print(found.sentence.split(";")[0])

# %%
# Clocks
# ------
# All components share the clock of a child. The principal components of the clocks are scores of
# timing, beside the scores of shape.

years = labelled(X, rate=2, start=age[0], unit="years")
model = GTPCA(2, FreeWarp(knots=3), shared_pose=True, random_state=0).fit(years)
aligned = np.asarray(model.align(years))
timing = phase_components(model, years, 2)
early = timing.scores[:, 0] * np.sign(timing.components[0].sum())
pairs = np.mean(early[girl][:, None] > early[~girl])
print(f"the girl is the earlier one in {pairs:.0%} of all pairs of a girl and a boy")


def largest(curves):
    """The age at which the mean of the curves is largest after the age of 8, and its height."""
    mean = np.where(age > 8, curves.mean(axis=0), 0)
    return age[mean.argmax()], mean.max()


for name, who in (("girls", girl), ("boys", ~girl)):
    (when, before), (_, after) = largest(X[who]), largest(aligned[who])
    print(f"{name}: spurt at {when:.1f} years; of the mean {before:.1f} cm, aligned {after:.1f} cm")

fig, axes = plt.subplots(1, 4, figsize=(13, 3), layout="constrained")
for ax, curves, title in ((axes[0], X, "as measured"), (axes[1], aligned, "aligned")):
    for who, colour in ((girl, "#D55E00"), (~girl, "#0072B2")):
        ax.plot(age, curves[who].T, color=colour, linewidth=0.3, alpha=0.5)
        ax.plot(age, curves[who].mean(axis=0), color=colour, linewidth=2)
    ax.set(title=title, xlabel="age", ylim=(0, 14))
axes[0].set_ylabel("cm a year")
plot_phase(model, years, 2, ax=axes[2:])

# %%
# The first phase component makes the whole spurt early or late, and separates girls (orange) from
# boys (blue); the second, much smaller, changes how long it lasts. The scores of shape know little
# of this: the first is how fast a child grows.

shape = model.transform(years)
print(
    "pairs told apart by shape:",
    *(f"{_:.0%}" for _ in np.sort([np.mean(s[girl][:, None] > s[~girl]) for s in shape.T])),
)
plt.show()
