"""The roles of the columns of a table: values, labels, ids, or ignored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gtpca.text import did_you_mean

__all__ = ["Columns", "Roles", "find_column", "find_columns"]

FITTED = "the fit"  # for a column that was not named by an option


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
        """All columns of text that accompany the values."""
        return [*self.labels.values(), *([] if self.ids is None else [self.ids])]


@dataclass(frozen=True)
class Columns:
    """What the user said about the columns of a table.

    Attributes
    ----------
    labels, drop, columns : str, int, list of these or None
        Columns of labels, columns to leave out, and those that hold values: by name or number,
        several separated by commas, or the first and the last separated by a colon.
    id : str, int or None
        The column of ids; default: a first column with an empty name, as written by pandas and R.
    lenient : bool
        Whether columns of labels, ids and columns to leave out may be absent.
    long : str, list of str or int, or None
        The columns of times, values and trials, and of channels, of a table with one value per
        line.
    times, channels : list or None
        Those of an earlier long table.
    remembered : tuple of str
        Which of these were not given now, but for an earlier file.
    """

    labels: Any = None
    id: Any = None
    drop: Any = None
    columns: Any = None
    lenient: bool = False
    long: Any = None
    times: Any = None
    channels: Any = None
    remembered: tuple[str, ...] = ()

    @property
    def grid(self) -> dict[str, Any]:
        """Times and channels that are known before a long table is read."""
        return {"times": self.times, "channels": self.channels}

    def roles(self, names, count) -> Roles:
        """The role of each of ``count`` columns; ``names`` is a list of str or None."""
        labels, id, drop, columns = self.labels, self.id, self.drop, self.columns
        if self.lenient:  # column names of an earlier file may not apply here
            labels, id, drop = (_clear(given, names) for given in (labels, id, drop))
            columns = columns if _all_once(columns, names) else _numbered(columns)
        known = names if self.lenient else None
        label = find_columns("labels", labels, names, count, known)
        ids = next(iter(find_columns("id", id, names, count, known)), None)
        if ids is None and names and not names[0] and 0 not in label:
            ids = 0
        left_out = {*label, *find_columns("drop", drop, names, count, known)} | {ids}
        asked = find_columns(self._called("columns"), columns, names, count)
        values = [i for i in (asked or range(count)) if i not in left_out]
        if not values:
            raise ValueError("there is no column with values")
        called = {_name(names, i, "label" if len(label) == 1 else "column {}"): i for i in label}
        return Roles(values, called, ids, "id" if ids is None else _name(names, ids, "id"))

    def _called(self, option) -> str:
        """The name of an option in error messages, if the user gave it."""
        return FITTED if option in self.remembered else option

    def of_long(self, names, count) -> tuple[list[int], list[int]]:
        """The columns of times, values, trials and channels, and those of labels."""
        given = self.long.split(",") if isinstance(self.long, str) else list(self.long)
        if len(given) not in (3, 4):
            raise ValueError(
                f"long={self.long!r} must name three columns, time,value,trial, or also that of "
                "channels, time,value,trial,channel"
            )
        parts = [part.strip() if isinstance(part, str) else part for part in given]
        label = self._called("long")
        found = [find_columns(label, [part], names, count)[0] for part in parts]
        known = names if self.lenient else None
        return found, find_columns("labels", self.labels, names, count, known)


def _all_once(given, names) -> bool:
    """Whether names are all different, or at least those that are given are unique."""
    if given is None or names is None:
        return given is None
    once = isinstance(given, list) and all(names.count(str(part)) == 1 for part in given)
    return once or len(set(names)) == len(names)


def _numbered(given):
    """Columns that are given by number; None if there are none of them."""
    parts = [given] if isinstance(given, (str, int)) else given or ()
    return [part for part in parts if str(part).lstrip("-").isdecimal()] or None


def _clear(given, names):
    """Columns given by number, or by a unique name; None if some are neither."""
    if given is None or (names is not None and len(set(names)) == len(names)):
        return given
    parts = [given] if isinstance(given, (str, int)) else given
    clear = [part for part in parts if _is_clear(str(part), names)]
    return given if len(clear) == len(parts) else clear or None


def _is_clear(text, names) -> bool:
    """Whether a text names columns by number, or by names that are used only once."""
    if text.lstrip("-").isdecimal():
        return True
    pieces = [text] if names is not None and text in names else text.replace(":", ",").split(",")
    return names is not None and all(names.count(piece.strip()) < 2 for piece in pieces)


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
    """The columns that one text, or number, refers to."""
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
        places = [i for i, name in enumerate(names) if name == str(column)]
        if len(places) > 1:
            raise ValueError(
                f"{option}={column!r} is the name of columns {', '.join(map(str, places))}, "
                "counted from 0; give the number of one"
            )
        return places[0]
    number = int(column) if str(column).lstrip("-").isdecimal() else None
    if number is not None and -count <= number < count:
        return number % count
    there = f"{count} columns" if names is None else f"columns {', '.join(names[:20])}"
    hint = did_you_mean(str(column), names or ())
    if option == FITTED:
        raise ValueError(
            f"the model was fitted to a column {column!r}, which is not there.{hint} There are "
            f"{there}; rename them, or say by --columns or --long which to take"
        )
    raise ValueError(f"{option}={column!r} is not a column.{hint} There are {there}")
