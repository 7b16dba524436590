"""Poses, signs and scikit-learn's habits, pinned by hand-made examples."""

from __future__ import annotations

import io
import logging
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import ndimage
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gtpca import (
    ALS,
    GTPCA,
    Affine,
    Codes,
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
from gtpca.testing import assert_same_components

QUICK = ALS(n_init=2, max_iter=10)


def shown(family, w, shape):
    """What weights look like in every pose: the poses, one dict per transform, and the samples."""
    w = np.asarray(w, dtype=float)
    operator = family.bind(shape)
    assert operator.weight_shape == w.shape
    columns = operator.describe(np.arange(operator.n_transforms))
    poses = [{name: v[t] for name, v in columns.items()} for t in range(operator.n_transforms)]
    return poses, operator.apply(w.ravel()).reshape(-1, *shape)


def by(name, family, w, shape):
    """Samples as a dict over one pose column."""
    poses, samples = shown(family, w, shape)
    assert len({pose[name] for pose in poses}) == len(poses)
    return {float(pose[name]): s.tolist() for pose, s in zip(poses, samples, strict=True)}


def in_pose(family, w, shape, **pose):
    """The one sample with this pose."""
    poses, samples = shown(family, w, shape)
    fits = [t for t, p in enumerate(poses) if all(p[name] == v for name, v in pose.items())]
    assert len(fits) == 1, f"{len(fits)} transforms with {pose} among {poses}"
    return samples[fits[0]]


def starts(family, shape, name="start"):
    operator = family.bind(shape)
    return sorted(operator.describe(np.arange(operator.n_transforms))[name].tolist())


def reference(family, shape):
    operator = family.bind(shape)
    return {k: v.item() for k, v in operator.describe(np.array(operator.reference)).items()}


# --- shift ---


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


# --- rotation, reflection ---


@pytest.mark.parametrize("size", [4, 5])
def test_rotation_by_right_angles_is_rot90(size):
    w = np.arange(size * size).reshape(size, size)
    samples = by("degrees", Rotation(4), w, (size, size))
    assert samples == {90.0 * k: np.rot90(w, k).tolist() for k in range(4)}
    explicit = by("degrees", Rotation([-90, 0, 270, 450]), w, (size, size))
    assert explicit[-90] == explicit[270] == np.rot90(w, -1).tolist()
    assert explicit[450] == np.rot90(w).tolist()


def test_rotation_of_channels():
    w = np.arange(32).reshape(4, 4, 2)
    assert by("degrees", Rotation(4), w, (4, 4, 2))[90] == np.rot90(w).tolist()
    first = w.transpose(2, 0, 1)
    turned = by("degrees", Rotation(4, axes=(-2, -1)), first, (2, 4, 4))
    assert turned[90] == np.rot90(first, axes=(1, 2)).tolist()


@pytest.mark.parametrize(
    ("shape", "dot", "turned"),
    [
        ((3, 5), (1, 3), (0, 2)),  # right of the centre (1, 2) -> above it
        ((3, 5), (0, 2), (1, 1)),  # above -> left
        ((4, 6), (1, 3), (1, 2)),  # centre (1.5, 2.5): upper right -> upper left
        ((5, 3), (2, 0), (3, 1)),  # left of the centre (2, 1) -> below
        ((4, 4), (0, 0), (3, 0)),  # upper left -> lower left
    ],
)
def test_rotation_turns_counter_clockwise_about_the_middle(shape, dot, turned):
    w = np.zeros(shape)
    w[dot] = 1
    sample = in_pose(Rotation([0, 90]), w, shape, degrees=90)
    assert sample[turned] == 1
    assert sample.sum() == 1


def test_rotation_of_oblong_images_by_half_a_turn():
    w = np.arange(24).reshape(4, 6)
    assert by("degrees", Rotation([0, 180]), w, (4, 6))[180] == w[::-1, ::-1].tolist()
    edge = np.zeros((3, 5))
    edge[1, 4] = 1  # would leave the image
    assert not np.any(in_pose(Rotation([0, 90]), edge, (3, 5), degrees=90))


@pytest.mark.parametrize("degrees", [30, -30, 45, 200])
@pytest.mark.parametrize("shape", [(41, 41), (40, 40), (40, 45)])
def test_rotation_between_pixels(degrees, shape):
    """A blob 8 pixels right of the centre turns up.

    Bilinear interpolation is symmetric about every pixel, and a blob of width 2 is smooth on the
    grid: its centre of mass is where the geometry puts it to far better than 0.05 pixels, while a
    wrong centre costs half a pixel and a wrong direction several.
    """
    rows, columns = np.indices(shape)
    centre = (np.array(shape) - 1) / 2
    w = np.exp(-((rows - centre[0]) ** 2 + (columns - centre[1] - 8) ** 2) / 8)
    sample = in_pose(Rotation([0, degrees]), w, shape, degrees=degrees)
    mass = np.array(ndimage.center_of_mass(sample)) - centre
    angle = np.deg2rad(degrees)
    np.testing.assert_allclose(mass, [-8 * np.sin(angle), 8 * np.cos(angle)], rtol=0, atol=0.05)


def test_rotation_keeps_the_middle_pixel():
    w = np.zeros((5, 5))
    w[2, 2] = 1
    poses, samples = shown(Rotation(20), w, (5, 5))
    assert [p["degrees"] for p in poses] == [18.0 * k for k in range(20)]
    np.testing.assert_allclose(samples[:, 2, 2], 1, rtol=0, atol=1e-12)


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


# --- scaling, time warps, affine maps, deformations ---


def test_scaling_by_two_looks_larger():
    w = [0, 0, 1, 5, 7, 0, 0]  # 1, 5, 7 at -1, 0, 1 from the centre
    samples = by("factor", Scaling([0.5, 1, 2]), w, (7,))
    assert samples[1] == w
    assert samples[2] == [0.5, 1, 3, 5, 6, 7, 3.5]
    wide = [0, 2, 0, 3, 0, 4, 0]
    assert by("factor", Scaling([0.5]), wide, (7,))[0.5] == [0, 0, 2, 3, 4, 0, 0]


def test_scaling_about_the_middle_of_an_even_grid():
    assert by("factor", Scaling([1, 3]), [0, 1, 2, 0], (4,))[3] == pytest.approx(
        [1, 4 / 3, 5 / 3, 2], abs=1e-12
    )


def test_scaling_of_images():
    w = np.zeros((5, 5, 2))
    w[1, 3] = [1, 2]  # one up, one right
    sample = in_pose(Scaling([1, 2], axes=(0, 1)), w, (5, 5, 2), factor=2)
    assert sample[0, 4].tolist() == [1, 2]
    flat = in_pose(Scaling([1, 2], axes=1), w, (5, 5, 2), factor=2)
    assert flat[1, 4].tolist() == [1, 2]


def test_time_warp_power_is_later():
    """``u ** exp(log 2) = u ** 2`` reads positions 0, 1/4, 1, 9/4, 4 of five points."""
    event = [0, 1, 0, 0, 0]
    warped = by("strength", TimeWarp([0, np.log(2)]), event, (5,))
    assert warped[0] == event
    assert warped[np.log(2)] == pytest.approx([0, 0.25, 1, 0, 0], abs=1e-12)


def test_time_warp_sine_is_later():
    """The middle of three points reads position 1 - 2 s / pi = 3/4 for s = pi / 8."""
    warped = by("strength", TimeWarp([0, np.pi / 8], kind="sine"), [1, 0, 0], (3,))
    assert warped[np.pi / 8] == pytest.approx([1, 0.25, 0], abs=1e-12)


@pytest.mark.parametrize("kind", ["power", "sine"])
def test_time_warp_direction_and_fixed_ends(kind):
    t = np.arange(60)
    bump = np.exp(-((t - 25) ** 2) / 20)
    w = np.stack([bump, np.linspace(1, 2, 60)], axis=1)
    poses, samples = shown(TimeWarp([-0.5, 0, 0.5], kind=kind, axes=0), w, (60, 2))
    assert [p["strength"] for p in poses] == [-0.5, 0, 0.5]
    earlier, same, later = samples[:, :, 0].argmax(axis=1)
    assert earlier < same == 25 < later
    assert np.all(samples[:, [0, -1], 1] == [1, 2])
    np.testing.assert_array_equal(samples[1], w)
    assert np.all(np.diff(samples[:, :, 1], axis=1) > 0)  # order of events is kept


def test_affine_maps_points_of_the_component_to_the_sample():
    w = np.zeros((5, 5))
    w[1, 2] = 1  # p = (-1, 0) from the centre
    maps = np.array(
        [
            [[1, 0, 0], [0, 1, 0]],
            [[1, 0, 1], [0, 1, -2]],  # one down, two left
            [[0, 1, 0], [1, 0, 0]],  # transposed
            [[2, 0, 0], [0, 1, 1]],  # A p + b = (-2, 1)
            [[1, 0, 0], [1, 1, 0]],  # sheared: (-1, -1)
        ]
    )
    samples = by("map", Affine(maps), w, (5, 5))
    places = [(1, 2), (2, 0), (2, 1), (0, 3), (1, 1)]
    for number, place in enumerate(places):
        assert samples[number][place[0]][place[1]] == pytest.approx(1, abs=1e-12), number
    plain = np.random.default_rng(0).standard_normal((5, 5))
    np.testing.assert_allclose(in_pose(Affine(maps), plain, (5, 5), map=2), plain.T, atol=1e-12)


def test_affine_in_one_dimension():
    samples = by("map", Affine([[[1, 2]]], axes=0), [1, 2, 3, 4], (4,))
    assert samples[0] == [0, 0, 1, 2]


def displacements(family, shape):
    """``u(x)`` where the displaced point is inside the grid, nan elsewhere: (m, r, *shape)."""
    operator = family.bind(shape)
    points = np.indices(shape).astype(float)
    ones = operator.apply(np.ones(operator.n_features))
    # bilinear interpolation is exact for linear functions
    reads = np.stack([operator.apply(p.ravel()) for p in points], axis=1)
    field = reads.reshape(-1, *points.shape) - points
    inside = np.isclose(ones, 1, rtol=0, atol=1e-12).reshape(-1, 1, *shape)
    return np.where(inside, field, np.nan)


def test_deformation_begins_with_the_identity():
    w = np.random.default_rng(0).standard_normal((9, 8, 2))
    poses, samples = shown(Deformation(amplitude=2, n_fields=5), w, (9, 8, 2))
    assert [p["field"] for p in poses] == list(range(5))
    np.testing.assert_array_equal(samples[0], w)
    assert all(not np.allclose(s, w) for s in samples[1:])


def test_deformation_amplitude_is_the_largest_displacement():
    fields = displacements(Deformation(amplitude=1.5, n_fields=24), (20, 17))[1:]
    lengths = np.linalg.norm(fields, axis=1)
    largest = np.nanmax(lengths, axis=(1, 2))
    assert np.all(largest <= 1.5 + 1e-9)
    # about half of the largest displacements point into the grid, where they can be seen
    assert np.count_nonzero(np.abs(largest - 1.5) < 1e-9) >= 5
    constant = displacements(Deformation(amplitude=1.5, n_basis=1, n_fields=4), (20, 17))[1:]
    lengths = np.linalg.norm(constant, axis=1)
    np.testing.assert_allclose(lengths[np.isfinite(lengths)], 1.5, rtol=0, atol=1e-9)


def test_deformation_reads_at_the_displaced_point():
    """A constant field ``u`` in one dimension: ``(T w)(x) = w(x + u)``."""
    family = Deformation(amplitude=2, n_basis=1, n_fields=6, axes=0)
    fields = displacements(family, (9,))[:, 0]
    _, samples = shown(family, np.arange(9.0) ** 2, (9,))
    for field, sample in zip(fields[1:], samples[1:], strict=True):
        shift = round(np.nanmean(field))
        assert abs(shift) == 2
        x = np.arange(9)
        inside = (x + shift >= 0) & (x + shift < 9)
        np.testing.assert_allclose(sample, np.where(inside, (x + shift) ** 2, 0), atol=1e-9)


def test_deformation_is_reproducible():
    w = np.random.default_rng(0).standard_normal((9, 8))
    first, again = (shown(Deformation(random_state=3), w, (9, 8))[1] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first[1], shown(Deformation(random_state=4), w, (9, 8))[1][1])


# --- compositions, custom families ---


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


def test_custom_pose_is_the_number_of_the_transform():
    flips = Custom([np.eye(3), np.eye(3)[::-1]])
    assert by("transform", flips, [1, 2, 3], (3,)) == {0: [1, 2, 3], 1: [3, 2, 1]}
    roll = Custom([lambda w: w, lambda w: np.roll(w, 1, axis=1)])
    w = np.arange(6).reshape(2, 3)
    assert by("transform", roll, w, (2, 3))[1] == np.roll(w, 1, axis=1).tolist()


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


# --- align ---


def planted(rng, operator, w, n=40):
    """Rows ``s_i T_{t_i} w`` with every transform in use, and their scores and transforms."""
    index = np.concatenate([np.arange(operator.n_transforms)] * (1 + n // operator.n_transforms))
    coef = rng.uniform(1, 2, len(index)) * rng.choice([-1, 1], len(index))
    X = coef[:, None] * operator.apply(w.ravel())[index]
    return X.reshape(-1, *operator.sample_shape), coef, index


def pattern(rng, shape):
    """Nothing symmetric about it, nothing faint at its ends, largest absolute entry positive."""
    w = rng.uniform(1, 2, shape) * rng.choice([-1, 1], shape)
    w.flat[w.size // 3] = 3
    return w


@pytest.mark.parametrize(
    ("family", "shape"),
    [
        (Shift(3), (8,)),
        (Shift(4), (9,)),
        (Shift(4, axes=0), (9, 2)),
        (Shift(3, axes=-1), (2, 8)),
        (Shift((3, 2)), (6, 5)),
        (Shift((2, 2)), (5, 5, 3)),
    ],
    ids=str,
)
def test_align_cuts_out_what_is_under_the_window(family, shape):
    rng = np.random.default_rng(0)
    operator = family.bind(shape)
    w = pattern(rng, operator.weight_shape)
    X, coef, index = planted(rng, operator, w)
    model = GTPCA(1, family, random_state=0).fit(X)
    np.testing.assert_array_equal(model.encode(X).index[:, 0], index)
    expected = coef.reshape(-1, *[1] * w.ndim) * w
    np.testing.assert_allclose(model.align(X), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("family", "shape"), [(Shift(8), (5,)), (Shift(9), (6,)), (Shift(8, axes=0), (5, 2))], ids=str
)
def test_align_puts_a_crop_where_it_belongs(family, shape):
    """Every position is in use, so the component is the pattern, neither shifted nor scaled."""
    rng = np.random.default_rng(0)
    operator = family.bind(shape)
    w = pattern(rng, operator.weight_shape)
    X, _, index = planted(rng, operator, w)
    model = GTPCA(1, family, solver=ALS(tol=0.0), random_state=0).fit(X)
    np.testing.assert_array_equal(model.encode(X).index[:, 0], index)
    np.testing.assert_allclose(model.components_[0], w / np.linalg.norm(w), atol=1e-6)
    expected = np.zeros((len(X), *w.shape))
    for i, start in enumerate(operator.describe(index)["start"]):
        expected[i, -start : shape[0] - start] = X[i]
    np.testing.assert_allclose(model.align(X), expected, rtol=0, atol=1e-12)


GROUPS = {
    "circular": (Shift(boundary="circular"), (7,)),
    "circular-even": (Shift(boundary="circular"), (8,)),
    "circular-channels": (Shift(boundary="circular", axes=-1), (2, 8)),
    "circular-images": (Shift(boundary="circular", axes=(0, 1)), (5, 4)),
    "right-angles": (Rotation(4), (4, 4)),
    "right-angles-odd": (Rotation(4), (5, 5)),
    "half-turn-oblong": (Rotation([0, 180]), (4, 5)),
    "flip": (Reflection(), (9,)),
    "flips": (Reflection((0, 1)), (4, 5)),
    "dihedral": (Compose(Rotation(4), Reflection(0)), (5, 5)),
    "all": (Compose(Shift(boundary="circular", axes=(0, 1)), Rotation(4), Reflection(0)), (4, 4)),
    "other-order": (Compose(Rotation(4), Shift(boundary="circular", axes=(0, 1))), (4, 4)),
}


@pytest.mark.parametrize("name", GROUPS)
def test_align_undoes_a_group(name):
    """Every row becomes the same image: that of the row with the largest score, not moved."""
    family, shape = GROUPS[name]
    rng = np.random.default_rng(0)
    operator = family.bind(shape)
    X, coef, _ = planted(rng, operator, pattern(rng, shape))
    model = GTPCA(1, family, random_state=0).fit(X)
    strongest = np.abs(coef).argmax()
    expected = coef.reshape(-1, *[1] * len(shape)) * X[strongest] / coef[strongest]
    np.testing.assert_allclose(model.align(X), expected, rtol=0, atol=1e-9)


def test_align_by_hand():
    X = np.array([[0, 0, 1, 3, 2, 0, 0, 0], [0, 0, 0, 0, 0, 2, 6, 4], [1, 3, 2, 0, 0, 0, 0, 0]])
    model = GTPCA(1, Shift(3), random_state=0).fit(X)
    assert model.poses(model.encode(X))["start"].ravel().tolist() == [2, 5, 0]
    assert model.align(X).tolist() == [[1, 3, 2], [2, 6, 4], [1, 3, 2]]


def test_align_averages_what_a_weight_explains():
    """Scaled by 2 about position 2, the points read w1, (w1 + w2) / 2, w2, (w2 + w3) / 2, w3."""
    X = np.random.default_rng(0).standard_normal((6, 5))
    model = GTPCA(1, Scaling([2])).fit(X)
    zero = np.zeros(6)
    a, b, c, d, e = X.T
    expected = [zero, (a + b / 2) / 1.5, (b / 2 + c + d / 2) / 2, (d / 2 + e) / 1.5, zero]
    np.testing.assert_allclose(model.align(X), np.transpose(expected), rtol=0, atol=1e-12)


def test_align_undoes_a_change_of_sign():
    """A transform of one's own may be negative; the strongest row, -3 w, is at the identity."""
    w = np.array([1.0, 3.0, -2.0, 0.5])
    X = np.stack([w, -w, 2 * w, -3 * w])
    family = Custom([np.eye(4), -np.eye(4)])
    model = GTPCA(1, family, polarity="positive", random_state=0).fit(X)
    assert model.poses(model.encode(X))["transform"][:, 0].tolist() == [1, 0, 1, 0]
    expected = -np.array([1, 1, 2, 3])[:, None] * w
    np.testing.assert_allclose(model.align(X), expected, rtol=0, atol=1e-9)


def test_align_to_another_component():
    X = np.random.default_rng(0).standard_normal((30, 12))
    model = GTPCA(3, Shift(4), solver=QUICK, random_state=0).fit(X)
    for k in range(3):
        first = model.poses(model.encode(X))["start"][:, k]
        expected = [x[s : s + 4] for x, s in zip(X, first, strict=True)]
        np.testing.assert_array_equal(model.align(X, component=k), expected)


# --- signs, norms, reference poses ---


@pytest.fixture
def small_fit(family_and_shape):
    family, shape = family_and_shape
    X = np.random.default_rng(0).standard_normal((40, *shape))
    return GTPCA(2, family, solver=QUICK, random_state=0).fit(X), X


def test_conventions_of_every_family(small_fit):
    model, X = small_fit
    assert model.components_.shape == (2, *model.operator_.weight_shape)
    flat = model.components_.reshape(2, -1)
    np.testing.assert_allclose(np.linalg.norm(flat, axis=1), 1, rtol=0, atol=1e-12)
    assert np.all(flat.max(axis=1) == np.abs(flat).max(axis=1)), "sign"
    codes = model.encode(X)
    np.testing.assert_array_equal(model.transform(X), codes.scores)
    rebuilt = model.reconstruct(X)
    assert rebuilt.shape == X.shape
    np.testing.assert_array_equal(model.decode(codes), rebuilt)

    model.set_params(output="scores+poses")
    both = model.transform(X)
    np.testing.assert_array_equal(both, np.hstack([codes.scores, codes.index]))
    np.testing.assert_allclose(model.inverse_transform(both), rebuilt, rtol=0, atol=1e-12)

    model.set_params(output="scores")
    still = 0
    for w, s in zip(flat, codes.scores.T, strict=True):
        base = model.operator_.apply(w)[model.operator_.reference]
        still = still + s[:, None] * base / np.linalg.norm(base)
    np.testing.assert_allclose(
        model.inverse_transform(codes.scores).reshape(len(X), -1), still, rtol=0, atol=1e-9
    )


def test_inverse_transform_by_hand():
    X = np.zeros((6, 9))
    for i in range(6):
        X[i, i : i + 3] = (i + 1) * np.array([2.0, 3.0, 6.0])  # norm 7
    model = GTPCA(1, Shift(3), random_state=0).fit(X)
    Z = model.transform(X)
    np.testing.assert_allclose(Z[:, 0], 7.0 * np.arange(1, 7), atol=1e-9)
    back = model.inverse_transform(Z)
    expected = np.zeros((6, 9))
    expected[:, 3:6] = np.arange(1, 7)[:, None] * np.array([2, 3, 6])  # in the middle
    np.testing.assert_allclose(back, expected, atol=1e-9)
    np.testing.assert_allclose(model.reconstruct(X), X, atol=1e-9)


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_strongest_row_of_a_group_is_at_the_identity(name, dtype):
    family, shape = GROUPS[name]
    X = np.random.default_rng(0).standard_normal((50, *shape)).astype(dtype)
    model = GTPCA(3, family, solver=QUICK, random_state=0).fit(X)
    codes = model.encode(X)
    strongest = np.abs(codes.scores).argmax(axis=0)
    index = codes.index[strongest, range(3)]
    assert index.tolist() == [model.operator_.reference] * 3
    flat = model.components_.reshape(3, -1)
    assert np.all(flat.max(axis=1) == np.abs(flat).max(axis=1))


def test_strongest_row_is_at_the_identity_after_refinement():
    X = np.random.default_rng(0).standard_normal((50, 10))
    family = Shift(boundary="circular")
    model = GTPCA(2, family, refine=2, solver=QUICK, random_state=0).fit(X)
    codes = model.encode(X)
    strongest = np.abs(codes.scores).argmax(axis=0)
    assert codes.index[strongest, range(2)].tolist() == [0, 0]


def test_strongest_row_counts_only_with_weight():
    X = np.random.default_rng(0).standard_normal((50, 10))
    X[0] *= 10
    weight = np.where(np.arange(50) == 0, 0.0, 1.0)
    family = Shift(boundary="circular")
    weighed = GTPCA(1, family, solver=QUICK, random_state=0).fit(X, sample_weight=weight)
    removed = GTPCA(1, family, solver=QUICK, random_state=0).fit(X[1:])
    np.testing.assert_allclose(weighed.components_, removed.components_, rtol=0, atol=1e-9)


def test_same_components_up_to_sign_and_pose():
    X = np.random.default_rng(0).standard_normal((60, 12))
    family = Shift(boundary="circular")
    first = GTPCA(1, family, random_state=0).fit(X)
    second = pickle.loads(pickle.dumps(first))
    second.components_ = -np.roll(first.components_, 5, axis=1)
    assert_same_components(first, second)
    second.components_ = first.components_[:, ::-1]
    with pytest.raises(AssertionError, match="component 0"):
        assert_same_components(first, second)
    placed = GTPCA(1, Shift(5), random_state=0).fit(X)
    other = pickle.loads(pickle.dumps(placed))
    other.components_ = np.roll(placed.components_, 1, axis=1)  # no pose of a window
    with pytest.raises(AssertionError, match="component 0"):
        assert_same_components(placed, other)


# --- polarity, centring, weights ---


def test_positive_scores_are_never_negative(family_and_shape):
    family, shape = family_and_shape
    X = np.random.default_rng(0).standard_normal((40, *shape))
    model = GTPCA(2, family, polarity="positive", solver=QUICK, random_state=0).fit(X)
    scores = model.transform(X)
    assert scores.min() >= 0
    assert np.all(scores.max(axis=0) > 0)
    assert model.transform(-X).min() >= 0


def test_upright_spike_is_not_matched_upside_down():
    spike = np.array([1.0, 3.0, 1.0])
    X = np.zeros((12, 12))
    for i in range(10):
        X[i, i : i + 3] = spike
    X[10, 4:7] = -spike  # nothing but a spike upside down
    X[11, 1:4], X[11, 6:9] = spike, -2 * spike  # the larger of two is upside down
    positive = GTPCA(1, Shift(3), polarity="positive", random_state=0).fit(X[:10])
    both = GTPCA(1, Shift(3), random_state=0).fit(X[:10])
    norm = np.linalg.norm(spike)
    for model in (positive, both):
        np.testing.assert_allclose(model.components_[0], spike / norm, atol=1e-6)
    up, signed = positive.encode(X), both.encode(X)
    np.testing.assert_allclose(up.scores[:, 0], [*[norm] * 10, 0, norm], atol=1e-6)
    np.testing.assert_allclose(signed.scores[:, 0], [*[norm] * 10, -norm, -2 * norm], atol=1e-6)
    assert positive.poses(up)["start"][11, 0] == 1
    assert both.poses(signed)["start"][11, 0] == 6
    assert not np.any(positive.reconstruct(X)[10])


def test_upright_starts_that_fit_nothing_are_quiet(recwarn):
    """A start that points downwards on every row is no reason for a warning of NumPy's."""
    X = np.zeros((10, 12))
    for i in range(10):
        X[i, i : i + 3] = [1.0, 3.0, 1.0]
    for seed in range(3):
        GTPCA(1, Shift(3), polarity="positive", random_state=seed).fit(X)
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def shapes_and_families():
    return [
        ((10,), Identity(), (0,)),
        ((10,), Shift(4), (0,)),
        ((10,), Shift(14), (0,)),
        ((10, 2), Shift(4, axes=0), (0,)),
        ((10, 2), Shift(10, axes=0), (0,)),
        ((10, 2), Shift(boundary="circular", axes=0), (0,)),
        ((2, 10), Shift(4, axes=-1), (1,)),
        ((6, 5), Shift((3, 3)), (0, 1)),
        ((6, 5), Shift((6, 3)), (0, 1)),
        ((6, 5, 3), Shift((3, 3)), (0, 1)),
        ((5, 5, 3), Rotation(4), (0, 1)),
        ((10, 2), Compose(Shift(5, axes=0), Reflection(0)), (0,)),
    ]


@pytest.mark.parametrize(("shape", "family", "axes"), shapes_and_families(), ids=str)
def test_center_samples_is_the_mean_of_each_row_and_channel(shape, family, axes):
    X = np.random.default_rng(0).standard_normal((30, *shape))
    offsets = np.random.default_rng(1).standard_normal((30, *shape))
    moved = tuple(a + 1 for a in axes)
    X = X + 20 * offsets.mean(axis=moved, keepdims=True)
    centred = X - X.mean(axis=moved, keepdims=True)
    model = GTPCA(2, family, center="samples", solver=QUICK, random_state=0).fit(X)
    plain = GTPCA(2, family, solver=QUICK, random_state=0).fit(centred)
    np.testing.assert_allclose(model.components_, plain.components_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.transform(X), plain.transform(centred), rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.resmse(X), plain.resmse(centred), rtol=0, atol=1e-9)
    assert model.mean_ is None


@pytest.mark.parametrize("family", [None, Shift((3, 3))], ids=str)
def test_center_true_is_the_mean_of_every_feature(family):
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((2, 30, 6, 5)) + 5 * rng.standard_normal((6, 5))
    model = GTPCA(2, family, center=True, solver=QUICK, random_state=0).fit(X)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=0, atol=1e-12)
    plain = GTPCA(2, family, solver=QUICK, random_state=0).fit(X - X.mean(axis=0))
    np.testing.assert_allclose(model.components_, plain.components_, rtol=0, atol=1e-9)
    shifted = new - X.mean(axis=0)
    np.testing.assert_allclose(model.transform(new), plain.transform(shifted), atol=1e-9)
    rebuilt = plain.reconstruct(shifted) + X.mean(axis=0)
    np.testing.assert_allclose(model.reconstruct(new), rebuilt, atol=1e-9)
    back = model.inverse_transform(np.zeros((1, 2)))
    np.testing.assert_allclose(back[0], X.mean(axis=0), atol=1e-12)


def test_center_with_sample_weight_is_the_mean_of_repeated_rows():
    X = np.random.default_rng(0).standard_normal((30, 6)) + 3
    weight = np.random.default_rng(1).integers(0, 3, 30)
    model = GTPCA(2, center=True).fit(X, sample_weight=weight)
    repeated = GTPCA(2, center=True).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(model.mean_, repeated.mean_, atol=1e-12)
    np.testing.assert_allclose(model.components_, repeated.components_, atol=1e-9)
    np.testing.assert_allclose(model.explained_energy_, repeated.explained_energy_, rtol=1e-9)


@pytest.mark.parametrize("shape", [(8,), (4, 2)])
def test_feature_weight_equals_scaled_data(shape):
    rng = np.random.default_rng(0)
    X, q = rng.standard_normal((40, *shape)), rng.uniform(0.1, 3, shape)
    root = np.sqrt(q)
    model = GTPCA(3, feature_weight=q).fit(X)
    scaled = GTPCA(3).fit(X * root)
    signs = np.sign(np.sum(model.transform(X) * scaled.transform(X * root), axis=0))
    np.testing.assert_allclose(
        model.transform(X), signs * scaled.transform(X * root), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(model.explained_energy_, scaled.explained_energy_, rtol=1e-9)
    np.testing.assert_allclose(
        model.reconstruct(X), scaled.reconstruct(X * root) / root, rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(model.resmse(X), scaled.resmse(X * root), rtol=0, atol=1e-9)


def test_feature_weight_zero_is_an_aperture():
    """What lies outside of an aperture has no say in scores, poses and energies."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 12))
    q = np.ones(12)
    q[[0, 1, 11]] = 0
    model = GTPCA(2, Shift(4), feature_weight=q, solver=QUICK, random_state=0).fit(X)
    noisy = X + (q == 0) * 100 * rng.standard_normal((40, 12))
    np.testing.assert_allclose(model.transform(noisy), model.transform(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.resmse(noisy), model.resmse(X), rtol=0, atol=1e-9)


# --- scikit-learn ---


@pytest.fixture
def series():
    return np.random.default_rng(0).standard_normal((30, 12))


def test_set_output_pandas(series):
    pd = pytest.importorskip("pandas", reason="set_output(transform='pandas') needs pandas")
    model = GTPCA(2, Shift(5), solver=QUICK, random_state=0).set_output(transform="pandas")
    frame = model.fit_transform(series)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["gtpca0", "gtpca1"]
    np.testing.assert_array_equal(frame, model.encode(series).scores)
    model.set_params(output="scores+poses")
    both = model.transform(series)
    assert list(both.columns) == ["gtpca0", "gtpca1", "gtpca0_index", "gtpca1_index"]
    np.testing.assert_array_equal(both["gtpca1_index"], model.encode(series).index[:, 1])
    np.testing.assert_allclose(model.inverse_transform(both), model.reconstruct(series), atol=1e-12)


def test_frames_keep_their_index(series):
    pd = pytest.importorskip("pandas", reason="data frames")
    frame = pd.DataFrame(series, columns=[f"t{j}" for j in range(12)], index=range(100, 130))
    model = GTPCA(1, Shift(5), solver=QUICK, random_state=0).set_output(transform="pandas")
    out = model.fit_transform(frame)
    assert list(out.index) == list(frame.index)
    assert list(model.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[frame.columns[::-1]])


def test_feature_names_out(series):
    model = GTPCA(3, solver=QUICK).fit(series)
    assert list(model.get_feature_names_out()) == ["gtpca0", "gtpca1", "gtpca2"]
    assert model.get_feature_names_out().dtype == object


def test_pipeline(series):
    pipe = make_pipeline(StandardScaler(), GTPCA(2, Shift(5), solver=QUICK, random_state=0))
    Z = pipe.fit_transform(series)
    assert Z.shape == (30, 2)
    assert list(pipe.get_feature_names_out()) == ["gtpca0", "gtpca1"]
    assert 0 < pipe.score(series) < 1
    image_pipe = make_pipeline(StandardScaler(), GTPCA(2, Rotation(4), sample_shape=(4, 3)))
    image_pipe.set_params(gtpca__solver=QUICK, gtpca__random_state=0)
    back = image_pipe.fit(series).inverse_transform(image_pipe.transform(series))
    assert back.shape == (30, 12)  # flat rows in, flat rows out: the scaler can go on


def test_grid_search_over_the_window_and_the_solver(series):
    X = np.zeros((24, 20))
    for i in range(24):
        X[i, i % 12 : i % 12 + 6] = [1, -2, 3, 3, -2, 1]
    model = GTPCA(1, Shift(3), solver=ALS(max_iter=20), random_state=0)
    grid = {"family__window": [2, 6], "solver__n_init": [1, 4]}
    search = GridSearchCV(model, grid, cv=2).fit(X)
    assert search.best_params_["family__window"] == 6
    assert search.best_score_ > 0.99
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.components_.shape == (1, 6)


def test_grid_search_over_the_default_solver(series):
    """``ALS()`` is the default and ``solver__n_init`` can be searched over."""
    model = GTPCA(1, Shift(5), random_state=0)
    GridSearchCV(model, {"solver__n_init": [1, 2]}, cv=2, error_score="raise").fit(series)


def test_clone_and_pickle(series):
    family = Compose(Shift(5, boundary="partial"), Reflection())
    model = GTPCA(2, family, center=True, solver=ALS(n_init=3), random_state=0).fit(series)
    copy = clone(model)
    assert not hasattr(copy, "components_")
    assert copy.family is not model.family
    assert repr(copy) == repr(model)
    np.testing.assert_array_equal(copy.fit(series).components_, model.components_)
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(thawed.transform(series), model.transform(series))
    np.testing.assert_array_equal(thawed.reconstruct(series), model.reconstruct(series))


@pytest.mark.parametrize(
    "value", [Shift((3, 4), axes=(1, 0), step=2), Rotation([0, 90]), Affine([])]
)
def test_families_are_clonable_and_printable(value):
    assert repr(clone(value)) == repr(value)
    assert type(value).__name__ in repr(value)


def test_refit_is_a_new_fit(series):
    model = GTPCA(2, Shift(5), solver=QUICK, random_state=0).fit(series)
    first = model.components_.copy()
    model.fit(np.random.default_rng(5).standard_normal((20, 9)))
    assert model.n_features_in_ == 9
    np.testing.assert_array_equal(model.fit(series).components_, first)


# --- codes ---


def test_codes(series, tmp_path):
    model = GTPCA(3, Shift(5), solver=QUICK, random_state=0).fit(series)
    codes = model.encode(series)
    assert len(codes) == 30
    assert codes.scores.shape == codes.index.shape == (30, 3)
    assert np.issubdtype(codes.index.dtype, np.integer)
    mask = codes.scores[:, 0] > 0
    for rows in (slice(3, 9), slice(None, None, -2), [4, 1, 1], mask, np.array([7])):
        part = codes[rows]
        assert isinstance(part, Codes)
        np.testing.assert_array_equal(part.scores, codes.scores[rows])
        np.testing.assert_array_equal(part.index, codes.index[rows])
        np.testing.assert_array_equal(model.decode(part), model.decode(codes)[rows])
    for row in (0, -1, np.int64(4)):
        assert len(codes[row]) == 1
        np.testing.assert_array_equal(model.decode(codes[row])[0], model.decode(codes)[row])
    with pytest.raises(IndexError):
        codes[30]
    for name in ("codes.npz", "codes", "codes.gtpca"):
        codes.save(tmp_path / name)
        loaded = Codes.load(str(tmp_path / name))
        np.testing.assert_array_equal(loaded.scores, codes.scores)
        np.testing.assert_array_equal(loaded.index, codes.index)
        assert loaded.scores.dtype == codes.scores.dtype
        np.testing.assert_array_equal(model.decode(loaded), model.decode(codes))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["codes", "codes.gtpca", "codes.npz"]


def test_codes_of_fewer_components(series):
    model = GTPCA(3, Shift(5), solver=QUICK, random_state=0).fit(series)
    codes = model.encode(series)
    part = codes.first(2)
    assert part.scores.shape == (30, 2)
    residual = np.sum((series - model.decode(part)) ** 2) / np.sum(series**2)
    np.testing.assert_allclose(residual, model.resmse(series)[1], rtol=1e-9)


def test_poses_have_the_shape_of_the_codes(series):
    model = GTPCA(3, Shift(5), solver=QUICK, random_state=0).fit(series)
    codes = model.encode(series)
    poses = model.poses(codes)
    assert set(poses) == {"start", "centre"}
    assert all(column.shape == (30, 3) for column in poses.values())
    np.testing.assert_array_equal(poses["start"], codes.index)  # starts 0, 1, ..
    np.testing.assert_array_equal(poses["centre"], poses["start"] + 2)
    assert model.poses(codes[:4])["start"].shape == (4, 3)


# --- n_components, shapes, precision ---


@pytest.mark.parametrize("share", [0.3, 0.8, 0.95])
def test_share_of_the_energy_for_pca(series, share):
    energies = np.linalg.svd(series, compute_uv=False) ** 2
    ratios = np.cumsum(energies) / energies.sum()
    expected = int(np.searchsorted(ratios, share)) + 1
    model = GTPCA(share).fit(series)
    assert model.n_components_ == expected
    np.testing.assert_allclose(np.cumsum(model.explained_energy_ratio_), ratios[:expected])


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_share_of_the_energy_for_shifts(series, share):
    model = GTPCA(share, Shift(5), solver=QUICK, random_state=0).fit(series)
    explained = 1 - model.resmse(series)
    assert explained[-1] >= share
    assert np.all(explained[:-1] < share)
    assert model.n_components_ == len(model.components_) == len(explained) > 1


def test_greedy_components_are_nested(series):
    """The first components do not depend on how many are asked for."""
    solver = clone(QUICK).set_params(foresight=False)
    few = GTPCA(1, Shift(5), solver=solver, random_state=0).fit(series)
    many = GTPCA(3, Shift(5), solver=solver, random_state=0).fit(series)
    np.testing.assert_array_equal(many.components_[:1], few.components_)
    np.testing.assert_array_equal(many.transform(series)[:, :1], few.transform(series))


def test_with_foresight_all_but_the_last_component_are_nested(series):
    """The last has no other to look out for."""
    few = GTPCA(2, Shift(5), solver=QUICK, random_state=0).fit(series)
    many = GTPCA(3, Shift(5), solver=QUICK, random_state=0).fit(series)
    np.testing.assert_array_equal(many.components_[:1], few.components_[:1])


@pytest.mark.parametrize("max_iter", [1, 3, 5, 10, 25])
@pytest.mark.parametrize("family", [Shift(5), Shift(20), Rotation(4)], ids=str)
def test_max_iter_bounds_the_passes_moves_included(max_iter, family):
    X = np.random.default_rng(0).standard_normal((40, 12))
    shape = (4, 3) if isinstance(family, Rotation) else None
    solver = ALS(max_iter=max_iter, tol=0)
    model = GTPCA(2, family, sample_shape=shape, solver=solver, random_state=0).fit(X)
    assert np.all(model.n_iter_ <= max_iter)
    assert all(1 <= len(h) <= n for h, n in zip(model.history_, model.n_iter_, strict=True))


@pytest.mark.parametrize("family", [None, Rotation(4), Shift((2, 2))], ids=str)
def test_flat_rows_equal_rows_with_a_shape(family):
    X = np.random.default_rng(0).standard_normal((30, 4, 3))
    nd = GTPCA(2, family, solver=QUICK, random_state=0).fit(X)
    flat = GTPCA(2, family, sample_shape=(4, 3), solver=QUICK, random_state=0)
    Z = flat.fit_transform(X.reshape(30, 12))
    np.testing.assert_array_equal(flat.components_, nd.components_)
    np.testing.assert_array_equal(Z, nd.transform(X))
    np.testing.assert_array_equal(flat.transform(X), Z)
    assert flat.sample_shape_ == nd.sample_shape_ == (4, 3)
    assert flat.n_features_in_ == nd.n_features_in_ == 12
    assert flat.reconstruct(X.reshape(30, 12)).shape == (30, 4, 3)
    assert flat.inverse_transform(Z).shape == (30, 12)
    assert nd.inverse_transform(Z).shape == (30, 4, 3)
    given = GTPCA(2, family, sample_shape=(4, 3), solver=QUICK, random_state=0).fit(X)
    np.testing.assert_array_equal(given.components_, nd.components_)


@pytest.mark.parametrize(
    ("shape", "family", "weight_shape"),
    [
        ((12,), Shift(5), (5,)),
        ((12, 2), Shift(20, axes=0), (20, 2)),
        ((2, 12), Shift(5, axes=-1), (2, 5)),
        ((6, 7), Shift((4, 4)), (4, 4)),
        ((6, 7, 3), Shift((8, 4)), (8, 4, 3)),
        ((4, 5, 6), Shift((2, 3, 4)), (2, 3, 4)),
        ((4, 5, 6), Shift((3, 3), axes=(1, 2)), (4, 3, 3)),
        ((5, 6, 3), Rotation(4), (5, 6, 3)),
        ((3, 5, 6), Rotation(4, axes=(1, 2)), (3, 5, 6)),
        ((4, 5, 6), None, (4, 5, 6)),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ranks_and_precision(shape, family, weight_shape, dtype):
    X = np.random.default_rng(0).standard_normal((20, *shape)).astype(dtype)
    model = GTPCA(2, family, solver=QUICK, random_state=0).fit(X)
    assert model.components_.shape == (2, *weight_shape)
    assert model.components_.dtype == model.explained_energy_.dtype == np.float64
    codes = model.encode(X)
    assert codes.scores.dtype == model.transform(X).dtype == dtype
    for rows in (model.reconstruct(X), model.decode(codes), model.inverse_transform(codes.scores)):
        assert rows.dtype == dtype
        assert rows.shape == X.shape
    aligned = model.align(X)
    assert aligned.dtype == dtype
    assert aligned.shape == (20, *weight_shape)
    assert model.score_samples(X).shape == (20,)
    assert model.resmse(X).shape == (2,)
    assert model.score(X) == pytest.approx(1 - model.resmse(X)[-1], abs=1e-12)


def test_statistics_of_float32_rows_are_float64():
    rng = np.random.default_rng(0)
    X = (1000 + rng.standard_normal((5000, 4))).astype(np.float32)
    model = GTPCA(1, center=True).fit(X)
    assert model.mean_.dtype == np.float64
    np.testing.assert_allclose(model.mean_, X.mean(axis=0, dtype=np.float64), rtol=1e-12)
    assert model.transform(X).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, bool, np.float16])
def test_other_numbers_are_floats(dtype):
    X = np.random.default_rng(0).integers(0, 2, (20, 10)).astype(dtype)
    model = GTPCA(1, Shift(4), solver=QUICK, random_state=0).fit(X)
    wanted = GTPCA(1, Shift(4), solver=QUICK, random_state=0).fit(X.astype(np.float64))
    np.testing.assert_allclose(model.components_, wanted.components_, rtol=0, atol=1e-4)
    assert model.transform(X).dtype in (np.float32, np.float64)


# --- callbacks and logging ---


class Recorder:
    """Writes down every task, and stops a level where it is told to."""

    def __init__(self, stop=()):
        self.events, self.stop, self.set_up = [], stop, 0

    def setup(self, estimator, context):
        self.set_up += 1

    def teardown(self, estimator, context):
        self.set_up -= 1

    def path(self, context):
        name = (context.task_name, context.task_id)
        return (name,) if context.parent is None else (*self.path(context.parent), name)

    def on_fit_task_begin(self, estimator, context):
        assert isinstance(estimator, GTPCA)
        self.events.append(("begin", self.path(context)))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", self.path(context)))
        return context.task_name in self.stop

    @property
    def tasks(self):
        return [path for kind, path in self.events if kind == "end"]

    def count(self, *names):
        return sum(tuple(name for name, _ in path) == names for path in self.tasks)


def recorded(series, family, stop=(), **parameters):
    recorder = Recorder(stop)
    settings = {"n_components": 3, "solver": ALS(n_init=2, tol=0, max_iter=12), "random_state": 0}
    model = GTPCA(family=family, **{**settings, **parameters}).set_callbacks(recorder).fit(series)
    return SimpleNamespace(model=model, log=recorder)


@pytest.mark.parametrize("family", [None, Shift(5), Shift(20)], ids=str)
@pytest.mark.parametrize("n_components", [3, 0.4])
def test_callbacks_are_nested(series, family, n_components):
    run = recorded(series, family, n_components=n_components)
    open_tasks = []
    for kind, path in run.log.events:
        if kind == "begin":
            assert path[:-1] == (open_tasks[-1] if open_tasks else ())
            open_tasks.append(path)
        else:
            assert open_tasks.pop() == path
    assert not open_tasks
    assert run.log.set_up == 0
    assert {tuple(name for name, _ in path) for path in run.log.tasks} == {
        ("fit",),
        ("fit", "component"),
        ("fit", "component", "iteration"),
    }
    k = run.model.n_components_
    assert run.log.count("fit") == 1
    assert run.log.count("fit", "component") == k
    numbers = [path[1][1] for path in run.log.tasks if len(path) == 2]
    assert numbers == list(range(k))
    assert run.log.count("fit", "component", "iteration") >= k


def test_callback_stops_the_iterations(series):
    free, stopped = (recorded(series, Shift(5), stop) for stop in ((), ("iteration",)))
    assert free.log.count("fit", "component", "iteration") > 3
    assert stopped.log.count("fit", "component", "iteration") == 3  # one per component
    assert stopped.log.count("fit", "component") == stopped.model.n_components_ == 3
    assert [len(h) for h in stopped.model.history_] == [1, 1, 1]


@pytest.mark.parametrize("family", [None, Shift(5)], ids=str)
def test_callback_stops_the_components(series, family):
    run = recorded(series, family, stop=("component",))
    assert run.model.n_components_ == 1
    assert run.log.count("fit", "component") == 1
    assert run.model.transform(series).shape == (30, 1)


def test_callbacks_do_not_change_the_fit(series):
    run = recorded(series, Shift(5))
    again = clone(run.model).set_callbacks().fit(series)
    np.testing.assert_array_equal(again.components_, run.model.components_)


@pytest.mark.parametrize("family", [None, Shift(5)], ids=str)
@pytest.mark.parametrize("n_components", [2, 0.4])
def test_progress_bar(series, family, n_components, capsys):
    pytest.importorskip("rich", reason="scikit-learn's ProgressBar draws with rich")
    from sklearn.callback import ProgressBar

    model = GTPCA(n_components, family, solver=QUICK, random_state=0).set_callbacks(ProgressBar())
    model.fit(series)
    out, err = capsys.readouterr()
    assert "GTPCA" in out + err
    assert model.transform(series).shape == (30, model.n_components_)


@pytest.fixture
def quiet_logger():
    """The logger as a fresh process has it, and put back afterwards."""
    logger = logging.getLogger("gtpca")
    level, handlers = logger.level, list(logger.handlers)
    logger.setLevel(logging.NOTSET)
    logger.handlers.clear()
    yield logger
    logger.setLevel(level)
    logger.handlers[:] = handlers


@pytest.mark.parametrize("family", [None, Shift(5)], ids=str)
def test_verbose_reports_each_component(series, family, caplog, quiet_logger, capsys):
    GTPCA(2, family, solver=QUICK, random_state=0, verbose=1).fit(series)
    records = [r for r in caplog.records if r.name.split(".")[0] == "gtpca"]
    messages = [r.getMessage() for r in records]
    assert all(r.levelno == logging.INFO for r in records)
    assert sum("component 1" in m for m in messages) == 1
    assert sum("component 2" in m for m in messages) == 1
    assert capsys.readouterr().out == ""


def test_verbose_off_is_silent(series, caplog, quiet_logger, capsys):
    GTPCA(2, Shift(5), solver=QUICK, random_state=0).fit(series)
    assert not caplog.records
    assert capsys.readouterr() == ("", "")


def test_verbose_of_one_fit_is_not_that_of_the_next(series, caplog, quiet_logger):
    GTPCA(1, Shift(5), solver=QUICK, random_state=0, verbose=1).fit(series)
    caplog.clear()
    GTPCA(1, Shift(5), solver=QUICK, random_state=0, verbose=0).fit(series)
    assert not caplog.records


def test_logging_goes_where_the_user_sends_it(series, quiet_logger):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    quiet_logger.addHandler(handler)
    GTPCA(1, Shift(5), solver=QUICK, random_state=0, verbose=1).fit(series)
    assert stream.getvalue().count("component 1") == 1
    assert quiet_logger.handlers == [handler]
