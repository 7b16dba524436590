"""Compositions: what acts first, and what the poses are called."""

from __future__ import annotations

import numpy as np
from helpers import in_pose

from gtpca import Compose, Reflection, Rotation, Shift


def test_compose_outer_acts_last():
    w = [1, 2, 3]
    inside = in_pose(Compose(Shift(3), Reflection()), w, (5,), start=0, flipped=True)
    assert inside.tolist() == [3, 2, 1, 0, 0]
    outside = in_pose(Compose(Reflection(), Shift(3)), w, (5,), start=0, flipped=True)
    assert outside.tolist() == [0, 0, 3, 2, 1]


def test_compose_binds_the_inner_family_to_the_weights_of_the_outer():
    family = Compose(Shift((2, 2)), Rotation(4))
    w = np.array([[1, 2], [3, 4]])
    sample = in_pose(family, w, (3, 4), start_0=1, start_1=2, degrees=90)
    assert sample.tolist() == [[0, 0, 0, 0], [0, 0, 2, 4], [0, 0, 1, 3]]
    assert family.bind((3, 4)).n_transforms == 6 * 4


def test_compose_three_families():
    family = Compose(Shift((2, 2)), Rotation(4), Reflection(0))
    w = np.array([[1, 2], [3, 4]])
    pose = {"start_0": 0, "start_1": 1, "degrees": 90, "flipped": True}
    expected = np.zeros((3, 3))
    expected[0:2, 1:3] = np.rot90(w[::-1])
    np.testing.assert_array_equal(in_pose(family, w, (3, 3), **pose), expected)


def test_compose_names_every_part():
    two = Compose(Shift(4), Shift(2)).bind((6,))
    assert set(two.describe([0])) == {"start", "centre", "inner_start", "inner_centre"}
    assert in_pose(Compose(Shift(4), Shift(2)), [1, 2], (6,), start=2, inner_start=1).tolist() == [
        *(0, 0, 0, 1, 2, 0)
    ]


def test_compose_of_three_alike_loses_no_pose():
    """The starts of three nested windows add up to the position of the innermost one."""
    operator = Compose(Shift(8), Shift(6), Shift(4)).bind((12,))
    columns = operator.describe(np.arange(operator.n_transforms))
    found = [v for name, v in columns.items() if name.endswith("start")]
    assert len(found) == 3
    samples = operator.apply(np.array([1.0, 0, 0, 0]))
    np.testing.assert_array_equal(np.sum(found, axis=0), samples.argmax(axis=1))
