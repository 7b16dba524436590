"""The command ``gtpca``: help, exit codes, ``fit`` and ``info``."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from command import COMMANDS, call, done_with, environment, on_a_terminal, process

import gtpca
from gtpca import GTPCA, Custom, Shift
from gtpca.datasets import make_spikes

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')

FAMILY = "shift(window=12, boundary='partial')"


@pytest.fixture
def signals(tmp_path):
    """A table of 40 signals of 32 points."""
    X, _ = make_spikes(40, n_times=32, random_state=0)
    np.savetxt(tmp_path / "signals.csv", X, delimiter=",")
    return tmp_path / "signals.csv"


@pytest.fixture
def model(signals, tmp_path):
    """A fitted model, in a file."""
    path = tmp_path / "model.gtpca"
    X = np.loadtxt(signals, delimiter=",")
    GTPCA(2, Shift(12, boundary="partial"), random_state=0).fit(X).save(path)
    return path


# --- the command as a whole ---


def test_alone_it_shows_its_help(capsys):
    alone = process()
    assert (alone.code, alone.err) == (0, "")
    assert alone == call(capsys, "--help")
    assert set(re.findall(r"^  ([a-z]+)  +[A-Z]", alone.out, re.MULTILINE)) == COMMANDS
    assert "..." not in alone.out.partition("Commands:")[2]


def test_it_knows_its_version(capsys):
    assert call(capsys, "--version").out == f"gtpca {gtpca.__version__}\n"


def test_the_list_of_commands_says_what_the_commands_say():
    from gtpca import commands

    said = {name: commands.command(name).help.partition("\n")[0] for name in COMMANDS}
    assert said == {name: text for name, (_, text) in commands.COMMANDS.items()}


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_large(option):
    code = f"import sys, gtpca_command as c; sys.argv[1:] = [{option!r}]; c.main()"
    how = {"capture_output": True, "text": True, "check": True, "env": environment()}
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", code], **how)
    found = set(re.findall(r"\| +(\w+)$", done.stderr, re.MULTILINE))
    assert "typer" in found
    assert not found & {"numpy", "scipy", "sklearn", "rich"}


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_fits_the_terminal(name, width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    done = call(capsys, name, "--help")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= width
    assert "\x1b" not in done.out
    if name not in ("demo", "reproduce"):
        assert f"  gtpca {name} " in done.out.partition("Example")[2]


def test_reproduce_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setattr("gtpca.commands.paper.find_spec", lambda name: None)
    done = call(capsys, "reproduce", "--list")
    assert done.refused("pip install gtpca-paper")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fot"], ["No such command 'fot'", "See `gtpca --help`."]),
        (["--loud"], ["--loud"]),
        (["info"], ["MODEL", "See `gtpca info --help`."]),
        (["fit", "x.csv", "--family", "shift"], ["--output"]),
        (["fit", "x.csv", "-o", "x.gtpca"], ["--family"]),
        (["info", "a", "b"], ["b"]),
    ],
)
def test_a_wrong_call_points_to_the_help(arguments, said, capsys):
    assert call(capsys, *arguments).refused(*said)


def test_nothing_to_write_to_is_failed_work(model):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs a device that is always full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gtpca_command", "info", str(model)],
            **{"stdout": full, "stderr": subprocess.PIPE, "text": True, "check": False},
            env=environment(),
        )
    assert done.returncode == 1
    assert done.stderr == "gtpca: No space left on device\n"


@pytest.mark.skipif(os.name != "posix", reason="needs a shell that closes standard output")
def test_standard_output_may_be_closed(model, signals, tmp_path):
    def closed(arguments):
        command = f'"{sys.executable}" -m gtpca_command {arguments} >&-'
        how = {"shell": True, "capture_output": True, "text": True, "check": False}
        done = subprocess.run(command, **how, cwd=tmp_path, env=environment())
        done = done_with(done.returncode, done.stdout, done.stderr)
        return done.code, done.err

    done = closed(f"fit {signals.name} -o new.gtpca --family 'shift(12)' -k 1")
    assert done == (0, "The model is in new.gtpca.\n")
    code, said = closed(f"transform {model.name} {signals.name} -o -")
    assert (code, said) == (2, "gtpca: -o -: standard output is closed; name a file.\n")


def test_a_reader_that_goes_away_is_no_error(model, tmp_path):
    np.save(tmp_path / "many.npy", np.ones((20_000, 32), np.float32))
    command = f'"{sys.executable}" -m gtpca_command transform "{model}" many.npy -o - | head -n 1'
    how = {"shell": True, "capture_output": True, "text": True, "check": True, "cwd": tmp_path}
    done = subprocess.run(command, **how, env=environment())
    done = done_with(done.returncode, done.stdout, done.stderr)
    assert (done.out, done.err) == ("gtpca0,gtpca1\n", "")


def test_there_is_a_bar_on_a_terminal(signals, tmp_path):
    arguments = ["fit", signals, "-o", tmp_path / "m", "--family", FAMILY, "-k", 2]
    arguments += ["--restarts", 20]  # longer than the bar takes to be drawn again
    code, shown = on_a_terminal("-m", "gtpca_command", *arguments, NO_COLOR="1")
    assert code == 0
    assert re.search(r"component \d+ of 40, step \d+", shown)
    assert not re.search("\x1b\\[[0-9;]*[1-9][0-9;]*m", shown)  # no colours
    assert shown.endswith(f"The model is in {tmp_path / 'm'}.\r\n")


@pytest.mark.parametrize(("k", "rounds"), [(1, 1), (4, 5)])
def test_a_bar_of_a_shared_pose_has_a_total(k, rounds, signals):
    from gtpca.commands.progress import FitBar

    class Kept(FitBar):
        shown: ClassVar = []

        def _show(self):
            super()._show()
            self.shown.append(self.bar.tasks[0].description)

    model = GTPCA(k, Shift(12), shared_pose=True, random_state=0)
    bar = Kept.of(model)
    model.set_callbacks(bar).fit(np.loadtxt(signals, delimiter=","))
    (task,) = bar.bar.tasks
    assert task.total == task.completed == rounds
    assert any(text.startswith(f"round {rounds} of {rounds}, step ") for text in bar.shown)
    assert bar.shown[-1] == "finishing"


def test_a_terminal_gets_no_bytes(signals, tmp_path):
    arguments = ["fit", signals, "-o", "-", "--family", FAMILY]
    code, shown = on_a_terminal("-m", "gtpca_command", *arguments, both=True)
    assert code == 2
    assert shown == "gtpca: -o - would fill the terminal with bytes; redirect it to a file.\r\n"


# --- fit ---


def test_fit_finds_what_the_library_finds(signals, tmp_path):
    path = tmp_path / "new.gtpca"
    done = process("fit", signals, "-o", path, "--family", FAMILY, "-k", 3)
    assert done.code == 0, done.err
    X = np.loadtxt(signals, delimiter=",")
    expected = GTPCA(3, Shift(12, boundary="partial"), random_state=0).fit(X)
    found = gtpca.load(path)
    np.testing.assert_array_equal(found.components_, expected.components_)
    np.testing.assert_array_equal(found.transform(X), expected.transform(X))
    head, *rows = done.out.splitlines()
    assert head.split() == ["component", "energy", "so", "far"]
    share = expected.explained_energy_ratio_
    assert [row.split()[0] for row in rows] == ["1", "2", "3"]
    assert [row.split()[1] for row in rows] == [f"{100 * value:.2f}%" for value in share]
    assert done.err == f"The model is in {path}.\n"
    what = "40 samples of shape 32; names none, labels none, ids none, rate none, gaps none"
    assert done.read == f"Read {signals}: {what}.\n"


def test_fit_to_standard_output(signals, tmp_path, capsys):
    arguments = ["fit", signals, "--family", FAMILY, "-k", 1, "-o"]
    assert call(capsys, *arguments, tmp_path / "file.gtpca").code == 0
    with open(tmp_path / "piped.gtpca", "wb") as file:
        done = process(*arguments, "-", capture_output=False, stdout=file, stderr=subprocess.PIPE)
    assert done.code == 0
    assert (tmp_path / "piped.gtpca").read_bytes() == (tmp_path / "file.gtpca").read_bytes()
    assert done.err.startswith("component")


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (["--fraction", "0.8"], {"n_components": 0.8}),
        (["-k", "1", "--refine", "2"], {"n_components": 1, "refine": 2}),
        (["--shared-pose"], {"shared_pose": True, "n_components": 2}),
        (["--center", "features"], {"center": True}),
        (["--center", "samples"], {"center": "samples"}),
        (["--polarity", "positive"], {"polarity": "positive"}),
        (["--seed", "7", "--jobs", "2"], {"random_state": 7, "n_jobs": 2}),
        (["--batch-size", "16"], {"batch_size": 16}),
        (["--restarts", "2"], {"n_restarts": 2}),
        (["--ridge", "0.1"], {"ridge": 0.1}),
        (["--ridge", "auto"], {"ridge": "auto"}),
    ],
)
def test_options_of_fit_are_those_of_the_estimator(options, parameters, signals, tmp_path, capsys):
    path = tmp_path / "new.gtpca"
    done = call(capsys, "fit", signals, "-o", path, "--family", FAMILY, "--json", *options)
    assert done.code == 0, done.err
    found = gtpca.load(path)
    assert {name: getattr(found, name) for name in parameters} == parameters
    said = json.loads(done.out)
    assert said["parameters"].items() >= parameters.items()
    assert said["explained_energy_ratio"] == found.explained_energy_ratio_.tolist()
    assert said["family"] == "shift(window=12, boundary='partial')"


def test_flat_rows_have_a_shape(tmp_path, capsys):
    images = np.random.default_rng(0).standard_normal((20, 36))
    np.savetxt(tmp_path / "x.tsv", images, delimiter="\t")
    family = "compose(shift(window=(5, 5)), rotation(angles=4))"
    arguments = ["fit", tmp_path / "x.tsv", "-o", tmp_path / "m", "--family", family]
    assert call(capsys, *arguments, "--sample-shape", "6x6").code == 0
    assert gtpca.load(tmp_path / "m").components_.shape == (2, 5, 5)
    assert call(capsys, *arguments, "--sample-shape", "6x7").refused("sample_shape=(6, 7)")
    assert call(capsys, *arguments, "--sample-shape", "six").refused("not a shape", "28x28")
    assert call(capsys, *arguments).refused("sample")


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("1,2,3\n4,5\n", [], ["signals.csv", "line 2"]),
        ("1,2,3\n4,5,x\n", [], ["signals.csv", "line 2"]),
        ("1,2,3\n4,5,nan\n", [], ["signals.csv", "NaN"]),
        ("", [], ["signals.csv", "empty"]),
        ("0,0,0\n0,0,0\n", [], ["no energy"]),
        (None, ["-k", "2", "--fraction", "0.5"], ["-k and --fraction exclude each other"]),
        (None, ["--fraction", "1.5"], ["--fraction=1.5 must lie between 0 and 1"]),
        (None, ["-k", "0"], ["n_components=0"]),
        (None, ["-k", "many"], ["Invalid value for '-k'"]),
        (None, ["--center", "middle"], ["--center", "middle", "samples"]),
        (None, ["--family", "shfit(3)"], ["Did you mean shift?"]),
        (None, ["--family", "__import__('os').system('touch hacked')"], ["is not a family"]),
        (None, ["--family", "shift(window=0)"], ["Shift: window=0"]),
        (None, ["--family", "shift(window=10000000)"], ["1e+07 weights", "1.05e+06 are allowed"]),
        (None, ["--key", "X"], ["key='X' does not apply"]),
        (None, ["--window", "long"], ["'long' is not a length", "1.5s"]),
        (None, ["--labels", "kind"], ["signals.csv", "kind"]),
    ],
)
def test_bad_input_leaves_nothing(content, options, said, tmp_path, signals, capsys):
    if content is not None:
        signals.write_text(content)
    before = sorted(tmp_path.iterdir())
    path = tmp_path / "new.gtpca"
    done = call(capsys, "fit", signals, "-o", path, "--family", "shift(window=2)", *options)
    assert done.refused(*said)
    assert sorted(tmp_path.iterdir()) == before


def test_outputs_are_checked_before_the_work(signals, tmp_path, capsys):
    arguments = ["fit", signals, "--family", FAMILY, "-o"]
    assert call(capsys, *arguments, tmp_path / "no" / "x").refused("there is no folder")
    assert call(capsys, *arguments, tmp_path).refused("is a folder")
    assert call(capsys, *arguments, signals).refused("would replace the input")
    assert call(capsys, "fit", tmp_path / "x.csv", *arguments[2:], "m").refused("x.csv: No such")
    too_long = tmp_path / ("ä" * 128)  # 256 bytes
    missing = ["fit", tmp_path / "x.csv", *arguments[2:]]
    assert call(capsys, *missing, too_long).refused("cannot be written: File name too long")
    if Path("/proc").exists():
        assert call(capsys, *missing, "/proc/m.gtpca").refused("/proc/m.gtpca cannot be written")
        assert call(capsys, "demo", "--path", "/proc/a.png").refused("--path /proc/a.png cannot")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["signals.csv"]


def test_a_long_name_is_counted_in_bytes(signals, tmp_path, capsys):
    out = tmp_path / ("ö" * 120 + ".gtpca")  # 246 bytes
    done = call(capsys, "fit", signals, "--family", FAMILY, "-k", 1, "-o", out)
    assert (done.code, done.err) == (0, f"The model is in {out}.\n")
    assert sorted(tmp_path.iterdir()) == [signals, out]


def test_a_failed_fit_leaves_the_model_that_was_there(signals, model, tmp_path, capsys):
    before = model.read_bytes()
    assert call(capsys, "fit", signals, "-o", model, "--family", "shift(window=0)").code == 2
    assert model.read_bytes() == before
    assert call(capsys, "fit", signals, "-o", model, "--family", "shift(3)", "-k", 1).code == 0
    assert gtpca.load(model).components_.shape == (1, 3)


def wait_until_open(running, name, more=0.5):
    """Until a process has mapped the file ``name``, and some time for the work to begin."""
    maps = Path(f"/proc/{running.pid}/maps")
    if not maps.exists():
        pytest.skip("needs /proc to see when the fit begins")
    deadline = time.monotonic() + 60
    while name not in maps.read_text() and time.monotonic() < deadline:
        time.sleep(more / 10)
    time.sleep(more)
    assert running.poll() is None


def heed_interrupts():
    """Also where the tests are a job in the background, which ignores them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_leaves_nothing(tmp_path):
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).standard_normal((20_000, 256)))
    command = [sys.executable, "-m", "gtpca_command", "fit", "noise.npy", "-o", "m.gtpca"]
    command += ["--family", "shift(window=64)", "-k", "60"]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": tmp_path, "text": True}
    fitting = subprocess.Popen(command, **how, env=environment(), preexec_fn=heed_interrupts)
    wait_until_open(fitting, "noise.npy")
    fitting.send_signal(signal.SIGINT)
    out, err = fitting.communicate(timeout=60)
    done = done_with(fitting.returncode, out, err)
    *told, last = done.err.splitlines()  # of its cost, if there was time for it
    assert (done.code, done.out, last) == (130, "", "gtpca: stopped")
    assert all("this fit will take about" in line for line in told)
    assert [path.name for path in tmp_path.iterdir()] == ["noise.npy"]


