"""Poses that are given: components in known places, solved together with the others."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_validate

import gtpca
from gtpca import GTPCA, Compose, Reflection, Rotation, Shift, Similarity, labelled

L, D, N = 30, 64, 60
U = np.arange(L)
STIMULUS = np.exp(-(((U - 9) / 2.5) ** 2)) - 1.2 * np.exp(-(((U - 16) / 4) ** 2))
RESPONSE = 1.5 * np.exp(-(((U - 14) / 6) ** 2)) - 0.7 * np.exp(-(((U - 22) / 3) ** 2))
LATE = np.exp(-(((U - 15) / 4) ** 2)) * np.sin(U)


def likeness(a, b):
    return abs(np.vdot(a, b)) / np.linalg.norm(a) / np.linalg.norm(b)


def trials(n=N, noise=0.2, seed=0):
    """A part that is always at 2, and one that overlaps it by the time of a response."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0, noise, (n, D))
    starts = np.c_[np.full(n, 2), rng.integers(6, 30, n)]
    scores = rng.normal(1, 0.2, (n, 2))
    for x, (s, r), (a, b) in zip(X, starts, scores, strict=True):
        x[s : s + L] += a * STIMULUS
        x[r : r + L] += b * RESPONSE
    return X, starts.astype(float)


@pytest.fixture(scope="module")
def data():
    return trials()


@pytest.fixture(scope="module")
def model(data):
    X, starts = data
    return GTPCA(2, Shift(L), random_state=0).fit(X, poses=starts)


def moved(w, start):
    return np.pad(w, (int(start), D - L - int(start)))


def test_overlapping_parts_come_apart(data, model):
    X, starts = data
    both = [likeness(*pair) for pair in zip(model.components_, (STIMULUS, RESPONSE), strict=True)]
    assert min(both) > 0.99
    alone = [GTPCA(1, Shift(L)).fit(X, poses=starts[:, [k]]) for k in range(2)]
    assert likeness(alone[0].components_[0], STIMULUS) < 0.9
    assert likeness(alone[1].components_[0], RESPONSE) < both[1]
    assert model.explained_energy_ratio_.sum() == pytest.approx(model.score(X, poses=starts))
    np.testing.assert_array_equal(model.poses(model.encode(X, starts))["start"], starts)


@pytest.mark.parametrize("how", ["complete", "gaps", "free", "positive", "template"])
def test_no_round_raises_the_loss(data, caplog, how):
    X, starts = data[0].copy(), data[1].copy()
    more = {"polarity": "positive"} if how == "positive" else {}
    if how == "gaps":
        X[np.random.default_rng(1).uniform(size=X.shape) < 0.2] = np.nan
        more = {"missing": "ignore"}
    if how == "free":
        starts[:20, 1] = np.nan
    if how == "template":
        more = {"templates": RESPONSE[::-1]}
        starts = starts[:, ::-1]
    with caplog.at_level(logging.DEBUG, logger="gtpca"):
        found = GTPCA(2, Shift(L), random_state=0, **more).fit(X, poses=starts)
    losses = np.array([r.args[1] for r in caplog.records if r.msg.startswith("round")])
    assert len(losses) > 2
    assert np.all(np.diff(losses) <= 1e-12 * losses[0])
    if how != "template":
        assert likeness(found.components_[0], STIMULUS) > 0.98
        assert likeness(found.components_[1], RESPONSE) > 0.98


