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

from test_browser import find, pytestmark, show_on, wait  # noqa: F401

from gtpca import GTPCA, Shift, labelled
from gtpca.page import write_page
from gtpca.views import palette

RATE, FIRST, COUNT = 100.0, -0.2, 24
AGES, SIDES = np.linspace(20, 43, COUNT), np.array(["left", "right"] * (COUNT // 2))
IDS = [f'P"{i}", x' for i in range(COUNT)]
WIDTHS = (400, 1000, 1900)
PAGES = [(channels, units) for channels in (1, 64) for units in (True, False)]


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
def shown(browser, tmp_path_factory):
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


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("channels", "units"), PAGES)
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


@pytest.mark.parametrize(("channels", "units"), PAGES)
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


TABLE = """
const cells = (row) => Array.from(row.children, (cell) => cell.textContent);
return [byId("codes-head"), ...byId("codes").children].map(cells);
"""


@pytest.mark.parametrize(("channels", "units"), PAGES)
def test_the_table_of_a_sample_is_that_of_the_model(channels, units, shown):
    model, X, driver = shown(channels, units)
    find(driver, "#next").click()
    head, *rows = driver.execute_script(TABLE)
    assert head == ["component", "score", "centre (s)" if units else "centre"]
    codes = model.encode(X[1:2])
    wanted = [codes.scores[0], model.poses(codes)["centre"][0]]
    numbers = [[float(text.partition(" ± ")[0]) for text in row] for row in rows]
    np.testing.assert_allclose(np.array(numbers)[:, 1:], np.transpose(wanted), rtol=1e-3)


def at_median(model, X, component, points):
    """Where points of a window of 20 lie, in seconds, at the median pose of a component."""
    starts = model.poses(model.encode(X))["start"][:, component]  # in seconds
    return np.median(starts) + points / RATE


PIXELS = """
return Array.from(document.querySelectorAll(arguments[0]), (canvas) => {
  const image = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return [canvas.height, canvas.width, Array.from(image.data)];
});
"""
ENDS = (
    "return Array.from(document.querySelectorAll(arguments[0] + ' .ends span'), (e) => e.innerText)"
)


def pictures(driver, where):
    """The canvases of a part of the page, as darkness (height, width): white is 0."""
    found = driver.execute_script(PIXELS, f"{where} canvas")
    return [
        (255 - np.array(values, float).reshape(h, w, 4)[:, :, :3]).sum(axis=2)
        for h, w, values in found
    ]


@pytest.mark.parametrize("units", [True, False])
def test_pictures_of_channels_are_those_of_the_model_and_say_where_they_lie(units, shown):
    model, X, driver = shown(64, units)
    x, name, step = (FIRST, "time (s)", 1 / RATE) if units else (0, "point", 1)
    for k, dark in enumerate(pictures(driver, "#components")):
        weights = np.abs(model.components_[k])
        assert dark.shape == weights.shape
        assert np.corrcoef(dark.ravel(), weights.ravel())[0, 1] > 0.95
        assert weights.ravel()[dark.argmax()] > 0.95 * weights.max()
    codes = model.encode(X[:1])
    rebuilt = model.decode(codes)[0]
    for dark, values in zip(pictures(driver, "#sample-view"), (X[0], rebuilt), strict=False):
        assert np.corrcoef(dark.ravel(), np.abs(values).ravel())[0, 1] > 0.95
    ends = driver.execute_script(ENDS, "#sample-view figure:first-child")
    assert (ends[1], float(ends[0])) == (name, x)
    assert float(ends[2]) == pytest.approx(x + 49 * step)
    window = driver.execute_script(ENDS, "#components .card:first-child")
    places = at_median(model, X, 0, np.array([0, 19])) if units else [0, 19]
    np.testing.assert_allclose([float(window[0]), float(window[2])], places, atol=1e-9)


@pytest.mark.parametrize("units", [True, False])
def test_curves_of_components_are_those_of_the_model(units, shown):
    model, X, driver = shown(1, units)
    script = (
        "return Array.from(document.querySelectorAll('#components .plot'), (host) =>"
        " [Array.from(host.data[0].x), Array.from(host.data[0].y), host.layout.xaxis.title.text])"
    )
    curves = zip(driver.execute_script(script), model.components_, strict=True)
    for k, ((x, y, title), w) in enumerate(curves):
        np.testing.assert_allclose(y, w[0], atol=np.ptp(w) / 1e4)
        places = at_median(model, X, k, np.arange(20)) if units else np.arange(20)
        np.testing.assert_allclose(x, places, atol=1e-9)
        assert title == ("time (s)" if units else "")


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
    assert not find(driver, "#no-parts").is_displayed()
    assert find(driver, ".tick").text == "what each component adds"
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
