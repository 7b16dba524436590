"""EventGTPCA: recordings of many kinds in, tables of events out."""

from __future__ import annotations

import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import gtpca
from gtpca import EventGTPCA, Events, Shift
from gtpca.data import signals
from gtpca.fitting.event_counts import EventCounts
from gtpca.fitting.wording import event_counts
from gtpca.model.events import EventModel

U = np.arange(30)
SHAPES = np.stack(
    [
        -np.exp(-(((U - 12) / 3) ** 2)) + 0.5 * np.exp(-(((U - 20) / 4) ** 2)),
        np.hanning(30) * np.sin(U / 2),
    ]
)


def planted(seed=0, n=20_000, count=120, noise=0.2, sign=False):
    """A recording with events of two kinds, some of which overlap; starts and kinds."""
    rng = np.random.default_rng(seed)
    y, starts, kinds = noise * rng.standard_normal(n), [], []
    for k in range(2):
        start = np.sort(rng.integers(0, n - 30 * count, count)) + 30 * np.arange(count)
        turn = rng.choice([-1, 1], count) if sign else np.ones(count)
        for t, a in zip(start, turn * rng.uniform(0.8, 1.2, count), strict=True):
            y[t : t + 30] += a * SHAPES[k]
        starts.append(start)
        kinds.append(np.full(count, k))
    return y, np.concatenate(starts), np.concatenate(kinds)


def found_of(events, starts, tolerance=4):
    """Share of true events, of any kind, near a found one after the best lag of each template."""
    hit = np.zeros(len(starts), bool)
    for g in np.unique(events.component):
        mine = events.start[events.component == g]
        apart = starts[:, None] - mine[None]
        lags, counts = np.unique(apart[np.abs(apart) < 30], return_counts=True)
        lag = lags[counts.argmax()]
        hit |= np.abs(apart - lag).min(axis=1) <= tolerance
    return hit.mean()


@pytest.fixture(scope="module")
def recording():
    return planted()


@pytest.fixture(scope="module")
def model(recording):
    return EventGTPCA(2, Shift(30), random_state=0).fit(recording[0])


def test_it_finds_what_was_planted(model, recording):
    y, starts, _ = recording
    events = model.encode(y)
    assert isinstance(events, Events)
    assert model.components_.shape == (2, 30)
    assert np.allclose(np.linalg.norm(model.components_, axis=1), 1)
    assert 0.95 * len(starts) <= len(events) <= 1.05 * len(starts)
    assert found_of(events, starts) > 0.95
    assert np.all(np.diff(events.start) >= 0)
    assert (events.gain > 0.999).all()


def test_the_objective_never_rises(model):
    assert len(model.history_) == model.n_iter_ >= 1
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[0])


def test_counts_are_honest(model):
    counts = model.event_counts_
    assert abs(counts.cross_fitted - counts.fitted) <= 0.05 * counts.fitted
    assert counts.surrogate < counts.cross_fitted
    assert counts.above_noise
    assert "more than noise" in model.counts_text_


@pytest.mark.parametrize("kind", ["white", "heavy"])
def test_noise_has_no_events(kind):
    rng = np.random.default_rng(1)
    y = rng.standard_normal(20_000) if kind == "white" else rng.standard_t(3, size=20_000)
    model = EventGTPCA(1, Shift(30), random_state=0).fit(y)
    assert not model.event_counts_.above_noise
    assert "not above noise" in model.counts_text_
    if kind == "white":
        assert model.event_counts_.cross_fitted <= 4


def test_sentences_say_what_the_counts_are():
    nothing = event_counts(EventCounts(3))
    assert nothing == "3 events, which were not compared with noise."
    said = event_counts(EventCounts(30, 29, 2, (100.0, 1.0, 3.0)))
    assert "find 29" in said
    assert "has 2" in said
    assert "gain 100 prices" in said  # the verdict is one about gains: noise may have as many
    assert "other half gain 1 there (15 is the bar)" in said
    assert said.endswith("would give.")


def test_decode_residuals_and_scores_agree(model, recording):
    y = recording[0]
    events = model.encode(y)
    built, rest = model.decode(events), model.residuals(y)
    assert built.shape == y.shape
    assert np.allclose(built + rest + np.median(y), y)
    left = np.sum(rest**2) / np.sum((y - np.median(y)) ** 2)
    assert np.isclose(model.resmse(y), left)
    assert np.isclose(model.score(y), 1 - left)


