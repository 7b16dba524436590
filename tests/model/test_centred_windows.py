"""Where a long window puts the part of a component that samples see."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gtpca import GTPCA, Shift
from gtpca.operators.normal import seen_by


def pieces(starts, size=40, seed=0):
    """Pieces of one smooth curve of 100 points, which begin at ``starts``."""
    rng = np.random.default_rng(seed)
    curve = np.convolve(rng.standard_normal(130), np.ones(31) / 31, "valid")
    return np.array([curve[start : start + size] for start in starts])


@pytest.mark.parametrize("options", [{}, {"shared_pose": True}, {"feature_weight": np.ones(40)}])
def test_the_part_that_is_seen_is_centred(options):
    """Starts from 20 to 44 of 0 to 60: 18 unseen places on either side."""
    X = pieces([20, 26, 29, 33, 38, 41, 44])
    model = GTPCA(1, Shift(100), random_state=0, **options).fit(X)
    starts = -model.poses(model.encode(X))["start"][:, 0]
    assert_array_equal(starts, [18, 24, 27, 31, 36, 39, 42])
    assert model.score(X) > 0.999


def test_new_samples_have_room_on_both_sides():
    """Eight points beyond all that was seen the pose is right; two of 40 points hardly matter."""
    model = GTPCA(1, Shift(100), random_state=0).fit(pieces(range(20, 45, 3)))
    codes = model.encode(pieces([46, 52]))
    assert_array_equal(-model.poses(codes)["start"][:, 0], [44, 50])
    assert np.all(model.score_samples(pieces([18, 46])) > 0.95)


@pytest.mark.parametrize(
    ("shape", "family"),
    [
        ((9, 7), Shift((12, 11))),
        ((9, 7), Shift((12, 11), step=2)),
        ((30,), Shift(50)),
    ],
)
def test_centring_moves_every_pose_alike(shape, family):
    operator = family.bind(shape)
    w = np.random.default_rng(0).standard_normal(operator.n_weights)
    bank = directions(operator, w)
    for used in ([0], [0, 1], [operator.n_transforms - 1]):
        moved = centred(operator, w, used)
        found = directions(operator, w if moved is None else moved)
        for t in used:
            assert np.any(np.all(np.isclose(found, bank[t]), axis=1))
    moved = centred(operator, w, np.arange(operator.n_transforms))
    assert_allclose(directions(operator, w if moved is None else moved), bank)


def directions(operator, w):
    """All ``T_t w`` with norm 1."""
    bank = operator.apply(w)
    return bank / np.linalg.norm(bank, axis=1, keepdims=True)


def centred(operator, w, used):
    weight = np.bincount(used, minlength=operator.n_transforms)
    return operator.centre(w, np.array(used), seen_by(operator, weight))


@pytest.mark.parametrize("family", [Shift(5), Shift(boundary="circular")])
def test_other_windows_stay(family):
    operator = family.bind((12,))
    assert centred(operator, np.ones(operator.n_weights), [0]) is None


def test_a_window_over_the_border_is_filled_and_stays():
    operator = Shift(12, boundary="partial", min_overlap=1 / 3).bind((12,))
    w = np.sin(np.arange(12) / 2)
    found = centred(operator, w, [0])
    seen = operator.apply(np.ones(12))[0].sum()
    assert seen == 4
    assert_allclose(found[-4:] / np.linalg.norm(found[-4:]), w[-4:] / np.linalg.norm(w[-4:]))
    assert np.any(found[:-4] != w[:-4])


def test_rows_of_no_weight_do_not_count():
    X = pieces([0, 20, 26, 29, 33, 38, 41, 44])
    weight = np.r_[0.0, np.ones(7)]
    model = GTPCA(1, Shift(100), random_state=0).fit(X, sample_weight=weight)
    alone = GTPCA(1, Shift(100), random_state=0).fit(X[1:])
    assert_allclose(model.components_, alone.components_, atol=1e-9)
