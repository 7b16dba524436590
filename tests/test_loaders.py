"""Loaders on small and on real files."""

import gzip
import hashlib
import os
import struct
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest

from gtpca.datasets import DatasetError, fetch_eeg, fetch_handwriting, fetch_mnist, files, loaders

needs_data = pytest.mark.skipif(
    not os.environ.get("GTPCA_DATA"),
    reason="GTPCA_DATA is not set: no folder with the real data files",
)


# Loaders on small files of the same structure


def idx(array, code=8):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    return header + array.tobytes()


def put(home, monkeypatch, name, content):
    """Write a file below home and make its checksum the expected one."""
    path = home / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    checksum = "sha256:" + hashlib.sha256(content).hexdigest()
    monkeypatch.setitem(files.CHECKSUMS, name, checksum)
    return path


IMAGES, LABELS = "mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"


@pytest.fixture
def small_mnist(tmp_path, monkeypatch):
    images = np.arange(4 * 28 * 28).reshape(4, 28, 28).astype(np.uint8)
    labels = np.array([7, 2, 1, 0], np.uint8)
    put(tmp_path, monkeypatch, IMAGES, gzip.compress(idx(images)))
    put(tmp_path, monkeypatch, LABELS, gzip.compress(idx(labels)))
    return tmp_path, images, labels


@pytest.fixture
def no_network(monkeypatch):
    """Downloads go to a port where nobody listens."""
    unreachable = ("http://127.0.0.1:9/first", "http://127.0.0.1:9/second")
    monkeypatch.setattr(files, "ADDRESSES", dict.fromkeys(files.ADDRESSES, unreachable))


def test_mnist_from_argument_and_from_environment(small_mnist, monkeypatch):
    home, images, labels = small_mnist
    digits = fetch_mnist("test", data_home=home)
    assert np.array_equal(digits.data, images)
    assert np.array_equal(digits.target, labels)
    assert digits.data.flags.writeable
    assert "MNIST" in digits.DESCR
    monkeypatch.setenv("GTPCA_DATA", str(home))
    assert np.array_equal(fetch_mnist("test").target, labels)


def test_mnist_names_the_bad_subset():
    with pytest.raises(ValueError, match=r"subset='valid'.*'train' or 'test'"):
        fetch_mnist("valid")


def test_mnist_needs_a_label_for_every_image(small_mnist, monkeypatch):
    home, _, labels = small_mnist
    put(home, monkeypatch, LABELS, gzip.compress(idx(labels[:3])))
    with pytest.raises(DatasetError, match="4 images but 3 labels"):
        fetch_mnist("test", home)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda raw: gzip.compress(raw)[:-20], "truncated or not a gzip"),
        (lambda raw: raw, "truncated or not a gzip"),
        (lambda raw: gzip.compress(raw[:-1]), "truncated: 3135 values"),
        (lambda raw: gzip.compress(raw[:7]), "not an idx file"),
        (lambda raw: gzip.compress(b"\0\0\x0d" + raw[3:]), "not an idx file"),
        (lambda raw: gzip.compress(raw[:3] + b"\1" + raw[4:]), "not an idx file"),
    ],
)
def test_a_damaged_idx_file_is_named(small_mnist, monkeypatch, damage, message):
    home, images, _ = small_mnist
    path = put(home, monkeypatch, IMAGES, damage(idx(images)))
    with pytest.raises(DatasetError, match=message) as caught:
        fetch_mnist("test", home)
    assert str(path) in str(caught.value)


