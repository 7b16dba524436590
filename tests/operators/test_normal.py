"""The normal equations as a value: sums, multiples, ridges and gaps against dense matrices."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from helpers import noise

from gtpca import Compose, Rotation, Scaling, Shift
from gtpca.operators.base import with_feature_weight
from gtpca.operators.normal import ByNode, Diagonal, Masked, Moments, Scalar, Stencil
from gtpca.testing import check_operator

KINDS = {
    "number": (Shift(6), (10,), Scalar),
    "diagonal": (Shift(14), (9,), Diagonal),
    "stencil": (Scaling((0.7, 1, 1.4)), (9,), Stencil),
    "composed": (Compose(Shift(8), Scaling((0.8, 1, 1.3))), (12,), Stencil),
    "inside": (Compose(Rotation(6, domain="all"), Shift((5, 5))), (5, 5), ByNode),
}


def moments_of(operator, S=1, K=2, seed=0):
    """Positive semidefinite moments of some transforms."""
    m = operator.gram(np.zeros((1, 1, operator.n_weights))).shape[1]
    roots = noise(S, m, K, K, seed=seed)
    return Moments(roots @ roots.transpose(0, 1, 3, 2))


def dense(operator, nodes):
    """``N`` of one system (m, K, K), (K L, K L)."""
    L, q = operator.n_weights, operator.feature_weight
    T = operator.matrix().toarray().reshape(operator.n_transforms, -1, L)
    weighed = T if q is None else T * q[:, None]
    nodes = np.broadcast_to(nodes, (len(T), *nodes.shape[1:])) / (len(T) / len(nodes))
    N = np.einsum("tjk,tdl,tdp->jlkp", nodes, weighed, T, optimize=True)
    return N.reshape(nodes.shape[1] * L, -1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_are_the_dense_matrix(kind, weighted):
    family, shape, wanted = KINDS[kind]
    operator = family.bind(shape)
    if weighted:
        q = np.random.default_rng(1).uniform(0.5, 2, operator.n_features)
        operator = with_feature_weight(operator, q)
    moments = moments_of(operator)
    normal = operator.normal(moments)
    assert weighted or isinstance(normal, wanted)
    N, W = dense(operator, moments.nodes[0]), noise(1, 2, operator.n_weights, seed=2)
    np.testing.assert_allclose(normal.times(W).ravel(), N @ W.ravel(), atol=1e-9)
    np.testing.assert_allclose(normal.quadratic(W), W.ravel() @ N @ W.ravel())
    np.testing.assert_allclose((3.0 * normal).times(W), 3 * normal.times(W), atol=1e-9)
    twice = normal + normal
    np.testing.assert_allclose(twice.times(W), 2 * normal.times(W), atol=1e-9)
    assert np.array_equal(normal.cover > 0, twice.cover > 0)
    ridged = normal.ridged(0.5, moments)
    more = 0.5 * np.einsum("jk,kl->jl", moments.total[0], W[0]) * (normal.cover[0] > 0)
    np.testing.assert_allclose(ridged.times(W)[0], normal.times(W)[0] + more, atol=1e-9)
    assert normal.ridged(0.0, moments) is normal
    again = ridged.times(ridged.solve(ridged.times(W), 0 * W))
    np.testing.assert_allclose(again, ridged.times(W), atol=1e-5 * np.abs(again).max())


def test_moments_add_up_fade_and_travel():
    operator = Shift(14).bind((9,))
    one, other = moments_of(operator, S=3), moments_of(operator, S=3, seed=1)
    total = pickle.loads(pickle.dumps(one + 0.5 * other))
    np.testing.assert_array_equal(total.nodes, one.nodes + 0.5 * other.nodes)
    gaps = Moments(one.nodes, np.ones((3, 2, 2, 14)))
    assert not one.lack
    assert (one + gaps).lack
    joined = Moments.joined([gaps[:1], gaps[1:]])
    np.testing.assert_array_equal(joined.hidden, gaps.hidden)
    np.testing.assert_array_equal(joined.total, one.nodes.sum(axis=1))


@pytest.mark.parametrize("kind", ["number", "diagonal", "stencil"])
def test_what_gaps_take_away_is_inside(kind):
    family, shape, _ = KINDS[kind]
    operator = family.bind(shape)
    H, index = (noise(8, *shape) > 0.5).astype(float), np.arange(8) % operator.n_transforms
    coef = np.random.default_rng(0).uniform(size=(1, 8))
    sums = operator.mask_sums(H, index, coef)[:, None, None]
    moments = Moments(moments_of(operator, K=1).nodes, sums)
    W = noise(1, 1, operator.n_weights, seed=2)
    T = operator.matrix().toarray().reshape(operator.n_transforms, -1, operator.n_weights)[index]
    less = np.einsum("n,ndl,nd,ndp,p->l", coef[0], T, H, T, W[0, 0], optimize=True)
    whole = operator.normal(Moments(moments.nodes)).times(W)
    np.testing.assert_allclose(operator.normal(moments).times(W), whole - less, atol=1e-9)
    assert isinstance(operator.normal(moments), Diagonal) == operator.selects
    if not operator.selects:
        assert isinstance(operator.normal(moments).second, Masked)


def test_the_hidden_energy_is_what_gaps_take_from_the_quadratic_form():
    operator = Scaling((0.7, 1, 1.4)).bind((9,))
    H, index = (noise(8, 9) > 0.5).astype(float), np.arange(8) % 3
    coef = np.random.default_rng(0).uniform(size=(1, 8))
    whole = moments_of(operator, K=1)
    gaps = Moments(whole.nodes, operator.mask_sums(H, index, coef)[:, None, None])
    W = noise(1, 1, operator.n_weights, seed=2)
    all_of_it, seen = (operator.normal(each).quadratic(W) for each in (whole, gaps))
    np.testing.assert_allclose(gaps.hidden_energy(operator, W), all_of_it - seen)
    np.testing.assert_array_equal(whole.hidden_energy(operator, W), [0.0])


def test_stored_moments_lack_nothing_where_zeros_stand_for_it():
    nodes, hidden = np.ones((2, 3, 1, 1)), np.ones((2, 1, 1, 4))
    for nothing in (0.0, np.zeros(2)):  # files of earlier versions have the latter
        assert not Moments.stored(nodes, nothing, 0.0).lack
        assert not Moments.stored(nodes, hidden, nothing).posed
    assert Moments.stored(nodes, hidden.tolist(), 0.0).hidden.shape == hidden.shape


@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.parametrize("made", [Scalar, Diagonal])
def test_faint_systems_are_solved_or_leave_weights_as_they_were(made, K):
    rng = np.random.default_rng(0)
    half = rng.standard_normal((3, K, K)) + 3 * np.eye(K)
    A, wanted = half @ half.transpose(0, 2, 1), rng.standard_normal((3, K, 4))
    scale = np.array([1.0, 1e-290, 1e-309])[:, None, None]  # the last one has few digits
    A, rhs, start = scale * A, scale * (A @ wanted), np.ones((3, K, 4))
    system = Scalar(A, 4) if made is Scalar else Diagonal(A[..., None] * np.ones(4))
    with np.errstate(all="raise", under="ignore"):
        found = system.solve(rhs, start)
    np.testing.assert_allclose(found[:2], wanted[:2], rtol=1e-9)
    np.testing.assert_array_equal(found[2], start[2])


@pytest.mark.parametrize("seed", [0, 2, 14])
def test_weights_that_are_hardly_seen_are_solved_for_too(seed):
    """The corners of a picture are seen 1e5 times less than its middle, if it is magnified."""
    rng = np.random.default_rng(seed)
    operator = Scaling([1, 6, 1.4375, 3], axes=(0, 1), domain="common").bind((7, 6))
    roots = np.eye(3) + 0.2 * rng.standard_normal((1, 4, 3, 3))
    nodes = roots @ roots.transpose(0, 1, 3, 2)
    nodes[:, 0] = 0.0  # nobody sees it in its own size
    normal, W = operator.normal(Moments(nodes)), rng.standard_normal((1, 3, 42))
    found = normal.solve(normal.times(W), np.zeros_like(W))
    np.testing.assert_allclose(found, W, atol=1e-3)


def test_the_operator_of_a_wide_zoom_passes_its_checks():
    operator = Scaling([1, 6, 1.4375, 3], axes=(0, 1), domain="common").bind((7, 6))
    check_operator(operator, n_rows=4)
