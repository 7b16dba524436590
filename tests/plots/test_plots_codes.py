"""Drawings of scores, poses, energy and history, and the page that shows all drawings."""

from __future__ import annotations

import io
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

pytest.importorskip("matplotlib", reason="drawings: pip install gtpca[plot]")

from helpers import noise
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import imread

from gtpca import ALS, GTPCA, Compose, Family, Identity, Reflection, Rotation, Scaling, Shift, plots
from gtpca.datasets import random_rotation
from gtpca.operators.bank import BankOperator
from gtpca.plots.events import __all__ as OF_EVENTS
from gtpca.plots.kinds import __all__ as OF_KINDS
from gtpca.plots.phase import __all__ as OF_WARPS
from gtpca.plots.poses import quantities
from gtpca.plots.scores import THUMBNAIL, spread_out
from gtpca.views import measures

QUICK = ALS(n_init=2, max_iter=8)
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def curves(spikes):
    return fit(Shift(20), spikes, 3)


def fit(family, X, n_components=1, **parameters):
    return GTPCA(n_components, family, solver=QUICK, random_state=0, **parameters).fit(X)


def axes(count=1, **options):
    """Axes that pyplot does not know of."""
    figure = Figure(layout="constrained")
    made = [figure.add_subplot(1, count, j + 1, **options) for j in range(count)]
    return made[0] if count == 1 else made


def heights(ax):
    """Of all bars."""
    return np.array([bar.get_height() for bar in ax.patches])


# --- scores ---


def test_points_are_scores(curves, spikes):
    ax = plots.plot_scores(curves, spikes, components=(2, 0), ax=axes())
    np.testing.assert_array_equal(
        ax.collections[0].get_offsets(), curves.transform(spikes)[:, [2, 0]]
    )
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("score on component 3", "score on component 1")


def test_one_component_is_drawn_over_the_row_number(spikes):
    model = fit(Shift(20), spikes)
    ax = plots.plot_scores(model, spikes, ax=axes())
    x, y = ax.collections[0].get_offsets().T
    np.testing.assert_array_equal(x, np.arange(60))
    np.testing.assert_array_equal(y, model.transform(spikes)[:, 0])


@pytest.mark.parametrize("kind", [str, int, object])
def test_classes_have_colours_markers_and_a_legend(kind, curves, spikes):
    labels = np.repeat(["1", "3", "20"], (10, 20, 30)).astype(kind)
    ax = plots.plot_scores(curves, spikes, labels=labels, ax=axes())
    counts = {group.get_label(): len(group.get_offsets()) for group in ax.collections}
    assert counts == {"1": 10, "3": 20, "20": 30}
    assert [text.get_text() for text in ax.get_legend().texts] == list(counts)
    assert len({to_hex(group.get_facecolor()[0]) for group in ax.collections}) == 3
    assert len({group.get_paths()[0].vertices.tobytes() for group in ax.collections}) == 3


def test_names_of_any_kind_are_in_the_legend(curves, spikes):
    names = ["", "_hidden", r"$\nothing$"] * 20
    ax = plots.plot_scores(curves, spikes, labels=names, ax=axes())
    ax.figure.savefig(io.BytesIO())  # formulas would be read here
    shown = [text.get_text() for text in ax.get_legend().texts]
    assert shown == ["(none)", r"\$\nothing\$", " _hidden"]


def test_more_classes_than_can_be_told_apart_have_one_look(curves, spikes):
    labels = [f"class {i}" for i in range(60)]
    ax = plots.plot_scores(curves, spikes, labels=labels, ax=axes())
    assert [text.get_text() for text in ax.get_legend().texts] == ["60 classes"]
    assert len(ax.collections) == 1


def test_quantities_have_a_colour_bar(curves, spikes):
    values = np.linspace(0, 1, 60)
    ax = plots.plot_scores(curves, spikes, labels=values, thumbnails=3, ax=axes())
    np.testing.assert_array_equal(ax.collections[0].get_array(), values)
    assert len(ax.figure.axes) == 2
    assert ax.get_legend() is None


