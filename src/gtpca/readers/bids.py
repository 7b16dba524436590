"""BIDS folders: windows of all recordings of one task, through mne-bids."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from gtpca.optional import require
from gtpca.readers.data import Data, check_inflated, check_rows
from gtpca.readers.recordings import RAW, NoWindows, read_recording
from gtpca.text import one_line, shown

__all__ = ["is_bids", "read_bids"]

DESCRIPTION = "dataset_description.json"  # which the root of every BIDS folder has
ENTITIES = ("subject", "session", "acquisition", "run")  # what tells recordings of a task apart
DEEPEST = 3  # sub-01/ses-02/eeg


def is_bids(path: Path) -> bool:
    """Whether a folder is the root of a BIDS folder, or one of its subjects or sessions."""
    return _root(path) is not None


def read_bids(
    path: Path, key=None, window=None, step=None, event=None, tmin=None, tmax=None
) -> Data:
    """Windows of all recordings in a folder, (n, n_times, n_channels), one after the other.

    Ids are the name of the recording and where the window begins, or when the event came;
    ``beside`` holds labels, subject, session, acquisition and run. Recordings without the event are
    left out with a warning.

    Parameters
    ----------
    path : Path
        The root, or the folder of a subject or a session.
    key : str or None
        The task, needed if there are several.
    window, step, event, tmin, tmax
        As for :func:`read_recording`.
    """
    found = _of_task(_recordings(path), key)
    how = {"window": window, "step": step, "event": event, "tmin": tmin, "tmax": tmax}
    parts: list[tuple[Any, Data]] = []
    for one in found:
        try:
            parts.append((one, _read(one.fpath, how)))
        except NoWindows as error:
            warnings.warn(f"{shown(one.basename)} is left out: {error}", stacklevel=2)
    if not parts:
        raise ValueError("no recording has a window of this kind")
    return _joined(parts)


def _root(path) -> Path | None:
    path = path.absolute()
    for above in (path, *path.parents[:DEEPEST]):
        if (above / DESCRIPTION).is_file():
            inside = path.relative_to(above).parts
            return above if not inside or inside[0].startswith("sub-") else None
    return None


def _recordings(path) -> list[Any]:
    """The BIDSPath of every recording below a folder that can be read, in the order of names."""
    bids = require("mne_bids", "eeg")
    kinds = {"suffixes": ["eeg", "ieeg", "meg"], "extensions": list(RAW)}
    found = bids.find_matching_paths(_root(path), ignore_nosub=True, **kinds)
    inside = [one for one in found if one.fpath.is_relative_to(path.absolute())]
    return sorted((one for one in inside if _is_recording(one)), key=lambda one: one.fpath)


def _is_recording(one) -> bool:
    """Not a file for calibration, an empty room, or what follows the first part of a split file."""
    return (
        one.acquisition not in ("calibration", "crosstalk")
        and one.subject != "emptyroom"
        and one.split in (None, "1", "01")
    )


def _of_task(found, key) -> list[Any]:
    tasks = sorted({str(one.task) for one in found})
    if not found:
        raise ValueError(f"there is no recording in it: sub-.. with {', '.join(RAW)}")
    if key is None and len(tasks) > 1:
        raise ValueError(f"holds several tasks; give the key of one: {', '.join(tasks)}")
    if key is not None and key not in tasks:
        raise ValueError(f"has no task with the key {key!r}; there are: {', '.join(tasks)}")
    return [one for one in found if key is None or one.task == key]


def _read(path, how) -> Data:
    """Windows of one recording; an error names it."""
    try:
        return read_recording(path, **how)
    except (ImportError, MemoryError, NoWindows):
        raise
    except Exception as error:  # MNE may raise anything
        raise ValueError(f"{shown(path.name)}: {one_line(error)}") from None


def _joined(parts) -> Data:
    """Windows of several recordings as one, with what tells them apart."""
    first, sizes = parts[0][1], [len(data.rows) for _, data in parts]
    _check_alike(parts)
    stored = sum(_bytes(one.fpath) for one, _ in parts)
    shape = (sum(sizes), *first.rows.shape[1:])
    check_rows(shape, first.rows.dtype)
    check_inflated(needed=8 * int(np.prod(shape)), stored=stored)
    beside = {}
    if first.labels is not None:
        beside["label"] = np.concatenate([data.labels for _, data in parts])
    for name in ENTITIES:
        values = [str(getattr(one, name) or "") for one, _ in parts]
        if any(values):
            beside[name] = np.repeat(values, sizes)
    ids = [f"{_name(one)}:{own}" for one, data in parts for own in data.ids]
    return Data(
        np.concatenate([np.asarray(data.rows) for _, data in parts]),
        labels=next(iter(beside.values())),
        beside=beside,
        ids=np.array(ids),
        id_name="recording_" + first.id_name,
        channels=first.channels,
        sampling_rate=first.sampling_rate,
        start=first.start,
        axes=first.axes,
    )


def _name(one) -> str:
    """``sub-01_task-odd`` of ``sub-01_task-odd_eeg.vhdr``."""
    return str(one.fpath.stem.rpartition("_")[0])


def _bytes(path) -> int:
    """Bytes of a recording, with the files that its header refers to."""
    stem = path.stem
    return sum(file.stat().st_size for file in path.parent.iterdir() if file.stem == stem)


def _check_alike(parts) -> None:
    """Check that all recordings have the same channels, rate and points."""
    (one, first), *rest = parts
    for other, data in rest:
        for what in ("channels", "sampling_rate", "start"):
            here, there = getattr(data, what), getattr(first, what)
            if here != there:
                raise ValueError(
                    f"{shown(other.basename)} has {_words(what, here, there)}, but "
                    f"{shown(one.basename)} has {_words(what, there, here)}; only recordings with "
                    "the same channels and rate are samples of one model"
                )
        if data.rows.shape[1:] != first.rows.shape[1:]:
            raise ValueError(
                f"{shown(other.basename)} has windows of shape {data.rows.shape[1:]}, but "
                f"{shown(one.basename)} of {first.rows.shape[1:]}"
            )


def _words(what, value, other) -> str:
    """A property of a recording in words, with channels that the other lacks."""
    if what != "channels":
        return f"{what.replace('_', ' ')} {value:g}"
    extra = [name for name in value if name not in other]
    more = f", among them {', '.join(map(repr, extra[:5]))}" if extra else " in another order"
    return f"{len(value)} channels{more}"
