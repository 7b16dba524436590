"""TIFF, OME-TIFF, FITS and alpha channels: what is a sample, what is missing, what is refused."""

from __future__ import annotations

import gzip
import importlib.util
import zlib

import numpy as np
import pytest
import samples
from samples import IMAGES, refused

from gtpca.readers import read_data

RNG = np.random.default_rng(3)
STACK = RNG.integers(0, 60000, (5, 7, 6), dtype=np.uint16)
HYPER = RNG.integers(0, 255, (3, 2, 4, 7, 6), dtype=np.uint8)  # T, C, Z, Y, X


@pytest.mark.parametrize(
    ("dtype", "how"),
    [
        (np.uint8, {}),
        (np.uint16, {}),
        (np.float32, {}),
        (np.uint16, {"byteorder": ">"}),
        (np.uint16, {"compression": "zlib"}),
        (np.float32, {"compression": "zlib", "tile": (16, 16)}),
        (np.int16, {"bigtiff": True}),
    ],
    ids=["bytes", "words", "floats", "big-endian", "zlib", "tiles", "bigtiff"],
)
def test_pages_of_a_stack_are_samples(dtype, how, tmp_path):
    tifffile = pytest.importorskip("tifffile")
    expected = STACK.astype(dtype)
    tifffile.imwrite(tmp_path / "a.tif", expected, photometric="minisblack", **how)
    data = read_data(tmp_path / "a.tif")
    assert data.rows.dtype == np.dtype(dtype)
    assert isinstance(data.rows, np.memmap) == (not {"byteorder", "compression"} & set(how))
    np.testing.assert_array_equal(data.rows, expected)
    assert (data.id_name, data.ids.tolist()) == ("page", list("01234"))
    assert data.axes == ("row", "column")


def test_pages_that_pillow_wrote(tmp_path):
    pytest.importorskip("tifffile")
    image = pytest.importorskip("PIL.Image")
    first, *others = [image.fromarray(page) for page in STACK]
    first.save(tmp_path / "a.tiff", save_all=True, append_images=others)
    np.testing.assert_array_equal(read_data(tmp_path / "a.tiff").rows, STACK)
    first.save(tmp_path / "b.tif", compression="tiff_lzw")
    if importlib.util.find_spec("imagecodecs") is None:
        refused(tmp_path / "b.tif", "is compressed by LZW: pip install imagecodecs")
    else:
        np.testing.assert_array_equal(read_data(tmp_path / "b.tif").rows[0], STACK[0])


