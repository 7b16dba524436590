"""Writing results to files: tables and arrays, atomically."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gtpca.files import atomic_file, npy_bytes, write_bytes
from gtpca.optional import require

__all__ = ["write_array", "write_table"]

ENDINGS = (".csv", ".npy", ".parquet")


def write_table(path: str | PathLike[str], columns: Mapping[str, Any]) -> None:
    """Write named columns of equal length.

    Parameters
    ----------
    path : path
        ``.csv``, ``.npy`` (numbers alone, without the names) or ``.parquet``; "-" is standard
        output, in the form of ``.csv``. Numbers are written so that they can be read back exactly.
    columns : dict of str to array (n,)

    Examples
    --------
    >>> from gtpca.readers import write_table
    >>> write_table("-", {"sample": [0, 1], "score": [0.5, -2.0]})
    sample,score
    0,0.5
    1,-2.0
    """
    arrays = {str(name): np.asarray(values) for name, values in columns.items()}
    length = next((values.size for values in arrays.values()), 0)
    for name, values in arrays.items():
        if values.shape != (length,):
            raise ValueError(f"column {name!r} has shape {values.shape}, but must be ({length},).")
        if values.dtype.kind not in "biufUO":
            raise ValueError(f"column {name!r} holds {values.dtype}; only numbers and text can be.")
    if not arrays:
        raise ValueError("columns is empty; at least one column is needed.")
    _write(path, arrays)


def write_array(path: str | PathLike[str], array: ArrayLike) -> None:
    """Write one array.

    Parameters
    ----------
    path : path
        ``.npy``, or for (n, d) also ``.csv``, ``.parquet`` or "-", with columns ``x0, x1, ..``.
    array : array
    """
    array = np.asarray(array)
    if str(path) != "-" and Path(path).suffix.lower() == ".npy":
        write_bytes(path, _npy(array))
    elif array.ndim != 2:
        raise ValueError(
            f"{path}: an array of shape {array.shape} is not a table; write it to .npy."
        )
    else:
        # not plain numbers, which would be read back as a row
        _write(path, {f"x{j}": column for j, column in enumerate(array.T)})


def _write(path, arrays) -> None:
    ending = ".csv" if str(path) == "-" else Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{path}: the extension {ending!r} is none of {', '.join(ENDINGS)}.")
    if str(path) == "-":
        sys.stdout.write(_csv(arrays))
    elif ending == ".csv":
        write_bytes(path, _csv(arrays).encode())
    elif ending == ".npy":
        write_bytes(path, _npy(np.column_stack(list(arrays.values()))))
    else:
        _write_parquet(path, arrays)


def _csv(arrays) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(arrays)
    writer.writerows(zip(*map(_exact, arrays.values()), strict=True))
    return text.getvalue()


def _exact(values) -> list:
    """Python's numbers, or for short floats the shortest text that reads back as the same."""
    short = values.dtype.kind == "f" and values.dtype.itemsize < 8
    return (values.astype(str) if short else values).tolist()


def _npy(array) -> bytes:
    if array.dtype.kind not in "biufc":
        raise ValueError(f"values of dtype {array.dtype} cannot be written to .npy; use .csv.")
    return npy_bytes(array)


def _write_parquet(path, arrays) -> None:
    pyarrow, parquet = require("pyarrow", "io"), require("pyarrow.parquet", "io")
    table = pyarrow.table({name: pyarrow.array(values) for name, values in arrays.items()})
    with atomic_file(path) as file:
        parquet.write_table(table, file)
