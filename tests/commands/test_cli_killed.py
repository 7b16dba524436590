"""A process that is killed loses nothing that it said was saved, and another goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import samples

import gtpca
from gtpca import EventGTPCA, Shift

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills a process")
SAVES = """
import sys
import numpy as np
import gtpca

model = gtpca.load("m.gtpca")
events = model.encode(np.load("y.npy"))
for i in range(1, 10**6):
    model.set_params(max_iter=i).save("m.gtpca")
    events[np.zeros(i, int)].save("events.csv")
    print(i, flush=True)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    y = samples.recording(3000)
    np.save(tmp_path / "y.npy", y)
    how = {"counts": False, "n_init": 1, "random_state": 0}
    EventGTPCA(1, Shift(20), **how).fit(y).save(tmp_path / "m.gtpca")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_was_said_to_be_saved_is_there(folder):
    with subprocess.Popen([sys.executable, "-c", SAVES], stdout=subprocess.PIPE) as process:
        said = [int(process.stdout.readline()) for _ in range(9)][-1]
        process.send_signal(signal.SIGKILL)
        said = int((process.stdout.read().split() or [said])[-1])
    assert gtpca.load("m.gtpca").max_iter in (said, said + 1)
    assert len((folder / "events.csv").read_text().splitlines()) - 1 in (said, said + 1)


def test_a_killed_fit_leaves_the_model_and_can_be_run_again(folder, run):
    pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
    before = (folder / "m.gtpca").read_bytes()
    fit = ["events", "y.npy", "-o", "m.gtpca", "--family", "shift(20)", "--no-counts"]
    command = [sys.executable, "-m", "gtpca", *fit]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert b"Read y.npy" in process.stderr.readline()
        process.send_signal(signal.SIGKILL)
    assert (folder / "m.gtpca").read_bytes() == before
    assert run(*fit).code == 0
    model = gtpca.load("m.gtpca")
    assert len(model.encode(np.load("y.npy"))) == model.event_counts_.fitted
    assert not list(folder.glob(".*.part"))
