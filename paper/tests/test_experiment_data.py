"""Samples of the experiments: the same everywhere, split without leaks."""

from __future__ import annotations

import os

import numpy as np
import pytest

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from gtpca_paper import data
from gtpca_paper.data import make_data, seed_of
from gtpca_paper.spec import EXPERIMENTS, PROFILES

QUICK = PROFILES["quick"]
needs_data = pytest.mark.skipif("GTPCA_DATA" not in os.environ, reason="GTPCA_DATA is not set")


def test_every_experiment_has_samples():
    assert {*data._MAKERS} == {*EXPERIMENTS}


def test_seeds_are_those_of_other_machines():
    assert seed_of("spikes", "i", "outlier", 0) == 1704196152  # sha256 of "spikes/i/outlier/0"
    assert seed_of("a", 1) != seed_of("a", 2)


@pytest.mark.parametrize("task", ["classification", "outlier"])
def test_spikes(task):
    found = make_data("spikes", "i", task=task, repetition=0, profile=QUICK)
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
    first, again, second = (
        make_data("oscillations", "512", task="projection", repetition=r) for r in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.fit, again.fit)
    assert first.fit.shape == (1000, 256)
    assert np.abs(first.fit - second.fit).max() > 0.1
    assert np.abs(first.fit - first.test).max() > 0.1


@needs_data
def test_handwriting_is_split_without_leaks():
    pytest.importorskip("rdata", reason="handwriting is an R file")
    found = make_data("handwriting", "1400", task="projection", repetition=3)
    assert found.fit.shape == (16, 1400, 2)
    assert found.test.shape == (4, 1400, 2)
    assert len(np.unique(np.concatenate([found.fit, found.test]), axis=0)) == 20
    short = make_data("handwriting", "700", task="projection", repetition=3)
    assert short.fit.shape == (16, 700, 2)


@needs_data
@pytest.mark.parametrize(("setting", "side"), [("i", 16), ("ii", 28), ("iii", 56), ("iv", 28)])
def test_digits(setting, side):
    found = make_data("mnist", setting, task="outlier", repetition=0, profile=QUICK)
    assert found.train.shape == (QUICK.n_train, side, side)
    assert found.train.dtype == np.float32
    assert 200 < found.train.max() < 256
    assert len(found.fit) == found.train_y.sum()
    np.testing.assert_array_equal(found.fit, found.train[found.train_y == 1])
    np.testing.assert_array_equal(found.target, found.test_y == 1)
    classes = make_data("mnist", setting, task="classification", repetition=0, profile=QUICK)
    np.testing.assert_array_equal(np.unique(classes.test_y), np.arange(10))
    np.testing.assert_array_equal(classes.test_y == 8, found.test_y == 1)


def test_windows_around_errors_are_labelled():
    times = np.arange(2000.0)[:, None]
    runs = [(times, np.array([1000])), (times + 10_000, np.array([], int))]
    windows, y = data.random_windows(runs, size=256, count=4000, rng=np.random.RandomState(0))
    start = windows[:, 0, 0]
    np.testing.assert_array_equal(windows[:, :, 0], start[:, None] + np.arange(256))
    # At least 128 of the 256 points after the error, which is at 1000.
    shared = np.minimum(start + 256, 1256) - np.maximum(start, 1000)
    np.testing.assert_array_equal(y, (shared >= 128).astype(int))
    assert 0 < y.sum() < 4000
    wrong = data.error_windows(runs, size=512, count=500, rng=np.random.RandomState(0))[:, 0, 0]
    assert (wrong.min(), wrong.max()) >= (616, 1128)
    assert wrong.max() <= 1128


@pytest.mark.parametrize(("setting", "size"), [("i", 256), ("iii", 512)])
def test_error_potentials_are_split_by_session(setting, size, monkeypatch, tmp_path):
    monkeypatch.setenv("GTPCA_DATA", str(tmp_path))
    outlier = make_data("errp", setting, task="outlier", repetition=0, profile=QUICK)
    assert outlier.simulated
    assert outlier.fit.shape[1:] == (size, 2)
    assert len(outlier.fit) == outlier.train_y.sum()
    assert outlier.target.sum() == outlier.test_y.sum()
    classes = make_data("errp", setting, task="classification", repetition=0, profile=QUICK)
    assert len(classes.fit) == len(classes.train) == len(classes.test) == QUICK.n_windows
    assert classes.train_y.mean() == 0.2
    assert classes.test_y.mean() < 0.15
