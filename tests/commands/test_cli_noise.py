"""``--noise`` and ``--noise-from``: the same model as in Python, and errors in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.signal import lfilter

import gtpca
from gtpca import GTPCA, ProbabilisticGTPCA, Shift

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files with pulses in noise that wanders, and with such noise alone."""
    rng = np.random.default_rng(0)
    X = lfilter([1.0], [1.0, -0.9], rng.standard_normal((120, 160)))[:, 100:]
    for i, row in enumerate(X):
        row[3 * i % 50 :][:8] += 8 * np.array([0, 1, -1, 1, -1, 1, -1, 0])
    alone = lfilter([1.0], [1.0, -0.9], rng.standard_normal((50, 140)))[:, 100:]
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "noise.npy", alone)
    monkeypatch.chdir(tmp_path)
    return tmp_path


FIT = ("fit", "X.npy", "-o", "m.gtpca", "-k", "1", "--family", "shift(8)")


@pytest.mark.parametrize("more", [(), ("--probabilistic",)])
def test_the_command_finds_what_python_finds(folder, run, more):
    assert run(*FIT, *more, "--noise", "stationary").code == 0
    X = np.load("X.npy")
    kind = ProbabilisticGTPCA if more else GTPCA
    expected = kind(1, Shift(8), noise="stationary", random_state=0).fit(X)
    np.testing.assert_array_equal(gtpca.load("m.gtpca").components_, expected.components_)
    said = run("info", "m.gtpca").out
    assert "stationary, filtered by an autoregression of order" in said
    assert run("plot", "noise", "m.gtpca", "-o", "noise.png").code == 0


def test_noise_from_a_file(folder, run):
    assert run(*FIT, "--noise-from", "noise.npy").code == 0
    model = gtpca.load("m.gtpca")
    expected = GTPCA(1, Shift(8), noise=np.load("noise.npy"), random_state=0).fit(np.load("X.npy"))
    np.testing.assert_array_equal(model.components_, expected.components_)
    facts = json.loads(run("info", "m.gtpca", "--json").out)
    assert facts["data_resmse"] == model.data_resmse_.tolist()


def test_a_window_is_chosen_in_noise(folder, run):
    how = ("--windows", "6:8", "-k", "1:1", "--noise", "stationary", "--folds", "2")
    said = run("choose", "X.npy", "--family", "shift", *how)
    assert said.code == 0
    assert "--noise stationary`" in said.out
    assert run("choose", "X.npy", "--family", "shift", "--noise", "features").code == 2


def test_errors_are_one_line(folder, run):
    np.save("other.npy", np.zeros((3, 4, 5)))
    assert run(*FIT, "--noise", "features").refused("--noise features needs --probabilistic")
    assert run(*FIT, "--noise-from", "other.npy").refused("noise has shape (3, 4, 5)")
    both = ("--probabilistic", "--noise", "features", "--noise-from", "noise.npy")
    assert run(*FIT, *both).refused("exclude each other")
    turned = run("fit", "X.npy", "-o", "m.gtpca", "--family", "identity", "--noise", "stationary")
    assert turned.refused("commutes with shifts alone")