@pytest.mark.parametrize("library", ["_multiarray_umath", "_sparsetools", "sklearn"])
def test_an_interrupt_during_imports_is_one_line(library, tmp_path):
    command = [
        sys.executable,
        "-m",
        "gtpca_command",
        "fit",
        "x.npy",
        "-o",
        "m",
        "--family",
        "shift",
    ]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": tmp_path, "text": True}
    importing = subprocess.Popen(command, **how, env=environment(), preexec_fn=heed_interrupts)
    wait_until_open(importing, library, more=0.01)
    importing.send_signal(signal.SIGINT)
    out, err = importing.communicate(timeout=60)
    assert (importing.returncode, out, err) == (130, "", "gtpca: stopped\n")


FIRST_IMPORT = """
import runpy, sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "signal":
            raise KeyboardInterrupt
del sys.modules["signal"]
sys.meta_path.insert(0, Interrupted())
runpy.run_module("gtpca_command", run_name="__main__")
"""


def test_an_interrupt_during_the_first_import_is_one_line():
    how = {"capture_output": True, "text": True, "check": False, "env": environment()}
    done = subprocess.run([sys.executable, "-c", "import signal\n" + FIRST_IMPORT], **how)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "gtpca: stopped\n")


def test_a_warning_is_one_line(tmp_path, capsys):
    X = np.zeros((10, 12))
    X[np.arange(10), np.arange(10)] = 1.0
    np.save(tmp_path / "x.npy", X)
    options = ["--family", "shift(window=3)", "-k", 3]
    done = call(capsys, "fit", tmp_path / "x.npy", "-o", tmp_path / "m", *options)
    assert done.code == 0
    warning, last = done.err.splitlines()
    assert warning.startswith("gtpca: warning: n_components=3 is out of reach")
    assert last == f"The model is in {tmp_path / 'm'}."


