"""The interactive page in a real browser: what is drawn, clicked, typed; what does not happen."""

from __future__ import annotations

import json
import os
import re
import shutil

import numpy as np
import pytest

pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')
pytest.importorskip("selenium", reason="needs selenium: make setup")

os.environ["SE_OFFLINE"] = "true"  # selenium never looks for a driver elsewhere

from selenium.webdriver import ActionChains, Chrome, ChromeOptions, Keys
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.support.ui import WebDriverWait

from gtpca import ALS, GTPCA, Reflection, Rotation, Shift
from gtpca.datasets import make_spikes
from gtpca.page import write_page
from gtpca.views import palette
from gtpca.views.palette import Scale

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no chromium and chromedriver: make browser (Debian, as root)"
)
HOSTILE = '<b>x</b><img src=x onerror="hacked = 1"></script><script>hacked = 1</script>'
QUICK = ALS(n_init=2, max_iter=5)
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


def new_browser():
    """A driver of Chromium: see ``browser`` in conftest.py."""
    options = ChromeOptions()
    options.binary_location = BROWSER
    for option in (*OPTIONS, "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return Chrome(options=options, service=Service(DRIVER))


class Sided(Reflection):
    """Flips that are told in words."""

    def bind(self, sample_shape):
        operator = super().bind(sample_shape)
        operator._poses = {"side": np.array(["<b>left</b>", "right"])}
        return operator


def fitted(family, shape, n_components=2, unit=1.0, **options):
    """A small model of noise, and the rows."""
    X = unit * np.random.default_rng(0).standard_normal((30, *shape))
    X = np.abs(X) if shape[-1] == 3 else X
    return GTPCA(n_components, family, solver=QUICK, random_state=0, **options).fit(X), X


def with_gaps(family, shape):
    """A small model of noise in which values are missing, and the rows."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, *shape)) < 0.3, np.nan, rng.standard_normal((30, *shape)))
    return GTPCA(2, family, missing="ignore", solver=QUICK, random_state=0).fit(X), X


def spikes():
    X, _ = make_spikes(60, n_times=64, random_state=0)
    return GTPCA(2, Shift(16), random_state=0).fit(X), X


KINDS = {
    "series": spikes,
    "one": lambda: fitted(Shift(8), (20,), 1),
    "still": lambda: fitted(None, (20,), center=True),
    "flips": lambda: fitted(Reflection(), (20,)),
    "seven": lambda: fitted(Shift(8, axes=0), (20, 7)),
    "channels": lambda: fitted(Shift(8, axes=0), (20, 2), shared_pose=True),
    "electrodes": lambda: fitted(Shift(8, axes=0), (20, 9), center="samples"),
    "images": lambda: fitted(Rotation(4), (8, 8), feature_weight=np.ones((8, 8))),
    "colours": lambda: fitted(Shift((4, 4)), (8, 8, 3)),
    "tiles": lambda: fitted(Shift((4, 4)), (8, 8, 2)),
    "words": lambda: fitted(Sided(), (20,)),
    "gaps": lambda: with_gaps(Shift(8), (20,)),
    "gaps in channels": lambda: with_gaps(Shift(8, axes=0), (20, 9)),
    "gaps in images": lambda: with_gaps(Shift((4, 4)), (8, 8)),
    "gaps in colours": lambda: with_gaps(Shift((4, 4)), (8, 8, 3)),
    "whitened": lambda: fitted(Shift(8), (20,), 1, noise="stationary"),
    "tesla": lambda: fitted(Rotation(4), (8, 8), unit=2.0**-46),
}
CURVES = {f"{k} curves": lambda k=k: fitted(Shift(16), (30,), k) for k in (1, 2, 3, 4, 6, 8)}


def opening(browser, folder):
    """See ``opened`` in conftest.py."""
    made, pages = {}, {}

    def open_page(kind, width=1280, touch=False, **options):
        if kind not in made:
            made[kind] = (KINDS | CURVES)[kind]()
        model, X = made[kind]
        path = pages.get(kind)
        if path is None or options:
            name = folder / f"{kind}{' with options' if options else ''}.html"
            path = write_page(model, X, name, check=False, **options)
            pages.update({} if options else {kind: path})
        show_on(browser, width, touch)
        browser.get_log("browser"), browser.get_log("performance")
        browser.get(path.as_uri())
        wait(browser, "return document.body.dataset.ready === 'yes'")
        return model, X

    return open_page


def show_on(browser, width, touch=False):
    """Make the screen so wide."""
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": touch})


def wait(browser, script):
    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(script))


def find(browser, selector):
    return browser.find_element("css selector", selector)


def told(browser):
    """Number of the chosen sample, as it is read aloud."""
    return int(re.search(r"Sample (\d+)[,:]", find(browser, "#told").text)[1])


def drawn(browser, host):
    """The lines of a chart, or the points of a picture's canvases."""
    return browser.execute_script(
        "const host = document.getElementById(arguments[0]);"
        "return host.data ? host.data.map((trace) => Array.from(trace.y))"
        " : Array.from(host.querySelectorAll('canvas'), (c) => c.toDataURL());",
        host,
    )


def requests(browser):
    """What was asked for since the page was opened, but for the page and what it holds."""
    said = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [
        m["params"]["request"]["url"] for m in said if m["method"] == "Network.requestWillBeSent"
    ]
    assert any(url.startswith("file://") for url in sent)
    return [url for url in sent if not url.startswith(("file://", "data:"))]


def scores(browser):
    return [
        float(i.get_attribute("value"))
        for i in browser.find_elements("css selector", ".slider input")
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_on_a_phone(kind, browser, opened):
    opened(kind, width=390)
    assert requests(browser) == []
    before = drawn(browser, "sample-view"), drawn(browser, "built")
    find(browser, "#next").click()
    find(browser, "#score-1").send_keys(Keys.ARROW_RIGHT * 20)
    after = drawn(browser, "sample-view"), drawn(browser, "built")
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert browser.execute_script(
        "return Array.from(document.querySelectorAll('canvas, .plot, input, select, button'))"
        ".every((e) => e.getBoundingClientRect().right <= 391)"
    )


def pixels(browser, selector):
    """Red, green and blue of a canvas, (height, width, 3)."""
    width, height, values = browser.execute_script(
        "const canvas = document.querySelector(arguments[0]), {width, height} = canvas;"
        "const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;"
        "return [width, height, Array.from(data)];",
        selector,
    )
    return np.reshape(values, (height, width, 4))[..., :3]


def test_signs_have_the_colours_of_the_drawings(browser, opened):
    model, _ = opened("images")
    stops = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in palette.SIGNED])
    w = model.components_[0]
    place = (len(stops) - 1) * Scale.of(w, signed=True).shares(w)
    wanted = [np.interp(place, np.arange(len(stops)), part) for part in stops.T]
    shown = pixels(browser, "#components canvas")
    np.testing.assert_allclose(shown, np.stack(wanted, axis=-1), atol=1.5)
    assert "Purple is positive, orange negative" in find(browser, "#section-components p").text


