"""Tables: one row per sample, one column per value."""

from __future__ import annotations

import csv
import gzip
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gtpca.optional import require
from gtpca.readers.columns import Columns, Roles
from gtpca.readers.data import Data, check_inflated, check_rows, is_missing, is_number
from gtpca.readers.long import as_wide
from gtpca.text import shortened

__all__ = ["read_parquet", "read_text"]

SHORT_LINES = '; --missing ignore takes lines that end early (in Python missing="ignore")'
DELIMITERS = {".csv": ",;\t", ".tsv": "\t;", ".txt": "\t;,"}  # the first that is in the first line
SPACES = None  # the delimiter that is any number of spaces


@dataclass(frozen=True)
class Layout:
    """Where the values of a text table are.

    Attributes
    ----------
    delimiter : str or None
        None: any number of spaces.
    skip : int
        Lines before the values.
    head : list of str
        The first line that is not blank: names, or values.
    names : list of str or None
    roles : Roles
        Which column is what.
    gaps : bool
        Whether values may be missing.
    decimal : str
        What stands before the decimals.
    """

    delimiter: str | None
    skip: int
    head: list[str]
    names: list[str] | None
    roles: Roles
    gaps: bool = False
    decimal: str = "."

    @property
    def chosen(self) -> list[int]:
        """The columns with values."""
        return self.roles.values

    def name(self, i: int) -> str:
        """How errors call a column."""
        return f"{i}" if self.names is None else repr(self.names[i])

    def point(self, field: str) -> str:
        """A field with a decimal point, as Python writes numbers."""
        return field if self.decimal == "." else field.replace(self.decimal, ".")


def read_text(
    path: Path,
    header: bool | None = None,
    missing: str = "error",
    *,
    decimal=".",
    sample_shape=None,
    **asked,
) -> Data:
    """Numbers separated by commas, semicolons, tabs or spaces; also packed by gzip.

    With ``missing="ignore"`` fields without a value are NaN, as is what short lines lack: of the
    names, or if there are none of the longest line or of ``sample_shape``. What is ``asked`` of the
    columns is said by :class:`~gtpca.readers.columns.Columns`.
    """
    _check_packed(path)
    if decimal not in (".", ","):
        raise ValueError(f"decimal={decimal!r} must be '.' or ','")
    columns = Columns(**asked)
    if columns.long is not None:
        return _read_long(path, header, columns, decimal, missing)
    layout = _layout(path, columns, header, missing == "ignore", decimal, sample_shape)
    aside = layout.roles.aside
    text = [[fields[i].strip() for i in aside] for fields in _scan(path, layout)] if aside else []
    rows = _values(path, layout)
    check_rows(rows.shape, rows.dtype)
    if aside and len(text) != len(rows):
        raise ValueError(f"there are {len(text)} lines, but {len(rows)} rows of values")
    found = {i: np.array([line[j] for line in text]) for j, i in enumerate(aside)}
    names = layout.names and [layout.names[i] for i in layout.chosen]
    return _data(rows, names, layout.roles, found)


def _data(rows, names, roles, found) -> Data:
    """The values of a table and, by the numbers of their columns, the texts beside them."""
    beside = {name: found[i] for name, i in roles.labels.items()}
    return Data(
        rows,
        labels=next(iter(beside.values()), None),
        features=names,
        ids=None if roles.ids is None else found[roles.ids],
        beside=beside,
        id_name=roles.id_name,
    )


def _read_long(path, header, columns, decimal, missing) -> Data:
    """A table with one value a line."""
    layout = _layout(path, Columns(lenient=True), header, True, decimal)
    names, lines = layout.names, list(_scan(path, layout))
    roles, label = columns.of_long(names, len(layout.head))
    table = {i: np.array([fields[i].strip() for fields in lines]) for i in [*roles, *label]}
    called = {i: names[i] if names else f"column {i}" for i in table}
    numbers = [_as_numbers(table[i], layout, i) for i in roles[:2]]
    texts, beside = [table[i] for i in roles[2:]], {called[i]: table[i] for i in label}
    how = {"beside": beside, "missing": missing, "grid": columns.grid}
    return as_wide([called[i] for i in roles], *numbers, *texts, **how)


