"""Errors name the parameter, the value and what would work, also for what is hardly meant."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers import QUICK, noise

from gtpca import GTPCA, ProbabilisticGTPCA, Shift, labelled
from gtpca.datasets import make_spikes


@pytest.fixture
def fitted():
    X = noise(20, 12)
    return GTPCA(2, Shift(5), solver=QUICK, random_state=0).fit(X), X


def test_scores_are_not_codes(fitted):
    model, X = fitted
    for method in (model.poses, model.decode):
        with pytest.raises(TypeError, match=r"codes is a ndarray of shape \(20, 2\).*encode\(X\)"):
            method(model.transform(X))
        with pytest.raises(TypeError, match="codes is a list, but must be what encode"):
            method([1, 2])


def test_quantities_that_poses_do_not_have(fitted):
    model, X = fitted
    poses = model.poses(model.encode(X))
    with pytest.raises(KeyError, match=r"'latency' is not a quantity.*there are start, centre"):
        poses["latency"]
    assert poses.get("latency") is None
    assert "latency" not in poses


@pytest.mark.parametrize("wrapped", [np.asarray, list, np.float32])
def test_infinity_has_a_place(wrapped):
    X = noise(6, 12)
    X[4, 7] = -np.inf
    with pytest.raises(ValueError, match=r"X has 1 infinite values, the first in row 4, column 7;"):
        GTPCA(1, Shift(5)).fit(wrapped(X))


def test_infinity_has_a_place_in_images_and_files(tmp_path):
    X = noise(6, 4, 3)
    X[2, 1, 2] = np.inf
    told = r"X has 1 infinite values, the first in row 2, place \(1, 2\)"
    with pytest.raises(ValueError, match=told):
        GTPCA(1, Shift((2, 2))).fit(X)
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(ValueError, match=told):
        GTPCA(1, Shift((2, 2))).fit(np.load(tmp_path / "a.npy", mmap_mode="r"))


@pytest.mark.parametrize(
    ("X", "told"),
    [
        (np.arange(1000.0), r"X has shape \(1000,\), but samples are rows.*X\.reshape\(1, -1\)"),
        (np.float64(3), r"X has shape \(\), but samples are rows"),
        (np.ones((50, 9)) + 1j, r"Complex data not supported: X holds complex128\. Give X\.real"),
    ],
)
def test_values_are_not_dumped(X, told):
    with pytest.raises(ValueError, match=told) as caught:
        GTPCA(1, Shift(5)).fit(X)
    assert len(str(caught.value)) < 250
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["M8[ns]", "m8[s]"])
def test_dates_are_not_numbers(kind):
    X = np.arange(60).reshape(5, 12).astype(kind)
    with pytest.raises(ValueError, match=r"X holds (datetime|timedelta)64.*must hold numbers"):
        GTPCA(1, Shift(5)).fit(X)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({f"x{j}": column for j, column in enumerate(X.T)})
    with pytest.raises(ValueError, match=r"X holds (datetime|timedelta)64.*must hold numbers"):
        GTPCA(1, Shift(5)).fit(frame)


def seconds(**lengths):
    """A fit to series of 100 Hz."""
    model = GTPCA(1, Shift(**lengths), solver=QUICK, random_state=0)
    return model.fit(labelled(noise(20, 40), rate=100))


def test_lengths_of_less_than_a_point():
    with pytest.raises(ValueError, match=r"window='100us' is 0\.01 points, less than one.*0\.01 s"):
        seconds(window="100us")
    with pytest.raises(ValueError, match="window='0s' is 0 points, less than one"):
        seconds(window="0s")
    with pytest.raises(ValueError, match=r"max_shift='1ms' is 0\.1 points"):
        seconds(window=9, max_shift="1ms")
    with pytest.raises(ValueError, match="step='1ms'"):
        seconds(window=9, step="1ms")
    assert seconds(window="6ms").operator_.weight_shape == (1,)


def test_no_shift_is_no_shift():
    with pytest.warns(UserWarning, match="nothing moves"):
        assert seconds(window=9, max_shift="0s").operator_.n_transforms == 1


def test_time_moves_by_default():
    X = noise(12, 3, 40)
    model = GTPCA(1, Shift(9), solver=QUICK, random_state=0)
    assert model.fit(labelled(X, rate=100)).components_.shape == (1, 3, 9)
    turned = labelled(X.transpose(0, 2, 1), ("time", "channel"))
    assert model.fit(turned).components_.shape == (1, 9, 3)
    with pytest.raises(ValueError, match="axes is ambiguous"):
        model.fit(labelled(X, ("row", "time")))


def test_x_that_may_be_transposed_is_told():
    X = make_spikes(300, n_times=60, random_state=0)[0]
    told = r"X may be transposed: neighbouring rows of its 60 x 300 values .* fit X\.T"
    with pytest.warns(UserWarning, match=told):
        GTPCA(1, Shift(100), solver=QUICK, random_state=0).fit(X.T)
    with pytest.warns(UserWarning, match=told):
        ProbabilisticGTPCA(0, Shift(100), max_iter=1, random_state=0).fit(X.T)


@pytest.mark.parametrize("kind", ["series", "noise", "pattern", "windows", "sorted", "gaps"])
def test_x_that_is_as_it_should_be(kind):
    rng = np.random.default_rng(0)
    X = {
        "series": make_spikes(60, n_times=300, random_state=0)[0],
        "noise": rng.standard_normal((60, 300)),
        "pattern": 9 * np.sin(np.arange(300) / 9) + rng.standard_normal((60, 300)),
        "windows": np.lib.stride_tricks.sliding_window_view(
            np.convolve(rng.standard_normal(400), np.ones(9), "valid"), 300
        )[:60].copy(),
        "sorted": np.repeat(rng.standard_normal((3, 300)), 20, axis=0)
        + 0.3 * rng.standard_normal((60, 300)).cumsum(axis=1),
        "gaps": np.where(
            rng.random((60, 300)) < 0.2, np.nan, rng.standard_normal((60, 300)).cumsum(axis=1)
        ),
    }[kind]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="X may be transposed")
        model = GTPCA(1, Shift(100), missing="ignore", solver=QUICK, random_state=0)
        model.fit(X)


def test_neighbours_of_constant_rows():
    from gtpca.data.orientation import neighbours

    assert neighbours(np.ones((20, 100))).transposed is False
    assert neighbours(np.full((20, 100), np.nan)).transposed is False
    assert neighbours(1e300 * noise(20, 100)).transposed is False
    assert neighbours(noise(20, 60)) is None
    assert neighbours(noise(9, 600)) is None
