"""Contests between GT-PCA and other models, in words, tables and figures."""

from __future__ import annotations

import math
from tempfile import TemporaryDirectory

import pytest

pytest.importorskip("pandas", reason='needs pandas: pip install "gtpca[report]"')

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from result_rows import (
    MNIST,
    OSCILLATIONS,
    cell,
    repeated,
    row,
    table_of,
    tables_of,
    whole_table,
    write_rows,
)

from gtpca_paper.report import panels, standings, summary, tables, verdicts
from gtpca_paper.report.contests import CONTESTS, make_blocks, play
from gtpca_paper.rows import TableKey
from gtpca_paper.spec import EXPERIMENTS

NONE: dict[str, list] = {name: [] for name in CONTESTS}
STILL = OSCILLATIONS._replace(setting="256")


def blocks_of(rows):
    with TemporaryDirectory() as folder:
        return make_blocks(tables.read_rows(write_rows(rows, folder)))


def matches_of(rows, contest="error"):
    (block,) = blocks_of(rows)
    return play(block, CONTESTS[contest])


def standing_of(rows, contest="error"):
    (found,) = standings.make_standings(blocks_of(rows))[contest]
    return found


def field(ours, others, key=OSCILLATIONS, k=1, **fields):
    """Rows of GT-PCA by ALS, and of all models of the paper: of those not named, far worse ones."""
    rows = repeated(ours, key, model="gtpca-als", k=k, **fields)
    for model in EXPERIMENTS[key.experiment].baselines:
        values = others.get(model, [0.9] * len(ours))
        rows += repeated(values, key, model=model, k=k, **fields)
    return rows


def test_the_smaller_error_wins():
    (match,) = matches_of(field([0.3, 0.3, 0.3], {"pca": [0.4, 0.41, 0.42]}))
    assert (match.outcome, match.rival, match.n) == ("won", "pca", 3)
    assert match.gap == pytest.approx(100 * 0.11 / 0.41)  # percent of the larger error
    (match,) = matches_of(field([0.4, 0.4, 0.4], {"pca": [0.3, 0.31, 0.3]}))
    assert (match.outcome, match.rival) == ("lost", "pca")
    assert match.gap < 0


def test_the_larger_accuracy_wins_and_outliers_count_balanced():
    fields = {"protocol": "signed", "normalisation": "own"}
    found = {}
    for task in ("classification", "outlier"):
        key, rows = MNIST._replace(task=task), []
        for model, value, balanced in (
            *(("gtpca-shared", 91.0, 60.0), ("gtpca-als", 99.0, 99.0)),
            *(("pca", 80.0, 50.0), ("autoencoder", 93.0, 52.0), ("vae", 90.0, 50.0)),
        ):
            rows += repeated([value] * 3, key, model=model, balanced=balanced, **fields)
        (match,) = matches_of(rows, "accuracy")
        found[task] = match.outcome, match.rival, match.gap
    assert found["classification"] == ("lost", "autoencoder", pytest.approx(-2.0))
    assert found["outlier"] == ("won", "autoencoder", pytest.approx(8.0))


def test_one_form_of_gtpca_stands_for_all():
    rows = field([0.5] * 3, {"pca": [0.4] * 3})
    rows += repeated([0.1] * 3, model="gtpca-shared") + repeated([0.1] * 3, model="gtpca-adam")
    assert matches_of(rows)[0].outcome == "lost"


def test_fewer_than_three_common_repetitions_decide_nothing():
    assert matches_of(field([0.3, 0.3], {"pca": [0.4, 0.4]}))[0].outcome == "undecided"
    rows = field([0.3] * 10, {"pca": [0.4] * 10, "vae": [0.35]})
    (match,) = matches_of(rows)  # the nearest was run once
    assert (match.outcome, match.rival, match.n) == ("undecided", "vae", 1)
    assert match.pairs["pca"].outcome == "won"


def test_who_is_beaten_by_any_has_lost():
    rows = field([0.5] * 3, {"pca": [0.4, 0.41, 0.42], "vae": [0.2]})
    (match,) = matches_of(rows)  # the nearest is not decided, but PCA is better
    assert (match.outcome, match.rival) == ("lost", "pca")


