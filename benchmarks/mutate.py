"""Whether the tests notice when a line of matching, statistics or shifts is changed.

cosmic-ray (``pip install cosmic-ray``) lists all small changes of the two modules; a seeded sample
of them is made one at a time, in a copy of the sources, and the tests that concern them are run.
A run that was stopped goes on where it was. Survivors are listed with their reasons in
mutate_survivors.md.

Run: python benchmarks/mutate.py FOLDER [--count 200] [--seed 0] [--again]

FOLDER    for the copy of the sources and for the session; not in this checkout
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome

ROOT = Path(__file__).resolve().parent.parent
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
MODULES = ["src/gtpca/model/matching.py", "src/gtpca/operators/shift.py"]
TESTS = [
    "tests/families/test_shift.py",
    "tests/operators/test_shift_operator.py",
    "tests/operators/test_operators.py",
    "tests/operators/test_pooling.py",
    "tests/test_oracle.py",
    "tests/model/test_matching.py",
    "tests/model/test_gaps.py",
    "tests/model/test_centred_windows.py",
    "tests/solvers/test_coarse.py",
    "tests/solvers/test_lookahead.py",
]
LEFT_OUT = [  # families that show the same, and tests that take seconds
    "compose",
    "rotation",
    "deformation",
    "affine",
    "warp",
    "2d-c",
    "reach_all",
    "takes_weight",
    "unit_of",
    "do_not_count",
    "old_name",
    "fine_grid",
    "images_are_found",
]
CONFIG = """\
[cosmic-ray]
module-path = {modules}
timeout = 300.0
excluded-modules = []
test-command = "{python} -m pytest -x -q -o addopts= -p no:cacheprovider -k '{chosen}' {tests}"

[cosmic-ray.distributor]
name = "local"
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=200, help="changes that are tried")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--again", action="store_true", help="try survivors again: new tests")
    arguments = parser.parse_args()
    mutate(arguments.folder.resolve(), arguments.count, arguments.seed, arguments.again)


def mutate(folder, count, seed, again=False):
    """Try what has not been tried yet, and print what survived."""
    folder.mkdir(parents=True, exist_ok=True)
    copy_sources(folder)
    session = folder / "session.sqlite"
    if not session.exists():
        run(folder, "init", "cosmic-ray.toml", "all.sqlite")
        choose(folder / "all.sqlite", session, count, seed)
    if again:
        forget_survivors(session)
    run(folder, "baseline", "cosmic-ray.toml")  # without a change nothing must be noticed
    run(folder, "exec", "cosmic-ray.toml", session.name)
    report(session)


def copy_sources(folder):
    """Sources and tests as they are; what a run that was killed left of a change is undone."""
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True)
    shutil.copy(ROOT / "pyproject.toml", folder)
    how = {"modules": MODULES, "python": sys.executable, "tests": " ".join(TESTS)}
    how["chosen"] = " and ".join(f"not {word}" for word in LEFT_OUT)
    (folder / "cosmic-ray.toml").write_text(CONFIG.format(**how))


def run(folder, *arguments):
    """One command of cosmic-ray, in the copy."""
    quick = {"PYTHONPATH": str(folder / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment = os.environ | ONE_THREAD | quick
    command = [sys.executable, "-m", "cosmic_ray.cli", *map(str, arguments)]
    subprocess.run(command, cwd=folder, env=environment, check=True)


def choose(everything, session, count, seed):
    """A session of a sample of the changes, the same for the same seed."""
    with use_db(everything, WorkDB.Mode.open) as database:
        items = sorted(database.work_items, key=place)
    with use_db(session, WorkDB.Mode.create) as database:
        database.add_work_items(random.Random(seed).sample(items, min(count, len(items))))


def place(item):
    """Where a change is made, and which it is."""
    change = item.mutations[0]
    return str(change.module_path), change.start_pos, change.operator_name, change.occurrence


def forget_survivors(session):
    """Make what survived untried."""
    with sqlite3.connect(session) as database:
        database.execute("DELETE FROM work_results WHERE test_outcome = 'SURVIVED'")


def report(session):
    """Print the share that was killed, and what survived."""
    with use_db(session, WorkDB.Mode.open) as database:
        found = dict(database.results)
        items = {item.job_id: item for item in database.work_items}
    alive = [j for j, result in found.items() if result.test_outcome == TestOutcome.SURVIVED]
    print(f"{len(found)} tried, {len(alive)} survived, {1 - len(alive) / len(found):.1%} killed")
    for job in sorted(alive, key=lambda job: place(items[job])):
        print("\n" + str(place(items[job])), found[job].diff, sep="\n")


if __name__ == "__main__":
    main()
