"""``gtpca transform``, ``reconstruct`` and ``align``, on files of every kind."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
import samples
from command import call, process

import gtpca
from gtpca import GTPCA, Compose, Reflection, Rotation, Shift
from gtpca.readers import read_data

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')

X = np.random.default_rng(0).standard_normal((30, 16))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Signals in an array and in a table, and two models of them."""
    folder = tmp_path_factory.mktemp("models")
    np.save(folder / "x.npy", X)
    np.savetxt(folder / "x.csv", X, delimiter=",")
    GTPCA(2, Shift(5), random_state=0).fit(X).save(folder / "own.gtpca")
    family = Compose(Shift(5), Reflection())
    GTPCA(2, family, shared_pose=True, center=True, random_state=0).fit(X).save(folder / "shared")
    return folder


def numbers(text):
    head, *rows = csv.reader(io.StringIO(text))
    return head, np.array(rows, dtype=float)


# --- transform ---


def test_scores_are_those_of_the_library(folder, tmp_path):
    out = tmp_path / "scores.csv"
    done = process("transform", folder / "own.gtpca", folder / "x.csv", "-o", out)
    assert (done.code, done.out) == (0, "")
    assert done.err == f"Scores of 30 samples are in {out}.\n"
    head, scores = numbers(out.read_text())
    assert head == ["gtpca0", "gtpca1"]
    np.testing.assert_array_equal(scores, gtpca.load(folder / "own.gtpca").transform(X))


@pytest.mark.parametrize("name", ["own.gtpca", "shared"])
def test_poses_have_names(name, folder, capsys):
    done = call(capsys, "transform", folder / name, folder / "x.npy", "-o", "-", "--poses")
    assert done.code == 0, done.err
    assert done.err == ""
    text = done.out.replace("True", "1").replace("False", "0")
    head, table = numbers(text)
    model = gtpca.load(folder / name)
    codes = model.encode(X)
    columns = dict(zip(head, table.T, strict=True))
    for k in range(2):
        np.testing.assert_array_equal(columns.pop(f"gtpca{k}"), codes.scores[:, k])
    for pose, values in model.poses(codes).items():
        for k, column in enumerate(values.T):
            key = pose if name == "shared" else f"gtpca{k}_{pose}"
            np.testing.assert_array_equal(columns.pop(key), column)
    errors = model.pose_errors(X)["start"].T
    keys = ["start_se"] if name == "shared" else ["gtpca0_start_se", "gtpca1_start_se"]
    for key, column in zip(keys, errors, strict=True):
        np.testing.assert_array_equal(columns.pop(key), column)
    assert columns == {}


def test_scores_as_an_array_and_as_parquet(folder, tmp_path, capsys):
    arguments = ["transform", folder / "own.gtpca", folder / "x.npy", "--poses", "-o"]
    assert call(capsys, *arguments, tmp_path / "s.npy").code == 0
    array = np.load(tmp_path / "s.npy", allow_pickle=False)
    assert array.shape == (30, 8)  # scores, starts, centres, standard errors
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    assert call(capsys, *arguments, tmp_path / "s.parquet").code == 0
    table = parquet.read_table(tmp_path / "s.parquet")
    assert table.column_names[2:4] == ["gtpca0_start", "gtpca1_start"]
    np.testing.assert_array_equal(np.column_stack([c.to_numpy() for c in table.columns]), array)


def test_pieces_make_no_difference(folder, tmp_path, capsys, monkeypatch):
    whole, parts = tmp_path / "whole.npy", tmp_path / "parts.npy"
    for name in ("transform", "reconstruct", "align"):
        arguments = [name, folder / "shared", folder / "x.npy", "-o"]
        assert call(capsys, *arguments, whole).code == 0
        with monkeypatch.context() as patch:
            patch.setattr("gtpca.commands.samples.PIECE", 7 * 16)
            assert call(capsys, *arguments, parts).code == 0
        np.testing.assert_allclose(np.load(parts), np.load(whole), rtol=1e-12, atol=1e-12)


