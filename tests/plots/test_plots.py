"""Drawings: what the artists hold is what the model says."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

pytest.importorskip("matplotlib", reason="drawings: pip install gtpca[plot]")

from conftest import ALL_FAMILIES
from helpers import noise
from matplotlib import pyplot
from matplotlib.figure import Figure

from gtpca import ALS, GTPCA, Codes, Custom, Reflection, Rotation, Shift, plots
from gtpca.plots.diagnostics import __all__ as OF_RESULTS
from gtpca.plots.events import __all__ as OF_EVENTS
from gtpca.plots.kinds import __all__ as OF_KINDS
from gtpca.plots.phase import __all__ as OF_WARPS
from gtpca.views.palette import Scale

QUICK = ALS(n_init=2, max_iter=8)
NEED_SAMPLES = (
    plots.plot_reconstructions,
    plots.plot_perturbation,
    plots.plot_scores,
    plots.plot_poses,
)
SINGLE = (plots.plot_scores, plots.plot_energy, plots.plot_history, plots.plot_noise)
OF_DENSITIES = ("plot_pose_posterior",)
OTHERS = {*OF_RESULTS, *OF_DENSITIES, *OF_EVENTS, *OF_KINDS, *OF_WARPS}
ALL = [getattr(plots, name) for name in plots.__all__ if name not in OTHERS]


@pytest.fixture(autouse=True)
def no_figures():
    """Every test begins and ends without figures of pyplot."""
    pyplot.switch_backend("Agg")
    pyplot.close("all")  # those of other files
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def curves(spikes):
    return GTPCA(3, Shift(20), solver=QUICK, random_state=0).fit(spikes)


@pytest.fixture(scope="module")
def digits():
    return load_digits().data[:80].reshape(-1, 8, 8)


@pytest.fixture(scope="module")
def images(digits):
    return GTPCA(3, Rotation(8), shared_pose=True, solver=QUICK, random_state=0).fit(digits)


def fit(family, X, n_components=2, **parameters):
    return GTPCA(n_components, family, solver=QUICK, random_state=0, **parameters).fit(X)


def subplots(*shape):
    """Axes that pyplot does not know of."""
    return Figure().subplots(*shape)


def draw(function, model, X, **options):
    """Any drawing, whether or not it takes samples."""
    return function(model, **options) if X is None else function(model, X, **options)


def samples_for(function, X):
    alone = (plots.plot_components, plots.plot_history, plots.plot_noise)
    return None if function in alone else X


# --- the convention for Axes ---


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_given_axes_are_used_and_pyplot_is_not(function, curves, spikes):
    given = subplots() if function in SINGLE else subplots(2, 4)
    assert draw(function, curves, samples_for(function, spikes), ax=given) is given
    drawn = [a for a in np.ravel(given) if a.has_data()]
    assert drawn == list(np.ravel(given)[: len(drawn)])
    assert all(a.get_xlabel() or a.get_ylabel() or a.get_title() for a in drawn)
    assert not pyplot.get_fignums()


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_new_axes_are_those_of_one_figure(function, curves, spikes):
    made = draw(function, curves, samples_for(function, spikes))
    assert pyplot.get_fignums() == [1]
    assert all(a.figure is pyplot.figure(1) for a in np.ravel(made))
    assert isinstance(made, np.ndarray) != (function in SINGLE)
    pyplot.figure(1).canvas.draw()


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_unfitted_models_and_wrong_axes(function, curves, spikes):
    with pytest.raises(NotFittedError):
        draw(function, GTPCA(), samples_for(function, spikes))
    with pytest.raises(TypeError, match="ax='here'"):
        draw(function, curves, samples_for(function, spikes), ax="here")


@pytest.mark.parametrize("function", NEED_SAMPLES, ids=lambda f: f.__name__)
def test_samples_are_asked_for(function, curves):
    with pytest.raises(ValueError, match="X=None"):
        function(curves, None)


def test_too_few_axes(curves, images, spikes, digits):
    with pytest.raises(ValueError, match="ax holds 2 Axes, but 3"):
        plots.plot_components(curves, ax=subplots(2))
    with pytest.raises(ValueError, match="ax holds 1 Axes, but 6"):
        plots.plot_reconstructions(curves, spikes, ax=subplots())
    with pytest.raises(ValueError, match="ax holds 3 Axes, but 9"):
        plots.plot_perturbation(images, digits, ax=list(subplots(3)))
    with pytest.raises(TypeError, match="must be one Axes"):
        plots.plot_energy(curves, ax=subplots(2))


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        (plots.plot_components, {"components": 3}, "components=3"),
        (plots.plot_components, {"components": []}, r"components=\[\]"),
        (plots.plot_perturbation, {"components": (0, -1)}, "components=-1"),
        (plots.plot_perturbation, {"multiple": 0}, "multiple=0"),
        (plots.plot_scores, {"components": (0, 1, 2)}, r"components=\(0, 1, 2\)"),
        (plots.plot_scores, {"labels": [1, 2]}, r"labels has shape \(2,\).*60"),
        (plots.plot_scores, {"thumbnails": -1}, "thumbnails=-1"),
        (plots.plot_poses, {"component": 7}, "component=7"),
        (plots.plot_reconstructions, {"rows": (0, 60)}, "rows=60"),
        (plots.plot_reconstructions, {"rows": ()}, r"rows=\(\)"),
        (plots.plot_reconstructions, {"counts": 4}, "counts=4"),
        (plots.plot_reconstructions, {"counts": []}, r"counts=\[\]"),
    ],
)
def test_bad_input_is_named(function, options, said, curves, spikes):
    with pytest.raises(ValueError, match=said):
        draw(function, curves, samples_for(function, spikes), **options)
    assert not pyplot.get_fignums()


# Long and short windows, one to three axes, channels, colours, and every kind of pose.
DRAWN = "identity shift-placed shift-crop shift-partial shift-channels-first shift-2d-crop "
DRAWN += "shift-2d-colours shift-3d rotation-oblong reflection scaling-2d warp-sine affine "
DRAWN += "deformation custom custom-callable compose-crop-warp compose-group compose-rotation-shift"


@pytest.mark.parametrize(("number", "name"), list(enumerate(DRAWN.split())))
def test_every_kind_of_family_is_drawn(number, name):
    family, shape = ALL_FAMILIES[name]
    X, shared = noise(12, *shape), number % 2 == 1
    model = GTPCA(1 + shared, family, shared_pose=shared, solver=ALS(1, max_iter=2)).fit(X)
    axes = subplots(3, 4)
    for function in ALL:
        ax = axes[0, 0] if function in SINGLE else axes
        assert draw(function, model, samples_for(function, X), ax=ax) is ax
    plots.plot_energy(model, ax=axes[1, 1])


# --- components ---


def test_component_curves(curves):
    for ax, k in zip(plots.plot_components(curves, components=(2, 0)), (2, 0), strict=True):
        np.testing.assert_array_equal(ax.lines[-1].get_ydata(), curves.components_[k])
        share = 100 * curves.explained_energy_ratio_[k]
        assert ax.get_title() == f"component {k + 1}\n{share:.1f} % of energy"


def test_component_images_have_zero_in_the_middle(images):
    for ax, w in zip(plots.plot_components(images), images.components_, strict=True):
        (image,) = ax.images
        np.testing.assert_array_equal(image.get_array(), w)
        assert image.get_clim() == (-np.abs(w).max(), np.abs(w).max())


@pytest.mark.parametrize(("axes", "shape"), [(0, (24, 3)), (1, (3, 24))])
def test_component_channels_are_lines(axes, shape):
    model = fit(Shift(10, axes=axes), noise(20, *shape))
    ax = plots.plot_components(model)[1]
    drawn = np.stack([line.get_ydata() for line in ax.lines[1:]], axis=1 - axes)
    np.testing.assert_array_equal(drawn, model.components_[1])
    assert [text.get_text() for text in ax.get_legend().texts][::2] == ["channel 1", "channel 3"]


def test_few_channels_are_lines_everywhere():
    X = noise(20, 24, 2)
    model = fit(Shift(10, axes=0), X)
    axes = plots.plot_reconstructions(model, X, rows=3)[0]
    rebuilt = model.reconstruct(X[3:4])[0]
    for ax, values in ((axes[0], X[3]), (axes[2], rebuilt), (axes[3], X[3] - rebuilt)):
        np.testing.assert_allclose([line.get_ydata() for line in ax.lines[1:]], values.T)
    assert all(len(ax.lines) == 3 for ax in plots.plot_perturbation(model, X).flat)


def test_many_channels_are_a_picture():
    model = fit(Shift(10, axes=0), noise(20, 24, 9))
    np.testing.assert_array_equal(
        plots.plot_components(model)[0].images[0].get_array(), model.components_[0].T
    )


def test_slices_of_a_volume_stand_side_by_side():
    model = fit(Shift((3, 4, 4)), noise(20, 4, 7, 8))
    drawn = plots.plot_components(model)[0].images[0].get_array()
    w = model.components_[0]
    np.testing.assert_array_equal(drawn[:4, :4], w[0])
    np.testing.assert_array_equal(drawn[:4, 5:], w[1])
    np.testing.assert_array_equal(drawn[5:, :4], w[2])
    assert drawn.mask[4].all()  # between the tiles, and where there is none
    assert drawn.mask[5:, 5:].all()


def test_one_channel_is_a_curve():
    X = noise(20, 1, 30)
    model = fit(Shift(10, axes=1), X)
    fitted, rest = plots.plot_reconstructions(model, X, rows=3, counts=2)[0]
    np.testing.assert_allclose(fitted.lines[0].get_ydata(), X[3, 0])
    np.testing.assert_allclose(
        rest.lines[-1].get_ydata(), (X[3:4] - model.reconstruct(X[3:4]))[0, 0]
    )
    mean = plots.plot_perturbation(model, X)[0].lines[1].get_ydata()
    assert mean.shape == (10,)


def test_flipped_images_stay_images():
    model = fit(Reflection(axes=0), noise(20, 6, 7))
    drawn = plots.plot_components(model)[0].images[0].get_array()
    np.testing.assert_array_equal(drawn, model.components_[0])


@pytest.mark.parametrize(("axes", "shape"), [((0, 1), (6, 6, 3)), ((1, 2), (3, 6, 6))])
def test_colours(axes, shape):
    X = np.random.default_rng(0).random((20, *shape))
    model, last = fit(Rotation(4, axes=axes), X), 2 if axes == (0, 1) else 0
    w = np.moveaxis(model.components_[0], last, -1)
    drawn = plots.plot_components(model)[0].images[0].get_array()
    np.testing.assert_allclose(drawn, 0.5 + w / (2 * np.abs(w).max()))
    first = plots.plot_reconstructions(model, X)[0, 0].images[0].get_array()
    np.testing.assert_allclose(first, Scale.of(X[0]).shares(np.moveaxis(X[0], last, -1)))


def test_weights_of_another_rank_than_the_sample():
    X = noise(20, 3, 4)
    model = fit(Custom([np.eye(12, 5), np.eye(12, 5, -7), np.eye(12, 5, -4)]), X)
    assert plots.plot_components(model)[0].lines[-1].get_ydata().shape == (5,)
    assert plots.plot_reconstructions(model, X).shape == (3, 4)


# --- reconstructions ---


def test_reconstructed_curves(curves, spikes):
    axes = plots.plot_reconstructions(curves, spikes, rows=(5, 2), counts=(1, 3))
    codes = curves.encode(spikes[[5, 2]])
    rebuilt = [curves.decode(codes.first(c)) for c in (1, 3)]
    left = 1 - curves.score_samples(spikes[[5, 2]])
    for j, (fit_ax, rest_ax) in enumerate(axes):
        drawn = [line.get_ydata() for line in fit_ax.lines]
        for line, values in zip(drawn, [spikes[[5, 2]], *rebuilt], strict=True):
            np.testing.assert_allclose(line, values[j])
        np.testing.assert_allclose(rest_ax.lines[-1].get_ydata(), drawn[0] - drawn[2])
        assert rest_ax.get_title() == f"residual, {100 * left[j]:.1f} %"
    assert [axes[0, 0].get_ylabel(), axes[1, 0].get_ylabel()] == ["sample 5", "sample 2"]
    assert [text.get_text() for text in axes[0, 0].get_legend().texts] == [
        *("sample", "1 component", "3 components")
    ]


@pytest.mark.parametrize("channels", [1, 2])
def test_no_line_of_a_residual_is_cut(channels, spikes):
    """Half a bump is rebuilt as a whole one: the residual falls far below all samples."""
    X = np.stack([spikes] * channels, axis=2)
    model = fit(Shift(20, axes=0), X, 1)
    half = model.decode(Codes(np.ones((1, 1)), np.full((1, 1), 10)))
    half *= np.sign(half.sum())
    half[:, half[0, :, 0].argmax() :] = 0
    for ax in np.ravel(plots.plot_reconstructions(model, half)):
        low, high = ax.get_ylim()
        for line in ax.lines:
            assert low < np.min(line.get_ydata())
            assert np.max(line.get_ydata()) < high


def test_reconstructed_images(images, digits):
    axes = plots.plot_reconstructions(images, digits.reshape(80, -1), rows=7)
    codes = images.encode(digits[7:8])
    rebuilt = [images.decode(codes.first(c))[0] for c in (1, 2, 3)]
    wanted = [digits[7], *rebuilt, digits[7] - rebuilt[-1]]
    assert axes.shape == (1, 5)
    for ax, values in zip(axes[0], wanted, strict=True):
        np.testing.assert_allclose(ax.images[0].get_array(), values)
    assert axes[0, 1].images[0].get_clim() == (0, digits[7].max())


@pytest.mark.parametrize("center", [True, "samples"])
def test_shares_are_those_of_the_model(center, spikes):
    X, weight = spikes + 3, np.linspace(0, 2, 64)
    model = fit(Shift(20), X, center=center, feature_weight=weight)
    axes = plots.plot_reconstructions(model, X, rows=range(4))
    shown = [float(re.search(r"[\d.]+", ax.get_title())[0]) for ax in axes[:, 1]]
    np.testing.assert_allclose(shown, 100 * (1 - model.score_samples(X[:4])), atol=0.051)


def test_frames_and_memory_maps_give_the_same_rows(tmp_path, spikes):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(spikes, columns=[f"t{i}" for i in range(64)])
    np.save(tmp_path / "X.npy", spikes)
    for X in (frame, np.load(tmp_path / "X.npy", mmap_mode="r")):
        ax = plots.plot_reconstructions(fit(Shift(20), X), X, rows=(9, 4))
        np.testing.assert_allclose(ax[1, 0].lines[0].get_ydata(), spikes[4])


def test_samples_of_one_drawing_have_the_same_kind_of_scale():
    X = np.abs(noise(20, 6, 6))
    X[4] *= -1
    axes = plots.plot_reconstructions(fit(Rotation(4), X), X, rows=(3, 4))
    low, high = axes[0, 0].images[0].get_clim()
    assert (low, high) == (-X[3].max(), X[3].max())


def test_rows_of_dask_are_drawn(spikes):
    da = pytest.importorskip("dask.array", reason='needs dask: pip install "gtpca[dask]"')
    model, X = fit(Shift(20), spikes), da.from_array(spikes, chunks=(16, 64))
    ax = plots.plot_reconstructions(model, X, rows=(9, 4))
    np.testing.assert_allclose(ax[1, 0].lines[0].get_ydata(), spikes[4])
    points = plots.plot_scores(model, X, thumbnails=2).collections[0].get_offsets()
    np.testing.assert_allclose(points, model.transform(spikes))
    assert sum(bar.get_height() for bar in plots.plot_poses(model, X)[0].patches) == 60
    own, other = plots.plot_energy(model, X).lines
    np.testing.assert_allclose(own.get_ydata(), 1 - model.resmse(spikes))
    assert len(plots.plot_perturbation(model, X)) == len(other.get_ydata()) == 2


# --- perturbation ---


def test_perturbation_of_pca_is_the_textbook_one():
    X = noise(50, 8) * np.arange(8, 0, -1) + 5
    pca = PCA(2).fit(X)
    axes = plots.plot_perturbation(GTPCA(2, center=True).fit(X), X, multiple=1.5)
    for k, ax in enumerate(axes):
        mean, more, less = (line.get_ydata() for line in ax.lines[-3:])
        step = 1.5 * pca.transform(X)[:, k].std() * pca.components_[k]
        np.testing.assert_allclose(mean, pca.mean_)
        np.testing.assert_allclose(np.abs(more - mean), np.abs(step), atol=1e-8)
        np.testing.assert_allclose(more - mean, mean - less, atol=1e-8)


def test_perturbation_of_a_shared_group_is_that_of_the_aligned_samples(digits):
    model = fit(Rotation(4), digits, shared_pose=True)
    axes, scores = plots.plot_perturbation(model, digits), model.transform(digits)
    mean = np.tensordot(scores.mean(axis=0), model.components_, 1)
    for k, row in enumerate(axes):
        step = 2 * scores[:, k].std() * model.components_[k]
        for ax, values in zip(row, (mean - step, mean, mean + step), strict=True):
            np.testing.assert_allclose(ax.images[0].get_array(), values, atol=1e-6)


def test_perturbation_shows_a_second_component_where_it_lies():
    rng = np.random.default_rng(0)
    X = np.zeros((40, 32))
    for row, start in zip(X, rng.integers(0, 20, 40), strict=True):
        row[start : start + 8] = [4, 0, 0, 0, 0, 0, 0, rng.normal()]
    model = fit(Shift(9, boundary="partial"), X)
    mean, more, _ = (line.get_ydata() for line in plots.plot_perturbation(model, X)[1].lines[-3:])
    assert np.ptp(np.abs(more - mean)) > 1
    assert np.abs(more - mean).argmax() != np.abs(mean).argmax()
