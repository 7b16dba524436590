"""Figures in the prose of README and pages are those of their sources: docs/figures.py."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "figures.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="the documentation is not installed")
FIGURES = runpy.run_path(str(SCRIPT)) if SCRIPT.exists() else {"SOURCES": {}}
# Those of examples are compared where these are run: tests/test_examples.py.
QUICK = [source for source in FIGURES["SOURCES"] if not source.startswith("plot_")]


@pytest.mark.parametrize("source", QUICK)
def test_the_pages_show_what_the_source_says(source):
    stale = [fault for figure in FIGURES["figures"](source) for fault in figure.stale()]
    assert not stale, "\n".join(stale) + "\nmend it by python docs/figures.py --write"


@pytest.fixture
def benchmarks(monkeypatch):
    """The folder of benchmarks, whose modules can be imported."""
    folder = SCRIPT.parents[1] / "benchmarks"
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_the_table_of_speed_is_that_of_its_benchmark(benchmarks):
    from speed import docs
    from speed.cases import CASES

    found = json.loads((benchmarks / "bench_speed.json").read_text())["cases"]
    table = docs.markdown({name: found[name] for name in CASES if name in found})
    assert f"{docs.BEGIN}\n{table}\n{docs.END}" in SCRIPT.with_name("speed.md").read_text()


def test_the_page_about_outliers_is_that_of_its_benchmark(benchmarks):
    run = runpy.run_path(str(benchmarks / "bench_outliers.py"))
    rows = json.loads((benchmarks / "bench_outliers.json").read_text())
    assert run["PAGE"].read_text() == run["page"](rows)


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("It leaves 0.123\nof 1,000 rows, and **0.5** of others.\n")
    return path


@pytest.mark.parametrize(
    ("text", "values", "fault"),
    [
        ("leaves {:.3f} of {:,} rows", (0.1234, 1000), None),
        ("and {} of others", ("**0.5**",), None),
        ("leaves {:.3f} of", (0.1236,), "should have 0.124"),
        ("leaves {:.2f} of", (0.1234,), "should have 0.12"),
        ("and {} of others", ("0.5",), "should have 0.5"),
        ("takes {:.3f} of", (0.1234,), "does not say"),
    ],
)
def test_other_digits_are_stale(page, text, values, fault):
    said = [*FIGURES["Figure"](str(page), text, values).stale()]
    assert (not said) if fault is None else (fault in said[0])


def test_digits_are_written(page):
    FIGURES["Figure"](str(page), "leaves {:.3f} of {:,} rows", (0.2, 20)).write()
    assert page.read_text() == "It leaves 0.200\nof 20 rows, and **0.5** of others.\n"
