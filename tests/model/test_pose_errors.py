"""Standard errors of poses: against errors of planted poses, a posterior, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca import ALS, GTPCA, Compose, ProbabilisticGTPCA, Reflection, Rotation, Scaling, Shift
from gtpca.model.pose_errors import parameters, pose_steps

QUICK = ALS(n_init=2)


def wave(u):
    """A trough and a hump."""
    return -np.exp(-0.5 * (u / 2) ** 2) + 0.5 * np.exp(-0.5 * ((u - 7) / 3) ** 2)


def series(seed, noise, n=300):
    """Waves at any latency, and these."""
    rng = np.random.default_rng(seed)
    latency = rng.uniform(12, 28, n)
    X = rng.uniform(0.7, 1.4, (n, 1)) * wave(np.arange(48) - latency[:, None])
    return X + noise * rng.standard_normal(X.shape), latency


def pictures(seed, noise, n=150):
    """Blobs without symmetry at any place, and these (n, 2)."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(6, 9, (n, 2))
    y, x = (np.arange(16) - p[:, None] for p in place.T)
    y, x = y[:, :, None], x[:, None]
    X = np.exp(-(y**2 + 2 * x**2) / 8) - 0.6 * np.exp(-((y - 2) ** 2 + x**2) / 4)
    return X + noise * rng.standard_normal(X.shape), place


def off(found, planted):
    return found - planted - np.median(found - planted)


@pytest.mark.parametrize("fractions", [1, 8])
@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_errors_are_as_large_as_they_say(noise, fractions):
    (X, _), (Y, latency) = series(0, noise), series(1, noise)
    model = GTPCA(1, Shift(30, fractions=fractions), solver=QUICK, random_state=0).fit(X)
    errors = off(model.poses(model.encode(Y))["start"][:, 0], latency)
    se = model.pose_errors(Y)["start"][:, 0]
    assert 0.8 < np.mean((errors / se) ** 2) < 1.25
    assert np.mean(np.abs(errors) <= 2 * se) >= 0.9
    assert np.median(se) >= 1 / np.sqrt(12) / fractions


def test_both_axes_of_images():
    (X, _), (Y, place) = pictures(0, 0.05), pictures(1, 0.05)
    model = GTPCA(1, Shift((10, 10), fractions=4), solver=QUICK, random_state=0).fit(X)
    poses, errors = model.poses(model.encode(Y)), model.pose_errors(Y)
    for j in (0, 1):
        wrong = off(poses[f"start_{j}"][:, 0], place[:, j])
        assert 0.7 < np.mean((wrong / errors[f"start_{j}"][:, 0]) ** 2) < 1.4


def test_by_hand():
    """One row, whole samples: sigma^2 / A + 1 / 12."""
    X, _ = series(0, 0.05, n=40)
    model = GTPCA(1, Shift(30), solver=QUICK, random_state=0).fit(X)
    codes, w = model.encode(X), model.components_[0]
    i = int(np.argmin(np.abs(codes.index[:, 0] - 9)))
    t, a = codes.index[i, 0], codes.scores[i, 0]
    moved = np.zeros((3, 48))
    for row, start in zip(moved, (t - 1, t, t + 1), strict=True):
        row[start : start + 30] = w
    J, M = a * (moved[2] - moved[0]) / 2, moved[1]
    A = J @ J - (J @ M) ** 2 / (M @ M)
    variance = np.sum((X[i] - a * M) ** 2) / (48 - 2)
    found = model.pose_errors(X)["start"][i, 0]
    assert found == pytest.approx(np.sqrt(variance / A + 1 / 12), rel=1e-9)


def test_the_posterior_of_a_density_agrees():
    X, _ = series(0, 0.12)
    model = ProbabilisticGTPCA(1, Shift(30, fractions=8), random_state=0).fit(X)
    spread = model.pose_posterior(X).std["start"]
    se = model.pose_errors(X)["start"][:, 0]
    ratio = np.sqrt((spread**2 + 1 / 12 / 8**2) / se**2)
    assert model.pose_errors(X).shared
    assert np.median(np.abs(ratio - 1)) < 0.15
    assert np.quantile(np.abs(ratio - 1), 0.9) < 0.4


