"""What held-out rows say: no pattern in noise, and weights that can be trusted."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers import noise
from scipy.ndimage import gaussian_filter1d
from scipy.signal import lfilter

from gtpca import Compose, ProbabilisticGTPCA, Reflection, Shift, load
from gtpca.data.chunks import as_chunks
from gtpca.fitting.held_out import changed, nothing, power, row_folds
from gtpca.model.probabilistic import ProbabilisticModel
from gtpca.operators.base import smoothed

CIRCULAR = Shift(boundary="circular")


def rows(size, n=200, points=32, seed=0):
    """A smooth pattern of some norm at random circular shifts in unit noise; and the pattern."""
    rng = np.random.default_rng(seed)
    pattern = np.exp(-0.5 * ((np.arange(points) - 12) / 2.5) ** 2) * np.cos(np.arange(points) / 2)
    pattern *= size / np.linalg.norm(pattern)
    index = (np.arange(points) - rng.integers(points, size=n)[:, None]) % points
    return pattern[index] + rng.standard_normal((n, points)), pattern


def likeness(found, truth):
    """The largest correlation over circular shifts."""
    products = np.fft.irfft(np.fft.rfft(found) * np.fft.rfft(truth).conj(), len(truth))
    return products.max() / (np.linalg.norm(found) * np.linalg.norm(truth))


def test_in_noise_there_is_no_pattern_and_it_is_said():
    X, _ = rows(0.0)
    with pytest.warns(UserWarning, match="no evidence for a pattern: held-out rows are less"):
        model = ProbabilisticGTPCA(0, CIRCULAR, random_state=0).fit(X)
    plain = ProbabilisticGTPCA(0, CIRCULAR, shrink=False, random_state=0).fit(X)
    assert model.held_out_gain_ < 0
    assert np.linalg.norm(model.mean_pattern_) < 0.5 * np.linalg.norm(plain.mean_pattern_)
    new, _ = rows(0.0, seed=1)
    assert plain.score(new) < model.score(new)
    assert plain.held_out_gain_ is None


@pytest.mark.parametrize("seed", [10, 11, 12])
@pytest.mark.parametrize("count", [0, 3])
def test_noise_is_told_from_a_faint_pattern(seed, count):
    how = {"tol": 1e-3, "random_state": 0}
    with pytest.warns(UserWarning, match=r"\(10 are needed\).*gtpca\.diagnostics\.choose"):
        model = ProbabilisticGTPCA(count, CIRCULAR, **how).fit(rows(0.0, n=100, seed=seed)[0])
    assert f"by {-model.held_out_gain_:.2g} nats per row (above 0 is needed)" in model.doubt_
    assert f"gains {model.held_out_total_:.2g} nats in total" in model.doubt_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ProbabilisticGTPCA(count, CIRCULAR, **how).fit(rows(3.0, n=100, seed=seed)[0])
    assert model.doubt_ is None


@pytest.mark.parametrize("kind", ["coloured", "heavy-tailed"])
def test_noise_that_is_not_white_or_not_gaussian_is_told(kind):
    """Held-out rows of it are more likely with some pattern than with white noise."""
    rng, told = np.random.default_rng(0), []
    for seed in range(3):
        X = (
            rng.standard_t(3, size=(100, 100))
            if kind == "heavy-tailed"
            else rng.normal(size=(100, 100))
        )
        if kind == "coloured":
            X = lfilter([1.0], [1.0, -0.9], X, axis=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ProbabilisticGTPCA(0, Shift(10), tol=1e-3, random_state=seed).fit(X[:, 60:])
        told.append(model.doubt_)
    assert sum(doubt is not None for doubt in told) >= 2
    if kind == "coloured":
        assert model.held_out_gain_ is None or model.held_out_gain_ > 0
        assert "surrogates of noise like the rows gains" in next(filter(None, told))


def test_clear_patterns_need_five_surrogates():
    model = ProbabilisticGTPCA(0, CIRCULAR, tol=1e-3, random_state=0).fit(rows(8.0)[0])
    assert model.doubt_ is None
    assert len(model.noise_gains_) == 5
    assert max(model.noise_gains_) < model.halves_gain_


def test_too_many_components_do_not_hide_a_pattern():
    """Below 0 as EM finds them, which was taken for noise; surrogates may still gain as much."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ProbabilisticGTPCA(6, CIRCULAR, tol=1e-3, random_state=0).fit(rows(2.2, n=60)[0])
    assert model.held_out_gain_ < 0
    assert model.held_out_total_ > 10
    assert "less likely with it than with noise alone" not in (model.doubt_ or "")


