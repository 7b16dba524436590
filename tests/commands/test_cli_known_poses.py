"""``--known-poses``: columns, constants and files, as in Python; errors in one line."""

from __future__ import annotations

import numpy as np
import pytest

import gtpca
from gtpca import GTPCA, Shift

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')

FIT = ("fit", "X.csv", "-o", "m.gtpca", "--family", "shift(8)", "--labels", "rt", "--known-poses")


@pytest.fixture
def trials(tmp_path, monkeypatch):
    """Rows, and the starts of two components."""
    rng = np.random.default_rng(0)
    X, rt = rng.normal(size=(20, 24)).round(6), rng.integers(4, 16, 20)
    lines = [",".join([*(f"x{j}" for j in range(24)), "rt"])]
    lines += [",".join(map(str, [*row, late])) for row, late in zip(X.tolist(), rt, strict=True)]
    (tmp_path / "X.csv").write_text("\n".join(lines))
    np.savetxt(tmp_path / "places.csv", np.c_[np.ones(20), rt], delimiter=",", header="a,b")
    np.save(tmp_path / "few.npy", np.zeros((3, 2)))
    monkeypatch.chdir(tmp_path)
    return X, np.c_[np.ones(20), rt]


@pytest.mark.parametrize(
    ("what", "count"),
    [("1,rt", 2), ("start=1,rt", 2), ("places.csv", 2), ("centre=4.5,", 1), ("start=1", 1)],
)
def test_the_command_fits_what_python_fits(trials, run, what, count):
    X, starts = trials
    said = run(*FIT, what)
    assert said.code == 0, said.err
    expected = GTPCA(2, Shift(8), random_state=0).fit(X, poses=starts[:, :count])
    model = gtpca.load("m.gtpca")
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-9)


def test_transform_takes_them(trials, run):
    X, starts = trials
    assert run(*FIT, "1,rt").code == 0
    args = ("transform", "m.gtpca", "X.csv", "-o", "s.npy", "--labels", "rt", "--poses")
    said = run(*args, "--known-poses", "1,rt")
    assert said.code == 0, said.err
    found = np.load("s.npy")
    expected = gtpca.load("m.gtpca").transform(X, poses=starts)
    np.testing.assert_allclose(found[:, :2], expected, atol=1e-9)
    assert found.shape[1] == 6  # start and centre of each, without standard errors


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("1,late",), "'late' is neither a number nor a column of labels, of which there are rt"),
        (("few.npy",), "one row for each of the 20 samples"),
        (("1,99",), "of row 0, component 1, is 99, but the family reaches -0.5 to 16.5"),
        (("none.csv",), "none.csv"),
        (("1,rt", "--known-poses", "centre=1"), "name the quantity of each"),
        (("1,rt", "--probabilistic"), "--known-poses does not apply with --probabilistic"),
    ],
)
def test_errors_in_one_line(trials, run, more, message):
    said = run(*FIT, *more)
    assert said.code != 0
    assert message in " ".join(said.err.split())
    assert "Traceback" not in said.err