def test_cut_gives_aligned_windows(model, recording):
    y = recording[0]
    events = model.encode(y)
    windows = model.cut(y, events, before=3, after=2)
    assert windows.shape == (len(events), 35)
    i = len(events) // 2
    start = events.start[i]
    assert np.array_equal(windows[i], y[start - 3 : start + 32])
    for k in range(2):
        mean = model.cut(y, events)[events.component == k].mean(axis=0)
        assert mean @ model.components_[k] / np.linalg.norm(mean) > 0.95


def test_chunked_and_unchunked_are_the_same(model, recording):
    from dataclasses import replace

    from gtpca.data.signals import Signal

    signals = [Signal(recording[0])]
    one, many = (replace(model.model_, core=core).encode(signals) for core in (10**6, 2048))
    assert np.array_equal(one.start, many.start)
    assert np.array_equal(one.component, many.component)
    assert np.allclose(one.scores, many.scores)
    assert np.allclose(one.gain, many.gain)


def test_a_further_point_takes_no_more_work_in_a_longer_recording(recording, monkeypatch):
    for name, value in {"CORE": 1000, "WINDOWS": 8, "PART": 512, "PART_WINDOWS": 8}.items():
        monkeypatch.setattr(signals, name, value)
    model = EventGTPCA(1, Shift(30), counts=False, n_init=1, max_iter=1, tol=0, random_state=0)
    read, plain, sizes = [], signals.Signal.read, np.array([4000, 8000, 16_000])
    monkeypatch.setattr(
        signals.Signal, "read", lambda self, a, b: read.append(b - a) or plain(self, a, b)
    )
    for task in (model.fit, model.encode):
        work = []
        for size in sizes:
            task(recording[0][:size])
            work.append(sum(read))
            read.clear()
        first, second = np.diff(work) / np.diff(sizes)
        assert second <= 1.15 * first
        assert np.all(np.diff(work / sizes) <= 0)  # and the search takes parts of a fixed size


def test_jobs_do_not_change_anything(recording, monkeypatch):
    monkeypatch.setattr(signals, "CORE", 2000)  # so that there are several pieces
    monkeypatch.setattr(signals, "WINDOWS", 8)
    y = recording[0][:9000]
    one, two = (
        EventGTPCA(2, Shift(30), counts=False, random_state=0, n_jobs=n, n_init=1).fit(y)
        for n in (None, 2)
    )
    assert np.array_equal(one.components_, two.components_)


def test_a_table_with_times(recording, tmp_path):
    pytest.importorskip("pandas", reason="needs pandas")
    y = recording[0]
    model = EventGTPCA(2, Shift("30ms"), rate=1000, counts=False, random_state=0).fit(y)
    events = model.encode(y)
    assert np.allclose(events.time, events.start / 1000)
    poses = model.poses(events)
    assert np.allclose(poses["centre"] - poses["start"], 29 / 2 / 1000)
    frame = events.to_frame()
    assert list(frame.columns) == ["recording", "start", "time_s", "component", "score", "gain"]
    events.save(tmp_path / "events.csv")
    text = (tmp_path / "events.csv").read_text().splitlines()
    assert text[0].startswith("recording,start,time_s")
    assert len(text) == 1 + len(events)
    assert len(events[:5]) == 5
    assert len(events[events.component == 1]) < len(events)
    assert np.allclose(events.intervals, np.diff(events.start) / 1000)
    assert repr(events) == f"<{len(events)} events in 1 recording>"


def test_several_recordings_of_unequal_length(recording):
    y, starts, _ = recording
    parts = [y[:7000], y[7000:9000], y[9000:]]
    model = EventGTPCA(2, Shift(30), counts=False, random_state=0).fit(parts)
    events = model.encode(parts)
    assert events.sizes == (7000, 2000, 11_000)
    assert set(events.recording) == {0, 1, 2}
    offset = np.array([0, 7000, 9000])[events.recording]
    from dataclasses import replace

    assert found_of(replace(events, start=events.start + offset), starts) > 0.9
    built = model.decode(events)
    assert [len(part) for part in built] == [7000, 2000, 11_000]
    assert [len(rest) for rest in model.residuals(parts)] == [7000, 2000, 11_000]
    assert model.prices_.shape == (3, 2)


