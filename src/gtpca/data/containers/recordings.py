"""MNE Epochs and evoked responses."""

from __future__ import annotations

import copy
import sys

import numpy as np

from gtpca import checks
from gtpca.data.containers.base import Container, axes_of
from gtpca.data.labels import Labels
from gtpca.operators.grid import Axis
from gtpca.optional import require

__all__ = ["Recordings", "warn_of_kinds"]

# The types of channels that MNE itself considers data.
DATA = (
    "mag",
    "grad",
    "ref_meg",
    "eeg",
    "seeg",
    "ecog",
    "dbs",
    "csd",
    "hbo",
    "hbr",
    "fnirs_cw_amplitude",
    "fnirs_fd_ac_amplitude",
    "fnirs_fd_phase",
    "fnirs_od",
)
UNITS = {"mag": "T", "ref_meg": "T", "grad": "T/m", "csd": "V/m2", "hbo": "M", "hbr": "M"}
UNITS |= {"fnirs_fd_phase": "rad", "fnirs_od": "1"}  # all others are in volts


class Recordings(Container):
    """Epochs, or a list of Evoked: samples (channel, time), with times in seconds.

    Parameters
    ----------
    X : Epochs, EpochsArray or list of Evoked
    sample_dim : ignored
    labels : Labels or None
        Labels of a fitted model, whose channels are selected by name, and whose axes are in this
        order or, if it was fitted to a file, in reverse. Default: the good data channels, or all
        good channels if none of them holds data.
    """

    takes_lists = True

    def __init__(self, X, sample_dim=None, labels: Labels | None = None):
        self._listed = isinstance(X, (list, tuple))
        first = X[0] if self._listed else X
        if not hasattr(first, "get_data") or not hasattr(first, "times"):
            raise TypeError(f"X is a {type(X).__name__} of MNE; give Epochs or a list of Evoked.")
        if not self._listed and not hasattr(X, "events"):
            raise TypeError(f"X is one {type(X).__name__}; give Epochs, or a list of Evoked.")
        self._X, self._picks = X, _picks(first, labels)
        self._check_alike(first)
        rows = np.stack([one.get_data(self._picks) for one in X]) if self._listed else self._data()
        self._order = slice(None, None, -1 if _times_first(labels) else 1)
        axes = _axes(first, self._picks)[self._order]
        super().__init__(self._turned(rows), Labels(axes, "mne", "epoch"))

    def _turned(self, rows):
        """Rows with channels before times, or the reverse if the model has them so."""
        return rows if self._order.step == 1 else rows.transpose(0, 2, 1)

    def _data(self):
        return self._X.get_data(picks=self._picks, copy=False, verbose="error")

    def _check_alike(self, first):
        for i, one in enumerate(self._X if self._listed else ()):
            if one.ch_names != first.ch_names or not np.array_equal(one.times, first.times):
                raise ValueError(f"X[{i}] has other channels or times than X[0].")

    def take(self, numbers):
        part = copy.copy(self)
        chosen = np.arange(len(self._X))[numbers]
        part._X = [self._X[i] for i in chosen] if self._listed else self._X[chosen]
        return part

    def samples(self, values, grid):
        mne, axes = sys.modules["mne"], axes_of(grid, self.labels, values.shape[1:])[self._order]
        turned = self._turned(np.asarray(values))
        if turned.shape[1] != len(self._picks) or axes[1].points is None:
            return values
        first = self._X[0] if self._listed else self._X
        info, tmin = mne.pick_info(first.info, self._picks), float(axes[1].points[0])
        if not self._listed:
            return self._epochs(mne, turned, info, tmin)
        return [
            mne.EvokedArray(value, info, tmin, one.comment, one.nave, one.kind, verbose="error")
            for value, one in zip(turned, self._X, strict=True)
        ]

    def _epochs(self, mne, values, info, tmin):
        about = {"event_id": self._X.event_id, "metadata": self._X.metadata, "proj": False}
        about |= {"selection": self._X.selection, "drop_log": self._X.drop_log}
        return mne.EpochsArray(values, info, self._X.events, tmin, **about, verbose="error")

    @classmethod
    def components(cls, values, grid, labels):
        mne = require("mne", "eeg")
        channel, time = axes_of(grid, labels, values.shape[1:])
        if channel.names is None or time.points is None or time.step is None:
            return values
        rate = float(f"{1 / time.step:.12g}")  # 200 Hz, where steps were rounded
        info = mne.create_info(list(channel.names), rate, list(channel.about["kinds"]))
        with info._unlock():
            for entry, place in zip(info["chs"], channel.about["places"], strict=True):
                entry["loc"][:] = place
        return [
            mne.EvokedArray(w, info, float(time.points[0]), f"component {k}", verbose="error")
            for k, w in enumerate(values, start=1)
        ]


def _times_first(labels) -> bool:
    """Whether a model has times before channels, as files of epochs are read."""
    return labels is not None and [axis.name for axis in labels.axes] == ["time", "channel"]


def _picks(X, labels) -> np.ndarray:
    """Numbers of the channels that are used."""
    axes = () if labels is None else labels.axes
    fitted = next((axis.names for axis in axes if axis.name == "channel"), None)
    if fitted is not None:
        absent = [name for name in fitted if name not in X.ch_names]
        if absent:
            raise ValueError(f"X has no channel {absent[0]!r}, to which GTPCA was fitted.")
        return np.array([X.ch_names.index(name) for name in fitted])
    good = ~np.isin(X.ch_names, X.info["bads"])
    kinds = np.array(X.get_channel_types())
    data = np.flatnonzero(good & np.isin(kinds, DATA))
    warn_of_kinds(kinds[data])
    return data if len(data) else np.flatnonzero(good)


def warn_of_kinds(kinds) -> None:
    """Warn if channels have different units.

    Values in volts are a million times those in tesla, and would dominate.

    Parameters
    ----------
    kinds : array of str
        Types of the channels, as named by MNE.
    """
    units = {kind: UNITS.get(kind, "V") for kind in sorted(set(map(str, kinds)))}
    if len(set(units.values())) > 1:
        mixed = ", ".join(f"{kind} ({unit})" for kind, unit in units.items())
        checks.warn(
            f"X mixes channels of different units: {mixed}; those with the larger numbers decide. "
            "Fit one kind, as epochs.copy().pick('eeg') has it, or scale them first.",
            UserWarning,
        )


def _axes(X, picks) -> tuple[Axis, ...]:
    """Channels, with their types and positions, and times in seconds."""
    kinds = X.get_channel_types()
    places = np.array([X.info["chs"][i]["loc"] for i in picks], dtype=np.float64)
    about = {"kinds": [kinds[i] for i in picks], "places": places}
    names = tuple(X.ch_names[i] for i in picks)
    return Axis("channel", names=names, about=about), Axis("time", "s", np.array(X.times))