def test_small_values_have_colours_as_any_others(browser, opened):
    """The scale had a floor of 1e-12, below which samples were nearly white."""
    opened("images")
    wanted = pixels(browser, "#sample-view canvas")
    opened("tesla")
    np.testing.assert_array_equal(pixels(browser, "#sample-view canvas"), wanted)


def test_poses_may_be_words(browser, opened):
    model, X = opened("words")
    told_of = model.poses(model.encode(X))["side"]
    find(browser, "#next").click()
    cells = browser.find_elements("css selector", "#codes tr td:last-child")
    assert [cell.text for cell in cells] == told_of[told(browser)].tolist()
    bars = browser.execute_script("return document.querySelector('#poses .plot').data[0]")
    assert bars["x"] == ["&lt;b&gt;left&lt;/b&gt;", "right"]
    assert bars["y"] == [int((told_of[:, 0] == side).sum()) for side in ("<b>left</b>", "right")]


def test_tiles_are_kept_apart(browser, opened):
    opened("tiles")
    shown = pixels(browser, "#sample-view canvas")
    grey = [int(palette.GREY[i : i + 2], 16) for i in (1, 3, 5)]
    assert (shown[:, 8] == grey).all()
    assert not (shown[:, :8] == grey).all(axis=(1, 2)).any()


