"""Diagnostics of templates of recordings: events compared with noise, and templates of halves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gtpca.diagnostics import wording
from gtpca.fitting.event_counts import EventCounts, count_events, fitted_halves, too_short
from gtpca.model.decoding import correlations
from gtpca.recordings import EventGTPCA
from gtpca.text import table as text_table

__all__ = ["EventCheck", "check_events"]

THRESHOLD = 0.9  # similarity of templates of halves from which on they are the same


@dataclass(frozen=True, eq=False)
class EventCheck:
    """The check of templates of recordings.

    Attributes
    ----------
    counts : EventCounts
        Events of the fit, with templates of the other half, and in noise.
    fitted, crossed : int array (G,)
        Events of every template, or of all that share a pose: with the templates of the fit, and
        with the most similar ones of the other half. ``crossed`` is None if recordings are too
        short for halves.
    halves : array (K,) or None
        Similarity of the templates of both halves, at the best lag: cosines.
    cautions : tuple of str
        The warnings of the fit.
    threshold : float
        Similarity from which on templates are the same.
    noise : str
        The parameter ``noise`` of the model, if it is a word.
    """

    counts: EventCounts
    fitted: np.ndarray
    crossed: np.ndarray | None
    halves: np.ndarray | None
    cautions: tuple[str, ...] = ()
    threshold: float = THRESHOLD
    noise: str = "white"

    @property
    def n_stable(self) -> int | None:
        """Number of templates that both halves have."""
        return None if self.halves is None else int(np.sum(self.halves >= self.threshold))

    @property
    def table(self) -> dict[str, np.ndarray]:
        """Templates: their events, those with the other half, and the similarity of halves."""
        count = len(self.fitted) if self.halves is None else len(self.halves)
        given = {"events": self.fitted, "other_half": self.crossed, "likeness": self.halves}
        columns = {name: np.nan if v is None else v for name, v in given.items()}
        spread = {name: np.broadcast_to(v, count) for name, v in columns.items()}
        return {"template": np.arange(1, count + 1)} | spread

    @property
    def sentences(self) -> list[str]:
        """All sentences: about events, then about templates, then the warnings of the fit."""
        said = [wording.events_beside_noise(self)]
        if self.halves is not None:
            said.append(wording.templates_of_halves(self))
        return [*said, *map(wording.caution, self.cautions)]

    @property
    def sentence(self) -> str:
        """What matters most, and what to do next."""
        first, *others = self.sentences
        unstable = self.halves is not None and np.any(self.halves < self.threshold)
        return others[0] if unstable and self.counts.above_noise else first

    @property
    def text(self) -> str:
        """The table."""
        columns = self.table
        counts = [
            [_count(v) for v in columns[name]] for name in ("template", "events", "other_half")
        ]
        alike = ["" if np.isnan(v) else f"{v:.2f}" for v in columns["likeness"]]
        rows = [list(row) for row in zip(*counts, alike, strict=True)]
        return text_table(["template", "events", "by the other half", "likeness of halves"], rows)

    def __str__(self) -> str:
        return "\n\n".join([self.text, *self.sentences])


def _count(value) -> str:
    return "" if np.isnan(value) else str(int(value))


def check_events(model: EventGTPCA, X, *, n_jobs=None, random_state=0) -> EventCheck:
    """Count events with templates of halves and in noise, and compare templates of halves.

    This takes two fits to halves of the recordings, and one to noise.

    Parameters
    ----------
    model : EventGTPCA
        Fitted.
    X : recordings
        The training data.
    n_jobs : int or None
        Threads.
    random_state : int, RandomState or None

    Returns
    -------
    EventCheck
    """
    check_is_fitted(model)
    opened, value = model.opened(X), model.model_
    recipe = model.recipe(model.sample_shape_[0], model.refractory_)
    recipe = replace(recipe, rng=check_random_state(random_state), n_jobs=n_jobs)
    seen = value.seen(opened.signals)
    events = model.encode(X)
    groups = len(value.weights)
    fitted = np.bincount(events.component, minlength=groups)
    said: dict[str, Any] = {"cautions": tuple(model.cautions_)}
    said |= {"noise": model.noise if isinstance(model.noise, str) else "given"}
    if too_short(seen, recipe):
        return EventCheck(EventCounts(len(events)), fitted, None, None, **said)
    halves = fitted_halves(seen, recipe)
    counts = count_events(seen, len(events), recipe, halves)
    orders = [_assigned(value.weights, dictionary.weights) for dictionary, _ in halves]
    crossed = np.zeros(groups, int)
    for order, (_, placed) in zip(orders, halves, strict=True):
        each = np.concatenate([events.group for events in placed])
        crossed += np.bincount(each, minlength=groups)[order]
    first, second = (
        dictionary.weights[order] for order, (dictionary, _) in zip(orders, halves, strict=True)
    )
    alike = np.concatenate([_likeness(a, b) for a, b in zip(first, second, strict=True)])
    return EventCheck(counts, fitted, crossed, alike, **said)


def _assigned(W, V) -> np.ndarray:
    """Which groups of V (S, Q, L, C) are most similar to those of W, one to one."""
    like = np.array([[_likeness(w, v).mean() for v in V] for w in W])
    return linear_sum_assignment(-like)[1]


def _likeness(w, v) -> np.ndarray:
    """Cosines of two groups of templates (Q, L, C), of spans if they are several, at the best lag.

    Descending.
    """
    length = w.shape[1]
    padded = np.pad(w, ((0, 0), (length - 1, length - 1), (0, 0)))
    overlaps = np.stack([correlations(one, v) for one in padded])  # (Q, Q, lags)
    singular = np.linalg.svd(overlaps.transpose(2, 0, 1), compute_uv=False)
    return singular[singular.sum(axis=1).argmax()]
