"""Checks that all plots share: which Axes are drawn into, and which components."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gtpca import checks
from gtpca.data.missing import as_nan
from gtpca.data.rows import counted
from gtpca.data.series import as_one_array
from gtpca.plots.style import require_matplotlib

__all__ = [
    "check_components",
    "grid_shape",
    "need_components",
    "need_samples",
    "pick_rows",
    "take_axes",
    "take_single",
]


def grid_shape(count, most):
    """Rows and columns of a grid for ``count`` panels, with at most ``most`` columns."""
    rows = -(-count // most)
    return rows, -(-count // rows)


def take_axes(ax, shape, count=None, size=(2.4, 1.9), projections=None):
    """The return value for the caller, and the Axes to draw into.

    Parameters
    ----------
    ax : Axes, array of Axes or None
    shape : (rows, columns)
        Shape of the panels of a new figure.
    count : int or None
        How many of them are used; the others are removed. Default: all.
    size : (width, height)
        Size of one panel of a new figure, in inches.
    projections : list of str or None
        Projection of each panel of a new figure.

    Returns
    -------
    ax : as given, or a new array of Axes: (rows, columns), or (count,) if count is given
    axes : list of Axes
    """
    needed = shape[0] * shape[1] if count is None else count
    if ax is None:
        axes = _new_axes(shape, needed, size, projections)
        return (axes.reshape(shape) if count is None else axes), list(axes)
    axes = _given_axes(ax)
    if len(axes) < needed:
        raise ValueError(f"ax holds {len(axes)} Axes, but {needed} panels are to be drawn.")
    return ax, axes[:needed]


def take_single(ax, size=(5.0, 3.6)):
    """The Axes that was given, or that of a new figure."""
    if ax is None:
        return _new_axes((1, 1), 1, size, None)[0]
    if np.ndim(ax) or len(_given_axes(ax)) != 1:
        raise TypeError(f"ax={ax!r} must be one Axes of matplotlib or None.")
    return ax


def _new_axes(shape, needed, size, projections):
    require_matplotlib()
    from matplotlib import pyplot

    figsize = (shape[1] * size[0] + 0.5, shape[0] * size[1] + 0.4)
    figure = pyplot.figure(figsize=figsize, layout="constrained")
    kinds = projections or [None] * needed
    axes = [figure.add_subplot(*shape, j + 1, projection=kinds[j]) for j in range(needed)]
    return np.array(axes, dtype=object)


def _given_axes(ax):
    from matplotlib.axes import Axes

    axes = list(np.ravel(np.array(ax, dtype=object)))
    if not axes or not all(isinstance(a, Axes) for a in axes):
        raise TypeError(f"ax={ax!r} must be Axes of matplotlib, an array of them, or None.")
    return axes


def check_components(model, components):
    """Numbers of components, counted from 0, as a list; None means all."""
    check_is_fitted(model)
    if components is None:
        return list(range(model.n_components_))
    given = [components] if np.ndim(components) == 0 else list(components)
    if not given:
        raise ValueError(f"components={components!r} must hold at least one number.")
    need_components(model)
    return [checks.integer("components", k, 0, model.n_components_ - 1) for k in given]


def need_samples(model, X, what):
    """Raise an error without samples, for what the model alone cannot show."""
    check_is_fitted(model)
    if X is None:
        raise ValueError(
            f"X=None: {what} are not part of a fitted model; give the samples to be drawn."
        )


def need_one_kind(model, what):
    """Raise an error for several kinds of samples, whose scores cannot be compared."""
    if model.has_kinds:
        raise TypeError(
            f"a plot of {what} needs one set of components, but a {type(model).__name__} has one "
            "for each kind; plot_kinds, plot_components and plot_reconstructions draw them."
        )


def need_components(model):
    """Raise an error for a density that consists of its pattern alone."""
    if model.n_components_ == 0:
        raise ValueError(
            "n_components=0: the model is its pattern alone and has no scores; fit it with "
            "n_components=1 or more (-k 1), or draw its components, reconstructions, poses or "
            "energy."
        )


def pick_rows(model, X, rows):
    """Some rows of ``X``, of any kind, and their numbers; ``rows`` None: the first three."""
    X = counted(X, model)
    if not hasattr(X, "shape"):
        X = as_nan(as_one_array(X, model.missing, model.sample_shape_))
    if rows is None:
        rows = range(min(3, X.shape[0]))
    given = [rows] if np.ndim(rows) == 0 else list(rows)
    if not given:
        raise ValueError(f"rows={rows!r} must hold at least one row number.")
    numbers = [checks.integer("rows", i, 0, X.shape[0] - 1) for i in given]
    if hasattr(X, "iloc"):
        return X.iloc[numbers], numbers
    rows = [X[i] for i in numbers]
    return (np.ma.stack if np.ma.isMaskedArray(X) else np.stack)(rows), numbers
