"""Stacks of particles, STAR files, and poses that RELION undoes."""

from __future__ import annotations

import numpy as np
import pytest
import samples
from samples import IMAGES, refused
from scipy import ndimage

from gtpca import GTPCA, Compose, Reflection, Rotation, Shift
from gtpca.readers import read_data, relion_poses, write_star

PSI, X, Y = "rlnAnglePsi", "rlnOriginXAngst", "rlnOriginYAngst"


def need(kind):
    if not samples.available(kind):
        pytest.skip(f"{samples.NEEDS[kind]} is not installed")


def moved_by_relion(image, psi, x, y):
    """RELION's ``--apply_transformation``: the point p comes to c + R(psi) (p + o - c)."""
    c = np.array(image.shape) // 2  # rows, columns
    cos, sin = np.cos(np.deg2rad(psi)), np.sin(np.deg2rad(psi))
    back = np.array([[cos, -sin], [sin, cos]])  # R(-psi) for (row, column)
    return ndimage.affine_transform(image, back, c - back @ c - [y, x], order=1)


def test_relion_turns_by_its_matrix():
    """Its matrix turns the axis of columns towards that of rows: clockwise as displayed."""
    image = np.zeros((9, 9))
    image[4, 7] = 1  # on the axis of columns
    assert moved_by_relion(image, 90, 0, 0)[7, 4] == pytest.approx(1)
    assert moved_by_relion(image, 0, 1, -2)[2, 8] == pytest.approx(1)
    assert moved_by_relion(image, 90, 1, 0)[8, 4] == pytest.approx(1)  # shifted, then turned


def pattern(size):
    row, column = np.indices((size, size)) - (size - 1) / 2
    first = np.exp(-((row - 1) ** 2 + (column - 3) ** 2) / 4)
    return first + 0.6 * np.exp(-((row + 3) ** 2 + (column + 1) ** 2) / 3)


