"""What all diagnostics share: samples in memory, similar fits, and many fits at a time."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gtpca.data.labels import Labelled
from gtpca.data.rows import counted, new_rows
from gtpca.estimator import GTPCA
from gtpca.text import table as text_table
from gtpca.views.measures import spread_runs
from gtpca.views.parts import is_density

__all__ = [
    "Diagnosis",
    "directions",
    "each",
    "excess",
    "is_density",
    "like",
    "quietly",
    "refit",
    "samples_of",
    "seeds_from",
    "single_like",
]

MOST_VALUES = 2**24  # values that are read; with more, a sample of the rows
LARGEST_SEED = 2**31 - 1
FAINT = 1e-10  # directions with less than this share of the largest energy do not count


def samples_of(model, X, rng) -> np.ndarray:
    """Samples of ``X`` in memory, (n, \\*sample_shape); if there are very many, some of them."""
    check_is_fitted(model)
    source = new_rows(model, counted(X, model), model.sample_shape_)
    most = max(2, MOST_VALUES // source.n_features)
    numbers = spread_runs(source.n_rows, most, np.random.default_rng(rng.randint(LARGEST_SEED)))
    rows = source.take(numbers).astype(np.float64, copy=False)
    return rows.reshape(-1, *model.sample_shape_)


def directions(model) -> np.ndarray:
    """Orthonormal directions that share a pose, in the order of their energy, (K, L).

    They are those of the rows as the model sees them: whitened, if it whitens.
    """
    W = model.model_.weights
    if not is_density(model):
        return W if model.noise_ is None else W / np.linalg.norm(W, axis=1, keepdims=True)
    _, sizes, axes = np.linalg.svd(W, full_matrices=False)
    return axes[sizes**2 > FAINT * sizes[0] ** 2]


def like(model, **parameters):
    """An unfitted estimator with the parameters of a model, except for some.

    It takes samples (n, \\*sample_shape), and is silent.
    """
    parameters.setdefault("sample_shape", None)
    if "verbose" in model.get_params(deep=False):
        parameters.setdefault("verbose", 0)
    return clone(model).set_params(**parameters)


def single_like(model, seed):
    """GTPCA with one component of the same kind, also for models with one pose.

    It whitens rows with the filter of the model.
    """
    noise = "white" if model.noise_ is None else model.noise_
    if is_density(model):
        return GTPCA(
            1,
            model.family,
            random_state=seed,
            polarity=model.polarity,
            missing=model.missing,
            noise=noise,
        )
    return like(model, n_components=1, shared_pose=False, refine=0, noise=noise, random_state=seed)


def quietly(function):
    """The function without the warnings of its fits: the first fit has already given them."""

    @wraps(function)
    def quiet(*args, **how):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return function(*args, **how)

    return quiet


def refit(estimator, samples, labels=None):
    """The estimator fitted to samples, with the axes from the labels of another model."""
    return estimator.fit(samples if labels is None else Labelled(samples, labels))


def seeds_from(random_state, count) -> list[int]:
    """Seeds derived from ``random_state``."""
    return [
        int(seed) for seed in check_random_state(random_state).randint(LARGEST_SEED, size=count)
    ]


def excess(losses, best) -> tuple[np.ndarray, np.ndarray]:
    """Mean of what each row (r, n) has more than row ``best``, and its standard error, (r,).

    Over samples, or folds. What is not known is NaN: it is left out of the mean, and the error is
    not known then either.
    """
    more = losses - losses[best]
    return np.nanmean(more, axis=1), more.std(axis=1, ddof=1) / np.sqrt(losses.shape[1])


def each(fn: Callable, pieces, *, n_jobs=None, progress=None, text="") -> Iterable[Any]:
    """``fn(piece)`` of all pieces in their order, in threads.

    Parameters
    ----------
    fn : callable
    pieces : sequence
    n_jobs : int or None
        Threads; None is 1.
    progress : callable or None
        ``progress(iterable, total=.., desc=..)`` returns the iterable, like ``tqdm``.
    text : str
        What is counted.
    """
    run = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    found = run(delayed(fn)(piece) for piece in pieces)
    return found if progress is None else progress(found, total=len(pieces), desc=text)


class Diagnosis(ABC):
    """The result of a diagnostic: a table, a sentence, a plot.

    Attributes
    ----------
    commands : Commands
        What may be run next.
    """

    commands: Any

    @property
    @abstractmethod
    def table(self) -> dict[str, np.ndarray]:
        """Columns by name."""

    @abstractmethod
    def said(self, commands) -> str:
        """The result, and which of the ``commands`` to run next, in words."""

    @property
    def sentence(self) -> str:
        """The result, and what to do next, in words."""
        return self.said(self.commands)

    def advice(self, model="MODEL", data="DATA", reading=None, again=()) -> str:
        """The sentence with the names of files.

        Parameters
        ----------
        model, data : path
            The files of the model and of the samples.
        reading : sequence of str or None
            Options that say to ``gtpca fit`` how to read the samples; None: what the model
            remembers.
        again : sequence of str
            Options that say it to commands that have the model.
        """
        return self.named(model, data, reading, again).sentence

    def named(self: Any, model, data, reading=None, again=()) -> Any:
        """The same, with sentences that name files; see :meth:`advice`."""
        return replace(self, commands=self.commands.named(model, data, reading, again))

    @property
    def text(self) -> str:
        """The table as lines of text."""
        rows = zip(*(map(_cell, values) for values in self.table.values()), strict=True)
        return text_table(list(self.table), [list(row) for row in rows])

    def __str__(self) -> str:
        return f"{self.text}\n{self.sentence}"


def _cell(value) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return "-" if np.isnan(value) else f"{value:.4g}"
    return str(value)
