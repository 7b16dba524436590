"""``noise_floor``: which components explain more than the same fit finds in noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import stdtr
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca.data.codes import Codes
from gtpca.data.energies import energy, offset_energy
from gtpca.diagnostics import wording
from gtpca.diagnostics.common import (
    Diagnosis,
    directions,
    each,
    is_density,
    like,
    quietly,
    refit,
    samples_of,
    seeds_from,
    single_like,
)
from gtpca.diagnostics.surrogates import DEFAULT, make_surrogates, prepared
from gtpca.diagnostics.tails import calm_signal
from gtpca.diagnostics.wording import Commands
from gtpca.fitting.cautions import MOST_OFFSET
from gtpca.fitting.shared_pose import widen
from gtpca.model.coding import deflate
from gtpca.operators.poses import is_still
from gtpca.solvers.als import ALS
from gtpca.solvers.base import Problem

__all__ = ["NoiseFloor", "noise_floor"]

PASSES = 12  # of the climb with one more component in one pose
FIRST = 19  # surrogates before a test may end; more if the level needs them
HEAVY = 4.0  # excess kurtosis of the residual beyond which poses are found by medians
CLEAR = 4.0  # standard deviations above all surrogates so far for which no more are needed
SOON = 5  # surrogates after which a test for a verdict alone may end ..
SURE = 0.02  # .. if the p-value of Student's t is below this share of the level
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class NoiseFloor(Diagnosis):
    """What components explain, compared with what the same fit explains in noise.

    Attributes
    ----------
    gains : array (k,)
        Share of the residual of the previous components that each explains; with ``verdict_only``,
        NaN after the first that is not real.
    surrogates : array (k, most surrogates of a component)
        The same for fits to surrogates, NaN if there was none: components are tested in order, the
        first that fails is the last, and clear cases need few surrogates.
    p_values : array (k,)
        ``(1 + number of surrogates that explain as much) / (1 + number of surrogates)``; NaN for
        components that were not tested.
    level : float
        Components with a p-value up to this are called real.
    n_real : int
        Number of real components, from the first on.
    commands : Commands
        What may be run next.
    kinds : tuple of str
        The kind of surrogates for each component that was tested: "flips" (of the signs of
        innovations), "blocks" (innovations permuted in blocks), the name of another kind, or "own".
    peaks : array (k,)
        Largest share of the energy of a component in a single point.
    kurtosis : float
        Excess kurtosis of the residual of the real components: 0 for Gaussian noise.
    offset : float
        Share of the energy in the means of samples: if it is most of the energy, the first
        component is a constant, and what it explains says nothing about a pattern.
    """

    gains: np.ndarray
    surrogates: np.ndarray
    p_values: np.ndarray
    level: float
    n_real: int
    commands: Commands
    kinds: tuple[str, ...] = ()
    peaks: np.ndarray | None = None
    kurtosis: float = 0.0
    offset: float = 0.0

    @property
    def band(self) -> np.ndarray:
        """The largest gain in noise that ``level`` allows, (k,); NaN if not tested."""
        ordered = -np.sort(-self.surrogates, axis=1)  # NaN last
        counts = np.sum(~np.isnan(ordered), axis=1)
        allowed = (self.level * (counts + 1) + 1e-9).astype(int)
        return ordered[np.arange(len(ordered)), np.maximum(allowed, 1) - 1]

    @property
    def table(self) -> dict[str, np.ndarray]:
        """One row per component, by the names of the columns."""
        number = np.arange(1, len(self.gains) + 1)
        columns = {"component": number, "gain": self.gains, "noise": self.band}
        return columns | {"p": self.p_values, "real": number <= self.n_real}

    @property
    def passed(self) -> bool:
        """Whether all components are above noise, and not a constant."""
        return self.n_real == len(self.gains) and self.offset <= MOST_OFFSET

    def said(self, commands) -> str:
        """The sentence, with one of the ``commands``."""
        return wording.noise_floor(self, commands)

    def plot(self, ax=None):
        """Draw gains and band; see :func:`gtpca.plots.plot_noise_floor`."""
        from gtpca.plots import plot_noise_floor

        return plot_noise_floor(self, ax=ax)


@dataclass(frozen=True, eq=False)
class Trial:
    """One component that is to be tested.

    Parameters
    ----------
    gain : float
        The share of the residual that it explains.
    signal : array (n, \\*sample_shape) or 0
        What is not noise.
    noise : array (n, \\*sample_shape)
        The residual, from which surrogates are made.
    measure : callable
        ``measure(samples, seed)`` returns the same gain for other samples.
    """

    gain: float
    signal: Any
    noise: np.ndarray
    measure: Callable


@quietly
def noise_floor(
    model,
    X,
    n_surrogates=99,
    surrogate=DEFAULT,
    *,
    level=0.05,
    preprocess=None,
    verdict_only=False,
    n_jobs=None,
    random_state=0,
    progress=None,
) -> NoiseFloor:
    """Compare every component with what the same fit finds in noise.

    Component ``k`` explains a share of the residual ``r_i`` of those before it. Surrogates of
    ``r_i`` are noise of the same colour and loudness, without a localised pattern; the same
    estimator with one component is fitted to each. A component that explains no more than it does
    on these is what a search over all transforms finds in noise. Components are tested in order,
    and the first that fails ends the list. If they share a pose, surrogates are what the first ``k
    - 1`` explain plus noise, and the gain is that of one more direction, after a climb from the
    same start for all.

    Parameters
    ----------
    model : GTPCA or ProbabilisticGTPCA
        Fitted. For a density, the directions spanned by pattern and components are tested.
    X : array (n, \\*sample_shape) or (n, d)
        The training data. With more than 16 million values, a sample of the rows is used.
    n_surrogates : int
        The maximum number, at least ``1 / level - 1``. After the first 19 (more for a level below
        .05), and again after as many, a test ends if the verdict is clear: if so many explain as
        much that more cannot help, or if the component is 4 standard deviations above all.
    surrogate : {"innovations", "flips", "blocks", "gaussian", "mixed", "phase"} or callable
        "innovations": the prediction errors of an autoregression along the moving axes get random
        signs ("flips"), so that tails, bursts and loudness are preserved; if they are skewed, as
        for counts, they are permuted within blocks of 8 points instead ("blocks"). "gaussian":
        Gaussian noise with the autocovariance of all rows, along the moving axes, and the energies
        of the rows; gives false alarms if noise is not Gaussian. "mixed": random mixtures of the
        rows, for noise that differs between positions in a sample. "phase": each row with random
        phases; gives false alarms if rows were cropped from longer recordings. Or a function of
        samples (n, \\*sample_shape) and a ``numpy.random.Generator`` that returns such samples.
    level : float in (0, 1)
        How often noise may be called real.
    preprocess : callable or None
        Earlier preprocessing of the samples, such as detrending: a function from samples (n,
        \\*sample_shape) to samples. It is applied to surrogates too. Without it, means of zero and
        equal norms are noticed and applied, and so is ``center="samples"``.
    verdict_only : bool
        End each test as soon as its verdict is known, and all tests after the first component that
        is not real: several times faster. A component is real after five surrogates if the p-value
        by Student's t is below a fiftieth of the level. P-values are then only approximate.
    n_jobs : int or None
        Threads, over surrogates.
    random_state : int, RandomState or None
    progress : callable or None
        Such as ``tqdm``: ``progress(iterable, total=.., desc=..)``.

    Returns
    -------
    NoiseFloor

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import GTPCA, Shift
    >>> from gtpca.diagnostics import noise_floor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 40))
    >>> for i in range(60):
    ...     X[i, i % 30 : i % 30 + 8] += 3 * np.hanning(8)
    >>> model = GTPCA(2, Shift(window=8), random_state=0).fit(X)
    >>> noise_floor(model, X).n_real
    1
    """
    level = checks.number("level", level, "in (0, 1)", lambda v: 0 < v < 1)
    count = checks.integer("n_surrogates", n_surrogates, 1)
    if (count + 1) * level < 1 - 1e-9:
        raise ValueError(
            f"n_surrogates={count} cannot reach level={level}; use at least "
            f"{int(np.ceil(1 / level)) - 1}."
        )
    rng = check_random_state(random_state)
    samples = samples_of(model, X, rng)
    centred, axes = model.center_ == "samples", model.operator_.moved_axes
    prepare = prepared(samples, axes, centred=centred, preprocess=preprocess)
    draw_like = partial(make_surrogates, surrogate, axes=axes)
    shares = _shares(model)
    later = partial(draw_like, prepare=prepare.linear)
    trials = _one_pose(model, samples, later, rng) if shares else _separate(model, samples, rng)
    run = partial(each, n_jobs=n_jobs, progress=progress)
    size = len(directions(model)) if shares else model.n_components_
    tests = Tests(partial(draw_like, prepare=prepare), later, rng, run, level, verdict_only)
    gains, found, p, kinds, left = tests.run_all(trials, size, count)
    real = int(np.cumprod(p <= level).sum())
    shape = {"peaks": _peaks(model), "kurtosis": excess_kurtosis(left)}
    shape["offset"] = _offset(model, samples)
    return NoiseFloor(gains, found, p, level, real, Commands.of(model), kinds, **shape)


def _offset(model, samples):
    """Share of the energy of samples, as the model sees them, in their means."""
    if is_still(model.operator_):
        return 0.0
    chunks = model.chunks(samples)
    total = chunks.sum(energy)
    return chunks.sum(offset_energy) / total if total > 0 else 0.0


def _peaks(model):
    """Largest share of the energy of each direction in a single point, (k,); NaN if it has one."""
    energy = directions(model) ** 2
    if energy.shape[1] == 1:
        return np.full(len(energy), np.nan)
    return energy.max(axis=1) / np.maximum(energy.sum(axis=1), np.finfo(float).tiny)


def excess_kurtosis(values) -> float:
    """``E (x - m)^4 / (E (x - m)^2)^2 - 3`` of observed values; 0 for Gaussian noise."""
    known = values[~np.isnan(values)]
    apart = (known - known.mean()) ** 2 if len(known) else known
    square = apart.mean() if len(known) else 0.0
    return float(np.mean(apart**2) / square**2 - 3) if square > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Tests:
    """How components are tested, one after the other.

    Parameters
    ----------
    draw_first, draw_later : callable
        From samples to what draws their surrogates: of the samples, and of what is left of them.
    rng : RandomState
    run : callable
        As :func:`each`.
    level : float
    verdict_only : bool
    """

    draw_first: Callable
    draw_later: Callable
    rng: np.random.RandomState
    run: Callable
    level: float
    verdict_only: bool

    def run_all(self, trials, size, count):
        """Gains (k,), those of surrogates (k, most), p-values (k,), kinds, and what is left.

        NaN if not looked at. What is left is that of the components which are real.
        """
        gains, p_values, found = np.full(size, np.nan), np.full(size, np.nan), []
        real, kinds, left = True, [], np.zeros(0)
        for k, trial in enumerate(trials):
            gains[k] = trial.gain
            if real:
                draw = (self.draw_later if k else self.draw_first)(trial.noise)
                text = f"surrogates for component {k + 1}"
                found.append(self.measured(trial, draw, seeds_from(self.rng, count), text))
                p_values[k] = self.p_value(trial.gain, found[-1])
                real, left = p_values[k] <= self.level, trial.noise
                kinds.append(draw.kind)
            if self.verdict_only and not real:
                break
        most = max(map(len, found), default=0)
        every = np.full((size, most), np.nan)
        for line, values in zip(every, found, strict=False):
            line[: len(values)] = values
        return gains, every, p_values, tuple(kinds), left

    def measured(self, trial, draw, seeds, text):
        """Gains of surrogates, as many as the verdict needs."""
        one = partial(_one_gain, trial, draw)
        most = self.level * (len(seeds) + 1) - 1 + 1e-9  # so many may explain as much
        found: list[float] = []
        for part in self._looks(seeds):
            for gain in self.run(one, part, text=text):
                found.append(gain)
                if self.verdict_only and np.sum(np.array(found) >= trial.gain) > most:
                    return np.array(found)
            if self._clear(trial.gain, np.array(found), most):
                break
        return np.array(found)

    @property
    def _fewest(self):
        """The number of surrogates that a rank test of this level needs."""
        return int(np.ceil(1 / self.level - 1 - 1e-9))

    def _looks(self, seeds):
        """Seeds, some at a time; in between the test may end."""
        step = max(FIRST, self._fewest)
        first = len(seeds) if len(seeds) < 2 * step else step
        ends = [*([SOON] if self.verdict_only else []), *range(first, len(seeds), step + 1)]
        return [seeds[a:b] for a, b in pairwise([0, *ends, len(seeds)])]

    def _clear(self, gain, found, most):
        """Whether more surrogates would not, or could hardly, change the verdict."""
        above = np.sum(found >= gain)
        if len(found) < self._fewest:
            return self.p_value(gain, found) < SURE * self.level
        return above > most or (above == 0 and gain > found.mean() + CLEAR * found.std())

    def p_value(self, gain, found):
        """By rank; with fewer surrogates than that needs, by Student's t for one more of them."""
        if len(found) >= self._fewest or np.sum(found >= gain) or len(found) < SOON:
            return _p_value(gain, found)
        spread = found.std(ddof=1) * np.sqrt(1 + 1 / len(found))
        return float(stdtr(len(found) - 1, (found.mean() - gain) / max(spread, TINY)))


