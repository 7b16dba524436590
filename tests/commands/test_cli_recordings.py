"""``gtpca events`` and ``gtpca detect``: from a recording to a table of times in two commands."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
import samples
from scipy.io import wavfile

import gtpca
from gtpca import EventGTPCA, Shift

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A recording with events every 1.3 seconds, as an array and as sound."""
    y = samples.recording(8000, 130)
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
    detected = run("detect", "m.gtpca", "y.npy", "-o", "events.csv")
    assert detected.code == 0
    assert "(80 s)" in detected.read  # the model knows the rate
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
    assert run("detect", "m.gtpca", "row.npy", "y.wav", "-o", "e.csv").code == 0
    wavfile.write(folder / "fast.wav", 200, np.zeros(4000, np.float32))
    assert run("detect", "m.gtpca", "row.npy", "fast.wav", "-o", "e.csv").code == 2
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


def page_data(path):
    found = re.search(r'id="data">(.*?)</script>', Path(path).read_text(encoding="utf-8"))
    return json.loads(found[1])


def test_two_commands_from_an_array_to_a_page_and_pictures(folder, run):
    pytest.importorskip("plotly")
    assert run("events", "y.npy", *FIT, "--rate", "100Hz", "--no-counts").code == 0
    done = run("report", "m.gtpca", "y.npy", "-o", "p.html", "--check", "--title", "Pulses")
    assert done.code == 0, done.err
    assert page_data("p.html")["size"] == 8000
    page = Path("p.html").read_text(encoding="utf-8")
    assert "Both halves have the same templates" in page
    assert "<h1>Pulses</h1>" in page
    pytest.importorskip("matplotlib")
    for kind, data in {"components": [], "events": ["y.npy"], "intervals": ["y.npy"]}.items():
        assert run("plot", kind, "m.gtpca", *data, "-o", f"{kind}.png").code == 0
        assert Path(f"{kind}.png").stat().st_size > 2000


def test_what_is_real_is_said(folder, run):
    assert run("events", "y.npy", *FIT, "--rate", "100Hz", "--no-counts").code == 0
    said = run("check", "m.gtpca", "y.npy")
    assert said.code == 0
    assert "more than noise would give" in said.out
    table = json.loads(run("check", "m.gtpca", "y.npy", "--json").out)
    assert table["events"]["likeness"][0] > 0.95


def test_what_has_no_meaning_for_recordings_is_said(folder, run):
    assert run("events", "y.npy", *FIT, "--rate", "100Hz", "--no-counts").code == 0
    assert run("plot", "scores", "m.gtpca", "y.npy", "-o", "s.png").refused("events and intervals")
    assert run("plot", "events", "m.gtpca", "-o", "s.png").refused("needs DATA")
    wrong = ("report", "m.gtpca", "y.npy", "-o", "p.html", "--labels", "kind")
    assert run(*wrong).refused("--labels", "--channel")
    wrong = ("report", "m.gtpca", "y.npy", "-o", "p.html", "--labels-file", "kind.txt")
    assert run(*wrong).refused("--labels-file")
    np.save("X.npy", np.random.default_rng(0).standard_normal((30, 40)))
    assert run("fit", "X.npy", "-o", "s.gtpca", "-k", "1", "--family", "shift(8)").code == 0
    assert run("plot", "events", "s.gtpca", "X.npy", "-o", "s.png").refused("gtpca events")
    for name in ("check", "report"):
        more = ["-o", "p.html"] if name == "report" else []
        assert run(name, "s.gtpca", "X.npy", *more, "--channel", "0").refused("--channel")


def test_windows_and_arrays_that_look_like_recordings(folder, run):
    said = run("fit", "row.npy", "-o", "s.gtpca", "-k", "1", "--family", "shift(8)")
    assert "single row of 8000 points" in said.err
    how = ("--window", "200", "--step", "180")
    fitted = run("fit", "y.npy", "-o", "s.gtpca", "-k", "1", "--family", "shift(20)", *how)
    assert fitted.code == 0
    table = run("transform", "s.gtpca", "y.npy", "-o", "-", "--poses").out.splitlines()
    assert table[0].startswith("window_start,")
    assert table[2].startswith("180,")
    names = table[0].split(",")
    start, pose, place = (
        np.array([float(line.split(",")[names.index(name)]) for line in table[1:]])
        for name in ("window_start", "gtpca0_start", "recording_gtpca0_start")
    )
    np.testing.assert_array_equal(place, start + pose)
    true = np.arange(100, 7980, 130)
    found = place[np.abs(place[:, None] - true).min(axis=1) <= 3]
    assert len(found) > 0.9 * len(place)


def test_places_of_windows_that_also_move_across_channels():
    from gtpca.commands.samples import in_recording

    names = ("gtpca0_start_time_s", "gtpca0_start_channel", "gtpca0_start_time_s_se", "centre_s")
    found = in_recording({name: np.ones(2) for name in names}, np.array([0.0, 2.0]), "_s")
    assert list(found) == ["recording_gtpca0_start_time_s", "recording_centre_s"]
    np.testing.assert_array_equal(found["recording_gtpca0_start_time_s"], [1.0, 3.0])


def test_windows_in_seconds_say_where_they_are_in_the_recording(folder, run):
    how = ("--window", "2s", "--step", "1.8s")
    assert run("fit", "y.wav", "-o", "s.gtpca", "-k", "1", "--family", "shift(20)", *how).code == 0
    table = run("transform", "s.gtpca", "y.wav", "-o", "-", "--poses").out.splitlines()
    assert "window_start_s" in table[0]
    assert "recording_gtpca0_start_s" in table[0]
    assert "recording_gtpca0_centre_s" in table[0]


@pytest.mark.skipif("GTPCA_DATA" not in os.environ, reason="GTPCA_DATA names no folder")
def test_two_commands_from_a_record_to_beats(tmp_path, run):
    from gtpca.datasets.wfdb import read_annotations

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
    pytest.importorskip("plotly")
    page = str(tmp_path / "b.html")
    assert run("report", model, record, "-o", page, "--channel", "MLII").code == 0
    assert page_data(page)["size"] == 650_000
    assert Path(page).stat().st_size < 8e6
