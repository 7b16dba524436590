"""Signals made from a formula, random poses, and verified downloads.

The loaders read files below ``data_home``: the argument, else the environment variable
``GTPCA_DATA``, else the user's cache folder. A missing file is downloaded from its public source;
its checksum is verified either way, and a file that is already there is never overwritten.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import zlib
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage
from sklearn.utils import Bunch, check_random_state, check_scalar

__all__ = [
    "DatasetError",
    "fetch_eeg",
    "fetch_handwriting",
    "fetch_mnist",
    "make_oscillations",
    "make_spikes",
    "random_crop",
    "random_embedding",
    "random_rotation",
    "sliding_windows",
]


class DatasetError(OSError):
    """A data file is missing and cannot be downloaded, or is not what it should be."""


def make_oscillations(n_samples=1000, n_times=256, noise=0.2, random_state=None):
    """Draw noisy sums of an alpha and a beta oscillation at random times.

    ``X[i, t - 1] = f_i(t / T) + noise * N(0, 1)`` for t = 1..T with
    ``f(x) = 0.6 sin(2 pi alpha (x + t0)) + 0.4 cos(2 pi beta (x + t0))``,
    alpha ~ U[8, 12], beta ~ U[13, 30], t0 ~ U[0, 1].

    Parameters
    ----------
    n_samples, n_times : int
        Number of signals, and of time points T of each.
    noise : float
        Standard deviation of the added white noise.
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, n_times), float64
    """
    x = _time_grid(n_samples, n_times, noise)
    rng = check_random_state(random_state)
    alpha, beta, t0 = (rng.uniform(*ends, (n_samples, 1)) for ends in ((8, 12), (13, 30), (0, 1)))
    phase = 2 * np.pi * (x + t0)
    X = 0.6 * np.sin(alpha * phase) + 0.4 * np.cos(beta * phase)
    return X + noise * rng.standard_normal(X.shape)


def make_spikes(n_samples=1000, n_times=256, spike_probability=1.0, noise=0.2, random_state=None):
    """Draw noisy signals with, or without, one parabolic spike at a random time.

    ``X[i, t - 1] = y_i f_i(t / T) + noise * N(0, 1)`` for t = 1..T with
    ``f(x) = a max(-4 / w^2 (x - t0)^2 + 3, 0)``, t0 ~ U[0, 1], a ~ U[0.5, 2.5], w ~ U[0.05, 0.1].

    Parameters
    ----------
    n_samples, n_times, noise, random_state
        As in :func:`make_oscillations`.
    spike_probability : float in [0, 1]
        Chance that a signal has a spike, drawn for every signal on its own.

    Returns
    -------
    X : ndarray of shape (n_samples, n_times), float64
    y : ndarray of shape (n_samples,), int
        1 with a spike, 0 without.
    """
    x = _time_grid(n_samples, n_times, noise)
    check_scalar(spike_probability, "spike_probability", Real, min_val=0, max_val=1)
    rng = check_random_state(random_state)
    t0, a, w = (rng.uniform(*ends, (n_samples, 1)) for ends in ((0, 1), (0.5, 2.5), (0.05, 0.1)))
    y = (rng.uniform(size=n_samples) < spike_probability).astype(int)
    X = y[:, None] * a * np.maximum(-4 / w**2 * (x - t0) ** 2 + 3, 0)
    return X + noise * rng.standard_normal(X.shape), y


def _time_grid(n_samples, n_times, noise):
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    check_scalar(n_times, "n_times", Integral, min_val=1)
    check_scalar(noise, "noise", Real, min_val=0)
    return np.arange(1, n_times + 1) / n_times


def sliding_windows(x, length, step=1):
    """Cut a long recording into windows ``x[i * step : i * step + length]``, without a copy.

    Parameters
    ----------
    x : array of shape (n_times,) or (n_times, n_channels)
    length, step : int
        Time points of a window, and from one window to the next.

    Returns
    -------
    windows : ndarray of shape (n_windows, length) or (n_windows, length, n_channels)
        A read-only view of ``x``; n_windows = (n_times - length) // step + 1.
    """
    x = np.asarray(x)
    if x.ndim not in (1, 2):
        raise ValueError(f"x has shape {x.shape}; expected (n_times,) or (n_times, n_channels).")
    check_scalar(length, "length", Integral, min_val=1, max_val=len(x))
    check_scalar(step, "step", Integral, min_val=1)
    windows = np.lib.stride_tricks.sliding_window_view(x, length, axis=0)[::step]
    return np.moveaxis(windows, -1, 1)


def random_crop(X, size, random_state=None):
    """Cut a box out of every sample, at a uniformly random position.

    Parameters
    ----------
    X : array of shape (n_samples, *sample_shape)
    size : int or tuple of r ints
        Size of the box along the first r sample axes; the axes after them (channels) are kept.
    random_state : int, RandomState or None

    Returns
    -------
    X_new : ndarray of shape (n_samples, *size, *sample_shape[r:]), dtype of ``X``
    offset : ndarray of shape (n_samples, r), int
        Position of the crop within the sample.
    """
    X, X_new, offset = _draw_positions(X, size, "at most", random_state)
    for new, sample, start in zip(X_new, X, offset, strict=True):
        new[...] = sample[_box(start, new.shape)]
    return X_new, offset


def random_embedding(X, size, random_state=None):
    """Put every sample into a larger frame of zeros, at a uniformly random position.

    Parameters
    ----------
    X : array of shape (n_samples, *sample_shape)
    size : int or tuple of r ints
        Size of the frame along the first r sample axes; the axes after them (channels) are kept.
    random_state : int, RandomState or None

    Returns
    -------
    X_new : ndarray of shape (n_samples, *size, *sample_shape[r:]), dtype of ``X``
    offset : ndarray of shape (n_samples, r), int
        Position of the sample within the frame.
    """
    X, X_new, offset = _draw_positions(X, size, "at least", random_state)
    for new, sample, start in zip(X_new, X, offset, strict=True):
        new[_box(start, sample.shape)] = sample
    return X_new, offset


def random_rotation(X, angles=20, random_state=None):
    """Rotate every image by a random multiple of 360 / angles degrees.

    Counter-clockwise as displayed with row 0 on top, like ``numpy.rot90``, about the middle of the
    pixel grid ((H - 1) / 2, (W - 1) / 2); bilinear, zeros outside. Right angles are exact.

    Parameters
    ----------
    X : array of shape (n_samples, H, W)
    angles : int
        Number of equally spaced angles, from 0.
    random_state : int, RandomState or None

    Returns
    -------
    X_new : ndarray of shape (n_samples, H, W)
        In the dtype of ``X`` if floating, else float32 (float64 for integers of 32 bits or more).
    degrees : ndarray of shape (n_samples,), float64
    """
    X = np.asarray(X)
    if X.ndim != 3 or X.dtype.kind not in "buif":
        raise ValueError(f"X is {X.dtype} {X.shape}; expected real images (n_samples, H, W).")
    check_scalar(angles, "angles", Integral, min_val=1)
    index = check_random_state(random_state).randint(angles, size=len(X))
    work = np.result_type(X.dtype, np.float32)
    X_new = np.empty(X.shape, X.dtype if X.dtype.kind == "f" else work)
    how = {"axes": (1, 2), "reshape": False, "order": 1, "mode": "grid-constant"}
    for k in np.unique(index):
        X_new[index == k] = ndimage.rotate(X[index == k].astype(work), k * 360 / angles, **how)
    return X_new, index * 360 / angles


def _draw_positions(X, size, bound, random_state):
    """X as an array, zeros of the new shape, and where one is to lie within the other."""
    X = np.asarray(X)
    size = (size,) if isinstance(size, Integral) else tuple(size)
    old, rest = X.shape[1 : 1 + len(size)], X.shape[1 + len(size) :]
    limit = max if bound == "at least" else min
    fits = len(old) == len(size) > 0 and size == tuple(map(limit, size, old))
    if not fits or min(size) < 1:
        raise ValueError(f"size={size} must be positive and {bound} {old}; X has shape {X.shape}.")
    room = np.abs(np.subtract(size, old))
    offset = check_random_state(random_state).randint(room + 1, size=(len(X), len(size)))
    return X, np.zeros((len(X), *size, *rest), X.dtype), offset


def _box(start, shape) -> tuple[slice, ...]:
    return tuple(slice(a, a + s) for a, s in zip(start, shape, strict=False))


def fetch_mnist(subset="train", data_home=None):
    """Load the MNIST handwritten digits, values 0..255.

    Parameters
    ----------
    subset : {"train", "test"}
        60,000 or 10,000 images.
    data_home : path or None
        Folder with, or for, ``mnist/*-ubyte.gz``; see the module.

    Returns
    -------
    Bunch
        data (n, 28, 28) uint8, target (n,) uint8, DESCR.
    """
    prefix = {"train": "train", "test": "t10k"}.get(subset)
    if prefix is None:
        raise ValueError(f"subset={subset!r}; expected 'train' or 'test'.")
    data = _read_idx(_locate(f"mnist/{prefix}-images-idx3-ubyte.gz", data_home), 3)
    target = _read_idx(_locate(f"mnist/{prefix}-labels-idx1-ubyte.gz", data_home), 1)
    if len(data) != len(target):
        raise DatasetError(f"MNIST {subset}: {len(data)} images but {len(target)} labels.")
    return Bunch(data=data, target=target, DESCR=f"MNIST digits ({subset} set), CC BY-SA 3.0.")


def fetch_handwriting(data_home=None):
    """Load 20 samples of the letters "fda" as pen positions along time.

    Parameters
    ----------
    data_home : path or None
        Folder with, or for, ``handwriting/handwrit.rda``; see the module.

    Returns
    -------
    Bunch
        data (20, 1401, 2) float64: x and y in metres, time (1401,): 0..2300 ms, DESCR.
    """
    content = _read_rda(_locate("handwriting/handwrit.rda", data_home))
    data = np.ascontiguousarray(np.asarray(content["handwrit"], float).transpose(1, 0, 2))
    descr = 'Handwriting "fda", Ramsay and Silverman 2005, R package fda, GPL >= 2.'
    return Bunch(data=data, time=np.asarray(content["handwritTime"], float), DESCR=descr)


def fetch_eeg(data_home=None):
    """Load single-trial EEG of 10 alcoholic and 10 control subjects who see a picture.

    A trial is the second after the stimulus, at 256 Hz. As published: one trial is there twice
    (see ``repeated``), CZ of subject co2a0000368 is zero in three trials, and three of the 64
    channels are not scalp electrodes (X, Y: eye movements; nd).

    Parameters
    ----------
    data_home : path or None
        Folder with, or for, ``eeg/eegdata.rda``; see the module.

    Returns
    -------
    Bunch
        data (100, 256, 64) float64 in microvolt; subject, group ("a" alcoholic, "c" control) and
        condition (100,) str; trial (100,) int: number within the session; repeated (100,) bool:
        True where the trial equals an earlier one; channels: 64 names; sampling_rate; DESCR.
    """
    frame = _read_rda(_locate("eeg/eegdata.rda", data_home))["eegdata"]
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
    """Rows must go by trial, channel, time, with none missing or twice, and no value missing."""
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
    rdata, from_codes = _import("rdata"), _import("pandas").Categorical.from_codes
    factor = {"factor": lambda codes, attributes: from_codes(codes - 1, attributes["levels"])}
    classes = rdata.conversion.DEFAULT_CLASS_MAP
    return rdata.read_rda(path, constructor_dict={**classes, **factor})


_CRAN = "https://raw.githubusercontent.com/cran"  # the read-only mirror of CRAN on GitHub
_ADDRESSES = {
    "mnist": (
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        "https://storage.googleapis.com/cvdf-datasets/mnist",
    ),
    "handwriting": (f"{_CRAN}/fda/094f160ddcc40dc2f112cc652124d3e2d08c2831/data",),  # 5.1.4
    "eeg": (f"{_CRAN}/eegkitdata/62a293d9cfa2332e2d41a240ba5ca32b9dfaad5e/data",),  # 1.1
}
_CHECKSUMS = {
    "mnist/train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "mnist/train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
    "mnist/t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
    "mnist/t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
    "handwriting/handwrit.rda": (
        "sha256:8a17c79a2439f2aa28f6bc068c0424bc87119a606ab1938f009cbfa2b090c578"
    ),
    "eeg/eegdata.rda": "sha256:dc80860c80b461279e139e6acfa478028eebb997b80756a28e290cfc31f083f9",
}


def _locate(name: str, data_home) -> Path:
    """Path of a verified file below data_home, downloaded if it is not there."""
    home = data_home or os.environ.get("GTPCA_DATA") or _import("pooch").os_cache("gtpca")
    path = Path(home).expanduser() / name
    if not path.exists():
        _download(name, path)
    algorithm, expected = _CHECKSUMS[name].split(":")
    found = hashlib.new(algorithm, path.read_bytes(), usedforsecurity=False).hexdigest()
    if found != expected:
        raise DatasetError(
            f"{path} has {algorithm} {found}, expected {expected}. It was left as it is: "
            "move it away to download it again, or pass another data_home."
        )
    return path


def _download(name: str, path: Path) -> None:
    """Fetch from the first address that answers; the file appears only once verified."""
    pooch, failures = _import("pooch"), []
    for address in _ADDRESSES[path.parent.name]:
        url = f"{address}/{path.name}"
        try:
            pooch.retrieve(url, _CHECKSUMS[name], fname=path.name, path=path.parent)
            return
        except (OSError, ValueError) as error:
            failures.append(f"  {url} ({str(error)[:160]})\n")
    raise DatasetError(
        f"{path.name} is not at {path} and could not be downloaded from\n{''.join(failures)}"
        f"Fetch it by hand and put it there, or point data_home or the environment variable "
        f"GTPCA_DATA to a folder that holds {name}."
    )


def _import(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f'{module} is missing: pip install "gtpca[data]"') from error
