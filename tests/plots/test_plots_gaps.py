"""Gaps stay blank, and what is predicted there has a colour of its own."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="drawings: pip install gtpca[plot]")

from helpers import QUICK, noise
from matplotlib.colors import to_rgba
from numpy.testing import assert_allclose, assert_array_equal

from gtpca import GTPCA, Shift
from gtpca.plots import plot_energy, plot_reconstructions, plot_scores
from gtpca.views.measures import uncentred_pca
from gtpca.views.palette import PREDICTED, Scale


def gaps(X, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < 0.3, np.nan, X)


def fitted(X, family):
    return GTPCA(1, family, missing="ignore", solver=QUICK, random_state=0).fit(X)


@pytest.fixture(scope="module")
def series():
    return gaps(noise(20, 24))


@pytest.fixture(scope="module")
def images():
    return gaps(noise(20, 8, 7))


def test_curves_have_gaps_and_predictions(series):
    model = fitted(series, Shift(6))
    axes = plot_reconstructions(model, series, rows=[4])
    sample, _, predicted = axes[0, 0].lines
    assert_array_equal(sample.get_ydata(), series[4])
    hidden = np.isnan(series[4])
    assert_allclose(predicted.get_ydata()[hidden], model.reconstruct(series[4:5])[0, hidden])
    assert np.isnan(predicted.get_ydata()[~hidden]).all()
    assert to_rgba(predicted.get_color()) == to_rgba(PREDICTED)
    assert predicted.get_label() == "predicted"
    assert_array_equal(np.isnan(axes[0, 1].lines[-1].get_ydata()), hidden)


def test_complete_curves_have_no_prediction(series):
    model = fitted(series, Shift(6))
    whole = plot_reconstructions(model, np.nan_to_num(series), rows=[4])
    assert len(whole[0, 0].lines) == 2


def test_pictures_are_blank_in_gaps_and_veiled_where_predicted(images):
    model = fitted(images, Shift((4, 4)))
    sample, rebuilt, rest = plot_reconstructions(model, images, rows=[2])[0]
    hidden = np.isnan(images[2])
    for ax in (sample, rest):
        assert_array_equal(np.ma.getmaskarray(ax.images[0].get_array()), hidden)
        assert len(ax.images) == 1
    veil = rebuilt.images[1].get_array()
    assert_array_equal(veil[..., 3] > 0, hidden)


@pytest.mark.parametrize("shape", [(24, 2), (24, 9), (6, 7, 3), (2, 6, 7)], ids=str)
def test_every_kind_of_view(shape):
    X = gaps(noise(12, *shape))
    model = fitted(X, Shift(3, axes=0) if len(shape) == 2 else Shift((3, 3), axes=(-3, -2)))
    for drawn in (plot_reconstructions(model, X), plot_scores(model, X)):
        np.ravel(drawn)[0].figure.canvas.draw()


def test_lists_and_masked_arrays(series):
    model = fitted(series, Shift(6))
    rows = [row[: 24 - i % 3] for i, row in enumerate(series)]
    masked = np.ma.masked_invalid(series)
    for X in (rows, masked):
        first = plot_reconstructions(model, X)[0, 0].lines[0].get_ydata()
        assert_array_equal(np.isnan(first), np.isnan(series[0]))


def test_there_is_no_pca_of_gaps(series):
    model = fitted(series, Shift(6))
    assert uncentred_pca(model, series) is None
    assert len(plot_energy(model, series).lines) == 1


def test_scales_do_not_count_gaps():
    assert Scale.of([np.nan, 1.0, 3.0]) == Scale.of([1.0, 3.0])
    assert Scale.of([np.nan]) == Scale.of([0.0])
