"""Commands that other commands print: they run as they are, and give what was promised."""

from __future__ import annotations

import hashlib
import html
import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path

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


DENSITY = ("--probabilistic", "--ridge", "auto", "--refine", "0", "--center", "none")
KINDS = {
    "plain": (),
    "shared": ("--shared-pose", "--polarity", "both", "--refine", "0"),
    "density": (*DENSITY, "--restarts", "auto"),
}


def printable():
    """All that prints a command: methods of Commands that return text."""
    methods = vars(Commands).items()
    public = {name: found for name, found in methods if inspect.isfunction(found)}
    found = {n: f for n, f in public.items() if f.__annotations__.get("return") == "str"}
    return {name for name in found if not name.startswith("_")}


def commands_for(model, data, given):
    """The commands that ``gtpca check model data ..`` may print."""
    from gtpca.commands import command
    from gtpca.commands.options import DATA_OPTIONS, Source

    with command("check").make_context("check", [model, data, *given]) as context:
        options = {name: context.params[name] for name in DATA_OPTIONS}
    fitted, source = load(model), Source(data, options)
    with source.open(fitted) as read:
        words = source.fit_words(fitted, read)
    return Commands.of(fitted).named(model, data, words, source.words())


class Printed:
    """Commands are run as printed, one method for each that prints one."""

    def __init__(self, capsys, folder, commands, fit):
        self.capsys, self.folder, self.commands, self.by_hand = capsys, folder, commands, fit

    def run(self, text):
        return run(self.capsys, self.folder, text)

    def compare(self, text, k):
        """The model of a command is the one that was fitted by hand."""
        new, _ = self.run(text)
        done = call(self.capsys, *self.by_hand, "-k", k, "-o", f"hand-{k}.gtpca")
        assert done.code == 0, done.err
        same_model(new, f"hand-{k}.gtpca")
        for path in (new, f"hand-{k}.gtpca"):
            (self.folder / path).unlink()

    def fit(self):
        directions = 1 + self.commands.density
        self.compare(self.commands.fit(directions, "new.gtpca"), 1)

    def fewer(self):
        self.compare(self.commands.fewer(1 + self.commands.density), 1)

    def more(self):
        self.compare(self.commands.more(3 + self.commands.density), 3)

    def poses(self):
        new, _ = self.run(self.commands.poses())
        with open(new) as file:
            head = file.readline().strip().split(",")
        assert head[:3] == ["name", "kind", "age"]
        assert any("start" in name for name in head)

    def choose(self, text=None):
        text = text or self.commands.choose()
        _, done = self.run(f"{text} --windows 9:11 -k 1:1 --folds 2")
        new, _ = self.run(quoted(done.out.splitlines()[-1]))
        found, model = load(new), load(self.commands.model)
        names = ["missing", "random_state"]
        if not self.commands.density:  # a window is chosen without a likelihood
            names += ["center", "polarity", "ridge", "shared_pose"]
        for name in names:
            assert getattr(found, name) == getattr(model, name), name
        assert found.labels_.reading == model.labels_.reading
        assert repr(found.grid_) == repr(model.grid_)

    def windows(self):
        self.choose(quoted(self.commands.windows()))

    def report(self):
        new, _ = self.run(self.commands.report())
        page = (self.folder / new).read_text()
        told = page[page.index('id="section-real"') :].partition("</section>")[0]
        found = [html.unescape(text) for text in re.findall("<code>(gtpca .*?)</code>", told)]
        assert found
        assert "MODEL" not in "".join(found)
        assert "gtpca report" not in told
        found = [text for text in found if text != "gtpca check"]
        for text in dict.fromkeys(found):  # what diagnostics say there; two may say the same
            short = " --windows 9:11 -k 1:1 --folds 2" if text.startswith("gtpca choose") else ""
            self.run(text + short)

    def look(self):
        """The command of the page at the end of a sentence; it runs above."""

    def check(self):
        done = call(self.capsys, *shlex.split(self.commands.check())[1:])
        assert done.code == 0, done.err

    def histogram(self):
        self.run(self.commands.histogram())


