"""The page of several kinds in a real browser."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')
pytest.importorskip("selenium", reason="needs selenium: make setup")

from test_browser import find, show_on, wait

from gtpca import MixtureGTPCA, Shift
from gtpca.page import write_page

pytestmark = pytest.mark.skipif(
    not (shutil.which("chromedriver") and shutil.which("chromium")),
    reason="no chromium and chromedriver: make browser (Debian, as root)",
)
SHAPES = np.array([[1, 3, 5, 3, 1], [5, 1, -2, 1, 5]])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((60, 24))
    for i, row in enumerate(X):
        row[i % 20 : i % 20 + 5] += SHAPES[i % 3 // 2]
    X[7] = 0.3 * rng.standard_normal(24)  # of no kind
    model = MixtureGTPCA(2, 1, Shift(5), tol=1e-3, random_state=0).fit(X)
    path = write_page(model, X, tmp_path_factory.mktemp("page") / "p.html")
    return model, X, path


@pytest.mark.parametrize("width", [400, 1900])
def test_it_fits_and_says_nothing(browser, made, width):
    show_on(browser, width)
    browser.get_log("browser")
    browser.get(made[2].as_uri())
    wait(browser, "return document.body.dataset.ready === 'yes'")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.get_log("browser") == []


def test_kinds_have_colours_poses_and_doubts(browser, made):
    model, X, path = made
    show_on(browser, 1280)
    browser.get(path.as_uri())
    wait(browser, "return document.body.dataset.ready === 'yes'")
    kind, share = model.predict(X), model.predict_proba(X)
    drawn = browser.execute_script(
        "return document.getElementById('scatter').data.map(d => [d.name, d.x.length])"
    )
    assert drawn == [[str(g), int(np.sum(kind == g))] for g in (0, 1)]
    find(browser, "#least-sure").click()
    least = int(share.max(axis=1).argmin())
    assert find(browser, "#number").get_attribute("value") == str(least)
    best = kind[least]
    said = f"Kind {best} ({100 * share[least, best]:.1f} %)"
    assert said in find(browser, "#told").text
    browser.execute_script(
        "const list = document.getElementById('pose-component'); list.value = '1';"
        "list.dispatchEvent(new Event('change'))"
    )
    bars = "return document.querySelector('#poses .js-plotly-plot').data[0].y"
    assert sum(browser.execute_script(bars)) == np.sum(kind == 1)
