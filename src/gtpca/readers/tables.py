"""Tables: one row per sample, one column per value."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import warnings
from array import array
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gtpca import checks
from gtpca.optional import require
from gtpca.readers.columns import Columns, Roles
from gtpca.readers.data import (
    Data,
    as_texts,
    check_inflated,
    check_rows,
    is_missing,
    is_number,
    some,
)
from gtpca.readers.encodings import UTF8, check_encoding, encoding_hint, unpacked
from gtpca.readers.long import as_wide
from gtpca.text import shortened

__all__ = ["TextInMemory", "read_parquet", "read_text"]

SHORT_LINES = '; --missing ignore takes lines that end early (in Python missing="ignore")'
TOO_LONG = (
    "; remove what is too much in it, or, if it is the other lines that end early, --missing "
    'ignore fills them (in Python missing="ignore")'
)
UNNAMED = "; name all columns in the first line, and put fields with separators in them into quotes"
DELIMITERS = {".csv": ",;\t", ".tsv": "\t;", ".txt": "\t;,"}  # the first in the first line
SPACES = None  # this delimiter means any number of spaces
MOST_CLASSES = 60  # the UCR archive has up to this many
ANY_TEXT, MOST_TEXT = 2**24, 30  # what compressed text may expand to: bytes, or times its size


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
        The decimal separator.
    encoding : str
        The encoding of the text.
    """

    delimiter: str | None
    skip: int
    head: list[str]
    names: list[str] | None
    roles: Roles
    gaps: bool = False
    decimal: str = "."
    encoding: str = UTF8

    @property
    def chosen(self) -> list[int]:
        """The columns with values."""
        return self.roles.values

    def name(self, i: int) -> str:
        """The name of a column in error messages."""
        return f"{i}" if self.names is None else repr(self.names[i])

    def point(self, field: str) -> str:
        """A field with a decimal point, as in Python."""
        return field if self.decimal == "." else field.replace(self.decimal, ".")


@dataclass(frozen=True)
class TextInMemory:
    """A text with tabs that is in no file, for :func:`read_text`."""

    text: str
    name: str = "text.tsv"


def read_text(
    path: Path | TextInMemory,
    header: bool | None = None,
    missing: str = "error",
    *,
    decimal=".",
    encoding=UTF8,
    sample_shape=None,
    **asked,
) -> Data:
    """Numbers separated by commas, semicolons, tabs or spaces; also compressed by gzip.

    With ``missing="ignore"``, fields without a value are NaN, and short lines are extended with
    NaN: to the number of names or, without names, to the longest line or ``sample_shape``.
    ``asked`` says what is known about the columns, see :class:`~gtpca.readers.columns.Columns`.
    """
    if decimal not in (".", ","):
        raise ValueError(f"decimal={decimal!r} must be '.' or ','")
    columns, encoding = Columns(**asked), check_encoding(encoding)
    size = _text_size(path)
    try:
        if columns.long is not None:
            return _read_long(path, header, columns, decimal, encoding, missing)
        layout = _layout(
            path,
            columns,
            header,
            sample_shape,
            gaps=missing == "ignore",
            decimal=decimal,
            encoding=encoding,
        )
        return _read_wide(path, layout, size)
    except UnicodeDecodeError as error:
        raise ValueError(encoding_hint(path, encoding, error)) from None


def _read_wide(path, layout, size) -> Data:
    """A table with one sample per line, from a text of ``size`` bytes."""
    aside = layout.roles.aside
    text = [[fields[i].strip() for i in aside] for fields in _scan(path, layout)] if aside else []
    rows = _values(path, layout, size)
    check_rows(rows.shape, rows.dtype)
    if aside and len(text) != len(rows):
        raise ValueError(f"there are {len(text)} lines, but {len(rows)} rows of values")
    found = {
        i: as_texts(f"column {layout.name(i)}", [line[j] for line in text])
        for j, i in enumerate(aside)
    }
    if layout.names is None and layout.roles.values == list(range(len(layout.head))):
        _warn_of_classes(rows)
    names = layout.names and [layout.names[i] for i in layout.chosen]
    return _data(rows, names, layout.roles, found)


