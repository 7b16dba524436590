"""EM: every pass raises the likelihood, for every family; starts; what is known in closed form."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers import noise
from sklearn.decomposition import PCA, FactorAnalysis

from gtpca import GTPCA, ProbabilisticGTPCA, Shift
from gtpca.data.chunks import as_chunks
from gtpca.fitting import em
from gtpca.fitting.em import DensityRecipe, climb_likelihood, expectation_maximisation, start
from gtpca.model.probabilistic import ProbabilisticModel

N_PASSES = 5


def from_anywhere(chunks, recipe, seed=0):
    """A model to begin with that knows nothing of the rows."""
    rng, operator = np.random.default_rng(seed), chunks.operator
    V = rng.standard_normal((1 + recipe.n_components, operator.n_weights))
    each = operator.n_features if recipe.noise == "features" else 1
    uniform = np.full(operator.n_transforms, -np.log(operator.n_transforms))
    return ProbabilisticModel(operator, V[0], V[1:], np.full(each, 1.5), uniform)


@pytest.mark.parametrize("kind", ["isotropic", "features"])
@pytest.mark.parametrize("how", ["soft", "hard"])
def test_every_pass_raises_the_likelihood(bound, how, kind):
    recipe = DensityRecipe(2, how, kind, "learned", max_iter=N_PASSES, tol=0.0)
    chunks = as_chunks(noise(12, bound.n_features, seed=3), bound)
    _, history, _ = climb_likelihood(chunks, recipe, from_anywhere(chunks, recipe))
    assert len(history) > 2
    assert np.diff(history).min() > -1e-9 * np.abs(history).max()
    assert history[-1] > history[0] + 0.01


@pytest.mark.parametrize("how", [("soft", "isotropic"), ("hard", "features")])
def test_every_pass_raises_the_likelihood_of_what_was_observed(bound, how):
    recipe = DensityRecipe(1, *how, "learned", max_iter=4, tol=0.0)
    X = noise(12, bound.n_features, seed=3)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    chunks = as_chunks(X, bound, weight=np.random.default_rng(1).uniform(0, 2, 12))
    _, history, _ = climb_likelihood(chunks, recipe, from_anywhere(chunks, recipe))
    assert np.diff(history).min() > -1e-9 * np.abs(history).max()
    assert history[-1] > history[0] + 0.01


def test_a_wrong_determinant_is_noticed(monkeypatch):
    """Without a determinant that depends on the transform EM would fall: it ends at once."""
    e_step = ProbabilisticModel.e_step

    def wrong(model):
        right = e_step(model)
        terms = right.terms
        terms.constant[:] += np.linalg.slogdet(np.linalg.inv(terms.inverse))[1] / 2
        return right

    monkeypatch.setattr(ProbabilisticModel, "e_step", wrong)
    recipe = DensityRecipe(2, max_iter=40, tol=-1.0)
    chunks = as_chunks(noise(30, 10, seed=3), Shift(8, boundary="partial").bind((10,)))
    history = climb_likelihood(chunks, recipe, from_anywhere(chunks, recipe))[1]
    assert len(history) < 10  # of 41


@pytest.mark.parametrize("d", [12, 40])
def test_the_identity_is_probabilistic_pca(monkeypatch, d):
    monkeypatch.setattr(em, "DENSE", 20)  # 40 features: by subspace iteration, then EM
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((60, 4)) * [6, 4, 2, 1]) @ rng.standard_normal((4, d))
    X += 0.5 * rng.standard_normal(X.shape) + rng.standard_normal(d)
    chunks = as_chunks(X, Shift().bind((d,)))
    model, _, converged = expectation_maximisation(
        chunks, DensityRecipe(3, tol=1e-12, max_iter=500), np.random.RandomState(0)
    )
    pca = PCA(3, svd_solver="full").fit(X)
    pca.explained_variance_ *= 59 / 60
    pca.noise_variance_ *= 59 / 60
    assert converged
    np.testing.assert_allclose(model.score_samples(chunks), pca.score_samples(X), atol=1e-6)


def test_the_identity_with_noise_of_features_is_factor_analysis():
    rng = np.random.default_rng(1)
    X = 2 * rng.standard_normal((200, 2)) @ rng.standard_normal((2, 8))
    X += rng.uniform(0.5, 2, 8) * rng.standard_normal(X.shape)
    chunks = as_chunks(X, Shift().bind((8,)))
    recipe = DensityRecipe(2, noise="features", tol=1e-9, max_iter=3000)
    model, _, converged = expectation_maximisation(chunks, recipe, np.random.RandomState(0))
    other = FactorAnalysis(2, tol=1e-10, max_iter=3000, svd_method="lapack").fit(X)
    assert converged
    assert abs(model.score_samples(chunks).mean() - other.score(X)) < 1e-5
    np.testing.assert_allclose(model.noise, other.noise_variance_, rtol=0.01)


def pulses(n=300, size=60, strength=1.0, seed=0):
    """A pulse of 16 points at random places in unit noise, with a height that varies."""
    rng = np.random.default_rng(seed)
    pulse = np.exp(-0.5 * ((np.arange(16) - 7.5) / 2.5) ** 2) * np.cos(np.arange(16) - 7.5)
    pulse *= strength / np.linalg.norm(pulse)
    places = rng.integers(size - 15, size=n)
    X = rng.standard_normal((n, size))
    for x, place, height in zip(X, places, 1 + 0.3 * rng.standard_normal(n), strict=True):
        x[place : place + 16] += height * pulse
    return X, places


def test_parameters_are_found():
    X, places = pulses(strength=8.0)
    chunks = as_chunks(X, Shift(16).bind((60,)))
    model, _, converged = expectation_maximisation(
        chunks, DensityRecipe(1), np.random.RandomState(0)
    )
    assert converged
    found = model.operator.describe(model.encode(chunks).index[:, 0])["start"]
    shift = np.median(found - places)
    inside = np.abs(found - places - shift) <= 1
    assert inside.mean() > 0.95
    assert abs(model.noise[0] - 1) < 0.05
    assert abs(np.linalg.norm(model.pattern) - 8) < 0.8
    assert abs(np.linalg.norm(model.loadings[0]) - 2.4) < 0.8


def test_the_start_has_the_poses_of_a_single_component():
    X, places = pulses(strength=8.0)
    chunks = as_chunks(X, Shift(16).bind((60,)))
    model = start(chunks, DensityRecipe(3), np.random.RandomState(0))
    index = model.encode(chunks).index[:, 0]
    moved = index - places - np.median(index - places)
    assert np.mean(np.abs(moved) <= 2) > 0.9
    assert len(model.loadings) == 3


def test_rows_without_noise_have_a_floor():
    chunks = as_chunks(np.zeros((5, 6)), Shift(3).bind((6,)))
    model, history, _ = expectation_maximisation(chunks, DensityRecipe(1), np.random.RandomState(0))
    assert np.all(model.noise > 0)
    assert np.all(np.isfinite(history))
    row = np.zeros((20, 12))
    for i in range(20):
        row[i, i % 10 : i % 10 + 3] = [1, 2, 1]
    chunks = as_chunks(row, Shift(3).bind((12,)))
    model, history, _ = expectation_maximisation(chunks, DensityRecipe(1), np.random.RandomState(0))
    assert np.all(np.diff(history) > -1e-6)
    np.testing.assert_allclose(model.pattern, [1, 2, 1], atol=1e-3)


def test_soft_em_makes_patterns_less_too_large():
    X, _ = pulses(400, 40, strength=3.0, seed=2)
    chunks = as_chunks(X, Shift(16).bind((40,)))
    sizes = [
        np.linalg.norm(
            expectation_maximisation(chunks, DensityRecipe(0, how), np.random.RandomState(0))[
                0
            ].pattern
        )
        for how in ("soft", "hard")
    ]
    assert abs(sizes[0] - 3) < abs(sizes[1] - 3)
    assert sizes[1] > 3


def bump(centre, width):
    """A Gaussian bump on 40 points."""
    return np.exp(-0.5 * ((np.arange(40) - centre) / width) ** 2)


def test_likelihood_knows_poses_that_energy_does_not():
    """A beat whose parts vary strongly: soft EM is right where a single component is not."""
    rng = np.random.default_rng(0)
    modes = np.array([0.75 * bump(17, 1), 0.4 * bump(30, 3), 0.3 * (bump(28, 3) - bump(33, 3))])
    wave = bump(17, 1) - 0.25 * bump(19, 1) + 0.15 * bump(8, 2) + 0.3 * bump(30, 3)
    X, places = 0.1 * rng.standard_normal((200, 100)), rng.integers(10, 51, size=200)
    for x, place, z in zip(X, places, rng.standard_normal((200, 3)), strict=True):
        x[place : place + 40] += wave + z @ modes
    single = GTPCA(1, Shift(40), polarity="positive", random_state=0).fit(X).encode(X)
    chunks, rng = as_chunks(X, Shift(40).bind((100,))), np.random.RandomState(0)
    model = expectation_maximisation(chunks, DensityRecipe(3, tol=1e-3), rng)[0]
    gaps = [codes.index[:, 0] - places for codes in (single, model.encode(chunks))]
    shares = [np.mean(np.abs(gap - np.median(gap)) <= 2) for gap in gaps]
    assert shares[0] < 0.9
    assert shares[1] > 0.95


@pytest.mark.parametrize("noise", ["isotropic", "features"])
@pytest.mark.parametrize("seed", [13, 14, 27, 30, 37])
def test_the_likelihood_does_not_fall_where_noise_is_at_its_floor(seed, noise):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 21)), int(rng.integers(6, 20))
    families = [Shift(4), Shift(boundary="circular"), None, Shift(d + 4, boundary="partial")]
    X, pattern = np.zeros((n, d)), rng.standard_normal(4)
    for x in X:
        start = rng.integers(d - 3)
        x[start : start + 4] = pattern * (1 + 0.5 * rng.standard_normal())
    if seed % 3 == 0:
        X += 1e-3 * rng.standard_normal(X.shape)
    for k in (1, 2):
        how = {"noise": noise, "shrink": False, "max_iter": 200, "random_state": 0}
        model = ProbabilisticGTPCA(k, families[seed % 4], **how)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X)
        assert np.all(np.diff(model.history_) >= -1e-8 * np.abs(model.history_[1:]))
        assert model.score(X) >= model.history_.max() - 1e-3
