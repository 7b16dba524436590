"""Surrogates have what noise would have, and nothing at a place."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca.diagnostics.surrogates import make_surrogates, prepared
from gtpca.model.covariances import nearest_positive


def smooth(n, shape, rng, width=5):
    """White noise, averaged over neighbours along the first axis, cropped."""
    Z = rng.standard_normal((n, shape[0] + width - 1, *shape[1:]))
    return sum(Z[:, j : j + shape[0]] for j in range(width)) / np.sqrt(width)


def lagged(rows, lag):
    """Mean product of points that are so far apart, for every pair of channels."""
    first, later = rows[:, : rows.shape[1] - lag], rows[:, lag:]
    return np.einsum("nta,ntb->ab", first, later) / (first.shape[0] * first.shape[1])


def test_gaussian_surrogates_have_the_covariance_of_the_data_at_every_lag():
    rng = np.random.default_rng(0)
    mixing = np.array([[1.0, 0.6], [0.0, 0.8]])
    X = smooth(2000, (24, 2), rng) @ mixing
    Y = make_surrogates("gaussian", X, (0,))(rng)
    assert Y.shape == X.shape
    for lag in (0, 1, 3, 6, 20):
        np.testing.assert_allclose(lagged(Y, lag), lagged(X, lag), atol=0.06)


def differences(rows, lag):
    """Mean product of differences of points that are so far apart, for every pair of channels."""
    apart = rows[:, lag:] - rows[:, : rows.shape[1] - lag]
    return np.einsum("nta,ntb->ab", apart, apart) / (apart.shape[0] * apart.shape[1])


def test_samples_less_their_means_have_surrogates_less_their_means():
    rng = np.random.default_rng(8)
    X = smooth(2000, (24, 2), rng, width=9) @ np.array([[1.0, 0.6], [0.0, 0.8]])
    X -= X.mean(axis=1, keepdims=True)
    Y = make_surrogates("gaussian", X, (0,))(rng)
    np.testing.assert_allclose(Y.mean(axis=1), 0.0, atol=1e-10)
    for lag in (1, 3, 6, 20):
        np.testing.assert_allclose(differences(Y, lag), differences(X, lag), atol=0.12)
    np.testing.assert_allclose(np.mean(Y**2, axis=0), np.mean(X**2, axis=0), atol=0.12)


def test_means_are_seen_by_channel_and_can_be_taken_away():
    rng = np.random.default_rng(9)
    X = rng.standard_normal((30, 3, 12))
    assert not prepared(X, (1,)).means
    assert prepared(X - X.mean(axis=2, keepdims=True), (1,)).means
    assert not prepared(X - X.mean(axis=(1, 2), keepdims=True), (1,)).means
    told = prepared(X + 100, (1,), centred=True)
    assert told.means
    Y = make_surrogates("gaussian", X + 100, (1,), told)(rng)
    np.testing.assert_allclose(Y.mean(axis=2), 0.0, atol=1e-10)
    assert 0.8 < Y.std() < 1.2


def test_mixtures_are_as_loud_where_the_data_are_loud():
    rng = np.random.default_rng(10)
    X = smooth(1000, (20, 2), rng) * np.linspace(1, 3, 20)[:, None]
    Y = make_surrogates("mixed", X, (0,))(rng)
    np.testing.assert_allclose(np.mean(Y**2, axis=0), np.mean(X**2, axis=0), rtol=0.25)
    energies = [np.sort(np.sum(rows**2, axis=(1, 2))) for rows in (X, Y)]
    np.testing.assert_allclose(*energies)


def test_noise_of_longer_waves_than_the_sample_keeps_them():
    rng = np.random.default_rng(1)
    X = np.repeat(rng.standard_normal((3000, 1)), 16, axis=1)
    Y = make_surrogates("gaussian", X, (0,))(rng)
    np.testing.assert_allclose(np.std(Y, axis=1), 0.0, atol=1e-6)


def test_surrogates_of_a_pattern_at_one_place_have_it_nowhere():
    rng = np.random.default_rng(2)
    X = 0.1 * rng.standard_normal((500, 40))
    X[:, 10:14] += 3 * rng.choice([-1, 1], size=(500, 1))
    Y = make_surrogates("gaussian", X, (0,))(rng)
    power = np.mean(Y**2, axis=0)
    assert power.max() / power.min() < 2


def test_energies_of_rows_are_those_of_the_data():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 4, 6)) * np.exp(rng.standard_normal((50, 1, 1)))
    Y = make_surrogates("gaussian", X, (0, 1))(rng)
    energies = [np.sort(np.sum(rows**2, axis=(1, 2))) for rows in (X, Y)]
    np.testing.assert_allclose(*energies)


def test_gaps_stay_where_they_are():
    rng = np.random.default_rng(4)
    X = smooth(400, (20,), rng)
    hidden = rng.random(X.shape) < 0.2
    Y = make_surrogates("gaussian", np.where(hidden, np.nan, X), (0,))(rng)
    np.testing.assert_array_equal(np.isnan(Y), hidden)
    complete = np.where(hidden, 0.0, Y)
    pairs = np.sum(~hidden[:, 1:] & ~hidden[:, :-1])
    expected = np.mean(X[:, 1:] * X[:, :-1])
    assert abs(np.sum(complete[:, 1:] * complete[:, :-1]) / pairs - expected) < 0.1


def test_axes_that_do_not_move_may_come_first():
    rng = np.random.default_rng(5)
    X = np.stack([smooth(800, (16,), rng), 3 * rng.standard_normal((800, 16))], axis=1)
    Y = make_surrogates("gaussian", X, (1,))(rng)
    np.testing.assert_allclose(Y.std(axis=(0, 2)), X.std(axis=(0, 2)), rtol=0.05)
    assert np.mean(Y[:, 0, 1:] * Y[:, 0, :-1]) > 0.6
    assert abs(np.mean(Y[:, 1, 1:] * Y[:, 1, :-1])) < 0.4


def test_phases_leave_amplitudes():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((5, 8, 9))
    Y = make_surrogates("phase", X, (0, 1))(rng)
    amplitudes = [np.abs(np.fft.fft2(rows)) for rows in (X, Y)]
    np.testing.assert_allclose(*amplitudes, atol=1e-10)
    assert np.abs(X - Y).max() > 0.1


def test_nearest_positive_is_the_projection():
    rng = np.random.default_rng(7)
    for _ in range(20):
        values = rng.standard_normal(6) + 0.3
        found = nearest_positive(values)
        if values.sum() <= 0:
            continue
        assert found.min() >= 0
        np.testing.assert_allclose(found.sum(), values.sum())
        other = rng.dirichlet(np.ones(6), size=2000) * values.sum()
        assert np.sum((found - values) ** 2) <= np.sum((other - values) ** 2, axis=1).min() + 1e-12


def test_what_cannot_be_drawn_is_refused():
    X = np.zeros((3, 4))
    with pytest.raises(
        ValueError, match="surrogate='pink' must be one of 'innovations', 'flips', 'blocks', 'gaus"
    ):
        make_surrogates("pink", X, (0,))
    with pytest.raises(ValueError, match=r"shape \(1, 4\); it must have that of the samples"):
        make_surrogates(lambda samples, rng: samples[:1], X, (0,))(np.random.default_rng(0))
    for name in ("mixed", "phase"):
        with pytest.raises(ValueError, match=f"surrogate='{name}' needs complete samples"):
            make_surrogates(name, np.full((2, 3), np.nan), (0,))
    with pytest.raises(ValueError, match="covariance of 5000 channels"):
        make_surrogates("gaussian", np.zeros((2, 30, 5000)), (0,))
