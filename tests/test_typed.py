"""Types as a user's checker sees them: mistakes are found, and nothing else is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import environment

import gtpca

pytest.importorskip("mypy", reason="the type checker")
for name in ("dask", "xarray"):
    pytest.importorskip(name, reason="what comes back is of this kind")

SCRIPT = Path(__file__).parent / "typed" / "user.py"
# As for an installed package, of which mistakes are not told; nothing is read that is not needed.
SETTINGS = """
[mypy]
untyped_calls_exclude = dask
[mypy-gtpca.*]
follow_imports = silent
[mypy-torch.*,pandas.*,matplotlib.*,plotly.*,distributed.*,mne.*,rich.*]
follow_imports = skip
"""


def test_a_script_of_a_user(tmp_path):
    source = str(Path(gtpca.__file__).parents[1])
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", tmp_path / "mypy.ini"]
    kept = ["--cache-dir", SCRIPT.parents[2] / ".mypy_cache" / "user", "--no-error-summary"]
    more = {"env": environment(MYPYPATH=source), "cwd": tmp_path}
    done = subprocess.run(
        [*command, *kept, SCRIPT], capture_output=True, text=True, check=False, **more
    )
    found = re.findall(r"user\.py:(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE)
    lines = enumerate(SCRIPT.read_text("utf-8").splitlines(), 1)
    said = [(str(i), line.partition("# error: ")[2]) for i, line in lines]
    assert found == [(i, kind) for i, kind in said if kind], done.stdout + done.stderr
    assert len(found) == 19
