"""Plans of jobs, and the rows of a job."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from gtpca_paper.rows import RowKey, is_outdated, is_whole
from gtpca_paper.run import store
from gtpca_paper.run.jobs import Job, plan, run_job
from gtpca_paper.spec import EXPERIMENTS, MODELS, PROFILES

NEEDS_TORCH = 'needs torch: pip install "gtpca[torch]"'


def test_counts_of_a_plan():
    found = {job.model: job.counts for job in plan(["mnist"], setting="i", task="outlier", k=20)}
    assert found["gtpca-als"] == tuple(range(1, 21))
    in_parts = [j.counts for j in plan(["mnist"], setting="i", task="outlier", models=["vae"])]
    assert in_parts == [(k,) for k in (1, 2, 3, 5, 7, 10)] * 3  # repetitions
    every = plan(["mnist"], setting="i", task="outlier", models=["vae"], profile="paper", repeats=1)
    assert [j.counts for j in every] == [(k,) for k in range(1, 11)]
    refined = plan(["mnist"], setting="i", models=["gtpca-refine"], repeats=1)
    assert [j.counts for j in refined] == [(2,), (5,), (10,), (20,), (2,), (5,), (10,)]


def test_every_model_is_in_every_profile():
    for profile in PROFILES:
        assert {job.model for job in plan(list(EXPERIMENTS), profile=profile)} == {*MODELS}


def test_trainings_of_other_lengths_are_of_one_experiment():
    todo = plan(list(EXPERIMENTS), models=["gtpca-adam-1", "gtpca-adam-20"])
    assert {job.experiment for job in todo} == {"oscillations"}
    longer = plan(list(EXPERIMENTS), models=["gtpca-adam-40", "gtpca-adam-160"])
    assert {(job.experiment, job.setting) for job in longer} == {("handwriting", "1400")}


def test_the_length_of_a_training_is_that_of_the_model():
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    names = ["gtpca-adam-1", "gtpca-adam"]  # the same training, which ends after 1 or 5 epochs
    todo = plan(["oscillations"], profile="quick", setting="512", models=names)
    left = {job.model: [row["value"] for row in run_job(job)] for job in todo}
    assert left["gtpca-adam"][0] < left["gtpca-adam-1"][0]


def test_all_channels_are_another_setting():
    assert {j.setting for j in plan(["errp"], channels="all", setting="i")} == {"i-all"}


def test_repetitions_are_chosen():
    chosen = plan(["spikes"], setting="i", models=["pca", "vae"], repetitions=[7, 3])
    assert [job.repetition for job in chosen if job.model == "pca"] == [3, 3, 7, 7]  # two tasks
    assert {job.repetition for job in chosen} == {3, 7}
    ten = plan(["spikes"], setting="i", models=["pca"])
    assert {job for job in chosen if job.model == "pca"} <= {*ten}


def test_names_of_jobs_are_unique():
    todo = plan(list(EXPERIMENTS), profile="paper")
    assert len({job.name for job in todo}) == len(todo)
    assert isinstance(todo[0], Job)
    assert len(store.expected_rows(todo)) == sum(len(job.row_keys()) for job in todo)


def test_a_job_writes_the_rows_it_promises():
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    for model in ("pca", "gtpca-als", "gtpca-shared"):
        (job,) = plan(["spikes"], profile="quick", setting="i", task="outlier", models=[model])
        rows = run_job(job)
        assert sorted(map(RowKey.of, rows)) == sorted(job.row_keys())
        scores = [row for row in rows if row["metric"] == "accuracy"]
        assert all(0 <= row["value"] <= 100 and 0 <= row["balanced"] <= 100 for row in scores)
        scale = 1.0 if model == "pca" else 16.0  # weights of 256 points
        assert {row.get("scale") for row in scores if row["protocol"] == "paper"} == {scale}
        made = {"revision": MODELS[model].revision}  # as the store writes it
        assert all(is_whole({**row, "made": made}) and not is_outdated(row) for row in rows)
        json.dumps(rows, allow_nan=False)
