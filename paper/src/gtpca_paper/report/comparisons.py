"""Figures that compare models: who wins where, and what is reached within a budget."""

from __future__ import annotations

import numpy as np

from gtpca.plots.style import integer_ticks, new_figure, quiet
from gtpca_paper.report.contests import CONTESTS, Block
from gtpca_paper.report.panels import COLOURS, OTHER, legend_below, make_logarithmic, style
from gtpca_paper.report.standings import BUDGETED, Standing
from gtpca_paper.spec import TASKS, has_rare_class, model_title

__all__ = ["BUDGET_CAPTION", "WINNERS_CAPTION", "draw_budgets", "draw_winners"]

SHOWN = (("error", "error-numbers"), ("accuracy", "accuracy-numbers"))
STRONG, FAINT = 0.75, 0.2  # how much of its colour a winner gets, alone and tied
WINNERS_CAPTION = (
    "Who wins: the colour of a cell is that of the best model. The number in it is by how much it "
    "is better than the best form of GT-PCA, or, where that is GT-PCA, than the best other model: "
    "percent of the error above, points of accuracy (balanced if a class is rare) below. Pale "
    "cells with = are tied. Left: with as many components. Right: with at most as many numbers "
    "stored per sample, scores and poses."
)
BUDGET_CAPTION = (
    "error and accuracy (balanced if a class is rare) over what is stored of a sample. GT-PCA "
    "stores k scores and k poses, with a shared pose k scores and one. Classified are signed "
    "scores; dotted: signed scores and poses. Means over the repetitions that all models have."
)


def draw_winners(standings: dict[str, list[Standing]]):
    """A cell for each block and number of components, or of numbers stored, in four panels.

    Parameters
    ----------
    standings : dict of str to list of Standing
        By name of the contest.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = [names for names in SHOWN if any(standings[name] for name in names)]
    heights = [max(len(standings[name]) for name in names) for names in rows]
    widest = max(10, *(m.at for name in CONTESTS for s in standings[name] for m in s.matches))
    figure = new_figure(2.8 + 0.38 * widest, 0.22 * sum(heights) + 0.5 * len(rows) + 1.0)
    axes = figure.subplots(len(rows), 2, squeeze=False, height_ratios=heights)
    winners = set()
    for pair, names in zip(axes, rows, strict=True):
        for ax, name in zip(pair, names, strict=True):
            winners |= _draw_cells(ax, standings[name], widest)
            ax.set_title(CONTESTS[name].title, fontsize=9)
        pair[1].set_yticklabels([])
    for ax, label in zip(axes[-1], ("components", "numbers per sample"), strict=True):
        ax.set_xlabel(label, fontsize=8)
    legend_below(figure, winners, _patch)
    return figure


def _draw_cells(ax, standings, widest) -> set[str]:
    """Draw the cells of a contest, and return the models in them."""
    pixels = np.ones((len(standings), widest, 3))
    for i, standing in enumerate(standings):
        for match in standing.matches:
            strength = FAINT if match.tied else STRONG
            pixels[i, match.at - 1] = _tinted(match.winner, strength)
            text = "=" if match.tied else f"{abs(match.gap):.0f}"
            colour = "white" if pixels[i, match.at - 1].mean() < 0.4 else "black"
            look = {"ha": "center", "va": "center", "fontsize": 5.5, "color": colour}
            ax.text(match.at, i, text, **look)
    edges = (0.5, widest + 0.5, len(standings) - 0.5, -0.5)
    ax.imshow(pixels, extent=edges, aspect="auto", interpolation="nearest")
    ax.set_yticks(range(len(standings)), [s.block.title for s in standings], fontsize=7)
    integer_ticks(ax.xaxis, 10)
    ax.tick_params(axis="x", labelsize=7)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return {match.winner for standing in standings for match in standing.matches}


def _tinted(model, strength):
    from matplotlib.colors import to_rgb

    return 1 - strength * (1 - np.array(to_rgb(COLOURS.get(model, OTHER))))


def _patch(model):
    from matplotlib.patches import Patch

    return Patch(facecolor=_tinted(model, STRONG), label=model_title(model))


def draw_budgets(blocks: list[Block], by):
    """Error and accuracy over what is stored per sample, a panel for each setting.

    Parameters
    ----------
    blocks : list of Block
        Of one experiment.
    by : {"numbers", "bits"}

    Returns
    -------
    matplotlib.figure.Figure
    """
    strips = [
        (task, metric, part)
        for task in TASKS
        for metric in ("resmse", "accuracy")
        if (part := [b for b in blocks if b.task == task and b.entries[metric]])
    ]
    width = max(len(part) for _, _, part in strips)
    figure = new_figure(max(2.3 * width, 7), 2.2 * len(strips) + 1.0)
    axes = figure.subplots(len(strips), width, squeeze=False)
    drawn = set()
    for row, (task, metric, part) in zip(axes, strips, strict=True):
        for ax, block in zip(row, part, strict=False):
            drawn |= _draw_budget(ax, block, metric, by)
            ax.set_title(block.title.partition(",")[0], fontsize=8)
        for ax in row[len(part) :]:
            ax.set_axis_off()
        name = {"resmse": "ResMSE", "accuracy": "accuracy (%)"}[metric]
        rare = metric == "accuracy" and has_rare_class(blocks[0].experiment, task)
        balanced = "balanced " if rare else ""
        row[0].set_ylabel("\n".join(filter(None, (_task(task), balanced + name))), fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel(f"{by} per sample", fontsize=8)
    dotted = any(block.entries["accuracy"] for block in blocks)
    legend_below(figure, drawn, more=[_dots()] if dotted else [])
    if any(block.simulated for block in blocks):
        figure.suptitle("Simulated data", fontsize=10)
    return figure


def _dots():
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle=":", color="black", label="with poses, in the model's colour")


def _task(task) -> str:
    return "" if task == "projection" else TASKS[task]


def _draw_budget(ax, block, metric, by) -> set[str]:
    lines = _lines(block, metric, by)
    for (model, protocol), (at, means) in lines.items():
        dotted = {"linestyle": ":"} if protocol == "signed+pose" else {}
        ax.plot(at, means, **style(model) | dotted)
    if metric == "resmse":
        make_logarithmic(ax)
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter("{x:g}")
    quiet(ax, labelsize=7)
    return {model for model, _ in lines}


def _lines(block, metric, by):
    """Places and means of each model and protocol, on the repetitions that all have."""
    protocols = ("none", "signed", "signed+pose")
    entries = [e for e in block.entries[metric] if e.model in BUDGETED and e.protocol in protocols]
    common = set.intersection(*({*entry.values} for entry in entries)) if entries else set()
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for entry in entries:
        shown = entry.on(common or entry.values)
        place = block.budget(entry, by) * (32 if by == "bits" else 1)
        found.setdefault((entry.model, entry.protocol), []).append((place, shown.mean))
    return {key: tuple(zip(*sorted(points), strict=True)) for key, points in found.items()}
