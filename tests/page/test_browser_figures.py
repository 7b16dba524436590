"""Figures of the page in a browser: zoomed by mouse, fingers and keys, and saved as files."""

from __future__ import annotations

import re
import time
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')
pytest.importorskip("selenium", reason="needs selenium: make setup")
pytest.importorskip("matplotlib", reason='needs matplotlib: pip install "gtpca[plot]"')

from matplotlib import image
from selenium.webdriver import ActionChains, Keys
from test_browser import HOSTILE, find, pixels, pytestmark, wait  # noqa: F401

SVG = "{http://www.w3.org/2000/svg}"
BACK, OUT, IN, SAVE = (f".tools button:nth-child({i})" for i in (1, 2, 3, 4))
PART = "return document.querySelector(arguments[0]).figure.part"
SHOWN = """
const { xaxis, yaxis } = document.querySelector(arguments[0])._fullLayout;
return { x: xaxis.range, y: yaxis.range };
"""
BOX = "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()"
CENTRED = "arguments[0].scrollIntoView({block: 'center'})"
CARD = "#components .card:first-child "


def tool(driver, host, which):
    """A button of the frame around an element."""
    frame = find(driver, host).find_element("xpath", "./..")
    return frame.find_element("css selector", which)


def press(driver, host, *which):
    for each in which:
        button = tool(driver, host, each)
        driver.execute_script(CENTRED, button)
        button.click()


def saved(driver, host, folder):
    """Save a figure; the path of the file once it is complete."""
    download_to(driver, folder)
    press(driver, host, SAVE)
    return file_in(folder)


def download_to(driver, folder):
    folder.mkdir(exist_ok=True)
    how = {"behavior": "allow", "downloadPath": str(folder)}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", how)


def file_in(folder):
    """The drawing or picture that is about to appear in a folder."""
    for _ in range(200):
        done = [path for path in folder.iterdir() if path.suffix in (".svg", ".png")]
        if done:
            return done[0]
        time.sleep(0.05)
    raise AssertionError("no file")


def line_in(svg, trace=0):
    """Points of a line of a drawing, (2, n), and all its texts."""
    root = ElementTree.parse(svg).getroot()
    assert root.tag == f"{SVG}svg"
    paths = [p for p in root.iter(f"{SVG}path") if "js-line" in p.get("class", "")]
    points = [pair.split(",") for pair in paths[trace].get("d")[1:].split("L")]
    return np.array(points, float).T, [text.text for text in root.iter(f"{SVG}text")]


def test_a_chart_is_saved_as_a_drawing_of_its_values(browser, opened, tmp_path):
    model, _ = opened("series")
    path = saved(browser, f"{CARD}.view", tmp_path)
    assert path.name == "component-1.svg"
    (x, y), texts = line_in(path)
    w = model.components_[0]
    drawn = np.interp(np.linspace(x[0], x[-1], len(w)), x, y)
    slope, offset = np.polyfit(w, drawn, 1)
    assert slope < 0  # screens count from the top
    np.testing.assert_allclose(slope * w + offset, drawn, atol=0.5)  # half a point of the screen
    assert {"0", "5", "10"} <= set(texts)
    assert browser.get_log("browser") == []


def test_a_zoomed_chart_is_saved_as_it_is_shown(browser, opened, tmp_path):
    opened("series")
    press(browser, "#sample-view", IN, IN, IN)
    low, high = browser.execute_script(SHOWN, "#sample-view")["x"]
    path = saved(browser, "#sample-view", tmp_path)
    assert path.name == "sample-0.svg"
    texts = line_in(path)[1]
    assert {"point", "sample", "reconstruction"} <= set(texts)
    ticks = [float(text) for text in texts if re.fullmatch(r"\d\d", text)]
    assert ticks
    assert all(low <= tick <= high for tick in ticks)


def test_saved_drawings_hold_labels_as_text_and_heat_maps_as_pictures(browser, opened, tmp_path):
    opened("series", labels=[HOSTILE, "fine"] * 30)
    root = ElementTree.parse(saved(browser, "#scatter", tmp_path)).getroot()
    assert HOSTILE in {"".join(text.itertext()) for text in root.iter(f"{SVG}text")}
    assert not list(root.iter(f"{SVG}script"))
    assert not list(root.iter(f"{SVG}image"))
    assert len([p for p in root.iter(f"{SVG}path") if "point" in p.get("class", "")]) == 60
    root = ElementTree.parse(saved(browser, "#map-after", tmp_path / "map")).getroot()
    (drawn,) = root.iter(f"{SVG}image")
    links = [value for name, value in drawn.attrib.items() if name.endswith("href")]
    assert links[0].startswith("data:image/png;base64,")


def centres(png, shape):
    """The colours in the middle of the points of a picture, (*shape, 3)."""
    shown = image.imread(png)[..., :3]
    places = [
        ((np.arange(n) + 0.5) / n * size).astype(int)
        for n, size in zip(shape, shown.shape, strict=False)
    ]
    return 255 * shown[np.ix_(*places)]


