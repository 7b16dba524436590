"""Plots of kinds, and of what a fit set aside."""

import numpy as np
import pytest

from gtpca import GTPCA, MixtureGTPCA, Shift

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")  # of the page

import matplotlib.pyplot as plt

from gtpca.page import write_page
from gtpca.plots import (
    plot_components,
    plot_energy,
    plot_kinds,
    plot_perturbation,
    plot_reconstructions,
    plot_scores,
)
from gtpca.views.measures import confusion, set_aside

SHAPES = np.array([[1, 3, 5, 3, 1], [5, 1, -2, 1, 5]])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def signals():
    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((60, 24))
    for i, row in enumerate(X):
        row[i % 20 : i % 20 + 5] += SHAPES[i % 2]
    return X


@pytest.fixture(scope="module")
def mixture(signals):
    return MixtureGTPCA(2, 0, Shift(5), tol=1e-3, random_state=0).fit(signals)


@pytest.fixture(scope="module")
def robust(signals):
    X = signals.copy()
    X[0] = 20 * np.random.default_rng(1).standard_normal(24)
    X[5, 3] = 40
    return GTPCA(2, Shift(5), outliers="both", random_state=0).fit(X), X


def test_patterns_samples_and_classes(mixture, signals):
    assert len(plot_kinds(mixture)) == 2
    axes = plot_kinds(mixture, signals, labels=np.arange(60) % 2)
    assert len(axes) == 3
    assert "30 samples" in axes[0].get_title()
    assert len(axes[0].lines) > 15
    assert sorted(text.get_text() for text in axes[2].texts) == ["0", "0", "30", "30"]


def test_what_cannot_be_drawn(mixture, signals):
    with pytest.raises(TypeError, match="GTPCA has no kinds"):
        plot_kinds(GTPCA(1, Shift(5)).fit(signals))
    with pytest.raises(ValueError, match="give X as well"):
        plot_kinds(mixture, labels=[1, 2])


def test_other_plots_draw_kinds_or_refuse_them(signals):
    model = MixtureGTPCA(2, 1, Shift(5), tol=1e-2, random_state=0).fit(signals)
    names = [ax.get_title().split("\n")[0] for ax in plot_components(model)]
    assert names[2:] == ["kind 1: pattern", "kind 1: component 1"]
    names = [ax.get_title().split("\n")[0] for ax in plot_components(model, components=0)]
    assert names == ["kind 0: component 1", "kind 1: component 1"]
    axes = plot_reconstructions(model, signals, rows=[3], counts=[1])
    np.testing.assert_allclose(axes[0, 0].lines[-1].get_ydata(), model.reconstruct(signals)[3])
    for draw in (plot_scores, plot_perturbation, plot_energy):
        with pytest.raises(TypeError, match="needs one set of components"):
            draw(model, signals)


def test_confusion():
    classes, counts = confusion([0, 1, 1], ["a", "b", "a"], 3)
    assert classes.tolist() == ["a", "b"]
    assert counts.tolist() == [[1, 1, 0], [0, 1, 0]]
    with pytest.raises(ValueError, match="labels has shape"):
        confusion([0, 1], ["a"])


def test_rows_and_values_that_were_set_aside_are_marked(robust):
    model, X = robust
    assert set_aside(model).rows.tolist() == [0]
    legend = plot_scores(model, X).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["set aside"]
    clean = int(np.flatnonzero(~model.rejected_.any(axis=1))[0])
    axes = plot_reconstructions(model, X, rows=[0, 5, clean])
    assert "weight" in axes[0, 0].get_ylabel()
    marked = [[line.get_label() for line in ax.lines] for ax in axes[:, 0]]
    assert "set aside" in marked[1]
    assert "set aside" not in marked[2]
    assert plot_scores(model, X[:30]).get_legend() is None  # other rows than those of the fit


def test_the_page_says_what_was_set_aside(robust, tmp_path):
    model, X = robust
    text = write_page(model, X, tmp_path / "a.html").read_text(encoding="utf-8")
    assert "set aside as artefacts" in text
    assert "row weight" in text
