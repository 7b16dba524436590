"""Draw the picture of the first page from an example: `python docs/draw_start.py`."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

DOCS = Path(__file__).parent
N_SHOWN = 9


def show(row, pictures, title, cmap="gray"):
    """One row of pictures with its name on the left."""
    for ax, picture in zip(row, pictures, strict=True):
        limit = np.abs(picture).max()
        low = 0 if cmap == "gray" else -limit
        ax.imshow(picture, cmap=cmap, vmin=low, vmax=limit)
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(title, fontsize=11)


def main(folder: Path = DOCS / "images") -> None:
    """Galaxies as they are, turned back by their poses, and rebuilt from four components."""
    found = runpy.run_path(str(DOCS.parent / "examples" / "plot_galaxies.py"))
    model, chosen = found["model"], found["cuts"][found["chosen"][:N_SHOWN]]
    fig, axes = plt.subplots(3, N_SHOWN, figsize=(10, 3.7), layout="constrained")
    show(axes[0], chosen, "galaxies")
    show(axes[1], model.align(chosen), "turned back")
    show(axes[2], model.reconstruct(chosen), "four components")
    fig.savefig(folder / "start.png", dpi=120, metadata={"Software": None})


if __name__ == "__main__":
    main()
