"""What a fit says against itself: offsets, and poses that pile up."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from gtpca import GTPCA, ProbabilisticGTPCA, Rotation, Shift


def pulses(places, offset=0.0, d=40, seed=0):
    """Pulses of 10 points that begin at these places, in weak noise, on an offset, (n, d)."""
    rng = np.random.default_rng(seed)
    X = 0.1 * rng.standard_normal((len(places), d)) + offset
    for x, place in zip(X, places, strict=True):
        x[place : place + 10] += np.array([1, 3, 2, -1, 4, 0, -3, -2, 1, 2.0])
    return X


def everywhere(n=60, seed=0):
    return np.random.default_rng(seed).integers(31, size=n)


@pytest.mark.parametrize("make", [GTPCA, ProbabilisticGTPCA])
def test_means_of_samples_that_hold_most_of_the_energy_are_told(make):
    with pytest.warns(UserWarning, match=r"the means of samples hold 9\d.* % of the energy"):
        model = make(1, Shift(10), random_state=0).fit(pulses(everywhere(), offset=20))
    assert any("means of samples" in said for said in model.cautions_)


def test_without_the_offset_nothing_is_told():
    with warnings.catch_warnings(action="error"):
        GTPCA(1, Shift(10), random_state=0).fit(pulses(everywhere()))
        GTPCA(1, Shift(10), center="samples", random_state=0).fit(pulses(everywhere(), 20))


def test_poses_at_the_ends_of_their_range_are_told():
    places = np.where(np.arange(60) % 2, 0, 30)
    with pytest.warns(UserWarning, match="% of the samples have component 1 at the first or the"):
        GTPCA(1, Shift(10), random_state=0).fit(pulses(places))


def test_poses_at_one_place_are_told():
    with pytest.warns(UserWarning, match="% of the samples have component 1 at the same start"):
        GTPCA(1, Shift(10), random_state=0).fit(pulses(np.full(60, 12)))


def test_poses_at_right_angles_are_told():
    """Dark things turned by any angle, whose corners show the light ground or nothing."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[-7:8, -7:8]
    X = 1 + 0.01 * rng.standard_normal((60, 15, 15))
    for image, a in zip(X, rng.uniform(0, 2 * np.pi, 60), strict=True):
        u, v = x * np.cos(a) + y * np.sin(a), y * np.cos(a) - x * np.sin(a)
        image -= 0.5 * np.exp(-((u / 4) ** 2) - (v / 2) ** 2)
        image -= 0.4 * np.exp(-((u - 2) ** 2 + (v - 2) ** 2) / 3)
    with pytest.warns(UserWarning, match="100 % of the samples have component 1 at a right angle"):
        GTPCA(1, Rotation(24, domain="all"), random_state=0).fit(X)
