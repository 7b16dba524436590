"""Fits in noise that is not white: poses, units, energies, and what stays as it is."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

import gtpca
from gtpca import GTPCA, Identity, ProbabilisticGTPCA, Rotation, Shift
from gtpca.data.chunks import as_chunks
from gtpca.diagnostics import check, pose_confidence
from gtpca.diagnostics.energies import noise_levels
from gtpca.diagnostics.noise import _along_components as along_components
from gtpca.fitting.coloured import rows_for_noise
from gtpca.model.autoregression import Autoregression
from gtpca.model.stationary import StationaryNoise, estimate_noise

WINDOW = 24
TIMES = np.arange(WINDOW)
SPIKE = np.exp(-0.5 * ((TIMES - 10) / 1.5) ** 2) - 0.5 * np.exp(-0.5 * ((TIMES - 15) / 2.5) ** 2)


def spikes(seed, n=120, size=120, strength=2.6, channels=1, last=None):
    """Spikes in AR(1) noise of unit variance, and where they begin."""
    rng = np.random.default_rng(seed)
    noise = lfilter([1.0], [1.0, -0.9], rng.standard_normal((n, channels, size + 100)))
    X = np.sqrt(1 - 0.81) * noise[:, :, 100:]
    starts = rng.integers(8, (size - 32 if last is None else last) + 1, n)
    for i, start in enumerate(starts):
        X[i, :, start : start + WINDOW] += strength * (1 + 0.2 * rng.standard_normal()) * SPIKE
    return (X[:, 0] if channels == 1 else X), starts


def right(model, X, starts):
    """Share of poses within 2 points of the truth, up to one shift of all of them."""
    lag = model.poses(model.encode(X))["start"][:, 0] - starts
    return max(np.mean(np.abs(lag - common) <= 2) for common in range(-12, 13))


def likeness(w, truth=SPIKE):
    """The largest correlation with the truth over some shifts."""
    return (
        np.max(np.abs(np.correlate(w, truth, "full"))) / np.linalg.norm(w) / np.linalg.norm(truth)
    )


def identity(shape=(120,), axes=(0,), channels=1, circular=False):
    """Noise that is white, of unit variance."""
    same = tuple(Autoregression(np.zeros(0), 1.0, circular) for _ in range(channels))
    return StationaryNoise(shape, axes, tuple(same for _ in axes), np.eye(channels))


@pytest.mark.parametrize("kind", [GTPCA, ProbabilisticGTPCA])
def test_poses_in_coloured_noise_are_found(kind):
    X, starts = spikes(100)
    white = kind(1, Shift(WINDOW), random_state=0).fit(X)
    model = kind(1, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
    assert right(model, X, starts) > max(0.8, right(white, X, starts) + 0.3)
    found = model.mean_pattern_ if kind is ProbabilisticGTPCA else model.components_[0]
    assert likeness(found) > 0.96
    new, places = spikes(101)
    assert right(model, new, places) > 0.8
    assert model.noise_.filters[0][0].reflection[0] == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize(
    "how",
    [
        {"n_components": 3},
        {"n_components": 2, "shared_pose": True},
        {"n_components": 2, "refine": 1},
        {"n_components": 2, "polarity": "positive", "center": True},
        {"n_components": 1, "center": "samples", "feature_weight": np.linspace(0.5, 1.5, 120)},
    ],
)
def test_a_filter_that_changes_nothing_is_the_white_path(how):
    X, _ = spikes(0, n=60)
    white = GTPCA(family=Shift(WINDOW), random_state=0, **how).fit(X)
    same = GTPCA(family=Shift(WINDOW), random_state=0, noise=identity(), **how).fit(X)
    np.testing.assert_array_equal(white.encode(X).index, same.encode(X).index)
    near = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(same.explained_energy_, white.explained_energy_, **near)
    np.testing.assert_allclose(
        np.abs(
            same.whitened_components_ / np.linalg.norm(same.whitened_components_, axis=1)[:, None]
        ),
        np.abs(white.components_),
        **near,
    )
    np.testing.assert_allclose(same.resmse(X), white.resmse(X), **near)


def test_a_single_component_is_the_same_in_both_units_if_nothing_is_filtered():
    X, _ = spikes(0, n=60)
    white = GTPCA(1, Shift(WINDOW), random_state=0).fit(X)
    same = GTPCA(1, Shift(WINDOW), random_state=0, noise=identity()).fit(X)
    np.testing.assert_allclose(same.components_, white.components_, atol=1e-4)
    np.testing.assert_allclose(same.reconstruct(X), white.reconstruct(X), atol=1e-3)


@pytest.mark.parametrize("n_components", [0, 2])
def test_a_density_with_a_filter_that_changes_nothing_is_the_white_one(n_components):
    X, _ = spikes(0, n=80)
    how = {"random_state": 0, "shrink": False}
    white = ProbabilisticGTPCA(n_components, Shift(WINDOW), **how).fit(X)
    same = ProbabilisticGTPCA(n_components, Shift(WINDOW), noise=identity(), **how).fit(X)
    np.testing.assert_allclose(same.score_samples(X), white.score_samples(X), rtol=1e-10)
    np.testing.assert_array_equal(same.encode(X).index, white.encode(X).index)
    np.testing.assert_allclose(same.mean_pattern_, white.mean_pattern_, atol=1e-3)


def test_what_is_explained_never_falls():
    X, _ = spikes(1, n=80)
    model = GTPCA(2, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
    for history in model.history_:
        assert np.all(np.diff(history) >= -1e-9 * history[0])
    density = ProbabilisticGTPCA(1, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
    assert np.all(np.diff(density.history_) >= -1e-9)


def test_energies_are_those_of_whitened_rows_and_those_of_the_data_are_beside_them():
    X, _ = spikes(2)
    model = GTPCA(2, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
    E = model.noise_.whiten(X)
    assert np.sum(E**2) == pytest.approx(model.measure(X)[1][:, 0].sum())
    total = model.explained_energy_[0] / model.explained_energy_ratio_[0]
    assert total == pytest.approx(np.sum(E**2))
    left = 1 - np.cumsum(model.explained_energy_ratio_)
    np.testing.assert_allclose(model.resmse(X), left, rtol=1e-9)
    rest = X - model.reconstruct(X)
    np.testing.assert_allclose(model.resmse(X, in_data=True)[-1], np.sum(rest**2) / np.sum(X**2))
    np.testing.assert_allclose(model.resmse(X, in_data=True), model.data_resmse_, rtol=1e-9)


def test_without_whitening_both_errors_are_the_same():
    X, _ = spikes(2, n=40)
    for model in (GTPCA(2, Shift(WINDOW)), ProbabilisticGTPCA(1, Shift(WINDOW))):
        model.set_params(random_state=0).fit(X)
        np.testing.assert_allclose(model.resmse(X), model.resmse(X, in_data=True), rtol=1e-9)


def test_likelihoods_are_those_of_the_rows_as_they_came():
    X, _ = spikes(3)
    new, _ = spikes(4)
    how = {"family": Shift(WINDOW), "random_state": 0}
    white = ProbabilisticGTPCA(0, **how).fit(X)
    coloured = ProbabilisticGTPCA(0, noise="stationary", **how).fit(X)
    assert coloured.score(new) > white.score(new) + 50
    scaled = ProbabilisticGTPCA(0, noise="stationary", **how).fit(4 * X)
    np.testing.assert_allclose(
        scaled.score_samples(4 * new), coloured.score_samples(new) - 120 * np.log(4), rtol=1e-6
    )


def test_units_of_the_data_do_not_choose_what_is_held_out():
    X, _ = spikes(3)
    how = {"family": Shift(WINDOW), "noise": "stationary", "random_state": 0}
    first, second = (ProbabilisticGTPCA(0, **how).fit(unit * X) for unit in (1, 3))
    assert second.held_out_gain_ == pytest.approx(first.held_out_gain_, rel=1e-9)
    assert second.noise_gains_ == pytest.approx(first.noise_gains_, rel=1e-6)


def test_a_density_draws_rows_with_its_noise():
    X, _ = spikes(3)
    model = ProbabilisticGTPCA(0, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
    drawn, codes = model.sample(400, random_state=0)
    rest = drawn - model.decode(codes)
    assert np.mean(rest[:, 1:] * rest[:, :-1]) / np.mean(rest**2) == pytest.approx(0.9, abs=0.02)
    assert model.score(drawn) == pytest.approx(model.score(X), abs=4)


def test_samples_of_noise_make_the_filter():
    X, starts = spikes(5)
    rng = np.random.default_rng(9)
    noise = lfilter([1.0], [1.0, -0.9], rng.standard_normal((50, 300)))[:, 240:]
    for kind in (GTPCA, ProbabilisticGTPCA):
        model = kind(1, Shift(WINDOW), noise=noise, random_state=0).fit(X)
        assert right(model, X, starts) > 0.8
        again = kind(1, Shift(WINDOW), noise=model.noise_, random_state=0).fit(X)
        np.testing.assert_array_equal(again.encode(X).index, model.encode(X).index)


def test_channels_go_along_with_their_covariance():
    X, starts = spikes(6, channels=3, strength=1.6)
    model = GTPCA(1, Shift(WINDOW, axes=1), noise="stationary", random_state=0).fit(X)
    assert right(model, X, starts) > 0.85
    assert model.components_.shape == (1, 3, WINDOW)
    assert model.noise_.mixing.shape == (3, 3)


@pytest.mark.parametrize(
    "family",
    [Shift(WINDOW, boundary="partial"), Shift(WINDOW, boundary="circular"), Shift(150)],
    ids=["partial", "circular", "crop"],
)
@pytest.mark.parametrize("kind", [GTPCA, ProbabilisticGTPCA])
def test_every_kind_of_window(kind, family):
    X, starts = spikes(7)
    model = kind(1, family, noise="stationary", random_state=0).fit(X)
    assert model.noise_.filters[0][0].circular == (family.boundary == "circular")
    assert np.isfinite(model.reconstruct(X)).all()
    assert np.isfinite(model.components_).all()
    if family.window == WINDOW:
        assert right(model, X, starts) > 0.75


def test_images_are_whitened_along_both_axes():
    rng = np.random.default_rng(0)
    images = lfilter([1.0], [1.0, -0.9], rng.standard_normal((150, 60, 60)), axis=1)
    images = lfilter([1.0], [1.0, -0.9], images, axis=2)[:, 36:, 36:]
    images /= images.std()
    u = np.arange(8) - 3.5
    blob = np.outer(u, np.ones(8)) * np.exp(-(u[:, None] ** 2 + u**2) / 4)
    places = rng.integers(0, 17, (150, 2))
    for image, (a, b) in zip(images, places, strict=True):
        image[a : a + 8, b : b + 8] += 1.2 * blob
    found = {}
    for noise in ("white", "stationary"):
        model = GTPCA(1, Shift((8, 8)), noise=noise, random_state=0).fit(images)
        poses = model.poses(model.encode(images))
        lag = np.stack([poses["start_0"][:, 0], poses["start_1"][:, 0]], axis=1) - places
        found[noise] = np.mean(np.abs(lag - np.median(lag, axis=0)).max(axis=1) <= 1)
    assert found["stationary"] > 0.9 > found["white"]


def test_gaps_are_left_out():
    X, starts = spikes(8)
    rng = np.random.default_rng(0)
    gaps = X.copy()
    for row in gaps:
        first = rng.integers(0, 110)
        row[first : first + 8] = np.nan
    for kind in (GTPCA, ProbabilisticGTPCA):
        model = kind(1, Shift(WINDOW), noise="stationary", missing="ignore", random_state=0)
        assert right(model.fit(gaps), gaps, starts) > 0.7
        filled = model.impute(gaps)
        assert np.isfinite(filled).all()
        np.testing.assert_array_equal(filled[~np.isnan(gaps)], gaps[~np.isnan(gaps)])


def test_rows_of_unequal_length_are_whitened_as_they_are():
    X, starts = spikes(9, last=60)
    ragged = [row[: 96 + i % 24] for i, row in enumerate(X)]
    model = GTPCA(1, Shift(WINDOW), noise="stationary", missing="ignore", random_state=0)
    assert right(model.fit(ragged), ragged, starts) > 0.75


def test_a_circle_with_gaps_says_what_would_work():
    X, _ = spikes(9, n=20)
    X[3, 5:9] = np.nan
    model = GTPCA(1, Shift(WINDOW, boundary="circular"), noise="stationary", missing="ignore")
    with pytest.raises(ValueError, match="on a circle needs complete rows"):
        model.fit(X)


@pytest.mark.parametrize("kind", [GTPCA, ProbabilisticGTPCA])
def test_weight_two_is_a_row_given_twice(kind):
    X, _ = spikes(10, n=40)
    weight = np.ones(40)
    weight[:10] = 2
    one = kind(1, Shift(WINDOW), noise="stationary", random_state=0).fit(X, sample_weight=weight)
    two = kind(1, Shift(WINDOW), noise="stationary", random_state=0).fit(
        np.concatenate([X, X[:10]])
    )
    np.testing.assert_allclose(
        one.noise_.filters[0][0].reflection, two.noise_.filters[0][0].reflection, rtol=1e-6
    )
    np.testing.assert_allclose(one.components_, two.components_, atol=1e-4)


@pytest.mark.parametrize("kind", [GTPCA, ProbabilisticGTPCA])
@pytest.mark.parametrize("noise", ["stationary", "array"])
def test_files_keep_the_noise(tmp_path, kind, noise):
    X, _ = spikes(11, n=60)
    given = noise if noise == "stationary" else X[:, :8]
    model = kind(2, Shift(WINDOW), noise=given, random_state=0).fit(X)
    model.save(tmp_path / "model.gtpca")
    same = gtpca.load(tmp_path / "model.gtpca")
    np.testing.assert_array_equal(same.transform(X), model.transform(X))
    np.testing.assert_array_equal(same.reconstruct(X), model.reconstruct(X))
    np.testing.assert_array_equal(same.score_samples(X), model.score_samples(X))
    if noise == "array":
        assert isinstance(same.noise, StationaryNoise)


def test_dask_and_memory_maps_find_the_same(tmp_path):
    da = pytest.importorskip("dask.array")
    X, _ = spikes(12, n=90)
    np.save(tmp_path / "X.npy", X)
    plain = GTPCA(2, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
    for rows in (np.load(tmp_path / "X.npy", mmap_mode="r"), da.from_array(X, chunks=(30, 120))):
        model = GTPCA(2, Shift(WINDOW), noise="stationary", random_state=0).fit(rows)
        np.testing.assert_allclose(model.components_, plain.components_, atol=1e-6)
        np.testing.assert_allclose(model.data_resmse_, plain.data_resmse_, rtol=1e-6)
        np.testing.assert_array_equal(np.asarray(model.encode(rows).index), plain.encode(X).index)
    density = ProbabilisticGTPCA(0, Shift(WINDOW), noise="stationary", random_state=0)
    one = density.fit(X).mean_pattern_
    np.testing.assert_allclose(
        density.fit(da.from_array(X, chunks=30)).mean_pattern_, one, atol=1e-6
    )


@pytest.mark.parametrize("shared", [False, True])
def test_a_stream_goes_on_in_the_units_of_the_data(shared):
    X, starts = spikes(13, n=2400)
    model = GTPCA(
        2 if shared else 1, Shift(WINDOW), noise="stationary", shared_pose=shared, random_state=0
    )
    for batch in np.split(X, 8):
        model.partial_fit(batch)
    assert right(model, X[-300:], starts[-300:]) > (0.7 if shared else 0.8)
    assert likeness(model.components_[0]) > 0.95
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1.0)
    rest = X[-300:] - model.reconstruct(X[-300:])
    assert np.sum(rest**2) < np.sum(X[-300:] ** 2)


@pytest.mark.parametrize("n", [60, 30], ids=["fitted again", "one batch more"])
def test_a_stream_keeps_its_signs_in_both_units(n):
    X, _ = spikes(23, n=60 + n)
    model = GTPCA(1, Shift(WINDOW), noise="stationary", random_state=0).partial_fit(X[:60])
    model.components_, model.whitened_components_ = -model.components_, -model.whitened_components_
    model.online_["weights"], model.online_["data"] = (
        -model.online_[name] for name in ("weights", "data")
    )
    before = model.components_
    model.partial_fit(X[60:])
    assert np.sum(before * model.components_) > 0.5
    rest = X - model.reconstruct(X)
    assert np.sum(rest**2) < np.sum(X**2)


@pytest.mark.parametrize("kind", [GTPCA, ProbabilisticGTPCA])
def test_errors_in_the_data_are_those_of_the_domain(kind):
    X = np.random.default_rng(24).standard_normal((30, 9, 9))
    model = kind(1, Rotation(8), random_state=0).fit(X)
    assert model.operator_.domain_share < 1
    np.testing.assert_allclose(model.resmse(X, in_data=True), model.resmse(X))


def test_noise_along_components_is_that_of_whitened_rows():
    X, _ = spikes(25, n=40)
    noise, index = np.random.default_rng(0).standard_normal((2, 120)), np.array([3, 50])
    plain = GTPCA(1, Shift(WINDOW), random_state=0).fit(X)
    same = GTPCA(1, Shift(WINDOW), noise=identity(), random_state=0).fit(X)
    same.components_ = same.whitened_components_ = plain.components_
    white = along_components(plain, index, noise)
    np.testing.assert_allclose(along_components(same, index, noise), white)
    coloured = GTPCA(1, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
    w = coloured.whitened_components_[0] / np.linalg.norm(coloured.whitened_components_[0])
    E = coloured.noise_.whiten(noise)[0, 3 : 3 + WINDOW]
    expected = np.zeros((1, 120))
    expected[0, 3 : 3 + WINDOW] = E @ w * w / np.sqrt(1 - 1 / WINDOW)
    found = along_components(coloured, index, noise)[:1]
    np.testing.assert_allclose(coloured.noise_.whiten(found), expected, atol=1e-9)


def test_single_precision_is_kept():
    X, _ = spikes(14, n=60)
    model = GTPCA(1, Shift(WINDOW), noise="stationary", random_state=0).fit(X.astype(np.float32))
    assert model.transform(X.astype(np.float32)).dtype == np.float32


def test_rows_without_noise_are_explained():
    X = np.zeros((40, 60))
    for i, row in enumerate(X):
        row[i % 30 : i % 30 + WINDOW] = SPIKE
    model = GTPCA(1, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
    assert model.resmse(X, in_data=True)[0] < 1e-4


@pytest.mark.parametrize(
    ("noise", "text"),
    [
        ("pink", "noise='pink' must be one of 'white', 'stationary'"),
        (None, "noise=None must be"),
        (3.0, "noise=3.0 must be"),
        (np.zeros((4, 120)), "noise holds nothing but zeros"),
        (np.ones((4, 3, 120)), r"noise has shape \(4, 3, 120\)"),
        (np.full((4, 120), np.inf), "noise holds infinite values"),
        (identity((60,)), r"noise is of samples of shape \(60,\)"),
    ],
)
def test_errors_say_what_noise_may_be(noise, text):
    X, _ = spikes(15, n=20)
    with pytest.raises(ValueError, match=text):
        GTPCA(1, Shift(WINDOW), noise=noise).fit(X)


@pytest.mark.parametrize("family", [Identity(), Rotation(4)])
@pytest.mark.parametrize("kind", [GTPCA, ProbabilisticGTPCA])
def test_families_that_cannot_be_whitened_say_why(kind, family):
    X = np.random.default_rng(0).standard_normal((20, 9, 9))
    with pytest.raises(ValueError, match="commutes with shifts alone"):
        kind(1, family, noise="stationary").fit(X)


def test_a_filter_is_estimated_from_rows_that_count():
    X = np.zeros((4000, 120))
    X[1::40], _ = spikes(23, n=100)
    chunks = as_chunks(X, Shift(WINDOW).bind((120,)))
    numbers = rows_for_noise(chunks)
    np.testing.assert_array_equal(numbers, np.arange(1, 4000, 40))
    model = GTPCA(1, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
    assert model.noise_.filters[0][0].reflection[0] == pytest.approx(0.9, abs=0.03)
    with pytest.raises(ValueError, match="n_samples = 4000"):
        model.fit(0 * X)


def test_many_rows_of_zeros_have_a_density():
    model = ProbabilisticGTPCA(0, Shift(WINDOW), random_state=0, shrink=False)
    assert not model.fit(np.zeros((2500, 60))).mean_pattern_.any()


def test_a_covariance_of_mne_is_that_of_channels():
    mne = pytest.importorskip("mne", reason="a covariance of it")
    rng = np.random.default_rng(24)
    names, factor = ["A", "B", "C"], np.tril(rng.standard_normal((3, 3))) + 2 * np.eye(3)
    covariance = mne.Covariance(factor @ factor.T, names, [], [], nfree=1)
    noise = np.einsum("cd,ndt->nct", factor, rng.standard_normal((60, 3, 60)))
    info = mne.create_info(names, 100.0, "eeg")
    epochs = mne.EpochsArray(1e-6 * noise, info, verbose="error")
    for kind in (GTPCA, ProbabilisticGTPCA):
        model = kind(1, Shift(20, axes=1), noise=covariance, random_state=0).fit(noise)
        np.testing.assert_allclose(model.noise_.mixing, factor, atol=1e-4)
        assert model.noise_.orders == (0,)
    turned = mne.Covariance(covariance.data[::-1, ::-1], names[::-1], [], [], nfree=1)
    model = GTPCA(1, Shift(20, axes=1), noise=turned, random_state=0).fit(epochs)
    np.testing.assert_allclose(model.noise_.mixing, factor, atol=1e-4)
    single = mne.Covariance(np.array([4.0, 9.0, 1.0]), names, [], [], nfree=1)
    model = GTPCA(1, Shift(20, axes=1), noise=single, random_state=0).fit(epochs)
    np.testing.assert_allclose(model.noise_.mixing, np.diag([2.0, 3.0, 1.0]), atol=1e-4)
    less = mne.Covariance(np.eye(2), names[:2], [], [], nfree=1)
    with pytest.raises(ValueError, match="lacks C of X"):
        model.set_params(noise=less).fit(epochs)
    with pytest.raises(ValueError, match="must have the 3 channels of X"):
        model.set_params(noise=less).fit(noise)


def test_the_noise_of_a_fit_is_as_good_as_that_of_noise_alone():
    X, _ = spikes(16, n=300)
    model = GTPCA(1, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
    alone, _ = spikes(17, n=300, strength=0.0)
    known = estimate_noise(alone, {0: False})
    found, true = model.noise_.filters[0][0], known.filters[0][0]
    assert found.reflection[0] == pytest.approx(true.reflection[0], abs=0.01)


def test_more_weights_than_rows_are_found_by_soft_passes():
    rng = np.random.default_rng(5)
    pattern = rng.standard_normal(600)
    pattern *= 5.0 / np.linalg.norm(pattern)
    X, starts = rng.standard_normal((60, 640)), rng.integers(0, 41, 60)
    for row, start in zip(X, starts, strict=True):
        row[start : start + 600] += pattern
    white = GTPCA(1, Shift(600), random_state=0).fit(X)
    model = GTPCA(1, Shift(600), noise=identity((640,)), random_state=0).fit(X)
    assert model.explained_energy_[0] > 1.1 * white.explained_energy_[0]
    assert right(model, X, starts) > 0.8 > right(white, X, starts)


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_rows_do_not_vote_for_the_poses_that_they_have(seed):
    rng = np.random.default_rng(seed)
    pattern = rng.standard_normal((6, 90))
    pattern *= 4.75 / np.linalg.norm(pattern)
    X, starts = rng.standard_normal((50, 6, 120)), rng.integers(31, size=50)
    for row, start in zip(X, starts, strict=True):
        row[:, start : start + 90] += pattern
    noise = identity((6, 120), axes=(1,), channels=6)
    model = GTPCA(1, Shift(90, axes=1), noise=noise, random_state=0).fit(X)
    assert right(model, X, starts) > 0.8


@pytest.mark.parametrize("family", [Shift(150), Shift(90, boundary="partial")])
def test_soft_passes_know_windows_that_rows_see_in_part(family):
    X, _ = spikes(18, n=40)
    model = GTPCA(1, family, noise=identity(), random_state=0, ridge=0).fit(X)
    plain = GTPCA(1, family, random_state=0, ridge=0).fit(X)
    assert model.explained_energy_[0] >= 0.999 * plain.explained_energy_[0]


def test_a_fit_says_that_what_is_left_is_not_white():
    X, _ = spikes(19)
    with pytest.warns(UserWarning, match="neighbours are correlated by 0.8"):
        model = GTPCA(1, Shift(WINDOW), random_state=0).fit(X)
    assert model.residual_correlation_ == pytest.approx(0.85, abs=0.03)
    assert "noise='stationary'" in model.cautions_[0]
    with pytest.warns(UserWarning, match="neighbours are correlated by 0.8"):
        density = ProbabilisticGTPCA(0, Shift(WINDOW), random_state=0).fit(X)
    assert says_colour(density)
    for kind in (GTPCA, ProbabilisticGTPCA):
        whitened = kind(1, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
        assert not says_colour(whitened)
    white = np.random.default_rng(0).standard_normal((60, 120))
    assert not says_colour(GTPCA(1, Shift(WINDOW), random_state=0).fit(white))
    assert not says_colour(GTPCA(1, Rotation(4)).fit(white.reshape(-1, 10, 12)[:, :, :10]))


def test_where_a_colour_is_left_a_doubt_says_to_try_it_first():
    rng = np.random.default_rng(0)
    noise = lfilter([1.0], [1.0, -0.9], rng.standard_normal((60, 160)))[:, 60:]
    with pytest.warns(UserWarning, match="not white|no evidence") as caught:
        model = ProbabilisticGTPCA(0, Shift(WINDOW), random_state=0).fit(noise)
    first, second = (str(one.message) for one in caught)
    assert first.startswith("what the components leave is not white")
    assert second.startswith("there is no evidence for a pattern")
    assert second.endswith(
        "Fit with noise='stationary' first: noise that is not white can hide a pattern."
    )
    assert check(model, noise).sentence.startswith("What the components leave is not white")


def says_colour(model):
    return any("is not white" in text for text in model.cautions_)


@pytest.mark.parametrize("kind", [GTPCA, ProbabilisticGTPCA])
def test_diagnostics_are_in_units_of_the_noise(kind):
    X, _ = spikes(20)
    model = kind(1, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
    found = check(model, X)
    assert found.noise.n_real >= 1
    assert not any("is not white" in text for text in found.cautions)
    margins = pose_confidence(model, X)
    white = kind(1, Shift(WINDOW), random_state=0).fit(X)
    assert margins.ambiguous[0] < pose_confidence(white, X).ambiguous[0]
    np.testing.assert_array_equal(margins.index, model.encode(X).index)


def test_margins_are_odds_in_units_of_the_noise():
    X, starts = spikes(20)
    model = GTPCA(1, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
    chunks = model.chunks(X)
    assert noise_levels(chunks, model.model_.blocks(chunks.dtype)) == pytest.approx(1, abs=0.1)
    margins = pose_confidence(model, X)
    again = GTPCA(1, Shift(WINDOW), noise="stationary", random_state=0).fit(5 * X)
    np.testing.assert_allclose(pose_confidence(again, 5 * X).margin, margins.margin, rtol=1e-6)
    lag = model.poses(model.encode(X))["start"][:, 0] - starts
    right_ones = np.abs(lag - np.median(lag)) <= 2
    clear = margins.margin[:, 0] >= margins.clear
    assert right_ones[clear].mean() > 0.95 > right_ones[~clear].mean()


def test_files_whose_noise_makes_no_sense_are_refused(tmp_path):
    X, _ = spikes(21, n=40)
    model = GTPCA(1, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
    good = model.noise_
    wrong = {
        "axes of the shift": replace(good, axes=(1,)),
        "one filter for each": replace(good, filters=()),
        "reflection coefficients": replace(
            good, filters=((Autoregression(np.array([1.5]), 1.0),),)
        ),
        "lower triangular": replace(good, mixing=-np.ones((1, 1))),
        "samples of this shape": replace(good, sample_shape=(60,)),
    }
    for text, noise in wrong.items():
        model.noise_ = noise
        model.save(tmp_path / "model.gtpca")
        with pytest.raises(ValueError, match=text):
            gtpca.load(tmp_path / "model.gtpca")


def test_the_strength_of_a_pattern_is_in_units_of_the_noise():
    X, _ = spikes(22, n=200)
    model = ProbabilisticGTPCA(0, Shift(WINDOW), noise="stationary", random_state=0).fit(X)
    row = np.zeros((1, 120))
    row[0, 50 : 50 + WINDOW] = 2.6 * SPIKE
    assert model.strength_ == pytest.approx(np.linalg.norm(model.noise_.whiten(row)), rel=0.1)
    plain = ProbabilisticGTPCA(0, Shift(WINDOW), random_state=0).fit(X)
    size = np.linalg.norm(plain.mean_pattern_) / np.sqrt(plain.noise_variance_)
    assert plain.strength_ == pytest.approx(size)
