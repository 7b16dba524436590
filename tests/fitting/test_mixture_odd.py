"""Mixtures of odd samples: hardly any, equal ones, offsets, heavy tails, zeros, extreme sizes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from gtpca import MixtureGTPCA, ProbabilisticGTPCA, Shift
from gtpca.fitting import wording

SHAPES = np.array([[1, 3, 5, 3, 1], [5, 1, -2, 1, 5]])


def pulses(n=60, noise=0.3, seed=0):
    X = noise * np.random.default_rng(seed).standard_normal((n, 24))
    for i, row in enumerate(X):
        row[(i // 2) % 20 : (i // 2) % 20 + 5] += SHAPES[i % 2]
    return X


def fitted(X, n_kinds=2, n_components=0, **more):
    """A mixture; only overflows and the like are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        model = MixtureGTPCA(n_kinds, n_components, Shift(5), tol=1e-3, random_state=0, **more)
        return model.fit(X)


ODD = {
    "one row": (pulses(1), 1, 1),
    "as many kinds as rows": (pulses(2), 2, 1),
    "all rows equal": (np.repeat(pulses(1), 12, axis=0), 2, 1),
    "all rows zero": (np.zeros((12, 24)), 2, 0),
    "some rows zero": (np.where(np.arange(60)[:, None] < 20, 0, pulses()), 2, 1),
    "no noise": (pulses(noise=0), 2, 0),
    "tiny": (1e-150 * pulses(), 2, 0),
    "huge": (1e150 * pulses(), 2, 0),
    "one loud row": (pulses() * np.where(np.arange(60)[:, None] == 7, 1e6, 1), 2, 1),
    "binary": (np.random.default_rng(0).integers(0, 2, (40, 24)).astype(float), 3, 1),
    "more kinds than there are": (pulses(), 4, 1),
}


@pytest.mark.parametrize("case", ODD)
def test_everything_stays_finite_and_kinds_are_probabilities(case):
    X, n_kinds, n_components = ODD[case]
    model = fitted(X, n_kinds, n_components)
    share = model.predict_proba(X)
    assert np.isfinite(model.mean_patterns_).all()
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.history_).all()
    assert np.all(np.diff(model.history_) >= -1e-9 * np.abs(model.history_[0]))
    np.testing.assert_allclose(share.sum(axis=1), 1)
    np.testing.assert_allclose(model.kind_weights_.sum(), 1)
    assert model.kind_counts_.sum() == len(X)
    assert np.isfinite(model.reconstruct(X)).all()


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_the_unit_of_the_data_does_not_matter(scale):
    X = pulses()
    np.testing.assert_array_equal(fitted(scale * X).predict(scale * X), fitted(X).predict(X))


def test_rows_of_weight_zero_are_as_if_they_were_not_there():
    X = pulses()
    few = fitted(X[:6])
    weight = np.where(np.arange(60) < 6, 1.0, 0.0)
    model = MixtureGTPCA(2, 0, Shift(5), tol=1e-3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, sample_weight=weight)
        one = ProbabilisticGTPCA(0, Shift(5), random_state=0).fit(X, sample_weight=weight)
        alone = ProbabilisticGTPCA(0, Shift(5), random_state=0).fit(X[:6])
    assert model.smoothing_ == few.smoothing_ == 0
    np.testing.assert_allclose(model.noise_variance_, few.noise_variance_, rtol=1e-6)
    assert one.held_out_gain_ is None
    np.testing.assert_allclose(one.mean_pattern_, alone.mean_pattern_, atol=1e-6)


def test_copies_of_few_rows_are_not_held_out():
    X = pulses(4)
    many, few = fitted(np.repeat(X, 5, axis=0)), fitted(X)
    np.testing.assert_allclose(many.noise_variance_, few.noise_variance_, rtol=1e-6)


def test_loud_samples_are_told_and_equal_norms_help():
    rng, X = np.random.default_rng(1), pulses(120)
    truth = np.arange(120) % 2
    loud = X * np.exp(rng.standard_normal((120, 1)))
    unit = loud / np.linalg.norm(loud, axis=1, keepdims=True)
    with pytest.warns(UserWarning, match=r"loud samples hold .* divide each sample by its norm"):
        MixtureGTPCA(2, 0, Shift(5), tol=1e-2, random_state=0).fit(loud)
    model = fitted(unit)
    assert model.cautions_ == []
    assert adjusted_rand_score(truth, model.predict(unit)) > 0.9


@pytest.mark.parametrize("freedom", [3, 5])
def test_heavy_tails_of_values_do_little_harm(freedom):
    rng = np.random.default_rng(2)
    X = pulses(160, noise=0) + 0.5 * rng.standard_t(freedom, (160, 24))
    model = fitted(X)
    assert adjusted_rand_score(np.arange(160) % 2, model.predict(X)) > 0.8


def test_a_background_is_told_and_centred_samples_are_sorted():
    X = pulses(80) + 100
    with pytest.warns(UserWarning, match="Subtract the mean of each sample before the fit"):
        MixtureGTPCA(2, 0, Shift(5), tol=1e-2, random_state=0).fit(X)
    centred = X - X.mean(axis=1, keepdims=True)
    assert adjusted_rand_score(np.arange(80) % 2, fitted(centred).predict(centred)) > 0.9


def test_the_sentence_of_loud_samples():
    assert wording.loud(0.42).startswith("loud samples hold 42 % of the energy beyond four times")