@pytest.mark.parametrize(
    ("kind", "given"),
    [*((kind, ()) for kind in KINDS), ("plain", READING)],
    ids=[*KINDS, "given"],
)
def test_every_command_of_a_diagnostic_runs_as_printed(folder, capsys, kind, given):
    """On a table with ids, labels, a rate, gaps and decimal commas, and models are compared."""
    for module in ("plotly", "jinja2", "matplotlib"):
        pytest.importorskip(module, reason=f"needs {module}")
    table(folder / NAME, rows(40))
    fit = ("fit", NAME, *FITTING, *READING, *KINDS[kind])
    done = call(capsys, *fit, "-k", 2, "-o", "a model.gtpca")
    assert done.code == 0, done.err
    printed = Printed(capsys, folder, commands_for("a model.gtpca", NAME, given), fit)
    for name in sorted(printable()):
        getattr(printed, name)()


def test_commands_are_printed_by_these_methods_alone():
    """Whoever writes a command elsewhere would escape the test above."""
    source = Path(wording.__file__).parents[1]
    of_methods = inspect.getsource(Commands).count('typed("gtpca"')
    texts = {path: path.read_text() for path in sorted(source.rglob("*.py"))}
    assert sum(text.count('typed("gtpca"') for text in texts.values()) == of_methods + 2  # doctests
    assert printable() <= set(vars(Printed))
    for name in ("diagnostics", "page", "fitting", "model"):
        for path, text in texts.items():
            if path.is_relative_to(source / name):
                assert not re.search(r"[^`]`gtpca [a-z]+ [^`]*`[^`]", _without_docstrings(text)), (
                    path
                )


def _without_docstrings(text):
    """Code without its comments and texts in three quotes."""
    return re.sub(r'(?s)""".*?"""|#[^\n]*', "", text)


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


def test_info_and_page_say_commands_that_run(folder, capsys, monkeypatch):
    pytest.importorskip("plotly", reason="writes a page")
    pytest.importorskip("jinja2", reason="writes a page")
    options = ("--family", "shift(10)", "-k", "1", "--columns", "t0:t39", *READING)
    assert call(capsys, "fit", NAME, *options, "-o", "a.gtpca").code == 0
    said = call(capsys, "info", "a.gtpca").out
    reading = shlex.split(re.search("read with +(.*)", said)[1])
    assert call(capsys, "fit", NAME, *options[:4], *reading, *READING[-2:], "-o", "b").code == 0
    same_model("a.gtpca", "b")
    monkeypatch.setattr("gtpca.diagnostics.summary.QUICK", 0)
    assert call(capsys, "report", "a.gtpca", NAME, "-o", "a.html", "--title", "Two words").code == 0
    page = (folder / "a.html").read_text()
    assert "<title>Two words</title>" in page
    text = re.search("Nothing was checked. <code>(.*?)</code>", page)[1]
    words = html.unescape(text)
    assert words.startswith("gtpca check a.gtpca ")
    assert call(capsys, *shlex.split(words)[1:]).code == 0


def test_no_option_of_fit_can_be_forgotten():
    """Every option of fit is what a model says, how a file is read, or says itself.

    Known poses are not part of a model: what is fitted again looks for all of them.
    """
    from gtpca.commands import checking, models
    from gtpca.commands.options import DATA_OPTIONS

    fit = set(inspect.signature(models.fit).parameters)
    itself = {"data", "output", "family", "k", "fraction", "as_json", "known_poses"}
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
    said = re.search("says nothing about a pattern; fit again with `(.*?)`", text)
    new, _ = run(capsys, folder, said[1])
    assert new.endswith("a-centred.gtpca")
    assert load(new).center_ == "samples"
    assert load(new).n_components_ == load("a.gtpca").n_components_
