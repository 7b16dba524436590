"""``choose_kinds``: the numbers of kinds and of components of each, by held-out likelihood.

Kinds and components can replace each other: a kind that varies but has no component for it is
split, and two kinds that differ in one direction become one kind with a component. So both numbers
are chosen together. For every pair the same folds of the samples are held out; pairs are compared
by the mean over the samples of the difference of their log-likelihoods, and its standard error. Of
the pairs within one standard error of the best, the one with the fewest patterns and components in
total, ``G (1 + K)``, is suggested.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from gtpca import checks
from gtpca.data.rows import training_rows
from gtpca.diagnostics import wording
from gtpca.diagnostics.common import Diagnosis, each, excess, quietly, refit
from gtpca.families.text import as_family
from gtpca.mixture import MixtureGTPCA

__all__ = ["KindChoice", "choose_kinds"]

ROUGH = 1e-3  # nats per sample: EM stops when a pass gains no more
RISING = 2.0  # standard errors by which the last number of kinds must be better than the one before


@dataclass(frozen=True, eq=False)
class KindChoice(Diagnosis):
    """Suggested numbers of kinds and of components.

    Attributes
    ----------
    pairs : int array (p, 2)
        All ``(n_kinds, n_components)`` that were tried.
    likelihoods : array (p, n)
        Log-likelihood of every sample, held out.
    n_kinds, n_components : int
    estimator : MixtureGTPCA
        The suggestion, not fitted.
    commands : None
    """

    pairs: np.ndarray
    likelihoods: np.ndarray
    n_kinds: int
    n_components: int
    estimator: MixtureGTPCA
    commands: Any = None

    @property
    def chosen(self) -> int:
        """The number of the suggested pair."""
        both = (self.n_kinds, self.n_components)
        return int(np.flatnonzero((self.pairs == both).all(axis=1))[0])

    @property
    def behind(self) -> tuple[np.ndarray, np.ndarray]:
        """How much less likely pairs are than the best one, per sample, and the error, (p,)."""
        return excess(-self.likelihoods, int(self.likelihoods.mean(axis=1).argmax()))

    @property
    def stand_ins(self) -> np.ndarray:
        """Pairs with another number of kinds that are equally likely, up to an error, (q, 2)."""
        less, error = self.behind
        other = self.pairs[:, 0] != self.n_kinds
        return self.pairs[(less <= error) & other]

    @property
    def rises(self) -> bool:
        """Whether the likelihood still rises with the last number of kinds that was tried."""
        most = self.pairs[:, 0].max()
        if self.n_kinds < most or most == self.pairs[:, 0].min():
            return False
        fewer = np.flatnonzero(self.pairs[:, 0] < most)
        best = fewer[self.likelihoods[fewer].mean(axis=1).argmax()]
        less, error = excess(-self.likelihoods, self.chosen)
        return bool(less[best] > RISING * error[best])

    @property
    def table(self) -> dict[str, np.ndarray]:
        """One row per pair; ``less`` than the best one, and ``+-`` its standard error."""
        less, error = self.behind
        return {
            "kinds": self.pairs[:, 0],
            "components": self.pairs[:, 1],
            "log-likelihood": self.likelihoods.mean(axis=1),
            "less": less,
            "+-": error,
            "best": np.arange(len(self.pairs)) == self.chosen,
        }

    def said(self, commands) -> str:
        """What to choose, and reasons to doubt it."""
        return wording.kinds(self)


def simplest(pairs, likelihoods) -> int:
    """The pair with the fewest parts among those within a standard error of the best."""
    less, error = excess(-likelihoods, int(likelihoods.mean(axis=1).argmax()))
    near = np.flatnonzero(less <= error)
    parts = pairs[near, 0] * (1 + pairs[near, 1])
    return int(near[np.lexsort((less[near], parts))[0]])


def choose_kinds(
    X,
    family="shift",
    n_kinds=(1, 4),
    n_components=(0, 2),
    *,
    n_folds=3,
    n_jobs=None,
    random_state=0,
    progress=None,
    **parameters,
) -> KindChoice:
    """Choose numbers of kinds and of components together, by held-out likelihood.

    Parameters
    ----------
    X : array (n, \\*sample_shape)
        Held in memory as a whole.
    family : Family or str
    n_kinds, n_components : tuple (smallest, largest) or int
    n_folds : int
        Of the cross-validation.
    n_jobs : int or None
        Threads, over fits.
    random_state : int
        Of folds and fits.
    progress : callable or None
        Such as ``tqdm``: ``progress(iterable, total=.., desc=..)``.
    **parameters
        Of :class:`~gtpca.MixtureGTPCA`, such as ``noise="stationary"``.

    Returns
    -------
    KindChoice

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca.diagnostics import choose_kinds
    >>> rng = np.random.default_rng(0)
    >>> X = 0.3 * rng.standard_normal((60, 24))
    >>> for i in range(60):
    ...     X[i, i % 20 : i % 20 + 5] += [[1, 3, 5, 3, 1], [5, 1, -2, 1, 5]][i % 2]
    >>> found = choose_kinds(X, "shift(window=5)", (1, 3), (0, 1))
    >>> found.n_kinds, found.n_components
    (2, 0)
    """
    kinds, components = _numbers("n_kinds", n_kinds, 1), _numbers("n_components", n_components, 0)
    seed = checks.integer("random_state", random_state, 0)
    how = {"tol": ROUGH, "shrink": False, "random_state": seed, "progress": False} | parameters
    estimator = MixtureGTPCA(kinds[0], components[0], as_family(family), **how)
    samples, labels = _read(clone(estimator), X)
    count = checks.integer("n_folds", n_folds, 2)
    if len(samples) < count * (kinds[-1] + 1):
        raise ValueError(
            f"n_kinds={n_kinds!r} with n_folds={count} needs at least {count * (kinds[-1] + 1)} "
            f"samples, but X has {len(samples)}."
        )
    folds = list(KFold(count, shuffle=True, random_state=seed).split(samples))
    pairs = np.array(list(product(kinds, components)))
    estimator.set_params(sample_shape=None)

    @quietly
    def held_out(task):
        (n_kinds, n_components), (train, test) = task
        model = clone(estimator).set_params(n_kinds=int(n_kinds), n_components=int(n_components))
        return refit(model, samples[train], labels).score_samples(samples[test])

    tasks = list(product(pairs, folds))
    found = list(each(held_out, tasks, n_jobs=n_jobs, progress=progress, text="kinds"))
    likelihoods = np.empty((len(pairs), len(samples)))
    for number, values in enumerate(found):
        likelihoods[number // count, folds[number % count][1]] = values
    best_kinds, best_components = map(int, pairs[simplest(pairs, likelihoods)])
    told = parameters | {"n_kinds": best_kinds, "n_components": best_components}
    suggestion = MixtureGTPCA(family=as_family(family), random_state=random_state, **told)
    return KindChoice(pairs, likelihoods, best_kinds, best_components, suggestion)


def _numbers(label, given, least) -> list[int]:
    """All numbers from the first of a pair to the second, or one."""
    pair = (given, given) if np.ndim(given) == 0 else tuple(given)
    if len(pair) != 2:
        raise ValueError(f"{label}={given!r} must be a pair (smallest, largest) or an integer.")
    low = checks.integer(f"{label}[0]", pair[0], least)
    return list(range(low, checks.integer(f"{label}[1]", pair[1], low) + 1))


@quietly
def _read(estimator, X):
    """Samples (n, \\*sample_shape) and their labels, as ``fit`` reads them."""
    rows, _, shape = training_rows(estimator, X, estimator.sample_shape)
    samples = rows.take(np.arange(rows.n_rows)).astype(np.float64, copy=False)
    labels = None if rows.container is None else rows.container.labels
    return samples.reshape(-1, *shape), labels
