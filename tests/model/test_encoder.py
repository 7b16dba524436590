"""Encoders: the codes of ``encode``, one sample after the other."""

from __future__ import annotations

import copy
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers import QUICK, noise

from gtpca import GTPCA, MixtureGTPCA, ProbabilisticGTPCA, Shift
from gtpca.model import row_coder
from gtpca.operators.poses import is_pose

CHANGES = {
    "positive": {"polarity_": "positive"},
    "centred": {"mean_": 0.3, "center_": True},
    "samples": {"center_": "samples"},
    "shared": {"shared_pose_": True},
}


def reference(model, X):
    """Codes of all rows at once."""
    return model.model_.encode(model._seen(model._new_rows(X)))


def clone_of(model):
    """The same model, which can be changed."""
    return copy.copy(model)


def check_same(model, X, rtol=1e-12):
    """One sample after the other, and all of them, give the codes of all rows at once."""
    encoder, codes = model.encoder(), reference(model, X)
    poses, large = model.poses(codes), np.linalg.norm(X.reshape(len(X), -1), axis=1).max()
    all_scores, all_poses = encoder(X)
    atol = 1e-4 if is_pose(codes.index) else 0.0  # searches between transforms end near a maximum
    rtol = max(rtol, 1e-8) if atol else rtol
    for i, x in enumerate(X):
        scores, pose = encoder(x)
        assert scores.shape == codes.scores[i].shape
        assert scores.dtype == codes.scores.dtype
        np.testing.assert_allclose(scores, codes.scores[i], rtol=0, atol=rtol * large)
        np.testing.assert_allclose(all_scores[i], scores, rtol=0, atol=rtol * large)
        assert list(pose) == list(poses)
        for name, values in poses.items():
            np.testing.assert_allclose(pose[name], values[i], rtol=0, atol=atol)
            np.testing.assert_allclose(all_poses[name][i], values[i], rtol=0, atol=atol)
    found = encoder.encode(X)
    np.testing.assert_allclose(found.index, codes.index, rtol=0, atol=atol)
    assert found.index.dtype == codes.index.dtype
    few = model.encode(X[: row_coder.FEW_ROWS])
    np.testing.assert_allclose(few.scores, codes.scores[: len(few)], rtol=0, atol=rtol * large)
    np.testing.assert_allclose(few.index, codes.index[: len(few)], rtol=0, atol=atol)


def test_the_codes_of_encode_for_every_family(family_and_shape):
    family, shape = family_and_shape
    X = noise(14, *shape, seed=3) + 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a family that hardly moves
        model = GTPCA(2, family, solver=QUICK, random_state=0).fit(X)
    check_same(model, X[:5])
    check_same(model, X[:4].astype(np.float32), 1e-5)
    check_same(clone_of(model).set_params(refine=2), X[:5])
    for changes in CHANGES.values():
        changed = clone_of(model)
        for name, value in changes.items():
            setattr(changed, name, np.full(shape, value) if name == "mean_" else value)
        check_same(changed, X[:5])


def test_long_windows_by_fft():
    for boundary, window in (("partial", 64), ("valid", 64), ("valid", 300), ("circular", 256)):
        X = noise(30, 256, seed=5)
        model = GTPCA(3, Shift(window, boundary=boundary), solver=QUICK, random_state=0).fit(X)
        assert model.operator_.by_fft
        check_same(model, X[:6])


def test_feature_weights_gaps_and_whitening():
    X = noise(40, 24, seed=6)
    weight = np.linspace(0.5, 2.0, 24)
    for how in ({"feature_weight": weight}, {"noise": "stationary"}, {"missing": "ignore"}):
        Y = X.copy()
        if "missing" in how:
            Y[::3, 4:9] = np.nan
        check_same(GTPCA(2, Shift(8), solver=QUICK, random_state=0, **how).fit(Y), X[:4])


def test_gaps_are_left_out_where_they_are_ignored():
    X = noise(40, 24, seed=7)
    X[::2, 3:8] = np.nan
    model = GTPCA(2, Shift(8), solver=QUICK, missing="ignore", random_state=0).fit(X)
    codes, encoder = reference(model, X[:4]), model.encoder()
    for i, x in enumerate(X[:4]):
        np.testing.assert_allclose(encoder(x)[0], codes.scores[i], atol=1e-12)
        np.testing.assert_allclose(encoder(np.ma.masked_invalid(x))[0], codes.scores[i], atol=1e-12)


