"""ProbabilisticGTPCA: habits of scikit-learn, files and Dask, poses with doubts, outliers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

import gtpca
from gtpca import ProbabilisticGTPCA, Rotation, Shift, labelled

PULSE = np.array([1.0, 3.0, 6.0, -4.0, -1.0])


def beats(n=80, size=20, spread=1.0, noise=0.5, seed=0):
    """A pulse at random places, of varying height, in noise; and the places."""
    rng = np.random.default_rng(seed)
    places = rng.integers(size - 4, size=n)
    X = noise * rng.standard_normal((n, size))
    for x, place, height in zip(X, places, rng.normal(1, 0.2 * spread, n), strict=True):
        x[place : place + 5] += height * PULSE
    return X, places


def test_fitted_attributes():
    X, places = beats()
    model = ProbabilisticGTPCA(1, Shift(5), random_state=0).fit(X)
    assert model.components_.shape == (1, 5)
    assert model.mean_pattern_.shape == (5,)
    assert abs(np.linalg.norm(model.components_) - 1) < 1e-12
    assert abs(model.noise_variance_ - 0.25) < 0.03
    assert abs(np.sqrt(model.explained_variance_[0]) / (0.2 * np.linalg.norm(PULSE)) - 1) < 0.25
    np.testing.assert_allclose(model.mean_pattern_, PULSE, atol=0.4)
    assert model.pose_prior_.shape == (16,)
    assert model.n_iter_ == len(model.history_) - 1
    assert np.all(np.diff(model.history_) > -1e-9)
    codes = model.encode(X)
    np.testing.assert_array_equal(model.poses(codes)["start"][:, 0], places)
    np.testing.assert_array_equal(model.transform(X), codes.scores)
    np.testing.assert_array_equal(model.reconstruct(X), model.decode(codes))
    np.testing.assert_allclose(model.align(X)[3], X[3, places[3] : places[3] + 5])
    assert np.mean((X - model.reconstruct(X)) ** 2) < 1.05 * model.noise_variance_
    assert model.score(X) == pytest.approx(model.history_[-1])


@pytest.mark.parametrize("noise", ["isotropic", "features"])
def test_images_and_flat_rows_are_the_same(noise):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5, 5)) + np.arange(5.0)
    how = {"noise": noise, "tol": 1e-2, "random_state": 0}
    first = ProbabilisticGTPCA(1, Rotation(4), **how).fit(X)
    flat = ProbabilisticGTPCA(1, Rotation(4), sample_shape=(5, 5), **how).fit(X.reshape(40, 25))
    np.testing.assert_array_equal(first.score_samples(X), flat.score_samples(X.reshape(40, 25)))
    assert first.components_.shape == (1, 5, 5)
    assert np.shape(first.noise_variance_) == (() if noise == "isotropic" else (5, 5))


def test_the_pattern_alone():
    X, places = beats(spread=0.0)
    model = ProbabilisticGTPCA(0, Shift(5), random_state=0).fit(X)
    assert model.components_.shape == (0, 5)
    assert model.transform(X).shape == (80, 0)
    np.testing.assert_array_equal(model.encode(X).index[:, 0], places)
    assert model.sample(3, random_state=0)[0].shape == (3, 20)


def test_clone_pickle_and_refit():
    X, _ = beats(40)
    model = ProbabilisticGTPCA(1, Shift(5), random_state=0).fit(X)
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(thawed.score_samples(X), model.score_samples(X))
    copy = clone(model)
    with pytest.raises(NotFittedError):
        copy.encode(X)
    np.testing.assert_array_equal(copy.fit(X).components_, model.components_)


def test_a_grid_search_chooses_window_and_number():
    X, _ = beats(120, noise=0.5, seed=1)
    grid = {"family__window": [3, 5, 9], "n_components": [0, 1]}
    model = ProbabilisticGTPCA(1, Shift(5), tol=1e-2, random_state=0)
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X)
    assert search.best_params_ == {"family__window": 5, "n_components": 1}


def test_memory_maps_and_batches(tmp_path):
    X, _ = beats(60)
    path = tmp_path / "rows.npy"
    np.save(path, X)
    how = {"random_state": 0, "tol": 1e-3}
    whole = ProbabilisticGTPCA(1, Shift(5), **how).fit(X)
    mapped = np.load(path, mmap_mode="r")
    pieces = ProbabilisticGTPCA(1, Shift(5), batch_size=7, **how).fit(mapped)
    np.testing.assert_allclose(pieces.components_, whole.components_, atol=1e-6)
    np.testing.assert_allclose(pieces.score_samples(mapped), whole.score_samples(X), rtol=1e-6)
    threads = ProbabilisticGTPCA(1, Shift(5), batch_size=3, n_jobs=2, **how).fit(X)
    alone = ProbabilisticGTPCA(1, Shift(5), batch_size=3, **how).fit(X)
    np.testing.assert_array_equal(threads.components_, alone.components_)


def test_single_precision_comes_as_double():
    X, _ = beats(60)
    X = X.astype(np.float32)
    model = ProbabilisticGTPCA(1, Shift(5), random_state=0).fit(X)
    double = ProbabilisticGTPCA(1, Shift(5), random_state=0).fit(X.astype(np.float64))
    np.testing.assert_array_equal(model.components_, double.components_)
    assert model.transform(X).dtype == np.float64


def test_dask():
    da = pytest.importorskip("dask.array", reason="Dask arrays")
    X, _ = beats(60)
    lazy = da.from_array(X, chunks=(17, 20))
    how = {"random_state": 0, "tol": 1e-3}
    here = ProbabilisticGTPCA(1, Shift(5), **how).fit(X)
    there = ProbabilisticGTPCA(1, Shift(5), **how).fit(lazy)
    np.testing.assert_allclose(there.components_, here.components_, atol=1e-6)
    np.testing.assert_allclose(np.asarray(there.score_samples(lazy)), here.score_samples(X), 1e-6)
    np.testing.assert_array_equal(np.asarray(there.encode(lazy).index), here.encode(X).index)
    found, known = there.pose_posterior(lazy), here.pose_posterior(X)
    np.testing.assert_allclose(np.asarray(found.entropy), known.entropy, atol=1e-6)
    np.testing.assert_allclose(np.asarray(there.reconstruct(lazy)), here.reconstruct(X), atol=1e-5)
    np.testing.assert_array_equal(there.predict(lazy), here.predict(X))


def test_poses_with_their_doubts():
    sure, _ = beats(200, noise=0.2)
    model = ProbabilisticGTPCA(1, Shift(5), random_state=0).fit(sure)
    found = model.pose_posterior(sure, n_poses=2)
    assert found.index.shape == found.probability.shape == found.poses["start"].shape == (200, 2)
    assert found.probability[:, 0].min() > 0.99
    assert found.std["start"].max() < 0.5
    doubtful, _ = beats(200, noise=4.0, seed=1)
    model = ProbabilisticGTPCA(0, Shift(5), random_state=0).fit(doubtful)
    found = model.pose_posterior(doubtful, n_poses=99)
    assert found.probability.shape == (200, 16)
    np.testing.assert_allclose(found.probability.sum(axis=1), 1)
    assert 0.5 < found.entropy.mean() < np.log(16)
    assert found.std["start"].mean() > 1


def test_credible_sets_cover_what_they_say():
    """90 % sets hold the true pose as often as their mean mass says, within four points."""
    X, _ = beats(300, noise=4.0)
    model = ProbabilisticGTPCA(1, Shift(5), random_state=0).fit(X)
    new, codes = model.sample(4000, random_state=1)
    found = model.pose_posterior(new, n_poses=16)
    before = np.cumsum(found.probability, axis=1) - found.probability
    taken = before < 0.9
    covered = np.any(taken & (found.index == codes.index), axis=1).mean()
    assert abs(covered - np.sum(found.probability * taken, axis=1).mean()) < 0.04
    assert 1.5 < taken.sum(axis=1).mean() < 15


def test_outliers_are_unlikely():
    X, _ = beats(200, seed=2)
    odd = np.random.default_rng(3).standard_normal((20, 20)) * 2.5
    model = ProbabilisticGTPCA(1, Shift(5), contamination=0.05, random_state=0).fit(X)
    assert np.mean(model.predict(X) == -1) == pytest.approx(0.05)
    assert np.mean(model.predict(odd) == -1) > 0.9
    np.testing.assert_allclose(model.decision_function(X), model.score_samples(X) - model.offset_)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"noise": "pink"}, "noise='pink' must be one of 'isotropic', 'white', 'features'"),
        ({"em": "warm"}, "em='warm' must be one of"),
        ({"prior": [0.5, 0.5]}, "prior="),
        ({"n_components": -1}, "n_components=-1 must be an integer from 0 to 5"),
        ({"n_components": 6}, "n_components=6 must be an integer from 0 to 5"),
        ({"contamination": 0.7}, r"contamination=0.7 must be a number in \(0, 0.5\]"),
        ({"max_iter": 0}, "max_iter=0 must be an integer of at least 1"),
    ],
)
def test_errors_name_the_parameter(wrong, text):
    X, _ = beats(10)
    with pytest.raises(ValueError, match=text):
        ProbabilisticGTPCA(**({"family": Shift(5)} | wrong)).fit(X)


def test_gaps_are_refused_and_haste_is_told():
    X, _ = beats(30)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        ProbabilisticGTPCA(1, Shift(5), max_iter=1, tol=0.0, random_state=0).fit(X)
    X[3, 4] = np.nan
    with pytest.raises(ValueError, match=r"NaN|missing"):
        ProbabilisticGTPCA(1, Shift(5)).fit(X)


QUICK = {"random_state": 0, "tol": 1e-3}
KINDS = [{}, {"noise": "features", "prior": "learned"}, {"n_components": 0}, {"em": "hard"}]


def fitted(X, **how):
    how = {"n_components": 1, "family": Shift(5)} | QUICK | how
    return ProbabilisticGTPCA(**how).fit(X)


@pytest.mark.parametrize("how", KINDS, ids=str)
def test_a_file_gives_the_same_density_back_to_the_last_bit(how, tmp_path):
    X, _ = beats(40)
    model = fitted(X, **how)
    model.save(tmp_path / "model.gtpca")
    same = gtpca.load(tmp_path / "model.gtpca")
    assert type(same) is ProbabilisticGTPCA
    assert repr(same) == repr(model)
    assert vars(same).keys() == vars(model).keys()
    for name in ("score_samples", "predict", "transform", "reconstruct", "evidence"):
        np.testing.assert_array_equal(getattr(same, name)(X), getattr(model, name)(X))
    np.testing.assert_array_equal(same.sample(5, 0)[0], model.sample(5, 0)[0])


def test_one_feature_with_a_noise_of_its_own_comes_back(tmp_path):
    X = np.random.default_rng(0).standard_normal((50, 1))
    model = ProbabilisticGTPCA(0, noise="features", random_state=0).fit(X)
    assert model.noise_variance_.shape == (1,)
    model.save(tmp_path / "new.gtpca")
    model.noise_variance_ = float(model.noise_variance_[0])  # as it was saved once
    model.save(tmp_path / "old.gtpca")
    for name in ("new", "old"):
        same = gtpca.load(tmp_path / f"{name}.gtpca")
        np.testing.assert_array_equal(same.score_samples(X), model.score_samples(X))


@pytest.mark.parametrize(
    ("name", "wrong", "text"),
    [
        ("noise_variance_", -1.0, "noise_variance_ must be positive"),
        ("pose_prior_", np.full(16, 0.5), "pose_prior_ must be probabilities"),
        ("mean_pattern_", np.zeros(4), r"mean_pattern_ must be finite numbers of shape \(5,\)"),
        ("explained_variance_", np.array([-1.0]), "must not be negative"),
        ("offset_", None, "offset_ must be a number"),
    ],
)
def test_a_file_of_what_cannot_be_is_refused(name, wrong, text, tmp_path):
    model = fitted(beats(40)[0])
    setattr(model, name, wrong)
    model.save(tmp_path / "model.gtpca")
    with pytest.raises(ValueError, match=text):
        gtpca.load(tmp_path / "model.gtpca")


@pytest.mark.parametrize("how", KINDS, ids=str)
def test_gaps(how):
    X, places = beats(120)
    gappy = np.where(np.random.default_rng(5).random(X.shape) < 0.2, np.nan, X)
    model = fitted(gappy, missing="ignore", **how)
    assert np.diff(model.history_).min() > -1e-9
    np.testing.assert_allclose(model.mean_pattern_, PULSE, atol=0.5)
    assert np.mean(model.encode(gappy).index[:, 0] == places) > 0.9
    filled = model.impute(gappy)
    seen = ~np.isnan(gappy)
    np.testing.assert_array_equal(filled[seen], X[seen])
    assert np.mean((filled - X)[~seen] ** 2) < 0.5 * np.mean(X[~seen] ** 2)
    with pytest.raises(ValueError, match="missing"):
        model.set_params(missing="error").score_samples(gappy)


@pytest.mark.parametrize("how", KINDS, ids=str)
def test_a_weight_of_two_is_a_row_given_twice(how):
    X, _ = beats(60)
    weight = np.random.default_rng(1).integers(0, 3, 60)
    how = QUICK | {"n_components": 1} | how
    weighted = ProbabilisticGTPCA(family=Shift(5), **how).fit(X, sample_weight=weight)
    repeated = ProbabilisticGTPCA(family=Shift(5), **how).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighted.score_samples(X), repeated.score_samples(X), rtol=1e-8)
    assert weighted.offset_ == pytest.approx(repeated.offset_, rel=1e-8)
    with pytest.raises(ValueError, match="sample_weight"):
        ProbabilisticGTPCA(family=Shift(5), **how).fit(X, sample_weight=weight[:-1])


def test_names_and_units_go_through(tmp_path):
    X, _ = beats(60, noise=2.0)
    known = labelled(X, rate=100.0, start=-0.05)
    model = fitted(known, family=Shift(5, boundary="circular"))
    plain = fitted(X, family=Shift(5, boundary="circular"))
    np.testing.assert_array_equal(model.transform(known), plain.transform(X))
    poses = model.poses(model.encode(known))
    assert poses.units == {"start": "s", "centre": "s"}
    points = plain.poses(plain.encode(X))["start"]
    np.testing.assert_allclose(poses["start"], -0.05 + points / 100, atol=1e-12)
    doubts, same = model.pose_posterior(known), plain.pose_posterior(X)
    np.testing.assert_allclose(doubts.std["start"], same.std["start"] / 100, atol=1e-8)
    assert doubts.std["start"].mean() > 0.005
    model.save(tmp_path / "known.gtpca")
    assert gtpca.load(tmp_path / "known.gtpca").labels_ is not None


def test_xarray_in_xarray_out():
    xarray = pytest.importorskip("xarray", reason="needs xarray: make setup")
    X, _ = beats(40)
    known = xarray.DataArray(X, dims=("trial", "time"), coords={"time": np.arange(20) / 10})
    model = fitted(known)
    assert isinstance(model.reconstruct(known), xarray.DataArray)
    assert isinstance(model.transform(known), xarray.DataArray)
    np.testing.assert_allclose(model.score_samples(known), fitted(X).score_samples(X))


def test_frames_and_outputs():
    pd = pytest.importorskip("pandas", reason="data frames")
    X, places = beats(40)
    frame = pd.DataFrame(X, columns=[f"t{j}" for j in range(20)])
    model = fitted(frame, output="scores+units").set_output(transform="pandas")
    table = model.transform(frame)
    assert list(table.columns) == ["gtpca0", "start", "centre"]
    np.testing.assert_array_equal(table["start"], places)
    model.set_output(transform="default").set_params(output="scores+poses")
    back = model.inverse_transform(model.transform(frame))
    np.testing.assert_allclose(back, model.reconstruct(frame))


def test_integrals_are_no_noise():
    """A weight that a grid brings along says nothing of noise."""
    skfda = pytest.importorskip("skfda", reason="needs scikit-fda: make setup")
    X, _ = beats(40)
    known = skfda.FDataGrid(X, np.arange(20) / 10)
    np.testing.assert_allclose(fitted(known).score_samples(known), fitted(X).score_samples(X))


def test_evidence_is_beside_noise_alone():
    X, _ = beats(60)
    model = fitted(X)
    noise = -10 * np.log(2 * np.pi * model.noise_variance_)
    noise = noise - np.sum(X**2, axis=1) / (2 * model.noise_variance_)
    np.testing.assert_allclose(model.evidence(X), model.score_samples(X) - noise)
    quiet = 0.5 * np.random.default_rng(7).standard_normal((60, 20))
    assert np.median(model.evidence(quiet)) < 0 < model.evidence(X).min()


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, _ = beats(40)
    model = fitted(X)
    before = model.score_samples(X)
    with pytest.raises(ValueError, match="n_components"):
        model.set_params(n_components=9).fit(X)
    np.testing.assert_array_equal(model.set_params(n_components=1).score_samples(X), before)


def test_families_as_text():
    X, _ = beats(40)
    model = ProbabilisticGTPCA(1, "shift(5)", **QUICK)
    search = GridSearchCV(model, {"family__window": [3, 5]}, cv=2, error_score="raise").fit(X)
    assert search.best_params_ == {"family__window": 5}
