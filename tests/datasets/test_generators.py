"""Generators against slow loops, poses against NumPy."""

import numpy as np
import pytest

from gtpca.datasets import (
    event_windows,
    make_oscillations,
    make_spikes,
    random_crop,
    random_embedding,
    random_rotation,
    sliding_windows,
)

# Generators


def test_oscillations_follow_the_formula():
    X = make_oscillations(3, 50, noise=0.3, random_state=0)
    rng = np.random.RandomState(0)
    alpha, beta, t0 = rng.uniform(8, 12, 3), rng.uniform(13, 30, 3), rng.uniform(0, 1, 3)
    noise = rng.standard_normal((3, 50))
    for i in range(3):
        for t in range(1, 51):
            z = 2 * np.pi * (t / 50 + t0[i])
            expected = 0.6 * np.sin(alpha[i] * z) + 0.4 * np.cos(beta[i] * z)
            assert X[i, t - 1] == pytest.approx(expected + 0.3 * noise[i, t - 1])


def test_spikes_follow_the_formula():
    X, y = make_spikes(4, 64, spike_probability=0.5, noise=0.1, random_state=3)
    rng = np.random.RandomState(3)
    t0, a, w = rng.uniform(0, 1, 4), rng.uniform(0.5, 2.5, 4), rng.uniform(0.05, 0.1, 4)
    spike = rng.uniform(size=4) < 0.5
    noise = rng.standard_normal((4, 64))
    assert set(spike) == {True, False}
    for i in range(4):
        assert y[i] == spike[i]
        for t in range(1, 65):
            f = a[i] * max(-4 / w[i] ** 2 * (t / 64 - t0[i]) ** 2 + 3, 0) if spike[i] else 0
            assert X[i, t - 1] == pytest.approx(f + 0.1 * noise[i, t - 1])


def test_generators_shape_dtype_and_seed():
    X = make_oscillations(5, 16, random_state=1)
    assert X.shape == (5, 16)
    assert X.dtype == np.float64
    assert np.array_equal(X, make_oscillations(5, 16, random_state=1))
    assert not np.array_equal(X, make_oscillations(5, 16, random_state=2))


@pytest.mark.parametrize(("probability", "share"), [(0.0, 0), (0.5, 0.5), (1.0, 1)])
def test_spikes_class_balance(probability, share):
    X, y = make_spikes(2000, 128, spike_probability=probability, noise=0.0, random_state=0)
    assert y.dtype.kind == "i"
    assert y.mean() == pytest.approx(share, abs=0.05)
    assert np.all(X[y == 0] == 0)
    assert np.all(X[y == 1].max(axis=1) > 0)
    assert np.all(X <= 7.5)  # largest amplitude times the 3 of the parabola


@pytest.mark.parametrize(
    "bad", [{"n_samples": 0}, {"n_times": 1.5}, {"noise": -1}, {"spike_probability": 2}]
)
def test_generators_name_the_bad_parameter(bad):
    with pytest.raises((ValueError, TypeError), match=next(iter(bad))):
        make_spikes(**bad)


# Windows, crops, frames, rotations


@pytest.mark.parametrize("shape", [(30,), (30, 3)])
@pytest.mark.parametrize("step", [1, 4])
def test_sliding_windows_are_a_read_only_view(shape, step):
    x = np.random.RandomState(0).standard_normal(shape)
    windows = sliding_windows(x, 7, step)
    expected = np.stack([x[i : i + 7] for i in range(0, 30 - 7 + 1, step)])
    assert np.array_equal(windows, expected)
    assert np.shares_memory(windows, x)
    assert not windows.flags.writeable


def test_sliding_windows_name_the_bad_parameter():
    with pytest.raises(ValueError, match="length == 8"):
        sliding_windows(np.zeros(7), 8)
    with pytest.raises(ValueError, match="step == 0"):
        sliding_windows(np.zeros(7), 2, 0)
    with pytest.raises(ValueError, match=r"x has shape \(2, 2, 2\)"):
        sliding_windows(np.zeros((2, 2, 2)), 1)


@pytest.mark.parametrize("shape", [(30,), (30, 3)])
@pytest.mark.parametrize(("start", "stop"), [(-3, 5), (2, 4), (-4, -1), (0, 1)])
def test_event_windows_are_around_their_events(shape, start, stop):
    x = np.random.RandomState(0).standard_normal(shape).astype(np.float32)
    positions = [20, 4, 25, 4]
    windows = event_windows(x, positions, start, stop)
    assert windows.dtype == np.float32
    assert np.array_equal(windows, [x[p + start : p + stop] for p in positions])


def test_event_windows_at_the_ends_of_a_recording():
    x = np.arange(20).reshape(10, 2)
    assert np.array_equal(event_windows(x, [1, 8], -1, 2), [x[:3], x[7:]])
    for outside in (0, 9):
        with pytest.raises(ValueError, match=rf"positions\[1\]={outside}: .* 10 time points"):
            event_windows(x, [5, outside], -1, 2)
    windows, inside = event_windows(x, [0, 5, 9, 8], -1, 2, outside="drop", return_inside=True)
    assert inside.tolist() == [False, True, False, True]
    assert np.array_equal(windows, event_windows(x, [5, 8], -1, 2))
    assert event_windows(x, [0, 9], -1, 2, outside="drop").shape == (0, 3, 2)
    assert event_windows(x, [], -1, 2).shape == (0, 3, 2)
    assert event_windows(x, np.array([8], np.uint8), -1, 2).shape == (1, 3, 2)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"x": np.zeros((2, 2, 2))}, r"x has shape \(2, 2, 2\)"),
        ({"positions": [1.0]}, r"positions is float64 \(1,\)"),
        ({"positions": 1}, r"positions is int64 \(\)"),
        ({"stop": 0}, "stop == 0"),
        ({"outside": "pad"}, "outside='pad' must be one of 'raise', 'drop'"),
    ],
)
def test_event_windows_name_the_bad_parameter(bad, message):
    with pytest.raises(ValueError, match=message):
        event_windows(**{"x": np.zeros(9), "positions": [4], "start": 0, "stop": 2, **bad})


