"""Weights of the trapezoidal rule."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid

import gtpca
from gtpca import GTPCA, Custom


def test_weights_are_those_of_the_trapezoidal_rule():
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 3, 40))
    x = rng.standard_normal(40)
    assert gtpca.quadrature(t) @ x == pytest.approx(trapezoid(x, t), rel=1e-12)
    assert gtpca.quadrature(t) @ (2 * t + 1) == pytest.approx(t[-1] ** 2 - t[0] ** 2 + t[-1] - t[0])


def test_several_axes_are_integrated_one_after_the_other():
    rng = np.random.default_rng(1)
    y, x = np.cumsum(rng.uniform(size=5)), np.cumsum(rng.uniform(size=7))
    image = rng.standard_normal((5, 7))
    expected = trapezoid(trapezoid(image, x, axis=1), y)
    assert np.sum(gtpca.quadrature(y, x) * image) == pytest.approx(expected, rel=1e-12)


def test_a_function_counts_equally_where_it_is_sampled_more():
    fine = np.concatenate([np.linspace(0, 1, 200, endpoint=False), np.linspace(1, 2, 21)])
    X = np.stack([np.sin(np.pi * fine), 1.1 * np.sin(2 * np.pi * fine) * (fine > 1)])
    identity = Custom([np.eye(len(fine))])
    # Their integrals of x^2 are 1 and .605, the sums of squares have no such ratio.
    energy = [
        GTPCA(1, identity, feature_weight=weight, random_state=0).fit(X).resmse(X)[0]
        for weight in (None, gtpca.quadrature(fine))
    ]
    assert energy[0] < 0.1 < energy[1]


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ((), "at least one axis"),
        (([1.0],), "points of axis 0 must be at least two"),
        (([0, 1], [0, 2, 2]), "points of axis 1 must be at least two, each larger"),
        ((["a"],), "quadrature: points of axis 0"),
    ],
)
def test_what_makes_no_grid_is_refused(points, said):
    with pytest.raises(ValueError, match=said):
        gtpca.quadrature(*points)
