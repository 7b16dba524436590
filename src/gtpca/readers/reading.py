"""One function for all file formats."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from gtpca import checks
from gtpca.data.labels import REMEMBERED
from gtpca.files import check_regular
from gtpca.readers.arrays import read_npy, read_npz
from gtpca.readers.axes import with_rate
from gtpca.readers.bids import is_bids, read_bids
from gtpca.readers.containers import read_hdf5, read_zarr
from gtpca.readers.data import Data
from gtpca.readers.fits import read_fits
from gtpca.readers.images import read_images
from gtpca.readers.matlab import read_mat
from gtpca.readers.particles import read_mrcs, read_star
from gtpca.readers.recordings import NoWindows, read_recording
from gtpca.readers.series import read_ts
from gtpca.readers.sheets import read_excel
from gtpca.readers.signals import read_windows
from gtpca.readers.tables import read_parquet, read_text
from gtpca.readers.tiff import read_tiff
from gtpca.text import one_line, shown

__all__ = ["is_data", "is_model", "options_of", "read_as", "read_data"]


class Kind(NamedTuple):
    """The name of a file format, its reader, and the options that it takes besides the path."""

    name: str
    read: Callable[..., Data]
    options: tuple[str, ...] = ()


COLUMNS = ("labels", "id", "drop", "columns", "long", "times", "channels")
TEXT = ("header", "missing", "decimal", "encoding", "sample_shape")
TABLE = Kind("table", read_text, (*COLUMNS, *TEXT, "window", "step"))
HDF5 = Kind("HDF5 file", read_hdf5, ("key", "window", "step"))
CUT = ("window", "step")  # which cut one recording into samples
EVENTS = ("event", "tmin", "tmax")  # or into windows around events
RECORDING = Kind("recording", read_recording, (*CUT, *EVENTS))
BIDS = Kind("BIDS folder", read_bids, ("key", *CUT, *EVENTS))
KNOW_THEIR_RATE = (RECORDING, BIDS)
TIFF = Kind("TIFF file", read_tiff, ("key",))
FITS = Kind("FITS file", read_fits, ("key",))
KINDS = {
    ".npy": Kind("array", read_npy, CUT),
    ".npz": Kind("archive of arrays", read_npz, ("key", *CUT)),
    ".csv": TABLE,
    ".tsv": TABLE,
    ".txt": TABLE,
    ".csv.gz": TABLE,
    ".tsv.gz": TABLE,
    ".txt.gz": TABLE,
    ".parquet": Kind("Parquet file", read_parquet, (*COLUMNS, "missing", *CUT)),
    ".xlsx": Kind("Excel file", read_excel, ("key", *COLUMNS, "header", "missing", *CUT)),
    ".h5": HDF5,
    ".hdf5": HDF5,
    ".zarr": Kind("Zarr store", read_zarr, ("key", *CUT)),
    ".mat": Kind("MATLAB file", read_mat, ("key", *CUT)),
    ".ts": Kind("file of time series", read_ts, ("missing", "encoding", "sample_shape")),
    "folder": Kind("folder of images", read_images, ("sizes", "sample_shape")),
    ".tif": TIFF,
    ".tiff": TIFF,
    ".fits": FITS,
    ".fit": FITS,
    ".fts": FITS,
    ".fits.gz": FITS,
    ".mrcs": Kind("stack of particles", read_mrcs),
    ".star": Kind("STAR file of particles", read_star, ("labels",)),
    ".fif": RECORDING,
    ".edf": RECORDING,
    ".bdf": RECORDING,
    ".vhdr": RECORDING,
    ".set": RECORDING,
    ".hea": Kind("record of WFDB", read_windows, CUT),
    ".wav": Kind("sound", read_windows, CUT),
    "BIDS folder": BIDS,
}
FOLDERS = ("folder", "BIDS folder", ".zarr")


def read_data(
    path: str | PathLike[str],
    key: str | None = None,
    *,
    labels: str | int | Sequence[str | int] | None = None,
    id: str | int | None = None,
    drop: str | int | Sequence[str | int] | None = None,
    columns: str | int | Sequence[str | int] | None = None,
    long: str | Sequence[str | int] | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    rate: float | None = None,
    window: int | float | None = None,
    step: int | float | None = None,
    event: str | int | None = None,
    tmin: float | None = None,
    tmax: float | None = None,
    missing: str = "error",
    sizes: str | None = None,
    sample_shape: tuple[int, ...] | None = None,
) -> Data:
    """Read rows from a file or folder; the extension determines the format.

    Arrays in ``.npy``, ``.h5``, ``.zarr`` and MATLAB 7.3 files are not loaded: their rows are read
    when they are needed. Objects and pickles are never read.

    Parameters
    ----------
    path : path
        ``.npy``, ``.npz``, ``.csv``, ``.tsv``, ``.txt``, compressed text such as ``.csv.gz``,
        ``.xlsx``, ``.parquet``, ``.h5``, ``.hdf5``, ``.zarr``, ``.mat``, ``.ts``, ``.tif`` (also
        OME-TIFF), ``.fits``, ``.mrcs``, ``.star`` of RELION, ``.fif`` and ``.set`` of EEGLAB
        (recordings and epochs), ``.edf``, ``.bdf``, ``.vhdr`` of BrainVision, WFDB ``.hea``,
        ``.wav``, a folder of PNG, JPEG, TIFF or FITS images, or a BIDS folder: all recordings, or
        those of a subject or a session, ``study/sub-01/ses-1``.
    key : str or None
        Which array of ``.npz``, ``.h5``, ``.zarr`` and ``.mat``, series of ``.tif``, part of
        ``.fits``, sheet of ``.xlsx`` or task of a BIDS folder; needed if there are several.
    labels : str, int, list of these or None
        Tables: names or numbers of the columns that hold labels, which may be text; names alone
        for ``.star``.
    id : str, int or None
        Tables: the column that holds ids of the samples.
    drop, columns : str, int, list of these or None
        Tables: columns to leave out, and those that hold the values; ``"x0:x63"`` means all from
        the first to the last.
    long : str, list of three or four str, or None
        Tables with one value per line: the columns of times, values and trials, as
        ``"time,value,trial"``. Trials become samples; those of unequal length need
        ``missing="ignore"``. With a fourth column, ``"time,value,trial,channel"``, samples are
        (n_times, n_channels).
    header : bool or None
        Text tables: whether the first line holds names. None: lines of numbers are a sample, and
        lines without a number, those of ``0, 1, 2, ..`` or ``1, 2, 3, ..``, and one word or nothing
        followed by ``0, 1, 2, ..`` are names; others are an error. A first column without a name
        holds the names of the rows, ``ids``, and is left out.
    decimal : {".", ","} or None
        Text tables: the decimal separator.
    encoding : str or None
        Text tables and ``.ts``: the encoding, such as ``"latin-1"``, ``"cp1252"`` or ``"utf-16"``;
        None: UTF-8.
    rate : float or None
        Points per second along a series, if the file does not contain it.
    window, step : int, float or None
        Length and distance of sliding windows, an int in samples or a float in seconds: the file
        holds one recording, (time,) or (time, channels), which is cut into samples; see
        :func:`read_signal`. The default step is the window. ``ids`` are where windows begin.
    event : str, int or None
        Recordings: only windows around events of this name or code; None: all events.
    tmin, tmax : float or None
        Recordings: windows around events from ``tmin`` to ``tmax`` seconds; a window that extends
        beyond the recording is left out.
    missing : {"error", "ignore"}
        How to treat empty fields in tables, and series that end early in ``.ts`` files: as an
        error, or as NaN, which ``GTPCA(missing="ignore")`` accepts. NaN in arrays and images is
        kept, as is that of transparent pixels, whose alpha is zero.
    sizes : {"pad", "resize"} or None
        How to treat images of unequal size: pad with NaN to the largest height and width, or resize
        to the median ones; None: raise an error.
    sample_shape : tuple of int or None
        The shape that a model was fitted to: shorter series and lines (``missing="ignore"``; tables
        without names) and smaller images (``sizes``) are extended to it, and not only to the
        largest of this file. Has no effect if nothing is of unequal size.

    Returns
    -------
    Data
        With ``rows`` (n, \\*sample_shape): series (n, n_times) or (n, n_times, n_channels), images
        (n, height, width) or (n, height, width, 3).

    Raises
    ------
    ValueError
        If the file cannot be read in the format of its extension; one line names the file and the
        place.

    Examples
    --------
    >>> import os, tempfile
    >>> from gtpca.readers import read_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "small.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("kind,a,b\\nx,1,2\\ny,3,4\\n")
    ...     data = read_data(path, labels="kind")
    >>> data.rows
    array([[1., 2.],
           [3., 4.]])
    >>> data.features, data.labels.tolist()
    (['a', 'b'], ['x', 'y'])
    """
    path = Path(path)
    given: dict[str, Any] = {"key": key, "labels": labels, "id": id, "drop": drop}
    given |= {"columns": columns, "long": long, "header": header, "decimal": decimal}
    given |= {"window": window, "step": step, "event": event, "tmin": tmin, "tmax": tmax}
    given |= {"sizes": sizes, "rate": rate, "encoding": encoding}
    return read_as(path, given, missing, sample_shape=sample_shape)


def read_as(
    path, options: dict[str, Any], missing: str = "error", remembered=None, sample_shape=None
) -> Data:
    """:func:`read_data` with options by name; None means not given.

    Parameters
    ----------
    path : path
    options : dict
    missing : {"error", "ignore"}
    remembered : dict or None
        Options of an earlier file: those that apply to this format, are not given, and name
        existing columns are used as well.
    sample_shape : tuple of int or None
        See :func:`read_data`.
    """
    path, given = Path(path), {k: value for k, value in options.items() if value is not None}
    kind, known = KINDS[_kind(path)], options_of(path)
    wrong = sorted(set(given) - known)
    if wrong:
        raise ValueError(f"{shown(path)}: {_no_meaning(wrong[0], given[wrong[0]], kind, known)}")
    checks.choice("missing", missing, ("error", "ignore"))
    old = {k: v for k, v in (remembered or {}).items() if k in known and k not in given}
    always = {"missing": missing, "sample_shape": sample_shape}
    given |= old | {name: value for name, value in always.items() if name in kind.options}
    if old and "columns" in kind.options:
        given |= {"lenient": True, "remembered": tuple(old)}
    rate = given.pop("rate", None)
    return _read(kind, path, given, rate)


def options_of(path) -> set[str]:
    """The options of :func:`read_data` that apply to this file format."""
    kind = KINDS[_kind(Path(path))]
    return {*kind.options, *(() if kind in KNOW_THEIR_RATE else ("rate",))}


def _no_meaning(option, value, kind, known) -> str:
    """A message that an option does not apply to a format, where it does, and which do here."""
    endings = [ending for ending, other in KINDS.items() if option in other.options]
    where = f"it is for {', '.join(endings)}" if endings else "recordings know their rate"
    typed = sorted(known - {*REMEMBERED, "sample_shape"})
    here = ", ".join(typed)
    return (
        f"{option}={value!r} does not apply to this kind of file, {kind.name}: {where}. Options "
        f"here: {here or 'none'}."
    )


def _read(kind, path, given, rate) -> Data:
    """The contents of the file; an error is one line that names it."""
    try:
        if kind.read is read_windows or (
            kind not in KNOW_THEIR_RATE and any(name in given for name in CUT)
        ):
            return _cut(path, given, rate)
        data = kind.read(path, **given)
        return data if rate is None else with_rate(data, rate)
    except ImportError:
        raise
    except MemoryError:
        raise ValueError(f"{shown(path)}: it does not fit into memory.") from None
    except Exception as error:  # any exception of the parsers
        raise ValueError(f"{shown(path)}: {_wording(error, kind.name)}") from None


def _cut(path, given, rate) -> Data:
    """Windows of the single recording in a file."""
    always = ("missing", "sample_shape", "lenient", "remembered")
    wrong = [n for n, v in given.items() if n not in (*always, *CUT, "key") and v is not None]
    if wrong:
        raise ValueError(
            f"{wrong[0]}={given[wrong[0]]!r} does not apply with a window: leave it out"
        )
    known = {name: given[name] for name in (*CUT, "key") if name in given}
    return read_windows(path, rate=rate, **known)


def is_data(path: Path) -> bool:
    """Whether the extension of a file is that of samples."""
    return _ending(path) in KINDS


def _ending(path) -> str:
    """The extension, both parts of it if the file is compressed."""
    ending = path.suffix.lower()
    return f"{path.with_suffix('').suffix.lower()}.gz" if ending == ".gz" else ending


def is_model(path: Path) -> bool:
    """Whether a file is a model and not samples."""
    with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        return "model.json" in archive.namelist()
    return False


def _kind(path: Path) -> str:
    """The entry of KINDS; a file that does not exist is an OSError."""
    ending = _ending(path)
    size = os.stat(path).st_size
    if path.is_dir():
        stores = (".zarray", ".zgroup", "zarr.json")
        if any((path / name).exists() for name in stores):
            return ".zarr"
        return "BIDS folder" if is_bids(path) else "folder"
    if ending not in KINDS or ending == ".zarr":
        check_regular(path)
        if is_model(path):
            raise ValueError(
                f"{shown(path)} is a model file, not samples; on the command line the model comes "
                "first: MODEL DATA."
            )
        known = ", ".join(kind for kind in KINDS if kind not in FOLDERS)
        raise ValueError(
            f"{shown(path)}: the extension {ending!r} is none of {known}, and it is not a folder."
        )
    check_regular(path)
    if size == 0:
        raise ValueError(f"{shown(path)}: the file is empty.")
    return ending


def _wording(error, name) -> str:
    """Our own messages unchanged; those of parsers with what was tried."""
    text = one_line(error)
    ours = type(error) in (ValueError, NoWindows)
    return f"{text}." if ours else f"cannot be read as {name}: {text}"
