"""Which column of a table is what: values, labels, ids, or nothing of interest."""

from __future__ import annotations

from dataclasses import dataclass

from gtpca.text import did_you_mean

__all__ = ["Roles", "find_column", "find_columns", "find_roles"]


@dataclass(frozen=True)
class Roles:
    """The numbers of columns by what they hold.

    Attributes
    ----------
    values : list of int
    labels : dict of str to int
        By name.
    ids : int or None
    id_name : str
    """

    values: list[int]
    labels: dict[str, int]
    ids: int | None = None
    id_name: str = "id"

    @property
    def aside(self) -> list[int]:
        """All columns that hold text beside the values."""
        return [*self.labels.values(), *([] if self.ids is None else [self.ids])]


def find_roles(
    names, count, *, labels=None, id=None, drop=None, columns=None, lenient=False
) -> Roles:
    """What each of ``count`` columns is.

    Parameters
    ----------
    names : list of str or None
    count : int
    labels, drop, columns : str, int, list of these or None
        Columns of labels, columns to leave out, and those that hold values: by name or number,
        several with commas between, or the first and the last with a colon between.
    id : str, int or None
        The column of ids; default: a first one whose name is empty, as pandas and R write it.
    lenient : bool
        Whether labels, ids and what is left out may be absent.
    """
    unique = names is not None and len(set(names)) == len(names)
    if lenient and not unique:  # what an earlier file called its columns is of no use here
        labels, id, drop, columns = (_numbered(given) for given in (labels, id, drop, columns))
    known = names if lenient else None
    label = find_columns("labels", labels, names, count, known)
    ids = next(iter(find_columns("id", id, names, count, known)), None)
    if ids is None and names and not names[0] and 0 not in label:
        ids = 0
    left_out = {*label, *find_columns("drop", drop, names, count, known)} | {ids}
    asked = find_columns("columns", columns, names, count)
    values = [i for i in (asked or range(count)) if i not in left_out]
    if not values:
        raise ValueError("there is no column with values")
    called = {_name(names, i, "label" if len(label) == 1 else "column {}"): i for i in label}
    return Roles(values, called, ids, "id" if ids is None else _name(names, ids, "id"))


def _numbered(given):
    """Columns that are given by number; None if there are none of them."""
    parts = [given] if isinstance(given, (str, int)) else given or ()
    return [part for part in parts if str(part).lstrip("-").isdecimal()] or None


def _name(names, i, default) -> str:
    return (names[i] if names else "") or default.format(i)


def find_columns(option, given, names, count, known=None) -> list[int]:
    """The numbers of columns, in the order given; those not among the ``known`` are left out."""
    if given is None:
        return []
    found: list[int] = []
    for part in [given] if isinstance(given, (str, int)) else given:
        found += _find(option, part, names, count, known)
    return list(dict.fromkeys(found))


def _find(option, part, names, count, known) -> list[int]:
    """The columns that one text, or number, stands for."""
    text = str(part)
    if not (names and text in names):
        if "," in text:
            pieces = [piece.strip() for piece in text.split(",")]
            return find_columns(option, pieces, names, count, known)
        first, colon, last = text.partition(":")
        if colon:
            ends = [find_column(option, end, names, count) for end in (first, last)]
            return list(range(ends[0], ends[1] + 1))
        if known is not None and not text.lstrip("-").isdecimal():
            return []
    return [find_column(option, part, names, count)]


def find_column(option, column, names, count) -> int:
    """The number of a column that is given by name or number."""
    if names is not None and str(column) in names:
        return names.index(str(column))
    number = int(column) if str(column).lstrip("-").isdecimal() else None
    if number is not None and -count <= number < count:
        return number % count
    there = f"{count} columns" if names is None else f"columns {', '.join(names[:20])}"
    hint = did_you_mean(str(column), names or ())
    raise ValueError(f"{option}={column!r} is not a column.{hint} There are {there}")
