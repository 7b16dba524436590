"""How much is explained: by how many components, and after how many passes."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gtpca.plots.panels import take_single
from gtpca.plots.style import BLUE, CYCLE, MARKERS, RED, quiet, whole_ticks

__all__ = ["explained_by_pca", "plot_energy", "plot_history"]


def plot_energy(model, X=None, *, ax=None):
    """Explained share of the energy over the number of components.

    Without ``X``, that of the training rows. With it, ``1 - model.resmse(X)``, beside PCA of
    scikit-learn fitted to ``X`` itself: no PCA explains more of these rows. PCA also has the mean
    sample, GT-PCA a pose beside every score.

    Parameters
    ----------
    model : GTPCA
        Fitted.
    X : array (n, \\*sample_shape) or (n, d), or None
        For PCA, all of it is read into memory.
    ax : Axes or None
        See :mod:`gtpca.plots`.

    Returns
    -------
    Axes
    """
    check_is_fitted(model)
    own = np.cumsum(model.explained_energy_ratio_) if X is None else 1 - model.resmse(X)
    other = None if X is None else explained_by_pca(model, X)
    ax = take_single(ax, (4.4, 3.2))
    name = "GT-PCA" + (", training rows" if X is None else "")
    ax.plot(np.arange(1, len(own) + 1), own, "o-", color=BLUE, label=name)
    if other is not None:
        ax.plot(np.arange(1, len(other) + 1), other, "s--", color=RED, label="PCA")
    ax.set_ylim(0, 1.03)
    ax.set_xlabel("components", fontsize=9)
    ax.set_ylabel("explained share of the energy", fontsize=9)
    whole_ticks(ax.xaxis)
    ax.legend(fontsize=8, frameon=False)
    quiet(ax)
    return ax


def explained_by_pca(model, X):
    """Share of the energy of ``X`` that 1, 2, .. components of PCA and its mean explain.

    Of the rows as the model sees them: after centring, times the root of ``feature_weight``. As
    many components as the model has, if there are.

    Returns
    -------
    array (k,)
    """
    from sklearn.decomposition import PCA

    rows = np.concatenate(model.chunks(X).collect(_rows)).astype(np.float64)
    with np.errstate(invalid="ignore"):  # rows without variance have no ratios, which are not used
        pca = PCA(min(model.n_components_, *rows.shape), random_state=0).fit(rows)
    left = np.sum((rows - pca.mean_) ** 2) - np.cumsum(np.sum(pca.transform(rows) ** 2, axis=0))
    return 1 - left / np.sum(rows**2)


def _rows(chunk):
    return chunk.rows


def plot_history(model, *, ax=None):
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
            name = "all components" if model.shared_pose else f"component {k + 1}"
            passes = np.arange(1, len(values) + 1)
            ax.plot(passes, values / (values[-1] or 1), label=name, markersize=3.5, **look)
    ax.set_xlabel("pass", fontsize=9)
    ax.set_ylabel("explained energy / that of the last pass", fontsize=9)
    whole_ticks(ax.xaxis)
    ax.legend(fontsize=8, frameon=False)
    quiet(ax)
    return ax