@pytest.mark.parametrize(
    ("shape", "frame"), [((9,), 14), ((9, 2), 14), ((5, 7), (8, 12)), ((5, 7, 3), (8, 7))]
)
def test_embedding_and_its_crop_round_trip(shape, frame):
    X = 1 + np.random.RandomState(0).randint(9, size=(20, *shape)).astype(np.float32)
    framed, offset = random_embedding(X, frame, random_state=1)
    frame = (frame,) if isinstance(frame, int) else frame
    assert framed.shape == (20, *frame, *shape[len(frame) :])
    assert framed.dtype == X.dtype
    assert offset.shape == (20, len(frame))
    assert np.count_nonzero(framed) == X.size
    for sample, new, start in zip(X, framed, offset, strict=True):
        box = tuple(slice(a, a + s) for a, s in zip(start, shape, strict=False))
        assert np.array_equal(new[box], sample)


@pytest.mark.parametrize(("shape", "size"), [((9, 2), 4), ((6, 7), (4, 7)), ((6, 7), (6, 7))])
def test_crop_is_at_its_offset(shape, size):
    X = np.random.RandomState(0).randint(256, size=(20, *shape)).astype(np.uint8)
    crops, offset = random_crop(X, size, random_state=1)
    size = (size,) if isinstance(size, int) else size
    assert crops.dtype == np.uint8
    for sample, crop, start in zip(X, crops, offset, strict=True):
        box = tuple(slice(a, a + s) for a, s in zip(start, size, strict=True))
        assert np.array_equal(sample[box], crop)


def test_positions_are_uniform_and_reach_both_ends():
    _, offset = random_crop(np.zeros((3000, 8, 5)), (6, 5), random_state=0)
    assert np.array_equal(np.unique(offset[:, 1]), [0])
    assert np.bincount(offset[:, 0]) / 3000 == pytest.approx(np.full(3, 1 / 3), abs=0.04)


@pytest.mark.parametrize("size", [(), 0, (2, 2, 2), 9])
def test_crop_names_the_bad_size(size):
    with pytest.raises(ValueError, match=r"size=.* at most .*X has shape \(3, 4, 4\)"):
        random_crop(np.zeros((3, 4, 4)), size)


@pytest.mark.parametrize("size", [(), 3, (4, 3), (5, 5, 5)])
def test_embedding_names_the_bad_size(size):
    with pytest.raises(ValueError, match=r"size=.* at least .*X has shape \(3, 4, 4\)"):
        random_embedding(np.zeros((3, 4, 4)), size)


@pytest.mark.parametrize("side", [6, 7])
def test_right_angles_are_exactly_rot90(side):
    X = np.random.RandomState(0).standard_normal((40, side, side))
    X_new, degrees = random_rotation(X, angles=4, random_state=0)
    assert set(degrees) == {0, 90, 180, 270}
    for sample, new, angle in zip(X, X_new, degrees, strict=True):
        assert np.array_equal(new, np.rot90(sample, int(angle) // 90))


def test_rotation_is_counter_clockwise_about_the_middle():
    image = np.zeros((1, 41, 41))
    image[0, 20, 32] = 1  # twelve to the right of the middle
    X_new, degrees = random_rotation(np.repeat(image, 60, axis=0), angles=20, random_state=0)
    assert set(degrees) == set(np.arange(20) * 18.0)
    rows, columns = np.mgrid[:41, :41] - 20
    total = X_new.sum(axis=(1, 2))
    centre = [(X_new * grid).sum(axis=(1, 2)) / total for grid in (columns, -rows)]
    assert np.hypot(*centre) == pytest.approx(np.full(60, 12), abs=0.7)
    turn = np.rad2deg(np.arctan2(*centre[::-1])) - degrees
    assert (turn + 180) % 360 - 180 == pytest.approx(np.zeros(60), abs=3)


def test_rotation_interpolates_bilinearly_with_zeros_outside():
    X = np.random.RandomState(0).standard_normal((12, 5, 6))
    X_new, degrees = random_rotation(X, angles=7, random_state=0)
    for image, new, angle in zip(X, X_new, np.deg2rad(degrees), strict=True):
        for i, j in np.ndindex(5, 6):
            y, x = i - 2.0, j - 2.5
            row = np.cos(angle) * y + np.sin(angle) * x + 2
            column = -np.sin(angle) * y + np.cos(angle) * x + 2.5
            assert new[i, j] == pytest.approx(_bilinear(image, row, column))


def _bilinear(image, row, column):
    value = 0.0
    for i, j in np.ndindex(image.shape):
        value += image[i, j] * max(0, 1 - abs(i - row)) * max(0, 1 - abs(j - column))
    return value


@pytest.mark.parametrize(
    ("given", "returned"),
    [("uint8", "float32"), ("float16", "float16"), ("float32", "float32"), ("int64", "float64")],
)
def test_rotation_dtype(given, returned):
    X_new, _ = random_rotation(np.ones((5, 4, 4), given), angles=3, random_state=0)
    assert X_new.dtype == returned


def test_rotation_names_the_bad_parameter():
    with pytest.raises(ValueError, match=r"X is float64 \(3, 4\)"):
        random_rotation(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="angles == 0"):
        random_rotation(np.zeros((3, 4, 4)), angles=0)
