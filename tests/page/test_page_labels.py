"""Names, units, labels, alignment and parts of samples: what is in the page's data."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
import pytest
from helpers import QUICK

pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')

from gtpca import GTPCA, Shift, labelled
from gtpca.page import write_page
from gtpca.page.contents import gather
from gtpca.page.packing import safe_json

RATE, FIRST = 100.0, -0.2


def series(channels=1, n=30, **options):
    """A model of series with a bump, and their rows in names and units."""
    rng = np.random.default_rng(0)
    X = 0.05 * rng.standard_normal((n, channels, 60))
    for x, start in zip(X, rng.integers(5, 35, n), strict=True):
        x[:, start : start + 20] += np.hanning(20) * np.linspace(1, 2, channels)[:, None]
    X = X[:, 0] if channels == 1 else X
    names = None if channels == 1 else [f"E{c + 1}" for c in range(channels)]
    known = labelled(X, rate=RATE, start=FIRST, channels=names)
    family = Shift("0.2s", axes="time")
    return GTPCA(2, family, solver=QUICK, random_state=0, **options).fit(known), known


def data_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text)[1])


def numbers(entry):
    return np.frombuffer(base64.b64decode(entry["data"]), "<" + entry["type"])


def rows(entry):
    values = numbers(entry["values"]).reshape(-1, entry["size"])
    return numbers(entry["low"])[:, None] + numbers(entry["step"])[:, None] * values


def heat(entry, n_rows):
    values = numbers(entry["values"]).astype(float)
    values[values == 255] = np.nan
    return (entry["low"] + entry["step"] * values).reshape(n_rows, -1)


@pytest.mark.parametrize("channels", [1, 3, 64])
def test_positions_and_channels_have_names_and_units(channels, tmp_path):
    model, known = series(channels)
    data = data_of(write_page(model, known, tmp_path / "a.html"))
    for part, positions in (("samples", FIRST + np.arange(60) / RATE), ("components", None)):
        layout = data[part]["layout"]
        assert layout["x_name"] == "time (s)"
        if positions is not None:
            step = layout["factor"]
            means = positions[: 60 // step * step].reshape(-1, step).mean(axis=1)
            np.testing.assert_allclose(layout["x"][: len(means)], means, atol=1e-9)
        assert layout["names"][0] == ("1" if channels == 1 else "E1")
    assert [pose["name"] for pose in data["points"]["poses"]] == ["centre (s)"]
    assert data["histograms"]["poses"][0]["name"] == "centre (s)"
    codes = model.encode(known)
    shown = numbers(data["points"]["poses"][0]["values"]).reshape(-1, 2)
    np.testing.assert_allclose(shown, model.poses(codes)["centre"], rtol=1e-6)


@pytest.mark.parametrize("channels", [1, 3])
def test_heat_maps_are_sorted_by_pose_and_have_the_numbers_of_the_model(channels, tmp_path):
    model, known = series(channels)
    drawn = data_of(write_page(model, known, tmp_path / "a.html"))["alignment"]
    X = known.rows.reshape(30, channels, 60)
    order = np.argsort(model.poses(model.encode(known))["centre"][:, 0], kind="stable")
    aligned = model.align(known).reshape(30, channels, 20)
    assert (drawn["kind"], drawn["pose"], drawn["count"]) == ("curves", "centre (s)", 30)
    for when, values in (("before", X), ("after", aligned)):
        for c in range(channels):
            found = heat(drawn[when]["maps"][c], 30)
            wanted = values[order, c]
            np.testing.assert_allclose(found, wanted, atol=np.ptp(values[:, c]) / 254)
            mean = numbers(drawn[when]["means"][c])
            np.testing.assert_allclose(mean, values[:, c].mean(axis=0), atol=1e-6)
        assert drawn[when]["name"] == "time (s)"
    assert drawn["channels"] == (["1"] if channels == 1 else ["E1", "E2", "E3"])


def test_many_samples_are_averaged_in_rows(tmp_path):
    model, known = series(n=400)
    drawn = data_of(write_page(model, known, tmp_path / "a.html"))["alignment"]
    assert (drawn["per_row"], drawn["before"]["rows"]) == (3, 134)
    order = np.argsort(model.poses(model.encode(known))["centre"][:, 0], kind="stable")
    wanted = known.rows[order][:399].reshape(133, 3, 60).mean(axis=1)
    np.testing.assert_allclose(heat(drawn["before"]["maps"][0], 134)[:133], wanted, atol=0.01)


def test_gaps_are_gaps_of_the_heat_map(tmp_path):
    model, known = series(missing="ignore")
    X = np.where(np.random.default_rng(1).random((30, 60)) < 0.1, np.nan, known.rows)
    drawn = data_of(write_page(model, X, tmp_path / "a.html"))["alignment"]
    order = np.argsort(model.poses(model.encode(X))["centre"][:, 0], kind="stable")
    found = heat(drawn["before"]["maps"][0], 30)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(X[order]))


def test_images_have_averages_before_and_after(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 8, 8))
    model = GTPCA(1, Shift((4, 4)), solver=QUICK, random_state=0).fit(X)
    drawn = data_of(write_page(model, X, tmp_path / "a.html"))["alignment"]
    for entry, values in zip(drawn["means"], (X, model.align(X)), strict=True):
        np.testing.assert_allclose(rows(entry)[0], values.mean(axis=0).ravel(), atol=1e-4)
    still = GTPCA(1, None, solver=QUICK).fit(X)
    assert data_of(write_page(still, X, tmp_path / "b.html"))["alignment"] is None


def test_parts_add_up_to_the_reconstruction(tmp_path):
    model, known = series(center=True)
    samples = data_of(write_page(model, known, tmp_path / "a.html"))["samples"]
    parts = rows(samples["parts"]).reshape(-1, 2, 60)
    shown = numbers(samples["parts"]["rows"])
    rebuilt = rows(samples["rebuilt"])[shown]
    np.testing.assert_allclose(parts.sum(axis=1) + model.mean_, rebuilt, atol=0.03)
    alone, other = series(n=12)[0].set_params(n_components=1), series(n=12)[1]
    one = data_of(write_page(alone.fit(other), other, tmp_path / "b.html"))
    assert one["samples"]["parts"] is None


@pytest.mark.parametrize(("room", "all_of_them"), [(1_200_000, True), (500_000, False)])
def test_parts_take_the_room_that_is_left(room, all_of_them):
    model, known = series(channels=64)
    how = {"labels": None, "max_samples": 2000, "rng": np.random.default_rng(0)}
    data = gather(model, known.rows, room=room, **how).data
    divided = numbers(data["samples"]["parts"]["rows"])
    assert len(safe_json(data)) <= room
    assert (len(divided) == 30) == all_of_them
    assert divided[0] == 0  # the sample that is shown first


def test_labels_are_words_or_quantities(tmp_path):
    model, known = series()
    ages, sides = np.linspace(20, 49, 30), np.array(["left", "right"] * 15)
    labels = {"side": sides, "age": ages, "few": np.arange(30) % 3}
    ids = {"subject": [f"P{i}" for i in range(30)]}
    text = write_page(model, known, tmp_path / "a.html", labels=labels, ids=ids)
    points = data_of(text)["points"]
    side, age, few = points["columns"]
    assert (side["classes"], few["classes"]) == (["left", "right"], ["0", "1", "2"])
    np.testing.assert_allclose(numbers(age["values"]), ages, rtol=1e-6)
    assert points["ids"] == {"name": "subject", "texts": ids["subject"]}
    assert points["classes"] == ["left", "right"]
    page = text.read_text("utf-8")
    assert '<option value="1">age</option>' in page
    assert "time: 60 points, -0.2 to 0.39 s, rate 100 Hz" in page
    with pytest.raises(ValueError, match=r"ids has shape \(2,\), but X has 30 samples"):
        write_page(model, known, tmp_path / "a.html", ids=["a", "b"])
