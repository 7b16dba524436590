"""Runs of the speed benchmark in fresh processes, with the source of one version each."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

COMMIT = "d6875bd"
HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def cache_folder() -> Path:
    """Where the worktree of the base is, and its models."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "gtpca-bench"


def base_source(given=None) -> Path:
    """``src`` of the commit, in a worktree below the user's cache folder unless it is given."""
    if given is not None:
        return Path(given)
    folder = cache_folder() / COMMIT
    if not (folder / "src").exists():
        command = ["git", "-C", REPOSITORY, "worktree", "add", "--force", "--detach"]
        subprocess.run([*command, folder, COMMIT], check=True)
    return folder / "src"


def source_id(src: Path) -> str:
    """12 digits that change with any line of the source."""
    digest = hashlib.sha256()
    for path in sorted(src.rglob("*.py")):
        digest.update(str(path.relative_to(src)).encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def count(threads: str) -> int:
    """How many "1" or "all" threads are."""
    return 1 if threads == "1" else os.cpu_count() or 1


class Runner:
    """Runs of two versions.

    Parameters
    ----------
    sources : dict of str to Path
        The folder ``src`` of "base" and of "new".
    """

    def __init__(self, sources):
        self.sources = {version: src.resolve() for version, src in sources.items()}
        self.ids = {version: source_id(src) for version, src in self.sources.items()}

    def environment(self, version, threads="1"):
        number = str(count(threads))
        own = {"PYTHONPATH": str(self.sources[version]), **dict.fromkeys(THREAD_VARIABLES, number)}
        return {**os.environ, **own}

    def measure(self, version, case, seed=0, threads="1", n_jobs=None, **more):
        """One run; see ``measure.py`` for what is measured, and for ``more`` keys."""
        jobs = count(threads) if n_jobs is None else n_jobs
        task = {"case": case.name, "seed": seed, "n_jobs": jobs, **self._model(case, seed), **more}
        result = self._run(version, task, threads)
        return {**result, "n_jobs": jobs, "load": round(os.getloadavg()[0], 1)}

    def profile(self, version, case, text):
        task = {"case": case.name, "seed": 0, "n_jobs": 1, "profile": True, "text": str(text)}
        return self._run(version, {**task, **self._model(case, 0)})

    def _model(self, case, seed):
        """Where the fitted model of a case of ``transform`` is: that of the base, for both."""
        if case.fitted_to is None:
            return {}
        digits = "mnist" if "GTPCA_DATA" in os.environ else "enlarged"
        version = f"{self.ids['base']}-{source_id(HERE)}"
        path = cache_folder() / f"{case.name}-{seed}-{digits}-{version}.gtpca"
        task = {"case": case.name, "seed": seed, "model": str(path)}
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._run("base", {**task, "prepare": True})
        return {"model": str(path)}

    def _run(self, version, task, threads="1"):
        command = [sys.executable, HERE / "measure.py", json.dumps(task)]
        how = {"env": self.environment(version, threads), "stdout": subprocess.PIPE, "text": True}
        result = json.loads(subprocess.run(command, check=True, **how).stdout.splitlines()[-1])
        if self.sources[version] not in Path(result.pop("gtpca")).parents:
            raise RuntimeError(
                f"{version}: another gtpca was imported than {self.sources[version]}"
            )
        return {**result, "source": self.ids[version]}
