"""Commands that other commands print: they run as they are, and give what was promised."""

from __future__ import annotations

import hashlib
import html
import inspect
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
from command import call, environment

from gtpca import GTPCA, load
from gtpca.diagnostics import choose as find_window
from gtpca.diagnostics import wording
from gtpca.diagnostics.wording import CHOOSE_OPTIONS, Commands, fit_options

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')

PATTERN = np.array([2, 3, -1, 0, 4, 4, 1, -2, -3, -2.0])
READING = ("--id", "name", "--labels", "kind,age", "--drop", "note", "--decimal", ",")
READING += ("--rate", "40Hz", "--missing", "ignore")
FITTING = ("--family", "shift(window='0.25s')", "--ridge", "0.1", "--refine", "1", "--seed", "3")
FITTING += ("--polarity", "positive", "--center", "samples", "--restarts", "2")
NAME = "it's my data.csv"


def rows(n=60, d=40, seed=0):
    """Rows with a pattern of 10 points at random places."""
    rng = np.random.default_rng(seed)
    X = 0.5 * rng.standard_normal((n, d))
    for x, start in zip(X, rng.integers(d - 9, size=n), strict=True):
        x[start : start + 10] += PATTERN
    return X


def table(path, X, gaps=True, note=True):
    """A table with ids, two columns of labels, one of remarks, gaps and decimal commas."""
    rng = np.random.default_rng(1)
    hidden = rng.random(X.shape) < (0.02 if gaps else 0)
    names = [f"t{j}" for j in range(X.shape[1])]
    lines = [["name", "kind", "age", *(["note"] if note else []), *names]]
    for i, x in enumerate(X):
        fields = [f"s{i:02}", "ab"[i % 2], str(20 + i % 9), *(["fine"] if note else [])]
        values = [f"{v:.6f}".replace(".", ",") for v in x]
        lines.append([*fields, *("" if h else v for v, h in zip(values, hidden[i], strict=True))])
    path.write_text("\n".join(";".join(line) for line in lines) + "\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table whose name needs quotes."""
    monkeypatch.chdir(tmp_path)
    table(tmp_path / NAME, rows())
    return tmp_path


def hashes(folder):
    """What is in every file of a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def run(capsys, folder, text):
    """Run a command as printed; nothing that is there may change. Returns the new file, if any."""
    before = hashes(folder)
    program, *words = shlex.split(text)
    assert program == "gtpca"
    done = call(capsys, *words)
    assert done.code == 0, (text, done.err)
    after = hashes(folder)
    assert {path: after[path] for path in before} == before, text
    new = sorted(set(after) - set(before))
    assert len(new) == ("-o" in words), text
    return (new or [None])[0], done


def quoted(text):
    """The command within a sentence, or on a page."""
    found = re.search("`(gtpca .*)`", text)
    assert found, text
    return found[1]


def same_model(path, other):
    a, b = load(path), load(other)
    assert a.n_components_ == b.n_components_
    np.testing.assert_array_equal(a.components_, b.components_)
    assert repr(a) == repr(b)
    assert a.labels_.reading == b.labels_.reading


@pytest.mark.parametrize("pose", [(), ("--shared-pose", "--polarity", "both", "--refine", "0")])
def test_every_command_of_a_diagnostic_runs_as_printed(folder, capsys, pose):
    fit = ("fit", NAME, *FITTING, *READING, *pose)
    for k in (1, 2, 4):
        assert call(capsys, *fit, "-k", k, "-o", f"by-hand-{k}.gtpca").code == 0
    model, data = "by-hand-2.gtpca", NAME
    fitted = load(model)
    from gtpca.commands.options import Source

    source = Source(folder / NAME, {})  # the model remembers how to read it
    with source.open(fitted) as read:
        words = source.fit_words(fitted, read)
    commands = Commands.of(fitted).named(model, data, words, source.words())
    new, _ = run(capsys, folder, commands.fewer(1))
    same_model(new, "by-hand-1.gtpca")
    new, _ = run(capsys, folder, commands.more(4))
    same_model(new, "by-hand-4.gtpca")
    new, _ = run(capsys, folder, commands.poses())
    with open(new) as file:
        head = file.readline().strip().split(",")
    assert head[:4] == ["name", "kind", "age", "gtpca0"]
    chosen = commands.choose()
    _, done = run(capsys, folder, f"{chosen} --windows 9:11 -k 1:1 --folds 2")
    new, _ = run(capsys, folder, quoted(done.out.splitlines()[-1]))
    found = load(new)
    for name in ("center", "polarity", "ridge", "shared_pose", "missing", "random_state"):
        assert getattr(found, name) == getattr(fitted, name), name
    assert found.labels_.reading == fitted.labels_.reading
    assert repr(found.grid_) == repr(fitted.grid_)


@pytest.mark.parametrize("given", [(), READING])
def test_check_names_a_command_that_leaves_the_model_alone(folder, capsys, given):
    options = ("--family", "shift(10)", "--seed", "1")
    assert call(capsys, "fit", NAME, *options, *READING[:-2], "-k", 2, "-o", "a.gtpca").code == 2
    table(folder / NAME, rows(), gaps=False)
    reading = READING[:-2]
    assert call(capsys, "fit", NAME, *options, *reading, "-k", 2, "-o", "a.gtpca").code == 0
    done = call(capsys, "check", "a.gtpca", NAME, *given[:-2])
    assert done.code == 0, done.err
    last = done.out.splitlines()[-1]
    assert last.startswith("Component 2 is not above noise"), last
    new, _ = run(capsys, folder, quoted(last))
    assert call(capsys, "fit", NAME, *options, *reading, "-k", 1, "-o", "b.gtpca").code == 0
    same_model(new, "b.gtpca")


def test_pages_and_pictures_are_made_as_printed(folder, capsys):
    for module in ("plotly", "jinja2", "matplotlib"):
        pytest.importorskip(module, reason=f"needs {module}")
    table(folder / NAME, rows(30), gaps=False)
    options = ("--family", "shift(10)", *READING[:-2], "-k", "1", "-o", "a.gtpca")
    assert call(capsys, "fit", NAME, *options).code == 0
    again = ("--rate", "40Hz")
    commands = Commands.of(load("a.gtpca")).named("a.gtpca", NAME, (), again)
    run(capsys, folder, commands.histogram())
    new, _ = run(capsys, folder, commands.report())
    new, _ = run(capsys, folder, commands.checked_page(new, "--title", "Two  blanks"))
    page = html.unescape((folder / new).read_text())
    assert "Two  blanks" in page
    assert f'gtpca fit "{NAME}" -o a-more.gtpca -k 2 --family "shift(window=10)"' in page
    assert "MODEL" not in page


def test_commands_are_all_tried():
    """A new kind of command belongs into the tests above."""
    public = {name for name in vars(Commands) if not name.startswith("_")}
    tried = {"fewer", "more", "choose", "report", "checked_page", "poses", "histogram"}
    fields = set(Commands.__dataclass_fields__)
    assert public - fields - {"of", "named", "fit", "windows"} == tried


def test_a_shell_runs_them(folder):
    text = f'gtpca fit "{NAME}" -o a.gtpca -k 2 --family "shift(10)" ' + shlex.join(READING)
    shell = f'gtpca() {{ {shlex.quote(sys.executable)} -m gtpca_command "$@"; }}\n'
    how = {"env": environment(), "capture_output": True, "text": True, "cwd": folder}
    assert subprocess.run(["sh", "-c", shell + text], check=False, **how).returncode == 0
    commands = Commands.of(load(folder / "a.gtpca")).named("a.gtpca", NAME)
    done = subprocess.run(["sh", "-c", shell + commands.fewer(1)], check=False, **how)
    assert done.returncode == 0, done.stderr
    assert load(folder / "a-k1.gtpca").n_components_ == 1


def test_choose_takes_and_gives_how_data_are_read(folder, capsys):
    options = ("--family", "shift", "--windows", "9:11", "-k", "1:2", "--folds", "2")
    more = ("--center", "samples", "--polarity", "positive", "--ridge", "0.1", "--seed", "4")
    (folder / "it's my data.gtpca").write_text("a model of yesterday")
    done = call(capsys, "choose", NAME, *options, *more, *READING)
    assert done.code == 0, done.err
    new, _ = run(capsys, folder, quoted(done.out.splitlines()[-1]))
    found = load(new)
    assert (found.center, found.polarity, found.ridge) == ("samples", "positive", 0.1)
    assert (found.missing, found.random_state) == ("ignore", 4)
    assert found.labels_.reading["id"] == "name"


def test_choose_of_flat_images_gives_their_shape(folder, capsys):
    rng = np.random.default_rng(0)
    images = 0.3 * rng.standard_normal((40, 9, 9))
    for image in images:
        i, j = rng.integers(6, size=2)
        image[i : i + 4, j : j + 4] += np.outer([1, 3, 2, -1], [1, -2, 3, 1])
    np.savetxt("flat.csv", images.reshape(40, -1), delimiter=",")
    family = "shift(window=(4, 4))"
    fit = ("fit", "flat.csv", "--sample-shape", "9x9", "-o", "flat.gtpca", "-k", "1")
    assert call(capsys, *fit, "--family", family).code == 0
    commands = Commands.of(load("flat.gtpca")).named("flat.gtpca", "flat.csv")
    assert '--family "shift(axes=(0, 1))" --sample-shape 9x9' in commands.choose()
    _, done = run(capsys, folder, f"{commands.choose()} --windows 3:5 -k 1:1 --folds 2")
    new, _ = run(capsys, folder, quoted(done.out.splitlines()[-1]))
    assert load(new).components_.shape == (1, 4, 4)


def test_columns_are_named_where_the_file_has_others(folder, capsys):
    """A model remembers its columns; another file may have more of them, or less beside them."""
    options = ("--family", "shift(10)", "-k", "2", *READING)
    assert call(capsys, "fit", NAME, *options, "-o", "a.gtpca").code == 0
    table(folder / "other.csv", rows(seed=5), note=False)
    text = (folder / "other.csv").read_text().splitlines()
    more = [f"{line};{'extra' if i == 0 else '7,5'}" for i, line in enumerate(text)]
    (folder / "other.csv").write_text("\n".join(more) + "\n")
    from gtpca.commands.options import Source

    fitted, source = load("a.gtpca"), Source(folder / "other.csv", {})
    with source.open(fitted) as data:
        words = source.fit_words(fitted, data)
        before = data.rows
    assert words[words.index("--columns") + 1] == "t0:t39"
    assert "--drop" not in words  # there is no such column here
    new, _ = run(capsys, folder, Commands.of(fitted).named("a.gtpca", "other.csv", words).fewer(1))
    again = load(new)
    with Source(folder / "other.csv", {}).open(again) as data:
        np.testing.assert_array_equal(data.rows, before)


def test_info_and_page_say_commands_that_run(folder, capsys):
    pytest.importorskip("plotly", reason="writes a page")
    pytest.importorskip("jinja2", reason="writes a page")
    options = ("--family", "shift(10)", "-k", "1", "--columns", "t0:t39", *READING)
    assert call(capsys, "fit", NAME, *options, "-o", "a.gtpca").code == 0
    said = call(capsys, "info", "a.gtpca").out
    reading = shlex.split(re.search("read with +(.*)", said)[1])
    assert call(capsys, "fit", NAME, *options[:4], *reading, *READING[-2:], "-o", "b").code == 0
    same_model("a.gtpca", "b")
    assert call(capsys, "report", "a.gtpca", NAME, "-o", "a.html", "--title", "Two words").code == 0
    page = (folder / "a.html").read_text()
    text = re.search("Nothing was checked. <code>(.*?)</code>", page)[1]
    words = html.unescape(text)
    assert words.startswith("gtpca report a.gtpca ")
    assert "--check" in words
    assert "a-checked.html" in words
    assert '--title "Two words"' in words


def test_no_option_of_fit_can_be_forgotten():
    """Every option of fit is what a model says, how a file is read, or says itself."""
    from gtpca.commands import checking, models
    from gtpca.commands.options import DATA_OPTIONS

    fit = set(inspect.signature(models.fit).parameters)
    itself = {"data", "output", "family", "k", "fraction", "as_json"}
    assert fit - set(DATA_OPTIONS) - itself == set(fit_options(GTPCA())) - {"missing"}
    choose = set(inspect.signature(checking.choose).parameters)
    assert choose & fit - set(DATA_OPTIONS) - itself == CHOOSE_OPTIONS - {"missing"}


VALUES = {  # each as it is typed, one with all that may be odd about it
    "key": "a b", "labels": ["kind,age", "it's"], "id": "-name", "drop": ["a", "b:c"],
    "columns": ["x0:x3"], "long": "time,value,trial", "header": False, "decimal": ",",
    "rate": 1 / 3, "window": 1e-5, "step": 512, "event": "go left", "tmin": -0.2, "tmax": 1e-7,
    "missing": "ignore", "sizes": "pad", "encoding": "latin-1",
}  # fmt: skip


def test_no_option_of_files_can_be_forgotten():
    """What every option means is typed so that it is understood as the same."""
    from gtpca.commands import command
    from gtpca.commands.options import DATA_OPTIONS, Source

    assert set(VALUES) == set(DATA_OPTIONS)
    words = Source(None, VALUES).words()
    typed = ["a.csv", "-o", "b", "--family", "shift", *words]
    with command("fit").make_context("fit", typed) as context:
        understood = {name: context.params[name] for name in VALUES}
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in understood.items()}
    assert plain == VALUES


def test_python_says_the_same():
    """Sentences of Python have the seed and the shape that were given."""
    X = rows(40, 36)
    found = find_window(
        X, "shift(axes=(0, 1))", (3, 4), (1, 1), n_folds=2, sample_shape=(6, 6), random_state=5
    )
    text = found.advice("a.gtpca", "a.csv")
    assert "--sample-shape 6x6 --seed 5`" in text


def test_the_fit_that_subtracts_an_offset_runs_as_printed(folder, capsys):
    table(folder / NAME, 30 + rows())
    assert call(capsys, "fit", NAME, *READING, "--family", "shift(10)", "-o", "a.gtpca").code == 0
    commands = Commands.of(load("a.gtpca")).named("a.gtpca", NAME)
    text = wording._of_an_offset(0.9, commands, load("a.gtpca").n_components_)
    said = re.search("says nothing of a pattern; fit again with `(.*?)`", text)
    new, _ = run(capsys, folder, said[1])
    assert new.endswith("a-centred.gtpca")
    assert load(new).center_ == "samples"
    assert load(new).n_components_ == load("a.gtpca").n_components_