@pytest.mark.parametrize("boundary", ["circular", "valid"])
def test_one_known_pose_is_pca_of_aligned_rows(boundary):
    """Closed form: scikit-learn's PCA of the rows that are moved back."""
    rng = np.random.default_rng(2)
    aligned = rng.normal(size=(40, 12)) @ rng.normal(size=(12, 12))
    aligned -= aligned.mean(axis=0)
    starts = rng.integers(0, 12 if boundary == "circular" else 9, 40)
    if boundary == "circular":
        X = np.array([np.roll(row, s) for row, s in zip(aligned, starts, strict=True)])
    else:
        X = rng.normal(size=(40, 20))
        for x, row, s in zip(X, aligned, starts, strict=True):
            x[s : s + 12] = row
    model = GTPCA(3, Shift(12, boundary=boundary), shared_pose=True).fit(X, poses=starts)
    pca = PCA(3, svd_solver="full").fit(aligned)
    signs = np.sign(np.sum(model.components_ * pca.components_, axis=1))
    np.testing.assert_allclose(signs[:, None] * model.components_, pca.components_, atol=1e-9)
    np.testing.assert_allclose(model.explained_energy_, 39 * pca.explained_variance_, rtol=1e-9)
    scores = signs * pca.transform(aligned)
    np.testing.assert_allclose(model.transform(X, poses=starts), scores, atol=1e-9)


def test_the_covariance_need_not_fit(monkeypatch):
    rng = np.random.default_rng(2)
    X, starts = rng.normal(size=(30, 20)) * 3.0 ** -np.arange(20), rng.integers(0, 20, 30)
    family = Shift(boundary="circular")
    exact = GTPCA(2, family, shared_pose=True).fit(X, poses=starts)
    monkeypatch.setattr("gtpca.fitting.given.DENSE_WEIGHTS", 4)
    other = GTPCA(2, family, shared_pose=True, random_state=0).fit(X, poses=starts)
    np.testing.assert_allclose(other.explained_energy_, exact.explained_energy_, rtol=1e-6)


def test_scores_are_least_squares(data, model):
    X, starts = data
    found = model.transform(X[:5], poses=starts[:5])
    for x, places, scores in zip(X, starts, found, strict=False):
        A = np.array([moved(w, s) for w, s in zip(model.components_, places, strict=True)]).T
        np.testing.assert_allclose(scores, np.linalg.lstsq(A, x)[0], atol=1e-9)


def test_every_form_of_the_same_poses(data, model):
    X, starts = data
    codes = model.encode(X, starts)
    forms = [
        codes.pose,
        model.poses(codes),
        {"centre": starts + (L - 1) / 2},
        starts + 0.4,  # the nearest transform
        starts.tolist(),
    ]
    for form in forms:
        np.testing.assert_array_equal(model.encode(X, form).scores, codes.scores)
    one = GTPCA(1, Shift(L)).fit(X, poses=starts[:, 1])
    same = GTPCA(1, Shift(L)).fit(X, poses=starts[:, [1]])
    np.testing.assert_array_equal(one.components_, same.components_)


def test_units_are_those_of_poses(data, model):
    X, starts = data
    seconds = labelled(X, rate=100, start=-0.1)
    same = GTPCA(2, Shift(L), random_state=0).fit(seconds, poses={"start": starts / 100 - 0.1})
    np.testing.assert_array_equal(same.components_, model.components_)


def test_a_third_component_is_searched_for():
    rng = np.random.default_rng(3)
    X, starts = trials(120, seed=3)
    places = rng.integers(0, D - L, 120)
    for x, s in zip(X, places, strict=True):
        x[s : s + L] += 2 * LATE
    model = GTPCA(3, Shift(L), random_state=0).fit(X, poses=starts)
    assert min(map(likeness, model.components_[:2], (STIMULUS, RESPONSE))) > 0.98
    found = model.components_[2]  # determined up to its place in the window
    assert np.abs(np.correlate(found, LATE, "full")).max() / np.linalg.norm(LATE) > 0.98
    starts_found = model.poses(model.encode(X, starts))["start"]
    np.testing.assert_array_equal(starts_found[:, :2], starts)
    lag = np.median(starts_found[:, 2] - places)
    assert np.mean(np.abs(starts_found[:, 2] - places - lag) <= 1) > 0.9


def test_rows_do_not_depend_on_others(data, model):
    X, starts = data[0][:8], data[1][:8].copy()
    starts[::2, 1] = np.nan
    alone = [model.transform(x[None], poses=s[None])[0] for x, s in zip(X, starts, strict=True)]
    np.testing.assert_allclose(model.transform(X, poses=starts), alone, atol=1e-10)


