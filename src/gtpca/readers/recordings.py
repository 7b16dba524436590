"""Windows of EEG and MEG recordings, and epochs, through MNE."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from gtpca.data.containers.recordings import warn_of_kinds
from gtpca.datasets import event_windows, sliding_windows
from gtpca.optional import require
from gtpca.readers.data import Data, FileRows, check_inflated
from gtpca.readers.matlab import check_mat
from gtpca.text import shown

__all__ = ["RAW", "NoWindows", "open_raw", "read_recording", "samples", "window_starts"]

RAW = (".edf", ".bdf", ".fif", ".vhdr", ".set")
DATA = ("eeg", "mag", "grad", "seeg", "ecog", "dbs", "hbo", "hbr")  # types of channels
AXES = ("time", "channel")
BLOCK_START, EPOCHS = 104, 373  # a tag of FIF files, and the type of a block, as written by MNE
LARGEST_SHARE = 16  # bytes in memory per byte of the file; 16 bits become 64
BESIDE = ("datafile", "markerfile")  # the files that a header of BrainVision refers to
SEAMS = ("boundary", "New Segment/")  # annotations where a recording was interrupted: no events


class NoWindows(ValueError):
    """A recording in which no window is of the kind that was asked for."""


def read_recording(path: Path, window=None, step=None, event=None, tmin=None, tmax=None) -> Data:
    """Sliding windows, or windows around events, (n, n_times, n_channels), in MNE's units.

    Ids are where windows begin, or when events came, in seconds. Files of epochs already
    contain windows, which are used as they are.
    """
    mne = require("mne", "eeg")
    if path.suffix.lower() == ".fif" and EPOCHS in _blocks(path):
        epochs = mne.read_epochs(path, preload=False, verbose="error")
        return _epochs(mne, epochs, path, window, step, event, tmin, tmax)
    raw = open_raw(path)
    if isinstance(raw, mne.BaseEpochs):
        return _epochs(mne, raw, path, window, step, event, tmin, tmax)
    _check_options(window=window, step=step, event=event, tmin=tmin, tmax=tmax)
    kinds = raw.get_channel_types()
    picks = [i for i, kind in enumerate(kinds) if kind in DATA] or None
    warn_of_kinds([kinds[i] for i in picks or ()])
    rate, names = float(raw.info["sfreq"]), np.array(raw.ch_names)
    x = raw.get_data(picks, verbose="error").T
    channels = [str(name) for name in (names if picks is None else names[picks])]
    about: dict[str, Any] = {"channels": channels, "sampling_rate": rate, "axes": AXES}
    if window is not None:
        length = samples("window", window, rate)
        apart = length if step is None else samples("step", step, rate)
        views = sliding_windows(x, length, apart)
        about |= {"ids": window_starts(len(views), apart, rate), "id_name": "window_start_s"}
        return Data(FileRows(views, str(path)), **about)
    positions, labels = _events(mne, raw, event)
    ends = (round(tmin * rate), round(tmax * rate))
    rows, inside = event_windows(x, positions, *ends, outside="drop", return_inside=True)
    if not len(rows):
        raise NoWindows(f"no window from {tmin} to {tmax} s around an event is whole")
    about |= {"ids": _seconds(positions[inside] / rate), "id_name": "event_s"}
    return Data(rows, labels=labels[inside], start=ends[0] / rate, **about)


def _seconds(times) -> np.ndarray:
    return np.array([f"{time:.12g}" for time in times])


def window_starts(count: int, apart: int, rate: float | None) -> np.ndarray:
    """Where windows so many points apart begin, as texts: in seconds if a rate is known."""
    return np.array([f"{apart * i / (rate or 1):.12g}" for i in range(count)])


def open_raw(path: Path) -> Any:
    """MNE's Raw of a recording, or its Epochs if a file of EEGLAB holds these.

    A header cannot claim more than the file can hold, and leads to no file in another folder.
    """
    mne, ending = require("mne", "eeg"), path.suffix.lower()
    if ending == ".vhdr":
        _check_header(path)
    elif ending == ".set":
        check_mat(path)
        if not _is_continuous(mne, path):
            return mne.read_epochs_eeglab(path, verbose="error")
    raw = _read_bids(path) or mne.io.read_raw(path, preload=False, verbose="error")
    if ending == ".set":
        _check_beside(path, raw.filenames)
    check_length(raw)
    return raw


def _read_bids(path) -> Any:
    """A recording of a BIDS folder, whose events and channels are in tables beside it, or None.

    That it is one is seen by its name, ``sub-.._eeg.vhdr``, and by a table of events.
    """
    found = re.fullmatch(r"(sub-.+)_(?:eeg|ieeg|meg)", path.stem)
    if found is None or not path.with_name(f"{found[1]}_events.tsv").is_file():
        return None
    bids = require("mne_bids", "eeg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # about other tables that are not there
        where = bids.get_bids_path_from_fname(path.absolute(), verbose="error")
        return bids.read_raw_bids(where, verbose="error")


def _is_continuous(mne, path) -> bool:
    """Whether a file of EEGLAB holds one recording; reading epochs as such is a TypeError."""
    try:
        mne.io.read_raw_eeglab(path, preload=False, verbose="error")
    except TypeError as error:
        if "trials" in str(error):
            return False
        raise
    return True


def _check_header(path) -> None:
    """Check that a header of BrainVision refers to existing files in its own folder."""
    for line in path.read_bytes().decode("latin-1").splitlines():
        name, _, value = line.partition("=")
        value = value.strip()
        if name.strip().lower() in BESIDE and value:
            _check_beside(path, [path.parent / value])
            if name.strip().lower() == "datafile" and not (path.parent / value).is_file():
                raise ValueError(f"its signals, {value!r}, are not in the same folder")


def _check_beside(path, names) -> None:
    """Check that files are in the folder of ``path``, where each may be a link, as in git-annex."""
    for name in names:
        if name and Path(os.path.abspath(name)).parent != Path(os.path.abspath(path)).parent:
            raise ValueError(f"refers to {shown(name)}, which is not in the same folder")


def _epochs(mne, epochs, path, window, step, event, tmin, tmax) -> Data:
    """Epochs, or those of one event, (n, n_times, n_channels)."""
    if window is not None or step is not None:
        raise ValueError("holds epochs, which need no window; leave window and step out")
    needed = 8 * len(epochs.events) * len(epochs.ch_names) * len(epochs.times)
    stored = path.stat().st_size
    if not epochs.preload:
        check_inflated(needed=needed, stored=stored, least=2**20, most=LARGEST_SHARE)
    with mne.use_log_level("error"):
        epochs.load_data()
    names = {code: name for name, code in epochs.event_id.items()}
    labels = np.array([names.get(code, str(code)) for code in epochs.events[:, 2]])
    chosen = _chosen(labels, event)
    epochs = epochs[np.flatnonzero(chosen)]
    if tmin is not None or tmax is not None:
        epochs = epochs.crop(tmin, tmax, verbose="error")
    if not len(epochs):
        raise NoWindows("there is no epoch in it")
    kinds, bad = epochs.get_channel_types(), epochs.info["bads"]
    good = [i for i, name in enumerate(epochs.ch_names) if name not in bad]
    picks = [i for i in good if kinds[i] in DATA] or good
    warn_of_kinds([kinds[i] for i in picks if kinds[i] in DATA])
    rows = np.ascontiguousarray(epochs.get_data(picks, copy=False).transpose(0, 2, 1))
    about: dict[str, Any] = {"sampling_rate": float(epochs.info["sfreq"]), "axes": AXES}
    about |= {"start": float(epochs.times[0]), "ids": epochs.selection.astype(str)}
    channels = [epochs.ch_names[i] for i in picks]
    return Data(rows, labels=labels[chosen], channels=channels, id_name="epoch", **about)


def _chosen(names, event) -> np.ndarray:
    """Which events have the requested name, or end in it: "S 1" also means "Stimulus/S  1"."""
    if event is None:
        return np.ones(len(names), bool)
    if str(event) in names:
        return np.asarray(names == str(event))
    ends = [" ".join(name.rpartition("/")[2].split()) for name in names]
    chosen = np.array(ends, dtype=str) == " ".join(str(event).split())
    if not chosen.any():
        there = ", ".join(sorted(set(names))[:20])
        raise NoWindows(f"event={event!r} is not there; there are: {there}")
    return chosen


def _check_options(*, window, step, event, tmin, tmax) -> None:
    around = tmin is not None and tmax is not None
    if around == (window is not None) or (not around and (tmin is not None or tmax is not None)):
        raise ValueError("give either window, or both tmin and tmax for windows around events")
    if window is None and step is not None:
        raise ValueError(f"step={step!r} needs a window")
    if window is not None and event is not None:
        raise ValueError(f"event={event!r} needs tmin and tmax, not window")
    if around and not tmin < tmax:
        raise ValueError(f"tmin={tmin!r} must be less than tmax={tmax!r}")


def _blocks(path) -> set[int]:
    """The types of blocks that begin in a FIF file.

    Its tags must lie inside the file and lead forward: MNE would follow a cycle for ever.
    """
    size, place, found = path.stat().st_size, 0, set()
    with open(path, "rb") as file:
        while 0 <= place <= size - 16:
            file.seek(place)
            tag, _, length, following = np.frombuffer(file.read(16), ">i4").tolist()
            if tag == BLOCK_START and length == 4:
                found.update(np.frombuffer(file.read(4), ">i4").tolist())
            end = place + 16 + length
            after = end if following == 0 else following
            if end > size or length < 0 or 0 <= after <= place:
                raise ValueError(f"is cut or damaged: the tag at byte {place} leads out or back")
            place = after
    return found


def check_length(raw) -> None:
    """Check that a header does not claim more than the file can hold."""
    stored = sum(Path(name).stat().st_size for name in raw.filenames if name)
    needed = 8 * raw.n_times * len(raw.ch_names)
    check_inflated(needed=needed, stored=stored, least=2**20, most=LARGEST_SHARE)


def samples(label, value, rate) -> int:
    """A length in samples: integers are samples, other numbers are seconds."""
    integer = isinstance(value, (int, np.integer))
    count = int(value) if integer else round(float(value) * rate)
    if count < 1:
        raise ValueError(f"{label}={value!r} is less than one sample at {rate:g} Hz")
    return count


def _events(mne, raw, event) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n,) and names (n,) of events: annotations, or codes of a stimulus channel."""
    if len(raw.annotations):
        found, codes = mne.events_from_annotations(raw, verbose="error")
        name_of = {code: name for name, code in codes.items()}
    elif "stim" in raw.get_channel_types():
        found = mne.find_events(raw, verbose="error")
        name_of = {code: str(code) for code in np.unique(found[:, 2])}
    else:
        raise ValueError("there are no events: neither annotations nor a stimulus channel")
    names = np.array([name_of[code] for code in found[:, 2]], dtype=str)
    chosen = _chosen(names, event)
    if event is None:
        chosen &= ~np.isin(names, SEAMS)
    return found[chosen, 0] - raw.first_samp, names[chosen]
