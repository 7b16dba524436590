"""What a complete report holds: the rows of a profile, as the experiments plan them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

from gtpca_paper.rows import Line, RowKey, TableKey
from gtpca_paper.run.jobs import plan
from gtpca_paper.spec import EXPERIMENTS, MODELS, PROFILES, has_rare_class

__all__ = ["Wanted", "wanted_tables"]

Wanted = Counter[tuple[Line, int]]  # repetitions of each value of a table, by line and k


@cache
def wanted_tables(profile) -> dict[TableKey, Wanted]:
    """Repetitions of every value of every table, by a profile; nothing for an unknown one."""
    tables: dict[TableKey, Wanted] = {}
    jobs = plan(list(EXPERIMENTS), profile=profile, repeats=1) if profile in PROFILES else []
    for job in jobs:
        repeats = EXPERIMENTS[job.experiment].repeats[profile].of(MODELS[job.model])
        for row in job.row_keys():
            for key in _tables_of(row):
                line = Line(**{name: getattr(row, name) for name in Line._fields})
                tables.setdefault(key, Counter())[line, row.k] += repeats
    return tables


def _tables_of(row: RowKey) -> Iterator[TableKey]:
    """The table of a row, and, for accuracies with a rare class, that of balanced ones."""
    key = TableKey(*(getattr(row, name) for name in TableKey._fields))
    yield key
    if row.metric == "accuracy" and has_rare_class(row.experiment, row.task):
        yield key._replace(metric="balanced")