def test_only_common_repetitions_count():
    rows = field([0.5, 0.5, 0.5, 0.1, 0.1], {"autoencoder": [0.4, 0.41, 0.4]})
    (match,) = matches_of(rows)
    assert (match.outcome, match.rival) == ("lost", "autoencoder")
    assert match.pairs["autoencoder"].means == pytest.approx((0.5, 1.21 / 3))


def test_a_difference_counts_beyond_the_quantile_of_its_standard_error():
    for spread, outcome in ((0.9, "even"), (1.1, "won")):
        # differences of mean 1 and standard deviation s: se = s / sqrt(3), t(2) = 4.302653
        s = math.sqrt(3) / 4.302653 / spread
        theirs = [1.0 + 0.5 + d for d in (-s, 0, s)]
        ours = [0.5, 0.5, 0.5]
        rows = field(ours, {"pca": theirs, "kpca": [9] * 3, "autoencoder": [9] * 3, "vae": [9] * 3})
        assert matches_of(rows)[0].outcome == outcome


def test_only_places_at_which_all_were_run_take_part():
    rows = [r for k in (1, 2, 3) for r in field([0.3] * 3, {}, k=k)]
    rows = [r for r in rows if (r["model"], r["k"]) != ("vae", 2)]
    rows += repeated([0.1] * 3, model="pca", k=4)
    assert [match.at for match in matches_of(rows)] == [1, 3]


def test_equal_numbers_are_exact_for_others_and_a_limit_for_gtpca():
    rows = [r for k in (1, 2, 3, 5) for r in field([0.8 / k] * 3, {"pca": [0.9 / k] * 3}, k=k)]
    assert [match.outcome for match in matches_of(rows)] == ["won"] * 4
    found = matches_of(rows, "error-numbers")  # one number is a score without a pose
    assert [match.at for match in found] == [2, 3, 5]
    assert [match.pairs["pca"].means for match in found] == [
        pytest.approx(means) for means in ((0.8, 0.45), (0.8, 0.3), (0.4, 0.18))
    ]


def test_a_model_that_diverged_has_lost():
    (match,) = matches_of(field([0.3] * 3, {"vae": [None] * 3}))
    assert match.pairs["vae"].outcome == "won"
    assert match.outcome == "won"
    (match,) = matches_of(field([0.3] * 3, {"vae": [None, None, 0.1]}))
    assert match.pairs["vae"].outcome == "undecided"


def test_what_takes_no_part():
    assert matches_of(field([0.3] * 3, {}, STILL)) == []  # nothing moves
    assert matches_of(field([0.3] * 3, {}, simulated=True)) == []
    rows = [*field([0.3] * 3, {}), row(TableKey("mine", "x", "projection", "resmse"))]
    assert len(matches_of(rows)) == 1
    late = field([0.3] * 12, {"pca": [0.9] * 10 + [0.0] * 2})
    assert matches_of(late)[0].pairs["pca"].n == 10


def test_in_words():
    rows = []
    for k, theirs in enumerate(([0.8] * 3, [1.2] * 3, [0.5, 0.6, 0.7], [0.3] * 3, [0.2]), 1):
        rows += field([0.6] * 3, {"pca": theirs, "kpca": [2.0] * 3, "vae": [2.0] * 3}, k=k)
    rows = [r | {"value": 2.0} if r["model"] == "autoencoder" else r for r in rows]
    found = standing_of(rows)
    assert standings.told(found) == (
        "GT-PCA at k = 1-2, by 25 to 50 %; even at k = 3; PCA at k = 4, by 50 %; not decided at "
        "k = 5 (1 to 3 repetitions)"
    )
    assert standings.score([found]) == {"won": 2, "even": 1, "lost": 1, "undecided": 1}
    assert found.outcome == "mixed"
    assert standings.settings([found])["mixed"] == 1
    assert list(standings.losses([found])) == [
        "Oscillations 512: PCA at k = 4, by up to 50 % (at k = 4: 0.300 of PCA against 0.600 of "
        "GT-PCA by ALS)."
    ]
    assert standings.pair_table([found])[0] == ["PCA", "2", "1", "1", "1"]
    only = standing_of([r for r in rows if r["k"] == 4])
    assert only.outcome == "lost"
    numbers = standing_of(rows, "error-numbers")
    assert standings.told(numbers).startswith("GT-PCA with 2 numbers, by 50 %")


