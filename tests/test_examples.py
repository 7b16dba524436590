"""Every example runs, draws and prints."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest
from pictures import IMAGES, assert_fresh

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"), key=lambda path: path.stem)


@pytest.fixture
def pyplot(monkeypatch):
    """pyplot that shows nothing and forgets its figures."""
    matplotlib = pytest.importorskip("matplotlib", reason="the examples draw: gtpca[plot]")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.setattr(pyplot, "show", lambda *args, **kwargs: None)
    yield pyplot
    pyplot.close("all")


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, pyplot, capsys, request, tmp_path):
    source = path.read_text(encoding="utf-8")
    if "fetch_" in source:
        request.getfixturevalue("data_home")
    if lacks := runpy.run_path(str(ROOT / "docs" / "_extensions" / "pages.py"))["missing"](source):
        pytest.skip(f"needs {', '.join(lacks)}")
    names = runpy.run_path(str(path), run_name="__main__")
    assert pyplot.get_fignums(), "drew nothing"
    pages = runpy.run_path(str(ROOT / "docs" / "_extensions" / "pages.py"))
    if pages["pictures_of"](path.stem):  # of data that the site may not have
        (tmp_path / "kept").mkdir()
        runpy.run_path(str(ROOT / "docs" / "draw_examples.py"))["save"](
            path.stem, tmp_path / "kept"
        )
        assert_fresh(tmp_path / "kept", IMAGES / "examples")
    if "drawn" in names:  # the pictures of docs/plots.md, as they are when they are first drawn
        runpy.run_path(str(ROOT / "docs" / "draw_plots.py"))["save"](names["drawn"], tmp_path)
    for number in pyplot.get_fignums():
        pyplot.figure(number).canvas.draw()
    said = capsys.readouterr().out
    assert any(c.isdigit() for c in said), "printed no number"
    figures = runpy.run_path(str(ROOT / "docs" / "figures.py"))
    if path.stem in figures["SOURCES"]:
        stale = [fault for one in figures["figures"](path.stem, said) for fault in one.stale()]
        assert not stale, "\n".join(stale)
    if path.stem == "plot_layer_classifier":
        pca, fixed, trained = (float(line.split()[-1]) for line in said.splitlines())
        assert pca < fixed < trained
    if "drawn" in names:
        assert_fresh(tmp_path, IMAGES / "plots")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_has_a_title(path):
    source = path.read_text(encoding="utf-8")
    title, underline = ast.get_docstring(ast.parse(source)).splitlines()[:2]
    assert underline == "=" * len(title)
    assert len(source.splitlines()) < 130
    assert "# %%" in source
