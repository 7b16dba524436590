"""``stability``: whether components are found again from other halves of the rows and starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca.data.chunks import Chunk
from gtpca.diagnostics import wording
from gtpca.diagnostics.common import (
    Diagnosis,
    directions,
    each,
    like,
    quietly,
    refit,
    samples_of,
    seeds_from,
)
from gtpca.diagnostics.wording import Commands
from gtpca.model.matching import make_block
from gtpca.operators import Operator
from gtpca.views.parts import is_density

__all__ = ["Stability", "similarities", "stability"]

STABLE = 0.8  # median similarity of a stable component
MOST_VIEWS = 16  # transforms of a component that is only partly seen


@dataclass(frozen=True, eq=False)
class Stability(Diagnosis):
    """How similar components are when they are found again.

    Attributes
    ----------
    halves : array (n_splits, k)
        Similarity between two halves of the rows, for each component of the model.
    seeds : array (n_seeds, k)
        Similarity of each component with that of a fit of all rows from other starts.
    threshold : float
        A component is stable if both medians are at least this.
    n_stable : int
        Number of stable components, from the first on.
    commands : Commands
        What may be run next.
    """

    halves: np.ndarray
    seeds: np.ndarray
    threshold: float
    n_stable: int
    commands: Commands

    @property
    def table(self) -> dict[str, np.ndarray]:
        """One row per component, by the names of the columns."""
        number = np.arange(1, self.halves.shape[1] + 1)
        columns = {"component": number, "halves": np.median(self.halves, axis=0)}
        columns |= {"lowest": self.halves.min(axis=0), "seeds": np.median(self.seeds, axis=0)}
        return columns | {"stable": number <= self.n_stable}

    @property
    def passed(self) -> bool:
        """Whether all components are stable."""
        return self.n_stable == self.halves.shape[1]

    def said(self, commands) -> str:
        """The sentence, with one of the ``commands``."""
        return wording.stability(self, commands)

    def plot(self, ax=None):
        """Draw the similarities; see :func:`gtpca.plots.plot_stability`."""
        from gtpca.plots import plot_stability

        return plot_stability(self, ax=ax)


@quietly
def stability(
    model, X, n_splits=4, n_seeds=2, *, threshold=STABLE, n_jobs=None, random_state=0, progress=None
) -> Stability:
    """Fit halves of the rows, and all rows from other starts, and compare the components.

    Components are the same up to sign and pose: the similarity of ``w`` and ``v`` is the share of
    ``T w`` that the best transform of ``v`` explains, as a correlation, ``max_t |<T w, T_t v>| /
    (|T w| |T_t v|)``, with ``T`` the transform that moves nothing; if that shows only a part of
    ``w``, the mean over several. The components of a half are assigned to those of the model so
    that the sum of similarities is largest; halves share no rows, and are compared with each other.
    What is stable need not be real: smooth noise has the same slow waves in every half
    (:func:`noise_floor`). Components of nearly the same energy that share a pose may rotate into
    each other.

    Parameters
    ----------
    model : GTPCA or ProbabilisticGTPCA
        Fitted. For a density, the directions spanned by pattern and components are compared.
    X : array (n, \\*sample_shape) or (n, d)
        The training data, at least 4 rows. With more than 16 million values, a sample of the rows
        is used.
    n_splits, n_seeds : int
        Number of divisions of the rows, and of repeated fits of all of them.
    threshold : float in (0, 1)
        Median similarity of components that are called stable.
    n_jobs : int or None
        Threads, over fits.
    random_state : int, RandomState or None
    progress : callable or None
        Such as ``tqdm``: ``progress(iterable, total=.., desc=..)``.

    Returns
    -------
    Stability

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import GTPCA, Shift
    >>> from gtpca.diagnostics import stability
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 40))
    >>> for i in range(80):
    ...     X[i, i % 30 : i % 30 + 8] += 9 * np.hanning(8)
    >>> model = GTPCA(2, Shift(window=8), random_state=0).fit(X)
    >>> stability(model, X).n_stable
    1
    """
    threshold = checks.number("threshold", threshold, "in (0, 1)", lambda v: 0 < v < 1)
    splits, restarts = (
        checks.integer("n_splits", n_splits, 1),
        checks.integer("n_seeds", n_seeds, 1),
    )
    rng = check_random_state(random_state)
    samples = samples_of(model, X, rng)
    if len(samples) < 4:
        raise ValueError(f"X has {len(samples)} samples; stability needs at least 4.")
    parts = [
        part for _ in range(splits) for part in np.array_split(rng.permutation(len(samples)), 2)
    ]
    jobs = list(
        zip([*parts, *[None] * restarts], seeds_from(rng, 2 * splits + restarts), strict=True)
    )
    fit = partial(_found_again, model, samples)
    found = list(each(fit, jobs, n_jobs=n_jobs, progress=progress, text="fits"))
    W, operator = directions(model), model.operator_
    pairs = zip(found[0 : 2 * splits : 2], found[1 : 2 * splits : 2], strict=True)
    halves = np.array([_alike(operator, a, b) for a, b in pairs])
    seeds = np.array([_alike(operator, W, V) for V in found[2 * splits :]])
    stable = np.minimum(np.median(halves, axis=0), np.median(seeds, axis=0)) >= threshold
    return Stability(halves, seeds, threshold, int(np.cumprod(stable).sum()), Commands.of(model))


def _found_again(model, samples, job):
    """Directions of another fit, in the order of those of the model that they are assigned to."""
    rows, seed = job
    some = samples if rows is None else samples[np.sort(rows)]
    how = {"random_state": seed}
    if not is_density(model):
        how["n_components"] = model.n_components_
    V = directions(refit(like(model, **how), some, model.labels_))
    W = directions(model)
    alike = similarities(model.operator_, W, V)
    mine, theirs = linear_sum_assignment(alike, maximize=True)
    ordered = np.zeros_like(W)
    ordered[mine] = V[theirs]
    return ordered


def _alike(operator, W, V):
    """Similarity of each component of W with that of the same number in V, (k,)."""
    return np.diag(similarities(operator, W, V))


def similarities(operator: Operator, W: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Similarity of components (k, L) and (j, L) up to sign and pose, (k, j), in [0, 1]."""
    return np.array([[_similarity(operator, w, v) for v in V] for w in W]).reshape(len(W), len(V))


def _similarity(operator, w, v):
    chunk = Chunk(_views(operator, w), operator)
    lengths, total = make_block(operator, v[None]).norms[:, 0], np.sum(chunk.energies)
    if total == 0 or lengths.max() == 0:
        return 0.0
    products = np.abs(operator.correlate(chunk.prepared, v[None])[0])
    scores = np.divide(
        products, lengths, out=np.zeros_like(products), where=lengths > 1e-9 * lengths.max()
    )
    return float(np.sqrt(min(1.0, np.sum(scores.max(axis=1) ** 2) / total)))


def _views(operator, w):
    """``T w`` at rest; if transforms crop ``w``, some of all, (n, d)."""
    index = np.array([operator.reference])
    if operator.crops:
        count = min(MOST_VIEWS, operator.n_transforms)
        index = np.linspace(0, operator.n_transforms - 1, count).astype(int)
    return operator.apply_at(w, index)
