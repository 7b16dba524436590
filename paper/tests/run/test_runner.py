"""Runs in any order, by any number of processes, that can be killed; and their rows on disk."""

from __future__ import annotations

import pytest

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from small_runs import tiny_run, without_seconds

from gtpca_paper.data import make_data
from gtpca_paper.run import jobs, runner, store
from gtpca_paper.run.jobs import plan, run_job
from gtpca_paper.run.store import Store, Summary, missing, read_rows


def test_order_and_number_of_workers_do_not_matter(tmp_path):
    first = tiny_run(tmp_path / "a")
    assert len(first) == 2 * 2 * 2 * 3
    assert first == tiny_run(tmp_path / "b", order=-1) == tiny_run(tmp_path / "c", workers=2)
    assert first == without_seconds(store.from_lines(tmp_path / "c" / "rows.jsonl"))


def test_rows_count_once_and_rows_alone_are_enough(tmp_path, monkeypatch):
    tiny_run(tmp_path)
    rows = read_rows(tmp_path)
    for path in (tmp_path / "jobs").iterdir():
        path.unlink()
    assert read_rows(tmp_path) == rows
    monkeypatch.setattr(runner, "_work", lambda *_: pytest.fail("done twice"))
    tiny_run(tmp_path)


def test_incomplete_tables_are_called_incomplete(tmp_path):
    todo = plan(["oscillations"], profile="quick", models=["pca"])
    Store(tmp_path).keep(todo[0], run_job(todo[0])[:-1])
    rows = read_rows(tmp_path)
    assert missing(todo, rows) == todo
    summary = Summary.of(todo, rows)
    assert not summary.complete
    assert summary.lines() == ["oscillations, projection: 2 of 6 rows, INCOMPLETE: 4 missing"]
    assert not Summary.of([], rows).complete


def test_rows_of_older_runs_are_computed_again(tmp_path):
    (job,) = plan(["spikes"], profile="quick", setting="i", task="outlier", models=["gtpca-als"])
    key = {name: getattr(job, name) for name in ("experiment", "setting", "task", "model")}
    rows = [{**k._asdict(), "value": 1.0, "seconds": 0.0, "scale": 16.0} for k in job.row_keys()]
    for row in rows:
        row |= {"balanced": 50.0} if row["metric"] == "accuracy" else {}
    Store(tmp_path).keep(job, rows)
    assert missing([job], read_rows(tmp_path)) == []
    Store(tmp_path).keep(job, [row | {"earlier": True} for row in rows])
    assert missing([job], read_rows(tmp_path)) == [job]
    Store(tmp_path).keep(job, [_without(row, "balanced") for row in rows])
    assert len(read_rows(tmp_path)) == len(rows)  # they can still be read
    assert missing([job], read_rows(tmp_path)) == [job]
    Store(tmp_path).keep(job, [_without(row, "scale") for row in rows])
    left = read_rows(tmp_path)  # scores that were not scaled as in the paper are not
    assert {row["protocol"] for row in left} == {"none", "signed", "signed+pose"}
    assert missing([job], left) == [job]
    assert all(row[name] == value for row in left for name, value in key.items())


def _without(row, column):
    return {name: value for name, value in row.items() if name != column}


def test_a_damaged_row_is_named(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"experiment": "spikes"}\n')
    with pytest.raises(ValueError, match=r"rows.jsonl, line 1 is not a row"):
        read_rows(tmp_path)


def test_a_job_that_fails_is_named_and_the_others_go_on(tmp_path, monkeypatch):
    todo = plan(["oscillations"], profile="quick", models=["pca"])
    real = make_data

    def broken(experiment, setting, **rest):
        if setting == "512":
            raise RuntimeError("no more paper")
        return real(experiment, setting, **rest)

    monkeypatch.setattr(jobs, "make_data", broken)
    outcome = runner.run(todo, tmp_path)
    assert outcome.failed == {todo[0].name: "RuntimeError: no more paper"}
    assert outcome.summary.tables["oscillations", "projection"] == (3, 6)


def test_time_left():
    todo = plan(["oscillations"], profile="quick", models=["pca", "kpca"], repeats=2)
    clock = runner.Clock(list(todo), workers=2)
    assert clock.left() is None
    job = next(job for job in todo if job.model == "pca")
    clock.stop(job, 3.0)
    assert clock.left() == pytest.approx(7 * 3.0 / 2)
