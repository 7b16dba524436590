"""Reflections and custom families, written out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import by, in_pose, noise

from gtpca import GTPCA, Custom, Reflection
from gtpca.views.measures import as_seen
from gtpca.views.samples import component_view, sample_view


def test_reflection():
    assert by("flipped", Reflection(), [1, 2, 3], (3,)) == {0: [1, 2, 3], 1: [3, 2, 1]}
    w = np.arange(6).reshape(2, 3)
    family = Reflection((0, 1))
    for up in (False, True):
        for side in (False, True):
            expected = w[:: -1 if up else 1, :: -1 if side else 1]
            sample = in_pose(family, w, (2, 3), flipped_0=up, flipped_1=side)
            np.testing.assert_array_equal(sample, expected)
    assert by("flipped", Reflection(-1), w, (2, 3))[1] == w[:, ::-1].tolist()


def test_custom_pose_is_the_number_of_the_transform():
    flips = Custom([np.eye(3), np.eye(3)[::-1]])
    assert by("transform", flips, [1, 2, 3], (3,)) == {0: [1, 2, 3], 1: [3, 2, 1]}
    roll = Custom([lambda w: w, lambda w: np.roll(w, 1, axis=1)])
    w = np.arange(6).reshape(2, 3)
    assert by("transform", roll, w, (2, 3))[1] == np.roll(w, 1, axis=1).tolist()


def test_channels_of_a_list_of_transforms():
    """All axes of a ``Custom`` family move unless it is told: colours were three tiles."""
    turns = [lambda w: w, lambda w: np.rot90(w, axes=(0, 1))]
    assert Custom(turns).bind((4, 4, 3)).moved_axes == (0, 1, 2)
    X = noise(20, 4, 4, 3)
    model = GTPCA(1, Custom(turns, axes=(0, 1)), center="samples", random_state=0).fit(X)
    assert model.operator_.moved_axes == (0, 1)
    assert (sample_view(model).kind, component_view(model).kind) == ("colours", "colours")
    np.testing.assert_allclose(as_seen(model, X).mean(axis=(1, 2)), 0, atol=1e-12)
    with pytest.raises(ValueError, match=r"axes=3 does not fit samples with 3 axes"):
        Custom(turns, axes=3).bind((4, 4, 3))
