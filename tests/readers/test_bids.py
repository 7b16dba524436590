"""BIDS folders: recordings of several subjects, sessions and runs, written by mne-bids."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import samples
from samples import RATE, SIGNAL, refused

from gtpca.readers import read_data

pytest.importorskip("mne_bids")
pytest.importorskip("pybv")
AROUND = {"tmin": -0.1, "tmax": 0.3}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Subjects 01 (runs 1 and 2) and 02 (run 1) of the task odd, and one who rests."""
    root = tmp_path_factory.mktemp("bids") / "study"
    for subject, run in (("01", "1"), ("01", "2"), ("02", "1")):
        samples.write_bids(samples.as_raw(), root, subject=subject, run=run, task="odd")
    samples.write_bids(samples.as_raw(), root, subject="02", task="rest")
    return root


@pytest.fixture
def study(written, tmp_path):
    return shutil.copytree(written, tmp_path / "study")


def test_all_runs_of_a_task_with_what_tells_them_apart(study):
    data = read_data(study, "odd", **AROUND)
    cut = [1e-6 * SIGNAL[:, at - 10 : at + 30].T for at in (100, 250)]
    np.testing.assert_allclose(data.rows, 3 * cut, rtol=1e-6)
    assert data.labels.tolist() == 3 * ["go", "stop"]
    assert list(data.columns) == ["recording_event_s", "label", "subject", "run"]
    assert data.beside["subject"].tolist() == ["01"] * 4 + ["02"] * 2
    assert data.beside["run"].tolist() == ["1", "1", "2", "2", "1", "1"]
    assert data.ids[:3].tolist() == [
        "sub-01_task-odd_run-1:1",
        "sub-01_task-odd_run-1:2.5",
        "sub-01_task-odd_run-2:1",
    ]
    assert (data.channels, data.sampling_rate, data.start) == (["Fz", "Cz"], RATE, -0.1)
    assert len(read_data(study / "sub-02", "odd", **AROUND).rows) == 2
    assert len(read_data(study / "sub-01" / "eeg", **AROUND).rows) == 4


def test_sliding_windows(study):
    data = read_data(study / "sub-01", window=1.0)
    assert data.rows.shape == (8, 100, 2)
    assert data.ids[5] == "sub-01_task-odd_run-2:1"
    assert data.labels.tolist() == ["01"] * 8


def test_what_is_not_samples_of_one_model(study):
    refused(study, "holds several tasks; give the key of one: odd, rest", **AROUND)
    refused(study, "no task with the key 'even'; there are: odd, rest", key="even", **AROUND)
    refused(study, "give either window, or both tmin and tmax", key="odd")
    refused(study, "rate=100 does not apply", key="odd", rate=100)
    (study / "sub-03").mkdir()
    refused(study / "sub-03", "there is no recording in it")
    raw = samples.as_raw().rename_channels({"Cz": "Pz"})
    samples.write_bids(raw, study, subject="03", task="odd")
    refused(study, "sub-03.* has 2 channels, among them 'Pz', but sub-01", key="odd", **AROUND)
    table = next((study / "sub-01").rglob("*run-1_events.tsv"))
    table.write_text("onset\n\x00\n")
    refused(study, "sub-01_task-odd_run-1_eeg.vhdr: ", key="odd", **AROUND)


def test_recordings_without_the_event_are_left_out(study):
    (table,) = (study / "sub-02").rglob("*odd*events.tsv")
    table.write_text(table.read_text().replace("\tstop\t", "\tturn\t"))
    with pytest.warns(UserWarning, match=r"sub-02_task-odd_run-1_eeg.* left out: event='stop'"):
        data = read_data(study, "odd", event="stop", **AROUND)
    assert data.beside["subject"].tolist() == ["01", "01"]
    with pytest.warns(UserWarning, match="left out"):
        refused(study, "no recording has a window", key="odd", event="left", **AROUND)


def test_other_folders_of_a_study_are_what_they_are(study):
    (study / "stimuli").mkdir()
    refused(study / "stimuli", "there is no image in the folder")


def test_a_table_of_scores_has_subjects_and_runs(study, run, tmp_path):
    model, table = tmp_path / "m.gtpca", tmp_path / "scores.csv"
    cut = ("--key", "odd", "--tmin", -0.1, "--tmax", 0.3)
    family = ("--family", "shift(window=0.2s, axes='time')")
    run("fit", study, "-o", model, "-k", 1, *cut, *family)
    run("transform", model, study, "-o", table, "--key", "odd")
    header, first, *_ = table.read_text().splitlines()
    assert header == "recording_event_s,label,subject,run,gtpca0"
    assert first.startswith("sub-01_task-odd_run-1:1,go,01,1,")
