"""Panels of the tables, and pictures of data and models."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pandas", reason='needs pandas: pip install "gtpca[report]"')
pytest.importorskip("matplotlib", reason='needs matplotlib: pip install "gtpca[plot]"')

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from result_rows import MNIST, row, table_of, whole_table

from gtpca import GTPCA, Rotation, Shift
from gtpca.datasets import DatasetError
from gtpca_paper.report import panels, pictures
from gtpca_paper.report.published import published_models, published_tables
from gtpca_paper.rows import TableKey
from gtpca_paper.spec import MODELS


def texts(figure):
    from matplotlib.text import Text

    return [artist.get_text() for artist in figure.findobj(Text)]


@pytest.mark.parametrize(
    ("experiment", "shape"), [("oscillations", (1, 2)), ("spikes", (2, 3)), ("mnist", (2, 4))]
)
def test_panels_have_a_row_for_each_task(experiment, shape):
    keys = [key for key in published_tables() if key.experiment == experiment]
    table = table_of(whole_table(key=keys[0], repetitions=1))
    figure = panels.draw_panels([table], experiment)
    assert len(figure.axes) == shape[0] * shape[1]
    models = published_models(keys[0])
    assert lines_of(figure.axes[0]) == (table.cells["model"].nunique(), len(models))
    assert len(figure.axes[0].lines) == len(figure.axes[0].get_lines())
    for ax in figure.axes[1:]:
        assert lines_of(ax) == (0, len(models))  # nothing of ours, but the paper's


def lines_of(ax):
    """Numbers of solid and of dashed lines."""
    styles = [line.get_linestyle() for line in ax.lines]
    return styles.count("-"), styles.count("--")


def test_every_line_is_in_the_legend():
    key = TableKey("mnist", "iii", "classification", "resmse")
    figure = panels.draw_panels([table_of([row(key, model="gtpca-shared")])], "mnist")
    said = {text.get_text() for text in figure.legends[0].texts}
    wanted = {"GT-PCA by ALS", "GT-PCA, shared pose", "PCA", "Autoencoder", "VAE"}
    assert said == wanted | {"published"}


def test_accuracies_have_a_row_for_each_protocol_with_all_models():
    made = [table_of(whole_table(key=MNIST, repetitions=1))]
    figure = panels.draw_panels(made, "mnist", "accuracy")
    assert len(figure.axes) == 3 * 4  # nothing is there of the outlier task
    third = [ax for ax in figure.axes if ax.get_title().startswith("(iii)")]
    models = {*made[0].cells["model"]}
    assert [lines_of(ax)[0] for ax in third] == [len(models)] * 3
    assert [lines_of(ax)[1] for ax in third] == [4, 0, 0]  # the paper has one protocol
    assert texts(figure).count("not run") == 2 * 3  # the other settings, where none is published


def test_models_without_poses_are_drawn_by_signed_scores():
    fields = {"protocol": "signed", "normalisation": "paper"}
    rows = [row(MNIST, value=30.0, **fields), row(MNIST, model="gtpca-als", value=40.0, **fields)]
    rows += [row(MNIST, model="gtpca-als", value=50.0, **fields | {"protocol": "signed+pose"})]
    figure = panels.draw_panels([table_of(rows)], "mnist", "accuracy")
    posed = [ax for ax in figure.axes if ax.get_title().startswith("(iii)")][-1]
    assert [line.get_ydata().tolist() for line in posed.lines] == [[50.0], [30.0]]


def test_axes_are_logarithmic_where_a_curve_lies_on_zero():
    key = TableKey("mine", "x", "projection", "resmse")
    for low, scale in ((0.001, "log"), (0.2, "linear")):
        made = [table_of([row(key, value=0.8), row(key, k=2, value=low)])]
        assert panels.draw_panels(made, "mine").axes[0].get_yscale() == scale


def test_panels_say_simulated():
    made = [table_of([row(TableKey("errp", "i", "outlier", "resmse"), simulated=True)])]
    assert any("Simulated" in text for text in texts(panels.draw_panels(made, "errp")))
    assert "Simulated data." in panels.panel_caption(made, "errp")


def test_same_figure_same_bytes(tmp_path):
    once, again = (
        [path.read_bytes() for path in panels.save_figure(pictures.draw_network(2), tmp_path / n)]
        for n in ("a", "b")
    )
    assert once == again
    assert once[0].startswith(b"\x89PNG")


def test_network_has_a_box_per_layer():
    said = texts(pictures.draw_network(4))
    assert [f"GT-PC layer {j}" in said for j in (1, 4, 5)] == [True, True, False]


def test_spikes_are_drawn_with_three_reconstructions():
    X = np.random.default_rng(0).standard_normal((12, 10))
    model = GTPCA(3, Shift(5), random_state=0).fit(X)
    axes = pictures.draw_spikes(model, X).axes
    assert [len(ax.lines) for ax in axes] == [2, 2, 2, 4, 4, 4]


def test_digits_are_drawn():
    X = np.random.default_rng(0).uniform(size=(9, 6, 6))
    turned = GTPCA(4, Rotation(4), random_state=0).fit(X)
    moved = GTPCA(4, Shift((4, 4)), random_state=0).fit(X)
    figure = pictures.draw_digit_components(turned, X, moved, X)
    assert sum(len(ax.images) for ax in figure.axes) == 2 * (4 + 9)
    assert sum(len(ax.images) for ax in pictures.draw_digits(X, X).axes) == 18


def test_projections_have_two_colours():
    scores, is_eight = np.arange(10.0).reshape(5, 2), np.array([1, 0, 0, 1, 0])
    others, eights = pictures.draw_projections(scores, is_eight).axes[0].collections
    np.testing.assert_array_equal(eights.get_offsets(), scores[[0, 3]])
    assert len(others.get_offsets()) == 3


def test_pictures_without_mnist_say_so(monkeypatch):
    def fetch(*_):
        raise DatasetError("no network here")

    monkeypatch.setattr(pictures, "fetch_mnist", fetch)
    made = {picture.name: picture for picture in pictures.make_pictures(n_samples=20)}
    assert made["spikes-long-window"].figure is not None
    for name in ("digits", "components", "projections"):
        assert made[name].figure is None
        assert "Left out: no network here" in made[name].caption


def test_every_model_has_a_colour_of_its_own():
    assert len({panels.COLOURS[name] for name in MODELS}) == len(MODELS)


def test_an_experiment_the_paper_has_not_is_drawn():
    key = TableKey(experiment="mine", setting="x", task="projection", metric="resmse")
    assert panels.draw_panels([table_of([row(key)])], "mine").axes