def _one_gain(trial, draw, seed):
    """The gain of one surrogate."""
    return trial.measure(trial.signal + draw(np.random.default_rng(seed)), seed)


def _p_value(gain, measured):
    """One more than the surrogates that explain as much, over one more than all; NaN if none."""
    known = measured[~np.isnan(measured)]
    return (1 + np.sum(known >= gain)) / (1 + len(known)) if len(known) else np.nan


def _shares(model):
    """Whether several directions share one pose."""
    return is_density(model) or (model.shared_pose_ and model.n_components_ > 1)


def _separate(model, samples, rng):
    """Trials of components with separate poses."""
    codes, energies = model.measure(samples)
    left = energies.sum(axis=0)
    mean = 0.0 if model.mean_ is None else model.mean_
    for k in range(model.n_components_):
        noise = samples - (
            model.decode(Codes(codes.scores[:, :k], codes.index[:, :k])) if k else mean
        )
        gain = _gain(left[k], left[k + 1])
        if k and _is_heavy(model, noise):
            signal = calm_signal(model, samples, k, seeds_from(rng, 1)[0], shared=False)
            measure = partial(_next_gain, model, model.model_.weights[:k])
            yield Trial(gain, signal, samples - signal, measure)
        else:
            yield Trial(gain, 0.0, noise, partial(_fitted_gain, model))