def test_channels_and_gaps(recording):
    y, starts, _ = recording
    rng = np.random.default_rng(0)
    both = np.stack([y, 0.5 * y + 0.2 * rng.standard_normal(len(y))], axis=1)
    both += np.array([3.0, -7.0])
    both[4000:4400] = np.nan
    both[9000, 1] = np.nan
    model = EventGTPCA(2, Shift(30), counts=False, random_state=0).fit(both)
    events = model.encode(both)
    assert model.components_.shape == (2, 30, 2)
    assert not np.any((events.start >= 4000) & (events.start < 4380))
    outside = starts[(starts < 3960) | (starts > 4430)]
    assert found_of(events, outside) > 0.95
    assert np.isnan(model.residuals(both)).sum() == 801
    assert 0 < model.score(both) < 1


def test_polarity(recording):
    y, starts, _ = planted(3, sign=True)
    model = EventGTPCA(2, Shift(30), polarity="both", counts=False, random_state=0).fit(y)
    events = model.encode(y)
    assert found_of(events, starts) > 0.9
    assert 0.3 < np.mean(events.scores > 0) < 0.7


def test_shared_pose(recording):
    y = recording[0]
    model = EventGTPCA(2, Shift(30), shared_pose=True, counts=False, random_state=0).fit(y)
    events = model.encode(y)
    W = model.components_
    assert events.scores.shape == (len(events), 2)
    assert not events.component.any()
    assert np.allclose(W @ W.T, np.eye(2), atol=1e-9)
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[0])
    assert np.diff(events.start).min() >= 15


def test_coloured_noise():
    from scipy.signal import lfilter

    y, starts, _ = planted(5, noise=0.0)
    noise = lfilter(
        [np.sqrt(1 - 0.81)], [1, -0.9], np.random.default_rng(0).standard_normal(20_000)
    )
    y = y + 0.3 * noise
    model = EventGTPCA(2, Shift(30), noise="stationary", counts=False, random_state=0).fit(y)
    events = model.encode(y)
    assert model.noise_.orders[0] >= 1
    assert model.whitened_components_.shape == (2, 30)
    assert found_of(events, starts) > 0.75
    like = np.abs(model.components_ @ SHAPES.T / np.linalg.norm(SHAPES, axis=1))
    assert np.allclose(np.linalg.norm(model.components_, axis=1), 1)
    assert like.max() > 0.5
    assert 0 < model.score(y) < 1
    assert 0 < model.resmse(y, in_data=True) < 1
    how = {"counts": False, "random_state": 0, "n_init": 1}
    again = EventGTPCA(2, Shift(30), noise=model.noise_, **how).fit(y[:4000])
    assert again.noise_ is model.noise_
    alone = EventGTPCA(2, Shift(30), noise=noise, **how).fit(y[:4000])
    assert alone.noise_.orders[0] == 1


def test_it_is_an_estimator(model, recording):
    y = recording[0][:6000]
    fresh = clone(model)
    assert not hasattr(fresh, "components_")
    assert repr(fresh) == repr(model)
    assert "EventGTPCA(" in repr(model)
    fresh.set_params(family="shift(30)", counts=False)
    fresh.set_params(family__window=25).fit(y)
    assert fresh.components_.shape == (2, 25)
    with pytest.raises(NotFittedError):
        EventGTPCA(1, Shift(30)).encode(y)


def test_an_error_leaves_the_model_as_it_was(model, recording):
    before = dict(vars(model))
    with pytest.raises(ValueError, match="10 points"):
        model.fit(np.zeros(10))
    assert vars(model) == before


@pytest.mark.parametrize("how", [{}, {"shared_pose": True, "noise": "stationary"}])
def test_files_and_pickles(how, recording, tmp_path):
    y = recording[0][:6000]
    model = EventGTPCA(2, Shift("30ms"), rate=1000, random_state=0, counts=not how, **how).fit(y)
    events = model.encode(y)
    model.save(tmp_path / "model.gtpca")
    for same in (gtpca.load(tmp_path / "model.gtpca"), pickle.loads(pickle.dumps(model))):
        other = same.encode(y)
        assert np.array_equal(other.start, events.start)
        assert np.array_equal(other.scores, events.scores)
        assert same.event_counts_ == model.event_counts_
        assert repr(same) == repr(model)
    assert isinstance(model.model_, EventModel)


