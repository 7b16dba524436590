"""Weights that no row has seen: a dense formula, patterns that go on, and fits to few rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import toeplitz

from gtpca import GTPCA, Shift
from gtpca.unseen import RIDGE, predict_unseen


def dense(w, seen):
    """The conditional mean by matrices, for one axis."""
    known = np.where(seen, w, 0.0)
    lags = [known[: len(w) - lag] @ known[lag:] for lag in range(len(w))]
    C = toeplitz(lags) / seen.sum()
    among = C[np.ix_(seen, seen)] + RIDGE * C[0, 0] * np.eye(seen.sum())
    filled = w.copy()
    filled[~seen] = C[np.ix_(~seen, seen)] @ np.linalg.solve(among, w[seen])
    return filled


def smooth(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.convolve(rng.standard_normal(n + 8), np.hanning(11)[1:-1], "valid")


def test_the_prediction_is_that_of_the_formula():
    w, seen = smooth(60), np.ones(60, dtype=bool)
    seen[:7] = seen[51:] = False
    found = predict_unseen(w, seen, (0,))
    assert_allclose(found, dense(w, seen), atol=1e-4 * np.abs(w).max())
    assert_array_equal(found[seen], w[seen])


def test_what_was_there_before_has_no_say():
    w, seen = smooth(60), np.arange(60) < 50
    assert_array_equal(
        predict_unseen(w, seen, (0,)), predict_unseen(np.where(seen, w, 1e3), seen, (0,))
    )


def test_each_channel_is_filled_alone():
    w = np.stack([smooth(40), 1e-6 * smooth(40, seed=1)], axis=1)
    seen = np.repeat(np.arange(40) > 5, 2).reshape(40, 2)
    found = predict_unseen(w, seen, (0,))
    for channel in (0, 1):
        alone = predict_unseen(w[:, channel], seen[:, channel], (0,))
        assert_array_equal(found[:, channel], alone)
    assert_array_equal(predict_unseen(w.T, seen.T, (1,)), found.T)


def test_a_wave_goes_on_and_noise_does_not():
    x = np.arange(400)
    wave, noise = np.sin(x / 8), np.random.default_rng(0).standard_normal(400)
    seen = x < 380
    assert np.corrcoef(predict_unseen(wave, seen, (0,))[380:], wave[380:])[0, 1] > 0.95
    assert np.sum(predict_unseen(noise, seen, (0,))[380:] ** 2) < 0.25 * np.sum(noise[380:] ** 2)


def test_the_corner_of_an_image():
    i, j = np.indices((24, 24))
    image = np.cos(i / 4) * np.cos(j / 5)
    seen = (i < 20) | (j < 20)
    found = predict_unseen(image, seen, (0, 1))
    assert np.sum((found - image)[~seen] ** 2) < 0.3 * np.sum(image[~seen] ** 2)


def test_nothing_to_go_by():
    w = np.array([0.0, 0.0, 0.0, 5.0])
    assert_array_equal(predict_unseen(w, w == 0, (0,)), np.zeros(4))


def cropped(n, low, high, seed=0):
    """Pieces of 40 points of one smooth pattern of 80, that begin at ``low`` to ``high``."""
    rng = np.random.default_rng(seed)
    starts = rng.integers(low, high, size=n)
    scores = rng.uniform(1, 2, size=n)
    return np.array([a * smooth(80)[s : s + 40] for a, s in zip(scores, starts, strict=True)])


def test_new_samples_that_reach_further_are_rebuilt_better():
    X, new = cropped(30, 8, 33), cropped(50, 3, 8, seed=1)
    model = GTPCA(1, Shift(80), random_state=0).fit(X)
    used = model.encode(X).index
    operator = model.operator_
    seen = operator.normal(np.bincount(used.ravel(), minlength=41), np.ones(80)) > 0
    assert not seen.all()
    filled = model.resmse(new)[-1]
    model.components_ = np.where(seen, model.components_, 0.0)
    assert filled < 0.5 * model.resmse(new)[-1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_a_fit_explains_is_what_its_codes_explain(dtype):
    """Rows may be nearer to what was predicted: they are matched after that."""
    X = (cropped(12, 0, 41) + 0.3 * cropped(12, 0, 41, seed=2)).astype(dtype)
    model = GTPCA(3, Shift(80), random_state=0).fit(X)
    assert_allclose(1 - model.explained_energy_ratio_.sum(), model.resmse(X)[-1], atol=1e-5)


def test_rows_of_weight_zero_and_rows_of_zeros_see_nothing():
    X = cropped(20, 8, 33)
    far = cropped(20, 0, 2, seed=1)
    model = GTPCA(1, Shift(80), random_state=0)
    alone = model.fit(X).components_
    weight = np.repeat([1.0, 0.0], 20)
    assert_allclose(
        model.fit(np.concatenate([X, far]), sample_weight=weight).components_, alone, atol=1e-6
    )
    zeros = np.concatenate([X, np.zeros_like(far)])
    assert_allclose(model.fit(zeros).components_, alone, atol=1e-6)
