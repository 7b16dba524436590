"""``--templates``: the same model as in Python, and errors in one line."""

from __future__ import annotations

import numpy as np
import pytest

import gtpca
from gtpca import GTPCA, Shift

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')

FIT = ("fit", "X.npy", "-o", "m.gtpca", "--family", "shift(8)", "--templates")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "X.npy", rng.normal(size=(40, 30)))
    np.savetxt(tmp_path / "known.csv", np.hanning(10)[None, 1:-1], delimiter=",")
    np.save(tmp_path / "long.npy", np.ones((1, 9)))
    monkeypatch.chdir(tmp_path)


def test_the_command_fits_what_python_fits(folder, run):
    assert run(*FIT, "known.csv").code == 0
    X = np.load("X.npy")
    expected = GTPCA(1, Shift(8), templates=np.hanning(10)[1:-1], random_state=0).fit(X)
    np.testing.assert_array_equal(gtpca.load("m.gtpca").transform(X), expected.transform(X))


def test_more_components_than_templates(folder, run):
    assert run(*FIT, "known.csv", "-k", "2").code == 0
    assert len(gtpca.load("m.gtpca").components_) == 2


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("long.npy",), "shape (t, 8)"),
        (("known.csv", "--probabilistic"), "--templates does not apply with --probabilistic"),
        (("none.npy",), "none.npy"),
    ],
)
def test_errors_in_one_line(folder, run, more, message):
    said = run(*FIT, *more)
    assert said.code != 0
    assert message in said.err
    assert "Traceback" not in said.err