def test_false_alarms_may_be_changed_after_a_fit(model, recording):
    y = recording[0][:5000]
    few = len(model.encode(y))
    many = len(_with(model, false_alarms=100.0).encode(y))
    assert many > few


def _with(model, **params):
    other = pickle.loads(pickle.dumps(model))
    return other.set_params(**params)


@pytest.mark.parametrize(
    ("parameters", "X", "words"),
    [
        ({"family": None}, None, "family=None must be Shift"),
        ({"family": gtpca.Rotation(12)}, None, "must be Shift(window=..)"),
        ({"family": Shift(30, boundary="partial")}, None, "boundary does not apply"),
        ({"family": Shift(1)}, None, "window=1 must be an integer of at least 2"),
        ({"family": Shift("0.1s")}, None, "needs an axis with even steps"),
        ({"false_alarms": 0}, None, "false_alarms=0 must be a number above 0"),
        ({"polarity": "up"}, None, "polarity='up' must be one of"),
        ({"refractory": 0}, None, "refractory=0 must be"),
        ({"noise": 3}, None, "noise=3 must be"),
        ({"n_components": 0}, None, "n_components=0"),
        ({}, np.zeros(20), "X has 20 points, less than the window of 30"),
        ({}, np.zeros((2, 900)), "X.T"),
        ({}, np.zeros(900), "nothing but constants"),
        ({}, np.full(900, np.nan), "no observed values"),
        ({}, np.zeros((3, 4, 5)), "(time,) or (time, channels)"),
        ({}, np.array(["a"] * 50), "must hold numbers"),
        ({}, np.ones(50, complex), "complex"),
        ({}, np.r_[np.zeros(50), np.inf], "infinit"),
        ({}, [], "must hold numbers"),
        ({}, [np.zeros(50), np.zeros((50, 2))], "has 2 channels"),
    ],
)
def test_errors_name_the_parameter(parameters, X, words, recording):
    X = recording[0][:500] if X is None else X
    estimator = EventGTPCA(**({"n_components": 1, "family": Shift(30)} | parameters))
    with pytest.raises(ValueError, match=re.escape(words)) as error:
        estimator.fit(X)
    assert "\n" not in str(error.value)


def test_errors_of_new_recordings(model):
    with pytest.raises(ValueError, match="fitted to 1"):
        model.encode(np.zeros((100, 2)))
    with pytest.raises(TypeError, match="give what encode returned"):
        model.decode(np.zeros(3))
    other = model.encode(np.random.default_rng(0).standard_normal(2000))
    wrong = other[:0]
    assert model.decode(wrong).shape == (2000,)
    assert not model.decode(wrong).any()


def test_clipped_recordings_are_told(recording):
    y = np.clip(recording[0], -0.25, None)
    with pytest.warns(UserWarning, match="clipped"):
        model = EventGTPCA(1, Shift(30), counts=False, n_init=1, random_state=0).fit(y)
    assert "clipped" in model.cautions_[0]


def test_recordings_that_drift_are_told_and_whitened(recording):
    y = recording[0][:8000]
    y = y + 5 * np.sin(np.arange(8000) / 1500)
    with pytest.warns(UserWarning, match="X drifts: its correlations .* noise='stationary'"):
        assert len(EventGTPCA(1, Shift(30), counts=False, random_state=0).fit(y).encode(y)) < 5
    model = EventGTPCA(1, Shift(30), noise="stationary", random_state=0).fit(y)
    assert not model.cautions_
    assert len(model.encode(y)) > 80  # of 89
    assert model.event_counts_.above_noise  # a surrogate has no steps where its rows meet


