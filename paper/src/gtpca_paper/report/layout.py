"""How a table is printed: its rows as text, and as Markdown."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gtpca_paper.report.published import published_row
from gtpca_paper.spec import EXPERIMENTS, Experiment, is_gtpca, model_title

__all__ = ["Cell", "Row", "escape_markdown", "printed_rows", "to_markdown"]

EXPLODED = "--"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A number as text, what is printed smaller beside it, and the verdict on it."""

    text: str = ""
    small: str = ""
    verdict: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.small}".strip()


@dataclass(frozen=True, kw_only=True)
class Row:
    """A printed row.

    Attributes
    ----------
    kind : {"published", "ours", "difference", "against"}
    name, label : str
        The model, and what else tells the row from others.
    repetitions : str
    cells : list of Cell, over k
    extra : bool
        Whether the paper has nothing to compare the row with.
    """

    kind: str
    name: str = ""
    label: str
    repetitions: str = ""
    cells: list[Cell]
    extra: bool = False


def printed_rows(table) -> list[Row]:
    """All rows of a table; the published row of a model stands before ours."""
    rows: list[Row] = []
    said = None
    for line, cells in table.lines():
        base = "gtpca" if is_gtpca(line.model) else line.model
        if base != said:
            rows += _published_row(table.key, base, cells["k"])
        said = base
        rows += _our_rows(table, line, cells)
    return rows


def _published_row(key, base, ks) -> Iterator[Row]:
    values = published_row(key, base)
    if values:
        texts = [_number(key, values[k - 1]) if k <= len(values) else "" for k in ks]
        yield Row(
            kind="published",
            name=model_title(base),
            label="published",
            cells=[Cell(text=text) for text in texts],
        )


def _our_rows(table, line, cells) -> Iterator[Row]:
    yield Row(
        kind="ours",
        name=line.title,
        label=table.label(line),
        repetitions=_span(cells),
        cells=[_our_cell(table.key, cell) for cell in cells.itertuples()],
        extra=line.is_own,
    )
    if cells["ratio"].notna().any():
        yield Row(
            kind="difference",
            label=f"difference, {table.unit}",
            cells=[
                Cell() if math.isnan(value) else Cell(text=_signed(value), verdict=verdict)
                for value, verdict in zip(table.deviations(cells), cells["verdict"], strict=True)
            ],
        )
    if cells["pairs"].any():
        texts = ["" if math.isnan(value) else _signed(value) for value in cells["against"]]
        yield Row(
            kind="against",
            label=f"against ALS, {table.unit}, same repetitions",
            repetitions=_span(cells.assign(count=cells["pairs"], identical=False)),
            cells=[Cell(text=text) for text in texts],
            extra=line.is_own,
        )


def _our_cell(key, cell) -> Cell:
    if not cell.count:
        return Cell()
    error = "" if math.isnan(cell.stderr) else f"± {_number(key, cell.stderr, 1)}"
    return Cell(text=_number(key, cell.mean), small=error, verdict=cell.verdict)


def _signed(value) -> str:
    value = round(value, 1) or 0.0  # no negative zero
    text = f"{value:+.1f}" if abs(value) < 1000 else f"{value:+.0e}"
    return text.replace("-", "\u2212")


def _number(key, value, more=0) -> str:
    if value is None or math.isnan(value):
        return EXPLODED
    return f"{value:.{_decimals(key) + more}f}" if abs(value) < 1e5 else f"{value:.1e}"


def _decimals(key) -> int:
    known = EXPERIMENTS.get(key.experiment)
    residual = known.decimals if known else Experiment.decimals
    return residual if key.metric == "resmse" else 1


def _span(cells) -> str:
    """How many repetitions the values have, and whether all are identical."""
    there = cells[cells["count"] > 0]
    if there.empty:
        return "0"
    low, high = there["count"].min(), there["count"].max()
    said = str(low) if low == high else f"{low}-{high}"
    return f"{said}, identical" if there["identical"].all() else said


def to_markdown(table, full=True) -> str:
    """A table as Markdown, all text escaped; if ``full`` with its title and what it lacks."""
    ks = sorted(table.cells["k"].unique())
    head = ["model", "", "repetitions", *(f"k = {k}" for k in ks)]
    rule = ["---", "---", *["---:"] * (len(ks) + 1)]
    rows = [[r.name, r.label, r.repetitions, *map(str, r.cells)] for r in printed_rows(table)]
    printed = [_markdown_row(map(escape_markdown, row)) for row in rows]
    body = [_markdown_row(head), _markdown_row(rule), *printed]
    if not full:
        return "\n".join(body)
    gaps = [f"- {escape_markdown(gap)}" for gap in table.gaps()]
    before = [f"### {escape_markdown(table.title)}", "", escape_markdown(status(table)), ""]
    return "\n".join([*before, *body, *(["", "Missing:", "", *gaps] if gaps else [])])


def status(table) -> str:
    """Whether a table is complete, and by which profiles it was made."""
    used = sorted(set(table.cells["profile"]) - {""})
    profiles = f" Profile: {', '.join(used)}." if used else ""
    if table.complete:
        return f"All {table.expected} results.{profiles}"
    return f"Incomplete: {table.present} of {table.expected} results.{profiles}"


def _markdown_row(texts) -> str:
    return f"| {' | '.join(texts)} |"


def escape_markdown(text) -> str:
    """Text that Markdown shows as it is, on one line."""
    text = html.escape(re.sub(r"\s+", " ", str(text)), quote=False)
    return re.sub(r"([\\`*_\[\]|#~])", r"\\\1", text)
