"""The page of a model with a likelihood in a browser, on screens of three widths."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')
pytest.importorskip("selenium", reason="needs selenium: make setup")

from selenium.webdriver import Keys
from test_browser import drawn, find, pytestmark, show_on, told, wait  # noqa: F401
from test_page_density import beats, fitted

from gtpca import Rotation
from gtpca.page import write_page

IMAGES = np.abs(np.random.default_rng(0).standard_normal((20, 6, 6)))
KINDS = {
    "pattern": lambda: fitted(0),
    "two": lambda: fitted(2, X=beats(size=0.5), shrink=False),  # poses are not quite sure
    "images": lambda: fitted(1, Rotation(4), IMAGES, shrink=False),
}


@pytest.fixture(scope="module")
def shown(browser, tmp_path_factory):
    """Open the page of a kind of model; returns model and rows."""
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def made(kind):
        model, X = KINDS[kind]()
        return model, X, write_page(model, X, folder / f"{kind}.html", check=False)

    def show(kind):
        model, X, path = made(kind)
        show_on(browser, 1000)
        browser.get_log("browser")
        browser.get(path.as_uri())
        wait(browser, "return document.body.dataset.ready === 'yes'")
        return model, X

    return show


RIGHTMOST = (
    "return Math.max(document.documentElement.scrollWidth, ...Array.from("
    "document.querySelectorAll('canvas, .plot, input, select, button'),"
    " (e) => Math.floor(e.getBoundingClientRect().right)))"
)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_leaves_the_page(kind, browser, shown):
    shown(kind)
    for width in (400, 1000, 1900):
        show_on(browser, width)
        before = drawn(browser, "sample-view")
        find(browser, "#next").click()
        assert drawn(browser, "sample-view") != before
        wait(browser, f"{RIGHTMOST} <= {width}")  # charts follow the width a moment later
    assert browser.get_log("browser") == []


def test_pattern_and_components_have_a_card_each(browser, shown):
    model, X = shown("two")
    names = [card.text for card in browser.find_elements("css selector", "#components h3")]
    assert names == ["Pattern", "Component 1", "Component 2"]
    line = browser.execute_script(
        "return Array.from(document.querySelector('#components .view').data[0].y)"
    )
    np.testing.assert_allclose(line, model.mean_pattern_, atol=1e-3)
    x = browser.execute_script("return Array.from(document.getElementById('energy').data[0].x)")
    assert x == [0, 1, 2]
    poses_are_told_with_their_doubts(browser, model, X)
    parts_and_sliders_have_the_pattern(browser, model, X)


def poses_are_told_with_their_doubts(browser, model, X):
    find(browser, "#next").click()
    number = told(browser)
    found = model.pose_posterior(X[number : number + 1])
    said = find(browser, "#told").text
    assert f"Its pose has probability {100 * found.probability[0, 0]:.1f} %" in said
    place, spread = find(browser, "#codes tr td:last-child").text.split(" ± ")
    assert float(place) == found.poses["centre"][0, 0]
    np.testing.assert_allclose(float(spread), found.std["centre"][0], rtol=0.06)
    find(browser, "#axis-y").send_keys("pose probability")
    (values,) = drawn(browser, "scatter")
    np.testing.assert_allclose(values, model.pose_posterior(X).probability[:, 0], rtol=1e-6)
    header = browser.execute_script("return scoreTable().split('\\n')[0]").split(",")
    assert header[-4:] == ["centre std", "pose probability", "log likelihood", "explained share"]


def parts_and_sliders_have_the_pattern(browser, model, X):
    find(browser, "#zero").click()
    wanted = model.inverse_transform(np.zeros((1, 2)))[0]
    np.testing.assert_allclose(drawn(browser, "built")[0], wanted, atol=1e-3)
    find(browser, "#parts").send_keys(Keys.SPACE)
    names = browser.execute_script(
        "return document.getElementById('sample-view').data.map((t) => t.name)"
    )
    assert names[2:] == ["pattern", "component 1", "component 2"]
    lines = np.array(drawn(browser, "sample-view"))
    np.testing.assert_allclose(lines[2:].sum(axis=0), lines[1], atol=0.05)
    np.testing.assert_allclose(lines[0], X[told(browser)], atol=1e-3)


def test_a_pattern_alone_has_one_row(browser, shown):
    model, X = shown("pattern")
    cells = find(browser, "#codes tr").text.split()
    place = model.poses(model.encode(X[told(browser)][None]))["centre"][0, 0]
    assert cells[0] == "pattern"
    assert float(cells[1]) == place
    assert find(browser, "#axis-y").get_property("selectedOptions")[0].text == "explained share"
