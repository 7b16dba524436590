"""Colours: told apart, the same everywhere, and on which scale."""

from __future__ import annotations

import re
from importlib import resources

import numpy as np
import pytest

from gtpca.views import palette
from gtpca.views.palette import CYCLE, MARKERS, SIGNED, SYMBOLS, Scale

# What is left of linear RGB without one kind of cones (Machado, Oliveira and Fernandes, 2009).
VISION = {
    "all": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def rgb(colour):
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


@pytest.mark.parametrize("kind", VISION)
@pytest.mark.parametrize("colours", [CYCLE, (SIGNED[2], SIGNED[8])], ids=["cycle", "signs"])
def test_colours_are_told_apart(kind, colours):
    given = np.array([rgb(colour) for colour in colours])
    linear = np.where(given <= 0.04045, given / 12.92, ((given + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.transpose(VISION[kind]), 0, 1)
    to_xyz = np.array([[0.412, 0.358, 0.180], [0.213, 0.715, 0.072], [0.019, 0.119, 0.950]])
    x, y, z = np.cbrt(seen @ to_xyz.T / to_xyz.sum(axis=1)).T
    lab = np.stack([116 * y, 500 * (x - y), 200 * (y - z)], axis=1)
    distance = np.linalg.norm(lab[:, None] - lab, axis=-1)[~np.eye(len(lab), dtype=bool)]
    assert distance.min() > 15  # 2.3 is just noticeable


def test_every_pair_of_colour_and_marker_is_used_once():
    pairs = {(CYCLE[j % len(CYCLE)], MARKERS[j % len(MARKERS)]) for j in range(56)}
    assert len(pairs) == 56
    assert len(set(SYMBOLS)) == len(MARKERS)


def test_below_zero_is_orange_and_above_is_purple():
    red, green, blue = rgb(SIGNED[1])
    assert red > green > blue
    red, green, blue = rgb(SIGNED[-2])
    assert blue > red > green
    assert (palette.NEGATIVE, palette.POSITIVE) == ("orange", "purple")


def test_drawings_have_these_colours():
    matplotlib = pytest.importorskip("matplotlib", reason='drawings: pip install "gtpca[plot]"')
    from gtpca.plots.style import mapping

    for signed, name in ((True, "PuOr"), (False, "gray")):
        made = mapping(Scale(-1.0 if signed else 0.0, 1.0, signed))
        x = np.linspace(0, 1, 256)
        np.testing.assert_allclose(made["cmap"](x), matplotlib.colormaps[name](x), atol=1e-6)
        assert (made["vmin"], made["vmax"]) == (-1.0 if signed else 0.0, 1.0)


@pytest.mark.parametrize("name", ["data.js", "draw.js", "samples.js", "page.js", "page.css"])
def test_the_page_has_no_colours_of_its_own(name):
    text = (resources.files("gtpca.page") / name).read_text(encoding="utf-8")
    assert set(re.findall(r"#[0-9a-fA-F]{3,6}\b", text)) <= {"#fff"}
    places = {"zoom", "left", "top"}  # of a figure that is zoomed
    for colour in set(re.findall(r"var\(--(\w+)\)", text)) - places:
        assert colour in palette.for_page()
    for colour in re.findall(r"COLOURS\.(\w+)", text):
        assert colour in palette.for_page()


# --- scales ---


def test_a_scale_of_both_signs_is_symmetric():
    assert Scale.of([-1.0, 3.0]) == Scale(-3.0, 3.0, True)
    assert Scale.of([-5.0, 3.0]) == Scale(-5.0, 5.0, True)
    assert Scale.of([2.0, 3.0], signed=True) == Scale(-3.0, 3.0, True)


def test_a_scale_without_signs_begins_at_the_smallest_value():
    assert Scale.of([0.0, 3.0]) == Scale(0.0, 3.0, False)
    assert Scale.of([2.0, 3.0]) == Scale(2.0, 3.0, False)
    assert Scale.of([-0.1, 3.0], signed=False) == Scale(0.0, 3.0, False)


@pytest.mark.parametrize("value", [0.0, 2.0, -2.0])
@pytest.mark.parametrize("signed", [None, False, True])
def test_a_scale_of_equal_values_has_a_width(value, signed):
    scale = Scale.of(np.full(4, value), signed)
    assert scale.low < scale.high
    assert 0 <= scale.shares(value) <= 1


def test_differences_have_a_scale_as_wide():
    assert Scale(2.0, 5.0, False).residual == Scale(-3.0, 3.0, True)
    signed = Scale(-3.0, 3.0, True)
    assert signed.residual == signed


def test_shares_of_a_scale():
    np.testing.assert_allclose(Scale(-2.0, 2.0, True).shares(np.array([-3, -1, 0])), [0, 0.25, 0.5])
    np.testing.assert_allclose(Scale(1.0, 3.0, False).shares(np.array([0, 2, 9])), [0, 0.5, 1])
