"""The filter that makes stationary noise white: its inverse, its Jacobian, its borders."""

import numpy as np
import pytest
from scipy.linalg import circulant, toeplitz
from scipy.signal import lfilter
from scipy.stats import multivariate_normal

from gtpca import Compose, Identity, Rotation, Shift
from gtpca.model.autoregression import Autoregression, burg
from gtpca.model.stationary import StationaryNoise, estimate_noise, shift_axes

REFLECTION = np.array([0.8, -0.5, 0.2])


def autocovariance(process, size):
    """That of an autoregression at lags 0, .., size - 1, by its spectrum on a fine grid."""
    return np.fft.irfft(process.power(2**14), 2**14)[:size]


def coloured(rng, n, size, a=(1.0, -0.9)):
    return lfilter([1.0], a, rng.standard_normal((n, size + 300)))[:, 300:]


def test_innovations_are_those_of_the_cholesky_factor():
    process = Autoregression(REFLECTION, 2.0)
    C = toeplitz(autocovariance(process, 12))
    X = np.random.default_rng(0).standard_normal((4, 12))
    L = np.linalg.cholesky(C)
    np.testing.assert_allclose(process.whiten(X), np.linalg.solve(L, X.T).T, atol=1e-9)
    np.testing.assert_allclose(process.colour(process.whiten(X)), X, atol=1e-9)
    np.testing.assert_allclose(process.log_determinant(12), np.linalg.slogdet(L)[1], atol=1e-9)


def test_a_circle_has_one_filter_for_all_points():
    process = Autoregression(REFLECTION, 2.0, circular=True)
    X = np.random.default_rng(0).standard_normal((4, 12))
    E = process.whiten(X)
    np.testing.assert_allclose(process.whiten(np.roll(X, 5, axis=1)), np.roll(E, 5, axis=1))
    F = circulant(process.whiten(np.eye(12)[:1])[0])
    np.testing.assert_allclose(E, X @ F.T, atol=1e-12)
    np.testing.assert_allclose(process.colour(E), X, atol=1e-9)
    np.testing.assert_allclose(process.log_determinant(12), -np.linalg.slogdet(F)[1], atol=1e-9)


def test_burg_on_a_circle_finds_the_process_of_circular_rows():
    process = Autoregression(np.array([0.7, -0.4]), 1.5, circular=True)
    rows = process.colour(np.random.default_rng(0).standard_normal((2000, 30)))
    found = burg(rows, circular=True)
    np.testing.assert_allclose(found.reflection, process.reflection, atol=0.03)


def test_every_run_of_observed_values_is_a_row_of_its_own():
    process = Autoregression(REFLECTION, 2.0)
    X = np.random.default_rng(0).standard_normal((3, 20))
    gaps = X.copy()
    gaps[0, 5:8], gaps[1, :4], gaps[2, 15:] = np.nan, np.nan, np.nan
    E = process.whiten(gaps)
    np.testing.assert_array_equal(np.isnan(E), np.isnan(gaps))
    for row, part in ((0, slice(0, 5)), (0, slice(8, 20)), (1, slice(4, 20)), (2, slice(0, 15))):
        np.testing.assert_allclose(E[row, part], process.whiten(X[row, part]), atol=1e-12)
    logs = process.log_deviations(np.isnan(gaps)).sum(axis=1)
    expected = [process.log_determinant(5) + process.log_determinant(12)]
    expected += [process.log_determinant(16), process.log_determinant(15)]
    np.testing.assert_allclose(logs, expected)


def test_weight_two_is_a_row_given_twice():
    X = coloured(np.random.default_rng(0), 20, 40)
    weight = np.ones(20)
    weight[:5] = 2.0
    one, two = burg(X, weight=weight), burg(np.concatenate([X[:5], X]))
    np.testing.assert_allclose(one.reflection, two.reflection)
    np.testing.assert_allclose(one.variance, two.variance)


def channels(rng, n, size=60):
    """Two channels of different spectra whose innovations are correlated."""
    e = rng.standard_normal((n, 2, size + 200))
    e[:, 1] = 0.8 * e[:, 0] + 0.6 * e[:, 1]
    first = lfilter([1.0], [1.0, -0.9], e[:, 0])
    second = lfilter([1.0], [1.0, 0.5], e[:, 1])
    return np.stack([first, second], axis=1)[:, :, 200:]


