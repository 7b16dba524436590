"""Decoding of events against sums, matrices and exhaustive search on tiny recordings."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from gtpca.data.signals import Piecewise, Signal, spans
from gtpca.model.decoding import (
    Dictionary,
    Piece,
    Placed,
    correlations,
    decode_piece,
    gram_of,
    render,
)
from gtpca.model.prices import level, prices_of

LENGTH = 5


def dictionary(seed=0, groups=2, size=1, channels=1, positive=True, refractory=2, length=LENGTH):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((groups, size, length * channels))
    W = np.stack([np.linalg.qr(w.T)[0].T for w in W])
    return Dictionary(W.reshape(groups, size, length, channels), positive, refractory)


def objective(Y, d, prices, placed):
    """Residual energy and prices, by the matrix of the events."""
    rest = Y - render(placed, d.weights, len(Y))
    return float(np.sum(rest**2) + prices[placed.group].sum())


def solved(Y, d, places):
    """Least-squares events at (start, group) pairs; None if they are not allowed."""
    places = sorted(places)
    start, group = (np.array(each, dtype=int) for each in zip(*places, strict=True))
    for (t, g), (s, h) in combinations(places, 2):
        if g == h and abs(t - s) < d.refractory:
            return None
    columns = [
        render(Placed(start[[i]], group[[i]], np.eye(d.size)[[q]]), d.weights, len(Y)).ravel()
        for i in range(len(start))
        for q in range(d.size)
    ]
    found = np.linalg.lstsq(np.stack(columns, axis=1), Y.ravel(), rcond=None)[0]
    scores = found.reshape(len(start), d.size)
    if d.positive and (scores <= 0).any():
        return None
    return Placed(start, group, scores)


def exhaustive(Y, d, prices, most=2):
    """The least objective with at most so many events."""
    places = [(t, g) for t in range(len(Y) - d.length + 1) for g in range(d.n_groups)]
    best = float(np.sum(Y**2))
    for count in range(1, most + 1):
        for chosen in combinations(places, count):
            placed = solved(Y, d, chosen)
            if placed is not None:
                best = min(best, objective(Y, d, prices, placed))
    return best


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("n", [8, 100, 9000])
def test_correlations_are_sums(n, channels):
    rng = np.random.default_rng(0)
    Y, W = rng.standard_normal((n, channels)), rng.standard_normal((2, 8, channels))
    slow = [[np.sum(Y[t : t + 8] * w) for t in range(n - 7)] for w in W]
    assert np.allclose(correlations(Y, W), slow)


def test_overlaps_are_inner_products():
    d = dictionary(size=2, groups=2, channels=2, positive=False)
    for lag in range(1 - LENGTH, LENGTH):
        for a, one in enumerate(d.flat):
            for b, two in enumerate(d.flat):
                x, y = np.zeros((2, 3 * LENGTH, 2))
                x[LENGTH : 2 * LENGTH] = one
                y[LENGTH + lag : 2 * LENGTH + lag] = two
                at = (*divmod(a, 2), *divmod(b, 2), LENGTH - 1 + lag)
                assert np.isclose(d.overlaps[at], np.sum(x * y))


@pytest.mark.parametrize(
    ("groups", "size", "positive"), [(2, 1, True), (1, 2, False), (2, 1, False)]
)
@pytest.mark.parametrize("seed", range(8))
def test_as_good_as_exhaustive_search(groups, size, positive, seed):
    d = dictionary(seed, groups, size, 1, positive)
    rng = np.random.default_rng(100 + seed)
    Y = 0.2 * rng.standard_normal((18, 1))
    starts = np.sort(rng.choice(np.arange(0, 13), 2, replace=False))
    group = rng.integers(groups, size=2) if starts[1] - starts[0] >= 2 else np.arange(2) % groups
    if groups == 1 and starts[1] - starts[0] < 2:
        starts[1] = starts[0] + 2
    scores = rng.uniform(1.5, 2.5, (2, size))
    Y += render(Placed(starts, group, scores), d.weights, 18)
    prices = np.full(groups, (0.2 * 3.2) ** 2)
    piece = decode_piece(Y, d, prices)
    found = objective(Y, d, prices, piece.placed)
    assert found <= exhaustive(Y, d, prices) + 1e-6


def test_amplitudes_are_least_squares():
    d = dictionary(groups=3, refractory=1)
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((40, 1))
    places = [(3, 0), (5, 1), (6, 2), (20, 0), (24, 2), (30, 1)]
    start, group = (np.array(each) for each in zip(*places, strict=True))
    piece = Piece(
        Y, Dictionary(d.weights, False, 1), np.zeros(3), Placed(start, group, np.zeros((6, 1)))
    )
    piece.solve()
    slow = solved(Y, Dictionary(d.weights, False, 1), places)
    assert np.allclose(piece.placed.scores, slow.scores)
    # the correlations follow, and what an event is worth is what dropping it costs
    assert np.allclose(piece.c.reshape(3, -1), correlations(piece.residual(), d.flat))
    full = np.sum(piece.residual() ** 2)
    for i, loss in enumerate(piece.losses()):
        less = solved(Y, Dictionary(d.weights, False, 1), places[:i] + places[i + 1 :])
        assert np.isclose(loss, np.sum((Y - render(less, d.weights, 40)) ** 2) - full)


def test_gram_is_that_of_rendered_events():
    d = dictionary(groups=1, size=2, positive=False)
    placed = Placed(np.array([2, 4, 11]), np.zeros(3, int), np.ones((3, 2)))
    each = [
        render(Placed(placed.start[[i]], placed.group[[i]], np.eye(2)[[q]]), d.weights, 20).ravel()
        for i in range(3)
        for q in range(2)
    ]
    number = np.arange(3)
    gram = gram_of(placed, d, number[:, None], number[None]).transpose(0, 2, 1, 3).reshape(6, 6)
    assert np.allclose(gram, np.array(each) @ np.array(each).T)


def test_sweeps_only_lower_the_objective():
    rng = np.random.default_rng(3)
    d = dictionary(length=12, groups=3, refractory=6)
    Y = 0.3 * rng.standard_normal((400, 1))
    start = np.sort(rng.choice(np.arange(0, 388, 3), 40, replace=False))
    Y += render(Placed(start, rng.integers(3, size=40), rng.uniform(2, 3, (40, 1))), d.weights, 400)
    prices = np.full(3, 1.0)
    piece = decode_piece(Y, d, prices, thorough=False)
    before = objective(Y, d, prices, piece.placed)
    for _ in range(3):
        piece.sweep()
        after = objective(Y, d, prices, piece.placed)
        assert after <= before + 1e-9
        piece.solve()
        piece.drop()
        before = objective(Y, d, prices, piece.placed)
        assert before <= after + 1e-9


def test_no_event_is_made_of_a_gap():
    d = dictionary(groups=1)
    Y = np.zeros((60, 1))
    placed = Placed(np.array([10, 30]), np.zeros(2, int), np.full((2, 1), 5.0))
    Y += render(placed, d.weights, 60)
    hidden = Y.copy()
    hidden[29:36] = np.nan
    found = decode_piece(hidden, d, np.array([1.0])).placed
    assert found.start.tolist() == [10]
    # a gap of one point in the second event: it is found, and its amplitude is not smaller
    hidden = Y.copy()
    hidden[32] = np.nan
    found = decode_piece(hidden, d, np.array([0.5])).placed
    assert found.start.tolist() == [10, 30]
    assert np.allclose(found.scores, 5.0, atol=0.1)


def test_refractory_and_order_hold():
    rng = np.random.default_rng(0)
    d = dictionary(length=8, groups=2, refractory=5)
    piece = decode_piece(rng.standard_normal((500, 1)), d, np.full(2, 1.0))
    placed = piece.told()
    assert (np.diff(placed.start) >= 0).all()
    for g in range(2):
        assert np.diff(placed.start[placed.group == g]).min() >= 5
    assert (placed.gain >= 1 - 1e-6).all()
    assert (placed.scores > 0).all()


@pytest.mark.parametrize("size", [1, 3])
def test_levels_are_crossed_as_often_as_they_say(size):
    """Rice's formula on smooth noise: the level that ten false alarms are allowed at."""
    rng = np.random.default_rng(0)
    kernel = np.exp(-0.5 * (np.arange(-15, 16) / 4) ** 2)
    kernel /= np.linalg.norm(kernel)
    n = 200_000
    c = np.stack([np.convolve(rng.standard_normal(n), kernel, "same") for _ in range(size)])
    nu = np.mean((c[:, :-1] < 0) & (c[:, 1:] >= 0))
    u = level(n * nu, 50.0, size, both=True)
    power = np.sum(c**2, axis=0)
    count = np.sum((power[:-1] < u**2) & (power[1:] >= u**2))
    assert 30 <= count <= 75


