"""Tables: one row per sample, one column per value."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gtpca.optional import require
from gtpca.readers.data import Data, check_inflated, check_rows, is_missing, is_number
from gtpca.text import did_you_mean, shortened

__all__ = ["read_parquet", "read_text"]

SHORT_LINES = '; --missing ignore takes lines that end early (in Python missing="ignore")'
DELIMITERS = {".csv": ",;\t", ".tsv": "\t;"}  # the first that is in the first line


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
    ids : int or None
        The column with the names of the rows.
    gaps : bool
        Whether values may be missing.
    """

    delimiter: str
    skip: int
    head: list[str]
    names: list[str] | None
    chosen: list[int]
    label: int | None
    ids: int | None
    gaps: bool = False

    def name(self, i: int) -> str:
        """How errors call a column."""
        return f"{i}" if self.names is None else repr(self.names[i])


def read_text(
    path: Path,
    labels=None,
    header: bool | None = None,
    missing: str = "error",
    sample_shape=None,
) -> Data:
    """Numbers separated by commas, semicolons or tabs.

    With ``missing="ignore"`` fields without a value are NaN, as is what short lines lack: of the
    names, or if there are none of the longest line or of ``sample_shape``.
    """
    layout = _layout(path, labels, header, missing, sample_shape)
    aside = [i for i in (layout.label, layout.ids) if i is not None]
    text = [[fields[i].strip() for i in aside] for fields in _scan(path, layout)] if aside else []
    rows = _values(path, layout)
    check_rows(rows.shape, rows.dtype)
    if aside and len(text) != len(rows):
        raise ValueError(f"there are {len(text)} lines, but {len(rows)} rows of values")
    found = {i: np.array([line[j] for line in text]) for j, i in enumerate(aside)}
    return Data(
        rows,
        labels=None if layout.label is None else found[layout.label],
        features=None if layout.names is None else [layout.names[i] for i in layout.chosen],
        ids=None if layout.ids is None else found[layout.ids],
    )


def _values(path, layout) -> np.ndarray:
    """The columns with values, (n, d)."""
    try:
        rows = _load(path, layout)
        if not len(rows) or rows.shape[1] == len(layout.chosen):
            return rows
        raise ValueError(f"there are {len(layout.chosen)} names, but {rows.shape[1]} columns")
    except ValueError:
        lines = list(_scan(path, layout, values=True))  # which knows what is wrong
        if layout.gaps:
            return _with_gaps(lines, layout)
        raise


def _with_gaps(lines, layout) -> np.ndarray:
    """The columns with values, (n, d), with NaN where there is none."""
    rows = np.full((len(lines), len(layout.chosen)), np.nan)
    for row, fields in zip(rows, lines, strict=True):
        for j, i in enumerate(layout.chosen):
            if i < len(fields) and not is_missing(fields[i]):
                row[j] = float(fields[i])
    return rows


def _load(path, layout) -> np.ndarray:
    how = {"skiprows": layout.skip, "comments": None, "quotechar": '"', "ndmin": 2}
    if len(layout.chosen) < len(layout.head):
        how["usecols"] = layout.chosen
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that there is nothing: check_rows says so
        return np.loadtxt(path, delimiter=layout.delimiter, encoding="utf-8-sig", **how)


def _layout(path, labels, header, missing, sample_shape) -> Layout:
    with open(path, encoding="utf-8-sig", newline="") as file:
        numbered = ((i, line) for i, line in enumerate(file) if line.strip())
        skip, line = next(numbered, (0, ""))
    known = DELIMITERS[path.suffix.lower()]
    delimiter = next((mark for mark in known if mark in line), known[0])
    head = next(csv.reader([line], delimiter=delimiter), [])
    fields = [field.strip().removeprefix("# ") for field in head]
    gaps = missing == "ignore"
    names = fields if (_are_names(fields, skip, gaps) if header is None else header) else None
    if gaps and names is None:
        values = sample_shape[0] if sample_shape is not None and len(sample_shape) == 1 else 0
        wanted = max(_widest(path, delimiter), values + (labels is not None))
        head = [*head, *[""] * (wanted - len(head))]
    label = None if labels is None else find_column(labels, names, len(head))
    ids = 0 if names and not names[0] and label != 0 else None  # as pandas and R write them
    chosen = [i for i in range(len(head)) if i not in (label, ids)]
    if not chosen:
        raise ValueError("there is no column with values")
    return Layout(
        delimiter=delimiter,
        skip=skip if names is None else skip + 1,
        head=head,
        names=names,
        chosen=chosen,
        label=label,
        ids=ids,
        gaps=gaps,
    )


