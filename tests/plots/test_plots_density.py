"""Drawings of models with a likelihood: pattern, components, probabilities of poses."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="drawings: pip install gtpca[plot]")

from matplotlib import pyplot
from matplotlib.figure import Figure

from gtpca import GTPCA, ProbabilisticGTPCA, Rotation, Shift, plots
from gtpca.plots.diagnostics import __all__ as OF_RESULTS
from gtpca.plots.events import __all__ as OF_EVENTS
from gtpca.plots.kinds import __all__ as OF_KINDS
from gtpca.plots.phase import __all__ as OF_WARPS

PULSE = np.array([1.0, 3.0, 6.0, -4.0, -1.0])
MODE = np.array([0.0, 2.0, 0.0, 2.0, 0.0])
SCORED = {"plot_perturbation", "plot_scores"}  # need components
MODEL_ALONE = {"plot_components", "plot_history", "plot_noise"}
SINGLE = {"plot_scores", "plot_energy", "plot_history", "plot_noise"}
OF_MODELS = sorted({*plots.__all__} - {*OF_RESULTS, *OF_EVENTS, *OF_KINDS, *OF_WARPS})


@pytest.fixture(autouse=True)
def no_figures():
    """Every test begins and ends without figures of pyplot."""
    pyplot.switch_backend("Agg")
    pyplot.close("all")
    yield
    pyplot.close("all")


def beats(n=60):
    rng = np.random.default_rng(0)
    X = 0.5 * rng.standard_normal((n, 20))
    for i, x in enumerate(X):
        x[i % 16 : i % 16 + 5] += PULSE + rng.standard_normal() * MODE
    return X


def turned():
    rng = np.random.default_rng(1)
    one = np.arange(36.0).reshape(6, 6) / 6
    return np.stack([np.rot90(one, k % 4) for k in range(30)]) + rng.standard_normal((30, 6, 6))


@pytest.fixture(scope="module")
def fitted():
    X, Z = beats(), turned()
    made = {
        "pattern": (ProbabilisticGTPCA(0, Shift(5), random_state=0), X),
        "curves": (ProbabilisticGTPCA(1, Shift(5), random_state=0), X),
        "features": (ProbabilisticGTPCA(2, Shift(5), noise="features", random_state=0), X),
        "still": (ProbabilisticGTPCA(1, random_state=0), X),
        "turned": (ProbabilisticGTPCA(1, Rotation(4), random_state=0), Z),
        "places": (ProbabilisticGTPCA(1, Shift((4, 5)), random_state=0), Z),
        "channels": (ProbabilisticGTPCA(1, Shift(3, axes=0), random_state=0), Z[:, :, :2]),
    }
    return {name: (model.fit(rows), rows) for name, (model, rows) in made.items()}


KINDS = ("pattern", "curves", "still", "turned", "places", "channels")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OF_MODELS)
def test_every_drawing_draws_or_says_what_would_work(fitted, kind, name):
    model, X = fitted[kind]
    samples = () if name in MODEL_ALONE else (X,)
    if name in SCORED and model.n_components_ == 0:
        with pytest.raises(ValueError, match=r"n_components=0.*n_components=1 or more .*, or draw"):
            getattr(model, name)(*samples)
        return
    given = Figure().subplots(1 if name in SINGLE else 3, 1 if name in SINGLE else 4)
    assert getattr(model, name)(*samples, ax=given) is given
    assert np.ravel(given)[0].has_data()


@pytest.mark.parametrize("name", OF_MODELS)
def test_new_axes_are_those_of_one_figure(fitted, name):
    model, X = fitted["curves"]
    made = getattr(plots, name)(model, *(() if name in MODEL_ALONE else (X,)))
    assert pyplot.get_fignums() == [1]
    assert isinstance(made, np.ndarray) != (name in SINGLE)
    assert all(ax.has_data() for ax in np.ravel(made))


def test_the_pattern_is_drawn_before_the_components(fitted):
    model, _ = fitted["curves"]
    first, second = plots.plot_components(model)
    np.testing.assert_allclose(first.lines[-1].get_ydata(), model.mean_pattern_)
    np.testing.assert_allclose(second.lines[-1].get_ydata(), model.components_[0])
    size = np.linalg.norm(model.mean_pattern_)
    assert first.get_title().split("\n")[:2] == ["pattern", f"norm {size:.3g}"]
    spread = np.sqrt(model.explained_variance_[0])
    assert second.get_title().split("\n")[:2] == ["component 1", f"sd {spread:.3g}"]
    (only,) = plots.plot_components(model, components=[0])
    assert only.get_title() == second.get_title()


@pytest.mark.parametrize("kind", ["pattern", "curves", "features", "places"])
def test_shares_are_what_drawn_samples_have(fitted, kind):
    model, _ = fitted[kind]
    X, _ = model.sample(20_000, random_state=0)
    energies = [0.0]
    codes = model.sample(20_000, random_state=0)[1]  # the same draw
    for count in range(model.n_components_ + 1):
        shown = model.decode(codes.first(count)).reshape(len(X), -1)
        energies.append((shown**2).sum() / (X**2).sum())
    shares = [float(t.get_title().split("\n")[-1].split()[0]) for t in plots.plot_components(model)]
    np.testing.assert_allclose(shares, 100 * np.diff(energies), atol=0.7)


def test_energy_begins_with_the_pattern(fitted):
    model, X = fitted["curves"]
    line = plots.plot_energy(model, X).lines[0]
    np.testing.assert_array_equal(line.get_xdata(), [0, 1])
    codes, left = model.encode(X), (X**2).sum()
    for count, share in enumerate(line.get_ydata()):
        rest = ((X - model.decode(codes.first(count))) ** 2).sum()
        np.testing.assert_allclose(share, 1 - rest / left)
    measured, energies = model.measure(X)
    np.testing.assert_allclose(energies.sum(axis=0)[1:] / left, 1 - line.get_ydata())
    np.testing.assert_allclose(measured.scores, codes.scores)


def test_energies_are_those_of_what_was_observed():
    X = beats()
    gappy = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, X)
    model = ProbabilisticGTPCA(1, Shift(5), missing="ignore", random_state=0).fit(gappy)
    _, energies = model.measure(gappy)
    np.testing.assert_allclose(energies[:, 0], np.nansum(gappy**2, axis=1))
    rest = np.nansum((gappy - model.reconstruct(gappy)) ** 2, axis=1)
    np.testing.assert_allclose(energies[:, -1], rest)
    left, right = model.plot_reconstructions(gappy, rows=0).ravel()
    assert "predicted" in left.get_legend_handles_labels()[1]
    assert right.get_title().startswith("residual")


def test_a_reconstruction_of_no_components_is_the_pattern(fitted):
    model, X = fitted["curves"]
    ax = plots.plot_reconstructions(model, X, rows=3)[0, 0]
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    start = int(model.poses(model.encode(X[3:4]))["start"][0, 0])
    wanted = np.zeros(20)
    wanted[start : start + 5] = model.mean_pattern_
    np.testing.assert_allclose(drawn["pattern"], wanted, atol=1e-12)
    np.testing.assert_allclose(drawn["1 component"], model.reconstruct(X[3:4])[0])
    with pytest.raises(ValueError, match="counts"):
        plots.plot_reconstructions(GTPCA(1, Shift(5)).fit(X), X, counts=[0])


def test_more_and_less_of_a_component_about_the_pattern(fitted):
    model, X = fitted["curves"]
    mean, more, less = plots.plot_perturbation(model, X)[0].lines[-3:]
    scores = model.transform(X)[:, 0]
    wanted = model.mean_pattern_ + scores.mean() * model.components_[0]
    np.testing.assert_allclose(mean.get_ydata(), wanted, atol=1e-9)
    step = 4 * scores.std() * model.components_[0]
    np.testing.assert_allclose(more.get_ydata() - less.get_ydata(), step, atol=1e-9)


def test_the_history_is_that_of_the_likelihood(fitted):
    model, _ = fitted["curves"]
    ax = plots.plot_history(model)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.history_)
    assert "log-likelihood" in ax.get_ylabel()


def test_bars_are_the_probabilities_of_poses(fitted):
    model, X = fitted["curves"]
    faint = X[:4] * [[1.0], [0.3], [0.1], [0.0]]  # the last one says nothing of its pose
    panels = plots.plot_pose_posterior(model, faint, rows=[0, 3])
    assert panels.shape == (2, 1)
    heights = np.array([[bar.get_height() for bar in ax.patches] for ax in panels.ravel()])
    found = model.pose_posterior(faint[[0, 3]], 16)
    wanted = np.empty((2, 16))
    np.put_along_axis(wanted, found.index, found.probability, axis=1)
    np.testing.assert_allclose(heights, wanted, atol=1e-12)
    np.testing.assert_allclose(heights[1], 1 / 16)
    assert panels[0, 0].get_title().startswith("sample 0: 100 % at\ncentre 2, sd 0")
    assert panels[1, 0].get_title().startswith("sample 3: 6 % at\n")
    assert panels[1, 0].get_title().endswith(f"sd {np.sqrt((16**2 - 1) / 12):.2g}")
    assert panels[0, 0].get_ylabel() == "probability"


def test_the_probabilities_of_places_are_a_map(fitted):
    model, X = fitted["places"]
    (ax,) = plots.plot_pose_posterior(model, X, rows=2).ravel()
    found = model.pose_posterior(X[2:3], model.operator_.n_transforms)
    drawn = ax.collections[0].get_array()
    np.testing.assert_allclose(np.sum(drawn), 1)
    np.testing.assert_allclose(np.max(drawn), found.probability[0, 0])


def test_energies_have_no_probabilities(fitted):
    model = GTPCA(1, Shift(5), random_state=0).fit(beats())
    with pytest.raises(ValueError, match=r"ProbabilisticGTPCA .*, or see .*pose_confidence"):
        model.plot_pose_posterior(beats())
