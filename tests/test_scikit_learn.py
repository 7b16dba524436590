"""Habits of scikit-learn: data frames, pipelines, searches, clones."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from helpers import QUICK
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gtpca import (
    ALS,
    GTPCA,
    Compose,
    GTPCAClassifier,
    MixtureGTPCA,
    ProbabilisticGTPCA,
    Reflection,
    Rotation,
    Shift,
)


def test_set_output_pandas(series):
    pd = pytest.importorskip("pandas", reason="set_output(transform='pandas') needs pandas")
    model = GTPCA(2, Shift(5), solver=QUICK, random_state=0).set_output(transform="pandas")
    frame = model.fit_transform(series)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["gtpca0", "gtpca1"]
    np.testing.assert_array_equal(frame, model.encode(series).scores)
    model.set_params(output="scores+poses")
    both = model.transform(series)
    assert list(both.columns) == ["gtpca0", "gtpca1", "gtpca0_index", "gtpca1_index"]
    np.testing.assert_array_equal(both["gtpca1_index"], model.encode(series).index[:, 1])
    np.testing.assert_allclose(model.inverse_transform(both), model.reconstruct(series), atol=1e-12)


def test_frames_keep_their_index(series):
    pd = pytest.importorskip("pandas", reason="data frames")
    frame = pd.DataFrame(series, columns=[f"t{j}" for j in range(12)], index=range(100, 130))
    model = GTPCA(1, Shift(5), solver=QUICK, random_state=0).set_output(transform="pandas")
    out = model.fit_transform(frame)
    assert list(out.index) == list(frame.index)
    assert list(model.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[frame.columns[::-1]])


def test_feature_names_out(series):
    model = GTPCA(3, solver=QUICK).fit(series)
    assert list(model.get_feature_names_out()) == ["gtpca0", "gtpca1", "gtpca2"]
    assert model.get_feature_names_out().dtype == object


def test_pipeline(series):
    pipe = make_pipeline(StandardScaler(), GTPCA(2, Shift(5), solver=QUICK, random_state=0))
    Z = pipe.fit_transform(series)
    assert Z.shape == (30, 2)
    assert list(pipe.get_feature_names_out()) == ["gtpca0", "gtpca1"]
    assert 0 < pipe.score(series) < 1
    image_pipe = make_pipeline(StandardScaler(), GTPCA(2, Rotation(4), sample_shape=(4, 3)))
    image_pipe.set_params(gtpca__solver=QUICK, gtpca__random_state=0)
    back = image_pipe.fit(series).inverse_transform(image_pipe.transform(series))
    assert back.shape == (30, 12)  # flat rows in, flat rows out: the scaler can go on


def test_grid_search_over_the_window_and_the_solver(series):
    X = np.zeros((24, 20))
    for i in range(24):
        X[i, i % 12 : i % 12 + 6] = [1, -2, 3, 3, -2, 1]
    model = GTPCA(1, Shift(3), solver=ALS(max_iter=20), random_state=0)
    grid = {"family__window": [2, 6], "solver__n_init": [1, 4]}
    search = GridSearchCV(model, grid, cv=2).fit(X)
    assert search.best_params_["family__window"] == 6
    assert search.best_score_ > 0.99
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.components_.shape == (1, 6)


def test_grid_search_over_the_default_solver(series):
    """``ALS()`` is the default and ``solver__n_init`` can be searched over."""
    model = GTPCA(1, Shift(5), random_state=0)
    GridSearchCV(model, {"solver__n_init": [1, 2]}, cv=2, error_score="raise").fit(series)


def test_clone_and_pickle(series):
    family = Compose(Shift(5, boundary="partial"), Reflection())
    model = GTPCA(2, family, center=True, solver=ALS(n_init=3), random_state=0).fit(series)
    copy = clone(model)
    assert not hasattr(copy, "components_")
    assert copy.family is not model.family
    assert repr(copy) == repr(model)
    np.testing.assert_array_equal(copy.fit(series).components_, model.components_)
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(thawed.transform(series), model.transform(series))
    np.testing.assert_array_equal(thawed.reconstruct(series), model.reconstruct(series))


def test_refit_is_a_new_fit(series):
    model = GTPCA(2, Shift(5), solver=QUICK, random_state=0).fit(series)
    first = model.components_.copy()
    model.fit(np.random.default_rng(5).standard_normal((20, 9)))
    assert model.n_features_in_ == 9
    np.testing.assert_array_equal(model.fit(series).components_, first)


@parametrize_with_checks(
    [
        ProbabilisticGTPCA(tol=1e-3),
        ProbabilisticGTPCA(family=Reflection(), em="hard", tol=1e-3),
        ProbabilisticGTPCA(family=Reflection(), prior="learned", noise="features", tol=1e-3),
    ]
)
def test_the_density_passes_scikit_learns_checks(estimator, check):
    check(estimator)


@parametrize_with_checks([MixtureGTPCA(tol=1e-3), MixtureGTPCA(1, 1, Reflection(), tol=1e-3)])
def test_the_mixture_passes_scikit_learns_checks(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [GTPCAClassifier(GTPCA(1)), GTPCAClassifier(ProbabilisticGTPCA(1, tol=1e-2))]
)
def test_the_classifier_passes_scikit_learns_checks(estimator, check):
    check(estimator)