def _widest(path, delimiter) -> int:
    """Columns of the longest line."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        return max((len(fields) for fields in csv.reader(file, delimiter=delimiter)), default=0)


def _are_names(fields, line, gaps=False) -> bool:
    """Whether the first line holds names; docs/command-line.md has the rule as a table."""
    are_numbers = [is_number(field) for field in fields]
    if all(are_numbers):
        return _counts(fields, 0) or _counts(fields, 1)
    if not any(are_numbers) or _counts(fields[1:], 0):
        return True
    if gaps and all(is_number(field) or is_missing(field) for field in fields):
        return False
    raise ValueError(
        f"line {line + 1} mixes numbers with other fields, {shortened(','.join(fields), 80)!r}; "
        "give --header if it holds names, or --no-header if it is a sample (in Python header=True "
        "or header=False)"
    )


def _counts(fields, start) -> bool:
    """Whether the fields are ``start, start + 1, ..``, as pandas names columns by default."""
    return bool(fields) and fields == [str(start + i) for i in range(len(fields))]


def find_column(labels, names, count) -> int:
    """The number of a column that is given by name or number."""
    if names is not None and labels in names:
        return names.index(labels)
    number = int(labels) if str(labels).lstrip("-").isdecimal() else None
    if number is not None and -count <= number < count:
        return number % count
    there = f"{count} columns" if names is None else f"columns {', '.join(names[:20])}"
    hint = did_you_mean(str(labels), names or ())
    raise ValueError(f"labels={labels!r} is not a column.{hint} There are {there}")


def _scan(path, layout, values=False) -> Iterator[list[str]]:
    """The fields of each row; an error names the first line, and column, that is wrong."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        for _ in range(layout.skip):
            next(file)
        table = csv.reader(file, delimiter=layout.delimiter)
        for fields in table:
            if not fields:
                continue
            _check_fields(fields, layout, layout.skip + table.line_num, values)
            yield fields


def _check_fields(fields, layout, line, values) -> None:
    aside = max(i for i in (layout.label, layout.ids, -1) if i is not None)
    short = layout.gaps and aside < len(fields) < len(layout.head)
    if len(fields) != len(layout.head) and not short:
        early = layout.names is None or len(fields) < len(layout.head)
        raise ValueError(
            f"line {line} has {len(fields)} columns, but the first line has {len(layout.head)}"
            + (SHORT_LINES if early and not layout.gaps else "")
        )
    for i in layout.chosen if values else ():
        if i < len(fields):
            _check_value(fields[i], layout, i, line)


def _check_value(field, layout, i, line) -> None:
    if is_number(field) or (layout.gaps and is_missing(field)):
        return
    if not field.strip():
        raise ValueError(
            f"line {line}: column {layout.name(i)} is empty; --missing ignore leaves it out (in "
            'Python missing="ignore")'
        )
    raise ValueError(
        f"column {layout.name(i)} holds text, {field[:40]!r} in line {line}; remove it or name it "
        "by labels"
    )


def read_parquet(path: Path, labels=None, missing: str = "error") -> Data:
    """All columns of numbers, in memory; with ``missing="ignore"`` NaN where there is none."""
    parquet = require("pyarrow.parquet", "io")
    with parquet.ParquetFile(path) as file:
        index = [name for name in file.schema_arrow.names if name.startswith("__index_")]
        fields = [field for field in file.schema_arrow if field.name not in index]
        names = [field.name for field in fields]
        label = None if labels is None else names[find_column(labels, names, len(names))]
        kept = [name for name in names if name != label]
        _check_types(fields, label)
        n_values = file.metadata.num_rows * len(fields)
        check_inflated(needed=8 * n_values, stored=path.stat().st_size)
        table = file.read(columns=[*kept, *index, *([] if label is None else [label])])
    columns = [_numbers(table.column(name), name, missing) for name in kept]
    if not columns:
        raise ValueError("there is no column with values")
    rows = np.column_stack(columns)
    check_rows(rows.shape, rows.dtype)
    ids = _text(table, index[0] if index else None)
    return Data(rows, labels=_text(table, label), features=kept, ids=ids)


def _text(table, name) -> np.ndarray | None:
    """A column as text, if there is one."""
    return None if name is None else np.array([str(v) for v in table.column(name).to_pylist()])


def _check_types(fields, label) -> None:
    types = require("pyarrow.types", "io")
    for field in fields:
        kinds = (types.is_integer, types.is_floating, types.is_boolean)
        if field.name != label and not any(is_kind(field.type) for is_kind in kinds):
            raise ValueError(
                f"column {field.name!r} holds {field.type}, but must hold numbers; remove it or "
                "name it by labels"
            )


def _numbers(column, name, missing) -> np.ndarray:
    if column.null_count and missing == "error":
        raise ValueError(
            f"column {name!r} has {column.null_count} missing values; --missing ignore leaves them "
            'out (in Python missing="ignore")'
        )
    return np.asarray(column.to_numpy())  # with NaN where there is no value
