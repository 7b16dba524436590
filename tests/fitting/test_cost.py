"""Every fit knows its cost before it starts: it says so, and what would take days is refused."""

from __future__ import annotations

import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from command import call, environment

from gtpca import GTPCA, Compose, ProbabilisticGTPCA, Rotation, Scaling, Shift
from gtpca.data.chunks import as_chunks
from gtpca.fitting import cost
from gtpca.fitting.wording import spoken_time
from gtpca.solvers.base import Problem


def samples(n=200, size=400, seed=0):
    """Bumps at random places, in noise."""
    rng = np.random.default_rng(seed)
    X = 0.5 * rng.standard_normal((n, size))
    for x, start in zip(X, rng.integers(size - 32, size=n), strict=True):
        x[start : start + 32] += 3 * np.hanning(32)
    return X


IMAGES = samples(200, 400).reshape(200, 20, 20)
FACTORS = np.geomspace(0.8, 1.25, 5)
KINDS = {
    "fft": (Shift(64), samples(), 2),
    "bank": (Rotation(72), IMAGES, 2),
    "composed": (Compose(Shift((14, 14)), Rotation(8)), IMAGES[:60], 1),
    "scaled": (Compose(Shift(64), Scaling(FACTORS)), samples(60, 300), 1),
}


@pytest.fixture
def any_fit(monkeypatch):
    """Every fit is worth a guess, and said."""
    for name in ("WORTH", "TOLD", "WARNED"):
        monkeypatch.setattr(cost, name, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_guess_is_right_up_to_a_factor_of_four(kind, any_fit):
    """Of three tries, since another process may take the time of one."""
    family, X, k = KINDS[kind]
    ratios = []
    for _ in range(3):
        operator = family.bind(X.shape[1:])
        problem = Problem(as_chunks(X.reshape(len(X), -1), operator))
        seconds = cost.guess_components(problem, k, 16).seconds
        begun = time.process_time()  # other processes are no matter of a guess
        with warnings.catch_warnings(action="ignore"):
            GTPCA(k, family, random_state=0).fit(X)
        ratios.append(seconds / (time.process_time() - begun))
        if 1 / 4 < ratios[-1] < 4:
            break
    assert 1 / 4 < ratios[-1] < 4, ratios


@pytest.mark.parametrize("make", [GTPCA, ProbabilisticGTPCA])
def test_a_long_fit_is_said_before_it_starts(make, any_fit):
    with pytest.warns(UserWarning, match="337 transforms of 40 rows: this fit will take about"):
        make(1, Shift(64), random_state=0).fit(samples(40))


MILLIONS = """
import warnings
import numpy as np
from gtpca import GTPCA, Compose, Rotation, Scaling, Shift
warnings.filterwarnings("error", ".*transforms of 40 rows")
X = np.random.default_rng(0).standard_normal((40, 28, 28))
scaled = Scaling(np.geomspace(0.8, 1.25, 20), axes=(0, 1))
try:
    GTPCA(1, Compose(Shift((8, 8)), Rotation(360), scaled), random_state=0).fit(X)
except UserWarning as said:
    print(said)
"""


def test_millions_of_transforms_do_not_work_in_silence():
    """A warning, or nothing for many minutes."""
    how = {"env": environment(), "capture_output": True, "text": True, "check": True}
    done = subprocess.run([sys.executable, "-c", MILLIONS], timeout=150, **how)
    assert done.stdout.startswith("3,175,200 transforms of 40 rows: this fit will take about ")


def test_a_short_fit_measures_and_says_nothing(monkeypatch):
    monkeypatch.setattr(cost, "_pass_time", None)  # would fail if it was called
    with warnings.catch_warnings(action="error"):
        GTPCA(1, Shift(10), random_state=0).fit(samples(50, 40))


def test_what_takes_seconds_is_logged(any_fit, monkeypatch, caplog):
    monkeypatch.setattr(cost, "WARNED", 1e9)
    with caplog.at_level("DEBUG", "gtpca"):
        GTPCA(1, Shift(64), random_state=0).fit(samples())
    assert "this fit will take about" in caplog.records[0].getMessage()


@pytest.mark.parametrize("make", [GTPCA, ProbabilisticGTPCA])
def test_what_takes_days_is_refused_with_the_way_out(make, any_fit, monkeypatch):
    monkeypatch.setenv(cost.MAX_HOURS, "1e-9")
    family = Compose(Shift((14, 14)), Rotation(8))
    text = (
        "392 transforms of 200 rows.*1e-09 hours are allowed. A larger step or a smaller max_shift "
        "of Shift .* Fewer angles of Rotation .* GTPCA_MAX_HOURS=1000 in the environment"
    )
    with pytest.raises(ValueError, match=text):
        make(1, family).fit(IMAGES)
    monkeypatch.setenv(cost.MAX_HOURS, "1000")
    with pytest.warns(UserWarning, match="this fit will take"):
        make(1, family, random_state=0).fit(IMAGES[:8])
    monkeypatch.setenv(cost.MAX_HOURS, "soon")
    with pytest.raises(ValueError, match="GTPCA_MAX_HOURS='soon' in the environment must be"):
        make(1, family).fit(IMAGES)


def test_the_command_refuses_in_one_line(any_fit, monkeypatch, tmp_path, capsys):
    pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
    pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')
    monkeypatch.setenv(cost.MAX_HOURS, "1e-9")
    np.save(tmp_path / "a.npy", samples())
    words = ("fit", tmp_path / "a.npy", "-o", tmp_path / "a.gtpca", "--family", "shift(64)")
    assert call(capsys, *words).refused("337 transforms of 200 rows", "GTPCA_MAX_HOURS=1000")


def test_times_are_said_in_units_that_fit():
    said = [spoken_time(seconds) for seconds in (12.3, 119, 121, 7100, 7300)]
    assert said == ["12 seconds", "119 seconds", "2 minutes", "118 minutes", "2 hours"]
