"""Rotations, scalings, time warps, affine maps and deformations, by hand and by geometry."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import by, in_pose, shown
from scipy import ndimage

from gtpca import Affine, Deformation, Rotation, Scaling, TimeWarp


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


def test_scaling_by_two_looks_larger():
    w = [0, 0, 1, 5, 7, 0, 0]  # 1, 5, 7 at -1, 0, 1 from the centre
    samples = by("factor", Scaling([0.5, 1, 2], domain="all"), w, (7,))
    assert samples[1] == w
    assert samples[2] == [0.5, 1, 3, 5, 6, 7, 3.5]
    wide = [0, 2, 0, 3, 0, 4, 0]
    assert by("factor", Scaling([0.5], domain="all"), wide, (7,))[0.5] == [0, 0, 2, 3, 4, 0, 0]


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
    samples = by("map", Affine(maps, domain="all"), w, (5, 5))
    places = [(1, 2), (2, 0), (2, 1), (0, 3), (1, 1)]
    for number, place in enumerate(places):
        assert samples[number][place[0]][place[1]] == pytest.approx(1, abs=1e-12), number
    plain = np.random.default_rng(0).standard_normal((5, 5))
    turned = in_pose(Affine(maps, domain="all"), plain, (5, 5), map=2)
    np.testing.assert_allclose(turned, plain.T, atol=1e-12)


def test_affine_in_one_dimension():
    samples = by("map", Affine([[[1, 2]]], axes=0, domain="all"), [1, 2, 3, 4], (4,))
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
    poses, samples = shown(Deformation(amplitude=2, n_fields=5, domain="all"), w, (9, 8, 2))
    assert [p["field"] for p in poses] == list(range(5))
    np.testing.assert_array_equal(samples[0], w)
    assert all(not np.allclose(s, w) for s in samples[1:])


def test_deformation_amplitude_is_the_largest_displacement():
    fields = displacements(Deformation(amplitude=1.5, n_fields=24, domain="all"), (20, 17))[1:]
    lengths = np.linalg.norm(fields, axis=1)
    largest = np.nanmax(lengths, axis=(1, 2))
    assert np.all(largest <= 1.5 + 1e-9)
    # about half of the largest displacements point into the grid, where they can be seen
    assert np.count_nonzero(np.abs(largest - 1.5) < 1e-9) >= 5
    constant = displacements(
        Deformation(amplitude=1.5, n_basis=1, n_fields=4, domain="all"), (20, 17)
    )[1:]
    lengths = np.linalg.norm(constant, axis=1)
    np.testing.assert_allclose(lengths[np.isfinite(lengths)], 1.5, rtol=0, atol=1e-9)


def test_deformation_reads_at_the_displaced_point():
    """A constant field ``u`` in one dimension: ``(T w)(x) = w(x + u)``."""
    family = Deformation(amplitude=2, n_basis=1, n_fields=6, axes=0, domain="all")
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
