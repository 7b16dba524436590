"""A thousand broken files of each sort: an error or a sound result, never a crash or worse."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux",
    reason="the process that reads the files limits its memory, as on Linux",
)
CASES = 1000


def fuzz(what, folder):
    """What all cases came to; a crash counts as a failure, and the next case follows."""
    total = {"error": 0, "load": 0, "failures": [], "growth": 0}
    first = 0
    while first < CASES:
        script = Path(__file__).parents[1] / "fuzzing.py"
        command = [sys.executable, str(script), what, str(folder), str(first), str(CASES)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        last = done.stdout.strip().rpartition("\n")[2]
        if done.returncode == 0:
            found = json.loads(last)
            return {name: total[name] + found[name] for name in total}
        assert last.isdigit(), done.stderr[-2000:]
        total["failures"].append(f"{last}: ended the process with {done.returncode}")
        first = int(last) + 1
    return total


@pytest.mark.parametrize("what", ["models", "data"])
def test_broken_files_are_errors_or_load(what, tmp_path):
    found = fuzz(what, tmp_path / "files")
    assert found["failures"] == []
    assert found["error"] > CASES / 2
    assert found["load"] > 10  # some mutations do no harm, so the readers were reached
    assert found["error"] + found["load"] == CASES
    assert found["growth"] < 2**28
