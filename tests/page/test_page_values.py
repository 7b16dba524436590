"""The page of samples, labels and files that are out of the ordinary."""

from __future__ import annotations

import os

import numpy as np
import pytest

pytest.importorskip("plotly", reason='the page needs plotly: pip install "gtpca[report]"')
pytest.importorskip("jinja2", reason='the page needs jinja2: pip install "gtpca[report]"')

from gtpca import ALS, GTPCA, Shift
from gtpca.datasets import make_spikes
from gtpca.page import contents, write_page

X = make_spikes(40, n_times=64, random_state=0)[0]


def fit(rows):
    return GTPCA(2, Shift(16), solver=ALS(n_init=2, max_iter=5), random_state=0).fit(rows)


@pytest.mark.parametrize("unit", [1, 1e-15, 1e15])
def test_axes_reach_as_far_as_the_samples_in_any_unit(unit):
    rows = X * unit
    how = {"labels": None, "room": 2_500_000, "max_samples": 2000}
    shown = contents.gather(fit(rows), rows, **how, rng=np.random.default_rng(0))
    ends = np.quantile(rows, [0.001, 0.999])
    np.testing.assert_allclose(shown.data["samples"]["range"], ends)
    limit = np.abs(ends).max()
    assert shown.data["samples"]["scale"] == {"low": -limit, "high": limit, "signed": True}


def test_values_that_a_browser_cannot_hold_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"X has values above 3.4e\+38; divide it"):
        write_page(fit(X * 1e60), X * 1e60, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_a_label_that_is_missing_has_a_name(tmp_path):
    text = write_page(fit(X), X, tmp_path / "page.html", labels=["", "a"] * 20).read_text("utf-8")
    assert '"classes":["(none)","a"]' in text


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_stays_a_link(tmp_path):
    link, target = tmp_path / "link.html", tmp_path / "target.html"
    target.write_text("old")
    link.symlink_to(target)
    assert write_page(fit(X), X, link) == link
    assert link.is_symlink()
    assert target.read_text("utf-8").lstrip().startswith("<!DOCTYPE html>")
