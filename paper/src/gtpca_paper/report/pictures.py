"""The pictures of the paper: data, components, reconstructions, the network, projections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gtpca.datasets import (
    DatasetError,
    fetch_mnist,
    make_spikes,
    random_embedding,
    random_rotation,
)
from gtpca.estimator import GTPCA
from gtpca.families import Rotation, Shift
from gtpca.plots.style import mapping, new_figure, quiet
from gtpca.views.palette import BLUE, GREY, ORANGE, RED, Scale
from gtpca_paper.spec import find_setting

__all__ = [
    "Picture",
    "draw_digit_components",
    "draw_digits",
    "draw_network",
    "draw_projections",
    "draw_spikes",
    "make_pictures",
]

_DIGIT_NAMES = ("digits", "components", "projections")
STYLES = (("--", ORANGE), ("-.", RED), (":", BLUE))


class Picture(NamedTuple):
    """A figure with its name and caption, or, without a figure, why there is none."""

    name: str
    caption: str
    figure: Any


def make_pictures(n_samples=2000, n_projected=1024, random_state=0, data_home=None):
    """Fit small models and draw all pictures; takes about half a minute.

    Parameters
    ----------
    n_samples : int
        Training samples of each model; as many "8" for the projections.
    n_projected : int
        Test digits in the picture of the projections.
    random_state : int
    data_home : path or None
        See :mod:`gtpca.datasets`.

    Yields
    ------
    Picture
        Those of the digits have no figure if MNIST is not to be had.
    """
    yield Picture("network", NETWORK, draw_network())
    for name, number in SPIKES.items():
        yield _spike_picture(name, number, n_samples=n_samples, seed=random_state)
    yield from _digit_pictures(
        n_samples=n_samples, n_projected=n_projected, seed=random_state, data_home=data_home
    )


def _spike_picture(name, number, *, n_samples, seed) -> Picture:
    setting: Any = find_setting("spikes", number)
    X, _ = make_spikes(n_samples, setting.size, random_state=seed)
    model = GTPCA(3, setting.family, random_state=seed).fit(X)
    signals, _ = make_spikes(3, setting.size, random_state=seed + 3)
    caption = (
        f"Setting ({number}): components of {model.components_.shape[1]} points (above), and "
        f"generated signals of {setting.size} points with their reconstructions from 1, 2 and 3 "
        "components (below)."
    )
    return Picture(name, caption, draw_spikes(model, signals))


def _digit_pictures(*, n_samples, n_projected, seed, data_home) -> Iterator[Picture]:
    try:
        train, test = (fetch_mnist(subset, data_home) for subset in ("train", "test"))
    except DatasetError as error:
        for name, caption in zip(_DIGIT_NAMES, (DIGITS, COMPONENTS, PROJECTIONS), strict=True):
            yield Picture(name, f"{caption} Left out: {error}", None)
        return
    X = train.data[:n_samples].astype(np.float32)
    rotated, shifted = _rotate(X, seed), random_embedding(X, (56, 56), seed)[0]
    yield Picture("digits", DIGITS, draw_digits(rotated, shifted))
    models = [
        GTPCA(4, family, random_state=seed).fit(samples)
        for family, samples in ((Rotation(20, domain="all"), rotated), (Shift((28, 28)), shifted))
    ]
    figure = draw_digit_components(models[0], rotated, models[1], shifted)
    yield Picture("components", COMPONENTS, figure)
    figure = _projections(train, test, n_samples=n_samples, n_projected=n_projected, seed=seed)
    yield Picture("projections", PROJECTIONS, figure)


def _projections(train, test, *, n_samples, n_projected, seed):
    eights = train.data[train.target == 8][:n_samples].astype(np.float32)
    model = GTPCA(2, Rotation(20, domain="all"), random_state=seed).fit(_rotate(eights, seed))
    some = _rotate(test.data[:n_projected].astype(np.float32), seed + 1)
    return draw_projections(model.transform(some), test.target[:n_projected] == 8)


def _rotate(X, seed) -> np.ndarray:
    return random_rotation(X, 20, seed)[0]


def draw_digits(rotated, shifted):
    """Rotated digits on the left, shifted ones on the right.

    Parameters
    ----------
    rotated, shifted : arrays (n, height, width)
        The first nine are drawn.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = new_figure(7, 3.7)
    parts = figure.subfigures(1, 2)
    for part, images, title in zip(parts, (rotated, shifted), ("rotated", "shifted"), strict=True):
        _draw_images(part, images[:9], 3, title)
    return figure


