"""What the text of the paper says, sentence by sentence, beside what came out.

A sentence is a list of conditions, one for each place that it speaks of. It holds if all of them
do, does not if one is refuted, and is not decided else. "GT-PCA" is the network of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gtpca_paper.report.contests import LEAST, Block, Entry, Pair
from gtpca_paper.spec import EXPERIMENTS, model_title

__all__ = ["VERDICTS", "Claim", "check_claims"]

NEAR = 5.0  # percent up to which errors are "approximately equal"
NETWORK = "gtpca-adam"
VERDICTS = {True: "holds", False: "does not hold", None: "not decided"}


class Claim(NamedTuple):
    """A sentence of the paper, whether it holds (None: not decided), and the figure on it."""

    text: str
    holds: bool | None
    figure: str

    @property
    def verdict(self) -> str:
        """In words."""
        return VERDICTS[self.holds]


class Condition(NamedTuple):
    """One place: whether it is as the sentence says (None: not decided), by how much, in words."""

    holds: bool | None
    size: float  # the smaller, the further from what is said
    figure: str


class Evidence:
    """Entries by where they are.

    Parameters
    ----------
    blocks : list of Block
    """

    def __init__(self, blocks: Iterable[Block]):
        self.blocks = {(b.experiment, b.setting, b.task): b for b in blocks if not b.simulated}

    def places(self, experiment, *settings) -> list[Block]:
        """Blocks of an experiment, of some settings, in its order."""
        found = EXPERIMENTS[experiment]
        wanted = [
            (experiment, s.name, task)
            for s in found.settings
            for task in found.largest
            if not settings or s.name in settings
        ]
        return [self.blocks[key] for key in wanted if key in self.blocks]

    @staticmethod
    def entry(block, model, k, metric="resmse", protocol="none") -> Entry | None:
        """What a model has reached."""
        there = (
            e for e in block.entries[metric] if (e.model, e.protocol, e.k) == (model, protocol, k)
        )
        return next(there, None)

    def pair(self, block, a, b, k, metric="resmse", protocol="none") -> Pair | None:
        """Model ``a`` against ``b``; None if one has no rows."""
        both = [self.entry(block, model, k, metric, protocol) for model in (a, b)]
        return Pair.of(both[0], both[1], metric) if both[0] and both[1] else None

    def lower(self, block, a, b, k) -> Condition:
        """That ``a`` has the lower error."""
        return self._better(block, a, b, k, "resmse", "none")

    def more_accurate(self, block, a, b, k) -> Condition:
        """That ``a`` has the larger accuracy, by the paper's protocol."""
        return self._better(block, a, b, k, "accuracy", "paper")

    def _better(self, block, a, b, k, metric, protocol):
        pair = self.pair(block, a, b, k, metric, protocol)
        if pair is None:
            return Condition(None, 0.0, "")
        holds = {"won": True, "lost": False}.get(pair.outcome)
        return Condition(holds, pair.gap, _said(block, k, a, b, pair, metric))

    def near(self, block, a, b, k) -> Condition:
        """That both errors are within :data:`NEAR` percent of the larger."""
        pair = self.pair(block, a, b, k)
        if pair is None or pair.n == 0:
            return Condition(None, 0.0, "")
        figure = _said(block, k, a, b, pair, "resmse")
        if math.isinf(pair.means[1]):
            return Condition(False, -math.inf, figure)
        holds = abs(pair.gap) <= NEAR if pair.n >= LEAST else None
        return Condition(holds, -abs(pair.gap), figure)


def _said(block, k, a, b, pair, metric) -> str:
    decimals = EXPERIMENTS[block.experiment].decimals if metric == "resmse" else 1
    ours, theirs = (
        "diverged" if math.isinf(m) else f"{m:.{decimals}f}" if abs(m) < 1e4 else f"{m:.0e}"
        for m in pair.means
    )
    return f"{block.title}, k = {k}: {ours} of {model_title(a)}, {theirs} of {model_title(b)}"