@pytest.mark.parametrize(("window", "size"), [(13, 24), (14, 25)], ids=["odd", "even"])
def test_planted_right_angles_and_shifts_are_undone_by_relion(window, size):
    rng = np.random.default_rng(0)
    images = np.zeros((30, size, size))
    for image in images:
        i, j = rng.integers(2, size - window - 1, 2)
        image[i : i + window, j : j + window] = np.rot90(pattern(window), rng.integers(4))
    model = GTPCA(1, Compose(Shift((window, window)), Rotation(4)), random_state=0).fit(images)
    poses = relion_poses(model, model.encode(images), pixel_size=1.5)
    assert np.abs(poses[PSI]).max() <= 180
    rows = zip(images, poses[PSI], poses[X] / 1.5, poses[Y] / 1.5, strict=True)
    aligned = np.array([moved_by_relion(*row) for row in rows])
    np.testing.assert_allclose(aligned, np.broadcast_to(aligned[0], aligned.shape), atol=1e-9)
    centre = ndimage.center_of_mass(aligned[0])
    assert np.abs(np.array(centre) - size // 2).max() < 3


def test_planted_angles_are_undone_by_relion():
    rng, image = np.random.default_rng(1), pattern(31)
    angles = 10.0 * rng.integers(36, size=40)
    images = np.array([ndimage.rotate(image, a, reshape=False, order=1) for a in angles])
    model = GTPCA(1, Rotation(36), random_state=0).fit(images)
    poses = relion_poses(model, model.encode(images))
    rows = zip(images, poses[PSI], poses[X], poses[Y], strict=True)
    aligned = np.array([moved_by_relion(*row) for row in rows])
    mean = aligned.mean(axis=0)
    likeness = [np.corrcoef(one.ravel(), mean.ravel())[0, 1] for one in aligned]
    assert min(likeness) > 0.99
    assert np.corrcoef(images[0].ravel(), images.mean(axis=0).ravel())[0, 1] < 0.9


def test_poses_that_relion_does_not_have():
    images = np.random.default_rng(0).standard_normal((8, 6, 6))
    for family in (Reflection(axes=0), Shift(4, axes=0), Compose(Rotation(4), Shift((4, 4)))):
        model = GTPCA(1, family, random_state=0).fit(images)
        with pytest.raises(ValueError, match="no counterpart in RELION; Rotation"):
            relion_poses(model, model.encode(images))
    model = GTPCA(1, Rotation(4), random_state=0).fit(images)
    with pytest.raises(ValueError, match="component=1 must be one of 0 to 0"):
        relion_poses(model, model.encode(images), component=1)
    assert set(relion_poses(model, model.encode(images))[X]) == {0.5}  # the centre is pixel 3


def test_a_stack_stays_in_its_file(tmp_path):
    need("mrcs")
    data = read_data(samples.mrcs(tmp_path))
    assert isinstance(data.rows, np.memmap)
    assert (data.ids[0], data.id_name) == ("000001@a.mrcs", "rlnImageName")
    assert data.axes == ("row", "column")


def test_other_kinds_of_numbers_in_stacks(tmp_path):
    need("mrcs")
    import mrcfile

    for dtype in (np.int8, np.int16, np.uint16, np.float16):
        with mrcfile.new(tmp_path / "a.mrcs", overwrite=True) as file:
            file.set_data(IMAGES[..., 0].astype(dtype))
        np.testing.assert_array_equal(
            read_data(tmp_path / "a.mrcs").rows, IMAGES[..., 0].astype(dtype)
        )
    with mrcfile.new(tmp_path / "a.mrcs", overwrite=True) as file:
        file.set_data(np.zeros((3, 4, 6), np.complex64))
    refused(tmp_path / "a.mrcs", "must hold real numbers")
    path = samples.mrcs(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    refused(path, "a.mrcs")


def test_particles_of_several_stacks(tmp_path):
    need("star")
    path = samples.star(tmp_path)
    samples.mrcs(tmp_path).rename(tmp_path / "b.mrcs")
    text = path.read_text().replace("000003@Extract/a.mrcs", "1@b.mrcs")
    (tmp_path / "Class2D").mkdir()
    path = tmp_path / "Class2D" / "run.star"  # names begin at the folder of the project
    path.write_text(text)
    data = read_data(path, labels="rlnClassNumber")
    expected = IMAGES[[0, 1, 0], ..., 0]
    np.testing.assert_array_equal(data.rows[:], expected)
    np.testing.assert_array_equal(data.rows[1], expected[1])
    np.testing.assert_array_equal(data.rows[1:, 2], expected[1:, 2])
    np.testing.assert_array_equal(data.rows[[2, 0]], expected[[2, 0]])
    assert data.labels.tolist() == ["0", "1", "0"]
    assert data.ids.tolist()[1:] == ["000002@Extract/a.mrcs", "1@b.mrcs"]
    refused(path, r"labels='rlnClass' is not a column\. Did you mean", labels="rlnClass")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("000004@Extract/a.mrcs", "4@Extract/a.mrcs is not there: the stack has 3 images"),
        ("000000@Extract/a.mrcs", "0@Extract/a.mrcs is not there"),
        ("000001@Extract/b.mrcs", "the stack Extract/b.mrcs is neither beside it nor below"),
        ("000001@../a.mrcs", "refers to ../a.mrcs, which is no .mrcs file"),
        ("000001@/etc/passwd", "refers to /etc/passwd"),
        ("x@Extract/a.mrcs", "'x@Extract/a.mrcs' is not the name of an image"),
    ],
)
def test_wrong_names_of_particles(name, message, tmp_path):
    need("star")
    path = samples.star(tmp_path)
    path.write_text(path.read_text().replace("000002@Extract/a.mrcs", name))
    refused(path, message)


def test_a_star_file_with_the_poses_of_a_model(tmp_path):
    need("star")
    import starfile

    rng = np.random.default_rng(0)
    images = np.zeros((12, 20, 20), np.float32)
    for image in images:
        i, j = rng.integers(1, 6, 2)
        image[i : i + 13, j : j + 13] = np.rot90(pattern(13), rng.integers(4))
    path, new = samples.star(tmp_path, images), tmp_path / "new.star"
    with read_data(path) as data:
        model = GTPCA(1, Compose(Shift((13, 13)), Rotation(4)), random_state=0).fit(data.rows)
        codes = model.encode(data.rows)
    write_star(new, path, model, codes)
    blocks, before = starfile.read(new), starfile.read(path)
    assert list(blocks) == list(before)
    particles = blocks["particles"]
    assert list(particles.columns) == [*before["particles"].columns, PSI, X, Y]
    rows = zip(images, particles[PSI], particles[X] / 1.5, particles[Y] / 1.5, strict=True)
    aligned = np.array([moved_by_relion(*row) for row in rows])
    np.testing.assert_allclose(aligned, np.broadcast_to(aligned[0], aligned.shape), atol=1e-5)
    np.testing.assert_array_equal(read_data(new).rows[:], images)
    with pytest.raises(ValueError, match="there are 5 codes, but 12 particles"):
        write_star(new, path, model, model.encode(images[:5]))
    text = path.read_text().replace("_rlnImagePixelSize", "_rlnSomethingElse")
    path.write_text(text)
    with pytest.raises(ValueError, match="the size of a pixel is not in the STAR file"):
        write_star(new, path, model, codes)
    write_star(new, path, model, codes, pixel_size=1.5)
    np.testing.assert_allclose(starfile.read(new)["particles"][X], particles[X])