def test_the_axes_of_ome(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    about = {"axes": "TCZYX", "Channel": {"Name": ["DAPI", "GFP"]}}
    tifffile.imwrite(tmp_path / "a.ome.tif", HYPER, metadata=about)
    data = read_data(tmp_path / "a.ome.tif")
    expected = HYPER.transpose(0, 2, 3, 4, 1).reshape(12, 7, 6, 2)
    np.testing.assert_array_equal(data.rows, expected)
    assert (data.id_name, data.ids[[0, 5, 11]].tolist()) == ("T-Z", ["0-0", "1-1", "2-3"])
    assert (data.axes, data.channels) == (("row", "column", "channel"), ["DAPI", "GFP"])
    tifffile.imwrite(tmp_path / "b.tif", HYPER[:, :, 0], imagej=True, metadata={"axes": "TCYX"})
    np.testing.assert_array_equal(
        read_data(tmp_path / "b.tif").rows, HYPER[:, :, 0].transpose(0, 2, 3, 1)
    )


def test_metadata_cannot_claim_more_than_there_is(tmp_path):
    """Such counts would be allocated; the pages themselves are read instead."""
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "a.ome.tif"
    tifffile.imwrite(path, HYPER[:, 0, 0], metadata={"axes": "TYX"})
    text = path.read_bytes()
    forged = text.replace(b'SizeT="3" SizeC="1"', b'SizeT="999999999"  ').replace(
        b'PlaneCount="3"', b'PlaneCount="9"'
    )
    assert forged != text
    path.write_bytes(forged)
    np.testing.assert_array_equal(read_data(path).rows, HYPER[:, 0, 0])


def test_several_series_need_a_key(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        file.write(STACK, photometric="minisblack")
        file.write(STACK[0, :4], photometric="minisblack")
    refused(tmp_path / "a.tif", r"give the key of one: '0' \(5, 7, 6\), '1' \(4, 6\)")
    np.testing.assert_array_equal(read_data(tmp_path / "a.tif", "0").rows, STACK)
    np.testing.assert_array_equal(read_data(tmp_path / "a.tif", "1").rows, STACK[:1, :4])


def test_strips_that_inflate_beyond_their_shape(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((4, 40), np.uint8), compression="zlib", rowsperstrip=4)
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        places = page.tags["StripOffsets"].valueoffset, page.tags["StripByteCounts"].valueoffset
    bomb, data = zlib.compress(bytes(2**27), 9), path.read_bytes()
    width = 4
    forged = bytearray(data + bomb)
    for place, value in zip(places, (len(data), len(bomb)), strict=True):
        forged[place : place + width] = value.to_bytes(width, "little")
    path.write_bytes(forged)
    refused(path, r"a chunk of \d+ bytes becomes more than 67108864")


def test_a_cut_stack(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, STACK, photometric="minisblack")
    path.write_bytes(path.read_bytes()[:-50])
    refused(path, "cannot be read as TIFF file")
    tifffile.imwrite(path, STACK[0])
    path.write_bytes(path.read_bytes()[:-50])
    refused(path, "is cut: its values are not all there")
    path.write_bytes(b"II*\x00" + bytes(40))
    refused(path, "a.tif")


@pytest.mark.parametrize("big", [False, True])
def test_pages_that_lead_back(big, tmp_path):
    """The last page is followed by the first: whoever follows the list never ends."""
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, STACK[:3], photometric="minisblack", bigtiff=big, metadata=None)
    with tifffile.TiffFile(path) as file:
        assert len(file.pages) == 3
        last, tags, first = file.pages[2].offset, len(file.pages[2].tags), file.pages[0].offset
    data, width = bytearray(path.read_bytes()), 8 if big else 4
    end = last + (8 if big else 2) + (20 if big else 12) * tags
    assert not any(data[end : end + width])
    data[end : end + width] = first.to_bytes(width, "little")
    path.write_bytes(data)
    refused(path, "is damaged: its list of pages leads back to byte")


def test_a_folder_of_tiffs_beside_pngs(tmp_path):
    tifffile, image = pytest.importorskip("tifffile"), pytest.importorskip("PIL.Image")
    tifffile.imwrite(tmp_path / "0.tif", IMAGES[0], photometric="rgb")
    tifffile.imwrite(tmp_path / "1.tiff", IMAGES[1], photometric="rgb", compression="zlib")
    image.fromarray(IMAGES[2]).save(tmp_path / "2.png")
    data = read_data(tmp_path)
    np.testing.assert_array_equal(data.rows, IMAGES)
    assert data.ids.tolist() == ["0.tif", "1.tiff", "2.png"]
    tifffile.imwrite(tmp_path / "3.tif", STACK, photometric="minisblack")
    refused(tmp_path, "3.tif is not a readable image: it holds several images")
    tifffile.imwrite(tmp_path / "3.tif", IMAGES[0, :3], photometric="rgb")
    refused(tmp_path, "3.tif is 6 x 3 RGB, but 0.tif is 6 x 4 RGB; .* --sizes pad")
    rows = read_data(tmp_path, sizes="pad").rows
    np.testing.assert_array_equal(rows[3, :3], IMAGES[0, :3])
    assert np.isnan(rows[3, 3]).all()
    resized = read_data(tmp_path, sizes="resize").rows
    assert (resized.shape, resized.dtype) == ((4, 4, 6, 3), np.uint8)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_transparent_pixels_of_png_are_missing(mode, tmp_path):
    image = pytest.importorskip("PIL.Image")
    for i, pixels in enumerate(IMAGES):
        alpha = np.full((4, 6), 255, np.uint8)
        alpha[i, 1], alpha[i, 2] = 0, 7  # what is nearly transparent is still seen
        picture = image.fromarray(np.dstack([pixels, alpha]))
        if mode == "P":
            picture = image.fromarray(np.where(alpha == 0, 1, 0).astype(np.uint8), "P")
            picture.putpalette([10, 20, 30, 40, 50, 60])
            picture.info["transparency"] = 1
        elif mode == "LA":
            picture = picture.convert("LA")
        picture.save(tmp_path / f"{i}.png")
    rows = read_data(tmp_path).rows
    assert (rows.dtype, rows.shape) == (np.float32, (3, 4, 6) if mode == "LA" else (3, 4, 6, 3))
    hidden = np.isnan(rows).reshape(3, 4, 6, -1)
    expected = np.zeros((3, 4, 6), bool)
    expected[[0, 1, 2], [0, 1, 2], 1] = True
    np.testing.assert_array_equal(hidden.all(axis=3), expected)
    np.testing.assert_array_equal(hidden.any(axis=3), expected)
    if mode == "RGBA":
        np.testing.assert_array_equal(rows[~expected], IMAGES[~expected])


def test_opaque_images_keep_their_type(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for i, pixels in enumerate(IMAGES):
        image.fromarray(pixels).convert("RGBA" if i else "RGB").save(tmp_path / f"{i}.png")
    data = read_data(tmp_path)
    assert data.rows.dtype == np.uint8
    np.testing.assert_array_equal(data.rows, IMAGES)


@pytest.mark.parametrize("kind", ["unassalpha", "assocalpha", "unspecified"])
def test_alpha_of_tiff(kind, tmp_path):
    tifffile = pytest.importorskip("tifffile")
    alpha = np.full((3, 4, 6, 1), 255, np.uint8)
    alpha[:, 0, 1] = 0
    pixels = np.concatenate([IMAGES, alpha], axis=3)
    tifffile.imwrite(tmp_path / "a.tif", pixels, photometric="rgb", extrasamples=[kind])
    rows = read_data(tmp_path / "a.tif").rows
    if kind == "unspecified":
        np.testing.assert_array_equal(rows, pixels)
        return
    assert rows.shape == IMAGES.shape
    assert np.isnan(rows[:, 0, 1]).all()
    assert np.isnan(rows).sum() == 9
    np.testing.assert_array_equal(rows[:, 1:], IMAGES[:, 1:])


def test_cubes_of_fits(tmp_path):
    fits = pytest.importorskip("astropy.io.fits")
    cube = RNG.standard_normal((4, 5, 6)).astype(np.float32)
    cube[1, 2, 3] = np.nan
    fits.PrimaryHDU(cube).writeto(tmp_path / "a.fits")
    data = read_data(tmp_path / "a.fits")
    np.testing.assert_array_equal(data.rows, cube)
    assert (data.rows.dtype.isnative, data.axes) == (True, ("row", "column"))
    assert (data.id_name, data.ids.tolist()) == ("plane", list("0123"))
    (tmp_path / "a.fits.gz").write_bytes(gzip.compress((tmp_path / "a.fits").read_bytes()))
    np.testing.assert_array_equal(read_data(tmp_path / "a.fits.gz").rows, cube)
    (tmp_path / "b.fits.gz").write_bytes(gzip.compress(bytes(2**27)))
    refused(tmp_path / "b.fits.gz", "bytes claim to hold")
    (tmp_path / "c.fits").write_bytes((tmp_path / "a.fits").read_bytes()[:3000])
    refused(tmp_path / "c.fits", "is cut")


def test_parts_of_fits_need_a_key(tmp_path):
    fits = pytest.importorskip("astropy.io.fits")
    first, second = RNG.integers(0, 99, (2, 3, 5, 6)).astype(np.int32)
    parts = [fits.PrimaryHDU(), fits.ImageHDU(first, name="SCI"), fits.ImageHDU(second, name="ERR")]
    table = fits.BinTableHDU.from_columns([fits.Column("a", "E", array=np.zeros(3))])
    fits.HDUList([*parts, table]).writeto(tmp_path / "a.fits")
    refused(tmp_path / "a.fits", r"give the key of one: 'SCI' \(3, 5, 6\), 'ERR' \(3, 5, 6\)")
    np.testing.assert_array_equal(read_data(tmp_path / "a.fits", "ERR").rows, second)
    fits.HDUList([parts[0], table]).writeto(tmp_path / "b.fits")
    refused(tmp_path / "b.fits", "there is no image in it; .*funpack")


def test_blank_and_scaled_values_of_a_folder_of_fits(tmp_path):
    fits = pytest.importorskip("astropy.io.fits")
    values = RNG.integers(0, 99, (3, 5, 6)).astype(np.int16)
    values[:, 2, 3] = -999
    for i, pixels in enumerate(values):
        part = fits.PrimaryHDU(pixels)
        part.header["BLANK"] = -999
        part.writeto(tmp_path / f"cut{i}.fits")
    data = read_data(tmp_path)
    assert data.ids.tolist() == ["cut0.fits", "cut1.fits", "cut2.fits"]
    expected = np.where(values == -999, np.nan, values)
    np.testing.assert_array_equal(data.rows, expected)
    unsigned = values[0].astype(np.uint16) + 40000
    fits.PrimaryHDU(unsigned).writeto(tmp_path / "a.fits")
    np.testing.assert_array_equal(read_data(tmp_path / "a.fits").rows[0], unsigned)
    fits.PrimaryHDU(np.zeros((3, 5, 6), np.int16)).writeto(tmp_path / "cut3.fits")
    (tmp_path / "a.fits").unlink()
    refused(tmp_path, r"cut3.fits is not a readable image: it holds \(3, 5, 6\)")


def test_options_that_images_do_not_have(tmp_path):
    if not samples.available("tif"):
        pytest.skip("tifffile is not installed")
    refused(samples.tif(tmp_path), "labels='a' does not apply to this kind of file", labels="a")


def test_an_extended_header_that_claims_much(tmp_path):
    pytest.importorskip("mrcfile")
    path = samples.write_sample("mrcs", tmp_path)
    data = bytearray(path.read_bytes())
    data[92:96] = (10**9).to_bytes(4, "little")
    path.write_bytes(data)
    samples.refused(path, "claims 1000000000 bytes more, beyond the end")
