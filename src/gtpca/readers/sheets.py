"""Sheets of Excel files, which are read as tables are."""

from __future__ import annotations

import csv
import io
import warnings
import zipfile
from pathlib import Path

from gtpca.optional import require
from gtpca.readers.data import Data, check_inflated
from gtpca.readers.tables import TextInMemory, read_text

__all__ = ["read_excel"]

ANY_SHEET, MOST_SHEET = 2**24, 30  # what a sheet may become as text: bytes, or times its size
ROW = 64  # bytes that even an empty row counts as


def read_excel(path: Path, key: str | None = None, **asked) -> Data:
    """One sheet, whose name is ``key``; formulas are read as the values they had when saved.

    ``asked`` are the options of tables, see :func:`~gtpca.readers.tables.read_text`.
    """
    openpyxl, stored = require("openpyxl", "io"), path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        needed = sum(entry.file_size for entry in archive.infolist())
        check_inflated(needed=needed, stored=stored)
        for entry in archive.infolist():
            with archive.open(entry) as file:  # which checks the sum, and that no more comes out
                while file.read(2**20):
                    pass
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and the like
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            sheet = book[_chosen([one.title for one in book.worksheets], key)]
            sheet.reset_dimensions()  # what is stated may be wrong
            text = _text(sheet, stored)
        finally:
            book.close()
    return read_text(TextInMemory(text), **asked)


def _chosen(names, key) -> str:
    """The name of the sheet: the one given, or the only one there is."""
    if (key is None and len(names) == 1) or key in names:
        return names[0] if key is None else key
    there = ", ".join(map(repr, names[:20])) or "none"
    if key is None and names:
        raise ValueError(f"holds several sheets; give the key of one: {there}")
    raise ValueError(
        f"has no sheet{'' if key is None else f' with the key {key!r}'}; there are: {there}"
    )


def _text(sheet, stored) -> str:
    """The cells as text with tabs, a line per row, so that errors name the right one."""
    text, width = io.StringIO(), 0
    table = csv.writer(text, delimiter="\t", lineterminator="\n")
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        fields = [_field(value) for value in row]
        width = width or len(fields)
        fields += [""] * (width - len(fields))  # cells at the end of a row may not be stored
        table.writerow(fields if any(fields) else [])
        needed = text.tell() + ROW * number
        check_inflated(needed=needed, stored=stored, least=ANY_SHEET, most=MOST_SHEET)
    return text.getvalue()


def _field(value) -> str:
    """A cell as text of one line."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else " ".join(str(value).split())
