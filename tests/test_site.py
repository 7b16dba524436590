"""The check of the built site finds what is wrong; links in pages are those of the site."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import gtpca

DOCS = Path(__file__).parents[1] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not installed")


@pytest.fixture(scope="module")
def check():
    return runpy.run_path(str(DOCS / "check_site.py"))["main"]


@pytest.fixture(scope="module")
def pages():
    return runpy.run_path(str(DOCS / "_extensions" / "pages.py"))


def said_of(check, folder, capsys, **files):
    for name, body in files.items():
        (folder / f"{name}.html").write_text(f"<html><body>{body}</body></html>")
    code = check(str(folder))
    return code, capsys.readouterr().out


def test_sound_pages_pass(check, tmp_path, capsys):
    a = '<h1 id="top-of-a">A</h1><a href="b.html#there">b</a><a href="https://arxiv.org/abs/1">x</a>'
    code, said = said_of(check, tmp_path, capsys, a=a, b='<p id="there"><a href="a.html">a</a></p>')
    assert code == 0
    assert "2 pages, 3 links, 0 faults" in said


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="gone.html">x</a>', "gone.html: no such file"),
        ('<a href="#gone">x</a>', "#gone: no such place"),
        ('<a href="http:/broken">x</a>', "not of the form https://"),
        ('<script src="https://cdn.example/x.js"></script>', "loaded from elsewhere"),
        ("<pre>Text(18.5, 0.5, 'pressure')</pre>", "a value that nobody printed"),
        ("<p>written to /home/somebody/file</p>", "a path of the machine"),
    ],
)
def test_faults_are_named(check, body, fault, tmp_path, capsys):
    code, said = said_of(check, tmp_path, capsys, a=body)
    assert code == 1
    assert fault in said


def test_links_are_those_of_the_site(pages):
    text = "[a](../examples/noise/plot_gaps.py) [b](docs.md#x) [c](https://x.example)"
    text += " [d](../README.md)"
    moved = pages["site_links"](text, "howto/gaps", "docs/gaps.md")
    assert "(../auto_examples/noise/plot_gaps.rst)" in moved
    assert "(../docs.md#x)" in moved
    assert "(https://x.example)" in moved
    assert "(../index.md)" in moved


def test_an_example_says_what_it_misses(pages):
    assert pages["missing"]("import numpy") == []
    text = pages["with_note"]("Title\n=====\n\nText", ["the package torch"])
    assert "it needs the package torch" in text
    assert pages["with_note"]("Title\n=====\n", []) == "Title\n=====\n"


@pytest.fixture(scope="module")
def reference():
    pytest.importorskip("numpydoc", reason="needs numpydoc: make docs")
    return runpy.run_path(str(DOCS / "_extensions" / "reference.py"))


@pytest.mark.parametrize("name", ["GTPCA", "ProbabilisticGTPCA", "MixtureGTPCA", "EventGTPCA"])
def test_every_parameter_is_in_one_group(reference, name):
    rows = [row for group in reference["parameters"](f"gtpca.{name}").values() for row in group]
    assert sorted(row[0] for row in rows) == sorted(getattr(gtpca, name)().get_params(deep=False))
    assert all(text.endswith(".") for _, _, text in rows), rows


def test_methods_are_listed_without_internals(reference):
    found = reference["methods"]("gtpca.GTPCA")
    assert {"fit", "transform", "encode", "align", "poses", "score"} <= set(found["Methods"])
    assert not {"bind", "chunks", "measure", "set_params", "model_"} & set(found["Methods"])
    assert all(name.startswith("plot_") for name in found["Plots"])
    assert all(text.endswith(".") for text in found["Methods"].values()), found
    inherited = dict(reference["inherited"]("gtpca.GTPCA"))
    assert inherited["get_params"] == "Get parameters for this estimator."
    assert not any("request" in name for name in [*inherited, *found["Methods"]])
    assert "bind" in reference["methods"]("gtpca.Family")["Methods"]
    assert reference["methods"]("gtpca.Shift") == {}


WORDS = [
    "spike sorting",
    "template matching",
    "DTW",
    "retention time",
    "cryo-EM",
    "gait",
    "seizure",
]
WORDS += ["sub-sample", "real time", "Woody", "RIDE", "icoshift", "sub-pixel", "functional data"]


@pytest.mark.parametrize("word", WORDS)
def test_words_of_the_fields_are_found(word):
    pages = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")]
    assert any(word.lower() in page.lower() for page in pages)
