"""BrainVision and EEGLAB: files that pybv and eeglabio wrote, and what is refused."""

from __future__ import annotations

import gzip
import os
import shutil

import numpy as np
import pytest
import samples
from samples import RATE, SIGNAL, refused
from scipy.io import savemat

from gtpca.readers import read_data, read_signal

mne = pytest.importorskip("mne")
KINDS = ["vhdr", "eeglab", "eeglab73"]


def written(kind, folder):
    if not samples.available(kind):
        pytest.skip(f"{samples.NEEDS[kind]} is not installed")
    return samples.write_sample(kind, folder)


@pytest.mark.parametrize("kind", KINDS)
def test_windows_around_events(kind, tmp_path):
    path = written(kind, tmp_path)
    data = read_data(path, tmin=-0.1, tmax=0.3)
    assert [label.rpartition("/")[2] for label in data.labels] == ["go", "stop"]
    expected = [1e-6 * SIGNAL[:, at - 10 : at + 30].T for at in (100, 250)]
    np.testing.assert_allclose(data.rows, expected, rtol=1e-6)
    assert (data.channels, data.sampling_rate, data.start) == (["Fz", "Cz"], RATE, -0.1)
    time, channel = data.labelled.labels.axes
    assert (time.name, time.unit, time.points[0], channel.names) == (
        "time",
        "s",
        -0.1,
        ("Fz", "Cz"),
    )
    assert len(read_data(path, event="stop", tmin=-0.1, tmax=0.3).rows) == 1
    refused(path, "event='left' is not there; there are: .*go", event="left", tmin=0, tmax=1)


@pytest.mark.parametrize("kind", KINDS)
def test_one_whole_recording(kind, tmp_path):
    recording = read_signal(written(kind, tmp_path))
    assert (recording.shape, recording.rate) == ((400, 2), RATE)
    np.testing.assert_allclose(recording.values.get_data(), 1e-6 * SIGNAL, rtol=1e-6)


def test_names_of_events_may_leave_out_kind_and_spaces(tmp_path):
    """Stimuli of BrainVision are called ``Stimulus/S  1``; interruptions are no events."""
    path = written("vhdr", tmp_path)
    marks = path.with_suffix(".vmrk")
    lines = [line for line in marks.read_text().splitlines() if not line.startswith("Mk")]
    lines += ["Mk1=New Segment,,101,1,0", "Mk2=Stimulus,S  1,151,1,0", "Mk3=Stimulus,S 12,201,1,0"]
    marks.write_text("\n".join(lines) + "\n")
    assert read_data(path, tmin=0, tmax=0.2).labels.tolist() == ["Stimulus/S  1", "Stimulus/S 12"]
    data = read_data(path, event="S 1", tmin=0, tmax=0.2)
    np.testing.assert_allclose(data.rows[0], 1e-6 * SIGNAL[:, 150:170].T, rtol=1e-6)


def test_a_header_leads_to_no_other_folder(tmp_path):
    path = written("vhdr", tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    text = path.read_text()
    path.write_text(text.replace("DataFile=a.eeg", "DataFile=../b/a.eeg"))
    refused(path, "refers to .*a.eeg, which is not in the same folder", window=50)
    path.write_text(text.replace("MarkerFile=a.vmrk", f"MarkerFile={tmp_path}/b/a.vmrk"))
    refused(path, "which is not in the same folder", window=50)
    path.write_text(text.replace("DataFile=a.eeg", "DataFile=c.eeg"))
    refused(path, "its signals, 'c.eeg', are not in the same folder", window=50)


def test_events_of_a_bids_folder_are_those_of_its_table(tmp_path):
    path = written("bids", tmp_path)
    (table,) = tmp_path.rglob("*_events.tsv")
    table.write_text(table.read_text().replace("\tstop\t", "\tturn\t"))
    data = read_data(path, tmin=-0.1, tmax=0.3)
    assert data.labels.tolist() == ["go", "turn"]
    np.testing.assert_allclose(data.rows[1], 1e-6 * SIGNAL[:, 240:280].T, rtol=1e-6)
    table.write_text("onset\n\x00\n")
    refused(path, "vhdr", tmin=-0.1, tmax=0.3)


@pytest.mark.skipif(os.name != "posix", reason="links need rights")
@pytest.mark.parametrize("kind", KINDS)
def test_files_may_be_links(kind, tmp_path):
    """As in repositories of git-annex, where each file is a link to another folder."""
    path = written(kind, tmp_path / "a")
    (tmp_path / "b").mkdir()
    for i, file in enumerate((tmp_path / "a").iterdir()):
        place = tmp_path / "objects" / str(i)
        place.mkdir(parents=True)
        (tmp_path / "b" / file.name).symlink_to(shutil.copy(file, place))
    assert len(read_data(tmp_path / "b" / path.name, window=50).rows) == 8


def test_epochs_of_eeglab_are_samples(tmp_path):
    pytest.importorskip("eeglabio")
    raw = samples.as_raw().set_annotations(None)
    events = np.array([[50 + 60 * i, 0, 1 + i % 2] for i in range(5)])
    how = {"baseline": None, "preload": True, "verbose": "error"}
    epochs = mne.Epochs(raw, events, {"odd": 1, "even": 2}, -0.2, 0.29, **how)
    epochs.export(tmp_path / "a.set", verbose="error")
    data = read_data(tmp_path / "a.set")
    np.testing.assert_allclose(data.rows, epochs.get_data().transpose(0, 2, 1), rtol=1e-6)
    assert data.labels.tolist() == ["odd", "even", "odd", "even", "odd"]
    assert (data.sampling_rate, data.start) == (RATE, -0.2)
    assert len(read_data(tmp_path / "a.set", event="even").rows) == 2
    refused(tmp_path / "a.set", "holds epochs, which need no window", window=50)
    with pytest.raises(ValueError, match=r"a\.set: holds epochs, not one recording"):
        read_signal(tmp_path / "a.set")


def test_what_is_no_file_of_eeglab(tmp_path):
    path = tmp_path / "a.set"
    path.write_bytes(bytes(300))
    refused(path, "is not a file of MATLAB 5 or newer", window=50)
    savemat(path, {"EEG": {"data": np.zeros((2, 9_000_000))}}, do_compression=True)
    refused(path, r"\d+ bytes claim to hold \d+ bytes of values", window=50)
    savemat(path, {"EEG": {"event": np.array([{"type": "a"}, "b", 3.0], dtype=object)}})
    data = path.read_bytes()
    path.write_bytes(data.replace(b"\x01\x00\x00\x00\x03\x00\x00\x00", b"\xff\xff\xff\x0f" * 2))
    refused(path, "is damaged", window=50)
    path.write_bytes(gzip.compress(data))
    refused(path, "is not a file of MATLAB 5 or newer", window=50)