def test_gaps_are_blank_and_predictions_have_a_colour(browser, opened):
    _, X = opened("gaps")
    number, traces = told(browser), drawn(browser, "sample-view")
    hidden = np.isnan(X[number])
    sample, rebuilt, predicted = (np.array(trace, dtype=float) for trace in traces)
    np.testing.assert_array_equal(np.isnan(sample), hidden)
    np.testing.assert_array_equal(np.isnan(predicted), ~hidden)
    np.testing.assert_allclose(predicted[hidden], rebuilt[hidden])
    colours = "return document.getElementById('sample-view').data.map((t) => t.line.color)"
    assert browser.execute_script(colours)[2] == palette.PREDICTED


def test_gaps_of_pictures_are_grey_and_veiled_where_predicted(browser, opened):
    _, X = opened("gaps in images")
    hidden = np.isnan(X[told(browser)])
    first = pixels(browser, "#sample-view figure:first-child canvas")
    grey = [int(palette.GREY[i : i + 2], 16) for i in (1, 3, 5)]
    np.testing.assert_array_equal((first == grey).all(axis=-1), hidden)
    second = pixels(browser, "#sample-view figure:nth-child(2) canvas")
    pink = np.array([int(palette.PREDICTED[i : i + 2], 16) for i in (1, 3, 5)])
    assert (second[hidden] >= 0.35 * pink - 1).all()
    assert (second[hidden] <= 0.35 * pink + 0.65 * 255 + 1).all()
    assert "veiled: predicted" in find(browser, "#sample-view figure:nth-child(2)").text


DRAWN_AGAIN = """
document.getElementById("components").replaceChildren();
drawComponents();
return Array.from(document.querySelectorAll("#components .card"), (card) => {
  const view = card.querySelector(".view"), path = view.querySelector(".js-line");
  const { xaxis, yaxis } = view._fullLayout, points = path.getAttribute("d").slice(1).split("L");
  return {
    card: card.getBoundingClientRect(), line: path.getBoundingClientRect(),
    chart: view.querySelector(".main-svg").getBoundingClientRect(),
    points: points.map((point) => point.split(",").map(Number)).map(
      ([x, y]) => [xaxis.p2l(x), yaxis.p2l(y)]),
  };
});
"""


@pytest.mark.parametrize("kind", CURVES)
def test_charts_of_components_fit_their_cards(kind, browser, opened):
    """As wide as their cards but for the frame, and every component in full."""
    model, _ = opened(kind)
    for width in (400, 700, 1000, 1400, 1900):
        show_on(browser, width)
        cards = browser.execute_script(DRAWN_AGAIN)
        assert len(cards) == model.n_components_
        for seen, w in zip(cards, model.components_, strict=True):
            card, chart, line = seen["card"], seen["chart"], seen["line"]
            assert card["left"] <= chart["left"] <= line["left"]
            assert line["right"] <= chart["right"] <= card["right"] <= width
            assert line["width"] > 0.7 * card["width"]
            x, y = np.transpose(seen["points"])
            np.testing.assert_allclose(x[[0, -1]], [0, len(w) - 1], atol=0.01)
            np.testing.assert_allclose(y, np.interp(x, np.arange(len(w)), w), atol=0.01)


