"""What is said of a table."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas", reason='needs pandas: pip install "gtpca[report]"')

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from result_rows import MNIST, repeated, table_of, whole_table

from gtpca_paper.report import layout, verdicts
from gtpca_paper.rows import TableKey


@pytest.mark.parametrize(
    ("factor", "kind"), [(1.0, "agrees"), (1.029, "agrees"), (0.9, "better"), (1.1, "worse")]
)
def test_verdicts_on_errors(factor, kind):
    said = verdicts.sentences(table_of(whole_table(factor)))
    assert len(said[kind]) == 6
    assert not any(said[other] for other in verdicts.KINDS if other != kind)
    assert "all 10 k compared" in said[kind][0]


def test_errors_of_an_explosion_are_short():
    said = verdicts.sentences(table_of(whole_table(3e20)))["worse"]
    assert all("by up to 3e+22 %" in sentence for sentence in said)


def test_a_larger_accuracy_is_better():
    fields = {"protocol": "paper", "normalisation": "paper"}
    table = table_of(repeated([14.8, 16.8], MNIST, k=1, **fields))
    assert verdicts.sentences(table)["better"] == [
        "PCA (scores as in the paper) is better at k = 1, by up to 3.0 points (k = 1: 15.8 against "
        "12.8)."
    ]
    assert verdicts.counts(table)["baselines"]["better"] == 1


def test_chance_is_named():
    (said,) = verdicts.sentences(table_of(repeated([0.9, 1.1])))["worse"]
    assert said.endswith(
        "; at all of these the published value is within two standard errors of ours."
    )


def test_simulated_results_are_not_compared():
    table = table_of(whole_table(key=TableKey("errp", "i", "outlier", "resmse"), simulated=True))
    said = verdicts.sentences(table)
    assert said["notes"] == [verdicts.SIMULATED]
    assert not any(said[kind] for kind in verdicts.KINDS)
    assert table.cells["ratio"].isna().all()
    assert {r.kind for r in layout.printed_rows(table)} == {"published", "ours", "against"}
    assert table.title.endswith("(simulated data)")
