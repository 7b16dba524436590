"""The density of several kinds, beside dense Gaussians for every kind and transform."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from test_density import CASES, drawn, inside, slow_joint, slow_scores

from gtpca.data.chunks import as_chunks
from gtpca.model import mixture
from gtpca.model.mixture import MixtureModel, kind_counts, kind_sums, pose_summary
from gtpca.model.posterior import soft_sums

SHARES = np.array([0.5, 0.3, 0.2])


def drawn_mixture(case, K=2):
    """Three kinds of random parameters with one noise, and rows around what they show."""
    kinds = [drawn(case, K=K, seed=seed)[0] for seed in range(3)]
    kinds = [kind.with_weights(kind.weights, kinds[0].noise) for kind in kinds]
    model = MixtureModel(tuple(kinds), np.log(SHARES))
    return model, model.sample(12, np.random.RandomState(0))[0]


def slow_joints(model, X):
    """``log p(x, g, t)``, (G, n, m)."""
    pairs = zip(model.kinds, model.log_weights, strict=True)
    return np.stack([slow_joint(kind, X) + log_weight for kind, log_weight in pairs])


@pytest.mark.parametrize("K", [0, 2])
@pytest.mark.parametrize("case", CASES)
def test_likelihood_kinds_and_codes_are_those_of_dense_gaussians(case, K):
    model, X = drawn_mixture(case, K)
    joint, chunks = slow_joints(model, X), as_chunks(X, model.operator)
    total = logsumexp(joint, axis=(0, 2))
    np.testing.assert_allclose(model.score_samples(chunks), total, rtol=0, atol=1e-8)
    share = np.exp(logsumexp(joint, axis=2) - total).T
    np.testing.assert_allclose(model.probabilities(chunks), share, atol=1e-8)
    codes, each = model.encode(chunks), np.arange(len(X))
    np.testing.assert_array_equal(codes.kind, share.argmax(axis=1))
    np.testing.assert_array_equal(codes.index[:, 0], joint[codes.kind, each].argmax(axis=1))
    scores = np.stack([slow_scores(kind, X)[0] for kind in model.kinds])
    known = scores[codes.kind, codes.index[:, 0], each] * model.sizes[codes.kind]
    np.testing.assert_allclose(codes.scores, known, rtol=1e-7, atol=1e-9)
    counts, doubt = chunks.sum(kind_counts, model.e_step())
    np.testing.assert_allclose(counts, np.bincount(codes.kind, minlength=3))
    np.testing.assert_allclose(doubt.sum(), np.sum(1 - share.max(axis=1)), atol=1e-8)


@pytest.mark.parametrize("case", ["valid", "circular", "rotation"])
def test_in_gaps_it_is_the_density_of_what_was_observed(case):
    """The single densities are those of dense Gaussians there; the mixture adds them up."""
    model, X = drawn_mixture(case)
    X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    chunks = as_chunks(X, model.operator)
    each = np.stack([kind.score_samples(chunks) for kind in model.kinds], axis=1)
    total = logsumexp(each + model.log_weights, axis=1)
    np.testing.assert_allclose(model.score_samples(chunks), total, rtol=0, atol=1e-8)
    filled = model.impute(chunks).reshape(X.shape)
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(filled[seen], X[seen])
    assert np.all(np.isfinite(filled[:, inside(model)]))


@pytest.mark.parametrize("case", CASES)
def test_sums_of_a_kind_are_those_of_rows_that_count_so_often(case):
    model, X = drawn_mixture(case)
    chunks = as_chunks(X, model.operator, batch_size=5)
    sums, share = chunks.sum(kind_sums, model.e_step()), model.probabilities(chunks)
    assert sums.log_likelihood == pytest.approx(model.score_samples(chunks).sum())
    assert sums.count == pytest.approx(len(X))
    for kind, found, r in zip(model.kinds, sums.each, share.T, strict=True):
        known = as_chunks(X, model.operator, r).sum(soft_sums, kind.e_step())
        for name in ("count", "energy", "observed", "mass", "rhs"):
            np.testing.assert_allclose(getattr(found, name), getattr(known, name), atol=1e-8)
        np.testing.assert_allclose(found.moments.nodes, known.moments.nodes, atol=1e-8)


def test_poses_are_those_of_the_most_likely_kind():
    model, X = drawn_mixture("circular")
    chunks, joint = as_chunks(X, model.operator), slow_joints(model, X)
    kind = model.encode(chunks).kind
    mine = joint[kind, np.arange(len(X))]
    share = np.exp(mine - logsumexp(mine, axis=1, keepdims=True))
    found = pose_summary(next(iter(chunks)), model.e_step(), 2)
    np.testing.assert_array_equal(found["index"][:, 0], share.argmax(axis=1))
    np.testing.assert_allclose(found["probability"][:, 0], share.max(axis=1), atol=1e-8)


def test_what_is_decoded_and_left_and_brought_back():
    model, X = drawn_mixture("circular")
    chunks = as_chunks(X, model.operator)
    codes = model.encode(chunks)
    rest = chunks.concat(mixture.rest_of_rows, model.e_step())
    np.testing.assert_allclose(X - rest, model.decode(codes), atol=1e-12)
    for row, back, t in zip(X, model.align(chunks), codes.index[:, 0], strict=True):
        np.testing.assert_allclose(model.operator.apply_at(back, np.array([t]))[0], row, atol=1e-9)


def test_the_largest_kind_comes_first():
    model, X = drawn_mixture("valid")
    turned = MixtureModel(model.kinds[::-1], model.log_weights[::-1]).canonical()
    np.testing.assert_array_equal(turned.log_weights, model.log_weights)
    chunks = as_chunks(X, model.operator)
    np.testing.assert_allclose(turned.score_samples(chunks), model.score_samples(chunks))


def test_samples_have_the_shares_of_their_kinds():
    model, _ = drawn_mixture("valid")
    rows, codes = model.sample(4000, np.random.RandomState(1))
    assert rows.shape == (4000, 9)
    np.testing.assert_allclose(np.bincount(codes.kind) / 4000, SHARES, atol=0.03)
    np.testing.assert_allclose(np.var(rows - model.decode(codes)), model.noise[0], rtol=0.05)
