"""Who wins: GT-PCA against the other models, with as many components, numbers or bits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from gtpca_paper.rows import TableKey
from gtpca_paper.spec import EXPERIMENTS, MODELS, find_setting, has_rare_class, is_gtpca

__all__ = ["CONTESTS", "Block", "Contest", "Entry", "Match", "best_within", "make_blocks", "play"]

TIED = {"resmse": 1.0, "accuracy": 0.5}  # percent of an error, points of an accuracy


class Contest(NamedTuple):
    """What models are compared by.

    Attributes
    ----------
    title : str
    metric : {"resmse", "accuracy"}
        Accuracies are balanced ones where a class is rare.
    protocols : tuple of str
        What may be classified.
    by : {"k", "numbers", "bits"}
        What is the same for all: components, numbers stored per sample, or multiples of 32 bits.
        A model that was not run with as many components takes part with the next fewer.
    """

    title: str
    metric: str
    protocols: tuple[str, ...]
    by: str


_ALL = ("signed", "signed+pose")
CONTESTS = {
    "error": Contest("error, as many components", "resmse", ("none",), "k"),
    "error-numbers": Contest("error, as many numbers", "resmse", ("none",), "numbers"),
    "error-bits": Contest("error, as many bits", "resmse", ("none",), "bits"),
    "accuracy": Contest("accuracy, as many signed scores", "accuracy", ("signed",), "k"),
    "accuracy-numbers": Contest("accuracy, as many numbers", "accuracy", _ALL, "numbers"),
    "accuracy-bits": Contest("accuracy, as many bits", "accuracy", _ALL, "bits"),
}


class Entry(NamedTuple):
    """What one model has reached with ``k`` components, by repetition."""

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

    def budget(self, entry, by) -> float:
        """Numbers stored per sample by an entry, or bits in multiples of 32."""
        if by == "k" or entry.model not in MODELS:
            return entry.k
        setting = find_setting(self.experiment, self.setting)
        found = MODELS[entry.model].budget(setting, entry.k, entry.protocol)
        return found.numbers if by == "numbers" else found.bits / 32


class Match(NamedTuple):
    """The best form of GT-PCA and the best other model at one place.

    Attributes
    ----------
    at : int
        Components, numbers or multiples of 32 bits.
    ours, theirs : str
        The models.
    means : tuple of float
        Ours and theirs, over the repetitions that both have.
    gap : float
        By how much ours is better on these: percent of the larger error, points of an accuracy.
        Negative where GT-PCA loses.
    tied : bool
        Whether that is next to nothing, or within two standard errors of the difference.
    """

    at: int
    ours: str
    theirs: str
    means: tuple[float, float]
    gap: float
    tied: bool

    @property
    def winner(self) -> str:
        """The better model, also where both are tied."""
        return self.ours if self.gap >= 0 else self.theirs


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
    rows = rows[rows["value"].notna() & ~rows["earlier"] & rows["experiment"].isin([*EXPERIMENTS])]
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
    """All matches of a contest in a block."""
    entries = [e for e in block.entries[contest.metric] if e.protocol in contest.protocols]
    largest = max((e.k for e in entries if not is_gtpca(e.model)), default=0)
    matches = (
        _match(at, _competing(block, entries, contest, at), contest.metric)
        for at in range(1, largest + 1)
    )
    return [match for match in matches if match is not None]


def _competing(block, entries, contest, at) -> list[Entry]:
    if contest.by == "k":
        return _up_to(entries, at)
    return list(best_within(block, entries, contest, at))


def _up_to(entries, k) -> list[Entry]:
    """Entries with ``k`` components, if both sides have one; of other models the next smaller.

    A network that was trained for some k alone is not beaten by its absence at others.
    """
    if len({is_gtpca(entry.model) for entry in entries if entry.k == k}) < 2:
        return []
    fewer = sorted((e for e in entries if e.k <= k), key=lambda entry: entry.k)
    return [*{entry.model: entry for entry in fewer}.values()]


def best_within(block, entries: Iterable[Entry], contest, budget) -> Iterator[Entry]:
    """The best entry of each model that stores at most ``budget`` per sample."""
    by_model: dict[str, list[Entry]] = {}
    for entry in entries:
        if block.budget(entry, contest.by) <= budget:
            by_model.setdefault(entry.model, []).append(entry)
    for found in by_model.values():
        yield min(found, key=lambda entry: _loss(entry.mean, contest.metric))


def _loss(value, metric) -> float:
    return value if metric == "resmse" else -value


def _match(at, entries, metric) -> Match | None:
    """The best of both sides, each judged against the entry with most repetitions.

    A form of GT-PCA needs three repetitions, or as many as any has: one alone may be lucky.
    """
    most = max((len(e.values) for e in entries if is_gtpca(e.model)), default=0)
    entries = [e for e in entries if not is_gtpca(e.model) or len(e.values) >= min(most, 3)]
    if not entries:
        return None
    reference = max(entries, key=lambda entry: len(entry.values))
    sides: list[list[tuple[float, Entry]]] = [[], []]
    for entry in entries:
        gap = _Pair.of(entry, reference, metric).gap
        if math.isfinite(gap):
            sides[is_gtpca(entry.model)].append((gap, entry))
    if not all(sides):
        return None
    theirs, ours = (max(side, key=lambda pair: pair[0])[1] for side in sides)
    pair = _Pair.of(ours, theirs, metric)
    tied = abs(pair.gap) <= max(TIED[metric], 2 * pair.error)
    return Match(at, ours.model, theirs.model, pair.means, pair.gap, bool(tied))


class _Pair(NamedTuple):
    """Two entries on the repetitions that both have; ``gap`` is NaN if there is none."""

    means: tuple[float, float]
    gap: float
    error: float  # standard error of the gap, 0 if there are too few repetitions

    @classmethod
    def of(cls, a: Entry, b: Entry, metric) -> _Pair:
        common = sorted({*a.values} & {*b.values})
        if not common:
            return cls((math.nan, math.nan), math.nan, 0.0)
        values = np.array([[entry.values[r] for r in common] for entry in (a, b)])
        means = values.mean(axis=1)
        scale = -100 / means.max() if metric == "resmse" else 1.0
        differences, n = (values[0] - values[1]) * scale, len(common)
        error = differences.std(ddof=1) / math.sqrt(n) if n > 2 else 0.0
        return cls((float(means[0]), float(means[1])), float(differences.mean()), float(error))