def check_claims(blocks) -> list[Claim]:
    """All sentences of the paper that can be checked, in its order."""
    evidence = Evidence(blocks)
    checked = [_judge(text, [*conditions(evidence)]) for text, conditions in SENTENCES.items()]
    return [*checked, *(Claim(text, None, why) for text, why in OUT_OF_REACH.items())]


def _judge(text, conditions) -> Claim:
    decided = [c for c in conditions if c.holds is not None]
    if any(not c.holds for c in decided):
        holds: bool | None = False
    else:
        holds = True if decided and len(decided) == len(conditions) else None
    right, known = sum(bool(c.holds) for c in decided), [c for c in conditions if c.figure]
    wrong = [c for c in decided if not c.holds] or known
    open_ = len(conditions) - len(decided)
    count = f"as said at {right} of {len(conditions)} places, {open_} not decided"
    worst = min(wrong, key=lambda c: c.size, default=None)
    return Claim(text, holds, f"{count}; {worst.figure}" if worst else "not run")


def _ks(block):
    return range(1, EXPERIMENTS[block.experiment].largest[block.task] + 1)


def _all(test, experiment, *settings, pairs, ks=None) -> Callable[[Evidence], Iterable[Condition]]:
    """Conditions of one kind for pairs of models, at all k or some."""

    def conditions(evidence):
        for block in evidence.places(experiment, *settings):
            for k in ks or _run(block):
                for a, b in pairs:
                    if {a, b} <= {NETWORK, *LONGER, *block.rivals}:
                        yield getattr(evidence, test)(block, a, b, k)

    return conditions


def _run(block):
    """Numbers of components of the paper, of those that autoencoders are trained with."""
    trained = EXPERIMENTS[block.experiment].trained or _ks(block)
    return [k for k in trained if k in _ks(block)]


def _network_against(*models):
    return [(NETWORK, model) for model in models]


def _useless(evidence):
    """Errors of the VAE on digits: above 1, or diverged."""
    for block in evidence.places("mnist"):
        for k in _run(block):
            entry = evidence.entry(block, "vae", k)
            values = [*entry.values.values()] if entry else []
            if not values:
                yield Condition(None, 0.0, "")
                continue
            above = [not value <= 1 for value in values]
            worst = min(values, key=lambda v: math.inf if math.isnan(v) else v)
            holds = all(above) if not all(above) or len(values) >= LEAST else None
            text = "diverged" if math.isnan(worst) else f"{worst:.3g}"
            yield Condition(
                holds, worst if worst == worst else math.inf, f"{block.title}, k = {k}: {text}"
            )


def _flat(evidence):
    """Errors of KPCA on handwriting: the same with one and with more components."""
    for block in evidence.places("handwriting"):
        first = evidence.entry(block, "kpca", 1)
        for k in range(2, 11):
            other = evidence.entry(block, "kpca", k)
            if first is None or other is None:
                yield Condition(None, 0.0, "")
                continue
            gap = abs(other.mean / first.mean - 1) * 100
            figure = f"{block.title}: {first.mean:.5f} at k = 1, {other.mean:.5f} at k = {k}"
            yield Condition(gap <= 1.0, -gap, figure)


def _perfect(evidence):
    """Accuracy of the network from one component, spikes (i)."""
    for block in evidence.places("spikes", "i"):
        entry = evidence.entry(block, NETWORK, 1, "accuracy", "paper")
        if entry is None:
            yield Condition(None, 0.0, "")
            continue
        holds = entry.mean >= 99.95 if len(entry.values) >= LEAST else None
        yield Condition(holds, entry.mean, f"{block.title}: {entry.mean:.1f} %")


