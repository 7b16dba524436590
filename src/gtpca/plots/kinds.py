"""The kinds of a mixture: their patterns, the samples of each, and classes that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gtpca._typing import Samples
from gtpca.plots import samples
from gtpca.plots.panels import grid_shape, take_axes
from gtpca.views.measures import confusion
from gtpca.views.palette import GREY, Scale
from gtpca.views.samples import component_view

__all__ = ["plot_kinds"]

MOST_SAMPLES = 20  # of a kind that are drawn behind its pattern


def plot_kinds(
    model: Any, X: Samples | None = None, *, labels: ArrayLike | None = None, ax: Any = None
) -> Any:
    """The patterns of all kinds side by side, with their weights.

    Behind curves are samples of the kind, if there are any: at most 20, brought to its reference
    pose. With labels, a last panel counts which classes are among which kinds.

    Parameters
    ----------
    model : MixtureGTPCA
        Fitted.
    X : array (n, \\*sample_shape) or None
    labels : array (n,) or None
        A class of every sample.
    ax : Axes, array of Axes or None
        One per kind, and one for labels; see :mod:`gtpca.plots`.

    Returns
    -------
    ax : as given, or a new array of Axes, one per panel
    """
    _check(model, X, labels)
    view, patterns = component_view(model), model.mean_patterns_
    count = len(patterns) + (labels is not None)
    lines = view.kind == "lines"
    shape = grid_shape(count, 4 if lines else 6)
    size = (2.4, 1.9) if lines or view.kind == "rows" else (1.5, 1.7)
    given, axes = take_axes(ax, shape, count, size)
    kind = None if X is None else np.asarray(model.predict(X))
    shown = patterns
    aligned: list[Any] = [()] * len(patterns)
    if kind is not None and view.is_curve:
        every = np.asarray(model.align(X))
        aligned = [every[kind == g][:MOST_SAMPLES] for g in range(len(patterns))]
        shown = np.concatenate([patterns, *aligned])
    for g, (panel, pattern) in enumerate(zip(axes, patterns, strict=False)):
        scale = Scale.of(shown if lines else pattern, signed=True)
        for sample in aligned[g]:
            panel.plot(view.positions, samples.line(view, sample), color=GREY, linewidth=0.4)
        samples.draw_panel(panel, view, pattern, scale)
        samples.finish(panel, view, _title(model, g, kind), first=g % shape[1] == 0)
    if labels is not None:
        _draw_classes(axes[-1], *confusion(kind, labels, len(patterns)))
    return given


def _check(model, X, labels):
    if not hasattr(model, "n_kinds"):
        raise TypeError(f"model={type(model).__name__} has no kinds; fit a MixtureGTPCA.")
    check_is_fitted(model)
    if labels is not None and X is None:
        raise ValueError("labels are classes of samples; give X as well.")


def _title(model, g, kind):
    said = f"kind {g}\nweight {model.kind_weights_[g]:.2f}"
    return said if kind is None else f"{said}, {np.sum(kind == g)} samples"


def _draw_classes(ax, classes, counts):
    """How many samples of every class each kind has."""
    ax.imshow(counts, cmap="Blues", aspect="auto")
    for (row, column), value in np.ndenumerate(counts):
        dark = value > counts.max() / 2
        look = {"color": "white" if dark else "black", "fontsize": 7}
        ax.text(column, row, str(value), ha="center", va="center", **look)
    ax.set_xticks(range(counts.shape[1]), [str(g) for g in range(counts.shape[1])])
    ax.set_yticks(range(len(classes)), [str(name) for name in classes])
    ax.tick_params(labelsize=7)
    ax.set_xlabel("kind", fontsize=8)
    ax.set_title("samples by class", fontsize=9)
