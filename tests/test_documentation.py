"""Every code block of the README, the guide and the how-to pages runs, in the order of the page."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from command import call

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *(DOCS / f"{name}.md" for name in ("index", "which-family", "guide"))]
PAGES += sorted((DOCS / "howto").glob("*.md"))
FENCE = re.compile(r"^( *)```(python|sh|text|console|\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
OPTIONAL = {
    *("dask", "distributed", "h5py", "matplotlib", "mne", "pandas", "plotly", "pyarrow", "rich"),
    *("skimage", "torch", "typer", "xarray", "zarr"),
}

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not installed")


def blocks_of(path):
    """The blocks of a page that run: language, code, and the line where each begins."""
    text = path.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        lines = [line.removeprefix(match[1]) for line in match[3].splitlines()]
        yield match[2], "\n".join(lines), text.count("\n", 0, match.start()) + 1


def run_python(code, path, line, names):
    """Run one block in the names that the blocks before it left."""
    source = "\n" * line + code  # so that errors name the line of the page
    try:
        exec(compile(source, str(path), "exec"), names)
    except ImportError as error:
        lacks = sorted(OPTIONAL.intersection(re.findall(r"\w+", f"{error.name} {error}")))
        if not lacks:
            raise
        pytest.skip(f"needs {lacks[0]}")


def run_commands(code, capsys):
    """Run the lines that call ``gtpca``; what takes minutes is tested by its own tests."""
    for line in code.splitlines():
        program, *arguments = shlex.split(line, comments=True) or [""]
        slow = arguments[:1] == ["reproduce"] and "--list" not in arguments
        if program == "gtpca" and not slow:
            for name in ("typer", "rich", "matplotlib", "plotly", "jinja2"):
                pytest.importorskip(name, reason="the command needs it")
            done = call(capsys, *arguments)
            assert done.code == 0, f"{line}\n{done.err}"


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text)]


def compare(code, printed):
    """What lines ``print(..)  # numbers: words`` promise is what they print."""
    promises = re.findall(r"^print\(.*?\)(?:  # (.*))?$", code, re.MULTILINE)
    if len(promises) == len(printed.splitlines()):
        for promise, line in zip(promises, printed.splitlines(), strict=True):
            expected = numbers(promise.partition(":")[0])
            np.testing.assert_allclose(numbers(line)[: len(expected)], expected, atol=0.03)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_code_of_the_page_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__page__"}
    for language, code, line in blocks_of(path):
        if language == "python":
            capsys.readouterr()
            run_python(code, path, line, names)
            compare(code, capsys.readouterr().out)
        elif language == "sh" and path.parent.name == "howto":
            run_commands(code, capsys)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
