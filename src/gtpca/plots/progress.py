"""How much is explained: by how many components, and after how many passes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gtpca.plots.panels import take_single
from gtpca.plots.style import labelled
from gtpca.shell import Samples
from gtpca.views.measures import PCA, uncentred_pca
from gtpca.views.palette import BLUE, CYCLE, MARKERS, RED

__all__ = ["plot_energy", "plot_history"]


def plot_energy(model: Any, X: Samples = None, *, ax: Any = None) -> Any:
    """Explained share of the energy over the number of components.

    Without ``X``, that of the training rows. With it, ``1 - model.resmse(X)``, beside "PCA
    (uncentred)": as many components of ``X`` itself that cannot move. It sees the rows as the model
    does, after the model's own centring and weighting, and subtracts no further mean. Left out if
    the components of the model cannot move either. GT-PCA has a pose beside every score.

    Parameters
    ----------
    model : GTPCA
        Fitted.
    X : array (n, \\*sample_shape) or (n, d), or None
        PCA is that of some rows where all would be too many; the legend says so.
    ax : Axes or None
        See :mod:`gtpca.plots`.

    Returns
    -------
    Axes
    """
    check_is_fitted(model)
    own = np.cumsum(model.explained_energy_ratio_) if X is None else 1 - model.resmse(X)
    other = None if X is None else uncentred_pca(model, X)
    ax = take_single(ax, (4.4, 3.2))
    name = "GT-PCA" + (", training rows" if X is None else "")
    ax.plot(np.arange(1, len(own) + 1), own, "o-", color=BLUE, label=name)
    if other is not None:
        _draw_pca(ax, *other)
    ax.set_ylim(0, 1.03)
    return labelled(ax, "components", "explained share of the energy")


def _draw_pca(ax, shares, n_rows, n_all):
    name = PCA if n_rows == n_all else f"{PCA}, {n_rows:,} rows"
    ax.plot(np.arange(1, len(shares) + 1), shares, "s--", color=RED, label=name)


def plot_history(model: Any, *, ax: Any = None) -> Any:
    """Explained energy after each pass, relative to the last pass of that component.

    With ``shared_pose=True`` there is one line for all components.

    Parameters
    ----------
    model : GTPCA
        Fitted.
    ax : Axes or None
        See :mod:`gtpca.plots`.

    Returns
    -------
    Axes
    """
    check_is_fitted(model)
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