def test_rows_of_an_earlier_solver_are_shown_but_not_compared():
    rows = [row(model=model, value=0.5) for model in ("gtpca-als", "pca")]
    table = table_of([*rows, row(model="gtpca-refine", value=0.3, earlier=True)])
    assert cell(table, model="gtpca-refine")["mean"] == 0.3
    assert cell(table, model="gtpca-refine")["pairs"] == 0
    assert verdicts.sentences(table)["notes"] == [
        "GT-PCA, refined: rows of an earlier version of the solver, not run again yet."
    ]
    late = [r | {"earlier": r["model"] == "gtpca-als"} for r in field([0.3] * 3, {})]
    assert matches_of(late) == []
    caption = panels.panel_caption([table], "oscillations")
    assert "From an earlier version of the solver: GT-PCA, refined." in caption


def test_models_without_rows_are_named():
    rows = [r for r in field([0.5] * 3, {}) if r["model"] != "autoencoder"]
    (block,) = blocks_of(rows)
    assert play(block, CONTESTS["error"]) == []
    standing = standings.Standing(block, CONTESTS["error"], [])
    assert [*standings.absent([standing])] == ["Autoencoder: Oscillations 512."]


def test_budgets():
    rows = repeated([0.3, 0.1], model="gtpca-als") + repeated([0.4], model="pca", k=2)
    rows += repeated([0.5], model="pca", k=1)
    models, (line,) = standings.budget_table(blocks_of(rows), CONTESTS["error-numbers"], 2)
    texts = dict(zip(models, line.texts, strict=True))
    assert texts["GT-PCA by ALS"] == "0.300 (k = 1)"  # on the repetition that both have
    assert texts["PCA"] == "0.400 (k = 2)"
    assert models[line.best] == "GT-PCA by ALS"
    _, (line,) = standings.budget_table(blocks_of(rows), CONTESTS["error-numbers"], 3)
    assert line.texts[models.index("PCA")] == ""  # it was not run with three


def test_summary_counts():
    table = table_of([*whole_table(1.0), *repeated([2.0], model="pca", k=3, profile="paper")])
    said = summary.reproduced([table])
    assert "PCA: 9 of 10 errors are within 3 %, 1 worse." in said
    assert any("differences is +0.0 %" in sentence for sentence in said)
    assert "Network, 1 epoch, error against ALS on the same repetitions: Oscillations +0 %." in said
    fails = summary.does_not_hold([table], NONE)
    assert fails == ["PCA is worse than published in 1 of 10 errors of Oscillations."]


def test_mean_accuracies_over_k():
    fields = {"model": "gtpca-als", "protocol": "paper", "normalisation": "paper", "scale": 56.0}
    rows = [row(MNIST, k=1, value=19.1 + 6, **fields), row(MNIST, k=2, value=25.7 + 2, **fields)]
    table = table_of(rows)
    assert "means over k: +4.0 to +4.0 points" in " ".join(summary.reproduced([table]))
    far = summary.does_not_hold([table], NONE)
    assert far == ["More than 3 points off in the mean over k: MNIST (iii), classification +4.0."]


def test_accuracies_with_a_rare_class_are_told_balanced():
    outlier, more = MNIST._replace(task="outlier"), {"normalisation": "paper", "scale": 56.0}
    fields = {"model": "gtpca-als", "protocol": "paper", "value": 91.2, "balanced": 56.4, **more}
    accuracy, balanced = tables_of([row(outlier, **fields)])
    said = summary.reproduced([accuracy, balanced])
    assert not any("accuracies are within" in sentence for sentence in said)
    assert said[-1].endswith("where guessing has 50 %: MNIST (iii), outlier detection 56 %.")


