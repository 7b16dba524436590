"""What every family has: a transform that moves nothing, and clones that print alike."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from gtpca import Affine, Compose, Deformation, Reflection, Rotation, Scaling, Shift, TimeWarp


def reference(family, shape):
    operator = family.bind(shape)
    return {k: v.item() for k, v in operator.describe(np.array(operator.reference)).items()}


@pytest.mark.parametrize(
    ("family", "shape", "expected"),
    [
        (Shift(4), (10,), {"start": 3, "centre": 4.5}),
        (Shift(4), (9,), {"start": 2, "centre": 3.5}),
        (Shift(9), (4,), {"start": -3, "centre": 1}),
        (Shift(4, step=2), (10,), {"start": 3, "centre": 4.5}),
        (Shift(4, step=3, max_shift=3), (10,), {"start": 3, "centre": 4.5}),
        (Shift(4, boundary="partial"), (10,), {"start": 3, "centre": 4.5}),
        (Shift(boundary="circular"), (8,), {"start": 0, "centre": 3.5}),
        (Shift(boundary="circular", max_shift=2), (8,), {"start": 0, "centre": 3.5}),
        (
            Shift((2, 5)),
            (7, 3),
            {"start_0": 2, "centre_0": 2.5, "start_1": -1, "centre_1": 1},
        ),
        (Rotation([30, -10, 5, 350]), (4, 4), {"degrees": 5}),
        (Rotation([30, 357]), (4, 4), {"degrees": 357}),
        (Rotation(4), (4, 4), {"degrees": 0}),
        (Reflection((0, 1)), (4, 4), {"flipped_0": False, "flipped_1": False}),
        (Scaling([0.5, 2, 1]), (4,), {"factor": 1}),
        (TimeWarp([-0.5, 0.5, 0]), (4,), {"strength": 0}),
        (Affine([[[1, 1], [0, 1]], np.eye(2)]), (4, 4), {"map": 1}),
        (Deformation(), (4, 4), {"field": 0}),
        (
            Compose(Shift(4), Scaling([2, 1])),
            (10,),
            {"start": 3, "centre": 4.5, "factor": 1},
        ),
    ],
    ids=str,
)
def test_reference_is_what_has_not_moved(family, shape, expected):
    assert reference(family, shape) == expected


@pytest.mark.parametrize(
    "value", [Shift((3, 4), axes=(1, 0), step=2), Rotation([0, 90]), Affine([])]
)
def test_families_are_clonable_and_printable(value):
    assert repr(clone(value)) == repr(value)
    assert type(value).__name__ in repr(value)
