"""GTPCAClassifier: one model for each class."""

from __future__ import annotations

import hashlib
import json
import zipfile

import numpy as np
import pytest
from helpers import QUICK
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from gtpca import GTPCA, GTPCAClassifier, MixtureGTPCA, ProbabilisticGTPCA, Shift, load
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


@pytest.mark.parametrize("kind", ["text", "numbers", "default"])
@pytest.mark.parametrize("of", ["GTPCA", "density", "mixture"])
def test_a_file_gives_the_same_classifier_back(tmp_path, kind, of):
    X, y = pulses(60)
    if kind == "numbers":
        y = np.unique(y, return_inverse=True)[1] * 2
    estimators = {"GTPCA": ONE, "density": DENSITY, "mixture": MixtureGTPCA(1, 0, Shift(5), tol=1)}
    model = GTPCAClassifier(None if kind == "default" else estimators[of]).fit(X, y)
    model.save(tmp_path / "c.gtpca")
    same = load(tmp_path / "c.gtpca")
    assert isinstance(same, GTPCAClassifier)
    np.testing.assert_array_equal(same.class_scores(X), model.class_scores(X))
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    assert same.predict(X).dtype == model.predict(X).dtype
    assert repr(same) == repr(model)
    assert same.n_features_in_ == 20
    same.save(tmp_path / "again.gtpca")
    assert (tmp_path / "again.gtpca").read_bytes() == (tmp_path / "c.gtpca").read_bytes()


def _rewritten(path, edit):
    """The file with edited JSON and checksums that fit."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    content = json.loads(members["model.json"])
    edit(content)
    members["model.json"] = json.dumps(content).encode()
    members["model.json.sha256"] = hashlib.sha256(members["model.json"]).hexdigest().encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda c: c.update(models=3), "models must be a list"),
        (lambda c: c.update(models=[]), "at least one"),
        (lambda c: c["models"].pop(), "must be 1 numbers or texts"),
        (lambda c: c["models"][0].update(estimator="EventGTPCA"), "no valid model"),
        (lambda c: c["fitted"].update({"classes_": {"$strings": ["b", "a"]}}), "sorted"),
        (lambda c: c["fitted"].update({"classes_": {"$strings": ["a", "a"]}}), "distinct"),
        (lambda c: c["fitted"].pop("class_prior_"), "class_prior_ must be"),
        (lambda c: c.update(parameters={"estimator": 7}), "whether the estimator was given"),
        (lambda c: c["models"][1]["fitted"].update({"n_features_in_": 7}), "no valid model"),
    ],
    ids=["list", "none", "fewer", "events", "order", "same", "prior", "given", "sizes"],
)
def test_forged_classifiers_are_refused_in_one_line(tmp_path, edit, words):
    X, y = pulses(40, n_classes=2)
    GTPCAClassifier(ONE).fit(X, y).save(tmp_path / "c.gtpca")
    _rewritten(tmp_path / "c.gtpca", edit)
    with pytest.raises(ValueError, match=words) as caught:
        load(tmp_path / "c.gtpca")
    assert "\n" not in str(caught.value)


def test_the_largest_size_is_that_of_all_models(tmp_path):
    X, y = pulses(40, n_classes=2)
    model = GTPCAClassifier(ONE).fit(X, y)
    model.save(tmp_path / "c.gtpca")
    one = int(Shift(5).size((20,)).n_values)
    load(tmp_path / "c.gtpca", max_size=2 * one + 20)
    with pytest.raises(ValueError, match="max_size"):
        load(tmp_path / "c.gtpca", max_size=2 * one - 1)


def test_what_cannot_be_saved(tmp_path):
    X, y = pulses(40, n_classes=2)
    with pytest.raises(NotFittedError):
        GTPCAClassifier(ONE).save(tmp_path / "c.gtpca")
    dates = np.array(["2024-01-01", "2024-01-02"], "datetime64[D]")[(y == "cup").astype(int)]
    with pytest.raises(ValueError, match=r"classes_ is an array of datetime64|Unknown label"):
        GTPCAClassifier(ONE).fit(X, dates).save(tmp_path / "c.gtpca")
    assert not (tmp_path / "c.gtpca").exists()
