"""Tables of the speed benchmark for the terminal."""

from __future__ import annotations

import json


def ratio(runs, name="cpu_seconds"):
    """How many times faster new is than base; None if one is missing."""
    if "base" not in runs or "new" not in runs:
        return None
    return runs["base"][name] / max(runs["new"][name], 1e-3)


def shown(value, form):
    return "-" if value is None else format(value, form)


def columns(case, threads, runs):
    """What a line of the table says, as text."""
    base, new = runs.get("base", {}), runs.get("new", {})
    pairs = [shown(run.get(name), form) for name, form in FORMS for run in (base, new)]
    errors = [shown(run["resmse"][-1] if run else None, ".4f") for run in (base, new)]
    faster = [shown(ratio(runs, name), ".2f") for name in ("seconds", "cpu_seconds")]
    return [case, threads, *pairs, *errors, *faster]


FORMS = (
    ("seconds", ".2f"),
    ("cpu_seconds", ".2f"),
    ("megabytes", ".0f"),
    ("passes", "d"),
    ("explained", ".4f"),
)
HEADS = ("s", "cpu s", "MB", "passes", "energy", "resmse")
HEADER = ["case", "thr", *(f"{head}{v}" for head in HEADS for v in ("", "'")), "x", "cpu x"]


def row(values):
    name, threads, *others = values
    return f"{name:22}{threads:>4}" + "".join(f"{text:>10}" for text in others)


def line(case, threads, runs):
    """One line for the terminal, as soon as it is known."""
    return f"{row(columns(case.name, threads, runs))}  (bar {case.bar:g})"


def table(cases):
    """All of them; new is marked by '."""
    lines = [row(HEADER) + "       bar"]
    for name, entry in cases.items():
        for threads, runs in entry.get("threads", {}).items():
            lines.append(row(columns(name, threads, runs)) + f"{entry['bar']:>10g}")
    return "\n".join(lines)


def profile_text(case, version, found):
    """Totals and parts, a line each."""
    lines = [f"{case.name} ({version}): {found['total']:.1f} s"]
    for kind in ("parts", "own"):
        for part in found[kind]:
            share = part["seconds"] / found["total"]
            lines.append(f"  {kind:5} {share:6.1%} {part['calls']:>9}  {part['name']}")
    return "\n".join(lines)


def json_text(value):
    return json.dumps(value, indent=1)