def test_a_picture_is_saved_with_its_colours_as_it_is_shown(browser, opened, tmp_path):
    opened("images")
    path = saved(browser, f"{CARD}.view", tmp_path)
    assert path.name == "component-1.png"
    wanted = pixels(browser, f"{CARD}canvas")
    np.testing.assert_allclose(centres(path, (8, 8)), wanted, atol=1)
    assert image.imread(path).shape[1] >= 1200
    browser.execute_script(
        "zoomTo(document.querySelector(arguments[0]).figure, { x: [.5, 1], y: [.25, .75] })",
        f"{CARD}.view",
    )
    path = saved(browser, f"{CARD}.view", tmp_path / "zoomed")
    np.testing.assert_allclose(centres(path, (4, 4)), wanted[2:6, 4:], atol=1)
    assert browser.get_log("browser") == []


def test_three_pictures_are_one_file_with_captions(browser, opened, tmp_path):
    opened("images")
    shown = image.imread(saved(browser, "#sample-view", tmp_path))
    rows = np.flatnonzero((shown[..., :3] < 0.9).any(axis=(1, 2)))
    box = find(browser, "#sample-view").rect
    picture = find(browser, "#sample-view .window").rect
    assert shown.shape[1] / shown.shape[0] == pytest.approx(box["width"] / box["height"], rel=0.01)
    assert rows[-1] > shown.shape[0] * (picture["height"] + 3) / box["height"]  # letters below


def test_buttons_zoom_charts_and_lead_back(browser, opened):
    opened("series")
    for host, plane in (("#scatter", True), ("#map-before", True), (f"{CARD}.view", False)):
        whole = browser.execute_script(SHOWN, host)
        assert not tool(browser, host, BACK).is_displayed()
        assert not tool(browser, host, OUT).is_enabled()
        press(browser, host, IN, IN)
        near = browser.execute_script(SHOWN, host)
        for axis, factor in (("x", 1.6**2), ("y", 1.6**2 if plane else 1)):
            np.testing.assert_allclose(np.diff(near[axis]), np.diff(whole[axis]) / factor)
            np.testing.assert_allclose(np.mean(near[axis]), np.mean(whole[axis]), atol=1e-6)
        press(browser, host, OUT, OUT)
        assert browser.execute_script(SHOWN, host) == whole
        press(browser, host, IN, BACK)
        assert browser.execute_script(SHOWN, host) == whole
        assert not tool(browser, host, BACK).is_displayed()


def test_the_mouse_draws_what_is_zoomed_and_a_double_click_leads_back(browser, opened):
    opened("series")
    host = find(browser, "#sample-view")
    whole = browser.execute_script(SHOWN, "#sample-view")
    browser.execute_script(CENTRED, host)
    mouse = ActionChains(browser).move_to_element_with_offset(host, -50, 0).click_and_hold()
    mouse.move_by_offset(60, 0).move_by_offset(60, 2).release().perform()
    near = browser.execute_script(SHOWN, "#sample-view")["x"]
    width = browser.execute_script("return areaOf(byId('sample-view')).width")
    assert np.diff(near) == pytest.approx(np.diff(whole["x"]) * 120 / width, rel=0.02)
    assert tool(browser, "#sample-view", BACK).is_displayed()
    find(browser, "#next").click()  # the part stays when another sample is shown
    np.testing.assert_allclose(browser.execute_script(SHOWN, "#sample-view")["x"], near)
    ActionChains(browser).move_to_element(host).double_click().perform()
    wait(browser, "return !isZoomed(byId('sample-view').figure)")
    assert browser.execute_script(SHOWN, "#sample-view")["x"] == whole["x"]


def test_other_axes_of_the_scatter_are_shown_in_full(browser, opened):
    opened("series")
    press(browser, "#scatter", IN, IN)
    find(browser, "#axis-y").send_keys("sample number")
    low, high = browser.execute_script(SHOWN, "#scatter")["y"]
    assert low < 0 < 59 < high
    assert not tool(browser, "#scatter", BACK).is_displayed()


def test_keys_zoom_move_and_save(browser, opened, tmp_path):
    opened("series")
    host = "#energy"
    whole = browser.execute_script(SHOWN, host)["x"]
    frame = find(browser, host).find_element("xpath", "./..")
    frame.send_keys("++")
    near = browser.execute_script(SHOWN, host)["x"]
    frame.send_keys(Keys.ARROW_RIGHT)
    moved = browser.execute_script(SHOWN, host)["x"]
    np.testing.assert_allclose(np.subtract(moved, near), 0.2 * np.diff(near).repeat(2))
    frame.send_keys(Keys.ARROW_RIGHT * 20)
    assert browser.execute_script(SHOWN, host)["x"][1] == pytest.approx(whole[1])
    frame.send_keys("0")
    assert browser.execute_script(SHOWN, host)["x"] == whole
    scatter = find(browser, "#scatter")
    told = find(browser, "#told").text
    scatter.send_keys("+")
    before = browser.execute_script(SHOWN, "#scatter")["y"]
    scatter.send_keys(Keys.SHIFT, Keys.ARROW_UP)
    assert browser.execute_script(SHOWN, "#scatter")["y"][0] > before[0]
    assert find(browser, "#told").text == told
    download_to(browser, tmp_path)
    frame.send_keys("s")
    name = "explained-share-over-the-number-of-components.svg"
    assert file_in(tmp_path).name == name