def fit_table(folder, capsys, head, columns, *options):
    """What is said about a table of columns."""
    path = folder / "table.csv"
    np.savetxt(path, np.column_stack(columns), delimiter=",", header=head, comments="", fmt="%.6g")
    given = ["--family", "shift(window=3)", "-k", 1, "-o", folder / "m", *options]
    done = call(capsys, "fit", path, *given)
    assert done.code == 0
    return done.err.splitlines()[:-1]


def test_columns_that_are_hardly_data_are_told(tmp_path, capsys):
    rng = np.random.default_rng(0)
    columns, ids = list(rng.standard_normal((6, 40))), 7 + np.arange(40)
    head = "id,a,b,c,d,e,f"
    told = fit_table(tmp_path, capsys, head, [10 * ids, *columns])
    large, counter = (line for line in told if "column 'id'" in line)
    assert re.match(r"gtpca: warning: column 'id' holds 99\.\d\d% of the energy", large)
    assert "column 'id' is integers that increase from sample to sample, as ids" in counter
    assert large.endswith(advice := "name it by --labels or remove it.")
    assert counter.endswith(advice)
    told = fit_table(tmp_path, capsys, "", [ids, *(99 * c for c in columns)])
    assert "column 0 is integers" in told[0]


def test_columns_that_are_data_are_not_told(tmp_path, capsys):
    rng = np.random.default_rng(0)
    columns, ids = list(rng.standard_normal((6, 40))), np.arange(40)
    assert fit_table(tmp_path, capsys, "id,a,b,c,d,e,f", [ids, *columns], "--labels", "id") == []
    short = [column[:19] for column in (ids, *(99 * c for c in columns))]
    assert fit_table(tmp_path, capsys, "", short) == []
    twice = np.repeat(np.arange(20), 2)  # not strictly increasing
    told = fit_table(tmp_path, capsys, "", [twice, *(99 * c for c in columns)])
    assert not any("column" in line for line in told)


