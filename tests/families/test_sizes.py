"""How large a family will be: as large as its operator, known before anything is allocated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers import memory
from scipy import sparse

from gtpca import (
    GTPCA,
    Affine,
    Compose,
    Custom,
    Deformation,
    Identity,
    Reflection,
    Rotation,
    Scaling,
    Shift,
    TimeWarp,
)
from gtpca.families import Family, Size
from gtpca.families.base import check_size
from gtpca.operators import BankOperator

MANY = 10**12


class Mine(Family):
    """A family of one's own, with nothing but what is required."""

    def bind(self, sample_shape):
        return Reflection(0).bind(sample_shape)


def test_the_size_is_that_of_the_operator(family_and_shape):
    family, shape = family_and_shape
    size, operator = family.size(shape), family.bind(shape)
    assert size.n_transforms == operator.n_transforms
    assert size.weight_shape == operator.weight_shape
    assert size.n_values >= max(operator.n_transforms, operator.n_weights, operator.n_features)
    if isinstance(operator, BankOperator):
        assert size.n_values >= operator.matrix().nnz


def test_a_family_of_ones_own_is_bound_and_counted():
    assert Mine().size((4, 5)) == Size(2, (4, 5), 2 * 20 + 20)
    composed = Compose(Shift((3, 4)), Mine())
    size, operator = composed.size((4, 5)), composed.bind((4, 5))
    assert (size.n_transforms, size.weight_shape) == (operator.n_transforms, (3, 4))


def test_outer_families_count_once_per_transform_of_inner_ones():
    outer, inner, innermost = Rotation(5), Shift((3, 3)), Reflection(0)
    sizes = [
        f.size(s) for f, s in zip((outer, inner, innermost), [(6, 6)] * 2 + [(3, 3)], strict=True)
    ]
    a, b, c = (size.n_values for size in sizes)
    whole = Compose(outer, inner, innermost).size((6, 6))
    assert whole == Size(5 * 16 * 2, (3, 3), c + 2 * (b + 16 * a))


LARGE = {
    "rotation": (Rotation(60), (64, 64)),
    "rotation-small": (Rotation(400), (3, 3)),
    "reflection": (Reflection(tuple(range(9))), (2,) * 9),
    "scaling": (Scaling((0.8, 1, 1.3), axes=(0, 1, 2, 3, 4)), (4,) * 5),
    "scaling-thin": (Scaling((1.0, 2.0), axes=tuple(range(9))), (1,) * 9),
    "warp": (TimeWarp(np.linspace(-0.5, 0.5, 50)), (2000,)),
    "affine": (Affine(np.stack([np.eye(7)] * 3), axes=tuple(range(7))), (2,) * 7),
    "deformation-basis": (Deformation(n_basis=60), (20, 20)),
    "deformation-fields": (Deformation(n_fields=3000, n_basis=4, axes=0), (5,)),
    "deformation-both": (Deformation(n_fields=200, n_basis=30), (4, 4)),
    "shift": (Shift(300_000), (100,)),
    "shift-images": (Shift((300, 300), boundary="partial"), (300, 300)),
    "custom": (Custom([np.eye(300)] * 5), (300,)),
    "custom-sparse": (Custom([sparse.eye_array(100_000)] * 2), (100_000,)),
    "custom-callable": (Custom([np.flip]), (600,)),
    "compose": (Compose(Rotation(30), Shift((20, 20)), Rotation(30)), (32, 32)),
}


@pytest.mark.parametrize("name", LARGE)
def test_the_size_bounds_the_memory_of_binding(name):
    """Up to 64 bytes per number: its value and its index, and copies of both while sorting."""
    family, shape = LARGE[name]
    used = memory(lambda: family.bind(shape))
    assert used <= 64 * family.size(shape).n_values + 100_000


@pytest.mark.parametrize(
    ("family", "shape", "at_least"),
    [
        (Shift(MANY), (10,), MANY),
        (Shift((10**6, 10**6)), (5, 5), MANY),
        (Shift(10_000_000), (256,), 2e7),
        (Rotation(10_000_000), (28, 28), 1e7 * 784),
        (Rotation(MANY), (5, 5), 25 * MANY),
        (Reflection(tuple(range(30))), (1,) * 30, 2**30),
        (Scaling((1.0,), axes=tuple(range(30))), (1,) * 30, 2**30),
        (Affine([np.eye(30)], axes=tuple(range(30))), (1,) * 30, 2**30),
        (Deformation(n_basis=3000), (28, 28), 3000**2 * 784),
        (Deformation(n_fields=MANY), (5, 5), MANY * 25),
        (Deformation(n_fields=10**5, n_basis=10**3, axes=0), (2,), 10**8),
        (Custom([np.flip], weight_shape=(10**6,)), (5,), MANY),
        (Compose(*[Rotation(1000)] * 4), (4, 4), 1000**4),
        (Compose(Rotation(4), Shift((10**6, 10**6))), (5, 5), 4 * MANY),
    ],
)
def test_nothing_is_allocated_to_tell_the_size(family, shape, at_least):
    assert memory(lambda: family.size(shape)) < 1_000_000
    assert family.size(shape).n_values >= at_least


