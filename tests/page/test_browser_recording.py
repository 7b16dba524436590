"""The page of a recording in a real browser, at three widths."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import samples

pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')
pytest.importorskip("selenium", reason="needs selenium: make setup")

from test_browser import find, show_on, wait

from gtpca import EventGTPCA, Shift
from gtpca.page import write_page

pytestmark = pytest.mark.skipif(
    not (shutil.which("chromedriver") and shutil.which("chromium")),
    reason="no chromium and chromedriver: make browser (Debian, as root)",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    y = samples.recording()
    y[3000:3050] = np.nan
    y[200:230] += np.sin(np.arange(30))
    y[1800:1830] += np.sin(np.arange(30))
    Y = np.stack([y, -y], axis=1)
    model = EventGTPCA(2, Shift(20), rate=100, counts=False, random_state=0).fit(Y)
    path = write_page(model, Y, tmp_path_factory.mktemp("page") / "p.html")
    return model, Y, model.encode(Y), path


def opened(browser, made, width):
    show_on(browser, width)
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(made[3].as_uri())
    wait(browser, "return document.body.dataset.ready === 'yes'")


@pytest.mark.parametrize("width", [400, 1000, 1900])
def test_it_fits_and_says_nothing(browser, made, width):
    opened(browser, made, width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.get_log("browser") == []
    charts = browser.execute_script("return document.querySelectorAll('.js-plotly-plot').length")
    assert charts == 8  # overview, trace, two templates, amplitudes, intervals, two of a pile


def test_controls_move_what_is_seen(browser, made):
    model, Y, events, _ = made
    opened(browser, made, 1280)
    marks = "return document.getElementById('trace').data.filter(d => d.mode === 'markers')"
    found = browser.execute_script(marks + ".flatMap(d => d.x)")
    first = max(0, events.start[0] - 20)
    seen = events[(events.start >= first) & (events.start < first + 24 * 20)]
    np.testing.assert_allclose(np.sort(found), np.sort(model.poses(seen)["peak"]), rtol=1e-6)
    drawn = np.array(browser.execute_script("return document.getElementById('trace').data[0].y"))
    level = np.nanmedian(Y[:, 0])
    np.testing.assert_allclose(drawn.astype(float), Y[first : first + 480, 0] - level, atol=1e-4)
    find(browser, "#later").click()
    assert find(browser, "#told").text.startswith(f"{(first + 384) / 100:g} to")
    find(browser, "#next-event").click()
    find(browser, "#least").click()
    assert "event" in find(browser, "#told").text
    browser.execute_script(
        "const c = document.getElementById('channel'); c.value = '1';"
        "c.dispatchEvent(new Event('change'))"
    )
    place = browser.execute_script("return document.getElementById('trace').data[0].x[0]")
    at = round(place * 100)
    drawn = browser.execute_script("return document.getElementById('trace').data[0].y.slice(0, 9)")
    expected = Y[at : at + 9, 1] - np.nanmedian(Y[:, 1])
    np.testing.assert_allclose(np.array(drawn, float), expected, atol=1e-4)
    assert browser.get_log("browser") == []
