"""The search between samples finds the best of all transforms; fits with fractions are monotone."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca import ALS, GTPCA, Shift
from gtpca.data.chunks import Chunk
from gtpca.model import matching, picking
from gtpca.model.matching import make_blocks, match, statistics, update

CASES = {
    "inside": (Shift(18, fractions=8), (32,)),
    "circle": (Shift(boundary="circular", fractions=4), (20,)),
    "crop": (Shift(30, fractions=3), (20,)),
    "partial-channels": (Shift(10, boundary="partial", fractions=4, axes=0), (20, 2)),
}
SMOOTH = np.exp(-(np.linspace(-2, 2, 9) ** 2))


def chunk_and_weights(name, K, smooth, n=300, dtype=np.float64):
    """Rows with a component in random poses and noise, one of them zero, and K weights."""
    family, shape = CASES[name]
    operator, rng = family.bind(shape), np.random.default_rng(0)
    W = rng.standard_normal((K, operator.n_weights))
    W = np.array([np.convolve(w, SMOOTH, "same") for w in W]) if smooth else W
    W = np.linalg.svd(W, full_matrices=False)[2]
    X = 0.3 * rng.standard_normal((n, operator.n_features))
    signs = rng.choice([-1, 1], (n, 1))
    X += 3 * signs * operator.apply_at(W[0], rng.integers(operator.n_transforms, size=n))
    X[0] = 0
    return Chunk(X.astype(dtype), operator), W


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("smooth", [False, True], ids=["rough", "smooth"])
@pytest.mark.parametrize(
    ("K", "polarity"), [(1, "both"), (1, "positive"), (3, "both")], ids=["one", "positive", "block"]
)
def test_the_search_is_exhaustive(name, smooth, K, polarity, monkeypatch):
    chunk, W = chunk_and_weights(name, K, smooth)
    [block] = make_blocks(chunk.operator, W[None], polarity=polarity)
    fast = match(chunk, block)
    monkeypatch.setattr(picking, "searches", lambda operator: False)
    slow = match(chunk, block)
    np.testing.assert_array_equal(fast.index, slow.index)
    np.testing.assert_allclose(fast.coef, slow.coef, atol=1e-12)
    np.testing.assert_allclose(fast.explained, slow.explained, atol=1e-11)


def test_several_starts_at_once_and_single_precision(monkeypatch):
    chunk, W = chunk_and_weights("inside", 3, True, dtype=np.float32)
    blocks = make_blocks(chunk.operator, W[:, None], np.float32)
    fast = statistics(chunk, blocks)
    monkeypatch.setattr(picking, "searches", lambda operator: False)
    slow = statistics(chunk, blocks)
    np.testing.assert_allclose(fast.explained, slow.explained, rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize("K", [1, 3])
def test_every_pass_is_monotone(name, gaps, K):
    chunk, W = chunk_and_weights(name, K, False, n=80)
    if gaps:
        rows = chunk.rows.copy()
        rows[np.random.default_rng(1).random(rows.shape) < 0.2] = np.nan
        chunk = Chunk(rows, chunk.operator)
    stack, before = np.random.default_rng(2).standard_normal(W.shape)[None], -np.inf
    stack = matching.orthonormal(stack)
    for _ in range(6):
        found = statistics(chunk, make_blocks(chunk.operator, stack))
        assert found.explained[0] >= before * (1 - 1e-9)
        before, stack = found.explained[0], update(chunk.operator, found, stack)


def spike(u):
    """A trough three samples wide at half its depth, and a hump."""
    return -np.exp(-0.5 * (u / 1.274) ** 2) + 0.35 * np.exp(-0.5 * ((u - 7) / 3) ** 2)


def spikes(seed, n=300, noise=0.01):
    """Spikes at any latency, and these."""
    rng = np.random.default_rng(seed)
    latency = rng.uniform(14, 34, n)
    X = rng.uniform(0.7, 1.4, (n, 1)) * spike(np.arange(64) - latency[:, None])
    return X + noise * rng.standard_normal(X.shape), latency


def test_latencies_between_samples_are_found():
    X, latency = spikes(0)
    left, off = {}, {}
    for fractions in (1, 8):
        model = GTPCA(1, Shift(36, fractions=fractions), random_state=0).fit(X)
        start = model.poses(model.encode(X))["start"][:, 0]
        left[fractions], off[fractions] = model.resmse(X)[0], np.std(start - latency)
    assert left[8] < 0.2 * left[1]
    assert off[8] < 0.05 < 0.2 < off[1]


def test_aligned_samples_are_interpolated():
    X, _ = spikes(0)
    spread = {}
    for fractions in (1, 8):
        model = GTPCA(1, Shift(36, fractions=fractions), random_state=0).fit(X)
        aligned = model.align(X) / model.transform(X)
        spread[fractions] = np.mean(np.std(aligned, axis=0))
        typical = np.abs(np.mean(aligned, axis=0) - model.components_[0]).max()
        assert typical < 0.03
    assert spread[8] < 0.5 * spread[1]


@pytest.mark.parametrize("shared_pose", [False, True], ids=["own", "shared"])
def test_chunks_gaps_weights_and_dask_agree(shared_pose):
    X, _ = spikes(1, n=60)
    X[::7, 20:24] = np.nan
    how = {"missing": "ignore", "shared_pose": shared_pose, "solver": ALS(n_init=2)}
    model = GTPCA(2, Shift(36, fractions=4), random_state=0, **how)
    model.fit(X, sample_weight=np.linspace(1, 2, len(X)))
    codes = model.encode(X)
    np.testing.assert_array_equal(codes.index[30:], model.encode(X[30:]).index)
    dask_array = pytest.importorskip("dask.array")
    lazy = model.encode(dask_array.from_array(X, chunks=(25, 64)))
    np.testing.assert_array_equal(np.asarray(lazy.index), codes.index)
