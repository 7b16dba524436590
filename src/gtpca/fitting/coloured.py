"""Fits in noise that is not white: its filter, and components in the units of the data.

The filter is estimated twice. The original rows give a first one, which is still affected by the
pattern; the residual of a first fit gives the second, which is about as good as one from noise
alone. Components are found in whitened rows. The components that are shown are the least-squares
solution for the rows in the units of the data, in the poses and with the coefficients that were
found.
"""

from __future__ import annotations

import math
import warnings
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from gtpca import checks
from gtpca.data.chunks import Chunk
from gtpca.data.codes import Codes
from gtpca.data.containers import open_container
from gtpca.data.energies import energy
from gtpca.data.sampling import count_live_rows
from gtpca.fitting.fit import Fit, fit
from gtpca.fitting.given import solved_weights
from gtpca.model.coding import code, decode, encode
from gtpca.model.matching import Block, Stats, coded_statistics
from gtpca.model.stationary import (
    StationaryNoise,
    estimate_noise,
    lag_one,
    noise_of_channels,
    shift_axes,
    shifts,
)
from gtpca.operators.grid import axis_of
from gtpca.operators.normal import CG_STEPS
from gtpca.operators.poses import is_still
from gtpca.text import shortened

__all__ = [
    "NOISES",
    "check_noise",
    "data_solution",
    "estimated_noise",
    "fit_coloured",
    "given_noise",
    "in_data_units",
    "is_white",
    "n_first_fits",
    "residual",
    "residual_correlation",
    "rows_for_noise",
    "sampled",
]

NOISES = ("white", "stationary")
MOST_VALUES = 2**18  # values from which a filter is estimated, from rows spread over all
TINY = np.finfo(float).tiny
FEW_ROWS = 100  # with fewer, a fit without any whitening is also tried as a start
FEW_STEPS = 3  # fits from each of these starts
LOOKED_AT = 2**15  # values from which the correlation of the residual is computed
NOTHING = 1e-12  # share of the energy below which the residual is rounding error


def check_noise(label, value, names=NOISES):
    """Check ``value``: a name, samples of noise, or the noise of another model."""
    if isinstance(value, str):
        return checks.choice(label, value, names)
    if value is None or isinstance(value, (bool, int, float)):
        known = " or ".join(map(repr, names))
        raise ValueError(
            f"{label}={value!r} must be {known}, samples of noise as an array "
            "(n, *sample_shape), a noise covariance of MNE, or noise_ of a fitted model."
        )
    return value


def is_white(noise) -> bool:
    """Whether a parameter means that nothing is whitened."""
    return isinstance(noise, str) and noise != "stationary"


def n_first_fits(noise, n_rows) -> int:
    """The number of fits in :func:`estimated_noise` before the last one; 0 if none is estimated."""
    if not isinstance(noise, str) or is_white(noise):
        return 0
    return 2 * FEW_STEPS if n_rows < FEW_ROWS else 1


def given_noise(noise, operator, preprocessing) -> StationaryNoise | None:
    """The noise that a user passed; None if it is to be estimated from the rows.

    Samples of noise are centred like the rows. They may be shorter or longer than these along the
    axes that shift. For an MNE covariance of channels, noise is white along these axes.
    """
    if isinstance(noise, str):
        return None
    axes = shift_axes(operator)
    if isinstance(noise, StationaryNoise):
        if noise.sample_shape != operator.sample_shape or noise.axes != tuple(axes):
            raise ValueError(
                f"noise is of samples of shape {noise.sample_shape} along the axes {noise.axes}, "
                f"but X has samples of shape {operator.sample_shape}, shifted along "
                f"{tuple(axes)}."
            )
        return noise
    if is_covariance(noise):
        return noise_of_channels(_of_channels(noise, operator, axes), operator.sample_shape, axes)
    samples = _noise_samples(noise, operator, axes)
    if preprocessing.per_sample:
        samples = samples - np.nanmean(samples, axis=tuple(a + 1 for a in axes), keepdims=True)
    elif preprocessing.mean is not None:
        samples = samples - np.nanmean(samples, axis=(0, *(a + 1 for a in axes)), keepdims=True)
    if not np.nansum(np.abs(samples)) > 0:
        raise ValueError("noise holds nothing but zeros, after centring if there is any.")
    return replace(estimate_noise(samples, axes), sample_shape=operator.sample_shape)


