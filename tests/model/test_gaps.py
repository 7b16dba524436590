"""Rows with gaps: every family, monotone, additive, and as without gaps where there are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers import QUICK, noise, two_planted

from gtpca import GTPCA, Compose, Identity, Reflection, Rotation, Scaling, Shift
from gtpca.data.chunks import Chunk
from gtpca.data.energies import row_energies
from gtpca.model.gaps import HIDDEN_WEIGHT
from gtpca.model.matching import make_block, match, statistics, update
from gtpca.operators.base import with_feature_weight

HALF = [Shift(8), Shift(40), Shift(boundary="circular"), Scaling(), Compose(Shift(8), Scaling())]


def orthonormal(n_weights, K, seed=1):
    return np.linalg.qr(noise(n_weights, min(K, n_weights), seed=seed))[0].T


def holes(shape, seed=0, share=0.3):
    """Some values at random, a stretch of every second row, and a row without any."""
    hidden = np.random.default_rng(seed).random(shape) < share
    hidden[::2, shape[1] // 4 : shape[1] // 2] = True
    hidden[1] = True
    return hidden


@pytest.mark.parametrize("K", [1, 3])
def test_explained_energy_never_falls(bound, K):
    X = noise(20, bound.n_features)
    X[holes(X.shape)] = np.nan
    W, last = orthonormal(bound.n_weights, K), 0.0
    for _ in range(8):
        stats = statistics(Chunk(X, bound), [make_block(bound, W)])
        assert stats.explained >= last * (1 - 1e-10)
        W, last = update(bound, stats, W[None])[0], stats.explained


@pytest.fixture
def forced(monkeypatch):
    """Every chunk takes the way of rows with gaps, of which there need not be any."""

    def force():
        monkeypatch.setattr(Chunk, "hidden", property(lambda chunk: np.isnan(chunk.rows)))

    return force


@pytest.mark.parametrize("K", [1, 3])
def test_nothing_hidden_is_as_without_gaps(bound, K, forced):
    chunk, W = Chunk(noise(20, bound.n_features), bound), orthonormal(bound.n_weights, K)
    block = make_block(bound, W)
    plain, stats = match(chunk, block), statistics(chunk, [block])
    forced()
    found, same = match(chunk, block), statistics(chunk, [block])
    assert np.array_equal(found.index, plain.index)
    for name in ("score", "coef", "explained"):
        assert np.allclose(getattr(found, name), getattr(plain, name), rtol=0, atol=1e-10)
    assert np.allclose(same.rhs, stats.rhs, rtol=0, atol=1e-10)
    assert np.allclose(same.moments.nodes, stats.moments.nodes, rtol=0, atol=1e-10)
    assert same.moments.lack
    assert not np.any(same.moments.hidden)
    # from the same sums: their rounding alone moves updates of some families by 1e-9
    forced_sums = replace(stats, moments=replace(stats.moments, hidden=same.moments.hidden))
    new, wanted = (update(bound, sums, W[None]) for sums in (forced_sums, stats))
    assert np.allclose(new, wanted, rtol=0, atol=1e-10)


@pytest.mark.parametrize("shared_pose", [False, True])
@pytest.mark.parametrize("family", [*HALF, Rotation(8)], ids=str)
def test_fits_with_nothing_hidden_are_as_without_gaps(family, shared_pose, forced):
    shape = (7, 7) if isinstance(family, Rotation) else (24,)
    X = two_planted(family, shape, 60)  # so few that nothing runs in single precision
    options = {"shared_pose": shared_pose, "refine": 0 if shared_pose else 1}
    model = GTPCA(2, family, solver=QUICK, random_state=0, **options)
    plain = model.fit(X)
    components, codes = plain.components_, plain.encode(X)
    forced()
    same = model.fit(X)
    assert np.allclose(same.components_, components, rtol=0, atol=1e-10)
    assert np.array_equal(same.encode(X).index, codes.index)
    assert np.allclose(same.encode(X).scores, codes.scores, rtol=0, atol=1e-10)


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("family", HALF, ids=str)
def test_chunks_with_and_without_gaps_add_up(family, K):
    operator = family.bind((24,))
    X, W = noise(20, 24), orthonormal(operator.n_weights, K)
    X[:7][holes((7, 24))] = np.nan
    block = make_block(operator, W)
    parts = [statistics(Chunk(x, operator), [block]) for x in (X[:7], X[7:], X)]
    for stats in (parts[0] + parts[1], parts[1] + parts[0], 0.5 * (parts[2] + parts[2])):
        assert np.isclose(stats.explained, parts[2].explained)
        assert np.allclose(stats.moments.hidden, parts[2].moments.hidden)
        new, wanted = (update(operator, sums, W[None]) for sums in (stats, parts[2]))
        assert np.allclose(new, wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("K", [6, 20])
def test_nothing_explodes_where_components_are_nearly_dependent(K, dtype):
    """Low frequencies, cropped, are nearly the same: pivots are as small as rounding errors."""
    operator, frequency = Shift(96).bind((48,)), np.arange(K)[:, None]
    W = np.cos(np.pi * frequency * (np.arange(96) + 0.5) / 96)
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    X = noise(60, 48)
    hidden = np.random.default_rng(2).random(X.shape) < 0.3
    chunk = Chunk(np.where(hidden, np.nan, X).astype(dtype), operator)
    found = match(chunk, make_block(operator, W, dtype))
    parts = [
        c[:, None] * operator.apply_at(w, found.index) for c, w in zip(found.coef.T, W, strict=True)
    ]
    weight, x = np.where(hidden, HIDDEN_WEIGHT, 1.0), np.where(hidden, 0.0, X)
    total = np.sum(x**2, axis=1)
    explained = total - np.sum(weight * (x - sum(parts)) ** 2, axis=1)
    assert np.all(explained > 0)
    assert np.abs(explained - found.explained).max() < 0.05 * total.max()


@pytest.mark.parametrize(("window", "seed"), [(96, 0), (128, 1)])
def test_blocks_of_long_windows_climb_in_single_precision(window, seed):
    """Rows see half of a window, and 40 % of that half: blocks are nearly dependent there."""
    family, d = Shift(window), window // 2
    start = np.random.default_rng(seed).integers(d, size=(100, 1))
    hidden = (np.arange(d) - start) % d < round(0.6 * d)
    X = np.where(hidden, np.nan, two_planted(family, (d,), 100)).astype(np.float32)
    options = {"shared_pose": True, "missing": "ignore", "random_state": 0}
    (history,) = GTPCA(6, family, solver=QUICK, **options).fit(X).history_
    # what counts at all is as long as the root of the precision, so coefficients are its inverse
    assert np.all(np.diff(history) >= -np.sqrt(np.finfo(np.float32).eps) * history[-1])


@pytest.mark.parametrize("polarity", ["both", "positive"])
def test_rows_without_an_observed_value_score_zero(polarity):
    X = two_planted(Shift(8), (24,), 40)
    X[[3, 17]] = np.nan
    model = GTPCA(2, Shift(8), polarity=polarity, missing="ignore", solver=QUICK, random_state=0)
    with pytest.warns(UserWarning, match="2 of 40 rows of X hold no observed value") as caught:
        model.fit(X)
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="2 of 40 rows of X hold no observed value"):
        scores = model.transform(X)
    assert not np.any(scores[[3, 17]])
    seen = np.delete(X, [3, 17], axis=0)
    assert np.allclose(model.transform(seen), np.delete(scores, [3, 17], axis=0), rtol=1e-12)
    with pytest.warns(UserWarning, match="rows of X"):
        assert np.allclose(model.resmse(X), model.resmse(seen), rtol=1e-12)


def test_gaps_of_one_transform_are_no_longer_solved_directly():
    X = np.outer(noise(60), noise(9, seed=1))
    model = GTPCA(1, Identity(), missing="ignore", random_state=0)
    whole = model.fit(X).components_
    hidden = np.random.default_rng(2).random(X.shape) < 0.2
    found = model.fit(np.where(hidden, np.nan, X))
    assert abs(np.sum(found.components_ * whole)) > 0.999
    assert found.n_iter_[0] > 1
    assert found.score(X) > 0.99


def test_a_composition_hides_per_inner_transform_only():
    """What an update needs of gaps stays small where the outer operator selects."""
    operator = Compose(Shift((5, 5)), Rotation(6)).bind((9, 9))
    stats = []
    weighted = with_feature_weight(operator, np.full(81, 2.0))
    for part in (operator, weighted, Rotation(6).bind((9, 9))):
        X = np.where(holes((6, 81)), np.nan, noise(6, 81))
        block = make_block(part, orthonormal(part.n_weights, 2))
        stats.append(statistics(Chunk(X, part), [block]))
    assert [s.moments.hidden.shape[3] for s in stats] == [6 * 25, 6 * 25, 6 * 81]
    reflected = Compose(Shift(5), Reflection()).bind((9,))
    X = np.where(holes((6, 9)), np.nan, noise(6, 9))
    block = make_block(reflected, orthonormal(5, 2))
    stats = statistics(Chunk(X, reflected), [block])
    assert stats.moments.hidden.shape == (1, 2, 2, 5)


@pytest.mark.parametrize("seed", [64, 158, 201])
def test_single_precision_is_enough_where_crops_hardly_see_a_component(seed):
    """Errors of masks are relative to all of ``w``, however little of it a crop shows."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(10, 40))
    window = int(rng.integers(d // 2, 2 * d))
    operator = Shift(window, boundary=("valid", "partial")[seed % 2]).bind((d,))
    rows = rng.standard_normal((30, d)).astype(np.float32)
    rows[rng.random(rows.shape) < rng.uniform(0.1, 0.9)] = np.nan
    w = rng.standard_normal((1, window))
    w *= np.exp(rng.uniform(0, 5) * rng.standard_normal((1, window)))
    w /= np.linalg.norm(w)
    found = match(Chunk(rows, operator), make_block(operator, w, np.float32))
    exact = match(Chunk(rows.astype(float), operator), make_block(operator, w))
    energy = row_energies(rows)
    left = row_energies(rows - found.coef * operator.apply_at(w[0], found.index))
    assert np.all(left <= energy * 1.001)
    assert np.all(found.explained <= energy * 1.005)
    np.testing.assert_allclose(found.explained.sum(), exact.explained.sum(), rtol=0.05)