def test_thumbnails_show_samples_at_their_points():
    digits = load_digits().data[:80].reshape(-1, 8, 8)
    model = fit(Rotation(4), digits, 2)
    ax = plots.plot_scores(model, digits, thumbnails=6, ax=axes())
    assert len(ax.child_axes) == 6
    ax.figure.canvas.draw()
    scores = model.transform(digits)
    for small in ax.child_axes:
        image = small.images[0].get_array()
        (row,) = np.flatnonzero((digits == image).all(axis=(1, 2)))
        left, bottom, width, height = (
            small._axes_locator(small, None)
            .transformed(ax.figure.transFigure + ax.transData.inverted())
            .bounds
        )
        np.testing.assert_allclose([left + width / 2, bottom + height / 2], scores[row], atol=1e-6)


def test_thumbnails_of_curves_are_lines(curves, spikes):
    ax = plots.plot_scores(curves, spikes, thumbnails=4, ax=axes())
    for small in ax.child_axes:
        assert (spikes == small.lines[0].get_ydata()).all(axis=1).sum() == 1


def test_thumbnails_do_not_overlap():
    points = np.random.default_rng(0).random((200, 2))
    chosen = points[spread_out(points, 50, THUMBNAIL)]
    gaps = np.abs(chosen[:, None] - chosen).max(axis=-1)[~np.eye(len(chosen), dtype=bool)]
    assert gaps.min() >= THUMBNAIL
    assert 20 < len(chosen) <= 50
    assert len(spread_out(points, 3, THUMBNAIL)) == 3


# --- poses ---


def test_positions_are_counted(curves, spikes):
    (ax,) = plots.plot_poses(curves, spikes, 1, ax=[axes()])
    centre = curves.poses(curves.encode(spikes))["centre"][:, 1]
    assert len(heights(ax)) <= 40
    assert heights(ax).sum() == 60
    edges = [bar.get_x() for bar in ax.patches]
    edges.append(ax.patches[-1].get_x() + ax.patches[-1].get_width())
    np.testing.assert_array_equal(heights(ax), np.histogram(centre, edges)[0])
    assert (edges[0], edges[-1]) == (9.0, 54.0)  # centres of 20 points in 64: 9.5 to 53.5
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("centre (points)", "samples")


@pytest.mark.parametrize("polar", [False, True])
def test_angles_are_a_rose_on_polar_axes(polar):
    base = noise(9, 9)
    base[:, :4] += 4
    X, degrees = random_rotation(np.stack([base] * 40), 8, random_state=0)
    model = fit(Rotation(8), X)
    ax = plots.plot_poses(model, X, ax=axes(polar=polar))
    found = model.poses(model.encode(X))["degrees"][:, 0]
    wanted = [np.sum(found == angle) for angle in 45.0 * np.arange(8)]
    np.testing.assert_array_equal(heights(ax), wanted)
    if polar:
        middle = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
        np.testing.assert_allclose(middle, np.deg2rad(45.0 * np.arange(8)), atol=1e-9)
    turned = (found - degrees) % 360
    assert np.all(turned == turned[0])


def test_new_axes_of_angles_are_polar():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    X = noise(12, 6, 6)
    model = fit(Compose(Shift(boundary="circular", axes=(0, 1)), Rotation(4), Reflection(0)), X)
    made = plots.plot_poses(model, X)
    assert [ax.name for ax in made] == ["rectilinear", "polar", "rectilinear"]
    assert heights(made[1]).sum() == heights(made[2]).sum() == 12
    assert made[0].collections[0].get_array().sum() == 12
    pyplot.close("all")


