"""Tracks and shifts by their definition: ``(T_o w)[x] = w[x - o]``, zero beyond the window."""

from __future__ import annotations

from functools import reduce
from itertools import product

import numpy as np
import pytest
from helpers import noise

from gtpca import Shift
from gtpca.operators import shift
from gtpca.operators.lags import coarser_track
from gtpca.operators.shift import ShiftAxis, ShiftOperator, recentring_steps, relocation_steps
from gtpca.testing import check_operator

TRACKS = {
    "inside": ShiftAxis(24, 8, first=2, step=1, count=10),
    "right": ShiftAxis(10, 4, first=3, step=1, count=9),
    "left": ShiftAxis(10, 4, first=-3, step=2, count=4),
    "just over": ShiftAxis(20, 8, first=3, step=1, count=11),
    "far right": ShiftAxis(6, 3, first=5, step=4, count=3),
    "crops": ShiftAxis(9, 30, first=-21, step=1, count=22),
    "crops in steps": ShiftAxis(9, 30, first=-20, step=3, count=6),
    "circular": ShiftAxis(20, 20, first=0, step=1, count=20, circular=True),
    "circular part": ShiftAxis(20, 7, first=18, step=1, count=18, circular=True),
    "circular steps": ShiftAxis(20, 6, first=-4, step=3, count=4, circular=True),
    "circular prime": ShiftAxis(67, 20, first=60, step=2, count=30, circular=True),
    "still": ShiftAxis(5, 5),
}
PAIRS = [
    ("inside", "still"),
    ("left", "crops in steps"),
    ("circular part", "right"),
    ("inside", "circular steps"),
]


def on_one_axis(track):
    """The matrices (size, window) of a track, entry by entry."""
    offsets = [track.first + track.step * k for k in range(track.count)]
    x, y = np.arange(track.size)[:, None], np.arange(track.window)
    if track.circular:
        return [((x - o) % track.size == y).astype(float) for o in offsets]
    return [(x - o == y).astype(float) for o in offsets]


def bound(names):
    """The operator of some tracks, and its matrices (m, d, L) by definition."""
    tracks = [TRACKS[name] for name in names]
    matrices = [reduce(np.kron, parts) for parts in product(*map(on_one_axis, tracks))]
    return ShiftOperator(tracks, range(len(tracks))), np.array(matrices)


@pytest.mark.parametrize("names", [*((name,) for name in TRACKS), *PAIRS], ids=" x ".join)
def test_shifts_by_definition(names):
    operator, T = bound(names)
    X, w = noise(3, operator.n_features), noise(operator.n_weights, seed=1)
    assert np.array_equal(operator.apply(w), T @ w)
    assert np.allclose(operator.correlate(operator.prepare(X), w[None])[0], X @ (T @ w).T)
    grams = np.broadcast_to(operator.gram(w[None, None])[0, :, 0, 0], operator.n_transforms)
    assert np.allclose(grams, np.sum((T @ w) ** 2, axis=1))
    assert operator.isometric == all(np.array_equal(t.T @ t, np.eye(w.size)) for t in T)
    check_operator(operator)


@pytest.mark.parametrize("name", TRACKS)
def test_a_window_is_laid_out_without_arithmetic(name):
    """To the last bit: the digits of old models depend on it."""
    track, W = TRACKS[name], noise(3, TRACKS[name].window)
    padded = np.pad(W, ((0, 0), (0, track.fft_length - track.window)))
    moved = np.roll(padded, 0 if track.unrolled else track.first, axis=1)
    laid_out = track.lay_out(W, 1)
    assert np.array_equal(laid_out, moved[:, : laid_out.shape[1]])
    assert not moved[:, laid_out.shape[1] :].any()


def test_the_energy_of_a_window_is_a_sum_of_squares():
    """To the last bit, not the square of a square root."""
    operator, w = ShiftOperator([TRACKS["left"]]), noise(4)
    energies = operator.gram(w[None, None])[0, :, 0, 0]
    assert energies[0] == w[3] ** 2
    assert not np.array_equal(operator._norms(w) ** 2, energies)


def test_shifts_on_three_axes():
    check_operator(Shift((3, 4, 3)).bind((6, 6, 5)))


@pytest.mark.parametrize(
    "names", [("right",), ("far right",), ("crops",), ("circular part",), *PAIRS], ids=" x ".join
)
def test_all_ways_to_the_same_numbers(names, monkeypatch):
    """By FFT or by a product, scattered at once or row by row."""
    for transforms, samples in product((0, 10**6), repeat=2):
        monkeypatch.setattr(shift, "FEW_TRANSFORMS", transforms)
        monkeypatch.setattr(shift, "SHORT_SAMPLE", samples)
        operator, T = bound(names)
        M = noise(*T.shape[:2])
        assert operator.by_fft == (transforms == 0)
        assert np.allclose(operator.adjoint(M), np.einsum("tdl,td->l", T, M))
        check_operator(operator)


@pytest.mark.parametrize(
    ("family", "size", "start"),
    [
        (Shift(8), 24, 8),
        (Shift(8), 25, 8),
        (Shift(8, step=3), 24, 8),
        (Shift(30), 16, -7),
        (Shift(9, boundary="partial"), 24, 7),
        (Shift(7, boundary="circular"), 20, 6),
    ],
)
def test_the_reference_is_the_window_in_the_middle(family, size, start):
    operator = family.bind((size,))
    assert operator.describe(operator.reference)["start"] == start


