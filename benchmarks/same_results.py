"""Whether two versions of the library give the same results, to the last bit.

The cases of same_cases.py are run on both, each version in a process of its own with one thread for
linear algebra, and the hashes of all that comes out (components, energies, histories, codes,
reconstructions, ..) are compared. A case that raises an error on either side counts as different.
Beside each result that differs is how far its numbers are apart, over the largest of them.

Run: python benchmarks/same_results.py OLD [NEW] [--only TEXT] [--rows]

OLD, NEW    folder of a checkout or of its sources, or a revision of git; NEW is this checkout
--only      cases whose names hold this text
--rows      also compute repetition 0 of oscillations, spikes (i) and handwriting on NEW and compare
            it with paper/results/rows.jsonl: some minutes, and only a machine like the one that the
            rows are from gives the same; GTPCA_DATA names the folder that holds the handwriting
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old", help="folder or revision")
    parser.add_argument("new", nargs="?", default=str(ROOT), help="folder or revision")
    parser.add_argument("--only", default="", help="cases whose names hold this text")
    parser.add_argument("--rows", action="store_true", help="also the committed rows")
    try:
        sys.exit(compare(**vars(parser.parse_args())))
    except subprocess.CalledProcessError as error:  # which has said why
        parser.exit(2, f"failed: {' '.join(map(str, error.cmd))}\n")


def compare(old, new, only, rows) -> int:
    """Print what differs and how much; 1 if anything does, or if there is no such case."""
    with sources(old) as old, sources(new) as new, tempfile.TemporaryDirectory() as folder:
        (before, old_values), (after, new_values) = (
            run_cases(source, folder, only) for source in (old, new)
        )
        if rows:
            before |= wanted_rows(COMMITTED, only)
            after |= compute_rows(new, Path(folder, "rows"), only)
    lines, n_cases = list(differences(before, after)), len(before | after)
    for case, text in lines:
        print(f"{case}: {text} ({apart(old_values.get(case, {}), new_values.get(case, {}))})")
    print(f"{n_cases} cases, {len(lines)} differ")
    return int(bool(lines) or n_cases == 0)


def differences(old, new):
    """Each case that differs, and the results that do, or the errors."""
    for case in old | new:
        a, b = old.get(case, {}), new.get(case, {})
        errors = [f"{label} {x['error']}" for label, x in (("OLD", a), ("NEW", b)) if "error" in x]
        parts = errors or [part for part in a | b if a.get(part) != b.get(part)]
        if parts:
            yield case, ", ".join(parts)


def apart(old, new) -> str:
    """How far two versions are apart in one case, and how much energy each explains, if it does."""
    far = max((distance(old[part], new[part]) for part in old if part in new), default=np.inf)
    totals = [found.get("explained_energy_ratio_", np.zeros(0)).sum() for found in (old, new)]
    more = f", explained {(totals[1] - totals[0]) / totals[0]:+.1e}" if min(totals) > 0 else ""
    return f"apart {far:.1e}{more}"


def distance(a, b) -> float:
    """The largest difference of two rows of numbers, over the largest number."""
    if a.shape != b.shape or np.any(np.isfinite(a) != np.isfinite(b)):
        return np.inf
    seen = np.isfinite(a)
    far = np.abs(a - b)[seen].max(initial=0.0)
    return float(far / np.abs(a[seen]).max(initial=0.0)) if far else 0.0


# --- both versions ---


@contextmanager
def sources(name):
    """The folder with ``gtpca`` in it: of a checkout, of sources, or of a revision."""
    for folder in (Path(name, "src"), Path(name)):
        if (folder / "gtpca").is_dir():
            yield folder.resolve()
            return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve() / "checkout"
        git = ["git", "-C", ROOT, "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", place, name], check=True)
        try:
            yield place / "src"
        finally:
            subprocess.run([*git, "remove", "--force", place], check=True)


def run_cases(source, folder, only):
    """Hashes and numbers of the results of all cases."""
    hashes = json.loads(python(source, HERE / "same_cases.py", source, folder, only))
    return hashes, pickle.loads(Path(folder, "values.pickle").read_bytes())


def python(source, *arguments) -> str:
    """What Python with the library in ``source`` writes to standard output."""
    paths = (source, Path(source).parent / "paper" / "src")  # of the paper, where there is one
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


# --- the committed rows ---

COMMITTED = ROOT / "paper" / "results" / "rows.jsonl"
EXPERIMENTS = {"oscillations": ("512", "256"), "spikes": ("i",), "handwriting": ("700", "1400")}
SLOW = ("autoencoder", "vae")  # left out
CASE = ("experiment", "setting", "task", "model")
FOUND = ("value", "seconds", "made")  # all else in a row says what it is about


def wanted_rows(path, only):
    """Values of the rows of a file, by case, and by all that tells two rows apart."""
    cases = {}
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        case = "/".join(["committed", *(row[key] for key in CASE)])
        if is_wanted(row) and only in case:
            about = [str(value) for key, value in row.items() if key not in (*CASE, *FOUND)]
            cases.setdefault(case, {})[" ".join(about)] = row["value"]
    return cases


def is_wanted(row) -> bool:
    place = row["setting"] in EXPERIMENTS.get(row["experiment"], ())
    return place and row["repetition"] == 0 and row["model"] not in SLOW


def compute_rows(source, out, only):
    """Those rows from the experiments, run with the library in ``source``."""
    for case in wanted_rows(COMMITTED, only):
        _, experiment, setting, task, model = case.split("/")
        options = ["--setting", setting, "--task", task, "--models", model, "--repeats", 1]
        python(source, "-m", "gtpca.cli", "reproduce", experiment, *options, "--out", out)
    return wanted_rows(out / "rows.jsonl", only) if out.exists() else {}


if __name__ == "__main__":
    main()
