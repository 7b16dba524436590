"""How much faster a fit is than at commit d6875bd, with components that are as good.

Each run is a fresh process with the source of one version, base and new in turns, and the best of
several counts. Base is a git worktree of the commit, made in the user's cache folder. Cases are in
speed/cases.py. With GTPCA_DATA set, digits are those of MNIST and EEG is recorded.

    python benchmarks/bench_speed.py                    all cases, one thread and all of them
    python benchmarks/bench_speed.py --cases spikes eeg --threads 1 --repeat 1
    python benchmarks/bench_speed.py --quick            under 3 minutes; fails if it got slower
    python benchmarks/bench_speed.py --quality          held-out residuals over 20 seeds
    python benchmarks/bench_speed.py --fresh            the same over 20 other seeds
    python benchmarks/bench_speed.py --spread           the same over 20 starts on one data set
    python benchmarks/bench_speed.py --profile FOLDER   where the time goes
    python benchmarks/bench_speed.py --first-use        imports, the command line
    python benchmarks/bench_speed.py --docs             write the table of docs/speed.md

Results are added to the JSON case by case; what is there for the same source is not run again
(--again does). `--versions new` compares with the base of the JSON, for trials.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from speed import docs, first_use, quality, report
from speed.cases import CASES, QUICK
from speed.runs import Runner, base_source
from speed.store import Store
from speed.verdicts import shortfalls

HERE = Path(__file__).parent
SLOWER = 1.3  # --quick fails if a case is so many times slower than the committed ratio
VERSIONS = ("base", "new")


def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def best(runs):
    """The shortest times and the smallest memory of several runs of the same."""
    smallest = ("seconds", "cpu_seconds", "megabytes", "ten_pca_seconds")
    least = {name: min(run[name] for run in runs) for name in smallest if name in runs[0]}
    return {**runs[0], **least, "repeat": len(runs)}


def compare(runner, case, threads, n_jobs, versions, repeat):
    """The best of ``repeat`` runs of each version, in turns, with one restart."""
    runs, how = {version: [] for version in versions}, {"threads": threads, "n_jobs": n_jobs}
    for _ in range(repeat):
        for version in versions:
            runs[version].append(runner.measure(version, case, n_restarts=1, **how))
    return {version: best(results) for version, results in runs.items()}


def time_cases(args, runner, store):
    for case in chosen(args):
        for threads in args.threads:
            if not args.again and store.is_done(case, threads, args, runner):
                continue
            found = compare(runner, case, threads, args.n_jobs, args.versions, args.repeat)
            store.add_times(case, threads, found)
            say(report.line(case, threads, store.times(case, threads)))


def profile_cases(args, runner, store):
    for case in chosen(args):
        for version in args.versions:
            text = args.profile / f"profile_{case.name}_{version}.txt"
            found = runner.profile(version, case, text)
            store.add_profile(case, version, found)
            say(report.profile_text(case, version, found))


def quick(args, runner, store):
    """Fail if a case of the subset is not about as fast as the JSON says."""
    slow = []
    for name in args.cases or QUICK:
        committed = report.ratio(store.times(CASES[name], "1"))
        faster = quick_ratio(runner, CASES[name], args.n_jobs, (committed or 0) / SLOWER)
        say(f"{name:22} {faster:7.2f}x faster, committed {report.shown(committed, '.2f')}")
        if committed is not None and faster * SLOWER < committed:
            slow.append(name)
    if slow:
        sys.exit(f"More than {SLOWER} times slower than committed: {', '.join(slow)}")


def quick_ratio(runner, case, n_jobs, wanted):
    """Ratio of one run of each version, of the best of three if that is not enough."""
    faster = report.ratio(compare(runner, case, "1", n_jobs, VERSIONS, 1))
    if faster >= wanted:
        return faster
    return max(faster, report.ratio(compare(runner, case, "1", n_jobs, VERSIONS, 3)))


def ordered(store):
    """What the JSON has, in the order of the cases."""
    return {name: store.cases[name] for name in CASES if name in store.cases}


def chosen(args):
    return [CASES[name] for name in args.cases or CASES]


def parsed():
    how = {"description": __doc__, "formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = argparse.ArgumentParser(**how)
    add = parser.add_argument
    add("--cases", nargs="+", choices=list(CASES), metavar="NAME", help=", ".join(CASES))
    add("--versions", nargs="+", choices=VERSIONS, default=list(VERSIONS))
    add("--threads", nargs="+", choices=("1", "all"), default=["1", "all"])
    add("--n-jobs", type=int, help="default: as many as threads")
    add("--repeat", type=int, default=3)
    add("--again", action="store_true", help="also what the JSON has")
    add("--base-src", type=Path, metavar="FOLDER", help="source of the base, if it is at hand")
    add("--new-src", type=Path, metavar="FOLDER", default=HERE.parent / "src")
    add("--out", type=Path, default=HERE / "bench_speed.json")
    for mode in ("quick", "quality", "fresh", "spread", "first-use", "docs"):
        add(f"--{mode}", action="store_true")
    add("--profile", type=Path, metavar="FOLDER", help="full tables go there")
    return parser.parse_args()


def main():
    args = parsed()
    store = Store(args.out)
    if args.docs:
        docs.write_table(HERE.parent / "docs" / "speed.md", ordered(store))
        return
    runner = Runner({"base": base_source(args.base_src), "new": args.new_src})
    if args.quick:
        quick(args, runner, store)
    elif args.quality or args.fresh:
        kind = "fresh" if args.fresh else "quality"
        how = (args.versions, runner, store, say, kind)
        good = [quality.check(case, *how) for case in chosen(args)]
        sys.exit(not all(good))
    elif args.spread:
        for case in chosen(args):
            quality.spread(case, args.versions, runner, store, say)
    elif args.first_use:
        say(report.json_text(store.add_first_use(first_use.measure(runner, args.repeat))))
    elif args.profile:
        args.profile.mkdir(parents=True, exist_ok=True)
        profile_cases(args, runner, store)
    else:
        time_cases(args, runner, store)
        say("\n".join([report.table(ordered(store)), *shortfalls(ordered(store))]))


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    main()
