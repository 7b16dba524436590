"""A bad parameter of a family gets an error with the family, the parameter and the value in it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers import BAD
from sklearn.base import clone

from gtpca import (
    GTPCA,
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

# --- windows and axes ---


def readings(family, shape, name):
    """The constructor calls that an "ambiguous" message proposes."""
    with pytest.raises(ValueError, match=r"axes.*ambiguous") as caught:
        family.bind(shape)
    assert str(shape) in str(caught.value)
    return re.findall(name + r"\((?:[^()]|\([^()]*\))*\)", str(caught.value))


@pytest.mark.parametrize("family", [Shift(4), Shift(), Shift(40)], ids=str)
@pytest.mark.parametrize("shape", [(6, 5), (6, 5, 4)])
def test_ambiguous_axes_of_a_shift_show_both_readings(family, shape):
    one, every = (eval(text) for text in readings(family, shape, "Shift"))
    window = family.window
    expected = [window or s for s in shape]
    assert one.bind(shape).weight_shape == (expected[0], *shape[1:])
    assert every.bind(shape).weight_shape == tuple(expected)


@pytest.mark.parametrize(
    ("shape", "window", "said"),
    [
        ((8, 300), 60, "(8, 300). Write Shift(axes=1, window=60) to move axis 1 (300 points)"),
        ((8, 300), 60, "and take axis 0 (8 channels) along."),
        ((300, 8), 60, "Write Shift(axes=0, window=60) to move axis 0 (300 points)"),
        ((2, 300, 8), 60, "move axis 1 (300 points) and take axes 0, 2 (2 x 8 channels) along."),
        ((64, 64), 9, "or Shift(axes=(0, 1), window=(9, 9)) to move both axes."),
        ((8, 300), 400, "Write Shift(axes=1, window=400) to move axis 1 (300 points)"),
    ],
)
def test_the_axis_that_is_advised_is_long_enough(shape, window, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        Shift(window).bind(shape)


@pytest.mark.parametrize(
    ("family", "expected"),
    [(Scaling(), [1, (0, 1)]), (TimeWarp(), [1]), (Reflection(), [1, (0, 1)])],
    ids=str,
)
def test_ambiguous_axes_of_other_families(family, expected):
    texts = readings(family, (5, 6), type(family).__name__)
    axes = [eval(re.search(r"axes=(.*)\)$", text)[1]) for text in texts]
    assert axes == expected
    for value in axes:
        clone(family).set_params(axes=value).bind((5, 6))


def test_ambiguous_axes_reach_the_user_of_fit(images):
    with pytest.raises(ValueError, match=r"axes=0\b.*axes=\(0, 1\)"):
        GTPCA(1, Shift(3)).fit(images)


def unbound(family, shape, name, value):
    """Bind must raise an error that names the family, the parameter and the value."""
    with pytest.raises(BAD, match=f"^{type(family).__name__}.*{name}") as caught:
        family.bind(shape)
    assert str(value) in str(caught.value), f"{value!r} is not in {caught.value}"


@pytest.mark.parametrize("window", [0, -3, 2.5, "long", True])
def test_window_that_is_no_size(window):
    unbound(Shift(window), (12,), "window", window)
    unbound(Shift(window, axes=0), (12, 2), "window", window)
    unbound(Shift((3, window)), (6, 5), "window", window)


@pytest.mark.parametrize("window", [(3, 3), (3, 3, 3), ()])
def test_window_with_more_entries_than_the_sample_has_axes(window):
    unbound(Shift(window), (12,), "window", window)


def test_window_that_does_not_fit_the_axes():
    unbound(Shift((3, 3), axes=0), (6, 5), "axes", 0)


def test_circular_window_longer_than_the_sample():
    unbound(Shift(13, boundary="circular"), (12,), "window", 13)
    unbound(Shift((6, 6), boundary="circular"), (6, 5), "window", 6)


@pytest.mark.parametrize("axes", [2, -3, (0, 2), (0, 0), (0, -2), (), 0.5, "time"], ids=str)
@pytest.mark.parametrize("family", [Shift(), Reflection(), Scaling(), TimeWarp()], ids=str)
def test_axes_that_are_not_there(family, axes):
    unbound(clone(family).set_params(axes=axes), (6, 5), "axes", axes)


@pytest.mark.parametrize("axes", [None, 0, (0, 0), (0, 1, 2), (0, 5)], ids=str)
def test_axes_of_a_rotation(axes):
    unbound(Rotation(4, axes=axes), (6, 5), "axes", axes)


@pytest.mark.parametrize("family", [Rotation(4), Affine([np.eye(2)]), Deformation()])
def test_images_only(family):
    unbound(family, (12,), "axes", (0, 1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("boundary", v) for v in ("wrap", None)],
        *[("max_shift", v) for v in (-1, 1.5, "far")],
        *[("step", v) for v in (0, -1, 1.5, None)],
        *[("min_overlap", v) for v in (0, -0.5, 1.5, np.nan, "half", None)],
    ],
    ids=str,
)
def test_parameters_of_a_shift(name, value):
    parameters = {"boundary": "partial", name: value}
    unbound(Shift(5, **parameters), (12,), name, value)


# --- lists of transforms ---


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (Custom([]), "transforms"),
        (Rotation([]), "angles"),
        (Rotation(0), "angles"),
        (Scaling([], axes=0), "factors"),
        (TimeWarp([], axes=0), "strengths"),
        (Affine([]), "matrices"),
        (Deformation(n_fields=0), "n_fields"),
    ],
    ids=str,
)
def test_empty_family(images, family, name):
    with pytest.raises(ValueError, match=f"{type(family).__name__}.*{name}"):
        GTPCA(1, family).fit(images)
    with pytest.raises(ValueError, match=f"{type(family).__name__}.*{name}"):
        Compose(Shift((4, 4)), family).bind((6, 5))


@pytest.mark.parametrize(
    ("family", "name", "value"),
    [
        (Rotation([0, np.nan]), "angles", "nan"),
        (Rotation("many"), "angles", "many"),
        (Rotation(2.5), "angles", 2.5),
        (Rotation(interpolation="cubic"), "interpolation", "cubic"),
        (Scaling([1, 0], axes=0), "factors", 0),
        (Scaling([1, -2], axes=0), "factors", -2),
        (Scaling([1, np.inf], axes=0), "factors", "inf"),
        (Scaling("large", axes=0), "factors", "large"),
        (TimeWarp([0, np.nan], axes=0), "strengths", "nan"),
        (TimeWarp([0, 1], kind="sine", axes=0), "strength", 1),
        (TimeWarp(kind="log", axes=0), "kind", "log"),
        (Affine([[[1, 1], [1, 1]]]), "matri", 0),
        (Affine([np.eye(3)]), "matrices", "(1, 3, 3)"),
        (Affine([np.full((2, 2), np.nan)]), "matrices", "nan"),
        (Deformation(amplitude=0), "amplitude", 0),
        (Deformation(amplitude=[1, 2]), "amplitude", [1, 2]),
        (Deformation(amplitude="large"), "amplitude", "large"),
        (Deformation(n_basis=0), "n_basis", 0),
        (Deformation(n_fields=2.5), "n_fields", 2.5),
        (Compose(Shift((4, 4)), "rotation"), "", "rotation"),
        (Compose(Rotation, Shift((4, 4))), "", "Rotation"),
    ],
    ids=lambda x: str(x)[:40],
)
def test_parameters_of_other_families(family, name, value):
    unbound(family, (6, 5), name, value)


@pytest.mark.parametrize(
    ("transforms", "words"),
    [
        ([np.eye(12), np.zeros((12, 12))], "transform 1.*zero"),
        ([lambda w: w, lambda w: 0 * w], "transform 1.*zero"),
        ([np.full((12, 12), np.nan)], "transform 0.*finite"),
        ([lambda w: np.nan * w], "transform 0.*finite"),
        ([np.abs], "transform 0.*linear"),
        ([lambda w: w, np.square], "transform 1.*linear"),
        ([lambda w: w + 1], "transform 0.*linear"),
        ([np.eye(11, 12)], r"transform 0.*\(11, 12\).*\(12, 12\)"),
        ([np.eye(12, 4), np.eye(12, 5)], r"transform 1.*\(12, 5\).*\(12, 4\)"),
        ([lambda w: w[:3]], r"transform 0.*\(3, 12\).*\(12, 12\)"),
        ([np.ones(12)], r"transform 0.*\(12,\)"),
        ([np.ones((12, 12, 2))], r"transform 0.*\(12, 12, 2\)"),
        (["flip"], "transform 0.*flip"),
        ([np.eye(12, 14)], "weight 12.*no transform"),
        ([np.eye(12, 6), np.eye(12, 6, -2)[:, ::-1] * [0, 1, 1, 1, 1, 1]], None),
        ([lambda w: np.where(np.arange(12) < 11, w, 0.0)], "weight 11.*no transform"),
        (5, "transforms.*5"),
    ],
)
def test_custom_transforms(transforms, words):
    family = Custom(transforms)
    if words is None:  # each weight is seen by one of them
        assert family.bind((12,)).n_weights == 6
        return
    with pytest.raises(BAD, match=f"Custom.*{words}"):
        family.bind((12,))


def test_custom_weight_shape():
    with pytest.raises(ValueError, match=r"Custom.*\(12, 6\).*\(12, 4\)"):
        Custom([np.eye(12, 6)], weight_shape=(2, 2)).bind((12,))
