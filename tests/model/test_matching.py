"""Which sign and which rows a component may match; what an update needs to know of them."""

from __future__ import annotations

from operator import attrgetter

import numpy as np
import pytest
from helpers import QUICK, noise

from gtpca import GTPCA, Compose, Identity, Reflection, Scaling, Shift
from gtpca.data.chunks import Chunk
from gtpca.model.matching import (
    make_block,
    make_blocks,
    match,
    orthonormal,
    rows_as_weights,
    statistics,
    update,
)
from gtpca.model.picking import FEW_TOGETHER, SharedGrams

# --- blocks ---


@pytest.mark.parametrize("n_components", [2, FEW_TOGETHER, FEW_TOGETHER + 1])
def test_the_best_pose_of_a_block_is_that_of_its_definition(n_components):
    operator, rng = Shift(24).bind((16,)), np.random.default_rng(0)
    block = make_block(operator, orthonormal(rng.standard_normal((n_components, 24))))
    X = rng.standard_normal((50, 16))
    index, z, coef = SharedGrams(Chunk(X, operator)).best(operator.prepare(X), block)
    moved = np.stack([operator.apply(w) for w in block.weights], axis=1)
    every = np.array([[np.linalg.lstsq(T.T, x)[0] @ T for T in moved] for x in X])
    energies = np.sum(every**2, axis=2)
    np.testing.assert_array_equal(index, energies.argmax(axis=1))
    np.testing.assert_allclose(np.sum(z**2, axis=1), energies.max(axis=1))
    parts = np.einsum("nk,nkd->nd", coef, moved[index])
    np.testing.assert_allclose(parts, every[np.arange(50), index], atol=1e-9)


# --- polarity ---


def test_positive_scores_are_never_negative(family_and_shape):
    family, shape = family_and_shape
    X = np.random.default_rng(0).standard_normal((40, *shape))
    model = GTPCA(2, family, polarity="positive", solver=QUICK, random_state=0).fit(X)
    scores = model.transform(X)
    assert scores.min() >= 0
    assert np.all(scores.max(axis=0) > 0)
    assert model.transform(-X).min() >= 0


def test_upright_spike_is_not_matched_upside_down():
    spike = np.array([1.0, 3.0, 1.0])
    X = np.zeros((12, 12))
    for i in range(10):
        X[i, i : i + 3] = spike
    X[10, 4:7] = -spike  # nothing but a spike upside down
    X[11, 1:4], X[11, 6:9] = spike, -2 * spike  # the larger of two is upside down
    positive = GTPCA(1, Shift(3), polarity="positive", random_state=0).fit(X[:10])
    both = GTPCA(1, Shift(3), random_state=0).fit(X[:10])
    norm = np.linalg.norm(spike)
    for model in (positive, both):
        np.testing.assert_allclose(model.components_[0], spike / norm, atol=1e-6)
    up, signed = positive.encode(X), both.encode(X)
    np.testing.assert_allclose(up.scores[:, 0], [*[norm] * 10, 0, norm], atol=1e-6)
    np.testing.assert_allclose(signed.scores[:, 0], [*[norm] * 10, -norm, -2 * norm], atol=1e-6)
    assert positive.poses(up)["start"][11, 0] == 1
    assert both.poses(signed)["start"][11, 0] == 6
    assert not np.any(positive.reconstruct(X)[10])


def test_upright_starts_that_fit_nothing_are_quiet(recwarn):
    """A start that points downwards on every row does not make NumPy warn."""
    X = np.zeros((10, 12))
    for i in range(10):
        X[i, i : i + 3] = [1.0, 3.0, 1.0]
    for seed in range(3):
        GTPCA(1, Shift(3), polarity="positive", random_state=seed).fit(X)
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


# --- rows without energy ---


ZERO_ROW_FAMILIES = [
    Identity(),
    Shift(5),
    Shift(20),
    Shift(boundary="circular"),
    Scaling([0.7, 1, 1.4]),
    Compose(Shift(5), Reflection()),
]