def test_values_without_even_steps_have_a_bar_each(spikes):
    model = fit(Compose(Scaling((0.7, 1, 1.4)), Reflection()), spikes)
    factor, flipped = plots.plot_poses(model, spikes, ax=axes(2))
    poses = model.poses(model.encode(spikes))
    shown = [text.get_text() for text in factor.get_xticklabels()]
    assert shown == ["0.7", "1", "1.4"]
    assert factor.get_xlabel() == "factor"
    np.testing.assert_array_equal(
        heights(factor), [np.sum(poses["factor"] == v) for v in (0.7, 1, 1.4)]
    )
    assert [text.get_text() for text in flipped.get_xticklabels()] == ["no", "yes"]
    assert heights(flipped)[1] == poses["flipped"].sum()


def test_positions_in_images_are_a_map_with_rows_downwards():
    X = np.zeros((30, 9, 12))
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 7, 30), rng.integers(0, 10, 30)
    for x, i, j in zip(X, rows, columns, strict=True):
        x[i : i + 3, j : j + 3] = [[1, 2, 1], [2, 5, 2], [1, 2, 1]]
    model = GTPCA(1, Shift((3, 3)), random_state=0).fit(X)
    ax = plots.plot_poses(model, X, ax=axes())
    wanted = np.zeros((7, 10))
    np.add.at(wanted, (rows, columns), 1)
    np.testing.assert_array_equal(ax.collections[0].get_array(), wanted)
    assert ax.yaxis_inverted()
    assert not ax.xaxis_inverted()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("centre_1 (points)", "centre_0 (points)")


def test_positions_share_a_panel_in_pairs():
    names = "centre_2 centre_1 degrees inner_centre"
    assert quantities(names.split()) == [["centre_1", "centre_2"], ["degrees"], ["inner_centre"]]
    assert quantities(["centre_0", "centre_1", "centre_2"]) == [
        *(["centre_0"], ["centre_1"], ["centre_2"])
    ]


def test_a_position_that_cannot_change_is_not_drawn():
    X = noise(20, 9, 6)
    ax = plots.plot_poses(fit(Shift((3, 6)), X), X, ax=axes())
    assert ax.get_xlabel() == "centre_0 (points)"
    assert heights(ax).sum() == 20


class Named(Family):
    """Poses with names of their own."""

    def bind(self, sample_shape):
        poses = {"side": np.array(["left", "right"])}
        return BankOperator(np.concatenate([np.eye(6, 3), np.eye(6, 3, -3)]), (6,), (3,), poses)


def test_poses_may_have_names():
    model, X = fit(Named(), noise(20, 6)), noise(20, 6)
    ax = plots.plot_poses(model, X, ax=axes())
    assert [text.get_text() for text in ax.get_xticklabels()] == ["left", "right"]
    right = np.sum(model.poses(model.encode(X))["side"] == "right")
    np.testing.assert_array_equal(heights(ax), [20 - right, right])


def test_where_nothing_moves_there_is_one_bar(spikes):
    model = fit(Identity(), spikes, 2)
    assert heights(plots.plot_poses(model, spikes, 1, ax=axes())) == [60]


def test_a_shared_pose_is_the_same_for_all_components(spikes):
    model = fit(Shift(20), spikes, 2, shared_pose=True)
    first, second = (plots.plot_poses(model, spikes, k, ax=axes()) for k in (0, 1))
    np.testing.assert_array_equal(heights(first), heights(second))
    assert first.get_title() == "pose of all components"


# --- energy and history ---


def test_energy_of_the_training_rows(curves):
    (line,) = plots.plot_energy(curves, ax=axes()).lines
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3])
    np.testing.assert_allclose(line.get_ydata(), np.cumsum(curves.explained_energy_ratio_))


@pytest.mark.parametrize("center", [False, True])
def test_energy_beside_pca(center, spikes):
    X = spikes[:30] + np.linspace(0, 1, 64)
    model = fit(Shift(20), X, 3, center=center)
    ax = plots.plot_energy(model, X, ax=axes())
    own, other = ax.lines
    np.testing.assert_allclose(own.get_ydata(), 1 - model.resmse(X))
    values = np.linalg.svd(X - X.mean(axis=0) if center else X, compute_uv=False) ** 2
    np.testing.assert_allclose(other.get_ydata(), np.cumsum(values)[:3] / values.sum())
    assert [text.get_text() for text in ax.get_legend().texts] == ["GT-PCA", "PCA (uncentred)"]


