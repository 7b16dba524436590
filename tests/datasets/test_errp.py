"""Error potentials: the loader on small files of the documented structure, and the simulation."""

import os

import numpy as np
import pytest
from scipy import signal
from scipy.io import savemat

from gtpca.datasets import (
    DatasetError,
    errp,
    event_windows,
    fetch_errp,
    files,
    generators,
    simulate_errp,
)

NAMES = ["Cz", "Fz", "Pz", "FCz"]
CODES = [[1, 5, 9, 8], [10, 4, 6, 5, 5]]  # of two runs; 1, 4 and 8 are not trials
POSITIONS = [[100, 150, 420, 600], [129, 300, 500, 700, 216]]  # counted from 1
N_TIMES = 600, 1000


def make_run(number, names=NAMES):
    """One run as nested dictionaries, EVENT as columns and Label as a cell array, like MATLAB."""
    rng, label = np.random.RandomState(number), np.empty((len(names) + 1, 1), object)
    label[:, 0] = [*names, "Status"]
    event = {"TYP": np.c_[CODES[number]].astype(float), "POS": np.c_[POSITIONS[number]]}
    eeg = 1000.0 * number + rng.standard_normal((N_TIMES[number], len(names)))
    return {"eeg": eeg, "header": {"SampleRate": 512.0, "Label": label, "EVENT": event}}


