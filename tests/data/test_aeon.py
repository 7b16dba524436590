"""Collections of aeon, (n, channels, time) or lists of (channels, time): `make test-aeon`."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import QUICK

from gtpca import GTPCA, Shift, labelled

datasets = pytest.importorskip("aeon.datasets", reason="needs aeon: make test-aeon")


def model_of(X, **options):
    return GTPCA(1, Shift(20, axes="time"), solver=QUICK, random_state=0, **options).fit(X)


def test_equal_series():
    X, _ = datasets.load_basic_motions(split="train")
    n, channels, points = X.shape
    known = labelled(X, rate=10.0)
    model = model_of(known)
    plain = GTPCA(1, Shift(20, axes=-1), solver=QUICK, random_state=0).fit(X)
    np.testing.assert_array_equal(model.transform(known), plain.transform(X))
    assert model.components_.shape == (1, channels, 20)
    assert model.reconstruct(known).shape == (n, channels, points)
    starts, expected = (m.poses(m.encode(X))["start"] for m in (model, plain))
    np.testing.assert_allclose(starts, expected / 10.0)


def test_a_planted_bump_is_found_in_seconds():
    starts = np.random.default_rng(0).integers(10, 60, 20)
    X = 0.01 * np.random.default_rng(1).standard_normal((20, 2, 100))
    for x, start in zip(X, starts, strict=True):
        x[:, start : start + 20] += np.hanning(20)
    model = model_of(labelled(X, rate=50.0, start=-1.0))
    found = model.poses(model.encode(X))["start"][:, 0]
    offset = (found + 1.0) * 50.0 - starts
    np.testing.assert_allclose(offset, offset[0], atol=1e-6)
    assert abs(offset[0]) <= 3


def test_series_of_unequal_length():
    X, _ = datasets.load_japanese_vowels(split="train")
    few = [series for series in X if series.shape[1] < 26][:20]
    assert len({series.shape[1] for series in few}) > 1
    model = GTPCA(1, Shift(5, axes=-1), missing="ignore", solver=QUICK, random_state=0).fit(few)
    rebuilt = model.reconstruct(few)
    assert [series.shape for series in rebuilt] == [series.shape for series in few]
