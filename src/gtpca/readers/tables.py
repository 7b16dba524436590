"""Tables: one row per sample, one column per value."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gtpca.optional import require
from gtpca.readers.data import Data, check_inflated, check_rows, is_number

__all__ = ["read_parquet", "read_text"]


@dataclass(frozen=True)
class Layout:
    """Where the values of a text table are.

    Attributes
    ----------
    delimiter : str
    skip : int
        Lines before the values.
    head : list of str
        The first line that is not blank: names, or values.
    names : list of str or None
    chosen : list of int
        The columns with values.
    label : int or None
        The column with labels.
    """

    delimiter: str
    skip: int
    head: list[str]
    names: list[str] | None
    chosen: list[int]
    label: int | None

    def name(self, i: int) -> str:
        """How errors call a column."""
        return f"{i}" if self.names is None else repr(self.names[i])


def read_text(path: Path, labels=None, header: bool | None = None) -> Data:
    """Numbers separated by commas, semicolons or tabs."""
    layout = _layout(path, labels, header)
    partly = len(layout.chosen) < len(layout.head)
    text = list(_scan(path, layout)) if partly else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that there is nothing: check_rows says so
        try:
            rows = np.loadtxt(
                path,
                delimiter=layout.delimiter,
                comments=None,
                quotechar='"',
                skiprows=layout.skip,
                usecols=layout.chosen if partly else None,
                ndmin=2,
                encoding="utf-8-sig",
            )
        except ValueError:
            for _ in _scan(path, layout, values=True):
                pass
            raise
    check_rows(rows.shape, rows.dtype)
    if text is not None and len(text) != len(rows):
        raise ValueError(f"there are {len(text)} lines, but {len(rows)} rows of values")
    names = None if layout.names is None else [layout.names[i] for i in layout.chosen]
    found = None if layout.label is None else np.array(text, dtype=str)
    return Data(rows, labels=found, features=names)


def _layout(path, labels, header) -> Layout:
    with open(path, encoding="utf-8-sig", newline="") as file:
        numbered = ((i, line) for i, line in enumerate(file) if line.strip())
        skip, line = next(numbered, (0, ""))
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    delimiter = ";" if ";" in line and delimiter not in line else delimiter
    head = next(csv.reader([line], delimiter=delimiter), [])
    named = not all(map(is_number, head)) if header is None else header
    names = [field.strip().removeprefix("# ") for field in head] if named else None
    columns = list(range(len(head)))
    if names and not names[0]:  # names of rows, as pandas and R write them
        columns.remove(0)
    label = None if labels is None else find_column(labels, names, len(head))
    chosen = [i for i in columns if i != label]
    if not chosen:
        raise ValueError("there is no column with values")
    return Layout(
        delimiter=delimiter,
        skip=skip + 1 if named else skip,
        head=head,
        names=names,
        chosen=chosen,
        label=label,
    )


def find_column(labels, names, count) -> int:
    """The number of a column that is given by name or number."""
    if names is not None and labels in names:
        return names.index(labels)
    number = int(labels) if str(labels).lstrip("-").isdecimal() else None
    if number is not None and -count <= number < count:
        return number % count
    there = f"{count} columns" if names is None else f"columns {', '.join(names[:20])}"
    raise ValueError(f"labels={labels!r} is not a column; there are {there}")


def _scan(path, layout, values=False) -> Iterator[str]:
    """The label of each row; an error names the first line, and column, that is wrong."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        for _ in range(layout.skip):
            next(file)
        table = csv.reader(file, delimiter=layout.delimiter)
        for fields in table:
            if not fields:
                continue
            _check_fields(fields, layout, layout.skip + table.line_num, values)
            yield "" if layout.label is None else fields[layout.label].strip()


def _check_fields(fields, layout, line, values) -> None:
    if len(fields) != len(layout.head):
        raise ValueError(
            f"line {line} has {len(fields)} columns, but the first line has {len(layout.head)}"
        )
    for i in layout.chosen if values else ():
        if not fields[i].strip():
            raise ValueError(f"line {line}: column {layout.name(i)} is empty")
        if not is_number(fields[i]):
            raise ValueError(
                f"column {layout.name(i)} holds text, {fields[i][:40]!r} in line {line}; remove it "
                "or name it by labels"
            )


def read_parquet(path: Path, labels=None) -> Data:
    """All columns of numbers, in memory."""
    parquet = require("pyarrow.parquet", "io")
    with parquet.ParquetFile(path) as file:
        fields = [field for field in file.schema_arrow if not field.name.startswith("__index_")]
        names = [field.name for field in fields]
        label = None if labels is None else names[find_column(labels, names, len(names))]
        kept = [name for name in names if name != label]
        _check_types(fields, label)
        n_values = file.metadata.num_rows * len(fields)
        check_inflated(needed=8 * n_values, stored=path.stat().st_size)
        table = file.read(columns=[*kept, *([] if label is None else [label])])
    columns = [_numbers(table.column(name), name) for name in kept]
    if not columns:
        raise ValueError("there is no column with values")
    rows = np.column_stack(columns)
    check_rows(rows.shape, rows.dtype)
    text = None if label is None else np.array([str(v) for v in table.column(label).to_pylist()])
    return Data(rows, labels=text, features=kept)


def _check_types(fields, label) -> None:
    types = require("pyarrow.types", "io")
    for field in fields:
        kinds = (types.is_integer, types.is_floating, types.is_boolean)
        if field.name != label and not any(is_kind(field.type) for is_kind in kinds):
            raise ValueError(
                f"column {field.name!r} holds {field.type}, but must hold numbers; remove it or "
                "name it by labels"
            )


def _numbers(column, name) -> np.ndarray:
    if column.null_count:
        raise ValueError(f"column {name!r} has {column.null_count} missing values")
    return np.asarray(column.to_numpy())
