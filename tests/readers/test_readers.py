"""Rows out of files of every kind, and one clear line for every file that is broken."""

from __future__ import annotations

import io
import json
import pickle
import sys
import zipfile

import numpy as np
import pytest
import samples
from samples import IMAGES, SIGNAL, X, refused
from scipy.io import loadmat, savemat

from gtpca import ALS, GTPCA, Shift
from gtpca.readers import FileRows, read_data

ROWS = {kind: X for kind in ("npy", "npz", "csv", "tsv", "mat5", "mat73", "parquet", "h5", "xlsx")}
ROWS |= {"zarr": X, "zarr2": X, "ts": np.stack([X, -X], axis=2), "png": IMAGES}
WINDOWS = SIGNAL.reshape(2, 8, 50).transpose(1, 2, 0)
ROWS |= {"wav": WINDOWS} | dict.fromkeys(
    ("fif", "edf", "bdf", "hea", "vhdr", "eeglab", "eeglab73", "bids", "study"), 1e-6 * WINDOWS
)
ROWS |= dict.fromkeys(("tif", "ome", "tiffs"), IMAGES)
ROWS |= dict.fromkeys(("fits", "fits_folder", "mrcs", "star"), IMAGES[..., 0])
ROUGH = dict.fromkeys(("fif", "vhdr", "eeglab", "eeglab73", "bids", "study"), 1e-6)  # 32 bits
LAZY = {"npy": np.memmap, "mrcs": np.memmap} | dict.fromkeys(
    ("h5", "mat73", "zarr", "zarr2", "fif", "star"), FileRows
)


def need(kind):
    if not samples.available(kind):
        pytest.skip(f"{samples.NEEDS[kind]} is not installed")


@pytest.mark.parametrize("kind", ROWS)
def test_every_kind_gives_its_rows(kind, tmp_path):
    need(kind)
    path = samples.write_sample(kind, tmp_path)
    with read_data(path, **samples.options(kind)) as data:
        assert isinstance(data.rows, LAZY.get(kind, object))
        rows = np.asarray(data.rows[:])
        np.testing.assert_allclose(rows, ROWS[kind], rtol=ROUGH.get(kind, 1e-12))
        np.testing.assert_array_equal(rows[2:4], np.asarray(data.rows[2:4]))
        np.testing.assert_array_equal(np.asarray(data.rows)[1], rows[1])


@pytest.mark.parametrize("kind", ["npy", "h5", "mat73", "zarr", "fif"])
def test_rows_that_stay_in_their_file_can_be_fitted(kind, tmp_path):
    need(kind)
    path = samples.write_sample(kind, tmp_path)
    with read_data(path, **samples.options(kind)) as data:
        shape = data.rows.shape[1:]
        model = GTPCA(1, Shift(3, axes=0), solver=ALS(n_init=2, max_iter=4), random_state=0)
        lazy = model.fit(data.rows).components_
        assert shape == ROWS[kind].shape[1:]
        np.testing.assert_allclose(model.fit(np.asarray(data.rows[:])).components_, lazy, atol=1e-9)


def test_what_a_file_says_beside_its_rows(tmp_path):
    data = read_data(samples.ts(tmp_path))
    assert data.labels.tolist() == ["down", "up"] * 3
    assert read_data(samples.csv(tmp_path)).features == list("abcde")


def several(kind, folder):
    """A file that holds X (6, 5) and y (6,)."""
    arrays = {"X": X, "y": np.arange(6)}
    if kind == "npz":
        np.savez(folder / "a.npz", **arrays)
    elif kind == "mat":
        savemat(folder / "a.mat", {"X": X, "y": np.arange(6)[:, None]})
    elif kind == "h5":
        with pytest.importorskip("h5py").File(folder / "a.h5", "w") as file:
            file.update(arrays)
    else:
        pytest.importorskip("zarr").save_group(str(folder / "a.zarr"), **arrays)
    return folder / f"a.{kind}"


