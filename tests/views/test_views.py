"""How samples and components are looked at: one decision for drawings and for the page."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import gtpca
from gtpca import ALS, GTPCA, Custom, Identity, Reflection, Rotation, Shift
from gtpca.views.samples import (
    View,
    choose_view,
    component_view,
    evenly,
    montage,
    sample_view,
)

QUICK = ALS(n_init=1, max_iter=3)


def fit(family, shape, n=20):
    X = np.random.default_rng(0).standard_normal((n, *shape))
    return GTPCA(2, family, solver=QUICK, random_state=0).fit(X), X


# --- the decision ---


@pytest.mark.parametrize(
    ("shape", "moved", "kind", "drawn"),
    [
        # one axis, or the only one that moves
        ((50,), (0,), "lines", (0,)),
        ((50,), (), "lines", (0,)),
        ((50, 3), (0,), "lines", (0,)),
        ((3, 50), (1,), "lines", (1,)),
        ((50, 7), (0,), "lines", (0,)),
        ((50, 8), (0,), "rows", (0,)),
        ((28, 28), (1,), "rows", (1,)),
        ((64, 5, 5), (0,), "rows", (0,)),
        ((1, 50), (1,), "lines", (1,)),
        # two axes
        ((20, 30), (0, 1), "image", (0, 1)),
        ((20, 30), (), "image", (0, 1)),
        ((20, 30, 1), (0, 1), "image", (0, 1)),
        ((1, 20, 30), (1, 2), "image", (1, 2)),
        # a short axis beside a long one holds channels
        ((50, 3), (), "lines", (0,)),
        ((4, 50), (0, 1), "lines", (1,)),
        ((5, 50), (), "image", (0, 1)),
        ((4, 16), (), "image", (0, 1)),
        # three colours, last and first
        ((20, 30, 3), (0, 1), "colours", (0, 1)),
        ((3, 20, 30), (1, 2), "colours", (1, 2)),
        ((20, 30, 3), (), "colours", (0, 1)),
        ((20, 30, 3), (1,), "colours", (0, 1)),
        ((20, 3, 30), (0, 2), "colours", (0, 2)),
        ((3, 1, 50), (2,), "lines", (2,)),
        # what moves is not a colour
        ((3, 20, 30), (0, 1, 2), "tiles", (1, 2)),
        # channels and slices side by side
        ((20, 30, 4), (0, 1), "tiles", (0, 1)),
        ((6, 5, 5), (0, 1, 2), "tiles", (0, 1)),
        ((4, 20, 30), (), "tiles", (1, 2)),
        ((5, 20, 30, 3), (1, 2), "tiles", (1, 2)),
    ],
)
def test_choice(shape, moved, kind, drawn):
    assert choose_view(shape, moved) == View(kind, shape, drawn)


@pytest.mark.parametrize(
    ("shape", "axes", "kind"),
    [
        ((8, 9), 0, "image"),
        ((8, 9), 1, "image"),
        ((60, 3), 0, "lines"),
        ((9, 8, 3), 1, "colours"),
        ((3, 9, 8), 1, "colours"),
        ((3, 9, 8), 0, "tiles"),
        ((20,), 0, "lines"),
    ],
)
def test_flips_do_not_make_a_series(shape, axes, kind):
    view = sample_view(fit(Reflection(axes), shape)[0])
    assert view.kind == kind
    assert view.drawn == tuple(sorted(view.drawn))


def test_components_look_like_the_samples():
    for family, shape, window in (
        (Shift((2, 10)), (12, 12), (2, 10)),  # by itself, two lines
        (Shift(4, axes=1), (3, 40), (3, 4)),
        (Shift((3, 4, 4)), (5, 12, 12), (3, 4, 4)),  # by itself, other axes
        (Rotation(4), (6, 6, 3), (6, 6, 3)),
    ):
        model, _ = fit(family, shape)
        sample, component = sample_view(model), component_view(model)
        assert component.shape == window
        assert (component.kind, component.drawn) == (sample.kind, sample.drawn)


def test_weights_of_another_rank_have_a_view_of_their_own():
    model, _ = fit(Custom([np.eye(12, 5), np.eye(12, 5, -7), np.eye(12, 5, -4)]), (3, 4))
    assert sample_view(model).kind == "image"
    assert component_view(model) == View("lines", (5,), (0,))


# --- what is drawn ---


def test_channels_come_first_and_stay_apart():
    x = np.arange(24.0).reshape(4, 3, 2)
    view = choose_view((4, 3, 2), (0, 1))
    np.testing.assert_array_equal(view.channels(x)[0], [x[..., 0], x[..., 1]])
    side = view.picture(view.channels(x))[0]
    np.testing.assert_array_equal(side[:, :3], x[..., 0])
    np.testing.assert_array_equal(side[:, 4:], x[..., 1])
    np.testing.assert_array_equal(choose_view((3, 2), (0,)).channels(x[0])[0], x[0].T)
    flat = choose_view((4, 3, 2), (0,))
    np.testing.assert_array_equal(flat.channels(x)[0], x.reshape(4, 6).T)


@pytest.mark.parametrize(("shape", "moved"), [((5, 6, 3), (0, 1)), ((3, 5, 6), (1, 2))])
def test_colours_come_last(shape, moved):
    x = np.random.default_rng(0).random((2, *shape))
    view = choose_view(shape, moved)
    np.testing.assert_array_equal(
        view.picture(view.channels(x)), np.moveaxis(x, view.channel_axes[0] + 1, -1)
    )


def test_montage_fills_rows_first():
    side = montage(np.arange(3.0)[None, :, None, None] * np.ones((1, 3, 2, 2)), gap=-1)[0]
    assert side.shape == (5, 5)
    assert (side[:2, :2] == 0).all()
    assert (side[:2, 3:] == 1).all()
    assert (side[3:, :2] == 2).all()
    assert (side[3:, 3:] == -1).all()
    assert (side[2] == -1).all()


def test_some_channels_are_evenly_spaced():
    assert evenly(3, 16).tolist() == [0, 1, 2]
    assert evenly(9, 3).tolist() == [0, 4, 8]


# --- drawings and page ---

CASES = {
    "curve": (Shift(8), (20,)),
    "three channels": (Shift(8, axes=0), (20, 3)),
    "seven channels": (Shift(8, axes=1), (7, 20)),
    "eight channels": (Shift(8, axes=0), (20, 8)),
    "image": (Rotation(4), (8, 8)),
    "flipped image": (Reflection(1), (8, 9)),
    "flipped colours": (Reflection(0), (8, 9, 3)),
    "thin": (Identity(), (2, 30)),
    "colours last": (Shift((4, 4)), (8, 8, 3)),
    "colours first": (Shift((4, 4), axes=(1, 2)), (3, 8, 8)),
    "volume": (Shift((4, 5, 5)), (5, 9, 9)),
    "volume of three": (Shift((3, 5, 5)), (3, 9, 9)),
    "other rank": (Custom([np.eye(24, 5), np.eye(24, 5, -7)]), (4, 6)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_picture_in_a_drawing_and_on_the_page(case):
    pytest.importorskip("matplotlib", reason='drawings: pip install "gtpca[plot]"')
    from matplotlib.figure import Figure

    from gtpca import plots
    from gtpca.page.layouts import lay_out

    model, X = fit(*CASES[case])
    page = lay_out(component_view(model))(model.components_[:1])[0]
    ax = plots.plot_components(model, components=0, ax=Figure().subplots())
    compare(ax, component_view(model), page, model.components_[0])
    page = lay_out(sample_view(model))(X[:1])[0]
    axes = plots.plot_reconstructions(model, X, rows=0, counts=2, ax=Figure().subplots(1, 3))
    compare(axes[0], sample_view(model), page, X[0])


def compare(ax, view, page, values):
    """Whether Axes hold what the page draws."""
    if view.kind == "lines":
        lines = [line.get_ydata() for line in ax.lines if len(line.get_ydata()) == page.shape[1]]
        np.testing.assert_allclose(lines[: len(page)], page)
        return
    drawn = ax.images[0].get_array()
    if view.kind == "colours":
        page = 0.5 + page / (2 * np.abs(values).max())
    np.testing.assert_allclose(drawn.filled(0), page)


@pytest.mark.parametrize("package", ["views", "plots", "page"])
def test_nothing_private_of_an_estimator_is_used(package):
    files = sorted((Path(gtpca.__file__).parent / package).glob("*.py"))
    assert files
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
                own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
                assert own or node.attr.startswith("__"), f"{file.name}: {ast.unparse(node)}"