def test_a_click_shows_the_sample_and_its_poses(browser, opened):
    model, X = opened("series")
    for point in browser.find_elements("css selector", "#scatter .points path")[5:8]:
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", point)
        ActionChains(browser).move_to_element(point).click().perform()
        number = told(browser)
        line, rebuilt = drawn(browser, "sample-view")
        np.testing.assert_allclose(line, X[number], atol=1e-3)
        codes = model.encode(X[number : number + 1])
        np.testing.assert_allclose(rebuilt, model.decode(codes)[0], atol=1e-3)
        texts = [td.text for td in browser.find_elements("css selector", "#codes td")]
        cells = [float(text.partition(" ± ")[0]) for text in texts]
        said = np.stack([codes.scores[0], model.poses(codes)["centre"][0]], axis=1)
        np.testing.assert_allclose(cells, said.ravel(), rtol=1e-3)
        errors = [float(text.partition(" ± ")[2]) for text in texts[1::2]]
        wanted = model.pose_errors(X[number : number + 1])["centre"][0]
        np.testing.assert_allclose(errors, wanted, rtol=0.05)  # two digits
    share = model.score_samples(X[number : number + 1])[0]
    assert f"{100 * share:.1f} % of its energy is explained" in find(browser, "#told").text


def test_clicks_choose_different_samples(browser, opened):
    opened("images")
    seen = set()
    for point in browser.find_elements("css selector", "#scatter .points path")[:4]:
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", point)
        ActionChains(browser).move_to_element(point).click().perform()
        seen.add((told(browser), tuple(drawn(browser, "sample-view"))))
    assert len(seen) >= 3


def test_a_tap_chooses_a_sample(browser, opened):
    opened("series", width=390, touch=True)
    point = browser.find_elements("css selector", "#scatter .points path")[20]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", point)
    finger = ActionBuilder(browser, mouse=PointerInput("touch", "finger"))
    finger.pointer_action.move_to(point).pointer_down().pointer_up()
    finger.perform()
    wait(browser, "return !document.getElementById('told').textContent.startsWith('Sample 0:')")


def test_sliders_draw_the_inverse_transform(browser, opened):
    model, _ = opened("still")
    slider = find(browser, "#score-2")
    slider.send_keys(Keys.ARROW_LEFT * 7)
    np.testing.assert_allclose(
        drawn(browser, "built")[0], model.inverse_transform([scores(browser)])[0], atol=1e-3
    )
    ActionChains(browser).move_to_element_with_offset(slider, 50, 0).click().perform()
    np.testing.assert_allclose(
        drawn(browser, "built")[0], model.inverse_transform([scores(browser)])[0], atol=1e-3
    )
    find(browser, "#zero").click()
    assert scores(browser) == [0, 0]
    np.testing.assert_allclose(drawn(browser, "built")[0], model.mean_, atol=1e-5)


def test_scores_of_the_chosen_sample_go_to_the_sliders(browser, opened):
    model, X = opened("series")
    find(browser, "#next").click()
    find(browser, "#same").click()
    np.testing.assert_allclose(scores(browser), model.transform(X[1:2])[0], rtol=0.02)


def test_everything_is_reached_by_the_keyboard(browser, opened):
    opened("series")
    wanted = {"axis-x", "axis-y", "scatter", "number", "previous", "next", "typical", "score-1"}
    for _ in range(30):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        element = browser.switch_to.active_element
        if element.get_attribute("id") in wanted:
            wanted.remove(element.get_attribute("id"))
            assert element.value_of_css_property("outline-style") == "solid"
    assert not wanted


def test_arrow_keys_in_the_scatter(browser, opened):
    opened("series")
    before = drawn(browser, "sample-view")
    find(browser, "#scatter").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert told(browser) == 2
    assert drawn(browser, "sample-view") != before
    find(browser, "#scatter").send_keys(Keys.END, Keys.ARROW_LEFT)
    assert told(browser) == 58