@pytest.mark.parametrize("kind", ["npz", "mat", "h5", "zarr"])
def test_one_of_several_arrays_needs_a_key(kind, tmp_path):
    path = several(kind, tmp_path)
    refused(path, r"several arrays; give the key of one: .*'X' \(6, 5\)")
    refused(path, r"no array with the key 'Z'; there are: .*'y' \(6", key="Z")
    np.testing.assert_array_equal(read_data(path, "X").rows[:], X)
    if kind != "mat":
        refused(path, r"has shape \(6,\), but rows need at least two axes", key="y")


def test_matlab_variables_are_those_that_scipy_reads(tmp_path):
    rng = np.random.default_rng(0)
    kinds = [np.float64, np.float32, np.int8, np.uint8, np.int16, np.uint32, np.int64]
    arrays = {f"a{i}": rng.integers(0, 90, (4, 3 + i)).astype(k) for i, k in enumerate(kinds)}
    arrays |= {"stack": rng.standard_normal((2, 3, 4)), "a_rather_long_name": np.eye(70)}
    for compressed in (False, True):
        savemat(tmp_path / "a.mat", {**arrays, "s": "text"}, do_compression=compressed)
        expected = loadmat(tmp_path / "a.mat")
        for name in arrays:
            rows = read_data(tmp_path / "a.mat", name).rows
            np.testing.assert_array_equal(rows, expected[name])
            assert rows.dtype == arrays[name].dtype
    refused(tmp_path / "a.mat", "'s' is text", key="s")
    savemat(tmp_path / "b.mat", {"X": X + 1j})
    refused(tmp_path / "b.mat", "'X' is complex")


def test_a_hdf5_file_cannot_point_elsewhere(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["X"] = X
    (tmp_path / "raw").write_bytes(X.tobytes())
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["X"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "X")
    refused(tmp_path / "link.h5", "no array in it", key="X")
    with h5py.File(tmp_path / "raw.h5", "w") as file:
        raw = [(str(tmp_path / "raw"), 0, X.nbytes)]
        file.create_dataset("X", X.shape, "f8", external=raw)
    refused(tmp_path / "raw.h5", "kept in other files")


def test_broken_chunks_are_found_when_they_are_read(tmp_path):
    pytest.importorskip("zarr")
    path = samples.zarr(tmp_path)
    chunk = next(p for p in (path / "X" / "c").rglob("*") if p.is_file())
    chunk.write_bytes(chunk.read_bytes()[:5])
    rows = read_data(path).rows
    with pytest.raises(ValueError, match=r"a\.zarr, 'X' cannot be read"):
        rows[:]


def test_only_trusted_codecs_decode_a_zarr_array(tmp_path):
    pytest.importorskip("zarr")
    path = samples.zarr2(tmp_path)
    about = json.loads((path / "X" / ".zarray").read_text())
    about["filters"] = [{"id": "base64"}]
    (path / "X" / ".zarray").write_text(json.dumps(about))
    (path / ".zmetadata").unlink(missing_ok=True)
    refused(path, "codec 'base64', which is not trusted")


class Payload:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def test_pickles_are_never_opened(tmp_path):
    trap = tmp_path / "trap"
    objects = np.array([[Payload(trap)]], dtype=object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "a.npz", X=objects)
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Payload(trap)))
    refused(tmp_path / "a.npy", "dtype object")
    refused(tmp_path / "a.npz", "dtype object")
    refused(tmp_path / "b.npy", "magic string")
    assert not trap.exists()


def test_large_arrays_are_not_loaded(tmp_path):
    head = io.BytesIO()
    about = {"descr": "<f4", "fortran_order": False, "shape": (10**6, 1000)}
    np.lib.format.write_array_header_1_0(head, about)
    with open(tmp_path / "a.npy", "wb") as file:  # 4 GB, none of them on the disk
        file.write(head.getvalue())
        file.truncate(len(head.getvalue()) + 4 * 10**9)
    rows = read_data(tmp_path / "a.npy").rows
    assert rows.shape == (10**6, 1000)
    assert not rows[-3:].any()