def _warn_of_classes(rows) -> None:
    """Warn if only the first column holds a few integers, like classes in the UCR archive."""
    with np.errstate(invalid="ignore"):
        whole = ((rows == np.rint(rows)) | np.isnan(rows)).all(axis=0)
    classes = np.unique(rows[np.isfinite(rows[:, 0]), 0])
    if whole[0] and not whole[1:].any() and 2 <= len(classes) <= min(MOST_CLASSES, len(rows) // 4):
        checks.warn(
            f"column 0 holds the integers {some(classes.astype(int))} alone, and no other column "
            "does, as classes in the first column of the UCR archive: --labels 0 takes them as "
            "labels (in Python labels=0), else they are data.",
            UserWarning,
        )


def _data(rows, names, roles, found) -> Data:
    """The values of a table and, by the numbers of their columns, the accompanying texts."""
    beside = {name: found[i] for name, i in roles.labels.items()}
    return Data(
        rows,
        labels=next(iter(beside.values()), None),
        features=names,
        ids=None if roles.ids is None else found[roles.ids],
        beside=beside,
        id_name=roles.id_name,
    )


def _read_long(path, header, columns, decimal, encoding, missing) -> Data:
    """A table with one value per line."""
    layout = _layout(
        path, Columns(lenient=True), header, gaps=True, decimal=decimal, encoding=encoding
    )
    roles, label = columns.of_long(layout.names, len(layout.head))
    numbers = {i: array("d") for i in roles[:2]}
    texts: dict[int, list[str]] = {i: [] for i in [*roles[2:], *label]}
    for line, fields in _numbered(path, layout):
        if len(fields) < len(layout.head):
            raise ValueError(_unequal(line, fields, layout))
        for i, column in numbers.items():
            column.append(_as_number(fields[i], layout, i, line))
        for i, column_of_text in texts.items():
            column_of_text.append(sys.intern(fields[i].strip()))  # each of them occurs many times
    called = {i: layout.names[i] if layout.names else f"column {i}" for i in [*roles, *label]}
    found = {i: as_texts(f"column {layout.name(i)}", texts[i]) for i in texts}
    beside = {called[i]: found[i] for i in label}
    values = [np.array(numbers[i]) for i in roles[:2]]
    return as_wide(
        [called[i] for i in roles],
        *values,
        *[found[i] for i in roles[2:]],
        beside=beside,
        missing=missing,
        grid=columns.grid,
    )


def _as_number(field, layout, i, line) -> float:
    """The number in a field, NaN if there is none."""
    _check_value(field, layout, i, line)
    return np.nan if is_missing(field) else float(layout.point(field))


def _text_size(path) -> int:
    """Bytes of the text; a compressed file must not become a huge one."""
    if isinstance(path, TextInMemory):
        return len(path.text)
    stored = path.stat().st_size
    if path.suffix.lower() != ".gz":
        return stored
    size = 0
    with gzip.open(path) as file:
        while piece := file.read(2**20):
            size += len(piece)
            check_inflated(needed=size, stored=stored, least=ANY_TEXT, most=MOST_TEXT)
    return size


@contextmanager
def _opened(path, encoding):
    """The text of a table."""
    if isinstance(path, TextInMemory):
        yield io.StringIO(path.text)
        return
    with unpacked(path, "rt", encoding=encoding, newline="") as file:
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


def _values(path, layout, size) -> np.ndarray:
    """The columns with values, (n, d), from a text of ``size`` bytes."""
    try:
        rows = _load(path, layout)
        if not len(rows) or rows.shape[1] == len(layout.chosen):
            return rows
        raise ValueError(f"there are {len(layout.chosen)} names, but {rows.shape[1]} columns")
    except ValueError:
        if layout.gaps:
            return _with_gaps(path, layout, size)
        deque(_scan(path, layout, values=True), maxlen=0)  # which reports what is wrong
        raise


def _with_gaps(path, layout, size) -> np.ndarray:
    """The columns with values, (n, d), with NaN for empty fields."""
    shape = (sum(1 for _ in _scan(path, layout, values=True)), len(layout.chosen))
    check_inflated(needed=8 * shape[0] * shape[1], stored=size)
    rows = np.full(shape, np.nan)
    for row, fields in zip(rows, _scan(path, layout), strict=True):
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
        warnings.simplefilter("ignore", UserWarning)  # check_rows reports that there is nothing
        path = io.StringIO(path.text) if isinstance(path, TextInMemory) else path
        return np.loadtxt(path, delimiter=layout.delimiter, encoding=layout.encoding, **how)


def _layout(path, columns, header, sample_shape=None, *, gaps, decimal, encoding) -> Layout:
    with _opened(path, encoding) as file:
        numbered = ((i, line) for i, line in enumerate(file) if line.strip())
        skip, line = next(numbered, (0, ""))
    delimiter = _delimiter(path, line, decimal)
    head = next((fields for _, fields in _lines([line], delimiter)), [])
    fields = [field.strip().removeprefix("# ") for field in head]
    points = [field.replace(decimal, ".") for field in fields]
    names = fields if (_are_names(points, skip, gaps) if header is None else header) else None
    if gaps and names is None:
        head = [*head, *[""] * (_widest(path, delimiter, encoding) - len(head))]
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
        encoding=encoding,
    )


