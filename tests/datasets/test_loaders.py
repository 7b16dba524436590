"""Loaders on small and on real files."""

import gzip
import hashlib
import os
import struct
import sys

import numpy as np
import pytest

from gtpca.datasets import (
    DatasetError,
    fetch_curves,
    fetch_eeg,
    fetch_handwriting,
    fetch_mnist,
    fetch_neurons,
    files,
    loaders,
)

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


def test_a_missing_package_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdata", None)
    put(tmp_path, monkeypatch, "handwriting/handwrit.rda", b"")
    with pytest.raises(ImportError, match=r'rdata is missing: pip install "gtpca\[data\]"'):
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
def test_real_handwriting():
    pytest.importorskip("rdata")
    pen = fetch_handwriting()
    assert pen.data.shape == (20, 1401, 2)
    assert pen.data.dtype == np.float64
    assert pen.time == pytest.approx(np.linspace(0, 2300, 1401))
    assert pen.data[0, 0].tolist() == [-0.0316, -0.0076]
    assert np.all(np.abs(pen.data) < 0.06)


@needs_data
def test_real_curves():
    pytest.importorskip("rdata")
    growth, gait, pinch = (fetch_curves(name) for name in ("growth", "gait", "pinch"))
    assert growth.data[0, :2].tolist() == [81.3, 84.2]
    assert growth.time[[0, -1]].tolist() == [1, 18]
    assert np.unique(growth.target, return_counts=True)[1].tolist() == [39, 54]
    assert gait.data.shape == (39, 20, 2)
    assert gait.time[[0, -1]].tolist() == [0.025, 0.975]
    assert pinch.data.shape == (20, 151)
    assert pinch.time[0] == 0


def test_curves_are_checked_and_named(tmp_path, monkeypatch):
    path = put(tmp_path, monkeypatch, "curves/pinch.rda", b"")
    short = {"pinch": np.ones((3, 2)), "pinchtime": np.arange(3)}
    monkeypatch.setattr(loaders, "_read_rda", lambda _: short)
    with pytest.raises(DatasetError, match=r"holds \(2, 3\), expected \(20, 151\)") as caught:
        fetch_curves("pinch", tmp_path)
    assert str(path) in str(caught.value)
    with pytest.raises(ValueError, match="name='lip'; expected 'growth', 'gait' or 'pinch'"):
        fetch_curves("lip")


@needs_data
def test_real_neurons():
    spikes = fetch_neurons()
    assert len(spikes.time) == len(spikes.trial) == len(spikes.neuron) == 648889
    assert np.all(spikes.first == 500)
    assert np.mean(spikes.second - spikes.first) == pytest.approx(740, abs=1)
    assert spikes.neuron.max() == 29


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
