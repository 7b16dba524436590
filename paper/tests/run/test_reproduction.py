"""``gtpca reproduce``: what it refuses, leaves out, and goes on with."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
from command import environment

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from small_runs import tiny_run, without_seconds

from gtpca_paper.run import reproduction
from gtpca_paper.run.store import read_rows
from gtpca_paper.spec import EXPERIMENTS

NEEDS_TYPER = 'needs typer: pip install "gtpca[cli]"'


def command(*arguments, **more):
    pytest.importorskip("typer", reason=NEEDS_TYPER)
    return subprocess.run(
        [sys.executable, "-m", "gtpca_command", *map(str, arguments)],
        **{"capture_output": True, "text": True, "check": False, "env": environment(**more)},
    )


def test_a_killed_run_goes_on(tmp_path):
    pytest.importorskip("typer", reason=NEEDS_TYPER)
    arguments = ["reproduce", "oscillations", "--profile", "quick", "--models", "pca,kpca"]
    arguments += ["--repeats", "2", "--jobs", "2", "--out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "gtpca_command", *arguments, str(tmp_path / "killed")],
        **{"env": environment(), "stdout": subprocess.DEVNULL},
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("killed/jobs/*.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done = command(*arguments, tmp_path / "killed")
    assert done.returncode == 0, done.stderr
    assert "oscillations, projection: 24 of 24 rows, complete" in done.stdout
    assert without_seconds(read_rows(tmp_path / "killed")) == tiny_run(tmp_path / "whole")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "NAME='nothing' must be one of 'oscillations'"),
        ([], "NAME is missing"),
        (["mnist", "--setting", "v"], "setting of mnist='v' must be one of 'i', 'ii'"),
        (["spikes", "--task", "projection"], "task of spikes='projection' must be one of"),
        (["spikes", "--models", "pca,ica"], "model='ica' must be one of"),
        (["spikes", "--profile", "slow"], "profile='slow' must be one of 'quick'"),
        (["spikes", "--jobs", "0"], "--jobs=0 must be"),
        (["spikes", "--repetitions", "3;7"], "'3;7' is not a list of integers"),
        (["spikes", "--repetitions", "3", "--repeats", "2"], "--repetitions (which) exclude"),
        (["spikes", "--channels", "all"], "--channels is an option of errp"),
        (["mnist", "--models", "kpca"], "mnist has no such model"),
        (["spikes", "--loud"], "--loud"),
        (
            ["oscillations", "--models", "pca", "--out", __file__],
            f"--out {__file__} cannot be written",
        ),
    ],
)
def test_bad_input_is_one_line(arguments, said, capsys, monkeypatch):
    pytest.importorskip("typer", reason=NEEDS_TYPER)
    from gtpca.cli import main

    with pytest.raises(SystemExit) as stop:
        main(["reproduce", *arguments])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("gtpca: ")
    assert error.count("\n") == 1
    assert said in error


def test_the_command_lists_and_refuses_through_a_process():
    listed = command("reproduce", "--list")
    assert listed.returncode == 0
    for name in EXPERIMENTS:
        assert name in listed.stdout
    refused = command("reproduce", "nothing")
    assert (refused.returncode, refused.stdout) == (2, "")


def test_missing_typer_names_the_extra(monkeypatch, capsys):
    from gtpca.cli import main

    monkeypatch.delitem(sys.modules, "gtpca.commands", raising=False)
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "--list"])
    assert stop.value.code == 2
    assert 'pip install "gtpca[cli]"' in capsys.readouterr().err


def test_what_cannot_be_had_is_left_out(tmp_path, monkeypatch):
    pytest.importorskip("rich", reason=NEEDS_TYPER)
    from gtpca.datasets import DatasetError

    def offline(name, home):
        raise DatasetError(f"{name} is not here")

    monkeypatch.setattr(reproduction, "locate", offline)
    wanted = {"profile": "quick", "models": ["pca"], "task": "projection"}
    with pytest.raises(DatasetError, match="handwrit"):
        reproduction.reproduce("handwriting", tmp_path, wanted=wanted)
    said = []
    assert reproduction.reproduce("all", tmp_path, say=said.append, wanted=wanted) == 0
    assert any(line.startswith("handwriting was left out.") for line in said)
    assert any(line == "oscillations, projection: 6 of 6 rows, complete" for line in said)