@pytest.mark.parametrize("family", ZERO_ROW_FAMILIES, ids=str)
@pytest.mark.parametrize("polarity", ["both", "positive"])
@pytest.mark.parametrize("refine", [0, 1])
def test_zero_rows_score_zero(series, family, polarity, refine):
    X = series.copy()
    X[[3, 17]] = 0
    model = GTPCA(2, family, polarity=polarity, refine=refine, solver=QUICK, random_state=0).fit(X)
    zero = np.isin(np.arange(30), [3, 17])
    scores, shares = model.encode(X).scores, model.score_samples(X)
    assert np.all(scores[zero] == 0)
    assert np.all(shares[zero] == 0)
    # upright only, a row may fit nothing at all
    assert np.all(shares[~zero] > 0 if polarity == "both" else shares[~zero] >= 0)
    assert np.all(model.reconstruct(X)[zero] == 0)
    without = model.resmse(X[~zero])
    np.testing.assert_allclose(model.resmse(X), without, rtol=1e-12)


def test_only_zero_rows_score_zero(series, fitted):
    """Nothing to explain is nothing explained, in ``score`` as in ``score_samples``."""
    zeros = np.zeros_like(series)
    assert np.all(fitted.score_samples(zeros) == 0)
    assert fitted.score(zeros) == 0


# --- what an update needs to know of rows ---


@pytest.mark.parametrize("family", [Shift(8), Shift(40), Scaling()], ids=str)
def test_stats_of_chunks_add_up_and_can_fade(family):
    operator = family.bind((24,))
    X, W = noise(20, 24), np.linalg.qr(noise(operator.n_weights, 3, seed=1))[0].T
    block = make_block(operator, W)
    whole, first, second = (statistics(Chunk(x, operator), [block]) for x in (X, X[:7], X[7:]))
    twice = statistics(Chunk(np.sqrt(2.0) * X, operator), [block])
    weighted = statistics(Chunk(X, operator, weight=np.full(20, 2.0)), [block])
    for of in (attrgetter("rhs"), attrgetter("moments.nodes"), attrgetter("explained")):
        assert np.allclose(of(first + second), of(whole))
        for other in (2.0 * whole, twice, weighted):
            assert np.allclose(of(other), 2 * of(whole))


def test_weights_that_are_nothing_or_not_finite_stay():
    operator = Shift(8).bind((24,))
    W = np.linalg.qr(noise(8, 1))[0].T
    empty = statistics(Chunk(np.zeros((5, 24)), operator), [make_block(operator, W)])
    assert np.array_equal(update(operator, empty, W[None]), W[None])
    assert np.array_equal(update(operator, np.nan * empty, W[None]), W[None])


def test_where_a_component_shows_nothing_its_coefficient_is_zero():
    """A window of which the sample sees the empty half."""
    operator = Shift(8).bind((4,))
    block = make_block(operator, np.eye(1, 8))
    index = np.arange(operator.n_transforms)
    coef = block.coef(operator, np.ones((len(index), 1)), index)
    assert np.array_equal(coef[:, 0], np.any(operator.apply(np.eye(8)[0]), axis=1))
    assert np.array_equal(orthonormal(np.zeros((1, 3))), np.zeros((1, 3)))


def test_components_in_a_plane_share_what_the_plane_explains():
    """A singular Gram matrix: what is too faint is left out, not inverted."""
    operator, w = Identity().bind((9,)), noise(9, seed=1)
    w /= np.linalg.norm(w)
    X = noise(6, 9)
    found = match(Chunk(X, operator), make_block(operator, np.stack([w, -w])))
    assert np.allclose(found.explained, (X @ w) ** 2)
    assert np.allclose(found.coef @ np.stack([w, -w]), np.outer(X @ w, w))


# --- rows as weights ---


def test_rows_become_weights_in_the_pose_of_their_own_block(bound):
    """As the statistics of each row alone with its block say."""
    operator, rng = bound, np.random.default_rng(0)
    X = rng.standard_normal((3, operator.n_features))
    blocks = make_blocks(operator, orthonormal(rng.standard_normal((3, 1, operator.n_weights))))
    pairs = zip(X, blocks, strict=True)
    alone = [statistics(Chunk(x[None], operator), [block]).rhs[0, 0] for x, block in pairs]
    np.testing.assert_allclose(rows_as_weights(Chunk(X, operator), blocks), alone, atol=1e-10)
