"""The page of several kinds: tables, parts, samples and averages by kind."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')

from test_page import data_of, numbers, rows

from gtpca import Identity, MixtureGTPCA, Shift
from gtpca.page import contents, write_page
from gtpca.views.measures import measure, mixed_up, uncertain
from gtpca.views.parts import parts

SHAPES = np.array([[1, 3, 5, 3, 1], [5, 1, -2, 1, 5]])


@pytest.fixture(scope="module")
def signals():
    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((60, 24))
    for i, row in enumerate(X):
        row[i % 20 : i % 20 + 5] += SHAPES[i % 3 // 2] * (1 + 0.2 * rng.standard_normal())
    X[0] = 0.3 * rng.standard_normal(24)  # of no kind
    return X


@pytest.fixture(scope="module")
def mixture(signals):
    return MixtureGTPCA(2, 1, Shift(5), tol=1e-3, random_state=0).fit(signals)


def test_energies_of_rows_by_their_kinds(mixture, signals):
    codes, energies = mixture.measure(signals)
    rest = signals - mixture.decode(codes)
    assert energies.shape == (60, 3)
    np.testing.assert_allclose(energies[:, 0], (signals**2).sum(axis=1))
    np.testing.assert_allclose(energies[:, -1], (rest**2).sum(axis=1))
    assert measure(mixture, signals)[0].kind.tolist() == mixture.predict(signals).tolist()


def test_energies_with_gaps_are_those_of_what_was_observed(mixture, signals):
    X = signals.copy()
    X[3, 4:7] = np.nan
    model = MixtureGTPCA(2, 1, Shift(5), missing="ignore", tol=1e-2, random_state=0).fit(X)
    codes, energies = model.measure(X)
    rest = np.where(np.isnan(X), 0, X - model.decode(codes))
    np.testing.assert_allclose(energies[:, -1], (rest**2).sum(axis=1))


def test_parts_are_patterns_and_components_of_each_kind(mixture):
    found = parts(mixture)
    names = [part.name for part in found]
    assert names == [f"kind {g}: {name}" for g in (0, 1) for name in ("pattern", "component 1")]
    np.testing.assert_array_equal(found[2].weights, mixture.mean_patterns_[1])
    np.testing.assert_array_equal(found[3].weights, mixture.components_[1, 0])
    assert 0.5 < sum(part.share for part in found) < 1
    assert "norm" in found[2].title
    assert "sd" in found[3].title


def test_uncertain_samples_lie_between_two_kinds():
    share = np.array([[0.96, 0.04, 0], [0.9, 0.08, 0.02], [0.3, 0.3, 0.4], [0, 0.5, 0.5]])
    assert uncertain(share).tolist() == [False, True, True, True]
    assert mixed_up(share).tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert mixed_up(np.ones((3, 1))).tolist() == [[0]]


def test_the_page_counts_samples_by_kind_and_class(mixture, signals, tmp_path):
    labels = np.array(["low", "high"])[np.arange(60) % 3 // 2]
    path = write_page(mixture, signals, tmp_path / "a.html", labels={"size": labels})
    text, data = path.read_text(encoding="utf-8"), data_of(path)
    assert "MixtureGTPCA: 2 kinds" in text
    assert "choose_kinds" in text
    assert "Samples by size and kind" in text
    kind = mixture.predict(signals)
    for g in (0, 1):
        assert f"{np.sum(kind == g)} ({100 * np.mean(kind == g):.1f} %)" in text
    assert [one["name"] for one in data["points"]["columns"]] == ["kind", "size"]
    assert data["points"]["columns"][0]["labels"] == [str(g) for g in kind]
    share = numbers(data["points"]["kinds"]).reshape(-1, 2)
    np.testing.assert_allclose(share, mixture.predict_proba(signals), atol=1e-6)
    rebuilt = rows(data["samples"]["rebuilt"])
    np.testing.assert_allclose(rebuilt, mixture.reconstruct(signals), atol=2e-3)
    bars = data["histograms"]["poses"][0]["bars"]
    assert [sum(one["counts"]) for one in bars] == np.bincount(kind).tolist()
    assert data["builder"] is None
    assert data["components"]["names"][2] == "kind 1: pattern"


def test_averages_are_those_of_each_kind(mixture, signals, tmp_path):
    data = data_of(write_page(mixture, signals, tmp_path / "a.html"))["alignment"]
    kind, aligned = mixture.predict(signals), mixture.align(signals)
    means = numbers(data["after"]["means"][0]).reshape(2, -1)
    assert data["groups"] == ["kind 0", "kind 1"]
    np.testing.assert_allclose(means[1], aligned[kind == 1].mean(axis=0), atol=1e-5)
    assert data["pose"].startswith("kind, then")


@pytest.mark.parametrize("how", ["a pattern alone", "stationary", "pictures", "still", "gaps"])
def test_every_mixture_has_a_page(how, signals, tmp_path):
    X, n_components, family, more = signals, 1, Shift(5), {}
    if how == "a pattern alone":
        n_components = 0
    elif how == "stationary":
        more["noise"] = "stationary"
    elif how == "pictures":
        X, family = np.tile(signals[:, None, :8], (1, 8, 1)) + signals[:, :8, None], Shift((5, 5))
    elif how == "still":
        family = Identity()
    else:
        X, more["missing"] = signals.copy(), "ignore"
        X[2, 3:6] = np.nan
    model = MixtureGTPCA(2, n_components, family, tol=1e-2, random_state=0, **more).fit(X)
    path = write_page(model, X, tmp_path / "a.html", labels={"kind": np.arange(60) % 2})
    names = [one["name"] for one in data_of(path)["points"]["columns"]]
    assert names == ["kind found", "kind"]


def test_many_kinds_show_fewer_components(mixture, signals, monkeypatch):
    assert contents.n_shown(mixture) == 1
    monkeypatch.setattr(contents, "CARDS", 3)
    assert contents.n_shown(mixture) == 0
    shown = contents._components(mixture, mixture.encode(signals))
    assert shown["names"] == ["kind 0: pattern", "kind 1: pattern"]
