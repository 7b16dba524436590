"""Real data sets, read from their files."""

from __future__ import annotations

import gzip
import math
import zlib
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from gtpca.datasets.files import DatasetError, locate
from gtpca.datasets.wfdb import read_annotations, read_wfdb
from gtpca.optional import require

BEATS = "NLRBAaJSVrFejnE/fQ?"  # symbols of annotations that denote beats


def fetch_mnist(subset: str = "train", data_home: str | PathLike[str] | None = None) -> Any:
    """Load the MNIST handwritten digits, values 0..255.

    Parameters
    ----------
    subset : {"train", "test"}
        60,000 or 10,000 images.
    data_home : path or None
        Folder with, or for, ``mnist/*-ubyte.gz``; see :mod:`gtpca.datasets`.

    Returns
    -------
    Bunch
        data (n, 28, 28) uint8, target (n,) uint8, DESCR.
    """
    prefix = {"train": "train", "test": "t10k"}.get(subset)
    if prefix is None:
        raise ValueError(f"subset={subset!r}; expected 'train' or 'test'.")
    data = _read_idx(locate(f"mnist/{prefix}-images-idx3-ubyte.gz", data_home), 3)
    target = _read_idx(locate(f"mnist/{prefix}-labels-idx1-ubyte.gz", data_home), 1)
    if len(data) != len(target):
        raise DatasetError(f"MNIST {subset}: {len(data)} images but {len(target)} labels.")
    return Bunch(data=data, target=target, DESCR=f"MNIST digits ({subset} set), CC BY-SA 3.0.")


def fetch_handwriting(data_home: str | PathLike[str] | None = None) -> Any:
    """Load 20 samples of the letters "fda" as pen positions along time.

    Parameters
    ----------
    data_home : path or None
        Folder with, or for, ``handwriting/handwrit.rda``; see :mod:`gtpca.datasets`.

    Returns
    -------
    Bunch
        data (20, 1401, 2) float64: x and y in metres, time (1401,): 0..2300 ms, DESCR.
    """
    content = _read_rda(locate("handwriting/handwrit.rda", data_home))
    data = np.ascontiguousarray(np.asarray(content["handwrit"], float).transpose(1, 0, 2))
    descr = 'Handwriting "fda", Ramsay and Silverman 2005, R package fda, GPL >= 2.'
    return Bunch(data=data, time=np.asarray(content["handwritTime"], float), DESCR=descr)


def fetch_curves(name: str = "growth", data_home: str | PathLike[str] | None = None) -> Any:
    """Load curves that differ in timing: growth of children, gait, or the force of a pinch.

    Parameters
    ----------
    name : {"growth", "gait", "pinch"}
        Heights of 39 boys and 54 girls of the Berkeley growth study at 31 ages; angles of hip and
        knee of 39 boys during a step, at 20 times; or 20 records of the force between thumb and
        finger, at 151 times.
    data_home : path or None
        Folder with, or for, ``curves/growth.rda``, ``gait.rda`` and ``pinch.rda``; see
        :mod:`gtpca.datasets`.

    Returns
    -------
    Bunch
        data: heights (93, 31) in cm, angles (39, 20, 2) in degrees, or forces (20, 151) in N; time:
        ages in years, shares of the step, or seconds; target (93,) of growth: "boy" or "girl";
        DESCR.
    """
    read = {"growth": _growth, "gait": _gait, "pinch": _pinch}.get(name)
    if read is None:
        raise ValueError(f"name={name!r}; expected 'growth', 'gait' or 'pinch'.")
    path = locate(f"curves/{name}.rda", data_home)
    found, shape = read(_read_rda(path))
    if found["data"].shape != shape or not np.all(np.isfinite(found["data"])):
        raise DatasetError(f"{path} holds {found['data'].shape}, expected {shape} finite values.")
    return Bunch(
        **found, DESCR=f"Curves {name!r}, Ramsay and Silverman 2005, R package fda, GPL >= 2."
    )


def _growth(content):
    growth = content["growth"]
    boys, girls = (np.asarray(growth[sex], float).T for sex in ("hgtm", "hgtf"))
    target = np.repeat(["boy", "girl"], [len(boys), len(girls)])
    found = {"data": np.concatenate([boys, girls]), "time": np.asarray(growth["age"], float)}
    return found | {"target": target}, (93, 31)


def _gait(content):
    angles = np.asarray(content["gait"], float)
    data = np.ascontiguousarray(angles.transpose(1, 0, 2))
    return {"data": data, "time": (np.arange(len(angles)) + 0.5) / len(angles)}, (39, 20, 2)


def _pinch(content):
    time = np.asarray(content["pinchtime"], float)
    return {"data": np.asarray(content["pinch"], float).T.copy(), "time": time}, (20, 151)


def fetch_neurons(data_home: str | PathLike[str] | None = None) -> Any:
    """Load spikes of 30 neurons in the motor cortex of a rat that presses a lever twice.

    Parameters
    ----------
    data_home : path or None
        Folder with, or for, ``neurons/motor_ctx_data.npz``; see :mod:`gtpca.datasets`.

    Returns
    -------
    Bunch
        time (s,): of each spike, 0..2000 ms; trial and neuron (s,) int: of each spike; first and
        second (1266,): times of the presses in each trial, the first always at 500 ms; DESCR.
    """
    path = locate("neurons/motor_ctx_data.npz", data_home)
    names = {"time": "spiketimes", "trial": "trial_ids", "neuron": "neuron_ids"}
    names |= {"first": "tap1", "second": "tap2"}
    with np.load(path) as file:
        found = {ours: file[theirs] for ours, theirs in names.items()}
    descr = (
        "Rat motor cortex, A. K. Dhawale and B. P. Ölveczky, via affinewarp (Williams 2020), MIT."
    )
    return Bunch(**found, DESCR=descr)


