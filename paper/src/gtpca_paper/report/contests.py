"""Who wins: one form of GT-PCA against each model of the paper, by a rule fixed beforehand.

1. Each contest has one form of GT-PCA, the same in all settings.
2. Only numbers of components, or budgets, at which every model of the paper has rows take part.
3. Two models are compared on the repetitions that both have. With fewer than three of them nothing
   is decided. A difference counts if its mean is beyond the 97.5 % quantile of Student's t times
   its standard error, ``|mean| > t(n - 1) s / sqrt(n)``; else both are even.
4. GT-PCA loses at a place if any model beats it. Else the outcome is that against its rival, the
   model to which its gap is smallest.
5. Simulated data and rows of an earlier solver take no part; nor do repetitions after the tenth.
6. Accuracies are balanced where a class is rare.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from gtpca_paper.rows import TableKey
from gtpca_paper.spec import EXPERIMENTS, MODELS, find_setting, has_rare_class

__all__ = [
    "CONTESTS",
    "OUTCOMES",
    "Block",
    "Contest",
    "Entry",
    "Match",
    "Pair",
    "make_blocks",
    "play",
]

LEAST = 3  # common repetitions by which something is decided
LEVEL = 0.975  # of the quantile: differences of both signs, 5 % in all
OUTCOMES = ("won", "even", "lost", "undecided")


class Contest(NamedTuple):
    """What models are compared by.

    Attributes
    ----------
    title : str
    ours : str
        The form of GT-PCA.
    metric : {"resmse", "accuracy"}
        Accuracies are balanced ones where a class is rare.
    protocol : str
        What is classified.
    by : {"k", "numbers"}
        What is the same for all: components, or numbers stored per sample, of which a pose is
        one. GT-PCA has then as many components as it may.
    """

    title: str
    ours: str
    metric: str
    protocol: str
    by: str


CONTESTS = {
    "error": Contest("error, equal components", "gtpca-als", "resmse", "none", "k"),
    "error-numbers": Contest("error, equal numbers", "gtpca-als", "resmse", "none", "numbers"),
    "accuracy": Contest("accuracy, shared pose", "gtpca-shared", "accuracy", "signed", "k"),
    "accuracy-als": Contest("accuracy, own poses", "gtpca-als", "accuracy", "signed", "k"),
}


class Entry(NamedTuple):
    """What one model has reached with ``k`` components, by repetition; NaN where it diverged."""

    model: str
    protocol: str
    k: int
    values: dict[int, float]

    @property
    def mean(self) -> float:
        """Over the repetitions."""
        return float(np.mean([*self.values.values()]))

    def on(self, repetitions) -> Entry:
        """The entry on some repetitions."""
        return self._replace(values={r: self.values[r] for r in sorted(repetitions)})


class Block(NamedTuple):
    """One setting in one task: all entries, by metric."""

    experiment: str
    setting: str
    task: str
    simulated: bool
    entries: dict[str, list[Entry]]

    @property
    def title(self) -> str:
        """Experiment, setting and task, and whether data were simulated."""
        title = TableKey(self.experiment, self.setting, self.task, "resmse").short_title
        return title + (" (simulated)" if self.simulated else "")

    @property
    def moves(self) -> bool:
        """Whether there are poses."""
        return find_setting(self.experiment, self.setting).moves

    @property
    def rivals(self) -> tuple[str, ...]:
        """The models that the paper compares GT-PCA with here."""
        return EXPERIMENTS[self.experiment].baselines

    def budget(self, entry, by) -> float:
        """Numbers stored per sample by an entry, or bits in multiples of 32."""
        if by == "k" or entry.model not in MODELS:
            return entry.k
        setting = find_setting(self.experiment, self.setting)
        found = MODELS[entry.model].budget(setting, entry.k, entry.protocol)
        return found.numbers if by == "numbers" else found.bits / 32


class Pair(NamedTuple):
    """GT-PCA against one other model, on the repetitions that both have.

    Attributes
    ----------
    outcome : {"won", "even", "lost", "undecided"}
    n : int
        Repetitions.
    gap : float
        By how much GT-PCA is better in the mean: percent of the larger error, points of an
        accuracy. 100 if the other model diverged, NaN if there is nothing to compare.
    margin : float
        What a gap must be beyond to count.
    means : tuple of float
        Ours and theirs.
    """

    outcome: str
    n: int
    gap: float
    margin: float
    means: tuple[float, float]

    @classmethod
    def of(cls, ours: Entry, theirs: Entry, metric) -> Pair:
        """Compare two entries."""
        common = sorted({*ours.values} & {*theirs.values})
        values = np.array([[e.values[r] for r in common] for e in (ours, theirs)], dtype=float)
        lost = np.isnan(values[1]) & ~np.isnan(values[0])
        if len(common) >= LEAST and lost.all():
            return cls("won", len(common), 100.0, 0.0, (float(values[0].mean()), math.inf))
        values = values[:, np.isfinite(values).all(axis=0)]
        n = values.shape[1]
        if n == 0:
            return cls("undecided", 0, math.nan, math.inf, (math.nan, math.nan))
        means = values.mean(axis=1)
        scale = -100 / means.max() if metric == "resmse" else 1.0
        differences = (values[0] - values[1]) * scale
        margin = _margin(differences)
        gap = float(differences.mean())
        if n < LEAST:
            outcome = "undecided"
        else:
            outcome = "even" if abs(gap) <= margin else "won" if gap > 0 else "lost"
        return cls(outcome, n, gap, margin, (float(means[0]), float(means[1])))


def _margin(differences) -> float:
    n = len(differences)
    if n < LEAST:
        return math.inf
    return float(student.ppf(LEVEL, n - 1) * differences.std(ddof=1) / math.sqrt(n))


class Match(NamedTuple):
    """GT-PCA against all models of the paper at one place.

    Attributes
    ----------
    at : int
        Components or numbers.
    pairs : dict of str to Pair
        By the other model.
    """

    at: int
    pairs: dict[str, Pair]

    @property
    def outcome(self) -> str:
        """One of :data:`OUTCOMES`."""
        return self.pairs[self.rival].outcome

    @property
    def rival(self) -> str:
        """The model to which the gap is smallest; if any beats GT-PCA, of those that do."""
        beating = {m: pair for m, pair in self.pairs.items() if pair.outcome == "lost"}
        found = beating or {m: pair for m, pair in self.pairs.items() if pair.n} or self.pairs
        return min(found, key=lambda model: found[model].gap)

    @property
    def gap(self) -> float:
        """By how much GT-PCA is better than its rival; negative where it is worse."""
        return self.pairs[self.rival].gap

    @property
    def n(self) -> int:
        """Repetitions by which it was decided."""
        return self.pairs[self.rival].n


def make_blocks(rows) -> list[Block]:
    """Blocks of the rows of an experiment of the paper, in its order.

    Parameters
    ----------
    rows : DataFrame
        As of :func:`~gtpca_paper.report.tables.read_rows`; those of the profile with most of
        them count, and of two normalisations our own. Those of an earlier solver do not.
    """
    main = rows["profile"].value_counts().idxmax()
    rows = rows[(rows["profile"] == main) & (rows["normalisation"] != "paper")]
    rows = rows[~rows["earlier"] & rows["experiment"].isin([*EXPERIMENTS])]
    groups = dict(iter(rows.groupby(["experiment", "setting", "task"])))
    wanted = [
        (e.name, setting.name, task)
        for e in EXPERIMENTS.values()
        for setting in e.settings
        for task in e.largest
    ]
    return [_make_block(*key, groups[key]) for key in wanted if key in groups]


def _make_block(experiment, setting, task, rows) -> Block:
    accuracy = "balanced" if has_rare_class(experiment, task) else "accuracy"
    entries = {
        "resmse": _entries(rows[rows["metric"] == "resmse"]),
        "accuracy": _entries(rows[rows["metric"] == accuracy]),
    }
    return Block(experiment, setting, task, bool(rows["simulated"].any()), entries)


def _entries(rows) -> list[Entry]:
    found: dict[tuple[str, str, int], dict[int, float]] = {}
    for row in rows.itertuples():
        found.setdefault((row.model, row.protocol, row.k), {})[row.repetition] = row.value
    return [Entry(model, protocol, k, values) for (model, protocol, k), values in found.items()]


def play(block: Block, contest: Contest) -> list[Match]:
    """All matches of a contest in a block; none of simulated data, or where nothing moves."""
    if block.simulated or not block.moves:
        return []
    entries = [e for e in block.entries[contest.metric] if e.protocol == contest.protocol]
    rivals = {(e.model, e.k): e for e in entries if e.model in block.rivals}
    places = sorted({k for _, k in rivals if all((m, k) in rivals for m in block.rivals)})
    matches = []
    for at in places:
        ours = _ours(block, entries, contest, at)
        if ours is not None:
            pairs = {m: Pair.of(ours, rivals[m, at], contest.metric) for m in block.rivals}
            matches.append(Match(at, pairs))
    return matches


def _ours(block, entries, contest, at) -> Entry | None:
    """The entry of GT-PCA with ``at`` components, or the largest with at most as many numbers."""
    own = [e for e in entries if e.model == contest.ours]
    if contest.by == "k":
        return next((e for e in own if e.k == at), None)
    fitting = [e for e in own if block.budget(e, contest.by) <= at]
    return max(fitting, key=lambda entry: entry.k, default=None)