def test_the_legend_says_if_pca_saw_some_rows(curves, spikes, monkeypatch):
    monkeypatch.setattr(measures, "PCA_VALUES", 30 * 64)
    ax = plots.plot_energy(curves, spikes, ax=axes())
    assert ax.get_legend().texts[1].get_text() == "PCA (uncentred), 30 rows"


def test_there_is_no_pca_beside_pca(spikes):
    assert len(plots.plot_energy(fit(Identity(), spikes, 2), spikes, ax=axes()).lines) == 1


def test_pca_has_no_more_components_than_rows(curves, spikes):
    _, other = plots.plot_energy(curves, spikes[:2], ax=axes()).lines
    assert len(other.get_ydata()) == 2


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("count", [1, 5])
def test_energy_of_rows_without_variance(count, curves):
    ax = plots.plot_energy(curves, np.ones((count, 64)), ax=axes())
    np.testing.assert_allclose(ax.lines[1].get_ydata(), 1)


def test_history(curves):
    lines = plots.plot_history(curves, ax=axes()).lines
    assert len(lines) == 3
    for line, values in zip(lines, curves.history_, strict=True):
        np.testing.assert_allclose(line.get_ydata(), values / values[-1])
    untrained = fit(Shift(20), noise(20, 64))
    untrained.history_ = [np.array([])]
    with pytest.raises(ValueError, match="history_"):
        plots.plot_history(untrained)


# --- the page that shows all drawings ---


def test_the_page_shows_every_drawing():
    page = (ROOT / "docs" / "plots.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\]\(images/plots/([\w-]+)\.png\)", page))
    folder = ROOT / "examples" / "first-steps"
    files = [folder / f"plot_{name}.py" for name in ("gallery", "likelihood")]
    made = "".join(file.read_text(encoding="utf-8") for file in files)
    assert shown == set(re.findall(r'drawn\["([\w-]+)"\]', made))
    for name in plots.__all__:
        assert f"`{name}(" in page
        assert f"plots.{name}(" in made or name in (*OF_EVENTS, *OF_KINDS, *OF_WARPS)
    files = sorted((ROOT / "docs" / "images" / "plots").glob("*"))
    assert [file.name for file in files] == sorted(f"{name}.png" for name in shown)
    for name in shown:
        height, width, _ = imread(ROOT / "docs" / "images" / "plots" / f"{name}.png").shape
        assert 150 < height < 1000
        assert 300 < width < 1300


def test_the_pictures_of_the_page_can_be_written(curves, tmp_path):
    script = runpy.run_path(str(ROOT / "docs" / "draw_plots.py"))
    script["save"]({"components": plots.plot_components(curves, ax=axes(3))}, tmp_path)
    assert imread(tmp_path / "components.png").ndim == 3


def test_poses_with_their_standard_errors(curves, spikes):
    ax = Figure().subplots()
    plots.plot_poses(curves, spikes, 1, errors=True, ax=ax)
    [bars] = ax.containers
    order = np.argsort(curves.poses(curves.encode(spikes))["centre"][:, 1], kind="stable")
    shown = np.array([line[:, 1] for line in bars[2][0].get_segments()])
    se = curves.pose_errors(spikes)["centre"][order, 1]
    np.testing.assert_allclose(np.diff(shown, axis=1)[:, 0], 4 * se)
    np.testing.assert_array_equal(
        bars[0].get_ydata(), curves.poses(curves.encode(spikes))["centre"][order, 1]
    )
    flipped = fit(Reflection(), spikes)
    with pytest.raises(ValueError, match="errors=True: the poses of this model"):
        flipped.plot_poses(spikes, errors=True)
