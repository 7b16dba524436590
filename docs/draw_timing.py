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
    """The clocks of the curves, and what their first two components do to time."""
    X = curves()
    model = GTPCA(2, FreeWarp(), shared_pose=True, random_state=0).fit(X)
    warps = model.operator_.lattice.warp(model.encode(X).pose[:, 0])
    fig, axes = plt.subplots(1, 3, figsize=(10, 2.9), layout="constrained")
    axes[0].plot(warps.T, color="#0072B2", linewidth=0.3)
    axes[0].set(title="clocks of 60 curves", xlabel="time (points)", ylabel="time of the component")
    plot_phase(model, X, 2, ax=axes[1:])
    fig.savefig(folder / "phase.png", dpi=120, metadata={"Software": None})
    plt.close(fig)


if __name__ == "__main__":
    main()