def test_sizes_beyond_any_number_are_infinite():
    huge = Shift((2**63,) * 30)
    assert huge.size((2,) * 30).n_values == math.inf
    assert Compose(huge, huge, Reflection(0)).size((2,) * 30).n_values == math.inf
    most = Deformation(n_basis=2**63, n_fields=2**63, axes=tuple(range(30)))
    assert most.size((1,) * 30).n_values == math.inf


@pytest.mark.parametrize(
    ("family", "shape", "said"),
    [
        (Rotation(10_000_000), (28, 28), r"Rotation\(angles=10000000\) needs about 5.18e\+10 num"),
        (Deformation(n_basis=3000), (28, 28), r"numbers on samples of shape \(28, 28\); 1.07e\+09"),
        (Shift(10_000_000), (256,), r"components of 1e\+07 weights .* 1.05e\+06 are allowed"),
        (Compose(Shift((8, 8)), Rotation(10**9)), (16, 16), "needs about"),
    ],
)
def test_a_fit_refuses_what_would_fill_the_memory(family, shape, said):
    model = GTPCA(1, family)

    def refused():
        with pytest.raises(ValueError, match=said):
            model.fit(np.ones((3, *shape)))

    assert memory(refused) < 2_000_000


@pytest.mark.parametrize(
    ("family", "shape"),
    [
        (Rotation(360), (512, 512)),
        (Rotation(3600), (28, 28)),
        (Scaling((0.8, 0.9, 1, 1.1, 1.2), axes=(0, 1, 2)), (256, 256, 256)),
        (Shift((64, 64, 64)), (256, 256, 256)),
        (Shift(2000), (10_000_000,)),
        (Shift(20_000_000), (10_000_000,)),
        (Compose(Shift((28, 28)), Rotation(90), Scaling(axes=(0, 1)), Reflection(0)), (56, 56)),
        (Deformation(n_fields=1000), (128, 128)),
    ],
)
def test_what_is_large_but_makes_sense_is_allowed(family, shape):
    check_size(family, shape)


def test_a_size_is_refused_with_the_words_of_bind():
    wrong = [
        (Shift(5, step=0), (9,), "Shift: step=0"),
        (Rotation(0), (5, 5), "Rotation: angles=0"),
        (Rotation(), (5,), "at least 2 axes"),
        (Reflection([0] * 900), (5,), "must name different axes"),
        (Scaling([-1]), (5,), "Scaling: factors"),
        (TimeWarp([]), (5,), "TimeWarp: strengths"),
        (Affine([[1.0]]), (5, 5), "Affine: matrices"),
        (Deformation(n_basis=0), (5, 5), "Deformation: n_basis=0"),
        (Custom([]), (5,), "Custom: transforms"),
        (Custom([3]), (5,), "Custom: transform 0 is 3"),
    ]
    for family, shape, message in wrong:
        for method in (family.size, family.bind):
            with pytest.raises(ValueError, match=message):
                method(shape)
    for nothing in (Compose(Shift(), 1), Compose(None, None)):
        with pytest.raises(TypeError, match="is not a family"):
            nothing.size((5,))


def test_only_what_is_drawn_again_is_not_repeatable():
    for family in (
        Mine(),
        Shift(3),
        Deformation(random_state=np.int64(3)),
        Compose(Mine(), Mine()),
    ):
        family.check_repeatable()
    for state in (None, np.random.RandomState(0)):
        drawn = Deformation(random_state=state)
        for family in (drawn, Compose(Shift(3), Compose(drawn, Mine()))):
            with pytest.raises(ValueError, match=r"Deformation: random_state=.* use an integer"):
                family.check_repeatable()


def test_only_identity_is_meant_to_stand_still():
    assert Identity().hint_if_still is None
    assert "window" in Shift().hint_if_still
    assert Mine().hint_if_still == ""
