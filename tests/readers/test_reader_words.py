"""What errors and warnings of readers offer; encodings; times of long tables."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from samples import refused, ts

from gtpca.readers import read_data
from gtpca.readers.reading import read_as

TEXT = "größe,b\n1,2\n3,4\n"


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "UTF-8"])
def test_encodings_of_tables(encoding, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT.encode(encoding))
    data = read_data(path, encoding=encoding)
    assert data.features == ["größe", "b"]
    assert data.rows.tolist() == [[1, 2], [3, 4]]


def test_other_encodings_are_offered(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT.encode("latin-1"))
    refused(path, r'byte 0xf6 in line 1 is not text in utf-8.*--encoding latin-1.*encoding="latin')
    path.write_bytes(TEXT.encode("utf-16"))
    refused(path, "--encoding utf-16 reads it")
    refused(path, "encoding='klingon' is not known; such are utf-8, latin-1", encoding="klingon")
    refused(path, "encoding='zlib' is not known", encoding="zlib")


def test_encodings_of_series(tmp_path):
    path = ts(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"down", "süd".encode("latin-1")))
    refused(path, "byte 0xfc in line .*--encoding latin-1")
    assert read_data(path, encoding="latin-1").labels[0] == "süd"


def test_options_without_meaning_say_where_they_have_one(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    refused(tmp_path / "a.npy", r"step=2\.0 .*it is for \.fif, \.edf, \.bdf.*here: rate", step=2.0)
    refused(tmp_path / "a.npy", r"labels='a' .*it is for \.csv, \.tsv, .*\.parquet", labels="a")


def test_a_line_that_is_too_long(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n1,2,3\n")
    refused(path, "line 3 has 3 columns, but the first line has 2; name all columns .* quotes")
    path.write_text("1.5,2\n1,2,3\n")
    refused(path, "line 2 has 3 columns.*remove what is too much in it, or, if it is the other")


def test_columns_of_the_fit_that_are_not_there(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x0,x1\n1,2\n")
    with pytest.raises(
        ValueError, match=r"fitted to a column 't0', which is not there.*x0, x1.*--"
    ):
        read_as(path, {}, remembered={"columns": ["t0", "t1"]})
    with pytest.raises(ValueError, match="fitted to a column 'time', which is not there"):
        read_as(path, {}, remembered={"long": "time,value,trial"})
    with pytest.raises(ValueError, match="columns='t0' is not a column"):
        read_as(path, {"columns": "t0"}, remembered={"columns": ["x0"]})


def classes(path, X, y):
    rows = np.column_stack([y, X]).tolist()
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    return path


def test_classes_in_the_first_column_are_told(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 8)), np.arange(30) % 3 + 1
    path = classes(tmp_path / "Beef_TRAIN.tsv", X, y)
    with pytest.warns(UserWarning, match=r"column 0 holds the integers '1', '2', '3'.*--labels 0"):
        assert read_data(path).rows.shape == (30, 9)
    with warnings.catch_warnings(action="error"):
        assert read_data(path, labels=0).rows.shape == (30, 8)
        read_data(classes(tmp_path / "whole.tsv", np.round(9 * X), y))
        read_data(classes(tmp_path / "counter.tsv", X, np.arange(30)))
        read_data(classes(tmp_path / "same.tsv", X, np.zeros(30, int)))
        read_data(classes(tmp_path / "none.tsv", X, X[:, 0]))


def long_table(path, times):
    """Two trials, with one list of times each."""
    lines = [f"{t!r},{j},s{i}" for i, each in enumerate(times) for j, t in enumerate(each)]
    path.write_text("\n".join(["time,value,trial", *lines]) + "\n")
    return path


def test_times_that_differ_by_rounding_are_one(tmp_path):
    counted = [0.1 * j for j in range(40)]
    typed = [j / 10 for j in range(40)]
    assert counted != typed
    path = long_table(tmp_path / "a.csv", [typed, counted, typed])
    data = read_data(path, long="time,value,trial")
    assert data.rows.shape == (3, 40)
    np.testing.assert_array_equal(data.times, typed)


def test_times_that_differ_are_not(tmp_path):
    path = long_table(tmp_path / "a.csv", [[0, 1, 2], [0.01, 1.01, 2.01]])
    data = read_data(path, long="time,value,trial", missing="ignore")
    assert data.times.tolist() == [0, 0.01, 1, 1.01, 2, 2.01]
    path = long_table(tmp_path / "a.csv", [[5.0], [5.0], [6.0]])
    assert read_data(path, long="time,value,trial", missing="ignore").rows.shape == (3, 2)


def test_long_tables_need_memory_for_their_lines_alone():
    from gtpca.readers.long import as_wide

    n, points = 200_000, np.arange(400) / 100
    times, trials = np.tile(points, n // 400), np.repeat(np.arange(n // 400).astype(str), 400)
    tracemalloc.start()
    names = ["time", "value", "trial"]
    grid = {"times": points}
    found = as_wide(names, times, times, trials, beside={}, missing="error", grid=grid)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 400 * n  # bytes; one per line and time would be as many times eight
    np.testing.assert_array_equal(found.rows[0], points)


def test_short_lines_of_long_tables(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("time,value,trial\n1,2,a\n2,3\n")
    refused(path, "line 3 has 2 columns, but the first line has 3", long="time,value,trial")
