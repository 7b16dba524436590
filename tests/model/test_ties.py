"""Transforms that tie up to rounding: the first wins, whatever rows stand beside a row."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import QUICK
from numpy.testing import assert_allclose, assert_array_equal

from gtpca import GTPCA, ProbabilisticGTPCA, Reflection, Rotation, Shift
from gtpca.data.chunks import Chunk
from gtpca.model.matching import make_block, match
from gtpca.model.ties import TIED, first_best

KINDS = {
    "one": {"n_components": 1},
    "two": {"n_components": 2},
    "refined": {"n_components": 2, "refine": 1},
    "one pose": {"n_components": 2, "shared_pose": True},
    "upright": {"n_components": 1, "polarity": "positive"},
}


def pairs(dtype, seed=0):
    """Samples (200, 2, 30): less their means, they are antisymmetric along the first axis."""
    return np.random.default_rng(seed).standard_normal((200, 2, 30)).astype(dtype)


def in_batches(model, X, size):
    codes = [model.encode(X[i : i + size]) for i in range(0, len(X), size)]
    return (np.concatenate([getattr(c, name) for c in codes]) for name in ("scores", "index"))


def check_alone(model, X):
    """Codes of rows by themselves, and a few at a time, are those of all rows together."""
    together = model.encode(X)
    for size in (1, 7):
        scores, index = in_batches(model, X, size)
        assert_array_equal(index, together.index)
        error = 1e-3 if together.scores.dtype == np.float32 else 1e-9
        assert_allclose(scores, together.scores, atol=error)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", KINDS)
def test_codes_do_not_depend_on_the_rows_beside(kind, dtype):
    X = pairs(dtype)
    how = KINDS[kind] | {"solver": QUICK, "random_state": 0}
    check_alone(GTPCA(family=Reflection(0), center="samples", **how).fit(X), X)


@pytest.mark.parametrize("shared", [False, True])
def test_nor_in_gaps(shared):
    X = pairs(np.float64)
    hidden = np.random.default_rng(1).random((200, 1, 30)) < 0.2
    X[np.broadcast_to(hidden, X.shape)] = np.nan
    how = {"missing": "ignore", "solver": QUICK, "random_state": 0, "shared_pose": shared}
    check_alone(GTPCA(2, Reflection(0), center="samples", **how).fit(X), X)


def test_nor_do_fits_depend_on_the_batch_size():
    X = pairs(np.float64)
    how = {"family": Reflection(0), "center": "samples", "solver": QUICK, "random_state": 0}
    small, large = (GTPCA(1, batch_size=size, **how).fit(X) for size in (9, 200))
    assert_allclose(small.components_, large.components_, atol=1e-9)


def test_nor_in_dask():
    array = pytest.importorskip("dask.array", reason='needs dask: pip install "gtpca[dask]"')
    X = pairs(np.float64)
    model = GTPCA(1, Reflection(0), center="samples", solver=QUICK, random_state=0).fit(X)
    lazy = model.encode(array.from_array(X, chunks=(7, 2, 30)))
    assert_array_equal(np.asarray(lazy.index), model.encode(X).index)


def test_the_layer_takes_the_same():
    torch = pytest.importorskip("torch", reason='needs torch: pip install "gtpca[torch]"')
    from gtpca.nn import GTPCLayer

    X = pairs(np.float64)
    X -= X.mean(axis=1, keepdims=True)
    model = GTPCA(1, Reflection(0), solver=QUICK, random_state=0).fit(X)
    layer = GTPCLayer(Reflection(0), sample_shape=(2, 30), dtype=torch.float64)
    layer.weight.data = torch.as_tensor(model.components_[0])
    codes = model.encode(X)
    for size in (1, 7, 200):
        parts = [layer(torch.as_tensor(X[i : i + size])) for i in range(0, 200, size)]
        assert_array_equal(torch.cat([part.index for part in parts]), codes.index[:, 0])


@pytest.mark.parametrize("em", ["soft", "hard"])
def test_nor_do_most_likely_poses(em):
    X = pairs(np.float64)
    X -= X.mean(axis=1, keepdims=True)
    model = ProbabilisticGTPCA(1, Reflection(0), em=em, tol=1e-3, shrink=False, random_state=0)
    model.fit(X)
    check_alone(model, X)
    first = [model.pose_posterior(X[i : i + 7]).index[:, 0] for i in range(0, 200, 7)]
    assert_array_equal(np.concatenate(first), model.encode(X).index[:, 0])


@pytest.mark.parametrize(
    ("family", "shape", "period"),
    [(Shift(boundary="circular"), (64,), 16), (Rotation(4), (9, 9), 2)],
    ids=str,
)
@pytest.mark.parametrize("K", [1, 3])
def test_of_equal_transforms_the_first_is_taken(family, shape, period, K):
    rng = np.random.default_rng(0)
    operator = family.bind(shape)
    W = rng.standard_normal((K, *shape))
    W = np.tile(W[:, :16], 4) if period == 16 else W + np.rot90(W, 2, axes=(1, 2))
    block = make_block(operator, np.linalg.qr(W.reshape(K, -1).T)[0].T)
    found = match(Chunk(rng.standard_normal((300, operator.n_features)), operator), block)
    assert found.index.max() < period
    assert len(np.unique(found.index)) == period


def test_what_differs_by_more_than_rounding_is_no_tie():
    eps = np.finfo(float).eps
    values = np.tile([1.0, 0.0, 1.0 + 2 * TIED * eps, 1.0], (3, 1))
    lengths = np.array([1.0, 3.0, 1.0])
    assert first_best(values, lambda rows: lengths[rows]).tolist() == [2, 0, 2]
    assert first_best(values**2, lambda rows: lengths[rows], power=2).tolist() == [2, 0, 2]
    assert first_best(values, None).tolist() == [2, 2, 2]
    below = np.array([[-2.0, -1.0, -1.0]])
    assert first_best(below, lambda rows: np.ones(1)).tolist() == [1]