def _with_room(head, roles, sample_shape) -> tuple[list[str], Roles]:
    """The same with columns for values that all lines lack, if samples are rows of values."""
    lacking = sample_shape[0] - len(roles.values) if len(sample_shape) == 1 else 0
    more = range(len(head), len(head) + lacking)
    return [*head, *[""] * len(more)], replace(roles, values=[*roles.values, *more])


def _delimiter(path, line, decimal) -> str | None:
    """The delimiter of the fields of the first line."""
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


def _widest(path, delimiter, encoding) -> int:
    """Columns of the longest line."""
    with _opened(path, encoding) as file:
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
    yield from (fields for _, fields in _numbered(path, layout, values))


def _numbered(path, layout, values=False) -> Iterator[tuple[int, list[str]]]:
    """The same with the numbers of lines."""
    with _opened(path, layout.encoding) as file:
        for _ in range(layout.skip):
            next(file)
        for number, fields in _lines(file, layout.delimiter):
            if not fields:
                continue
            _check_fields(fields, layout, layout.skip + number, values)
            yield layout.skip + number, fields


def _check_fields(fields, layout, line, values) -> None:
    aside = max([*layout.roles.aside, -1])
    short = layout.gaps and aside < len(fields) < len(layout.head)
    if len(fields) != len(layout.head) and not short:
        raise ValueError(_unequal(line, fields, layout) + _remedy(fields, layout))
    for i in layout.chosen if values else ():
        if i < len(fields):
            _check_value(fields[i], layout, i, line)


def _unequal(line, fields, layout) -> str:
    return f"line {line} has {len(fields)} columns, but the first line has {len(layout.head)}"


def _remedy(fields, layout) -> str:
    """What would work for a line that is shorter, or longer, than the first."""
    if len(fields) < len(layout.head):
        return "" if layout.gaps else SHORT_LINES
    return UNNAMED if layout.names is not None else TOO_LONG


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
    """All columns of numbers, in memory; with ``missing="ignore"``, NaN for empty fields."""
    parquet = require("pyarrow.parquet", "io")
    with parquet.ParquetFile(path) as file:
        schema, n_rows, size = file.schema_arrow, file.metadata.num_rows, path.stat().st_size
    index = [name for name in schema.names if name.startswith("__index_")][:1]
    fields = [field for field in schema if not field.name.startswith("__index_")]
    names, columns = [field.name for field in fields], Columns(**asked)
    check_inflated(needed=8 * n_rows * len(fields), stored=size)
    if columns.long is not None:
        return _long_parquet(parquet, path, names, columns, missing)
    roles = columns.roles(names, len(names))
    kept, aside = ([names[i] for i in part] for part in (roles.values, roles.aside))
    _check_types([fields[i] for i in roles.values])
    table = _table(parquet, path, kept, aside if roles.ids is not None else [*aside, *index])
    rows = np.column_stack([_numbers(table.column(name), name, missing) for name in kept])
    check_rows(rows.shape, rows.dtype)
    data = _data(rows, kept, roles, {i: _text(table, names[i], size) for i in roles.aside})
    if roles.ids is None and index:
        return replace(data, ids=_text(table, index[0], size))
    return data


def _table(parquet, path, numbers, texts):
    """The given columns; texts that occur many times are stored in memory once."""
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        return file.read(columns=[*dict.fromkeys([*numbers, *texts])])


def _long_parquet(parquet, path, names, columns, missing) -> Data:
    """A table with one value per row."""
    roles, label = ([names[i] for i in found] for found in columns.of_long(names, len(names)))
    table = _table(parquet, path, roles[:2], [*roles[2:], *label])
    numbers = [_numbers(table.column(name), name, "ignore") for name in roles[:2]]
    found = {name: _text(table, name, path.stat().st_size) for name in [*roles[2:], *label]}
    texts, beside = [found[name] for name in roles[2:]], {name: found[name] for name in label}
    return as_wide(roles, *numbers, *texts, beside=beside, missing=missing, grid=columns.grid)


def _text(table, name, stored) -> np.ndarray:
    """A column as text, from a file of ``stored`` bytes."""
    texts: list[str] = []
    for chunk in table.column(name).chunks:
        if hasattr(chunk, "dictionary"):
            known = [str(v) for v in chunk.dictionary.to_pylist()]
            texts += [str(None) if i is None else known[i] for i in chunk.indices.to_pylist()]
        else:
            texts += [str(v) for v in chunk.to_pylist()]
    return as_texts(f"column {name!r}", texts, stored)


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
    return np.asarray(column.to_numpy())  # with NaN for empty fields
