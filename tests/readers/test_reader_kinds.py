"""Tables, images, series and recordings: what is read, and which line, column or file is wrong."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
import samples
from samples import IMAGES, RATE, SIGNAL, refused

from gtpca.readers import read_data


@pytest.mark.parametrize(
    ("text", "rows", "features"),
    [
        ("1,3\n3,4\n", [[1, 3], [3, 4]], None),
        ("a,b\n1,2\n", [[1, 2]], ["a", "b"]),
        ("\ufeffa;b\n1;2.5e3\n", [[1, 2500]], ["a", "b"]),
        ("# a,b\n1,2\n", [[1, 2]], ["a", "b"]),
        ('"a, too","b"\n"1","2"\n', [[1, 2]], ["a, too", "b"]),
        (",a,b\nfirst,1,2\n", [[1, 2]], ["a", "b"]),
        ("\n\n1, 3\r\n\r\n3, 4", [[1, 3], [3, 4]], None),
        ("7\n", [[7]], None),
    ],
)
def test_text_tables(text, rows, features, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    data = read_data(path)
    assert data.rows.tolist() == rows
    assert data.features == features


NAMES, SAMPLE, ERROR = "names", "a sample", "an error"
HEADERS = [  # the table of docs/command-line.md, line by line
    ("3,5,8", NAMES, True),
    ("a,b,c", SAMPLE, False),
    ("3,5,8", SAMPLE, None),
    ("0,2,1", SAMPLE, None),
    ("0.0,1.0,2.0", SAMPLE, None),
    ("nan,1,2", SAMPLE, None),
    ("0,1,2", NAMES, None),
    ('"0","1","2"', NAMES, None),
    ("1,2,3", NAMES, None),
    ("a,b,c", NAMES, None),
    ("# a,b,c", NAMES, None),
    (",a,b", NAMES, None),
    (",0,1", NAMES, None),
    ("label,0,1", NAMES, None),
    ("label,1,2", ERROR, None),
    ("0,1,label", ERROR, None),
    ("a,b,2020", ERROR, None),
    ("1.5,NA,2.5", ERROR, None),
    ("1.5,,2.5", ERROR, None),
    (",1.5,2.5", ERROR, None),
    ("5,NA,7", ERROR, None),
]


@pytest.mark.parametrize(("line", "what", "header"), HEADERS)
def test_what_the_first_line_of_a_table_is(line, what, header, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{line}\n7,8,9\n4,5,6\n")
    if what == ERROR:
        refused(path, rf"line 1 mixes .*'{line}'; give --header if .* --no-header if")
    elif what == SAMPLE and line == "a,b,c":
        refused(path, "column 0 holds text, 'a' in line 1", header=header)
    else:
        data = read_data(path, header=header)
        assert len(data.rows) == 2 + (what == SAMPLE)
        assert (data.features is not None) == (what == NAMES)
        assert (data.ids is not None) == line.startswith(",")


def test_what_pandas_and_r_write_loses_no_sample(tmp_path):
    frame = pytest.importorskip("pandas").DataFrame(samples.X)
    path = tmp_path / "a.csv"
    frame.to_csv(path, index=False)
    assert read_data(path).features == list("01234")
    frame.to_csv(path)
    data = read_data(path)
    assert data.ids.tolist() == list("012345")
    np.testing.assert_array_equal(data.rows, samples.X)
    frame.to_csv(path, index_label="kind")
    np.testing.assert_array_equal(read_data(path, labels="kind").rows, samples.X)


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_csv_file_may_be_separated_by_any_of_three_marks(mark, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"a{mark}b\n1{mark}3.5\n")
    data = read_data(path)
    assert (data.rows.tolist(), data.features) == ([[1, 3.5]], ["a", "b"])


def test_a_summary_says_what_was_taken_as_what(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",kind,t0,t1,t2,t3\nr0,x,1,2,3,4\nr1,y,1,2,3,4\nr2,x,1,2,3,4\n")
    said = "3 samples of shape 4; names 't0', 't1', .., 't3' (4), labels 'x', 'y' (2), "
    assert (
        read_data(path, labels="kind").summary()
        == said + "ids 'r0', 'r1', 'r2' (3), rate none, gaps none"
    )
    assert read_data(samples.npy(tmp_path)).summary().startswith("6 samples of shape 5; names none")


def test_a_misspelt_column_of_labels(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label,a\nx,1\n")
    refused(path, r"labels='lable' is not a column\. Did you mean label\? There", labels="lable")


def test_labels_and_header_can_be_given(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("0\t1\t2\n5\t6\tx\n7\t8\ty\n")
    refused(path, "column '2' holds text, 'x' in line 2")
    data = read_data(path, header=True, labels="2")
    assert (data.rows.tolist(), data.labels.tolist()) == ([[5, 6], [7, 8]], ["x", "y"])
    assert read_data(path, header=False, labels=2).rows.shape == (3, 2)
    refused(path, r"labels='z' is not a column\. There are columns 0, 1, 2", labels="z")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n", "nothing in it"),
        ("\n \n", "no column with values"),
        ("a,b\n1,2\n3\n", "line 3 has 1 columns, but the first line has 2"),
        ("a,b\n1,2\n3,4,5\n", "line 3 has 3 columns"),
        ("a,b\n1,2\n3,\n", "line 3: column 'b' is empty"),
        ("a,kind\n1,x\n", "column 'kind' holds text, 'x' in line 2; remove it or name it"),
        ("1,3\n3,1_0\n", "column 1 holds text, '1_0' in line 2"),
        ("a\n\x00\n", "a.csv"),
        ("a\n\udc80\n", "line 2 is not text in utf-8; .* --encoding latin-1"),
        ("a,b\n1,2,\n", "line 2 has 3"),
        ("a,b,c\n1,2\n3,4\n", "line 2 has 2 columns, but the first line has 3"),
    ],
)
def test_wrong_text_tables_name_line_and_column(text, message, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    refused(path, message)


def test_ragged_rows_are_found_beside_labels(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("kind,a,b\nx,1,2\ny,3,4,5\n")
    refused(path, "line 3 has 4 columns", labels="kind")


def test_parquet_columns(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    columns = {"kind": ["x", "y"], "a": [1, 2], "b": [0.5, 1.5], "__index_level_0__": [7, 8]}
    parquet.write_table(pyarrow.table(columns), path)
    refused(path, "column 'kind' holds string, but must hold numbers")
    data = read_data(path, labels="kind")
    assert data.rows.tolist() == [[1, 0.5], [2, 1.5]]
    assert (data.features, data.labels.tolist()) == (["a", "b"], ["x", "y"])
    assert data.ids.tolist() == ["7", "8"]
    parquet.write_table(pyarrow.table({"a": [1.0, None]}), path)
    refused(path, "column 'a' has 1 missing values")


def test_jpeg_images_are_read_in_the_order_of_their_names(tmp_path):
    image = pytest.importorskip("PIL.Image")
    path = samples.jpeg(tmp_path)
    (path / "notes.txt").write_text("not an image")
    rows = read_data(path).rows
    for i, row in enumerate(rows):
        np.testing.assert_array_equal(row, np.asarray(image.open(path / f"{i}.jpeg")))


@pytest.mark.parametrize(
    ("mode", "shape", "dtype"),
    [
        ("L", (4, 6), np.uint8),
        ("1", (4, 6), np.uint8),
        ("I;16", (4, 6), np.uint16),
        ("RGB", (4, 6, 3), np.uint8),
        ("P", (4, 6, 3), np.uint8),
    ],
)
def test_grey_and_colour_images(mode, shape, dtype, tmp_path):
    image = pytest.importorskip("PIL.Image")
    for i, pixels in enumerate(IMAGES):
        picture = image.fromarray(pixels)
        if mode == "I;16":
            picture = image.fromarray(pixels[..., 0].astype(np.uint16) * 200)
        else:
            picture = picture.convert(mode)
        picture.save(tmp_path / f"{i}.PNG")
    rows = read_data(tmp_path).rows
    assert (rows.shape, rows.dtype) == ((3, *shape), dtype)
    assert rows.max() > 200


def test_images_must_be_alike(tmp_path):
    image = pytest.importorskip("PIL.Image")
    refused(tmp_path, r"no image in the folder: \.png, \.jpg")
    image.new("L", (6, 4)).save(tmp_path / "a.png")
    image.new("RGB", (6, 4)).save(tmp_path / "b.png")
    refused(tmp_path, "b.png is 6 x 4 RGB, but a.png is 6 x 4 grey")
    image.fromarray(np.zeros((4, 6), np.uint16)).save(tmp_path / "b.png")
    refused(tmp_path, "b.png is 6 x 4 grey of uint16, but a.png is 6 x 4 grey;")
    image.new("CMYK", (6, 4)).save(tmp_path / "c.jpg")
    refused(tmp_path, "c.jpg is not a readable image: it has mode CMYK; convert it")
    (tmp_path / "c.jpg").unlink()
    (tmp_path / "b.png").write_bytes((tmp_path / "a.png").read_bytes()[:40])
    refused(tmp_path, "b.png is not a readable image")


def test_many_images_that_claim_much_are_refused_together(tmp_path):
    """Each of 40 MB in the header, 2 GB together."""
    image = pytest.importorskip("PIL.Image")
    image.new("L", (6, 4)).save(tmp_path / "00.png")
    data = bytearray((tmp_path / "00.png").read_bytes())
    data[16:24] = struct.pack(">II", 8000, 5000)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    for i in range(50):
        (tmp_path / f"{i:02}.png").write_bytes(data)
    refused(tmp_path, r"\d+ bytes claim to hold 2000000000 bytes of values")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@data\n1,2\n3\n", "line 3 has 1 values on a channel and 1 channels"),
        ("@data\n1,2:3\n", "line 2 has 1 values"),
        ("@data\n1,2:3,4\n5,6\n", "line 3 has 2 values on a channel and 1 channels"),
        ("@data\n1,?\n", r"line 2: '\?' is not a number"),
        ("@classLabel true a\n@data\n1,2\n", "line 3 has no label"),
        ("@timeStamps true\n@data\n(0,1)\n", "line 1: series with time stamps"),
        ("1,2\n", "line 1 is not a header line"),
        ("@problemName x\n", "no line @data"),
        ("@data\n# nothing\n", "no series"),
    ],
)
def test_wrong_series_name_the_line(text, message, tmp_path):
    (tmp_path / "a.ts").write_text(text)
    refused(tmp_path / "a.ts", message)


def test_windows_of_a_recording(tmp_path):
    pytest.importorskip("mne")
    path = samples.edf(tmp_path)
    data = read_data(path, window=0.5, step=10)
    assert data.rows.shape == ((400 - 50) // 10 + 1, 50, 2)
    np.testing.assert_allclose(data.rows[3], 1e-6 * SIGNAL[:, 30:80].T)
    assert (data.channels, data.sampling_rate) == (["Fz", "Cz"], RATE)
    refused(path, "no events", tmin=0.0, tmax=0.1)
    refused(path, "either window, or both tmin and tmax")
    refused(path, "either window, or both tmin and tmax", window=5, tmin=0.1, tmax=0.2)
    refused(path, "less than one sample", window=0.001)
    refused(path, "length == 401, must be <= 400", window=401)


def test_windows_around_events_are_those_of_mne(tmp_path):
    mne = pytest.importorskip("mne")
    path = samples.fif(tmp_path)
    raw = mne.io.read_raw(path, verbose="error")
    events, codes = mne.events_from_annotations(raw, verbose="error")
    how = {"tmin": -0.1, "tmax": 0.3, "baseline": None, "preload": True, "verbose": "error"}
    expected = mne.Epochs(raw, events, codes, **how).get_data(verbose="error")[:, :, :-1]
    data = read_data(path, tmin=-0.1, tmax=0.3)
    np.testing.assert_allclose(data.rows, expected.transpose(0, 2, 1))
    assert data.labels.tolist() == ["go", "stop"]  # the first is too near the beginning
    assert len(read_data(path, event="stop", tmin=-0.1, tmax=0.3).rows) == 1
    refused(path, "event='left' is not there; there are: go, stop", event="left", tmin=0, tmax=1)
    refused(path, "is whole", tmin=-9.0, tmax=9.0)
