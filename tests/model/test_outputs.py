"""What transform puts out: exact transforms, and poses in a person's units, with names."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import QUICK, noise

from gtpca import GTPCA, Codes, Compose, Custom, Reflection, Shift
from gtpca.model.model import Model
from gtpca.model.outputs import codes_of, side_by_side

ONE_FLIP = {"family": Compose(Shift(5), Reflection()), "solver": QUICK, "random_state": 0}


def test_float32_does_not_round_transforms():
    """There are odd numbers above 2^24, which float32 does not hold."""
    circular = Shift(boundary="circular")
    model = Model(Compose(circular, circular).bind((4100,)), np.zeros((1, 4100)))
    codes = Codes(np.ones((1, 1), np.float32), np.array([[2**24 + 1]]))
    put_out = side_by_side(model, "scores+poses", codes.scores, codes.index)
    assert put_out.dtype == np.float64
    assert codes_of(model, "scores+poses", put_out).index == 2**24 + 1


def test_few_transforms_keep_the_type_of_the_rows(series):
    model = GTPCA(2, output="scores+poses", **ONE_FLIP).fit(series.astype(np.float32))
    assert model.transform(series.astype(np.float32)).dtype == np.float32
    assert model.transform(series).dtype == np.float64


def test_poses_in_a_persons_units(series):
    model = GTPCA(2, output="scores+units", **ONE_FLIP).fit(series)
    codes = model.encode(series)
    poses = model.poses(codes)
    quantities = [f"gtpca{k}_{name}" for name in poses for k in range(2)]
    assert {"gtpca0_start", "gtpca1_flipped"} <= set(quantities)
    assert list(model.get_feature_names_out()) == ["gtpca0", "gtpca1", *quantities]
    table = model.transform(series)
    np.testing.assert_array_equal(table[:, :2], codes.scores)
    columns = dict(zip(model.get_feature_names_out(), table.T, strict=True))
    for k in range(2):
        np.testing.assert_array_equal(columns[f"gtpca{k}_start"], poses["start"][:, k])
        np.testing.assert_array_equal(columns[f"gtpca{k}_flipped"], poses["flipped"][:, k])
    with pytest.raises(ValueError, match=r"cannot be inverted.*'scores\+poses'"):
        model.inverse_transform(table)


def test_units_of_a_shared_pose_have_the_name_alone(series):
    model = GTPCA(2, Shift(5), shared_pose=True, output="scores+units", random_state=0).fit(series)
    assert list(model.get_feature_names_out())[:3] == ["gtpca0", "gtpca1", "start"]
    found = model.poses(model.encode(series))["start"][:, 0]
    np.testing.assert_array_equal(model.transform(series)[:, 2], found)


def test_units_in_a_data_frame(series):
    pytest.importorskip("pandas", reason="set_output(transform='pandas') needs pandas")
    model = GTPCA(1, output="scores+units", **ONE_FLIP).set_output(transform="pandas")
    frame = model.fit_transform(series)
    found = model.poses(model.encode(series))["start"][:, 0]
    np.testing.assert_array_equal(frame["gtpca0_start"], found)


class Named(Custom):
    """Transforms with names."""

    def bind(self, sample_shape):
        operator = super().bind(sample_shape)
        names = np.array(["as it is", "upside down"])
        operator.describe = lambda index: {"way": names[np.asarray(index)]}
        return operator


def test_poses_that_are_text_do_not_fit_an_array():
    X = noise(20, 6)
    model = GTPCA(1, Named([np.eye(6), np.eye(6)[::-1]]), output="scores+units").fit(X)
    with pytest.raises(ValueError, match=r"output='scores\+units'.*text"):
        model.transform(X)
    assert model.set_params(output="scores+poses").transform(X).shape == (20, 2)


def test_an_output_that_is_none_is_refused_after_the_fit(fitted, series):
    with pytest.raises(ValueError, match="output='poses' must be one of 'scores'"):
        fitted.set_params(output="poses").transform(series)
