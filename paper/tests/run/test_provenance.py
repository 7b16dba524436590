"""Where rows come from, and rows of earlier solvers that are kept apart."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from small_runs import tiny_run

from gtpca_paper import rows as row_keys
from gtpca_paper.rows import is_earlier
from gtpca_paper.run import provenance
from gtpca_paper.run.jobs import plan
from gtpca_paper.run.store import Store, from_lines, missing, read_rows
from gtpca_paper.spec import MODELS

NAMES = {"commit", "python", "gtpca", "numpy", "scipy", "scikit-learn", "processor", "revision"}


def test_every_row_says_what_computed_it(tmp_path):
    tiny_run(tmp_path)
    made = [row["made"] for row in read_rows(tmp_path)]
    assert all({*each} >= NAMES and each == made[0] for each in made)
    assert made[0]["processor"]


def test_the_commit_says_whether_sources_were_changed(tmp_path, monkeypatch):
    source = tmp_path / "paper" / "src" / "gtpca_paper" / "run"
    source.mkdir(parents=True)
    (source / "provenance.py").write_text("1\n")

    def git(*arguments):
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", "-C", tmp_path, *who, *arguments], capture_output=True)
        assert done.returncode == 0, done.stderr

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--no-verify", "-m", "first")
    monkeypatch.setattr(provenance, "__file__", str(source / "provenance.py"))
    commit = provenance._commit()
    assert len(commit) == 12
    (source / "provenance.py").write_text("2\n")
    assert provenance._commit() == commit + "+"
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "a" / "b" / "c" / "d" / "e" / "f"))
    assert provenance._commit() == ""  # installed


def test_rows_of_an_earlier_revision_are_kept_apart(tmp_path, monkeypatch):
    tiny_run(tmp_path)
    before = read_rows(tmp_path)
    newer = MODELS | {"pca": replace(MODELS["pca"], revision=1)}
    for module in ("rows", "run.store"):
        monkeypatch.setattr(f"gtpca_paper.{module}.MODELS", newer)
    assert row_keys.MODELS["pca"].revision == 1
    assert {row["model"] for row in read_rows(tmp_path) if is_earlier(row)} == {"pca"}
    todo = plan(["oscillations"], profile="quick", models=["pca", "kpca"], repeats=2)
    assert {job.model for job in missing(todo, read_rows(tmp_path))} == {"pca"}
    Store(tmp_path).merge()
    for path in (tmp_path / "jobs").iterdir():
        path.unlink()
    assert {row["model"] for row in from_lines(tmp_path / "rows.jsonl")} == {"kpca"}
    tiny_run(tmp_path)
    earlier = from_lines(tmp_path / "earlier.jsonl")
    assert earlier == [row for row in before if row["model"] == "pca"]
    after = read_rows(tmp_path)
    assert len(after) == len(before)
    assert not any(map(is_earlier, after))
