"""What components explain where noise has heavy tails."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca import GTPCA, Rotation, Shift
from gtpca.diagnostics.tails import calm_signal, clipped, weighted_median


def test_weighted_medians_are_those_of_repeated_values():
    rng = np.random.default_rng(0)
    values, weight = rng.standard_normal((20, 9)), rng.integers(0, 4, (20, 9))
    weight[:, 0] += 1 - weight.sum(axis=1) % 2  # an odd number: the median is one of them
    found = weighted_median(values, weight.astype(float))
    wanted = [np.median(np.repeat(v, w)) for v, w in zip(values, weight, strict=True)]
    np.testing.assert_array_equal(found, wanted)
    assert weighted_median(np.ones((1, 3)), np.zeros((1, 3))) == 0


def test_values_are_clipped_about_the_middle_of_their_row():
    X = np.random.default_rng(0).standard_normal((50, 40)) + np.arange(50)[:, None]
    X[3, 5], X[4, 6] = 1000, np.nan
    found = clipped(X)
    assert found[3, 5] < 3 + 5
    assert np.isnan(found[4, 6])
    assert np.mean(found == X) > 0.98
    np.testing.assert_array_equal(clipped(np.eye(9)), np.eye(9))


def with_spikes(seed=0, n=120, size=60, gaps=False):
    """A wave with scores from 2 to 4 at random places, little noise, a loud value in each row."""
    rng = np.random.default_rng(seed)
    wave = np.hanning(14) * np.sin(np.arange(14) / 1.7)
    signal = np.zeros((n, size))
    for x, start in zip(signal, rng.integers(size - 15, size=n), strict=True):
        x[start : start + 14] = rng.uniform(2, 4) * wave
    X = signal + 0.1 * rng.standard_normal(signal.shape)
    X[np.arange(n), rng.integers(size, size=n)] += 30 * rng.choice([-1, 1], size=n)
    if gaps:
        X[rng.uniform(size=X.shape) < 0.1] = np.nan
    return X, signal


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_loud_values_do_not_change_what_is_explained(shared, gaps):
    X, signal = with_spikes(gaps=gaps)
    missing = "ignore" if gaps else "error"
    model = GTPCA(1, Shift(16), missing=missing, random_state=0).fit(X)
    plain = model.decode(model.encode(X))
    found = calm_signal(model, X, 1, 0, shared=shared)
    assert np.mean((found - signal) ** 2) < 0.05 * np.mean(signal**2)
    assert np.mean((plain - signal) ** 2) > np.mean(signal**2)


def test_the_mean_is_part_of_the_signal():
    X, signal = with_spikes()
    model = GTPCA(1, Shift(16), center=True, random_state=0).fit(X + 5)
    found = calm_signal(model, X + 5, 1, 0, shared=False)
    assert np.mean((found - 5 - signal) ** 2) < 0.5 * np.mean(signal**2)


def test_several_components_and_families_that_interpolate():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 9, 9))
    for count, shared in ((1, False), (2, False), (2, True)):
        model = GTPCA(2, Rotation(8), shared_pose=shared, random_state=0).fit(X)
        found = calm_signal(model, X, count, 0, shared=shared)
        assert found.shape == X.shape
        assert np.sum((X - found) ** 2) < np.sum(X**2)
