"""What is written about the command ``gtpca`` is what it does."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command import COMMANDS, call, environment

from gtpca.families.text import parse_family

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "command-line.md"


def option_names(command):
    """All names of options in the help of a command."""
    from gtpca.commands import app

    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", help_of(app, command)))


def help_of(app, command):
    from typer.testing import CliRunner

    return CliRunner().invoke(app, [command, "--help"], prog_name="gtpca").output


@pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not installed")
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_is_documented(name):
    text = DOCS.read_text()
    section = re.search(rf"^## `gtpca {name}.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[0]
    if "[DATA](#data)" in section:
        section += re.search(r"^## DATA.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[0]
    options = set(re.findall(r"`(--?[a-z][a-z-]*)", section))
    assert options >= option_names(name) - {"--help"}
    assert options <= option_names(name)


@pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not installed")
def test_the_readme_fits_the_same_family_in_python_and_on_the_command_line():
    text = (ROOT / "README.md").read_text()
    python = re.search(r"family=(Shift\(.*?\))", text)[1]
    typed = re.search(r"^gtpca fit .*--family \"(.*?)\"", text, re.MULTILINE)[1]
    assert repr(parse_family(typed)) == repr(parse_family(python))


@pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not installed")
def test_the_commands_of_the_readme_work(tmp_path, capsys, monkeypatch):
    for name in ("matplotlib", "plotly", "jinja2"):
        pytest.importorskip(name, reason="the README draws")
    section = (ROOT / "README.md").read_text().partition("## From the command line")[2]
    lines = [
        shlex.split(line, comments=True)
        for line in re.findall("^(?:gtpca|python) .*", section, re.M)
    ]
    monkeypatch.chdir(tmp_path)
    for program, *arguments in lines[:5]:
        if program == "python":
            subprocess.run([sys.executable, *arguments], check=True, env=environment())
        else:
            done = call(capsys, *arguments)
            assert done.code == 0
            if arguments[0] == "fit":
                explained = re.search(r"one (.*) %, two (.*) % and three (.*) %", section).groups()
                found = re.findall(r"([\d.]+)%$", done.out, re.MULTILINE)
                np.testing.assert_allclose(*(np.float64(x) for x in (found, explained)), atol=0.1)
    expected = {"signals.csv", "signals.gtpca", "scores.csv", "rebuilt.png", "signals.html"}
    assert {path.name for path in tmp_path.iterdir()} == expected
    assert "gtpca0_centre" in (tmp_path / "scores.csv").read_text().partition("\n")[0]
