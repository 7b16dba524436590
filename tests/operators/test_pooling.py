"""Grids with half as many points."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca import Compose, Custom, Reflection, Rotation, Shift, TimeWarp
from gtpca.operators.pooling import pooled_shape, pooling
from gtpca.testing import check_operator


@pytest.mark.parametrize(("shape", "axes"), [((8,), (0,)), ((7, 3), (0,)), ((5, 6, 2), (0, 1))])
def test_pairs_are_added_and_their_energy_is_kept(shape, axes):
    P = pooling(shape, axes).toarray()
    np.testing.assert_allclose(P @ P.T, np.eye(len(P)), atol=1e-12)
    assert len(P) == np.prod(pooled_shape(shape, axes))


def test_pooling_of_a_series_by_hand():
    pooled = pooling((5,), (0,)) @ np.array([1.0, 3.0, 2.0, 2.0, 7.0])
    np.testing.assert_allclose(pooled, [4 / np.sqrt(2), 4 / np.sqrt(2), 7.0])


@pytest.mark.parametrize("family", [Rotation(6), Reflection(0), TimeWarp((-0.4, 0, 0.4), axes=0)])
def test_a_coarser_bank_is_that_of_pooled_weights_and_samples(family):
    operator = family.bind((12, 12))
    coarse, P = operator.coarser((0, 1)), pooling((12, 12), (0, 1)).toarray()
    w = np.random.default_rng(0).standard_normal(36)
    np.testing.assert_allclose(coarse.apply(w), operator.apply(P.T @ w) @ P.T, atol=1e-12)
    check_operator(coarse)


@pytest.mark.parametrize(
    "family",
    [
        Shift(8),
        Shift(32),
        Shift(8, boundary="partial"),
        Shift(24, boundary="circular"),
        Shift(7),
        Shift(8, step=3),
        Shift(8, max_shift=5),
    ],
)
def test_coarser_shifts_stay_what_they_are(family):
    operator = family.bind((24,))
    coarse = operator.coarser((0,))
    assert coarse.isometric == operator.isometric
    assert coarse.sample_shape == (12,)
    check_operator(coarse)


def test_a_coarser_shift_is_every_second_one():
    operator = Shift(8).bind((24,))
    coarse = operator.coarser((0,))
    few, many = pooling((8,), (0,)).toarray(), pooling((24,), (0,)).toarray()
    w = np.random.default_rng(0).standard_normal(4)
    np.testing.assert_allclose(coarse.apply(w), operator.apply(few.T @ w)[::2] @ many.T, atol=1e-12)


def test_compositions_are_coarser_if_their_parts_are():
    both = Compose(Shift((8, 8)), Rotation(4)).bind((16, 16))
    assert both.coarser((0, 1)).weight_shape == (4, 4)
    strange = Compose(Shift(8), Custom([np.eye(8), np.eye(8)[::-1]])).bind((16,))
    assert strange.coarser((0,)) is None
