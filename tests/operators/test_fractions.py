"""Shifts between samples: the formula by hand, descriptions, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca import Shift, load
from gtpca.families.text import as_family
from gtpca.operators import ShiftOperator
from gtpca.operators.fractions import FractionalShiftOperator, keys_taps
from gtpca.testing import check_operator

HALF = np.array([-1, 9, 9, -1]) / 16  # Keys' taps half-way between samples


def test_taps_by_hand():
    np.testing.assert_allclose(keys_taps(np.array([0.0, 0.5])), [[0, 1, 0, 0], HALF])
    h = keys_taps(np.linspace(0, 1, 7))
    np.testing.assert_allclose(h.sum(axis=1), 1)
    np.testing.assert_allclose(h[::-1], h[:, ::-1], atol=1e-15)


def test_half_a_sample_by_hand():
    operator = Shift(4, fractions=2).bind((8,))
    assert isinstance(operator, FractionalShiftOperator)
    w = np.array([1.0, 2.0, -1.0, 3.0])
    moved = operator.apply(w)
    np.testing.assert_allclose(moved[2], [0, *w, 0, 0, 0])  # start 1
    np.testing.assert_allclose(moved[3], [*np.convolve(w, HALF), 0])  # start 1.5, from 0 to 6
    np.testing.assert_allclose(moved[1], [*np.convolve(w, HALF)[1:], 0, 0])  # cut


def test_a_circle_has_no_ends():
    operator = Shift(boundary="circular", fractions=4).bind((12,))
    w = np.random.default_rng(0).standard_normal(12)
    moved = operator.apply(w)
    np.testing.assert_allclose(moved[4 * 5 + 1], np.roll(moved[1], 5))
    np.testing.assert_allclose(np.linalg.norm(moved[1::4], axis=1), np.linalg.norm(moved[1]))
    assert operator.describe(47)["start"] == pytest.approx(11.75)


def test_whole_samples_are_as_before():
    assert type(Shift(8, fractions=1).bind((20,))) is ShiftOperator
    whole, fine = Shift(8).bind((20,)), Shift(8, fractions=4).bind((20,))
    w = np.random.default_rng(0).standard_normal(8)
    np.testing.assert_allclose(fine.apply(w)[::4], whole.apply(w), atol=1e-15)
    assert fine.n_transforms == 4 * 12 + 1
    assert fine.describe(fine.reference)["start"] == whole.describe(whole.reference)["start"]


def test_smooth_windows_keep_their_length():
    """|T_f w| within .995 of |w|, for a trough three samples wide."""
    operator = Shift(36, fractions=8).bind((64,))
    w = np.exp(-0.5 * ((np.arange(36) - 18) / 1.27) ** 2)
    norms = operator._norms(w)[8:-8] / np.linalg.norm(w)
    assert norms.min() > 0.99
    assert norms.max() <= 1 + 1e-12


@pytest.mark.parametrize(
    ("family", "shape", "message"),
    [
        (Shift(8, fractions=0), (20,), "fractions=0"),
        (Shift(8, fractions=2.5), (20,), "fractions=2.5"),
        (Shift(8, fractions=2, step=3), (20,), "needs step=1, but step=3"),
        (Shift(boundary="circular", fractions=2), (6,), "at least 7 points"),
    ],
)
def test_what_is_refused(family, shape, message):
    with pytest.raises((ValueError, TypeError), match=message):
        family.bind(shape)


def test_as_text():
    family = as_family("shift(36, fractions=8)")
    assert (family.window, family.fractions) == (36, 8)
    assert Shift(36, fractions=8).size((64,)).n_transforms == family.bind((64,)).n_transforms


@pytest.mark.parametrize(
    ("family", "shape"),
    [
        (Shift(7, boundary="circular", fractions=3, max_shift=3), (20,)),
        (Shift(19, boundary="circular", fractions=2), (20,)),
        (Shift(30, boundary="partial", min_overlap=0.7, fractions=2), (16,)),
        (Shift((4, 4), fractions=2), (6, 6, 2)),
        (Shift(boundary="circular", axes=(0, 1), fractions=2), (7, 8)),
        (Shift((9, 4), fractions=2), (7, 6)),
    ],
    ids=["limited-circle", "wide-circle", "partial-crop", "colours", "torus", "mixed"],
)
def test_boundaries(family, shape):
    check_operator(family.bind(shape))


def test_model_files(tmp_path):
    from gtpca import ALS, GTPCA

    X = np.random.default_rng(0).standard_normal((30, 16))
    model = GTPCA(2, Shift(6, fractions=4), solver=ALS(n_init=2), random_state=0).fit(X)
    model.save(tmp_path / "model.gtpca")
    again = load(tmp_path / "model.gtpca")
    assert again.family.fractions == 4
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_layer():
    torch = pytest.importorskip("torch")
    nn = pytest.importorskip("gtpca.nn")
    operator = Shift(6, fractions=4).bind((12,))
    layer = nn.GTPCLayer(Shift(6, fractions=4), (12,), random_state=0, dtype=torch.float64)
    w = layer.weight.detach().numpy().copy()
    X = operator.apply(w) * np.linspace(1, 2, operator.n_transforms)[:, None]
    found = layer(torch.as_tensor(X))
    np.testing.assert_array_equal(found.index, np.arange(operator.n_transforms))
    np.testing.assert_allclose(found.projection.detach().numpy(), X, atol=1e-12)
