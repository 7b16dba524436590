"""First use: imports and the command ``gtpca`` as processes, beside an import of scikit-learn."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from gtpca.datasets import make_spikes

SKLEARN = "import sklearn.decomposition"
COMMAND = {
    "base": "from gtpca.cli import main; main()",
    "new": "from gtpca_command import main; main()",
}
# times the import of scikit-learn's part
BARS = {"import": 1.15, "estimator": 1.15, "command": 1.5, "version": 0.5, "help": 0.5}


def spent(arguments, environment):
    """Wall and processor seconds of a process."""
    cpu, start = sum(os.times()[2:4]), time.perf_counter()
    how = {"env": environment, "check": True, "capture_output": True}
    subprocess.run([sys.executable, *arguments], **how)
    return time.perf_counter() - start, sum(os.times()[2:4]) - cpu


def measure(runner, repeat):
    """Best of ``repeat``, in turns; "ratio" is processor time over that of scikit-learn."""
    with tempfile.TemporaryDirectory(prefix="gtpca-bench-") as folder:
        tasks = _tasks(runner, folder)
        runs = {name: [] for name in tasks}
        for _ in range(repeat):
            for name, task in tasks.items():
                runs[name].append(spent(*task))
    seconds, cpu = ({name: min(r[i] for r in runs[name]) for name in runs} for i in (0, 1))
    ratios = {name: cpu[name] / cpu["sklearn"] for name in cpu}
    return {"seconds": seconds, "cpu_seconds": cpu, "ratio": ratios, "bars": BARS}


def _tasks(runner, folder):
    """Arguments of the interpreter and the environment, by name."""
    rows, model = f"{folder}/rows.csv", f"{folder}/model.gtpca"
    np.savetxt(rows, make_spikes(300, 256, random_state=0)[0], delimiter=",", fmt="%.6g")
    fit = ["fit", rows, "-o", model, "--family", "shift(64, boundary='partial')", "-k", "3"]
    tasks = {"sklearn": (["-c", SKLEARN], runner.environment("base"))}
    for version in ("base", "new"):
        environment, command = runner.environment(version), ["-c", COMMAND[version]]
        tasks[f"import {version}"] = (["-c", "import gtpca"], environment)
        tasks[f"estimator {version}"] = (["-c", "from gtpca import GTPCA"], environment)
        tasks[f"command {version}"] = ([*command, *fit], environment)
        tasks[f"version {version}"] = ([*command, "--version"], environment)
        tasks[f"help {version}"] = ([*command, "--help"], environment)
    return tasks
