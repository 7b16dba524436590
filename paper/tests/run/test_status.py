"""What is missing, and how long it would take."""

from __future__ import annotations

import pytest

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from small_runs import tiny_run

from gtpca_paper.run.jobs import plan
from gtpca_paper.run.reproduction import what_is_missing
from gtpca_paper.run.status import Times, status
from gtpca_paper.run.store import read_rows


def rows_of(job, seconds, processor="old"):
    more = {"value": 1.0, "seconds": seconds, "made": {"processor": processor}}
    return [{**key._asdict(), **more} for key in job.row_keys()]


def test_a_complete_run_misses_nothing(tmp_path):
    tiny_run(tmp_path)
    wanted = {"profile": "quick", "models": ["pca", "kpca"], "setting": "512", "repeats": 2}
    said = what_is_missing(tmp_path, wanted)
    assert said[0] == "Nothing is missing of 4 jobs."
    wanted["repeats"] = 3
    first, total, rows = what_is_missing(tmp_path, wanted)[1:]
    assert first.startswith("oscillations, projection, kpca: 1 of 3 jobs missing, about 0.")
    assert total.startswith("In all about 0.")
    assert rows == "24 rows are there: 0 do not say what computed them, 0 are of an earlier solver."


def test_times_are_of_the_most_alike_and_of_this_processor():
    jobs = plan(["oscillations"], models=["gtpca-adam", "vae"], repeats=1)
    network, vae = jobs[0], next(job for job in jobs if job.model == "vae")
    rows = rows_of(network, 10.0) + rows_of(vae, 30.0)
    assert Times(rows, "here").guess(network) == pytest.approx(10.0)
    assert Times(rows, "here").guess(vae) == 30.0
    faster = rows + rows_of(vae, 3.0, "here")
    assert Times(faster, "here").guess(vae) == 3.0
    (longer,) = plan(["handwriting"], models=["gtpca-adam-40"], repeats=1)
    assert Times(rows, "here").guess(longer) == pytest.approx(4 * 10.0)  # 40 epochs for 10
    (other,) = plan(["spikes"], setting="i", task="outlier", models=["pca"], repeats=1)
    assert Times(rows, "here").guess(other) is None
    assert "unknown time" in status([other], rows, "here")[0]


def test_repetitions_of_a_network_are_missing_one_by_one():
    jobs = plan(["oscillations"], setting="512", models=["gtpca-adam"])
    lines = status(jobs, rows_of(jobs[0], 60.0), "here")
    assert lines[0] == "oscillations, projection, gtpca-adam: 2 of 3 jobs missing, about 2.0 min"


def test_rows_on_disk_are_read(tmp_path):
    tiny_run(tmp_path)
    assert len(read_rows(tmp_path)) == 24
