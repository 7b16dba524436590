"""Rows on disk: one file per finished job, merged on reading."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gtpca.files import write_text
from gtpca_paper.rows import RowKey, is_earlier, is_outdated, is_whole, revision_of
from gtpca_paper.run.jobs import Job
from gtpca_paper.run.provenance import provenance, versions
from gtpca_paper.spec import MODELS

__all__ = ["Store", "Summary", "expected_rows", "missing", "read_rows"]

ORDER = ("experiment", "setting", "task", "model", "metric", "protocol", "normalisation")
EARLIER = "earlier.jsonl"  # rows of earlier solvers, each once for every revision


def to_lines(rows) -> str:
    """Rows as text, one JSON object per line."""
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)


def from_lines(path) -> list[dict[str, Any]]:
    """Rows of a file; an error names the line that is none."""
    rows = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            RowKey.of(row), row["value"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}, line {number} is not a row of a run: {error!r}") from error
        rows.append(row)
    return rows


def read_rows(out) -> list[dict[str, Any]]:
    """All rows below a folder, each once, in a fixed order; without those that are outdated.

    Of rows with the same key, those of ``jobs`` count, and of these the last. Rows of an earlier
    solver count where there are no others.

    Parameters
    ----------
    out : path
        Folder with ``rows.jsonl``, ``jobs/*.jsonl`` or both, and perhaps ``earlier.jsonl``.

    Returns
    -------
    list of dict
    """
    rows = sorted(_read_all(out), key=revision_of)  # stable: of one revision the last counts
    found = {RowKey.of(row): row for row in rows}
    return sorted((row for row in found.values() if not is_outdated(row)), key=_place)


def _read_all(out) -> list[dict[str, Any]]:
    """Rows of all files, also several with one key."""
    out = Path(out)
    paths = [path for path in (out / EARLIER, out / "rows.jsonl") if path.exists()]
    paths += sorted(out.glob("jobs/*.jsonl"))
    return [row for path in paths for row in from_lines(path)]


def _place(row) -> tuple:
    """Where a row stands: by table, then by repetition and number of components."""
    return (*(row[name] for name in ORDER), row["repetition"], row["k"], str(RowKey.of(row)))


class Store:
    """The folder of a run.

    Parameters
    ----------
    out : path

    Attributes
    ----------
    made : dict
        What computes the rows that are kept, see :func:`~.provenance.provenance`.
    """

    def __init__(self, out):
        self.out, self.made = Path(out), provenance()

    def keep(self, job: Job, rows) -> None:
        """Write the rows of a finished job with where they come from, all or none."""
        made = {**self.made, "revision": MODELS[job.model].revision}
        rows = [{**row, "made": made} for row in rows]
        write_text(self.out / "jobs" / f"{job.name}.jsonl", to_lines(rows))

    def checkpoint(self, job: Job) -> Path:
        """How files begin where the training of a group with this first job keeps what it has."""
        return self.out / "checkpoints" / job.name

    def forget(self, job: Job) -> None:
        """Remove these files: the group has ended."""
        for path in self.checkpoint(job).parent.glob(f"{job.name}-*.pt"):
            path.unlink()

    def merge(self) -> list[dict[str, Any]]:
        """Write ``rows.jsonl`` again from all that is there, and return the rows.

        Rows of earlier solvers go to ``earlier.jsonl``, and stay there when they are run again.
        """
        kept = [row for row in _read_all(self.out) if is_earlier(row)]
        earlier = {(RowKey.of(row), revision_of(row)): row for row in kept}.values()
        rows = read_rows(self.out)
        if earlier:
            write_text(self.out / EARLIER, to_lines(sorted(earlier, key=_place)))
        present = [row for row in rows if not is_earlier(row)]
        write_text(self.out / "rows.jsonl", to_lines(present))
        return rows

    def describe(self, jobs) -> None:
        """Write ``run.json``: profiles, versions and machine."""
        about = {
            "profiles": sorted({job.profile for job in jobs}),
            "commit": self.made["commit"],
            "versions": {"python": platform.python_version(), **versions()},
            "machine": {
                "system": platform.system(),
                "architecture": platform.machine(),
                "processor": self.made["processor"],
                "processors": os.cpu_count(),
            },
        }
        write_text(self.out / "run.json", json.dumps(about, indent=1) + "\n")


def expected_rows(jobs: Iterable[Job]) -> set[RowKey]:
    """Keys of all rows of a plan."""
    return {key for job in jobs for key in job.row_keys()}


def _found(rows) -> set[RowKey]:
    return {RowKey.of(row) for row in rows if is_whole(row)}


def missing(jobs: Iterable[Job], rows) -> list[Job]:
    """Jobs of which a row is missing, or a column of a row."""
    there = _found(rows)
    return [job for job in jobs if not there.issuperset(job.row_keys())]


@dataclass(frozen=True)
class Summary:
    """How much of a plan is there.

    Attributes
    ----------
    tables : dict of (experiment, task) to (int, int)
        Rows that are there, and rows expected.
    """

    tables: dict[tuple[str, str], tuple[int, int]]

    @classmethod
    def of(cls, jobs, rows) -> Summary:
        """Count the rows of a plan."""
        there = _found(rows)
        tables: dict[tuple[str, str], tuple[int, int]] = {}
        for key in expected_rows(jobs):
            found, total = tables.get((key.experiment, key.task), (0, 0))
            tables[key.experiment, key.task] = (found + (key in there), total + 1)
        return cls(dict(sorted(tables.items())))

    @property
    def complete(self) -> bool:
        """Whether no row is missing, and there are any."""
        return bool(self.tables) and all(found == n for found, n in self.tables.values())

    def lines(self) -> list[str]:
        """One line per table; only those with all rows are called complete."""
        lines = []
        for (experiment, task), (found, total) in self.tables.items():
            state = "complete" if found == total else f"INCOMPLETE: {total - found} missing"
            lines.append(f"{experiment}, {task}: {found} of {total} rows, {state}")
        return lines
