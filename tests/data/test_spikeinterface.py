"""Recordings and sortings of SpikeInterface: `make test-spikeinterface`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gtpca import GTPCA, EventGTPCA, MixtureGTPCA, Shift
from gtpca.data import signals

core = pytest.importorskip("spikeinterface.core", reason="needs it: make test-spikeinterface")
RATE = 20_000.0


def simulated(durations=(4.0,), n_units=2, **how):
    return core.generate_ground_truth_recording(
        durations=list(durations),
        sampling_frequency=RATE,
        num_channels=3,
        num_units=n_units,
        seed=0,
        **how,
    )


def finder(n_units=2, **how):
    return EventGTPCA(n_units, Shift("2ms"), counts=False, random_state=0, **how)


@pytest.fixture(scope="module")
def fitted():
    recording, truth = simulated((1.5, 1.0))
    # one false alarm per recording and template would be a large share of so few spikes
    return recording, truth, finder(false_alarms=0.01).fit(recording)


def test_segments_are_recordings_and_times_are_seconds(fitted):
    recording, _, model = fitted
    traces = [recording.get_traces(segment_index=i) for i in (0, 1)]
    plain = finder(rate=RATE, false_alarms=0.01).fit(traces)
    np.testing.assert_allclose(model.components_, plain.components_)
    events, expected = model.encode(recording), plain.encode(traces)
    np.testing.assert_array_equal(events.start, expected.start)
    assert events.sizes == (30_000, 20_000)
    np.testing.assert_allclose(model.poses(events)["start"], events.start / RATE)
    assert model.labels_.axes[1].names == tuple(recording.channel_ids)
    assert [len(part) for part in model.residuals(recording)] == [30_000, 20_000]


def test_a_sorting_agrees_with_the_truth(fitted):
    pytest.importorskip("numba", reason="the comparison of SpikeInterface needs it")
    from spikeinterface.comparison import compare_sorter_to_ground_truth

    recording, truth, model = fitted
    sorting = model.to_sorting(model.encode(recording))
    assert sorting.get_num_segments() == 2
    assert sorting.sampling_frequency == pytest.approx(RATE, rel=1e-12)
    compared = compare_sorter_to_ground_truth(truth, sorting, exhaustive_gt=True)
    assert compared.get_performance()["accuracy"].min() > 0.97
    analyzer = core.create_sorting_analyzer(sorting, recording, sparse=False)
    analyzer.compute(["random_spikes", "templates"])
    found = analyzer.get_extension("templates").get_data()  # (units, points, channels)
    assert found.shape[0] == 2
    assert np.abs(found).max() > 30  # microvolts: averages of aligned spikes keep their height


def test_units_of_other_estimators(fitted):
    recording, _, model = fitted
    events = model.encode(recording)
    windows = model.cut(recording, events, 4, 4)
    kinds = MixtureGTPCA(2, 0, Shift(40, axes=0), missing="ignore", max_iter=3, random_state=0)
    unit = np.array(["a", "b"])[kinds.fit_predict(windows)]
    sorting = model.to_sorting(events, unit)
    assert set(sorting.unit_ids) == set(unit)
    trains = [sorting.get_unit_spike_train("a", segment_index=i) for i in (0, 1)]
    peaks = np.rint(model.poses(events)["peak"] * RATE).astype(int)
    for i, train in enumerate(trains):
        mine = (unit == "a") & (events.recording == i)
        np.testing.assert_array_equal(train, np.sort(peaks[mine]))
    with pytest.raises(ValueError, match="one for each"):
        model.to_sorting(events, unit[1:])


def test_microvolts_where_gains_are_known():
    rng = np.random.default_rng(0)
    counts = rng.integers(-400, 400, (5000, 2)).astype(np.int16)
    recording = core.NumpyRecording([counts], RATE, channel_ids=["tip", "shaft"])
    model = finder(1)
    model.fit(recording)
    np.testing.assert_allclose(model.opened(recording).signals[0].read(0, 99), counts[:99])
    recording.set_channel_gains([0.5, 2.0])
    recording.set_channel_offsets([0.0, 1.0])
    seen = model.opened(recording).signals[0].read(100, 200)
    np.testing.assert_allclose(seen, counts[100:200] * [0.5, 2.0] + [0.0, 1.0])


def test_traces_are_read_in_pieces(monkeypatch):
    recording = core.NumpyRecording([np.random.default_rng(1).standard_normal((200_000, 1))], RATE)
    sizes = []
    read = type(recording).get_traces

    def spy(self, segment_index=None, start_frame=None, end_frame=None, **how):
        sizes.append(end_frame - start_frame)
        return read(self, segment_index, start_frame, end_frame, **how)

    model = finder(1, rate=RATE).fit(np.random.default_rng(0).standard_normal((5000, 1)))
    monkeypatch.setattr(type(recording), "get_traces", spy)
    monkeypatch.setattr(signals, "LEVEL_POINTS", 2**14)  # the median of a short one takes all of it
    model.encode(recording)
    assert sizes
    assert max(sizes) < 100_000


def test_what_is_refused(fitted):
    recording, truth, model = fitted
    with pytest.raises(TypeError, match="give a recording"):
        finder().fit(truth)
    with pytest.raises(TypeError, match="EventGTPCA"):
        GTPCA(1, Shift(40)).fit(recording)
    other = core.NumpyRecording([np.zeros((5000, 3))], 2 * RATE)
    with pytest.raises(ValueError, match="resample"):
        model.encode(other)
    with pytest.raises(ValueError, match="no sampling rate"):
        model.to_sorting(replace(model.encode(recording), axis=None))
    with pytest.raises(ValueError, match="2 recordings"):
        model.stream(recording)


def test_nwb(tmp_path, fitted):
    pynwb = pytest.importorskip("pynwb", reason="NWB files need it")
    extractors = pytest.importorskip("spikeinterface.extractors")
    from datetime import UTC, datetime

    recording, _, model = fitted
    traces = recording.get_traces(segment_index=0)
    file = pynwb.NWBFile("a session", "one", datetime(2024, 1, 1, tzinfo=UTC))
    device = file.create_device("probe")
    group = file.create_electrode_group("shank", "one shank", "CA1", device)
    for _ in range(3):
        file.add_electrode(group=group, location="CA1")
    rows = file.create_electrode_table_region([0, 1, 2], "all")
    volts = pynwb.ecephys.ElectricalSeries(
        name="raw", data=traces, electrodes=rows, starting_time=0.0, rate=RATE, conversion=1e-6
    )
    file.add_acquisition(volts)
    path = tmp_path / "session.nwb"
    with pynwb.NWBHDF5IO(path, "w") as writer:
        writer.write(file)
    found = model.encode(extractors.read_nwb_recording(path))
    np.testing.assert_array_equal(found.start, model.encode(traces).start)