def is_covariance(noise) -> bool:
    """Whether it is an MNE noise covariance; MNE is not imported for this."""
    kind = type(noise)
    return kind.__name__ == "Covariance" and kind.__module__.partition(".")[0] == "mne"


def _of_channels(noise, operator, axes):
    """The covariance (c, c) of the channels of samples, in their order, from an MNE covariance."""
    left = [axis for axis in range(len(operator.sample_shape)) if axis not in axes]
    shape = operator.sample_shape
    names = axis_of(operator.grid, left[0]).names if len(left) == 1 else None
    known, values = list(noise.ch_names), np.asarray(noise.data, np.float64)
    values = np.diag(values) if values.ndim == 1 else values
    count = math.prod(shape[axis] for axis in left)
    if names is None and len(known) == count:
        return values
    missing = "" if names is None else ", ".join(name for name in names if name not in known)
    if names is None or missing:
        what = f"lacks {missing} of X" if missing else f"must have the {count} channels of X"
        listed = shortened(", ".join(known), 80)
        raise ValueError(
            f"noise is a covariance of {len(known)} channels, {listed}: it {what}; compute it "
            "from the same channels, or give samples of noise."
        )
    places = [known.index(name) for name in names]
    return values[np.ix_(places, places)]


def _noise_samples(noise, operator, axes):
    """Samples of noise as an array (n, ..) with the channels of the samples."""
    container = open_container(noise)
    samples = np.asarray(noise if container is None else container.rows, np.float64)
    shape = operator.sample_shape
    if samples.ndim == 2 and len(shape) > 1 and samples.shape[1] == operator.n_features:
        samples = samples.reshape(-1, *shape)
    if samples.ndim == 1 and len(shape) == 1:
        samples = samples[None]
    fits = samples.ndim == len(shape) + 1 and len(samples) > 0
    fits = fits and all(
        samples.shape[a + 1] > 1 if a in axes else samples.shape[a + 1] == size
        for a, size in enumerate(shape)
    )
    if not fits:
        wanted = ", ".join("any" if a in axes else str(size) for a, size in enumerate(shape))
        raise ValueError(
            f"noise has shape {samples.shape}, but must be samples of noise, (n, {wanted}), for "
            f"samples of shape {shape}."
        )
    if np.isinf(samples).any():
        raise ValueError("noise holds infinite values.")
    return samples


