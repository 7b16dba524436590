"""Phase components: scores of timing, and what they do to time."""

import numpy as np
import pytest

from gtpca import GTPCA, FreeWarp, Shift, labelled
from gtpca.views.phase import phase_components

U = np.linspace(0, 1, 50)
LATE = np.linspace(-0.4, 0.4, 20)
X = np.exp(-(((U ** np.exp(LATE[:, None]) - 0.5) / 0.15) ** 2))


@pytest.fixture(scope="module")
def model():
    return GTPCA(1, FreeWarp(3), random_state=0).fit(X)


def test_scores_of_timing_rebuild_the_poses(model):
    found = phase_components(model, X, 3)
    pose = model.encode(X).pose[:, 0]
    np.testing.assert_allclose(found.mean + found.scores @ found.components, pose, atol=1e-9)
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(3), atol=1e-9)
    assert found.variance_ratio.sum() == pytest.approx(1)
    assert found.variance_ratio[0] > 0.9
    assert abs(np.corrcoef(found.scores[:, 0], LATE)[0, 1]) > 0.98


def test_warps_of_a_component_are_those_of_its_poses(model):
    found = phase_components(model, X, 1)
    mean, more = found.warps(0, [0, 1])
    np.testing.assert_allclose(mean, model.operator_.lattice.warp(found.mean[None])[0])
    spread = found.scores[:, 0].std() * found.components[0] @ model.operator_.lattice.hats
    np.testing.assert_allclose(more - mean, spread)


def test_errors_name_what_would_work(model):
    with pytest.raises(TypeError, match="FreeWarp"):
        phase_components(GTPCA(1, Shift(20), random_state=0).fit(X), X)
    with pytest.raises(ValueError, match="n_components=4"):
        phase_components(model, X, 4)


def test_the_plot_shows_how_far_clocks_are_ahead(model):
    plt = pytest.importorskip("matplotlib.pyplot")
    from gtpca.plots import plot_phase

    axes = plot_phase(model, X, 2)
    assert len(axes) == 2
    found = phase_components(model, X, 2)
    lines = axes[0].get_lines()
    np.testing.assert_allclose(lines[0].get_ydata(), found.warps(0, [0])[0] - np.arange(50))
    np.testing.assert_allclose(lines[4].get_ydata(), found.warps(0, [2])[0] - np.arange(50))
    named = labelled(X, axes=["time"], rate=10)
    timed = GTPCA(1, FreeWarp(3), random_state=0).fit(named)
    [panel] = plot_phase(timed, named, 1)
    assert panel.get_xlabel() == "time (s)"
    assert panel.get_lines()[0].get_xdata()[-1] == pytest.approx(4.9)
    plt.close("all")