LONGER = ("gtpca-adam-40", "gtpca-adam-160")
_BOTH = ("autoencoder", "vae")
_OTHERS = ("pca", "kpca", "autoencoder", "vae")
SENTENCES: dict[str, Callable[[Evidence], Iterable[Condition]]] = {
    "Oscillations (i): GT-PCs coincide with conventional PCs": _all(
        "near", "oscillations", "256", pairs=_network_against("pca")
    ),
    "Oscillations (i): errors of (V)AEs are lower for few components (1 to 3)": _all(
        "lower", "oscillations", "256", pairs=[(m, "pca") for m in _BOTH], ks=(1, 2, 3)
    ),
    "Oscillations (i): and approximately equal for 8 and more": _all(
        "near", "oscillations", "256", pairs=[(m, "pca") for m in _BOTH], ks=(8, 9, 10)
    ),
    "Oscillations (i): the error of KPCA is larger for all components": _all(
        "lower", "oscillations", "256", pairs=[(m, "kpca") for m in (NETWORK, "pca", *_BOTH)]
    ),
    "Oscillations (ii): GT-PCA has a significantly lower error over all components": _all(
        "lower", "oscillations", "512", pairs=_network_against(*_OTHERS)
    ),
    "Spikes: the errors of PCA and KPCA approximately coincide": _all(
        "near", "spikes", pairs=[("pca", "kpca")]
    ),
    "Spikes (ii): GT-PCA has a similar error as PCA": _all(
        "near", "spikes", "ii", pairs=_network_against("pca")
    ),
    "Spikes: errors of AE and VAE are lower than those of PCA and KPCA": _all(
        "lower", "spikes", pairs=[(m, other) for m in _BOTH for other in ("pca", "kpca")]
    ),
    "Spikes (i), (iii): errors of AE, VAE and GT-PCA are approximately the same": _all(
        "near", "spikes", "i", "iii", pairs=_network_against(*_BOTH)
    ),
    "Spikes (i): GT-PCA has the lower error with 1 to 3 components": _all(
        "lower", "spikes", "i", pairs=_network_against(*_BOTH), ks=(1, 2, 3)
    ),
    "Spikes (i): predictions by GT-PCA are perfect even for a single component": _perfect,
    "Handwriting: KPCA does not improve with more components": _flat,
    "Handwriting (i): GT-PCA has overall the lowest error": _all(
        "lower", "handwriting", "700", pairs=_network_against(*_OTHERS)
    ),
    "Handwriting (ii): PCA has the lowest error": _all(
        "lower", "handwriting", "1400", pairs=[("pca", m) for m in (NETWORK, "kpca", *_BOTH)]
    ),
    "Handwriting (ii): GT-PCA converges to PCA for longer trainings (160 epochs)": _all(
        "near", "handwriting", "1400", pairs=[("gtpca-adam-160", "pca")]
    ),
    "Handwriting (ii): the same with 40 epochs": _all(
        "near", "handwriting", "1400", pairs=[("gtpca-adam-40", "pca")]
    ),
    "MNIST (ii): GT-PCs coincide with PCs": _all(
        "near", "mnist", "ii", pairs=_network_against("pca")
    ),
    "MNIST: errors of the AE are lower than those of PCA in all settings": _all(
        "lower", "mnist", pairs=[("autoencoder", "pca")]
    ),
    "MNIST: errors of the VAE are much higher than 1": _useless,
    "MNIST (i), (iii), (iv): GT-PCA yields the lowest errors": _all(
        "lower", "mnist", "i", "iii", "iv", pairs=_network_against("pca", *_BOTH)
    ),
    "MNIST (i), (iii): GT-PCA yields the best accuracies": _all(
        "more_accurate", "mnist", "i", "iii", pairs=_network_against("pca", *_BOTH)
    ),
}
OUT_OF_REACH = {
    "Error potentials: GT-PCA has substantially lower errors, and no model detects them": (
        "the recordings are not at hand; what is shown of them is simulated"
    ),
    "With larger models, more data and longer training the difference to AEs might vanish": (
        "larger models were not run"
    ),
    "Error potentials might be detected with more than two channels": (
        "the recordings are not at hand"
    ),
}
