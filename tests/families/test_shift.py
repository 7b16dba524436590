"""Windows in all positions, written out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import by, in_pose

from gtpca import Shift


def starts(family, shape, name="start"):
    operator = family.bind(shape)
    return sorted(operator.describe(np.arange(operator.n_transforms))[name].tolist())


def test_shift_placed():
    assert by("start", Shift(3), [1, 2, 3], (5,)) == {
        0: [1, 2, 3, 0, 0],
        1: [0, 1, 2, 3, 0],
        2: [0, 0, 1, 2, 3],
    }
    assert by("centre", Shift(3), [1, 2, 3], (5,)).keys() == {1, 2, 3}
    assert by("centre", Shift(2), [1, 2], (4,)) == {
        0.5: [1, 2, 0, 0],
        1.5: [0, 1, 2, 0],
        2.5: [0, 0, 1, 2],
    }


def test_shift_crop_has_negative_starts():
    assert by("start", Shift(5), [1, 2, 3, 4, 5], (3,)) == {
        -2: [3, 4, 5],
        -1: [2, 3, 4],
        0: [1, 2, 3],
    }
    assert by("centre", Shift(5), [1, 2, 3, 4, 5], (3,)).keys() == {0, 1, 2}


def test_shift_partial():
    assert by("start", Shift(3, boundary="partial"), [1, 2, 3], (4,)) == {
        -1: [2, 3, 0, 0],
        0: [1, 2, 3, 0],
        1: [0, 1, 2, 3],
        2: [0, 0, 1, 2],
    }
    assert by("start", Shift(5, boundary="partial"), [1, 2, 3, 4, 5], (3,)) == {
        -3: [4, 5, 0],
        -2: [3, 4, 5],
        -1: [2, 3, 4],
        0: [1, 2, 3],
        1: [0, 1, 2],
    }


def test_shift_min_overlap_counts_points():
    family = Shift(4, boundary="partial", min_overlap=0.25)  # one of four points
    assert starts(family, (6,)) == list(range(-3, 6))
    whole = Shift(4, boundary="partial", min_overlap=1)
    assert starts(whole, (6,)) == starts(Shift(4), (6,)) == [0, 1, 2]


@pytest.mark.parametrize(("share", "points"), [(0.55, 55), (0.07, 7), (0.29, 29), (0.5, 50)])
def test_shift_min_overlap_is_not_off_by_one(share, points):
    """55 of 100 points are a share of 0.55, although 0.55 * 100 > 55 in floating point."""
    found = starts(Shift(100, boundary="partial", min_overlap=share), (200,))
    assert (found[0], found[-1]) == (points - 100, 200 - points)


def test_shift_circular():
    assert by("start", Shift(boundary="circular"), [1, 2, 3, 4], (4,)) == {
        0: [1, 2, 3, 4],
        1: [4, 1, 2, 3],
        2: [3, 4, 1, 2],
        3: [2, 3, 4, 1],
    }


def test_shift_circular_with_a_short_window():
    assert by("start", Shift(2, boundary="circular"), [1, 2], (4,)) == {
        0: [1, 2, 0, 0],
        1: [0, 1, 2, 0],
        2: [0, 0, 1, 2],
        3: [2, 0, 0, 1],
    }
    assert by("centre", Shift(2, boundary="circular"), [1, 2], (4,)).keys() == {0.5, 1.5, 2.5, 3.5}


def test_shift_of_images():
    family, w = Shift((2, 2)), np.array([[1, 2], [3, 4]])
    for r in range(2):
        for c in range(3):
            expected = np.zeros((3, 4))
            expected[r : r + 2, c : c + 2] = w
            pose = {"start_0": r, "start_1": c, "centre_0": r + 0.5, "centre_1": c + 0.5}
            np.testing.assert_array_equal(in_pose(family, w, (3, 4), **pose), expected)
    assert family.bind((3, 4)).n_transforms == 6


def test_shift_longer_on_one_axis_and_shorter_on_the_other():
    family, w = Shift((3, 1)), np.array([[1], [2], [3]])
    assert in_pose(family, w, (2, 2), start_0=-1, start_1=1).tolist() == [[0, 2], [0, 3]]
    assert in_pose(family, w, (2, 2), start_0=0, start_1=0).tolist() == [[1, 0], [2, 0]]


def test_shift_takes_channels_along():
    last = Shift(2, axes=0)
    assert in_pose(last, [[1, 5], [2, 6]], (3, 2), start=1).tolist() == [[0, 0], [1, 5], [2, 6]]
    first = Shift(2, axes=-1)
    assert in_pose(first, [[1, 2], [5, 6]], (2, 3), start=1).tolist() == [[0, 1, 2], [0, 5, 6]]
    crop = Shift(4, axes=-1)
    w = [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert in_pose(crop, w, (2, 3), start=-1).tolist() == [[2, 3, 4], [6, 7, 8]]


def test_shift_axes_keep_the_order_of_the_window():
    operator = Shift((2, 4), axes=(1, 0)).bind((6, 5))
    assert operator.weight_shape == (4, 2)
    assert Shift((2, 4), axes=(-1, -2)).bind((6, 5)).weight_shape == (4, 2)
    assert Shift((2, 4)).bind((6, 5, 3)).weight_shape == (2, 4, 3)
    assert Shift(2, axes=(0, 1)).bind((6, 5, 3)).weight_shape == (2, 2, 3)


def test_shift_max_shift_counts_from_the_centred_position():
    assert starts(Shift(4, max_shift=2), (10,)) == [1, 2, 3, 4, 5]
    assert starts(Shift(4, max_shift=0), (10,)) == [3]
    assert starts(Shift(4, max_shift=1), (9,)) == [1, 2, 3]  # (9 - 4) // 2 = 2
    assert starts(Shift(9, max_shift=1), (4,)) == [-4, -3, -2]  # (4 - 9) // 2 = -3
    assert starts(Shift(4, max_shift=99), (10,)) == [0, 1, 2, 3, 4, 5, 6]
    assert starts(Shift(4, max_shift=4, boundary="partial"), (10,)) == list(range(-1, 8))
    around = starts(Shift(max_shift=2, boundary="circular"), (8,))
    assert sorted(s % 8 for s in around) == [0, 1, 2, 6, 7]
    assert starts(Shift(4, max_shift=1, boundary="circular"), (8,)) == [1, 2, 3]


def test_shift_circular_starts_are_positions_of_the_sample():
    """``start`` is a sample position; with and without ``max_shift`` the same pose has one name."""
    assert starts(Shift(max_shift=2, boundary="circular"), (8,)) == [0, 1, 2, 6, 7]


def test_shift_step_includes_the_centred_position():
    assert starts(Shift(4, step=2), (10,)) == [1, 3, 5]
    assert starts(Shift(4, step=4), (10,)) == [3]
    assert starts(Shift(4, step=2, max_shift=3), (10,)) == [1, 3, 5]
    assert starts(Shift(9, step=2), (4,)) == [-5, -3, -1]
    assert starts(Shift(step=3, boundary="circular"), (9,)) == [0, 3, 6]
    assert starts(Shift(4, step=3, boundary="circular"), (10,)) == [0, 3, 6, 9]


def test_shift_on_two_axes_with_step_and_max_shift():
    family = Shift((2, 9), step=2, max_shift=2)
    assert sorted(set(starts(family, (7, 4), "start_0"))) == [0, 2, 4]
    assert sorted(set(starts(family, (7, 4), "start_1"))) == [-5, -3, -1]


def test_shift_names_its_poses_by_axis():
    """The columns depend on the axes that were asked for, not on the size of the sample."""
    assert set(Shift(2, axes=-1).bind((3, 6)).describe([0])) == {"start", "centre"}
    assert set(Shift((2, 2)).bind((3, 6)).describe([0])) == {
        *("start_0", "start_1", "centre_0", "centre_1")
    }
    assert Shift(5).bind((5,)).describe(np.array([0]))["start"] == 0
    assert set(Shift((3, 2)).bind((3, 6)).describe([0])) == {
        *("start_0", "start_1", "centre_0", "centre_1")
    }
