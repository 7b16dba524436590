"""From made-up rows with known means to tables."""

from __future__ import annotations

import json
import re
from tempfile import TemporaryDirectory

import numpy as np
import pytest

pytest.importorskip("pandas", reason='needs pandas: pip install "gtpca[report]"')

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from result_rows import MNIST, NASTY, cell, repeated, row, table_of, whole_table, write_rows

from gtpca_paper.report import layout, tables, verdicts
from gtpca_paper.rows import TableKey


def test_mean_and_standard_error():
    found = cell(table_of(repeated([0.90, 0.94, 0.98])), model="pca")
    assert found["mean"] == pytest.approx(0.94)
    assert found["stderr"] == pytest.approx(0.04 / np.sqrt(3))
    assert found["count"] == 3
    assert found["published"] == 0.926
    assert found["difference"] == pytest.approx(0.014)
    assert found["ratio"] == pytest.approx(0.94 / 0.926)
    assert found["verdict"] == "agrees"


def test_rows_written_twice_count_once():
    found = cell(table_of([row(value=0.1), row(value=0.5)]), model="pca")
    assert (found["mean"], found["count"]) == (0.5, 1)
    assert np.isnan(found["stderr"])


def test_diverged_values_are_left_out_of_the_mean_but_counted():
    table = table_of(repeated([0.8, None, 1.0]) + repeated([None, None], k=2))
    first, second = cell(table, model="pca"), cell(table, 2, model="pca")
    assert (first["mean"], first["count"], first["diverged"]) == (pytest.approx(0.9), 3, 1)
    assert np.isnan(second["mean"])
    assert (second["count"], second["diverged"], second["verdict"]) == (2, 2, "")
    notes = verdicts.sentences(table)["notes"]
    assert "PCA: 1 of 3 repetitions diverged at k = 1." in notes
    assert "PCA: 2 of 2 repetitions diverged at k = 2." in notes


def test_complete_only_with_every_repetition_of_every_model():
    rows = whole_table(repetitions=10)
    table = table_of(rows)
    assert table.complete
    n = (9 * 10 + 3) * 10  # of refined components only k = 2, 5, 10
    assert table.present == table.expected == n
    assert table.gaps() == []
    assert layout.status(table) == f"All {n} results. Profile: paper."
    less = table_of(rows[:-1])
    assert not less.complete
    assert (less.present, less.expected) == (n - 1, n)
    assert less.gaps() == ["VAE: 9 of 10 repetitions at k = 10."]
    assert layout.status(less) == f"Incomplete: {n - 1} of {n} results. Profile: paper."


def test_more_repetitions_of_one_value_do_not_make_up_for_another():
    rows = whole_table(repetitions=2)
    table = table_of([*rows[:-1], *repeated([1.0] * 5, model="pca", k=1)], repetitions=2)
    assert not table.complete
    assert table.present == table.expected - 1


def test_a_model_without_rows_is_missing():
    gaps = table_of(repeated([0.9] * 10)).gaps()
    assert "Autoencoder: no results at k = 1-10." in gaps
    assert "GT-PCA by the network: no results at k = 1-10." in gaps
    assert "PCA: no results at k = 2-10." in gaps


def test_every_protocol_of_gtpca_is_expected():
    fields = {"model": "gtpca-als", "protocol": "signed", "normalisation": "paper", "value": 40.0}
    gaps = " ".join(table_of([row(MNIST, **fields)]).gaps())
    assert "GT-PCA by ALS (scores as in the paper): no results at k = 1-20." in gaps
    assert "GT-PCA by ALS (signed scores and poses): no results at k = 1-20." in gaps
    assert "GT-PCA by ALS (signed scores): no results at k = 2-20; 1 of 10 repetitions" in gaps
    assert "PCA (signed scores): no results at k = 1-20." in gaps


def test_protocols_that_the_paper_has_not_are_not_compared():
    fields = {"model": "pca", "normalisation": "paper", "value": 30.0}
    table = table_of([row(MNIST, protocol=p, **fields) for p in ("paper", "signed")])
    assert cell(table, model="pca", protocol="paper", normalisation="paper")["verdict"] == "better"
    assert cell(table, model="pca", protocol="signed", normalisation="paper")["verdict"] == ""


def test_an_accuracy_agrees_within_two_points():
    fields = {"protocol": "paper", "normalisation": "paper"}
    for value, verdict in ((12.8 + 1.9, "agrees"), (12.8 + 2.1, "better"), (10.7, "worse")):
        table = table_of([row(MNIST, value=value, **fields)])
        assert (
            cell(table, model="pca", protocol="paper", normalisation="paper")["verdict"] == verdict
        )


def test_identical_repetitions_have_no_standard_error():
    table = table_of(repeated([0.9] * 3) + repeated([0.9, 0.8], k=2))
    first, second = cell(table, model="pca"), cell(table, 2, model="pca")
    assert np.isnan(first["stderr"])
    assert first["identical"]
    assert second["stderr"] == pytest.approx(0.05)
    assert not second["identical"]
    printed = layout.printed_rows(table_of(repeated([0.9] * 3)))
    assert {r.repetitions for r in printed if r.kind == "ours"} == {"0", "3, identical"}