def test_weight_two_is_twice_the_row(data):
    X, starts = data
    weight = np.where(np.arange(N) < 20, 2.0, 1.0)
    twice = np.r_[X, X[:20]], np.r_[starts, starts[:20]]
    for shared in (False, True):
        used = [p[:, 1] if shared else p for p in (starts, twice[1])]
        make = GTPCA(2, Shift(L), shared_pose=shared, random_state=0)
        one = make.fit(X, sample_weight=weight, poses=used[0]).components_
        other = make.fit(twice[0], poses=used[1]).components_
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("residual", ["memory", "scratch", "recompute"])
def test_chunks_and_residuals_do_not_matter(data, model, residual):
    X, starts = data
    how = {"batch_size": 16, "residual": residual}
    other = GTPCA(2, Shift(L), random_state=0, **how).fit(X, poses=starts)
    np.testing.assert_allclose(other.components_, model.components_, atol=1e-8)
    found = other.transform(X, poses=starts)
    np.testing.assert_allclose(found, model.transform(X, poses=starts), atol=1e-8)


@pytest.mark.parametrize("residual", ["memory", "recompute"])
def test_dask(data, residual, monkeypatch):
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr("gtpca.fitting.fit.SETTLE_ROWS", 1)  # rows stay where they are
    monkeypatch.setattr("gtpca.fitting.given.MOST_ROUNDS", 2)
    monkeypatch.setattr("gtpca.fitting.given.WEIGHT_STEPS", 3)
    X, starts = data
    model = GTPCA(2, Shift(L), random_state=0).fit(X, poses=starts)
    lazy = da.from_array(X, chunks=(25, D))
    other = GTPCA(2, Shift(L), random_state=0, residual=residual).fit(lazy, poses=starts)
    np.testing.assert_allclose(other.components_, model.components_, atol=1e-8)
    found = model.transform(lazy, poses=starts).compute()
    np.testing.assert_allclose(found, model.transform(X, poses=starts), atol=1e-8)


def test_files_encode_the_same(data, model, tmp_path):
    X, starts = data
    model.save(tmp_path / "m.gtpca")
    again = gtpca.load(tmp_path / "m.gtpca")
    expected = model.transform(X, poses=starts)
    np.testing.assert_array_equal(again.transform(X, poses=starts), expected)


def test_scikit_learn_splits_them(data):
    X, starts = data
    with config_context(enable_metadata_routing=True):
        model = GTPCA(2, Shift(L)).set_fit_request(poses=True).set_score_request(poses=True)
        scores = cross_validate(model, X, cv=3, params={"poses": starts})["test_score"]
    expected = GTPCA(2, Shift(L)).fit(X[20:], poses=starts[20:]).score(X[:20], poses=starts[:20])
    assert scores[0] == pytest.approx(expected)
    both = GTPCA(2, Shift(L)).fit_transform(X, poses=starts)
    np.testing.assert_array_equal(
        both, GTPCA(2, Shift(L)).fit(X, poses=starts).transform(X, poses=starts)
    )


def test_noise_that_is_not_white():
    X, starts = trials(noise=0.0)
    rng = np.random.default_rng(5)
    slow = np.cumsum(rng.normal(size=(N, D + 50)), axis=1)[:, 50:]
    X = X + 0.5 * (slow - slow.mean(axis=1, keepdims=True)) + rng.normal(0, 0.1, X.shape)
    found = {}
    for noise in ("white", "stationary"):
        model = GTPCA(2, Shift(L), noise=noise, random_state=0).fit(X, poses=starts)
        found[noise] = [likeness(model.components_[0], STIMULUS)]
        found[noise].append(likeness(model.components_[1], RESPONSE))
        codes = model.encode(X, poses=starts)
        np.testing.assert_array_equal(model.poses(codes)["start"], starts)
    assert min(found["stationary"]) > 0.9 > max(found["white"])
    share = 1 - model.data_resmse_[-1]
    assert share > 0.9 * (1 - np.sum((X - model.decode(codes)) ** 2) / np.sum(X**2))


