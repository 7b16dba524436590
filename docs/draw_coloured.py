"""Draw docs/images/coloured-noise.png with the code of docs/howto/noise.md."""

import re
from pathlib import Path

import numpy as np

from gtpca.plots import plot_noise
from gtpca.plots.style import new_figure, quiet
from gtpca.views.palette import BLUE, GREY, RED

DOCS = Path(__file__).parent


def run_page(count):
    """The names after the first blocks of code of the page."""
    page = (DOCS / "howto" / "noise.md").read_text(encoding="utf-8")
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL)[:count]:
        exec(code, names)
    return names


def beside(truth, w):
    """A component with the sign, and at the shift, in which it is most like the truth."""
    products = np.correlate(w, truth, "full")
    best = np.abs(products).argmax()
    return np.arange(len(w)) - (best - len(truth) + 1), np.sign(products[best]) * w


def main(folder=DOCS / "images"):
    """Write the picture."""
    names = run_page(3)
    figure = new_figure(10, 3)
    rows, found, spectrum = figure.subplots(1, 3)
    for i, row in enumerate(names["X"][:4]):
        place = names["places"][i]
        rows.plot(row - 16 * i, color=GREY, linewidth=0.9)
        rows.plot(np.arange(place, place + 24), row[place : place + 24] - 16 * i, color=BLUE)
    rows.set_yticks([])
    rows.set_title("rows; a spike is where they are blue", fontsize=9)
    truth = names["spike"] / np.linalg.norm(names["spike"])
    found.plot(truth, color=GREY, linewidth=4, label="truth")
    for name, colour, label in (("white", RED, "white"), ("model", BLUE, "stationary")):
        w = names[name].components_[0]
        found.plot(*beside(truth, w), color=colour, label=f'noise="{label}"')
    found.legend(fontsize=8, frameon=False)
    found.set_title("components", fontsize=9)
    plot_noise(names["model"], ax=spectrum)
    spectrum.set_title("spectrum that was found", fontsize=9)
    for ax in (rows, found):
        quiet(ax)
    figure.savefig(folder / "coloured-noise.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
