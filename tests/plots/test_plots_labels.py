"""Drawings of data with names and units say them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import QUICK

pytest.importorskip("matplotlib", reason='needs matplotlib: pip install "gtpca[plot]"')

from gtpca import GTPCA, Shift, labelled, plots

RATE, FIRST = 100.0, -0.2


def model_of(channels, family=None):
    X = np.random.default_rng(0).standard_normal((20, channels, 40))
    known = labelled(X, rate=RATE, start=FIRST, channels=[f"E{c + 1}" for c in range(channels)])
    family = family or Shift("0.1s", axes="time")
    return GTPCA(2, family, solver=QUICK, random_state=0).fit(known), known


@pytest.fixture(autouse=True)
def closed():
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def test_lines_run_over_positions_and_channels_have_names():
    model, known = model_of(3)
    (first, _) = plots.plot_components(model)
    time = model.operator_.weight_grid.axes[1].points
    np.testing.assert_array_equal(first.lines[1].get_xdata(), time)
    assert first.get_xlabel() == "time (s)"
    assert [line.get_label() for line in first.lines[1:]] == ["E1", "E2", "E3"]
    panel = plots.plot_reconstructions(model, known, rows=0).ravel()[0]
    np.testing.assert_allclose(panel.lines[1].get_xdata(), FIRST + np.arange(40) / RATE)


def test_many_channels_have_names_beside_their_rows():
    model, _ = model_of(12)
    (first, _) = plots.plot_components(model)
    names = [text.get_text() for text in first.get_yticklabels()]
    assert (names[0], names[-1]) == ("E1", "E12")
    np.testing.assert_array_equal(first.get_yticks()[[0, -1]], [1, 12])
    time = model.operator_.weight_grid.axes[1].points
    left, right, *_ = first.images[0].get_extent()
    np.testing.assert_allclose([left, right], time[[0, -1]] + [-0.005, 0.005])


def test_poses_have_units():
    model, known = model_of(2)
    (panel,) = plots.plot_poses(model, known)
    assert panel.get_xlabel() == "centre (s)"
    poses = model.poses(model.encode(known))["centre"][:, 0]
    left = min(bar.get_x() for bar in panel.patches)
    right = max(bar.get_x() + bar.get_width() for bar in panel.patches)
    assert left <= poses.min() <= poses.max() <= right
    assert sum(bar.get_height() for bar in panel.patches) == 20


def test_two_positions_are_a_map_in_the_order_of_the_axes():
    X = np.random.default_rng(0).standard_normal((20, 9, 9))
    family = Shift((4, 4), axes=("row", "column"))
    known = labelled(X, axes=("row", "column"))
    model = GTPCA(1, family, solver=QUICK, random_state=0).fit(known)
    (panel,) = plots.plot_poses(model, known)
    assert (panel.get_ylabel(), panel.get_xlabel()) == (
        "centre_row (points)",
        "centre_column (points)",
    )


def test_one_curve_is_drawn_over_its_positions():
    model, known = model_of(1)
    flat = labelled(known.rows[:, 0], rate=RATE, start=FIRST)
    model = GTPCA(1, Shift("0.1s"), solver=QUICK, random_state=0).fit(flat)
    panels = plots.plot_reconstructions(model, flat, rows=0).ravel()
    for panel in panels:
        np.testing.assert_allclose(panel.lines[-1].get_xdata(), FIRST + np.arange(40) / RATE)
    panel = plots.plot_perturbation(model, flat)[0]
    assert panel.get_xlabel() == "time (s)"
