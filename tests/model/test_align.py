"""Aligned samples: the part under the window, with the transform undone."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import GROUPS, QUICK

from gtpca import ALS, GTPCA, Compose, Custom, Reflection, Scaling, Shift


def planted(rng, operator, w, n=40):
    """Rows ``s_i T_{t_i} w`` with every transform in use, and their scores and transforms."""
    index = np.concatenate([np.arange(operator.n_transforms)] * (1 + n // operator.n_transforms))
    coef = rng.uniform(1, 2, len(index)) * rng.choice([-1, 1], len(index))
    X = coef[:, None] * operator.apply(w.ravel())[index]
    return X.reshape(-1, *operator.sample_shape), coef, index


def pattern(rng, shape):
    """Nothing symmetric about it, nothing faint at its ends, largest absolute entry positive."""
    w = rng.uniform(1, 2, shape) * rng.choice([-1, 1], shape)
    w.flat[w.size // 3] = 3
    return w


@pytest.mark.parametrize(
    ("family", "shape"),
    [
        (Shift(3), (8,)),
        (Shift(4), (9,)),
        (Shift(4, axes=0), (9, 2)),
        (Shift(3, axes=-1), (2, 8)),
        (Shift((3, 2)), (6, 5)),
        (Shift((2, 2)), (5, 5, 3)),
    ],
    ids=str,
)
def test_align_cuts_out_what_is_under_the_window(family, shape):
    rng = np.random.default_rng(0)
    operator = family.bind(shape)
    w = pattern(rng, operator.weight_shape)
    X, coef, index = planted(rng, operator, w)
    model = GTPCA(1, family, random_state=0).fit(X)
    np.testing.assert_array_equal(model.encode(X).index[:, 0], index)
    expected = coef.reshape(-1, *[1] * w.ndim) * w
    np.testing.assert_allclose(model.align(X), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("family", "shape"), [(Shift(8), (5,)), (Shift(9), (6,)), (Shift(8, axes=0), (5, 2))], ids=str
)
def test_align_puts_a_crop_where_it_belongs(family, shape):
    """Every position is in use, so the component is the pattern, neither shifted nor scaled."""
    rng = np.random.default_rng(0)
    operator = family.bind(shape)
    w = pattern(rng, operator.weight_shape)
    X, _, index = planted(rng, operator, w)
    model = GTPCA(1, family, solver=ALS(tol=0.0), random_state=0).fit(X)
    np.testing.assert_array_equal(model.encode(X).index[:, 0], index)
    found = model.components_[0] * np.sign(np.vdot(model.components_[0], w))
    np.testing.assert_allclose(found, w / np.linalg.norm(w), atol=1e-6)
    expected = np.zeros((len(X), *w.shape))
    for i, start in enumerate(operator.describe(index)["start"]):
        expected[i, -start : shape[0] - start] = X[i]
    np.testing.assert_allclose(model.align(X), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", GROUPS)
def test_align_undoes_a_group(name):
    """Every row becomes the same image: that of the row with the largest score, not moved."""
    family, shape = GROUPS[name]
    rng = np.random.default_rng(0)
    operator = family.bind(shape)
    X, coef, _ = planted(rng, operator, pattern(rng, shape))
    model = GTPCA(1, family, random_state=0).fit(X)
    strongest = np.abs(coef).argmax()
    expected = coef.reshape(-1, *[1] * len(shape)) * X[strongest] / coef[strongest]
    np.testing.assert_allclose(model.align(X), expected, rtol=0, atol=1e-9)


def test_align_by_hand():
    X = np.array([[0, 0, 1, 3, 2, 0, 0, 0], [0, 0, 0, 0, 0, 2, 6, 4], [1, 3, 2, 0, 0, 0, 0, 0]])
    model = GTPCA(1, Shift(3), random_state=0).fit(X)
    assert model.poses(model.encode(X))["start"].ravel().tolist() == [2, 5, 0]
    assert model.align(X).tolist() == [[1, 3, 2], [2, 6, 4], [1, 3, 2]]


def test_align_averages_what_a_weight_explains():
    """Scaled by 2 about position 2, the points read w1, (w1 + w2) / 2, w2, (w2 + w3) / 2, w3."""
    X = np.random.default_rng(0).standard_normal((6, 5))
    model = GTPCA(1, Scaling([2])).fit(X)
    zero = np.zeros(6)
    a, b, c, d, e = X.T
    expected = [zero, (a + b / 2) / 1.5, (b / 2 + c + d / 2) / 2, (d / 2 + e) / 1.5, zero]
    np.testing.assert_allclose(model.align(X), np.transpose(expected), rtol=0, atol=1e-12)


def test_align_undoes_a_change_of_sign():
    """A transform of one's own may be negative; the strongest row, -3 w, is at the identity."""
    w = np.array([1.0, 3.0, -2.0, 0.5])
    X = np.stack([w, -w, 2 * w, -3 * w])
    family = Custom([np.eye(4), -np.eye(4)])
    model = GTPCA(1, family, polarity="positive", random_state=0).fit(X)
    assert model.poses(model.encode(X))["transform"][:, 0].tolist() == [1, 0, 1, 0]
    expected = -np.array([1, 1, 2, 3])[:, None] * w
    np.testing.assert_allclose(model.align(X), expected, rtol=0, atol=1e-9)


