"""The section "Is it real?" says plainly what is not above noise."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gtpca import GTPCA, Shift
from gtpca.diagnostics import check, summary

pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')

from gtpca.page import write_page
from gtpca.page.reality import reality_chart


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 30))
    for x, start in zip(X, rng.integers(23, size=40), strict=True):
        x[start : start + 8] += 6 * np.hanning(8)
    return GTPCA(2, Shift(8), random_state=0).fit(X), X


def section(path):
    """The text of the section, without tags."""
    html = path.read_text(encoding="utf-8")
    found = re.search(r'<section id="section-real">(.*?)</section>', html, re.DOTALL)[1]
    return " ".join(re.sub("<[^>]*>", " ", found).split())


def test_what_was_not_checked_is_said(fitted, tmp_path):
    text = section(write_page(*fitted, tmp_path / "page.html", check=False))
    assert "Nothing was checked." in text
    assert "gtpca.diagnostics.check(model, X)" in text


def test_what_is_not_above_noise_is_said(fitted, tmp_path):
    found = check(*fitted)
    text = section(write_page(*fitted, tmp_path / "page.html", check=found))
    assert found.noise.n_real == 1
    assert "1 component is above noise; component 2 is not." in text
    assert "gtpca report" not in text  # which is where its reader is
    for part in found.on_page.answers.values():
        assert " ".join(part.sentence.replace("`", " ").split(" with ")[0].split()) in text.replace(
            "&#39;", "'"
        )
    chart = reality_chart(found)
    np.testing.assert_allclose(chart["gains"], found.noise.gains)
    assert np.shape(chart["surrogates"]) == found.noise.surrogates.shape


def test_what_is_cheap_is_checked_by_default(fitted, tmp_path, monkeypatch):
    text = section(write_page(*fitted, tmp_path / "page.html"))
    assert "1 component is above noise; component 2 is not." in text
    assert "This is a quick check" in text
    assert "gtpca check" in text
    assert "gtpca report" not in text
    assert "similarity" not in text.lower()
    few = section(write_page(fitted[0], fitted[1][:30], tmp_path / "page.html"))
    assert "Nothing was checked." in few  # these are not the samples of the fit
    monkeypatch.setattr(summary, "QUICK", 1000)
    assert summary.quick_check(*fitted) is None


def test_a_constant_is_not_a_pattern(tmp_path):
    X = 5 + np.random.default_rng(0).standard_normal((30, 12))
    with pytest.warns(UserWarning, match="means of samples"):
        model = GTPCA(1, Shift(4), random_state=0).fit(X)
    text = section(write_page(model, X, tmp_path / "page.html", check=check(model, X, quick=True)))
    assert "But the means of samples hold most of the energy" in text
