"""The commands ``choose`` and ``check``, and what they tell to run next."""

from __future__ import annotations

import json
import re
import shlex

import numpy as np
import pytest
from command import call

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A file of rows with a pattern of 10 points at random places."""
    rng = np.random.default_rng(0)
    X = 0.5 * rng.standard_normal((60, 40))
    for x, start in zip(X, rng.integers(31, size=60), strict=True):
        x[start : start + 10] += [2, 3, -1, 0, 4, 4, 1, -2, -3, -2]
    path = tmp_path_factory.mktemp("checking") / "rows.csv"
    np.savetxt(path, X, delimiter=",")
    return path


def test_choose_ends_in_a_command_that_works_and_check_takes_its_model(data, capsys, monkeypatch):
    monkeypatch.chdir(data.parent)
    options = ("--family", "shift", "--windows", "8:13", "-k", "1:2", "--folds", "2")
    done = call(capsys, "choose", "rows.csv", *options, "--keep", "search.jsonl")
    assert (done.code, done.err) == (0, "")
    *table, last = done.out.splitlines()
    assert table[0].split() == ["window", "error", "more", "+-", "flat", "beyond", "best"]
    assert last.startswith("Window 10 has the smallest held-out error")
    assert len((data.parent / "search.jsonl").read_text().splitlines()) > 5
    again = call(capsys, "choose", "rows.csv", *options, "--keep", "search.jsonl", "--json")
    assert json.loads(again.out)["advice"] == last
    program, *arguments = shlex.split(re.search("`(.*)`", last)[1])
    assert program == "gtpca"
    assert call(capsys, *arguments).code == 0
    checked = call(capsys, "check", "rows.gtpca", "rows.csv")
    assert checked.code == 0
    assert [line for line in checked.out.splitlines() if line in ("noise", "stability", "poses")]
    last = checked.out.splitlines()[-1]
    assert last.startswith("Component 1, the last, is above noise")
    words = shlex.split(re.search("`(.*)`", last)[1])
    assert words[:5] == ["gtpca", "fit", "rows.csv", "-o", "rows-more.gtpca"]


def test_wrong_ranges_are_one_line(data, capsys):
    done = call(capsys, "choose", data, "--family", "shift", "--windows", "a:b")
    assert done.refused("'a:b' is not a range; write it as 16:256")
    done = call(capsys, "choose", data, "--family", "shift", "--windows", "9:3")
    assert done.refused("windows[1]=3")
