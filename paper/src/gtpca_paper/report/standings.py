"""Who wins and by how much, in words and in tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from gtpca_paper.report.contests import CONTESTS, Block, Contest, Match, play
from gtpca_paper.report.tables import ranges
from gtpca_paper.spec import EXPERIMENTS, MODELS, Experiment, model_title

__all__ = [
    "Standing",
    "absent",
    "budget_table",
    "losses",
    "make_standings",
    "pair_table",
    "score",
    "settings",
    "told",
]

BUDGETED = ("gtpca-als", "gtpca-refine", "gtpca-shared", "pca", "kpca", "autoencoder")
WORDS = {"won": "GT-PCA", "even": "even", "lost": "others", "undecided": "not decided"}


class Standing(NamedTuple):
    """One contest in one block."""

    block: Block
    contest: Contest
    matches: list[Match]

    @property
    def unit(self) -> str:
        """Of the gaps."""
        return "%" if self.contest.metric == "resmse" else "points"

    @property
    def outcome(self) -> str:
        """What more than half of the matches have, or "mixed"."""
        counts = Counter(match.outcome for match in self.matches)
        outcome, most = counts.most_common(1)[0]
        return outcome if 2 * most > len(self.matches) else "mixed"

    def place(self, matches) -> str:
        """Where matches took place, e.g. "at k = 1-3" or "with 2-10 numbers"."""
        text = ranges(match.at for match in matches)
        return f"at k = {text}" if self.contest.by == "k" else f"with {text} numbers"

    def number(self, value) -> str:
        """A mean as text."""
        known = EXPERIMENTS.get(self.block.experiment, Experiment)
        decimals = known.decimals if self.contest.metric == "resmse" else 1
        return f"{value:.{decimals}f}"

    def parts(self) -> dict[str, list[Match]]:
        """Matches by outcome, in their order."""
        found: dict[str, list[Match]] = {}
        for match in self.matches:
            found.setdefault(match.outcome, []).append(match)
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
    """E.g. "GT-PCA at k = 1-4, by 28 to 53 %; VAE at k = 5, by 3 %; not decided at k = 7"."""
    said = []
    for outcome, matches in standing.parts().items():
        who = WORDS[outcome]
        if outcome == "lost":
            who = ", ".join(dict.fromkeys(model_title(match.rival) for match in matches))
        decided = outcome in ("won", "lost")
        size = f", by {_amount(matches, standing.unit)}" if decided else ""
        said.append(f"{who} {standing.place(matches)}{size}")
    counts = [match.n for match in standing.matches]
    low, high = min(counts), max(counts)
    times = f"{low}" if low == high else f"{low} to {high}"
    return f"{'; '.join(said)} ({times} repetition{'s' if high != 1 else ''})"


def _amount(matches, unit) -> str:
    sizes = [f"{abs(match.gap):.{0 if unit == '%' else 1}f}" for match in matches]
    low, high = min(sizes, key=float), max(sizes, key=float)
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def score(standings) -> dict[str, int]:
    """How many matches have each outcome."""
    counts = Counter(match.outcome for standing in standings for match in standing.matches)
    return {name: counts[name] for name in WORDS}


def settings(standings) -> dict[str, int]:
    """How many settings have each outcome at more than half of their places, or "mixed"."""
    counts = Counter(standing.outcome for standing in standings)
    return {name: counts[name] for name in (*WORDS, "mixed")}


def losses(standings) -> Iterator[str]:
    """A sentence for each block in which GT-PCA loses somewhere."""
    for standing in standings:
        lost = standing.parts().get("lost", [])
        if lost:
            worst = min(lost, key=lambda match: match.gap)
            winners = ", ".join(dict.fromkeys(model_title(match.rival) for match in lost))
            ours, theirs = map(standing.number, worst.pairs[worst.rival].means)
            yield (
                f"{standing.block.title}: {winners} {standing.place(lost)}, by up to "
                f"{_amount([worst], standing.unit)} ({standing.place([worst])}: {theirs} of "
                f"{model_title(worst.rival)} against {ours} of "
                f"{model_title(standing.contest.ours)})."
            )


def pair_table(standings) -> list[list[str]]:
    """For each other model a row: its title, and how many matches GT-PCA won, was even in, ..."""
    rows = []
    for model in MODELS:
        pairs = [m.pairs[model] for s in standings for m in s.matches if model in m.pairs]
        counts = Counter(pair.outcome for pair in pairs)
        if pairs:
            rows.append([model_title(model), *(str(counts[name]) for name in WORDS)])
    return rows


def absent(standings) -> Iterator[str]:
    """Which contests a block has no place in, and what for, e.g. "VAE: MNIST (i); MNIST (ii)"."""
    found: dict[str, list[str]] = {}
    for standing in standings:
        block, contest = standing.block, standing.contest
        there = {e.model for e in block.entries[contest.metric] if e.protocol == contest.protocol}
        lacking = [m for m in (contest.ours, *block.rivals) if m not in there]
        if lacking and block.moves and not block.simulated and block.entries[contest.metric]:
            found.setdefault(", ".join(map(model_title, lacking)), []).append(block.title)
    for models, titles in found.items():
        yield f"{models}: {'; '.join(titles)}."


class BudgetRow(NamedTuple):
    """What models reach in one block within a budget: texts, and which of them is the best."""

    title: str
    texts: list[str]
    best: int


def budget_table(blocks, contest: Contest, budget) -> tuple[list[str], list[BudgetRow]]:
    """Titles of the models, and what they reach while storing ``budget`` numbers per sample.

    A form of GT-PCA has as many components as it may; other models were run with as many, or are
    left out. Means are over the repetitions that all models in a row have.

    Parameters
    ----------
    blocks : list of Block
    contest : Contest
    budget : int
        Numbers.
    """
    rows = []
    for block in blocks:
        entries = [e for e in block.entries[contest.metric] if e.protocol == contest.protocol]
        shown = [_within(block, entries, model, budget) for model in BUDGETED]
        if any(shown):
            rows.append(_budget_row(Standing(block, contest, []), shown))
    return [MODELS[model].title for model in BUDGETED], rows


def _within(block, entries, model, budget):
    own = [e for e in entries if e.model == model and not math.isnan(e.mean)]
    if model in block.rivals:
        return next((e for e in own if e.k == budget), None)
    fitting = [e for e in own if block.budget(e, "numbers") <= budget]
    return max(fitting, key=lambda entry: entry.k, default=None)


def _budget_row(standing, shown) -> BudgetRow:
    sign = 1 if standing.contest.metric == "resmse" else -1
    common = set.intersection(*({*entry.values} for entry in shown if entry))
    shown = [entry and entry.on(common or entry.values) for entry in shown]
    texts = [f"{standing.number(e.mean)} (k = {e.k})" if e else "" for e in shown]
    means = [sign * e.mean if e else float("inf") for e in shown]
    return BudgetRow(standing.block.title, texts, means.index(min(means)))
