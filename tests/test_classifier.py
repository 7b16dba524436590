"""GTPCAClassifier: one model for each class."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import QUICK
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from gtpca import GTPCA, GTPCAClassifier, MixtureGTPCA, ProbabilisticGTPCA, Shift
from gtpca.model.probabilistic import ProbabilisticModel

PATTERNS = np.array([[1.0, 3, 5, 3, 1], [5, 1, -2, 1, 5], [4, 2, 0, -2, -4]])
ONE = GTPCA(1, Shift(5), solver=QUICK, random_state=0)
DENSITY = ProbabilisticGTPCA(0, Shift(5), shrink=False, tol=1e-3, random_state=0)


def pulses(n=90, n_classes=3, noise=0.5, seed=0):
    """Pulses at random places in noise, and the names of their classes."""
    rng = np.random.default_rng(seed)
    kind, X = rng.integers(n_classes, size=n), noise * rng.standard_normal((n, 20))
    for x, g, place in zip(X, kind, rng.integers(16, size=n), strict=True):
        x[place : place + 5] += PATTERNS[g]
    return X, np.array(["bump", "cup", "slope"])[kind]


@pytest.mark.parametrize("estimator", [ONE, DENSITY, MixtureGTPCA(1, 0, Shift(5), random_state=0)])
def test_classes_are_told_apart_wherever_they_lie(estimator):
    (X, y), (new, wanted) = pulses(), pulses(60, seed=1)
    model = GTPCAClassifier(estimator).fit(X, y)
    assert list(model.classes_) == ["bump", "cup", "slope"]
    assert model.score(new, wanted) > 0.95
    assert model.decision_function(new).shape == (60, 3)
    assert not hasattr(model, "predict_proba")


def test_scores_are_shares_or_likelihoods_with_the_prior():
    X, y = pulses()
    share = GTPCAClassifier(ONE).fit(X, y).class_scores(X)
    assert 0 <= share.min() <= share.max() <= 1
    model = GTPCAClassifier(DENSITY).fit(X, y)
    each = [one.score_samples(X) for one in model.estimators_]
    np.testing.assert_allclose(
        model.class_scores(X), np.stack(each, axis=1) + np.log(model.class_prior_)
    )
    np.testing.assert_allclose(model.class_prior_, [np.mean(y == c) for c in model.classes_])
    assert isinstance(model.estimators_[0].model_, ProbabilisticModel)


def test_two_classes_have_one_decision():
    X, y = pulses(n_classes=2)
    model = GTPCAClassifier(ONE).fit(X, y)
    wanted = np.where(model.decision_function(X) > 0, "cup", "bump")
    np.testing.assert_array_equal(model.predict(X), wanted)


def test_weights_memory_maps_and_frames_are_the_same(tmp_path):
    X, y = pulses(60)
    weight = np.random.default_rng(0).integers(1, 3, 60)
    heavy = GTPCAClassifier(DENSITY).fit(X, y, sample_weight=weight)
    twice = GTPCAClassifier(DENSITY).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(heavy.class_scores(X), twice.class_scores(X), atol=1e-4)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    there, here = (GTPCAClassifier(DENSITY).fit(rows, y) for rows in (mapped, X))
    np.testing.assert_allclose(there.class_scores(mapped), here.class_scores(X), atol=1e-4)


def test_probabilities_come_from_scikit_learn():
    X, y = pulses(90)
    model = CalibratedClassifierCV(GTPCAClassifier(ONE), cv=3).fit(X, y)
    assert model.predict_proba(X).shape == (90, 3)
    assert np.mean(model.predict(X) == y) > 0.9


def test_searches_reach_into_the_models():
    X, y = pulses(60)
    grid = {"estimator__family__window": [2, 5], "estimator__n_components": [1]}
    search = GridSearchCV(GTPCAClassifier(ONE), grid, cv=2).fit(X, y)
    assert search.best_params_["estimator__family__window"] == 5
    assert cross_val_score(GTPCAClassifier(ONE), X, y, cv=2).mean() > 0.9


def test_gaps():
    X, y = pulses(60)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    with pytest.raises(ValueError, match=r"NaN|missing"):
        GTPCAClassifier(ONE).fit(X, y)
    model = GTPCAClassifier(GTPCA(1, Shift(5), missing="ignore", solver=QUICK, random_state=0))
    assert model.fit(X, y).score(X, y) > 0.9


def test_errors_name_what_is_wrong():
    X, y = pulses(30)
    with pytest.raises(TypeError, match=r"estimator=LogisticRegression\(\) must be a GTPCA"):
        GTPCAClassifier(LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="class 'bump' has no sample of positive weight"):
        GTPCAClassifier(ONE).fit(X, y, sample_weight=y != "bump")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GTPCAClassifier(ONE).fit(X, y[:-1])
    with pytest.raises(ValueError, match="no samples"):
        GTPCAClassifier(ONE).fit(X[:0], y[:0])
