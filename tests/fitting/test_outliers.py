"""Bad rows and bad values: what is set aside, and that every round lowers the loss."""

import numpy as np
import pytest

import gtpca
from gtpca import GTPCA, Identity, Shift
from gtpca.fitting.outliers import feature_medians, middle, row_weights, threshold

KINDS = ("rows", "values", "both")


def signals(seed=0, n=120):
    """Two patterns in noise, each at a place of its own; and the patterns."""
    rng = np.random.default_rng(seed)
    u = np.linspace(-1, 1, 12)
    W = np.array([np.exp(-6 * u**2), np.sin(4 * u)])
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    X = 0.25 * rng.standard_normal((n, 48))
    for row in X:
        for w, size in zip(W, (4, 2.5), strict=True):
            start = rng.integers(37)
            row[start : start + 12] += size * rng.uniform(0.5, 1.5) * w
    return X, W, rng


def spoilt(seed=0, rows=0.1, values=0.02):
    """The same with bad rows and values; where they are."""
    X, W, rng = signals(seed)
    bad = np.zeros(len(X), dtype=bool)
    bad[rng.permutation(len(X))[: round(rows * len(X))]] = True
    wrong = (rng.random(X.shape) < values) & ~bad[:, None]
    X[bad] = 4 * rng.standard_normal((bad.sum(), X.shape[1]))
    X[wrong] += rng.choice([-15, 15], wrong.sum())
    return X, W, bad, wrong


def likeness(w, v):
    return np.abs(np.correlate(w, v, mode="full")).max() / np.linalg.norm(w) / np.linalg.norm(v)


def fitted(X, outliers, **how):
    return GTPCA(2, Shift(12), outliers=outliers, random_state=0, **how).fit(X)


@pytest.mark.parametrize("outliers", KINDS)
@pytest.mark.parametrize("shared_pose", [False, True])
def test_no_round_raises_the_loss(outliers, shared_pose):
    X, _, _, _ = spoilt()
    X[3, :10] = np.nan
    model = fitted(X, outliers, shared_pose=shared_pose, missing="ignore")
    assert len(model.losses_) == len(model.n_iter_)
    for losses in model.losses_:
        assert len(losses) > 1
        assert np.all(np.diff(losses) <= 1e-9 * losses[0])


def test_the_loss_does_not_rise_under_a_ridge_and_a_feature_weight():
    X, _, _, _ = spoilt(1)
    weight = np.linspace(0.5, 2, X.shape[1])
    family = Shift(12, boundary="partial")
    model = GTPCA(2, family, outliers="both", ridge=0.05, feature_weight=weight, random_state=0)
    for losses in model.fit(X).losses_:
        assert np.all(np.diff(losses) <= 1e-9 * losses[0])


def test_patterns_are_found_beside_bad_rows_and_values():
    X, W, bad, wrong = spoilt()
    plain, robust = fitted(X, None), fitted(X, "both")
    assert min(likeness(w, robust.components_[k]) for k, w in enumerate(W)) > 0.97
    assert min(likeness(w, plain.components_[k]) for k, w in enumerate(W)) < 0.9
    assert robust.row_weight_[bad].max() < 0.1 < robust.row_weight_[~bad].min()
    assert robust.rejected_[wrong].mean() > 0.98
    assert robust.rejected_[~wrong & ~bad[:, None]].mean() < 0.02
    assert robust.explained_energy_ratio_.sum() > 0.85


def test_one_pose_beside_bad_rows():
    rng = np.random.default_rng(0)
    u = np.arange(32)
    W = np.array([np.sin(u / 5), np.cos(u / 2.5)])
    W = np.linalg.qr((W - W.mean(axis=1, keepdims=True)).T)[0].T
    scores = rng.standard_normal((100, 2)) * (4, 2)
    X = np.array([np.roll(z @ W, rng.integers(32)) for z in scores])
    X += 0.1 * rng.standard_normal(X.shape)
    X[:8] = 5 * rng.standard_normal((8, 32))
    model = GTPCA(2, Shift(boundary="circular"), shared_pose=True, outliers="rows", random_state=0)
    model.fit(X)
    assert model.row_weight_[:8].max() < 0.1
    assert 1 - model.resmse(X[8:])[-1] > 0.97


@pytest.mark.parametrize("outliers", KINDS)
def test_nothing_is_lost_without_artefacts(outliers):
    X, W, _ = signals(2)
    plain, robust = fitted(X, None), fitted(X, outliers)
    found = [[likeness(w, m.components_[k]) for k, w in enumerate(W)] for m in (plain, robust)]
    assert np.all(np.array(found[1]) > np.array(found[0]) - 0.003)
    assert [plain.row_weight_, plain.rejected_, plain.losses_] == [None, None, None]
    assert (robust.row_weight_ is None) == (outliers == "values")
    assert (robust.rejected_ is None) == (outliers == "rows")
    if outliers != "rows":
        assert robust.rejected_.shape == X.shape
        assert robust.rejected_.mean() < 0.01


