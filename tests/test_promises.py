"""What docs/promises.md promises has tests, and these are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "promises.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not installed")
TOPICS = ["Determinism", "Weights", "Scales", "Files", "Downloads", "Memory", "Interrupts"]


def promises():
    """The lines of all tables, as pairs of a promise and its tests."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    pairs = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [pair for pair in pairs if pair[0] != "promise"]


def test_every_promise_has_tests():
    assert len(promises()) > 30
    for promise, tests in promises():
        names = [name.strip() for name in tests.split(",")]
        assert all(re.fullmatch(r"`[a-z_/]+\.py::\w+`", name) for name in names), promise


def test_the_tests_are_there():
    named = set(re.findall(r"`([a-z_/]+\.py)::(\w+)`", PAGE.read_text()))
    assert named
    for file, name in sorted(named):
        found = re.search(rf"^def {name}\(", (TESTS / file).read_text(), re.MULTILINE)
        assert found, f"{file} has no {name}"


def test_every_topic_has_promises_and_the_readme_a_link():
    headings = re.findall(r"^## (\w+)", PAGE.read_text(), re.MULTILINE)
    assert set(TOPICS) <= set(headings)
    assert "Monotone energy" in PAGE.read_text()
    assert "docs/promises.md" in (TESTS.parent / "README.md").read_text()