# --- reconstruct and align ---


def test_reconstructions_are_those_of_the_library(folder, tmp_path):
    out = tmp_path / "rebuilt.npy"
    assert process("reconstruct", folder / "shared", folder / "x.npy", "-o", out).code == 0
    expected = gtpca.load(folder / "shared").reconstruct(X)
    rebuilt = np.load(out, allow_pickle=False)
    assert (rebuilt.shape, rebuilt.dtype) == (X.shape, X.dtype)
    np.testing.assert_array_equal(rebuilt, expected)


def test_aligned_samples_are_those_of_the_library(folder, capsys):
    arguments = ["align", folder / "own.gtpca", folder / "x.csv", "-o", "-"]
    model = gtpca.load(folder / "own.gtpca")
    first, second = process(*arguments), call(capsys, *arguments, "--component", 2)
    assert (first.code, second.code) == (0, 0)
    np.testing.assert_array_equal(numbers(first.out)[1], model.align(X, 0))
    np.testing.assert_array_equal(numbers(second.out)[1], model.align(X, 1))


def test_images_are_no_table(tmp_path, capsys):
    images = np.random.default_rng(0).standard_normal((12, 6, 6)).astype(np.float32)
    np.save(tmp_path / "x.npy", images)
    GTPCA(1, Rotation(4), random_state=0).fit(images).save(tmp_path / "m")
    arguments = ["align", tmp_path / "m", tmp_path / "x.npy", "-o"]
    assert call(capsys, *arguments, tmp_path / "a.csv").refused("(6, 6)", "write them to .npy")
    assert call(capsys, *arguments, "-").refused("write them to .npy")
    assert not (tmp_path / "a.csv").exists()
    assert call(capsys, *arguments, tmp_path / "a.npy").code == 0
    assert np.load(tmp_path / "a.npy").shape == (12, 6, 6)


# --- data of all kinds ---


@pytest.mark.parametrize("kind", samples.KINDS)
def test_every_kind_of_file_is_fitted_and_scored(kind, tmp_path, capsys):
    if not samples.available(kind):
        pytest.skip(f"{kind} needs {samples.NEEDS[kind]}")
    path = samples.write_sample(kind, tmp_path / "data")
    options = samples.options(kind)
    given = [text for name, value in options.items() for text in (f"--{name}", value)]
    with read_data(path, **options) as data:
        rows, said = np.asarray(data.rows[:]), f"Read {path}: {data.summary()}.\n"
    model, out = tmp_path / "m", tmp_path / "out.npy"
    family = ["--family", "shift(axes=0, max_shift=1)", "-k", 1]
    done = call(capsys, "fit", path, "-o", model, *family, *given)
    assert (done.code, done.read) == (0, said), done.err
    done = call(capsys, "transform", model, path, "-o", out, *given)
    assert (done.code, done.read) == (0, said), done.err
    expected = gtpca.load(model).transform(rows)
    np.testing.assert_allclose(np.load(out), expected, rtol=1e-5, atol=1e-12)


def test_windows_around_events(tmp_path, capsys):
    pytest.importorskip("mne", reason='recordings need mne: pip install "gtpca[eeg]"')
    path = samples.write_sample("fif", tmp_path / "data")
    arguments = ["fit", path, "-o", tmp_path / "m", "--family", "shift(10, axes=0)", "-k", 1]
    around = ["--tmin", "-0.1", "--tmax", "0.3"]
    assert call(capsys, *arguments, *around, "--event", "go").code == 0
    assert gtpca.load(tmp_path / "m").components_.shape == (1, 10, 2)
    assert call(capsys, *arguments, *around, "--event", "wait").refused("wait", "go, stop")
    assert call(capsys, *arguments, "--window", "0.5s", "--step", "10").code == 0
    assert gtpca.load(tmp_path / "m").sample_shape_ == (50, 2)
    assert call(capsys, *arguments).refused("either window, or")