def test_pictures_are_zoomed_together_by_the_mouse(browser, opened):
    opened("images")
    host = find(browser, "#sample-view")
    second = find(browser, "#sample-view figure:nth-child(2) .window")
    browser.execute_script(CENTRED, host)
    size = second.rect["width"]
    mouse = ActionChains(browser)
    mouse.move_to_element_with_offset(second, round(size / 4), round(-size / 4)).double_click()
    mouse.perform()
    part = browser.execute_script(PART, "#sample-view")
    np.testing.assert_allclose([part["x"], part["y"]], [[0.5625, 0.8125]] * 2, atol=0.02)
    for number in (1, 2, 3):
        canvas, opening = (
            browser.execute_script(BOX, f"#sample-view figure:nth-child({number}) {part_of}")
            for part_of in ("canvas", ".window")
        )
        assert canvas["width"] == pytest.approx(4 * (opening["width"] - 2), abs=1)
        left = opening["x"] + 1 - canvas["x"]
        assert left / canvas["width"] == pytest.approx(part["x"][0], abs=0.01)
        above = opening["y"] + 1 - canvas["y"]
        assert above / canvas["height"] == pytest.approx(1 - part["y"][1], abs=0.01)
    mouse = ActionChains(browser).move_to_element(second).click_and_hold()
    mouse.move_by_offset(round(size / 4), 0).release().perform()
    moved = browser.execute_script(PART, "#sample-view")
    assert moved["x"][0] == pytest.approx(part["x"][0] - 0.0625, abs=0.01)
    assert moved["y"] == part["y"]
    ActionChains(browser).move_to_element(second).double_click().perform()
    assert browser.execute_script(PART, "#sample-view") == {}


def test_ends_of_rows_are_those_of_what_is_shown(browser, opened):
    opened("electrodes")
    ends = "return Array.from(document.querySelectorAll('#sample-view .ends'), (e) => e.innerText)"
    assert {text.split()[0] for text in browser.execute_script(ends)} == {"0"}
    browser.execute_script("zoomTo(byId('sample-view').figure, {x: [.25, .75], y: [.25, .75]})")
    assert [text.split() for text in browser.execute_script(ends)] == [["5", "point", "14"]] * 3
    find(browser, "#next").click()
    assert [text.split() for text in browser.execute_script(ends)] == [["5", "point", "14"]] * 3
    press(browser, "#sample-view", BACK)
    assert [text.split() for text in browser.execute_script(ends)] == [["0", "point", "19"]] * 3


def touch(driver, kind, *places):
    points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(places)]
    driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


@pytest.mark.parametrize(("kind", "host"), [("series", "#built"), ("images", "#built")])
def test_two_fingers_zoom_and_one_moves(kind, host, browser, opened):
    opened(kind, width=390, touch=True)
    browser.execute_script(CENTRED, find(browser, host))
    left, top, width, height = browser.execute_script(
        "const host = byId('built'), a = host.figure.area(host);"
        "return [a.left, a.top, a.width, a.height]"
    )
    x, y = left + width / 2, top + height / 2
    down = browser.execute_script("return scrollY")
    touch(browser, "touchStart", (x - 20, y))
    touch(browser, "touchStart", (x - 20, y), (x + 20, y))
    for far in (25, 30, 35, 40):
        touch(browser, "touchMove", (x - far, y), (x + far, y))
    touch(browser, "touchEnd")
    (name, part), *_ = sorted(browser.execute_script(PART, host).items())
    assert name in ("x", "xaxis")
    np.testing.assert_allclose(part, [0.25, 0.75], atol=0.01)
    touch(browser, "touchStart", (x, y))
    for far in (10, 20, 30, 40):
        touch(browser, "touchMove", (x + far, y))
    touch(browser, "touchEnd")
    moved = browser.execute_script(PART, host)[name]
    np.testing.assert_allclose(moved, np.array(part) - 0.5 * 40 / width, atol=0.03)
    assert browser.execute_script("return scrollY") == down
    assert browser.get_log("browser") == []


def test_the_wheel_zooms_with_control_only(browser, opened):
    opened("images")
    host = find(browser, "#built")
    browser.execute_script(CENTRED, host)
    ActionChains(browser).scroll_by_amount(0, 0).perform()
    where = {"x": host.rect["x"] + 200, "y": 450, "deltaX": 0, "type": "mouseWheel"}
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", {**where, "deltaY": 20})
    assert browser.execute_script(PART, "#built") == {}
    browser.execute_script(CENTRED, host)
    wheel = {**where, "deltaY": -50, "modifiers": 2}
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", wheel)
    wait(browser, "return isZoomed(byId('built').figure)")
    part = browser.execute_script(PART, "#built")["x"]
    assert np.diff(part) == pytest.approx(np.exp(-0.5), rel=1e-3)