def fetch_ecg(record: str = "100", data_home: str | PathLike[str] | None = None) -> Any:
    """Load half an hour of electrocardiogram with annotated beats (MIT-BIH arrhythmia database).

    Parameters
    ----------
    record : {"100", "119"}
        119 has 1543 normal beats and 444 premature ventricular contractions.
    data_home : path or None
        Folder with, or for, ``ecg/100.hea``, ``.dat`` and ``.atr``; see :mod:`gtpca.datasets`.

    Returns
    -------
    Bunch
        data (650000, 2) float64 in mV; beats (n,): samples at which beats are annotated, symbols
        (n,) str: their kinds, "N" normal, "V" ventricular; channels; sampling_rate; DESCR.
    """
    if record not in ("100", "119"):
        raise ValueError(f"record={record!r}; expected '100' or '119'.")
    paths = {end: locate(f"ecg/{record}.{end}", data_home) for end in ("hea", "dat", "atr")}
    found, (beats, symbols) = read_wfdb(paths["hea"]), read_annotations(paths["atr"])
    kept = np.isin(symbols, list(BEATS))
    return Bunch(
        data=found.values,
        beats=beats[kept],
        symbols=symbols[kept],
        channels=found.channels,
        sampling_rate=found.rate,
        DESCR=f"MIT-BIH arrhythmia database 1.0.0, record {record}, PhysioNet, ODC-By 1.0.",
    )


def fetch_eeg(data_home: str | PathLike[str] | None = None) -> Any:
    """Load single-trial EEG of 10 alcoholic and 10 control subjects who see a picture.

    A trial is the second after the stimulus, at 256 Hz. As published: one trial occurs twice (see
    ``repeated``), CZ of subject co2a0000368 is zero in three trials, and three of the 64 channels
    are not scalp electrodes (X, Y: eye movements; nd).

    Parameters
    ----------
    data_home : path or None
        Folder with, or for, ``eeg/eegdata.rda``; see :mod:`gtpca.datasets`.

    Returns
    -------
    Bunch
        data (100, 256, 64) float64 in microvolt; subject, group ("a" alcoholic, "c" control) and
        condition (100,) str; trial (100,) int: number within the session; repeated (100,) bool:
        True where the trial equals an earlier one; channels: 64 names; sampling_rate; DESCR.
    """
    frame = _read_rda(locate("eeg/eegdata.rda", data_home))["eegdata"]
    descr = "EEG database, Begleiter, via R package eegkitdata, condition S1, GPL >= 2."
    return Bunch(**_trials(frame, n_times=256, n_channels=64), sampling_rate=256.0, DESCR=descr)


def _trials(frame, n_times, n_channels) -> dict[str, Any]:
    """Turn one row per trial, channel and time point into (n_trials, n_times, n_channels)."""
    n_rows = n_times * n_channels  # of a trial
    _check_rows(frame, n_times, n_channels)
    data = frame["voltage"].to_numpy(float).reshape(-1, n_channels, n_times).transpose(0, 2, 1)
    seen = [trial.tobytes() for trial in data]
    heads = frame.iloc[::n_rows]
    return dict(
        data=np.ascontiguousarray(data),
        **{name: heads[name].to_numpy(str) for name in ("subject", "group", "condition")},
        trial=heads["trial"].to_numpy(int),
        repeated=np.array([trial in seen[:i] for i, trial in enumerate(seen)]),
        channels=frame["channel"].iloc[:n_rows:n_times].astype(str).tolist(),
    )


def _check_rows(frame, n_times, n_channels) -> None:
    """Check that rows are sorted by trial, channel, time, with none missing or repeated."""
    if len(frame) == 0 or len(frame) % (n_times * n_channels):
        raise DatasetError(f"EEG: {len(frame)} rows are not trials of {n_channels} x {n_times}.")
    order = {"channel": np.arange(n_channels)[:, None], "time": np.arange(n_times)}
    for name in ("subject", "group", "condition", "trial", "channel", "time"):
        code = frame[name].factorize(sort=name == "time")[0].reshape(-1, n_channels, n_times)
        if np.any(code < 0) or np.any(code != order.get(name, code[:, :1, :1])):
            raise DatasetError(f"EEG: column {name!r} has rows missing, repeated or out of order.")
    if not np.all(np.isfinite(frame["voltage"].to_numpy(float))):
        raise DatasetError("EEG: column 'voltage' has missing or infinite values.")


def _read_idx(path: Path, n_dims: int) -> np.ndarray:
    """Parse a gzipped idx file of bytes: magic, n_dims big-endian sizes, values."""
    try:
        raw = gzip.decompress(path.read_bytes())
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DatasetError(f"{path} is truncated or not a gzip file: {error}") from error
    start = 4 + 4 * n_dims
    if len(raw) < start or raw[:4] != bytes((0, 0, 8, n_dims)):
        raise DatasetError(f"{path} is not an idx file of bytes with {n_dims} dimensions.")
    shape = np.frombuffer(raw, ">u4", n_dims, offset=4).tolist()
    if len(raw) != start + math.prod(shape):
        raise DatasetError(f"{path} is truncated: {len(raw) - start} values, its shape is {shape}.")
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape).copy()


def _read_rda(path: Path) -> dict[str, Any]:
    """Objects of an R data file by name; factors through their codes, which is much faster."""
    rdata, pandas = require("rdata", "data"), require("pandas", "data")
    from_codes = pandas.Categorical.from_codes
    factor = {"factor": lambda codes, attributes: from_codes(codes - 1, attributes["levels"])}
    classes = rdata.conversion.DEFAULT_CLASS_MAP
    return rdata.read_rda(path, constructor_dict={**classes, **factor})
