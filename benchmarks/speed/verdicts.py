"""What a case of the speed benchmark falls short of."""

from __future__ import annotations

from speed.report import ratio

LARGE = 10_001  # rows from which two threads have to gain something
GAIN, LOSS = 1.6, 1.05
MORE_MEMORY, MEGABYTES = 1.2, 100


def shortfalls(cases):
    """A line for everything that does not hold, case by case."""
    lines = []
    for name, entry in cases.items():
        found = [*speed(entry), *memory(entry), *threads(entry), *residuals(entry)]
        lines += [f"{name}: {text}" for text in found]
    return lines


def speed(entry):
    """Slower than the bar, with one thread or with all."""
    for threads, runs in entry.get("threads", {}).items():
        faster = ratio(runs, "seconds")
        if faster is not None and faster < entry["bar"]:
            yield f"{faster:.2f}x faster with threads={threads}, wanted {entry['bar']:g}x"


def memory(entry):
    """More than the base needs, by a factor and by 100 MB."""
    for threads, runs in entry.get("threads", {}).items():
        if ratio(runs) is None:
            continue
        base, new = (runs[version]["megabytes"] for version in ("base", "new"))
        if new > max(MORE_MEMORY * base, base + MEGABYTES):
            yield f"{new:.0f} MB with threads={threads}, base {base:.0f} MB"


def threads(entry):
    """Slower with all threads than with one, or on many rows not faster."""
    gain = gained(entry)
    wanted = GAIN if entry["rows"] >= LARGE else 1 / LOSS
    if gain is not None and gain < wanted:
        yield f"all threads are {gain:.2f}x as fast as one, wanted {wanted:.2f}x"


def gained(entry):
    """Time of new with one thread over that with all; None if one is missing."""
    runs = [entry.get("threads", {}).get(t, {}).get("new") for t in ("1", "all")]
    return None if None in runs else runs[0]["seconds"] / runs[1]["seconds"]


def residuals(entry):
    """Components that are worse."""
    verdict = entry.get("quality", {}).get("verdict")
    if verdict is not None and not verdict["good"]:
        worse = [k for k, good in enumerate(verdict["good_at"], 1) if not good]
        yield f"held-out residuals are worse with {', '.join(map(str, worse))} components"