def test_prices_grow_with_the_recording_and_fall_with_false_alarms():
    class Noise:
        sigma, rate = np.array([0.5]), np.array([0.1])

    d = dictionary(groups=1)
    few, many = (prices_of(Noise, n, 1.0, d)[0] for n in (10**4, 10**6))
    assert few < many
    assert prices_of(Noise, 10**4, 10.0, d)[0] < few


def test_spans_cover_every_point_once():
    for sizes in ([100], [1000, 77, 5000], [10_000]):
        found = spans(sizes, 10, core=512)
        for r, size in enumerate(sizes):
            own = np.concatenate([np.arange(s.start, s.stop) for s in found if s.recording == r])
            assert np.array_equal(own, np.arange(size))
            assert all(
                0 <= s.low <= s.start < s.stop <= s.high <= size for s in found if s.recording == r
            )


def test_pieces_are_whitened_as_the_whole():
    from gtpca.fitting.event_noise import noise_of

    rng = np.random.default_rng(0)
    Y = np.cumsum(rng.standard_normal((3000, 2)), axis=0)
    signal = Piecewise.of(Signal(Y), True, noise_of([Y - Y.mean(axis=0)]))
    whole = signal.read(0, 3000)
    assert np.allclose(np.concatenate([signal.read(0, 1100), signal.read(1100, 3000)]), whole)
    assert np.allclose(signal.part(500, 2000).read(100, 300), whole[600:800])
