"""The figures of docs/howto/noise.md are those of the benchmark."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE, RESULTS = ROOT / "docs" / "howto" / "noise.md", ROOT / "benchmarks" / "bench_colour.json"

pytestmark = pytest.mark.skipif(
    not (PAGE.exists() and RESULTS.exists()), reason="the documentation is not installed"
)


def shown(value):
    """A share as the page has it: two digits, no 0 before the point."""
    return f"{value:.2f}".removeprefix("0")


def pair(case, name):
    return f"{shown(case[f'{name} white'])} → {shown(case[f'{name} stationary'])}"


def results():
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_tables_of_pulses():
    page = PAGE.read_text(encoding="utf-8")
    many, _, few = page.partition("With 25 rows")
    rows = 0
    for case in results()["pulses"]:
        part = many if case["n"] == 300 else few
        if f"| {case['pattern']}, {case['noise']} |" in part:
            line = f"| {case['pattern']}, {case['noise']} | {pair(case, 'gtpca')} |"
            assert line in part
            rows += 1
            if case["n"] == 300:
                assert f"{line} {pair(case, 'density')} |" in part
    assert rows >= 16


def test_likelihoods_in_nats():
    page = re.sub(r"\s+", " ", PAGE.read_text(encoding="utf-8"))
    gains = {case["noise"]: case for case in results()["likelihood"]}
    numbers = [f"{gains[f'AR(1) {k}']['gain']:.0f}" for k in (".5", ".7", ".9")]
    assert "by {}, {} and {} nats per row".format(*numbers) in page
    assert all(gains[f"AR(1) {k}"]["least"]["gain"] > 0 for k in (".5", ".7", ".9"))
    assert abs(gains["white"]["gain"]) < 0.005


def test_table_of_responses():
    page = PAGE.read_text(encoding="utf-8")
    for case in results()["erp"]:
        both = f"{pair(case, 'gtpca')} | {pair(case, 'density')} | {shown(case['matched'])} |"
        assert f"| {case['d']:g}, {case['n']} | {both}" in page


def test_times_of_fits():
    page = PAGE.read_text(encoding="utf-8")
    small, large = (f"{case['gtpca fit']:.1f}" for case in results()["cost"])
    assert f"{small} times that of a white fit for 300 rows of 120 points, {large} times" in page
