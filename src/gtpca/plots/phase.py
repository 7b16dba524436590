"""What phase components do to time."""

from __future__ import annotations

from typing import Any

import numpy as np

from gtpca._typing import Samples
from gtpca.operators.grid import axis_of
from gtpca.plots.panels import need_samples, take_axes
from gtpca.plots.style import quiet
from gtpca.views.palette import BLUE, SKY
from gtpca.views.phase import phase_components

__all__ = ["plot_phase"]

SIZE = (3.4, 3.0)  # size of a panel
SIZES = (-2.0, -1.0, 1.0, 2.0)  # standard deviations


def plot_phase(
    model: Any, X: Samples, n_components: int = 2, component: int = 0, *, ax: Any = None
) -> Any:
    """Plot what each phase component of free warps does to time, one panel per component.

    Lines show how far the clock of the pattern is ahead of that of the sample, at the mean warp
    (dotted) and at the mean plus 1 and 2 (dark) or minus 1 and 2 (light) standard deviations of the
    scores; see :func:`gtpca.views.phase.phase_components`.

    Parameters
    ----------
    model : GTPCA
        Fitted, with the family :class:`gtpca.FreeWarp`.
    X : array (n, \\*sample_shape)
    n_components : int
        The number of panels.
    component : int
        The component of the model whose poses are taken; ignored if poses are shared.
    ax : Axes, array of Axes or None
        One per phase component; see :mod:`gtpca.plots`.

    Returns
    -------
    ax : as given, or a new array of Axes (n_components,)
    """
    need_samples(model, X, "phase components")
    found = phase_components(model, X, n_components, component)
    given, axes = take_axes(ax, (1, n_components), n_components, SIZE)
    operator = model.operator_
    axis = axis_of(operator.grid, operator.moved_axes[0])
    step = axis.step or 1.0
    times = np.asarray(axis.at(np.arange(found.lattice.n_times)))
    unit = f" ({axis.unit})" if axis.unit and axis.step else " (points)"
    for number, panel in enumerate(axes):
        every = found.warps(number, (0.0, *SIZES)) - found.lattice.times
        panel.plot(times, step * every[0], color="0.5", linestyle=":")
        for size, line in zip(SIZES, every[1:], strict=True):
            colour = BLUE if size > 0 else SKY
            panel.plot(times, step * line, color=colour, linewidth=abs(size))
        share = 100 * found.variance_ratio[number]
        panel.set_title(f"phase component {number + 1}: {share:.0f} % of the warps", fontsize=9)
        panel.set_xlabel(f"{axis.name or 'time'}{unit}")
        panel.set_ylabel(f"ahead{unit}" if number == 0 else "")
        quiet(panel)
    return given