def test_refined_poses_are_not_rounded():
    X, _ = pictures(0, 0.03, n=60)
    model = GTPCA(1, Rotation(12, refine_poses=True), solver=QUICK, random_state=0).fit(X)
    coarse = GTPCA(1, Rotation(12), solver=QUICK, random_state=0).fit(X)
    se, rounded = model.pose_errors(X)["degrees"], coarse.pose_errors(X)["degrees"]
    assert np.median(rounded) > 30 / np.sqrt(12)
    assert np.nanmedian(se) < 30 / np.sqrt(12)


def test_neighbours():
    steps = pose_steps(Rotation(6).bind((8, 8)))
    np.testing.assert_array_equal(steps.below[0], [5, 0, 1, 2, 3, 4])
    np.testing.assert_array_equal(steps.above[0], [1, 2, 3, 4, 5, 0])
    np.testing.assert_allclose(steps.step[0], 60)
    steps = pose_steps(Rotation([0, 30, 90]).bind((8, 8)))
    np.testing.assert_array_equal(steps.below[0], [0, 0, 1])
    np.testing.assert_allclose(steps.step[0], [30, 45, 60])
    both = Compose(Shift((6, 5)), Scaling((0.8, 1, 1.25), axes=(0, 1))).bind((8, 9))
    steps, told = pose_steps(both), both.describe(np.arange(both.n_transforms))
    assert [axis.name for axis in steps.axes] == ["start_0", "start_1", "factor"]
    for j, name in enumerate(["start_0", "start_1", "factor"]):
        for other in ("start_0", "start_1", "factor"):
            moved = told[other][steps.above[j]] - told[other][steps.below[j]]
            np.testing.assert_allclose(moved, steps.span[j] if other == name else 0.0, atol=1e-12)


def test_what_has_no_order_has_no_error():
    X, _ = series(0, 0.05, n=30)
    model = GTPCA(2, Compose(Shift(30), Reflection()), solver=QUICK, random_state=0).fit(X)
    errors = model.pose_errors(X)
    assert list(errors) == ["start", "centre", "flipped"]
    assert np.isnan(errors["flipped"]).all()
    np.testing.assert_array_equal(errors["start"], errors["centre"])
    assert errors["start"].shape == (30, 2)
    assert parameters(model.operator_) == ["start"]
    still = GTPCA(1, Reflection(), solver=QUICK, random_state=0).fit(X)
    assert np.isnan(still.pose_errors(X)["flipped"]).all()
    assert np.isnan(model.pose_errors(np.zeros((1, 48)))["start"]).all()


@pytest.mark.parametrize("shared_pose", [False, True], ids=["own", "shared"])
def test_gaps_weights_and_units(shared_pose):
    X, _ = series(0, 0.05, n=60)
    how = {"missing": "ignore", "shared_pose": shared_pose, "solver": QUICK}
    weight = np.linspace(0.5, 2, 48)
    family = Shift(30, fractions=4)
    model = GTPCA(2, family, random_state=0, feature_weight=weight, **how).fit(X)
    whole = model.pose_errors(X)["start"]
    assert whole.shape == (60, 1 if shared_pose else 2)
    gappy = X.copy()
    gappy[:, 30:34] = np.nan
    assert np.nanmedian(model.pose_errors(gappy)["start"] / whole) > 0.9
    np.testing.assert_allclose(model.pose_errors(1e6 * X)["start"], whole, rtol=1e-6)


def test_containers():
    X, _ = series(0, 0.05, n=40)
    model = GTPCA(2, Shift(30, fractions=4), solver=QUICK, random_state=0).fit(X)
    found = model.pose_errors(X)["start"]
    dask_array = pytest.importorskip("dask.array")
    lazy = model.pose_errors(dask_array.from_array(X, chunks=(15, 48)))["start"]
    np.testing.assert_allclose(lazy.compute(), found)
    xarray = pytest.importorskip("xarray")
    times = {"time": np.arange(48) / 100}
    array = xarray.DataArray(X, dims=("trial", "time"), coords=times)
    array["time"].attrs["units"] = "s"
    known = GTPCA(2, Shift(30, fractions=4), solver=QUICK, random_state=0).fit(array)
    errors = known.pose_errors(array)
    assert errors["start"].attrs["units"] == "s"
    np.testing.assert_allclose(errors["start"], found / 100, rtol=1e-6)
