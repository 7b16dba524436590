"""The command for kinds of samples, and artefacts by command."""

import csv
import json

import numpy as np
import pytest
from command import call

import gtpca

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')
pytest.importorskip("matplotlib", reason='drawings need matplotlib: pip install "gtpca[plot]"')

SHAPES = np.array([[1, 3, 5, 3, 1], [5, 1, -2, 1, 5]])


def signals(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = 0.3 * rng.standard_normal((n, 24))
    for i, row in enumerate(X):
        row[i % 20 : i % 20 + 5] += SHAPES[i % 2]
    return X


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of samples with a column of classes."""
    path = tmp_path_factory.mktemp("kinds") / "beats.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["beat", *(f"t{j}" for j in range(24))])
        writer.writerows([["NV"[i % 2], *row] for i, row in enumerate(signals())])
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "kinds.gtpca"
    gtpca.MixtureGTPCA(2, 1, gtpca.Shift(5), tol=1e-3, random_state=0).fit(signals()).save(path)
    return path


def test_numbers_are_chosen_and_classes_counted(table, tmp_path, capsys):
    words = ("-o", tmp_path / "k.gtpca", "--kinds", "1:2", "-k", "0", "--family", "shift(5)")
    done = call(capsys, "kinds", table, "--labels", "beat", *words)
    assert done.code == 0
    assert "Take 2 kinds with 0 components" in done.out
    assert "next" not in done.out
    lines = [line.split() for line in done.out.splitlines()]
    assert ["N", "30", "0"] in lines or ["N", "0", "30"] in lines
    assert len(gtpca.load(tmp_path / "k.gtpca").kind_weights_) == 2


def test_known_numbers_as_json(table, tmp_path, capsys):
    words = ("-o", tmp_path / "k.gtpca", "--kinds", "2", "-k", "1", "--family", "shift(5)")
    done = call(capsys, "kinds", table, "--labels", "beat", *words, "--json")
    facts = json.loads(done.out)
    assert len(facts["kinds"]) == 2
    assert facts["n_components"] == 1
    assert sorted(map(sorted, facts["classes"].values())) == [[0, 30], [0, 30]]


def test_transform_writes_kind_and_probability(model, table, tmp_path, capsys):
    out = tmp_path / "out.csv"
    done = call(capsys, "transform", model, table, "--labels", "beat", "-o", out, "--poses")
    assert done.code == 0
    with out.open() as file:
        rows = list(csv.DictReader(file))
    fitted, X = gtpca.load(model), signals()
    assert [int(row["kind"]) for row in rows] == fitted.predict(X).tolist()
    assert np.allclose([float(r["kind_probability"]) for r in rows], fitted.predict_proba(X).max(1))
    assert {"beat", "score0", "start", "centre", "log_likelihood"} <= rows[0].keys()


def test_info_of_kinds(model, capsys):
    said = call(capsys, "info", model).out
    assert "2, each with a pattern and 1 components of shape 5" in said
    assert "doubt" in said
    assert len(json.loads(call(capsys, "info", model, "--json").out)["kinds"]) == 2


def test_plot_of_kinds(model, table, tmp_path, capsys):
    for words in ((), (table, "--labels", "beat")):
        out = tmp_path / f"{len(words)}.png"
        assert call(capsys, "plot", "kinds", model, *words, "-o", out).code == 0
        assert out.stat().st_size > 1000


def test_page_of_kinds(model, table, tmp_path, capsys):
    pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
    pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')
    out = tmp_path / "a.html"
    assert call(capsys, "report", model, table, "--labels", "beat", "-o", out).code == 0
    assert "Samples by beat and kind" in out.read_text(encoding="utf-8")


def test_what_is_refused_in_one_line(model, table, tmp_path, capsys):
    for words in (
        ("plot", "components", model, "-o", tmp_path / "a.png"),
        ("check", model, table),
        ("align", model, table, "-o", tmp_path / "a.npy"),
    ):
        done = call(capsys, *words)
        assert done.refused("holds kinds of samples, which `gtpca kinds` found"), words
    pair = gtpca.GTPCAClassifier(gtpca.GTPCA(1, gtpca.Shift(5), random_state=0))
    pair.fit(signals(), np.arange(60) % 2).save(tmp_path / "pair.gtpca")
    assert call(capsys, "info", tmp_path / "pair.gtpca").refused("holds a classifier")
    words = ("report", model, table, "-o", tmp_path / "a.html", "--check")
    assert call(capsys, *words).refused("--check does not apply to kinds")
    words = ("kinds", table, "-o", tmp_path / "a.gtpca", "--kinds", "two", "--family", "shift(5)")
    assert "is not a range" in call(capsys, *words).err


def test_artefacts_by_command(tmp_path, capsys):
    X = signals(80)
    X[:4] = 20 * np.random.default_rng(1).standard_normal((4, 24))
    np.save(tmp_path / "X.npy", X)
    words = ("-o", tmp_path / "m.gtpca", "-k", "2", "--family", "shift(5)", "--outliers", "rows")
    done = call(capsys, "fit", tmp_path / "X.npy", *words)
    assert done.code == 0
    assert "Set aside: 4 of 80 rows (weight below 0.1)." in done.out
    facts = json.loads(call(capsys, "info", tmp_path / "m.gtpca", "--json").out)
    assert facts["rows_set_aside"] == [0, 1, 2, 3]
    assert (
        "--outliers does not apply with --probabilistic"
        in call(capsys, "fit", tmp_path / "X.npy", *words, "--probabilistic").err
    )