def test_a_long_table_under_a_window_is_told(tmp_path, capsys):
    time = np.tile(np.arange(10), 4)
    columns = [time, np.sin(time), np.repeat(np.arange(4), 10)]
    np.savetxt(
        tmp_path / "x.csv", np.column_stack(columns), delimiter=",", header="time,value,trial"
    )
    given = ["--family", "shift(window=60)", "-k", 1, "-o", tmp_path / "m"]
    done = call(capsys, "fit", tmp_path / "x.csv", *given)
    assert "components have 60 points on axis 0, more than twice the 3 of samples" in done.err


def test_a_shift_that_cannot_move_is_told(signals, tmp_path, capsys):
    done = call(capsys, "fit", signals, "-o", tmp_path / "m", "--family", "shift", "-k", 1)
    assert done.code == 0
    assert done.err.startswith("gtpca: warning: Shift() leaves a single position")
    done = call(capsys, "fit", signals, "-o", tmp_path / "m", "--family", "timewarp(1)", "-k", 1)
    assert "nothing moves" in done.err
    assert "window" not in done.err
    done = call(capsys, "fit", signals, "-o", tmp_path / "m", "--family", "identity", "-k", 1)
    assert (done.code, done.err.count("\n")) == (0, 1)


# --- info ---


def test_info_says_what_is_in_a_model(model):
    done = process("info", model)
    assert (done.code, done.err) == (0, "")
    for words in (FAMILY, "of shape 32", "2 of shape 12", "start, centre", "random_state=0"):
        assert words in done.out
    assert "n_components=2" not in done.out  # the default
    assert len(done.out.strip().partition("\n\n")[2].splitlines()) == 3


