"""The library beside :mod:`oracle`, which shares no code with it, for every family."""

from __future__ import annotations

import definitions
import numpy as np
import oracle
import pytest
from helpers import noise

from gtpca import GTPCA
from gtpca.data.chunks import Chunk
from gtpca.fitting.fit import Fit
from gtpca.fitting.fitted import FittedComponents
from gtpca.model.matching import make_block, match, statistics, update
from gtpca.model.model import Model
from gtpca.parameters import bind_family
from gtpca.solvers.base import SolverResult

MODES = {
    "greedy": ({}, {}),
    "refined": ({"refine": 2}, {"sweeps": 2}),
    "shared": ({"shared_pose": True}, {"joint": True}),
    "positive": ({"polarity": "positive"}, {"upright": True}),
    "weighted": ({"feature_weight": True}, {}),
}
EXACT = 5000  # steps of conjugate gradients, for systems that are nearly singular


@pytest.fixture(scope="module")
def matrices():
    """The matrices of a family by definition, computed once."""
    known = {}

    def look_up(family, shape, taps="cubic"):
        key = id(family), taps
        if key not in known:
            known[key] = definitions.transforms(family, shape, taps)
        return known[key]

    return look_up


def orthonormal(W):
    return np.linalg.qr(W.T)[0].T


def as_fitted(family, shape, W, **options):
    """An estimator with the components ``W``, as if it had been fitted."""
    model = GTPCA(len(W), family, **options)
    operator = bind_family(family, shape, model.feature_weight)
    value = Model(operator, W, model.polarity, model.shared_pose)
    model.fit_ = FittedComponents.of(Fit(value, np.ones(len(W)), 2.0 * len(W), [SolverResult(W)]))
    return model


def test_transforms_are_those_of_the_definitions(family_and_shape, matrices):
    T, weight_shape = matrices(*family_and_shape)
    operator = family_and_shape[0].bind(family_and_shape[1])
    assert operator.weight_shape == tuple(weight_shape)
    assert np.allclose(operator.matrix().toarray(), T.reshape(-1, T.shape[2]), atol=1e-8)


def with_gaps(X, share=0.3, seed=5):
    """A copy in which some values, and all of one row, are missing."""
    X = np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)
    X[1] = np.nan
    return X


def judged(family, T):
    """Where samples are judged, bool (d,): where something is shown, if that is asked for."""
    outermost = family.parts[0] if hasattr(family, "parts") else family
    return T.any(axis=(0, 2)) | (outermost.domain == "all")


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.filterwarnings("ignore:1 of 7 rows of X hold no observed value")
def test_codes_and_all_that_follows(family_and_shape, matrices, mode, gaps):
    (family, shape), (options, how) = family_and_shape, MODES[mode]
    T, weight_shape = matrices(family, shape)
    linear = matrices(family, shape, "linear")[0]
    X, W = noise(7, T.shape[1]), orthonormal(noise(2, T.shape[2], seed=1))
    X = with_gaps(X) if gaps else X
    q = np.random.default_rng(2).uniform(0.5, 2, T.shape[1]) if mode == "weighted" else np.ones(1)
    if mode == "weighted":
        options = {"feature_weight": q.reshape(shape)}
    if gaps:
        options = options | {"missing": "ignore"}
    inside = judged(family, T)
    Y, S = np.where(inside, X * np.sqrt(q), 0), T * np.sqrt(q)[:, None]
    model, grid = as_fitted(family, shape, W, **options), X.reshape(-1, *shape)

    codes, (scores, index, _) = model.encode(grid), oracle.encode(Y, S, W, **how)
    assert np.array_equal(codes.index, index)
    assert np.allclose(codes.scores, scores, atol=1e-9)
    assert np.allclose(model.resmse(grid), oracle.resmse(Y, S, W, **how), atol=1e-9)
    lengths = np.linalg.norm(S[index] @ W[:, :, None], axis=(2, 3))
    plain = np.linalg.norm(T[index] @ W[:, :, None], axis=(2, 3))
    decoded = oracle.decode(scores * plain / lengths, index, T, W).reshape(grid.shape)
    assert np.allclose(model.decode(codes), decoded, atol=1e-9)
    imputed = np.where(np.isnan(grid) & inside.reshape(shape), decoded, grid)
    assert np.allclose(model.impute(grid), imputed, atol=1e-9, equal_nan=True)
    for k in range(index.shape[1]):
        aligned = oracle.align(X, index[:, k], T, linear).reshape(-1, *weight_shape)
        assert np.allclose(model.align(grid, component=k), aligned, atol=1e-9)


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize("mode", ["greedy", "positive", "shared"])
def test_one_pass(family_and_shape, matrices, mode, gaps):
    (family, shape), upright = family_and_shape, mode == "positive"
    T, _ = matrices(family, shape)
    X = with_gaps(noise(16, T.shape[1])) if gaps else noise(16, T.shape[1])
    W = orthonormal(noise(3 if mode == "shared" else 1, T.shape[2], seed=1))
    operator, polarity = family.bind(shape), "positive" if upright else "both"
    stats = statistics(Chunk(X, operator), [make_block(operator, W, polarity=polarity)])
    explained = np.sum((oracle.roots(X) * oracle.project(X, T, W, upright)[2]) ** 2)
    assert np.isclose(stats.explained, explained)
    [found] = update(operator, stats, W[None], EXACT)
    wanted = oracle.als_pass(X, T, W, upright)
    assert np.allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize("mode", ["greedy", "positive", "shared"])
@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_one_pass_with_a_ridge(cropping, matrices, mode, gaps, ridge):
    (family, shape), upright = cropping, mode == "positive"
    T, _ = matrices(family, shape)
    X = with_gaps(noise(150, T.shape[1])) if gaps else noise(150, T.shape[1])
    W = orthonormal(noise(3 if mode == "shared" else 1, T.shape[2], seed=1))
    operator, polarity = family.bind(shape), "positive" if upright else "both"
    block, chunk = make_block(operator, W, polarity=polarity, ridge=ridge), Chunk(X, operator)
    found, (Y, S) = match(chunk, block), oracle.with_ridge(X, T, ridge)
    index, coef, part = oracle.project(Y, S, W, upright)
    some = found.explained > 0  # of a row that nothing fits the pose means nothing
    assert np.array_equal(found.index[some], index[some])
    assert np.allclose(found.coef, coef, atol=1e-9)
    assert np.allclose(found.explained, np.sum((oracle.roots(Y) * part) ** 2, axis=1))
    [new] = update(operator, statistics(chunk, [block]), W[None], ridge=ridge)
    assert np.allclose(new, oracle.als_pass(Y, S, W, upright), atol=1e-5)
