"""Tables and arrays into files: read back exactly, written atomically."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gtpca.readers import read_data, write_array, write_table

COLUMNS = {
    "sample": np.arange(4),
    "score": np.array([0.1, -1e-300, 1 / 3, 1e17]),
    "single": np.array([0.1, 2, 3, 1 / 3], dtype=np.float32),
}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_are_read_back_exactly(ending, tmp_path):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"a.{ending}"
    write_table(path, {**COLUMNS, "flipped": np.array([True, False] * 2)} | {"word": ["ä,b"] * 4})
    if ending == "csv":
        path.write_text(path.read_text().replace("True", "1").replace("False", "0"))
    data = read_data(path, labels="word")
    for j, values in enumerate(COLUMNS.values()):
        np.testing.assert_array_equal(data.rows[:, j].astype(values.dtype), values)
    assert data.features == [*COLUMNS, "flipped"]
    assert data.labels.tolist() == ["ä,b"] * 4


def test_numbers_alone_may_go_into_an_array(tmp_path):
    write_table(tmp_path / "a.npy", COLUMNS)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy")[:, 1], COLUMNS["score"])
    with pytest.raises(ValueError, match=r"cannot be written to \.npy; use \.csv"):
        write_table(tmp_path / "a.npy", {"word": ["a"]})


@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 2)])
def test_arrays_are_read_back_exactly(shape, tmp_path):
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    write_array(tmp_path / "a.npy", array)
    back = read_data(tmp_path / "a.npy").rows
    np.testing.assert_array_equal(back, array)
    assert back.dtype == np.float32
    if len(shape) == 2:
        write_array(tmp_path / "a.csv", array)
        back = read_data(tmp_path / "a.csv", header=True)
        np.testing.assert_array_equal(back.rows.astype(np.float32), array)
    else:
        with pytest.raises(ValueError, match=r"not a table; write it to \.npy"):
            write_array(tmp_path / "a.csv", array)


def test_standard_output(capsys):
    write_table("-", {"a": [1, 2], "b": [0.5, np.nan], "c": ["x", "y"]})
    write_array("-", np.eye(2))
    assert capsys.readouterr().out == "a,b,c\n1,0.5,x\n2,nan,y\nx0,x1\n1.0,0.0\n0.0,1.0\n"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "at least one column"),
        ({"a": [1], "b": [1, 2]}, r"column 'b' has shape \(2,\), but must be \(1,\)"),
        ({"a": [[1]]}, r"column 'a' has shape \(1, 1\)"),
        ({"a": 1}, r"column 'a' has shape \(\)"),
        ({"a": [1j]}, "column 'a' holds complex128"),
    ],
)
def test_wrong_columns(columns, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_table(tmp_path / "a.csv", columns)
    assert not os.listdir(tmp_path)


def test_wrong_endings_and_folders(tmp_path):
    with pytest.raises(ValueError, match=r"extension '\.xls' is none of \.csv, \.npy, \.parquet"):
        write_table(tmp_path / "a.xls", COLUMNS)
    with pytest.raises(FileNotFoundError):
        write_table(tmp_path / "nowhere" / "a.csv", COLUMNS)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    write_table(path, COLUMNS)
    with pytest.raises(ValueError, match="x"):
        write_table(path, {"a": np.array([1, "x"], dtype=object)})
    assert parquet.read_table(path).num_rows == 4
    assert os.listdir(tmp_path) == ["a.parquet"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are those of POSIX")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "a.csv"
    os.mkfifo(path)
    with ThreadPoolExecutor() as pool:
        text = pool.submit(path.read_text)
        write_table(path, {"a": [1, 2]})
        assert text.result(timeout=10) == "a\n1\n2\n"
    assert path.is_fifo()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    write_array(tmp_path / "link.csv", np.eye(2))
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("x0,x1")


@pytest.mark.parametrize("ending", ["csv", "npy", "parquet"])
def test_an_array_is_read_back_as_it_was(ending, tmp_path):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "gtpca[io]"')
    array = np.random.default_rng(0).standard_normal((4, 3))
    write_array(tmp_path / f"x.{ending}", array)
    np.testing.assert_array_equal(read_data(tmp_path / f"x.{ending}").rows, array)
