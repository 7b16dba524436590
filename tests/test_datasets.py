"""Generators against slow loops, poses against NumPy, loaders on small and on real files."""

import gzip
import hashlib
import os
import struct
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest

from gtpca import datasets
from gtpca.datasets import (
    DatasetError,
    fetch_eeg,
    fetch_handwriting,
    fetch_mnist,
    make_oscillations,
    make_spikes,
    random_crop,
    random_embedding,
    random_rotation,
    sliding_windows,
)

needs_data = pytest.mark.skipif(
    not os.environ.get("GTPCA_DATA"),
    reason="GTPCA_DATA is not set: no folder with the real data files",
)


# Generators


def test_oscillations_follow_the_formula():
    X = make_oscillations(3, 50, noise=0.3, random_state=0)
    rng = np.random.RandomState(0)
    alpha, beta, t0 = rng.uniform(8, 12, 3), rng.uniform(13, 30, 3), rng.uniform(0, 1, 3)
    noise = rng.standard_normal((3, 50))
    for i in range(3):
        for t in range(1, 51):
            z = 2 * np.pi * (t / 50 + t0[i])
            expected = 0.6 * np.sin(alpha[i] * z) + 0.4 * np.cos(beta[i] * z)
            assert X[i, t - 1] == pytest.approx(expected + 0.3 * noise[i, t - 1])


def test_spikes_follow_the_formula():
    X, y = make_spikes(4, 64, spike_probability=0.5, noise=0.1, random_state=3)
    rng = np.random.RandomState(3)
    t0, a, w = rng.uniform(0, 1, 4), rng.uniform(0.5, 2.5, 4), rng.uniform(0.05, 0.1, 4)
    spike = rng.uniform(size=4) < 0.5
    noise = rng.standard_normal((4, 64))
    assert set(spike) == {True, False}
    for i in range(4):
        assert y[i] == spike[i]
        for t in range(1, 65):
            f = a[i] * max(-4 / w[i] ** 2 * (t / 64 - t0[i]) ** 2 + 3, 0) if spike[i] else 0
            assert X[i, t - 1] == pytest.approx(f + 0.1 * noise[i, t - 1])


def test_generators_shape_dtype_and_seed():
    X = make_oscillations(5, 16, random_state=1)
    assert X.shape == (5, 16)
    assert X.dtype == np.float64
    assert np.array_equal(X, make_oscillations(5, 16, random_state=1))
    assert not np.array_equal(X, make_oscillations(5, 16, random_state=2))


@pytest.mark.parametrize(("probability", "share"), [(0.0, 0), (0.5, 0.5), (1.0, 1)])
def test_spikes_class_balance(probability, share):
    X, y = make_spikes(2000, 128, spike_probability=probability, noise=0.0, random_state=0)
    assert y.dtype.kind == "i"
    assert y.mean() == pytest.approx(share, abs=0.05)
    assert np.all(X[y == 0] == 0)
    assert np.all(X[y == 1].max(axis=1) > 0)
    assert np.all(X <= 7.5)  # largest amplitude times the 3 of the parabola


@pytest.mark.parametrize(
    "bad", [{"n_samples": 0}, {"n_times": 1.5}, {"noise": -1}, {"spike_probability": 2}]
)
def test_generators_name_the_bad_parameter(bad):
    with pytest.raises((ValueError, TypeError), match=next(iter(bad))):
        make_spikes(**bad)


# Windows, crops, frames, rotations


@pytest.mark.parametrize("shape", [(30,), (30, 3)])
@pytest.mark.parametrize("step", [1, 4])
def test_sliding_windows_are_a_read_only_view(shape, step):
    x = np.random.RandomState(0).standard_normal(shape)
    windows = sliding_windows(x, 7, step)
    expected = np.stack([x[i : i + 7] for i in range(0, 30 - 7 + 1, step)])
    assert np.array_equal(windows, expected)
    assert np.shares_memory(windows, x)
    assert not windows.flags.writeable


def test_sliding_windows_name_the_bad_parameter():
    with pytest.raises(ValueError, match="length == 8"):
        sliding_windows(np.zeros(7), 8)
    with pytest.raises(ValueError, match="step == 0"):
        sliding_windows(np.zeros(7), 2, 0)
    with pytest.raises(ValueError, match=r"x has shape \(2, 2, 2\)"):
        sliding_windows(np.zeros((2, 2, 2)), 1)


@pytest.mark.parametrize(
    ("shape", "frame"), [((9,), 14), ((9, 2), 14), ((5, 7), (8, 12)), ((5, 7, 3), (8, 7))]
)
def test_embedding_and_its_crop_round_trip(shape, frame):
    X = 1 + np.random.RandomState(0).randint(9, size=(20, *shape)).astype(np.float32)
    framed, offset = random_embedding(X, frame, random_state=1)
    frame = (frame,) if isinstance(frame, int) else frame
    assert framed.shape == (20, *frame, *shape[len(frame) :])
    assert framed.dtype == X.dtype
    assert offset.shape == (20, len(frame))
    assert np.count_nonzero(framed) == X.size
    for sample, new, start in zip(X, framed, offset, strict=True):
        box = tuple(slice(a, a + s) for a, s in zip(start, shape, strict=False))
        assert np.array_equal(new[box], sample)


