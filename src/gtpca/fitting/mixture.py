"""Expectation maximisation for several kinds of samples: starts, and passes until convergence.

Starts are groups of rows around single components, found by energy on rows of unit norm: rows are
drawn as in k-means++ by the share of them that no kind so far explains,

    1 - max_g,t <x, T_t w_g>^2 / |T_t w_g|^2,

and hard passes assign every row to the kind that explains most of it. The best of them is also
improved by moves that relocate the kind that costs least to lose. Energy is a poor criterion for
groups of unequal sizes: which start is best is decided by a few passes of EM from each. For the
same reason, what EM finds is improved by moves judged by likelihood: the kind that costs least to
lose is given up, and another one is split.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from gtpca.data.chunks import Chunks, as_chunks
from gtpca.data.energies import total_weight
from gtpca.data.sampling import content_order, different_rows
from gtpca.fitting.em import (
    DensityRecipe,
    climb_likelihood,
    common_noise,
    fitted_weights,
    log_shares,
    start_at,
    with_data_weights,
)
from gtpca.fitting.held_out import (
    ENOUGH,
    FOLDS,
    WIDTHS,
    changed,
    nats_per_weight,
    row_folds,
    too_few,
)
from gtpca.model.matching import Stats, coded_statistics, match, orthonormal, update
from gtpca.model.mixture import (
    MixtureModel,
    kind_data_sums,
    kind_sums,
    log_likelihoods,
    log_shares_of_kinds,
)
from gtpca.model.probabilistic import ProbabilisticModel
from gtpca.operators.poses import is_still
from gtpca.solvers.als import ALS
from gtpca.solvers.base import Problem

__all__ = ["find_kinds", "kinds_in_data_units", "maximised_kinds", "smoothed_kinds"]

START_ROWS = 2048  # rows on which kinds are searched for
N_STARTS = 8
HARD_PASSES = 6  # of a start, and after every move
MOVES = 6
EM_PASSES = 8  # by which starts are compared
GO_ON = 2  # starts from which to climb
SPLITS = 3  # successful moves by likelihood, at most
SAMPLE_TOL = 1e-4  # of EM on some of the rows, in nats per row
LEAST_SHARE = 1e-12  # of a kind without rows: its logarithm is finite
SAME = 1e-6  # energies that differ by a smaller share, and likelihoods by less, are the same


def find_kinds(chunks: Chunks, recipe: DensityRecipe, n_kinds: int, rng):
    """The mixture of ``n_kinds`` densities of all rows.

    Returns
    -------
    model : MixtureModel
        The kind of the largest weight first.
    history : list of float
        Mean over the rows of ``log p(x)`` at every pass; it never decreases except by rounding.
    converged : bool
    """
    few, whole = _few_rows(chunks, recipe, rng)
    units = Problem(_unit_rows(few, recipe), recipe.polarity)
    order = _order(few)
    recipe.say(f"starts of {n_kinds} kinds")
    starts = hard_starts(units, n_kinds, order, rng)
    models = [first_model(few, units, recipe, W, rng) for W in starts]
    short = replace(recipe, max_iter=min(EM_PASSES, recipe.max_iter), tol=0.0)
    tried = _most_likely(_climbed(few, short, model) for model in models)[:GO_ON]
    long = recipe if whole else replace(recipe, tol=max(recipe.tol, SAMPLE_TOL))
    best = _most_likely(_climbed(few, long, model) for model, _, _ in tried)[0]
    if n_kinds > 1:
        best = with_splits(few, short, long, best, tried[0][1][-1], rng)
    return best if whole else _climbed(chunks, recipe, best[0])


def with_splits(chunks, short, long, best, bar, rng):
    """A climb, or a better one from where a kind is taken away and another one is split.

    Those that are more likely than the ``bar`` after a ``short`` climb go on, as starts do.
    """
    for _ in range(SPLITS):
        found = [_climbed(chunks, short, model) for model in splits(chunks, short, best[0], rng)]
        model, history, _ = _most_likely(found)[0]
        if not history[-1] > bar + SAME:
            break
        after = _climbed(chunks, long, model)
        if not after[1][-1] > best[1][-1] + SAME:
            break
        best, bar = after, history[-1]
    return best


def splits(chunks, recipe, model, rng) -> list[MixtureModel]:
    """Mixtures without the kind that costs least likelihood to lose, each with another one split.

    The rows of a kind, and those that come to it, are divided as in :func:`hard_starts`.
    """
    logs = chunks.concat(log_shares_of_kinds, model.e_step())
    chunk = chunks.take(np.arange(chunks.n_rows))
    others = [logsumexp(np.delete(logs, g, axis=1), axis=1) for g in range(len(model.kinds))]
    cheap = int(np.argmax(chunk.weigh(np.array(others)).sum(axis=1)))
    logs[:, cheap] = -np.inf
    kind, found = logs.argmax(axis=1), []
    for g in np.delete(np.arange(len(model.kinds)), cheap):
        part = _rows_of(chunk, kind == g, recipe)
        if part is not None:
            two = _divided(part, recipe, rng)
            share = part.sum(total_weight) / chunks.sum(total_weight)
            found.append(_with_kinds(model, (g, cheap), two, share))
    return found


def _divided(chunks, recipe, rng) -> MixtureModel:
    """Two kinds of rows that were one, the better of two draws."""
    units, order = Problem(_unit_rows(chunks, recipe), recipe.polarity), _order(chunks)
    tried = (hard_climb(units, seeded(units, 2, order, rng)) for _ in range(2))
    return first_model(chunks, units, recipe, max(tried, key=lambda one: one[1])[0], rng)


def _with_kinds(model, places, two, share) -> MixtureModel:
    """A mixture in which two kinds are those of another, which has a ``share`` of the rows."""
    kinds, weights = list(model.kinds), np.exp(model.log_weights)
    for g, kind, weight in zip(places, two.kinds, np.exp(two.log_weights), strict=True):
        kinds[g], weights[g] = replace(kind, noise=model.noise), share * weight
    return MixtureModel(tuple(kinds), _log_weights(weights))


def _climbed(chunks, recipe, model):
    return climb_likelihood(chunks, recipe, model, kind_sums, maximised_kinds)


def _most_likely(found):
    """Climbs sorted by the likelihood that they reached, the most likely first."""
    return sorted(found, key=lambda one: -one[1][-1])


def maximised_kinds(model, e_steps, sums, floor, learn_prior=False) -> MixtureModel:
    """The mixture under which the sums of a pass are most likely.

    Pattern and loadings of every kind are found as for a single density; the noise is the mean
    square of the residual of all of them.
    """
    stack = [fitted_weights(*pair) for pair in zip(e_steps, sums.each, strict=True)]
    noise = common_noise(e_steps, sums.each, stack, floor)
    model = model.with_weights(np.array(stack), noise)
    if learn_prior:
        pairs = zip(model.kinds, sums.each, strict=True)
        kinds = (replace(kind, log_prior=_prior(kind, each.mass)) for kind, each in pairs)
        model = replace(model, kinds=tuple(kinds))
    return replace(model, log_weights=_log_weights([each.count for each in sums.each]))


def _prior(kind, mass):
    """The logarithm of the share of every transform; unchanged if no row takes any."""
    return log_shares(mass) if mass.sum() > 0 else kind.log_prior


def _log_weights(counts):
    """``log pi_g`` from the number of rows of each kind."""
    share = np.maximum(np.asarray(counts) / np.sum(counts), LEAST_SHARE)
    return np.log(share / share.sum())


def kinds_in_data_units(chunks: Chunks, model: MixtureModel, width=0.0) -> MixtureModel:
    """:func:`gtpca.fitting.em.density_in_data_units` of every kind."""
    sums = chunks.sum(kind_data_sums, model.e_step())
    pairs = zip(model.kinds, sums.each, strict=True)
    return replace(model, kinds=tuple(with_data_weights(*pair, width) for pair in pairs))


def smoothed_kinds(chunks: Chunks, recipe: DensityRecipe, model: MixtureModel, history, rng):
    """Kinds whose patterns and loadings are smoothed, and the width, as held-out rows say.

    As in :mod:`gtpca.fitting.held_out`, but that the fits to parts of the rows go on from the model
    of all of them, and nothing is made smaller: weights of few rows contain noise, which takes
    samples from one kind to another. Nothing is done where rows say enough of every weight.
    """
    few, _ = _few_rows(chunks, recipe, rng)
    moves = not is_still(model.operator) and model.operator.edges
    if not moves or too_few(few) or _nats_per_weight(few, model, history) >= ENOUGH:
        return model, 0.0
    chunk = few.take(np.arange(few.n_rows))
    fold = row_folds(chunk.rows, rounded=recipe.whitening is not None)
    short = replace(recipe, max_iter=min(EM_PASSES, recipe.max_iter), tol=0.0)
    totals = dict.fromkeys(WIDTHS, 0.0)
    for number in range(FOLDS):
        fitted, new = (_rows_of(chunk, part, recipe) for part in (fold != number, fold == number))
        if fitted is None or new is None:
            continue
        recipe.say(f"held-out rows, part {number + 1} of {FOLDS}")
        part = _climbed(fitted, short, model)[0]
        for width in WIDTHS:
            totals[width] += float(new.sum(_total_likelihood, _smoothed(part, width).e_step()))
    width = max(totals, key=lambda width: totals[width])
    return (_smoothed(model, width).canonical() if width else model), width


def _smoothed(model, width):
    """All weights smoothed; what they no longer show becomes noise, which stays a common one."""
    kinds = [changed(kind, width, 1.0) for kind in model.kinds]
    noise = np.average([kind.noise for kind in kinds], axis=0, weights=np.exp(model.log_weights))
    return replace(model, kinds=tuple(replace(kind, noise=noise) for kind in kinds))


def _nats_per_weight(chunks, model, history):
    """How much more likely rows are than by noise alone, in nats for each weight of all kinds."""
    return nats_per_weight(chunks, model.kinds[0], history) / len(model.kinds)


def _total_likelihood(chunk, e_steps):
    return float(np.sum(chunk.weigh(log_likelihoods(chunk, e_steps))))


def _few_rows(chunks, recipe, rng):
    """Different rows in memory, at most ``START_ROWS``, and whether these are all rows."""
    chunk, whole = different_rows(chunks, START_ROWS, rng, recipe.whitening is not None)
    return as_chunks(chunk.rows, chunk.operator, chunk.weight, n_jobs=recipe.n_jobs), whole


def _order(chunks):
    """An order of rows in memory that does not depend on the present one."""
    chunk = chunks.take(np.arange(chunks.n_rows))
    return content_order(chunk, chunk.energies)


def hard_starts(problem, n_kinds, order, rng) -> list[np.ndarray]:
    """Components (G, 1, L) of as many kinds, by energy: distinct ones, the best first."""
    found = []
    for _ in range(N_STARTS if n_kinds > 1 else 1):
        found.append(hard_climb(problem, seeded(problem, n_kinds, order, rng)))
    stack, explained = max(found, key=lambda one: one[1])
    found.append(moved_kinds(problem, stack, explained, order, rng))
    found.sort(key=lambda one: -one[1])
    energies = [energy for _, energy in found]
    new = [g == 0 or e < energies[g - 1] * (1 - SAME) for g, e in enumerate(energies)]
    return [W for (W, _), is_new in zip(found, new, strict=True) if is_new]


def _unit_rows(chunks, recipe):
    """The rows of chunks in memory, each scaled to unit norm; empty ones are kept."""
    chunk = chunks.take(np.arange(chunks.n_rows))
    norms = np.sqrt(chunk.energies)
    rows = chunk.rows / np.where(norms > 0, norms, 1.0)[:, None]
    return as_chunks(rows, chunk.operator, chunk.weight, n_jobs=recipe.n_jobs)


def explained_each(chunk, blocks):
    """The energy of every row that each of G components explains, (n, G)."""
    return np.stack([match(chunk, block).explained for block in blocks], axis=1)


def seeded(problem, n_kinds, order, rng) -> np.ndarray:
    """Rows as components (G, 1, L), each drawn by the residual of the previous ones."""
    chunk = problem.chunks.take(np.arange(problem.chunks.n_rows))
    explained, stack = np.zeros(len(chunk.rows)), []
    for _ in range(n_kinds):
        stack.append(drawn_row(chunk, chunk.energies - explained, order, rng))
        [found] = problem.chunks.concat(explained_each, problem.blocks_for_fit(stack[-1])).T
        explained = np.maximum(explained, found)
    return np.concatenate(stack)


def drawn_row(chunk, left, order, rng) -> np.ndarray:
    """A row drawn by the residual of each, (n,), where it has most energy, as (1, 1, L).

    The rows are taken in a given ``order``, so that their own order does not matter, and weight 2
    is equivalent to repeating a row.
    """
    mass = np.cumsum(chunk.weigh(np.clip(left, 0.0, None))[order])
    if not mass[-1] > 0:
        mass = np.cumsum(chunk.weigh(np.ones(len(left)))[order])
    place = np.searchsorted(mass, rng.uniform() * mass[-1], side="right")
    row, operator = chunk.filled[[order[min(place, len(order) - 1)]]], chunk.operator
    whole = operator.magnitude
    power = whole.correlate(whole.prepare(row**2), np.ones((1, operator.n_weights)))[0, 0]
    index = np.array([(power >= power.max() * (1 - SAME)).argmax()])
    return orthonormal(operator.adjoint_at(row, index)[None])


def hard_statistics(chunk, blocks) -> Stats:
    """:class:`Stats` of G components, each over the rows that it explains best."""
    found = [match(chunk, block) for block in blocks]
    explained = np.stack([one.explained for one in found])
    best, parts = explained.argmax(axis=0), []
    for g, one in enumerate(found):
        mine = best == g
        total = np.array([np.sum(chunk.weigh(explained[g] * mine))])
        parts.append(coded_statistics(chunk, one.index, one.coef * mine[:, None], total))
    return Stats.joined(parts)


def hard_climb(problem, stack):
    """Components (G, 1, L) after some hard passes, and the energy that they explain."""
    operator = problem.chunks.operator
    for _ in range(HARD_PASSES):
        stats = problem.chunks.sum(hard_statistics, problem.blocks_for_fit(stack))
        stack = update(operator, stats, stack)
    explained = problem.chunks.sum(hard_statistics, problem.blocks_for_fit(stack)).explained
    return stack, float(explained.sum())


def moved_kinds(problem, stack, explained, order, rng):
    """Kinds after moves that explain more: the one that costs least to lose is relocated."""
    chunk = problem.chunks.take(np.arange(problem.chunks.n_rows))
    for _ in range(MOVES if len(stack) > 1 else 0):
        each = problem.chunks.concat(explained_each, problem.blocks_for_fit(stack))
        others = np.array([np.delete(each, g, axis=1).max(axis=1) for g in range(len(stack))])
        cost = np.sum(chunk.weigh(each.max(axis=1) - others), axis=1)
        cheap = cost.argmin()
        tried = stack.copy()
        tried[cheap] = drawn_row(chunk, chunk.energies - others[cheap], order, rng)
        after = hard_climb(problem, tried)
        if after[1] > explained:
            stack, explained = after
    return stack, explained


def first_model(chunks, units, recipe, stack, rng) -> MixtureModel:
    """Patterns, loadings, noise and weights of rows assigned to components (G, 1, L).

    The assignment is that of ``units``, the problem of the same rows with unit norm. Components of
    windows that can slide are moved to where they explain most.
    """
    kind = units.chunks.concat(explained_each, units.blocks_for_fit(stack)).argmax(axis=1)
    chunk, kinds, counts = chunks.take(np.arange(chunks.n_rows)), [], []
    for g, W in enumerate(stack):
        part = _rows_of(chunk, kind == g, recipe)
        counts.append(0.0 if part is None else part.sum(total_weight))
        problem = Problem(chunks if part is None else part, recipe.polarity)
        if next(iter(chunk.operator.moves(W[0])), None) is not None:
            W = ALS().solve(problem, rng, start=W, n_jobs=recipe.n_jobs).weights
        kinds.append(start_at(problem, recipe, W, rng))
    return _with_one_noise(kinds, counts)


def _rows_of(chunk, mine, recipe):
    """Some rows of a chunk as chunks; None if none of them counts."""
    weight = None if chunk.weight is None else chunk.weight[mine]
    if not mine.any() or (weight is not None and not weight.any()):
        return None
    return as_chunks(chunk.rows[mine], chunk.operator, weight, n_jobs=recipe.n_jobs)


def _with_one_noise(kinds: list[ProbabilisticModel], counts) -> MixtureModel:
    """The mixture of kinds, with the mean of their noise over the rows."""
    noise = np.average([kind.noise for kind in kinds], axis=0, weights=counts)
    same = tuple(replace(kind, noise=noise) for kind in kinds)
    return MixtureModel(same, _log_weights(counts))
