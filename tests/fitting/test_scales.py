"""Rows times a power of two give the same results, as far as rows and energies are numbers."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import ALL_FAMILIES
from helpers import QUICK, two_planted

from gtpca import GTPCA

NAMES = ["identity", "shift-placed", "shift-crop", "scaling", "rotation-right", "custom-callable"]
POWERS = {np.float64: (-470, -100, -60, 40, 60, 470), np.float32: (-90, -60, 60, 100, 120)}


def told(model, X, power):
    """All that a model says of rows, as if they had not been multiplied by ``2**power``."""
    codes, energies = model.measure(X)
    in_units = {
        "scores": np.ldexp(codes.scores, -power),
        "decoded": np.ldexp(model.decode(codes), -power),
        "aligned": np.ldexp(model.align(X), -power),
        "energies": np.ldexp(energies, -2 * power),
        "explained": np.ldexp(model.explained_energy_, -2 * power),
        "history": np.ldexp(np.concatenate(model.history_), -2 * power),
    }
    return in_units | {
        "components": model.components_,
        "ratio": model.explained_energy_ratio_,
        "index": codes.index,
        "resmse": model.resmse(X),
        "shares": model.score_samples(X),
    }


def assert_same(one, other, dtype):
    for name, values in one.items():
        if dtype == np.float64:
            assert np.array_equal(values, other[name]), name
        else:
            scale = np.abs(values).max()
            assert np.allclose(values, other[name], rtol=1e-5, atol=1e-5 * scale), name


@pytest.mark.parametrize("shared_pose", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("dtype", POWERS, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_a_fit_of_very_large_or_small_rows(name, dtype, shared_pose):
    family, shape = ALL_FAMILIES[name]
    X = two_planted(family, shape, 20).astype(dtype)
    model = GTPCA(2, family, shared_pose=shared_pose, solver=QUICK, random_state=0)
    here = told(model.fit(X), X, 0)
    for power in POWERS[dtype]:
        moved = np.ldexp(X, power)
        assert_same(here, told(model.fit(moved), moved, power), dtype)


@pytest.mark.parametrize("shared_pose", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize(("dtype", "power"), [(np.float64, 400), (np.float32, -90)])
@pytest.mark.parametrize("name", ["shift-placed", "scaling"])
def test_batches_of_very_large_or_small_rows(name, dtype, power, shared_pose, monkeypatch):
    monkeypatch.setattr("gtpca.fitting.streaming.START_ROWS", 10)
    family, shape = ALL_FAMILIES[name]
    X = two_planted(family, shape, 40).astype(dtype)
    said = []
    for p in (0, power):
        model = GTPCA(2, family, shared_pose=shared_pose, solver=QUICK, random_state=0)
        batches = np.ldexp(X, p).reshape(2, 20, *shape)
        for batch in batches:
            model.partial_fit(batch)
        said.append(told(model, batches[1], p))
    assert_same(*said, dtype)


def test_each_row_has_a_scale_of_its_own():
    family, shape = ALL_FAMILIES["shift-placed"]
    X = two_planted(family, shape, 20).astype(np.float32)
    powers = np.resize([-90, 0, 100], 20)
    model = GTPCA(2, family, shared_pose=True, solver=QUICK, random_state=0).fit(X)
    codes, mixed = model.encode(X), model.encode(np.ldexp(X, powers[:, None]))
    assert np.array_equal(codes.index, mixed.index)
    assert np.allclose(codes.scores, np.ldexp(mixed.scores, -powers[:, None]), atol=1e-5)


def test_dask_arrays_that_stay_on_their_workers():
    da = pytest.importorskip("dask.array")
    family, shape = ALL_FAMILIES["shift-placed"]
    X = two_planted(family, shape, 2100).astype(np.float32)
    model = GTPCA(1, family, solver=QUICK, random_state=0, center=True)
    here = model.fit(da.from_array(X, chunks=700)).components_
    there = model.fit(da.from_array(np.ldexp(X, 100), chunks=700)).components_
    assert np.allclose(here, there, atol=1e-5)


@pytest.mark.parametrize("power", [-80, 80])
@pytest.mark.parametrize("name", ["shift-placed", "shift-circular", "scaling"])
def test_the_units_of_weights_do_not_matter(name, power):
    """Inverse variances in squared teslas are 1e26; only their ratios count."""
    family, shape = ALL_FAMILIES[name]
    X, rng = two_planted(family, shape, 20), np.random.default_rng(0)
    q, counts = rng.uniform(0.5, 2, shape), rng.uniform(1, 2, 20)
    one, other = (
        GTPCA(2, family, solver=QUICK, random_state=0, feature_weight=np.ldexp(q, p)).fit(X)
        for p in (0, power)
    )
    assert np.array_equal(one.components_, other.components_)
    assert np.array_equal(one.reconstruct(X), other.reconstruct(X))
    model = GTPCA(1, family, solver=QUICK, random_state=0)
    here = model.fit(X, sample_weight=counts).components_
    there = model.fit(X, sample_weight=np.ldexp(counts, power)).components_
    assert np.allclose(here, there, atol=1e-6)


@pytest.mark.parametrize("size", ["1e-31", "1e31"])
def test_weights_whose_squares_would_overflow_are_refused(series, size):
    said = rf"_weight has the largest value {size[:2]}.*31, but .* multiply all weights"
    with pytest.raises(ValueError, match="feature" + said):
        GTPCA(1, feature_weight=np.full(12, float(size))).fit(series)
    with pytest.raises(ValueError, match="sample" + said):
        GTPCA(1).fit(series, sample_weight=np.full(30, float(size)))
