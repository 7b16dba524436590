"""Which column of a table is what, long tables, packed and spaced text, and files of epochs."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import refused

from gtpca.readers import read_data
from gtpca.readers.axes import labels_of
from gtpca.readers.reading import read_as

nan = np.nan
TABLE = "who,a,note,b,kind,c,age\nP1,1,x,2,up,3,40\nP2,4,y,5,down,6,50\n"


def written(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "options",
    [
        {"id": "who", "labels": ["kind", "age"], "drop": "note"},
        {"id": 0, "labels": "kind,age", "columns": ["a", "b", "c"]},
        {"id": "who", "labels": [-3, -1], "columns": "a,b,c"},
        {"id": "who", "labels": ["kind", "age"], "columns": "a:c", "drop": ["note"]},
    ],
    ids=str,
)
def test_columns_have_roles(options, tmp_path):
    data = read_data(written(tmp_path / "a.csv", TABLE), **options)
    assert_array_equal(data.rows, [[1, 2, 3], [4, 5, 6]])
    assert data.features == ["a", "b", "c"]
    assert data.ids.tolist() == ["P1", "P2"]
    assert {name: found.tolist() for name, found in data.columns.items()} == {
        "who": ["P1", "P2"],
        "kind": ["up", "down"],
        "age": ["40", "50"],
    }
    assert "labels kind 'down', 'up' (2) and age '40', '50' (2), ids 'P1', 'P2'" in data.summary()


def test_columns_are_taken_in_the_order_given(tmp_path):
    data = read_data(written(tmp_path / "a.csv", TABLE), columns=["c", "a"])
    assert_array_equal(data.rows, [[3, 1], [6, 4]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"id": "whom"}, "id='whom' is not a column. Did you mean who?"),
        ({"drop": "nothing"}, "drop='nothing' is not a column"),
        ({"columns": "a:z"}, "columns='z' is not a column"),
        ({"id": "who", "labels": "kind"}, "'note' holds text, 'x' .* labels, id or drop"),
        ({"columns": "who", "id": "who"}, "no column with values"),
        ({"long": "a,b"}, "must name three columns"),
        ({"decimal": ";"}, "decimal=';' must be"),
        ({"id": "who", "labels": "kind", "drop": "note", "rate": -1.0}, "rate=-1.0 must be"),
    ],
    ids=str,
)
def test_wrong_columns_are_named(options, message, tmp_path):
    refused(written(tmp_path / "a.csv", TABLE), message, **options)


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("a.txt", "1.5 2 3\n4  5   6\n", {}),
        ("a.txt", "u v w\n1.5 2 3\n4 5 6\n", {}),
        ("a.txt", "u\tv\tw\n1.5\t2\t3\n4\t5\t6\n", {}),
        ("a.txt", "1.5,2,3\n4,5,6\n", {}),
        ("a.csv", " 1.5   2 3\n 4 5 6\n", {}),
        ("a.csv", "1,5;2;3\n4;5;6\n", {"decimal": ","}),
        ("a.csv", "u;v;w\n1,5;2,0;3\n4;5;6,0\n", {"decimal": ","}),
        ("a.tsv", "1,5\t2\t3\n4\t5\t6\n", {"decimal": ","}),
        ("a.txt", "1,5 2 3\n4 5 6\n", {"decimal": ","}),
    ],
)
def test_text_of_many_forms(name, text, options, tmp_path):
    path = written(tmp_path / name, text)
    assert_array_equal(read_data(path, **options).rows, [[1.5, 2, 3], [4, 5, 6]])
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert_array_equal(read_data(packed, **options).rows, [[1.5, 2, 3], [4, 5, 6]])


def test_packed_files_are_checked(tmp_path):
    bomb = tmp_path / "a.csv.gz"
    bomb.write_bytes(gzip.compress(b"5,2\n" * 2**20))
    assert read_data(bomb).rows.shape == (2**20, 2)
    bomb.write_bytes(gzip.compress(b"1,2\n")[:-6])
    refused(bomb, "a.csv.gz")


LONG = "trial,t,v,side\nb,0,1,L\nb,1,2,L\nb,2,3,L\na,0,4,R\na,1,5,R\n"


def test_decimals_are_told_apart_from_columns(tmp_path):
    path = written(tmp_path / "a.csv", "a;b\n0,5;1,5\n")
    refused(path, "column 'a' holds text, '0,5' in line 2; --decimal , reads it")
    assert_array_equal(read_data(path, decimal=",").rows, [[0.5, 1.5]])
    path = written(tmp_path / "b.csv", "a,b,c\n0.5,1.5,2.5\n")
    refused(path, "nothing but commas separates the columns", decimal=",")
    data = read_as(path, {"decimal": "."}, remembered={"decimal": ","})
    assert data.rows.shape == (1, 3)
    one = written(tmp_path / "c.csv", "0,5\n1,5\n")
    assert_array_equal(read_data(one, decimal=",").rows, [[0.5], [1.5]])


def test_long_tables_become_one_row_per_trial(tmp_path):
    path = written(tmp_path / "a.csv", LONG)
    options = {"long": "t,v,trial", "labels": "side", "missing": "ignore"}
    data = read_data(path, **options)
    assert_array_equal(data.rows, [[1, 2, 3], [4, 5, nan]])
    assert data.ids.tolist() == ["b", "a"]
    assert data.labels.tolist() == ["L", "R"]
    assert_array_equal(data.positions, [0, 1, 2])
    (axis,) = labels_of(data).axes
    assert (axis.name, axis.unit) == ("t", "")
    (axis,) = labels_of(read_data(path, rate=4.0, **options)).axes
    assert axis.unit == "s"
    assert_array_equal(axis.points, [0, 0.25, 0.5])
    refused(path, "trial 'a' has no value at t 2, one of 1", long="t,v,trial")


@pytest.mark.parametrize(
    ("line", "message", "options"),
    [
        ("b,1,7,L", "trial 'b' has 2 values at t 1", {}),
        ("b,3,7,R", "labels='side' changes within a trial", {"labels": "side"}),
        ("b,,7,L", "'t' has no time in row 5", {}),
        ("b,x,7,L", "column 't' holds text, 'x' in line 7", {}),
        ("b,2.5,7,L", "rate=4 does not fit times 0.5 apart", {"rate": 4.0}),
    ],
)
def test_long_tables_are_checked(line, message, options, tmp_path):
    path = written(tmp_path / "a.csv", f"{LONG}{line}\n")
    refused(path, message, long="t,v,trial", missing="ignore", **options)


CHANNELS = "trial,t,v,site\nb,0,1,Pz\nb,0,2,Cz\nb,1,3,Pz\nb,1,4,Cz\na,1,5,Cz\na,0,6,Cz\n"
FOURTH = {"long": "t,v,trial,site", "missing": "ignore"}


def test_long_tables_with_channels_become_times_by_channels(tmp_path):
    path = written(tmp_path / "a.csv", CHANNELS)
    data = read_data(path, rate=4.0, **FOURTH)
    assert_array_equal(data.rows, [[[1, 2], [3, 4]], [[nan, 6], [nan, 5]]])
    assert (data.ids.tolist(), data.channels) == (["b", "a"], ["Pz", "Cz"])
    time, channel = labels_of(data).axes
    assert_array_equal(time.points, [0, 0.25])
    assert (time.name, time.unit, channel.name, channel.names) == ("t", "s", "site", ("Pz", "Cz"))
    assert "channels 'Pz', 'Cz' (2), rate 4 Hz, gaps 2 (25.0%)" in data.summary()
    refused(path, "trial 'a' has no value at t 0, site 'Pz', one of 2", long="t,v,trial,site")
    twice = written(tmp_path / "b.csv", f"{CHANNELS}b,1,7,Cz\n")
    refused(twice, "trial 'b' has 2 values at t 1, site 'Cz'", **FOURTH)


def test_a_later_long_table_has_the_channels_of_the_first(tmp_path):
    path = written(tmp_path / "a.csv", "trial,t,v,site\nc,1,8,Cz\n")
    known = FOURTH | {"times": [0.0, 1.0], "channels": ["Pz", "Cz"]}
    data = read_as(path, {}, "ignore", known)
    assert_array_equal(data.rows, [[[nan, nan], [nan, 8]]])
    other = written(tmp_path / "b.csv", "trial,t,v,site\nc,1,8,Oz\n")
    with pytest.raises(ValueError, match="'site' holds 'Oz', which is none of the 2 channels of"):
        read_as(other, {}, "ignore", known)


def test_parquet_has_the_same_options(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    from pyarrow import parquet

    lines = [line.split(",") for line in TABLE.split()]
    columns = dict(zip(lines[0], zip(*lines[1:], strict=True), strict=True))
    table = {
        n: [float(v) for v in column] if n in "abc" else column for n, column in columns.items()
    }
    parquet.write_table(pyarrow.table(table), tmp_path / "a.parquet")
    data = read_data(tmp_path / "a.parquet", id="who", labels=["kind", "age"], drop="note")
    assert_array_equal(data.rows, [[1, 2, 3], [4, 5, 6]])
    assert list(data.columns) == ["who", "kind", "age"]
    lines = [line.split(",") for line in LONG.split()[1:]]
    trial, t, v, _ = zip(*lines, strict=True)
    table = {"trial": trial, "t": [float(x) for x in t], "v": [float(x) for x in v]}
    parquet.write_table(pyarrow.table(table), tmp_path / "b.parquet")
    data = read_data(tmp_path / "b.parquet", long="t,v,trial", missing="ignore")
    assert_array_equal(data.rows, [[1, 2, 3], [4, 5, nan]])
    table["site"] = ["Pz", "Pz", "Pz", "Cz", "Cz"]
    parquet.write_table(pyarrow.table(table), tmp_path / "c.parquet")
    data = read_data(tmp_path / "c.parquet", **FOURTH)
    expected = [[[1, nan], [2, nan], [3, nan]], [[nan, 4], [nan, 5], [nan, nan]]]
    assert_array_equal(data.rows, expected)


def test_a_rate_makes_positions(tmp_path):
    data = read_data(written(tmp_path / "a.csv", TABLE), columns="a:b,c", drop="note", rate=2.0)
    (axis,) = labels_of(data).axes
    assert (axis.name, axis.unit, axis.names) == ("time", "s", ("a", "b", "c"))
    assert_array_equal(axis.points, [0, 0.5, 1])
    np.save(tmp_path / "a.npy", np.zeros((4, 5, 2)))
    axes = labels_of(read_data(tmp_path / "a.npy", rate=2.0)).axes
    assert [axis.name for axis in axes] == ["time", None]


@pytest.mark.parametrize("name", ["some-epo.fif", "some.fif"])
def test_epochs_are_read_as_they_are(name, tmp_path):
    mne = pytest.importorskip("mne", reason='needs mne: pip install "gtpca[eeg]"')
    info = mne.create_info(["E1", "E2", "E3", "EOG"], 100.0, ["eeg"] * 3 + ["eog"])
    info["bads"] = ["E2"]
    X = 1e-6 * np.random.default_rng(0).standard_normal((6, 4, 50))
    events = np.column_stack([100 * np.arange(6), np.zeros(6, int), 1 + np.arange(6) % 2])
    epochs = mne.EpochsArray(X, info, events, -0.1, {"a": 1, "b": 2}, verbose="error")
    epochs.save(tmp_path / "some-epo.fif", verbose="error")
    path = (tmp_path / "some-epo.fif").rename(tmp_path / name)
    data = read_data(path)
    assert_allclose(data.rows, X[:, [0, 2]].transpose(0, 2, 1), rtol=1e-6)
    assert (data.channels, data.sampling_rate, data.start) == (["E1", "E3"], 100.0, -0.1)
    assert data.labels.tolist() == ["a", "b"] * 3
    assert list(data.columns) == ["epoch", "label"]
    time, channel = labels_of(data).axes
    assert_allclose(time.points, epochs.times, atol=1e-12)
    assert channel.names == ("E1", "E3")
    few = read_data(path, event="b", tmin=0.0, tmax=0.2)
    assert few.rows.shape == (3, 21, 2)
    assert few.ids.tolist() == ["1", "3", "5"]
    refused(path, "which need no window", window=10)
    refused(path, "event='c' is not there; there are: a, b", event="c")


def test_names_that_are_used_twice_do_not_hide_those_that_are_not(tmp_path):
    """A model that was fitted to such a table reads it again, and others with the same columns."""
    path = tmp_path / "twice.csv"
    path.write_text("name,a,a,b\ns0,1,2,3\ns1,4,5,6\n")
    first = read_data(path, id="name")
    again = read_as(path, {}, remembered={"id": "name", "columns": first.features})
    np.testing.assert_array_equal(again.rows, first.rows)
    assert again.ids.tolist() == ["s0", "s1"]


def test_a_name_that_is_used_twice_names_no_column(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("name,a,name,b\ns0,1,x,3\ns1,4,y,6\n")
    with pytest.raises(ValueError, match=r"id='name' is the name of columns 0, 2, counted from 0"):
        read_data(path, id="name")
    assert read_data(path, id=2, drop=0).ids.tolist() == ["x", "y"]
