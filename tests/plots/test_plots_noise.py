"""The spectrum of the noise: in units, for channels and images, flat where it is white."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="drawings: pip install gtpca[plot]")

from matplotlib.figure import Figure
from scipy.signal import lfilter

from gtpca import GTPCA, ProbabilisticGTPCA, Shift, labelled, plots

X = lfilter([1.0], [1.0, -0.8], np.random.default_rng(0).standard_normal((40, 3, 80)))[:, :, 20:]


def axes():
    return Figure().subplots()


@pytest.mark.parametrize("kind", [GTPCA, ProbabilisticGTPCA])
def test_the_mean_power_is_the_variance_of_the_noise(kind):
    model = kind(1, Shift(8), noise="stationary", random_state=0).fit(X[:, 0])
    line = model.plot_noise(ax=axes()).lines[-1]
    assert line.get_ydata().mean() == pytest.approx(np.var(X[:, 0]), rel=0.2)
    assert line.get_ydata()[0] > 10 * line.get_ydata()[-1]
    assert line.get_xdata()[-1] == pytest.approx(0.5)


def test_frequencies_are_in_hertz_where_times_are_known():
    model = GTPCA(1, Shift(8), noise="stationary", random_state=0)
    model.fit(labelled(X[:, 0], rate=250))
    ax = plots.plot_noise(model, ax=axes())
    assert ax.get_xlabel() == "Hz"
    assert ax.lines[-1].get_xdata()[-1] == pytest.approx(125)


def test_channels_have_thin_lines_beside_their_mean():
    model = GTPCA(1, Shift(8, axes=1), noise="stationary", random_state=0).fit(X)
    lines = plots.plot_noise(model, ax=axes()).lines
    assert len(lines) == 4
    mean = np.mean([line.get_ydata() for line in lines[:3]], axis=0)
    np.testing.assert_allclose(lines[3].get_ydata(), mean)


def test_white_noise_is_flat():
    white = np.random.default_rng(0).standard_normal((40, 60))
    model = GTPCA(1, Shift(8), random_state=0).fit(white)
    power = plots.plot_noise(model, ax=axes()).lines[0].get_ydata()
    left = np.mean((white - model.reconstruct(white)) ** 2)
    np.testing.assert_allclose(power, left, rtol=1e-6)
