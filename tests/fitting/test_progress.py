"""Callbacks and logging of a fit."""

from __future__ import annotations

import io
import logging
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import QUICK, needs_callbacks
from sklearn.base import clone

from gtpca import ALS, GTPCA, Shift

# --- callbacks ---


class Recorder:
    """Writes down every task, and stops a level where it is told to."""

    def __init__(self, stop=()):
        self.events, self.stop, self.set_up = [], stop, 0

    def setup(self, estimator, context):
        self.set_up += 1

    def teardown(self, estimator, context):
        self.set_up -= 1

    def path(self, context):
        name = (context.task_name, context.task_id)
        return (name,) if context.parent is None else (*self.path(context.parent), name)

    def on_fit_task_begin(self, estimator, context):
        assert isinstance(estimator, GTPCA)
        self.events.append(("begin", self.path(context)))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", self.path(context)))
        return context.task_name in self.stop

    @property
    def tasks(self):
        return [path for kind, path in self.events if kind == "end"]

    def count(self, *names):
        return sum(tuple(name for name, _ in path) == names for path in self.tasks)


def recorded(series, family, stop=(), **parameters):
    recorder = Recorder(stop)
    settings = {"n_components": 3, "solver": ALS(n_init=2, tol=0, max_iter=12), "random_state": 0}
    model = GTPCA(family=family, **{**settings, **parameters}).set_callbacks(recorder).fit(series)
    return SimpleNamespace(model=model, log=recorder)


@needs_callbacks
@pytest.mark.parametrize("family", [None, Shift(5), Shift(20)], ids=str)
@pytest.mark.parametrize("n_components", [3, 0.4])
def test_callbacks_are_nested(series, family, n_components):
    run = recorded(series, family, n_components=n_components)
    open_tasks = []
    for kind, path in run.log.events:
        if kind == "begin":
            assert path[:-1] == (open_tasks[-1] if open_tasks else ())
            open_tasks.append(path)
        else:
            assert open_tasks.pop() == path
    assert not open_tasks
    assert run.log.set_up == 0
    search = set() if family is None else {("fit", "component", "search")}
    assert {tuple(name for name, _ in path) for path in run.log.tasks} == search | {
        ("fit",),
        ("fit", "component"),
        ("fit", "component", "iteration"),
    }
    k = run.model.n_components_
    assert run.log.count("fit") == 1
    assert run.log.count("fit", "component") == k
    numbers = [path[1][1] for path in run.log.tasks if len(path) == 2]
    assert numbers == list(range(k))
    assert run.log.count("fit", "component", "iteration") >= k


@needs_callbacks
def test_callback_stops_the_iterations(series):
    free, stopped = (recorded(series, Shift(5), stop) for stop in ((), ("iteration",)))
    assert free.log.count("fit", "component", "iteration") > 3
    assert stopped.log.count("fit", "component", "iteration") == 3  # one per component
    assert stopped.log.count("fit", "component") == stopped.model.n_components_ == 3
    assert [len(h) for h in stopped.model.history_] == [1, 1, 1]


@needs_callbacks
def test_callback_stops_the_search(series):
    free, stopped = (recorded(series, Shift(5), stop) for stop in ((), ("search",)))
    path = ("fit", "component", "search")
    assert 3 * 3 <= stopped.log.count(*path) < free.log.count(*path)  # the halvings are made
    assert stopped.model.n_components_ == 3


@needs_callbacks
def test_a_block_in_one_pose_tells_of_its_growth(series):
    run = recorded(series, Shift(5), n_components=4, shared_pose=True)
    assert run.log.count("fit", "growth") == 3 * 2  # to 2 and to 4 components, three times


@needs_callbacks
@pytest.mark.parametrize("family", [None, Shift(5)], ids=str)
def test_callback_stops_the_components(series, family):
    run = recorded(series, family, stop=("component",))
    assert run.model.n_components_ == 1
    assert run.log.count("fit", "component") == 1
    assert run.model.transform(series).shape == (30, 1)


@needs_callbacks
def test_callbacks_do_not_change_the_fit(series):
    run = recorded(series, Shift(5))
    again = clone(run.model).set_callbacks().fit(series)
    np.testing.assert_array_equal(again.components_, run.model.components_)


@needs_callbacks
@pytest.mark.parametrize("family", [None, Shift(5)], ids=str)
@pytest.mark.parametrize("n_components", [2, 0.4])
def test_progress_bar(series, family, n_components, capsys):
    pytest.importorskip("rich", reason="scikit-learn's ProgressBar draws with rich")
    from sklearn.callback import ProgressBar

    model = GTPCA(n_components, family, solver=QUICK, random_state=0).set_callbacks(ProgressBar())
    model.fit(series)
    out, err = capsys.readouterr()
    assert "GTPCA" in out + err
    assert model.transform(series).shape == (30, model.n_components_)


# --- logging ---


@pytest.fixture
def quiet_logger():
    """The logger as a fresh process has it, and put back afterwards."""
    logger = logging.getLogger("gtpca")
    level, handlers = logger.level, list(logger.handlers)
    logger.setLevel(logging.NOTSET)
    logger.handlers.clear()
    yield logger
    logger.setLevel(level)
    logger.handlers[:] = handlers


@pytest.mark.parametrize("family", [None, Shift(5)], ids=str)
def test_verbose_reports_each_component(series, family, caplog, quiet_logger, capsys):
    GTPCA(2, family, solver=QUICK, random_state=0, verbose=1).fit(series)
    records = [r for r in caplog.records if r.name.split(".")[0] == "gtpca"]
    messages = [r.getMessage() for r in records]
    assert all(r.levelno == logging.INFO for r in records)
    assert sum("component 1" in m for m in messages) == 1
    assert sum("component 2" in m for m in messages) == 1
    assert capsys.readouterr().out == ""


def test_verbose_off_is_silent(series, caplog, quiet_logger, capsys):
    GTPCA(2, Shift(5), solver=QUICK, random_state=0).fit(series)
    assert not caplog.records
    assert capsys.readouterr() == ("", "")


def test_verbose_of_one_fit_is_not_that_of_the_next(series, caplog, quiet_logger):
    GTPCA(1, Shift(5), solver=QUICK, random_state=0, verbose=1).fit(series)
    caplog.clear()
    GTPCA(1, Shift(5), solver=QUICK, random_state=0, verbose=0).fit(series)
    assert not caplog.records


def test_logging_goes_where_the_user_sends_it(series, quiet_logger):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    quiet_logger.addHandler(handler)
    GTPCA(1, Shift(5), solver=QUICK, random_state=0, verbose=1).fit(series)
    assert stream.getvalue().count("component 1") == 1
    assert quiet_logger.handlers == [handler]


def test_verbose_writes_to_standard_error_as_it_is_now(series, quiet_logger, monkeypatch):
    monkeypatch.setattr(quiet_logger, "propagate", False)  # to the handlers of pytest
    for _ in range(2):
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        GTPCA(1, Shift(5), solver=QUICK, random_state=0, verbose=1).fit(series)
        assert stream.getvalue().startswith("component 1: ")
        stream.close()
    monkeypatch.setattr(sys, "stderr", None)  # as of pythonw, and of a daemon
    GTPCA(1, Shift(5), solver=QUICK, random_state=0, verbose=1).fit(series)
