"""What commands say of files that are swapped, pipes, odd or in another encoding."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from command import call, process

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')

DOCS = Path(__file__).parents[2] / "docs" / "command-line.md"
FAMILY = ("--family", "shift(window=4)", "-k", "1")


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table with names and ids, in this folder."""
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).standard_normal((24, 12)).round(3).tolist()
    lines = [",".join(["name", *(f"t{j}" for j in range(12))])]
    lines += [",".join([f"=cmd|'x'!A{i}", *map(str, row)]) for i, row in enumerate(rows)]
    Path("a.csv").write_text("\n".join(lines) + "\n", "utf-8")
    return Path("a.csv")


def fitted(capsys, *more, name="name"):
    done = call(capsys, "fit", "a.csv", "-o", "a.gtpca", *FAMILY, "--id", name, *more)
    assert done.code == 0, done.err
    return done


def test_encodings_are_offered_and_remembered(table, capsys):
    table.write_text(table.read_text("utf-8").replace("name,", "größe,"), "latin-1")
    done = call(capsys, "fit", table, "-o", "a.gtpca", *FAMILY)
    assert done.refused("a.csv: the byte 0xf6 in line 1", "--encoding latin-1 reads it")
    fitted(capsys, "--encoding", "latin-1", name="größe")
    assert "--encoding latin-1" in call(capsys, "info", "a.gtpca").out
    done = call(capsys, "transform", "a.gtpca", table, "-o", "-")
    assert done.out.startswith("größe,gtpca0\n")


def test_ids_are_written_as_they_are(table, capsys):
    fitted(capsys)
    done = call(capsys, "transform", "a.gtpca", table, "-o", "-")
    assert "\n=cmd|'x'!A7," in done.out
    assert "spreadsheet" in DOCS.read_text("utf-8")


def test_model_and_data_swapped(table, capsys):
    fitted(capsys)
    done = call(capsys, "transform", "a.csv", "a.gtpca", "-o", "-")
    assert done.refused("a.csv is a file of samples by its name", "the model comes first")
    np.savez("b.npz", X=np.ones((3, 4)))
    assert call(capsys, "info", "b.npz").refused("b.npz is a file of samples", "MODEL DATA")
    done = call(capsys, "fit", "a.gtpca", "-o", "b.gtpca", *FAMILY)
    assert done.refused("a.gtpca is a model file, not samples; ")
    Path("b.gtpca").write_text("hello")
    assert call(capsys, "info", "b.gtpca").refused("b.gtpca is not a model file: it does not begin")


def test_columns_that_are_called_otherwise(table, capsys):
    fitted(capsys)
    table.write_text(table.read_text("utf-8").replace("t3,", "u3,"), "utf-8")
    done = call(capsys, "transform", "a.gtpca", table, "-o", "-")
    assert done.refused("fitted to a column 't3', which is not there", "--columns")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_pipes_do_not_hang(table):
    os.mkfifo("pipe")
    for arguments in (("info", "pipe"), ("transform", "pipe", "a.csv", "-o", "-")):
        done = process(*arguments, timeout=60)
        assert done.refused("'pipe' is a pipe or a device; copy it into a file")


@pytest.mark.skipif(os.name != "posix", reason="names of files have no such characters")
def test_names_with_new_lines(table, capsys):
    table.rename("two\nlines.csv")
    arguments = ("fit", "two\nlines.csv", "-o", "a.gtpca", *FAMILY)
    assert call(capsys, *arguments).refused(r"two\nlines.csv: column 'name' holds text")
    done = call(capsys, *arguments, "--id", "name")
    assert done.read.startswith(r"Read two\nlines.csv: 24 samples")
    assert done.read.count("\n") == 1


ODD = ['"x"', "null", "[]", "-1.0", "1e999", "{}", "true", '{"n": "x", "gains": [], "band": []}']


@pytest.mark.parametrize("odd", [*ODD, '{"n": 1, "gains": [1], "band": [1, 2]}', "[" * 9999])
def test_kept_searches_with_odd_values(odd, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.random.default_rng(0).standard_normal((16, 16)))
    command = ("choose", "a.npy", "--family", "shift", "--windows", "6:8", "-k", "1:1")
    command = (*command, "--folds", "2", "--keep", "kept.jsonl", "--json")
    assert call(capsys, *command).code == 0
    lines = [json.loads(line) for line in Path("kept.jsonl").read_text().splitlines()]
    first = call(capsys, *command).out
    text = [json.dumps(line | {"result": "ODD"}).replace('"ODD"', odd) for line in lines]
    Path("kept.jsonl").write_bytes("\n".join(text).encode() + b"\n\xff\xfe\n[1]\n7\n")
    done = call(capsys, *command)
    assert (done.code, done.out) == (0, first)


def test_files_of_labels_that_claim_too_much(table, capsys):
    fitted(capsys)
    np.save("l.npy", np.arange(24))
    data = Path("l.npy").read_bytes()
    Path("l.npy").write_bytes(
        data.replace(b"(24,)", b"(9999999999999,)").replace(b" " * 11, b"", 1)
    )
    done = call(
        capsys, "plot", "scores", "a.gtpca", "a.csv", "-o", "a.png", "--labels-file", "l.npy"
    )
    assert done.refused("--labels-file l.npy: ")
