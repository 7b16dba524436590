"""Error potentials: the recordings of BNCI 013-2015, and trials cut out of such recordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.io import loadmat
from sklearn.utils import Bunch

from gtpca import checks
from gtpca.datasets.files import LEFT_THERE, DatasetError, locate
from gtpca.datasets.poses import event_windows

SAMPLING_RATE = 512
CORRECT, ERROR = (5, 10), (6, 9)  # codes of cursor movements towards and away from the target
TOTALS = ((809, 235), (838, 242), (848, 188), (841, 211), (882, 241), (897, 205))  # per subject
_CAP = """
Fp1 AF7 AF3 F1 F3 F5 F7 FT7 FC5 FC3 FC1 C1 C3 C5 T7 TP7 CP5 CP3 CP1 P1 P3 P5 P7 P9 PO7 PO3 O1 Iz Oz
POz Pz CPz Fpz Fp2 AF8 AF4 AFz Fz F2 F4 F6 F8 FT8 FC6 FC4 FC2 FCz Cz C2 C4 C6 T8 TP8 CP6 CP4 CP2 P2
P4 P6 P8 P10 PO8 PO4 O2
"""
CHANNELS = tuple(_CAP.split())  # a BioSemi cap, in its order


class Recording(NamedTuple):
    """One run of one session.

    ``key`` is (subject, session, run), each counted from 1; ``x`` (n_times, n_channels) is in
    microvolt; ``code`` and ``position`` (n_events,) are the trials, positions counted from 0.
    """

    key: tuple[int, int, int]
    x: np.ndarray
    code: np.ndarray
    position: np.ndarray


def fetch_errp(
    channels: Any = ("Fz", "FCz"),
    data_home: str | PathLike[str] | None = None,
    *,
    n_subjects: int = 6,
    window: Any = (-0.25, 0.75),
    outside: str = "raise",
    recordings: bool = False,
) -> Any:
    """Load the EEG of 6 subjects who watch a cursor move, in 20 % of the trials the wrong way.

    Two sessions on different days, of 10 runs of 3 minutes: session 1 is meant for training,
    session 2 for testing. The mean of each channel over its run is removed, nothing else is done
    to the signal. No checksums are published: the number of trials of each subject is verified.

    Parameters
    ----------
    channels : list of str, or "all"
        Names of electrodes, in the order wanted; "all" are the 64 of the cap.
    data_home : path or None
        Folder with, or for, ``errp/Subject01_s1.mat`` .. ``errp/Subject06_s2.mat``; see
        :mod:`gtpca.datasets`. Reading one takes about half a gigabyte of memory for a moment.
    n_subjects : int
        Number of subjects, from the first on.
    window : pair of float
        Start and stop of a trial in seconds after the cursor's movement.
    outside : {"raise", "drop"}
        What to do with a trial whose window does not lie within its run.
    recordings : bool
        Whether to return the whole runs as well, for windows elsewhere (:func:`event_windows`,
        :func:`sliding_windows`).

    Returns
    -------
    Bunch
        data (n_trials, length, n_channels) float32 in microvolt; target (n_trials,) int: 1 after
        an error, 0 after a correct movement; code: 5, 10 (correct), 6, 9 (error); subject,
        session and run, counted from 1; position in the run, counted from 0 (all (n_trials,)
        int); channels: names; window; sampling_rate: 512.0; simulated: False; DESCR.
        With ``recordings``, also recordings: a dictionary from (subject, session, run) to
        (n_times, n_channels) float32.
    """
    names = channel_names(channels)
    checks.integer("n_subjects", n_subjects, 1, 6)
    checks.choice("outside", outside, ("raise", "drop"))
    ends = samples(window)
    paths = {
        (subject, session): locate(f"errp/Subject{subject:02d}_s{session}.mat", data_home)
        for subject in range(1, n_subjects + 1)
        for session in (1, 2)
    }
    bunch = cut_trials(_read(paths, names), ends, outside=outside, recordings=recordings)
    descr = (
        "Monitoring error-related potentials, Chavarriaga and Millán 2010, BNCI Horizon 2020 data "
        "set 013-2015, CC BY-NC-ND 4.0."
    )
    return Bunch(**bunch, channels=names, window=tuple(window), simulated=False, DESCR=descr)


def channel_names(channels) -> list[str]:
    """Check the parameter ``channels`` and return it as a list."""
    names = [str(name) for name in np.ravel(channels)]
    if names == ["all"]:
        return list(CHANNELS)
    if not names or len(set(names)) < len(names) or set(names) - set(CHANNELS):
        raise ValueError(
            f"channels={channels!r} must be 'all' or different names of: {', '.join(CHANNELS)}."
        )
    return names


def samples(window) -> tuple[int, int]:
    """Check the parameter ``window`` and return it in time points."""
    ends = checks.numbers("window", window)
    start, stop = np.rint(ends * SAMPLING_RATE).astype(int) if len(ends) == 2 else (0, 0)
    if stop <= start:
        raise ValueError(f"window={window!r} must be a start and a later stop, in seconds.")
    return int(start), int(stop)


def cut_trials(runs: Iterable[Recording], ends, *, outside, recordings) -> dict[str, Any]:
    """Fields of the trials of all runs, which are processed one at a time."""
    trials, kept = [], {}
    for run in runs:
        x = (run.x - run.x.mean(axis=0, dtype=np.float64)).astype(np.float32)
        trials.append(_trials_of(run._replace(x=x), ends, outside))
        if recordings:
            kept[run.key] = x
    fields = {name: np.concatenate([t[name] for t in trials]) for name in trials[0]}
    rate = float(SAMPLING_RATE)
    return dict(**fields, sampling_rate=rate, **({"recordings": kept} if recordings else {}))


def _trials_of(run: Recording, ends, outside) -> dict[str, np.ndarray]:
    cut = partial(event_windows, start=ends[0], stop=ends[1], outside=outside, return_inside=True)
    try:
        data, inside = cut(run.x, run.position)
    except ValueError as error:
        named = "subject {}, session {}, run {}".format(*run.key)
        raise ValueError(f"window does not fit, {named}: {error}") from error
    code, position = run.code[inside], run.position[inside]
    of_all = dict(zip(("subject", "session", "run"), run.key, strict=True))
    return dict(
        data=data,
        target=np.isin(code, ERROR).astype(int),
        code=code,
        **{name: np.full(len(code), number) for name, number in of_all.items()},
        position=position,
    )


def _read(paths: dict[tuple[int, int], Path], channels) -> Iterator[Recording]:
    """All runs of the files of (subject, session); each subject's trials are counted."""
    found = np.zeros((len(TOTALS), 2), int)
    for (subject, session), path in paths.items():
        for number, run in enumerate(_read_runs(path), start=1):
            recording = _recording(run, path, (subject, session, number), channels)
            found[subject - 1] += [np.isin(recording.code, c).sum() for c in (CORRECT, ERROR)]
            yield recording
        if session == 2:
            _check_totals(path, found[subject - 1].tolist(), list(TOTALS[subject - 1]))


