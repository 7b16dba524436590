"""Drawings of fitted models, with matplotlib (``pip install "gtpca[plot]"``).

All functions follow one convention for ``ax``:

- Given Axes are drawn into, and returned as they were given; pyplot is not touched.
- A drawing with several panels takes an array of Axes (of any shape, or a list), used in its flat
  order; what is more than needed is left alone. A single Axes will do where one panel is needed.
- None makes a new figure of pyplot, and returns its Axes: an array where a drawing may have
  several panels, even if this one has one. Nothing is shown: ``plt.show()`` does that, and
  ``np.ravel(ax)[0].figure.savefig(path)`` writes a file.

Samples are looked at as their shape and the family suggest, as on the page: lines, the rows of a
picture, an image, images side by side, or colours; see
:func:`gtpca.views.samples.choose_view`.

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
    "plot_pose_confidence",
    "plot_pose_posterior",
    "plot_poses",
    "plot_reconstructions",
    "plot_scores",
    "plot_stability",
]