def residual_correlation(chunks, rest_of) -> float | None:
    """The lag-one correlation of the residual of some rows; None if the fit does not shift them.

    Parameters
    ----------
    chunks : Chunks
        Rows in memory.
    rest_of : callable
        ``rest_of(chunk)`` returns the residual of rows, (n, d).
    """
    operator = chunks.operator
    if is_still(operator) or not shifts(operator):
        return None
    chunk = chunks.take(_spread(chunks.n_rows, max(2, LOOKED_AT // operator.n_features)))
    return lag_one(_grid(rest_of(chunk), operator), operator.moved_axes)


def sampled(chunks) -> Chunk:
    """Rows in memory, from which a filter is estimated."""
    return chunks.take(rows_for_noise(chunks))


def rows_for_noise(chunks) -> np.ndarray:
    """The numbers of rows from which a filter is estimated: all, or some of those that count."""
    most = max(FEW_ROWS, MOST_VALUES // chunks.operator.n_features)
    if chunks.n_rows <= most:
        return np.arange(chunks.n_rows)
    live = np.flatnonzero(count_live_rows(chunks))
    live = live if len(live) else np.arange(chunks.n_rows)
    return live[_spread(len(live), most)]


def _spread(n_rows, most):
    """At most ``count`` row numbers, spread over all of them."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, most)).astype(int))


def noise_of_rows(chunk, operator) -> StationaryNoise:
    """The noise of centred rows, treating everything in them as noise."""
    return estimate_noise(_grid(chunk.rows, operator), shift_axes(operator), chunk.weight)


def noise_of_residual(chunk, rest, operator, before) -> StationaryNoise:
    """The noise of the residual of centred rows; ``before`` if the residual is zero."""
    left = energy(replace(chunk, rows=rest))
    if not left > NOTHING * energy(chunk):
        return before
    return estimate_noise(_grid(rest, operator), shift_axes(operator), chunk.weight)


def _grid(rows, operator):
    return rows.astype(np.float64, copy=False).reshape(-1, *operator.sample_shape)


def fit_coloured(problem_of, centred, preprocessing, noise, recipe) -> Fit:
    """A fit in noise that is not white.

    Parameters
    ----------
    problem_of : callable
        ``problem_of(preprocessing)`` returns the :class:`Problem` of all rows, preprocessed so.
    centred : Chunks
        Centred rows, neither whitened nor weighted, on the plain operator.
    preprocessing : Preprocessing
        How rows are centred.
    noise : StationaryNoise or None
        None: estimated, twice.
    recipe : Recipe
    """

    if noise is None:
        numbers = rows_for_noise(centred)
        chunk = centred.take(numbers)

        def rest_of(noise):
            first = replace(preprocessing, noise=noise)
            rng = deepcopy(recipe.rng)  # the last fit uses the same seeds as a white one
            quick = replace(recipe, refine=0, n_restarts=1, rng=rng)
            problem = problem_of(first)
            some = len(numbers) < problem.chunks.n_rows
            found = fit(problem.on(numbers) if some else problem, quick, first)
            return None if recipe.progress.stop else residual(chunk, found.model)

        noise = estimated_noise(chunk, centred.operator, rest_of)
    recipe.progress.stop = False  # there must be one fit
    preprocessing = replace(preprocessing, noise=noise)
    found = fit(problem_of(preprocessing), replace(recipe, anneal=True), preprocessing)
    model, left, _ = in_data_units(centred, found.model)
    return replace(found, model=model, data_left=left)


def residual(chunk, model):
    """The residual of centred rows, (n, d): computed in whitened rows and coloured again.

    Components in the units of the data would leave steps at the ends of their windows.
    """
    operator, noise = model.operator, model.preprocessing.noise
    rows = chunk.rows if noise is None else noise.whiten(chunk.rows)
    seen = model.preprocessing.whitened(chunk.rows, operator)
    blocks = model.blocks(seen.dtype)
    codes = encode(replace(chunk, rows=seen, operator=operator), blocks, model.sweeps)
    rest = rows - decode(codes, operator, blocks, rows.dtype)
    return rest if noise is None else noise.colour(rest)


def estimated_noise(chunk, operator, rest_of) -> StationaryNoise:
    """The noise of the residual of rows that were whitened by the noise estimated from the rows.

    With few rows that is a poor start if a pattern is smooth. Then a fit without any whitening is
    another start, both are iterated twice more, and the noise under which the residual is more
    likely is taken.

    Parameters
    ----------
    chunk : Chunk
        Centred rows.
    operator : Operator
    rest_of : callable
        ``rest_of(noise)`` fits rows that are whitened by ``noise``, or unchanged rows, and returns
        the residual of those of the chunk, (n, d); None if the fit was asked to stop.
    """
    few = len(chunk.rows) < FEW_ROWS
    found: list[tuple[float, Any]] = []
    before = noise_of_rows(chunk, operator)
    if not energy(chunk) > 0:
        return before
    with warnings.catch_warnings():  # the last fit issues them
        warnings.simplefilter("ignore")
        for start in (None, before) if few else (before,):
            noise = start
            for _ in range(FEW_STEPS if few else 1):
                rest = rest_of(noise)
                if rest is None:
                    return before if noise is None else noise
                noise = noise_of_residual(chunk, rest, operator, before)
            found.append((likelihood(chunk, rest, noise), noise))
    return max(found, key=lambda pair: pair[0])[1]


def likelihood(chunk, rest, noise) -> float:
    """``log p`` of noise (n, d), up to a constant, with the variance that maximises it."""
    E = noise.whiten(rest)
    hidden = np.isnan(E)
    weight = chunk.weigh(np.ones(len(E)))
    count = weight @ (~hidden).sum(axis=1)
    logs = noise.log_determinants(hidden) if hidden.any() else noise.log_determinant
    mean = weight @ np.nansum(E**2, axis=1) / count
    return float(-count / 2 * np.log(max(mean, TINY)) - np.sum(weight * logs))


def in_data_units(chunks, model):
    """The model with components in the units of the data, of unit norm; ``left`` and ``rest``.

    See :func:`data_solution`. The weights of the model become the whitened versions of these, and
    keep their signs, which were determined by scores.
    """
    V, left, rest = data_solution(chunks, model)
    lengths = np.linalg.norm(V, axis=1, keepdims=True)
    after = replace(model, data_weights=V / lengths, weights=model.weights / lengths)
    return after, left, rest


def data_solution(chunks, model):
    """Least-squares weights for rows in the units of the data, with the codes of whitened ones.

    Parameters
    ----------
    chunks : Chunks
        Centred rows, neither whitened nor weighted, on the plain operator.
    model : Model
        In whitened rows.

    Returns
    -------
    V : array (k, L)
        With the coefficients ``a`` of whitened rows, one component or block after the other; all
        together if poses are given, as in :mod:`gtpca.fitting.given`.
    left : array (k + 1,) or (2,)
        Energy of the rows in the data, after 0, 1, .., k components; after all of a block.
    rest : Chunks
        The residual of the rows in the data after all components.
    """
    operator, blocks = model.operator, model.blocks(chunks.dtype)
    left, found, first = [chunks.sum(energy_in, operator)], [], 0
    how = (model.preprocessing, operator, blocks, model.sweeps)
    known: list[Block | None] = [None] * len(blocks)
    chunks = chunks.update(coded, *how, blocks=known)
    together = _together(chunks, blocks) if len(blocks) > 1 and chunks.has_given else None
    for k, block in enumerate(blocks):
        columns = slice(first, first + len(block))
        if together is None:
            stats = chunks.sum(coded_stats, operator, columns, k)
            [V] = operator.normal(stats.moments).solve(stats.rhs, np.zeros_like(stats.rhs))
        else:
            V = together[[k]]
        sound = np.isfinite(V).all(axis=1, keepdims=True) & V.any(axis=1, keepdims=True)
        found.append(np.where(sound, V, block.weights))
        known = list(known)
        known[k] = replace(block, weights=found[-1], norms=np.ones((1, len(block))))
        chunks = chunks.update(without, found[-1], columns, k, blocks=known)
        left.append(chunks.sum(energy_in, operator))
        first += len(block)
    return np.concatenate(found), np.array(left), chunks


def _together(chunks, blocks):
    """Least-squares weights (k, L) of all components at once, from codes that are coefficients."""
    nothing = [replace(b, weights=np.zeros_like(b.weights), norms=np.ones((1, 1))) for b in blocks]
    return solved_weights(chunks, nothing, steps=CG_STEPS)


def energy_in(chunk, operator):
    """``sum_i |x_i|^2`` in the inner product of another operator, weighted."""
    return energy(_weighed(chunk, operator))


def _weighed(chunk, operator):
    """The chunk in the inner product of an operator."""
    if operator.feature_weight is None:
        return chunk
    return replace(chunk, operator=operator)


def coded(chunk, preprocessing, operator, blocks, sweeps):
    """Centred rows with the codes of whitened ones: coefficients instead of scores."""
    rows = preprocessing.whitened(chunk.rows, operator)
    seen = replace(chunk, rows=rows, operator=operator, codes=None)
    codes, first, found = code(seen, blocks, sweeps), 0, []
    for k, block in enumerate(blocks):
        scores = codes.scores[:, first : first + len(block)]
        found.append(block.coef(chunk.operator, scores, codes.index[:, k]))
        first += len(block)
    return chunk.with_codes(Codes(np.concatenate(found, axis=1), codes.index))


def coded_stats(chunk, operator, columns, k) -> Stats:
    """:class:`Stats` of rows with their codes on some components."""
    index, coef = chunk.codes.index[:, k], chunk.codes.scores[:, columns]
    chunk = _weighed(chunk, operator)
    return coded_statistics(chunk, index, coef, np.zeros(1))


def without(chunk, V, columns, k):
    """The rows minus some components in the data."""
    coef = chunk.codes.scores[:, columns]
    return chunk.plus(V, chunk.codes.index[:, k], -coef, chunk.codes)