def _gain(before, after):
    return float(1 - after / before) if before > 0 else 0.0


def _fitted_gain(model, samples, seed):
    """Share of the energy that a single component explains."""
    single = refit(single_like(model, seed), samples, model.labels_)
    return float(single.explained_energy_ratio_[0])


def _is_heavy(model, noise):
    """Whether values of noise are so loud that they determine the poses of rows."""
    return model.noise_ is None and excess_kurtosis(noise) > HEAVY


def _next_gain(model, W, samples, seed):
    """Share of the residual of ``W`` (k, L), after climbs, that one more component explains."""
    solver, problem = ALS(), Problem(model.chunks(samples), model.polarity)
    blocks: list = []
    for w in W:
        blocks.append(problem.block_for_codes(solver.polish(problem, w[None], PASSES).weights))
        chunks = problem.chunks.update(deflate, blocks[-1], blocks=list(blocks))
        problem = replace(problem, chunks=chunks)
    weights = np.concatenate([block.weights for block in blocks])
    value = replace(model.model_, weights=weights, sweeps=0)
    left = samples - value.decode(value.encode(model.chunks(samples)))
    return _fitted_gain(model, left, seed)


def _one_pose(model, samples, draw_like, rng):
    """Trials of directions that share a pose, in the order of their energy."""
    seed = seeds_from(rng, 1)[0]
    single = refit(single_like(model, seed), samples, model.labels_)
    mean = 0.0 if single.mean_ is None else single.mean_
    first = float(single.explained_energy_ratio_[0])
    yield Trial(first, 0.0, samples - mean, partial(_fitted_gain, model))
    for k in range(1, len(directions(model))):
        nested = single
        if k > 1:
            several = like(single, n_components=k, shared_pose=True, polarity="both")
            nested = refit(several, samples, model.labels_)
        measure = partial(_widened_gain, single, directions(nested))
        signal, noise = _divided(nested, samples, draw_like, np.random.default_rng(seed))
        if _is_heavy(model, noise):
            signal = calm_signal(single, samples, k, seed, shared=True)
            noise = samples - signal
        yield Trial(measure(samples, seed), signal, noise, measure)


