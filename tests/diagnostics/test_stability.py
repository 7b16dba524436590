"""Components that are found again."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca import GTPCA, Reflection, Shift
from gtpca.diagnostics import stability
from gtpca.diagnostics.splits import similarities


def test_similarity_is_up_to_sign_and_pose():
    rng = np.random.default_rng(0)
    w = np.zeros(12)
    w[4:8] = rng.standard_normal(4)
    moved = np.stack([-np.roll(w, 3), rng.standard_normal(12)])
    found = similarities(Shift(12).bind((40,)), w[None], moved)
    assert found.shape == (1, 2)
    np.testing.assert_allclose(found[0, 0], 1.0)
    products = np.correlate(w, moved[1], "full") / np.linalg.norm(w) / np.linalg.norm(moved[1])
    np.testing.assert_allclose(found[0, 1], np.abs(products).max())


def test_similarity_of_flips_and_of_windows_that_are_cropped():
    rng = np.random.default_rng(1)
    w = rng.standard_normal(9)
    np.testing.assert_allclose(similarities(Reflection().bind((9,)), w[None], w[None, ::-1]), 1.0)
    long = rng.standard_normal((1, 20))
    np.testing.assert_allclose(similarities(Shift(20).bind((8,)), long, -long), 1.0)


def test_a_strong_pattern_is_stable_and_noise_is_not():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((80, 40))
    for x, start in zip(X, rng.integers(31, size=80), strict=True):
        x[start : start + 10] += 9 * np.hanning(10)
    model = GTPCA(2, Shift(10), random_state=0).fit(X)
    found = stability(model, X, n_splits=2, n_seeds=1)
    assert found.n_stable == 1
    assert found.halves.shape == (2, 2)
    assert found.seeds.shape == (1, 2)
    assert found.halves[:, 0].min() > 0.95 > 0.8 > found.halves[:, 1].max()
    again = stability(model, X, n_splits=2, n_seeds=1, n_jobs=2)
    np.testing.assert_array_equal(found.halves, again.halves)
    assert not found.passed


def test_few_samples_are_refused():
    X = np.eye(3)
    with pytest.raises(ValueError, match="X has 3 samples; stability needs at least 4"):
        stability(GTPCA(1).fit(X), X)
