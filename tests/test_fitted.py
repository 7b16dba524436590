"""One fitted value: all fitted attributes are read from it, and it changes in one assignment."""

from __future__ import annotations

import json
import pickle
import zipfile
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import gtpca
from gtpca import ALS, GTPCA, EventGTPCA, MixtureGTPCA, ProbabilisticGTPCA, Shift
from gtpca.fitting.streaming import Stream

ROWS = np.random.default_rng(0).standard_normal((30, 12))
ROWS[np.arange(30), np.arange(30) % 10] += 8.0
RECORDING = 0.1 * np.random.default_rng(1).standard_normal(2000)
for place in range(50, 1900, 130):
    RECORDING[place : place + 20] += np.hanning(20)
CASES = {
    "components": (GTPCA(2, Shift(5), solver=ALS(n_init=2, max_iter=3), random_state=0), ROWS),
    "density": (ProbabilisticGTPCA(1, Shift(5), shrink=False, tol=1e-2, random_state=0), ROWS),
    "mixture": (MixtureGTPCA(2, 1, Shift(5), tol=1e-1, random_state=0), ROWS),
    "events": (EventGTPCA(1, Shift(20), counts=False, random_state=0), RECORDING),
}
ignore_doubts = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(params=CASES)
def case(request):
    estimator, X = CASES[request.param]
    with np.errstate(all="ignore"):
        return clone(estimator).fit(X), X


def attributes(model):
    """All names of the class that end in an underscore."""
    return {n for n in dir(type(model)) if n.endswith("_") and not n.startswith("_")}


@ignore_doubts
def test_the_fit_is_one_attribute_and_all_others_are_read_from_it(case):
    model, _ = case
    fitted = {name for name in vars(model) if name not in model.get_params(deep=False)}
    assert fitted == {"fit_"}
    for field in fields(model.fit_):
        value = getattr(model.fit_, field.name)
        if field.name != "row_shape" and value is not None:
            assert getattr(model, f"{field.name}_") is value


@ignore_doubts
def test_there_are_none_before_a_fit(case):
    fresh = clone(case[0])
    assert [name for name in attributes(fresh) if hasattr(fresh, name)] == []
    with pytest.raises(AttributeError, match="object has no attribute 'components_'"):
        _ = fresh.components_
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh)


@ignore_doubts
def test_the_value_is_frozen_and_an_attribute_makes_a_new_one(case):
    model, _ = case
    with pytest.raises(FrozenInstanceError):
        model.fit_.components = 0
    before = model.fit_
    model.components_ = -model.components_
    assert model.fit_ is not before
    assert np.array_equal(model.components_, -before.components)
    for name in ("n_components_", "sample_shape_"):
        with pytest.raises(AttributeError, match=f"{name} follows from a fit"):
            setattr(model, name, 3)


@ignore_doubts
def test_an_error_leaves_the_value(case):
    model, X = case
    before = model.fit_
    with pytest.raises(ValueError, match="X"):
        model.fit(np.full_like(X, np.inf))
    assert model.fit_ is before
    assert set(vars(model)) == {"fit_", *model.get_params(deep=False)}


@ignore_doubts
def test_pickles_and_files_hold_it(case, tmp_path):
    model, _ = case
    model.save(tmp_path / "model.gtpca")
    with zipfile.ZipFile(tmp_path / "model.gtpca") as file:
        told = json.loads(file.read("model.json"))["fitted"]
    names = {field.name for field in fields(model.fit_)} - {"operator", "row_shape"}
    optional = {"online_", "feature_names_in_", "row_weight_", "rejected_", "losses_"}
    assert {f"{name}_" for name in names} - optional <= set(told)
    for same in (gtpca.load(tmp_path / "model.gtpca"), pickle.loads(pickle.dumps(model))):
        assert type(same.fit_) is type(model.fit_)
        for name in names:
            mine, other = getattr(model.fit_, name), getattr(same.fit_, name)
            assert pickle.dumps(mine) == pickle.dumps(other), name


def test_parameters_that_count_after_a_fit_do_not_touch_it():
    model = clone(CASES["components"][0]).set_params(refine=2).fit(ROWS)
    before = model.fit_
    assert model.model_.sweeps == 2
    assert model.set_params(refine=0).model_.sweeps == 0
    assert model.fit_ is before


def interrupted(*args):
    raise KeyboardInterrupt


def test_a_batch_makes_a_new_value(monkeypatch):
    model = clone(CASES["components"][0])
    monkeypatch.setattr(Stream, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(ROWS[:10])
    assert not hasattr(model, "fit_")
    monkeypatch.undo()
    first = model.partial_fit(ROWS[:10]).fit_
    kept = first.components.copy()
    model.partial_fit(ROWS[10:13])
    assert model.fit_ is not first
    assert (first.n_samples_seen, model.n_samples_seen_) == (10, 13)
    np.testing.assert_array_equal(first.components, kept)
    before = model.fit_
    with pytest.raises(ValueError, match="X"):
        model.partial_fit(np.full((3, 12), np.nan))
    assert model.fit_ is before


def test_names_of_columns_are_part_of_it():
    pandas = pytest.importorskip("pandas", reason="needs pandas: make setup")
    frame = pandas.DataFrame(ROWS, columns=[f"t{j}" for j in range(12)])
    model = clone(CASES["components"][0]).fit(frame)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    assert not hasattr(model.fit(ROWS), "feature_names_in_")
