"""SpikeInterface: the segments of a recording, and sortings.

Its package is imported only to build a sorting.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gtpca.data.containers.base import Container

__all__ = ["NoSamples", "Segment", "is_spike_recording", "segments_of", "sorting_of"]


class NoSamples(Container):
    """Objects of SpikeInterface, which are not samples: an error says what would work."""

    takes_lists = True

    def __init__(self, X, sample_dim=None, labels=None):
        raise TypeError(
            f"X is a {type(X).__name__} of SpikeInterface; give a recording to EventGTPCA, or "
            "waveforms as an array: analyzer.get_extension('waveforms').get_data()."
        )


def is_spike_recording(X: Any) -> bool:
    """Whether ``X`` is an object of SpikeInterface that has traces."""
    packages = {cls.__module__.partition(".")[0] for cls in type(X).__mro__}
    return "spikeinterface" in packages and hasattr(X, "get_traces")


class Segment:
    """One segment of a recording, as something that can be sliced, (time, channels).

    In microvolts if the recording knows its gains, in its own units otherwise.

    Parameters
    ----------
    recording : BaseRecording
    number : int
    """

    dtype = np.dtype(np.float64)

    def __init__(self, recording: Any, number: int):
        self._recording, self.number = recording, number
        self.names = tuple(map(str, recording.channel_ids))
        self.shape = (int(recording.get_num_samples(number)), len(self.names))
        self.rate = float(recording.sampling_frequency)
        self._gain, self._offset = 1.0, 0.0
        if recording.has_scaleable_traces():
            self._gain, self._offset = (
                recording.get_channel_gains(),
                recording.get_channel_offsets(),
            )

    def __getitem__(self, part: slice) -> np.ndarray:
        traces = self._recording.get_traces(self.number, part.start, part.stop)
        return traces * self._gain + self._offset


def segments_of(recording: Any) -> list[Segment]:
    """All segments of a recording."""
    return [Segment(recording, number) for number in range(recording.get_num_segments())]


def sorting_of(spikes: Any, unit: Any, segment: Any, n_segments: int, rate: float) -> Any:
    """A NumpySorting of spikes at points (n,) of segments (n,), of units (n,)."""
    try:
        from spikeinterface.core import NumpySorting
    except ImportError as error:
        raise ImportError("spikeinterface is missing: pip install spikeinterface") from error
    unit = np.asarray(unit)
    if unit.shape != spikes.shape:
        raise ValueError(
            f"units has shape {unit.shape}, but must have one for each of {len(spikes)} events."
        )
    every = np.unique(unit).tolist()
    trains = [
        {one: np.sort(spikes[(segment == number) & (unit == one)]) for one in every}
        for number in range(n_segments)
    ]
    return NumpySorting.from_unit_dict(trains, rate)
