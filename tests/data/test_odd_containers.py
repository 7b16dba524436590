"""Containers with odd names, coordinates, tensors and channels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers import QUICK, noise

from gtpca import GTPCA, Shift
from gtpca.readers import read_data

X = noise(12, 3, 20)


def model_of(samples, window=5, **how):
    return GTPCA(2, Shift(window, **how), solver=QUICK, random_state=0).fit(samples)


@pytest.mark.parametrize(
    "dims", [("component", "channel", "time"), ("trial", "component", "time"), (0, 1, 2)], ids=str
)
def test_dimensions_of_any_name(dims, tmp_path):
    xarray = pytest.importorskip("xarray")
    samples = xarray.DataArray(X, dims=dims, coords={"number": (dims[:1], np.arange(12))})
    model, plain = model_of(samples, axes=1), model_of(X, axes=1)
    scores, poses = model.transform(samples), model.poses(model.encode(samples))
    np.testing.assert_array_equal(scores.values, plain.transform(X))
    assert scores.dims[0] == dims[0]
    assert scores.dims[1] in ("component", "gtpca_component")
    assert poses["start"].dims == scores.dims
    assert model.reconstruct(samples).dims == dims
    assert model.align(samples).dims == dims
    assert model.labelled_components().values.shape == (2, 3, 5)
    turned = samples.transpose(dims[0], dims[2], dims[1])
    np.testing.assert_array_equal(model.transform(turned).values, scores.values)


def test_coordinates_that_are_nowhere():
    xarray = pytest.importorskip("xarray")
    samples = xarray.DataArray(X, dims=("trial", "channel", "time"))
    times = np.where(np.arange(20) == 3, np.nan, np.arange(20.0))
    with pytest.raises(ValueError, match=r"coordinate 'time' of X is nan at place 3.*drop_vars"):
        model_of(samples.assign_coords(time=times), axes=1)
    dates = np.datetime64("2026-01-01", "ns") + np.arange(20) * np.timedelta64(1, "D")
    dates[7] = "NaT"
    with pytest.raises(ValueError, match="coordinate 'time' of X is NaT at place 7"):
        model_of(samples.assign_coords(time=dates), axes=1)


def test_dates_in_data_arrays():
    xarray = pytest.importorskip("xarray")
    dates = xarray.DataArray((1e9 * X).astype("M8[ns]"), dims=("trial", "channel", "time"))
    with pytest.raises(ValueError, match=r"X holds datetime64\[ns\], but must hold numbers"):
        model_of(dates, axes=1)


def test_tensors_with_a_negative_bit():
    torch = pytest.importorskip("torch")
    turned = torch.complex(torch.zeros(X.shape).double(), torch.as_tensor(X)).conj().imag
    assert turned.is_neg()
    expected = model_of(-X, axes=1).transform(-X)
    np.testing.assert_array_equal(model_of(turned, axes=1).transform(turned).numpy(), expected)


def test_tensors_that_are_not_dense():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"X is a sparse .*tensor; .*X\.to_dense\(\)"):
        model_of(torch.as_tensor(X).to_sparse(), axes=1)
    with pytest.raises(ValueError, match="Complex data not supported: X holds complex128"):
        model_of(torch.as_tensor(X) + 1j, axes=1)


def epochs_of(kinds, rate=200.0, n_times=61):
    mne = pytest.importorskip("mne", reason='needs mne: pip install "gtpca[eeg]"')
    info = mne.create_info([f"c{i}" for i in range(len(kinds))], rate, kinds)
    return mne.EpochsArray(1e-6 * noise(12, len(kinds), n_times), info, tmin=-0.1, verbose="error")


@pytest.mark.parametrize("rate", [200.0, 250.0, 600.0, 1000.0, 512.0])
def test_rates_of_components_are_those_of_the_epochs(rate):
    samples = epochs_of(["eeg"] * 3, rate)
    for evoked in model_of(samples, 33, axes="time").labelled_components():
        assert evoked.info["sfreq"] == rate


def test_epochs_move_along_time_by_default():
    samples = epochs_of(["eeg"] * 3)
    expected = model_of(samples, 33, axes="time").transform(samples)
    np.testing.assert_array_equal(model_of(samples, 33).transform(samples), expected)


def test_channels_of_different_units_are_told(tmp_path):
    mixed = epochs_of(["eeg", "mag", "eeg"])
    told = r"mixes channels of different units: eeg \(V\), mag \(T\).*pick"
    with pytest.warns(UserWarning, match=told):
        model = model_of(mixed, 33, axes="time")
    mixed.save(tmp_path / "a-epo.fif", verbose="error")
    with pytest.warns(UserWarning, match=told):
        read_data(tmp_path / "a-epo.fif")
    with warnings.catch_warnings(action="error"):
        model.transform(mixed)
        model_of(epochs_of(["eeg", "eeg", "seeg", "eog"]), 33, axes="time")
