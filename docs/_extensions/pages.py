"""Pages that live outside of ``docs``, links between repository and site, examples left out."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
OUTSIDE = {"contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}
OUTSIDE |= {
    f"results/{name}": f"paper/results/{name}.md"
    for name in ("README", "claims", "details", "outliers", "results")
}
# What the text of an example says about what it needs.
NEEDS = {
    "fetch_": ("data sets: name their folder by GTPCA_DATA", lambda: "GTPCA_DATA" in os.environ),
    "fetch_curves": ("the package rdata", lambda: find_spec("rdata")),
    "fetch_eeg": ("the package rdata", lambda: find_spec("rdata")),
    "fetch_handwriting": ("the package rdata", lambda: find_spec("rdata")),
    "gtpca.nn": ("the package torch", lambda: find_spec("torch")),
    "distributed": ("the package distributed", lambda: find_spec("distributed")),
    "skimage": ("the package scikit-image", lambda: find_spec("skimage")),
    'find_spec("aeon")': ("the files of the package aeon", lambda: find_spec("aeon")),
}


def missing(source: str) -> list[str]:
    """What an example needs and does not find here; some can make their data."""
    made = "fetch_" if "def simulated(" in source else None
    needs = {text: need for text, need in NEEDS.items() if text in source and text != made}
    return [what for what, there in needs.values() if not there()]


def example_file(name: str) -> Path:
    """The file of an example, in the folder of its section."""
    return next((ROOT / "examples").rglob(f"{name}.py"))


def examples() -> dict[str, list[str]]:
    """Each example with what it misses."""
    paths = sorted((ROOT / "examples").rglob("plot_*.py"))
    return {path.stem: missing(path.read_text(encoding="utf-8")) for path in paths}


def gallery_pattern() -> str:
    """The regular expression of the files that are run."""
    names = [name for name, lacks in examples().items() if not lacks]
    return r"[\\/](" + "|".join(names) + r")\.py$"


def site_links(text: str, page: str, of: str) -> str:
    """The text of ``of``, a file of the repository, with the links that ``page`` of docs has."""
    file, folder = Path(of).parent, (Path("docs") / page).parent

    def moved(match):
        target = _on_site(os.path.normpath(file / match[1]))
        return f"]({os.path.relpath(target, folder)}{match[2] or ''})"

    return re.sub(r"\]\(((?!\w+:|#)[^)#\s]+)(#[^)]*)?\)", moved, text)


def _on_site(target: str) -> str:
    """The file below ``docs`` that shows a file of the repository; others are downloads."""
    if match := re.fullmatch(r"examples/((?:[\w-]+/)?plot_\w+)\.py", target):
        return f"docs/auto_examples/{match[1]}.rst"
    pages = {file: f"docs/{page}.md" for page, file in OUTSIDE.items()}
    pages |= {"README.md": "docs/index.md", "examples": "docs/auto_examples/index.rst"}
    pages["paper/README.md"] = "docs/howto/paper.md"
    return pages.get(target, target)


def read(app, docname, source) -> None:
    """Called by Sphinx with the text of every page, before it is parsed."""
    file = OUTSIDE.get(docname, f"docs/{docname}.md")
    if docname in OUTSIDE:
        source[0] = (ROOT / file).read_text(encoding="utf-8")
    if (ROOT / file).exists():
        source[0] = site_links(source[0], docname, file)
    elif re.search(r"^auto_examples/.*plot_\w+$", docname):
        name = docname.rpartition("/")[2]
        source[0] = with_note(source[0], examples()[name], pictures_of(name))


def pictures_of(name: str) -> list[str]:
    """The pictures that are kept of an example whose data do not come with the library."""
    found = sorted((ROOT / "docs" / "images" / "examples").glob(f"{name}-*.png"))
    return [f"/images/examples/{path.name}" for path in found]


def with_note(text: str, lacks: list[str], pictures: list[str] = ()) -> str:
    """An example's page that says why it was not run, and shows what it drew elsewhere."""
    said = f"Not run when these pages were built: it needs {', '.join(lacks)}."
    said += " The pictures are those of an earlier run." if pictures else ""
    shown = "".join(f"\n.. image:: {path}\n   :alt: Drawn by the code below\n" for path in pictures)
    note = f"\n.. note:: {said}\n{shown}"
    return re.sub(r"(\n=+\n)", lambda match: match[1] + note, text, count=1) if lacks else text


def setup(app) -> dict:
    """Called by Sphinx."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
