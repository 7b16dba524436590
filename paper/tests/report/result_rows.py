"""Made-up rows with known means, and the tables of them."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from gtpca_paper.report import tables
from gtpca_paper.report.expected import wanted_tables
from gtpca_paper.report.published import published_row
from gtpca_paper.rows import TableKey
from gtpca_paper.spec import MODELS

OSCILLATIONS = TableKey("oscillations", "512", "projection", "resmse")
MNIST = TableKey("mnist", "iii", "classification", "accuracy")
NASTY = "<script>alert('x')</script> | a_b"


def row(key=OSCILLATIONS, **fields):
    base = {"model": "pca", "protocol": "none", "normalisation": "same", "k": 1, "repetition": 0}
    rest = {"value": 0.9, "seconds": 1.0, "simulated": False, "profile": "paper"}
    model = fields.get("model")
    present = {"made": {"revision": MODELS[model].revision if model in MODELS else 0}}
    return key._asdict() | base | rest | present | fields


def repeated(values, key=OSCILLATIONS, **fields):
    return [row(key, repetition=r, value=value, **fields) for r, value in enumerate(values)]


def whole_table(factor=1.0, key=OSCILLATIONS, repetitions=2, **fields):
    """All of a table in the profile "paper", as published but for a factor."""
    rows = []
    for line, k in wanted_tables("paper")[key]:
        value = published_row(key, line.model)[k - 1]
        values = [None if value is None else value * factor] * repetitions
        rows += repeated(values, key, **line._asdict() | {"k": k, "scale": 1.0, **fields})
    return rows


def write_rows(rows, folder):
    """Make a folder with the rows, and return it."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(lines, encoding="utf-8")
    return folder


def tables_of(rows, **options):
    """All tables that the rows make."""
    with TemporaryDirectory() as folder:
        return tables.make_tables(tables.read_rows(write_rows(rows, folder)), **options)


def table_of(rows, **options):
    """The one table that the rows make."""
    (table,) = tables_of(rows, **options)
    return table


def cell(table, k=1, **fields):
    cells = table.cells[table.cells["k"] == k]
    for name, value in fields.items():
        cells = cells[cells[name] == value]
    (found,) = cells.to_dict("records")
    return found
