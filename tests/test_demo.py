"""The demonstration, and what the README says of it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from pictures import assert_fresh

from gtpca import demo

README = Path(__file__).parents[1] / "README.md"
NEEDS_MATPLOTLIB = "the figure: pip install gtpca[plot]"


@pytest.fixture(scope="module")
def fitted():
    return demo.run()


def test_gtpca_leaves_less_than_pca(fitted):
    assert fitted.resmse.shape == fitted.pca_resmse.shape == (demo.N_COMPONENTS,)
    assert np.all(fitted.resmse < fitted.pca_resmse / 5)
    assert np.all(np.diff(fitted.resmse) < 0)


def test_errors_of_pca_are_those_of_scikit_learn(fitted):
    rebuilt = fitted.pca.inverse_transform(fitted.pca.transform(fitted.test))
    share = np.sum((fitted.test - rebuilt) ** 2) / np.sum(fitted.test**2)
    assert fitted.pca_resmse[-1] == pytest.approx(share)


def numbers(text):
    """The lines of the table in ``text``: number of components, GT-PCA, PCA."""
    return np.array(re.findall(r"^ +(\d+) +(\d\.\d+) +(\d\.\d+)$", text, re.MULTILINE), dtype=float)


def test_table_shows_the_errors(fitted):
    k, ours, theirs = numbers(demo.table(fitted)).T
    np.testing.assert_array_equal(k, np.arange(1, demo.N_COMPONENTS + 1))
    np.testing.assert_allclose(ours, fitted.resmse, atol=6e-4)
    np.testing.assert_allclose(theirs, fitted.pca_resmse, atol=6e-4)


def test_readme_shows_the_table_of_the_demo(fitted):
    text, table = README.read_text(encoding="utf-8"), demo.table(fitted)
    np.testing.assert_array_equal(numbers(text), numbers(table))
    noise = re.search(r"The noise alone is (\S+) of the energy", table)[1]
    assert f"makes up {noise} of the energy" in text


def test_main_writes_the_figure_without_pyplot_state(tmp_path, monkeypatch, fitted):
    matplotlib = pytest.importorskip("matplotlib", reason=NEEDS_MATPLOTLIB)
    monkeypatch.setattr(demo, "run", lambda: fitted)
    said, before = [], dict(matplotlib.rcParams)
    demo.main(tmp_path / "figure.png", out=said.append)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert said[0] == demo.table(fitted)
    assert "figure.png" in said[1]
    assert dict(matplotlib.rcParams) == before


def test_readme_shows_the_figure_of_the_demo(tmp_path, fitted, monkeypatch):
    pytest.importorskip("matplotlib", reason=NEEDS_MATPLOTLIB)
    monkeypatch.setattr(demo, "run", lambda: fitted)
    demo.main(tmp_path / "demo.png", out=str)
    assert_fresh(tmp_path)


def test_missing_matplotlib_names_the_extra_before_any_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(demo, "run", lambda: pytest.fail("fitted in vain"))
    with pytest.raises(ImportError, match=re.escape('pip install "gtpca[plot]"')):
        demo.main()