def test_a_pattern_that_stands_out_is_no_artefact():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 40))
    for row in X:
        start = rng.integers(36)
        row[start : start + 5] += 25 * rng.uniform(0.5, 1.5) * np.array([0.2, 0.7, 1, -0.6, 0.1])
    plain, model = (GTPCA(1, Shift(5), outliers=o, random_state=0).fit(X) for o in (None, "both"))
    assert likeness(model.components_[0], plain.components_[0]) > 0.999
    assert model.rejected_.mean() < 0.01


def test_values_that_are_mostly_zero_are_no_noise():
    X = np.zeros((60, 30))
    for i, row in enumerate(X):
        row[i % 26 : i % 26 + 5] = (1 + i % 3) * np.array([1, 2, 3, 2, 1])
    model = GTPCA(1, Shift(5), outliers="both", random_state=0).fit(X)
    assert model.score(X) > 0.999
    assert not model.rejected_.any()


def test_principal_components_of_what_is_kept():
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((6, 6)))[0][:2]
    X = rng.standard_normal((200, 2)) * (3, 2) @ axes + 0.1 * rng.standard_normal((200, 6)) + 5
    X[:10] += 60 * rng.standard_normal((10, 6))
    model = GTPCA(2, Identity(), outliers="rows", center=True, random_state=0).fit(X)
    assert np.linalg.svd(model.components_ @ axes.T)[1].min() > 0.999
    assert np.abs(model.mean_ - 5).max() < 1


def test_weight_two_is_a_row_given_twice():
    X, _, _, _ = spoilt(3)
    weight = 1.0 + (np.arange(len(X)) % 4 == 0)
    first = fitted(X, "rows").fit(X, sample_weight=weight)
    twice = fitted(np.repeat(X, weight.astype(int), axis=0), "rows")
    assert (
        min(likeness(a, b) for a, b in zip(first.components_, twice.components_, strict=True))
        > 0.999
    )
    repeated = np.repeat(first.row_weight_, weight.astype(int))
    assert np.abs(repeated - twice.row_weight_).max() < 0.02


def test_a_share_of_the_energy_is_that_of_what_is_kept():
    X, _, _, _ = spoilt(4, values=0)
    model = GTPCA(0.8, Shift(12), outliers="rows", random_state=0).fit(X)
    assert model.n_components_ == 2
    with pytest.raises(ValueError, match="needs a number of components"):
        GTPCA(0.9, Shift(12), outliers="both", random_state=0).fit(X)


def test_a_file_keeps_what_was_set_aside(tmp_path):
    X, _, _, _ = spoilt()
    model = fitted(X, "both")
    model.save(tmp_path / "a.gtpca")
    same = gtpca.load(tmp_path / "a.gtpca")
    assert same.outliers == "both"
    assert np.array_equal(same.row_weight_, model.row_weight_)
    assert np.array_equal(same.rejected_, model.rejected_)
    assert np.array_equal(same.transform(X), model.transform(X))


def test_what_is_refused(tmp_path):
    X, _, _ = signals()
    with pytest.raises(ValueError, match="outliers='all' must be one of"):
        fitted(X, "all")
    with pytest.raises(ValueError, match="outliers='rows' needs noise='white'"):
        fitted(X, "rows", noise="stationary")
    with pytest.raises(ValueError, match="outliers='rows' needs all samples at once"):
        GTPCA(2, Shift(12), outliers="rows").partial_fit(X)
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="outliers='both' needs samples in memory"):
        fitted(np.load(tmp_path / "X.npy", mmap_mode="r"), "both")


def test_dask_is_refused_in_one_line():
    da = pytest.importorskip("dask.array")
    X, _, _ = signals()
    with pytest.raises(ValueError, match="needs samples in memory"):
        fitted(da.from_array(X, chunks=(40, 48)), "values")


def test_formulas():
    left = np.array([0.0, 1.0, 2.0, 200.0])
    assert np.allclose(row_weights(left, 1.0), [1, 0.8, 0.5, 1e-4], atol=1e-4)
    assert middle(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 5.0])) == 2.0
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((200, 50))
    assert threshold(noise, np.ones(200)) > np.abs(noise).max() * 0.99
    noise[:, 0] = 30
    assert 3 < threshold(noise, np.ones(200)) < 4.5
    assert threshold(np.full((2, 3), np.nan), np.ones(2)) == np.inf


def test_medians_heed_weights_and_gaps():
    from gtpca.data.chunks import as_chunks

    X = np.array([[1.0, np.nan], [2.0, 5.0], [9.0, 7.0], [3.0, np.nan]])
    operator = Identity().bind((2,))
    assert np.allclose(feature_medians(as_chunks(X, operator)), [2.0, 5.0])
    weight = np.array([0.0, 1.0, 3.0, 1.0])
    assert np.allclose(feature_medians(as_chunks(X, operator, weight)), [9.0, 7.0])
