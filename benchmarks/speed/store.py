"""The JSON of the speed benchmark, written after every case."""

from __future__ import annotations

import json
import os
import platform
import re

import numpy as np
import scipy
import sklearn
from speed.report import ratio
from speed.runs import COMMIT


def rounded(value, digits=6):
    """Numbers with so many significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, dict):
        return {key: rounded(v, digits) for key, v in value.items()}
    return [rounded(v, digits) for v in value] if isinstance(value, list | tuple) else value


def compact(value):
    """JSON with lists of numbers on one line."""
    text = json.dumps(rounded(value), indent=1)
    return re.sub(r"\[\s([^][{}]*)\]", lambda found: f"[{' '.join(found[1].split())}]", text)


class Store:
    """Results by case: ``threads`` ("1", "all": base, new, ratio), ``quality``, ``spread``, ..

    Parameters
    ----------
    path : Path
        Read if it is there; written by every ``add_..``.
    """

    def __init__(self, path):
        self.path = path
        self.content = json.loads(path.read_text()) if path.exists() else {}
        self.cases = self.content.setdefault("cases", {})

    def times(self, case, threads):
        """Runs of both versions, as far as there are any."""
        return self.cases.get(case.name, {}).get("threads", {}).get(threads, {})

    def is_done(self, case, threads, args, runner):
        """Whether the versions asked for have been run, in turns, with the present source."""
        found = self.times(case, threads)
        in_turns = found.get("in_turns", False) or len(args.versions) == 1
        return in_turns and all(
            version in found
            and found[version]["source"] == runner.ids[version]
            and found[version]["repeat"] >= args.repeat
            for version in args.versions
        )

    def add_times(self, case, threads, found):
        """Add the best run of each version."""
        runs = {**self.times(case, threads), **found}
        both = [runs[version] for version in ("base", "new") if version in runs]
        if len({run["rows_crc"] for run in both}) > 1:
            raise RuntimeError(f"{case.name}: the versions were given different rows")
        runs["in_turns"] = len(found) == 2
        if len(both) == 2:
            runs["ratio"], runs["cpu_ratio"] = ratio(runs, "seconds"), ratio(runs, "cpu_seconds")
        self._entry(case).setdefault("threads", {})[threads] = runs
        self._write()

    def add_profile(self, case, version, found):
        """Add the largest parts."""
        self._entry(case).setdefault("profile", {})[version] = found
        self._write()

    def residuals(self, case, version, source, kind="quality"):
        """Held-out residuals by seed, of this source alone; a dictionary to add to."""
        kept = self._entry(case).setdefault(kind, {})
        if kept.get(version, {}).get("source") != source:
            kept[version] = {"source": source, "seeds": {}}
        return kept[version]["seeds"]

    def add_residuals(self, case, version, source, seed, found, kind="quality"):
        """Add those of one seed."""
        self.residuals(case, version, source, kind)[str(seed)] = found
        self._write()

    def add_verdict(self, case, verdict, kind="quality"):
        """Add the comparison of all seeds."""
        self._entry(case)[kind]["verdict"] = verdict
        self._write()

    def add_first_use(self, found):
        """Add times of imports and of the command line."""
        self.content["first_use"] = found
        self._write()
        return found

    def _entry(self, case):
        entry = self.cases.setdefault(case.name, {})
        about = {"what": case.what, "rows": case.rows, "n_components": case.k}
        entry.update(**about, shared_pose=case.shared, bar=case.bar)
        return entry

    def _write(self):
        self.content["base"] = COMMIT
        libraries = {"numpy": np, "scipy": scipy, "scikit-learn": sklearn}
        self.content["versions"] = {name: m.__version__ for name, m in libraries.items()}
        self.content["versions"]["python"] = platform.python_version()
        machine = {"type": platform.machine(), "processors": os.cpu_count()}
        self.content["machine"] = {**machine, "system": platform.system()}
        temporary = self.path.with_suffix(".partial")
        temporary.write_text(compact(self.content) + "\n")
        temporary.replace(self.path)
