"""Opening recordings in the forms that users have: arrays, files, objects of other packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gtpca.data.containers.recordings import DATA, warn_of_kinds
from gtpca.data.containers.spikes import Segment, is_spike_recording, segments_of
from gtpca.data.signals import Signal
from gtpca.operators.grid import Axis

__all__ = ["Opened", "open_recordings"]

TIMES = ("time", "times", "t")  # names of dimensions that denote time
NANO = 1e-9


@dataclass(frozen=True, eq=False)
class Opened:
    """Recordings that can be read, and what is known about them.

    Attributes
    ----------
    signals : list of Signal
    flat : bool
        Whether they came without an axis of channels.
    axis : Axis or None
        The time axis: its unit, and the positions of the first two points.
    channels : tuple of str or None
    listed : bool
        Whether they came as a list, or as segments.
    """

    signals: list[Signal]
    flat: bool
    axis: Axis | None
    channels: tuple[str, ...] | None
    listed: bool


def open_recordings(X: Any, rate: float | None = None) -> Opened:
    """Open recordings of any kind.

    Parameters
    ----------
    X : array (time,) or (time, channels), or a list of these
        Also a memory map, an h5py dataset, a zarr or Dask array, an xarray DataArray, a pandas
        DataFrame, an MNE Raw object, or a recording of SpikeInterface, whose segments are separate
        recordings.
    rate : float or None
        Points per second, if the recordings do not provide it themselves.
    """
    listed = isinstance(X, (list, tuple)) and len(X) > 0 and np.ndim(_first(X)) > 0
    if isinstance(X, (list, tuple)) and not listed:
        X = np.asarray(X)
    each = list(X) if listed else [X]
    if not each:
        raise ValueError("X is an empty list; give at least one recording.")
    named = [
        part for i, one in enumerate(each) for part in _parts(one, f"X[{i}]" if listed else "X")
    ]
    opened = [_open(one, label) for one, label in named]
    signals = [signal for signal, *_ in opened]
    _check_alike(opened)
    axis, channels = opened[0][2], opened[0][3]
    if rate is not None:
        known = None if axis is None else axis.step
        if known is not None and abs(known * rate - 1) > 1e-3 and axis.unit == "s":
            raise ValueError(
                f"rate={rate:g} is not that of X, {1 / known:g} per second; leave it out."
            )
        axis = Axis("time", "s", np.array([0.0, 1.0 / rate])) if known is None else axis
    return Opened(signals, opened[0][1], axis, channels, listed or len(signals) > 1)


def _first(X):
    """The first of several: a number, or something with a shape."""
    is_object = hasattr(X[0], "get_data") or hasattr(X[0], "get_traces")
    return np.zeros((1, 1)) if is_object else X[0]


def _parts(X, label):
    """The segments of a recording of SpikeInterface, or ``X`` itself, each with its name."""
    if not is_spike_recording(X):
        return [(X, label)]
    segments = segments_of(X)
    several = len(segments) > 1
    return [(one, f"{label}, segment {one.number}" if several else label) for one in segments]


def _open(X, label):
    """A signal, whether it lacks an axis of channels, its time axis and its channel names."""
    package = type(X).__module__.partition(".")[0]
    if package == "mne":
        return _open_raw(X, label)
    if package == "xarray":
        return _open_labelled(X, label)
    if package == "spikeinterface":
        raise TypeError(
            f"{label} is a {type(X).__name__} of SpikeInterface; give a recording, or arrays such "
            "as waveforms to GTPCA."
        )
    if isinstance(X, Segment):
        return _open_segment(X, label)
    channels = None
    if hasattr(X, "iloc"):  # a DataFrame or a Series
        channels = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
        X = X.to_numpy()
    sliced = hasattr(X, "shape") and hasattr(X, "dtype") and hasattr(X, "__getitem__")
    source = X if sliced else np.asarray(X)
    _check(source, label)
    return Signal(source, label), len(source.shape) == 1, None, channels


def _check(source, label):
    """Check that a recording holds numbers, along one axis or two."""
    shape = tuple(source.shape)
    kind = getattr(np.dtype(source.dtype), "kind", "O")
    if kind == "c":
        raise ValueError(f"{label} holds complex numbers; give {label}.real, or both as channels.")
    if kind not in "biuf" or len(shape) not in (1, 2) or 0 in shape:
        raise ValueError(
            f"{label} has shape {shape} and dtype {source.dtype}, but a recording must hold "
            "numbers, (time,) or (time, channels); for windows of a recording use GTPCA."
        )


def _open_labelled(X, label):
    """Open a DataArray: time is the dimension of that name, or the first."""
    _check(X, label)
    names = [str(dim) for dim in X.dims]
    time = next((i for i, name in enumerate(names) if name in TIMES), 0)
    axis = Axis(names[time])
    if X.dims[time] in X.coords:
        axis = _time_axis(names[time], X.coords[X.dims[time]])
    channels = None
    if len(names) == 2 and X.dims[1 - time] in X.coords:
        channels = tuple(str(value) for value in X.coords[X.dims[1 - time]].values)
    source = X.data if hasattr(X.data, "shape") else X.values
    return Signal(source, label, turned=time == 1), len(names) == 1, axis, channels


def _time_axis(name, coordinate):
    """The first two positions of a time axis with even steps; dates as seconds from the first."""
    points = coordinate.values
    if points.dtype.kind in "mM":
        points = (points - points[0]).astype("timedelta64[ns]").astype(np.int64) * NANO
        axis = Axis(name, "s", points)
    elif points.dtype.kind in "iuf":
        axis = Axis(name, str(coordinate.attrs.get("units", "")), points.astype(np.float64))
    else:
        return Axis(name)
    if axis.step is None:
        return Axis(name)
    return Axis(name, axis.unit, np.array([points[0], points[0] + axis.step]))


class _Raw:
    """The good data channels of an MNE Raw object, as something that can be sliced, (C, n)."""

    def __init__(self, raw):
        good = [i for i, name in enumerate(raw.ch_names) if name not in raw.info["bads"]]
        kinds = raw.get_channel_types()
        self._raw, self.picks = raw, [i for i in good if kinds[i] in DATA] or good
        warn_of_kinds([kinds[i] for i in self.picks])
        self.names = tuple(raw.ch_names[i] for i in self.picks)
        self.shape, self.dtype = (len(self.picks), int(raw.n_times)), np.dtype(np.float64)

    def __getitem__(self, key):
        part = key[1]
        return self._raw.get_data(
            self.picks, part.start, part.stop, verbose="error", reject_by_annotation="NaN"
        )


def _open_raw(raw, label):
    if not hasattr(raw, "n_times") or not hasattr(raw, "first_samp"):
        raise TypeError(
            f"{label} is a {type(raw).__name__} of MNE; give a Raw, or epochs to GTPCA."
        )
    source = _Raw(raw)
    rate = float(raw.info["sfreq"])
    axis = Axis("time", "s", np.array([0.0, 1.0 / rate]))
    return Signal(source, label, turned=True), False, axis, source.names


def _open_segment(segment, label):
    _check(segment, label)
    axis = Axis("time", "s", np.array([0.0, 1.0 / segment.rate]))
    return Signal(segment, label), False, axis, segment.names


def _check_alike(opened):
    """Check that all recordings have the same channels and the same rate."""
    first, flat, axis, channels = opened[0]
    for signal, other_flat, other, names in opened[1:]:
        if signal.n_channels != first.n_channels or other_flat != flat:
            raise ValueError(
                f"{signal.label} has {signal.n_channels} channels, but {first.label} has "
                f"{first.n_channels}; recordings of one fit have the same."
            )
        if names is not None and channels is not None and names != channels:
            raise ValueError(f"{signal.label} has other channels than {first.label}: {names[:5]}.")
        steps = [one.step for one in (axis, other) if one is not None and one.step is not None]
        if len(steps) == 2 and abs(steps[0] - steps[1]) > 1e-3 * abs(steps[0]):
            raise ValueError(f"{signal.label} has another sampling rate than {first.label}.")
