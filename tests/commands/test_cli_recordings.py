"""``gtpca events`` and ``gtpca detect``: from a recording to a table of times in two commands."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from command import call
from scipy.io import wavfile

import gtpca
from gtpca import EventGTPCA, Shift

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')


@pytest.fixture
def run(capsys):
    return partial(call, capsys)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A recording with events every 1.3 seconds, as an array and as sound."""
    rng = np.random.default_rng(0)
    y = 0.1 * rng.standard_normal(8000)
    for place in range(50, 7900, 130):
        y[place : place + 20] += np.hanning(20)
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "row.npy", y[None])
    wavfile.write(tmp_path / "y.wav", 100, y.astype(np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


FIT = ("-o", "m.gtpca", "--family", "shift(window=0.2s)")


def test_two_commands_from_an_array_to_times(folder, run):
    fitted = run("events", "y.npy", *FIT, "--rate", "100Hz")
    assert fitted.code == 0
    assert "more than noise" in fitted.out
    assert run("detect", "m.gtpca", "y.npy", "-o", "events.csv").code == 0
    table = np.genfromtxt("events.csv", delimiter=",", names=True)
    expected = EventGTPCA(1, Shift("0.2s"), rate=100, random_state=0).fit(np.load("y.npy"))
    events = expected.encode(np.load("y.npy"))
    np.testing.assert_array_equal(table["start"], events.start)
    np.testing.assert_array_equal(table["score"], events.scores[:, 0])
    np.testing.assert_allclose(table["peak_s"], expected.poses(events)["peak"])
    assert np.allclose(np.diff(table["peak_s"]), 1.3, atol=0.03)
    said = run("info", "m.gtpca")
    assert said.code == 0
    assert "templates" in said.out
    facts = json.loads(run("info", "m.gtpca", "--json").out)
    assert facts["events"]["above_noise"] is True


def test_rows_sound_and_several_files(folder, run):
    quick = ("--no-counts", "--refractory", "15")
    assert run("events", "row.npy", *FIT, *quick, "--rate", "100Hz").code == 0
    assert run("detect", "m.gtpca", "row.npy", "y.wav", "-o", "e.csv").code == 2  # other rates
    assert run("detect", "m.gtpca", "y.wav", "-o", "e.csv").code == 0
    assert run("events", "y.wav", "y.wav", *FIT, *quick, "--json").code == 0
    assert gtpca.load("m.gtpca").prices_.shape == (2, 1)
    more = run("detect", "m.gtpca", "y.wav", "y.wav", "-o", "-", "--false-alarms", "50").out
    assert {line.split(",")[0] for line in more.splitlines()[1:]} == {"0", "1"}


def test_errors_are_one_line(folder, run):
    assert run("events", "y.npy", *FIT).code == 2  # the rate is not known
    assert run("events", "y.npy", *FIT, "--rate", "100Hz", "--no-counts").code == 0
    found = run("transform", "m.gtpca", "y.npy", "-o", "x.csv")
    assert found.code == 2
    assert "gtpca detect" in found.err
    np.save("X.npy", np.random.default_rng(0).standard_normal((30, 40)))
    assert run("fit", "X.npy", "-o", "s.gtpca", "-k", "1", "--family", "shift(8)").code == 0
    found = run("detect", "s.gtpca", "y.npy", "-o", "x.csv")
    assert found.code == 2
    assert "gtpca transform" in found.err


def test_windows_and_arrays_that_look_like_recordings(folder, run):
    said = run("fit", "row.npy", "-o", "s.gtpca", "-k", "1", "--family", "shift(8)")
    assert "single row of 8000 points" in said.err
    how = ("--window", "200", "--step", "180")
    fitted = run("fit", "y.npy", "-o", "s.gtpca", "-k", "1", "--family", "shift(20)", *how)
    assert fitted.code == 0
    table = run("transform", "s.gtpca", "y.npy", "-o", "-", "--poses").out.splitlines()
    assert table[0].startswith("window_start,")
    assert table[2].startswith("180,")


@pytest.mark.skipif("GTPCA_DATA" not in os.environ, reason="GTPCA_DATA names no folder")
def test_two_commands_from_a_record_to_beats(tmp_path, run):
    from gtpca.readers.wfdb import read_annotations

    folder = Path(os.environ["GTPCA_DATA"], "ecg")
    if not (folder / "100.hea").exists():
        pytest.skip("no ECG")
    record, model, table = (
        str(p) for p in (folder / "100.hea", tmp_path / "m", tmp_path / "b.csv")
    )
    how = ("--family", "shift(window=0.7s)", "--no-counts", "--channel", "MLII")
    assert run("events", record, "-o", model, *how).code == 0
    assert run("detect", model, record, "-o", table, "--channel", "MLII").code == 0
    found = np.genfromtxt(table, delimiter=",", names=True)["peak_s"] * 360
    samples, symbols = read_annotations(folder / "100.atr")
    beats = samples[np.isin(symbols, list("NAV"))]
    apart = np.abs(found[:, None] - beats[None]).min(axis=0)
    assert np.mean(apart <= 54) >= 0.995
    assert len(found) <= 1.005 * len(beats)
    assert np.median(apart) <= 2
