"""Estimators link to their page in the reference, and the reference has every public name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gtpca import ALS, GTPCA, Custom, MixtureGTPCA, ProbabilisticGTPCA, Shift, _typing

REFERENCE = Path(__file__).parents[1] / "docs" / "api" / "index.rst"
MODULES = [
    "families",
    "operators",
    "solvers",
    "persistence",
    "plots",
    "page",
    "readers",
    "datasets",
    "diagnostics",
    "testing",
    "nn",
]


@pytest.mark.parametrize(
    "estimator", [GTPCA(1, Shift(3)), ProbabilisticGTPCA(), MixtureGTPCA(), ALS()]
)
def test_the_drawing_of_an_estimator_links_to_its_page(estimator, monkeypatch):
    monkeypatch.setattr(_typing, "documentation", lambda: "https://site.example/")
    page = f"https://site.example/api/generated/gtpca.{type(estimator).__name__}.html"
    assert page in estimator._repr_html_()


def test_no_link_without_an_address_and_none_for_classes_of_others(monkeypatch):
    class Mine(Custom):
        pass

    monkeypatch.setattr(_typing, "documentation", lambda: "")
    assert GTPCA()._get_doc_link() == ""
    monkeypatch.setattr(_typing, "documentation", lambda: "https://site.example/")
    assert Mine([])._get_doc_link() == ""


@pytest.mark.skipif(not REFERENCE.exists(), reason="the documentation is not installed")
@pytest.mark.parametrize("name", ["gtpca", *(f"gtpca.{module}" for module in MODULES)])
def test_the_reference_has_every_public_name(name):
    module = pytest.importorskip(name, exc_type=ImportError)  # gtpca.nn needs torch
    listed = set(re.findall(r"^   (\w+)$", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE))
    assert set(module.__all__) <= listed
