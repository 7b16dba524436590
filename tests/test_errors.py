"""Bad input gets an error that names the parameter, the value and what would work.

The expected messages are not read off the library: the name of the parameter and the offending
value, as ``repr`` shows it, have to occur in them.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from gtpca import (
    ALS,
    GTPCA,
    Affine,
    Compose,
    Custom,
    Deformation,
    Identity,
    Reflection,
    Rotation,
    Scaling,
    Shift,
    TimeWarp,
)

BAD = (ValueError, TypeError)
QUICK = ALS(n_init=2, max_iter=10)


@pytest.fixture
def series():
    return np.random.default_rng(0).standard_normal((30, 12))


@pytest.fixture
def images():
    return np.random.default_rng(1).standard_normal((30, 6, 5))


@pytest.fixture
def fitted(series):
    return GTPCA(2, Shift(5), solver=QUICK, random_state=0).fit(series)


def poisoned(X, value):
    X = X.copy()
    X.flat[7] = value
    return X


# --- the data ---


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_are_not_finite(images, value, dtype):
    word = "NaN" if np.isnan(value) else "inf"
    X = poisoned(images.astype(dtype), value)
    for data in (X, X.reshape(30, -1)):
        with pytest.raises(ValueError, match=rf"\bX\b.*{word}"):
            GTPCA().fit(data)
    model = GTPCA().fit(images)
    for method in (model.transform, model.encode, model.align, model.resmse, model.score_samples):
        with pytest.raises(ValueError, match=rf"\bX\b.*{word}"):
            method(X)


def test_values_whose_energy_overflows(series):
    for family in (None, Shift(5)):
        with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"\bX\b"):
            GTPCA(1, family, solver=QUICK, random_state=0).fit(series * 1e200)


@pytest.mark.parametrize("X", [np.arange(12.0), 3.0], ids=["one row", "scalar"])
def test_wrong_rank(X, fitted):
    for method in (GTPCA().fit, fitted.transform, fitted.encode):
        # "Reshape your data" is what scikit-learn's estimator checks ask for
        with pytest.raises(ValueError, match="Reshape your data") as caught:
            method(X)
        assert re.search(r"\bX\b", str(caught.value)), "does not name X"


@pytest.mark.parametrize("shape", [(0, 12), (0, 6, 5)])
def test_no_samples(shape):
    with pytest.raises(ValueError, match=re.escape(str(shape))) as caught:
        GTPCA().fit(np.zeros(shape))
    assert re.search(r"\bX\b", str(caught.value)), "does not name X"


def test_no_samples_at_transform(fitted):
    with pytest.raises(ValueError, match=r"\(0, 12\)"):
        fitted.transform(np.zeros((0, 12)))


@pytest.mark.parametrize("shape", [(3, 0), (3, 0, 5)])
def test_samples_without_features(shape):
    with pytest.raises(ValueError, match=re.escape(str(shape))):
        GTPCA().fit(np.zeros(shape))


def test_rows_without_energy(series):
    with pytest.raises(ValueError, match=r"\bX\b.*zero"):
        GTPCA().fit(np.zeros_like(series))
    with pytest.raises(ValueError, match=r"\bX\b.*centring"):
        GTPCA(center=True).fit(np.ones_like(series))


def test_sparse_data(series, fitted):
    for method in (GTPCA().fit, fitted.transform):
        with pytest.raises(TypeError, match=r"(?i)sparse.*\bX\b.*dense"):
            method(sparse.csr_array(series))


def test_numeric_objects_are_accepted(images):
    plain, boxed = GTPCA().fit(images), GTPCA().fit(images.astype(object))
    np.testing.assert_allclose(boxed.components_, plain.components_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(boxed.transform(images.astype(object)), plain.transform(images))


@pytest.mark.parametrize("boxed", [True, False])
def test_words_are_refused(series, boxed):
    X = series.astype(object)
    X[3, 4] = "hello"
    with pytest.raises(BAD, match=r"\bX\b") as caught:
        GTPCA().fit(X if boxed else X.astype(str))
    assert "hello" in str(caught.value)


def test_other_objects_are_refused(series):
    X = series.astype(object)
    X[3, 4] = {"foo": "bar"}
    with pytest.raises(BAD, match=r"\bX\b"):
        GTPCA().fit(X)


def test_complex_data(series):
    with pytest.raises(ValueError, match="Complex data"):
        GTPCA().fit(series + 1j)


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


@pytest.mark.parametrize("value", [Shift, "shift", 5, [Shift(5)], ALS()], ids=str)
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


# --- families: windows and axes ---


def readings(family, shape, name):
    """The constructor calls that an "ambiguous" message proposes."""
    with pytest.raises(ValueError, match=r"axes.*ambiguous") as caught:
        family.bind(shape)
    assert str(shape) in str(caught.value)
    return re.findall(name + r"\((?:[^()]|\([^()]*\))*\)", str(caught.value))


@pytest.mark.parametrize("family", [Shift(4), Shift(), Shift(40)], ids=str)
@pytest.mark.parametrize("shape", [(6, 5), (6, 5, 4)])
def test_ambiguous_axes_of_a_shift_show_both_readings(family, shape):
    one, every = (eval(text) for text in readings(family, shape, "Shift"))
    window = family.window
    expected = [window or s for s in shape]
    assert one.bind(shape).weight_shape == (expected[0], *shape[1:])
    assert every.bind(shape).weight_shape == tuple(expected)


@pytest.mark.parametrize("family", [Scaling(), TimeWarp(), Reflection()], ids=str)
def test_ambiguous_axes_of_other_families(family):
    texts = readings(family, (6, 5), type(family).__name__)
    axes = [eval(re.search(r"axes=(.*)\)$", text)[1]) for text in texts]
    assert len(axes) == 2
    assert axes[0] != axes[1]
    for value in axes:
        clone(family).set_params(axes=value).bind((6, 5))


def test_ambiguous_axes_reach_the_user_of_fit(images):
    with pytest.raises(ValueError, match=r"axes=0\b.*axes=\(0, 1\)"):
        GTPCA(1, Shift(3)).fit(images)


def unbound(family, shape, name, value):
    """Bind must raise an error that names the family, the parameter and the value."""
    with pytest.raises(BAD, match=f"^{type(family).__name__}.*{name}") as caught:
        family.bind(shape)
    assert str(value) in str(caught.value), f"{value!r} is not in {caught.value}"


@pytest.mark.parametrize("window", [0, -3, 2.5, "long", True])
def test_window_that_is_no_size(window):
    unbound(Shift(window), (12,), "window", window)
    unbound(Shift(window, axes=0), (12, 2), "window", window)
    unbound(Shift((3, window)), (6, 5), "window", window)


@pytest.mark.parametrize("window", [(3, 3), (3, 3, 3), ()])
def test_window_with_more_entries_than_the_sample_has_axes(window):
    unbound(Shift(window), (12,), "window", window)


def test_window_that_does_not_fit_the_axes():
    unbound(Shift((3, 3), axes=0), (6, 5), "axes", 0)


def test_circular_window_longer_than_the_sample():
    unbound(Shift(13, boundary="circular"), (12,), "window", 13)
    unbound(Shift((6, 6), boundary="circular"), (6, 5), "window", 6)


@pytest.mark.parametrize("axes", [2, -3, (0, 2), (0, 0), (0, -2), (), 0.5, "time"], ids=str)
@pytest.mark.parametrize("family", [Shift(), Reflection(), Scaling(), TimeWarp()], ids=str)
def test_axes_that_are_not_there(family, axes):
    unbound(clone(family).set_params(axes=axes), (6, 5), "axes", axes)


@pytest.mark.parametrize("axes", [None, 0, (0, 0), (0, 1, 2), (0, 5)], ids=str)
def test_axes_of_a_rotation(axes):
    unbound(Rotation(4, axes=axes), (6, 5), "axes", axes)


@pytest.mark.parametrize("family", [Rotation(4), Affine([np.eye(2)]), Deformation()])
def test_images_only(family):
    unbound(family, (12,), "axes", (0, 1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("boundary", v) for v in ("wrap", None)],
        *[("max_shift", v) for v in (-1, 1.5, "far")],
        *[("step", v) for v in (0, -1, 1.5, None)],
        *[("min_overlap", v) for v in (0, -0.5, 1.5, np.nan, "half", None)],
    ],
    ids=str,
)
def test_parameters_of_a_shift(name, value):
    parameters = {"boundary": "partial", name: value}
    unbound(Shift(5, **parameters), (12,), name, value)


# --- families: lists of transforms ---


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (Custom([]), "transforms"),
        (Rotation([]), "angles"),
        (Rotation(0), "angles"),
        (Scaling([], axes=0), "factors"),
        (TimeWarp([], axes=0), "strengths"),
        (Affine([]), "matrices"),
        (Deformation(n_fields=0), "n_fields"),
    ],
    ids=str,
)
def test_empty_family(images, family, name):
    with pytest.raises(ValueError, match=f"{type(family).__name__}.*{name}"):
        GTPCA(1, family).fit(images)
    with pytest.raises(ValueError, match=f"{type(family).__name__}.*{name}"):
        Compose(Shift((4, 4)), family).bind((6, 5))


@pytest.mark.parametrize(
    ("family", "name", "value"),
    [
        (Rotation([0, np.nan]), "angles", "nan"),
        (Rotation("many"), "angles", "many"),
        (Rotation(2.5), "angles", 2.5),
        (Rotation(interpolation="cubic"), "interpolation", "cubic"),
        (Scaling([1, 0], axes=0), "factors", 0),
        (Scaling([1, -2], axes=0), "factors", -2),
        (Scaling([1, np.inf], axes=0), "factors", "inf"),
        (Scaling("large", axes=0), "factors", "large"),
        (TimeWarp([0, np.nan], axes=0), "strengths", "nan"),
        (TimeWarp([0, 1], kind="sine", axes=0), "strength", 1),
        (TimeWarp(kind="log", axes=0), "kind", "log"),
        (Affine([[[1, 1], [1, 1]]]), "matri", 0),
        (Affine([np.eye(3)]), "matrices", "(1, 3, 3)"),
        (Affine([np.full((2, 2), np.nan)]), "matrices", "nan"),
        (Deformation(amplitude=0), "amplitude", 0),
        (Deformation(amplitude=[1, 2]), "amplitude", [1, 2]),
        (Deformation(amplitude="large"), "amplitude", "large"),
        (Deformation(n_basis=0), "n_basis", 0),
        (Deformation(n_fields=2.5), "n_fields", 2.5),
        (Compose(Shift((4, 4)), "rotation"), "", "rotation"),
        (Compose(Rotation, Shift((4, 4))), "", "Rotation"),
    ],
    ids=lambda x: str(x)[:40],
)
def test_parameters_of_other_families(family, name, value):
    unbound(family, (6, 5), name, value)


@pytest.mark.parametrize(
    ("transforms", "words"),
    [
        ([np.eye(12), np.zeros((12, 12))], "transform 1.*zero"),
        ([lambda w: w, lambda w: 0 * w], "transform 1.*zero"),
        ([np.full((12, 12), np.nan)], "transform 0.*finite"),
        ([lambda w: np.nan * w], "transform 0.*finite"),
        ([np.abs], "transform 0.*linear"),
        ([lambda w: w, np.square], "transform 1.*linear"),
        ([lambda w: w + 1], "transform 0.*linear"),
        ([np.eye(11, 12)], r"transform 0.*\(11, 12\).*\(12, 12\)"),
        ([np.eye(12, 4), np.eye(12, 5)], r"transform 1.*\(12, 5\).*\(12, 4\)"),
        ([lambda w: w[:3]], r"transform 0.*\(3, 12\).*\(12, 12\)"),
        ([np.ones(12)], r"transform 0.*\(12,\)"),
        ([np.ones((12, 12, 2))], r"transform 0.*\(12, 12, 2\)"),
        (["flip"], "transform 0.*flip"),
        ([np.eye(12, 14)], "weight 12.*no transform"),
        ([np.eye(12, 6), np.eye(12, 6, -2)[:, ::-1] * [0, 1, 1, 1, 1, 1]], None),
        ([lambda w: np.where(np.arange(12) < 11, w, 0.0)], "weight 11.*no transform"),
        (5, "transforms.*5"),
    ],
)
def test_custom_transforms(transforms, words):
    family = Custom(transforms)
    if words is None:  # each weight is seen by one of them
        assert family.bind((12,)).n_weights == 6
        return
    with pytest.raises(BAD, match=f"Custom.*{words}"):
        family.bind((12,))


def test_custom_weight_shape():
    with pytest.raises(ValueError, match=r"Custom.*\(12, 6\).*\(12, 4\)"):
        Custom([np.eye(12, 6)], weight_shape=(2, 2)).bind((12,))


# --- rows and residuals without energy ---

ZERO_ROW_FAMILIES = [
    Identity(),
    Shift(5),
    Shift(20),
    Shift(boundary="circular"),
    Scaling([0.7, 1, 1.4]),
    Compose(Shift(5), Reflection()),
]


@pytest.mark.parametrize("family", ZERO_ROW_FAMILIES, ids=str)
@pytest.mark.parametrize("polarity", ["both", "positive"])
@pytest.mark.parametrize("refine", [0, 1])
def test_zero_rows_score_zero(series, family, polarity, refine):
    X = series.copy()
    X[[3, 17]] = 0
    model = GTPCA(2, family, polarity=polarity, refine=refine, solver=QUICK, random_state=0).fit(X)
    zero = np.isin(np.arange(30), [3, 17])
    scores, shares = model.encode(X).scores, model.score_samples(X)
    assert np.all(scores[zero] == 0)
    assert np.all(shares[zero] == 0)
    # upright only, a row may fit nothing at all
    assert np.all(shares[~zero] > 0 if polarity == "both" else shares[~zero] >= 0)
    assert np.all(model.reconstruct(X)[zero] == 0)
    without = model.resmse(X[~zero])
    np.testing.assert_allclose(model.resmse(X), without, rtol=1e-12)


def test_only_zero_rows_score_zero(series, fitted):
    """Nothing to explain is nothing explained, in ``score`` as in ``score_samples``."""
    zeros = np.zeros_like(series)
    assert np.all(fitted.score_samples(zeros) == 0)
    assert fitted.score(zeros) == 0


def few_pulses():
    """Rows that one component in a window of 3 explains exactly."""
    X = np.zeros((20, 12))
    for i in range(20):
        X[i, i % 10 : i % 10 + 3] = (1 + i % 3) * np.array([1.0, 3.0, 1.0])
    return X


def low_rank(seed, rank=2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((30, rank)) @ rng.standard_normal((rank, 12))


@pytest.mark.parametrize(
    ("X", "family", "count"),
    [
        *[(low_rank(seed), None, 2) for seed in range(4)],
        *[(low_rank(seed).astype(np.float32), None, 2) for seed in range(4)],
        (np.diag([3.0, 2.0, 1.0, 0.0, 0.0]), None, 3),
        (low_rank(5, rank=1), Shift(12), 1),
        (few_pulses(), Shift(3), 1),
        (few_pulses().astype(np.float32), Shift(3), 1),
    ],
)
def test_energy_that_is_gone(X, family, count):
    model = GTPCA(5, family, random_state=0)
    with pytest.warns(ConvergenceWarning, match=rf"{count}.*n_components_"):
        model.fit(X)
    assert model.n_components_ == count
    assert len(model.components_) == len(model.explained_energy_) == count
    assert len(model.explained_energy_ratio_) == len(model.n_iter_) == len(model.history_) == count
    assert model.transform(X).shape == (len(X), count)
    assert len(model.get_feature_names_out()) == count
    assert model.resmse(X)[-1] < 1e-6
    assert abs(model.explained_energy_ratio_.sum() - 1) < 1e-6


def test_energy_that_is_gone_with_few_rows():
    X = np.random.default_rng(0).standard_normal((3, 12))
    with pytest.warns(ConvergenceWarning, match="n_components_"):
        model = GTPCA(8, center=True).fit(X)
    assert model.n_components_ == 2  # three centred rows


def test_no_warning_when_the_components_asked_for_are_found(recwarn):
    GTPCA(2).fit(low_rank(0))
    GTPCA(1, Shift(3), random_state=0).fit(few_pulses())
    assert not [w for w in recwarn if issubclass(w.category, ConvergenceWarning)]


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