def test_info_in_json(model, capsys):
    said = json.loads(call(capsys, "info", model, "--json").out)
    fitted = gtpca.load(model)
    assert said["sample_shape"] == [32]
    assert said["component_shape"] == [12]
    assert said["n_transforms"] == fitted.operator_.n_transforms
    assert said["poses"] == ["start", "centre"]
    assert said["parameters"] == {**said["parameters"], "random_state": 0, "refine": 0}
    assert said["explained_energy"] == fitted.explained_energy_.tolist()


def test_info_of_a_model_that_is_not_typed_on_a_command_line(tmp_path, capsys):
    X = np.random.default_rng(0).standard_normal((20, 40))
    bank = Custom([np.eye(40), np.eye(40)[::-1]])
    weight = np.linspace(1, 2, 40)
    GTPCA(1, bank, feature_weight=weight, random_state=0).fit(X).save(tmp_path / "m")
    said = call(capsys, "info", tmp_path / "m")
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) < 320
    assert json.loads(call(capsys, "info", tmp_path / "m", "--json").out)["n_transforms"] == 2


def test_a_model_that_is_none(tmp_path, model, capsys):
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "cut").write_bytes(model.read_bytes()[:-50])
    assert call(capsys, "info", tmp_path / "empty").refused("empty")
    assert call(capsys, "info", tmp_path / "cut").refused("cut")
    assert call(capsys, "info", tmp_path / "none").refused("none: No such file")
    assert call(capsys, "info", tmp_path).refused(str(tmp_path))
    assert call(capsys, "info", model, "--max-size", 40).refused("max_size")
