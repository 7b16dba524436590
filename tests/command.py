"""How the tests call the command ``gtpca``: in this process, or in one of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import gtpca

COMMANDS = {
    "demo",
    "choose",
    "fit",
    "check",
    "info",
    "transform",
    "reconstruct",
    "impute",
    "align",
    "plot",
    "report",
    "reproduce",
    "events",
    "detect",
    "kinds",
}


@dataclass(frozen=True)
class Done:
    """What a command did; ``read`` is the line that says what was read, ``err`` all others."""

    code: int
    out: str
    err: str
    read: str = field(default="", compare=False)

    def refused(self, *words) -> bool:
        """Whether it said these words, in one line on standard error, and nothing else."""
        one_line = self.err.startswith("gtpca: ") and self.err.count("\n") == 1
        assert one_line, self.err
        for text in words:
            assert text in self.err, self.err
        return (self.code, self.out) == (2, "")


def done_with(code, out, err) -> Done:
    """What a process did, the line about what was read apart."""
    lines = err.splitlines(keepends=True)
    read = "".join(line for line in lines if line.startswith("Read "))
    return Done(code, out, "".join(line for line in lines if line not in read), read)


def environment(**more):
    """That of a process which imports the sources that are tested, on one thread."""
    source, before = str(Path(gtpca.__file__).parents[1]), os.environ.get("PYTHONPATH")
    paths = os.pathsep.join(filter(None, (source, before)))
    return {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **more}


def process(*arguments, **more):
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "gtpca_command", *map(str, arguments)]
    how = {"capture_output": True, "text": True, "check": False, "env": environment()} | more
    done = subprocess.run(command, **how)
    return done_with(done.returncode, done.stdout, done.stderr)


def call(capsys, *arguments):
    """Run the command in this process."""
    from gtpca.cli import main

    code = 0
    capsys.readouterr()
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        code = stop.code
    return done_with(code, *capsys.readouterr())


def on_a_terminal(*arguments, **more):
    """What Python shows where standard error is a terminal of 80 columns."""
    pty = pytest.importorskip("pty", reason="needs a terminal")
    ours, theirs = pty.openpty()
    how = {"stderr": theirs, "stdout": theirs if more.pop("both", False) else subprocess.DEVNULL}
    command = [sys.executable, *map(str, arguments)]
    how["env"] = environment(COLUMNS="80", TERM="xterm", **more)
    shown = b""
    with subprocess.Popen(command, **how) as running:
        os.close(theirs)
        with contextlib.suppress(OSError):  # of Linux, at the end
            while part := os.read(ours, 65536):
                shown += part
    os.close(ours)
    return running.returncode, shown.decode()
