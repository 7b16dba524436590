"""Every code block of the README, the guide and the how-to pages runs, in the order of the page."""

from __future__ import annotations

import ast
import re
import runpy
import shlex
import sys
from contextlib import redirect_stdout
from io import StringIO
from itertools import count, takewhile
from pathlib import Path
from tokenize import COMMENT, generate_tokens

import numpy as np
import pytest
from command import call
from pictures import IMAGES, assert_fresh

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MAIN = ("index", "which-family", "guide", "diagnostics", "plots", "page", "five-tasks")
PAGES = [ROOT / "README.md", *(DOCS / f"{name}.md" for name in MAIN)]
DRAWN = runpy.run_path(str(DOCS / "draw_pages.py")) if DOCS.exists() else {}
PAGES += DRAWN["pages"]() if DRAWN else []
blocks_of = DRAWN.get("blocks_of")
# Comments behind a statement that say what its value is: a shape, or how Python shows it.
SHAPE = re.compile(r"\(\d+,( \d+)*\)|\(\d+(, \d+)+\)")
VALUE = re.compile(r"[-\d\[{'\"]|True\b|False\b")
OPTIONAL = {
    *(
        "dask",
        "distributed",
        "h5py",
        "jinja2",
        "matplotlib",
        "onnx",
        "onnxruntime",
        "mne",
        "pandas",
        "PIL",
        "plotly",
        "pyarrow",
        "rich",
    ),
    "callback",
    "skimage",
    "torch",
    "typer",
    "xarray",
    "zarr",
}

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not installed")


def comments_of(code):
    """The comments of a block by line, and which of them stand alone on their line."""
    tokens = [t for t in generate_tokens(StringIO(code).readline) if t.type == COMMENT]
    text = {t.start[0]: t.string.removeprefix("#").strip() for t in tokens}
    return text, {t.start[0] for t in tokens if t.line.lstrip().startswith("#")}


def printed_promises(node, text, alone):
    """What a statement should print: the comments behind each ``print(..)``, or below it."""
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
    prints = [n for n in calls if isinstance(n.func, ast.Name) and n.func.id == "print"]
    behind = [text[n.end_lineno] for n in prints if n.end_lineno in text]
    if behind or not prints:
        return behind
    below = takewhile(alone.__contains__, count(node.end_lineno + 1))
    return [text[line] for line in below]


def holds(promise, said):
    """Whether the promise begins with what was said; then the line, the word or the digits end."""
    said = " ".join(said.split())
    return promise == said or promise.startswith((f"{said}:", f"{said},", f"{said} "))


def run_statement(node, names, promised, value_promise):
    """Run a statement; yield where what it prints, or its value, is not what the page promises."""
    with redirect_stdout(StringIO()) as out:
        if value_promise and isinstance(node, ast.Expr):
            value = eval(compile(ast.Expression(node.value), names["__file__"], "eval"), names)
        else:
            exec(compile(ast.Module([node], []), names["__file__"], "exec"), names)
            value = names.get(getattr(getattr(node, "targets", [None])[0], "id", None))
    said = out.getvalue().splitlines() if promised else []
    if value_promise:
        promised = [value_promise]
        said = [str(np.shape(value)) if SHAPE.match(value_promise) else repr(value)]
    if len(said) != len(promised):
        yield f"{len(promised)} lines are promised, and it prints\n" + "\n".join(said)
    for promise, line in zip(promised, said, strict=False):
        if not holds(promise, line):
            yield f"{promise!r} is promised, and it says {line!r}"


def run_python(code, path, line, names):
    """Run one block in the names that the blocks before it left; list the broken promises."""
    names["__file__"] = str(path)
    text, alone = comments_of(code)
    faults = []
    for node in ast.parse(code).body:
        promised = printed_promises(node, text, alone)
        behind = "" if promised else text.get(node.end_lineno, "")
        is_value = SHAPE.match(behind) or (isinstance(node, ast.Expr) and VALUE.match(behind))
        ast.increment_lineno(node, line)  # so that errors name the line of the page
        try:
            found = [*run_statement(node, names, promised, behind if is_value else "")]
        except ImportError as error:
            lacks = sorted(OPTIONAL.intersection(re.findall(r"\w+", f"{error.name} {error}")))
            if not lacks:
                raise
            pytest.skip(f"needs {lacks[0]}")
        faults += [f"{path.name}, line {node.lineno}: {fault}" for fault in found]
    return faults


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


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_code_of_the_page_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names, faults = {"__name__": "__page__"}, []
    for language, code, line in blocks_of(path):
        if language == "python":
            faults += run_python(code, path, line, names)
        elif language == "sh" and path.parent.name == "howto":
            run_commands(code, capsys)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    assert not faults, "\n".join(faults)
    if shown := DRAWN["shown"](path):
        assert_fresh(tmp_path, IMAGES / "pages", shown)


def test_every_page_shows_what_its_code_draws():
    shown = [name for path in DRAWN["pages"]() for name in DRAWN["shown"](path)]
    kept = [path.name for path in (IMAGES / "pages").glob("*.png")]
    assert sorted(shown) == sorted(kept)
    without = [p.stem for p in DRAWN["pages"]() if p.stem != "index" and not DRAWN["shown"](p)]
    assert without == []


TRUE = [
    "print(round(0.8749, 2))  # 0.87: words",
    "for x in (1, 2):\n    print(x / 3)\n# 0.3333333333333333\n# 0.6666666666666666 and words",
    "np.ones((3, 2))  # (3, 2), words",
    "a = np.ones(3)  # (3,): words",
    "sorted('ba')  # ['a', 'b']",
    "print(1)\n\n# 2 is said of what follows",
    "x = 1  # 2 is no promise",
]
FALSE = [
    "print(0.87)  # 0.86",
    "print(0.87)  # 0.9",
    "print(0.87)  # 0.875",
    "print(264)  # 26",
    "for x in (1, 2):\n    print(x)  # 1, 2",
    "for x in (1, 2):\n    print(x)\n# 1",
    "for x in (1, 2):\n    print(x)\n# 1\n# 3",
    "print('one\\ntwo')  # one",
    "np.ones((3, 2))  # (3, 3)",
    "a = np.ones(3)  # (4,): words",
    "sorted('ba')  # ['b', 'a']",
]


@pytest.mark.parametrize("code", TRUE)
def test_what_holds_passes(code):
    assert run_python(code, Path("page.md"), 1, {"np": np}) == []


@pytest.mark.parametrize("code", FALSE)
def test_what_is_false_is_found(code):
    assert run_python(code, Path("page.md"), 1, {"np": np})


def test_blocks_behind_other_fences_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```{image} x.png\n```\n\n```python\nprint(1)\n```\n")
    assert [language for language, _, _ in blocks_of(page)] == ["{image} x.png", "python"]
