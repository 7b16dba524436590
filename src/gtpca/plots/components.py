"""Components, and samples as sums of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gtpca import checks
from gtpca._typing import Samples
from gtpca.plots import samples
from gtpca.plots.panels import (
    check_components,
    grid_shape,
    need_samples,
    pick_rows,
    take_axes,
)
from gtpca.views.measures import as_seen, encode, set_aside
from gtpca.views.palette import BLACK, BLUE, GREY, ORANGE, RED, SKY, Scale
from gtpca.views.parts import PATTERN, is_density, picked
from gtpca.views.samples import component_view, sample_view

__all__ = ["plot_components", "plot_reconstructions"]

MOST_COUNTS = 4  # number of components shown by default
# Styles of reconstructions by few to many components; the last is always drawn in the last style.
LOOKS = ((ORANGE, "--"), (RED, "-."), (SKY, (0, (1, 1))), (BLUE, "-"))


def plot_components(model: Any, *, components: Sequence[int] | None = None, ax: Any = None) -> Any:
    """Plot the components, each in a panel with its share of the energy.

    For a density, the pattern comes first. Shares are then those that the model expects, shown with
    standard deviations of the scores and the norm of the pattern; the rest is noise.

    Curves and series with few channels are lines on a common scale. Pictures have their own colour
    scales: purple is positive, orange negative, white zero. In colour images zero is grey.

    Parameters
    ----------
    model : GTPCA, ProbabilisticGTPCA, MixtureGTPCA or EventGTPCA
        Fitted. Patterns and components of several kinds follow each other.
    components : int, list of int or None
        Numbers counted from 0; default: all, and the pattern. Titles count from 1.
    ax : Axes, array of Axes or None
        One per component, and one for the pattern; see :mod:`gtpca.plots`.

    Returns
    -------
    ax : as given, or a new array of Axes, one per panel
    """
    numbers = check_components(model, components)
    shown, view = picked(model, None if components is None else numbers), component_view(model)
    lines = view.kind == "lines"
    shape = grid_shape(len(shown), 4 if lines else 6)
    size = (2.4, 1.9) if lines or view.kind == "rows" else (1.5, 1.7)
    given, axes = take_axes(ax, shape, len(shown), size)
    for j, (ax, part) in enumerate(zip(axes, shown, strict=True)):
        seen = _on_one_scale(shown, part) if lines else part.weights
        samples.draw_panel(ax, view, part.weights, Scale.of(seen, signed=True))
        scaled = j % shape[1] == 0 or shown[j - 1].is_pattern  # which has its own scale
        samples.finish(ax, view, part.title, first=scaled)
    samples.name_channels(axes[min(shape[1], len(axes)) - 1])
    for ax in axes[:: shape[1]]:
        ax.set_ylabel("weight" if lines else samples.row_name(view), fontsize=8)
    return given


def _on_one_scale(shown, part):
    """The weights of all parts of the same kind: a pattern does not have unit norm."""
    alike = [each.weights for each in shown if each.is_pattern == part.is_pattern]
    return np.stack(alike)


def plot_reconstructions(
    model: Any,
    X: Samples,
    *,
    rows: Sequence[int] | None = None,
    counts: Sequence[int] | None = None,
    ax: Any = None,
) -> Any:
    """Plot samples, their reconstructions from 1, 2, .. components, and the residuals.

    Components of a density are added to its pattern, and 0 components are the pattern alone.

    A curve takes two panels: the sample with its reconstructions, and the residual of the last one.
    Others take a panel for the sample, one for each reconstruction, all on the same scale, and one
    for the residual, with colours for both signs. With ``center="samples"`` a sample is drawn
    without its mean. Gaps are left blank, grey in pictures; predictions for them are a separate
    line, or tinted, in pink. Values that the fit set aside have crosses or a veil in red, and rows
    that it set aside show their weight, if ``X`` has as many rows as the fit. Reconstructions are
    blank outside the domain on which samples are compared.

    Parameters
    ----------
    model : GTPCA, ProbabilisticGTPCA or MixtureGTPCA
        Fitted.
    X : array (n, \\*sample_shape) or (n, d)
    rows : int, list of int or None
        Which samples; default: the first three.
    counts : int, list of int or None
        Numbers of components in the reconstructions; default: at most four from 1 to all.
    ax : Axes, array of Axes or None
        ``len(rows)`` times 2 for curves, times ``len(counts) + 2`` for others; see
        :mod:`gtpca.plots`.

    Returns
    -------
    ax : as given, or a new array of Axes (len(rows), panels of a sample)
    """
    need_samples(model, X, "samples")
    counts, view = _check_counts(model, counts), sample_view(model)
    some, numbers = pick_rows(model, X, rows)
    values, codes = as_seen(model, some), encode(model, some)
    rebuilt = np.stack([model.decode(codes.first(c)) for c in counts], axis=1)
    rebuilt = np.where(judged(model), rebuilt, np.nan)
    shares = left_over(model, values, rebuilt[:, -1])
    aside = set_aside(model, X.shape[0] if hasattr(X, "shape") else len(X))
    columns = 2 if view.is_curve else len(counts) + 2
    given, axes = take_axes(ax, (len(values), columns), size=_panel_size(view))
    draw = _draw_curve_row if view.is_curve else partial(_draw_panel_row, bool(np.any(values < 0)))
    for j, (x, parts) in enumerate(zip(values, rebuilt, strict=True)):
        panels = axes[j * columns : (j + 1) * columns]
        draw(panels, view, x, parts, counts, first=j == 0, last=j == len(values) - 1)
        name = f"sample {numbers[j]}"
        if aside.rejected is not None:
            samples.draw_rejected(panels[0], view, x, aside.rejected[numbers[j]])
        if aside.weight is not None and numbers[j] in aside.rows:
            name += f"\nweight {aside.weight[numbers[j]]:.2g}"
        panels[0].set_ylabel(samples.row_name(view, name), fontsize=8)
        panels[-1].set_title(f"residual, {100 * shares[j]:.1f} %", fontsize=9)
    return given


def _panel_size(view):
    """Width and height of a panel with a sample."""
    if view.is_curve:
        return 3.4, 1.7
    return (2.2, 1.6) if view.kind in ("lines", "rows") else (1.5, 1.6)


def _check_counts(model, counts):
    least, most = 0 if is_density(model) else 1, model.n_components_
    if counts is None:
        some = np.geomspace(1, max(1, most), min(most, MOST_COUNTS))
        return np.unique([least, *some.round().astype(int)]).tolist()
    given = [counts] if np.ndim(counts) == 0 else list(counts)
    if not given:
        raise ValueError(f"counts={counts!r} must hold at least one number of components.")
    return [checks.integer("counts", c, least, most) for c in given]


def left_over(model, values, rebuilt):
    """The share of the energy of each sample in the residual of a reconstruction, (n,).

    Energies are those of the fit: after centring, in the inner product of ``feature_weight``, in
    the domain, over observed values.
    """
    mean, weight = model.mean_, model.operator_.feature_weight
    axes = tuple(range(1, values.ndim))
    q = judged(model) if weight is None else judged(model) * weight.reshape(model.sample_shape_)
    total = np.nansum(q * (values - (0 if mean is None else mean)) ** 2, axis=axes)
    rest = np.nansum(q * (values - rebuilt) ** 2, axis=axes)
    return np.divide(rest, total, out=np.zeros_like(rest), where=total > 0)


def judged(model):
    """Where samples are compared, bool of the shape of a sample."""
    shape, domain = model.sample_shape_, model.operator_.domain
    return np.ones(shape, dtype=bool) if domain is None else domain.reshape(shape)


def _draw_curve_row(panels, view, x, parts, counts, *, first, last):
    fit, rest = panels
    hidden_x, last_part = x, parts[-1]
    x, parts = samples.line(view, x), [samples.line(view, part) for part in parts]
    at = view.positions
    fit.plot(at, x, color=GREY, linewidth=1.0, label="sample")
    for part, count, (colour, style) in zip(parts, counts, _looks(len(parts)), strict=True):
        look = {"linestyle": style, "color": colour, "linewidth": 1.5}
        fit.plot(at, part, label=_rebuilt_by(count), **look)
    samples.draw_predicted(fit, view, hidden_x, last_part)
    rest.axhline(0, color=GREY, linewidth=0.8)
    rest.plot(at, x - parts[-1], color=BLACK, linewidth=1.0)
    ends = (*fit.get_ylim(), *rest.get_ylim())
    for ax in panels:
        ax.set_ylim(min(ends), max(ends))
    samples.finish(fit, view, "sample and reconstructions" if first else "", last=last)
    samples.finish(rest, view, first=False, last=last)
    if first:
        fit.legend(fontsize=7, frameon=False)


def _rebuilt_by(count):
    """The parts that a reconstruction consists of."""
    return f"{count} component{'s' if count > 1 else ''}" if count else PATTERN


def _looks(count):
    """Colour and line style of ``count`` reconstructions; the last is always blue and solid."""
    early = [LOOKS[:-1][j % (len(LOOKS) - 1)] for j in range(count - 1)]
    return [*early, LOOKS[-1]]


def _draw_panel_row(signed, panels, view, x, parts, counts, *, first, last):
    rest = x - parts[-1]
    scale, left = _scales(view, x, parts, rest, signed)
    names = ["sample", *map(_rebuilt_by, counts)]
    for ax, values, name in zip(panels, [x, *parts], names, strict=False):
        samples.draw_panel(ax, view, values, scale)
        if (view.kind == "lines") == (values is x):
            samples.draw_predicted(ax, view, x, parts[-1])
        samples.finish(ax, view, name if first else "", first=ax is panels[0], last=last)
    samples.draw_panel(panels[-1], view, rest, left)
    samples.finish(panels[-1], view, first=False, last=last)
    if first:
        samples.name_channels(panels[-1])


def _scales(view, x, parts, rest, signed):
    """Scales of the samples and of the residual: that of ``x``, wide enough for all lines."""
    if view.kind != "lines":
        scale = Scale.of(x, signed)
        return scale, scale.residual
    scale = Scale.of(np.stack([x, *parts]), signed)
    return scale, Scale.around_zero(max(scale.residual.high, Scale.of(rest, signed=True).high))