def _check_totals(path: Path, found: list[int], expected: list[int]) -> None:
    if found != expected:
        raise DatasetError(
            f"{path} and the file of session 1 have {found} correct and wrong movements in "
            f"header.EVENT.TYP, expected {expected}."
        )


def _read_runs(path: Path) -> list[Any]:
    """The struct array ``run`` of a MATLAB file, as dictionaries."""
    try:
        content = loadmat(path, variable_names=["run"], simplify_cells=True)
    except MemoryError:
        raise
    except Exception as error:  # for a damaged file, scipy may raise almost anything
        raise DatasetError(
            f"{path} is truncated or not a MATLAB file ({error!r}). {LEFT_THERE}"
        ) from error
    if "run" not in content:
        raise DatasetError(f"{path} has no variable 'run'.")
    runs = content["run"]  # a single struct comes without its array
    return [runs] if isinstance(runs, dict) else list(np.ravel(runs))


def _recording(run, path: Path, key: tuple[int, int, int], channels) -> Recording:
    """Verify one struct, and take the channels out of it."""
    where = f"{path}: run {key[2]}"
    rate = _numbers(run, "header.SampleRate", where)
    if rate.tolist() != [SAMPLING_RATE]:
        raise DatasetError(f"{where}, header.SampleRate: {rate}, expected {SAMPLING_RATE}.")
    eeg = _numbers(run, "eeg", where)
    x = eeg[:, _columns(run, where, eeg.shape, channels)]
    if not np.all(np.isfinite(x)):
        raise DatasetError(f"{where}, eeg: has missing or infinite values.")
    code, position = _events(run, where, len(x))
    return Recording(key=key, x=x, code=code, position=position)


def _columns(run, where: str, shape, channels) -> list[int]:
    """Which columns of ``eeg`` the channels are; the last label is that of the trigger."""
    cells = np.asarray(_field(run, "header.Label", where), object)
    labels = [str(label).strip().lower() for label in cells.ravel()]
    if len(shape) != 2 or shape[1] != len(labels) - 1:
        raise DatasetError(
            f"{where}, header.Label: {len(labels)} entries, expected one more than the columns of "
            f"eeg, which has shape {shape}."
        )
    missing = [name for name in channels if name.lower() not in labels[:-1]]
    if missing:
        raise DatasetError(f"{where}, header.Label: {', '.join(missing)} missing from {labels}.")
    return [labels.index(name.lower()) for name in channels]


def _events(run, where: str, n_times: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes and positions, from 0, of the trials."""
    code, position = (_numbers(run, f"header.EVENT.{name}", where) for name in ("TYP", "POS"))
    if code.shape != position.shape:
        shapes = f"{code.shape} codes, {position.shape} positions"
        raise DatasetError(f"{where}, header.EVENT.TYP and .POS: {shapes}.")
    trial = np.isin(code, CORRECT + ERROR)
    code, position = code[trial].astype(int), position[trial]
    good = (position % 1 == 0) & (position >= 1) & (position <= n_times)
    if not np.all(good):
        raise DatasetError(
            f"{where}, header.EVENT.POS: {position[~good][0]}, expected 1 to {n_times}."
        )
    return code, position.astype(int) - 1


def _numbers(run, name: str, where: str) -> np.ndarray:
    value = _field(run, name, where)
    numeric = not isinstance(value, list | dict) and np.asarray(value).dtype.kind in "iuf"
    if not numeric:
        raise DatasetError(f"{where}, {name}: {type(value).__name__}, expected numbers.")
    return np.atleast_1d(value)


def _field(struct, name: str, where: str) -> Any:
    """Follow a dotted name through nested structs."""
    for key in name.split("."):
        if not isinstance(struct, dict) or key not in struct:
            raise DatasetError(f"{where} has no field {name!r}.")
        struct = struct[key]
    return struct
