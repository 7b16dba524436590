"""Records of WFDB, byte by byte."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest
from samples import write_212

from gtpca.datasets.wfdb import read_annotations, read_wfdb
from gtpca.readers import read_signal


def optional(name):
    """A package, or None."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


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


def test_an_odd_count_of_12_bit_numbers_and_a_length_that_is_not_said(tmp_path):
    (tmp_path / "r.dat").write_bytes(bytes([1, 0x00, 2, 3, 0x0F]))  # 1, 2, then 3 - 256
    (tmp_path / "r.hea").write_text("r 1 100 0\nr.dat 212 1 12 0 0 0 0 x\n")
    assert read_wfdb(tmp_path / "r.hea").values[:3, 0].tolist() == [1, 2, 0xF03 - 4096]
    (tmp_path / "r.hea").write_text("r 1 100 3\nr.dat 212 1 12 0 0 0 0 x\n")
    assert len(read_wfdb(tmp_path / "r.hea").values) == 3


def test_signals_keep_the_order_of_the_header_and_lose_their_skew(tmp_path):
    np.arange(8, dtype="<i2").tofile(tmp_path / "r.dat")
    np.arange(10, 14, dtype="<i2").tofile(tmp_path / "s.dat")
    lines = ["r.dat 16 1 16 0 0 0 0 a", "s.dat 16:1 1 16 0 0 0 0 b", "r.dat 16 1 16 0 0 0 0 c"]
    (tmp_path / "r.hea").write_text("\n".join(["r 3 100 4", *lines]))
    record = read_wfdb(tmp_path / "r.hea")
    assert record.channels == ["a", "b", "c"]
    expected = [[0, 11, 1], [2, 12, 3], [4, 13, 5], [6, np.nan, 7]]
    np.testing.assert_array_equal(record.values, expected)


@pytest.mark.parametrize("kind", ["16", "24", "32", "61", "80", "160", "212"])
def test_the_package_of_physionet_reads_the_same(kind, tmp_path):
    wfdb = pytest.importorskip("wfdb", reason="the package wfdb is not installed")
    rng = np.random.default_rng(0)
    numbers = rng.integers(-120, 120, (51, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        wfdb.wrsamp(
            "r",
            fs=128,
            units=["mV", "uV"],
            sig_name=["I", "V 1"],
            d_signal=numbers,
            fmt=["16" if kind in ("61", "160") else kind] * 2,
            adc_gain=[20.5, 7],
            baseline=[3, -4],
        )
        wfdb.wrann("r", "atr", np.array([3, 2000, 2040]), symbol=["N", "V", "+"])
        if kind in ("61", "160"):  # which it reads, but does not write
            head = Path("r.hea").read_text().replace(" 16 ", f" {kind} ")
            Path("r.hea").write_text(head)
            stored = numbers.astype(">i2") if kind == "61" else (numbers + 2**15).astype("<u2")
            stored.tofile("r.dat")
        expected = wfdb.rdrecord("r")
    found = read_wfdb(tmp_path / "r.hea")
    np.testing.assert_allclose(found.values, expected.p_signal, rtol=1e-12)
    assert found.rate == expected.fs
    assert found.channels == expected.sig_name
    assert found.units == expected.units
    samples, symbols = read_annotations(tmp_path / "r.atr")
    assert samples.tolist() == [3, 2000, 2040]
    assert symbols.tolist() == ["N", "V", "+"]


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
        ("r 1 250\n../r.dat 16 1\n", "'../r.dat'; it must stand beside the header"),
        ("r 1 250\n/dev/zero 16 1\n", "it must stand beside the header"),
        ("r 1 250\npipe.dat 16 1\n", "is a pipe or a device"),
        ("r 1 0\nr.dat 16 1\n", "0 samples per second"),
        ("r 1 nan\nr.dat 16 1\n", "nan samples per second"),
        ("r 1 250\nr.dat 16 1e999\n", "gain 1e999"),
    ],
)
def test_errors_are_one_line(header, words, tmp_path):
    np.zeros(5, "<i2").tofile(tmp_path / "r.dat")
    if "pipe" in header:
        os.mkfifo(tmp_path / "pipe.dat")
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
    samples, symbols = read_annotations(folder / "119.atr")
    assert np.sum(symbols == "N") == 1543
    assert np.sum(symbols == "V") == 444
    if wfdb := optional("wfdb"):
        expected = wfdb.rdrecord(str(folder / "119"))
        np.testing.assert_allclose(record.values, expected.p_signal, rtol=1e-12)
        assert (record.rate, record.channels) == (expected.fs, expected.sig_name)
        beats = wfdb.rdann(str(folder / "119"), "atr")
        assert samples.tolist() == beats.sample.tolist()
        assert symbols.tolist() == beats.symbol