def test_rows_of_any_size():
    X = noise(30, 24, seed=8)
    model = GTPCA(2, Shift(8), solver=QUICK, random_state=0).fit(X)
    encoder, (scores, _) = model.encoder(), model.encoder()(X[0])
    for exponent in (-600, -40, 40, 600):
        np.testing.assert_array_equal(
            encoder(np.ldexp(X[0], exponent))[0], np.ldexp(scores, exponent)
        )
    assert not encoder(np.zeros(24))[0].any()


@pytest.mark.parametrize("how", [{}, {"noise": "stationary"}, {"noise": "features"}], ids=str)
def test_densities_take_the_most_likely_pose(how):
    X = noise(50, 24, seed=9)
    model = ProbabilisticGTPCA(
        1, Shift(6), shrink=False, max_iter=5, tol=1e9, random_state=0, **how
    )
    check_same(model.fit(X), X[:4])
    scores, poses = model.encoder()(X[0].astype(np.float32))
    assert scores.dtype == np.float64
    assert poses["start"].shape == (1,)


def test_mixtures_tell_the_kind():
    X = noise(60, 24, seed=10)
    model = MixtureGTPCA(2, 1, Shift(6), shrink=False, max_iter=5, tol=1e9, random_state=0).fit(X)
    codes, found = model.encode(X[:5]), model.encoder().encode(X[:5])
    np.testing.assert_array_equal(found.kind, codes.kind)
    np.testing.assert_allclose(found.scores, codes.scores, atol=1e-12)
    np.testing.assert_array_equal(model.decode(found), model.decode(codes))


def test_it_is_a_snapshot_and_threads_share_it():
    X = noise(40, 64, seed=11)
    model = GTPCA(2, Shift(20), center=True, solver=QUICK, random_state=0).fit(X)
    encoder, codes = model.encoder(), reference(model, X)
    model.components_[:] *= -3
    model.mean_[:] = 7
    model.fit(noise(40, 64, seed=12))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(encoder, np.repeat(X, 5, axis=0)))
    scores = np.array([scores for scores, _ in found])[::5]
    np.testing.assert_allclose(scores, codes.scores, atol=1e-12)


def test_few_rows_follow_changes_of_the_model(tmp_path):
    X = noise(40, 64, seed=13)
    model = GTPCA(2, Shift(20), center=True, solver=QUICK, random_state=0).fit(X)
    before = model.transform(X[:1])
    model.components_[0] *= -1  # in place
    assert model.transform(X[:1])[0, 0] == pytest.approx(-before[0, 0])
    model.mean_ += 1.0
    np.testing.assert_allclose(model.transform(X[:1]), reference(model, X[:1]).scores)
    model.set_params(refine=3)
    np.testing.assert_allclose(model.transform(X[:1]), reference(model, X[:1]).scores)
    assert "_coders" not in model.fit_.__getstate__()


def test_one_line_says_what_is_wrong():
    X = noise(30, 24, seed=14)
    encoder = GTPCA(1, Shift(8), solver=QUICK, random_state=0).fit(X).encoder()
    assert repr(encoder) == "<Encoder of samples of shape (24,)>"
    wrong = X[0].copy()
    wrong[5] = np.nan
    cases = [
        (X[0, :20], r"x has shape \(20,\), but must be one sample, \(24,\)"),
        (X.reshape(-1, 12), r"x has shape \(60, 12\)"),
        (X[0].astype(int), "x is of int64, but must be float32 or float64"),
        (wrong, "x has 1 missing values .*column 5"),
        (np.where(np.isnan(wrong), np.inf, wrong), "x has 1 infinite values"),
        (X[0] + 1j, "x is of complex128"),
    ]
    for x, text in cases:
        with pytest.raises((TypeError, ValueError), match=text) as error:
            encoder(x)
        assert "\n" not in str(error.value)


def test_samples_of_several_axes_come_flat_or_not():
    X = noise(30, 12, 2, seed=15)
    model = GTPCA(1, Shift(5, axes=0), solver=QUICK, random_state=0).fit(X)
    encoder = model.encoder()
    for x in (X[0], X[0].ravel(), X[:1], X[:1].reshape(1, -1)):
        np.testing.assert_array_equal(np.ravel(encoder(x)[0]), encoder(X[0])[0])
    assert encoder(X[:3])[1]["start"].shape == (3, 1)
