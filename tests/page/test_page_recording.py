"""The page of a recording: what is in it, and how much of a long one."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
import pytest
import samples

from gtpca import EventGTPCA, Shift

pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')

from gtpca.page import recordings, write_page

HOSTILE = '</script><img src=x onerror="window.hacked = 1"><!-- &amp; <b>'


def numbers(entry):
    return np.frombuffer(base64.b64decode(entry["data"]), "<" + entry["type"])


def data_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text)[1])


@pytest.fixture(scope="module")
def fitted():
    y = samples.recording()
    y[3000:3050] = np.nan
    Y = np.stack([y, -y], axis=1)
    model = EventGTPCA(1, Shift(20), rate=100, random_state=0).fit(Y)
    return model, Y, model.encode(Y)


def test_the_page_holds_what_the_model_says(fitted, tmp_path):
    model, Y, events = fitted
    path = write_page(model, Y, tmp_path / "p.html", title=HOSTILE, text="One.\n\nTwo.")
    page, html = data_of(path), path.read_text(encoding="utf-8")
    np.testing.assert_array_equal(numbers(page["events"]["start"]), events.start)
    np.testing.assert_allclose(numbers(page["events"]["scores"]), events.scores[:, 0], rtol=1e-6)
    np.testing.assert_allclose(numbers(page["events"]["peak"]), model.poses(events)["peak"])
    trace = page["trace"]
    values = numbers(trace["values"]).reshape(2, -1)
    first = numbers(trace["low"])[:, None] + numbers(trace["step"])[:, None] * values
    level = np.nanmedian(Y, axis=0)
    seen = ~np.isnan(Y[:, 0])
    np.testing.assert_allclose(first.T[seen], (Y - level)[seen], atol=1e-4)
    assert trace["gaps"] == [[[3000, 3050]]] * 2
    assert page["unit"] == "s"
    assert sum(page["counts"]) == len(events)
    shares = re.search(r"<strong>([\d.]+) %</strong>", html)[1]
    assert float(shares) == pytest.approx(100 * model.score(Y), abs=0.05)
    counts = np.array(page["intervals"]["counts"])
    assert counts.sum() >= 0.98 * (len(events) - 1)
    assert HOSTILE not in html
    assert '<p class="text">Two.</p>' in html
    assert "default-src &#39;none&#39;" in html
    assert f"{len(events)} events; templates of the other half" in html


def test_piles_are_medians_of_windows(fitted, tmp_path):
    model, Y, events = fitted
    page = data_of(write_page(model, Y, tmp_path / "p.html"))
    [pile] = page["piles"]
    cut = model.cut(Y, events)
    np.testing.assert_allclose(
        numbers(pile["bands"][0]).reshape(3, -1)[1], np.nanmedian(cut[:, :, 0], axis=0), rtol=1e-5
    )


def test_a_long_recording_is_drawn_from_its_beginning(fitted, tmp_path, monkeypatch):
    model, Y, events = fitted
    monkeypatch.setattr(recordings, "MOST_EVENTS", 10)
    page_path = write_page(model, [Y, Y[:2000]], tmp_path / "p.html")
    page, html = data_of(page_path), page_path.read_text(encoding="utf-8")
    assert len(numbers(page["events"]["start"])) == 10
    assert f"The first {events.start[10]:,} of 6,000 points can be looked at" in html
    assert "The first of 2 recordings is drawn" in html
    assert len(page["overview"]["low"][0]) == recordings.OVERVIEW
    assert None in page["overview"]["low"][0]


def test_nothing_found_and_templates_that_share_a_pose(fitted, tmp_path):
    model, Y, _ = fitted
    noise = 1e-3 * np.random.default_rng(1).standard_normal((400, 2))
    page = data_of(write_page(model, noise, tmp_path / "p.html"))
    assert page["intervals"] is None
    assert page["piles"] == [None]
    shared = EventGTPCA(2, Shift(20), shared_pose=True, counts=False, random_state=0).fit(Y)
    page = data_of(write_page(shared, Y, tmp_path / "p.html"))
    assert page["names"] == ["event"]
    assert page["events"]["width"] == 2
    with pytest.raises(ValueError, match="labels are of samples"):
        write_page(model, Y, tmp_path / "p.html", labels=["a"])
