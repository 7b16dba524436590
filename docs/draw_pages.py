"""Run the code of the how-to and field pages, and keep the pictures that it saves.

A block that ends with ``fig.savefig("latencies.png")`` makes ``images/pages/latencies.png``, which
the page shows below it; a test compares the two. `python docs/draw_pages.py [NAME ..]`
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
IMAGES = DOCS / "images" / "pages"
FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"\]\(\.\./images/pages/([\w-]+\.png)\)")


def pages() -> list[Path]:
    """All pages of these folders."""
    return sorted(path for name in ("howto", "fields") for path in (DOCS / name).glob("*.md"))


def blocks_of(path: Path):
    """The blocks of a page: language, code, and the line where each begins."""
    text = path.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        lines = [line.removeprefix(match[1]) for line in match[3].splitlines()]
        yield match[2], "\n".join(lines), text.count("\n", 0, match.start()) + 1


def shown(path: Path) -> list[str]:
    """The pictures that a page shows."""
    return SHOWN.findall(path.read_text(encoding="utf-8"))


def draw(path: Path) -> None:
    """Run the code of a page in an empty folder, and keep its pictures."""
    import matplotlib.pyplot as plt

    names, here = {"__name__": "__page__"}, Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for language, code, _ in blocks_of(path):
                if language == "python":
                    exec(compile(code, str(path), "exec"), names)
            for name in shown(path):
                shutil.copy(name, IMAGES / name)
        finally:
            os.chdir(here)
            plt.close("all")


def main(*chosen: str) -> None:
    """All pages, or those of some names."""
    IMAGES.mkdir(exist_ok=True)
    for path in pages():
        if shown(path) and (not chosen or path.stem in chosen):
            print(path.stem, flush=True)
            draw(path)


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    main(*sys.argv[1:])