def draw_digit_components(rotated_model, rotated, shifted_model, shifted):
    """Components on the left, reconstructions on the right; rotated above shifted digits.

    Parameters
    ----------
    rotated_model, shifted_model : GTPCA
        Fitted; the first four components are drawn.
    rotated, shifted : arrays (n, height, width)
        The first nine are reconstructed by all components.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = new_figure(7, 7.4)
    pairs = ((rotated_model, rotated[:9], "rotated"), (shifted_model, shifted[:9], "shifted"))
    for row, (model, images, name) in zip(figure.subfigures(2, 2), pairs, strict=True):
        count = min(4, model.n_components_)
        _draw_images(row[0], model.components_[:count], 2, f"components, {name}", signed=True)
        _draw_images(row[1], model.reconstruct(images), 3, f"reconstructions, {name}")
    return figure


def _draw_images(figure, images, columns, title, signed=False):
    """Images in a square; signed ones with zero in the middle of the colours."""
    figure.suptitle(title, fontsize=10)
    axes = figure.subplots(columns, columns, squeeze=False, gridspec_kw={"wspace": 0, "hspace": 0})
    for ax in axes.flat:
        ax.set_axis_off()
    for ax, image in zip(axes.flat, images, strict=False):
        ax.imshow(image, **mapping(Scale.of(image, signed)))


def draw_spikes(model, signals):
    """Three components, and signals with their reconstructions from 1, 2 and 3 of them.

    Parameters
    ----------
    model : GTPCA
        Fitted to signals, with at least 3 components.
    signals : array (n, n_times)
        The first three are drawn.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = new_figure(8, 4.4)
    axes = figure.subplots(2, 3, sharey="row")
    for k, ax in enumerate(axes[0]):
        ax.axhline(0, color=GREY, linewidth=0.8)
        ax.plot(model.components_[k], color="black", linewidth=1.4)
        ax.set_title(f"component {k + 1}", fontsize=9)
    codes = model.encode(signals)
    rebuilt = [model.decode(codes.first(k)) for k in (1, 2, 3)]
    for j, ax in enumerate(axes[1]):
        _draw_signal(ax, signals[j], [part[j] for part in rebuilt])
    axes[1, 0].legend(fontsize=9, frameon=False)
    for ax in axes.flat:
        quiet(ax, labelsize=9)
    return figure


def _draw_signal(ax, signal, rebuilt):
    ax.plot(signal, color=GREY, linewidth=0.8, label="signal")
    for k, (part, (style, colour)) in enumerate(zip(rebuilt, STYLES, strict=True), 1):
        label = f"{k} component{'s' if k > 1 else ''}"
        ax.plot(part, style, color=colour, linewidth=1.5, label=label)


def draw_network(n_layers=3):
    """The chain of layers, each of which gets what the ones before it left over.

    Parameters
    ----------
    n_layers : int

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = new_figure(2.2 + 1.9 * n_layers, 2.2)
    ax = figure.subplots()
    ax.set(xlim=(-0.6, 2 * n_layers + 1.8), ylim=(-0.4, 1.9), aspect="equal")
    ax.set_axis_off()
    _box(ax, 0, 0, 1.0, "inputs")
    for j in range(n_layers):
        x = 2 * j + 2
        start = (0.5, 0) if j == 0 else (x - 1.8, 0)
        _box(ax, x, 1.5, 1.4, f"GT-PC layer {j + 1}")
        _difference(ax, x)
        for begin, end in ((start, (x - 0.2, 0)), (start, (x - 0.7, 1.4)), ((x, 1.25), (x, 0.2))):
            _arrow(ax, begin, end)
    for left, y in ((x + 0.2, 0), (x + 0.7, 1.5)):
        _arrow(ax, (left, y), (x + 1.3, y))
        ax.text(x + 1.4, y, "\u2026", va="center", fontsize=11)
    return figure


def _box(ax, x, y, width, text):
    from matplotlib.patches import FancyBboxPatch

    corner, shape = (x - width / 2, y - 0.25), "round,pad=0,rounding_size=0.1"
    look: dict[str, Any] = {"facecolor": "#F2F2F2", "edgecolor": "black", "boxstyle": shape}
    ax.add_patch(FancyBboxPatch(corner, width, 0.5, **look))
    ax.text(x, y, text, ha="center", va="center", fontsize=9)


def _difference(ax, x):
    from matplotlib.patches import Circle

    ax.add_patch(Circle((x, 0), 0.2, facecolor="white", edgecolor="black"))
    ax.text(x, 0, "\u2212", ha="center", va="center", fontsize=11)


def _arrow(ax, start, end):
    look = {"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0, "linewidth": 1}
    ax.annotate("", end, start, arrowprops=look)


def draw_projections(scores, is_target, target="8"):
    """Scores on the first two components of a model that was fitted to one class.

    Parameters
    ----------
    scores : array (n, at least 2)
    is_target : bool array (n,)
    target : str
        Name of the class.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = new_figure(5, 4.2)
    ax = figure.subplots()
    is_target = np.asarray(is_target, dtype=bool)
    groups = ((~is_target, BLUE, "o", "other digits"), (is_target, ORANGE, "^", f'"{target}"'))
    for rows, colour, marker, label in groups:
        look = {"s": 18, "color": colour, "marker": marker, "alpha": 0.75, "linewidth": 0}
        ax.scatter(scores[rows, 0], scores[rows, 1], label=label, **look)
    ax.set_xlabel("score on component 1", fontsize=9)
    ax.set_ylabel("score on component 2", fontsize=9)
    quiet(ax)
    ax.legend(fontsize=9, frameon=False)
    return figure


NETWORK = "The network: each layer projects what the layers before it left over."
DIGITS = "Transformed MNIST digits. Left: rotated. Right: shifted."
COMPONENTS = (
    "Left: the first four components of rotated and of shifted digits, purple positive and orange "
    "negative. Right: the digits of the figure above, rebuilt from them."
)
PROJECTIONS = (
    "Rotated test digits on the first two components that were fitted to rotated images of the "
    'digit "8". Orange triangles: "8". Blue dots: other digits.'
)
SPIKES = {"spikes-short-window": "iii", "spikes-long-window": "i"}  # pictures and their settings
