"""ResMSE and accuracies over the number of components: a panel for each setting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gtpca.plots.style import integer_ticks, new_figure, quiet
from gtpca.views.palette import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY
from gtpca_paper.report.published import published_models, published_row, published_tables
from gtpca_paper.rows import TableKey
from gtpca_paper.spec import MODELS, PROTOCOLS, experiment_title, model_title, rank

__all__ = [
    *("COLOURS", "draw_panels", "legend_below", "make_logarithmic"),
    *("panel_caption", "save_figure", "style"),
]

# Hues as in the paper: GT-PCA blue, PCA red, KPCA purple, autoencoder orange, VAE green.
COLOURS = {
    "gtpca": BLUE,
    "gtpca-als": BLUE,
    "gtpca-adam": BLACK,
    "gtpca-adam-1": "#C49C94",
    "gtpca-adam-20": "#8C564B",
    "gtpca-adam-40": "#BCBD22",
    "gtpca-adam-160": "#6B6100",
    "gtpca-refine": SKY,
    "gtpca-shared": "#7F7F7F",
    "pca": RED,
    "kpca": PINK,
    "autoencoder": ORANGE,
    "vae": GREEN,
}
OTHER = "#B0A000"
MARKERS = {"gtpca-als": "o", "gtpca-adam": "s", "gtpca-adam-1": "1", "gtpca-adam-20": "2"}
MARKERS |= {"gtpca-adam-40": "3", "gtpca-adam-160": "4"}
MARKERS |= {"gtpca-refine": "D", "gtpca-shared": "P"}
MARKERS |= {"pca": "v", "kpca": "<", "autoencoder": "^", "vae": ">"}
LARGEST = 2.0  # diverged errors would flatten everything else
FLAT = 0.05  # of the height: where a curve comes closer to zero the axis is logarithmic
WITH_POSES = "signed+pose"


def save_figure(figure, stem, dpi=150) -> list[Path]:
    """Write ``stem.png`` and ``stem.svg``; the same figure gives the same bytes."""
    from matplotlib import rc_context

    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
    with rc_context({"svg.hashsalt": "gtpca"}):
        figure.savefig(paths[0], dpi=dpi, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


class Strip(NamedTuple):
    """One row of panels: a task, and what is classified."""

    task: str
    protocol: str
    keys: list[TableKey]


def draw_panels(tables, experiment, metric="resmse"):
    """One panel per setting: ours solid with bands of one standard error, published dashed.

    Tasks are rows. Accuracies have a row for each protocol, with all models in it; those that have
    no poses are drawn by their signed scores among poses.

    Parameters
    ----------
    tables : list of Table
    experiment : str
    metric : {"resmse", "accuracy", "balanced"}

    Returns
    -------
    matplotlib.figure.Figure
    """
    found = {t.key: t for t in tables if (t.key.experiment, t.key.metric) == (experiment, metric)}
    strips = list(_strips(experiment, metric, found))
    shape = len(strips), max(len(strip.keys) for strip in strips)
    figure = new_figure(max(2.6 * shape[1], 7), 2.4 * shape[0] + 1.3)
    axes = figure.subplots(*shape, squeeze=False)
    drawn = set()
    for row, strip in zip(axes, strips, strict=True):
        for ax, key in zip(row, strip.keys, strict=False):
            drawn |= _draw_panel(ax, key, found.get(key), strip.protocol)
        _label(row, strip, last=strip is strips[-1])
    _scale(axes.flat, metric)
    simulated = any(table.simulated for table in found.values())
    printed = any(_published(k, s.protocol) for s in strips for k in s.keys)
    legend_below(figure, map(_ours, drawn), more=[_dashes()] if printed and not simulated else [])
    if simulated:
        figure.suptitle("Simulated data: there is nothing to compare with", fontsize=10)
    return figure


def _strips(experiment, metric, found) -> Iterator[Strip]:
    keys = dict.fromkeys(key._replace(metric=metric) for key in _keys(experiment, found))
    for task in dict.fromkeys(key.task for key in keys):
        own = [key for key in keys if key.task == task]
        if metric == "resmse":
            yield Strip(task, "none", own)
        elif any(key in found for key in own):
            there = {p for key in own if key in found for p in found[key].cells["protocol"]}
            yield from (Strip(task, p, own) for p in PROTOCOLS if p in there)


def _keys(experiment, found) -> list[TableKey]:
    return [key for key in published_tables() if key.experiment == experiment] or list(found)


def _draw_panel(ax, key, table, protocol) -> set[str]:
    """Draw the lines of a protocol, and return their models."""
    lines = dict(_drawn(table, protocol)) if table else {}
    published = {} if table and table.simulated else _published(key, protocol)
    for model, row in published.items():
        values = np.array(row, dtype=np.float64)
        ax.plot(np.arange(1, len(row) + 1), values, "--", color=COLOURS[model], linewidth=0.9)
    for model, cells in lines.items():
        _draw_line(ax, model, cells)
    if not lines and not published:
        why = "nothing moves" if table else "not run"
        ax.text(0.5, 0.5, why, ha="center", fontsize=9, transform=ax.transAxes)
        ax.set(xticks=[], yticks=[])
    quiet(ax, labelsize=9)
    return {*lines, *published}


def _published(key, protocol) -> dict[str, list[float | None]]:
    """Published rows of the panel of a protocol, by model."""
    models = published_models(key) if protocol in ("none", "paper") else ()
    return {model: published_row(key, model) for model in models}


def _drawn(table, protocol):
    """Models and cells of the comparable lines of a protocol."""
    lines = [(line, c) for line, c in table.lines() if not line.is_own and c["count"].sum()]
    posed = {line.model for line, _ in lines if line.protocol == WITH_POSES}
    if protocol == WITH_POSES and not posed:
        return
    for line, cells in lines:
        instead = "signed" if protocol == WITH_POSES and line.model not in posed else protocol
        if line.protocol == instead:
            yield line.model, cells


def _draw_line(ax, model, cells):
    cells = cells[cells["mean"].notna()].set_index("k")
    if cells.empty:  # diverged everywhere
        return
    cells = cells.reindex(range(cells.index.min(), cells.index.max() + 1))  # no line over gaps
    k, mean, error = cells.index, cells["mean"], cells["stderr"].fillna(0)
    look = style(model)
    ax.fill_between(k, mean - error, mean + error, color=look["color"], alpha=0.2, linewidth=0)
    ax.plot(k, mean, **look)


def style(model) -> dict:
    """What the line of a model looks like."""
    colour, marker = COLOURS.get(model, OTHER), MARKERS.get(model, "x")
    marked = {"marker": marker, "markersize": 3.2, "markeredgewidth": 0.8}
    return {"color": colour, "linewidth": 1.3, **marked}


def _scale(axes, metric):
    """Limits of all panels: errors from zero, or all on logarithmic axes."""
    drawn = [ax for ax in axes if np.isfinite(ax.dataLim.intervaly).all() and ax.lines]
    for ax in drawn:
        integer_ticks(ax.xaxis, 5)
    if metric != "resmse":
        for ax in drawn:
            low, high = ax.dataLim.intervaly
            room = max(0.06 * (high - low), 0.5)
            ax.set_ylim(max(low - room, 0), min(high, 100) + room)
        return
    spans = [_span(ax) for ax in drawn]
    logarithmic = any(low < FLAT * high for low, high in spans)
    for ax, (low, high) in zip(drawn, spans, strict=True):
        if logarithmic:
            make_logarithmic(ax)
        ax.set_ylim(low / 1.2 if logarithmic else 0, high * (1.2 if logarithmic else 1.05))


def make_logarithmic(ax):
    """A logarithmic y axis with few ticks, printed as plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def _span(ax) -> tuple[float, float]:
    """Smallest and largest error that are drawn in a panel, explosions cut off."""
    values = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.lines])
    values = values[np.isfinite(values) & (values > 0)]
    return float(values.min()), min(float(values.max()), LARGEST)


