"""Components that are given: kept as they are, in any pose, beside others that are learned."""

from __future__ import annotations

import numpy as np
import pytest

import gtpca
from gtpca import GTPCA, Identity, Rotation, Shift

WAVE = np.hanning(12) * np.sin(np.arange(12) / 1.5)
BUMP = np.hanning(12)


def likeness(a, b):
    return abs(np.vdot(a, b)) / np.linalg.norm(a) / np.linalg.norm(b)


@pytest.fixture(scope="module")
def rows():
    """Waves and bumps, upside down, at places of their own; the places of both."""
    rng = np.random.default_rng(0)
    X = rng.normal(0, 0.05, (80, 70))
    places = np.c_[rng.integers(0, 20, 80), rng.integers(35, 58, 80)]
    for x, (first, second) in zip(X, places, strict=True):
        x[first : first + 12] += WAVE
        x[second : second + 12] -= 2 * BUMP
    return X, places


def starts(model, X):
    return model.poses(model.encode(X))["start"]


@pytest.mark.parametrize("refine", [0, 2])
def test_templates_keep_shape_sign_and_place(rows, refine):
    X, places = rows
    model = GTPCA(2, Shift(12), templates=[WAVE, BUMP], refine=refine).fit(X)
    np.testing.assert_allclose(model.components_[0], WAVE / np.linalg.norm(WAVE), rtol=1e-14)
    np.testing.assert_allclose(model.components_[1], BUMP / np.linalg.norm(BUMP), rtol=1e-14)
    assert model.n_iter_.tolist() == [0, 0]
    if refine:
        assert np.mean(np.abs(starts(model, X) - places) <= 1) > 0.95
        assert np.median(model.transform(X)[:, 1]) < 0


def test_energies_are_those_of_the_codes(rows):
    X, _ = rows
    model = GTPCA(2, Shift(12), templates=[WAVE, BUMP]).fit(X)
    left = 1 - np.cumsum(model.explained_energy_ratio_)
    np.testing.assert_allclose(model.resmse(X), left, rtol=1e-9)


@pytest.mark.parametrize("given", [BUMP, BUMP[None], [BUMP.tolist()]])
def test_what_is_not_given_is_learned(rows, given):
    X, places = rows
    model = GTPCA(2, Shift(12), templates=given, refine=2, random_state=0).fit(X)
    assert likeness(model.components_[0], BUMP) > 1 - 1e-12
    assert likeness(model.components_[1], WAVE) > 0.99
    assert np.mean(np.abs(starts(model, X)[:, 0] - places[:, 1]) <= 1) > 0.95


def test_templates_in_one_pose():
    rng = np.random.default_rng(1)
    place, scores = rng.integers(0, 59, 60), rng.normal(size=(60, 2))
    X = rng.normal(0, 0.01, (60, 70))
    for x, start, score in zip(X, place, scores, strict=True):
        x[start : start + 12] += score @ [WAVE, BUMP]
    model = GTPCA(2, Shift(12), templates=[WAVE, BUMP], shared_pose=True).fit(X)
    assert np.mean(starts(model, X).ravel() == place) > 0.9
    assert model.explained_energy_ratio_.sum() > 0.99
    unit = scores * np.linalg.norm([WAVE, BUMP], axis=1)
    found = starts(model, X).ravel() == place
    np.testing.assert_allclose(model.transform(X)[found], unit[found], atol=0.1)


def test_nothing_moves():
    X = np.random.default_rng(2).normal(size=(20, 6))
    model = GTPCA(1, Identity(), templates=X[3]).fit(X)
    np.testing.assert_allclose(model.components_[0], X[3] / np.linalg.norm(X[3]), rtol=1e-14)


def test_images_may_be_flat():
    X = np.random.default_rng(3).normal(size=(20, 9, 9))
    shaped = GTPCA(1, Rotation(8), templates=X[:1]).fit(X)
    flat = GTPCA(1, Rotation(8), templates=X[:1].reshape(1, -1)).fit(X)
    np.testing.assert_array_equal(shaped.transform(X), flat.transform(X))


def test_a_file_keeps_them(rows, tmp_path):
    X, _ = rows
    model = GTPCA(1, Shift(12), templates=BUMP).fit(X)
    model.save(tmp_path / "m.gtpca")
    again = gtpca.load(tmp_path / "m.gtpca")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    np.testing.assert_array_equal(again.templates, BUMP)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"templates": BUMP[:-1]}, r"shape \(t, 12\).* got float64 of shape \(11,\)"),
        ({"templates": ["a"] * 12}, "must be numbers"),
        ({"templates": np.full(12, np.nan)}, "NaN or infinite"),
        ({"templates": np.zeros((2, 12))}, "Template 0 is zero everywhere"),
        ({"templates": [WAVE, BUMP, WAVE]}, "3 templates need n_components=3 or more; it is 2"),
        ({"templates": BUMP, "shared_pose": True}, "1 templates for n_components=2"),
        ({"templates": BUMP, "n_components": 0.9}, "not the share n_components=0.9"),
        ({"templates": BUMP, "noise": "stationary"}, "need noise='white'"),
        ({"templates": BUMP, "outliers": "rows"}, "outliers='rows'"),
    ],
)
def test_errors_say_what_would_work(rows, how, message):
    with pytest.raises(ValueError, match=message):
        GTPCA(**{"n_components": 2, "family": Shift(12), **how}).fit(rows[0])


def test_partial_fit_learns(rows):
    with pytest.raises(ValueError, match="use fit with templates"):
        GTPCA(1, Shift(12), templates=BUMP).partial_fit(rows[0])
