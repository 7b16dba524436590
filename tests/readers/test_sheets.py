"""Sheets of Excel files: read as tables are, and errors that name the row."""

from __future__ import annotations

import datetime
import zipfile

import numpy as np
import pytest
import samples
from samples import X, refused

from gtpca.readers import read_data, read_signal

openpyxl = pytest.importorskip("openpyxl")


def written(path, *sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for i, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {i}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_names_labels_and_ids(tmp_path):
    rows = [["name", "kind", "t0", "t1"], ["r0", "x", 1, 2.5], ["r1", "y", -3, 1e-300]]
    path = written(tmp_path / "a.xlsx", rows)
    refused(path, "column 'name' holds text, 'r0' in line 2; remove it or name it")
    data = read_data(path, labels="kind", id="name")
    assert data.rows.tolist() == [[1, 2.5], [-3, 1e-300]]
    assert (data.features, data.id_name) == (["t0", "t1"], "name")
    assert (data.labels.tolist(), data.ids.tolist()) == (["x", "y"], ["r0", "r1"])


def test_empty_cells_and_rows(tmp_path):
    rows = [["a", "b", "c"], [1, 2, 3], [], [4, None, 6], [7, 8, None]]
    path = written(tmp_path / "a.xlsx", rows)
    refused(path, "line 4: column 'b' is empty; --missing ignore")
    found = read_data(path, missing="ignore").rows
    np.testing.assert_array_equal(found, [[1, 2, 3], [4, np.nan, 6], [7, 8, np.nan]])
    path = written(tmp_path / "b.xlsx", [["a", "b"], [True, datetime.date(2020, 1, 2)]])
    refused(path, "column 'b' holds text, '2020-01-02")
    refused(written(tmp_path / "c.xlsx", []), "c.xlsx: .*no column with values|nothing in it")


def test_one_of_several_sheets(tmp_path):
    path = written(tmp_path / "a.xlsx", [list("abcde"), *X.tolist()], [["a"], [7]])
    refused(path, "holds several sheets; give the key of one: 'sheet 0', 'sheet 1'")
    refused(path, "has no sheet with the key 'sheet 2'; there are: 'sheet 0'", key="sheet 2")
    np.testing.assert_array_equal(read_data(path, "sheet 0").rows, X)
    assert read_data(path, "sheet 1").rows.tolist() == [[7]]


def test_what_pandas_writes_and_long_tables(tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "a.xlsx"
    pandas.DataFrame(X).to_excel(path)
    data = read_data(path)
    np.testing.assert_array_equal(data.rows, X)
    assert data.ids.tolist() == list("012345")
    lines = [["time", "value", "trial"]]
    lines += [[j / 10, v, f"s{i}"] for i, row in enumerate(X.tolist()) for j, v in enumerate(row)]
    data = read_data(written(path, lines), long="time,value,trial")
    np.testing.assert_array_equal(data.rows, X)


def test_a_recording_in_a_sheet(tmp_path):
    times = (np.arange(50) / 100).tolist()
    path = written(tmp_path / "a.xlsx", [["time", "a"], *([t, t * t] for t in times)])
    recording = read_signal(path)
    assert (recording.shape, round(recording.rate)) == ((50,), 100)
    assert read_data(path, window=10).rows.shape == (5, 10)


def test_sheets_that_claim_much(tmp_path):
    path = samples.xlsx(tmp_path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = "xl/worksheets/sheet1.xml"
    far = members[name].replace(b'r="A7"', b'r="XFD1048576"').replace(b'r="7"', b'r="1048576"')
    for content in (far, members[name] + b" " * 2**27):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in (members | {name: content}).items():
                archive.writestr(member, data)
        refused(path, "bytes claim to hold|has 16384 columns")
    path.write_bytes(b"not an archive")
    refused(path, "cannot be read as Excel file")
