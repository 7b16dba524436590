"""Whitening by an autoregression is the inverse of the Cholesky factor of its covariance."""

import numpy as np
import pytest
from scipy.linalg import cholesky, solve_triangular, toeplitz
from scipy.signal import lfilter

from gtpca.model.autoregression import Autoregression, burg


def covariance(process, n_points):
    """By brute force: the response to an impulse, long enough for its tail to be nothing."""
    impulse = np.zeros(20_000)
    impulse[0] = np.sqrt(process.variances[-1])
    response = lfilter([1.0], process.filters[-1], impulse)
    lags = [response[: len(response) - lag] @ response[lag:] for lag in range(n_points)]
    return toeplitz(lags)


@pytest.mark.parametrize("reflection", [[], [0.9], [0.8, -0.6], [0.3, 0.5, -0.2, 0.4]])
def test_whiten_is_the_inverse_cholesky_factor(reflection):
    process = Autoregression(np.array(reflection), 2.5)
    C = covariance(process, 12)
    assert C[0, 0] == pytest.approx(2.5)
    L = cholesky(C, lower=True)
    X = np.random.default_rng(0).standard_normal((5, 12))
    np.testing.assert_allclose(process.whiten(X), solve_triangular(L, X.T, lower=True).T)
    np.testing.assert_allclose(process.colour(X), X @ L.T)
    assert process.log_determinant(12) == pytest.approx(np.log(np.diag(L)).sum())


@pytest.mark.parametrize("order", [1, 3, 12, 20])
@pytest.mark.parametrize("n_points", [1, 15, 16, 17, 40, 61])
def test_blocks_of_points_are_whitened_as_the_definition_says(order, n_points):
    rng = np.random.default_rng(order)
    process = Autoregression(rng.uniform(-0.7, 0.7, order), 2.5)
    X = rng.standard_normal((3, n_points, 4)).transpose(2, 0, 1)  # not contiguous
    expected = np.empty(X.shape)
    for t in range(n_points):
        j = min(t, order)
        error = X[..., t - j : t + 1] @ process.filters[j, j::-1]
        expected[..., t] = error / np.sqrt(process.variances[j])
    np.testing.assert_allclose(process.whiten(X), expected, atol=1e-12)
    np.testing.assert_allclose(process.whiten(X[0]), expected[0], atol=1e-12)


@pytest.mark.parametrize("n_points", [1, 2, 3, 4, 5, 30])
def test_colour_undoes_whiten(n_points):
    process = Autoregression(np.array([0.3, 0.5, -0.2, 0.4]), 0.1)
    X = np.random.default_rng(n_points).standard_normal((2, 3, n_points))
    np.testing.assert_allclose(process.colour(process.whiten(X)), X)


def test_burg_finds_order_and_coefficients():
    a = [1.0, -1.7, 0.94]
    X = lfilter([1.0], a, np.random.default_rng(1).standard_normal((300, 400)))[:, 280:]
    found = burg(X)
    assert found.order == 2
    np.testing.assert_allclose(found.filters[-1], a, atol=0.02)
    assert found.variances[-1] == pytest.approx(1.0, rel=0.02)


def test_white_noise_has_order_zero():
    assert burg(np.random.default_rng(2).standard_normal((100, 96))).order == 0


def test_gaps_are_left_out():
    noise = np.random.default_rng(3).standard_normal((300, 200))
    X = lfilter([1.0], [1.0, -0.8], noise)[:, 80:]
    X[np.random.default_rng(4).random(X.shape) < 0.2] = np.nan
    X[:, :20] = np.nan
    assert burg(X, 1).reflection == pytest.approx(0.8, abs=0.01)


def test_zeros_and_single_points():
    assert burg(np.zeros((3, 5))).order == 0
    assert burg(np.full((3, 5), np.nan)).variance == 0.0
    assert burg(np.ones((3, 1))).order == 0
