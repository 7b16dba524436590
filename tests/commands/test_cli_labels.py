"""From files with ids, labels, rates and gaps to scores that can be joined; images to images."""

from __future__ import annotations

import csv
import re
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest
from command import call

import gtpca

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')

DOCS = Path(__file__).parents[2] / "docs"
FILES = {"wide": ("subject", 250.0), "long": ("trial", 250.0), "squares": ("file", None)}
FILES |= {"oddball": ("epoch", 100.0), "parquet": ("subject", 250.0)}
NEEDS = {"squares": ("PIL",), "oddball": ("mne",), "parquet": ("pyarrow",)}
INPUTS = {"wide": "wide.csv", "long": "long.csv", "squares": "squares"}
INPUTS |= {"oddball": "oddball-epo.fif", "parquet": "a.parquet"}
here = pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not installed")


def blocks():
    """The commands of the page about five files with what they print, by the name of the model."""
    text = (DOCS / "five-files.md").read_text()
    found = {}
    for block in re.findall("^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        name = re.search(r" (\w+)\.gtpca", block)[1]
        found[name] = re.findall(r"^\$ gtpca (.*?)\n(.*?)(?=^\$|\Z)", block, re.M | re.S)
    return found


def written(name, folder):
    """Write one of the five files; returns where the bumps begin."""
    for module in (*NEEDS.get(name, ()), "plotly", "jinja2"):
        pytest.importorskip(module, reason=f"{name} needs {module}")
    make = runpy.run_path(str(DOCS / "five_files.py"))["WRITERS"][name]
    return make(folder, np.random.default_rng(0))


@here
@pytest.mark.parametrize("name", FILES)
def test_five_files_go_from_file_to_page(name, tmp_path, capsys, monkeypatch):
    starts = written(name, tmp_path)
    monkeypatch.chdir(tmp_path)
    commands = blocks()[name]
    assert [line.split()[0] for line, _ in commands] == ["fit", "transform", "report"]
    for line, expected in commands:
        done = call(capsys, *shlex.split(line))
        assert done.code == 0, done.err
        assert done.read + done.out + done.err == expected
    with open(f"{name}-scores.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    text = (DOCS / "five-files.md").read_text()
    assert f"The header of `{name}-scores.csv` is `{','.join(rows[0])}`" in text
    column, rate = FILES[name]
    assert len({row[column] for row in rows}) == len(rows)
    if rate is not None:
        first = {"oddball": -0.2}.get(name, 0.0)
        found = np.array([float(row["gtpca0_start_s"]) for row in rows])
        offset = (found - first) * rate - starts
        assert np.ptp(np.round(offset)) == 0  # every bump is found to the sample
        assert abs(offset[0]) <= 10


@here
def test_scores_are_joined_by_id(tmp_path, capsys, monkeypatch):
    pandas = pytest.importorskip("pandas", reason='needs pandas: pip install "gtpca[io]"')
    written("wide", tmp_path)
    monkeypatch.chdir(tmp_path)
    table = pandas.read_csv("wide.csv")
    table.iloc[::-1].to_csv("turned.csv", index=False)
    for line, _ in blocks()["wide"][:2]:
        assert call(capsys, *shlex.split(line)).code == 0
    given = ["transform", "wide.gtpca", "turned.csv", "-o", "turned-scores.csv"]
    assert call(capsys, *given).code == 0
    block = re.search("^```python\n(.*?)^```", (DOCS / "five-files.md").read_text(), re.M | re.S)
    joined: dict = {}
    exec(block[1], joined)
    assert joined["table"].shape == (48, 8)
    other = pandas.read_csv("turned-scores.csv")[["subject", "gtpca0"]]
    both = joined["table"].merge(other, on="subject", suffixes=("", "_turned"))
    np.testing.assert_allclose(both["gtpca0"], both["gtpca0_turned"])
    np.testing.assert_array_equal(both["age_x"], both["age_y"])


@pytest.fixture
def fitted(tmp_path, capsys, monkeypatch):
    """A model of a table with ids, labels and a column that is not data; returns its rows."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((20, 16)).round(6)
    write("a.csv", X, "id,note,kind")
    given = ["--id", "id", "--drop", "note", "--labels", "kind", "--rate", "1kHz"]
    arguments = ["fit", "a.csv", "-o", "m", "-k", 1, "--family", "shift(window=5ms)"]
    assert call(capsys, *arguments, *given).code == 0
    return X


def write(name, X, beside, order=range(16)):
    head = [*beside.split(","), *(f"t{j}" for j in order)]
    texts = {"id": "s{}", "note": "n", "kind": "k", "extra": "e"}
    lines = [
        [*(texts[b].format(i) for b in beside.split(",")), *x[list(order)]] for i, x in enumerate(X)
    ]
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows([head, *lines])


def test_columns_are_found_by_their_names(fitted, capsys):
    arguments = ["transform", "m", "-o", "-"]
    first = call(capsys, *arguments[:2], "a.csv", *arguments[2:])
    write("b.csv", fitted, "kind,extra,id", order=range(15, -1, -1))
    second = call(capsys, *arguments[:2], "b.csv", *arguments[2:])
    assert first.out == second.out
    assert first.out.startswith("id,kind,gtpca0\ns0,k,")
    write("c.csv", fitted, "extra")
    third = call(capsys, *arguments[:2], "c.csv", *arguments[2:])
    assert third.out.startswith("gtpca0\n")
    assert "labels none, ids none" in third.read
    write("d.csv", fitted, "id", order=range(15))
    assert call(capsys, *arguments[:2], "d.csv", *arguments[2:]).refused("fitted to a column 't15'")


def test_files_without_names_are_taken_as_they_are(fitted, capsys):
    np.savetxt("plain.csv", fitted, delimiter=",")
    np.save("plain.npy", fitted)
    scores = gtpca.load("m").transform(fitted)
    for name in ("plain.csv", "plain.npy"):
        done = call(capsys, "transform", "m", name, "-o", "-")
        found = np.array(done.out.split()[1:], float)
        np.testing.assert_array_equal(found, scores[:, 0])
        assert "ids none, rate 1000 Hz" in done.read


def test_what_is_said_again_wins(fitted, capsys):
    write("b.csv", fitted, "id,kind,extra")
    given = ["transform", "m", "b.csv", "-o", "-", "--id", "extra", "--labels", "id"]
    assert call(capsys, *given).out.startswith("extra,id,gtpca0\ne,s0,")
    assert call(capsys, *given[:5], "--rate", "2kHz").refused("0.0075 s", "0.015 s")


def test_tables_of_samples_have_ids_and_names(fitted, capsys):
    model = gtpca.load("m")
    for name, expected in (("reconstruct", "t0,t1"), ("align", "0.005s,0.006s")):
        done = call(capsys, name, "m", "a.csv", "-o", "-")
        head, first = done.out.splitlines()[:2]
        assert head.startswith(f"id,kind,{expected}")
        values = np.array(first.split(",")[2:], float)
        np.testing.assert_array_equal(values, getattr(model, name)(fitted)[0])
    assert call(capsys, "transform", "m", "a.csv", "-o", "s.npy").code == 0
    assert np.load("s.npy").shape == (20, 1)


def test_info_says_names_units_and_how_files_are_read(fitted, capsys):
    out = call(capsys, "info", "m").out
    assert "told apart by start (s), centre (s)" in out
    assert "time: 16 points, 0 to 0.015 s, rate 1000 Hz, named t0 to t15" in out
    assert "--labels kind --id id --drop note" in out
    assert "--rate 1000Hz" in out
    assert '"unit": "s"' in call(capsys, "info", "m", "--json").out


def test_long_tables_with_channels(tmp_path, capsys, monkeypatch):
    """A bump on two channels, later in every trial, is found in seconds; trials end early."""
    monkeypatch.chdir(tmp_path)
    lines = ["who,when,what,where"]
    for i in range(12):
        for j in range(40 - i % 3):
            bump = np.exp(-(((j - 8 - i) / 2) ** 2))
            lines += [f"s{i},{j / 100},{bump:.6f},Cz", f"s{i},{j / 100},{-0.5 * bump:.6f},Pz"]
    Path("a.csv").write_text("\n".join(lines))
    fit = ["fit", "a.csv", "-o", "m", "-k", 1, "--long", "when,what,who,where", "--rate", "100Hz"]
    done = call(capsys, *fit, "--missing", "ignore", "--family", "shift(window=0.1s, axes='when')")
    assert "12 samples of shape 40x2; names none, labels none, ids 's0'" in done.read
    assert "channels 'Cz', 'Pz' (2), rate 100 Hz, gaps 24 (2.5%)" in done.read
    Path("b.csv").write_text("\n".join([lines[0], *lines[2:81:2], *lines[1:80:2]]))
    done = call(capsys, "transform", "m", "b.csv", "-o", "-", "--poses")
    both = call(capsys, "transform", "m", "a.csv", "-o", "-", "--poses")
    assert done.out == "".join(both.out.splitlines(keepends=True)[:2])
    starts = [float(line.split(",")[2]) for line in both.out.splitlines()[1:]]
    np.testing.assert_allclose(np.diff(starts), 0.01, atol=1e-9)
    said = call(capsys, "info", "m").out
    assert "when: 40 points, 0 to 0.39 s" in said
    assert "where: 2 points, named Cz to Pz" in said
    assert "--long when,what,who,where" in said


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--rate", "fast"], ["'fast' is not a sampling rate", "250Hz"]),
        (["--family", "shift(window=5ms)"], ["window='5ms' needs an axis with even", "--rate"]),
        (["--family", "shift(axes='time')"], ["have no names"]),
        (["--long", "id,t0"], ["must name three columns"]),
    ],
    ids=str,
)
def test_wrong_options_say_what_would_work(given, words, fitted, capsys):
    start = ["fit", "a.csv", "-o", "n", "--id", "id", "--drop", "note", "--labels", "kind"]
    family = [] if "--family" in given else ["--family", "shift(5)"]
    assert call(capsys, *start, *given, *family).refused(*words)


def test_images_become_images(tmp_path, capsys, monkeypatch):
    image = pytest.importorskip("PIL.Image", reason="images need Pillow")
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    rng, shapes = np.random.default_rng(0), {}
    for i in range(12):
        pixels = rng.integers(0, 255, (8 + i % 3, 9), dtype=np.uint8)
        shapes[f"p{i}.png"] = pixels
        image.fromarray(pixels).save(f"in/p{i}.png")
    fit = ["fit", "in", "-o", "m", "-k", 1, "--family", "shift((6, 6))", "--sizes", "pad"]
    assert call(capsys, *fit, "--missing", "ignore").code == 0
    for name in ("reconstruct", "impute", "align"):
        assert call(capsys, name, "m", "in", "-o", name).code == 0
    for name, pixels in shapes.items():
        assert np.asarray(image.open(f"reconstruct/{name}")).shape == pixels.shape
        np.testing.assert_array_equal(np.asarray(image.open(f"impute/{name}")), pixels)
        assert np.asarray(image.open(f"align/{name}")).shape == (6, 6)
    model = gtpca.load("m")
    padded = np.full((1, 10, 9), np.nan)
    padded[0, :8] = shapes["p0.png"]
    expected = model.reconstruct(padded)[0, :8].round().clip(0, 255)
    assert np.abs(np.asarray(image.open("reconstruct/p0.png")) - expected).max() <= 1
    assert call(capsys, "align", "m", "in", "-o", "align").refused("already there")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("align", "impute", "in", "m", "reconstruct")
    ]
    Path("few").mkdir()
    Path("in/p0.png").rename("few/p0.png")
    assert call(capsys, "transform", "m", "few", "-o", "-").out.startswith("file,gtpca0\np0.png,")
    assert call(capsys, "impute", "m", "few", "-o", "filled").code == 0
    np.testing.assert_array_equal(np.asarray(image.open("filled/p0.png")), shapes["p0.png"])
