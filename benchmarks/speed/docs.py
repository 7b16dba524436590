"""The table of docs/speed.md."""

from __future__ import annotations

from speed.report import ratio, shown
from speed.verdicts import gained

BEGIN, END = "<!-- table of bench_speed.py -->", "<!-- end of table -->"
HEAD = """\
| case | rows | k | pose | before, s | now, s | faster | all threads: faster | gain | memory, MB | \
held-out error, now / before |
|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|"""


def markdown(cases):
    """A line for every case that both versions have run."""
    done = {name: e for name, e in cases.items() if ratio(e.get("threads", {}).get("1", {}))}
    return "\n".join([HEAD, *(line(name, entry) for name, entry in done.items())])


def line(name, entry):
    one, every = (entry["threads"].get(threads, {}) for threads in ("1", "all"))
    pair = one["base"], one["new"]
    cells = [
        f"{name}: {entry['what']}",
        f"{entry['rows']:,}",
        str(entry["n_components"]),
        "shared" if entry["shared_pose"] else "own",
        *(shown(run["seconds"], ".2f") for run in pair),
        *(shown(ratio(runs, "seconds"), ".1f") for runs in (one, every)),
        shown(gained(entry), ".2f"),
        " → ".join(shown(run["megabytes"], ".0f") for run in pair),
        quality(entry.get("quality", {}).get("verdict")),
    ]
    return f"| {' | '.join(cells)} |"


def quality(verdict):
    """Mean ratio of held-out errors with all components, its standard error, and of how many."""
    if not verdict:
        return "-"
    mean, error = verdict["mean_ratio"][-1], verdict["standard_error"][-1]
    return f"{mean:.3f} ± {error:.3f} ({verdict['seeds']})"


def write_table(path, cases):
    """Put the table between its two marks."""
    before, rest = path.read_text().split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n{markdown(cases)}\n{END}{after}")