def test_sizes_are_not_believed(tmp_path):
    head = io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 1000)}
    np.lib.format.write_array_header_1_0(head, about)
    (tmp_path / "a.npy").write_bytes(head.getvalue() + bytes(80))
    refused(tmp_path / "a.npy", "80 bytes of values do not make")
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", head.getvalue() + bytes(10**7))
    refused(tmp_path / "a.npz", "bytes of values do not make")


def test_a_huge_chunk_of_a_hdf5_file_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("Y", (10**9, 10), "f8", chunks=(3 * 10**7, 10))
    refused(tmp_path / "a.h5", "too large", key="Y")


def test_rows_of_a_hdf5_file_that_are_not_stored_are_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("claimed", (10**11, 8), "f4", chunks=(1000, 8))
        file.create_dataset("plain", (10**11, 8), "f4")
        file.create_dataset("cut", (1000, 8), "f4", chunks=(100, 8))[:420] = 1
        file.create_dataset("whole", (1000, 8), "f4", chunks=(300, 8))[:] = 1
    assert path.stat().st_size < 2**20
    refused(path, "100000000 of 100000000 chunks, about 100000000000 of", key="claimed")
    refused(path, "about 100000000000 of 100000000000 rows, are not stored", key="plain")
    refused(path, "5 of 10 chunks, about 500 of 1000 rows, are not stored", key="cut")
    with read_data(path, "whole") as data:
        assert np.all(data.rows[990:] == 1)


def test_chunks_of_a_zarr_store_that_are_not_stored_are_told(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    array = group.create_array("X", shape=(10**11, 5), dtype="f8", chunks=(100, 5))
    refused(tmp_path / "a.zarr", "none of 1000000000 chunks is stored")
    array[:6] = X
    with pytest.warns(UserWarning, match="999999999 of 1000000000 chunks, about 99999999900 of"):
        data = read_data(tmp_path / "a.zarr")
    np.testing.assert_array_equal(data.rows[:6], X)


def test_options_and_endings_that_make_no_sense(tmp_path):
    refused(samples.npy(tmp_path), "key='X' does not apply", key="X")
    refused(
        samples.csv(tmp_path), "labels='kind' does not apply with a window", labels="kind", window=3
    )
    (tmp_path / "a.xyz").write_text("1")
    refused(tmp_path / "a.xyz", r"extension '\.xyz' is none of \.npy, .*\.edf")
    (tmp_path / "b.npy").write_bytes(b"")
    refused(tmp_path / "b.npy", "is empty")
    with pytest.raises(FileNotFoundError, match="nothing"):
        read_data(tmp_path / "nothing.npy")
    np.save(tmp_path / "c.npy", X[:0])
    refused(tmp_path / "c.npy", r"shape \(0, 5\): there is nothing")
    np.save(tmp_path / "c.npy", X + 1j)
    refused(tmp_path / "c.npy", "complex128, but must hold real numbers")


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("a.h5", "h5py", "io"),
        ("a.parquet", "pyarrow", "io"),
        ("images", "PIL", "io"),
        ("a.zarr", "zarr", "io"),
        ("a.edf", "mne", "eeg"),
        ("a.vhdr", "mne", "eeg"),
        ("a.tif", "tifffile", "images"),
        ("a.fits", "astropy", "images"),
        ("a.mrcs", "mrcfile", "images"),
        ("a.star", "starfile", "images"),
        ("a.xlsx", "openpyxl", "io"),
    ],
)
def test_a_missing_package_names_the_extra(name, module, extra, tmp_path, monkeypatch):
    for loaded in [m for m in sys.modules if m.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / name
    if path.suffix in ("", ".zarr"):
        path.mkdir()
        (path / ("zarr.json" if path.suffix else "a.png")).write_bytes(b"{}")
    else:
        path.write_bytes(b"content")
    with pytest.raises(ImportError, match=rf'{module} is missing: pip install "gtpca\[{extra}\]"'):
        read_data(path, **({"window": 5} if extra == "eeg" else {}))
