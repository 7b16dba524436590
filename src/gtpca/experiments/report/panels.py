"""ResMSE and accuracy over the number of components, in the layout of the paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gtpca.experiments.report import names
from gtpca.experiments.report.published import published_models, published_row, published_tables
from gtpca.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PINK,
    RED,
    SKY,
    YELLOW,
    new_figure,
    quiet,
)

__all__ = ["COLOURS", "draw_panels", "panel_caption", "save_figure"]

# Hues as in the paper: GT-PCA blue, PCA red, KPCA purple, autoencoder orange, VAE green.
COLOURS = {
    "gtpca": BLUE,
    "gtpca-als": BLUE,
    "gtpca-adam": SKY,
    "gtpca-refine": BLACK,
    "gtpca-shared": "#7F7F7F",
    "pca": RED,
    "kpca": PINK,
    "autoencoder": ORANGE,
    "vae": GREEN,
}
OTHER = "#B0A000"
MARKERS = {"gtpca-als": "o", "gtpca-adam": "s", "gtpca-refine": "D", "gtpca-shared": "P"}
MARKERS |= {"pca": "v", "kpca": "<", "autoencoder": "^", "vae": ">"}
# Accuracies have up to three protocols; these are drawn if there are rows, else the first one is.
PROTOCOLS = {"gtpca-als": ("paper", "signed", "signed+pose"), "gtpca-shared": ("signed",)}
FILLS = {"signed": "white", "signed+pose": YELLOW}
LARGEST = 2.0  # exploded errors would flatten everything else


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


def draw_panels(tables, experiment):
    """One panel per table: ours solid with bands of one standard error, published dashed.

    As in the paper, tasks are rows, settings are columns, ResMSE before accuracy.

    Parameters
    ----------
    tables : list of Table
    experiment : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    found = {table.key: table for table in tables if table.key.experiment == experiment}
    grid = _grid(experiment, found)
    shape = len(grid), len(grid[0])
    figure = new_figure(max(2.1 * shape[1], 7), 2.4 * shape[0] + 1.1)
    axes = figure.subplots(*shape, squeeze=False)
    for ax, key in zip(axes.flat, [key for row in grid for key in row], strict=True):
        _draw_panel(ax, key, found.get(key))
    _label(axes, grid)
    _legend(figure, found)
    if any(table.simulated for table in found.values()):
        figure.suptitle("Simulated data; published numbers are of real data", fontsize=10)
    return figure


def _grid(experiment, found):
    keys = [key for key in published_tables() if key.experiment == experiment] or list(found)
    rows: dict[str, list] = {}
    for key in keys:
        rows.setdefault(key.task, []).append(key)
    return list(rows.values())


def _draw_panel(ax, key, table):
    for model in published_models(key):
        values = np.array(published_row(key, model), dtype=np.float64)
        k = np.arange(1, len(values) + 1)
        ax.plot(k, values, "--", color=COLOURS[model], linewidth=0.9)
    for line, cells in _drawn(table) if table else ():
        _draw_line(ax, line, cells)
    _scale(ax, key)
    quiet(ax, labelsize=7)


def _drawn(table):
    """Lines of a table that are drawn: comparable ones, few protocols."""
    lines = [(line, c) for line, c in table.lines() if line[2] != "own" and c["count"].sum()]
    drawn = []
    for model in dict.fromkeys(line[0] for line, _ in lines):
        own = [(line, cells) for line, cells in lines if line[0] == model]
        wanted = [pair for pair in own if pair[0][1] in PROTOCOLS.get(model, ("paper",))]
        drawn += wanted or own[:1]
    return drawn


def _draw_line(ax, line, cells):
    model, protocol = line[:2]
    cells = cells[cells["mean"].notna()]
    k, mean, error = cells["k"], cells["mean"], cells["stderr"].fillna(0)
    ax.fill_between(k, mean - error, mean + error, color=_colour(model), alpha=0.2, linewidth=0)
    ax.plot(k, mean, **_style(model, protocol))


def _colour(model) -> str:
    return COLOURS.get(model, OTHER)


def _style(model, protocol) -> dict:
    colour = _colour(model)
    marker = {"marker": MARKERS.get(model, "x"), "markersize": 3.2, "markeredgewidth": 0.8}
    face = FILLS.get(protocol, colour) if model == "gtpca-als" else colour
    return {"color": colour, "linewidth": 1.3, "markerfacecolor": face, **marker}


def _scale(ax, key):
    low, high = ax.dataLim.intervaly
    if key.metric == "accuracy":
        room = 0.06 * max(high - low, 1)
        ax.set_ylim(max(low - room, 0), min(high, 100) + room)
    elif np.isfinite(high):
        ax.set_ylim(0, 1.05 * min(high, LARGEST))
    ax.xaxis.get_major_locator().set_params(integer=True)


def _label(axes, grid):
    for row, keys in zip(axes, grid, strict=True):
        before = None
        for ax, key in zip(row, keys, strict=True):
            ax.set_title(_title(key), fontsize=8)
            if key.metric != before:
                ax.set_ylabel(_what(key), fontsize=8)
            before = key.metric
    for ax in axes[-1]:
        ax.set_xlabel("components", fontsize=8)


def _what(key) -> str:
    metric = names.METRICS.get(key.metric, key.metric)
    return (
        metric if key.task == "projection" else f"{names.TASKS.get(key.task, key.task)}\n{metric}"
    )


def _title(key) -> str:
    text = names.SETTINGS.get((key.experiment, key.setting), key.setting)
    return text.partition(",")[0] if key.setting.strip("iv") == "" else text


def _legend(figure, found):
    """Models that are drawn anywhere, and what dashes and fills mean."""
    from matplotlib.lines import Line2D

    drawn = [line[:2] for table in found.values() for line, _ in _drawn(table)]
    handles = [Line2D([], [], label=_label_of(*d), **_style(*d)) for d in _ordered(drawn)]
    dashes = Line2D([], [], linestyle="--", color="black", linewidth=0.9, label="published")
    columns = 4 if figure.get_figwidth() < 9 else 6
    place = {"loc": "outside lower center", "ncols": columns}
    figure.legend(handles=[*handles, dashes], fontsize=8, frameon=False, **place)


def _label_of(model, protocol) -> str:
    several = model == "gtpca-als" and protocol in FILLS
    return names.model_name(model) + (f", {names.line_name('', protocol, '')}" if several else "")


def _ordered(drawn):
    """Without those that look the same, in the order of the models."""
    looks = {(m, p if m == "gtpca-als" and p in FILLS else "none"): None for m, p in drawn}
    models = list(names.MODELS)
    return sorted(looks, key=lambda d: models.index(d[0]) if d[0] in models else len(models))


def panel_caption(tables, experiment) -> str:
    """What the panels of an experiment show."""
    own = [table for table in tables if table.key.experiment == experiment]
    parts = [
        f"{names.EXPERIMENTS.get(experiment, experiment)}: results over the number of components.",
        "Solid: ours, with bands of one standard error, markers where there are results.",
        "Dashed: published.",
        f"Errors above {LARGEST:g} are cut off.",
    ]
    parts += ["Simulated data."] if any(table.simulated for table in own) else []
    parts += ["Some results are missing."] if not all(table.complete for table in own) else []
    return " ".join(parts)
