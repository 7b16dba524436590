"""Innovations of stationary noise, and rows that have them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.signal import lfilter

from gtpca.model import innovations
from gtpca.model.innovations import filled, stationary


def slow(shape, rng, k=0.8):
    """AR(1) noise along the second axis."""
    noise = rng.standard_normal((shape[0], shape[1] + 60, *shape[2:]))
    return lfilter([1.0], [1.0, -k], noise, axis=1)[:, 60:]


def smooth_images(rng, n=300):
    """White images, smoothed and cropped."""
    return gaussian_filter(rng.standard_normal((n, 24, 24)), (0, 0.6, 0.6))[:, 6:18, 6:18, None]


CASES = {
    "series": lambda rng: slow((100, 40, 1), rng),
    "channels": lambda rng: slow((200, 30, 3), rng) @ rng.standard_normal((3, 3)),
    "images": smooth_images,
    "many channels": lambda rng: slow((20, 12, 70), rng),
    "a short axis": lambda rng: slow((100, 40, 2, 1), rng),
}


@pytest.mark.parametrize("name", CASES)
def test_innovations_are_white_and_lead_back(name):
    rows = CASES[name](np.random.default_rng(0))
    noise = stationary(rows)
    E = noise.whiten(rows)
    np.testing.assert_allclose(noise.colour(E), rows, atol=1e-6 * np.abs(rows).max())
    assert 0.8 < E.std() < 1.2
    axis = E - E.mean()
    assert abs(np.mean(axis[:, 1:] * axis[:, :-1])) < 0.05


def test_large_images_are_whitened_by_their_neighbours(monkeypatch):
    monkeypatch.setattr(innovations, "MOST_DENSE", 10)
    rows = smooth_images(np.random.default_rng(0))
    E = stationary(rows).whiten(rows)
    assert abs(np.mean(E[:, :, 1:] * E[:, :, :-1])) < 0.05
    assert abs(np.mean(E[:, 1:] * E[:, :-1])) < 0.05


def test_predictors_of_series_are_those_of_the_autoregression():
    """Two ways to the same filter: Burg's, and least squares with a second channel of noise."""
    rng = np.random.default_rng(1)
    rows = slow((400, 50, 1), rng)
    both = np.concatenate([rows, rng.standard_normal(rows.shape)], axis=-1)
    first = stationary(rows).whiten(rows)[..., 0]
    second = stationary(both).whiten(both)[..., 0]
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] > 0.99


@pytest.mark.parametrize("name", ["series", "channels", "images"])
def test_gaps_are_filled_with_noise_that_goes_on(name):
    """As the conditional Gaussian, by its dense formula, has it."""
    rng = np.random.default_rng(2)
    rows = CASES[name](rng)
    noise = stationary(rows)
    hidden = rng.random(rows.shape) < 0.2
    found = filled(np.where(hidden, np.nan, rows), noise, rng)
    np.testing.assert_array_equal(found[~hidden], rows[~hidden])
    A = noise.matrix if isinstance(noise.matrix, np.ndarray) else noise.matrix.toarray()
    C = np.linalg.inv(A.T @ A)
    x, h, y = rows[0].ravel(), hidden[0].ravel(), found[0].ravel()
    mean = C[np.ix_(h, ~h)] @ np.linalg.solve(C[np.ix_(~h, ~h)], x[~h])
    spread = np.sqrt(np.diag(C[np.ix_(h, h)] - C[np.ix_(h, ~h)] @ np.linalg.solve(
        C[np.ix_(~h, ~h)], C[np.ix_(~h, h)])))  # fmt: skip
    apart = (y[h] - mean) / spread
    assert 0.4 < np.sqrt(np.mean(apart**2)) < 1.8
    assert found.std() == pytest.approx(rows.std(), rel=0.1)


def test_constant_rows_have_a_filter():
    rows = np.zeros((5, 8, 1))
    assert np.isfinite(stationary(rows).whiten(rows)).all()
    assert np.isfinite(stationary(np.zeros((5, 8, 2))).whiten(np.zeros((5, 8, 2)))).all()