def test_a_column_of_labels_may_have_a_number_as_its_name(folder, tmp_path, capsys):
    lines = [f"{','.join(map(str, row))},a" for row in X.tolist()]
    head = ",".join([*(f"t{j}" for j in range(16)), "2020"])
    (tmp_path / "x.csv").write_text("\n".join([head, *lines]))
    given = [
        "transform",
        folder / "own.gtpca",
        tmp_path / "x.csv",
        "-o",
        "-",
        "--header",
        "--labels",
    ]
    by_name, by_number = (call(capsys, *given, column) for column in (2020, 16))
    assert (by_name.code, by_name.out) == (0, by_number.out)


def test_a_column_of_labels_is_no_data(folder, tmp_path, capsys):
    lines = (folder / "x.csv").read_text().splitlines()
    head = ",".join(["kind", *(f"t{j}" for j in range(16))])
    rows = [f"{'ab'[i % 2]},{line}" for i, line in enumerate(lines)]
    (tmp_path / "x.csv").write_text("\n".join([head, *rows]))
    arguments = ["transform", folder / "own.gtpca", tmp_path / "x.csv", "-o", "-"]
    assert call(capsys, *arguments).refused("x.csv")
    plain = call(capsys, *arguments[:2], folder / "x.csv", "-o", "-").out.splitlines()
    beside = ["kind", *"ab" * 15]
    expected = "".join(f"{a},{b}\n" for a, b in zip(beside, plain, strict=True))
    assert call(capsys, *arguments, "--labels", "kind").out == expected
    assert call(capsys, *arguments, "--labels", 0).out == expected


# --- bad input ---


@pytest.mark.parametrize("name", ["transform", "reconstruct", "align"])
def test_bad_input_leaves_nothing(name, folder, tmp_path, capsys):
    np.save(tmp_path / "long.npy", np.zeros((3, 20)))
    np.savez(tmp_path / "two.npz", a=X, b=X)
    (tmp_path / "text.npy").write_text("no array")
    before = sorted(tmp_path.iterdir())
    model, out = folder / "own.gtpca", ["-o", tmp_path / "out.npy"]

    def refused(data, *words, model=model, out=out):
        return call(capsys, name, model, data, *out).refused(*words)

    assert refused(tmp_path / "long.npy", "20 features", "16")
    assert refused(tmp_path / "two.npz", "two.npz", "'a' (30, 16), 'b' (30, 16)")
    assert refused(tmp_path / "text.npy", "text.npy")
    assert refused(tmp_path / "none.npy", "none.npy: No such file")
    assert refused(folder / "x.npy", "x.npy", model=folder / "x.npy")
    assert refused(folder / "x.npy", "'.txt' is none of", out=["-o", tmp_path / "out.txt"])
    assert refused(folder / "x.npy", "would replace the input", out=["-o", folder / "x.npy"])
    assert sorted(tmp_path.iterdir()) == before


def test_a_key_chooses_the_array(folder, tmp_path, capsys):
    np.savez(tmp_path / "two.npz", a=X, b=-X)
    arguments = ["transform", folder / "own.gtpca", tmp_path / "two.npz", "-o", "-", "--key"]
    assert call(capsys, *arguments, "a") != call(capsys, *arguments, "b")
    assert call(capsys, *arguments, "c").refused("'c'", "'a' (30, 16)")


def test_a_component_that_is_not_there(folder, tmp_path, capsys):
    out = tmp_path / "a.npy"
    arguments = ["align", folder / "own.gtpca", folder / "x.npy", "-o", out, "--component"]
    for number in (0, 3):
        assert call(capsys, *arguments, number).refused(f"--component={number}", "from 1 to 2")
    assert not out.exists()


