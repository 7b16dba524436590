"""The density of rows with one pose each, beside dense Gaussians for every transform."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import memory, noise
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from gtpca import Reflection, Rotation, Scaling, Shift
from gtpca.data.chunks import as_chunks
from gtpca.model import posterior, probabilistic
from gtpca.model.posterior import hard_sums, soft_sums
from gtpca.model.probabilistic import ProbabilisticModel, pose_summary

CASES = {
    "valid": (Shift(4), (9,)),
    "partial": (Shift(5, boundary="partial", min_overlap=0.4), (7,)),
    "circular": (Shift(boundary="circular"), (20,)),
    "crop": (Shift(9), (6,)),
    "rotation": (Rotation(8), (4, 4)),
    "scaling": (Scaling((0.7, 1, 1.4)), (9,)),
}
EITHER = pytest.mark.parametrize("kind", ["isotropic", "features"])


def drawn(case, kind="isotropic", K=2, seed=0):
    """A model of random parameters, and rows around what it shows."""
    family, shape = CASES[case]
    operator, rng = family.bind(shape), np.random.default_rng(seed)
    weights = rng.standard_normal((1 + K, operator.n_weights))
    variance = rng.uniform(0.5, 2, operator.n_features if kind == "features" else 1)
    prior = rng.dirichlet(np.ones(operator.n_transforms))
    model = ProbabilisticModel(operator, weights[0], weights[1:], variance, np.log(prior))
    return model, model.sample(8, np.random.RandomState(seed))[0]


def inside(model):
    """The features in the domain, bool (d,)."""
    domain = model.operator.domain
    return np.ones(model.operator.n_features, bool) if domain is None else domain


def banks(model):
    """All moved patterns (m, d) and loadings (m, K, d), and the covariance of the noise.

    Of the ``d`` features in the domain alone.
    """
    operator = model.operator
    loadings = [operator.apply(u) for u in model.loadings]
    shape = (operator.n_transforms, len(loadings), operator.n_features)
    U = np.stack(loadings, axis=1) if loadings else np.zeros(shape)
    noise, kept = np.broadcast_to(model.noise, shape[2]), inside(model)
    return operator.apply(model.pattern)[:, kept], U[:, :, kept], np.diag(noise[kept])


def slow_joint(model, X):
    """``log p(x, t)`` by dense Gaussians, (n, m)."""
    means, U, noise = banks(model)
    logs = [
        multivariate_normal(m, u.T @ u + noise).logpdf(X[:, inside(model)])
        for m, u in zip(means, U, strict=True)
    ]
    return np.stack(logs, axis=1) + model.log_prior


def slow_scores(model, X):
    """Mean (m, n, K) and covariance (m, K, K) of the scores, by conditioning."""
    means, U, noise = banks(model)
    gain = U @ np.linalg.inv(U.transpose(0, 2, 1) @ U + noise)
    mean = np.einsum("tkd,tnd->tnk", gain, X[:, inside(model)] - means[:, None])
    return mean, np.eye(U.shape[1]) - gain @ U.transpose(0, 2, 1)


@EITHER
@pytest.mark.parametrize("K", [0, 2])
@pytest.mark.parametrize("case", CASES)
def test_likelihood_and_codes_are_those_of_dense_gaussians(case, K, kind):
    model, X = drawn(case, kind, K)
    joint, chunks = slow_joint(model, X), as_chunks(X, model.operator)
    np.testing.assert_allclose(model.score_samples(chunks), logsumexp(joint, axis=1), rtol=1e-9)
    codes = model.encode(chunks)
    np.testing.assert_array_equal(codes.index[:, 0], joint.argmax(axis=1))
    z = slow_scores(model, X)[0][codes.index[:, 0], np.arange(len(X))]
    sizes = np.linalg.norm(model.loadings, axis=1)
    np.testing.assert_allclose(codes.scores, z * sizes, rtol=1e-7, atol=1e-9)


@EITHER
@pytest.mark.parametrize("K", [0, 2])
@pytest.mark.parametrize("case", CASES)
def test_in_gaps_it_is_the_density_of_what_was_observed(case, K, kind):
    """Marginals of dense Gaussians, row by row; of a row without any value nothing is known."""
    model, X = drawn(case, kind, K)
    X[np.random.default_rng(1).random(X.shape) < 0.4] = np.nan
    X[0] = np.nan
    means, U, noise = banks(model)
    joint, kept = np.tile(model.log_prior, (len(X), 1)), X[:, inside(model)]
    for i, t in np.ndindex(len(X), len(means)):
        seen = ~np.isnan(kept[i])
        if seen.any():
            covariance = (U[t].T @ U[t] + noise)[np.ix_(seen, seen)]
            joint[i, t] += multivariate_normal(means[t, seen], covariance).logpdf(kept[i, seen])
    chunks = as_chunks(X, model.operator)
    found = model.score_samples(chunks)
    np.testing.assert_allclose(found, logsumexp(joint, axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.encode(chunks).index[1:, 0], joint[1:].argmax(axis=1))


def slow_sums(model, X, share):
    """Sums transform by transform, with values in units of their own noise if that is known."""
    mean, covariance = slow_scores(model, X)
    a = np.concatenate([np.ones((*mean.shape[:2], 1)), mean], axis=2)
    moments = np.einsum("nt,tnj,tnk->tjk", share, a, a)
    moments[:, 1:, 1:] += share.sum(axis=0)[:, None, None] * covariance
    weighed = X / model.noise if len(model.noise) > 1 else X
    M = np.einsum("nt,tnj,nd->jtd", share, a, weighed)
    operator = model.operator
    banks = np.stack([operator.apply(v) for v in model.weights])
    shown = np.einsum("nt,tnj,jtd->nd", share, a, banks)
    squares = np.sum(X**2 - 2 * X * shown, axis=0)
    return np.array([operator.adjoint(each) for each in M]), moments, squares


@EITHER
@pytest.mark.parametrize("sums", [soft_sums, hard_sums])
@pytest.mark.parametrize("case", CASES)
def test_sums_are_those_of_all_transforms(monkeypatch, case, sums, kind):
    monkeypatch.setattr(posterior, "PIECE", 1)  # row by row
    model, X = drawn(case, kind)
    joint = slow_joint(model, X)
    share = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    fit = logsumexp(joint, axis=1)
    if sums is hard_sums:
        share, fit = np.eye(joint.shape[1])[joint.argmax(axis=1)], joint.max(axis=1)
    found = as_chunks(X, model.operator, batch_size=3).sum(sums, model.e_step(), True)
    rhs, moments, squares = slow_sums(model, X, share)
    np.testing.assert_allclose(found.log_likelihood, fit.sum())
    np.testing.assert_allclose(found.mass, share.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.rhs[0], rhs, atol=1e-8)
    [nodes] = found.moments.nodes
    moments = moments if len(nodes) > 1 else moments.sum(axis=0)[None]
    np.testing.assert_allclose(nodes, moments, atol=1e-8)
    np.testing.assert_allclose(found.squares, squares, atol=1e-8)


@pytest.mark.parametrize("case", CASES)
def test_poses_in_short(case):
    model, X = drawn(case)
    joint = slow_joint(model, X)
    share = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    found = as_chunks(X, model.operator).concat(pose_summary, model.e_step(), 2)
    np.testing.assert_array_equal(found["index"][:, 0], share.argmax(axis=1))
    np.testing.assert_allclose(found["probability"], -np.sort(-share, axis=1)[:, :2], rtol=1e-7)
    entropy = -np.sum(share * np.log(share), axis=1)
    np.testing.assert_allclose(found["entropy"], entropy, rtol=0, atol=1e-9)
    for name, values in model.operator.describe(np.arange(share.shape[1])).items():
        mean = share @ values
        slow = np.sqrt(np.sum(share * (values - mean[:, None]) ** 2, axis=1))
        if model.operator.pose_space.named[name].period is None:
            np.testing.assert_allclose(found[f"std_{name}"], slow, rtol=1e-6)


def periods(operator):
    return {axis.name: axis.period for axis in operator.pose_space.axes}


def test_poses_that_go_round_have_neighbours_across_the_end():
    operator = Shift(boundary="circular").bind((20,))
    assert periods(operator) == {"start": 20.0, "centre": 20.0}
    assert periods(Rotation(8).bind((4, 4))) == {"degrees": 360.0}
    assert periods(Reflection().bind((5,))) == {"flipped": None}
    share = np.zeros((1, 20))
    share[0, [0, 19]] = 0.5  # half a step to either side
    found = probabilistic.posterior_in_short(operator, share, share.argmax(axis=1), 1)
    assert 0.45 < found["std_start"][0] < 0.55
    share = np.full((1, 20), 0.05)
    assert (
        probabilistic.posterior_in_short(operator, share, share.argmax(axis=1), 1)["std_start"][0]
        > 20
    )


def test_a_canonical_model_is_the_same_density():
    model, X = drawn("partial", K=3)
    after, chunks = model.canonical(), as_chunks(X, model.operator)
    np.testing.assert_allclose(after.score_samples(chunks), model.score_samples(chunks))
    G = after.loadings @ after.loadings.T
    np.testing.assert_allclose(G, np.diag(np.diag(G)), atol=1e-12)
    assert np.all(np.diff(np.diag(G)) <= 0)


def test_samples_have_the_moments_of_the_model():
    model, _ = drawn("valid", "features")
    X, codes = model.sample(40_000, np.random.RandomState(1))
    means, U, noise = banks(model)
    prior = np.exp(model.log_prior)
    np.testing.assert_allclose(X.mean(axis=0), prior @ means, atol=0.06)
    second = np.einsum("t,td,te->de", prior, means, means)
    second += np.einsum("t,tkd,tke->de", prior, U, U) + noise
    np.testing.assert_allclose(X.T @ X / len(X), second, atol=0.05 * np.abs(second).max())
    np.testing.assert_allclose(np.bincount(codes.index[:, 0]) / len(X), prior, atol=0.01)
    left = X - model.decode(codes)
    np.testing.assert_allclose(left.var(axis=0), model.noise, rtol=0.05)


def test_nothing_as_large_as_rows_times_transforms_times_features():
    operator = Shift(boundary="circular").bind((128,))
    model = ProbabilisticModel(
        operator, *(noise(3, 128)[i] for i in (0, slice(1, 3))), np.ones(1), np.zeros(128)
    )
    chunks = as_chunks(noise(600, 128), operator, batch_size=600)
    chunks.sum(soft_sums, model.e_step())
    assert memory(lambda: chunks.sum(soft_sums, model.e_step())) < 600 * 128 * 128 * 8 / 4


@EITHER
@pytest.mark.parametrize("sums", [soft_sums, hard_sums])
@pytest.mark.parametrize("case", CASES)
def test_gaps_of_one_feature_are_that_feature_left_out(case, sums, kind):
    """Where the same features are hidden in all rows, updates know nothing of them."""
    model, X = drawn(case, kind)
    gappy = X.copy()
    gappy[:, [0, 2]] = np.nan
    found = as_chunks(gappy, model.operator).sum(sums, model.e_step(), True)
    assert np.all(found.observed[[0, 2]] == 0)
    seen = np.ones(model.operator.n_features)
    seen[[0, 2]] = 0
    e_step, W = model.e_step(), model.weights
    banks = np.stack([e_step.operator.apply(w) for w in W])
    [nodes] = found.moments.nodes
    if len(nodes) > 1:
        weight = seen / model.noise if len(model.noise) > 1 else seen
        wanted = np.einsum("tjk,ktd->jtd", nodes, banks * weight)
        slow = np.array([e_step.operator.adjoint(M) for M in wanted])
        N = e_step.operator.normal(found.moments)
        np.testing.assert_allclose(N.times(W[None])[0], slow, atol=1e-8)


def test_rows_count_as_often_as_their_weights_say():
    model, X = drawn("partial")
    weight = np.array([0, 1, 2, 3, 0, 1, 1, 2])
    for sums in (soft_sums, hard_sums):
        once = as_chunks(X, model.operator, weight.astype(float)).sum(sums, model.e_step(), True)
        often = as_chunks(np.repeat(X, weight, axis=0), model.operator)
        often = often.sum(sums, model.e_step(), True)
        found, wanted = (vars(each) | vars(each.moments) for each in (once, often))
        for name in found.keys() - {"moments"}:
            np.testing.assert_allclose(found[name], wanted[name], atol=1e-9, err_msg=name)