def test_errors_above_the_published_ones_are_told_with_what_may_be_chance():
    clear = repeated([0.645, 0.646], model="gtpca-als", k=1)  # published: 0.635
    vague = repeated([0.40, 0.56], model="gtpca-als", k=2)  # 0.464
    alone = repeated([0.40], model="gtpca-als", k=3)  # 0.396
    told = "GT-PCA by ALS leaves more than 1 % more than published in 3 places, 1 of them by more"
    table = table_of(clear + vague + alone)
    said = [sentence for sentence in summary.does_not_hold([table], NONE) if told in sentence]
    assert said == [
        f"{told} than two standard errors, 1 without any; at most 3.4 % (Oscillations 512, k = 2)."
    ]
    (worst,) = [s for s in summary.reproduced([table_of(clear[:1])]) if "median" in s]
    assert worst.startswith("GT-PCA by ALS leaves at most 1.6 % more than published (")


def test_counts_of_settings_and_places():
    rows = field([0.3] * 3, {}) + field([0.3] * 3, {"pca": [0.1] * 3}, k=2)
    (error, *_) = summary.counts(standings.make_standings(blocks_of(rows)))
    assert error == (
        "Held-out error with as many components: of 1 settings GT-PCA wins 0, loses 0, is even in "
        "0, 1 are mixed and 0 not decided; of 2 places it wins 1, is even in 0, loses 1, and 0 are "
        "not decided."
    )


def test_the_first_sentences_are_of_the_network():
    rows = [r for r in whole_table(1.01, repetitions=3) if r["model"] in ("gtpca-adam", "pca")]
    said = summary.successes([table_of(rows)])
    assert said[0] == (
        "The paper's own algorithm, the network: 10 of 10 errors are within 3 % of the published, "
        "0 of 10 with three repetitions within two joint standard errors."
    )
    assert said[-1] == "Errors within 3 % of the published: PCA 10 of 10."


def test_what_always_answering_would_reach_does_not_count_as_reproduced():
    outlier = MNIST._replace(task="outlier")
    fields = {"protocol": "paper", "normalisation": "paper", "scale": 56.0, "value": 91.1}
    rows = [row(outlier, model="gtpca-adam", balanced=50.0, **fields)]
    assert not any("accuracies" in said for said in summary.successes(tables_of(rows)))
    assert not any("accuracies are" in said for said in summary.reproduced(tables_of(rows)))


def test_figures_of_winners_and_budgets():
    pytest.importorskip("matplotlib", reason='needs matplotlib: pip install "gtpca[plot]"')
    from matplotlib.text import Text

    from gtpca_paper.report import comparisons

    rows = [r for k in (1, 2, 3) for r in field([0.5 / k] * 3, {"vae": [0.4] * 3}, k=k)]
    figure = comparisons.draw_winners(standings.make_standings(blocks_of(rows)))
    assert [text.get_text() for text in figure.axes[0].texts] == ["\u2212", "+", "+"]
    assert figure.get_size_inches()[0] * 100 == 1000
    assert min(text.get_fontsize() for text in figure.findobj(match=Text) if text.get_text()) >= 9
    said = [text.get_text() for text in figure.legends[0].texts]
    assert said == ["+ GT-PCA is better", "\u2212 another model is better"]
    rows = [row(model="gtpca-als", k=k, value=0.5 / k) for k in (1, 2, 3)]
    rows += [row(model="pca", k=k, value=0.9 / k) for k in (1, 2, 4)]
    blocks = blocks_of(rows)
    ours, theirs = comparisons.draw_budgets(blocks, "numbers").axes[0].lines
    assert [*ours.get_xdata()] == [2, 4, 6]
    assert [*theirs.get_xdata()] == pytest.approx([1, 2, math.nan, 4], nan_ok=True)
    simulated = comparisons.draw_budgets([blocks[0]._replace(simulated=True)], "bits")
    assert simulated.get_suptitle() == "Simulated data"
    bits, _ = comparisons.draw_budgets(blocks, "bits").axes[0].lines
    assert bits.get_xdata() == pytest.approx([k * (32 + math.log2(257)) for k in (1, 2, 3)])
