"""What is allowed but hardly meant is told before the work begins; families as text."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers import QUICK, noise
from sklearn.base import clone

from gtpca import GTPCA, Custom, Rotation, Scaling, Shift, load


class StopError(Exception):
    """Instead of the work."""


class NoWork:
    """A solver that refuses to begin."""

    def check(self):
        """Nothing to check."""

    def solve(self, *args, **options):
        raise StopError

    def __sklearn_clone__(self):
        return self


@pytest.mark.parametrize("family", [Shift(), Shift(12), "shift"], ids=str)
def test_a_window_that_cannot_move_is_told(series, family):
    with pytest.warns(UserWarning, match=r"Shift\(.*\(12,\).*nothing moves.*smaller window"):
        GTPCA(1, family).fit(series)


def test_other_families_that_cannot_move_are_told(series):
    with pytest.warns(UserWarning, match=r"Scaling.*nothing moves, as in ordinary PCA\.$"):
        GTPCA(1, Scaling([1.0])).fit(series)


@pytest.mark.parametrize("family", [None, "identity", Custom([np.eye(12)]), Shift(5)], ids=str)
def test_nothing_is_told_where_it_is_meant(series, family):
    with warnings.catch_warnings(action="error"):
        GTPCA(1, family, solver=QUICK, random_state=0).fit(series)


def test_more_components_than_rows_are_told_before_the_work():
    model = GTPCA(300, Shift(60), solver=NoWork())
    told = pytest.warns(UserWarning, match="n_components=300 is more than the 20 rows")
    with told, pytest.raises(StopError):
        model.fit(noise(20, 100))


def test_a_family_may_be_text(series, tmp_path):
    options = {"solver": QUICK, "random_state": 0}
    typed = GTPCA(2, "shift(window=5)", **options).fit(series)
    plain = GTPCA(2, Shift(window=5), **options).fit(series)
    np.testing.assert_array_equal(typed.transform(series), plain.transform(series))
    assert clone(typed).family == "shift(window=5)"
    typed.save(tmp_path / "a.gtpca")
    same = load(tmp_path / "a.gtpca")
    np.testing.assert_array_equal(same.transform(series), plain.transform(series))


def test_parameters_of_a_text_can_be_set(images):
    model = GTPCA(1, "rotation(4)", random_state=0).set_params(family__angles=8)
    assert repr(model.family) == repr(Rotation(8))
    assert model.fit(images).operator_.n_transforms == 8


def test_a_text_that_is_not_a_family(series):
    with pytest.raises(ValueError, match=r"'shfit' .*Did you mean shift"):
        GTPCA(1, "shfit(5)").fit(series)
    with pytest.raises(TypeError, match="family=5 is not a family"):
        GTPCA(1, 5).fit(series)