def test_templates_in_known_poses(data):
    X, starts = data
    given = [STIMULUS, RESPONSE]
    model = GTPCA(2, Shift(L), templates=given).fit(X, poses=starts)
    assert min(map(likeness, model.components_, given)) > 1 - 1e-12
    one = GTPCA(2, Shift(L), templates=given, shared_pose=True).fit(X, poses=starts[:, 1])
    assert one.explained_energy_.sum() < model.explained_energy_.sum()
    learned = GTPCA(2, Shift(L), templates=STIMULUS).fit(X, poses=starts)
    assert likeness(learned.components_[1], RESPONSE) > 0.99


@pytest.mark.parametrize("family", [Rotation(8, refine_poses=True), Similarity()])
def test_poses_between_the_nodes(family):
    rng = np.random.default_rng(4)
    image = rng.normal(size=(9, 9))
    known = GTPCA(1, family, templates=image).fit(rng.normal(size=(12, 9, 9)))
    codes = known.encode(rng.normal(size=(12, 9, 9)))
    X = known.decode(codes) + 1e-3 * rng.normal(size=(12, 9, 9))
    model = GTPCA(1, family).fit(X, poses=codes.pose)
    assert model.score(X, poses=known.poses(codes)) > 0.999
    np.testing.assert_allclose(model.encode(X, codes.pose).pose, codes.pose, atol=1e-12)


def test_what_is_given_is_not_moved(data):
    """Cropped windows keep the place that poses gave them, and cautions are about free poses."""
    X, _ = data
    family = Shift(90, boundary="valid")
    starts = np.full((N, 1), -10.0)
    model = GTPCA(1, family, random_state=0).fit(X, poses=starts)
    expected = np.linalg.svd(X)[2][0]
    assert likeness(model.components_[0][10 : 10 + D], expected) > 1 - 1e-6
    assert not [text for text in model.cautions_ if "pose" in text or "start" in text]


BOTH = Compose(Shift(L), Reflection(0))


@pytest.mark.parametrize(
    ("poses", "how", "message"),
    [
        (np.zeros((5, 2)), {}, r"shape \(5, 2\), .* each of the 60 samples and 1 to 2 columns"),
        (np.zeros((N, 3)), {}, "1 to 2 columns"),
        (np.zeros((N, 2)), {"shared_pose": True}, "1 to 1 columns"),
        (
            np.eye(N, 1) * 99,
            {},
            "of row 0, component 0, is 99, but the family reaches -0.5 to 34.5",
        ),
        (np.full((N, 1), np.inf), {}, "row 0, component 0, is inf"),
        ({"degrees": np.zeros((N, 1))}, {}, "quantities of the family: start, centre; got 'degr"),
        ({}, {}, "got none"),
        (["a"] * N, {}, "must be numbers"),
        (np.zeros((N, 1, 3)), {}, "2 parameters in their last axis: start, centre"),
        (np.zeros((N, 1)), {"family": BOTH}, "do not determine the transform; give .*flipped"),
        (
            {"start": np.zeros((N, 1)), "centre": np.full((N, 1), np.nan)},
            {},
            "NaN in the same places",
        ),
        (
            np.zeros((N, 1)),
            {"noise": "stationary", "feature_weight": np.arange(1.0, D + 1)},
            "cannot be combined with a feature_weight",
        ),
        (np.zeros((N, 1)), {"outliers": "rows"}, "outliers='rows'"),
        (np.zeros((N, 1)), {"n_components": 0.9}, "not the share n_components=0.9"),
    ],
)
def test_errors_say_what_would_work(data, poses, how, message):
    with pytest.raises(ValueError, match=message):
        GTPCA(**{"n_components": 2, "family": Shift(L), **how}).fit(data[0], poses=poses)


def test_nothing_known_is_a_fit_without_poses(data):
    X, starts = data
    free = GTPCA(1, Shift(L), random_state=0).fit(X, poses=np.full_like(starts[:, :1], np.nan))
    expected = GTPCA(1, Shift(L), random_state=0).fit(X)
    np.testing.assert_array_equal(free.components_, expected.components_)
    with pytest.raises(ValueError, match="in_data=True"):
        free.resmse(X, in_data=True, poses=starts[:, :1])
