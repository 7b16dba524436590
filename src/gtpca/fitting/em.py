"""Expectation maximisation for one pose per sample: its start, and passes until it converges.

EM starts from the poses of a *single* component, found by energy; pattern, loadings and noise are
those of the rows in these poses. A better fit is not a better registration: several components can
compensate for a wrong pose, so starts are not chosen by likelihood.

A pass over rows needs an operator's ``adjoint_sum`` (``sum_i,t coef_it T_t* x_i``), and with gaps
``mask_sums`` without transforms. What EM finds from few rows is smoothed and shrunk afterwards
(:mod:`gtpca.fitting.held_out`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gtpca.data.chunks import Chunks
from gtpca.data.energies import energy, masses, total_weight
from gtpca.fitting.annealing import annealed
from gtpca.fitting.shared_pose import leading_axes
from gtpca.model.conventions import signs
from gtpca.model.matching import Stats, coded_statistics, match
from gtpca.model.posterior import data_sums, hard_sums, soft_sums
from gtpca.model.probabilistic import ProbabilisticModel
from gtpca.model.stationary import StationaryNoise
from gtpca.operators.base import smoothed
from gtpca.solvers.als import ALS
from gtpca.solvers.base import Problem

__all__ = [
    "DensityRecipe",
    "climb_likelihood",
    "common_noise",
    "density_in_data_units",
    "expectation_maximisation",
    "fitted_weights",
    "least_noise",
    "log_shares",
    "maximised",
    "start",
    "start_at",
    "with_data_weights",
]

DENSE = 512  # weights up to which the full covariance of aligned rows is computed
SUBSPACE_STEPS, SPARE = 6, 8  # otherwise: steps, and directions in addition to those needed
FLOOR = 1e-9  # smallest noise, as a share of the mean square of the rows
FALL = 1e-9  # share by which a likelihood may decrease by ordinary rounding
SPAN = 2  # passes that must gain more than the tolerance
FARTHEST = 32.0  # extrapolation, in steps
FAINT = 0.01  # smallest variance of a component at the start, in units of the noise


@dataclass(frozen=True)
class DensityRecipe:
    """How to fit.

    Parameters
    ----------
    n_components : int
    em : {"soft", "hard"}
    noise : {"isotropic", "features"}
    prior : {"uniform", "learned"}
    polarity : {"positive", "both"}
        How the single component of the start matches rows.
    max_iter : int
    tol : float
        Smallest gain per row, in nats, for which EM continues.
    n_jobs : int or None
    whitening : StationaryNoise or None
        The noise by which the rows were whitened.
    report : callable or None
        Gets the current step of the fit, in words.
    """

    n_components: int
    em: str = "soft"
    noise: str = "isotropic"
    prior: str = "uniform"
    polarity: str = "positive"
    max_iter: int = 1000
    tol: float = 1e-7
    n_jobs: int | None = None
    whitening: StationaryNoise | None = None
    report: Callable[[str], None] | None = None

    def say(self, words: str) -> None:
        """Report a step of the fit, if anybody listens."""
        if self.report is not None:
            self.report(words)


def expectation_maximisation(chunks: Chunks, recipe: DensityRecipe, rng):
    """The model of all rows.

    Returns
    -------
    model : ProbabilisticModel
    history : list of float
        Mean over the rows of ``log p(x)``, or for hard EM of ``max_t log p(x, t)``, at every pass;
        it never decreases except by rounding.
    converged : bool
    """
    return climb_likelihood(chunks, recipe, start(chunks, recipe, rng))


def climb_likelihood(chunks, recipe, model, sums_of=None, step=None):
    """Passes over all rows from a model; see :func:`expectation_maximisation`.

    ``sums_of(chunk, e_step, by_feature)`` are the sums of a pass, with ``fit`` and ``count``, and
    ``step(model, e_step, sums, floor, learn_prior)`` is the model after it: by default those of a
    single density.

    A separate noise for each feature is a feature weight that changes in every pass: it changes the
    inner product in which all else is summed, so passes alternate between the noise and the rest.
    Otherwise every second pass is taken at a point extrapolated from the two before it, unless that
    is less likely: EM alone may need hundreds of passes in strong noise. If the noise is at its
    floor, rounding errors are large in comparison: a pass that makes rows less likely is then the
    last, and the model before it is kept.
    """
    sums_of = sums_of or (soft_sums if recipe.em == "soft" else hard_sums)
    step = step or maximised
    history: list[float] = []
    floor, by_turns = least_noise(chunks), recipe.noise == "features"
    before, plain = None, None  # the model of the previous pass, and what an extrapolation replaced
    best = model
    for number in range(recipe.max_iter + 1):
        e_step, by_feature = model.e_step(), by_turns and number % 2 == 1
        sums = chunks.sum(sums_of, e_step, by_feature)
        likelihood = sums.log_likelihood / sums.count
        if plain is not None and not likelihood >= history[-1]:
            model, plain = plain, None
            continue
        if history and not likelihood >= history[-1] - FALL * abs(history[-1]):
            return best.canonical(), history, True
        history.append(likelihood)
        recipe.say(f"pass {len(history)}: log-likelihood {likelihood:.6g} per row")
        best = model
        if len(history) > SPAN + 1 and history[-1] - history[-1 - SPAN] <= recipe.tol:
            return model.canonical(), history, True
        if number == recipe.max_iter:
            break
        after, here = step(model, e_step, sums, floor, recipe.prior == "learned"), model
        if before is None or by_turns:
            before, plain, model = here, None, after
        else:
            before, plain, model = None, after, extrapolated(before, here, after)
    return model.canonical(), history, False


def extrapolated(first, second, third):
    """The extrapolation from three models, each one pass after the other.

    With steps ``r`` and ``r + v`` it is ``first + 2 a r + a^2 v`` where ``a = |r| / |v|`` (Varadhan
    and Roland, 2008); ``a = 1`` gives the third one.
    """
    W = [model.weights for model in (first, second, third)]
    noises = [np.log(model.noise) for model in (first, second, third)]
    step, bend = W[1] - W[0], W[2] - 2 * W[1] + W[0]
    bent = float(np.linalg.norm(bend))
    ratio = float(np.linalg.norm(step)) / bent if bent > 0 else 1.0
    far = min(max(1.0, ratio), FARTHEST)

    def along(a, b, c):
        return a + 2 * far * (b - a) + far**2 * (c - 2 * b + a)

    new, noise = along(*W), np.clip(along(*noises), noises[2] - 1, noises[2] + 1)
    return third.with_weights(new, np.exp(noise))


def least_noise(chunks):
    """The smallest allowed variance of the noise: without noise, rows have no density."""
    count = np.sum(chunks.sum(masses))
    mean = chunks.sum(energy) / count if count > 0 else 0.0
    return FLOOR * mean if mean > 0 else FLOOR


def maximised(model, e_step, sums, floor, learn_prior=False):
    """The model under which the sums of a pass are most likely.

    Pattern and loadings solve ``sum_t,k moments_tjk T_t* T_t v_k = rhs_j``, like the weights of a
    block; the noise is the mean square of their residual.
    """
    if np.ndim(sums.squares):
        return replace(model, noise=np.maximum(_noise_of_features(model, e_step, sums), floor))
    V = fitted_weights(e_step, sums)
    noise = common_noise([e_step], [sums], [V], floor) if len(model.noise) == 1 else model.noise
    model = model.with_weights(V, noise)
    return replace(model, log_prior=log_shares(sums.mass)) if learn_prior else model


def fitted_weights(e_step, sums):
    """Pattern and loadings (1 + K, L) under which the sums of a pass are most likely."""
    return _least_squares(e_step.operator.normal(sums.moments), sums, e_step.weights)


def common_noise(e_steps, each, stack, floor):
    """One variance (1,) for the sums of several passes: what their weights (1 + K, L) leave."""
    parts = zip(e_steps, each, stack, strict=True)
    left = sum(_energy_left(e_step.operator, sums, V) for e_step, sums, V in parts)
    count = sum(np.sum(sums.observed) for sums in each)
    return np.array([max(left / max(count, 1e-300), floor)])


def density_in_data_units(
    chunks: Chunks, recipe: DensityRecipe, model, width=0.0, scale=1.0
) -> ProbabilisticModel:
    """The same density, with pattern and loadings also in the units of the data.

    They are the least-squares solution for the original rows of ``chunks``, with the poses and
    scores of whitened ones, smoothed and shrunk in the same way. Loadings are rotated so that they
    are orthogonal in the data.
    """
    sums = chunks.sum(data_sums, model.e_step(), recipe.em == "hard")
    return with_data_weights(model, sums, width, scale)


def with_data_weights(model, sums, width=0.0, scale=1.0) -> ProbabilisticModel:
    """A model with weights in the units of the data, from sums over the original rows."""
    operator = model.operator
    V = scale * _least_squares(operator.normal(sums.moments), sums, np.zeros_like(model.weights))
    V = np.stack([smoothed(operator, v, width) for v in V]) if width else V
    turn, _, axes = np.linalg.svd(V[1:], full_matrices=False)
    turn = turn * signs(axes)
    loadings = turn.T @ model.loadings
    visible = np.concatenate([V[:1], turn.T @ V[1:]])
    return replace(model, loadings=loadings, data_weights=visible)


def _energy_left(operator, sums, V):
    """``sum_it g_it E|x_i - T_t V a|^2`` over observed values."""
    G = operator.gram(V[None])
    left = sums.energy - 2 * np.sum(V * sums.rhs[0]) + np.sum(sums.moments.nodes * G)
    return left - sums.moments.hidden_energy(operator, V[None])[0]


def _least_squares(normal, sums, start):
    """Pattern and loadings (1 + K, L); those of ``start`` where the rows say nothing."""
    [V] = normal.solve(sums.rhs, start[None])
    return np.where(normal.seen[0], V, start)


def log_shares(mass):
    """``log(mass / sum)``; minus infinity for a transform that no row takes."""
    share = mass / mass.sum()
    return np.log(share, out=np.full(len(share), -np.inf), where=share > 0)


def _noise_of_features(model, e_step, sums):
    """``1 / n sum_i E (x_ij - (T_t (m + U z))_j)^2``, (d,)."""
    total, operator = sums.squares.copy(), e_step.operator
    for t, moments in enumerate(sums.moments.nodes[0]):
        bank = np.concatenate([operator.apply_at(v, np.array([t])) for v in e_step.weights])
        total += np.einsum("jf,jk,kf->f", bank, moments, bank)
    observed = np.where(sums.observed > 0, sums.observed, 1.0)
    return np.where(sums.observed > 0, total / observed, model.noise)


def start(chunks: Chunks, recipe: DensityRecipe, rng) -> ProbabilisticModel:
    """Pattern, loadings and noise of the rows in the poses of a single component."""
    problem = Problem(chunks, recipe.polarity)
    solve = partial(ALS().solve, problem, n_jobs=recipe.n_jobs)
    result = solve(rng)
    if recipe.whitening is not None:
        result = annealed(problem, solve, result)
    return start_at(problem, recipe, result.weights, rng)


def start_at(problem, recipe, W, rng) -> ProbabilisticModel:
    """Pattern, loadings and noise of the rows in the poses of a component (1, L)."""
    chunks, block = problem.chunks, problem.block_for_codes(W)
    operator, n = chunks.operator, chunks.sum(total_weight)
    stats = chunks.sum(pattern_sums, block)
    pattern = operator.normal(stats.moments).solve(stats.rhs, np.zeros_like(stats.rhs))[0, 0]
    left = (float(stats.explained[0]) - pattern @ stats.rhs[0, 0]) / n
    variances, axes = aligned_axes(chunks, block, pattern, recipe.n_components, rng)
    spare = max(1, operator.n_judged - recipe.n_components)
    noise = max((left - variances.sum()) / spare, least_noise(chunks))
    sizes = np.sqrt(np.maximum(variances - noise, FAINT * noise))
    each = operator.n_features if recipe.noise == "features" else 1
    uniform = np.full(operator.n_transforms, -np.log(operator.n_transforms))
    loadings = sizes[:, None] * axes
    noises = np.full(each, noise)
    return ProbabilisticModel(operator, pattern, loadings, noises, uniform, recipe.whitening)


def pattern_sums(chunk, block) -> Stats:
    """What the mean of all rows in the poses of a block needs, and the energy of the rows."""
    index, one = match(chunk, block).index, np.ones((len(chunk.rows), 1))
    return coded_statistics(chunk, index, one, np.array([energy(chunk)]))


def aligned_axes(chunks, block, pattern, count, rng):
    """Variances (count,) and directions (count, L) of the rows after they are moved back.

    For few weights, from the covariance itself; for many, by steps of subspace iteration.
    """
    L, n = chunks.operator.n_weights, chunks.sum(total_weight)
    if count == 0:
        return np.zeros(0), np.zeros((0, L))

    def times(Q):
        return chunks.sum(spread_times, block, pattern, Q) / n

    few = L <= DENSE
    Q = np.eye(L) if few else rng.standard_normal((L, min(L, count + SPARE)))
    steps = 0 if few else SUBSPACE_STEPS
    return leading_axes(times, lambda Q: Q.T @ times(Q), Q, steps, count)


def spread_times(chunk, block, pattern, Q):
    """``sum_i q_i y_i y_i' Q`` of ``y_i = T_i* (x_i - T_i m)``, (L, q)."""
    index = match(chunk, block).index
    rest = chunk.plus(pattern[None], index, np.full((len(index), 1), -1.0), None)
    back = chunk.operator.adjoint_at(rest.weighed, index)
    return back.T @ chunk.weigh((back @ Q).T).T
