"""A model with a likelihood on the command line: all commands take it, and say what is noise."""

from __future__ import annotations

import json
import re
import shlex

import numpy as np
import pytest
from command import call

import gtpca

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')

PULSE = np.array([1.0, 3.0, 6.0, -4.0, -1.0])
FIT = ("--family", "shift(5)", "--probabilistic")


@pytest.fixture(scope="module")
def rows():
    X = 0.5 * np.random.default_rng(0).standard_normal((60, 20))
    for i, x in enumerate(X):
        x[i % 16 : i % 16 + 5] += PULSE
    return X


@pytest.fixture
def data(rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    return tmp_path / "rows.npy"


@pytest.fixture
def model(data, tmp_path, capsys):
    path = tmp_path / "beats.gtpca"
    assert call(capsys, "fit", data, "-o", path, *FIT, "-k", "1").code == 0
    return path


def test_fit_info_and_transform(model, data, rows, tmp_path, capsys):
    fitted = gtpca.load(model)
    assert type(fitted) is gtpca.ProbabilisticGTPCA
    assert fitted.polarity == "positive"
    done = call(capsys, "info", model)
    assert done.code == 0
    assert "pattern" in done.out
    facts = json.loads(call(capsys, "info", model, "--json").out)
    assert facts["noise_variance"] == fitted.noise_variance_
    out = tmp_path / "scores.csv"
    assert call(capsys, "transform", model, data, "-o", out, "--poses").code == 0
    names = out.read_text().splitlines()[0].split(",")
    table = dict(zip(names, np.loadtxt(out, delimiter=",", skiprows=1).T, strict=True))
    np.testing.assert_array_equal(table["start"], np.arange(60) % 16)
    np.testing.assert_allclose(table["log_likelihood"], fitted.score_samples(rows))
    np.testing.assert_allclose(table["gtpca0"], fitted.transform(rows)[:, 0])
    assert table["pose_probability"].min() > 0.5
    assert {"start_std", "centre_std"} <= set(names)


def test_samples_and_gaps(model, data, rows, tmp_path, capsys):
    fitted = gtpca.load(model)
    for command in ("reconstruct", "align"):
        assert call(capsys, command, model, data, "-o", tmp_path / "out.npy").code == 0
        wanted = getattr(fitted, command)(rows)
        np.testing.assert_allclose(np.load(tmp_path / "out.npy"), wanted)
    gappy = rows.copy()
    gappy[::7, 4:9] = np.nan
    np.save(data, gappy)
    assert call(capsys, "impute", model, data, "-o", tmp_path / "full.npy").code == 0
    assert np.isfinite(np.load(tmp_path / "full.npy")).all()


@pytest.mark.parametrize("kind", ["components", "energy", "history"])
def test_plots_of_the_model(kind, model, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason='needs matplotlib: pip install "gtpca[plot]"')
    out = tmp_path / "out.png"
    assert call(capsys, "plot", kind, model, "-o", out).code == 0
    assert out.read_bytes().startswith(b"\x89PNG")


def test_plots_with_data(model, data, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason='needs matplotlib: pip install "gtpca[plot]"')
    for kind in ("energy", "reconstructions", "scores", "poses", "perturbation", "pose-posterior"):
        out = tmp_path / f"{kind}.svg"
        assert call(capsys, "plot", kind, model, data, "-o", out).code == 0
        assert "<svg" in out.read_text()
    rows = ("pose-posterior", model, data, "--rows", "3,4", "-o", tmp_path / "rows.png")
    assert call(capsys, "plot", *rows).code == 0


def test_what_a_pattern_alone_has_not(data, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason='needs matplotlib: pip install "gtpca[plot]"')
    model, out = tmp_path / "pattern.gtpca", tmp_path / "out.png"
    assert call(capsys, "fit", data, "-o", model, *FIT, "-k", "0").code == 0
    scores = tmp_path / "scores.csv"
    assert call(capsys, "transform", model, data, "-o", scores).refused("add --poses")
    assert call(capsys, "transform", model, data, "-o", scores, "--poses").code == 0
    assert scores.read_text().startswith("start,centre,pose_probability")
    done = call(capsys, "plot", "scores", model, data, "-o", out)
    assert "n_components=0: the model is its pattern alone" in done.err
    assert done.code == 2
    done = call(capsys, "plot", "components", model, "--components", "1", "-o", out)
    assert done.refused("pattern alone")
    energy = tmp_path / "energy.gtpca"
    assert call(capsys, "fit", data, "-o", energy, "-k", "1", "--family", "shift(5)").code == 0
    done = call(capsys, "plot", "pose-posterior", energy, data, "-o", out)
    assert (done.code, "--probabilistic" in done.err) == (2, True)


def test_the_page(model, data, tmp_path, capsys):
    pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
    pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')
    out = tmp_path / "out.html"
    assert call(capsys, "report", model, data, "-o", out).code == 0
    assert "Pattern and components" in out.read_text()


def test_what_is_refused(data, tmp_path, capsys):
    fit = ("fit", data, "-o", tmp_path / "other.gtpca", *FIT)
    for option, value in (("--refine", "2"), ("--fraction", "0.9"), ("--restarts", "2")):
        assert call(capsys, *fit, option, value).refused(f"{option} does not apply")
    assert call(capsys, *fit, "--shared-pose").refused("--shared-pose does not apply")


def test_noise_is_told_by_fit_info_and_check(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("noise.npy", np.random.default_rng(3).standard_normal((80, 20)))
    done = call(capsys, "fit", "noise.npy", "-o", "n.gtpca", *FIT, "-k", "0")
    assert done.code == 0
    said = (
        "here is no evidence for a pattern: held-out rows are less likely with it than with noise"
    )
    assert done.err.startswith(f"gtpca: warning: T{said}")
    assert "(above 0 is needed)" in done.err
    assert "`gtpca choose noise.npy --family shift`" in done.err
    assert said not in done.out
    assert "`gtpca choose DATA --family shift`" in call(capsys, "info", "n.gtpca").out
    assert said in json.loads(call(capsys, "info", "n.gtpca", "--json").out)["doubt"]
    last = call(capsys, "check", "n.gtpca", "noise.npy").out.splitlines()[-1]
    assert last.startswith(f"T{said}")
    assert last.endswith("try other windows with `gtpca choose noise.npy --family shift`.")


def test_check_ends_in_a_command_that_works(model, data, capsys, monkeypatch):
    monkeypatch.chdir(data.parent)
    done = call(capsys, "check", model.name, data.name)
    assert done.code == 0
    assert "one more than -k" in done.out
    advice = done.out.splitlines()[-1]
    assert "no evidence" not in advice
    program, *words = shlex.split(re.search("`(.*)`", advice)[1])
    assert program == "gtpca"
    assert words[-1] == "--probabilistic"
    assert call(capsys, *words).code == 0
    assert type(gtpca.load(model.name)) is gtpca.ProbabilisticGTPCA
