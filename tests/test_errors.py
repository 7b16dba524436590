"""Bad input gets an error that names the parameter, the value and what would work.

The expected messages are not read off the library: the name of the parameter and the offending
value, as ``repr`` shows it, have to occur in them.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import BAD, QUICK, needs_callbacks, poisoned
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from gtpca import ALS, GTPCA, Identity, Shift

# --- before fit and after fit with something else ---


def test_before_fit(series, fitted):
    codes, fresh = fitted.encode(series), GTPCA()
    methods = "transform encode reconstruct align resmse score score_samples inverse_transform"
    for name in methods.split():
        with pytest.raises(NotFittedError, match=r"GTPCA.*fit"):
            getattr(fresh, name)(series)
    for name in ("decode", "poses"):
        with pytest.raises(NotFittedError, match=r"GTPCA.*fit"):
            getattr(fresh, name)(codes)
    with pytest.raises(NotFittedError, match=r"GTPCA.*fit"):
        fresh.get_feature_names_out()


def test_another_sample_shape_at_transform(images):
    model = GTPCA(1, Shift((3, 3)), solver=QUICK, random_state=0).fit(images)
    with pytest.raises(ValueError, match=r"\bX\b.*\(5, 6\).*\(6, 5\)"):
        model.transform(images.transpose(0, 2, 1))  # as many values, but another shape
    with pytest.raises(ValueError, match=r"\bX\b.*29.*30"):
        model.transform(images.reshape(30, -1)[:, :-1])
    with pytest.raises(ValueError, match=r"\bX\b"):
        model.transform(images[..., None])
    np.testing.assert_array_equal(model.transform(images.reshape(30, -1)), model.transform(images))


def test_wrong_output_for_inverse_transform(series, fitted):
    with pytest.raises(ValueError, match=r"\bX\b.*12.*2"):
        fitted.inverse_transform(series)


@pytest.mark.parametrize("component", [2, -1, 1.0, "first"])
def test_align_to_a_component_that_is_not_there(series, fitted, component):
    with pytest.raises(BAD, match="component") as caught:
        fitted.align(series, component=component)
    assert str(component) in str(caught.value)


# --- parameters of the estimator ---


def refused(X, name, value, **parameters):
    """Fit must raise an error with the name of the parameter and the value in it."""
    with pytest.raises(BAD, match=name) as caught:
        GTPCA(**{"solver": QUICK, "random_state": 0, **parameters}).fit(X)
    assert str(value) in str(caught.value), f"{value!r} is not in {caught.value}"


@pytest.mark.parametrize("value", [0, -1, 1.5, 0.0, 1.0, -0.5, True, "few", None, np.nan, [2]])
@pytest.mark.parametrize("family", [None, Shift(5)])
def test_n_components(series, value, family):
    refused(series, "n_components", value, n_components=value, family=family)


def test_more_components_than_features(series, images):
    refused(series, "n_components.*12", 13, n_components=13)
    refused(images, "n_components.*30", 31, n_components=31, family=Identity())
    refused(series, "n_components.*12", 13, n_components=13, family=Shift(12))
    many = GTPCA(13, Shift(5), solver=QUICK, random_state=0).fit(
        series
    )  # no bound for a real family
    assert many.n_components_ == 13


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("polarity", v) for v in ("negative", None, True, 1)],
        *[("center", v) for v in ("rows", "feature", None, 2, 1.0)],
        *[("output", v) for v in ("poses", None, True)],
        *[("refine", v) for v in (-1, 1.5, "often")],
        *[("batch_size", v) for v in (0, -4, 2.5, "many")],
        *[("sample_shape", v) for v in ((5, 5), (2.5, 6), (-3, -4), "ab", (), (0, 12))],
    ],
    ids=str,
)
def test_parameters_that_do_not_exist(series, name, value):
    refused(series, name, value, **{name: value, "family": Shift(5)})
    refused(series, name, value, **{name: value, "family": None})


def test_sample_shape_against_the_shape_of_the_data(images):
    refused(images, "sample_shape", (5, 6), sample_shape=(5, 6))
    refused(images, "sample_shape.*(6, 5)", (30,), sample_shape=(30,))


@pytest.mark.parametrize(
    "value", ["als", 5, ALS, object()], ids=["name", "number", "class", "object"]
)
@pytest.mark.parametrize("family", [None, Shift(5)])
def test_solver_that_is_none(series, value, family):
    with pytest.raises(BAD, match=r"solver.*ALS"):
        GTPCA(1, family, solver=value).fit(series)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("n_init", v) for v in (0, -1, 1.5, "many", True)],
        *[("max_iter", v) for v in (0, -1, 1.5, "many")],
        *[("tol", v) for v in (-1, -1e-9, "small", np.nan, None)],
    ],
    ids=str,
)
@pytest.mark.parametrize("family", [None, Shift(5)])
def test_parameters_of_the_solver(series, name, value, family):
    refused(series, name, value, family=family, solver=ALS(**{name: value}))


@pytest.mark.parametrize("value", [Shift, 5, [Shift(5)], ALS()], ids=str)
def test_family_that_is_none(series, value):
    refused(series, r"family.*Shift\(\)", value, family=value)


@pytest.mark.parametrize(
    "weight",
    [np.ones(29), np.ones((30, 1)), 2.0, np.zeros(30), ["a"] * 30],
    ids=["short", "2d", "scalar", "zero", "words"],
)
def test_sample_weight(series, weight):
    for family in (None, Shift(5)):
        with pytest.raises(BAD, match="sample_weight"):
            GTPCA(1, family, solver=QUICK).fit(series, sample_weight=weight)


@pytest.mark.parametrize("value", [-1.25, np.nan, np.inf])
def test_values_of_the_weights(series, value):
    with pytest.raises(ValueError, match=f"sample_weight.*{value}"):
        GTPCA(1).fit(series, sample_weight=poisoned(np.ones(30), value))
    with pytest.raises(ValueError, match=f"feature_weight.*{value}"):
        GTPCA(1, feature_weight=poisoned(np.ones(12), value)).fit(series)


@pytest.mark.parametrize(
    "weight",
    [np.ones(11), np.ones((3, 4)), 2.0, np.zeros(12), "a"],
    ids=["short", "2d", "scalar", "zero", "word"],
)
def test_feature_weight(series, weight):
    for family in (None, Shift(5)):
        with pytest.raises(BAD, match="feature_weight"):
            GTPCA(1, family, feature_weight=weight, solver=QUICK).fit(series)


# --- nothing is half-fitted ---


class Bomb:
    """A callback that raises at the end of a component."""

    def __init__(self, error, task_name="component", at=1):
        self.error, self.task_name, self.at = error, task_name, at
        self.torn_down = False

    def setup(self, estimator, context):
        self.torn_down = False

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name == self.task_name and context.task_id >= self.at:
            raise self.error

    def teardown(self, estimator, context):
        self.torn_down = True


FAILURES = {
    "nan": lambda X: ({}, poisoned(X, np.nan)),
    "rank": lambda X: ({}, X[0]),
    "no samples": lambda X: ({}, X[:0]),
    "no energy": lambda X: ({}, 0 * X),
    "family": lambda X: ({"family": Shift(3, axes=4)}, X),
    "ambiguous": lambda X: ({}, X.reshape(30, 6, 2)),
    "n_components": lambda X: ({"n_components": 0}, X),
    "solver": lambda X: ({"solver": ALS(n_init=0)}, X),
    "feature_weight": lambda X: ({"feature_weight": np.ones(3)}, X),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failing_fit_leaves_nothing(series, failure):
    parameters, X = FAILURES[failure](series)
    model = GTPCA(2, Shift(5), solver=QUICK, random_state=0).set_params(**parameters)
    before = set(vars(model))
    with pytest.raises(BAD):
        model.fit(X)
    assert set(vars(model)) == before
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        model.transform(series)


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failing_fit_keeps_the_old_one(series, failure):
    model = GTPCA(2, Shift(5), solver=QUICK, random_state=0).fit(series)
    before, scores = dict(vars(model)), model.transform(series)
    parameters, X = FAILURES[failure](series)
    model.set_params(**parameters)
    with pytest.raises(BAD):
        model.fit(X)
    for name, value in vars(model).items():
        assert name in parameters or value is before[name], name
    np.testing.assert_array_equal(model.transform(series), scores)


@needs_callbacks
@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("boom")], ids=repr)
@pytest.mark.parametrize("family", [None, Shift(5)], ids=str)
@pytest.mark.parametrize("task", ["iteration", "component"])
def test_an_interrupted_fit(series, error, family, task):
    at = 1 if task == "component" else 0
    bomb = Bomb(error, task, at)
    model = GTPCA(3, family, solver=QUICK, random_state=0).set_callbacks(bomb)
    before = set(vars(model))
    with pytest.raises(type(error)):
        model.fit(series)
    assert bomb.torn_down
    assert set(vars(model)) == before
    with pytest.raises(NotFittedError):
        model.transform(series)

    model.set_callbacks()
    scores = model.fit(series).transform(series)
    attributes = dict(vars(model))
    model.set_callbacks(bomb)
    with pytest.raises(type(error)):
        model.fit(2 * series[:, :8])  # of another shape
    np.testing.assert_array_equal(model.transform(series), scores)
    for name, value in attributes.items():
        assert vars(model)[name] is value, name


def test_parameters_are_not_modified(series):
    family, solver = Shift((5,)), ALS(n_init=2, max_iter=5)
    weight, shape = np.ones(12), (12,)
    model = GTPCA(1, family, solver=solver, feature_weight=weight, sample_shape=shape)
    before = {name: repr(value) for name, value in model.get_params().items()}
    kept = series.copy()
    model.fit(series, sample_weight=np.ones(30))
    assert model.family is family
    assert model.solver is solver
    assert model.feature_weight is weight
    assert {name: repr(value) for name, value in model.get_params().items()} == before
    np.testing.assert_array_equal(series, kept)
