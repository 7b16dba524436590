"""Drawings of recordings show what the model says."""

from __future__ import annotations

import numpy as np
import pytest
import samples

from gtpca import EventGTPCA, Shift

pytest.importorskip("matplotlib")

from matplotlib import pyplot

from gtpca import plots


@pytest.fixture(autouse=True)
def no_figures():
    """Every test begins and ends without figures of pyplot."""
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def fitted():
    y = samples.recording()
    model = EventGTPCA(1, Shift(20), rate=100, counts=False, random_state=0).fit(y)
    return model, y, model.encode(y)


def test_events_are_drawn_where_they_are(fitted):
    model, y, events = fitted
    ax = plots.plot_events(model, y, start=0.0, stop=10.0)
    trace, *drawn = ax.lines
    assert np.allclose(trace.get_ydata(), y[:1000] - np.median(y))
    marks = drawn[-1].get_xdata()
    inside = events.start < 1000
    assert np.allclose(marks, model.poses(events[inside])["peak"])
    assert len(drawn) - 1 == inside.sum()
    assert ax.get_xlabel() == "time, s"
    assert model.plot_events(y, events=events, ax=ax) is ax
    with pytest.raises(ValueError, match="leave nothing"):
        plots.plot_events(model, y, start=5.0, stop=4.0)


def test_intervals_are_those_of_the_table(fitted):
    model, y, events = fitted
    ax = plots.plot_intervals(model, y, events=events)
    [stairs] = ax.patches
    counts, edges, _ = stairs.get_data()
    assert counts.tolist() == np.histogram(events.intervals, edges)[0].tolist()
    assert counts.max() >= 0.9 * (len(events) - 1)
    with pytest.raises(ValueError, match="no interval"):
        model.plot_intervals(y, events=events[:1])


def test_templates_and_noise_are_drawn(fitted):
    model = fitted[0]
    [ax] = np.ravel(model.plot_components())
    assert ax.get_title() == "template 1"
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), model.components_[0])
    assert np.allclose(plots.plot_noise(model).lines[0].get_ydata(), model.noise_level_**2)
