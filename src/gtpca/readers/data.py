"""The return value of readers, and the rules that all readers share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gtpca.data.labels import Labelled
from gtpca.readers.axes import labels_of
from gtpca.text import one_line, shortened

__all__ = [
    "Data",
    "FileRows",
    "as_texts",
    "check_inflated",
    "check_pieces",
    "check_rows",
    "choose",
    "is_missing",
    "is_number",
    "some",
]

LARGEST_PIECE = 2**30  # bytes of one row, or of one chunk of a file
ANY_FILE = 2**26  # bytes that even the smallest file may expand to
MOST_INFLATED = 100  # times its size that a larger file may expand to
NOTHING = ("", "na", "n/a", "nan", "null", "none", "?")  # text fields that mean a missing value


@dataclass(frozen=True, eq=False)
class Data:
    """Rows of a file, with what the file says about them.

    Attributes
    ----------
    rows : array, memory map or FileRows (n, \\*sample_shape)
        Input for ``GTPCA.fit``. The latter two are read piece by piece when needed.
    labels : array (n,) of str, or None
    features : list of str or None
        Names of the columns of a table.
    channels : list of str or None
        Names along the last axis of a recording, or of a long table with channels.
    sampling_rate : float or None
        In Hz.
    ids : array (n,) of str, or None
        Names of the rows of a table, or of the files in a folder.
    beside : dict of str to array (n,) of str
        All columns of labels by name; ``labels`` is the first of them.
    id_name : str
        Name of the ids.
    start : float
        Time of the first point, in seconds.
    positions : array (d,) or None
        Positions of the points of a series, if the file contains them.
    times : array (d,) or None
        The same values as written in the file.
    axes : tuple of str or None
        Names of the axes of a sample.
    shapes : int array (n, 2 or 3) or None
        Shapes of images of unequal size, before they were padded.
    """

    rows: Any
    labels: np.ndarray | None = None
    features: list[str] | None = None
    channels: list[str] | None = None
    sampling_rate: float | None = None
    ids: np.ndarray | None = None
    beside: dict[str, np.ndarray] = field(default_factory=dict)
    id_name: str = "id"
    start: float = 0.0
    positions: np.ndarray | None = None
    times: np.ndarray | None = None
    axes: tuple[str, ...] | None = None
    shapes: np.ndarray | None = None
    _close: Callable[[], None] | None = None

    def summary(self) -> str:
        """What was read, in one line: samples, their shape, names, labels, ids, rate and gaps."""
        n, *shape = self.rows.shape
        taken = {"names": some(self.features), "labels": self._labels(), "ids": some(self.ids)}
        if self.channels is not None:
            taken["channels"] = some(self.channels)
        rate = self.sampling_rate
        taken |= {"rate": "none" if rate is None else f"{rate:g} Hz", "gaps": self._gaps()}
        said = ", ".join(f"{what} {text}" for what, text in taken.items())
        return f"{n} samples of shape {'x'.join(map(str, shape))}; {said}"

    def _labels(self) -> str:
        """The different labels; with the names of the columns if there are several."""
        if len(self.beside) < 2:
            return some(None if self.labels is None else np.unique(self.labels))
        return " and ".join(f"{name} {some(np.unique(v))}" for name, v in self.beside.items())

    def _gaps(self) -> str:
        """The number of missing values; rows that stay in their file are not counted."""
        if type(self.rows) is not np.ndarray:
            return "not counted"
        hidden = np.isnan(self.rows) if self.rows.dtype.kind == "f" else np.zeros(1)
        return f"{int(hidden.sum())} ({hidden.mean():.1%})" if hidden.any() else "none"

    @property
    def labelled(self) -> Labelled:
        """The rows with the names, units and positions of their axes, for ``GTPCA.fit``.

        Lengths may then be in seconds, axes have names, and poses are in seconds.
        """
        return Labelled(self.rows, labels_of(self))

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Ids and labels by name, to accompany what is written about the samples."""
        labels = self.beside or ({} if self.labels is None else {"label": self.labels})
        return ({} if self.ids is None else {self.id_name: self.ids}) | labels

    def close(self) -> None:
        """Close the file behind ``rows``, if it is still open."""
        if self._close is not None:
            self._close()

    def __enter__(self) -> Data:
        return self

    def __exit__(self, *error) -> None:
        self.close()


def some(values) -> str:
    """The first and the last of some texts, and how many there are."""
    if values is None:
        return "none"
    texts = [repr(shortened(str(value), 20)) for value in values]
    shown = texts if len(texts) <= 3 else [*texts[:2], "..", texts[-1]]
    return f"{', '.join(shown)} ({len(texts)})"


