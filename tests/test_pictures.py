"""Pictures of the pages are what their scripts draw; those of examples: tests/test_examples.py."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from pictures import IMAGES, LARGEST_SHARE, assert_fresh, differing

DOCS = Path(__file__).parents[1] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not installed")


@pytest.mark.parametrize("name", ["events", "family", "noise", "power", "start", "timing"])
def test_the_pictures_are_those_of_the_script(name, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="pictures need it: gtpca[plot]")
    if name == "start":
        pytest.importorskip("skimage", reason="the galaxies come with scikit-image")
    monkeypatch.setattr(pyplot, "show", lambda *args, **kwargs: None)
    runpy.run_path(str(DOCS / f"draw_{name}.py"))["main"](tmp_path)
    pyplot.close("all")
    assert_fresh(tmp_path)


def test_every_picture_has_its_script():
    text = "\n".join(path.read_text() for path in [*DOCS.glob("draw_*.py"), *DOCS.glob("*.md")])
    for path in IMAGES.glob("*.png"):
        assert f"{path.stem}.png" in text


def test_another_curve_is_another_picture(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="pictures need it: gtpca[plot]")
    x = np.linspace(0, 6, 200)
    for name, y in (("a", np.sin(x)), ("b", np.sin(x) + 1e-9), ("c", -np.sin(x))):
        fig, ax = pyplot.subplots(figsize=(4, 3))
        ax.plot(x, y)
        fig.savefig(tmp_path / f"{name}.png")
    pyplot.close("all")
    a, b, c = (tmp_path / f"{name}.png" for name in "abc")
    assert differing(a, b) <= LARGEST_SHARE < differing(a, c)
