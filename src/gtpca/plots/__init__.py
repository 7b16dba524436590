"""Plots of fitted models, with matplotlib (``pip install "gtpca[plot]"``).

All functions follow one convention for ``ax``:

- If Axes are given, they are drawn into and returned unchanged; pyplot is not used.
- A plot with several panels takes an array of Axes (of any shape, or a list), used in its flat
  order; superfluous ones are not touched. A single Axes is enough if one panel is needed.
- None creates a new pyplot figure and returns its Axes: an array if a plot may have several panels,
  even if this one has only one. Nothing is shown: call ``plt.show()`` for that, or
  ``np.ravel(ax)[0].figure.savefig(path)`` to write a file.

Samples are displayed as their shape and the family suggest, as on the page: lines, the rows of a
picture, an image, images side by side, or colours; see :func:`gtpca.views.samples.choose_view`.
Functions ask a model for arrays and draw them; matplotlib is imported only to draw.

Examples
--------
>>> from gtpca import GTPCA, Shift, plots
>>> from gtpca.datasets import make_spikes
>>> X, _ = make_spikes(50, random_state=0)
>>> model = GTPCA(2, Shift(window=64), random_state=0).fit(X)
>>> ax = plots.plot_components(model)  # doctest: +SKIP
"""

from gtpca.plots.components import plot_components, plot_reconstructions
from gtpca.plots.diagnostics import (
    plot_choice,
    plot_noise_floor,
    plot_pose_confidence,
    plot_stability,
)
from gtpca.plots.events import plot_events, plot_intervals
from gtpca.plots.kinds import plot_kinds
from gtpca.plots.noise import plot_noise
from gtpca.plots.perturbation import plot_perturbation
from gtpca.plots.phase import plot_phase
from gtpca.plots.poses import plot_pose_posterior, plot_poses
from gtpca.plots.progress import plot_energy, plot_history
from gtpca.plots.scores import plot_scores

__all__ = [
    "plot_choice",
    "plot_components",
    "plot_energy",
    "plot_events",
    "plot_history",
    "plot_intervals",
    "plot_kinds",
    "plot_noise",
    "plot_noise_floor",
    "plot_perturbation",
    "plot_phase",
    "plot_pose_confidence",
    "plot_pose_posterior",
    "plot_poses",
    "plot_reconstructions",
    "plot_scores",
    "plot_stability",
]