def test_forms_of_gtpca_are_compared_on_the_same_repetitions():
    rows = repeated([0.4, 0.6, 0.1, 0.1], model="gtpca-als")
    rows += repeated([0.36, 0.54], model="gtpca-refine") + repeated([0.5], model="pca")
    table = table_of(rows)
    refined = cell(table, model="gtpca-refine")
    assert (refined["pairs"], refined["against"]) == (2, pytest.approx(-10.0))
    assert refined["verdict"] == ""  # the paper has no such model
    assert cell(table, model="pca")["pairs"] == cell(table, model="gtpca-als")["pairs"] == 0
    fields = {"protocol": "signed", "normalisation": "own"}
    rows = repeated([40.0, 60.0], MNIST, model="gtpca-als", **fields)
    rows += repeated([70.0], MNIST, model="gtpca-shared", **fields)
    shared = cell(table_of(rows), model="gtpca-shared", **fields)
    assert (shared["pairs"], shared["against"]) == (1, pytest.approx(30.0))


def test_balanced_accuracies_are_a_table_of_their_own():
    key = TableKey("mnist", "iii", "outlier", "accuracy")
    fields = {"protocol": "signed", "normalisation": "own", "value": 91.1}
    rows = [row(key, **fields, balanced=50.5), row(key, k=2, **fields)]  # the second is older
    with TemporaryDirectory() as folder:
        found = tables.make_tables(tables.read_rows(write_rows(rows, folder)))
    assert [table.key.metric for table in found] == ["accuracy", "balanced"]
    line = {"model": "pca", "protocol": "signed", "normalisation": "own"}
    assert cell(found[0], **line)["mean"] == 91.1
    assert cell(found[1], **line)["mean"] == 50.5
    assert cell(found[1], 2, **line)["count"] == 0
    assert found[1].title.endswith("balanced accuracy (%)")


def test_outdated_rows_are_not_read():
    fields = {"model": "gtpca-als", "protocol": "paper", "normalisation": "paper", "value": 20.0}
    table = table_of([row(MNIST, **fields), row(MNIST, k=2, **fields, scale=56.0)])
    line = {"model": "gtpca-als", "protocol": "paper", "normalisation": "paper"}
    assert [cell(table, k, **line)["count"] for k in (1, 2)] == [0, 1]


def test_own_normalisation_is_not_compared():
    rows = [row(MNIST, protocol="paper", normalisation=n, value=12.8) for n in ("own", "paper")]
    table = table_of(rows)
    own = cell(table, model="pca", protocol="paper", normalisation="own")
    assert np.isnan(own["published"])
    assert own["verdict"] == ""
    fields = {"model": "pca", "protocol": "paper", "normalisation": "paper"}
    assert cell(table, **fields)["verdict"] == "agrees"
    extra = [r for r in layout.printed_rows(table) if r.extra and r.repetitions != "0"]
    assert [r.label for r in extra] == ["scores as in the paper, all test samples"]


def test_profiles_are_not_mixed():
    table = table_of([row(value=0.9, profile="paper"), row(value=0.5, profile="quick")])
    assert cell(table, model="pca", profile="quick")["mean"] == 0.5
    assert {r.label for r in layout.printed_rows(table) if r.name == "PCA"} >= {
        "profile paper",
        "profile quick",
    }


def test_lines_beyond_the_profile_need_no_k_but_equal_repetitions():
    rows = whole_table(repetitions=10)
    rows += [row(model="ica", k=k, repetition=r) for k in (2, 5) for r in range(3)]
    assert table_of(rows).complete
    less = table_of(rows[:-1])
    assert less.gaps() == ["ica: 2 of 3 repetitions at k = 5."]


def test_what_is_wanted_depends_on_the_profile():
    default = [row(k=k, profile="default", repetition=r) for k in range(1, 11) for r in range(10)]
    gaps = " ".join(table_of(default).gaps())
    assert "Autoencoder: no results at k = 1-10." in gaps
    table = table_of(repeated([0.9], profile="quick"))
    assert cell(table, 3, model="pca")["wanted"] == 1
    assert cell(table, 4, model="pca")["wanted"] == 0
    assert cell(table_of(default), 1, model="vae")["wanted"] == 3


def test_a_small_profile_beside_a_complete_one_does_no_harm():
    rows = whole_table(repetitions=10)
    assert table_of([*rows, row(profile="quick")]).complete


def test_poses_are_not_expected_where_nothing_moves():
    key = TableKey("mnist", "ii", "classification", "accuracy")
    gaps = " ".join(table_of([row(key, protocol="paper", normalisation="paper")]).gaps())
    assert "GT-PCA by ALS (signed scores)" in gaps
    assert "poses" not in gaps


def test_real_results_supersede_simulated_ones():
    key = TableKey("errp", "i", "outlier", "resmse")
    table = table_of([row(key, simulated=True, k=2), row(key, simulated=False, value=0.5)])
    assert not table.simulated
    assert cell(table, 2, model="pca")["count"] == 0


def test_an_experiment_the_paper_has_not():
    table = table_of(repeated([0.5, 0.7], TableKey("mine", "x", "projection", "resmse")))
    assert table.complete
    assert table.title == "mine, x: ResMSE"


def test_components_beyond_the_paper_are_shown():
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


def test_tables_are_written(tmp_path):
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


def test_markdown_rows_have_equally_many_cells():
    text = layout.to_markdown(table_of([row(model="a|b", k=3)]))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {14}
