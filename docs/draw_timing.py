"""Draw the picture of howto/own-timing.md: `python docs/draw_timing.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from gtpca import GTPCA, FreeWarp
from gtpca.plots import plot_phase

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE = "#0072B2", "#D55E00"


def curves():
    """The curves of the page."""
    rng = np.random.default_rng(0)
    u = np.linspace(0, 1, 80)
    late = rng.uniform(-0.5, 0.5, (60, 1))
    height = rng.normal(1, 0.15, (60, 2))
    phase = u ** np.exp(late)
    X = height[:, :1] * np.exp(-(((phase - 0.35) / 0.09) ** 2))
    X += height[:, 1:] * np.exp(-(((phase - 0.7) / 0.09) ** 2))
    return X + 0.05 * rng.standard_normal(X.shape)


def main(folder: Path = IMAGES) -> None:
    """Curves as they are and aligned, their warps, and what the first phase component does."""
    X = curves()
    model = GTPCA(2, FreeWarp(), shared_pose=True, random_state=0).fit(X)
    warps = model.operator_.lattice.warp(model.encode(X).pose[:, 0])
    fig, axes = plt.subplots(1, 4, figsize=(11, 2.7), layout="constrained")
    for ax, rows, title in ((axes[0], X, "60 curves"), (axes[1], model.align(X), "aligned")):
        ax.plot(rows.T, color=BLUE, linewidth=0.3)
        ax.plot(rows.mean(axis=0), color=ORANGE, linewidth=2)
        ax.set(title=title, xlabel="time (points)", ylim=(-0.3, 1.6))
    axes[2].plot(warps.T, color=BLUE, linewidth=0.3)
    axes[2].set(title="their clocks", xlabel="time (points)", ylabel="time of the component")
    plot_phase(model, X, 1, ax=axes[3])
    axes[3].set_title("first phase component")
    fig.savefig(folder / "own-timing.png", dpi=120, metadata={"Software": None})
    plt.close(fig)


if __name__ == "__main__":
    main()
