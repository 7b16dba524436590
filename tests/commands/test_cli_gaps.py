"""A table with gaps on the command line: from data to picture."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import call
from helpers import two_planted
from numpy.testing import assert_allclose, assert_array_equal

import gtpca
from gtpca import Shift

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')

X = two_planted(Shift(6), (20,), 60)
HIDDEN = np.random.default_rng(0).random(X.shape) < 0.15
FIT = ("--family", "shift(6)", "-k", "2")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A wide table with empty fields, and a line that ends early."""
    lines = [",".join(f"t{j}" for j in range(20))]
    for row, hidden in zip(X, HIDDEN, strict=True):
        lines.append(",".join("" if h else f"{x:.6f}" for x, h in zip(row, hidden, strict=True)))
    lines[-1] = ",".join(lines[-1].split(",")[:15])
    path = tmp_path_factory.mktemp("gaps") / "wide.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def read(table):
    return gtpca.readers.read_data(table, missing="ignore").rows


@pytest.fixture
def model(table, tmp_path, capsys):
    path = tmp_path / "wide.gtpca"
    assert call(capsys, "fit", table, "-o", path, *FIT, "--missing", "ignore").code == 0
    return path


def test_the_default_names_line_column_and_the_way_out(table, tmp_path, capsys):
    done = call(capsys, "fit", table, "-o", tmp_path / "m", *FIT)
    assert done.refused("wide.csv", "line 2", "is empty", "--missing ignore")
    np.save(tmp_path / "x.npy", np.where(HIDDEN, np.nan, X))
    row, column = np.argwhere(HIDDEN)[0]
    done = call(capsys, "fit", tmp_path / "x.npy", "-o", tmp_path / "m", *FIT)
    said = f"{HIDDEN.sum()} missing values (NaN), the first in row {row}, column {column}"
    assert done.refused(said, "--missing ignore")


def test_a_fit_knows_gaps_and_so_do_the_commands_after_it(model, table, read, tmp_path, capsys):
    fitted = gtpca.load(model)
    assert fitted.missing == "ignore"
    assert call(capsys, "transform", model, table, "-o", tmp_path / "s.npy").code == 0
    assert_array_equal(np.load(tmp_path / "s.npy"), fitted.transform(read))
    done = call(capsys, "transform", model, table, "-o", tmp_path / "s.npy", "--missing", "error")
    assert done.refused("is empty")


def test_impute(model, table, read, tmp_path, capsys):
    assert call(capsys, "impute", model, table, "-o", tmp_path / "full.csv").code == 0
    filled = gtpca.readers.read_data(tmp_path / "full.csv").rows
    seen = ~np.isnan(read)
    assert_allclose(filled[seen], read[seen])
    assert_allclose(filled, gtpca.load(model).impute(read))


@pytest.mark.parametrize("command", ["impute", "reconstruct"])
def test_columns_keep_their_names(model, table, tmp_path, capsys, command):
    out = tmp_path / "out.csv"
    assert call(capsys, command, model, table, "-o", out).code == 0
    assert out.read_text().splitlines()[0] == table.read_text().splitlines()[0]
    assert call(capsys, "align", model, table, "-o", out).code == 0
    assert out.read_text().startswith("x0,x1,")


def test_names_that_are_not_names_of_columns(model, tmp_path, capsys):
    twice = tmp_path / "twice.csv"
    twice.write_text(",".join(["t"] * 20) + "\n" + ",".join(["1"] * 20) + "\n")
    assert call(capsys, "impute", model, twice, "-o", tmp_path / "out.csv").code == 0
    assert (tmp_path / "out.csv").read_text().startswith("x0,x1,")


def test_new_files_may_hold_shorter_series_only(tmp_path, capsys):
    for name, longest in (("long", 20), ("short", 15)):
        lines = (row[: longest - i % 5] for i, row in enumerate(X))
        text = "\n".join(",".join(f"{x:.6f}" for x in line) for line in lines)
        (tmp_path / f"{name}.csv").write_text(text)
    path, out = tmp_path / "m.gtpca", tmp_path / "s.npy"
    fit = ("fit", tmp_path / "long.csv", "-o", path, *FIT, "--missing", "ignore")
    assert call(capsys, *fit).code == 0
    assert call(capsys, "transform", path, tmp_path / "short.csv", "-o", out).code == 0
    short = [row[: 15 - i % 5].round(6) for i, row in enumerate(X)]
    assert_allclose(np.load(out), gtpca.load(path).transform(short))


