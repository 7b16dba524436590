"""Five tasks, solved by calls that the site shows: docs/five_tasks.py."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from gtpca import EventGTPCA, Shift
from gtpca.datasets import fetch_ecg, random_rotation

DOCS = Path(__file__).parents[1] / "docs"
SCRIPT = DOCS / "five_tasks.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="the documentation is not installed")


@pytest.fixture(scope="module")
def tasks():
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def writers():
    return runpy.run_path(str(DOCS / "five_files.py"))["WRITERS"]


def correlation(a, b):
    return np.corrcoef(a, b)[0, 1]


def test_latencies_of_epochs(tasks, writers, tmp_path):
    pytest.importorskip("mne", reason="epochs need mne: gtpca[eeg]")
    starts = writers["oddball"](tmp_path, np.random.default_rng(0))
    assert correlation(tasks["latencies"](tmp_path), starts) > 0.99


def test_the_window_of_a_table(tasks, writers, tmp_path):
    writers["wide"](tmp_path, np.random.default_rng(0))
    assert 14 <= tasks["best_window"](tmp_path) <= 25  # the bump has 20 points, its ends near zero


def test_templates_of_a_recording(tasks, tmp_path):
    rng, shape = np.random.default_rng(0), np.sin(np.arange(50) / 4) * np.hanning(50)
    recording = 0.1 * rng.standard_normal(20_000)
    onsets = np.arange(200, 19_800, 137) + rng.integers(40, size=144)[:144]
    for onset in onsets:
        recording[onset : onset + 50] += shape
    np.save(tmp_path / "recording.npy", recording)
    found, times = tasks["templates"](tmp_path)
    assert np.abs(np.correlate(found, shape, "full")).max() > 0.95 * np.linalg.norm(shape)
    distance = np.abs(times[:, None] - onsets).min(axis=1)
    assert np.mean(distance <= 12) > 0.9


def test_angles_of_pictures(tasks, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="pictures need pillow: gtpca[io]")
    threes = load_digits().images[load_digits().target == 3][:60] / 16
    turned, degrees = random_rotation(threes, angles=24, random_state=0)
    (tmp_path / "cells").mkdir()
    for i, picture in enumerate(turned):
        pixels = (255 * picture.clip(0, 1)).astype(np.uint8)
        image.fromarray(pixels).save(tmp_path / "cells" / f"{i:02d}.png")
    gap = np.exp(1j * np.deg2rad(tasks["angles"](tmp_path) - degrees))
    off = np.rad2deg(np.angle(gap / np.exp(1j * np.angle(gap.mean()))))
    assert np.median(np.abs(off)) <= 15


def test_a_family_of_your_own(tasks, tmp_path):
    rng = np.random.default_rng(0)
    slopes = rng.choice(np.linspace(-1.5, 1.5, 13), size=100)
    pattern = 1 + np.sin(np.arange(60) / 3) ** 2
    X = pattern * (1 + slopes[:, None] * np.linspace(-0.5, 0.5, 60))
    np.save(tmp_path / "drifts.npy", X + 0.05 * rng.standard_normal(X.shape))
    assert correlation(tasks["own_family"](tmp_path), slopes) > 0.99


def test_beats_of_a_record(data_home):
    """As docs/five-tasks.md says of all half hour, in the first five minutes."""
    ecg = fetch_ecg("100", data_home=data_home)
    lead, rate = ecg.data[:108_000, 0], ecg.sampling_rate
    model = EventGTPCA(1, Shift("0.7s"), rate=rate, counts=False, random_state=0).fit(lead)
    peaks = model.poses(model.encode(lead))["peak"]
    apart = np.abs(peaks[:, None] - ecg.beats[ecg.beats < len(lead)] / rate)
    assert np.mean(apart.min(axis=0) < 0.05) > 0.99
    assert np.mean(apart.min(axis=1) < 0.05) > 0.99


def test_every_call_is_on_the_site():
    pages = [*DOCS.glob("*.md"), *(DOCS / "howto").glob("*.md"), DOCS / "api" / "index.rst"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls}
    options = {keyword.arg for call in calls for keyword in call.keywords}
    plain = {"join", "int", "asarray", "unique", "diags_array", "linspace", "Drift"}
    for name in (names | options) - plain:
        assert re.search(rf"\b{name}\b", text), f"{name} is not on the site"
