"""Draw docs/images/between-samples.png with the code of docs/howto/between-samples.md."""

import re
from pathlib import Path

import numpy as np

from gtpca.plots.style import new_figure, quiet
from gtpca.views.palette import BLUE, SKY

DOCS = Path(__file__).parent


def run_page(count):
    """The names after the first blocks of code of the page."""
    page = (DOCS / "howto" / "between-samples.md").read_text(encoding="utf-8")
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL)[:count]:
        exec(code, names)
    return names


def errors(model, spikes, latency):
    """Errors of latencies, up to a common offset, and their standard errors, (n,) each."""
    wrong = model.poses(model.encode(spikes))["start"][:, 0] - latency
    return wrong - np.median(wrong), model.pose_errors(spikes)["start"][:, 0]


def main(folder=DOCS / "images"):
    """Write the picture."""
    names = run_page(1)
    spikes = names["spikes"][:60]
    figure = new_figure(9, 2.8)
    *panels, last = figure.subplots(1, 3)
    for ax, model, title in zip(
        panels, (names["coarse"], names["fine"]), ("whole samples", "eighths"), strict=True
    ):
        ax.plot((model.align(spikes) / model.transform(spikes)).T, color=BLUE, lw=0.4, alpha=0.4)
        ax.plot(model.components_[0], color="black", lw=1)
        ax.set_title(f"aligned spikes, {title}", fontsize=9)
        ax.set_xlabel("points of the window", fontsize=9)
        ax.tick_params(labelsize=8)
        quiet(ax)
    for name, colour in (("coarse", SKY), ("fine", BLUE)):
        wrong, se = errors(names[name], names["spikes"], names["latency"])
        bars = {"fmt": "o", "color": colour, "markersize": 2, "elinewidth": 1}
        last.errorbar(np.arange(40), wrong[:40], 2 * se[:40], **bars)
    last.set_title("errors of latencies, \N{PLUS-MINUS SIGN} 2 se", fontsize=9)
    last.set_xlabel("spikes", fontsize=9)
    last.set_ylabel("samples", fontsize=9)
    quiet(last)
    figure.savefig(folder / "between-samples.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
