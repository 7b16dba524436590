"""The page in a browser with names, units and labels: what is drawn is what the model says."""

from __future__ import annotations

import csv
import time

import numpy as np
import pytest
from helpers import QUICK

pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')
pytest.importorskip("selenium", reason="needs selenium: make setup")

from test_browser import browser, find, pytestmark, show_on, wait  # noqa: F401

from gtpca import GTPCA, Shift, labelled
from gtpca.page import write_page
from gtpca.views import palette

RATE, FIRST, COUNT = 100.0, -0.2, 24
AGES, SIDES = np.linspace(20, 43, COUNT), np.array(["left", "right"] * (COUNT // 2))
IDS = [f'P"{i}", x' for i in range(COUNT)]
WIDTHS = (400, 1000, 1900)


def fitted(channels, units):
    """A model of series with a bump, and their rows."""
    rng = np.random.default_rng(0)
    X = 0.05 * rng.standard_normal((COUNT, channels, 50))
    for x, start in zip(X, rng.integers(2, 28, COUNT), strict=True):
        x[:, start : start + 20] += np.hanning(20) * np.linspace(1, 2, channels)[:, None]
    names = [f"E{c + 1}" for c in range(channels)]
    known = labelled(X, rate=RATE, start=FIRST, channels=names) if units else X
    family = Shift(20, axes="time" if units else -1)
    return GTPCA(2, family, solver=QUICK, random_state=0).fit(known), known, X


@pytest.fixture(scope="module")
def shown(browser, tmp_path_factory):  # noqa: F811
    """Open the page of a model; returns the model, its rows, and the browser."""
    folder, made = tmp_path_factory.mktemp("pages"), {}

    def show(channels=1, units=True, width=1000):
        if (channels, units) not in made:
            model, known, X = fitted(channels, units)
            path, labels = folder / f"{channels}-{units}.html", {"side": SIDES, "age": AGES}
            write_page(model, known, path, labels=labels, ids={"subject": IDS})
            made[channels, units] = model, X, path
        model, X, path = made[channels, units]
        show_on(browser, width)
        browser.get_log("browser")
        browser.get(path.as_uri())
        wait(browser, "return document.body.dataset.ready === 'yes'")
        return model, X, browser

    return show


def chart(driver, host):
    """Traces and titles of a chart."""
    return driver.execute_script(
        "const host = document.getElementById(arguments[0]);"
        "const plain = (t) => ({name: t.name, x: Array.from(t.x), y: Array.from(t.y),"
        " z: t.z && t.z.map((row) => Array.from(row)), color: t.marker && t.marker.color,"
        " line: t.line && t.line.color});"
        "return {data: host.data.map(plain), x: host.layout.xaxis.title.text};",
        host,
    )


@pytest.mark.parametrize(
    ("channels", "units", "width"),
    [*((c, True, width) for c in (1, 64) for width in WIDTHS), (1, False, 400), (64, False, 1900)],
)
def test_nothing_leaves_the_page(channels, units, width, shown):
    _, _, driver = shown(channels, units, width)
    assert driver.get_log("browser") == []
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    assert driver.execute_script(
        "return Array.from(document.querySelectorAll('canvas, .plot, input, select, button'))"
        ".every((e) => e.getBoundingClientRect().right <= arguments[0] + 1)",
        width,
    )
    assert chart(driver, "map-after")["x"] == ("time (s)" if units else "point")


@pytest.mark.parametrize(("channels", "units"), [(1, True), (64, False)])
def test_heat_maps_and_averages_are_those_of_the_model(channels, units, shown):
    model, X, driver = shown(channels, units)
    poses = model.poses(model.encode(X))["centre"][:, 0]
    order = np.argsort(poses, kind="stable")
    energy = (model.components_[0].reshape(channels, 20) ** 2).sum(axis=1)
    chosen = np.sort(np.argsort(-energy, kind="stable")[:4])
    if channels > 1:
        find(driver, "#align-channel option:last-child").click()
    c = chosen[-1]
    for when, values in (("before", X), ("after", model.align(X))):
        drawn = chart(driver, f"map-{when}")["data"][0]
        wanted = values[order, c]
        np.testing.assert_allclose(drawn["z"], wanted, atol=np.ptp(wanted) / 250)
        mean = chart(driver, f"mean-{when}")["data"][0]
        np.testing.assert_allclose(mean["y"], values[:, c].mean(axis=0), atol=1e-5)
        first = (FIRST if units else 0) if when == "before" else mean["x"][0]
        places = first + np.arange(len(mean["x"])) / (RATE if units else 1)
        np.testing.assert_allclose(mean["x"], places, atol=1e-5)


def test_parts_of_a_sample_have_the_colours_of_components(shown):
    model, X, driver = shown()
    before = chart(driver, "sample-view")["data"]
    find(driver, "#parts").click()
    drawn = chart(driver, "sample-view")
    assert [trace["name"] for trace in drawn["data"][2:]] == ["component 1", "component 2"]
    assert [trace["line"] for trace in drawn["data"][2:]] == list(palette.CYCLE[:2])
    assert drawn["x"] == "time (s)"
    parts = np.array([trace["y"] for trace in drawn["data"][2:]])
    np.testing.assert_allclose(parts.sum(axis=0), before[1]["y"], atol=0.02)
    np.testing.assert_allclose(before[1]["y"], model.reconstruct(X)[0, 0], atol=1e-3)
    find(driver, "#parts").click()
    assert len(chart(driver, "sample-view")["data"]) == 2


def test_parts_of_pictures_come_and_go(shown):
    _, _, driver = shown(64)
    count = "return document.querySelectorAll('#sample-view figure').length"
    assert driver.execute_script(count) == 3
    find(driver, "#parts").click()
    assert driver.execute_script(count) == 5
    find(driver, "#parts").click()
    assert driver.execute_script(count) == 3


def test_a_quantity_has_a_colour_scale(shown):
    _, _, driver = shown()
    assert [trace["name"] for trace in chart(driver, "scatter")["data"]] == ["left", "right"]
    find(driver, "#colour option:last-child").click()
    (trace,) = chart(driver, "scatter")["data"]
    np.testing.assert_allclose(trace["color"], AGES, rtol=1e-6)
    title = "return document.getElementById('scatter').data[0].marker.colorbar.title.text"
    assert driver.execute_script(title) == "age"


def test_a_sample_is_told_by_id_and_labels(shown):
    _, _, driver = shown()
    find(driver, "#next").click()
    said = find(driver, "#told").text
    assert said.startswith('Sample 1 (subject P"1", x), side right, age 21.0:')


def test_scores_can_be_downloaded(shown, tmp_path):
    model, X, driver = shown()
    how = {"behavior": "allow", "downloadPath": str(tmp_path)}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", how)
    find(driver, "#download").click()
    for _ in range(100):
        if (tmp_path / "scores.csv").exists():
            break
        time.sleep(0.1)
    with open(tmp_path / "scores.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["subject"] for row in rows] == IDS
    assert [row["side"] for row in rows] == SIDES.tolist()
    codes = model.encode(X)
    for k in range(2):
        found = [float(row[f"gtpca{k}"]) for row in rows]
        np.testing.assert_allclose(found, codes.scores[:, k], rtol=1e-5)
        found = [float(row[f"gtpca{k} centre (s)"]) for row in rows]
        np.testing.assert_allclose(found, model.poses(codes)["centre"][:, k], atol=1e-6)
    assert driver.get_log("browser") == []
