"""Files with gaps: what is missing in text, tables, series and pictures."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from samples import refused

from gtpca.readers import read_data

nan = np.nan


def written(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "rows", "features"),
    [
        ("a,b\n1,\n,4\n", [[1, nan], [nan, 4]], ["a", "b"]),
        ("1.5,NA,2\n3,null,?\n", [[1.5, nan, 2], [3, nan, nan]], None),
        ("1,nan,3\n4,N/A,None\n", [[1, nan, 3], [4, nan, nan]], None),
        ("5,6,7\n8\n", [[5, 6, 7], [8, nan, nan]], None),
        ("5,6\n8,9,10\n", [[5, 6, nan], [8, 9, 10]], None),
        ("a,b,c\n8,9\n1,2,3\n", [[8, 9, nan], [1, 2, 3]], ["a", "b", "c"]),
        (",0,1\nx,,3\ny,4\n", [[nan, 3], [4, nan]], ["0", "1"]),
        (",0.5\n1,2\n", [[nan, 0.5], [1, 2]], None),
    ],
)
def test_text_with_gaps(text, rows, features, tmp_path):
    path = written(tmp_path / "a.csv", text)
    data = read_data(path, missing="ignore")
    assert_array_equal(data.rows, rows)
    assert data.features == features


def test_labels_beside_gaps(tmp_path):
    path = written(tmp_path / "a.csv", "kind,a,b\nup,1,\ndown,2\n")
    data = read_data(path, labels="kind", missing="ignore")
    assert_array_equal(data.rows, [[1, nan], [2, nan]])
    assert data.labels.tolist() == ["up", "down"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,\n", "line 2: column 'b' is empty; --missing ignore"),
        ("a,b\n1,NA\n", "column 'b' holds text, 'NA' in line 2"),
        ("5,6,7\n8\n", "line 2 has 1 columns.*--missing ignore takes lines that end early"),
        ("5,6\n8,9,10\n", "line 2 has 3 columns.*if it is the other lines that end early"),
        ("a,b\n8,9,10\n", "line 2 has 3 columns, but the first line has 2; name all columns"),
    ],
)
def test_gaps_are_errors_by_default(text, message, tmp_path):
    refused(written(tmp_path / "a.csv", text), message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,word\n", "column 'b' holds text, 'word' in line 2"),
        ("a,b\n1,2,3\n", "line 2 has 3 columns, but the first line has 2"),
        ("a,kind\n1\n", "line 2 has 1 columns"),
    ],
)
def test_what_is_wrong_stays_wrong(text, message, tmp_path):
    labels = {"labels": "kind"} if "kind" in text else {}
    refused(written(tmp_path / "a.csv", text), message, missing="ignore", **labels)


def test_parquet_with_nulls(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="Parquet files")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(
        pa.table({"a": [1, None, 3], "b": [0.5, 1.5, None]}), tmp_path / "a.parquet"
    )
    refused(tmp_path / "a.parquet", "column 'a' has 1 missing values; --missing ignore")
    data = read_data(tmp_path / "a.parquet", missing="ignore")
    assert_array_equal(data.rows, [[1, 0.5], [nan, 1.5], [3, nan]])


def test_series_of_unequal_length(tmp_path):
    text = "@classLabel true up down\n@data\n1,2,3:4,5,?:up\n6,7:8:down\n"
    path = written(tmp_path / "a.ts", text)
    refused(path, r"line 3: '\?' is not a number")
    whole = written(tmp_path / "c.ts", text.replace("?", "9"))
    refused(whole, "line 4.*must be alike.*missing ignore")
    data = read_data(path, missing="ignore")
    assert_array_equal(data.rows, [[[1, 4], [2, 5], [3, nan]], [[6, 8], [7, nan], [nan, nan]]])
    assert data.labels.tolist() == ["up", "down"]
    refused(
        written(tmp_path / "b.ts", "@data\n1,2:3\n4,5\n"), "line 3 has 1 channels", missing="ignore"
    )


def test_what_ends_early_is_brought_to_the_shape_of_a_model(tmp_path):
    table = written(tmp_path / "a.csv", "5,6,u\n8,9,d\n")
    data = read_data(table, labels="2", header=False, missing="ignore", sample_shape=(3,))
    assert_array_equal(data.rows, [[5, 6, nan], [8, 9, nan]])
    assert data.labels.tolist() == ["u", "d"]
    named = written(tmp_path / "b.csv", "a,b\n5,6\n")
    assert read_data(named, missing="ignore", sample_shape=(3,)).rows.shape == (1, 2)
    assert read_data(named, sample_shape=(3,)).rows.shape == (1, 2)
    series = written(tmp_path / "a.ts", "@data\n1,2:3,4\n5:6\n")
    rows = read_data(series, missing="ignore", sample_shape=(4, 2)).rows
    assert_array_equal(rows[0], [[1, 3], [2, 4], [nan, nan], [nan, nan]])
    assert read_data(series, missing="ignore", sample_shape=(1, 2)).rows.shape == (2, 2, 2)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("5,6,u\n8,9,d\n", {"labels": "-1"}),
        ("u,5,x,6\nd,8,y,9\n", {"labels": "0", "id": "2"}),
        ("u,5,x,6\nd,8,y,9\n", {"labels": ["0"], "drop": "2"}),
        ("u,x,5,6\nd,y,8,9\n", {"labels": ["0", "1"]}),
    ],
    ids=str,
)
def test_columns_beside_values_that_end_early(text, how, tmp_path):
    path = written(tmp_path / "a.csv", text)
    data = read_data(path, header=False, missing="ignore", sample_shape=(3,), **how)
    assert_array_equal(data.rows, [[5, 6, nan], [8, 9, nan]])
    assert data.labels.tolist() == ["u", "d"]


def test_arrays_keep_their_nan(tmp_path):
    np.save(tmp_path / "a.npy", [[1.0, nan]])
    for missing in ("error", "ignore"):
        assert_array_equal(read_data(tmp_path / "a.npy", missing=missing).rows, [[1, nan]])
    with pytest.raises(ValueError, match="missing='drop' must be one of"):
        read_data(tmp_path / "a.npy", missing="drop")


@pytest.fixture
def pictures(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="images")
    for name, shape in {"a": (4, 6), "b": (2, 8), "c": (4, 6)}.items():
        pixels = np.full(shape, ord(name), np.uint8)
        image.fromarray(pixels).save(tmp_path / f"{name}.png")
    return tmp_path


def test_pictures_of_unequal_size(pictures):
    refused(pictures, r"b.png is 8 x 2 grey.*--sizes pad")
    padded = read_data(pictures, sizes="pad").rows
    assert padded.shape == (3, 4, 8)
    assert padded.dtype == np.float32
    assert_array_equal(padded[1, :2], np.full((2, 8), ord("b")))
    assert np.isnan(padded[1, 2:]).all()
    assert np.isnan(padded[0, :, 6:]).all()
    resized = read_data(pictures, sizes="resize").rows
    assert resized.shape == (3, 4, 6)
    assert resized.dtype == np.uint8
    assert_array_equal(resized[1], np.full((4, 6), ord("b")))
    refused(pictures, "sizes='crop' must be one of", sizes="crop")


def test_pictures_are_brought_to_the_shape_of_a_model(pictures):
    padded = read_data(pictures, sizes="pad", sample_shape=(5, 9)).rows
    assert padded.shape == (3, 5, 9)
    assert np.isnan(padded[0, 4:]).all()
    assert np.isnan(padded[0, :, 6:]).all()
    assert read_data(pictures, sizes="resize", sample_shape=(5, 9)).rows.shape == (3, 5, 9)
    assert read_data(pictures, sizes="pad", sample_shape=(3, 9)).rows.shape == (3, 4, 8)
    (pictures / "b.png").unlink()
    assert np.isnan(read_data(pictures, sizes="pad", sample_shape=(5, 6)).rows[:, 4]).all()
    assert read_data(pictures, sample_shape=(5, 9)).rows.shape == (2, 4, 6)


def test_pictures_of_one_size_stay_small(pictures):
    (pictures / "b.png").unlink()
    assert read_data(pictures, sizes="pad").rows.dtype == np.uint8
