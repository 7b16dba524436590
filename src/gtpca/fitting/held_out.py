"""Evidence from held-out rows: whether there is a pattern, and how far to trust its weights.

``FOLDS`` times, some of all rows are held out and a model is fitted to the others. Weights from few
rows contain noise: EM finds a pattern even where there is none, and poses are then too certain. So
all weights are smoothed and shrunk,

    w -> scale * (Gaussian of some width along the moving axes) w,

by the amounts that make the held-out rows most likely. If these rows are less likely with the
unchanged pattern than without, and gain little from the best of these changes, there is no evidence
for the pattern. Both conditions are needed: many components from few rows can hide an existing
pattern.

Noise that is not white, or not Gaussian, is more likely with some pattern than with none, held out
or not. So the gain of held-out halves is also compared with that of surrogates, which have the
colour, tails and loudness of the rows but no localised pattern (:mod:`gtpca.model.surrogates`): if
one of them gains as much, there is no evidence either.

Rows are held out by a hash of their values, so that equal rows stay together and weight 2 is
equivalent to repeating a row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gtpca.data.chunks import as_chunks
from gtpca.data.energies import masses, total_weight
from gtpca.data.sampling import row_hashes
from gtpca.fitting.em import expectation_maximisation
from gtpca.model.probabilistic import ProbabilisticModel, total_likelihood
from gtpca.model.surrogates import InnovationSurrogates, channels_back, channels_last
from gtpca.operators.base import smoothed
from gtpca.operators.poses import is_still

__all__ = [
    "ENOUGH",
    "FOLDS",
    "NEEDED",
    "WIDTHS",
    "Trust",
    "beside_noise",
    "changed",
    "held_out",
    "nats_per_weight",
    "row_folds",
    "too_few",
    "trusted",
]

FOLDS = 5
ENOUGH = 100.0  # nats per weight from which on no rows are held out: weights are good enough
MOST_ROWS = 20_000  # that are used
WIDTHS = (0.0, 0.5, 0.7, 1.0, 1.4, 2.0)  # in points
SCALES = (1.0, 0.9, 0.8, 0.6, 0.4, 0.2, 0.1)  # at least a tenth, so that poses are defined
TOL = 1e-4  # of EM, in nats per row
NEEDED = 10.0  # nats: the best of 13 widths and scales gains a few by chance
SURROGATES, FIRST = 19, 5  # maximum, and number after which a clear case ends
CLEAR = 6.0  # standard deviations above the first surrogates
PASSES = 30  # of EM in a half, for rows and surrogates
MOST_TESTED = 1000  # rows that are compared with surrogates


@dataclass(frozen=True)
class Trust:
    """How far weights can be trusted.

    Parameters
    ----------
    gain : float or None
        How much more likely held-out rows are with the unchanged pattern than without, in nats;
        mean over the rows. None if nothing was held out.
    width, scale : float
        The values that make them most likely.
    total : float or None
        How much more likely all held-out rows are then than without a pattern, in nats.
    halves : float or None
        Like ``total``, for each half of the rows given the other, and per row.
    noise : tuple of float
        The same for surrogates of noise.
    """

    gain: float | None = None
    width: float = 0.0
    scale: float = 1.0
    total: float | None = None
    halves: float | None = None
    noise: tuple[float, ...] = ()

    @property
    def speaks_against(self) -> bool:
        """Whether held-out rows are evidence against a pattern."""
        return self.below_nothing or self.as_in_noise

    @property
    def below_nothing(self) -> bool:
        """Whether held-out rows are less likely with the pattern than without."""
        little = self.total is None or self.total < NEEDED
        return self.gain is not None and self.gain < 0 and little

    @property
    def as_in_noise(self) -> bool:
        """Whether a surrogate of noise gains as much."""
        return self.halves is not None and max(self.noise, default=-np.inf) >= self.halves


def trusted(chunks, recipe, model, history, rng) -> tuple[ProbabilisticModel, Trust]:
    """The model with smoothed and shrunken weights, if there is little evidence."""
    if is_still(chunks.operator) or too_few(chunks):
        return model, Trust()
    few = nats_per_weight(chunks, model, history) < ENOUGH
    trust = held_out(chunks, recipe, rng) if few else Trust()
    halves, noise = beside_noise(chunks, recipe, rng)
    trust = replace(trust, halves=halves, noise=noise)
    return (changed(model, trust.width, trust.scale).canonical() if few else model), trust


def too_few(chunks) -> bool:
    """Whether there are too few rows to hold some out: equal ones and those of weight 0 apart."""
    found: set[int] = set()
    for some in chunks.collect(_distinct):
        found |= some
    return len(found) < 2 * FOLDS


def _distinct(chunk):
    """Hashes of different rows that count, as many as are needed."""
    rows, found = chunk.rows if chunk.weight is None else chunk.rows[chunk.weight > 0], set()
    for row in rows:
        found.update(row_hashes(row[None]).tolist())
        if len(found) == 2 * FOLDS:
            break
    return found


def nats_per_weight(chunks, model, history) -> float:
    """How much more likely all rows are than with noise alone, in nats per weight."""
    gain = history[-1] * chunks.sum(total_weight)
    gain -= chunks.sum(total_likelihood, nothing(chunks, model).e_step())
    return float(gain) / model.weights.size


def nothing(chunks, model) -> ProbabilisticModel:
    """No pattern and no components: noise of the same kind with the mean square of the rows."""
    squares, counts = chunks.sum(feature_squares)
    if len(model.noise) == 1:
        squares, counts = squares.sum(keepdims=True), counts.sum(keepdims=True)
    mean = np.divide(squares, counts, out=np.ones_like(squares), where=counts > 0)
    noise = np.maximum(mean, np.finfo(float).tiny)
    return replace(model, pattern=0 * model.pattern, loadings=model.loadings[:0], noise=noise)


def feature_squares(chunk):
    """``sum_i q_i x_ij^2`` and the weight of the rows in which a feature was observed, (2, d)."""
    weight = chunk.weigh(np.ones(len(chunk.rows)))
    return np.stack([np.einsum("n,nd,nd->d", weight, chunk.filled, chunk.filled), masses(chunk)])


def held_out(chunks, recipe, rng) -> Trust:
    """Width and scale from all folds, and how much likelier held-out rows are than with nothing."""
    count, quick = chunks.n_rows, replace(recipe, tol=max(TOL, recipe.tol))
    numbers = np.arange(count)
    if count > MOST_ROWS:
        numbers = np.sort(rng.permutation(count)[:MOST_ROWS])
    chunk, seed = chunks.take(numbers), rng.randint(2**31)
    fold, pairs = row_folds(chunk.rows, rounded=recipe.whitening is not None), []
    for number in range(FOLDS):
        fitted, new = (_some(chunk, part, recipe) for part in (fold != number, fold == number))
        if fitted is not None and new is not None:
            start = np.random.RandomState(seed)
            pairs.append((expectation_maximisation(fitted, quick, start)[0], new, fitted))
    return _best(pairs) if pairs else Trust()


def beside_noise(chunks, recipe, rng) -> tuple[float | None, tuple[float, ...]]:
    """The gain of held-out halves of the rows, and that of surrogates, in nats per row.

    It stops at a surrogate that gains as much, or if the gain is far above the first few. If there
    are many rows, a sample is used.
    """
    numbers = np.sort(rng.permutation(chunks.n_rows)[:MOST_TESTED])
    chunk, seed = chunks.take(numbers), rng.randint(2**31)
    if chunk.weight is not None:
        kept = chunk.weight > 0
        chunk = replace(chunk, rows=chunk.rows[kept], weight=chunk.weight[kept])
    rows, operator = np.asarray(chunk.rows, dtype=np.float64), chunk.operator
    first = row_folds(rows, 2, recipe.whitening is not None) == 0
    if first.all() or not first.any():
        return None, ()
    samples = rows.reshape(-1, *operator.sample_shape)
    axes = operator.moved_axes or tuple(range(samples.ndim - 1))
    draw = InnovationSurrogates.of(channels_last(samples, axes))
    gain, noise = _halves_gain(chunk, rows, first, recipe, seed), []
    for number in range(SURROGATES):
        made = channels_back(draw(np.random.default_rng((seed, number))), samples, axes)
        noise.append(_halves_gain(chunk, made.reshape(rows.shape), first, recipe, seed))
        clear = number + 1 >= FIRST and gain > np.mean(noise) + CLEAR * np.std(noise)
        if noise[-1] >= gain or clear:
            break
    return gain, tuple(noise)


def _halves_gain(chunk, rows, first, recipe, seed):
    """How much more likely each half of some rows (n, d) is given a fit of the other than without.

    In nats per row, with the width and the scale that make them most likely.
    """
    quick = replace(recipe, tol=max(TOL, recipe.tol), max_iter=min(PASSES, recipe.max_iter))
    pairs, count = [], 0.0
    for part in (first, ~first):
        fitted, new = (
            as_chunks(rows[which], chunk.operator, _weight(chunk, which), n_jobs=recipe.n_jobs)
            for which in (~part, part)
        )
        model = expectation_maximisation(fitted, quick, np.random.RandomState(seed))[0]
        pairs.append((model, new, fitted))
        count += new.sum(total_weight)
    return float((_best(pairs).total or 0.0) / count)


def _weight(chunk, part):
    """Weights of some rows; None if all are 1."""
    return None if chunk.weight is None else chunk.weight[part]


def _some(chunk, part, recipe):
    """Some rows of a chunk as chunks; None if there are none."""
    weight = _weight(chunk, part)
    if not part.any() or (weight is not None and not weight.any()):
        return None
    return as_chunks(chunk.rows[part], chunk.operator, weight, n_jobs=recipe.n_jobs)


def row_folds(rows, folds=FOLDS, rounded=False) -> np.ndarray:
    """The fold of every row, (n,), from its values: equal rows are held out together."""
    return row_hashes(rows, rounded) % folds


def _best(pairs) -> Trust:
    """The best of all widths, and the best of all scales with it."""

    def likelihood(width, scale):
        each = ((changed(model, width, scale), new) for model, new, _ in pairs)
        return sum(new.sum(total_likelihood, model.e_step()) for model, new in each)

    found = {width: likelihood(width, 1.0) for width in WIDTHS}
    width = max(found, key=lambda width: found[width])
    scales = {1.0: found[width]} | {s: likelihood(width, s) for s in SCALES[1:]}
    none = sum(
        new.sum(total_likelihood, nothing(fitted, model).e_step()) for model, new, fitted in pairs
    )
    gain = (found[0.0] - none) / sum(new.sum(total_weight) for _, new, _ in pairs)
    scale = max(scales, key=lambda scale: scales[scale])
    return Trust(gain, width, scale, scales[scale] - none)


def changed(model, width, scale) -> ProbabilisticModel:
    """A model with other weights; what they no longer show becomes noise."""
    operator = model.operator
    W = scale * np.stack([smoothed(operator, w, width) if width else w for w in model.weights])
    after = replace(model, pattern=W[0], loadings=W[1:])
    return replace(after, noise=np.maximum(model.noise + power(model) - power(after), model.noise))


def power(model):
    """Mean square of the moved weights, of all features (1,) or of each (d,)."""
    if len(model.noise) == 1:
        return np.array([model.part_energies().sum() / model.operator.n_judged])
    prior = np.exp(model.log_prior)
    return sum(prior @ model.operator.apply(w) ** 2 for w in model.weights)
