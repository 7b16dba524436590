"""Small files that would become huge, and names that would break a line."""

from __future__ import annotations

import gzip
import os
import zlib

import numpy as np
import pytest
from samples import refused
from scipy.io import savemat

import gtpca
from gtpca.readers import read_data

MANY = 70 * 2**20  # more than any file may become


def test_packed_arrays(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((70, 2**20), np.uint8))
    refused(tmp_path / "a.npz", rf"bytes claim to hold {MANY + 128} bytes.*unpack them into \.npy")
    savemat(tmp_path / "a.mat", {"X": np.zeros((9, 2**20))}, do_compression=True)
    refused(tmp_path / "a.mat", f"bytes claim to hold {9 * 2**23} bytes")


def test_what_is_less_is_read(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((60, 2**20), np.uint8))
    assert read_data(tmp_path / "a.npz").rows.shape == (60, 2**20)


def test_packed_text(tmp_path):
    line = b"1," * 2000 + b"1\n"
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(line * 5000))
    refused(tmp_path / "a.csv.gz", r"claim to hold \d{8} bytes of values, more than 30 times")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(line * 50))
    assert read_data(tmp_path / "b.csv.gz").rows.shape == (50, 2001)


def test_lines_of_unequal_length(tmp_path):
    (tmp_path / "a.csv").write_text("1.5,2\n" + "," * 20_000 + "\n" + "1,2\n" * 1000)
    refused(tmp_path / "a.csv", "bytes claim to hold 160328016 bytes", missing="ignore")
    wide = ",".join(["1"] * 20_000)
    (tmp_path / "a.ts").write_text(f"@data\n{wide}\n" + "1,2\n" * 1000)
    refused(tmp_path / "a.ts", "bytes claim to hold 160160000 bytes", missing="ignore")


def test_a_label_that_is_far_longer_than_the_others(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("kind,a\n" + "k" * 100_000 + ",1\n" + "k,1\n" * 1000)
    refused(path, "column 'kind' holds a text of 100000 characters.*shorten", labels="kind")


def test_a_text_that_is_often_in_a_parquet_file(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"kind": ["k" * 100_000] * 400, "a": np.arange(400.0)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", "'kind' holds a text of 100000 characters", labels="kind")
    assert read_data(tmp_path / "a.parquet", drop="kind").rows.shape == (400, 1)


def test_chunks_that_inflate_beyond_their_shape(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        X = file.create_dataset("X", (10, 10), "f8", chunks=(10, 10), compression="gzip")
        X.id.write_direct_chunk((0, 0), zlib.compress(bytes(MANY)))
        wide = file.create_dataset("wide", (9, 2**20), "f8", chunks=(9, 2**20), compression="gzip")
        wide[:] = 0
        twice = file.create_dataset("good", (100, 1000), "f8", chunks=True, compression="gzip")
        twice[:] = 1
    refused(tmp_path / "a.h5", r"a chunk of \d+ bytes becomes more than 67108864", key="X")
    refused(tmp_path / "a.h5", f"claim to hold {9 * 2**23} bytes", key="wide")
    assert read_data(tmp_path / "a.h5", "good").rows[:].sum() == 1e5


@pytest.mark.parametrize("name", ["Zstd", "GZip", "Zlib", "BZ2", "LZMA", "Blosc", "LZ4"])
def test_chunks_of_zarr_that_inflate_beyond_their_shape(name, tmp_path):
    zarr, numcodecs = pytest.importorskip("zarr"), pytest.importorskip("numcodecs")
    codec = getattr(numcodecs, name)()
    how = {"chunks": (10, 10), "dtype": "f8", "compressors": codec, "fill_value": 0}
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w", zarr_format=2)
    group.create_array("X", shape=(10, 10), **how)[:] = np.arange(100.0).reshape(10, 10)
    assert read_data(tmp_path / "a.zarr").rows[:].sum() == 4950
    (tmp_path / "a.zarr" / "X" / "0.0").write_bytes(codec.encode(bytes(MANY)))
    refused(tmp_path / "a.zarr", r"a chunk of \d+ bytes becomes more than 67108864")


def test_sizes_of_streams_are_bounds():
    numcodecs = pytest.importorskip("numcodecs")
    from gtpca.readers.inflating import inflated_size

    data = np.random.default_rng(0).integers(0, 9, 500_000, dtype=np.uint8).tobytes()
    for name in ("Zstd", "GZip", "Zlib", "BZ2", "LZMA", "Blosc", "LZ4"):
        packed = bytes(getattr(numcodecs, name)().encode(data))
        found = inflated_size(name.lower(), packed, 2**30)
        assert len(data) <= found <= len(data) + 2**17
        assert inflated_size(name.lower(), packed[:9], 2**30) <= found


def test_one_image_that_is_huge(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name, size in (("a", 9000), ("b", 8), ("c", 8)):
        image.fromarray(np.zeros((size, size), np.uint8)).save(tmp_path / f"{name}.png")
    refused(tmp_path, "bytes claim to hold 81000000 bytes", sizes="resize")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_pipes_are_refused(tmp_path):
    for name in ("a.csv", "a.npy", "a.gtpca"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(ValueError, match="is a pipe or a device; copy it into a file"):
            read_data(tmp_path / name)
    with pytest.raises(ValueError, match="is a pipe or a device"):
        gtpca.load(tmp_path / "a.gtpca")


@pytest.mark.skipif(os.name != "posix", reason="names of files have no such characters")
def test_names_with_new_lines(tmp_path):
    path = tmp_path / "two\nlines.csv"
    path.write_text("a,b\n1,x\n")
    with pytest.raises(ValueError, match=r"two\\nlines\.csv: column 'b' holds text") as caught:
        read_data(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"two\\nlines\.foo: the extension") as caught:
        read_data(path.rename(tmp_path / "two\nlines.foo"))
    assert "\n" not in str(caught.value)
