"""Names that scripts and pages import from the library exist; nothing is run."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = {"gtpca": ROOT / "src", "gtpca_paper": ROOT / "paper" / "src"}
SCRIPTS = [
    file
    for folder in ("benchmarks", "docs", "examples", "paper/src")
    for file in sorted((ROOT / folder).rglob("*.py"))
    if "_build" not in file.parts
]
PAGES = [
    file
    for file in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    if "_build" not in file.parts
]
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(not (ROOT / "benchmarks").exists(), reason="not a checkout")


def module_file(name):
    """The file of a module of the library, or None."""
    path = SOURCES[name.partition(".")[0]].joinpath(*name.split("."))
    found = (path / "__init__.py", path.with_suffix(".py"))
    return next((file for file in found if file.exists()), None)


def outside_functions(body):
    """The statements of a module that run when it is imported, one after the other."""
    for node in body:
        yield node
        for inner in ("body", "orelse", "handlers", "finalbody"):
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield from outside_functions(getattr(node, inner, []))


@cache
def names_of(file):
    """All names that a module has after its import, as far as its text says so."""
    names = {"__version__"}
    for node in outside_functions(ast.parse(file.read_text("utf-8")).body):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            parts = [p for t in getattr(node, "targets", [node]) for p in ast.walk(t)]
            stored = (p for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store))
            names |= {part.id for part in stored}
    return names


def optional_parts(tree):
    """What is imported within ``try .. except ImportError``, for versions that lack it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and any("Import" in ast.dump(h) for h in node.handlers):
            yield from (part for line in node.body for part in ast.walk(line))


def missing_names(code):
    """What code imports from the library although it is not there."""
    tree = ast.parse(code)
    free = set(optional_parts(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node.level or node in free:
            continue
        if node.module.partition(".")[0] not in SOURCES:
            continue
        file = module_file(node.module)
        for alias in node.names:
            known = file and (alias.name in names_of(file) or alias.name == "*")
            if not known and not module_file(f"{node.module}.{alias.name}"):
                yield f"from {node.module} import {alias.name}"


def test_scripts_import_what_exists():
    wrong = {f: list(missing_names(f.read_text("utf-8"))) for f in SCRIPTS}
    assert {f.relative_to(ROOT).as_posix(): names for f, names in wrong.items() if names} == {}


def test_pages_import_what_exists():
    for page in PAGES:
        for indent, block in BLOCK.findall(page.read_text("utf-8")):
            code = re.sub(f"^{indent}", "", block, flags=re.MULTILINE)
            assert list(missing_names(code)) == [], page.name


@pytest.mark.parametrize(
    "line",
    ["from gtpca import Nothing", "from gtpca.fitting.em import Recipe", "from gtpca.no import x"],
)
def test_names_that_do_not_exist_are_found(line):
    assert list(missing_names(line)) == [line]
    assert not list(missing_names(f"try:\n    {line}\nexcept ImportError:\n    pass"))
    assert not list(missing_names("from gtpca import GTPCA, checks\nfrom numpy import array"))
