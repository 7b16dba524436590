"""One pose per sample: monotone, finds planted blocks, and is PCA of the data as if aligned."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import ALL_FAMILIES
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from gtpca import ALS, GTPCA, Compose, Identity, Reflection, Rotation, Shift
from gtpca.data.chunks import Chunk, as_chunks
from gtpca.datasets import fetch_mnist, random_embedding
from gtpca.model.matching import (
    make_block,
    match,
    orthonormal,
    statistics,
    update,
)
from gtpca.operators.normal import Moments
from gtpca.solvers.als import climb
from gtpca.solvers.base import Problem
from gtpca.testing import assert_same_components, make_planted


def planted_block(operator, n_samples=600, n_components=4, noise=0.1, seed=0):
    """Rows of a block in one random pose each; noise energy is a share of the signal energy."""
    rng = np.random.default_rng(seed)
    W = orthonormal(rng.standard_normal((n_components, operator.n_weights)))
    scores = rng.standard_normal((n_samples, n_components)) * np.linspace(4, 1.5, n_components)
    index = rng.integers(operator.n_transforms, size=n_samples)
    X = sum(c[:, None] * operator.apply_at(w, index) for c, w in zip(scores.T, W, strict=True))
    X += np.sqrt(noise * np.mean(X**2)) * rng.standard_normal(X.shape)
    return X, W, index


def explained_by(operator, X, W):
    return statistics(Chunk(X, operator), [make_block(operator, W)]).explained[0]


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_explained_energy_of_a_block_never_falls(bound, dtype, tolerance):
    X = sum(make_planted(bound, n_samples=80, noise=0.5, random_state=s)[0] for s in range(3))
    chunks = as_chunks(X.reshape(80, -1).astype(dtype), bound, batch_size=33)
    W = orthonormal(np.random.default_rng(0).standard_normal((3, bound.n_weights)))
    fast = np.array(climb(Problem(chunks), W, max_iter=15, tol=0.0).history)
    plain = []
    for _ in range(12):
        stats = chunks.sum(statistics, [make_block(bound, W, dtype)])
        plain.append(stats.explained[0])
        [W] = update(bound, stats, W[None])
    for history in (fast, np.array(plain)):
        assert np.all(np.diff(history) >= -tolerance * history[1:])


def test_match_of_a_block_is_the_best_projection(bound):
    """Against least squares on every transform."""
    X = make_planted(bound, n_samples=6, noise=1.0, random_state=2)[0].reshape(6, -1)
    W = np.random.default_rng(1).standard_normal((2, bound.n_weights))
    found = match(Chunk(X, bound), make_block(bound, W))
    banks = np.stack([bound.apply(w) for w in W], axis=-1)
    for x, index, coef, explained in zip(X, found.index, found.coef, found.explained, strict=True):
        fits = [bank @ np.linalg.lstsq(bank, x, rcond=1e-6)[0] for bank in banks]
        energies = [fit @ fit for fit in fits]
        assert np.isclose(explained, max(energies), rtol=1e-6)
        np.testing.assert_allclose(banks[index] @ coef, fits[index], atol=1e-6)


def test_block_equations_are_solved(bound):
    rng = np.random.default_rng(3)
    codes = rng.standard_normal((bound.n_transforms, 5, 2))
    weight = np.einsum("tij,tik->tjk", codes, codes)
    W, W0 = rng.standard_normal((2, 2, bound.n_weights))
    if bound.isometric:
        weight = weight.sum(axis=0, keepdims=True)
    normal = bound.normal(Moments(weight[None]))
    rhs = normal.times(W[None])
    again = normal.times(normal.solve(rhs, W0[None]))
    np.testing.assert_allclose(again, rhs, atol=1e-5 * np.abs(rhs).max())


PLANTED = {
    "circular": (Shift(boundary="circular"), (40,)),
    "placed": (Shift(16), (40,)),
    "placed-2d": (Shift((7, 7)), (14, 14)),
    "crop": (Shift(40), (24,)),
    "right-angles": (Rotation(4), (10, 10)),
    "rotation": (Rotation(16), (14, 14)),
    "shift-reflection": (Compose(Shift(14), Reflection()), (30,)),
}


PERIODS = {"start": None, "start_0": None, "start_1": None, "degrees": 360, "flipped": 2}


def right_poses(operator, truth, found, circular):
    """Share of poses that are right up to one common shift, turn and flip."""
    before, after = operator.describe(truth), operator.describe(found)
    gaps = []
    for name, period in PERIODS.items():
        if name in before:
            gap = np.asarray(after[name], dtype=float) - before[name]
            period = operator.n_features if circular else period
            gaps.append(gap if period is None else gap % period)
    _, counts = np.unique(np.array(gaps).round(6), axis=1, return_counts=True)
    return counts.max() / len(truth)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", list(PLANTED))
def test_planted_block_is_found(name, seed):
    family, shape = PLANTED[name]
    operator = family.bind(shape)
    X, W, index = planted_block(operator, seed=seed)
    model = GTPCA(4, family, sample_shape=shape, shared_pose=True, random_state=seed).fit(X)
    assert model.explained_energy_.sum() >= 0.99 * explained_by(operator, X, W)
    found = model.encode(X).index[:, 0]
    assert right_poses(operator, index, found, name == "circular") >= 0.95


def test_identity_is_pca():
    X = np.random.default_rng(0).standard_normal((100, 12)) * np.linspace(3, 1, 12)
    for family in (None, Identity(), Shift()):
        model = GTPCA(4, family, shared_pose=True).fit(X)
        _, s, Vt = linalg.svd(X, full_matrices=False)
        np.testing.assert_allclose(model.explained_energy_, s[:4] ** 2, rtol=1e-6)
        np.testing.assert_allclose(np.abs(np.sum(model.components_ * Vt[:4], axis=1)), 1)
        np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(X @ Vt[:4].T), atol=1e-8)


@pytest.mark.parametrize("polarity", ["both", "positive"])
@pytest.mark.parametrize("name", ["shift-placed", "shift-crop", "rotation", "compose-group"])
def test_one_component_is_the_ordinary_one(name, polarity):
    family, shape = ALL_FAMILIES[name]
    X = make_planted(family.bind(shape), n_samples=100, noise=0.1)[0]
    options = {"polarity": polarity, "random_state": 0, "solver": ALS(tol=0.0)}
    shared = GTPCA(1, family, shared_pose=True, **options).fit(X)
    ordinary = GTPCA(1, family, **options).fit(X)
    assert_same_components(shared, ordinary, atol=1e-6)
    np.testing.assert_allclose(shared.transform(X), ordinary.transform(X), atol=1e-5)


def test_every_method_keeps_its_meaning(family_and_shape):
    family, shape = family_and_shape
    X = planted_block(family.bind(shape), n_samples=60, n_components=3)[0]
    model = GTPCA(
        3, family, sample_shape=shape, shared_pose=True, output="scores+poses", random_state=0
    ).fit(X)
    codes = model.encode(X)
    assert codes.scores.shape == (60, 3)
    assert codes.index.shape == (60, 1)
    rebuilt = model.decode(codes)
    X = X.reshape(rebuilt.shape)
    judged = model.operator_.domain is None or model.operator_.domain.reshape(shape)
    residual = np.sum(judged * (X - rebuilt) ** 2) / np.sum(judged * X**2)
    np.testing.assert_allclose(residual, model.resmse(X)[-1], rtol=1e-6)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), rebuilt.reshape(60, -1))
    np.testing.assert_allclose(1 - np.cumsum(model.explained_energy_ratio_), model.resmse(X), 1e-6)
    assert np.all(np.diff(model.resmse(X)) <= 1e-12)
    assert model.align(X).shape == (60, *model.operator_.weight_shape)
    assert all(column.shape == (60, 1) for column in model.poses(codes).values())
    assert list(model.get_feature_names_out()) == ["gtpca0", "gtpca1", "gtpca2", "gtpca_index"]


@pytest.mark.parametrize("name", ["shift-placed", "shift-2d-circular", "rotation-right"])
def test_components_are_orthonormal_and_ordered_by_energy(name):
    family, shape = ALL_FAMILIES[name]
    X = planted_block(family.bind(shape), n_samples=200)[0]
    model = GTPCA(4, family, sample_shape=shape, shared_pose=True, random_state=0).fit(X)
    W = model.components_.reshape(4, -1)
    np.testing.assert_allclose(W @ W.T, np.eye(4), atol=1e-9)
    assert np.all(np.diff(model.explained_energy_) <= 0)
    scores = model.transform(X)
    np.testing.assert_allclose(np.sum(scores**2, axis=0), model.explained_energy_, rtol=1e-6)
    moments = scores.T @ scores
    assert np.abs(moments - np.diag(np.diag(moments))).max() < 1e-2 * moments.max()


@pytest.mark.parametrize("name", ["shift-circular", "rotation-right", "compose-group"])
def test_the_strongest_row_is_at_the_identity(name):
    family, shape = ALL_FAMILIES[name]
    operator = family.bind(shape)
    X = planted_block(operator, n_samples=100, n_components=2)[0]
    model = GTPCA(2, family, sample_shape=shape, shared_pose=True, random_state=0).fit(X)
    codes = model.encode(X)
    strongest = np.abs(codes.scores[:, 0]).argmax()
    assert codes.index[strongest, 0] == operator.reference
    W = model.components_.reshape(2, -1)
    assert np.all(W[[0, 1], np.abs(W).argmax(axis=1)] > 0)


@pytest.mark.parametrize("n_samples", [300, 5000])
def test_a_share_of_the_energy_decides_the_number(n_samples):
    operator = Shift(16).bind((40,))
    X = planted_block(operator, n_samples=n_samples, noise=0.02)[0]
    model = GTPCA(0.9, Shift(16), shared_pose=True, random_state=0).fit(X)
    ratio = np.cumsum(model.explained_energy_ratio_)
    assert ratio[-1] >= 0.9
    assert 1 < model.n_components_ <= 4
    assert ratio[-2] < 0.9


def test_a_share_that_cannot_be_reached_takes_all_there_is():
    X = np.random.default_rng(0).standard_normal((100, 12))
    model = GTPCA(0.95, Shift(8), shared_pose=True, random_state=0).fit(X)
    assert model.n_components_ == 8


@pytest.mark.parametrize(("count", "window"), [(10, 8), (14, 16)])
def test_more_components_than_a_pose_can_show_are_refused(count, window):
    X = np.random.default_rng(0).standard_normal((100, 12))
    with pytest.raises(ValueError, match=f"n_components={count}.*{min(window, 12)}"):
        GTPCA(count, Shift(window), shared_pose=True).fit(X)


def test_weight_two_is_a_row_given_twice():
    operator = Shift(boundary="circular").bind((10,))
    X = planted_block(operator, n_samples=30, n_components=2)[0]
    weight = np.random.default_rng(0).integers(0, 4, 30)
    options = {"shared_pose": True, "random_state": 0}
    weighted = GTPCA(2, Shift(boundary="circular"), **options).fit(X, sample_weight=weight)
    repeated = GTPCA(2, Shift(boundary="circular"), **options).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-6)


def test_feature_weight_changes_the_inner_product():
    operator = Shift(16).bind((40,))
    X = planted_block(operator)[0]
    q = np.random.default_rng(0).uniform(0.2, 2, 40)
    model = GTPCA(3, Shift(16), shared_pose=True, feature_weight=q, random_state=0).fit(X)
    residual = np.sum(q * (X - model.reconstruct(X)) ** 2) / np.sum(q * X**2)
    np.testing.assert_allclose(residual, model.resmse(X)[-1], rtol=1e-6)


def test_upright_only_is_refused_for_several_components():
    X = np.random.default_rng(0).standard_normal((20, 12))
    with pytest.raises(ValueError, match=r"polarity='positive'.*shared_pose"):
        GTPCA(2, Shift(5), shared_pose=True, polarity="positive").fit(X)


def test_shifted_digits_are_rebuilt_as_well_as_digits_that_never_moved(data_home):
    digits = fetch_mnist("train", data_home=data_home).data[:2000].astype(np.float32)
    moved, _ = random_embedding(digits, (36, 36), random_state=0)
    train, test = slice(0, 1000), slice(1000, None)
    model = GTPCA(8, Shift((28, 28)), shared_pose=True, random_state=0).fit(moved[train])
    still = GTPCA(8).fit(digits[train])
    assert model.resmse(moved[test])[-1] <= 1.03 * still.resmse(digits[test])[-1]


def test_components_explain_ever_less_where_norms_differ():
    operator = Shift(48).bind((24,))
    X = planted_block(operator, noise=0.05)[0]
    model = GTPCA(4, Shift(48), shared_pose=True, random_state=0).fit(X)
    assert np.all(np.diff(model.explained_energy_) <= 0)


def test_components_that_explain_nothing_are_dropped():
    operator = Shift(12).bind((30,))
    X = planted_block(operator, n_components=3, noise=0.0)[0]
    with pytest.warns(ConvergenceWarning, match="after 3 components"):
        model = GTPCA(8, Shift(12), shared_pose=True, random_state=0).fit(X)
    assert model.n_components_ == 3


@pytest.mark.parametrize("shared", [False, True])
def test_rows_without_weight_do_not_matter_in_large_data(shared):
    """Only 60 of 3,000 rows count: the subsamples must be drawn among them."""
    few = planted_block(Shift(8).bind((20,)), n_samples=60, n_components=2, noise=0.01)[0]
    X = np.concatenate([few, np.random.default_rng(0).standard_normal((2940, 20))])
    weight = np.r_[np.ones(60), np.zeros(2940)]
    options = {"shared_pose": shared, "random_state": 0}
    weighted = GTPCA(2, Shift(8), **options).fit(X, sample_weight=weight)
    alone = GTPCA(2, Shift(8), **options).fit(few)
    assert weighted.score(few) >= 0.99 * alone.score(few)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_components_of_nothing_are_out_of_reach(dtype):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((12, 1)) * rng.standard_normal(8)).astype(dtype)
    with pytest.warns(ConvergenceWarning, match="n_components=4 is out of reach"):
        model = GTPCA(4, Shift(4), shared_pose=True, random_state=0).fit(X)
    assert model.n_components_ == 1
    assert np.all(model.explained_energy_ > 0)


@pytest.mark.parametrize("seed", [22, 23, 29])
def test_energies_are_those_of_the_order_that_is_returned(seed):
    """Where what each explains depends on those before it, no order may be falling."""
    X = np.random.default_rng(seed).normal(size=(12, 10))
    quick = ALS(max_iter=8, n_init=2)
    model = GTPCA(2, Shift(16), shared_pose=True, random_state=0, solver=quick).fit(X)
    left = np.sum(X**2) * np.r_[1.0, model.resmse(X)]
    np.testing.assert_allclose(model.explained_energy_, -np.diff(left), rtol=1e-9)
