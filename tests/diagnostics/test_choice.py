"""Windows, numbers of components, and searches that go on."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from command import environment

from gtpca import GTPCA, Rotation, Shift, labelled
from gtpca.diagnostics import choose, noise_floor
from gtpca.diagnostics.choice import Search, _best, _flat, windows_between
from gtpca.diagnostics.kept import ResultCache, fingerprint

BEATS = Path(__file__).parents[2] / "benchmarks" / "heartbeats.py"
SEARCH = """
import sys
import numpy as np
from gtpca.diagnostics import choose
found = choose(np.load(sys.argv[1]), "shift", (6, 20), (1, 2), n_folds=2, kept=sys.argv[2])
print(found.window, found.n_components)
"""


def rows(n=60, seed=0):
    """A pattern of 10 points at random places, in noise."""
    rng = np.random.default_rng(seed)
    X = 0.5 * rng.standard_normal((n, 60))
    for x, start in zip(X, rng.integers(51, size=n), strict=True):
        x[start : start + 10] += [2, 3, -1, 0, 4, 4, 1, -2, -3, -2]
    return X


@pytest.mark.parametrize(("low", "high"), [(1, 9), (16, 256), (5, 5), (100, 130)])
def test_windows_are_close_to_each_other(low, high):
    grid = windows_between(low, high)
    assert (grid[0], grid[-1]) == (low, high)
    for a, b in pairwise(grid):
        assert a < b <= max(a + 1, 1.25 * a)


def test_the_planted_window_is_chosen():
    found = choose(rows(), "shift", (6, 20), (1, 2), n_folds=2)
    assert (found.window, found.n_components) == (10, 1)
    assert found.window == found.windows[np.nanargmin(found.errors.mean(axis=1))]
    assert found.flat[0] <= 10 <= found.flat[1]
    assert found.estimator.get_params()["family__window"] == 10
    assert found.estimator.n_components == 1
    assert sorted(found.table["window"]) == list(found.windows)


def test_windows_far_from_the_best_are_tried_in_half_of_the_folds():
    found = choose(rows(), "shift", (4, 40), 1, n_folds=4)
    far = (found.windows > found.window * 1.25**2) | (found.windows < found.window / 1.25**2)
    assert 0 < far.sum() < len(far)
    np.testing.assert_array_equal(np.isnan(found.errors).sum(axis=1), np.where(far, 2, 0))
    assert np.isfinite(found.table["error"]).all()
    assert found.table["more"][far].min() > 0


def test_the_flat_part_is_told_by_differences_within_folds():
    hard = np.array([0.4, 0.6])  # a fold that is harder for every window
    steps = {8: [0.02, 0.03], 9: [0.001, 0.004], 10: [0, 0], 11: [-0.001, 0.002], 12: [0.02, 0.02]}
    errors = {window: hard + step for window, step in steps.items()}
    assert _flat(errors, 10) == (10, 11)
    found = replace(
        choose(rows(), "shift", (9, 11), 1, n_folds=2),
        windows=np.array(list(errors)),
        errors=np.array(list(errors.values())),
        window=10,
        flat=(10, 11),
        beyond=np.zeros(5),
    )
    table = found.table
    np.testing.assert_allclose(table["more"], [0.025, 0.0025, 0, 0.0005, 0.02], atol=1e-15)
    np.testing.assert_allclose(table["+-"], [0.005, 0.0015, 0, 0.0015, 0], atol=1e-15)
    np.testing.assert_array_equal(table["flat"], table["more"] <= table["+-"])


def two_in_one_pose(n=150, size=40, window=10):
    """Unit noise with two patterns of 10 points that share a random place, norms 9 and 6."""
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((window, 2)))[0].T
    X = rng.standard_normal((n, size))
    for x, start in zip(X, rng.integers(size - window + 1, size=n), strict=True):
        x[start : start + window] += rng.standard_normal(2) * [9, 6] @ V
    return X


def test_what_a_window_misses_near_the_ends_of_samples_is_not_counted(tmp_path):
    X, kept = two_in_one_pose(), tmp_path / "kept.jsonl"
    model = GTPCA(4, Shift(13), shared_pose=True, random_state=0).fit(X)
    assert noise_floor(model, X, verdict_only=True).n_real > 2
    found = choose(X, windows=[13], n_components=(1, 4), n_folds=2, shared_pose=True, kept=kept)
    assert (found.window, found.n_components) == (13, 2)
    assert found.estimator.family.boundary == "valid"
    counted = [line["case"] for line in lines(kept) if "most" in line["case"]]
    assert counted == [{"window": 16, "most": 4, "boundary": "partial"}]


def at_places(places, window=20, size=80, seed=0):
    """A clear pattern of 20 points in 80, which begins at these places, and weak noise."""
    rng = np.random.default_rng(seed)
    X = 0.1 * rng.standard_normal((len(places), size))
    for x, start in zip(X, places, strict=True):
        x[start : start + window] += np.hanning(window) * np.sin(np.arange(window))
    return X


def test_a_window_that_cannot_move_far_enough_is_not_taken():
    places = np.random.default_rng(1).integers(61, size=120)
    X = at_places(places) + 0.3  # a level everywhere, of which long windows hold more
    with pytest.warns(
        UserWarning, match=r"choose: window 60 cannot move far enough: it has 21 pos"
    ):
        alone = choose(X, windows=[60], n_components=1, n_folds=2, shared_pose=True)
    assert alone.confined.all()
    assert "window 60 cannot move far enough: it has 21 positions in 80 points" in alone.sentence
    found = choose(X, windows=[10, 20, 60], n_components=1, n_folds=2, shared_pose=True)
    assert 10 <= found.window <= 25
    assert not found.confined[found.windows == found.window]


def test_windows_that_only_seemed_to_move_far_enough_give_way_to_others():
    """All windows near the best turn out unable in the last folds: others are tried in all."""
    asked = []

    def look(windows, count, folds):
        asked.append((tuple(windows), len(folds)))
        beyond = {w: [0.0 if w < 40 or fold < 2 else 1.0 for fold in folds] for w in windows}
        error = {w: abs(w - 60) / 100 for w in windows}
        return {w: [{"error": error[w], "beyond": b} for b in beyond[w]] for w in windows}

    search = SimpleNamespace(folds=range(4), skips=False, look=look)
    found = Search.best_window(search, [20, 30, 60, 64], 1, 40)
    assert _best(found) == 30
    assert len(found[30]) == 4
    assert [len(found[w]) for w in found if w > 40] == [4] * sum(w > 40 for w in found)
    errors = {size: [one["error"] for one in folds] for size, folds in found.items()}
    assert _flat({w: np.array(e) for w, e in errors.items() if len(e) == 4}, 30)


def test_windows_that_may_leave_the_sample_or_go_round_can_move():
    X = at_places(np.random.default_rng(1).integers(61, size=40))
    for boundary in ("partial", "circular"):
        found = choose(X, Shift(boundary=boundary), [10, 20, 60], 1, n_folds=2)
        assert not found.confined.any()


def test_doubts_are_warnings():
    X = at_places(np.full(12, 30))
    with pytest.warns(
        UserWarning, match=r"choose: 12 samples are few for a choice by 2 folds \(20"
    ):
        found = choose(X, windows=(10, 20), n_components=1, n_folds=2)
    assert found.sentence.endswith("(20 are needed).")


def test_windows_are_told_in_the_units_of_the_axis():
    X = at_places(np.random.default_rng(1).integers(61, size=40))
    found = choose(labelled(X, rate=250), windows=[10, 20, 60], n_components=(1, 2), n_folds=2)
    assert f"Window {found.window} ({found.window / 250:.3g} s) has the small" in found.sentence
    np.testing.assert_allclose(found.table["window (s)"], found.windows / 250)


def test_of_a_grid_every_second_window_is_tried_and_all_around_the_best(tmp_path):
    X, kept = at_places(np.random.default_rng(1).integers(61, size=40)), tmp_path / "kept.jsonl"
    found = choose(X, windows=(8, 60), n_components=1, n_folds=2, kept=kept)
    tried = {line["case"]["window"] for line in lines(kept) if "fold" in line["case"]}
    grid = windows_between(8, 60)
    assert 15 <= found.window <= 25
    best = min(range(len(grid)), key=lambda i: abs(grid[i] - found.window))
    assert tried.issuperset(grid[best - 1 : best + 2])
    assert len(tried & set(grid)) <= len(grid) / 2 + 3
    assert set(found.windows) <= tried


@pytest.mark.parametrize("margin", [20, 60])
def test_known_heartbeats_are_found_again_with_the_window_that_is_chosen(data_home, margin):
    beats = runpy.run_path(str(BEATS))
    X, places = beats["beats_at_random"](7, margin)
    found = choose(X, windows=(16, 160), shared_pose=True)
    model = found.estimator.fit(X)
    starts = model.poses(model.encode(X))["start"].reshape(len(X), -1)[:, 0]
    assert beats["found_again"](starts, places) >= 0.95
    assert "of the windows that can move far enough" in found.sentence


def test_the_heartbeats_cannot_be_followed_by_a_window_that_is_too_long(data_home):
    X, _ = runpy.run_path(str(BEATS))["beats_at_random"](7)
    with pytest.warns(UserWarning, match="cannot move far enough"):
        found = choose(X, windows=(140, 160), n_components=(1, 2), shared_pose=True)
    assert f"But window {found.window} cannot move far enough: it has" in found.sentence


def test_families_without_a_window_have_a_number_only():
    X = np.random.default_rng(0).standard_normal((20, 8, 8))
    found = choose(X, Rotation(4), n_components=2, n_folds=2)
    assert found.window is None
    assert found.n_components == 0
    assert "No component is above noise" in found.sentence


def test_wrong_ranges_are_refused():
    with pytest.raises(ValueError, match=r"n_components=\(1, 2, 3\) must be a pair"):
        choose(rows(), n_components=(1, 2, 3))
    with pytest.raises(ValueError, match=r"windows\[1\]"):
        choose(rows(), windows=(20, 10))
    with pytest.raises(ValueError, match="n_folds=4 needs at least 8 samples, but X has 5"):
        choose(rows(5))


def test_what_is_kept_is_not_found_again(tmp_path):
    path, case = tmp_path / "kept.jsonl", {"window": 3}
    assert ResultCache(path, "a").get(case, lambda: 0.25) == 0.25
    assert ResultCache(path, "a").get(case, lambda: 1 / 0) == 0.25
    assert ResultCache(path, "b").get(case, lambda: 0.5) == 0.5
    with open(path, "a") as file:
        file.write('{"search": "a", "case": {"window": 4}, "resu')  # killed here
    assert ResultCache(path, "a").get({"window": 4}, lambda: 0.75) == 0.75
    assert len(ResultCache(path, "a")) == 2
    assert len(ResultCache(path, "b")) == 1
    X = np.zeros((2, 3))
    assert fingerprint(X, 1) == fingerprint(X, 1) != fingerprint(X, 2) != fingerprint(X + 1, 2)


def test_a_search_that_was_killed_goes_on(tmp_path):
    data, kept = tmp_path / "rows.npy", tmp_path / "kept.jsonl"
    np.save(data, rows())
    command = [sys.executable, "-c", SEARCH, str(data), str(kept)]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE) as process:
        give_up = time.monotonic() + 120
        while n_lines(kept) < 3 and process.poll() is None and time.monotonic() < give_up:
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    before = lines(kept)
    assert len(before) >= 3
    found = choose(np.load(data), "shift", (6, 20), (1, 2), n_folds=2, kept=kept)
    after = lines(kept)
    assert after[: len(before)] == before
    assert len({line["search"] for line in after}) == 1
    cases = [json.dumps(line["case"]) for line in after]
    assert len(cases) == len(set(cases)), "a fit was made twice"
    assert (found.window, found.n_components) == (10, 1)


def n_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def lines(path: Path) -> list:
    """The complete lines of a file."""
    return [json.loads(line) for line in path.read_text().split("\n") if line.endswith("}")]


@pytest.mark.parametrize(("size", "tried"), [(2, [1]), (3, [2]), (4, [3]), (5, [4]), (8, [4, 6])])
@pytest.mark.parametrize("boundary", ["valid", "circular"])
def test_windows_of_short_samples_are_shorter_than_these(size, tried, boundary):
    X = np.random.default_rng(0).standard_normal((40, size))
    found = choose(X, f"shift(boundary='{boundary}')", n_components=(1, 1), n_folds=2)
    assert [found.windows.min(), found.windows.max()] == [tried[0], tried[-1]]
    found.estimator.fit(X)


def test_a_single_point_leaves_nothing_to_choose():
    with pytest.raises(ValueError, match="a single point along an axis that moves"):
        choose(np.ones((40, 1)), "shift")