def test_a_number_chooses_the_sample_or_the_nearest(browser, opened):
    opened("series", max_samples=20)
    shown = browser.execute_script("return Array.from(points.number)")
    hidden = next(i for i in range(60) if i not in shown)
    for number in (shown[7], hidden):
        find(browser, "#number").send_keys(Keys.CONTROL, "a")
        find(browser, "#number").send_keys(f"{number}\n")
        assert abs(told(browser) - number) == min(abs(other - number) for other in shown)
    assert f"Sample {hidden} is not on this page" in find(browser, "#told").text


def test_axes_of_the_scatter_can_be_chosen(browser, opened):
    model, X = opened("series")
    find(browser, "#axis-y").send_keys("centre, component 2")
    (centres,) = drawn(browser, "scatter")
    np.testing.assert_allclose(centres, model.poses(model.encode(X))["centre"][:, 1])


def test_a_hostile_label_is_text(browser, opened):
    opened("series", labels=[HOSTILE, "fine"] * 30, title=HOSTILE)
    point = browser.find_elements("css selector", "#scatter .points path")[0]
    ActionChains(browser).move_to_element(point).click().perform()
    wait(browser, "return document.querySelector('#scatter .hoverlayer').textContent")
    assert HOSTILE in find(browser, "#told").text
    assert find(browser, "h1").text == HOSTILE
    for part in (".hoverlayer", ".legend"):
        assert HOSTILE in find(browser, f"#scatter {part}").get_property("textContent")
    assert browser.execute_script(
        "return [window.hacked === undefined, document.images.length]"
    ) == [True, 0]
    assert browser.get_log("browser") == []


def test_the_policy_stops_scripts_and_requests(browser, opened):
    opened("series")
    browser.execute_script(
        "const script = document.createElement('script');"
        "script.textContent = 'window.hacked = 1'; document.body.append(script);"
        "const image = new Image(); image.src = 'http://127.0.0.1:9/x.png';"
    )
    assert browser.execute_script("return window.hacked === undefined")
    said = str(browser.get_log("browser"))
    assert "script-src" in said
    assert "img-src" in said


def outlier():
    """A model of 40 rows, one of which is a hundred times as large."""
    X = np.random.default_rng(0).standard_normal((40, 20))
    X[7] *= 100
    return GTPCA(2, Shift(8), solver=QUICK, random_state=0).fit(X), X


def unit_norm():
    X = np.random.default_rng(0).standard_normal((30, 20))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return GTPCA(3, Shift(8), solver=QUICK, random_state=0).fit(X), X


KINDS |= {"outlier": outlier, "unit norm": unit_norm}
RANGE = "return document.getElementById('scatter')._fullLayout.xaxis.range"
FIGURE = "document.getElementById('scatter').figure"


def far_points(browser):
    return browser.find_element("id", "scatter-far").text


def test_one_far_point_does_not_take_the_scatter(browser, opened):
    model, X = opened("outlier")
    scores = np.sort(model.transform(X)[:, 0])
    low, high = browser.execute_script(RANGE)
    assert high - low < 0.3 * (scores[-1] - scores[0])
    assert low < scores[1]
    assert high > scores[-2]
    assert (
        browser.find_element("id", "scatter-far").text
        == 'One point lies outside; "Back" shows all.'
    )
    browser.execute_script(f"back({FIGURE})")
    low, high = browser.execute_script(RANGE)
    assert low < scores[0]
    assert high > scores[-1]


def test_the_scatter_shows_all_points_where_none_is_far(browser, opened):
    opened("series")
    assert browser.find_element("id", "scatter-far").text == ""
    assert (
        browser.execute_script("return isZoomed(document.getElementById('scatter').figure)")
        is False
    )


def test_samples_of_unit_norm_begin_with_the_second_score(browser, opened):
    opened("unit norm")
    shown = [browser.find_element("id", f"axis-{axis}").get_attribute("value") for axis in "xy"]
    assert shown == ["1", "2"]
