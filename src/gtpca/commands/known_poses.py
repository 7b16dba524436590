"""``--known-poses``: where components are, from columns, constants or a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from gtpca.readers.data import is_number
from gtpca.readers.reading import read_data
from gtpca.text import shown

__all__ = ["KnownPoses", "read_known_poses", "some_rows"]

KnownPoses = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[QUANTITY=]WHAT",
        help="Poses that are known: a file with a column per component, or columns of --labels and "
        "numbers, such as start=0,rt.",
    ),
]


def read_known_poses(texts, data) -> dict[str, np.ndarray] | None:
    """Poses (n, g) by the names of quantities; "" for the first one of the family.

    Parameters
    ----------
    texts : list of str or None
        Each ``[QUANTITY=]WHAT``, where WHAT is a file, or columns of labels and numbers that are
        separated by commas; an empty part is a component whose pose is free.
    data : Data
        The samples.
    """
    found: dict[str, np.ndarray] = {}
    for text in texts or ():
        name, equals, what = text.partition("=")
        if not equals or Path(text).exists():
            name, what = "", text
        found[name] = _poses_of(what, data)
    if "" in found and len(texts) > 1:
        raise ValueError("--known-poses: name the quantity of each, as in start=onsets.csv.")
    return found or None


def _poses_of(what, data) -> np.ndarray:
    """The poses (n, g) of a file, or of columns and numbers."""
    parts = [part.strip() for part in what.split(",")]
    if Path(what).suffix and not all(part in data.beside or _is_number(part) for part in parts):
        with read_data(Path(what), missing="ignore") as known:
            typer.echo(f"Read {shown(Path(what))}: {known.summary()}.", err=True)
            rows = np.asarray(known.rows[:], dtype=np.float64)
            return rows.reshape(len(rows), -1)
    return np.stack([_column(part, data) for part in parts], axis=1)


def _is_number(text) -> bool:
    """Whether it is a number, or nothing: a pose that is free."""
    return not text or is_number(text)


def _column(part, data) -> np.ndarray:
    """A column of labels as numbers, or a constant (n,)."""
    if part in data.beside:
        try:
            return np.array([float(value or "nan") for value in data.beside[part]])
        except ValueError as error:
            raise ValueError(
                f"--known-poses: the column {part!r} is not one of numbers."
            ) from error
    if not _is_number(part):
        raise ValueError(
            f"--known-poses: {part!r} is neither a number nor a column of labels, of which there "
            f"are {', '.join(data.beside) or 'none'}; --labels {part} reads a column of DATA, and "
            "a file must have an ending such as .csv."
        )
    return np.full(len(data.rows), float(part or "nan"))


def some_rows(known, part) -> Any:
    """The poses of some rows, as ``fit`` and ``encode`` take them."""
    if known is None:
        return None
    return known[""][part] if "" in known else {name: v[part] for name, v in known.items()}
