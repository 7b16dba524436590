"""MixtureGTPCA: kinds, habits of scikit-learn, files, Dask, gaps, containers, errors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

import gtpca
from gtpca import Codes, MixtureGTPCA, Rotation, Shift, labelled

PATTERNS = np.array([[1.0, 3, 5, 3, 1], [5, 1, -2, 1, 5], [4, 2, 0, -2, -4]])
QUICK = {"random_state": 0, "tol": 1e-4}


def pulses(n=90, noise=0.4, seed=0, shares=(0.5, 0.3, 0.2)):
    """Three pulses at random places, of varying height; which one it is; and where."""
    rng = np.random.default_rng(seed)
    kind, X = rng.choice(3, size=n, p=shares), noise * rng.standard_normal((n, 20))
    places = rng.integers(16, size=n)
    for x, g, place in zip(X, kind, places, strict=True):
        x[place : place + 5] += rng.normal(1, 0.15) * PATTERNS[g]
    return X, kind, places


def fitted(X, n_kinds=3, n_components=1, **how):
    return MixtureGTPCA(n_kinds, n_components, Shift(5), **(QUICK | how)).fit(X)


@pytest.fixture(scope="module")
def known():
    X, kind, places = pulses(150)
    return fitted(X), X, kind, places


def test_kinds_poses_and_scores(known):
    model, X, kind, places = known
    assert adjusted_rand_score(kind, model.predict(X)) > 0.97
    assert model.mean_patterns_.shape == (3, 5)
    assert model.components_.shape == (3, 1, 5)
    assert model.pose_prior_.shape == (3, 16)
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=2), 1)
    assert abs(model.noise_variance_ - 0.16) < 0.02
    assert np.all(np.diff(model.kind_weights_) <= 0)
    np.testing.assert_allclose(model.kind_weights_, [0.5, 0.3, 0.2], atol=0.08)
    codes = model.encode(X)
    np.testing.assert_array_equal(codes.kind, model.predict(X))
    same = codes.kind == kind
    assert same.mean() > 0.97  # the shares are those of the kinds in this order
    assert np.mean(model.poses(codes)["start"][same, 0] == places[same]) > 0.97
    for found, pattern in zip(model.mean_patterns_, PATTERNS, strict=True):
        np.testing.assert_allclose(found, pattern, atol=0.4)
    np.testing.assert_array_equal(model.reconstruct(X), model.decode(codes))
    np.testing.assert_array_equal(model.decode(codes[:4]), model.decode(codes)[:4])
    i = np.flatnonzero(same & (codes.index[:, 0] == places))[0]
    np.testing.assert_allclose(model.align(X)[i], X[i, places[i] : places[i] + 5])
    assert model.score(X) == pytest.approx(model.history_[-1])


def test_probabilities_and_likelihoods(known):
    model, X, _, _ = known
    share = model.predict_proba(X)
    assert share.shape == (150, 3)
    np.testing.assert_allclose(share.sum(axis=1), 1)
    np.testing.assert_array_equal(share.argmax(axis=1), model.predict(X))
    chunks, mixture = model.chunks(X), model.model_
    each = np.stack([kind.score_samples(chunks) for kind in mixture.kinds], axis=1)
    total = logsumexp(each + np.log(model.kind_weights_), axis=1)
    np.testing.assert_allclose(model.score_samples(X), total, rtol=0, atol=1e-8)


def test_the_table_of_kinds(known):
    model, X, _, _ = known
    table = model.kinds_
    assert list(table) == ["weight", "count", "pattern", "sizes", "strength", "doubt"]
    np.testing.assert_array_equal(table["count"], np.bincount(model.predict(X)))
    share = model.predict_proba(X)
    doubt = [1 - share[model.predict(X) == g, g].mean() for g in range(3)]
    np.testing.assert_allclose(table["doubt"], doubt, atol=1e-9)
    strength = np.linalg.norm(model.mean_patterns_, axis=1) / np.sqrt(model.noise_variance_)
    np.testing.assert_allclose(table["strength"], strength)
    assert table["sizes"].shape == (3, 1)


def test_pose_posterior_and_samples(known):
    model, X, _, _ = known
    found = model.pose_posterior(X, n_poses=2)
    np.testing.assert_array_equal(found.index[:, 0], model.encode(X).index[:, 0])
    assert found.probability.shape == found.poses["start"].shape == (150, 2)
    assert found.probability[:, 0].mean() > 0.95
    new, codes = model.sample(500, random_state=1)
    assert new.shape == (500, 20)
    assert np.mean(model.predict(new) == codes.kind) > 0.95
    assert abs(model.score(new) - model.score(X)) < 1.5


def test_fit_predict_and_refit(known):
    model, X, _, _ = known
    np.testing.assert_array_equal(clone(model).fit_predict(X), model.predict(X))
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(thawed.score_samples(X), model.score_samples(X))
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_the_order_of_rows_does_not_matter(known):
    model, X, _, _ = known
    order = np.random.default_rng(1).permutation(len(X))
    other = fitted(X[order])
    np.testing.assert_allclose(other.mean_patterns_, model.mean_patterns_, atol=1e-4)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert other.history_[-1] == pytest.approx(model.history_[-1], abs=1e-6)


def test_weight_two_is_a_row_given_twice():
    X, _, _ = pulses(60)
    weight = np.random.default_rng(0).integers(0, 3, 60)
    heavy = MixtureGTPCA(3, 0, Shift(5), **QUICK).fit(X, sample_weight=weight)
    twice = MixtureGTPCA(3, 0, Shift(5), **QUICK).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(heavy.mean_patterns_, twice.mean_patterns_, atol=1e-4)
    np.testing.assert_allclose(heavy.kind_weights_, twice.kind_weights_, atol=1e-6)
    np.testing.assert_allclose(heavy.kind_counts_, twice.kind_counts_)
    np.testing.assert_allclose(heavy.doubts_, twice.doubts_, atol=1e-6)


@pytest.mark.parametrize("how", [{}, {"prior": "learned"}, {"noise": "stationary"}])
def test_a_file_gives_the_same_mixture_back_to_the_last_bit(tmp_path, how):
    X, _, _ = pulses(60)
    model = fitted(X, 2, **how)
    model.save(tmp_path / "kinds.gtpca")
    same = gtpca.load(tmp_path / "kinds.gtpca")
    assert type(same) is MixtureGTPCA
    np.testing.assert_array_equal(same.score_samples(X), model.score_samples(X))
    np.testing.assert_array_equal(same.encode(X).scores, model.encode(X).scores)
    np.testing.assert_array_equal(same.reconstruct(X), model.reconstruct(X))
    for name, column in model.kinds_.items():
        np.testing.assert_array_equal(same.kinds_[name], column)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kind_weights_", np.array([0.9, 0.9])),
        ("kind_weights_", np.array([1.0, 0.0])),
        ("mean_patterns_", np.zeros((3, 5))),
        ("components_", np.full((2, 1, 5), np.nan)),
        ("noise_variance_", 0.0),
        ("doubts_", np.array([-1.0, 0.0])),
        ("pose_prior_", np.ones((2, 16))),
        ("n_iter_", -1),
    ],
)
def test_files_that_hold_no_mixture(tmp_path, name, value):
    X, _, _ = pulses(30)
    model = fitted(X, 2, tol=1e-1)
    setattr(model, name, value)
    model.save(tmp_path / "wrong.gtpca")
    with pytest.raises(ValueError, match="holds no valid model"):
        gtpca.load(tmp_path / "wrong.gtpca")


def test_codes_in_a_file(tmp_path, known):
    model, X, _, _ = known
    codes = model.encode(X)
    codes.save(tmp_path / "codes.npz")
    same = Codes.load(tmp_path / "codes.npz")
    np.testing.assert_array_equal(same.kind, codes.kind)
    np.testing.assert_array_equal(model.decode(same), model.decode(codes))
    with pytest.raises(ValueError, match="codes have no kind"):
        model.decode(Codes(codes.scores, codes.index))


def test_dask(known):
    da = pytest.importorskip("dask.array", reason="Dask arrays")
    model, X, _, _ = known
    lazy = da.from_array(X, chunks=(37, 20))
    there = fitted(lazy)
    np.testing.assert_allclose(there.mean_patterns_, model.mean_patterns_, atol=1e-6)
    np.testing.assert_array_equal(np.asarray(there.predict(lazy)), model.predict(X))
    np.testing.assert_allclose(
        there.predict_proba(lazy).compute(), model.predict_proba(X), atol=1e-6
    )
    np.testing.assert_allclose(there.score_samples(lazy).compute(), model.score_samples(X), 1e-6)
    np.testing.assert_allclose(np.asarray(there.reconstruct(lazy)), model.reconstruct(X), atol=1e-5)
    np.testing.assert_allclose(np.asarray(there.align(lazy)), model.align(X), atol=1e-9)
    found = there.pose_posterior(lazy)
    np.testing.assert_allclose(
        np.asarray(found.entropy), model.pose_posterior(X).entropy, atol=1e-6
    )
    np.testing.assert_allclose(there.kinds_["count"], model.kinds_["count"])


def test_memory_maps_batches_and_threads(tmp_path, known):
    model, X, _, _ = known
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    pieces = fitted(mapped, batch_size=11)
    np.testing.assert_allclose(pieces.mean_patterns_, model.mean_patterns_, atol=1e-6)
    threads = fitted(X, batch_size=11, n_jobs=2)
    np.testing.assert_array_equal(threads.mean_patterns_, fitted(X, batch_size=11).mean_patterns_)


def test_gaps():
    X, kind, _ = pulses(150, noise=0.3)
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    with pytest.raises(ValueError, match=r"NaN|missing"):
        fitted(holes)
    model = fitted(holes, missing="ignore")
    assert adjusted_rand_score(kind, model.predict(holes)) > 0.85
    filled = model.impute(holes)
    seen = ~np.isnan(holes)
    np.testing.assert_array_equal(filled[seen], holes[seen])
    assert np.mean((filled - X)[~seen] ** 2) < 0.5 * np.mean(X[~seen] ** 2)


def test_noise_with_a_spectrum():
    """In coloured noise kinds are found after whitening; patterns are in the units of the data."""
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=200)
    noise = rng.standard_normal((200, 160))
    for t in range(1, 160):
        noise[:, t] += 0.9 * noise[:, t - 1]
    X = noise[:, 100:].copy()
    for x, g, place in zip(X, kind, rng.integers(54, size=200), strict=True):
        x[place : place + 6] += 4 * np.array([[1, -1, 1, -1, 1, -1], [1, 1, -2, -2, 1, 1]])[g]
    how = {"random_state": 0, "tol": 1e-3}
    white = MixtureGTPCA(2, 0, Shift(6), **how).fit(X)
    model = MixtureGTPCA(2, 0, Shift(6), noise="stationary", **how).fit(X)
    assert model.score(X) > white.score(X) + 10
    assert adjusted_rand_score(kind, model.predict(X)) > 0.9
    assert 0.8 < model.noise_variance_ < 1.1
    sizes = np.linalg.norm(model.mean_patterns_, axis=1)
    np.testing.assert_allclose(np.sort(sizes), [4 * np.sqrt(6), 4 * np.sqrt(12)], rtol=0.2)
    again = MixtureGTPCA(2, 0, Shift(6), noise=model.noise_, **how).fit(X)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert model.sample(5, 0)[0].shape == (5, 60)


def test_containers():
    xr = pytest.importorskip("xarray", reason="DataArrays")
    X, _, _ = pulses(60)
    trials = xr.DataArray(X, dims=("trial", "time"), coords={"time": np.arange(20) / 10})
    model = fitted(trials, 2)
    assert model.align(trials).dims[0] == "trial"
    assert model.reconstruct(trials).dims == ("trial", "time")
    assert model.predict(trials).shape == (60,)
    assert "start" in model.poses(model.encode(trials))
    with_units = labelled(X, rate=10.0)
    assert fitted(with_units, 2).labels_ is not None


def test_images():
    rng = np.random.default_rng(0)
    two = rng.standard_normal((2, 5, 5))
    X = np.stack([np.rot90(two[i % 2], i // 2) for i in range(40)])
    X += 0.2 * rng.standard_normal(X.shape)
    model = MixtureGTPCA(2, 0, Rotation(4), **QUICK).fit(X)
    assert adjusted_rand_score(np.arange(40) % 2, model.predict(X)) == 1
    assert model.mean_patterns_.shape == (2, 5, 5)


def test_a_search_over_kinds_and_components():
    X, _, _ = pulses(150, seed=3)
    grid = {"n_kinds": [1, 3], "n_components": [0, 1]}
    search = GridSearchCV(MixtureGTPCA(family=Shift(5), random_state=0, tol=1e-2), grid, cv=2)
    assert search.fit(X).best_params_["n_kinds"] == 3


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"n_kinds": 0}, "n_kinds=0 must be an integer of at least 1"),
        ({"n_kinds": 11}, "n_kinds=11 must be at most the number of samples.*n_samples=10"),
        ({"n_components": 6}, "n_components=6 must be an integer from 0 to 5"),
        (
            {"noise": "features"},
            "noise='features' must be one of 'isotropic', 'white', 'stationary'",
        ),
        ({"prior": "flat"}, "prior='flat' must be one of"),
        ({"tol": -1.0}, "tol=-1.0 must be"),
    ],
)
def test_errors_name_the_parameter(wrong, text):
    X, _, _ = pulses(10)
    with pytest.raises(ValueError, match=text):
        MixtureGTPCA(**({"family": Shift(5)} | wrong)).fit(X)


def test_haste_is_told():
    X, _, _ = pulses(30)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        fitted(X, 2, max_iter=1, tol=0.0)
