"""Whole recordings from files: one array (time,) or (time, channels), with its sampling rate."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import wavfile

from gtpca.datasets import sliding_windows
from gtpca.datasets.wfdb import read_wfdb
from gtpca.files import check_regular
from gtpca.readers.arrays import read_npy, read_npz
from gtpca.readers.containers import read_hdf5, read_zarr
from gtpca.readers.data import Data, FileRows, some
from gtpca.readers.matlab import read_mat
from gtpca.readers.recordings import RAW, open_raw, samples, window_starts
from gtpca.readers.sheets import read_excel
from gtpca.readers.tables import read_parquet, read_text
from gtpca.text import one_line, shown

__all__ = ["SIGNALS", "Recording", "read_signal", "read_windows"]

MOST_CHANNELS = 512  # an array with more columns than this, and fewer points, is transposed
TIMES = ("time", "times", "t", "seconds", "time_s")
EVEN = 1e-3


@dataclass(frozen=True, eq=False)
class Recording:
    """A recording from a file.

    Attributes
    ----------
    values : array (time,) or (time, channels), memory map, or MNE Raw
        Input for ``EventGTPCA.fit``.
    rate : float or None
        Points per second.
    channels : list of str or None
    label : str
        The name of the file.
    close : callable or None
        Closes the file, if it is still open.
    """

    values: Any
    rate: float | None = None
    channels: list[str] | None = None
    label: str = "X"
    close: Callable | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """(time,) or (time, channels)."""
        if hasattr(self.values, "n_times"):
            return (int(self.values.n_times), len(self.values.ch_names))
        return tuple(self.values.shape)

    def summary(self) -> str:
        """What was read, in one line."""
        n, *channels = self.shape
        rate = "none" if self.rate is None else f"{self.rate:g} Hz"
        long = "" if self.rate is None else f" ({n / self.rate:.6g} s)"
        names = "" if self.channels is None else f", {some(self.channels)}"
        return (
            f"{n} points{long} of {channels[0] if channels else 1} channel(s){names}; rate {rate}"
        )


def read_signal(
    path: str | PathLike[str],
    key: str | None = None,
    *,
    rate: float | None = None,
    channels: list[str] | None = None,
) -> Recording:
    """Read one recording; the extension of the file determines the format.

    Arrays in ``.npy``, ``.h5`` and ``.zarr`` files are not loaded. A single row is a recording
    along its columns; an array with few rows, and more columns than rows, has channels as rows. In
    a table every line is a point in time; a column called ``time`` determines the rate.

    Parameters
    ----------
    path : path
        ``.npy``, ``.npz``, ``.csv``, ``.tsv``, ``.txt``, compressed text such as ``.csv.gz``,
        ``.xlsx``, ``.parquet``, ``.h5``, ``.hdf5``, ``.zarr``, ``.mat``, ``.edf``, ``.bdf``,
        ``.fif``, ``.vhdr`` of BrainVision, ``.set`` of EEGLAB, ``.hea`` of WFDB, or ``.wav``.
    key : str or None
        Which array of ``.npz``, ``.h5``, ``.zarr`` and ``.mat``, or sheet of ``.xlsx``.
    rate : float or None
        Points per second, if the file does not contain it.
    channels : list of str or None
        Names of the channels to use, or their numbers, counted from 0; None: all.

    Returns
    -------
    Recording

    Raises
    ------
    ValueError
        If the file cannot be read; one line names the file.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from gtpca.readers import read_signal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "lead.npy")
    ...     np.save(path, np.zeros((1, 5000)))
    ...     recording = read_signal(path, rate=250)
    >>> recording.summary()
    '5000 points (20 s) of 1 channel(s); rate 250 Hz'
    """
    path = Path(path)
    ending = _ending(path)
    if ending not in SIGNALS:
        known = ", ".join(SIGNALS)
        raise ValueError(f"{shown(path)}: the extension {ending!r} is none of {known}.")
    if ending != ".zarr":
        check_regular(path)
    try:
        return _read(path, ending, key, rate, channels)
    except (ImportError, FileNotFoundError):
        raise
    except Exception as error:  # any exception of the parsers
        text = one_line(error)
        raise ValueError(f"{shown(path)}: {text.rstrip('.')}.") from None


def _read(path, ending, key=None, rate=None, channels=None) -> Recording:
    """:func:`read_signal` with errors as they come."""
    if key is not None and SIGNALS[ending] not in KEYED:
        raise ValueError(f"is not a file of several arrays; leave key={key!r} out")
    found = SIGNALS[ending](path, *([key] if SIGNALS[ending] in KEYED else []))
    return _chosen(_with_rate(found, rate), channels, str(shown(path)))


def read_windows(path: Path, window=None, step=None, key=None, rate=None) -> Data:
    """Sliding windows of a recording as samples, with the position at which each begins.

    Parameters
    ----------
    path : path
        As for :func:`read_signal`.
    window, step : int, float or None
        An int in points or a float in seconds; the default step is the window.
    key, rate : str, float or None
    """
    if window is None:
        what = "a recording needs a window" if step is None else f"step={step!r} needs a window"
        raise ValueError(f"{what} to be cut into samples; `gtpca events` takes it as a whole")
    found = _read(path, _ending(path), key, rate)
    values = found.values if isinstance(found.values, np.ndarray) else np.asarray(found.values[:])
    length = _points("window", window, found.rate)
    apart = length if step is None else _points("step", step, found.rate)
    if length > len(values):
        raise ValueError(f"has {len(values)} points, less than the window of {length}")
    rows = sliding_windows(values, length, apart)
    return Data(
        FileRows(rows, found.label),
        channels=None if rows.ndim == 2 else found.channels,
        sampling_rate=found.rate,
        ids=window_starts(len(rows), apart, found.rate),
        id_name="window_start" if found.rate is None else "window_start_s",
        axes=None if rows.ndim == 2 else ("time", "channel"),
        _close=found.close,
    )


def _points(label, value, rate) -> int:
    """A length in points; lengths in seconds need a rate."""
    if rate is None and not isinstance(value, (int, np.integer)):
        raise ValueError(f"{label}={value!r} is in seconds, and the rate is not known; give it")
    return samples(label, value, rate or 1.0)


def _ending(path) -> str:
    ending = path.suffix.lower()
    return f"{path.with_suffix('').suffix.lower()}.gz" if ending == ".gz" else ending


def _turned(values):
    """An array as (time,) or (time, channels)."""
    if len(values.shape) > 2:
        raise ValueError(
            f"has shape {tuple(values.shape)}; a recording has time, or time and channels"
        )
    if len(values.shape) == 1:
        return values
    rows, columns = values.shape
    if columns == 1 or rows == 1:
        return (
            np.asarray(values[:]).reshape(-1)
            if not isinstance(values, np.ndarray)
            else (values.reshape(-1))
        )
    if columns > rows and rows <= MOST_CHANNELS:
        return np.asarray(values[:]).T if not isinstance(values, np.ndarray) else values.T
    return values


def _array(read):
    """A reader of recordings, made from one of arrays."""

    def reader(path, key=None):
        data = read(path, least=1) if key is None and read is read_npy else read(path, key, least=1)
        return Recording(_turned(data.rows), close=data.close)

    return reader


def _mat(path, key=None):
    data = read_mat(path, key)
    return Recording(_turned(data.rows), close=data.close)


def _table(read):
    """A reader of tables: lines are points in time."""

    def reader(path, *key):
        data = read(path, *key, missing="ignore")
        values, names, rate = np.asarray(data.rows), data.features, None
        clock = next((i for i, name in enumerate(names or ()) if name.lower() in TIMES), None)
        if clock is not None:
            steps = np.diff(values[:, clock])
            if len(steps) and steps.mean() > 0 and np.ptp(steps) <= EVEN * steps.mean():
                rate = float(1 / steps.mean())
            values = np.delete(values, clock, axis=1)
            names = [name for i, name in enumerate(names) if i != clock]
        if not values.shape[1]:
            raise ValueError("holds times, but no values")
        flat = values.shape[1] == 1
        return Recording(values[:, 0] if flat else values, rate, None if flat else names)

    return reader


def _wav(path):
    try:
        rate, values = wavfile.read(path, mmap=True)
    except ValueError:  # 24 bits, or cut: of bytes, no more than there are is asked for
        rate, values = wavfile.read(io.BytesIO(path.read_bytes()))
    if rate <= 0:
        raise ValueError(f"says {rate} points per second; that must be above zero")
    return Recording(values, float(rate))


def _wfdb(path):
    record = read_wfdb(path)
    return Recording(record.values, record.rate, record.channels)


def _raw(path):
    raw = open_raw(path)
    if not hasattr(raw, "n_times"):
        raise ValueError("holds epochs, not one recording; gtpca fit takes them as samples")
    return Recording(raw, float(raw.info["sfreq"]), list(raw.ch_names))


def _with_rate(recording, rate):
    if rate is None:
        return recording
    if recording.rate is not None and abs(recording.rate - rate) > EVEN * rate:
        raise ValueError(f"has a rate of {recording.rate:g} Hz; leave rate={rate:g} out")
    return Recording(recording.values, float(rate), recording.channels, close=recording.close)


def _chosen(recording, wanted, label):
    """The recording with some of its channels."""
    values, names = recording.values, recording.channels
    if wanted:
        count = recording.shape[1] if len(recording.shape) == 2 else 1
        numbers = [_number(name, names, count) for name in wanted]
        if hasattr(values, "n_times"):
            values = values.copy().pick(numbers)
        elif len(recording.shape) == 2:
            values = np.asarray(
                values[:, numbers]
                if isinstance(values, np.ndarray)
                else (np.asarray(values[:])[:, numbers])
            )
            values = values[:, 0] if len(numbers) == 1 else values
        names = None if names is None else [names[i] for i in numbers]
    return Recording(values, recording.rate, names, label, recording.close)


def _number(name, names, count) -> int:
    """The number of a channel given by name or by number."""
    if names is not None and name in names:
        return names.index(name)
    if str(name).isdigit() and int(name) < count:
        return int(name)
    there = ", ".join(names) if names else f"0 to {count - 1}"
    raise ValueError(f"has no channel {name!r}; there are: {there}")


SIGNALS: dict[str, Any] = {".npy": _array(read_npy), ".npz": _array(read_npz)}
SIGNALS |= dict.fromkeys(
    (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"), _table(read_text)
)
SIGNALS |= {".xlsx": _table(read_excel), ".parquet": _table(read_parquet)}
SIGNALS |= {".zarr": _array(read_zarr), ".mat": _mat}
SIGNALS |= dict.fromkeys((".h5", ".hdf5"), _array(read_hdf5))
SIGNALS |= {".hea": _wfdb, ".wav": _wav} | dict.fromkeys(RAW, _raw)
KEYED = {SIGNALS[ending] for ending in (".npz", ".h5", ".zarr", ".mat", ".xlsx")}