def test_align_to_another_component():
    X = np.random.default_rng(0).standard_normal((30, 12))
    model = GTPCA(3, Shift(4), solver=QUICK, random_state=0).fit(X)
    for k in range(3):
        first = model.poses(model.encode(X))["start"][:, k]
        expected = [x[s : s + 4] for x, s in zip(X, first, strict=True)]
        np.testing.assert_array_equal(model.align(X, component=k), expected)


@pytest.mark.parametrize("inner", [None, Reflection()], ids=str)
def test_maps_whose_rows_cancel_bring_samples_back(inner):
    """``D 1 = 0``: samples were brought back as zeros."""
    D = np.eye(10) - np.roll(np.eye(10), 1, axis=1)
    family = Custom([D, np.roll(D, 3, axis=0)])
    X = np.random.default_rng(0).standard_normal((20, 10))
    model = GTPCA(1, family if inner is None else Compose(family, inner), random_state=0).fit(X)
    aligned, index = model.align(X), model.encode(X).index[:, 0]
    matrices = model.operator_.matrix().toarray().reshape(-1, 10, 10)
    wanted = [matrices[t].T @ x / 4 for t, x in zip(index, X, strict=True)]
    np.testing.assert_allclose(aligned, wanted, atol=1e-12)
    assert np.linalg.norm(aligned, axis=1).min() > 0.1


@pytest.mark.parametrize("powers", [[-40] * 4, [60] * 4, [-25, -9, -16, -20]])
def test_the_unit_of_maps_does_not_matter(powers):
    """Small ones brought samples back as zeros."""
    D = np.random.default_rng(0).standard_normal((4, 9, 6))
    X = np.random.default_rng(1).standard_normal((20, 9))
    here, there = (
        GTPCA(1, Custom(maps), random_state=0).fit(X)
        for maps in (D, [np.ldexp(d, p) for d, p in zip(D, powers, strict=True)])
    )
    index = here.encode(X).index
    assert len(np.unique(index)) > 1
    there.components_ = here.components_
    np.testing.assert_array_equal(there.encode(X).index, index)
    np.testing.assert_allclose(there.reconstruct(X), here.reconstruct(X), atol=1e-12)
    aligned = there.align(X) * 2.0 ** np.take(powers, index)
    np.testing.assert_allclose(aligned, here.align(X), rtol=1e-9)


def test_small_maps_must_be_linear_too():
    with pytest.raises(ValueError, match="not linear"):
        GTPCA(1, Custom([lambda w: 1e-12 * w**2])).fit(np.eye(5))
