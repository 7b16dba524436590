"""The experiments of the paper: protocols by hand, data without leaks, runs that can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA

from gtpca.datasets import make_spikes
from gtpca.experiments import data, jobs, models, protocols, reproduction, runner, store
from gtpca.experiments.data import make_data, seed_of
from gtpca.experiments.jobs import Job, plan, row_key, run_job
from gtpca.experiments.kernel import make_kpca
from gtpca.experiments.published import published
from gtpca.experiments.settings import EXPERIMENTS, MODELS, PROFILES, find_setting
from gtpca.experiments.store import Store, Summary, missing, read_rows

QUICK = PROFILES["quick"]
NEEDS_TORCH = 'needs torch: pip install "gtpca[torch]"'
NEEDS_TYPER = 'needs typer: pip install "gtpca[cli]"'
needs_data = pytest.mark.skipif("GTPCA_DATA" not in os.environ, reason="GTPCA_DATA is not set")


# --- protocols ---


def test_resmse_is_a_ratio_of_sums():
    residual, energy = np.array([1.0, 0.0]), np.array([2.0, 8.0])
    found = protocols.resmse(residual, energy, np.ones(2, bool), "classification")
    assert found == {"same": 0.1}  # and not the mean of 1/2 and 0


def test_resmse_of_outliers_has_two_denominators():
    residual, energy = np.array([1.0, 3.0, 50.0, 50.0]), np.array([4.0, 8.0, 1.0, 3.0])
    found = protocols.resmse(residual, energy, np.array([True, True, False, False]), "outlier")
    assert found == {"paper": 2 / 4, "own": 2 / 6}


def test_resmse_of_an_exploded_model_is_none():
    found = protocols.resmse(np.array([np.nan]), np.ones(1), np.ones(1, bool), "projection")
    assert found == {"same": None}


def test_accuracy_on_the_first_samples_and_on_all():
    predicted, y = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 1])
    assert protocols.accuracies(predicted, y, 2) == {"paper": 50.0, "own": 25.0}
    assert protocols.accuracies(predicted, y, None) == {"same": 25.0}


def test_relative_poses_do_not_change_when_the_sample_moves():
    start, degrees = np.array([[3, 7, 1]]), np.array([[350.0, 20.0, 90.0]])
    found = protocols.pose_features({"start_0": start, "degrees": degrees})
    angle = np.deg2rad([30, 100])
    np.testing.assert_allclose(found[0], [4, -2, *np.cos(angle), *np.sin(angle)])
    moved = {"start_0": start + 5, "degrees": (degrees + 72) % 360}
    np.testing.assert_allclose(protocols.pose_features(moved), found)


# --- data ---


def test_seeds_are_those_of_other_machines():
    assert seed_of("spikes", "i", "outlier", 0) == 1704196152  # sha256 of "spikes/i/outlier/0"
    assert seed_of("a", 1) != seed_of("a", 2)


@pytest.mark.parametrize("task", ["classification", "outlier"])
def test_spikes(task):
    found = make_data("spikes", "i", task, 0, QUICK)
    assert found.train.shape == found.test.shape == (200, 128)
    assert 70 < found.test_y.sum() < 130
    loud = np.abs(found.fit).max(axis=1) > 1.3
    if task == "outlier":  # fitted to spikes alone, a few of them beyond the border
        assert loud.mean() > 0.9
        np.testing.assert_array_equal(found.target, found.test_y == 1)
        np.testing.assert_array_equal(found.fit, found.train[found.train_y == 1])
    else:
        assert found.fit is found.train
        assert found.target.all()
    assert not np.isin(found.test[:, 0], found.train[:, 0]).any()


def test_repetitions_differ_and_repeat():
    first, again, second = (make_data("oscillations", "512", "projection", r) for r in (0, 0, 1))
    np.testing.assert_array_equal(first.fit, again.fit)
    assert first.fit.shape == (1000, 256)
    assert np.abs(first.fit - second.fit).max() > 0.1
    assert np.abs(first.fit - first.test).max() > 0.1


@needs_data
def test_handwriting_is_split_without_leaks():
    pytest.importorskip("rdata", reason="handwriting is an R file")
    found = make_data("handwriting", "1400", "projection", 3)
    assert found.fit.shape == (16, 1400, 2)
    assert found.test.shape == (4, 1400, 2)
    assert len(np.unique(np.concatenate([found.fit, found.test]), axis=0)) == 20
    assert make_data("handwriting", "700", "projection", 3).fit.shape == (16, 700, 2)


@needs_data
@pytest.mark.parametrize(("setting", "side"), [("i", 16), ("ii", 28), ("iii", 56), ("iv", 28)])
def test_digits(setting, side):
    found = make_data("mnist", setting, "outlier", 0, QUICK)
    assert found.train.shape == (QUICK.n_train, side, side)
    assert found.train.dtype == np.float32
    assert 200 < found.train.max() < 256
    assert len(found.fit) == found.train_y.sum()
    np.testing.assert_array_equal(found.fit, found.train[found.train_y == 1])
    np.testing.assert_array_equal(found.target, found.test_y == 1)
    classes = make_data("mnist", setting, "classification", 0, QUICK)
    np.testing.assert_array_equal(np.unique(classes.test_y), np.arange(10))
    np.testing.assert_array_equal(classes.test_y == 8, found.test_y == 1)


def test_windows_around_errors_are_labelled():
    times = np.arange(2000.0)[:, None]
    runs = [(times, np.array([1000])), (times + 10_000, np.array([], int))]
    windows, y = data.random_windows(runs, 256, 4000, np.random.RandomState(0))
    start = windows[:, 0, 0]
    np.testing.assert_array_equal(windows[:, :, 0], start[:, None] + np.arange(256))
    # At least 128 of the 256 points after the error, which is at 1000.
    shared = np.minimum(start + 256, 1256) - np.maximum(start, 1000)
    np.testing.assert_array_equal(y, (shared >= 128).astype(int))
    assert 0 < y.sum() < 4000
    wrong = data.error_windows(runs, 512, 500, np.random.RandomState(0))[:, 0, 0]
    assert (wrong.min(), wrong.max()) >= (616, 1128)
    assert wrong.max() <= 1128


@pytest.mark.parametrize(("setting", "size"), [("i", 256), ("iii", 512)])
def test_error_potentials_are_split_by_session(setting, size, monkeypatch, tmp_path):
    monkeypatch.setenv("GTPCA_DATA", str(tmp_path))
    outlier = make_data("errp", setting, "outlier", 0, QUICK)
    assert outlier.simulated
    assert outlier.fit.shape[1:] == (size, 2)
    assert len(outlier.fit) == outlier.train_y.sum()
    assert outlier.target.sum() == outlier.test_y.sum()
    classes = make_data("errp", setting, "classification", 0, QUICK)
    assert len(classes.fit) == len(classes.train) == len(classes.test) == QUICK.n_windows
    assert classes.train_y.mean() == 0.2
    assert classes.test_y.mean() < 0.15


# --- models ---


def fitted(name, counts, setting, X):
    return models.make_model(name, counts, setting, False, 20, 0).fit(X)


@pytest.fixture(scope="module")
def spikes():
    return make_spikes(150, 64, random_state=0)[0], make_spikes(60, 64, random_state=1)[0]


def test_residuals_of_pca_are_those_of_scikit_learn(spikes):
    X, test = spikes
    found = fitted("pca", (1, 3), find_setting("spikes", "ii"), X).residuals(test)
    for column, k in enumerate((1, 3)):
        pca = PCA(k).fit(X)
        rebuilt = pca.inverse_transform(pca.transform(test))
        np.testing.assert_allclose(found[:, column], ((test - rebuilt) ** 2).sum(axis=1))


def test_kernel_pca_is_fitted_for_every_count(spikes):
    X, test = spikes
    found = fitted("kpca", (1, 2), find_setting("spikes", "ii"), X).residuals(test)
    for column, k in enumerate((1, 2)):
        kpca = make_kpca(k).fit(X)
        rebuilt = kpca.inverse_transform(kpca.transform(test))
        np.testing.assert_allclose(found[:, column], ((test - rebuilt) ** 2).sum(axis=1))


def test_residuals_and_features_of_gtpca(spikes):
    X, test = spikes
    setting = find_setting("spikes", "i")
    found = fitted("gtpca-als", (1, 3), setting, X)
    residuals, total = found.residuals(test).sum(axis=0), (test**2).sum()
    np.testing.assert_allclose(residuals / total, found.model.resmse(test)[[0, 2]], rtol=1e-5)
    codes = found.encode(test)
    np.testing.assert_array_equal(found.features(codes, 2, "signed"), codes.scores[:, :2])
    np.testing.assert_array_equal(found.features(codes, 2, "paper"), abs(codes.scores[:, :2]))
    start = found.model.poses(codes)["start"]
    with_pose = found.features(codes, 3, "signed+pose")
    np.testing.assert_array_equal(with_pose[:, 3:], start[:, 1:] - start[:, :1])


@pytest.mark.parametrize("setting", ["i", "ii"])
def test_the_network_is_trained_also_where_nothing_moves(setting, spikes):
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    X, test = spikes
    found = fitted("gtpca-adam", (1, 2), find_setting("spikes", setting), X)
    assert [len(history) for history in found.model.history_] == [6, 6]
    assert np.all(found.residuals(test).sum(axis=0) < (test**2).sum())


def test_every_model_of_every_setting_has_a_class():
    for experiment in EXPERIMENTS.values():
        for setting in experiment.settings:
            names = experiment.models(setting)
            assert set(names) <= set(MODELS)
            assert ("gtpca-shared" in names) == (setting.family is not None)


# --- published ---


def test_published_values():
    assert published("oscillations", "256", "projection", "kpca", "resmse")[0] == 0.949
    assert published("spikes", "iii", "classification", "gtpca-als", "accuracy")[:2] == [84.3, 99.0]
    assert published("handwriting", "700", "projection", "pca", "resmse")[9] == 0.03567
    assert published("mnist", "i", "classification", "vae", "resmse")[3] is None
    assert published("mnist", "iv", "outlier", "gtpca-refine", "accuracy")[-1] == 93.6
    assert len(published("errp", "ii", "outlier", "autoencoder", "resmse")) == 4
    assert published("errp", "ii", "outlier", "pca", "resmse") == []
    with pytest.raises(ValueError, match="experiment='spike' must be one of"):
        published("spike", "i", "outlier", "pca", "resmse")


def test_the_paper_has_as_many_components_as_the_plan():
    for experiment in EXPERIMENTS.values():
        for setting in experiment.settings:
            for task, largest in experiment.largest.items():
                for model in ("gtpca-als", *experiment.published):
                    found = published(experiment.name, setting.name, task, model, "resmse")
                    assert len(found) == largest


# --- plans and rows ---


def test_counts_of_a_plan():
    found = {job.model: job.counts for job in plan(["mnist"], setting="i", task="outlier", k=20)}
    assert found["gtpca-als"] == tuple(range(1, 21))
    in_parts = [j.counts for j in plan(["mnist"], setting="i", task="outlier", models=["vae"])]
    assert in_parts == [(1,), (2,), (3,), (5,), (10,)]
    refined = [j.counts for j in plan(["mnist"], setting="i", models=["gtpca-refine"])]
    assert refined == [(2,), (5,), (10,), (20,), (2,), (5,), (10,)]


def test_all_channels_are_another_setting():
    assert {j.setting for j in plan(["errp"], channels="all", setting="i")} == {"i-all"}
    assert find_setting("errp", "i-all") is find_setting("errp", "i")


def test_a_job_writes_the_rows_it_promises():
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    for model in ("pca", "gtpca-als", "gtpca-shared"):
        (job,) = plan(["spikes"], profile="quick", setting="i", task="outlier", models=[model])
        rows = run_job(job)
        assert sorted(map(row_key, rows)) == sorted(job.row_keys())
        assert all(0 <= row["value"] <= 100 for row in rows if row["metric"] == "accuracy")
        json.dumps(rows, allow_nan=False)


def tiny(out, order=1, workers=1):
    """Rows of a small run, without their seconds."""
    todo = plan(["oscillations"], profile="quick", models=["pca", "kpca"], repeats=2)[::order]
    outcome = runner.run(todo, out, workers=workers)
    assert outcome.summary.complete
    return without_seconds(read_rows(out))


def without_seconds(rows):
    return [{name: v for name, v in row.items() if name != "seconds"} for row in rows]


def test_order_and_number_of_workers_do_not_matter(tmp_path):
    first = tiny(tmp_path / "a")
    assert len(first) == 2 * 2 * 2 * 3
    assert first == tiny(tmp_path / "b", order=-1) == tiny(tmp_path / "c", workers=2)
    assert first == without_seconds(store.from_lines(tmp_path / "c" / "rows.jsonl"))


def test_rows_count_once_and_rows_alone_are_enough(tmp_path, monkeypatch):
    tiny(tmp_path)
    rows = read_rows(tmp_path)
    for path in (tmp_path / "jobs").iterdir():
        path.unlink()
    assert read_rows(tmp_path) == rows
    monkeypatch.setattr(runner, "_work", lambda *_: pytest.fail("done twice"))
    tiny(tmp_path)


def test_incomplete_tables_are_called_incomplete(tmp_path):
    todo = plan(["oscillations"], profile="quick", models=["pca"])
    Store(tmp_path).keep(todo[0], run_job(todo[0])[:-1])
    rows = read_rows(tmp_path)
    assert missing(todo, rows) == todo
    summary = Summary.of(todo, rows)
    assert not summary.complete
    assert summary.lines() == ["oscillations, projection: 2 of 6 rows, INCOMPLETE: 4 missing"]
    assert not Summary.of([], rows).complete


def test_a_damaged_row_is_named(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"experiment": "spikes"}\n')
    with pytest.raises(ValueError, match=r"rows.jsonl, line 1 is not a row"):
        read_rows(tmp_path)


def test_a_job_that_fails_is_named_and_the_others_go_on(tmp_path, monkeypatch):
    todo = plan(["oscillations"], profile="quick", models=["pca"])
    real = make_data

    def broken(experiment, setting, *rest):
        if setting == "512":
            raise RuntimeError("no more paper")
        return real(experiment, setting, *rest)

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


# --- the command ---


def environment(**more):
    source = str(Path(protocols.__file__).parents[2])
    return {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", **more}


def command(*arguments, **more):
    pytest.importorskip("typer", reason=NEEDS_TYPER)
    return subprocess.run(
        [sys.executable, "-m", "gtpca.cli", *map(str, arguments)],
        **{"capture_output": True, "text": True, "check": False, "env": environment(**more)},
    )


def test_a_killed_run_goes_on(tmp_path):
    pytest.importorskip("typer", reason=NEEDS_TYPER)
    arguments = ["reproduce", "oscillations", "--profile", "quick", "--models", "pca,kpca"]
    arguments += ["--repeats", "2", "--jobs", "2", "--out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "gtpca.cli", *arguments, str(tmp_path / "killed")],
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
    assert without_seconds(read_rows(tmp_path / "killed")) == tiny(tmp_path / "whole")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "NAME='nothing' must be one of 'oscillations'"),
        ([], "NAME is missing"),
        (["mnist", "--setting", "v"], "setting of mnist='v' must be one of 'i', 'ii'"),
        (["spikes", "--task", "projection"], "task of spikes='projection' must be one of"),
        (["spikes", "--models", "pca,ica"], "model='ica' must be one of"),
        (["spikes", "--profile", "slow"], "profile='slow' must be one of 'quick'"),
        (["spikes", "--jobs", "0"], "--jobs=0 must be an integer of at least 1"),
        (["spikes", "--channels", "all"], "--channels is an option of errp"),
        (["mnist", "--models", "kpca"], "mnist has no such model"),
        (["spikes", "--loud"], "--loud"),
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


def test_names_of_jobs_are_unique():
    todo = plan(list(EXPERIMENTS), profile="paper")
    assert len({job.name for job in todo}) == len(todo)
    assert isinstance(todo[0], Job)
    assert len(store.expected_rows(todo)) == sum(len(job.row_keys()) for job in todo)