@pytest.mark.parametrize("sizes", ["pad", "resize"])
def test_new_folders_may_hold_other_sizes(tmp_path, capsys, sizes):
    image = pytest.importorskip("PIL.Image", reason="images")
    for folder, largest in (("old", 12), ("new", 10)):
        (tmp_path / folder).mkdir()
        for i in range(6):
            pixels = np.random.default_rng(i).integers(0, 255, (largest - i % 3, 9), np.uint8)
            image.fromarray(pixels).save(tmp_path / folder / f"{i}.png")
    path, how = tmp_path / "m.gtpca", ("--sizes", sizes)
    family = ("--family", "shift((5, 5))", "-k", "1", "--missing", "ignore")
    assert call(capsys, "fit", tmp_path / "old", "-o", path, *family, *how).code == 0
    for command in ("transform", "impute"):
        done = call(capsys, command, path, tmp_path / "new", "-o", tmp_path / "o.npy", *how)
        assert done.code == 0
    assert np.load(tmp_path / "o.npy").shape == (6, *gtpca.load(path).sample_shape_)


def test_a_model_of_complete_data_fills_gaps_too(table, read, tmp_path, capsys):
    np.save(tmp_path / "x.npy", X)
    model = tmp_path / "m.gtpca"
    assert call(capsys, "fit", tmp_path / "x.npy", "-o", model, *FIT).code == 0
    assert call(capsys, "transform", model, table, "-o", tmp_path / "s.npy").code == 2
    assert call(capsys, "impute", model, table, "-o", tmp_path / "full.npy").code == 0
    assert np.isfinite(np.load(tmp_path / "full.npy")).all()
    arguments = ("transform", model, table, "-o", tmp_path / "s.npy", "--missing", "ignore")
    assert call(capsys, *arguments).code == 0


def test_infinite_values_are_refused(model, tmp_path, capsys):
    bad = X.copy()
    bad[7, 3] = np.inf
    np.save(tmp_path / "x.npy", bad)
    done = call(capsys, "transform", model, tmp_path / "x.npy", "-o", tmp_path / "s.npy")
    assert done.refused("infinite values, the first in row 7, column")


@pytest.mark.parametrize("kind", ["reconstructions", "scores", "poses", "perturbation", "energy"])
def test_pictures(model, table, tmp_path, capsys, kind):
    pytest.importorskip("matplotlib", reason="pictures")
    assert call(capsys, "plot", kind, model, table, "-o", tmp_path / "p.png").code == 0


def test_the_page(model, table, tmp_path, capsys):
    for name in ("plotly", "jinja2"):
        pytest.importorskip(name, reason="the page")
    assert call(capsys, "report", model, table, "-o", tmp_path / "p.html").code == 0


def test_check_gives_the_answers_that_it_has(model, table, capsys):
    done = call(capsys, "check", model, table)
    assert done.code == 0
    assert "Samples have gaps: their poses were not compared" in done.out
    assert done.out.splitlines()[-1].startswith("Component ")
    assert set(json.loads(call(capsys, "check", model, table, "--json").out)) == {
        *("noise", "stability", "advice")
    }


@pytest.mark.parametrize("command", ["transform", "reconstruct", "impute", "align"])
def test_blank_samples_are_told_once_for_all_pieces(command, model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("gtpca.commands.samples.PIECE", 200)  # ten rows
    rows = X.copy()
    rows[[1, 2, 33]] = np.nan
    np.save(tmp_path / "x.npy", rows)
    done = call(capsys, command, model, tmp_path / "x.npy", "-o", tmp_path / "out.npy")
    said = [line for line in done.err.splitlines() if "warning" in line]
    assert said == [
        "gtpca: warning: 3 of 60 rows of X hold no observed value: they take no part in a fit and "
        "score 0."
    ]
