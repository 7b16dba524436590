"""Figures that compare models: who wins where, and what is reached within a budget."""

from __future__ import annotations

import math

from gtpca.plots.style import new_figure, quiet
from gtpca.views.palette import BLUE, ORANGE
from gtpca_paper.report.contests import CONTESTS, Block
from gtpca_paper.report.panels import legend_below, make_logarithmic, style
from gtpca_paper.report.standings import BUDGETED, Standing
from gtpca_paper.spec import TASKS, has_rare_class

__all__ = ["BUDGET_CAPTION", "WINNERS_CAPTION", "draw_budgets", "draw_winners"]

SHOWN = ("error", "error-numbers", "accuracy")
CELLS = {  # colour, sign and its colour of each outcome
    "won": (BLUE, "+", "white"),
    "even": ("#D9D9D9", "=", "black"),
    "lost": (ORANGE, "\u2212", "black"),
    "undecided": ("#F7F7F7", "?", "#767676"),
}
MEANING = {
    "won": "GT-PCA is better",
    "even": "even",
    "lost": "another model is better",
    "undecided": "not decided: fewer than 3 repetitions",
}
WINNERS_CAPTION = (
    "Who wins, by setting and number of components: GT-PCA (by ALS for errors, with a shared pose "
    "for accuracies) against the best of the models of the paper, on the same repetitions. Empty: "
    "not every model was run. Equal numbers: at most as many scores and poses together."
)
BUDGET_CAPTION = (
    "error and accuracy (balanced if a class is rare) over what is stored of a sample. GT-PCA "
    "stores k scores and k poses, with a shared pose k scores and one. Classified are signed "
    "scores; dotted: signed scores and poses. Means over the repetitions that all models have."
)


def draw_winners(standings: dict[str, list[Standing]]):
    """A cell for each setting and number of components, or of numbers stored, in three panels.

    Parameters
    ----------
    standings : dict of str to list of Standing
        By name of the contest.

    Returns
    -------
    matplotlib.figure.Figure
    """
    titles = [*dict.fromkeys(s.block.title for name in SHOWN for s in standings[name])]
    found = {name: sorted({m.at for s in standings[name] for m in s.matches}) for name in SHOWN}
    shown = [name for name in SHOWN if found[name]]
    widths = [max(len(found[name]), 4) for name in shown]
    figure = new_figure(10, 0.26 * len(titles) + 1.5)
    axes = figure.subplots(1, len(shown), squeeze=False, width_ratios=widths)[0]
    for ax, name in zip(axes, shown, strict=True):
        _draw_cells(ax, standings[name], titles, found[name])
        ax.set_title(CONTESTS[name].title.replace(", ", ",\n"), fontsize=10)
        ax.set_xlabel("components" if CONTESTS[name].by == "k" else "numbers", fontsize=9)
        ax.set_yticks(range(len(titles)), titles if ax is axes[0] else [], fontsize=9)
    outcomes = [
        o
        for o in CELLS
        if any(m.outcome == o for n in shown for s in standings[n] for m in s.matches)
    ]
    figure.legend(
        handles=[_patch(outcome) for outcome in outcomes],
        **{"loc": "outside lower center", "ncols": 4, "fontsize": 9, "frameon": False},
    )
    return figure


def _draw_cells(ax, standings, titles, places):
    """Draw the cells of a contest: a row for each title, a column for each place."""
    from matplotlib.patches import Rectangle

    for standing in standings:
        row = titles.index(standing.block.title)
        for match in standing.matches:
            column = places.index(match.at)
            colour, sign, ink = CELLS[match.outcome]
            corner = (column - 0.46, row - 0.42)
            ax.add_patch(Rectangle(corner, 0.92, 0.84, facecolor=colour, linewidth=0))
            look = {"ha": "center", "va": "center", "fontsize": 9, "color": ink}
            ax.text(column, row, sign, **look)
    ax.set(xlim=(-0.6, len(places) - 0.4), ylim=(len(titles) - 0.4, -0.6))
    ax.set_xticks(range(len(places)), places, fontsize=9)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _patch(outcome):
    from matplotlib.patches import Patch

    colour, sign, _ = CELLS[outcome]
    return Patch(
        facecolor=colour, edgecolor="#767676", linewidth=0.5, label=f"{sign} {MEANING[outcome]}"
    )


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
    figure = new_figure(max(2.5 * width, 7), 2.4 * len(strips) + 1.1)
    axes = figure.subplots(len(strips), width, squeeze=False)
    drawn = set()
    for row, (task, metric, part) in zip(axes, strips, strict=True):
        for ax, block in zip(row, part, strict=False):
            drawn |= _draw_budget(ax, block, metric, by)
            ax.set_title(block.title.partition(",")[0], fontsize=9)
        for ax in row[len(part) :]:
            ax.set_axis_off()
        name = {"resmse": "ResMSE", "accuracy": "accuracy (%)"}[metric]
        rare = metric == "accuracy" and has_rare_class(blocks[0].experiment, task)
        balanced = "balanced " if rare else ""
        row[0].set_ylabel("\n".join(filter(None, (_task(task), balanced + name))), fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel(f"{by} per sample", fontsize=9)
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
    quiet(ax, labelsize=9)
    return {model for model, _ in lines}


def _lines(block, metric, by):
    """Places and means of each model and protocol, on the repetitions that all have.

    Between numbers of components that are no neighbours is a NaN, so that no line joins them.
    """
    protocols = ("none", "signed", "signed+pose")
    entries = [e for e in block.entries[metric] if e.model in BUDGETED and e.protocol in protocols]
    common = set.intersection(*({*entry.values} for entry in entries)) if entries else set()
    found: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    for entry in sorted(entries, key=lambda entry: entry.k):
        shown = entry.on(common or entry.values)
        place = block.budget(entry, by) * (32 if by == "bits" else 1)
        points = found.setdefault((entry.model, entry.protocol), [])
        if points and points[-1][0] < entry.k - 1:
            points.append((entry.k - 1, math.nan, math.nan))
        points.append((entry.k, place, shown.mean))
    return {key: tuple(zip(*points, strict=True))[1:] for key, points in found.items()}