def _label(axes, strip, *, last):
    for ax in axes[len(strip.keys) :]:
        ax.set_axis_off()
    for ax, key in zip(axes, strip.keys, strict=False):
        ax.set_title(key.setting_title.replace(", ", ",\n", 1), fontsize=9)
        if last:
            ax.set_xlabel("components", fontsize=9)
    what = [strip.keys[0].task_title, strip.keys[0].metric_title, PROTOCOLS.get(strip.protocol, "")]
    axes[0].set_ylabel("\n".join(filter(None, what)), fontsize=9)


def legend_below(figure, models, make=None, more=()):
    """A legend of the models in their order: ``make(model)`` is a handle; ``more`` come last."""
    ordered = sorted({*models}, key=lambda model: rank(model, MODELS))
    handles = [*map(make or _handle, ordered), *more]
    place = {"loc": "outside lower center", "ncols": 4}
    figure.legend(handles=handles, fontsize=9, frameon=False, **place)


def _handle(model):
    from matplotlib.lines import Line2D

    look: dict[str, Any] = style(model)
    return Line2D([], [], label=model_title(model), **look)


def _dashes():
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {"linestyle": "--", "color": "black", "linewidth": 0.9}
    return Line2D([], [], label="published", **look)


def _ours(model) -> str:
    """The published GT-PCA has the colour of ours."""
    return "gtpca-als" if model == "gtpca" else model


def panel_caption(tables, experiment, metric="resmse") -> str:
    """What the panels of an experiment show."""
    own = [t for t in tables if (t.key.experiment, t.key.metric) == (experiment, metric)]
    title = TableKey(experiment, "", "", metric).metric_title
    simulated = any(table.simulated for table in own)
    parts = [
        f"{experiment_title(experiment)}: {title} over the number of components.",
        "Ours: markers with bands of one standard error, joined where k are neighbours.",
    ]
    if metric == "resmse":
        parts += ["Dashed: published, in the colour of its model."] * (not simulated)
        parts += [f"Errors above {LARGEST:g} are cut off."]
    else:
        said = metric == "accuracy" and not simulated
        parts += ["Dashed: published, scores as in the paper."] * said
        parts += ["Among poses, models that have none are drawn by their signed scores."]
    parts += [*_unequal(own), *_earlier(own)]
    parts += ["Simulated data."] if simulated else []
    parts += ["Some results are missing."] if not all(table.complete for table in own) else []
    return " ".join(parts)


def _earlier(tables) -> list[str]:
    """Which models have results of an earlier solver, if any have."""
    found = [model for table in tables for model in table.cells.query("earlier")["model"]]
    names = ", ".join(map(model_title, dict.fromkeys(found)))
    return [f"From an earlier version of the solver: {names}."] if names else []


def _unequal(tables) -> list[str]:
    """Which models have fewer repetitions than others, if any do."""
    found: dict[str, int] = {}
    for table in tables:
        for line, cells in table.lines():
            found[line.model] = max(found.get(line.model, 0), int(cells["count"].max()))
    counts = sorted({*found.values()} - {0})
    said = [f"{n}: {', '.join(model_title(m) for m in found if found[m] == n)}" for n in counts]
    return [f"Repetitions: {'; '.join(said)}."] if len(counts) > 1 else []
