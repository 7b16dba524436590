"""``gtpca plot`` and ``gtpca report``."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from command import call, process

from gtpca import GTPCA, Shift
from gtpca.datasets import make_spikes
from gtpca.diagnostics import summary

pytest.importorskip("typer", reason='needs typer: pip install "gtpca[cli]"')
pytest.importorskip("rich", reason='needs rich: pip install "gtpca[cli]"')
pytest.importorskip("matplotlib", reason='drawings need matplotlib: pip install "gtpca[plot]"')

from matplotlib import pyplot

ALONE, WITH_DATA = ["components", "history", "energy"], ["reconstructions", "scores", "poses"]
WITH_DATA += ["perturbation", "energy"]


@pytest.fixture(autouse=True)
def no_figures():
    """Figures that other tests left open would be warned of."""
    pyplot.close("all")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Signals with labels in a table, and a model of them."""
    folder = tmp_path_factory.mktemp("drawings")
    X, _ = make_spikes(24, n_times=40, random_state=0)
    lines = [f"{'ab'[i % 2]},{','.join(map(str, row))}" for i, row in enumerate(X.tolist())]
    head = ",".join(["kind", *(f"t{j}" for j in range(40))])
    (folder / "x.csv").write_text("\n".join([head, *lines]))
    np.save(folder / "x.npy", X)
    GTPCA(3, Shift(12), random_state=0).fit(X).save(folder / "m.gtpca")
    return folder


