"""Sentences of the paper on made-up rows."""

from __future__ import annotations

from tempfile import TemporaryDirectory

import pytest

pytest.importorskip("pandas", reason='needs pandas: pip install "gtpca[report]"')

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from result_rows import OSCILLATIONS, repeated, write_rows

from gtpca_paper.report import summary, tables
from gtpca_paper.report.claims import OUT_OF_REACH, SENTENCES, check_claims
from gtpca_paper.report.contests import CONTESTS, make_blocks
from gtpca_paper.rows import TableKey

STILL = OSCILLATIONS._replace(setting="256")
SPIKES = TableKey("spikes", "i", "classification", "resmse")
COINCIDE = "Oscillations (i): GT-PCs coincide with conventional PCs"


def checked(rows):
    with TemporaryDirectory() as folder:
        claims = check_claims(make_blocks(tables.read_rows(write_rows(rows, folder))))
    return {claim.text: claim for claim in claims}


def same(key, a, b, values, factor, ks=range(1, 11)):
    """Two models whose errors differ by a factor."""
    rows = []
    for k in ks:
        rows += repeated(values, key, model=a, k=k)
        rows += repeated([factor * value for value in values], key, model=b, k=k)
    return rows


def test_errors_are_near_or_not_or_not_decided():
    values = [0.5, 0.51, 0.52]
    claim = checked(same(STILL, "gtpca-adam", "pca", values, 1.04))[COINCIDE]
    assert (claim.holds, claim.verdict) == (True, "holds")
    claim = checked(same(STILL, "gtpca-adam", "pca", values, 1.1))[COINCIDE]
    assert claim.verdict == "does not hold"
    assert claim.figure.startswith(
        "as said at 0 of 10 places, 0 not decided; Oscillations 256, k ="
    )
    claim = checked(same(STILL, "gtpca-adam", "pca", values[:2], 1.0))[COINCIDE]
    assert claim.verdict == "not decided"  # two repetitions
    claim = checked(same(STILL, "gtpca-adam", "pca", values, 1.0, ks=range(1, 9)))[COINCIDE]
    assert claim.verdict == "not decided"  # 9 and 10 are missing
    assert "8 of 10 places, 2 not decided" in claim.figure


def test_one_place_refutes():
    rows = same(SPIKES, "pca", "kpca", [0.5, 0.51, 0.52], 1.0)
    rows = [r | {"value": 0.7} if (r["model"], r["k"]) == ("kpca", 7) else r for r in rows]
    claim = checked(rows)["Spikes: the errors of PCA and KPCA approximately coincide"]
    assert claim.verdict == "does not hold"
    assert claim.figure.endswith("k = 7: 0.510 of PCA, 0.700 of KPCA")


def test_lower_needs_the_rule_of_the_contest():
    text = "Spikes (i): GT-PCA has the lower error with 1 to 3 components"
    rows = same(SPIKES, "gtpca-adam", "vae", [0.5, 0.51, 0.52], 1.2, ks=(1, 2, 3))
    assert checked(rows)[text].verdict == "not decided"  # no autoencoder
    rows += same(SPIKES, "gtpca-adam", "autoencoder", [0.5, 0.51, 0.52], 1.3, ks=(1, 2, 3))
    assert checked(rows)[text].verdict == "holds"
    noisy = [r | {"value": 0.2} if (r["model"], r["repetition"]) == ("vae", 0) else r for r in rows]
    assert checked(noisy)[text].verdict == "not decided"
    worse = [r | {"value": 0.1} if r["model"] == "vae" else r for r in rows]
    assert checked(worse)[text].verdict == "does not hold"


def test_every_sentence_gets_a_line():
    claims = checked(repeated([0.5], model="pca"))
    assert [*claims] == [*SENTENCES, *OUT_OF_REACH]
    assert {claim.verdict for claim in claims.values()} == {"not decided"}


def test_what_does_not_hold_is_told():
    claims = checked(same(STILL, "gtpca-adam", "pca", [0.5, 0.51, 0.52], 1.1)).values()
    said = summary.failures(claims, {name: [] for name in CONTESTS})
    assert said == [
        f"1 of 1 sentences of the paper that were decided do not hold, among them: {COINCIDE}."
    ]