@pytest.mark.parametrize("noise", ["white", "stationary"])
def test_channels_without_values_change_nothing(noise, recording):
    y = recording[0][:8000]
    Y = np.stack([y, np.full_like(y, np.nan), 0.5 * y], axis=1)
    Y[:, 2] += 0.1 * np.random.default_rng(1).standard_normal(8000)
    model = EventGTPCA(1, Shift(30), noise=noise, counts=False, random_state=0)
    expected = model.fit(Y[:, ::2]).encode(Y[:, ::2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        events = model.fit(Y).encode(Y)
    assert len(events) > 40
    assert np.mean(np.isin(events.start, expected.start + np.arange(-9, 10)[:, None])) > 0.95


@pytest.mark.parametrize("size", [31, 45, 60, 75])
def test_recordings_of_hardly_more_than_a_window(size, recording):
    y = recording[0][:size]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # one largest value in 31 is no clipping
        model = EventGTPCA(1, Shift(30), random_state=0).fit(y)
    events = model.encode(y)
    assert model.decode(events).shape == (size,)
    assert "not compared with noise" in model.counts_text_


@pytest.mark.parametrize("change", [lambda y: y + 1e6, lambda y: np.round(1e3 * y + 2e4)])
def test_offsets_and_integers_have_the_same_events(change, recording):
    y = recording[0][:3000]
    model = EventGTPCA(1, Shift(30), counts=False, n_init=1, random_state=0)
    expected = model.fit(y).encode(y).start
    y = change(y)
    y = y.astype(np.int16) if np.abs(y).max() < 2**15 else y
    np.testing.assert_array_equal(model.fit(y).encode(y).start, expected)


def test_containers(model, recording, tmp_path):
    """The same events, whatever the recording comes in."""
    y = recording[0][:6000]
    start = model.encode(y).start
    np.save(tmp_path / "y.npy", y)
    assert np.array_equal(model.encode(np.load(tmp_path / "y.npy", mmap_mode="r")).start, start)
    assert np.array_equal(model.encode(y.tolist()).start, start)
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    with h5py.File(tmp_path / "y.h5", "w") as file:
        assert np.array_equal(model.encode(file.create_dataset("y", data=y)).start, start)
    stored = zarr.open(str(tmp_path / "y.zarr"), mode="w", shape=y.shape, dtype="f8", chunks=1000)
    stored[:] = y
    assert np.array_equal(model.encode(stored).start, start)
    pandas = pytest.importorskip("pandas")
    assert np.array_equal(model.encode(pandas.Series(y)).start, start)
    dask = pytest.importorskip("dask.array")
    assert np.array_equal(model.encode(dask.from_array(y, chunks=3000)).start, start)


def test_data_arrays_bring_their_time(recording):
    xarray = pytest.importorskip("xarray")
    y = recording[0]
    times = xarray.Variable("time", 2.0 + np.arange(len(y)) / 500, {"units": "s"})
    X = xarray.DataArray(y, dims=["time"], coords={"time": times})
    model = EventGTPCA(2, Shift("60ms"), counts=False, random_state=0).fit(X)
    events = model.encode(X)
    assert model.components_.shape == (2, 30)
    assert np.allclose(events.time, 2.0 + events.start / 500)
    turned = xarray.DataArray(np.stack([y, y])[:, :5000], dims=["channel", "time"])
    assert EventGTPCA(1, Shift(30), counts=False, n_init=1).fit(turned).n_channels_ == 2


def test_raw_of_mne(recording):
    mne = pytest.importorskip("mne")
    y = recording[0]
    info = mne.create_info(["Cz", "Pz"], 500.0, "eeg")
    raw = mne.io.RawArray(np.stack([y, 0.5 * y]) * 1e-6, info, verbose="error")
    model = EventGTPCA(2, Shift("60ms"), counts=False, random_state=0).fit(raw)
    events = model.encode(raw)
    assert model.labels_.axes[1].names == ("Cz", "Pz")
    assert model.components_.shape == (2, 30, 2)
    assert np.allclose(events.time, events.start / 500)
    with pytest.raises(TypeError, match="epochs to GTPCA"):
        model.encode(mne.EpochsArray(np.zeros((2, 2, 50)), info, verbose="error"))


def test_one_scale_is_as_good_as_another(recording):
    y = recording[0][:6000]
    other = EventGTPCA(2, Shift(30), counts=False, random_state=0).fit(1e6 * y)
    here = EventGTPCA(2, Shift(30), counts=False, random_state=0).fit(y)
    assert np.array_equal(other.encode(1e6 * y).start, here.encode(y).start)
