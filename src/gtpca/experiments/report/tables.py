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

from gtpca.experiments.report.layout import to_markdown
from gtpca.experiments.report.published import published_models, published_row, published_tables
from gtpca.experiments.rows import Line, TableKey
from gtpca.experiments.run import store
from gtpca.experiments.spec import (
    EXPERIMENTS,
    MODELS,
    PROTOCOLS,
    find_experiment,
    find_setting,
    is_gtpca,
    rank,
)
from gtpca.optional import require

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Table", "make_tables", "read_rows", "write_tables"]

TOLERANCE = 0.03  # relative difference up to which a value agrees with the published one
ANY = "any"  # whichever protocol there is
KEY = list(TableKey._fields)
LINE = list(Line._fields)
REPETITIONS = 10  # of an experiment that the paper has not
EXPORTED = [*KEY, *LINE, "k", "mean", "stderr", "count", "diverged", "wanted", "seconds"]
EXPORTED += ["simulated", "published", "difference", "ratio", "verdict"]


@dataclass(frozen=True)
class Table:
    """One table of the paper, as far as there are rows for it.

    Attributes
    ----------
    key : TableKey
    cells : DataFrame
        One row per line (model, protocol, normalisation, profile) and k, also where results are
        missing. ``mean`` and ``stderr`` are over the repetitions that did not diverge, ``count``
        is how many of the ``wanted`` repetitions there are, ``ratio`` and ``difference`` compare
        the mean with ``published``, ``verdict`` is "agrees", "better", "worse" or "".
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

    def deviations(self, cells):
        """Means minus published values: of errors in percent of the latter, of accuracies as is."""
        relative = self.key.metric == "resmse"
        return 100 * (cells["ratio"] - 1) if relative else cells["difference"]

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
    """The rows of a run, as :func:`gtpca.experiments.run.store.read_rows` finds them.

    Parameters
    ----------
    folder : path

    Returns
    -------
    DataFrame
        One row per result; simulated ones do not count in a table that has real ones. A value that
        is null or not finite is NaN.
    """
    rows = store.read_rows(folder)
    if not rows:
        raise ValueError(f"{folder} has no rows; run `gtpca reproduce` with --out {folder} first.")
    return _tidy(_pandas().DataFrame(rows))


def _tidy(rows) -> DataFrame:
    text = rows.reindex(columns=[*KEY, *LINE]).fillna("").astype(str)
    value = _pandas().to_numeric(rows["value"]).astype(float)
    rows = rows.assign(**text, value=value.where(np.isfinite(value)))
    real = ~rows["simulated"].astype(bool)
    superseded = ~real & real.groupby([rows[name] for name in KEY]).transform("any")
    return rows[~superseded].drop_duplicates([*KEY, *LINE, "k", "repetition"], keep="last")


def make_tables(rows, repetitions=None) -> list[Table]:
    """All tables for which there are rows, in the order of the paper.

    A complete table has every model of the paper at every published k: GT-PCA by ALS (accuracies
    by all protocols) and by the network, and the baselines. Further lines, which the paper does not
    have, should have equally many repetitions of each value they have.

    Parameters
    ----------
    rows : DataFrame
        As of :func:`read_rows`.
    repetitions : int or None
        How many each value should have; default as in the paper: 10, and 1 for "errp".

    Returns
    -------
    list of Table
    """
    summary = _summarise(rows)
    groups = {TableKey(*key): part for key, part in summary.groupby(KEY, sort=False)}
    known = [key for key in published_tables() if key in groups]
    others = [key for key in groups if key not in known]
    return [_make_table(key, groups[key], repetitions) for key in known + others]


def missing_tables(tables) -> list[TableKey]:
    """Tables of the paper for which there is no row at all."""
    there = {table.key for table in tables}
    return [key for key in published_tables() if key not in there]


def _summarise(rows) -> DataFrame:
    """One row per line and k."""
    groups = rows.groupby([*KEY, *LINE, "k"], sort=False)
    frame = groups["value"].agg(mean="mean", stderr="sem", valid="count", count="size")
    frame["diverged"] = frame["count"] - frame["valid"]
    frame["seconds"] = groups["seconds"].mean()
    frame["simulated"] = groups["simulated"].any()
    return frame.drop(columns="valid").reset_index()


def _make_table(key, part, repetitions) -> Table:
    wanted = repetitions or _usual_repetitions(key.experiment)
    simulated = bool(part["simulated"].any())
    lines = _lines(key, part)
    grid = _pandas().DataFrame(
        [line._asdict() | {"k": k} for line in lines for k in _ks(key, part)]
    )
    cells = grid.merge(part.drop(columns=KEY), on=[*LINE, "k"], how="left")
    cells = cells.assign(**key._asdict(), simulated=simulated)
    cells = cells.fillna({"count": 0, "diverged": 0}).astype({"count": int, "diverged": int})
    return Table(key, _compare(key, cells, wanted, simulated)[EXPORTED], simulated)


def _usual_repetitions(experiment) -> int:
    known = EXPERIMENTS.get(experiment)
    return known.repeats["paper"].fast if known else REPETITIONS


def _ks(key, part) -> list[int]:
    lengths = [len(published_row(key, m)) for m in published_models(key)]
    return sorted({*range(1, max(lengths, default=0) + 1), *part["k"]})


def _lines(key, part) -> list[Line]:
    """Lines there are, and those of the paper's models without any, by model."""
    there = [Line(*line) for line in part[LINE].drop_duplicates().itertuples(index=False)]
    found = {
        (line.model, each) for line in there if not line.is_own for each in (line.protocol, ANY)
    }
    absent = [
        _absent_line(key, model, protocol)
        for model, protocol in _expected(key)
        if (model, protocol) not in found
    ]
    return sorted(there + absent, key=_rank)


