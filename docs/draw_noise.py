"""Draw docs/images/noise.png from benchmarks/bench_likelihood.json: patterns in strong noise."""

import json
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from gtpca.views import palette

DOCS = Path(__file__).parent
METHODS = {
    "energy": ("energy, hard", palette.CYCLE[0], "o--"),
    "hard": ("likelihood, hard EM", palette.CYCLE[1], "s--"),
    "plain soft": ("soft EM, shrink=False", palette.CYCLE[2], "^:"),
    "soft": ("soft EM", palette.CYCLE[3], "D-"),
}


def draw(rows):
    """Correlation with the truth, and size over the true size, by norm and number of rows."""
    counts = sorted({row["n"] for row in rows})
    figure, axes = plt.subplots(2, len(counts), figsize=(9, 5), sharex=True, sharey="row")
    for column, n in zip(axes.T, counts, strict=True):
        mine = sorted((r for r in rows if r["n"] == n and r["size"]), key=lambda r: r["size"])
        sizes = [row["size"] for row in mine]
        for name, (title, colour, style) in METHODS.items():
            how = {"color": colour, "label": title, "markersize": 4}
            column[0].plot(sizes, [r[f"{name} correlation"] for r in mine], style, **how)
            column[1].plot(sizes, [r[f"{name} size"] / r["size"] for r in mine], style, **how)
        column[0].set_title(f"{n:,} rows")
        column[1].axhline(1, color="0.6", linewidth=0.8, zorder=0)
        column[1].set_xlabel("norm of the pattern (noise: 1)")
    axes[0, 0].set_ylabel("correlation\nwith the pattern")
    axes[1, 0].set_ylabel("size found\nover true size")
    axes[0, 0].legend(fontsize=8)
    figure.tight_layout()
    return figure


def main(folder=DOCS / "images"):
    """Write the picture."""
    text = (DOCS.parent / "benchmarks" / "bench_likelihood.json").read_text()
    figure = draw(json.loads(text)["faint"])
    figure.savefig(folder / "noise.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
