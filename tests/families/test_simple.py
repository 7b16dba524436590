"""Reflections and custom families, written out by hand."""

from __future__ import annotations

import numpy as np
from helpers import by, in_pose

from gtpca import Custom, Reflection


def test_reflection():
    assert by("flipped", Reflection(), [1, 2, 3], (3,)) == {0: [1, 2, 3], 1: [3, 2, 1]}
    w = np.arange(6).reshape(2, 3)
    family = Reflection((0, 1))
    for up in (False, True):
        for side in (False, True):
            expected = w[:: -1 if up else 1, :: -1 if side else 1]
            sample = in_pose(family, w, (2, 3), flipped_0=up, flipped_1=side)
            np.testing.assert_array_equal(sample, expected)
    assert by("flipped", Reflection(-1), w, (2, 3))[1] == w[:, ::-1].tolist()


def test_custom_pose_is_the_number_of_the_transform():
    flips = Custom([np.eye(3), np.eye(3)[::-1]])
    assert by("transform", flips, [1, 2, 3], (3,)) == {0: [1, 2, 3], 1: [3, 2, 1]}
    roll = Custom([lambda w: w, lambda w: np.roll(w, 1, axis=1)])
    w = np.arange(6).reshape(2, 3)
    assert by("transform", roll, w, (2, 3))[1] == np.roll(w, 1, axis=1).tolist()
