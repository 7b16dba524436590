"""What operators and families declare of their poses and parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gtpca import (
    Affine,
    Compose,
    Custom,
    Deformation,
    Reflection,
    Rotation,
    Scaling,
    Shift,
    TimeWarp,
)
from gtpca.fitting.cautions import has_ends
from gtpca.operators.poses import DEGREES

CIRCLE = Shift(boundary="circular", axes=0)


@pytest.mark.parametrize(
    ("family", "shape", "angles", "unordered"),
    [
        (Rotation(8), (9, 9), ("degrees",), ()),
        (Compose(Rotation(4), Rotation(8)), (9, 9), ("degrees", "inner_degrees"), ()),
        (Compose(Shift((7, 7)), Rotation(8)), (9, 9), ("degrees",), ()),
        (CIRCLE, (360,), (), ()),
        (Scaling(axes=(0, 1), domain="all"), (9, 9), (), ()),
        (Affine([[[1, 0, 0], [0, 1, 0]]] * 2), (9, 9), (), ("map",)),
        (Deformation(axes=0, n_fields=5, random_state=0), (20,), (), ("field",)),
        (Custom([np.eye(4), np.eye(4)[::-1]]), (4,), (), ("transform",)),
        (Reflection(), (9,), (), ()),
    ],
    ids=str,
)
def test_angles_go_round_and_numbers_have_no_ends(family, shape, angles, unordered):
    operator = family.bind(shape)
    axes = operator.pose_space.named
    assert list(axes) == list(operator.describe(np.zeros(1, dtype=int)))
    assert {name for name, axis in axes.items() if axis.angle} == set(angles)
    assert {name for name, axis in axes.items() if not axis.ordered} == set(unordered)
    assert all(axes[name].period == 360.0 for name in angles)
    for name, axis in axes.items():
        assert has_ends(operator, name) == (axis.period is None and name not in unordered)


def test_a_pooled_or_judged_bank_says_the_same():
    operator = Rotation(8).bind((9, 9))
    assert operator.domain is not None
    assert operator.quantities == (DEGREES,)
    assert Compose(Reflection(0), Rotation(4, domain="all")).bind((9, 9)).quantities[1] == DEGREES


def test_a_range_that_is_shorter_than_a_period_has_ends():
    operator = Rotation([0, 30, 60], refine_poses=True).bind((9, 9))
    (axis,) = operator.pose_space.axes
    assert axis == replace(DEGREES, low=0.0, high=60.0)
    np.testing.assert_array_equal(axis.within(np.array([-10.0, 20.0, 90.0])), [0.0, 20.0, 60.0])
    np.testing.assert_array_equal(DEGREES.difference(350.0, 0.0), -10.0)


@pytest.mark.parametrize(
    ("family", "windows"),
    [
        (Shift(5), ("window",)),
        (Rotation(4), ()),
        (TimeWarp(), ()),
        (Compose(Shift(5), Reflection()), ("outer__window",)),
        (Compose(Reflection(), Compose(Shift(5), Reflection())), ("inner__outer__window",)),
    ],
    ids=str,
)
def test_families_name_their_windows(family, windows):
    assert family.windows == windows


def test_only_shifts_say_which_axes_are_circular():
    assert Shift(5).bind((9,)).circular == {0: False}
    assert CIRCLE.bind((9, 3)).circular == {0: True}
    assert Compose(Shift(5), Reflection()).bind((9,)).circular == {}