def write_errp(path, runs, **options):
    """Save runs as the struct array ``run`` of a MATLAB file."""
    structs = np.empty((1, len(runs)), [("eeg", object), ("header", object)])
    for i, run in enumerate(runs):
        structs[0, i] = run.get("eeg"), run.get("header")
    if any(set(run) != {"eeg", "header"} for run in runs):  # a struct array has fields in common
        structs = runs[0]
    path.parent.mkdir(exist_ok=True)
    savemat(path, {"run": structs}, **options)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Two subjects with the same two sessions; nothing can be downloaded."""
    monkeypatch.setattr(errp, "TOTALS", ((8, 4),) * 6)
    monkeypatch.setitem(files.ADDRESSES, "errp", ())
    for subject in (1, 2):
        for session in (1, 2):
            path = tmp_path / "errp" / f"Subject{subject:02d}_s{session}.mat"
            write_errp(path, [make_run(0), make_run(1)], do_compression=session == 2)
    return tmp_path


def expected_trials(start, stop, columns):
    """Trials of a session, one after the other."""
    for number in (0, 1):
        eeg = make_run(number)["eeg"]
        x = eeg - eeg.mean(axis=0)
        for code, position in zip(CODES[number], POSITIONS[number], strict=True):
            if code in (5, 6, 9, 10):
                yield number + 1, code, position - 1, x[position - 1 + start : position - 1 + stop]


def test_trials_of_all_files(home):
    trials = fetch_errp(np.array(["FCz", "Fz"]), home, n_subjects=2, window=(-0.25, 0.125))
    expected = list(expected_trials(-128, 64, NAMES)) * 4
    assert trials.data.shape == (24, 192, 2)
    assert trials.data.dtype == np.float32
    for i, (run, code, position, x) in enumerate(expected):
        assert trials.data[i] == pytest.approx(x[:, [3, 1]], abs=1e-5)
        assert (trials.run[i], trials.code[i], trials.position[i]) == (run, code, position)
    assert trials.target.tolist() == [0, 1, 0, 1, 0, 0] * 4
    assert trials.subject.tolist() == [1] * 12 + [2] * 12
    assert trials.session.tolist() == ([1] * 6 + [2] * 6) * 2
    assert (trials.channels, trials.sampling_rate) == (["FCz", "Fz"], 512.0)
    assert trials.window == (-0.25, 0.125)
    assert trials.simulated is False
    assert "013-2015" in trials.DESCR
    assert "recordings" not in trials


def test_whole_recordings_have_the_trials(home):
    trials = fetch_errp("Pz", home, n_subjects=1, window=(0, 0.1), recordings=True)
    assert list(trials.recordings) == [(1, 1, 1), (1, 1, 2), (1, 2, 1), (1, 2, 2)]
    assert trials.recordings[1, 1, 2].shape == (1000, 1)
    for key, x in trials.recordings.items():
        assert x.dtype == np.float32
        assert x.mean(axis=0) == pytest.approx(np.zeros(1), abs=1e-5)
        of_run = np.all(np.c_[trials.subject, trials.session, trials.run] == key, axis=1)
        windows = event_windows(x, trials.position[of_run], 0, 51)
        assert np.array_equal(windows, trials.data[of_run])


def test_all_channels_in_the_order_of_the_cap(home, monkeypatch):
    names = [f" {name.upper()}" for name in errp.CHANNELS[::-1]]  # however they are written
    for session in (1, 2):
        runs = [make_run(number, names) for number in (0, 1)]
        write_errp(home / "errp" / f"Subject01_s{session}.mat", runs)
    trials = fetch_errp("all", home, n_subjects=1, window=(0, 0.1))
    assert len(set(errp.CHANNELS)) == 64
    assert trials.channels == list(errp.CHANNELS)
    x = make_run(0, names)["eeg"]
    assert trials.data[0] == pytest.approx((x - x.mean(axis=0))[149:200, ::-1], abs=1e-5)


def test_a_file_with_a_single_run(home, monkeypatch):
    monkeypatch.setattr(errp, "TOTALS", ((2, 2),))
    for session in (1, 2):
        write_errp(home / "errp" / f"Subject01_s{session}.mat", [make_run(0)])
    trials = fetch_errp(data_home=home, n_subjects=1, window=(0, 0.1))
    assert trials.code.tolist() == [5, 9, 5, 9]


def test_a_window_beyond_the_end_of_a_run(home):
    # run 1 ends 181 points after its last trial, run 2 starts 128 before its first
    assert len(fetch_errp(data_home=home, n_subjects=1, window=(-0.25, 181 / 512)).data) == 12
    message = r"window.*subject 1, session 1, run 1: .*=419.* 600 time points.*outside='drop'"
    with pytest.raises(ValueError, match=message):
        fetch_errp(data_home=home, n_subjects=1, window=(0, 182 / 512))
    trials = fetch_errp(data_home=home, n_subjects=1, window=(0, 182 / 512), outside="drop")
    assert trials.code.tolist() == [5, 10, 6, 5, 5] * 2
    assert len(trials.data) == len(trials.position) == len(trials.run) == 10


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"channels": ["Fz", "Fcz"]}, r"channels=\['Fz', 'Fcz'\] must be 'all' or .*: Fp1, AF7"),
        ({"channels": ["Fz", "Fz"]}, "channels=.* different names"),
        ({"channels": []}, r"channels=\[\] must"),
        ({"channels": 2}, "channels=2 must"),
        ({"n_subjects": 7}, "n_subjects=7 must be an integer from 1 to 6"),
        ({"window": (0.5, 0.5)}, r"window=\(0.5, 0.5\) must be a start and a later stop"),
        ({"window": 1.0}, "window=1.0 must be"),
        ({"window": ("a", 1)}, "window=.* must be"),
        ({"outside": "pad"}, "outside='pad' must be one of"),
    ],
)
def test_parameters_are_checked_before_any_file(tmp_path, bad, message):
    with pytest.raises(ValueError, match=message):
        fetch_errp(data_home=tmp_path / "absent", **bad)
    assert not (tmp_path / "absent").exists()


def change(run, name, value):
    """Set a field, or with None remove it."""
    *structs, field = name.split(".")
    for struct in structs:
        run = run[struct]
    if value is None:
        del run[field]
    else:
        run[field] = value


BAD = np.zeros((1000, 4))
BAD[3, 1] = np.nan


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("eeg", np.zeros((4, 800)), r"header\.Label: 5 entries, .*eeg, which has shape \(4, 800\)"),
        ("eeg", np.zeros(800), r"header\.Label: .*shape \(800,\)"),
        ("eeg", BAD, "eeg: has missing or infinite"),
        ("eeg", "text", "eeg: str, expected numbers"),
        ("header", 3.0, r"no field 'header\.SampleRate'"),
        ("header.SampleRate", None, r"no field 'header\.SampleRate'"),
        ("header.SampleRate", 256.0, r"header\.SampleRate: \[256.\], expected 512"),
        ("header.Label", None, r"no field 'header\.Label'"),
        ("header.Label", np.array(NAMES, object), r"header\.Label: 4 entries, expected one more"),
        ("header.Label", 5.0, r"header\.Label: 1 entries"),
        (
            "header.Label",
            np.array(["Cz", "F3", "Pz", "FCz", "Fz"], object),  # Fz only in place of the trigger
            r"header\.Label: Fz missing from \['cz', 'f3'",
        ),
        ("header.EVENT", None, r"no field 'header\.EVENT\.TYP'"),
        ("header.EVENT.TYP", None, r"no field 'header\.EVENT\.TYP'"),
        ("header.EVENT.POS", None, r"no field 'header\.EVENT\.POS'"),
        ("header.EVENT.POS", np.arange(4), r"header\.EVENT\.TYP and \.POS: \(5,\) codes, \(4,\)"),
        ("header.EVENT.POS", np.array([0, 1, 2, 3, 4]), r"POS: 0, expected 1 to 1000"),
        ("header.EVENT.POS", np.array([1001, 1, 2, 3, 4]), r"POS: 1001, expected 1 to 1000"),
        ("header.EVENT.POS", np.array([9.5, 1, 2, 3, 4]), r"POS: 9.5, expected 1 to 1000"),
    ],
)
def test_a_wrong_field_is_named_with_its_file(home, field, value, message):
    path, run = home / "errp" / "Subject02_s1.mat", make_run(1)
    change(run, field, value)
    write_errp(path, [make_run(0), run])
    with pytest.raises(DatasetError, match=message) as caught:
        fetch_errp(data_home=home, n_subjects=2, window=(0, 0.1))
    assert f"{path}: run 2" in str(caught.value)


def test_a_missing_eeg_is_named(home):
    path, run = home / "errp" / "Subject02_s1.mat", make_run(0)
    change(run, "eeg", None)
    write_errp(path, [run])
    with pytest.raises(DatasetError, match=r"Subject02_s1\.mat: run 1 has no field 'eeg'"):
        fetch_errp(data_home=home, n_subjects=2, window=(0, 0.1))


def test_a_file_without_runs_is_named(home):
    savemat(home / "errp" / "Subject01_s2.mat", {"walk": 1})
    with pytest.raises(DatasetError, match=r"Subject01_s2\.mat has no variable 'run'"):
        fetch_errp(data_home=home, n_subjects=1, window=(0, 0.1))


@pytest.mark.parametrize("session", [1, 2])  # 2 is compressed
@pytest.mark.parametrize("share", [0, 0.0001, 0.01, 0.3, 0.999])
def test_a_truncated_file_is_named(home, session, share):
    path = home / "errp" / f"Subject01_s{session}.mat"
    raw = path.read_bytes()
    path.write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(DatasetError, match="is truncated or not a MATLAB file") as caught:
        fetch_errp(data_home=home, n_subjects=1, window=(0, 0.1))
    assert str(path) in str(caught.value)
    assert path.stat().st_size == int(share * len(raw))


def test_the_number_of_trials_is_verified(home, monkeypatch):
    monkeypatch.setattr(errp, "TOTALS", ((8, 4), (9, 4)))
    fetch_errp(data_home=home, n_subjects=1, window=(0, 0.1))
    message = r"Subject02_s2\.mat .*\[8, 4\] .*header\.EVENT\.TYP, expected \[9, 4\]"
    with pytest.raises(DatasetError, match=message):
        fetch_errp(data_home=home, n_subjects=2, window=(0, 0.1))


def test_a_missing_file_is_noticed_before_any_is_read(home):
    (home / "errp" / "Subject01_s1.mat").write_bytes(b"not read")
    with pytest.raises(DatasetError, match=r"(?s)Subject03_s1\.mat is not at .*by hand"):
        fetch_errp(data_home=home, n_subjects=3)


@pytest.mark.long
def test_real_errp(data_home):
    if not os.path.exists(os.path.join(data_home, "errp", "Subject06_s2.mat")):
        pytest.skip("the ErrP files are not there")
    trials = fetch_errp(data_home=data_home, outside="drop")
    assert trials.data.shape[1:] == (512, 2)
    assert set(trials.run) == set(range(1, 11))
    assert np.mean(trials.target) == pytest.approx(0.2, abs=0.02)


# The simulation


@pytest.fixture(scope="module")
def simulated():
    return simulate_errp(1, ["FCz", "Fz", "Oz"], random_state=0, recordings=True)


def test_simulation_has_the_fields_of_the_files(simulated, home):
    real = fetch_errp(["Pz", "Fz"], home, n_subjects=1, window=(0, 0.1), recordings=True)
    assert list(simulated) == list(real)
    for name in real:
        assert type(simulated[name]) is type(real[name])
        if isinstance(real[name], np.ndarray):
            assert simulated[name].dtype == real[name].dtype
            assert simulated[name].ndim == real[name].ndim
    assert simulated.simulated is True
    assert "imulated" in simulated.DESCR


def test_simulation_has_the_events_of_the_files(simulated):
    assert simulated.data.shape == (1044, 512, 3)
    assert np.bincount(simulated.target).tolist() == [809, 235]
    assert np.array_equal(simulated.target, np.isin(simulated.code, [6, 9]))
    assert set(simulated.code) == {5, 6, 9, 10}
    assert np.bincount(simulated.session).tolist() == [0, 523, 521]
    assert set(simulated.subject) == {1}
    assert len(simulated.recordings) == 20
    for (_, session, run), x in simulated.recordings.items():
        assert x.shape == (180 * 512, 3)
        of_run = (simulated.session == session) & (simulated.run == run)
        position = simulated.position[of_run]
        assert 52 <= len(position) <= 53
        assert np.all(np.diff(position) > 512)
        assert np.array_equal(simulated.data[of_run], event_windows(x, position, -128, 384))


def test_simulated_errors_have_their_potential(simulated):
    mean = [simulated.data[simulated.target == y].mean(axis=0) for y in (0, 1)]
    fcz, fz, oz = signal.sosfiltfilt(signal.butter(4, 15, fs=512, output="sos"), mean[1], axis=0).T
    assert fcz.argmin() / 512 - 0.25 == pytest.approx(0.25, abs=0.03)
    assert fcz.argmax() / 512 - 0.25 == pytest.approx(0.32, abs=0.03)
    assert np.ptp(fcz) > np.ptp(fz) > 2 * np.ptp(oz)
    assert np.ptp(fcz) > 4 * np.ptp(mean[0][:, 0])


def test_simulated_background(simulated):
    x = np.concatenate(list(simulated.recordings.values()))
    f, power = signal.welch(x, 512, nperseg=2048, axis=0)

    def level(low, high):
        return power[(f >= low) & (f <= high)].mean(axis=0)

    assert x.std(axis=0) == pytest.approx(np.hypot(10, [4.2, 3.4, 8.2]), rel=0.05)
    assert level(20, 24) / level(80, 96) == pytest.approx(np.full(3, 4), rel=0.05)
    assert np.all(level(9.5, 10.5) > 3 * level(5, 6))
    correlation = np.corrcoef(x.T)
    assert correlation[0, 1] == pytest.approx(0.95 * np.exp(-0.125), abs=0.02)
    assert abs(correlation[0, 2]) < 0.1


def test_simulation_is_seeded(simulated):
    two = simulate_errp(2, "FCz", random_state=1, window=(-0.75, 1.25))
    one = simulate_errp(1, "FCz", random_state=1, window=(-0.75, 1.25))
    assert one.data.shape == (1044, 1024, 1)
    assert np.array_equal(one.data, two.data[:1044])
    assert np.bincount(two.target[two.subject == 2]).tolist() == [838, 242]
    assert not np.array_equal(one.position, simulated.position)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_subjects": 0}, "n_subjects=0 must be an integer from 1 to 6"),
        ({"channels": "Xz"}, "channels='Xz' must be 'all' or"),
        ({"window": (1, 0)}, r"window=\(1, 0\) must be"),
        ({"outside": "pad"}, "outside='pad' must be one of"),
        ({"window": (0, 9)}, "window does not fit, subject 1, session 1, run 1: .*outside='drop'"),
    ],
)
def test_simulation_names_the_bad_parameter(bad, message):
    with pytest.raises(ValueError, match=message):
        simulate_errp(**{"n_subjects": 1, "channels": "Fz", "random_state": 0, **bad})


def test_electrodes_are_where_their_names_say():
    place = dict(zip(errp.CHANNELS, generators._electrodes(errp.CHANNELS), strict=True))
    assert len({tuple(xy) for xy in place.values()}) == 64
    assert place["Cz"].tolist() == [0, 0]
    assert place["FCz"] == pytest.approx([0, 0.2])
    assert place["T8"] == pytest.approx([0.8, 0])
    assert place["T7"] == pytest.approx([-0.8, 0])
    assert place["PO3"][0] < 0 < place["PO4"][0]
    assert place["P10"][0] > place["P8"][0] > place["P2"][0] > 0
    assert place["Fpz"][1] > place["AFz"][1] > place["Fz"][1] > 0 > place["Oz"][1] > place["Iz"][1]
    assert np.all(np.hypot(*np.array(list(place.values())).T) < 1.01)
