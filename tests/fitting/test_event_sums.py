"""Recordings that come one after the other: sums of events, and templates solved from them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import gtpca
from gtpca import EventGTPCA, Shift
from gtpca.fitting.event_sums import EventSums, advanced
from gtpca.model.decoding import render

L = 16
U = np.arange(L)
SHAPES = np.stack([np.hanning(L), np.hanning(L) * np.sin(U - 8)])
SHAPES /= np.linalg.norm(SHAPES, axis=1, keepdims=True)


def recording(seed, n=1500, shapes=SHAPES, noise=0.2, colour=0.0, count=25):
    """A recording with 25 events of each shape, some of which overlap."""
    rng = np.random.default_rng(seed)
    y = noise * rng.standard_normal(n)
    for t in range(1, n if colour else 0):
        y[t] += colour * y[t - 1]
    for w in shapes:
        for t in np.sort(rng.integers(0, n - (count + 1) * L, count)) + L * np.arange(count):
            y[t : t + L] += rng.uniform(1.5, 2.5) * w
    return y


def fitted(X, **how):
    return EventGTPCA(2, Shift(L), counts=False, n_init=1, random_state=0, **how).fit(X)


def likeness(model, shapes=SHAPES):
    """The largest correlation of every shape with a template, over shifts."""
    pairs = [[np.abs(np.correlate(w, v, "full")).max() for v in model.components_] for w in shapes]
    return np.max(pairs, axis=1)


@pytest.fixture(scope="module")
def first():
    return fitted(recording(0))


def copied(model, **parameters):
    other = clone(model).set_params(**parameters)
    other.fit_ = model.fit_
    return other


def test_templates_are_least_squares_of_all_recordings():
    """At the events that were decoded, by a dense system of all points of both recordings."""
    parts = [recording(0), recording(1, n=1200)]
    model = fitted(parts[0], center=False)
    value, old = model.model_, model.fit_.sums
    signals = model.opened(parts[1]).signals
    found = advanced(value, 0.0 * old, signals, None)
    both = advanced(value, old, signals, None)
    placed = value.placed(signals)[0]
    design = np.zeros((len(parts[1]), 2 * L))
    for t, g, a in zip(placed.start, placed.group, placed.scores[:, 0], strict=True):
        design[t + U, g * L + U] += a
    W = np.linalg.lstsq(design, parts[1], rcond=None)[0].reshape(2, L)
    norms = np.linalg.norm(W, axis=1, keepdims=True)
    np.testing.assert_allclose(found.weights[:, 0, :, 0], W / norms, atol=1e-6)
    built = render(placed, value.weights, len(parts[1]))[:, 0]
    np.testing.assert_allclose(design @ value.weights[:, 0, :, 0].ravel(), built, atol=1e-9)
    total = old + EventSums(*_dense(design, parts[1]), n_points=1200.0)
    V = total.solved(value.weights)[:, 0, :, 0]
    expected = V / np.linalg.norm(V, axis=1, keepdims=True)
    np.testing.assert_allclose(both.weights[:, 0, :, 0], expected, atol=1e-6)
    assert both.sums.n_points == 2700


def _dense(design, y):
    """``lags`` and ``rhs`` from the columns of a design."""
    N = (design.T @ design).reshape(2, L, 2, L)
    lags = np.zeros((2, 2, 2 * L - 1))
    for tau in range(-L + 1, L):
        at = max(0, tau)  # N[(j, l), (k, l')] at l - l' = tau
        lags[:, :, L - 1 + tau] = N[:, at, :, at - tau]
    return lags, (design.T @ y).reshape(2, L, 1)


@pytest.mark.parametrize(
    "how", [{"polarity": "both"}, {"noise": "stationary"}, {"shared_pose": True}]
)
def test_more_recordings_make_better_templates(how):
    colour = 0.5 if "noise" in how else 0.0
    parts = [recording(seed, colour=colour) for seed in range(4)]
    model = fitted(parts[0], **how)
    once, signs = likeness(model), model.components_
    for part in parts[1:]:
        assert model.partial_fit(part) is model
    every = fitted(parts, **how)
    assert likeness(model).min() > max(once.min(), likeness(every).min() - 0.01)
    assert np.sum(model.components_ * signs, axis=1).min() > 0.5  # neither order nor sign changes
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    assert model.event_counts_.above_noise is None
    assert abs(model.event_counts_.fitted - every.event_counts_.fitted) < 20


def test_the_first_call_is_a_fit(first):
    model = copied(first)
    del model.fit_
    model.partial_fit(recording(0))
    np.testing.assert_array_equal(model.components_, first.components_)


def test_a_horizon_follows_templates_that_drift(first):
    drifted = SHAPES + 0.5 * np.roll(SHAPES, 3, axis=1)
    drifted /= np.linalg.norm(drifted, axis=1, keepdims=True)
    models = [copied(first), copied(first, horizon=500)]
    still, moved = (
        likeness(model.partial_fit(recording(3, shapes=drifted)), drifted).min() for model in models
    )
    assert moved > still + 0.02
    assert moved > 0.97


def test_several_recordings_gaps_and_channels(first):
    parts = [recording(1), recording(2, n=1000)]
    parts[0][500:700] = np.nan
    one = copied(first).partial_fit([*parts, np.zeros(900), np.full(600, np.nan)])
    more = one.event_counts_.fitted - first.event_counts_.fitted
    assert 80 < more < 100
    assert one.prices_.shape == (4, 2)
    assert one.fit_.sums.n_points == 5500
    np.testing.assert_allclose(one.noise_level_, first.noise_level_, rtol=0.1)
    quiet = copied(first).partial_fit(0.2 * np.random.default_rng(0).standard_normal(600))
    np.testing.assert_allclose(quiet.components_, first.components_, atol=0.02)
    wide = fitted(np.stack([recording(0), 0.5 * recording(0)], axis=1))
    wide.partial_fit(np.stack([recording(1), 0.5 * recording(1)], axis=1))
    ratio = np.linalg.norm(wide.components_, axis=1)
    np.testing.assert_allclose(ratio[:, 1] / ratio[:, 0], 0.5, atol=0.01)


def test_pieces_of_recordings_do_not_matter(first, monkeypatch):
    from gtpca.data import signals

    whole = copied(first).partial_fit(recording(1))
    monkeypatch.setattr(signals, "CORE", 700)
    monkeypatch.setattr(signals, "WINDOWS", 8)
    pieces = copied(first, n_jobs=2).partial_fit(recording(1))
    np.testing.assert_allclose(pieces.components_, whole.components_, atol=1e-9)


def test_dask(first):
    da = pytest.importorskip("dask.array", reason="needs dask: gtpca[dask]")
    lazy = copied(first).partial_fit(da.from_array(recording(1), chunks=800))
    same = copied(first).partial_fit(recording(1))
    np.testing.assert_allclose(lazy.components_, same.components_, atol=1e-9)


@pytest.mark.parametrize("how", [{}, {"noise": "stationary", "shared_pose": True}])
def test_a_file_goes_on_where_the_model_was(how, tmp_path):
    model = fitted(recording(0), horizon=5000, **how)
    model.save(tmp_path / "model.gtpca")
    loaded = gtpca.load(tmp_path / "model.gtpca")
    for each in (model, loaded):
        each.partial_fit(recording(1))
    np.testing.assert_array_equal(loaded.components_, model.components_)
    model.save(tmp_path / "again.gtpca")
    assert gtpca.load(tmp_path / "again.gtpca").event_counts_ == model.event_counts_


@pytest.mark.parametrize(
    "wrong",
    [3, {}, {"lags": np.zeros((2, 2, 4))}, {"rhs": np.full((2, L, 1), np.nan)}, {"n_points": -1.0}],
)
def test_files_without_sums_or_with_wrong_ones(wrong, first, tmp_path):
    online = first.fit_.online | wrong if wrong and isinstance(wrong, dict) else wrong
    broken = copied(first)
    broken.fit_ = gtpca.recordings.replace(first.fit_, online=online)
    broken.save(tmp_path / "broken.gtpca")
    with pytest.raises(ValueError, match="online_"):
        gtpca.load(tmp_path / "broken.gtpca")


def test_errors_are_one_line_and_change_nothing(first):
    model = copied(first)
    model.fit_ = gtpca.recordings.replace(first.fit_, online=None)  # as in files of the past
    with pytest.raises(ValueError, match="fit again"):
        model.partial_fit(recording(1))
    model = copied(first, horizon="10s")
    for X, words in [
        (recording(1), "horizon='10s'"),
        (np.zeros((900, 2)), "has 2 channels"),
        (np.zeros(10), "less than the window"),
        (np.zeros(900), "nothing but constants"),
    ]:
        with pytest.raises(ValueError, match=words) as error:
            model.partial_fit(X)
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="horizon=0 must be"):
        copied(first, horizon=0).partial_fit(recording(1))
    assert model.fit_ is first.fit_
