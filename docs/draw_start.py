"""Draw the picture of the first page from an example: `python docs/draw_start.py`."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

DOCS = Path(__file__).parent
N_SHOWN = 8


def show(row, pictures, title):
    """One row of pictures with its name on the left, and the mean of all on the right."""
    for ax, picture in zip(row, [*pictures[:N_SHOWN], None, pictures.mean(axis=0)], strict=True):
        ax.set(xticks=[], yticks=[])
        if picture is None:
            ax.axis("off")
        else:
            ax.imshow(picture, cmap="gray", vmin=0)
    row[0].set_ylabel(title, fontsize=11)


def main(folder: Path = DOCS / "images") -> None:
    """Long galaxies as they are, and turned back by their poses, with the mean of each row."""
    found = runpy.run_path(str(DOCS.parent / "examples" / "images" / "plot_galaxies.py"))
    model, long = found["model"], found["cuts"][found["long"]]
    best = long[np.argsort(-model.score_samples(long))[:40]]
    wide = [1] * N_SHOWN + [0.25, 1]
    how = {"figsize": (10, 2.5), "layout": "constrained", "width_ratios": wide}
    fig, axes = plt.subplots(2, len(wide), **how)
    show(axes[0], best, "galaxies")
    show(axes[1], model.align(best), "turned back")
    axes[0, -1].set_title(f"mean of {len(best)}", fontsize=11)
    fig.savefig(folder / "start.png", dpi=120, metadata={"Software": None})


if __name__ == "__main__":
    main()