def test_the_reference_is_the_offset_nearest_to_the_middle():
    """The window in the middle begins at 3."""
    assert ShiftAxis(10, 4, first=4, count=5).centred == 0
    assert ShiftAxis(10, 4, first=-4, step=4, count=3).centred == 2


def test_which_windows_cover_a_sample_everywhere():
    assert TRACKS["crops"].covers
    assert TRACKS["crops in steps"].covers
    assert Shift(30, max_shift=3).bind((16,)).tracks[0].covers
    assert not Shift(30, boundary="partial").bind((16,)).tracks[0].covers
    assert not any(TRACKS[name].covers for name in ("inside", "left", "circular", "still"))


HALVES = {  # of the tracks above: size, window, first, step, count
    "inside": (12, 4, 1, 1, 5),
    "right": (5, 2, 2, 1, 4),
    "left": (5, 2, -1, 1, 3),
    "crops": (5, 15, -10, 1, 11),
    "circular": (10, 10, 0, 1, 10),
    "circular part": (10, 4, 9, 1, 9),
    "circular steps": (10, 3, -2, 1, 5),
    "still": (3, 3, 0, 1, 1),
}


@pytest.mark.parametrize("name", HALVES)
def test_offsets_on_half_as_many_points(name):
    """Those that are even, halved; inside or covering as before, no circular one twice."""
    track = TRACKS[name]
    wanted = ShiftAxis(*HALVES[name], circular=track.circular)
    assert repr(coarser_track(track)) == repr(wanted)  # integers, too


def test_no_circular_offset_is_there_twice_on_half_as_many_points():
    from_one = ShiftAxis(20, 20, first=1, count=20, circular=True)
    assert repr(coarser_track(from_one)) == repr(ShiftAxis(10, 10, count=10, circular=True))


@pytest.mark.parametrize(
    ("used", "roll"), [((0, 21), 0), ((0, 0), -10), ((21, 21), 11), ((3, 8), -5), ((14, 20), 7)]
)
def test_rolling_brings_what_is_used_amid_all_offsets(used, roll):
    """Offset number k shows weights from 21 - k on: a roll by s moves k to k - s."""
    track, used = TRACKS["crops"], np.array(used)
    assert track.roll_for(used) == roll
    moved = used - roll
    assert abs((moved.min() - 0) - (track.count - 1 - moved.max())) <= 1
    assert TRACKS["inside"].roll_for(used) == 0


def test_steps_that_are_tried_for_a_window():
    assert recentring_steps(ShiftAxis(40, 16, count=25)) == [1, -1, 2, -2, 4, -4]
    assert recentring_steps(ShiftAxis(100, 64, count=37)) == [1, -1, 2, -2, 4, -4, 8, -8, 16, -16]
    assert recentring_steps(ShiftAxis(9, 2, count=8)) == [1, -1]
    assert recentring_steps(TRACKS["circular part"]) == [1, -1, 2, -2]
    assert recentring_steps(ShiftAxis(9, 1, count=9)) == []
    whole = ShiftAxis(int("300"), int("300"), count=300, circular=True)
    assert recentring_steps(whole) == recentring_steps(TRACKS["circular"]) == []
    assert recentring_steps(TRACKS["still"]) == []
    both = [sign * size for size in range(1, 9) for sign in (1, -1)]
    assert relocation_steps(ShiftAxis(40, 16, count=25)) == both
    assert relocation_steps(TRACKS["crops"]) == relocation_steps(TRACKS["circular part"]) == []
    assert relocation_steps(TRACKS["right"]) == relocation_steps(ShiftAxis(16, 16)) == []


def test_sliding_lets_zeros_in():
    a = np.arange(1.0, 7.0).reshape(3, 2)
    assert shift.slide(a, 1, 0).tolist() == [[0, 0], [1, 2], [3, 4]]
    assert shift.slide(a, -2, 0).tolist() == [[5, 6], [0, 0], [0, 0]]
    assert shift.slide(a, -1, 1).tolist() == [[2, 0], [4, 0], [6, 0]]


def test_a_window_that_stands_still_off_its_place_beside_one_that_covers():
    operator = Shift(window=(41, 60), step=2).bind((43, 50)).coarser((0, 1)).coarser((0, 1))
    still, covering = operator.tracks
    assert still.first == 1
    assert not still.moves
    assert covering.covers
    check_operator(operator)


@pytest.mark.parametrize("products", [1, 3 * 2 * 81, 2**20])
def test_weights_are_correlated_in_any_batches_alike(products, monkeypatch):
    monkeypatch.setattr("gtpca.operators.shift.STACKED_PRODUCTS", products)
    operator = Shift((12, 12), axes=(0, 1)).bind((20, 20, 2))
    rng = np.random.default_rng(0)
    P = operator.prepare(rng.standard_normal((2, operator.n_features)))
    W = rng.standard_normal((7, operator.n_weights))
    found = operator.correlate(P, W)
    assert operator.by_fft
    assert np.array_equal(found, np.concatenate([operator.correlate(P, w[None]) for w in W]))
    masks = operator.correlate_mask(P, W, W[::-1].copy())
    assert np.array_equal(masks, operator.correlate(P, W * W[::-1]))