@pytest.mark.parametrize(("shape", "size"), [((9, 2), 4), ((6, 7), (4, 7)), ((6, 7), (6, 7))])
def test_crop_is_at_its_offset(shape, size):
    X = np.random.RandomState(0).randint(256, size=(20, *shape)).astype(np.uint8)
    crops, offset = random_crop(X, size, random_state=1)
    size = (size,) if isinstance(size, int) else size
    assert crops.dtype == np.uint8
    for sample, crop, start in zip(X, crops, offset, strict=True):
        box = tuple(slice(a, a + s) for a, s in zip(start, size, strict=True))
        assert np.array_equal(sample[box], crop)


def test_positions_are_uniform_and_reach_both_ends():
    _, offset = random_crop(np.zeros((3000, 8, 5)), (6, 5), random_state=0)
    assert np.array_equal(np.unique(offset[:, 1]), [0])
    assert np.bincount(offset[:, 0]) / 3000 == pytest.approx(np.full(3, 1 / 3), abs=0.04)


@pytest.mark.parametrize("size", [(), 0, (2, 2, 2), 9])
def test_crop_names_the_bad_size(size):
    with pytest.raises(ValueError, match=r"size=.* at most .*X has shape \(3, 4, 4\)"):
        random_crop(np.zeros((3, 4, 4)), size)


@pytest.mark.parametrize("size", [(), 3, (4, 3), (5, 5, 5)])
def test_embedding_names_the_bad_size(size):
    with pytest.raises(ValueError, match=r"size=.* at least .*X has shape \(3, 4, 4\)"):
        random_embedding(np.zeros((3, 4, 4)), size)


@pytest.mark.parametrize("side", [6, 7])
def test_right_angles_are_exactly_rot90(side):
    X = np.random.RandomState(0).standard_normal((40, side, side))
    X_new, degrees = random_rotation(X, angles=4, random_state=0)
    assert set(degrees) == {0, 90, 180, 270}
    for sample, new, angle in zip(X, X_new, degrees, strict=True):
        assert np.array_equal(new, np.rot90(sample, int(angle) // 90))


def test_rotation_is_counter_clockwise_about_the_middle():
    image = np.zeros((1, 41, 41))
    image[0, 20, 32] = 1  # twelve to the right of the middle
    X_new, degrees = random_rotation(np.repeat(image, 60, axis=0), angles=20, random_state=0)
    assert set(degrees) == set(np.arange(20) * 18.0)
    rows, columns = np.mgrid[:41, :41] - 20
    total = X_new.sum(axis=(1, 2))
    centre = [(X_new * grid).sum(axis=(1, 2)) / total for grid in (columns, -rows)]
    assert np.hypot(*centre) == pytest.approx(np.full(60, 12), abs=0.7)
    turn = np.rad2deg(np.arctan2(*centre[::-1])) - degrees
    assert (turn + 180) % 360 - 180 == pytest.approx(np.zeros(60), abs=3)


def test_rotation_interpolates_bilinearly_with_zeros_outside():
    X = np.random.RandomState(0).standard_normal((12, 5, 6))
    X_new, degrees = random_rotation(X, angles=7, random_state=0)
    for image, new, angle in zip(X, X_new, np.deg2rad(degrees), strict=True):
        for i, j in np.ndindex(5, 6):
            y, x = i - 2.0, j - 2.5
            row = np.cos(angle) * y + np.sin(angle) * x + 2
            column = -np.sin(angle) * y + np.cos(angle) * x + 2.5
            assert new[i, j] == pytest.approx(_bilinear(image, row, column))


def _bilinear(image, row, column):
    value = 0.0
    for i, j in np.ndindex(image.shape):
        value += image[i, j] * max(0, 1 - abs(i - row)) * max(0, 1 - abs(j - column))
    return value


@pytest.mark.parametrize(
    ("given", "returned"),
    [("uint8", "float32"), ("float16", "float16"), ("float32", "float32"), ("int64", "float64")],
)
def test_rotation_dtype(given, returned):
    X_new, _ = random_rotation(np.ones((5, 4, 4), given), angles=3, random_state=0)
    assert X_new.dtype == returned


def test_rotation_names_the_bad_parameter():
    with pytest.raises(ValueError, match=r"X is float64 \(3, 4\)"):
        random_rotation(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="angles == 0"):
        random_rotation(np.zeros((3, 4, 4)), angles=0)


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
    monkeypatch.setitem(datasets._CHECKSUMS, name, checksum)
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
    monkeypatch.setattr(datasets, "_ADDRESSES", dict.fromkeys(datasets._ADDRESSES, unreachable))


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

    monkeypatch.setitem(datasets._ADDRESSES, "mnist", (f"{address}/absent", f"{address}/wrong"))
    with pytest.raises(DatasetError, match=r"(?s)absent.*404.*wrong.*hash") as caught:
        fetch_mnist("test", home)
    assert str(home / IMAGES) in str(caught.value)
    assert [path.name for path in (home / "mnist").iterdir()] == [LABELS.split("/")[1]]

    monkeypatch.setitem(datasets._ADDRESSES, "mnist", (f"{address}/wrong", f"{address}/right"))
    assert np.array_equal(fetch_mnist("test", home).data, images)
    monkeypatch.setitem(datasets._ADDRESSES, "mnist", ())
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

    monkeypatch.setattr(datasets, "import_module", import_module)
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
    trials = datasets._trials(table, n_times=4, n_channels=2)
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
        datasets._trials(table.iloc[list(rows)], n_times=4, n_channels=2)


def test_long_table_with_a_missing_value(table):
    table.loc[5, "voltage"] = np.nan
    with pytest.raises(DatasetError, match="'voltage'"):
        datasets._trials(table, n_times=4, n_channels=2)


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
    path = datasets._locate("mnist/train-images-idx3-ubyte.gz", None)
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
