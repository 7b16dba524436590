"""From rows of results to tables: means and standard errors beside the published numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from gtpca.optional import require
from gtpca_paper.report.expected import Wanted, wanted_tables
from gtpca_paper.report.layout import to_markdown
from gtpca_paper.report.published import published_models, published_row, published_tables
from gtpca_paper.rows import Line, TableKey, is_earlier
from gtpca_paper.run import store
from gtpca_paper.spec import MODELS, PROTOCOLS, is_gtpca, rank

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Table", "compared", "make_tables", "read_rows", "write_tables"]

TOLERANCE = 3.0  # percent of the published error up to which an error agrees with it
POINTS = 2.0  # up to which an accuracy agrees with the published one
MOST = 10  # repetitions, those of the paper: how many count is not chosen after looking
KEY = list(TableKey._fields)
LINE = list(Line._fields)
REFERENCE = "gtpca-als"  # what other forms of GT-PCA are compared with, on the same repetitions
EXPORTED = [*KEY, *LINE, "k", "mean", "stderr", "count", "diverged", "identical", "wanted"]
EXPORTED += ["seconds", "simulated", "published", "difference", "ratio", "verdict"]
EXPORTED += ["against", "pairs", "earlier"]


@dataclass(frozen=True)
class Table:
    """One table of the paper, as far as there are rows for it.

    Attributes
    ----------
    key : TableKey
    cells : DataFrame
        One row per line (model, protocol, normalisation, profile) and k, also where results are
        missing. ``mean`` and ``stderr`` are over the repetitions that did not diverge, ``count``
        is how many of the ``wanted`` repetitions there are; where they are ``identical`` there is
        no standard error. ``ratio`` and ``difference`` compare the mean with ``published``,
        ``verdict`` is "agrees", "better", "worse" or "". ``against`` is the mean over ``pairs``
        repetitions minus that of GT-PCA by ALS over the same ones: of errors in percent.
        ``earlier`` are results that an earlier version of the solver gave.
    simulated : bool
        Whether any result comes from simulated data. Nothing is compared then.
    """

    key: TableKey
    cells: DataFrame
    simulated: bool

    @property
    def title(self) -> str:
        """Title, with a note on simulation."""
        return self.key.title + (" (simulated data)" if self.simulated else "")

    @property
    def present(self) -> int:
        """Number of wanted results that are there."""
        return int(np.minimum(self.cells["count"], self.cells["wanted"]).sum())

    @property
    def expected(self) -> int:
        """Number of results that a complete table has."""
        return int(self.cells["wanted"].sum())

    @property
    def complete(self) -> bool:
        """Whether every line has every wanted repetition at every k."""
        return bool((self.cells["count"] >= self.cells["wanted"]).all())

    @property
    def unit(self) -> str:
        """Unit of the :meth:`deviations`."""
        return "%" if self.key.metric == "resmse" else "points"

    @property
    def tolerance(self) -> float:
        """The :meth:`deviations` up to which values agree."""
        return TOLERANCE if self.key.metric == "resmse" else POINTS

    def deviations(self, cells):
        """Means minus published values: of errors in percent of the latter, of accuracies as is."""
        return _deviations(self.key, cells)

    def lines(self) -> Iterator[tuple[Line, DataFrame]]:
        """The lines (model, protocol, normalisation, profile) and their cells, over k."""
        for line, cells in self.cells.groupby(LINE, sort=False):
            yield Line(*line), cells

    def label(self, line) -> str:
        """What to say of a line besides its model."""
        several = self.cells["profile"].replace("", None).nunique() > 1
        return (line if several else line._replace(profile="")).label(self.key.metric)

    def full_name(self, line) -> str:
        """Model of a line, and what else there is to say of it."""
        label = self.label(line)
        return line.title + (f" ({label})" if label else "")

    def gaps(self) -> list[str]:
        """What is missing, one sentence per line."""
        sentences = []
        for line, cells in self.lines():
            missing = _gaps(cells)
            sentences += [f"{self.full_name(line)}: {missing}."] if missing else []
        return sentences


def _gaps(cells) -> str:
    short = cells[cells["count"] < cells["wanted"]]
    parts = []
    for (count, wanted), group in short.groupby(["count", "wanted"]):
        have = f"{count} of {wanted} repetitions" if count else "no results"
        parts.append(f"{have} at k = {ranges(group['k'])}")
    return "; ".join(parts)


def ranges(numbers) -> str:
    """Integers as text, runs joined: "1-3, 5"."""
    runs: list[list[int]] = []
    for n in sorted(int(n) for n in numbers):
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in runs)


def read_rows(folder) -> DataFrame:
    """The rows of a run, as :func:`gtpca_paper.run.store.read_rows` finds them.

    Parameters
    ----------
    folder : path

    Returns
    -------
    DataFrame
        One row per result of the first ten repetitions; simulated ones do not count in a table
        that has real ones. A value that is null or not finite is NaN.
    """
    rows = store.read_rows(folder)
    if not rows:
        raise ValueError(f"{folder} has no rows; run `gtpca reproduce` with --out {folder} first.")
    rows = [row | {"earlier": is_earlier(row)} for row in rows]
    return _tidy(_pandas().DataFrame(rows).drop(columns="made", errors="ignore"))


def _tidy(rows) -> DataFrame:
    text = rows.reindex(columns=[*KEY, *LINE]).fillna("").astype(str)
    value = _pandas().to_numeric(rows["value"]).astype(float)
    rows = rows.assign(**text, value=value.where(np.isfinite(value)))
    rows = _with_balanced(rows)
    rows["earlier"] = rows["earlier"].eq(True) if "earlier" in rows else False
    real = ~rows["simulated"].astype(bool)
    superseded = ~real & real.groupby([rows[name] for name in KEY]).transform("any")
    rows = rows[~superseded & (rows["repetition"] < MOST)]
    return rows.drop_duplicates([*KEY, *LINE, "k", "repetition"], keep="last")


def _with_balanced(rows) -> DataFrame:
    """The rows, and balanced accuracies as rows of a metric of their own."""
    if "balanced" not in rows:
        return rows
    found = rows[rows["balanced"].notna()]
    balanced = found.assign(metric="balanced", value=found["balanced"].astype(float))
    return _pandas().concat([rows, balanced], ignore_index=True)


def make_tables(rows, repetitions=None) -> list[Table]:
    """All tables for which there are rows, in the order of the paper.

    A complete table has all that the profile of its rows has, of several profiles the one with
    most rows. Further lines should have equally many repetitions of each value they have.

    Parameters
    ----------
    rows : DataFrame
        As of :func:`read_rows`.
    repetitions : int or None
        How many each value should have; default: as many as the profile has.

    Returns
    -------
    list of Table
    """
    summary = _summarise(rows)
    groups = {TableKey(*key): part for key, part in summary.groupby(KEY, sort=False)}
    order = sorted(groups, key=_place)
    return [_make_table(key, groups[key], repetitions) for key in order]


def _place(key) -> tuple[int, bool]:
    """Order of tables: that of the paper, balanced accuracies after the accuracies."""
    balanced = key.metric == "balanced"
    return rank(key._replace(metric="accuracy") if balanced else key, published_tables()), balanced


def missing_tables(tables) -> list[TableKey]:
    """Tables of the paper for which there is no row at all."""
    there = {table.key for table in tables}
    return [key for key in published_tables() if key not in there]


def _summarise(rows) -> DataFrame:
    """One row per line and k."""
    groups = rows.groupby([*KEY, *LINE, "k"], sort=False)
    value = groups["value"]
    frame = value.agg(mean="mean", stderr="sem", valid="count", count="size")
    frame["diverged"] = frame["count"] - frame["valid"]
    frame["identical"] = (value.nunique() == 1) & (frame["valid"] > 1)
    frame["stderr"] = frame["stderr"].where(~frame["identical"])
    frame["seconds"] = groups["seconds"].mean()
    frame["simulated"] = groups["simulated"].any()
    frame["earlier"] = groups["earlier"].any()
    return frame.drop(columns="valid").join(_paired(rows)).reset_index()


def _paired(rows) -> DataFrame:
    """Other forms of GT-PCA against ALS by the same solver, on the repetitions that both have."""
    same = [*KEY, *LINE[1:], "k", "repetition"]
    rows = rows[rows["value"].notna() & ~rows["earlier"]]
    reference = rows.loc[rows["model"] == REFERENCE, [*same, "value"]]
    others = rows[rows["model"].map(is_gtpca) & (rows["model"] != REFERENCE)]
    pairs = others.merge(reference, on=same, suffixes=("", "_als"))
    groups = pairs.groupby([*KEY, *LINE, "k"], sort=False)
    found = groups[["value", "value_als"]].mean().assign(pairs=groups.size())
    difference = found["value"] - found["value_als"]
    relative = found.index.get_level_values("metric") == "resmse"
    found["against"] = difference * np.where(relative, 100 / found["value_als"], 1)
    return found[["against", "pairs"]]


def _make_table(key, part, repetitions) -> Table:
    wanted = _wanted_values(key, part, repetitions)
    simulated = bool(part["simulated"].any())
    lines = _lines(part, wanted)
    grid = _pandas().DataFrame(
        [line._asdict() | {"k": k} for line in lines for k in _ks(key, part, wanted)]
    )
    cells = grid.merge(part.drop(columns=KEY), on=[*LINE, "k"], how="left")
    cells = cells.assign(**key._asdict(), simulated=simulated)
    none = {"count": 0, "diverged": 0, "pairs": 0, "identical": False, "earlier": False}
    cells = cells.infer_objects().fillna(none).astype({name: type(v) for name, v in none.items()})
    return Table(key, _compare(key, cells, wanted, simulated)[EXPORTED], simulated)


def _wanted_values(key, part, repetitions) -> Wanted:
    """Values of the table that the profile of most rows has, and how often."""
    main = part.groupby("profile")["count"].sum().idxmax()
    wanted = wanted_tables(main).get(key, Wanted())
    return Wanted(dict.fromkeys(wanted, repetitions)) if repetitions else wanted


def _ks(key, part, wanted) -> list[int]:
    lengths = [len(published_row(key, m)) for m in published_models(key)]
    there = {*part["k"], *(k for _, k in wanted)}
    return sorted({*range(1, max(lengths, default=0) + 1), *there})


def _lines(part, wanted) -> list[Line]:
    """Lines there are, and those that should be there, by model."""
    there = {Line(*line) for line in part[LINE].drop_duplicates().itertuples(index=False)}
    return sorted(there | {line for line, _ in wanted}, key=_rank)


def _rank(line):
    """Order of lines: by model, own normalisations last, by protocol."""
    model, protocol = rank(line.model, MODELS), rank(line.protocol, ("none", *PROTOCOLS))
    return model, line.model, line.is_own, protocol, line.protocol, line.profile


def _compare(key, cells, wanted, simulated) -> DataFrame:
    """Add published values, differences and verdicts."""
    cells["wanted"] = _wanted(cells, wanted)
    cells["published"] = [_published(key, cell) for cell in cells.itertuples()]
    ours = cells["mean"] * (math.nan if simulated else 1)
    cells["difference"], cells["ratio"] = ours - cells["published"], ours / cells["published"]
    excess = _deviations(key, cells) * (1 if key.metric == "resmse" else -1)
    most = TOLERANCE if key.metric == "resmse" else POINTS
    verdict = np.select([excess < -most, excess > most], ["better", "worse"], "agrees")
    cells["verdict"] = np.where(cells["ratio"].isna(), "", verdict)
    return cells


def _deviations(key, cells):
    relative = key.metric == "resmse"
    return 100 * (cells["ratio"] - 1) if relative else cells["difference"]


def _wanted(cells, wanted) -> list[int]:
    """Repetitions of each value in a complete table; beyond the profile, those of its line."""
    most = cells.groupby(LINE)["count"].transform("max")
    beyond = np.where(cells["count"] > 0, most, 0)
    lines = map(Line._make, cells[LINE].itertuples(index=False))
    return [
        wanted.get((line, k), other)
        for line, k, other in zip(lines, cells["k"], beyond, strict=True)
    ]


def _published(key, cell) -> float:
    """Published value to compare with; none for what the paper has not."""
    ours = cell.normalisation == "own" or cell.protocol not in ("none", "paper")
    ours |= cell.model in MODELS and MODELS[cell.model].variant
    row = [] if ours else published_row(key, cell.model)
    value = row[cell.k - 1] if cell.k <= len(row) else None
    return math.nan if value is None else value


def compared(tables, metric) -> DataFrame:
    """Cells of all tables with a published counterpart, with ``deviation`` and ``table``.

    Those of an earlier solver are left out.
    """
    parts = [
        table.cells.assign(deviation=table.deviations(table.cells), table=table.key.short_title)
        for table in tables
        if table.key.metric == metric
    ]
    none = _pandas().DataFrame(columns=[*EXPORTED, "deviation", "table"])
    cells = _pandas().concat(parts, ignore_index=True) if parts else none
    return cells[(cells["verdict"] != "") & ~cells["earlier"].astype(bool)]


def write_tables(tables, out) -> list[Path]:
    """Write all tables to ``tables.md``, ``tables.csv`` (one line per value) and ``tables.json``.

    Parameters
    ----------
    tables : list of Table
    out : path
        Folder; made if need be.

    Returns
    -------
    list of Path
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"tables.{kind}" for kind in ("md", "csv", "json")]
    paths[0].write_text("\n\n".join(map(to_markdown, tables)) + "\n", encoding="utf-8")
    cells = [table.cells for table in tables]
    frame = _pandas().concat(cells) if cells else _pandas().DataFrame(columns=EXPORTED)
    frame.to_csv(paths[1], index=False, float_format="%.8g", lineterminator="\n")
    content = [json.dumps(to_dict(table), allow_nan=False) for table in tables]
    paths[2].write_text("[\n" + ",\n".join(content) + "\n]\n", encoding="utf-8")
    return paths


def to_dict(table) -> dict[str, Any]:
    """A table as what JSON can hold; null where there is no number."""
    cells = table.cells.drop(columns=[*KEY, "simulated"])
    columns = json.loads(cells.to_json(orient="split", index=False, double_precision=10))
    return {
        **table.key._asdict(),
        "title": table.title,
        "simulated": table.simulated,
        "complete": table.complete,
        "present": table.present,
        "expected": table.expected,
        "missing": table.gaps(),
        "columns": columns["columns"],
        "cells": columns["data"],
    }


def _pandas() -> ModuleType:
    return require("pandas", "report")
