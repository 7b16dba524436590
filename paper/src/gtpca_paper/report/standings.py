"""Who wins and by how much, in words and in tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gtpca_paper.report.contests import CONTESTS, Block, Contest, Match, best_within, play
from gtpca_paper.report.tables import ranges
from gtpca_paper.spec import EXPERIMENTS, MODELS, Experiment, is_gtpca, model_title

__all__ = ["Standing", "absent", "budget_table", "losses", "make_standings", "score", "told"]

BUDGETED = ("gtpca-als", "gtpca-refine", "gtpca-shared", "pca", "kpca", "autoencoder")


class Standing(NamedTuple):
    """One contest in one block."""

    block: Block
    contest: Contest
    matches: list[Match]

    @property
    def unit(self) -> str:
        """Of the gaps."""
        return "%" if self.contest.metric == "resmse" else "points"

    def place(self, matches) -> str:
        """Where matches took place, e.g. "at k = 1-3" or "with 2-10 numbers"."""
        text = ranges(match.at for match in matches)
        if self.contest.by == "k":
            return f"at k = {text}"
        if self.contest.by == "bits":
            text = re.sub(r"\d+", lambda found: str(32 * int(found[0])), text)
        return f"with {text} {self.contest.by if text != '1' else 'number'}"

    def number(self, value) -> str:
        """A mean as text."""
        known = EXPERIMENTS.get(self.block.experiment, Experiment)
        decimals = known.decimals if self.contest.metric == "resmse" else 1
        return f"{value:.{decimals}f}"

    def parts(self) -> dict[str, list[Match]]:
        """Matches by the side that won them: "GT-PCA", "tied", or the title of another model."""
        found: dict[str, list[Match]] = {}
        for match in self.matches:
            title = "GT-PCA" if is_gtpca(match.winner) else model_title(match.winner)
            found.setdefault("tied" if match.tied else title, []).append(match)
        return found


def make_standings(blocks) -> dict[str, list[Standing]]:
    """All contests in all blocks, by name of the contest; those without a match are left out."""
    return {
        name: [
            s for block in blocks if (s := Standing(block, contest, play(block, contest))).matches
        ]
        for name, contest in CONTESTS.items()
    }


def told(standing: Standing) -> str:
    """E.g. "GT-PCA at k = 1-4, by 28 to 53 %; tied at k = 5"."""
    said = []
    for who, matches in standing.parts().items():
        where = standing.place(matches)
        size = "" if who == "tied" else f", by {_amount(matches, standing.unit)}"
        said.append(f"{who} {where}{size}")
    return "; ".join(said)


def _amount(matches, unit) -> str:
    sizes = [f"{abs(match.gap):.{0 if unit == '%' else 1}f}" for match in matches]
    low, high = min(sizes, key=float), max(sizes, key=float)
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def score(standings) -> tuple[int, int, int]:
    """Matches that GT-PCA won, that were tied, and that it lost."""
    matches = [match for standing in standings for match in standing.matches]
    tied = sum(match.tied for match in matches)
    won = sum(match.gap >= 0 and not match.tied for match in matches)
    return won, tied, len(matches) - won - tied


def losses(standings) -> Iterator[str]:
    """A sentence for each block in which GT-PCA loses somewhere."""
    for standing in standings:
        lost = [match for match in standing.matches if match.gap < 0 and not match.tied]
        if lost:
            worst = min(lost, key=lambda match: match.gap)
            winners = ", ".join(dict.fromkeys(model_title(match.theirs) for match in lost))
            ours, theirs = map(standing.number, worst.means)
            yield (
                f"{standing.block.title}: {winners} {standing.place(lost)}, by up to "
                f"{_amount([worst], standing.unit)} ({standing.place([worst])}: {theirs} of "
                f"{model_title(worst.theirs)} against {ours} of {model_title(worst.ours)})."
            )


def absent(standings) -> Iterator[str]:
    """Which models of the paper have no rows for a contest, e.g. "VAE: MNIST (i); MNIST (ii)"."""
    found: dict[str, list[str]] = {}
    for standing in standings:
        block, contest = standing.block, standing.contest
        there = {e.model for e in block.entries[contest.metric] if e.protocol in contest.protocols}
        lacking = [m for m in EXPERIMENTS[block.experiment].baselines if m not in there]
        if lacking:
            found.setdefault(", ".join(map(model_title, lacking)), []).append(block.title)
    for models, titles in found.items():
        yield f"{models}: {'; '.join(titles)}."


class BudgetRow(NamedTuple):
    """What models reach in one block within a budget: texts, and which of them is the best."""

    title: str
    texts: list[str]
    best: int


def budget_table(blocks, contest: Contest, budget) -> tuple[list[str], list[BudgetRow]]:
    """Titles of the models, and what they reach while storing at most ``budget`` per sample.

    Means are over the repetitions that all models in a row have.

    Parameters
    ----------
    blocks : list of Block
    contest : Contest
    budget : int
        Numbers, or multiples of 32 bits.
    """
    rows = []
    for block in blocks:
        entries = [e for e in block.entries[contest.metric] if e.protocol in contest.protocols]
        found = {e.model: e for e in best_within(block, entries, contest, budget)}
        shown = [found.get(model) for model in BUDGETED]
        if any(shown):
            rows.append(_budget_row(Standing(block, contest, []), shown))
    return [MODELS[model].title for model in BUDGETED], rows


def _budget_row(standing, shown) -> BudgetRow:
    sign = 1 if standing.contest.metric == "resmse" else -1
    common = set.intersection(*({*entry.values} for entry in shown if entry))
    shown = [entry and entry.on(common or entry.values) for entry in shown]
    texts = [f"{standing.number(e.mean)} (k = {e.k})" if e else "" for e in shown]
    means = [sign * e.mean if e else float("inf") for e in shown]
    return BudgetRow(standing.block.title, texts, means.index(min(means)))
