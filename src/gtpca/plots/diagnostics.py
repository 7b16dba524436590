"""Plots of diagnostics: bands of noise, similarities, margins, and errors over windows."""

from __future__ import annotations

import numpy as np

from gtpca.plots.panels import take_single
from gtpca.plots.style import labelled
from gtpca.views.palette import BLUE, CYCLE, GREY, MARKERS, RED

__all__ = ["plot_choice", "plot_noise_floor", "plot_pose_confidence", "plot_stability"]


def plot_noise_floor(found, *, ax=None):
    """Plot the share of the residual that each component explains, with surrogates and their bar.

    Parameters
    ----------
    found : NoiseFloor
        What :func:`gtpca.diagnostics.noise_floor` returns.
    ax : Axes or None
        See :mod:`gtpca.plots`.

    Returns
    -------
    Axes
    """
    ax, number = take_single(ax, (4.8, 3.2)), np.arange(1, len(found.gains) + 1)
    every = np.repeat(number, found.surrogates.shape[1])
    ax.plot(every, found.surrogates.ravel(), ".", color=GREY, label="surrogates", markersize=4)
    ax.plot(number, found.band, "_", color=RED, label=f"bar, level {found.level:g}", markersize=16)
    ax.plot(number, found.gains, "o", color=BLUE, label="components")
    return labelled(ax, "component", "explained share of what is left")


def plot_stability(found, *, ax=None):
    """Plot the similarity of components between halves of the rows and between seeds.

    Parameters
    ----------
    found : Stability
        What :func:`gtpca.diagnostics.stability` returns.
    ax : Axes or None
        See :mod:`gtpca.plots`.

    Returns
    -------
    Axes
    """
    ax, number = take_single(ax, (4.8, 3.2)), np.arange(1, found.halves.shape[1] + 1)
    for values, look, name in ((found.halves, "o", "halves"), (found.seeds, "x", "seeds")):
        colour = BLUE if name == "halves" else GREY
        every = np.tile(number, len(values))
        ax.plot(every, values.ravel(), look, color=colour, label=name, markersize=4)
    ax.axhline(found.threshold, color=RED, linestyle="--", label="threshold")
    ax.set_ylim(0, 1.03)
    return labelled(ax, "component", "similarity")


def plot_pose_confidence(found, *, ax=None):
    """Plot the margins of all samples in ascending order, and the bar for ambiguous poses.

    Parameters
    ----------
    found : PoseConfidence
        What :func:`gtpca.diagnostics.pose_confidence` returns.
    ax : Axes or None
        See :mod:`gtpca.plots`.

    Returns
    -------
    Axes
    """
    ax = take_single(ax, (4.8, 3.2))
    share = (np.arange(len(found.margin)) + 0.5) / len(found.margin)
    for k, margins in enumerate(found.margin.T):
        look = {"color": CYCLE[k % len(CYCLE)], "marker": MARKERS[k % len(MARKERS)]}
        ax.plot(share, np.sort(margins), label=f"component {k + 1}", markersize=2, **look)
    ax.axhline(found.clear, color=RED, linestyle="--", label="odds of 19 to 1")
    ax.set_yscale("symlog")
    ax.set_ylim(bottom=0)
    return labelled(ax, "share of the samples", "margin (nats)", integers=False)


def plot_choice(found, *, ax=None):
    """Plot held-out error over windows, and which of them are as good as the best.

    Bars are standard errors of the difference to the best window, which has none. If the family has
    no window, the plot shows what components explain, compared with noise.

    Parameters
    ----------
    found : Choice
        What :func:`gtpca.diagnostics.choose` returns.
    ax : Axes or None
        See :mod:`gtpca.plots`.

    Returns
    -------
    Axes
    """
    ax = take_single(ax, (4.8, 3.2))
    if found.window is None:
        number = np.arange(1, len(found.gains) + 1)
        ax.plot(number, found.band, "_", color=RED, label="bar of noise", markersize=16)
        ax.plot(number, found.gains, "o", color=BLUE, label="components")
        return labelled(ax, "component", "explained share of what is left")
    errors, spread = found.table["error"], found.table["+-"]
    ax.axvspan(*found.flat, color=GREY, alpha=0.3, label="within one standard error")
    ax.errorbar(found.windows, errors, spread, fmt="o-", color=BLUE, markersize=4)
    ax.plot(found.window, errors.min(), "o", color=RED, label=f"window {found.window}")
    ax.set_xscale("log")
    ticks = sorted({min(found.windows), found.window, max(found.windows)})
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.set_xticks([], minor=True)
    return labelled(ax, "window", "held-out error", integers=False)
