"""The progress bar of a fit in Python: where somebody looks, after a while, with a total."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from command import environment, on_a_terminal

from gtpca import GTPCA, MixtureGTPCA, Shift
from gtpca.fitting import bar

pytest.importorskip("rich", reason="draws the bar")

FIT = """
import numpy as np
from gtpca import GTPCA, Shift
from gtpca.fitting import bar
X = np.random.default_rng(0).standard_normal((100, 32))
for bar.DELAY, progress in {cases!r}:
    model = GTPCA(4, Shift(8), n_restarts=10, random_state=0, progress=progress).fit(X)
    assert "_skl_callbacks" not in vars(model)
"""


def shown(*cases):
    """What a terminal shows of fits, one after the other: a process takes long to start."""
    code, text = on_a_terminal("-c", FIT.format(cases=cases), NO_COLOR="1")
    assert code == 0, text
    return text


def test_a_terminal_has_a_bar_with_a_total():
    assert re.search(r"component \d+ of 40, step \d+", shown((0.0, "auto")))


def test_a_quick_fit_has_none_nor_if_none_is_wanted():
    assert shown((1000.0, "auto"), (0.0, False)) == ""


def test_nothing_is_said_where_nobody_looks():
    how = {"capture_output": True, "text": True, "check": True, "env": environment()}
    code = FIT.format(cases=[(0.0, "auto"), (0.0, True)])
    done = subprocess.run([sys.executable, "-c", code], **how)
    assert done.stdout + done.stderr == ""


def test_callbacks_of_ones_own_come_first(monkeypatch):
    monkeypatch.setattr(bar, "LOOKED_AT", True)
    monkeypatch.setattr(bar, "_wanted", lambda: True)
    mine = bar.FitBar(2)
    model = GTPCA(2, Shift(4), random_state=0).set_callbacks(mine)
    model.fit(np.random.default_rng(0).standard_normal((20, 12)))
    assert model._skl_callbacks == [mine]
    assert mine.found == 2


def test_other_values_are_refused():
    with pytest.raises(ValueError, match="progress='sometimes'"):
        GTPCA(1, progress="sometimes").fit(np.eye(3))


class Recorder:
    """A bar that remembers what it was told."""

    def __init__(self):
        self.seen = []

    def add_task(self, description, total=None):
        return 0

    def update(self, task, *, completed, total, description):
        self.seen.append((completed, total))

    def start(self):
        """Nothing is drawn."""

    stop = start


def test_the_total_grows_where_loud_rows_ask_for_more():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 30))
    X[:6] *= 30
    model = GTPCA(3, Shift(8), shared_pose=True, random_state=0)
    mine = bar.FitBar.of(model)
    announced, mine.bar = mine.count, Recorder()
    model.set_callbacks(mine).fit(X)
    completed, totals = zip(*mine.bar.seen, strict=True)
    assert all(found <= total for found, total in mine.bar.seen)
    assert completed[-1] == totals[-1] > announced


def test_a_mixture_says_its_steps(monkeypatch):
    said = []

    class Words(Recorder):
        def update(self, task, *, completed, description):
            said.append(description)

    monkeypatch.setattr(bar, "new_bar", Words)
    X = np.random.default_rng(0).standard_normal((40, 12))
    loud = MixtureGTPCA(2, 0, Shift(5), tol=1e-2, progress=True, random_state=0).fit(X)
    assert said[0] == "starts of 2 kinds"
    assert any(words.startswith("pass 2: log-likelihood") for words in said)
    assert "held-out rows, part 5 of 5" in said
    count = len(said)
    quiet = MixtureGTPCA(2, 0, Shift(5), tol=1e-2, progress=False, random_state=0).fit(X)
    assert len(said) == count
    np.testing.assert_array_equal(quiet.mean_patterns_, loud.mean_patterns_)
    with pytest.raises(ValueError, match="progress='sometimes'"):
        MixtureGTPCA(2, progress="sometimes").fit(X)
