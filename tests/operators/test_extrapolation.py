"""Weights that no row has seen: a dense formula, patterns that go on, and fits to few rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import toeplitz
from sklearn.base import clone

from gtpca import ALS, GTPCA, Compose, Reflection, Scaling, Shift
from gtpca.data.chunks import as_chunks
from gtpca.model.conventions import conventional, match_poses
from gtpca.model.matching import make_block
from gtpca.operators.extrapolation import RIDGE, predict_unseen
from gtpca.operators.normal import seen_by
from gtpca.testing import assert_same_components


def dense(w, seen):
    """The conditional mean by matrices, for one axis."""
    known = np.where(seen, w, 0.0)
    lags = [known[: len(w) - lag] @ known[lag:] for lag in range(len(w))]
    C = toeplitz(lags) / seen.sum()
    among = C[np.ix_(seen, seen)] + RIDGE * C[0, 0] * np.eye(seen.sum())
    filled = w.copy()
    filled[~seen] = C[np.ix_(~seen, seen)] @ np.linalg.solve(among, w[seen])
    return filled


def smooth(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.convolve(rng.standard_normal(n + 8), np.hanning(11)[1:-1], "valid")


def test_the_prediction_is_that_of_the_formula():
    w, seen = smooth(60), np.ones(60, dtype=bool)
    seen[:7] = seen[51:] = False
    found = predict_unseen(w, seen, (0,))
    assert_allclose(found, dense(w, seen), atol=1e-9 * np.abs(w).max())
    assert_array_equal(found[seen], w[seen])


def test_what_was_there_before_has_no_say():
    w, seen = smooth(60), np.arange(60) < 50
    assert_array_equal(
        predict_unseen(w, seen, (0,)), predict_unseen(np.where(seen, w, 1e3), seen, (0,))
    )


def test_each_channel_is_filled_alone():
    w = np.stack([smooth(40), 1e-6 * smooth(40, seed=1)], axis=1)
    seen = np.repeat(np.arange(40) > 5, 2).reshape(40, 2)
    found = predict_unseen(w, seen, (0,))
    for channel in (0, 1):
        alone = predict_unseen(w[:, channel], seen[:, channel], (0,))
        assert_array_equal(found[:, channel], alone)
    assert_array_equal(predict_unseen(w.T, seen.T, (1,)), found.T)


def test_a_wave_goes_on_and_noise_does_not():
    x = np.arange(400)
    wave, noise = np.sin(x / 8), np.random.default_rng(0).standard_normal(400)
    seen = x < 380
    assert np.corrcoef(predict_unseen(wave, seen, (0,))[380:], wave[380:])[0, 1] > 0.95
    assert np.sum(predict_unseen(noise, seen, (0,))[380:] ** 2) < 0.25 * np.sum(noise[380:] ** 2)


def test_the_corner_of_an_image():
    i, j = np.indices((24, 24))
    image = np.cos(i / 4) * np.cos(j / 5)
    seen = (i < 20) | (j < 20)
    found = predict_unseen(image, seen, (0, 1))
    assert np.sum((found - image)[~seen] ** 2) < 0.3 * np.sum(image[~seen] ** 2)


def test_nothing_to_go_by():
    w = np.array([0.0, 0.0, 0.0, 5.0])
    assert_array_equal(predict_unseen(w, w == 0, (0,)), np.zeros(4))


def cropped(n, low, high, pattern=0, seed=0):
    """Pieces of 40 points of one smooth pattern of 80, that begin at ``low`` to ``high``."""
    rng = np.random.default_rng(seed)
    starts = rng.integers(low, high, size=n)
    scores = rng.uniform(1, 2, size=n)
    return np.array(
        [a * smooth(80, pattern)[s : s + 40] for a, s in zip(scores, starts, strict=True)]
    )


def test_new_samples_that_reach_further_are_rebuilt_better():
    """In the mean over patterns: a single one may go on in another way."""
    filled, empty = [], []
    for pattern in range(6):
        X, new = cropped(30, 8, 33, pattern), cropped(50, 3, 8, pattern, seed=1)
        model = GTPCA(1, Shift(80), random_state=0).fit(X)
        filled.append(model.resmse(new)[-1])
        seen = seen_in(model, X)
        assert not seen.all()
        model.components_ = np.where(seen, model.components_, 0.0)
        empty.append(model.resmse(new)[-1])
    assert np.mean(filled) < 0.75 * np.mean(empty)


SOLVER = ALS(n_init=3, max_iter=30)
WALKS = np.cumsum(np.random.default_rng(0).standard_normal((12, 20)), axis=1)
FITS = {
    "positive": (WALKS, Shift(40), {"polarity": "positive"}),
    "channels": (np.stack([WALKS, WALKS[::-1]], axis=2), Shift(40, axes=0), {}),
    "images": (WALKS.reshape(12, 4, 5), Shift((7, 8)), {}),
    "steps": (WALKS, Shift(40, step=3), {}),
    "over the border": (WALKS, Shift(15, boundary="partial"), {}),
    "shared": (WALKS, Shift(40), {"shared_pose": True}),
    "mirrored": (WALKS, Compose(Shift(40), Reflection()), {}),
    "mirrored before": (WALKS, Compose(Reflection(), Shift(40)), {}),
    "mirrored, shared": (WALKS, Compose(Shift(40), Reflection()), {"shared_pose": True}),
    "mirrored in steps": (WALKS, Compose(Shift(40, step=3), Reflection()), {}),
    "mirrored and masked": (
        WALKS,
        Compose(Shift(40), Reflection()),
        {"feature_weight": np.repeat([0.0, 1e-9], [5, 15])},
    ),
    "scaled": (WALKS, Compose(Shift(40), Scaling((0.8, 1, 1.2))), {}),
    "other axes": (WALKS.reshape(12, 10, 2), Compose(Shift(20, axes=0), Reflection(1)), {}),
    "masked": (WALKS, Shift(40), {"feature_weight": np.repeat([0.0, 1.0], [5, 15])}),
}


@pytest.mark.parametrize("name", FITS)
def test_what_a_fit_explains_is_what_its_codes_explain(name):
    """Rows may be nearer to what was predicted: they are matched after that."""
    X, family, options = FITS[name]
    model = GTPCA(3, family, solver=SOLVER, random_state=0, **options).fit(X)
    assert_allclose(1 - model.explained_energy_ratio_.sum(), model.resmse(X)[-1], atol=1e-12)
    norms = np.linalg.norm(model.components_.reshape(3, -1), axis=1)
    assert_allclose(norms, 1.0, rtol=1e-12)


@pytest.mark.parametrize("name", FITS)
def test_rounding_is_not_amplified(name):
    X, family, options = FITS[name]
    model = GTPCA(2, family, solver=SOLVER, random_state=0, **options)
    one, many = clone(model).fit(X), clone(model).set_params(batch_size=5).fit(X)
    assert_same_components(one, many, atol=1e-8)


def seen_in(model, X):
    """Which weights of the first component rows see."""
    used, operator = model.encode(X).index[:, 0], model.operator_
    weight = np.bincount(used, minlength=operator.n_transforms)
    return seen_by(operator, weight)


@pytest.mark.parametrize("random_state", range(3))
def test_features_of_weight_zero_show_nothing(random_state):
    X, weight = cropped(30, 8, 33), np.repeat([0.0, 1.0, 0.0], [8, 24, 8])
    options = {"feature_weight": weight, "random_state": random_state}
    model = GTPCA(1, Shift(80), **options).fit(X)
    (w,), seen = model.components_, seen_in(model, X)
    assert np.sum(~seen) > 30
    assert_allclose(w, predict_unseen(w, seen, (0,)), atol=1e-9)


IN_THE_MIDDLE = [Compose(Shift(80), Reflection()), Compose(Reflection(), Shift(80))]
SCALED = Compose(Shift(80), Scaling((0.9, 1, 1.1)))  # about the middle of the window: it stays


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("family", [*IN_THE_MIDDLE, SCALED], ids=str)
def test_windows_inside_compositions_are_centred_and_completed(family, both_ways):
    X = cropped(30, 8, 33)
    X[::2] = X[::2, ::-1] if both_ways and family is not SCALED else X[::2]
    model = GTPCA(1, family, random_state=0).fit(X)
    (w,), seen = model.components_, seen_in(model, X)
    assert not seen.all()
    assert_allclose(w, predict_unseen(w, seen, (0,)), atol=1e-9)
    assert model.score(X) > 0.999
    if family is not SCALED:
        before, after = (int(np.argmax(side)) for side in (seen, seen[::-1]))
        assert abs(before - after) <= 1


def test_a_row_without_a_first_score_counts_for_the_second():
    """Two components in one pose: what either of them has seen is not predicted."""
    operator = Shift(24).bind((8,))
    W = np.zeros((2, 24))
    W[0, 2:5], W[1, 18:21] = 1, 1
    rows = np.concatenate([operator.apply(W[0])[[14, 16]], operator.apply(W[1])[[0, 2]]])
    block, chunks = make_block(operator, W, np.float64), as_chunks(rows, operator)
    poses = chunks.sum(match_poses, block)
    found = conventional(operator, W, poses)
    assert np.all(np.isfinite(found))
    assert_allclose(np.linalg.norm(found, axis=1), 1.0)


def test_rows_of_weight_zero_and_rows_of_zeros_see_nothing():
    X = cropped(20, 8, 33)
    far = cropped(20, 0, 2, seed=1)
    model = GTPCA(1, Shift(80), random_state=0)
    alone = model.fit(X).components_
    weight = np.repeat([1.0, 0.0], 20)
    assert_allclose(
        model.fit(np.concatenate([X, far]), sample_weight=weight).components_, alone, atol=1e-6
    )
    zeros = np.concatenate([X, np.zeros_like(far)])
    assert_allclose(model.fit(zeros).components_, alone, atol=1e-6)
