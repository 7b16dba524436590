"""Time series in the text format of the UCR and UEA archives (``.ts``)."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from gtpca.data.series import pad
from gtpca.readers.data import Data, as_texts, check_inflated, check_rows, is_missing, is_number
from gtpca.readers.encodings import UTF8, check_encoding, encoding_hint

__all__ = ["read_ts"]


def read_ts(path: Path, missing: str = "error", encoding: str = UTF8, sample_shape=None) -> Data:
    """Series (n, n_times), or (n, n_times, n_channels), and their labels.

    Lines with ``#`` are comments, those with ``@`` the header; after ``@data`` each line is a
    series: channels separated by colons, values by commas, and the label at the end. Series must be
    of equal length, unless ``missing="ignore"``: then shorter ones are padded with NaN to the
    longest or to ``sample_shape``, and ``?`` is read as NaN.
    """
    encoding = check_encoding(encoding)
    try:
        series, labels = _series(path, missing, encoding)
    except UnicodeDecodeError as error:
        raise ValueError(encoding_hint(path, encoding, error)) from None
    longest = max(channels.shape[1] for channels in series)
    if missing == "ignore" and sample_shape is not None:
        longest = max(longest, sample_shape[0])
    shape = (len(series[0]), longest)
    check_inflated(needed=8 * len(series) * math.prod(shape), stored=path.stat().st_size)
    rows = pad(series, axes=-1, shape=shape)
    rows = rows[:, 0] if rows.shape[1] == 1 else rows.transpose(0, 2, 1)
    check_rows(rows.shape, rows.dtype)
    axes = ("time", "channel")[: rows.ndim - 1]
    found = None if labels is None else as_texts("the label", labels)
    return Data(np.ascontiguousarray(rows), labels=found, axes=axes)


def _series(path, missing, encoding) -> tuple[list[np.ndarray], list[str] | None]:
    """All series (n_channels, n_times), and their labels if they have any."""
    series: list[np.ndarray] = []
    labels: list[str] = []
    with open(path, encoding=encoding) as file:
        lines = ((i, line.strip()) for i, line in enumerate(file, start=1))
        lines = ((i, line) for i, line in lines if line and not line.startswith("#"))
        labelled = _header(lines)
        for number, line in lines:
            *channels, last = line.split(":")
            channels, label = (channels, last) if labelled else ([*channels, last], "")
            gaps = missing == "ignore"
            series.append(_values(channels, number, series[0] if series else None, gaps))
            labels.append(label.strip())
    if not series:
        raise ValueError("there is no series after @data")
    return series, labels if labelled else None


def _header(lines) -> bool:
    """Read up to ``@data``; return whether every series has a label."""
    labelled = False
    for number, line in lines:
        name, *values = line.lower().split()
        if name == "@data":
            return labelled
        if not name.startswith("@"):
            raise ValueError(f"line {number} is not a header line; @data is missing before it")
        if name in ("@classlabel", "@targetlabel"):
            labelled = values[:1] == ["true"]
        if name == "@timestamps" and values[:1] == ["true"]:
            raise ValueError(f"line {number}: series with time stamps are not read")
    raise ValueError("there is no line @data")


def _values(channels, number, first, gaps) -> np.ndarray:
    """The values of one line, (n_channels, n_times), with the length of the first."""
    if not channels:
        raise ValueError(f"line {number} has no label, or no values")
    lists = [channel.split(",") for channel in channels]
    if gaps:
        _check_channels(lists, number, first)
        return pad([[_number(value, number, gaps) for value in values] for values in lists])
    wanted = (len(lists), len(lists[0])) if first is None else first.shape
    for values in lists:
        if (len(lists), len(values)) != wanted:
            raise ValueError(
                f"line {number} has {len(values)} values on a channel and {len(lists)} channels, "
                f"but the series begin with {wanted[1]} and {wanted[0]}; they must be alike, but "
                'with --missing ignore (in Python missing="ignore")'
            )
    return np.array([[_number(value, number, gaps) for value in values] for values in lists])


def _check_channels(lists, number, first) -> None:
    if first is not None and len(lists) != len(first):
        raise ValueError(
            f"line {number} has {len(lists)} channels, but the series begin with {len(first)}"
        )


def _number(value, number, gaps) -> float:
    if gaps and is_missing(value):
        return np.nan
    if not is_number(value):
        raise ValueError(f"line {number}: {value[:40]!r} is not a number")
    return float(value)
