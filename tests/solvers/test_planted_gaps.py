"""Planted components are found in rows with gaps: a part of benchmarks/bench_gaps.py."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "bench_gaps.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="benchmarks/ is not there")


@pytest.fixture(scope="module")
def bench():
    return runpy.run_path(str(SCRIPT))


NAMES = ("valid", "partial", "circular", "crop", "rotation", "compose", "compose-rotation")


@pytest.mark.parametrize("name", [*NAMES, "shared"])
@pytest.mark.parametrize("case", [("block", 0.6, 0.3), ("random", 0.6, 1.0), ("end", 0.5, 0.3)])
def test_a_fit_is_nearly_as_good_as_the_truth(bench, name, case):
    kind, share, noise = case
    found = bench["run"](name, kind, share, noise, seed=0)
    assert found["ratio"] >= bench["least"](share, noise)
    assert found["largest"] <= 4


def test_what_is_hidden(bench):
    X = np.ones((2000, 50))
    for kind, share in bench["GAPS"]:
        Y = bench["hide"](X, kind, share, 0)
        hidden = np.isnan(Y)
        assert_array_equal(Y[~hidden], 1.0)
        wanted = 0.25 if kind == "end" else share
        assert abs(hidden.mean() - wanted) < 0.02
        assert hidden.mean(axis=0).max() < 1
