"""From made-up rows with known means to tables, figures and the page."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("pandas", reason='needs pandas: pip install "gtpca[report]"')
pytest.importorskip("matplotlib", reason='needs matplotlib: pip install "gtpca[plot]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')

from gtpca import GTPCA, Rotation, Shift
from gtpca.datasets import DatasetError
from gtpca.experiments.report import (
    layout,
    panels,
    pictures,
    read_remarks,
    tables,
    verdicts,
    write_report,
)
from gtpca.experiments.report.published import (
    published_models,
    published_row,
    published_tables,
)
from gtpca.experiments.rows import TableKey

OSCILLATIONS = TableKey("oscillations", "512", "projection", "resmse")
MNIST = TableKey("mnist", "iii", "classification", "accuracy")
NASTY = "<script>alert('x')</script> | a_b"


def row(key=OSCILLATIONS, **fields):
    base = {"model": "pca", "protocol": "none", "normalisation": "same", "k": 1, "repetition": 0}
    rest = {"value": 0.9, "seconds": 1.0, "simulated": False, "profile": "paper"}
    return key._asdict() | base | rest | fields


def repeated(values, key=OSCILLATIONS, **fields):
    return [row(key, repetition=r, value=value, **fields) for r, value in enumerate(values)]


def whole_table(factor=1.0, key=OSCILLATIONS, repetitions=2, **fields):
    """All of a table, as published but for a factor."""
    rows = []
    for model in ["gtpca-als", "gtpca-adam", *published_models(key)[1:]]:
        for k, value in enumerate(published_row(key, model), 1):
            values = [None if value is None else value * factor] * repetitions
            rows += repeated(values, key, model=model, k=k, **fields)
    return rows


@pytest.fixture
def folder(tmp_path):
    def write(rows, name="results"):
        path = tmp_path / name
        path.mkdir()
        lines = "".join(json.dumps(r) + "\n" for r in rows)
        (path / "rows.jsonl").write_text(lines, encoding="utf-8")
        return path

    return write


@pytest.fixture
def table_of(folder):
    def make(rows, **options):
        (table,) = tables.make_tables(tables.read_rows(folder(rows)), **options)
        return table

    return make


def cell(table, k=1, **fields):
    cells = table.cells[table.cells["k"] == k]
    for name, value in fields.items():
        cells = cells[cells[name] == value]
    (found,) = cells.to_dict("records")
    return found


# published numbers


@pytest.mark.parametrize(
    ("key", "model", "k", "value"),
    [
        ("oscillations/512/projection/resmse", "gtpca-als", 1, 0.635),
        ("oscillations/512/projection/resmse", "gtpca-refine", 10, 0.183),
        ("oscillations/256/projection/resmse", "kpca", 1, 0.949),
        ("handwriting/700/projection/resmse", "gtpca-adam", 1, 0.09289),
        ("handwriting/700/projection/resmse", "pca", 10, 0.03567),
        ("spikes/iii/classification/accuracy", "gtpca-als", 2, 99.0),
        ("mnist/i/classification/resmse", "vae", 4, None),
        ("mnist/iv/outlier/accuracy", "gtpca-refine", 10, 93.6),
    ],
)
def test_published_rows(key, model, k, value):
    assert published_row(TableKey(*key.split("/")), model)[k - 1] == value


def test_rows_that_the_paper_has_not():
    assert published_row(TableKey("errp", "i", "outlier", "resmse"), "pca") == []
    assert published_row(TableKey("spikes", "iv", "outlier", "resmse"), "pca") == []
    assert published_row(TableKey("spike", "i", "outlier", "resmse"), "pca") == []


def test_published_rows_are_copies():
    published_row(OSCILLATIONS, "pca").clear()
    assert len(published_row(OSCILLATIONS, "pca")) == 10


def test_published_tables_are_those_of_the_paper():
    keys = published_tables()
    assert len(keys) == len(set(keys)) == 2 + 12 + 2 + 12 + 16
    assert published_models(MNIST) == ["gtpca", "autoencoder", "vae", "pca"]


# tables


def test_mean_and_standard_error(table_of):
    found = cell(table_of(repeated([0.90, 0.94, 0.98])), model="pca")
    assert found["mean"] == pytest.approx(0.94)
    assert found["stderr"] == pytest.approx(0.04 / np.sqrt(3))
    assert found["count"] == 3
    assert found["published"] == 0.926
    assert found["difference"] == pytest.approx(0.014)
    assert found["ratio"] == pytest.approx(0.94 / 0.926)
    assert found["verdict"] == "agrees"


def test_rows_written_twice_count_once(table_of):
    found = cell(table_of([row(value=0.1), row(value=0.5)]), model="pca")
    assert (found["mean"], found["count"]) == (0.5, 1)
    assert np.isnan(found["stderr"])


def test_exploded_values_are_left_out_of_the_mean_but_counted(table_of):
    table = table_of(repeated([0.8, None, 1.0]) + repeated([None, None], k=2))
    first, second = cell(table, model="pca"), cell(table, 2, model="pca")
    assert (first["mean"], first["count"], first["exploded"]) == (pytest.approx(0.9), 3, 1)
    assert np.isnan(second["mean"])
    assert (second["count"], second["exploded"], second["verdict"]) == (2, 2, "")
    notes = verdicts.sentences(table)["notes"]
    assert "PCA: 1 of 3 repetitions exploded at k = 1." in notes
    assert "PCA: 2 of 2 repetitions exploded at k = 2." in notes


def test_complete_only_with_every_repetition_of_every_model(table_of, folder):
    rows = whole_table(repetitions=10)
    table = table_of(rows)
    assert table.complete
    assert table.present == table.expected == 6 * 10 * 10
    assert table.gaps() == []
    (less,) = tables.make_tables(tables.read_rows(folder(rows[:-1], "less")))
    assert not less.complete
    assert (less.present, less.expected) == (599, 600)
    assert less.gaps() == ["KPCA: 9 of 10 repetitions at k = 10."]
    assert layout.status(less) == "Incomplete: 599 of 600 results. Profile: paper."


def test_more_repetitions_of_one_value_do_not_make_up_for_another(table_of):
    rows = whole_table(repetitions=2)
    table = table_of([*rows[:-1], *repeated([1.0] * 5, model="pca", k=1)], repetitions=2)
    assert not table.complete
    assert table.present == table.expected - 1


def test_a_model_without_rows_is_missing(table_of):
    gaps = table_of(repeated([0.9] * 10)).gaps()
    assert "Autoencoder: no results at k = 1-10." in gaps
    assert "GT-PCA by the network: no results at k = 1-10." in gaps
    assert "PCA: no results at k = 2-10." in gaps


def test_every_protocol_of_gtpca_is_expected(table_of):
    fields = {"model": "gtpca-als", "protocol": "signed", "normalisation": "paper", "value": 40.0}
    gaps = " ".join(table_of([row(MNIST, **fields)]).gaps())
    assert "GT-PCA by ALS (scores as in the paper): no results at k = 1-20." in gaps
    assert "GT-PCA by ALS (signed scores and poses): no results at k = 1-20." in gaps
    assert "GT-PCA by ALS (signed scores): no results at k = 2-20; 1 of 10 repetitions" in gaps


def test_own_normalisation_is_not_compared(table_of):
    rows = [row(MNIST, protocol="paper", normalisation=n, value=12.8) for n in ("own", "paper")]
    table = table_of(rows)
    own = cell(table, model="pca", normalisation="own")
    assert np.isnan(own["published"])
    assert own["verdict"] == ""
    assert cell(table, model="pca", normalisation="paper")["verdict"] == "agrees"
    assert [r.label for r in layout.printed_rows(table) if r.extra] == [
        "scores as in the paper, all test samples"
    ]


def test_profiles_are_not_mixed(table_of):
    table = table_of([row(value=0.9, profile="paper"), row(value=0.5, profile="quick")])
    assert cell(table, model="pca", profile="quick")["mean"] == 0.5
    assert {r.label for r in layout.printed_rows(table) if r.name == "PCA"} >= {
        "profile paper",
        "profile quick",
    }


def test_lines_the_paper_has_not_need_no_k_but_equal_repetitions(table_of, folder):
    rows = whole_table(repetitions=10)
    rows += [row(model="gtpca-refine", k=k, repetition=r) for k in (2, 5) for r in range(3)]
    assert table_of(rows).complete
    (less,) = tables.make_tables(tables.read_rows(folder(rows[:-1], "less")))
    assert less.gaps() == ["GT-PCA, refined: 2 of 3 repetitions at k = 5."]


def test_a_small_profile_beside_a_complete_one_does_no_harm(table_of):
    rows = whole_table(repetitions=10)
    assert table_of([*rows, row(profile="quick")]).complete


def test_poses_are_not_expected_where_nothing_moves(table_of):
    key = TableKey("mnist", "ii", "classification", "accuracy")
    gaps = " ".join(table_of([row(key, protocol="paper", normalisation="paper")]).gaps())
    assert "GT-PCA by ALS (signed scores)" in gaps
    assert "poses" not in gaps


def test_real_results_supersede_simulated_ones(table_of):
    key = TableKey("errp", "i", "outlier", "resmse")
    table = table_of([row(key, simulated=True, k=2), row(key, simulated=False, value=0.5)])
    assert not table.simulated
    assert cell(table, 2, model="pca")["count"] == 0


def test_an_experiment_the_paper_has_not(table_of):
    table = table_of(repeated([0.5, 0.7], TableKey("mine", "x", "projection", "resmse")))
    assert table.complete
    assert table.title == "mine, x: ResMSE"
    assert panels.draw_panels([table], "mine").axes


def test_components_beyond_the_paper_are_shown(table_of):
    found = cell(table_of([row(k=12)]), 12, model="pca")
    assert found["count"] == 1
    assert np.isnan(found["published"])


@pytest.mark.parametrize(
    ("text", "match"),
    [("", "no rows"), ('{"k": 1}\n', "line 1.*experiment"), ("{\n{}\n", "line 1")],
)
def test_errors_of_the_file_are_named(tmp_path, text, match):
    (tmp_path / "rows.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=match):
        tables.read_rows(tmp_path)


def test_jobs_of_a_run_that_was_killed_count(tmp_path):
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "one.jsonl").write_text(json.dumps(row()) + "\n", encoding="utf-8")
    assert len(tables.read_rows(tmp_path)) == 1


def test_ranges():
    assert tables.ranges([5, 1, 2, 3, 10]) == "1-3, 5, 10"


def test_tables_are_written(table_of, tmp_path):
    table = table_of([*repeated([0.9, None]), row(model=NASTY)])
    markdown, csv, data = tables.write_tables([table], tmp_path / "out")
    text = markdown.read_text(encoding="utf-8")
    assert "Incomplete: 3 of" in text
    assert "<script>" not in text
    header, first = csv.read_text(encoding="utf-8").splitlines()[:2]
    assert header.split(",") == tables.EXPORTED
    assert first.startswith("oscillations,512,projection,resmse,gtpca-als")
    (content,) = json.loads(data.read_text(encoding="utf-8"))
    assert content["complete"] is False
    assert content["present"] == 3
    assert None in content["cells"][0]


def test_markdown_rows_have_equally_many_cells(table_of):
    text = layout.to_markdown(table_of([row(model="a|b", k=3)]))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {14}


# sentences


@pytest.mark.parametrize(
    ("factor", "kind"), [(1.0, "agrees"), (1.029, "agrees"), (0.9, "better"), (1.1, "worse")]
)
def test_verdicts_on_errors(table_of, factor, kind):
    said = verdicts.sentences(table_of(whole_table(factor)))
    assert len(said[kind]) == 6
    assert not any(said[other] for other in verdicts.KINDS if other != kind)
    assert "all 10 k compared" in said[kind][0]


def test_errors_of_an_explosion_are_short(table_of):
    said = verdicts.sentences(table_of(whole_table(3e20)))["worse"]
    assert all("by up to 3e+22 %" in sentence for sentence in said)


def test_a_larger_accuracy_is_better(table_of):
    fields = {"protocol": "paper", "normalisation": "paper"}
    table = table_of(repeated([14.8, 16.8], MNIST, k=1, **fields))
    assert verdicts.sentences(table)["better"] == [
        "PCA (scores as in the paper) is better at k = 1, by up to 3.0 points (k = 1: 15.8 against "
        "12.8)."
    ]
    assert verdicts.counts(table)["baselines"]["better"] == 1


def test_chance_is_named(table_of):
    (said,) = verdicts.sentences(table_of(repeated([0.9, 1.1])))["worse"]
    assert said.endswith(
        "; at all of these the published value is within two standard errors of ours."
    )


def test_simulated_results_are_not_compared(table_of):
    table = table_of(whole_table(key=TableKey("errp", "i", "outlier", "resmse"), simulated=True))
    said = verdicts.sentences(table)
    assert said["notes"] == [verdicts.SIMULATED]
    assert not any(said[kind] for kind in verdicts.KINDS)
    assert table.cells["ratio"].isna().all()
    assert {r.kind for r in layout.printed_rows(table)} == {"published", "ours"}
    assert table.title.endswith("(simulated data)")


# figures


def texts(figure):
    from matplotlib.text import Text

    return [artist.get_text() for artist in figure.findobj(Text)]


@pytest.mark.parametrize(
    ("experiment", "n_panels"), [("oscillations", 2), ("spikes", 12), ("mnist", 16)]
)
def test_panels_have_the_layout_of_the_paper(folder, experiment, n_panels):
    keys = [key for key in published_tables() if key.experiment == experiment]
    made = tables.make_tables(tables.read_rows(folder(whole_table(key=keys[0], repetitions=1))))
    figure = panels.draw_panels(made, experiment)
    assert len(figure.axes) == n_panels
    assert "GT-PCA by ALS" in texts(figure)
    solid = [line for line in figure.axes[0].lines if line.get_linestyle() == "-"]
    dashed = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    models = published_models(keys[0])
    assert (len(solid), len(dashed)) == (len(models) + 1, len(models))


def test_panels_say_simulated(table_of):
    made = [table_of([row(TableKey("errp", "i", "outlier", "resmse"), simulated=True)])]
    assert any("Simulated" in text for text in texts(panels.draw_panels(made, "errp")))
    assert "Simulated data." in panels.panel_caption(made, "errp")


def test_same_figure_same_bytes(tmp_path):
    once, again = (
        [path.read_bytes() for path in panels.save_figure(pictures.draw_network(2), tmp_path / n)]
        for n in ("a", "b")
    )
    assert once == again
    assert once[0].startswith(b"\x89PNG")


def test_network_has_a_box_per_layer():
    said = texts(pictures.draw_network(4))
    assert [f"GT-PC layer {j}" in said for j in (1, 4, 5)] == [True, True, False]


def test_spikes_are_drawn_with_three_reconstructions():
    X = np.random.default_rng(0).standard_normal((12, 10))
    model = GTPCA(3, Shift(5), random_state=0).fit(X)
    axes = pictures.draw_spikes(model, X).axes
    assert [len(ax.lines) for ax in axes] == [2, 2, 2, 4, 4, 4]


def test_digits_are_drawn():
    X = np.random.default_rng(0).uniform(size=(9, 6, 6))
    turned = GTPCA(4, Rotation(4), random_state=0).fit(X)
    moved = GTPCA(4, Shift((4, 4)), random_state=0).fit(X)
    figure = pictures.draw_digit_components(turned, X, moved, X)
    assert sum(len(ax.images) for ax in figure.axes) == 2 * (4 + 9)
    assert sum(len(ax.images) for ax in pictures.draw_digits(X, X).axes) == 18


def test_projections_have_two_colours():
    scores, is_eight = np.arange(10.0).reshape(5, 2), np.array([1, 0, 0, 1, 0])
    others, eights = pictures.draw_projections(scores, is_eight).axes[0].collections
    np.testing.assert_array_equal(eights.get_offsets(), scores[[0, 3]])
    assert len(others.get_offsets()) == 3


def test_pictures_without_mnist_say_so(monkeypatch):
    def fetch(*_):
        raise DatasetError("no network here")

    monkeypatch.setattr(pictures, "fetch_mnist", fetch)
    made = {picture.name: picture for picture in pictures.make_pictures(n_samples=20)}
    assert made["spikes-long-window"].figure is not None
    for name in ("digits", "components", "projections"):
        assert made[name].figure is None
        assert "Left out: no network here" in made[name].caption


# the page


def test_report(folder, tmp_path):
    errp = TableKey("errp", "i", "outlier", "resmse")
    rows = [*whole_table(0.9), row(errp, model="gtpca-als", simulated=True), row(model=NASTY)]
    path = folder(rows)
    run = {"profile": "paper", "versions": {"numpy": "1 <b>"}, "cores": [1, 2]}
    (path / "run.json").write_text(json.dumps(run), encoding="utf-8")
    remarks = "## summary\n\nBy <b>hand</b>, see `x`.\n\n- one\n- two\n\n## errp\n\nNo files.\n"
    (path / "remarks.md").write_text(remarks, encoding="utf-8")
    shown = [pictures.Picture("network", f"A net {NASTY}", pictures.draw_network(1))]
    shown += [pictures.Picture("gone", "Left out: why", None)]
    page = write_report(path, tmp_path / "out", pictures=shown)
    html, markdown = (page.with_suffix(s).read_text(encoding="utf-8") for s in (".html", ".md"))
    for text in (html, markdown):
        assert "<script" not in text
        assert "<b>hand" not in text
        assert "This report is incomplete" in text
        assert "Error potentials" in text
        assert "is better at all 10 k compared, by up to 10.0 %" in text
        assert "versions.numpy" in text
        assert "Left out: why" in text
        assert "imulated data" in text
    assert "&lt;script&gt;" in html
    assert "<code>x</code>" in html
    assert "<li>two</li>" in html
    assert "MNIST, (iv) rotated, outlier detection: accuracy (%)" in html  # as missing
    assert set(re.findall(r'src="([^"]{0,26})', html)) == {"data:image/svg+xml;base64,"}
    for image in re.findall(r"\]\((figures/[^)]+)\)", markdown):
        assert (page.parent / image).exists()
    assert (page.parent / "figures" / "network.svg").exists()
    assert {p.name for p in page.parent.glob("tables.*")} == {
        f"tables.{s}" for s in ("md", "csv", "json")
    }


def test_report_goes_into_the_folder_and_leaves_the_rows(folder):
    path = folder([row()])
    before = (path / "rows.jsonl").read_bytes()
    first = write_report(path, pictures=()).read_bytes()
    assert write_report(path, pictures=()).read_bytes() == first
    assert (path / "rows.jsonl").read_bytes() == before


def test_a_remark_on_nothing_is_an_error(tmp_path):
    (tmp_path / "remarks.md").write_text("## mnist/v/outlier/accuracy\n\nx\n", encoding="utf-8")
    with pytest.raises(ValueError, match="mnist/v/outlier/accuracy"):
        read_remarks(tmp_path / "remarks.md")
    assert read_remarks(tmp_path / "none.md") == {}


@pytest.mark.parametrize(
    ("module", "extra"), [("jinja2", "report"), ("pandas", "report"), ("matplotlib", "plot")]
)
def test_missing_parts_are_named(folder, module, extra):
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from gtpca.experiments.report import write_report\n"
        f"write_report({str(folder([row()]))!r}, pictures=())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    expected = f'ImportError: {module} is missing: pip install "gtpca[{extra}]"'
    assert done.stderr.strip().splitlines()[-1] == expected