def test_a_wrong_checksum_is_named_and_the_file_kept(tmp_path, no_network):
    path = tmp_path / "handwriting" / "handwrit.rda"
    path.parent.mkdir()
    path.write_bytes(b"mine")
    with pytest.raises(DatasetError) as caught:
        fetch_handwriting(tmp_path)
    for part in (str(path), hashlib.sha256(b"mine").hexdigest(), "8a17c79a", "left as it is"):
        assert part in str(caught.value)
    assert path.read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("fetch", "name"),
    [
        (fetch_mnist, "mnist/train-images-idx3-ubyte.gz"),
        (fetch_handwriting, "handwriting/handwrit.rda"),
        (fetch_eeg, "eeg/eegdata.rda"),
    ],
)
def test_without_network_the_error_says_what_to_do(tmp_path, no_network, fetch, name):
    pytest.importorskip("pooch")
    with pytest.raises(DatasetError) as caught:
        fetch(data_home=tmp_path)
    file = name.split("/")[1]
    for part in (str(tmp_path / name), f"first/{file}", f"second/{file}", "GTPCA_DATA", "by hand"):
        assert part in str(caught.value)
    assert not (tmp_path / name).exists()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A folder, and the address under which it is served."""
    pytest.importorskip("pooch")
    folder = tmp_path / "served"
    folder.mkdir()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=folder)) as httpd:
        Thread(target=httpd.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()


def test_mirrors_are_tried_until_the_checksum_fits(small_mnist, server, monkeypatch):
    home, images, _ = small_mnist
    folder, address = server
    file = IMAGES.split("/")[1]
    for mirror, content in (("wrong", b"error page"), ("right", (home / IMAGES).read_bytes())):
        (folder / mirror).mkdir()
        (folder / mirror / file).write_bytes(content)
    (home / IMAGES).unlink()

    monkeypatch.setitem(files.ADDRESSES, "mnist", (f"{address}/absent", f"{address}/wrong"))
    with pytest.raises(DatasetError, match=r"(?s)absent.*404.*wrong.*hash") as caught:
        fetch_mnist("test", home)
    assert str(home / IMAGES) in str(caught.value)
    assert [path.name for path in (home / "mnist").iterdir()] == [LABELS.split("/")[1]]

    monkeypatch.setitem(files.ADDRESSES, "mnist", (f"{address}/wrong", f"{address}/right"))
    assert np.array_equal(fetch_mnist("test", home).data, images)
    monkeypatch.setitem(files.ADDRESSES, "mnist", ())
    assert np.array_equal(fetch_mnist("test", home).data, images)  # now from the folder


def test_cache_folder_is_the_last_resort(tmp_path, no_network, monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv("GTPCA_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / project)
    with pytest.raises(DatasetError, match=r"handwrit\.rda") as caught:
        fetch_handwriting()
    assert str(tmp_path / "gtpca" / "handwriting") in str(caught.value)


@pytest.mark.parametrize("missing", ["pooch", "rdata"])
def test_a_missing_package_names_the_extra(tmp_path, monkeypatch, missing):
    def import_module(name):
        raise ImportError(name)

    monkeypatch.setattr(files, "import_module", import_module)
    if missing == "rdata":
        put(tmp_path, monkeypatch, "handwriting/handwrit.rda", b"")
    with pytest.raises(ImportError, match=rf'{missing} is missing: pip install "gtpca\[data\]"'):
        fetch_handwriting(tmp_path)


# The long table of the EEG


@pytest.fixture
def table():
    """Three trials of two channels and four times; the third equals the first."""
    pandas = pytest.importorskip("pandas")
    voltage = np.random.RandomState(0).standard_normal((3, 2, 4))
    voltage[2] = voltage[0]
    return pandas.DataFrame(
        {
            "subject": pandas.Categorical(np.repeat(["s1", "s2", "s2"], 8)),
            "group": pandas.Categorical(np.repeat(["a", "c", "c"], 8)),
            "condition": pandas.Categorical(["S1"] * 24),
            "trial": pandas.array(np.repeat([0, 0, 6], 8), "Int32"),
            "channel": pandas.Categorical(np.tile(np.repeat(["FZ", "CZ"], 4), 3)),
            "time": pandas.array(np.tile(np.arange(4), 6), "Int32"),
            "voltage": voltage.ravel(),
        }
    )


def test_long_table_to_trials(table):
    trials = loaders._trials(table, n_times=4, n_channels=2)
    assert trials["data"].shape == (3, 4, 2)
    for row in table.itertuples():
        i, c = row.Index // 8, ["FZ", "CZ"].index(row.channel)
        assert trials["data"][i, row.time, c] == row.voltage
    assert trials["channels"] == ["FZ", "CZ"]
    assert trials["subject"].tolist() == ["s1", "s2", "s2"]
    assert trials["group"].tolist() == ["a", "c", "c"]
    assert trials["trial"].tolist() == [0, 0, 6]
    assert trials["repeated"].tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (range(23), "23 rows"),
        ([], "0 rows"),
        ([*range(23), 22], "'time'"),
        ([1, 0, *range(2, 24)], "'time'"),
        ([*range(16), *range(20, 24), *range(16, 20)], "'channel'"),
        ([*range(12), *range(4, 8), *range(16, 24)], "'subject'"),
    ],
)
def test_long_table_with_rows_missing_repeated_or_moved(table, rows, message):
    with pytest.raises(DatasetError, match=message):
        loaders._trials(table.iloc[list(rows)], n_times=4, n_channels=2)


def test_long_table_with_a_missing_value(table):
    table.loc[5, "voltage"] = np.nan
    with pytest.raises(DatasetError, match="'voltage'"):
        loaders._trials(table, n_times=4, n_channels=2)


# The real files


@needs_data
@pytest.mark.parametrize(
    ("subset", "n", "first", "counts"),
    [("train", 60000, [5, 0, 4, 1, 9], 5851), ("test", 10000, [7, 2, 1, 0, 4], 974)],
)
def test_real_mnist(subset, n, first, counts):
    digits = fetch_mnist(subset)
    assert digits.data.shape == (n, 28, 28)
    assert digits.data.dtype == digits.target.dtype == np.uint8
    assert digits.target[:5].tolist() == first
    assert np.sum(digits.target == 8) == counts


@needs_data
def test_real_mnist_md5():
    path = files.locate("mnist/train-images-idx3-ubyte.gz", None)
    assert hashlib.md5(path.read_bytes()).hexdigest() == "f68b3c2dcbeaaa9fbdd348bbdeb94873"


@needs_data
def test_real_handwriting():
    pytest.importorskip("rdata")
    pen = fetch_handwriting()
    assert pen.data.shape == (20, 1401, 2)
    assert pen.data.dtype == np.float64
    assert pen.time == pytest.approx(np.linspace(0, 2300, 1401))
    assert pen.data[0, 0].tolist() == [-0.0316, -0.0076]
    assert np.all(np.abs(pen.data) < 0.06)


@needs_data
def test_real_eeg():
    pytest.importorskip("rdata")
    eeg = fetch_eeg()
    assert eeg.data.shape == (100, 256, 64)
    assert eeg.sampling_rate == 256.0
    assert eeg.data[0, :5, 0].tolist() == [-8.921, -8.433, -2.574, 5.239, 11.587]
    assert eeg.channels[:2] == ["FP1", "FP2"]
    assert len(set(eeg.channels)) == 64
    assert np.unique(eeg.group, return_counts=True)[1].tolist() == [50, 50]
    assert np.unique(eeg.subject, return_counts=True)[1].tolist() == [5] * 20
    assert [s[3] for s in eeg.subject] == eeg.group.tolist()  # the subject's name says its group
    assert np.flatnonzero(eeg.repeated).tolist() == [1]
    flat = np.argwhere(np.ptp(eeg.data, axis=1) == 0)
    assert [(eeg.subject[i], eeg.channels[c]) for i, c in flat] == [("co2a0000368", "CZ")] * 3
