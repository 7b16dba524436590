"""Explained energy by number of components, and by number of passes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gtpca._typing import Samples
from gtpca.plots.panels import need_one_kind, take_single
from gtpca.plots.style import labelled
from gtpca.views.measures import PCA, uncentred_pca
from gtpca.views.palette import BLUE, CYCLE, MARKERS, RED
from gtpca.views.parts import is_density, parts

__all__ = ["plot_energy", "plot_history"]


def plot_energy(model: Any, X: Samples = None, *, ax: Any = None) -> Any:
    """Plot the explained share of the energy over the number of components.

    Without ``X``, the share is that of the training rows. With it, the plot shows ``1 -
    model.resmse(X)`` and, for comparison, "PCA (uncentred)": the same number of components of ``X``
    itself that cannot move. This PCA sees the rows as the model does, after the model's own
    centring and weighting, and subtracts no further mean. It is omitted if the components of the
    model cannot move either. Note that GT-PCA has a pose in addition to every score.

    The line of a density begins with its pattern, at 0 components; without ``X``, its shares are
    those that it expects.

    Parameters
    ----------
    model : GTPCA or ProbabilisticGTPCA
        Fitted.
    X : array (n, \\*sample_shape) or (n, d), or None
        If there are too many rows, PCA uses a sample; the legend says so.
    ax : Axes or None
        See :mod:`gtpca.plots`.

    Returns
    -------
    Axes
    """
    check_is_fitted(model)
    need_one_kind(model, "energies")
    own = np.cumsum([part.share for part in parts(model)]) if X is None else 1 - model.resmse(X)
    other = None if X is None else uncentred_pca(model, X)
    ax = take_single(ax, (4.4, 3.2))
    first = model.n_components_ - len(own) + 1  # 0 is the pattern alone
    ax.plot(np.arange(first, first + len(own)), own, "o-", color=BLUE, label=_whose(model, X))
    if other is not None:
        _draw_pca(ax, *other)
    ax.set_ylim(0, 1.03)
    if len(own) == 1:
        ax.set_xticks([first])
    count = "components" if first else "components beside the pattern"
    return labelled(ax, count, "explained share of the energy", integers=len(own) > 1)


def _whose(model, X):
    """Name of the samples whose shares are drawn."""
    own = ", as it expects" if is_density(model) else ", training rows"
    return "GT-PCA" + (own if X is None else "")


def _draw_pca(ax, shares, n_rows, n_all):
    name = PCA if n_rows == n_all else f"{PCA}, {n_rows:,} rows"
    ax.plot(np.arange(1, len(shares) + 1), shares, "s--", color=RED, label=name)


def plot_history(model: Any, *, ax: Any = None) -> Any:
    """Plot the explained energy after each pass, relative to the last pass of that component.

    With ``shared_pose=True`` there is one line for all components. For a density, the plot shows
    the mean log-likelihood of a sample.

    Parameters
    ----------
    model : GTPCA or ProbabilisticGTPCA
        Fitted.
    ax : Axes or None
        See :mod:`gtpca.plots`.

    Returns
    -------
    Axes
    """
    check_is_fitted(model)
    if is_density(model):
        return _draw_likelihoods(take_single(ax, (4.8, 3.2)), model)
    if not any(len(values) for values in model.history_):
        raise ValueError(f"model.history_={model.history_!r} holds no pass: there was no fit.")
    ax = take_single(ax, (4.8, 3.2))
    for k, values in enumerate(model.history_):
        if len(values):
            look = {"color": CYCLE[k % len(CYCLE)], "marker": MARKERS[k % len(MARKERS)]}
            name = "all components" if model.shared_pose_ else f"component {k + 1}"
            passes = np.arange(1, len(values) + 1)
            ax.plot(passes, values / (values[-1] or 1), label=name, markersize=3.5, **look)
    return labelled(ax, "pass", "explained energy / that of the last pass")


def _draw_likelihoods(ax, model):
    """The log-likelihood at the start and after each pass of EM."""
    name = "pattern" + (" and components" if model.n_components_ else "")
    ax.plot(
        np.arange(len(model.history_)), model.history_, "o-", color=BLUE, label=name, markersize=3.5
    )
    ax.ticklabel_format(axis="y", useOffset=False)
    return labelled(ax, "pass", "log-likelihood of a sample (nats)")