@pytest.mark.parametrize("times_first", [False, True])
def test_channels_have_filters_of_their_own_and_a_covariance(times_first):
    samples, axis = channels(np.random.default_rng(0), 400), 1
    if times_first:
        samples, axis = samples.transpose(0, 2, 1), 0
    noise = estimate_noise(samples, {axis: False})
    rows = samples.reshape(400, -1)
    E = noise.whiten(rows).reshape(samples.shape)
    E = E.transpose(0, 2, 1) if times_first else E
    np.testing.assert_allclose(np.cov(E[:, 0].ravel(), E[:, 1].ravel()), np.eye(2), atol=0.03)
    for channel in range(2):
        assert abs(np.mean(E[:, channel, 1:] * E[:, channel, :-1])) < 0.03
    np.testing.assert_allclose(noise.colour(noise.whiten(rows)), rows, atol=1e-9)
    assert noise.spectrum()[1].shape[0] == 2


def test_the_jacobian_makes_likelihoods_those_of_the_rows():
    noise = StationaryNoise((12,), (0,), ((Autoregression(REFLECTION, 2.0),),), np.ones((1, 1)))
    X = np.random.default_rng(0).standard_normal((5, 12))
    C = toeplitz(autocovariance(noise.filters[0][0], 12))
    E = noise.whiten(X)
    white = -0.5 * np.sum(E**2, axis=1) - 6 * np.log(2 * np.pi)
    expected = multivariate_normal(np.zeros(12), C).logpdf(X)
    np.testing.assert_allclose(white - noise.log_determinant, expected)


def test_the_jacobian_is_that_of_the_map_for_channels_and_images():
    samples = np.random.default_rng(0).standard_normal((80, 6, 5, 2))
    samples = np.cumsum(samples, axis=1) + np.cumsum(samples, axis=2)
    noise = estimate_noise(samples, {0: False, 1: False})
    F = noise.whiten(np.eye(60)).T
    np.testing.assert_allclose(noise.log_determinant, -np.linalg.slogdet(F)[1])
    hidden = np.zeros((1, 60), bool)
    np.testing.assert_allclose(noise.log_determinants(hidden), noise.log_determinant)


def test_products_of_two_filters_whiten_noise_of_a_product_covariance():
    rng = np.random.default_rng(0)
    images = rng.standard_normal((60, 60, 70))
    images = lfilter([1.0], [1.0, -0.9], lfilter([1.0], [1.0, -0.6], images, axis=1), axis=2)
    images = images[:, 30:, 40:]
    noise = estimate_noise(images, {0: False, 1: False})
    E = noise.whiten(images.reshape(60, -1)).reshape(images.shape)
    assert abs(np.mean(E[:, 1:] * E[:, :-1])) < 0.02
    assert abs(np.mean(E[:, :, 1:] * E[:, :, :-1])) < 0.02
    assert E.std() == pytest.approx(1, abs=0.02)


def test_channels_that_follow_from_others_do_no_harm():
    samples = channels(np.random.default_rng(0), 50)
    average = np.concatenate([samples, -samples.sum(axis=1, keepdims=True)], axis=1)
    noise = estimate_noise(average, {1: False})
    assert np.isfinite(noise.whiten(average.reshape(50, -1))).all()


def test_a_channel_of_zeros_stays_as_it_is():
    samples = channels(np.random.default_rng(0), 50)
    samples[:, 1] = 0.0
    noise = estimate_noise(samples, {1: False})
    E = noise.whiten(samples.reshape(50, -1)).reshape(samples.shape)
    assert np.isfinite(E).all()
    np.testing.assert_allclose(E[:, 1], 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("family", "shape"),
    [(Identity(), (12,)), (Rotation(8), (9, 9)), (Compose(Shift((5, 5)), Rotation(4)), (9, 9))],
)
def test_families_that_do_not_shift_along_axes_say_so(family, shape):
    with pytest.raises(ValueError, match="noise='stationary' is for families that shift"):
        shift_axes(family.bind(shape))


def test_a_shift_says_which_axes_go_round():
    assert shift_axes(Shift(boundary="circular").bind((12,))) == {0: True}
    assert shift_axes(Shift(5, axes=1).bind((3, 12))) == {1: False}
    assert shift_axes(Shift((5, 5)).bind((12, 12, 3))) == {0: False, 1: False}


def test_runs_are_coloured_again():
    process = Autoregression(REFLECTION, 2.0)
    X = np.random.default_rng(0).standard_normal((3, 20))
    X[0, 5:8], X[1, :4], X[2, 15:] = np.nan, np.nan, np.nan
    np.testing.assert_allclose(process.colour(process.whiten(X)), X, atol=1e-12)
