"""Check the built pages: every local link leads somewhere, nothing is loaded from elsewhere.

``python docs/check_site.py docs/_build/html``. Links to other sites are checked for their form
only, as there may be no connection.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = {"a": "href", "img": "src", "link": "href", "script": "src", "source": "src"}
LOADED = ("img", "link", "script", "source")
# How Python shows an artist of matplotlib, where a block of an example ends with a bare call.
STRAY_VALUES = re.compile(r"\bText\([\d.]+, |<matplotlib\.\S+")
FOREIGN_WORDS = re.compile(r"(?<![\w./-])/(?:work|root|home|tmp|opt)/\S+|localhost:\d+/simple")


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.anchors: set[str] = {"", "top"}
        self.text: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.anchors |= {known[name] for name in ("id", "name") if known.get(name)}
        if known.get(LINKS.get(tag, "")):
            self.links.append((tag, known[LINKS[tag]]))

    def handle_data(self, data):
        self.text.append(data)


def problems_of(path: Path, pages: dict[Path, Page]) -> list[str]:
    """What is wrong with the links and the words of one page."""
    found = [fault for link in pages[path].links if (fault := fault_of(link, path, pages))]
    text = " ".join(pages[path].text)
    found += [f"a value that nobody printed: {word}" for word in STRAY_VALUES.findall(text)]
    words = FOREIGN_WORDS.findall(text)
    return found + [f"a path of the machine it was built on: {word}" for word in words]


def fault_of(link: tuple[str, str], path: Path, pages: dict[Path, Page]) -> str | None:
    """Why a link of the page at ``path`` is wrong, or None."""
    tag, address = link
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return fault_outside(tag, address)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return f"{address}: no such file"
    anchor = unquote(parts.fragment)
    if target in pages and anchor not in pages[target].anchors:
        return f"{address}: no such place"
    return None


def fault_outside(tag: str, address: str) -> str | None:
    parts = urlsplit(address)
    if parts.scheme == "data" or (parts.scheme == "mailto" and "@" in address):
        return None
    if tag in LOADED:
        return f"{address}: loaded from elsewhere"
    well_formed = parts.scheme == "https" and "." in parts.netloc and " " not in address
    return None if well_formed else f"{address}: not of the form https://.."


def main(folder: str) -> int:
    """Print all faults; 1 if there are any."""
    found = sorted(Path(folder).resolve().rglob("*.html"))
    paths = [path for path in found if "_static" not in path.parts]
    pages = {path: Page(path) for path in paths}
    faults = [(path, fault) for path in paths for fault in problems_of(path, pages)]
    for path, fault in faults:
        print(f"{path.relative_to(Path(folder).resolve())}: {fault}")
    links = sum(len(page.links) for page in pages.values())
    print(f"{len(paths)} pages, {links} links, {len(faults)} faults")
    return 1 if faults or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