def _divided(model, samples, draw_like, rng):
    """What components in one pose explain without noise, and their residual.

    A match includes noise: on average as much as it explains if there is nothing else, ``E``. The
    explained energy ``|c_i|^2`` of a sample is reduced by that. Otherwise surrogates would have
    clearer poses than the data, and less room for one more direction. The residual has no noise
    along the components: some is added, because otherwise the surrogates would lose it twice.
    """
    value = replace(model.model_, polarity="both", shared_pose=True)
    codes, energies = value.measure(model.chunks(samples))
    left = samples - value.decode(codes)
    left = left + _along_components(model, codes.index[:, 0], draw_like(left)(rng))
    explained = _explained(energies)
    noise = draw_like(left)(rng)
    level = _explained(value.measure(model.chunks(noise))[1]).mean()
    kept = np.maximum(0.0, 1 - level / np.maximum(explained, 1e-300))
    return value.decode(replace(codes, scores=np.sqrt(kept)[:, None] * codes.scores)), left


def _along_components(model, index, noise):
    """The part of noise (n, \\*sample_shape) along components in the poses ``index`` (n,).

    It is taken of whitened noise, if the model whitens. A little louder, for noise like what
    components left has too little of it.
    """
    W, operator, white = directions(model), model.operator_, model.noise_ is None
    bank = np.stack([operator.apply_at(w, index) for w in W], axis=1)  # (n, K, d)
    flat = noise.reshape(len(noise), -1)
    flat = flat if white else model.noise_.whiten(flat)
    hidden = np.isnan(flat)
    bank = np.where(hidden[:, None], 0.0, bank)
    products = np.einsum("nkd,nd->nk", bank, np.nan_to_num(flat))
    scores = np.einsum("nkj,nj->nk", np.linalg.pinv(bank @ bank.swapaxes(1, 2)), products)
    found = np.einsum("nk,nkd->nd", scores, bank)
    found = found if white else model.noise_.colour(np.where(hidden, np.nan, found))
    found = found.reshape(noise.shape)
    share = len(W) / min(operator.n_weights, operator.n_features)
    return found / np.sqrt(1 - share) if share < 1 else found


def _explained(energies):
    """Energy of every row that all components explain, (n,)."""
    return energies[:, 0] - energies[:, -1]


def _widened_gain(single, W, samples, seed):
    """Share of the residual of ``W`` (K, L), after a climb, that one more direction explains."""
    problem, solver = Problem(single.chunks(samples)), ALS()
    lower = solver.polish(problem, W, PASSES).weights
    wider = widen(problem, lower, len(W) + 1, np.random.default_rng(seed))
    return _gain(problem.left(lower), problem.left(solver.polish(problem, wider, PASSES).weights))
