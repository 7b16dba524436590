"""Records of WFDB, byte by byte."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from gtpca.readers import read_signal
from gtpca.readers.wfdb import read_annotations, read_wfdb


def write_212(path, numbers):
    """Two signed numbers of 12 bits in three bytes."""
    low, high = (np.asarray(numbers, np.int64).reshape(-1, 2).T) & 0xFFF
    found = np.stack([low & 255, (low >> 8) | (high >> 8) << 4, high & 255], axis=1)
    path.write_bytes(found.astype(np.uint8).tobytes())


@pytest.mark.parametrize("kind", ["16", "61", "32", "24", "80", "160", "212"])
def test_every_format(kind, tmp_path):
    numbers = np.array([[-5, 100], [7, -100], [0, 3]])
    path = tmp_path / "r.dat"
    if kind == "212":
        write_212(path, numbers)
    elif kind == "24":
        path.write_bytes(b"".join(int(v).to_bytes(3, "little", signed=True) for v in numbers.flat))
    else:
        dtype = {"16": "<i2", "61": ">i2", "32": "<i4", "80": "u1", "160": "<u2"}[kind]
        offset = {"80": 128, "160": 2**15}.get(kind, 0)
        (numbers + offset).astype(dtype).tofile(path)
    (tmp_path / "r.hea").write_text(
        f"# a comment\nr 2 250 3\nr.dat {kind} 10(2)/uV 12 0 0 0 0 left\n"
        f"r.dat {kind} 20 12 0 0 0 0 I\n"
    )
    record = read_wfdb(tmp_path / "r.hea")
    assert np.allclose(record.values, (numbers - [2, 0]) / [10, 20])
    assert record.rate == 250
    assert record.channels == ["left", "I"]
    assert record.units == ["uV", "mV"]
    signal = read_signal(tmp_path / "r.hea", channels=["I"])
    assert np.allclose(signal.values, numbers[:, 1] / 20)


def test_what_was_not_observed_is_nan(tmp_path):
    np.array([1, -(2**15), 3], "<i2").tofile(tmp_path / "r.dat")
    (tmp_path / "r.hea").write_text("r 1 100\nr.dat 16 1 16 0 0 0 0 x\n")
    assert np.isnan(read_wfdb(tmp_path / "r.hea").values[:, 0]).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("nothing", "first line"),
        ("r/3 2 250\n", "several segments"),
        ("r 2 250\nr.dat 16 1\n", "1 signals where it says 2"),
        ("r 1 250\nr.dat 8 1\n", "format 8"),
        ("r 1 250\nr.dat 16x4 1\n", "samples of r.dat per frame"),
        ("r 1 250\nnone.dat 16 1\n", "needs none.dat"),
        ("r 1 250 999\nr.dat 16 1\n", "it is cut"),
    ],
)
def test_errors_are_one_line(header, words, tmp_path):
    np.zeros(5, "<i2").tofile(tmp_path / "r.dat")
    (tmp_path / "r.hea").write_text(header)
    with pytest.raises(ValueError, match=words) as error:
        read_signal(tmp_path / "r.hea")
    assert "r.hea" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.skipif("GTPCA_DATA" not in os.environ, reason="GTPCA_DATA names no folder")
def test_beats_of_real_records():
    folder = Path(os.environ["GTPCA_DATA"], "ecg")
    if not (folder / "119.hea").exists():
        pytest.skip("no ECG")
    record = read_wfdb(folder / "119.hea")
    assert record.values.shape == (650_000, 2)
    _, symbols = read_annotations(folder / "119.atr")
    assert np.sum(symbols == "N") == 1543
    assert np.sum(symbols == "V") == 444