def test_a_faint_pattern_is_found_better():
    X, truth = rows(2.8)
    plain, model = (
        ProbabilisticGTPCA(0, CIRCULAR, shrink=shrink, random_state=0).fit(X)
        for shrink in (False, True)
    )
    assert model.held_out_gain_ > 0
    new, _ = rows(2.8, seed=1)
    assert model.score(new) > plain.score(new)
    assert likeness(model.mean_pattern_, truth) > likeness(plain.mean_pattern_, truth)
    sizes = [np.linalg.norm(each.mean_pattern_) for each in (model, plain)]
    assert abs(sizes[0] - 2.8) < abs(sizes[1] - 2.8)


def test_strong_patterns_and_ordinary_pca_are_left_as_they_are():
    X, _ = rows(30.0)
    how = {"random_state": 0, "tol": 1e-3}
    for family in (CIRCULAR, None):
        model = ProbabilisticGTPCA(1, family, **how).fit(X)
        plain = ProbabilisticGTPCA(1, family, shrink=False, **how).fit(X)
        np.testing.assert_array_equal(model.components_, plain.components_)
        assert (model.held_out_gain_, model.smoothing_, model.shrinkage_) == (None, 0.0, 1.0)


def test_equal_rows_are_held_out_together():
    X = noise(50, 8)
    folds = row_folds(np.concatenate([X, X[::-1]]))
    np.testing.assert_array_equal(folds[:50], folds[50:][::-1])
    assert len(np.unique(folds)) == 5


@pytest.mark.parametrize("kind", ["isotropic", "features"])
def test_what_weights_show_less_of_is_noise(kind):
    operator = Shift(6, boundary="partial").bind((9,))
    variance = np.full(9 if kind == "features" else 1, 0.5)
    uniform = np.full(operator.n_transforms, -np.log(operator.n_transforms))
    model = ProbabilisticModel(operator, noise(1, 6)[0], noise(2, 6, seed=1), variance, uniform)
    after = changed(model, 1.0, 0.5)
    np.testing.assert_allclose(after.noise + power(after), model.noise + power(model))
    shown = [operator.apply(w) ** 2 for w in model.weights]
    slow = np.mean(np.sum(shown, axis=0), axis=0)
    np.testing.assert_allclose(power(model), slow if kind == "features" else slow.mean())


def test_nothing_is_noise_of_the_mean_square():
    X = noise(20, 7)
    X[3, 2] = np.nan
    chunks = as_chunks(X, Shift(3).bind((7,)))
    model = ProbabilisticModel(
        chunks.operator, np.ones(3), np.ones((1, 3)), np.ones(1), np.zeros(5)
    )
    assert nothing(chunks, model).noise == pytest.approx(np.nanmean(X**2))


@pytest.mark.parametrize("width", [0.5, 1.4])
def test_weights_are_smoothed_by_a_gaussian(width):
    w = noise(1, 16)[0]
    for family, mode in ((CIRCULAR, "wrap"), (Shift(16), "nearest")):
        size = 16 if mode == "wrap" else 20
        found = smoothed(family.bind((size,)), w, width)
        slow = gaussian_filter1d(w, width, mode=mode, radius=int(np.ceil(4 * width)))
        np.testing.assert_allclose(found, slow, atol=1e-12)
    both = Compose(Shift(16), Reflection()).bind((20,))
    np.testing.assert_array_equal(smoothed(both, w, width), smoothed(both.outer, w, width))


def test_a_file_keeps_the_doubt(tmp_path):
    with pytest.warns(UserWarning, match="no evidence"):
        model = ProbabilisticGTPCA(0, CIRCULAR, random_state=0).fit(rows(0.0, n=60)[0])
    model.save(tmp_path / "noise.gtpca")
    assert load(tmp_path / "noise.gtpca").doubt_ == model.doubt_
    model.fit_ = replace(model.fit_, held_out_total=None, halves_gain=None, noise_gains=None)
    model.save(tmp_path / "noise.gtpca")
    old = load(tmp_path / "noise.gtpca")
    assert old.held_out_total_ is None
    assert "in all" not in old.doubt_
