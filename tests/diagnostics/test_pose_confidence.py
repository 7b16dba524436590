"""Margins of poses, beside margins by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca import GTPCA, Compose, ProbabilisticGTPCA, Reflection, Rotation, Shift
from gtpca.diagnostics import pose_confidence


def bumps(n=40, size=30, noise=0.2, second=0.0, seed=0):
    """A bump at a random place, and another one, ``second`` as large, 15 points further."""
    rng = np.random.default_rng(seed)
    bump, X = np.array([1.0, 2.0, 3.0, 2.0, 1.0]), noise * rng.standard_normal((n, size))
    for x, start in zip(X, rng.integers(1, 9, size=n), strict=True):
        x[start : start + 5] += bump
        x[start + 15 : start + 20] += second * bump
    return X


def test_margins_are_those_by_hand():
    X = bumps(second=0.8)
    model = GTPCA(1, Shift(5), random_state=0).fit(X)
    found, w = pose_confidence(model, X), model.components_[0]
    scores = np.lib.stride_tricks.sliding_window_view(X, 5, axis=1) @ w
    left = X - model.reconstruct(X)
    noise = np.mean((np.lib.stride_tricks.sliding_window_view(left, 5, axis=1) @ w) ** 2)
    own = [np.dot(w[lag:], w[: 5 - lag]) ** 2 >= 0.25 for lag in range(5)]
    width = own.index(False) - 1  # poses up to this far are on the same hill
    for i, energies in enumerate(scores**2):
        best = int(energies.argmax())
        others = np.r_[energies[: max(0, best - width)], energies[best + width + 1 :]]
        expected = (energies[best] - others.max()) / (2 * noise)
        np.testing.assert_allclose(found.margin[i, 0], expected, rtol=1e-8)
        assert found.index[i, 0] == best


@pytest.mark.parametrize("second", [0.0, 1.0])
@pytest.mark.parametrize(
    "estimator",
    [
        GTPCA(1, Shift(5), random_state=0),
        GTPCA(1, Shift(boundary="circular"), random_state=0),
        ProbabilisticGTPCA(0, Shift(5), random_state=0),
    ],
    ids=["energy", "circular", "likelihood"],
)
def test_two_of_the_same_are_ambiguous(estimator, second):
    if second and estimator.family.window is None:
        pytest.skip("a window over everything sees both as one pattern")
    X = bumps(second=second)
    found = pose_confidence(estimator.fit(X), X)
    assert found.ambiguous[0] > 0.4 if second else found.ambiguous[0] == 0
    assert found.passed == (not second)


def test_poses_at_the_ends_are_counted():
    X = 0.1 * np.random.default_rng(0).standard_normal((50, 30))
    for i, x in enumerate(X):
        start = 0 if i < 19 else 1 + i % 20
        x[start : start + 5] += [3, 2, 1, 2, 3]
    model = GTPCA(1, Shift(5), random_state=0).fit(X)
    found = pose_confidence(model, X)
    assert found.ends["centre"].tolist() == [0.38]
    assert found.end_bars == {"centre": 4 / 26}
    assert "38 % of the samples are at the first or last centre" in found.sentence
    assert not found.passed


def test_what_goes_round_has_no_ends_and_one_hill():
    X = bumps(n=20)
    model = GTPCA(1, Shift(boundary="circular"), random_state=0).fit(X)
    turned = pose_confidence(model, np.roll(X, 17, axis=1))
    assert turned.ends == {}
    np.testing.assert_allclose(turned.margin, pose_confidence(model, X).margin, rtol=1e-6)


@pytest.mark.parametrize("family", [Compose(Shift((5, 5)), Rotation(4)), Reflection(axes=(0, 1))])
def test_images_and_several_components(family):
    X = np.random.default_rng(0).standard_normal((12, 8, 8))
    model = GTPCA(2, family, random_state=0).fit(X)
    found = pose_confidence(model, X)
    assert found.margin.shape == found.index.shape == (12, 2)
    np.testing.assert_array_equal(found.index, model.encode(X).index)
    assert (found.margin >= 0).all()


def test_rows_without_noise_are_clear_and_empty_ones_are_not():
    X = bumps(n=10, noise=0.0)
    X[3] = 0
    found = pose_confidence(GTPCA(1, Shift(5), random_state=0).fit(X), X)
    assert found.margin[3, 0] == 0
    assert (np.delete(found.margin, 3) > 1e3).all()


def test_gaps_are_refused():
    X = bumps(n=10)
    model = GTPCA(1, Shift(5), missing="ignore", random_state=0).fit(X)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="X has gaps"):
        pose_confidence(model, X)