def _absent_line(key, model, protocol) -> Line:
    """The line to compare with the paper, by the paper's protocol if any will do."""
    usual = "none" if key.metric == "resmse" else "paper"
    normalisation, *_ = find_experiment(key.experiment).normalisations(key.task, key.metric)
    return Line(
        model=model,
        protocol=usual if protocol == ANY else protocol,
        normalisation=normalisation,
        profile="",
    )


def _rank(line):
    """Order of lines: by model, own normalisations last, by protocol."""
    model, protocol = rank(line.model, MODELS), rank(line.protocol, ("none", *PROTOCOLS))
    return model, line.model, line.is_own, protocol, line.protocol, line.profile


def _expected(key) -> list[tuple[str, str]]:
    """Models and protocols of a complete table; the baselines come by one protocol."""
    models = published_models(key)
    expected = [(model, ANY) for model in models if not is_gtpca(model)]
    if "gtpca" in models:
        setting = find_setting(key.experiment, key.setting)
        protocols = MODELS["gtpca-als"].protocols(setting) if key.metric == "accuracy" else (ANY,)
        expected += [("gtpca-als", protocol) for protocol in protocols] + [("gtpca-adam", ANY)]
    return expected


def _compare(key, cells, wanted, simulated) -> DataFrame:
    """Add published values, differences and verdicts."""
    rows = {model: published_row(key, model) for model in cells["model"].unique()}
    cells["wanted"] = _wanted(key, cells, wanted)
    seen = zip(cells["model"], cells["normalisation"], cells["k"], strict=True)
    cells["published"] = [_at(rows[model], k, own == "own") for model, own, k in seen]
    ours = cells["mean"] * (math.nan if simulated else 1)
    cells["difference"], cells["ratio"] = ours - cells["published"], ours / cells["published"]
    excess = (cells["ratio"] - 1) * (1 if key.metric == "resmse" else -1)
    verdict = np.select([excess < -TOLERANCE, excess > TOLERANCE], ["better", "worse"], "agrees")
    cells["verdict"] = np.where(cells["ratio"].isna(), "", verdict)
    return cells


def _wanted(key, cells, repetitions) -> np.ndarray:
    """Repetitions of each value that a complete table has."""
    models = cells["model"]
    length = models.map({model: len(published_row(key, model)) for model in models.unique()})
    there = cells["count"] > 0
    most = cells.groupby(LINE)["count"].transform("max")
    size = cells.groupby(LINE)["count"].transform("sum")
    # Of several profiles, the one with the most results has to be complete.
    first = size == size.groupby([cells[name] for name in LINE[:3]]).transform("max")
    required = models.isin({model for model, _ in _expected(key)}) & first
    beyond = np.where(there, most, 0)
    return np.where(required & (there | (cells["k"] <= length)), repetitions, beyond)


def _at(row, k, own) -> float:
    """Published value to compare with; none for own normalisations, which the paper has not."""
    value = row[k - 1] if k <= len(row) and not own else None
    return math.nan if value is None else value


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
