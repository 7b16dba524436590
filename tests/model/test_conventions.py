"""Signs, norms and reference poses, pinned by hand-made examples."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from helpers import GROUPS, QUICK

import gtpca
from gtpca import GTPCA, Compose, Reflection, Shift, TimeWarp
from gtpca.testing import assert_same_components


@pytest.fixture
def small_fit(family_and_shape):
    family, shape = family_and_shape
    X = np.random.default_rng(0).standard_normal((40, *shape))
    return GTPCA(2, family, solver=QUICK, random_state=0).fit(X), X


def test_conventions_of_every_family(small_fit):
    model, X = small_fit
    assert model.components_.shape == (2, *model.operator_.weight_shape)
    flat = model.components_.reshape(2, -1)
    np.testing.assert_allclose(np.linalg.norm(flat, axis=1), 1, rtol=0, atol=1e-12)
    codes = model.encode(X)
    assert np.all(np.sum(codes.scores > 0, axis=0) >= 20), "sign"
    np.testing.assert_array_equal(model.transform(X), codes.scores)
    rebuilt = model.reconstruct(X)
    assert rebuilt.shape == X.shape
    np.testing.assert_array_equal(model.decode(codes), rebuilt)

    model.set_params(output="scores+poses")
    both = model.transform(X)
    np.testing.assert_array_equal(both, np.hstack([codes.scores, codes.index]))
    np.testing.assert_allclose(model.inverse_transform(both), rebuilt, rtol=0, atol=1e-12)

    model.set_params(output="scores")
    still = 0
    for w, s in zip(flat, codes.scores.T, strict=True):
        base = model.operator_.apply(w)[model.operator_.reference]
        still = still + s[:, None] * base / np.linalg.norm(base)
    np.testing.assert_allclose(
        model.inverse_transform(codes.scores).reshape(len(X), -1), still, rtol=0, atol=1e-9
    )


def test_inverse_transform_by_hand():
    X = np.zeros((6, 9))
    for i in range(6):
        X[i, i : i + 3] = (i + 1) * np.array([2.0, 3.0, 6.0])  # norm 7
    model = GTPCA(1, Shift(3), random_state=0).fit(X)
    Z = model.transform(X)
    np.testing.assert_allclose(Z[:, 0], 7.0 * np.arange(1, 7), atol=1e-9)
    back = model.inverse_transform(Z)
    expected = np.zeros((6, 9))
    expected[:, 3:6] = np.arange(1, 7)[:, None] * np.array([2, 3, 6])  # in the middle
    np.testing.assert_allclose(back, expected, atol=1e-9)
    np.testing.assert_allclose(model.reconstruct(X), X, atol=1e-9)


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_strongest_row_of_a_group_is_at_the_identity(name, dtype):
    family, shape = GROUPS[name]
    X = np.random.default_rng(0).standard_normal((50, *shape)).astype(dtype)
    model = GTPCA(3, family, solver=QUICK, random_state=0).fit(X)
    codes = model.encode(X)
    strongest = np.abs(codes.scores).argmax(axis=0)
    index = codes.index[strongest, range(3)]
    assert index.tolist() == [model.operator_.reference] * 3
    assert np.all(np.sum(codes.scores > 0, axis=0) >= 25)


WAYS = {
    "shift": {"family": Shift(9)},
    "crops": {"family": Shift(30)},
    "refine": {"family": Shift(9), "refine": 1},
    "one pose": {"family": Shift(9), "shared_pose": True},
    "PCA": {"family": None},
    "PCA in one pose": {"family": None, "shared_pose": True},
    "circular": {"family": Shift(boundary="circular")},
}


def dark(n=60):
    """A dip, deep in the middle, on most rows; a bump on some."""
    rng = np.random.default_rng(0)
    X = 0.05 * rng.standard_normal((n, 24))
    for i, x in enumerate(X):
        x[8:17] += (3.0 if i % 5 == 0 else -1.0) * np.hanning(11)[1:-1]
    return X


@pytest.mark.parametrize("way", WAYS)
def test_most_scores_are_positive(way):
    how = {"n_components": 2, "solver": QUICK, "random_state": 0} | WAYS[way]
    X = dark()
    model = GTPCA(**how).fit(X)
    scores = model.transform(X)
    assert np.all(np.sum(scores > 0, axis=0) >= np.sum(scores < 0, axis=0))
    assert np.mean(scores[:, 0] > 0) == pytest.approx(0.8)
    w = model.components_[0]
    assert w[np.abs(w).argmax()] < 0  # a dip, as nearly all rows have it
    weight = np.where(np.arange(60) % 5 == 0, 10.0, 1.0)  # now bumps are more
    heavy = GTPCA(**how).fit(X, sample_weight=weight)
    assert np.mean(heavy.transform(X)[:, 0] > 0) == pytest.approx(0.2)


def test_even_scores_leave_it_to_the_largest_weight():
    X = np.concatenate([dark(), -dark()])
    for how in ({"family": Shift(9)}, {"family": None}):
        w = GTPCA(1, solver=QUICK, random_state=0, **how).fit(X).components_[0]
        assert w[np.abs(w).argmax()] > 0


@pytest.mark.parametrize("shared_pose", [False, True])
def test_batches_do_not_turn_a_component(shared_pose):
    model = GTPCA(2, Shift(9), shared_pose=shared_pose, solver=QUICK, random_state=0)
    before = None
    for sign in (1, -1, -1, 1, -1):  # of most rows of a batch, then of most rows so far
        X = sign * dark(400)
        model.partial_fit(X)
        w = model.components_[0]
        assert before is None or w @ before > 0.9
        before = w


@pytest.mark.parametrize("how", [{}, {"shared_pose": True}, {"refine": 1}], ids=str)
def test_features_without_weight_leave_the_norm(how):
    """Warps hold the ends: if these alone count, all transforms look alike."""
    weight = np.array([1.0, 0, 0, 0, 0, 0, 0, 1])
    X = np.random.default_rng(0).standard_normal((30, 8))
    model = GTPCA(2, TimeWarp(), feature_weight=weight, random_state=0, **how).fit(X)
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1, atol=1e-12)


def test_files_keep_their_signs(tmp_path):
    model = GTPCA(1, Shift(9), solver=QUICK, random_state=0).fit(dark())
    model.components_ = -model.components_
    model.save(tmp_path / "m.gtpca")
    loaded = gtpca.load(tmp_path / "m.gtpca")
    np.testing.assert_array_equal(loaded.components_, model.components_)


@pytest.mark.parametrize("shared_pose", [False, True])
@pytest.mark.parametrize("random_state", range(3))
def test_strongest_row_is_not_flipped_under_a_window(random_state, shared_pose):
    """Which of two mirror images is found is chance: either explains as much."""
    X = np.random.default_rng(0).standard_normal((50, 20))
    family = Compose(Shift(9), Reflection())
    options = {"shared_pose": shared_pose, "solver": QUICK, "random_state": random_state}
    model = GTPCA(2, family, **options).fit(X)
    codes = model.encode(X)
    strongest = np.abs(codes.scores[:, 0]).argmax()
    assert model.poses(codes)["flipped"][strongest, 0] == 0
    assert model.resmse(X)[-1] == pytest.approx(1 - model.explained_energy_ratio_.sum(), abs=1e-9)


def test_strongest_row_is_at_the_identity_after_refinement():
    X = np.random.default_rng(0).standard_normal((50, 10))
    family = Shift(boundary="circular")
    model = GTPCA(2, family, refine=2, solver=QUICK, random_state=0).fit(X)
    codes = model.encode(X)
    strongest = np.abs(codes.scores).argmax(axis=0)
    assert codes.index[strongest, range(2)].tolist() == [0, 0]


def test_strongest_row_counts_only_with_weight():
    X = np.random.default_rng(0).standard_normal((50, 10))
    X[0] *= 10
    weight = np.where(np.arange(50) == 0, 0.0, 1.0)
    family = Shift(boundary="circular")
    weighed = GTPCA(1, family, solver=QUICK, random_state=0).fit(X, sample_weight=weight)
    removed = GTPCA(1, family, solver=QUICK, random_state=0).fit(X[1:])
    np.testing.assert_allclose(weighed.components_, removed.components_, rtol=0, atol=1e-9)


def test_same_components_up_to_sign_and_pose():
    X = np.random.default_rng(0).standard_normal((60, 12))
    family = Shift(boundary="circular")
    first = GTPCA(1, family, random_state=0).fit(X)
    second = pickle.loads(pickle.dumps(first))
    second.components_ = -np.roll(first.components_, 5, axis=1)
    assert_same_components(first, second)
    second.components_ = first.components_[:, ::-1]
    with pytest.raises(AssertionError, match="component 1"):
        assert_same_components(first, second)
    flipped = GTPCA(1, Compose(Shift(5), Reflection()), random_state=0).fit(X)
    third = pickle.loads(pickle.dumps(flipped))
    third.components_ = -flipped.components_[:, ::-1]
    assert_same_components(flipped, third)
    placed = GTPCA(1, Shift(5), random_state=0).fit(X)
    other = pickle.loads(pickle.dumps(placed))
    other.components_ = np.roll(placed.components_, 1, axis=1)  # no pose of a window
    with pytest.raises(AssertionError, match="component 1"):
        assert_same_components(placed, other)