def test_rows_that_break_off_in_the_middle_leave_no_file(folder, tmp_path, capsys, monkeypatch):
    broken = X.copy()
    broken[25, 3] = np.nan
    np.save(tmp_path / "x.npy", broken)
    monkeypatch.setattr("gtpca.commands.samples.PIECE", 4 * 16)
    out = tmp_path / "out.npy"
    out.write_bytes(b"what was there")
    done = call(capsys, "reconstruct", folder / "own.gtpca", tmp_path / "x.npy", "-o", out)
    said = f"{tmp_path / 'x.npy'}: has 1 missing values (NaN), the first in row 25, column 3"
    assert done.refused(said, "--missing ignore")
    assert out.read_bytes() == b"what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.npy", "x.npy"]


@pytest.fixture
def clash(tmp_path, monkeypatch, capsys):
    """A table whose ids and labels are called like results, and two models of it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = 0.1 * rng.standard_normal((30, 24))
    for i, x in enumerate(X):
        x[i % 16 : i % 16 + 8] += 3 * np.hanning(8)
    names = ["start", "log_likelihood", *(f"t{j}" for j in range(24))]
    lines = [f"s{i},{i % 3}," + ",".join(map(repr, x.tolist())) for i, x in enumerate(X)]
    (tmp_path / "a.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    options = ("--family", "shift(8)", "--id", "start", "--labels", "log_likelihood", "-k", "1")
    assert call(capsys, "fit", "a.csv", *options, "--shared-pose", "-o", "a.gtpca").code == 0
    assert call(capsys, "fit", "a.csv", *options, "--probabilistic", "-o", "b.gtpca").code == 0
    return tmp_path


@pytest.mark.parametrize(("model", "column"), [("a", "start"), ("b", "start")])
def test_ids_and_labels_are_not_replaced_by_results(clash, capsys, model, column, monkeypatch):
    words = ("transform", f"{model}.gtpca", "a.csv", "-o", "s.csv", "--poses")
    work = []
    monkeypatch.setattr(type(gtpca.load(f"{model}.gtpca")), "encode", work.append)
    done = call(capsys, *words)
    assert done.refused(f"the column {column!r}, of ids or labels", "--prefix fit_ ")
    assert not work
    monkeypatch.undo()
    monkeypatch.chdir(clash)
    done = call(capsys, *words, "--prefix", "fit_")
    assert done.code == 0, done.err
    with open("s.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["start"] for row in rows[:3]] == ["s0", "s1", "s2"]
    assert [row["log_likelihood"] for row in rows[:4]] == ["0", "1", "2", "0"]
    assert {"fit_gtpca0", "fit_start"} <= set(rows[0])
    assert call(capsys, *words[:5]).code == 0  # without poses there is no such column


def test_aligned_samples_do_not_replace_labels(clash, capsys):
    text = (clash / "a.csv").read_text().replace("log_likelihood", "x3")
    (clash / "c.csv").write_text(text)
    options = ("--family", "shift(8)", "--id", "start", "--labels", "x3", "-k", "1")
    assert call(capsys, "fit", "c.csv", *options, "-o", "c.gtpca").code == 0
    done = call(capsys, "align", "c.gtpca", "c.csv", "-o", "c-aligned.csv")
    assert done.refused("the column 'x3', of ids or labels", "--prefix fit_ ")
    again = call(capsys, "align", "c.gtpca", "c.csv", "-o", "c-aligned.csv", "--prefix", "fit_")
    assert again.code == 0


def test_columns_of_the_same_name_are_fitted_and_read_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((20, 6))
    lines = [f"s{i}," + ",".join(map(repr, x.tolist())) for i, x in enumerate(X)]
    (tmp_path / "a.csv").write_text("\n".join(["name,a,a,b,b,c,c", *lines]) + "\n")
    options = ("--family", "shift(4)", "--id", "name", "-k", "1", "-o", "a.gtpca")
    assert call(capsys, "fit", "a.csv", *options).code == 0
    done = call(capsys, "transform", "a.gtpca", "a.csv", "-o", "s.csv")
    assert done.code == 0, done.err
    assert (tmp_path / "s.csv").read_text().startswith("name,gtpca0\ns0,")
