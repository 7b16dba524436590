"""One run of one case in this process, with the gtpca that PYTHONPATH says; prints JSON.

Run: python measure.py '{"case": "spikes", "seed": 0, "n_jobs": 1}'
Further keys: "random_state" (of the fit; that of the data if there is none), "n_restarts"
(for versions that know it), "profile" (true: run under cProfile), "text" (a file for its full
tables), "model" (a file with the fitted model of a case of transform), "prepare" (true: write that
file).
"""

from __future__ import annotations

import cProfile
import gc
import io
import json
import os
import pstats
import sys
import time
import zlib
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from sklearn.decomposition import PCA
from speed.cases import CASES

import gtpca

SMALL = 2500  # rows up to which ten calls of PCA are timed as well
WRAPPER = 0.95  # a function with more of the time is a wrapper, not a part
CHAIN = 0.03  # functions that differ by less of the time are taken to call one another


def megabytes(field):
    """VmRSS or VmHWM of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def forget_peak():
    """Let VmHWM, the largest memory so far, begin again."""
    Path("/proc/self/clear_refs").write_text("5")


def cpu_seconds():
    """Of all threads and of children that have ended."""
    return sum(os.times()[:4])


def timed(run):
    """Wall and processor seconds of a call, and the memory it needed on top."""
    gc.collect()  # what imports left behind is not counted
    forget_peak()
    before, cpu, start = megabytes("VmRSS"), cpu_seconds(), time.perf_counter()
    run()
    seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu
    peak = megabytes("VmHWM") - before
    return {"seconds": seconds, "cpu_seconds": cpu, "megabytes": peak}


def ten_pca(X, k):
    """Seconds of ten calls of scikit-learn's PCA on the same rows."""
    flat = X.reshape(len(X), -1)
    return timed(lambda: [PCA(k).fit(flat) for _ in range(10)])["seconds"]


def prepared(case, task):
    """A model, unfitted or from the file, and what is timed."""
    X, Y = case.make(task["seed"])
    if case.fitted_to is None:
        model = case.model(task.get("random_state", task["seed"]), task["n_jobs"])
        if "n_restarts" in task and "n_restarts" in model.get_params():
            model.set_params(n_restarts=task["n_restarts"])
        return X, Y, model, lambda: model.fit(X)
    model = gtpca.load(task["model"]).set_params(n_jobs=task["n_jobs"])
    return X, Y, model, lambda: model.transform(X)


def measured(task):
    case = CASES[task["case"]]
    X, Y, model, run = prepared(case, task)
    result = timed(run)
    result["explained"] = float(np.sum(model.explained_energy_ratio_))
    result["resmse"] = np.asarray(model.resmse(Y)).tolist()
    result["passes"] = int(np.sum(model.n_iter_))
    result["shape"], result["rows_crc"] = X.shape, zlib.crc32(np.ascontiguousarray(X))
    if case.fitted_to is None and len(X) <= SMALL:
        result["ten_pca_seconds"] = ten_pca(X, case.k)
    return result


def profiled(task):
    *_, run = prepared(CASES[task["case"]], task)
    profile = cProfile.Profile()
    profile.runcall(run)
    text = io.StringIO()
    stats = pstats.Stats(profile, stream=text)
    if "text" in task:
        stats.sort_stats("cumulative").print_stats(40)
        stats.sort_stats("tottime").print_stats(20)
        Path(task["text"]).write_text(text.getvalue())
    return {"total": stats.total_tt, "parts": parts(stats), "own": own(stats)}


def parts(stats):
    """The five largest parts: functions of gtpca with all they call, the innermost of a chain."""
    total, kept = stats.total_tt, []
    rows = [r for r in timings(stats, 3) if f"{os.sep}gtpca{os.sep}" in r[1] and "<" not in r[2]]
    for row in reversed([r for r in rows if r[0] < WRAPPER * total]):
        if not kept or row[0] > kept[-1][0] + CHAIN * total:
            kept.append(row)
    return named(kept[::-1])


def own(stats):
    """The five functions with most time of their own, without what they call."""
    return named(timings(stats, 2))


def timings(stats, column):
    """Seconds, file, name and calls of all functions, the largest first."""
    rows = [(v[column], file, name, v[1]) for (file, _, name), v in stats.stats.items()]
    return sorted(rows, reverse=True)


def named(rows):
    labels = [f"{Path(file).name}:{name}".removeprefix("~:") for _, file, name, _ in rows[:5]]
    return [
        {"name": label, "seconds": row[0], "calls": row[3]}
        for label, row in zip(labels, rows, strict=False)
    ]


def main():
    task = json.loads(sys.argv[1])
    if task.get("prepare"):
        case = CASES[task["case"]]
        case.model(task["seed"], None).fit(case.fitted_to(task["seed"])).save(task["model"])
        result = {}
    else:
        result = profiled(task) if task.get("profile") else measured(task)
    sys.stdout.write(json.dumps({**result, "gtpca": gtpca.__file__}) + "\n")


if __name__ == "__main__":
    main()