def size(path):
    """Width and height of a PNG file."""
    start = path.read_bytes()[:24]
    assert start[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(start[16:20]), int.from_bytes(start[20:24])


# --- plot ---


@pytest.mark.parametrize(
    ("kind", "data"), [(kind, False) for kind in ALONE] + [(kind, True) for kind in WITH_DATA]
)
def test_every_kind_is_drawn(kind, data, folder, tmp_path, capsys):
    out = tmp_path / "picture.png"
    arguments = ["plot", kind, folder / "m.gtpca", *([folder / "x.npy"] if data else [])]
    done = call(capsys, *arguments, "-o", out)
    assert (done.code, done.out, done.err) == (0, "", f"The picture is in {out}.\n")
    assert done.read.startswith(
        f"Read {folder / 'x.npy'}: 24 samples of shape 40; " if data else ""
    )
    assert min(size(out)) > 300


def test_a_picture_through_a_process(folder, tmp_path):
    out = tmp_path / "picture.svg"
    done = process(
        "plot", "scores", folder / "m.gtpca", folder / "x.csv", "--labels", "kind", "-o", out
    )
    assert done.code == 0, done.err
    assert "<svg" in out.read_text()[:600]


def test_a_picture_to_standard_output(folder, tmp_path):
    out = tmp_path / "picture.png"
    how = {"capture_output": False, "stderr": subprocess.PIPE}
    with open(out, "wb") as file:
        done = process("plot", "energy", folder / "m.gtpca", "-o", "-", stdout=file, **how)
    assert (done.code, done.err) == (0, "")
    assert min(size(out)) > 300


def test_options_choose_what_is_drawn(folder, tmp_path, capsys):
    def drawn(kind, *more):
        arguments = ["plot", kind, folder / "m.gtpca", *more, "-o", tmp_path / "p.png"]
        assert call(capsys, *arguments).code == 0
        return size(tmp_path / "p.png")

    assert drawn("components", "--components", "1")[0] < drawn("components")[0]
    data = folder / "x.npy"
    one, three = (drawn("reconstructions", data, "--rows", rows) for rows in ("5", "0,5,7"))
    assert one < three
    assert drawn("poses", data, "--components", "1")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["faces", "m.gtpca"], ["faces", "components", "perturbation"]),
        (["scores", "m.gtpca"], ["gtpca plot scores needs DATA"]),
        (["score", "m.gtpca", "x.npy"], ["'score' is not one of", "Did you mean scores? See"]),
        (["scores", "m.gtpca", "x.csv", "--labels", "kint"], ["Did you mean kind?"]),
        (["energy", "m.gtpca", "--rows", "1"], ["--rows does not apply to energy"]),
        (["scores", "m.gtpca", "x.npy", "--labels-file", "x.npy"], ["(24, 40)", "24 are needed"]),
        (["poses", "m.gtpca", "x.npy", "--labels-file", "x.npy"], ["--labels-file does not apply"]),
        (["components", "m.gtpca", "--components", "4"], ["--components=4", "from 1 to 3"]),
        (["components", "m.gtpca", "--components", "0"], ["--components=0", "from 1 to 3"]),
        (["components", "m.gtpca", "--components", "a"], ["1,3,5"]),
        (["poses", "m.gtpca", "x.npy", "--components", "1,2"], ["takes one component"]),
        (["reconstructions", "m.gtpca", "x.npy", "--rows", "24"], ["rows=24", "23"]),
        (["components", "x.npy"], ["x.npy"]),
    ],
)
def test_what_cannot_be_drawn(arguments, said, folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    out = tmp_path / "p.png"
    assert call(capsys, "plot", *arguments, "-o", out).refused(*said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["components", "history"])
def test_data_that_are_not_needed_are_not_read(kind, folder, tmp_path, capsys):
    drawn = []
    for data in ([], [tmp_path / "none.npy"]):
        out = tmp_path / "p.png"
        done = call(capsys, "plot", kind, folder / "m.gtpca", *data, "-o", out)
        assert (done.code, done.read) == (0, "")
        drawn.append(out.read_bytes())
    assert "none.npy is not read" in done.err
    assert drawn[0] == drawn[1]


def test_an_ending_that_is_no_picture(folder, tmp_path, capsys):
    arguments = ["plot", "components", folder / "m.gtpca", "-o", tmp_path / "p.docx"]
    assert call(capsys, *arguments).refused("'.docx' is none of .png, .svg, .pdf")


def test_labels_that_are_numbers_are_drawn_as_numbers(folder, tmp_path, capsys, monkeypatch):
    from gtpca import plots

    seen, draw = [], plots.plot_scores

    def watched(*given, labels):
        seen.append(labels)
        return draw(*given, labels=labels)

    monkeypatch.setattr(plots, "plot_scores", watched)
    for labels in (range(24), np.linspace(0, 1, 24), ["1", "", "nan", "x"] * 6):
        (tmp_path / "labels.txt").write_text("\n".join(map(str, labels)) + "\n")
        given = ["--labels-file", tmp_path / "labels.txt", "-o", tmp_path / "a.png"]
        assert (
            call(capsys, "plot", "scores", folder / "m.gtpca", folder / "x.npy", *given).code == 0
        )
        np.testing.assert_array_equal(seen[-1], labels)
    assert [labels.dtype.kind for labels in seen] == ["i", "f", "U"]


# --- report ---


@pytest.fixture
def page_parts():
    for name in ("plotly", "jinja2"):
        pytest.importorskip(name, reason='the page needs: pip install "gtpca[report]"')


@pytest.mark.usefixtures("page_parts")
def test_a_page_through_a_process(folder, tmp_path):
    out = tmp_path / "page.html"
    arguments = ["report", folder / "m.gtpca", folder / "x.csv", "--labels", "kind"]
    words = ("--title", "Spikes & more", "--text", "Run <7>.")
    done = process(*arguments, *words, "-o", out)
    assert (done.code, done.out, done.err) == (0, "", f"The page is in {out}.\n")
    assert "names 't0', 't1', .., 't39' (40), labels 'a', 'b' (2), ids none" in done.read
    page = out.read_text()
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "<title>Spikes &amp; more" in page
    assert '<p class="text">Run &lt;7&gt;.</p>' in page


@pytest.mark.usefixtures("page_parts")
@pytest.mark.parametrize("ending", ["txt", "npy"])
def test_labels_from_a_file_of_their_own(ending, folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(summary, "QUICK", 0)  # no check, which takes seconds

    def with_labels(labels):
        path, out = tmp_path / f"labels.{ending}", tmp_path / "page.html"
        if ending == "npy":
            np.save(path, labels)
        else:
            path.write_text("\n".join(labels) + "\n")
        arguments = ["report", folder / "m.gtpca", folder / "x.npy", "-o", out]
        return call(capsys, *arguments, "--labels-file", path), out

    done, out = with_labels(["odd", "even"] * 12)
    assert done.code == 0
    assert '"odd"' in out.read_text()
    assert with_labels(["odd", "even"])[0].refused("(2,)", "24 are needed")


@pytest.mark.usefixtures("page_parts")
def test_a_page_that_fails_leaves_the_one_that_was_there(folder, tmp_path, capsys):
    np.save(tmp_path / "long.npy", np.ones((4, 99)))
    out = tmp_path / "page.html"
    out.write_text("before")
    done = call(capsys, "report", folder / "m.gtpca", tmp_path / "long.npy", "-o", out)
    assert done.refused("99 features")
    assert out.read_text() == "before"
    assert call(capsys, "report", folder / "m.gtpca", folder / "x.npy", "-o", "a.pdf").refused(
        ".html"
    )
