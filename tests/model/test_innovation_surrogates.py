"""Surrogates by innovations: what stays, and what goes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import detrend, lfilter
from scipy.stats import kurtosis

from gtpca.model.surrogates import (
    InnovationSurrogates,
    Preparation,
    flipped,
    noticed,
    permuted,
    skewness,
)


def slow(rng, n=400, size=40, k=0.9):
    """AR(1) noise."""
    noise = rng.standard_normal((n, size + 60))
    return lfilter([1.0], [1.0, -k], noise, axis=1)[:, 60:, None]


def lagged(rows, lag):
    """Mean product of points so far apart."""
    return np.nanmean(rows[:, lag:] * rows[:, : rows.shape[1] - lag])


def test_flips_leave_sizes_where_they_are_and_channels_together():
    E = np.random.default_rng(0).standard_normal((5, 7, 3))
    found = flipped(E, np.random.default_rng(1))
    np.testing.assert_array_equal(np.abs(found), np.abs(E))
    signs = np.sign(found / E)
    np.testing.assert_array_equal(signs, np.repeat(signs[..., :1], 3, axis=-1))
    assert 0 < np.mean(signs > 0) < 1


@pytest.mark.parametrize("shape", [(21,), (7, 8)])
def test_blocks_leave_values_near_their_places(shape):
    number = np.arange(np.prod(shape)).reshape(shape)
    E = np.stack([np.stack([number, -number], axis=-1)] * 4).astype(float)
    found = permuted(E, np.random.default_rng(0))
    np.testing.assert_array_equal(found[..., 0], -found[..., 1])
    np.testing.assert_array_equal(np.sort(found[..., 0].reshape(4, -1)), E[..., 0].reshape(4, -1))
    here = np.stack(np.unravel_index(found[..., 0].astype(int), shape), axis=-1)
    there = np.stack(np.unravel_index(number, shape), axis=-1)
    assert 0 < np.abs(here - there).max() < 8


def test_colour_and_tails_stay():
    rng = np.random.default_rng(1)
    rows = lfilter([1.0], [1.0, -0.9], rng.standard_t(4, size=(400, 100)), axis=1)[:, 60:, None]
    made = InnovationSurrogates.of(rows)
    drawn = made(rng)
    for lag in (0, 1, 4, 12):
        assert lagged(drawn, lag) == pytest.approx(lagged(rows, lag), rel=0.2)
    sharp = [kurtosis(np.diff(each, axis=1), axis=None) for each in (rows, drawn)]
    assert sharp[1] == pytest.approx(sharp[0], rel=0.3)
    assert made.kind == "flips"


def test_counts_are_permuted():
    rows = np.random.default_rng(2).poisson(0.5, size=(60, 40, 1)).astype(float)
    made = InnovationSurrogates.of(rows)
    assert made.kind == "blocks"
    drawn = made(np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(rows.mean(), rel=0.05)
    assert skewness(drawn - drawn.mean())[0] == pytest.approx(
        skewness(rows - rows.mean())[0], rel=0.1
    )


def test_gaps_stay_hidden():
    rng = np.random.default_rng(3)
    rows = slow(rng)
    hidden = rng.random(rows.shape) < 0.2
    drawn = InnovationSurrogates.of(np.where(hidden, np.nan, rows))(rng)
    np.testing.assert_array_equal(np.isnan(drawn), hidden)
    assert lagged(drawn, 1) == pytest.approx(lagged(rows, 1), rel=0.15)


def z_scored(X):
    """Rows less means, over standard deviations."""
    return (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda X: X, Preparation()),
        (lambda X: X - X.mean(axis=1, keepdims=True), Preparation(means=True)),
        (z_scored, Preparation(True, "channels")),
        (lambda X: X / np.linalg.norm(X, axis=1, keepdims=True), Preparation(False, "channels")),
    ],
    ids=["nothing", "means", "z-scores", "norms"],
)
def test_what_was_done_to_rows_is_noticed_and_repeated(change, expected):
    rng = np.random.default_rng(4)
    rows = change(slow(rng))
    found = noticed(rows)
    assert (found.means, found.norms) == (expected.means, expected.norms)
    drawn = InnovationSurrogates.of(rows)(rng)
    if found.means:
        np.testing.assert_allclose(drawn.mean(axis=1), 0, atol=1e-10)
    if found.norms:
        np.testing.assert_allclose(np.mean(drawn**2, axis=1), 1)
    for lag in (1, 4, 12):
        shares = [lagged(each, lag) / lagged(each, 0) for each in (rows, drawn)]
        assert shares[1] == pytest.approx(shares[0], abs=0.08)


def test_norms_of_rows_of_several_channels():
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((50, 20, 3)) * [1.0, 2.0, 3.0]
    assert noticed(rows).norms is None
    assert noticed(rows / np.linalg.norm(rows, axis=(1, 2), keepdims=True)).norms == "rows"
    assert noticed(rows / np.linalg.norm(rows, axis=1, keepdims=True)).norms == "channels"


def test_projections_are_told_from_other_changes():
    rows = slow(np.random.default_rng(6), n=20)
    assert Preparation(other=lambda rows: detrend(rows, axis=1)).projects(rows)
    assert not Preparation(other=z_scored).projects(rows)
    assert not Preparation(other=np.abs).projects(rows)


def test_a_pattern_is_gone():
    rng = np.random.default_rng(7)
    rows = 0.3 * rng.standard_normal((100, 40, 1))
    rows[:, 10:20, 0] += np.hanning(10) * 5
    drawn = InnovationSurrogates.of(rows, "flips")(rng)
    peak = [np.abs(each.mean(axis=0)).max() for each in (rows, drawn)]
    assert peak[1] < 0.4 * peak[0]