class FileRows:
    """Rows that stay in their file until they are sliced; broken pieces raise ValueErrors.

    Parameters
    ----------
    source : object
        With ``shape``, ``dtype`` and slicing: an h5py dataset, a zarr array, a view.
    label : str
        What errors call it.
    reverse : bool
        The axes are stored in reverse order, as in MATLAB; the rows are its last axis.
    """

    def __init__(self, source: Any, label: str, reverse: bool = False):
        self._source, self._label, self._reverse = source, label, reverse
        self.dtype = np.dtype(source.dtype)
        chunks = getattr(source, "chunks", None)
        order = slice(None, None, -1 if reverse else 1)
        self.shape = tuple(int(s) for s in source.shape[order])
        self.chunks = tuple(chunks[order]) if chunks else None
        self.ndim = len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, item) -> np.ndarray:
        try:
            return self._reversed(item) if self._reverse else np.asarray(self._source[item])
        except Exception as error:  # any exception of the parsers below
            raise ValueError(f"{self._label} cannot be read: {one_line(error)}") from None

    def _reversed(self, item) -> np.ndarray:
        first, *rest = item if isinstance(item, tuple) else (item,)
        rows = np.asarray(self._source[..., first]).T
        return rows[tuple(rest) if np.ndim(rows) < self.ndim else (slice(None), *rest)]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.asarray(self[:], dtype=dtype)


def check_rows(shape, dtype, chunks=None, least: int = 2) -> None:
    """Check that rows are numbers with at least two axes, or ``least``, and not huge."""
    if np.dtype(dtype).kind not in "biuf":
        raise ValueError(f"holds {dtype}, but must hold real numbers")
    if len(shape) < least:
        raise ValueError(
            f"has shape {tuple(shape)}, but rows need at least two axes: samples, and their values"
        )
    if 0 in shape:
        raise ValueError(f"has shape {tuple(shape)}: there is nothing in it")
    size = np.dtype(dtype).itemsize
    if max(math.prod(shape[1:]), math.prod(chunks or ())) * size > LARGEST_PIECE:
        raise ValueError(f"has shape {tuple(shape)} in chunks of {chunks}: too large to be read")


def check_pieces(shape, dtype, chunks, stored: int) -> None:
    """Check that a row and a chunk of a packed array, which are unpacked whole, are not huge.

    Parameters
    ----------
    shape, chunks : tuple of int
        Of the array and of its chunks.
    dtype : dtype
    stored : int
        Bytes of the file.
    """
    largest = max(math.prod(shape[1:]), math.prod(chunks))
    check_inflated(needed=largest * np.dtype(dtype).itemsize, stored=stored)


def check_inflated(*, needed: int, stored: int, least=ANY_FILE, most=MOST_INFLATED) -> None:
    """Check that a small file does not become a huge array; docs/command-line.md has the rule.

    Parameters
    ----------
    needed, stored : int
        Bytes of the array, and of the file.
    least : int
        Bytes that any file may expand to.
    most : int
        Beyond that, how many times its size.
    """
    if needed > max(least, most * stored):
        raise ValueError(
            f"{stored} bytes claim to hold {needed} bytes of values, more than {most} times as "
            "many; if they do, unpack them into .npy or a plain table, where nothing is limited"
        )


def as_texts(label: str, texts: list[str], stored: int | None = None) -> np.ndarray:
    """Texts as an array of str, all of whose entries take as much space as the longest.

    Parameters
    ----------
    label : str
        Their name in error messages.
    texts : list of str
    stored : int or None
        Bytes of the file; default: the number of characters of the texts.
    """
    longest = max(map(len, texts), default=0)
    stored = sum(map(len, texts)) if stored is None else stored
    if 4 * longest * len(texts) > max(ANY_FILE, MOST_INFLATED * stored):
        raise ValueError(
            f"{label} holds a text of {longest} characters, too long for {len(texts)} of them, "
            f"{shortened(max(texts, key=len), 40)!r}; shorten it"
        )
    return np.array(texts, dtype=str)


def is_number(field: str) -> bool:
    """Whether a field of a text file is a number, excluding Python's ``1_000``."""
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field


def is_missing(field: str) -> bool:
    """Whether a field of a text file means a missing value."""
    return field.strip().lower() in NOTHING


def choose(found: dict[str, tuple], key: str | None) -> str:
    """The selected key: the one given, or the only one there is.

    Parameters
    ----------
    found : dict of str to tuple
        Shapes of the arrays by their keys.
    key : str or None
    """
    listed = ", ".join(f"{name!r} {tuple(shape)}" for name, shape in list(found.items())[:20])
    if len(found) > 20:
        listed += f" and {len(found) - 20} more"
    if not found:
        raise ValueError("there is no array in it")
    if key is None and len(found) > 1:
        raise ValueError(f"holds several arrays; give the key of one: {listed}")
    if key is not None and key not in found:
        raise ValueError(f"has no array with the key {key!r}; there are: {listed}")
    return next(iter(found)) if key is None else key
