"""ResMSE and accuracy over the number of components, in the layout of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from gtpca.experiments.report.published import published_models, published_row, published_tables
from gtpca.experiments.spec import MODELS, PROTOCOLS, experiment_title, model_title, rank
from gtpca.plots.style import new_figure, quiet
from gtpca.views.palette import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, YELLOW

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
DRAWN_PROTOCOLS = {"gtpca-als": tuple(PROTOCOLS), "gtpca-shared": ("signed",)}
FILLS = {"signed": "white", "signed+pose": YELLOW}
LARGEST = 2.0  # diverged errors would flatten everything else


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
    lines = [(line, c) for line, c in table.lines() if not line.is_own and c["count"].sum()]
    drawn = []
    for model in dict.fromkeys(line.model for line, _ in lines):
        of_model = [(line, cells) for line, cells in lines if line.model == model]
        protocols = DRAWN_PROTOCOLS.get(model, ("paper",))
        drawn += [pair for pair in of_model if pair[0].protocol in protocols] or of_model[:1]
    return drawn


def _draw_line(ax, line, cells):
    cells = cells[cells["mean"].notna()]
    k, mean, error = cells["k"], cells["mean"], cells["stderr"].fillna(0)
    style = _Look.of(line).style()
    ax.fill_between(k, mean - error, mean + error, color=style["color"], alpha=0.2, linewidth=0)
    ax.plot(k, mean, **style)


class _Look(NamedTuple):
    """What a line looks like: that of its model, or of a protocol of ``gtpca-als``."""

    model: str
    protocol: str

    @classmethod
    def of(cls, line):
        filled = line.model == "gtpca-als" and line.protocol in FILLS
        return cls(model=line.model, protocol=line.protocol if filled else "")

    @property
    def label(self) -> str:
        return model_title(self.model) + (f", {PROTOCOLS[self.protocol]}" if self.protocol else "")

    def style(self) -> dict:
        colour, marker = COLOURS.get(self.model, OTHER), MARKERS.get(self.model, "x")
        face = FILLS.get(self.protocol, colour)
        marked = {"marker": marker, "markersize": 3.2, "markeredgewidth": 0.8}
        return {"color": colour, "linewidth": 1.3, "markerfacecolor": face, **marked}


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
            ax.set_title(key.setting_title.partition(",")[0], fontsize=8)
            if key.metric != before:
                ax.set_ylabel(_what(key), fontsize=8)
            before = key.metric
    for ax in axes[-1]:
        ax.set_xlabel("components", fontsize=8)


def _what(key) -> str:
    return "\n".join(part for part in (key.task_title, key.metric_title) if part)


def _legend(figure, found):
    """Models that are drawn anywhere, and what dashes and fills mean."""
    from matplotlib.lines import Line2D

    looks = {_Look.of(line): None for table in found.values() for line, _ in _drawn(table)}
    ordered = sorted(looks, key=lambda look: rank(look.model, MODELS))
    handles = [Line2D([], [], label=look.label, **look.style()) for look in ordered]
    dashes = Line2D([], [], linestyle="--", color="black", linewidth=0.9, label="published")
    columns = 4 if figure.get_figwidth() < 9 else 6
    place = {"loc": "outside lower center", "ncols": columns}
    figure.legend(handles=[*handles, dashes], fontsize=8, frameon=False, **place)


def panel_caption(tables, experiment) -> str:
    """What the panels of an experiment show."""
    own = [table for table in tables if table.key.experiment == experiment]
    parts = [
        f"{experiment_title(experiment)}: results over the number of components.",
        "Solid: ours, with bands of one standard error, markers where there are results.",
        "Dashed: published.",
        f"Errors above {LARGEST:g} are cut off.",
    ]
    parts += ["Simulated data."] if any(table.simulated for table in own) else []
    parts += ["Some results are missing."] if not all(table.complete for table in own) else []
    return " ".join(parts)
