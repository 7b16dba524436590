"""GTPCA as an estimator: codes, energies, scikit-learn's own checks."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import ALL_FAMILIES
from helpers import falling_scales
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from gtpca import (
    ALS,
    GTPCA,
    Compose,
    Custom,
    Reflection,
    Rotation,
    Scaling,
    Shift,
)
from gtpca.testing import assert_same_components, make_planted

MANY = Shift(boundary="circular")


@parametrize_with_checks(
    [
        GTPCA(),
        GTPCA(family=MANY),
        GTPCA(family=Shift(3, boundary="partial", min_overlap=0.3)),
        GTPCA(family=Compose(MANY, Reflection()), refine=2),
        GTPCA(family=MANY, shared_pose=True),
        GTPCA(family=MANY, polarity="positive", center="samples", output="scores+poses"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_feature_weight_is_the_inner_product():
    X, q = falling_scales(), np.random.default_rng(0).uniform(0.1, 2, 30)
    weighted, scaled = GTPCA(3, feature_weight=q).fit(X), GTPCA(3).fit(X * np.sqrt(q))
    np.testing.assert_allclose(weighted.explained_energy_, scaled.explained_energy_, rtol=1e-9)
    np.testing.assert_allclose(
        np.abs(weighted.transform(X)), np.abs(scaled.transform(X * np.sqrt(q)))
    )
    np.testing.assert_allclose(
        weighted.reconstruct(X) * np.sqrt(q), scaled.reconstruct(X * np.sqrt(q))
    )


def test_decoded_codes_explain_what_resmse_says(family_and_shape):
    family, shape = family_and_shape
    X = make_planted(family.bind(shape), n_samples=60, noise=1.0, random_state=5)[0]
    for refine in (0, 2):
        model = GTPCA(2, family, random_state=0, refine=refine).fit(X)
        codes = model.encode(X)
        judged = model.operator_.domain is None or model.operator_.domain.reshape(shape)
        residual = np.sum(judged * (X - model.decode(codes)) ** 2) / np.sum(judged * X**2)
        np.testing.assert_allclose(residual, model.resmse(X)[-1], rtol=1e-9)
        np.testing.assert_allclose(model.reconstruct(X), model.decode(codes))


def test_residual_and_explained_energy_add_up(family_and_shape):
    family, shape = family_and_shape
    X = make_planted(family.bind(shape), n_samples=60, noise=1.0, random_state=6)[0]
    model = GTPCA(1, family, random_state=0).fit(X)
    total = np.sum(X**2)
    residual = np.sum((X - model.reconstruct(X)) ** 2)
    explained = np.sum(model.transform(X) ** 2)
    assert abs(residual + explained - total) <= 1e-5 * total
    np.testing.assert_allclose(model.explained_energy_[0], explained, rtol=1e-9)


def test_explained_energy_is_what_the_training_rows_lose():
    X = make_planted(Shift(30).bind((16,)), n_samples=100, noise=1.0, random_state=0)[0]
    for refine in (0, 3):
        model = GTPCA(3, Shift(30), random_state=0, refine=refine).fit(X)
        assert model.explained_energy_ratio_.shape == (3,)
        if refine == 0:
            lost = 1 - np.cumsum(model.explained_energy_ratio_)
            np.testing.assert_allclose(lost, model.resmse(X), rtol=1e-9)


def test_refining_lowers_the_training_error_and_adds_up():
    rng = np.random.default_rng(0)
    operator = Shift(10).bind((40,))
    X = sum(make_planted(operator, n_samples=150, random_state=s)[0] for s in range(3))
    X += 0.1 * rng.standard_normal(X.shape)
    greedy = GTPCA(3, Shift(10), random_state=0).fit(X)
    refined = GTPCA(3, Shift(10), random_state=0, refine=5).fit(X)
    assert refined.explained_energy_ratio_.sum() > greedy.explained_energy_ratio_.sum() + 0.01
    assert refined.score(X) > greedy.score(X) + 0.01


def test_refined_resmse_sweeps_the_first_components_only():
    X = make_planted(Shift(10).bind((40,)), n_samples=50, noise=1.0, random_state=0)[0]
    model = GTPCA(3, Shift(10), random_state=0, refine=3).fit(X)
    alone = GTPCA(3, Shift(10), random_state=0, refine=3).fit(X)
    alone.components_ = model.components_[:2]
    np.testing.assert_allclose(model.resmse(X)[1], alone.resmse(X)[1])


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
@pytest.mark.parametrize("name", ["shift-placed", "shift-crop", "rotation", "identity"])
def test_chunks_do_not_change_the_result(name, batch_size):
    family, shape = ALL_FAMILIES[name]
    X = make_planted(family.bind(shape), n_samples=50, noise=0.5, random_state=0)[0]
    whole = GTPCA(2, family, random_state=0).fit(X)
    parts = GTPCA(2, family, random_state=0, batch_size=batch_size).fit(X)
    assert_same_components(whole, parts, atol=1e-8)
    np.testing.assert_allclose(whole.transform(X), parts.transform(X), atol=1e-8)


def test_a_family_that_cannot_reach_the_energy_stops():
    X = np.random.default_rng(0).standard_normal((50, 20))
    with pytest.warns(ConvergenceWarning, match=r"n_components=0.95.*out of reach"):
        model = GTPCA(0.95, Shift(3, max_shift=1), random_state=0).fit(X)
    assert model.n_components_ < 60
    assert model.score(X) > 0.2


def test_rare_rows_with_energy_are_found():
    X = np.zeros((6000, 20))
    X[:8] = np.random.default_rng(0).standard_normal((8, 20))
    assert GTPCA(2, Shift(5), random_state=0).fit(X).score(X) > 0.4


def test_difference_operators_have_starts():
    D = np.eye(10) - np.roll(np.eye(10), 1, axis=1)
    X = np.random.default_rng(0).standard_normal((50, 10))
    family = Custom([D, np.roll(D, 3, axis=0)])
    for n_init in (1, 4):
        assert GTPCA(1, family, solver=ALS(n_init=n_init), random_state=0).fit(X).score(X) > 0.15


def test_means_of_samples_do_not_see_what_has_no_weight():
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((40, 16)), np.r_[np.ones(12), np.zeros(4)]
    dirty = X.copy()
    dirty[:, 12:] = 1e4 * rng.standard_normal((40, 4))
    options = {"center": "samples", "feature_weight": weight, "random_state": 0}
    clean, other = (GTPCA(2, Shift(5), **options).fit(data) for data in (X, dirty))
    np.testing.assert_allclose(clean.transform(X), other.transform(dirty), atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"refine": 1}, {"shared_pose": True}], ids=str)
@pytest.mark.parametrize("family", [Shift(5), Shift(24), Scaling((0.8, 1, 1.25))], ids=str)
def test_a_feature_weight_of_ones_is_none(family, options):
    X = np.random.default_rng(0).standard_normal((40, 16))
    model = GTPCA(2, family, random_state=0, **options)
    plain = model.fit(X)
    components, scores = plain.components_, plain.transform(X)
    same = model.set_params(feature_weight=np.ones(16)).fit(X)
    assert np.array_equal(same.components_, components)
    assert np.array_equal(same.transform(X), scores)


@pytest.mark.parametrize("hidden", [False, True], ids=["complete", "gaps"])
def test_a_feature_weight_of_zero_hides_a_feature_from_all(hidden):
    """The same codes as where it is missing from all rows, but for the little that gaps count."""
    X = np.random.default_rng(0).standard_normal((40, 16))
    X[:, 13:] = 1e3 * X[:, 13:] if not hidden else np.nan
    weight = np.r_[np.ones(13), np.zeros(3)]
    model = GTPCA(2, Shift(5), feature_weight=weight, missing="ignore", random_state=0).fit(X)
    zero = np.where(weight > 0, X, 0.0)
    np.testing.assert_allclose(model.transform(zero), model.transform(X), atol=1e-9)


def test_feature_weight_of_a_composition_is_that_of_its_outer_part():
    X = np.random.default_rng(0).standard_normal((40, 12))
    q = np.random.default_rng(1).uniform(0.2, 2, 12)
    family = Compose(Shift(8), Scaling((0.8, 1, 1.25)))
    model = GTPCA(2, family, feature_weight=q, random_state=0).fit(X)
    w = model.components_[0]
    slow = np.sum(q * family.bind((12,)).apply(w) ** 2, axis=1)
    found = model.operator_.gram(w[None, None])[0, :, 0, 0]
    np.testing.assert_allclose(found, slow)
    residual = np.sum(q * (X - model.reconstruct(X)) ** 2) / np.sum(q * X**2)
    np.testing.assert_allclose(residual, model.resmse(X)[-1])


def test_centring_samples_of_a_composition_with_another_rank():
    X = np.random.default_rng(0).standard_normal((30, 10))
    A, B = np.eye(10, 16), np.eye(10, 16, 6)
    family = Compose(Custom([A, B], weight_shape=(4, 4)), Rotation(4))
    assert GTPCA(2, family, center="samples", random_state=0).fit(X).n_components_ == 2


def test_the_data_are_never_changed():
    X = make_planted(Rotation(4).bind((6, 6)), n_samples=30)[0]
    before = X.copy()
    GTPCA(2, Rotation(4), refine=1).fit(X).reconstruct(X)
    assert np.array_equal(X, before)


@pytest.mark.parametrize(
    ("family", "shape", "warned"),
    [
        (Shift(60), (3,), True),
        (Shift(7), (3,), True),
        (Shift(6), (3,), False),
        (Shift(60, axes=0), (8, 30), True),
        (Compose(Shift(20), Reflection()), (9,), True),
        (Shift((5, 5)), (4, 4), False),
    ],
)
def test_windows_of_more_than_twice_the_sample_are_told(family, shape, warned, recwarn):
    rng = np.random.default_rng(0)
    solver = ALS(n_init=1, max_iter=2)
    GTPCA(1, family, solver=solver, random_state=0).fit(rng.standard_normal((30, *shape)))
    told = [w for w in recwarn if "more than twice the" in str(w.message)]
    assert len(told) == warned
    if warned:
        assert f"of samples of shape {shape}" in str(told[0].message)
        assert told[0].filename == __file__
