"""Draw the pictures of which-family.md: `python docs/draw_family.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from gtpca import GTPCA, Shift

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE = "#0072B2", "#D55E00"
CHART = [
    ("nothing, or all is aligned", "Identity()"),
    ("an event: earlier or later", "Shift(window)"),
    ("… the border may cut it", 'Shift(window, boundary="partial")'),
    ("the sample is a crop of it", "Shift(window > sample)"),
    ("a closed curve, a period", 'Shift(boundary="circular")'),
    ("an object in the picture", "Shift((height, width))"),
    ("orientation", "Rotation(angles)"),
    ("left- and right-handed", "Reflection(axes)"),
    ("size or duration", "Scaling(factors)"),
    ("angle, size and place", "Similarity()"),
    ("slow first, quick later", "TimeWarp(strengths)"),
    ("every curve at its pace", "FreeWarp()"),
    ("shear, affine maps", "Affine(matrices)"),
    ("elastic bending", "Deformation(amplitude)"),
    ("several of these", "Compose(Shift(..), ..)"),
    ("another linear map", "Custom(matrices)"),
]


def draw_chart(folder: Path) -> None:
    """From what may move to the family: narrow, so that it can be read on a phone."""
    fig, ax = plt.subplots(figsize=(5.6, 7.0), layout="constrained")
    ax.set(xlim=(0, 5.6), ylim=(-len(CHART) - 0.1, 0.9))
    ax.axis("off")
    for x, text in ((0.05, "What may differ?"), (2.6, "Family")):
        ax.text(x, 0.35, text, fontsize=12, weight="bold", va="center")
    for row, (what, family) in enumerate(CHART):
        _draw_line(ax, -row - 0.5, what, family)
    fig.savefig(folder / "which-family.png", dpi=150, metadata={"Software": None})


def _draw_line(ax, y, what, family):
    box = {"boxstyle": "round,pad=0.3", "facecolor": "#EAF2F8", "edgecolor": BLUE}
    ax.text(0.05, y, what, fontsize=11, va="center")
    ax.annotate("", (2.5, y), (2.2, y), arrowprops={"arrowstyle": "->", "color": BLUE})
    ax.text(2.65, y, family, fontsize=10, va="center_baseline", family="monospace", bbox=box)


def pulses(n_samples=300, margin=0, sign=False):
    """A pulse of 40 points in 160 at a random time, up to ``margin`` points over the border."""
    rng, u = np.random.default_rng(0), np.arange(40)
    shape = np.exp(-(((u - 14) / 5) ** 2)) - 0.6 * np.exp(-(((u - 27) / 6) ** 2))
    X = 0.12 * rng.standard_normal((n_samples, 160 + 2 * margin))
    for row, start in zip(X, rng.integers(121 + 2 * margin, size=n_samples), strict=True):
        row[start : start + 40] += rng.uniform(0.7, 1.3) * shape
    return X[:, margin : 160 + margin], shape


def two_events(n_samples=300):
    """A bump and a wave, each at its own time."""
    rng, x = np.random.default_rng(0), np.linspace(-1, 1, 30)
    bump, wave = np.exp(-6 * x**2), np.sin(2 * np.pi * x) * np.exp(-3 * x**2)
    X = 0.08 * rng.standard_normal((n_samples, 160))
    for row, (first, second) in zip(X, rng.integers(131, size=(n_samples, 2)), strict=True):
        row[first : first + 30] += rng.normal(2, 0.3) * bump
        row[second : second + 30] += rng.normal(2, 0.3) * wave
    return X


def draw_mistakes(folder: Path) -> None:
    """Components of right and wrong choices."""
    X, _ = pulses()
    cut, _ = pulses(margin=25)
    pair = two_events()
    offset = np.random.default_rng(0).normal(1, 0.5, (len(X), 1))
    panels = [
        ("window too short: 12 of 40", X, [GTPCA(1, Shift(12)), GTPCA(1, Shift(44))]),
        ("window too long: 120 of 160", X, [GTPCA(1, Shift(120)), GTPCA(1, Shift(44))]),
        (
            "events cut by the border",
            cut,
            [GTPCA(1, Shift(44)), GTPCA(1, Shift(44, boundary="partial"))],
        ),
        (
            "an offset in every sample",
            X + offset,
            [GTPCA(1, Shift(44)), GTPCA(1, Shift(44), center="samples")],
        ),
        (
            "one pose for two events",
            pair,
            [GTPCA(2, Shift(32), shared_pose=True), GTPCA(2, Shift(32))],
        ),
        ("pure noise: something is always found", _still(), [GTPCA(1, Shift(120)), GTPCA(1)]),
    ]
    fig, axes = plt.subplots(3, 2, figsize=(9, 7.2), layout="constrained")
    for ax, (title, rows, models) in zip(axes.ravel(), panels, strict=True):
        _draw_panel(ax, title, rows, models)
    axes[0, 0].legend(frameon=False, fontsize=9)
    fig.savefig(folder / "wrong-choices.png", dpi=120, metadata={"Software": None})


def _still():
    """Noise of a smooth kind: nothing to find."""
    rng = np.random.default_rng(1)
    return np.apply_along_axis(
        np.convolve, 1, rng.standard_normal((300, 168)), np.hanning(9), "valid"
    )


def _draw_panel(ax, title, rows, models):
    names = ("wrong", "better")
    lines = []
    for model, colour, name in zip(models, (ORANGE, BLUE), names, strict=True):
        model.set_params(random_state=0).fit(rows)
        shift = 0 if name == "wrong" else 0.75
        for component in model.components_:
            x = np.arange(len(component)) - len(component) / 2
            peak = np.abs(component).max()
            ax.plot(x, component / peak / 2 + shift, color=colour, label=name)
        lines.append(f"{name} {model.score(rows):.2f}")
    ax.set(xticks=[], yticks=[], xlabel="explained: " + ", ".join(lines))
    ax.set_title(title, fontsize=11)


def main(folder: Path = IMAGES) -> None:
    """Both pictures."""
    draw_chart(folder)
    draw_mistakes(folder)


if __name__ == "__main__":
    main()
