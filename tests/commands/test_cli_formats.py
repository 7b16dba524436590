"""Stacks, cubes, particles, recordings and sheets from the command line: docs/five-files.md."""

from __future__ import annotations

import importlib.util
import re
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest
from command import call

import gtpca

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')

DOCS = Path(__file__).parents[2] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not installed")
TABLE = r"^\| .* \| `gtpca (fit|transform .*star) (.*)` \|$"
SHAPES = {"stack": (10, 10), "cells": (10, 10, 2), "cutouts": (10, 10), "masked": (10, 10)}
SHAPES |= {"particles": (13, 13), "vhdr": (30, 2), "set": (30, 2), "bids": (30, 2)} | {
    "xlsx": (25,)
}


def commands():
    """The commands of the table, and the file that each reads."""
    text = (DOCS / "five-files.md").read_text() if DOCS.exists() else ""
    found = [" ".join(parts) for parts in re.findall(TABLE, text, re.MULTILINE)]
    return {line: next(w for w in line.split()[1:] if not w.endswith(".gtpca")) for line in found}


def test_the_table_has_a_command_for_each_file():
    formats = runpy.run_path(str(DOCS / "five_files.py"))["FORMATS"]
    assert set(commands().values()) == set(formats)


FITS = [line for line in commands() if line.startswith("fit")]


@pytest.mark.parametrize("line", FITS, ids=[line.split()[1] for line in FITS])
def test_formats_of_other_fields_go_from_file_to_scores(line, tmp_path, capsys, monkeypatch):
    name, source = re.search(r"(\w+)\.gtpca", line)[1], commands()[line]
    write, needs = runpy.run_path(str(DOCS / "five_files.py"))["FORMATS"][source]
    for module in needs.split():
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{source} needs {module}")
    write(tmp_path, np.random.default_rng(0))
    monkeypatch.chdir(tmp_path)
    done = call(capsys, *shlex.split(line))
    assert done.code == 0, done.err
    model = gtpca.load(f"{name}.gtpca")
    assert model.components_.shape == (1, *SHAPES[name])
    assert model.explained_energy_ratio_.sum() > 0.8
    reading = re.findall(r"--(?:event|key|tmin|tmax) (?:\"[^\"]*\"|\S+)", line)
    again = [f"{name}.gtpca", source, *shlex.split(" ".join(reading))]
    assert call(capsys, "transform", *again, "-o", "s.csv", "--poses").code == 0
    assert (
        Path("s.csv")
        .read_text()
        .startswith(
            {
                "particles": "rlnImageName,",
                "xlsx": "subject,",
                "bids": "recording_event_s,label,subject,",
            }.get(name, "")
        )
    )
    if name in ("cutouts", "masked"):
        done = call(capsys, "reconstruct", f"{name}.gtpca", source, "-o", "rebuilt")
        assert done.code == (0 if name == "masked" else 2), done.err
        assert name == "masked" or "write them to .npy" in done.err
    if name == "particles":
        ((other, _),) = [pair for pair in commands().items() if pair[0].startswith("transform")]
        done = call(capsys, *shlex.split(other))
        assert done.code == 0, done.err
        assert "Poses of 24 particles are in aligned.star." in done.out + done.err
        assert "_rlnAnglePsi" in Path("aligned.star").read_text()
        refused = call(capsys, "transform", f"{name}.gtpca", "stack.mrcs", "-o", "b.star")
        assert refused.refused(".star", "none of .csv")