def _as_numbers(fields, layout, i) -> np.ndarray:
    """The numbers of a column, NaN where there is none."""
    for line, field in enumerate(fields):
        _check_value(field, layout, i, layout.skip + line + 1)
    return np.array([np.nan if is_missing(f) else float(layout.point(f)) for f in fields])


def _check_packed(path) -> None:
    """A packed file must not become a huge text."""
    if path.suffix.lower() != ".gz":
        return
    size = 0
    with gzip.open(path) as file:
        while piece := file.read(2**20):
            size += len(piece)
            check_inflated(needed=size, stored=path.stat().st_size)


@contextmanager
def _opened(path):
    """The text of a table."""
    unpack = gzip.open if path.suffix.lower() == ".gz" else open
    with unpack(path, "rt", encoding="utf-8-sig", newline="") as file:
        yield file


def _ending(path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return f".{name.rpartition('.')[2]}"


def _lines(file, delimiter) -> Iterator[tuple[int, list[str]]]:
    """The number and the fields of each line."""
    if delimiter is SPACES:
        yield from ((i, line.split()) for i, line in enumerate(file, start=1))
        return
    table = csv.reader(file, delimiter=delimiter)
    yield from ((table.line_num, fields) for fields in table)


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
                row[j] = float(layout.point(fields[i]))
    return rows


def _load(path, layout) -> np.ndarray:
    how = {"skiprows": layout.skip, "comments": None, "quotechar": '"', "ndmin": 2}
    if layout.chosen != list(range(len(layout.head))):
        how["usecols"] = layout.chosen
    if layout.decimal != ".":
        how["converters"] = lambda field: float(layout.point(field))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that there is nothing: check_rows says so
        return np.loadtxt(path, delimiter=layout.delimiter, encoding="utf-8-sig", **how)


def _layout(path, columns, header, gaps, decimal, sample_shape=None) -> Layout:
    with _opened(path) as file:
        numbered = ((i, line) for i, line in enumerate(file) if line.strip())
        skip, line = next(numbered, (0, ""))
    delimiter = _delimiter(path, line, decimal)
    head = next((fields for _, fields in _lines([line], delimiter)), [])
    fields = [field.strip().removeprefix("# ") for field in head]
    points = [field.replace(decimal, ".") for field in fields]
    names = fields if (_are_names(points, skip, gaps) if header is None else header) else None
    if gaps and names is None:
        head = [*head, *[""] * (_widest(path, delimiter) - len(head))]
    roles = columns.roles(names, len(head))
    if gaps and names is None and sample_shape is not None:
        head, roles = _with_room(head, roles, sample_shape)
    return Layout(
        delimiter=delimiter,
        skip=skip if names is None else skip + 1,
        head=head,
        names=names,
        roles=roles,
        gaps=gaps,
        decimal=decimal,
    )


def _with_room(head, roles, sample_shape) -> tuple[list[str], Roles]:
    """The same with columns for the values that all lines lack, if samples are rows of values."""
    lacking = sample_shape[0] - len(roles.values) if len(sample_shape) == 1 else 0
    more = range(len(head), len(head) + lacking)
    return [*head, *[""] * len(more)], replace(roles, values=[*roles.values, *more])


def _delimiter(path, line, decimal) -> str | None:
    """What separates the fields of the first line."""
    known = DELIMITERS[_ending(path)].replace("," if decimal == "," else "", "")
    found = next((mark for mark in known if mark in line), None)
    parts = line.split()
    if decimal == "," and found is None and any(part.count(",") > 1 for part in parts):
        raise ValueError(
            "nothing but commas separates the columns, but decimals are said to follow them; "
            '--decimal . if they do not (in Python decimal=".")'
        )
    spaced = _ending(path) == ".txt" or all(is_number(p.replace(decimal, ".")) for p in parts)
    return SPACES if found is None and len(parts) > 1 and spaced else found or known[0]


def _widest(path, delimiter) -> int:
    """Columns of the longest line."""
    with _opened(path) as file:
        return max((len(fields) for _, fields in _lines(file, delimiter)), default=0)


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


def _scan(path, layout, values=False) -> Iterator[list[str]]:
    """The fields of each row; an error names the first line, and column, that is wrong."""
    with _opened(path) as file:
        for _ in range(layout.skip):
            next(file)
        for number, fields in _lines(file, layout.delimiter):
            if not fields:
                continue
            _check_fields(fields, layout, layout.skip + number, values)
            yield fields


def _check_fields(fields, layout, line, values) -> None:
    aside = max([*layout.roles.aside, -1])
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
    if is_number(layout.point(field)) or (layout.gaps and is_missing(field)):
        return
    if not field.strip():
        raise ValueError(
            f"line {line}: column {layout.name(i)} is empty; --missing ignore leaves it out (in "
            'Python missing="ignore")'
        )
    text = f"column {layout.name(i)} holds text, {field[:40]!r} in line {line}"
    if layout.decimal == "." and is_number(field.replace(",", ".")):
        raise ValueError(f'{text}; --decimal , reads it (in Python decimal=",")')
    raise ValueError(f"{text}; remove it or name it by labels, id or drop")


def read_parquet(path: Path, missing: str = "error", **asked) -> Data:
    """All columns of numbers, in memory; with ``missing="ignore"`` NaN where there is none."""
    parquet = require("pyarrow.parquet", "io")
    with parquet.ParquetFile(path) as file:
        index = [name for name in file.schema_arrow.names if name.startswith("__index_")]
        fields = [field for field in file.schema_arrow if field.name not in index]
        n_values = file.metadata.num_rows * len(fields)
        check_inflated(needed=8 * n_values, stored=path.stat().st_size)
        table = file.read()
    names, columns = [field.name for field in fields], Columns(**asked)
    if columns.long is not None:
        return _long_parquet(table, names, columns, missing)
    roles = columns.roles(names, len(names))
    kept = [names[i] for i in roles.values]
    _check_types([fields[i] for i in roles.values])
    rows = np.column_stack([_numbers(table.column(name), name, missing) for name in kept])
    check_rows(rows.shape, rows.dtype)
    data = _data(rows, kept, roles, {i: _text(table, names[i]) for i in roles.aside})
    if roles.ids is None and index:
        return replace(data, ids=_text(table, index[0]))
    return data


def _long_parquet(table, names, columns, missing) -> Data:
    """A table with one value a row."""
    roles, label = ([names[i] for i in found] for found in columns.of_long(names, len(names)))
    numbers = [_numbers(table.column(name), name, "ignore") for name in roles[:2]]
    texts, beside = [_text(table, name) for name in roles[2:]], {n: _text(table, n) for n in label}
    how = {"beside": beside, "missing": missing, "grid": columns.grid}
    return as_wide(roles, *numbers, *texts, **how)


def _text(table, name) -> np.ndarray:
    """A column as text."""
    return np.array([str(v) for v in table.column(name).to_pylist()])


def _check_types(fields) -> None:
    types = require("pyarrow.types", "io")
    for field in fields:
        kinds = (types.is_integer, types.is_floating, types.is_boolean)
        if not any(is_kind(field.type) for is_kind in kinds):
            raise ValueError(
                f"column {field.name!r} holds {field.type}, but must hold numbers; remove it or "
                "name it by labels, id or drop"
            )


def _numbers(column, name, missing) -> np.ndarray:
    if column.null_count and missing == "error":
        raise ValueError(
            f"column {name!r} has {column.null_count} missing values; --missing ignore leaves them "
            'out (in Python missing="ignore")'
        )
    return np.asarray(column.to_numpy())  # with NaN where there is no value
