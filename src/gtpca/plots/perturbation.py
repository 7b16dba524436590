"""The effect of more and less of a component on the mean reconstruction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gtpca import checks
from gtpca._typing import Samples
from gtpca.data.codes import Codes
from gtpca.model.coding import bring_back
from gtpca.plots import samples
from gtpca.plots.panels import (
    check_components,
    grid_shape,
    need_components,
    need_one_kind,
    need_samples,
    take_axes,
)
from gtpca.views.measures import encode
from gtpca.views.palette import BLACK, BLUE, GREY, RED, Scale
from gtpca.views.parts import picked
from gtpca.views.samples import component_view

__all__ = ["Perturbation", "perturbation", "plot_perturbation"]

BATCH_ROWS = 512


class Perturbation(NamedTuple):
    """The mean reconstruction and what the components add to it.

    Attributes
    ----------
    mean : array (\\*weight_shape)
    effects : array (k, \\*weight_shape)
        Added per unit of the score.
    spread : array (k,)
        Standard deviation of the scores.
    """

    mean: np.ndarray
    effects: np.ndarray
    spread: np.ndarray


def perturbation(model, X):
    """The mean reconstruction in the pose of the first component, and the effect of each score.

        mean = 1/n sum_i B_i sum_k a_ik u_ik,   effect_k = 1/n sum_i B_i u_ik,

    where ``u_ik`` is component k as it appears in sample i, with unit norm, ``a_ik`` its score, and
    ``B_i`` moves a sample back to the pose of the first component, as :meth:`gtpca.GTPCA.align`.
    The mean of a density includes its pattern.

    Parameters
    ----------
    model : GTPCA or ProbabilisticGTPCA
        Fitted.
    X : array (n, \\*sample_shape) or (n, d)

    Returns
    -------
    Perturbation
    """
    codes = encode(model, X)
    mean = _mean_back(model, codes, model.decode)
    units = [_mean_back(model, codes, partial(_unit, model, k)) for k in range(model.n_components_)]
    return Perturbation(mean, np.stack(units), codes.scores.std(axis=0))


def _unit(model, k, codes):
    """Component k alone, as it appears in every sample, with score 1."""
    none = np.zeros(codes.scores.shape)
    one = np.where(np.arange(none.shape[1]) == k, 1.0, none)
    return model.decode(Codes(one, codes.index)) - model.decode(Codes(none, codes.index))


def _mean_back(model, codes, draw):
    """Mean over all rows of ``draw(codes)``, moved back to the pose of the first component."""
    operator = model.operator_
    total = np.zeros(operator.n_weights)
    for start in range(0, len(codes), BATCH_ROWS):
        some = codes[start : start + BATCH_ROWS]
        rows = draw(some).reshape(len(some), -1)
        total += bring_back(rows, operator, some.index[:, 0]).sum(axis=0, dtype=np.float64)
    return (total / len(codes)).reshape(operator.weight_shape)


def plot_perturbation(
    model: Any,
    X: Samples,
    *,
    components: Sequence[int] | None = None,
    multiple: float = 2.0,
    ax: Any = None,
) -> Any:
    """Plot the mean reconstruction, and the same with more and with less of each component.

    Scores change by ``multiple`` standard deviations. Everything is shown in the pose of the first
    component: with ``shared_pose=True`` that is the pose of the sample. With separate poses the
    others are drawn where they lie on average, and are blurred if they can lie anywhere.

    Parameters
    ----------
    model : GTPCA or ProbabilisticGTPCA
        Fitted, with a component or more.
    X : array (n, \\*sample_shape) or (n, d)
        Samples whose scores are used.
    components : int, list of int or None
        Numbers counted from 0; default: all. Titles count from 1.
    multiple : float
        Standard deviations that are added and subtracted.
    ax : Axes, array of Axes or None
        One per component for curves, three for others: less, mean, more; see :mod:`gtpca.plots`.

    Returns
    -------
    ax : as given, or a new array of Axes (len(components),) or (len(components), 3)
    """
    need_samples(model, X, "scores, their mean and their spread")
    need_one_kind(model, "their effect")
    need_components(model)
    numbers = check_components(model, components)
    checks.positive("multiple", multiple)
    view, found = component_view(model), perturbation(model, X)
    steps = [multiple * found.spread[k] * found.effects[k] for k in numbers]
    triples = [(found.mean - step, found.mean, found.mean + step) for step in steps]
    draw = _draw_curves if view.is_curve else _draw_triples
    titles = [part.title for part in picked(model, numbers)]
    return draw(ax, view, triples, titles, f"{multiple:g} sd")


def _draw_curves(ax, view, triples, titles, step):
    shape = grid_shape(len(triples), 3)
    given, axes = take_axes(ax, shape, len(triples), (2.9, 2.2))
    triples = [[samples.line(view, values) for values in triple] for triple in triples]
    low, high = np.min(triples), np.max(triples)
    room = 0.08 * (high - low or 1)
    for j, (ax, (less, mean, more), title) in enumerate(zip(axes, triples, titles, strict=True)):
        ax.axhline(0, color=GREY, linewidth=0.8)
        ax.plot(view.positions, mean, color=BLACK, linewidth=1.2, label="mean")
        ax.plot(view.positions, more, color=BLUE, linewidth=1.5, label=f"+ {step}")
        ax.plot(view.positions, less, "--", color=RED, linewidth=1.5, label=f"\u2212 {step}")
        ax.set_ylim(low - room, high + room)
        samples.finish(ax, view, title, first=j % shape[1] == 0)
    axes[0].legend(fontsize=7, frameon=False)
    return given


def _draw_triples(ax, view, triples, titles, step):
    size = (2.2, 1.7) if view.kind in ("lines", "rows") else (1.7, 1.7)
    given, axes = take_axes(ax, (len(triples), 3), size=size)
    scale = Scale.of(np.array(triples))
    names = (f"mean \u2212 {step}", "mean", f"mean + {step}")
    for j, (triple, title) in enumerate(zip(triples, titles, strict=True)):
        for i, values in enumerate(triple):
            panel = axes[3 * j + i]
            samples.draw_panel(panel, view, values, scale)
            last = j == len(triples) - 1
            samples.finish(panel, view, names[i] if j == 0 else "", first=i == 0, last=last)
        axes[3 * j].set_ylabel(samples.row_name(view, title), fontsize=8)
    samples.name_channels(axes[2])
    return given
