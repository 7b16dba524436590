"""Noise that comes in containers: baselines of epochs, a DataArray."""

import numpy as np
import pytest
from scipy.signal import lfilter

from gtpca import GTPCA, ProbabilisticGTPCA, Shift


def trials(n=60):
    """Trials (n, channel, time) of which the first 40 points are noise alone."""
    rng = np.random.default_rng(0)
    X = lfilter([1.0], [1.0, -0.9], rng.standard_normal((n, 2, 240)))[:, :, 100:]
    for i, row in enumerate(X):
        row[:, 60 + i % 40 :][:, :20] += 6 * np.hanning(20) * np.sin(np.arange(20))
    return X


@pytest.mark.parametrize("kind", [GTPCA, ProbabilisticGTPCA])
def test_the_baseline_of_epochs_is_noise(kind):
    mne = pytest.importorskip("mne", reason="epochs")
    X, info = trials(), mne.create_info(["Cz", "Pz"], 100.0, "eeg")
    epochs = mne.EpochsArray(X * 1e-6, info, tmin=-0.4, verbose="error")
    baseline = epochs.copy().crop(None, -0.01)
    model = kind(1, Shift(20, axes=1), noise=baseline, random_state=0).fit(epochs)
    same = kind(1, Shift(20, axes=1), noise=X[:, :, :40] * 1e-6, random_state=0).fit(X * 1e-6)
    np.testing.assert_array_equal(model.encode(epochs).index, same.encode(X * 1e-6).index)
    lag = model.poses(model.encode(X * 1e-6))["start"][:, 0] * 100
    lag = lag - (20 + np.arange(60) % 40)
    assert np.mean(np.abs(lag - np.median(lag)) <= 2) > 0.9


def test_a_data_array_brings_units_along():
    xr = pytest.importorskip("xarray", reason="labelled arrays")
    X = xr.DataArray(
        trials(),
        dims=("trial", "channel", "time"),
        coords={"time": ("time", np.arange(140) / 100, {"units": "s"})},
    )
    model = GTPCA(1, Shift("0.2s", axes="time"), noise="stationary", random_state=0).fit(X)
    given = GTPCA(1, Shift("0.2s", axes="time"), noise=X[:, :, :40], random_state=0).fit(X)
    assert model.reconstruct(X).dims == X.dims
    assert given.noise_.axes == model.noise_.axes == (1,)
    assert np.corrcoef(given.components_.ravel(), model.components_.ravel())[0, 1] > 0.95
