"""Labelled containers in, labelled answers out: xarray, MNE, scikit-fda, torch, frames."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from helpers import QUICK

import gtpca
from gtpca import GTPCA, Compose, Reflection, Shift, labelled
from gtpca.operators.grid import Axis

RATE, FIRST, WINDOW = 250.0, -0.1, 30
TIMES = FIRST + np.arange(90) / RATE
LATENCIES = np.random.default_rng(1).integers(0, 61, 24)
CHANNELS = ("Fz", "Cz", "Pz")


def planted():
    """Trials (24, 3, 90) of a bump that begins at LATENCIES, stronger in the second channel."""
    rng = np.random.default_rng(0)
    X = 0.01 * rng.standard_normal((24, 3, 90))
    bump = np.linspace(1, 0.2, WINDOW) * np.hanning(WINDOW + 2)[1:-1]
    for x, start in zip(X, LATENCIES, strict=True):
        x[:, start : start + WINDOW] += bump * np.array([[1.0], [2.0], [-1.0]])
    return X


def model_of(X, n_components=1, **options):
    family = options.pop("family", Shift(WINDOW, axes="time"))
    return GTPCA(n_components, family, solver=QUICK, random_state=0, **options).fit(X)


def check_starts(starts):
    """The poses are the planted times in seconds, but for one common offset of a few samples."""
    points = (np.ravel(starts) - TIMES[LATENCIES]) * RATE
    np.testing.assert_allclose(points, np.round(points[0]), atol=1e-6)
    assert abs(points[0]) <= 5


# --- names without a container ---


def test_labelled_rows_have_axes_by_name_and_poses_in_seconds():
    X = planted()
    known = labelled(X, rate=RATE, start=FIRST, channels=CHANNELS)
    model, plain = model_of(known), model_of(X, family=Shift(WINDOW, axes=1))
    np.testing.assert_array_equal(model.transform(known), plain.transform(X))
    poses, points = model.poses(model.encode(X)), plain.poses(plain.encode(X))
    np.testing.assert_allclose(poses["start"], FIRST + points["start"] / RATE, atol=1e-12)
    np.testing.assert_allclose(poses["centre"], FIRST + points["centre"] / RATE, atol=1e-12)
    assert poses.units == {"start": "s", "centre": "s"}
    assert points.units == {}
    check_starts(poses["start"])


@pytest.mark.parametrize("window", [30, "0.12s", "120ms", ("0.12s",)])
def test_lengths_in_seconds_are_points(window):
    known = labelled(planted(), rate=RATE)
    assert model_of(known, family=Shift(window, axes="time")).components_.shape == (1, 3, 30)


def test_steps_and_reaches_in_seconds():
    known = labelled(planted()[:, 0], rate=RATE)
    family = Shift("120ms", max_shift="40ms", step="8ms")
    in_points = Shift(30, max_shift=10, step=2)
    operator, other = family.bind(known.labels.grid((90,))), in_points.bind((90,))
    assert operator.n_transforms == other.n_transforms
    assert operator.tracks == other.tracks


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (Shift(30, axes="tim"), ["axes='tim'", "Did you mean time?", "channel, time"]),
        (Shift(30, axes=7), ["axes=7", "2 axes (channel, time)"]),
        (Shift("3kg", axes="time"), ["window='3kg'", "'kg'", "'s'"]),
        (Shift("long", axes="time"), ["window='long' is not a length"]),
        (Shift("3s", axes="channel"), ["window='3s' needs an axis with even steps"]),
    ],
    ids=str,
)
def test_messages_use_the_names_of_axes(family, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        model_of(labelled(planted(), rate=RATE), family=family)
    for text in words:
        assert text in str(error.value)


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (Shift(30), ["(sensor: 3, time: 90)", "Shift(axes='time', window=30)", "take sensor"]),
        (Reflection(), ["Reflection(axes=('sensor', 'time')) to move both axes"]),
    ],
    ids=str,
)
def test_axes_that_are_not_channels_and_time_are_ambiguous(family, words):
    with pytest.raises(ValueError, match="ambiguous") as error:
        model_of(labelled(planted(), axes=("sensor", "time"), rate=RATE), family=family)
    for text in words:
        assert text in str(error.value)


def test_names_need_to_be_known():
    with pytest.raises(ValueError, match="have no names"):
        model_of(planted())
    with pytest.raises(ValueError, match=r"axes=.* must name the axes"):
        labelled(planted(), axes=("time",))
    with pytest.raises(ValueError, match="channels holds 2 names, but there are 3"):
        labelled(planted(), channels=["a", "b"])
    with pytest.raises(ValueError, match="rate needs an axis 'time'"):
        labelled(planted(), axes=("x", "y"), rate=2.0)


def test_several_moved_axes_are_told_apart_by_name():
    X = np.random.default_rng(0).standard_normal((20, 8, 9))
    family = Compose(Shift((4, 4), axes=("y", "x")), Reflection(("y", "x")))
    model = model_of(labelled(X, axes=("y", "x")), family=family)
    names = {"start_y", "centre_y", "start_x", "centre_x", "flipped_y", "flipped_x"}
    assert set(model.poses(model.encode(X))) == names


def test_batches_keep_the_labels():
    X = planted()
    model = GTPCA(1, Shift(WINDOW, axes="time"), solver=QUICK, random_state=0)
    for batch in np.array_split(X, 4):
        model.partial_fit(labelled(batch, rate=RATE, start=FIRST))
    check_starts(model.poses(model.encode(X))["start"])


def test_labels_are_kept_in_files(tmp_path):
    model = model_of(labelled(planted(), rate=RATE, start=FIRST, channels=CHANNELS))
    model.save(tmp_path / "m.gtpca")
    loaded = gtpca.load(tmp_path / "m.gtpca")
    (channel, time), loaded_axes = model.labels_.axes, loaded.labels_.axes
    assert [axis.name for axis in loaded_axes] == ["channel", "time"]
    assert loaded_axes[0].names == channel.names == CHANNELS
    np.testing.assert_array_equal(loaded_axes[1].points, time.points)
    codes = model.encode(planted())
    np.testing.assert_array_equal(loaded.poses(codes)["start"], model.poses(codes)["start"])
    loaded.save(tmp_path / "again.gtpca")
    assert (tmp_path / "again.gtpca").read_bytes() == (tmp_path / "m.gtpca").read_bytes()


def test_sparse_rows_are_a_clear_error():
    from scipy import sparse

    with pytest.raises(TypeError, match=r"[Ss]parse data was passed for X.*toarray"):
        GTPCA(1).fit(sparse.csr_array(np.eye(4)))


def test_no_library_is_imported_for_plain_arrays():
    code = (
        "import sys, numpy as np, gtpca\n"
        "X = np.random.default_rng(0).standard_normal((9, 4))\n"
        "gtpca.GTPCA(1).fit(X).transform(X.tolist())\n"
        "print(sorted({'xarray', 'mne', 'skfda', 'torch', 'polars'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- xarray ---


@pytest.fixture
def trials():
    xarray = pytest.importorskip("xarray", reason="needs xarray: make setup")
    coords = {
        "trial": [f"t{i}" for i in range(24)],
        "channel": list(CHANNELS),
        "time": ("time", TIMES, {"units": "s"}),
        "group": ("trial", np.arange(24) % 2),
    }
    about = {"dims": ("trial", "channel", "time"), "coords": coords, "name": "eeg"}
    return xarray.DataArray(planted(), **about, attrs={"subject": "A"})


def test_data_arrays_in_and_out(trials):
    model, plain = model_of(trials), model_of(planted(), family=Shift(WINDOW, axes=1))
    codes, expected = model.encode(trials), plain.encode(planted())
    scores = model.transform(trials)
    np.testing.assert_array_equal(scores.values, expected.scores)
    assert scores.dims == ("trial", "component")
    assert scores.component.values.tolist() == ["gtpca0"]
    poses = model.poses(codes)
    check_starts(poses["start"].values)
    assert poses["start"].dims == ("trial", "component")
    assert poses["start"].attrs == {"units": "s"}
    for answer in (scores, poses, model.decode(codes), model.align(trials)):
        assert answer.trial.values.tolist() == trials.trial.values.tolist()
        assert answer.group.values.tolist() == trials.group.values.tolist()


def test_samples_come_back_with_all_coordinates(trials):
    model, plain = model_of(trials), model_of(planted(), family=Shift(WINDOW, axes=1))
    rebuilt, again = model.reconstruct(trials), model.decode(model.encode(trials)[3:5])
    np.testing.assert_array_equal(rebuilt.values, plain.reconstruct(planted()))
    assert rebuilt.coords.equals(trials.coords)
    assert (rebuilt.name, rebuilt.attrs) == ("eeg", {"subject": "A"})
    assert again.identical(rebuilt[3:5])
    gaps = trials.where(np.random.default_rng(0).random(trials.shape) > 0.1)
    filled = model.set_params(missing="ignore").impute(gaps)
    assert filled.coords.equals(trials.coords)
    assert not filled.isnull().any()


def test_windows_have_the_coordinates_of_the_place_at_rest(trials):
    model = model_of(trials)
    aligned, parts = model.align(trials), model.labelled_components()
    rest = model.poses(gtpca.Codes(np.ones((1, 1)), np.full((1, 1), model.operator_.reference)))
    for answer in (aligned, parts):
        assert answer.dims[1:] == ("channel", "time")
        assert answer.channel.values.tolist() == list(CHANNELS)
        np.testing.assert_allclose(answer.time[0], rest["start"].item(), atol=1e-12)
        np.testing.assert_allclose(np.diff(answer.time), 1 / RATE)
        assert answer.time.attrs == {"units": "s"}
    np.testing.assert_array_equal(aligned.values, model.align(trials.values))
    np.testing.assert_array_equal(parts.values, model.components_)


def test_dimensions_are_taken_by_name(trials):
    turned = trials.transpose("time", "trial", "channel")
    model = model_of(trials, sample_dim="trial")
    np.testing.assert_array_equal(model.transform(turned), model.transform(trials))
    assert model.reconstruct(turned).dims == ("trial", "channel", "time")
    first = model_of(turned, sample_dim="trial")
    assert first.grid_.axes[0].name == "time"
    with pytest.raises(ValueError, match=r"sample_dim='trail' is not a dimension.*mean trial"):
        model_of(trials, sample_dim="trail")


def test_other_grids_are_an_error(trials):
    model = model_of(trials)
    later = trials.assign_coords(time=TIMES + 1)
    with pytest.raises(ValueError, match=r"0\.9 to 1\.256 on time, but .* -0\.1 to 0\.256 s"):
        model.transform(later)
    swapped = trials.isel(channel=[1, 0, 2])
    with pytest.raises(ValueError, match=r"'Cz' at place 0 of channel, but .* 'Fz'"):
        model.transform(swapped)
    with pytest.raises(ValueError, match="axis 'place' where GTPCA was fitted to 'channel'"):
        model.transform(trials.rename(channel="place"))
    with pytest.raises(TypeError, match="give a DataArray"):
        model.transform(trials.to_dataset())


def test_dates_are_poses_too(trials):
    days = np.datetime64("2026-01-01", "ns") + np.arange(90) * np.timedelta64(1, "D")
    model = model_of(trials.assign_coords(time=days))
    starts = model.poses(model.encode(trials.assign_coords(time=days)))["start"].values
    assert starts.dtype.kind == "M"
    offset = np.unique((starts[:, 0] - days[LATENCIES]) / np.timedelta64(1, "D"))
    assert offset.size == 1
    steps = trials.assign_coords(time=np.arange(90) * np.timedelta64(4, "ms"))
    assert model_of(steps).poses(model_of(steps).encode(planted())).units["start"] == "s"


MOMENT = np.datetime64("2026-11-17T12:34:56.789", "ns")
EXACT_GRIDS = {
    "ns, 1 ms": MOMENT + np.arange(90) * np.timedelta64(1, "ms"),
    "ns, 1 ns": MOMENT + np.arange(90) * np.timedelta64(1, "ns"),
    "us": (MOMENT + np.arange(90) * np.timedelta64(4, "ms")).astype("datetime64[us]"),
    "s, out of reach of ns": np.datetime64("1492-08-03", "s") + np.arange(90),
    "uneven": MOMENT + np.cumsum(np.arange(1, 91)) * np.timedelta64(1_000_003, "ns"),
    "large integers": 2**60 + 3 * np.arange(90),
    "floats": 0.1 + 0.7 * np.arange(90) / 3,
}


@pytest.mark.parametrize("time", EXACT_GRIDS.values(), ids=EXACT_GRIDS)
def test_positions_are_exact(trials, time):
    X = trials.assign_coords(time=time)
    model = model_of(X)
    poses = model.poses(model.encode(X))
    index = model.encode(X).index[:, 0]
    starts = poses["start"].values[:, 0]
    np.testing.assert_array_equal(starts, time[index])
    for row, start in enumerate(starts):  # as a user goes on
        picked = X.isel(trial=row).sel(time=start)
        np.testing.assert_array_equal(picked, X.values[row][:, index[row]])
    middle = (90 - WINDOW) // 2
    for found in (model.labelled_components(), model.align(X)):
        np.testing.assert_array_equal(found.time.values, time[middle : middle + WINDOW])
    axis = model.labels_.axes[1]
    np.testing.assert_array_equal(axis.at(np.arange(90)), time)  # also the last one


def test_dates_go_on_beyond_the_grid_and_between_its_points():
    axis = Axis("time", "datetime64[ns]", (MOMENT + np.arange(5) * 10).astype(np.int64))
    found = axis.at([-2, 1.5, 6.25]) - MOMENT
    assert found.astype(np.int64).tolist() == [-20, 15, 62]
    alone = Axis("time", "datetime64[ns]", np.array([MOMENT.astype(np.int64)]))
    assert alone.at([0])[0] == MOMENT


def test_lazy_data_arrays_stay_lazy(trials):
    array = pytest.importorskip("dask.array", reason='needs dask: pip install "gtpca[dask]"')
    lazy = trials.copy(data=array.from_array(trials.values, chunks=(8, 3, 90)))
    model = model_of(trials)
    rebuilt = model.reconstruct(lazy)
    assert hasattr(rebuilt.data, "to_delayed")
    np.testing.assert_allclose(rebuilt.values, model.reconstruct(trials).values, atol=1e-12)


def test_shared_poses_have_no_component(trials):
    model = model_of(trials, 2, shared_pose=True)
    assert model.poses(model.encode(trials))["start"].dims == ("trial",)


def test_frames_can_be_asked_for(trials):
    pandas = pytest.importorskip("pandas", reason='needs pandas: pip install "gtpca[io]"')
    frame = model_of(trials).set_output(transform="pandas").transform(trials)
    assert isinstance(frame, pandas.DataFrame)
    assert frame.columns.tolist() == ["gtpca0"]


# --- MNE ---


@pytest.fixture
def epochs():
    mne = pytest.importorskip("mne", reason='needs mne: pip install "gtpca[eeg]"')
    names = [*CHANNELS, "C3", "EOG"]
    info = mne.create_info(names, RATE, ["eeg"] * 4 + ["eog"])
    places = {name: [0.01 * i, 0.05, 0.08 - 0.02 * i] for i, name in enumerate(names[:4])}
    info.set_montage(mne.channels.make_dig_montage(places))
    info["bads"] = ["C3"]
    X = np.concatenate([planted(), np.full((24, 2, 90), 7.0)], axis=1)
    events = np.column_stack([100 * np.arange(24), np.zeros(24, int), 1 + np.arange(24) % 2])
    kinds = {"left": 1, "right": 2}
    return mne.EpochsArray(1e-6 * X, info, events, FIRST, kinds, verbose="error")


def test_epochs_in_and_out(epochs):
    model, plain = model_of(epochs), model_of(1e-6 * planted(), family=Shift(WINDOW, axes=1))
    assert model.labels_.axes[0].names == CHANNELS  # neither bad channels nor eyes
    np.testing.assert_allclose(model.transform(epochs), plain.transform(1e-6 * planted()))
    poses = model.poses(model.encode(epochs))
    check_starts(poses["start"])
    assert poses.units["start"] == "s"
    rebuilt = model.reconstruct(epochs["left"])
    assert rebuilt.ch_names == list(CHANNELS)
    np.testing.assert_allclose(rebuilt.times, epochs.times)
    np.testing.assert_array_equal(rebuilt.events, epochs["left"].events)
    np.testing.assert_allclose(rebuilt.get_data(), plain.reconstruct(1e-6 * planted()[::2]))


def test_aligned_epochs_are_epochs(epochs):
    model = model_of(epochs)
    aligned = model.align(epochs)
    assert (aligned.ch_names, aligned.event_id) == (list(CHANNELS), epochs.event_id)
    assert (aligned.info["sfreq"], len(aligned.times)) == (RATE, WINDOW)
    np.testing.assert_array_equal(aligned.events, epochs.events)
    np.testing.assert_array_equal(aligned.get_data(), model.align(epochs.get_data(CHANNELS)))
    assert len(aligned["right"]) == 12
    spread = [aligned.get_data().std(axis=0).max(), epochs.get_data(CHANNELS).std(axis=0).max()]
    assert spread[0] < 0.1 * spread[1]


def test_components_are_evoked_that_can_be_drawn(epochs, tmp_path):
    model = model_of(epochs, 2)
    model.save(tmp_path / "m.gtpca")
    for one in (model, gtpca.load(tmp_path / "m.gtpca")):
        evoked = one.labelled_components()
        np.testing.assert_array_equal([e.data for e in evoked], model.components_)
        assert evoked[0].ch_names == list(CHANNELS)
        np.testing.assert_allclose(np.diff(evoked[0].times), 1 / RATE)
        places = [channel["loc"][:3] for channel in evoked[0].info["chs"]]
        np.testing.assert_allclose(places, [c["loc"][:3] for c in epochs.info["chs"][:3]])
    pytest.importorskip("matplotlib", reason="MNE draws with matplotlib")
    evoked[0].plot_topomap(times=evoked[0].times[10], show=False)


def test_lists_of_evoked_come_back_as_lists(epochs):
    evoked = [epochs[i].average("all") for i in range(6)]
    model = model_of(evoked)
    rebuilt, aligned = model.reconstruct(evoked), model.align(evoked)
    np.testing.assert_allclose(rebuilt[2].data, model.reconstruct(epochs).get_data()[2])
    assert [e.comment for e in aligned] == [e.comment for e in evoked]
    assert len(aligned[0].times) == WINDOW
    np.testing.assert_allclose(model.transform(evoked), model.transform(epochs)[:6])
    with pytest.raises(ValueError, match=r"X\[1\] has other channels or times"):
        model.transform([evoked[0], evoked[1].copy().crop(0, 0.1)])


def test_channels_are_found_by_name(epochs):
    model = model_of(epochs)
    turned = epochs.copy().reorder_channels(["EOG", "Pz", "Fz", "C3", "Cz"])
    np.testing.assert_array_equal(model.transform(turned), model.transform(epochs))
    with pytest.raises(ValueError, match="no channel 'Fz'"):
        model.transform(epochs.copy().drop_channels(["Fz"]))
    chosen = labelled(epochs, channels=["Cz", "EOG"])
    assert model_of(chosen).labels_.axes[0].names == ("Cz", "EOG")
    assert model_of(epochs.copy().pick("eog")).labels_.axes[0].names == ("EOG",)
    with pytest.raises(TypeError, match="give Epochs, or a list of Evoked"):
        model.transform(epochs.average())


def test_models_of_files_take_epochs_and_the_other_way_round(epochs, tmp_path):
    from gtpca.readers import read_data
    from gtpca.readers.axes import labels_of

    epochs.save(tmp_path / "some-epo.fif", verbose="error")
    data = read_data(tmp_path / "some-epo.fif")
    model = model_of(labelled(data.rows, axes=("time", "channel")))
    known = model_of(gtpca.data.labels.Labelled(data.rows, labels_of(data)))
    np.testing.assert_array_equal(known.transform(data.rows), model.transform(data.rows))
    np.testing.assert_allclose(known.transform(epochs), model.transform(data.rows), rtol=1e-6)
    check_starts(known.poses(known.encode(epochs))["start"])
    aligned = known.align(epochs)
    assert (aligned.ch_names, len(aligned.times)) == (list(CHANNELS), WINDOW)
    expected = known.align(data.rows).transpose(0, 2, 1)
    np.testing.assert_allclose(aligned.get_data(), expected, rtol=1e-5, atol=1e-12)


# --- scikit-fda ---


@pytest.fixture
def curves():
    skfda = pytest.importorskip("skfda", reason="needs scikit-fda: make setup")
    t = np.sort(np.random.default_rng(0).random(40)) ** 2
    X = np.sin(2 * np.pi * np.outer(1 + np.arange(15) / 15, t))
    return skfda.FDataGrid(X, t, argument_names=("age",), sample_names=[f"p{i}" for i in range(15)])


def test_functions_have_the_weights_of_their_grid(curves):
    t, rows = curves.grid_points[0], curves.data_matrix[..., 0]
    model = model_of(curves, 2, family=None)
    plain = model_of(rows, 2, family=None, feature_weight=gtpca.quadrature(t))
    np.testing.assert_array_equal(model.transform(curves), plain.transform(rows))
    rebuilt, parts = model.reconstruct(curves), model.labelled_components()
    np.testing.assert_array_equal(rebuilt.data_matrix[..., 0], plain.reconstruct(rows))
    np.testing.assert_array_equal(parts.data_matrix[..., 0], model.components_)
    assert (rebuilt.sample_names, rebuilt.argument_names) == (curves.sample_names, ("age",))
    assert parts.argument_names == ("age",)
    for functions in (rebuilt, parts):
        np.testing.assert_array_equal(functions.grid_points[0], t)


def test_windows_of_functions_are_functions(curves):
    import skfda

    even = skfda.FDataGrid(curves.data_matrix, np.linspace(0, 1, 40), argument_names=("age",))
    model = model_of(even, family=Shift(20, axes="age"))
    aligned = model.align(even)
    assert aligned.data_matrix.shape == (15, 20, 1)
    np.testing.assert_allclose(np.diff(aligned.grid_points[0]), 1 / 39)
    starts = model.poses(model.encode(even))["start"]
    assert np.isin(np.round(starts * 39, 9), np.arange(21)).all()
    with pytest.raises(TypeError, match="give an FDataGrid"):
        model.transform(skfda.FDataIrregular.from_fdatagrid(even))


def test_functions_with_vectors_as_values():
    skfda = pytest.importorskip("skfda", reason="needs scikit-fda: make setup")
    X = np.random.default_rng(0).standard_normal((12, 20, 2))
    curves = skfda.FDataGrid(X, np.linspace(0, 1, 20), coordinate_names=("x", "y"))
    model = model_of(curves, family=Shift(8, axes=0))
    assert model.labels_.axes[1].names == ("x", "y")
    assert model.align(curves).data_matrix.shape == (12, 8, 2)
    assert model.reconstruct(curves).coordinate_names == ("x", "y")


# --- torch ---


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_tensors_in_and_out(dtype):
    torch = pytest.importorskip("torch", reason='needs torch: pip install "gtpca[torch]"')
    X = torch.tensor(planted(), dtype=getattr(torch, dtype), requires_grad=True)
    model = model_of(X, family=Shift(WINDOW, axes=-1))
    rows = X.detach().float().numpy() if dtype != "float64" else X.detach().numpy()
    for answer, expected in (
        (model.transform(X), model.transform(rows)),
        (model.reconstruct(X), model.reconstruct(rows)),
        (model.align(X), model.align(rows)),
    ):
        assert isinstance(answer, torch.Tensor)
        np.testing.assert_array_equal(answer.numpy(), expected)


# --- frames ---


def test_pandas_frames_keep_their_index():
    pandas = pytest.importorskip("pandas", reason='needs pandas: pip install "gtpca[io]"')
    frame = pandas.DataFrame(planted()[:, 0], index=[f"s{i}" for i in range(24)])
    frame.columns = [f"x{j}" for j in range(90)]
    model = model_of(frame, family=Shift(WINDOW))
    assert isinstance(model.transform(frame), np.ndarray)
    scores = model.set_output(transform="pandas").transform(frame)
    assert scores.index.tolist() == frame.index.tolist()
    assert model.feature_names_in_.tolist() == frame.columns.tolist()


def test_polars_frames_follow_the_rules_of_scikit_learn():
    polars = pytest.importorskip("polars", reason="needs polars: make setup")
    X = planted()[:, 0]
    frame = polars.DataFrame({f"x{j}": column for j, column in enumerate(X.T)})
    model, plain = model_of(frame, family=Shift(WINDOW)), model_of(X, family=Shift(WINDOW))
    np.testing.assert_array_equal(model.transform(frame), plain.transform(X))
    assert model.feature_names_in_.tolist() == frame.columns
    scores = model.set_output(transform="polars").transform(frame)
    assert isinstance(scores, polars.DataFrame)
    assert scores.columns == ["gtpca0"]
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame.rename({"x0": "y0"}))
    gaps = frame.with_columns(polars.when(polars.col("x3") > 0).then(polars.col("x3")).alias("x3"))
    with pytest.raises(ValueError, match="missing values"):
        model.transform(gaps)
    expected = plain.set_params(missing="ignore").transform(gaps.to_numpy())
    found = model.set_params(missing="ignore").transform(gaps)
    np.testing.assert_array_equal(found.to_numpy(), expected)
