"""The page of a model with a likelihood: pattern, doubts, and what it says of noise."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')

from test_page import data_of, numbers, rows

from gtpca import ProbabilisticGTPCA, Rotation, Shift
from gtpca.page import write_page

PULSE = np.array([1.0, 3.0, 6.0, -4.0, -1.0])
MODE = np.array([0.0, 2.0, 0.0, 2.0, 0.0])


def beats(n=60, size=1.0):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    for i, x in enumerate(X):
        x[i % 16 : i % 16 + 5] += size * (PULSE + rng.standard_normal() * MODE)
    return X


def fitted(n_components=1, family=None, X=None, **how):
    """A model of beats, and the rows."""
    X = beats() if X is None else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = ProbabilisticGTPCA(n_components, family or Shift(5), random_state=0, **how)
        return model.fit(X), X


def text_of(path):
    """All words of the page, without scripts, styles and tags."""
    html = re.sub(r"(?s)<(script|style).*?</\1>", " ", path.read_text(encoding="utf-8"))
    return " ".join(re.sub("<[^>]*>", " ", html).split())


@pytest.mark.parametrize("n_components", [0, 1, 2])
def test_numbers_are_those_of_the_model(n_components, tmp_path):
    model, X = fitted(n_components)
    data = data_of(write_page(model, X, tmp_path / "page.html"))
    points, codes = data["points"], model.encode(X)
    weights = rows(data["components"]["values"])
    np.testing.assert_allclose(weights[0], model.mean_pattern_, atol=1e-3)
    np.testing.assert_allclose(weights[1:], model.components_, atol=1e-4)
    assert data["components"]["names"][0] == "pattern"
    np.testing.assert_allclose(data["energy"]["explained"], 1 - model.resmse(X))
    assert data["energy"]["first"] == 0
    scores = numbers(points["scores"]).reshape(-1, n_components) if n_components else codes.scores
    np.testing.assert_allclose(scores, codes.scores, rtol=1e-5)
    np.testing.assert_allclose(rows(data["samples"]["rebuilt"]), model.reconstruct(X), atol=1e-3)


def test_doubts_are_those_of_the_posterior(tmp_path):
    model, X = fitted()
    data = data_of(write_page(model, X, tmp_path / "page.html"))
    found, (pose,) = model.pose_posterior(X), data["points"]["poses"]
    np.testing.assert_allclose(numbers(pose["std"]), found.std["centre"], rtol=1e-6)
    sure = {one["name"]: numbers(one["values"]) for one in data["points"]["sure"]}
    np.testing.assert_allclose(sure["pose probability"], found.probability[:, 0], rtol=1e-6)
    np.testing.assert_allclose(sure["log likelihood"], model.score_samples(X), rtol=1e-6)
    assert sum(data["histograms"]["probability"]["counts"]) == len(X)


def test_pattern_and_components_add_up_to_the_reconstruction(tmp_path):
    model, X = fitted(2)
    data = data_of(write_page(model, X, tmp_path / "page.html"))
    parts = data["samples"]["parts"]
    assert parts["names"] == ["pattern", "component 1", "component 2"]
    each = rows(parts).reshape(len(X), 3, -1)
    np.testing.assert_allclose(each.sum(axis=1), model.reconstruct(X), atol=0.05)
    builder = data["builder"]
    built = numbers(builder["base"]) + np.array([2.0, -1.0]) @ rows(builder["parts"])
    np.testing.assert_allclose(built, model.inverse_transform([[2.0, -1.0]])[0], atol=1e-3)


@pytest.mark.parametrize(
    ("family", "shape"),
    [(None, (20,)), (Rotation(4), (6, 6)), (Shift(4, axes=0), (8, 9)), (Shift((3, 3)), (6, 6, 3))],
    ids=str,
)
@pytest.mark.parametrize("n_components", [0, 1])
def test_every_kind_of_sample_has_a_page(family, shape, n_components, tmp_path):
    X = np.abs(np.random.default_rng(0).standard_normal((20, *shape)))
    model, _ = fitted(n_components, family, X, shrink=False)
    text = text_of(write_page(model, X, tmp_path / "page.html"))
    assert "A pattern" in text


def test_gaps_have_a_page(tmp_path):
    X = beats()
    X[::3, 4:7] = np.nan
    model, _ = fitted(X=X, missing="ignore")
    assert data_of(write_page(model, X, tmp_path / "page.html"))["samples"]["gaps"]


def test_a_pattern_alone_has_no_sliders(tmp_path):
    model, X = fitted(0)
    path = write_page(model, X, tmp_path / "page.html")
    assert data_of(path)["builder"] is None
    text = text_of(path)
    assert text.startswith("ProbabilisticGTPCA: a pattern")
    assert "Build a sample" not in text
    assert "A pattern that moves to fit each sample" in text


def test_the_page_of_noise_says_that_there_is_no_pattern(tmp_path):
    noise = np.random.default_rng(3).standard_normal((80, 20))
    model, _ = fitted(0, X=noise)
    text = text_of(write_page(model, noise, tmp_path / "page.html"))
    said = f"{model.doubt_[0].upper()}{model.doubt_[1:]}"
    assert said.startswith("There is no evidence for a pattern: held-out rows are less likely")
    assert said in text
    assert "gtpca.diagnostics.choose(X, model.family) tries other windows" in text
    assert "`" not in text
    model, X = fitted(0)
    assert model.doubt_ is None
    assert "no evidence" not in text_of(write_page(model, X, tmp_path / "page.html"))
